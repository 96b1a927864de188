"""The vitals of a training run in numpy: the same numbers as by hand, kept in lists, so that they can be plotted later.

See `vitals_by_hand.py` for every sum written out, and `vitals_with_bedside.py` for one line that reads them all.
"""

import numpy as np

UNITS, RATE, STEPS = 3, 0.3, 51

i = np.arange(40)
x = np.stack([np.sin(i), np.cos(2 * i)], axis=1)
y = x[:, 0] * x[:, 1]

unit = np.arange(UNITS)
w1 = np.sin(1 + np.arange(2) + 2 * unit[:, None])
b1 = np.zeros(UNITS)
w2 = np.cos(1 + unit)
b2 = 0.0

vitals = {"loss": [], "grad_norm/1": [], "grad_norm/2": [], "param_norm": [], "relative_update_norm": []}


def norm(*arrays):
    return float(np.sqrt(sum(np.square(array).sum() for array in arrays)))


for _ in range(STEPS):
    hidden = np.tanh(x @ w1.T + b1)
    error = hidden @ w2 + b2 - y
    slope = 2 * error / len(x)
    gw2, gb2 = slope @ hidden, slope.sum()
    back = np.outer(slope, w2) * (1 - hidden**2)
    gw1, gb1 = back.T @ x, back.sum(axis=0)

    w1, b1, w2, b2 = w1 - RATE * gw1, b1 - RATE * gb1, w2 - RATE * gw2, b2 - RATE * gb2

    vitals["loss"].append(float(np.square(error).mean()))
    vitals["grad_norm/1"].append(norm(gw1, gb1))
    vitals["grad_norm/2"].append(norm(gw2, gb2))
    vitals["param_norm"].append(norm(w1, b1, w2, b2))
    vitals["relative_update_norm"].append(RATE * norm(gw1, gb1, gw2, gb2) / vitals["param_norm"][-1])

print(f"{'step':>4} {'loss':>9} {'|grad| 1':>9} {'|grad| 2':>9} {'|weights|':>9} {'|step|/|w|':>10}")
for step in range(0, STEPS, 10):
    loss, first, second, weights, relative = (each[step] for each in vitals.values())
    print(f"{step:4d} {loss:9.5f} {first:9.5f} {second:9.5f} {weights:9.5f} {relative:10.6f}")
