"""The vitals of a training run in pure Python: every sum written out, nothing hidden.

A network with two inputs, three tanh units and one output learns y = x1 · x2 by gradient descent. At every tenth step:
the loss, the gradient norm of each layer, the norm of all weights, and the step's size relative to it.

`vitals_in_numpy.py` and `vitals_with_bedside.py` print the same numbers.
"""

import math

UNITS, RATE, STEPS = 3, 0.3, 51

data = [(math.sin(i), math.cos(2 * i)) for i in range(40)]
targets = [x1 * x2 for x1, x2 in data]

# First layer: a weight per unit and input, and a bias per unit. Second layer: a weight per unit, and one bias.
w1 = [[math.sin(1 + i + 2 * unit) for i in range(2)] for unit in range(UNITS)]
b1 = [0.0] * UNITS
w2 = [math.cos(1 + unit) for unit in range(UNITS)]
b2 = 0.0


def norm(numbers):
    return math.sqrt(sum(number * number for number in numbers))


print(f"{'step':>4} {'loss':>9} {'|grad| 1':>9} {'|grad| 2':>9} {'|weights|':>9} {'|step|/|w|':>10}")
for step in range(STEPS):
    # Forward and backward, one example at a time; gradients of the mean are means of gradients.
    loss, gw1, gb1 = 0.0, [[0.0, 0.0] for _ in range(UNITS)], [0.0] * UNITS
    gw2, gb2 = [0.0] * UNITS, 0.0
    for x, target in zip(data, targets, strict=True):
        hidden = [math.tanh(w1[u][0] * x[0] + w1[u][1] * x[1] + b1[u]) for u in range(UNITS)]
        error = sum(w2[u] * hidden[u] for u in range(UNITS)) + b2 - target
        loss += error * error / len(data)
        slope = 2 * error / len(data)
        gb2 += slope
        for u in range(UNITS):
            gw2[u] += slope * hidden[u]
            back = slope * w2[u] * (1 - hidden[u] ** 2)  # the slope of tanh
            gb1[u] += back
            for i in range(2):
                gw1[u][i] += back * x[i]

    first = [g for row in gw1 for g in row] + gb1  # all gradients of the first layer
    second = [*gw2, gb2]
    gradient = norm([*first, *second])

    # The step itself: against the gradient, scaled by the learning rate.
    for u in range(UNITS):
        for i in range(2):
            w1[u][i] -= RATE * gw1[u][i]
        b1[u] -= RATE * gb1[u]
        w2[u] -= RATE * gw2[u]
    b2 -= RATE * gb2

    weights = norm([w for row in w1 for w in row] + b1 + [*w2, b2])
    if step % 10 == 0:
        relative = RATE * gradient / weights
        print(f"{step:4d} {loss:9.5f} {norm(first):9.5f} {norm(second):9.5f} {weights:9.5f} {relative:10.6f}")
