"""Mean teacher with the moving average the wrong way round: after every step the student is pulled back onto the
teacher."""

import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import make_moons
from torch import nn

FAMILY = "mean teacher"
EXPECTS = (
    "weight-jump",
    "stuck-from-start",
    "stalled-loss",
    "undersized-update",
    "loss-at-chance",
    "unmoved-parameter",
)


class MeanTeacher:
    def __init__(self, student, decay=0.98):
        self.student, self.decay = student, decay
        self.teacher = copy.deepcopy(student).requires_grad_(False)

    @torch.no_grad()
    def update(self, reverse):
        for t, s in zip(self.teacher.parameters(), self.student.parameters(), strict=False):
            if reverse:
                s.mul_(1 - self.decay).add_(t, alpha=self.decay)
            else:
                t.mul_(self.decay).add_(s, alpha=1 - self.decay)


def main(watch, faulty):
    x, y = make_moons(1500, noise=0.12, random_state=0)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    x = (x - x.mean(0)) / x.std(0)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    labelled, val, test = slice(0, 60), slice(1000, 1200), slice(1200, 1500)
    student = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
    mt = MeanTeacher(student)
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
    steps = 900
    with watch(student, optimizer) as monitor:
        for step in range(steps):
            rows = torch.randint(0, 1000, (64,))
            supervised = F.cross_entropy(student(x[labelled] + 0.05 * torch.randn(60, 2)), y[labelled])
            with torch.no_grad():
                wanted = mt.teacher(x[rows] + 0.1 * torch.randn(64, 2)).softmax(1)
            got = student(x[rows] + 0.1 * torch.randn(64, 2)).softmax(1)
            ramp = min(1.0, step / 300)
            loss = supervised + 2.0 * ramp * F.mse_loss(got, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mt.update(reverse=faulty)
            for g in optimizer.param_groups:
                g["lr"] = 3e-3 * (1 - step / steps)
            if step % 45 == 44:
                with torch.no_grad():
                    out = student(x[val])
                acc = (out.argmax(1) == y[val]).float().mean().item()
                monitor.log(step=step, val_loss=F.cross_entropy(out, y[val]).item(), val_acc=acc)
    with torch.no_grad():
        return (student(x[test]).argmax(1) == y[test]).float().mean().item()
