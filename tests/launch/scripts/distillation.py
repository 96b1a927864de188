"""A teacher is trained, then a student learns from it: two trainings in one script."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
centres = torch.randn(5, 12)


def batch(n=64):
    y = torch.randint(5, (n,))
    return centres[y] + 0.8 * torch.randn(n, 12), y


teacher = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 5))
student = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 5))


def train(model, steps, loss_of):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        loss_of(x, y).backward()
        optimizer.step()


train(teacher, 150, lambda x, y: F.cross_entropy(teacher(x), y))
teacher.eval()
T = 2.0


def distil(x, y):
    with torch.no_grad():
        soft = F.softmax(teacher(x) / T, 1)
    logits = student(x)
    return 0.5 * F.kl_div(F.log_softmax(logits / T, 1), soft, reduction="batchmean") * T * T + 0.5 * F.cross_entropy(logits, y)


train(student, 150, distil)
torch.save([teacher.state_dict(), student.state_dict()], sys.argv[1])
