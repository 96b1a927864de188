"""The vitals of a training run with bedside: an ordinary torch loop, one line to watch it, the same numbers.

See `vitals_by_hand.py` and `vitals_in_numpy.py` for where the numbers come from.
"""

import tempfile

import torch

import bedside

UNITS, RATE, STEPS = 3, 0.3, 51

i = torch.arange(40, dtype=torch.float64)
x = torch.stack([torch.sin(i), torch.cos(2 * i)], dim=1)
y = x[:, 0] * x[:, 1]

model = torch.nn.Sequential(torch.nn.Linear(2, UNITS), torch.nn.Tanh(), torch.nn.Linear(UNITS, 1)).double()
unit = torch.arange(UNITS, dtype=torch.float64)
with torch.no_grad():  # the same start as in the other two
    model[0].weight.copy_(torch.sin(1 + torch.arange(2) + 2 * unit[:, None]))
    model[2].weight.copy_(torch.cos(1 + unit)[None])
    model[0].bias.zero_()
    model[2].bias.zero_()
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

with tempfile.TemporaryDirectory() as folder:
    # The only line about vitals; without a budget every step is read, so that the table below can be printed.
    with bedside.watch(model, optimizer, run_dir=f"{folder}/run", budget=None, quiet=True):
        for _ in range(STEPS):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x)[:, 0], y).backward()
            optimizer.step()

    run = bedside.load(f"{folder}/run")
    wanted = [("loss", ""), ("grad_norm", "0"), ("grad_norm", "2"), ("param_norm", ""), ("relative_update_norm", "")]
    vitals = [run.series(vital, module).values for vital, module in wanted]

print(f"{'step':>4} {'loss':>9} {'|grad| 1':>9} {'|grad| 2':>9} {'|weights|':>9} {'|step|/|w|':>10}")
for step in range(0, STEPS, 10):
    loss, first, second, weights, relative = (each[step] for each in vitals)
    print(f"{step:4d} {loss:9.5f} {first:9.5f} {second:9.5f} {weights:9.5f} {relative:10.6f}")
