"""A schedule looked at before it is used."""

import torch

from bedside.lab import schedules

optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=3e-4)
scheduler = schedules.warmup_cosine(optimizer, warmup=100, total=1000)

result = schedules.preview(scheduler, 1000)
print(result)
result.plot("schedules.png")
