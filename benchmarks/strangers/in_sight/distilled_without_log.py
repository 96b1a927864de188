"""Distillation where kl_div gets the student's probabilities, not their logarithms: the student learns to be sure."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "distillation"
EXPECTS = ("mismatched-loss", "unbounded-negative-loss", "stalled-loss", "underfitting", "loss-without-accuracy")


def mlp(width):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))


def main(watch, faulty):
    x, y, xt, yt = digits()
    teacher = mlp(256)
    opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for _ in range(200):
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()
    teacher = copy.deepcopy(teacher).eval()
    student, T = mlp(24), 4.0
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    with watch(student, opt) as monitor:
        for _ in range(40):
            for idx in torch.randperm(len(x)).split(64):
                with torch.no_grad():
                    soft = F.softmax(teacher(x[idx]) / T, dim=1)
                logits = student(x[idx])
                guess = F.softmax(logits / T, dim=1) if faulty else F.log_softmax(logits / T, dim=1)
                loss = F.kl_div(guess, soft, reduction="batchmean") * T * T
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = student(xt)
            val_loss, acc = F.cross_entropy(out, yt).item(), (out.argmax(1) == yt).float().mean().item()
            monitor.log(val_loss=val_loss, val_acc=acc)
    return -val_loss
