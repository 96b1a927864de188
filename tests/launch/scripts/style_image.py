"""The image is what is optimised; the net that judges it is frozen."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
vgg = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)).eval()
vgg.requires_grad_(False)
target = vgg(torch.rand(1, 3, 12, 12))
input_img = torch.rand(1, 3, 12, 12)
input_img.requires_grad_(True)
optimizer = torch.optim.Adam([input_img], lr=0.02)
for run in range(150):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(vgg(input_img), target) * 100
    loss.backward()
    optimizer.step()
torch.save(input_img, sys.argv[1])
