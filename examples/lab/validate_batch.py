"""A batch with a NaN, an outlier and a label too many."""

import torch

from bedside import lab

inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
inputs[1, 2], inputs[3, 0] = float("nan"), 2e6

result = lab.validate_batch((inputs, torch.tensor([0, 2, 1, 3])), classes=3)
print(result)
