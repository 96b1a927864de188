"""Which tensors of a model hold NaN or Inf?"""

import torch
from torch import nn

from bedside import lab

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.Linear(32, 3))
model[1].running_var[3] = float("inf")  # as one overflowing batch leaves it

result = lab.find_nan(model)
print(result)
