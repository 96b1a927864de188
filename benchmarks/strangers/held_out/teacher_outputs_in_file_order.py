"""Distillation from stored teacher outputs: they lie in the order of the file, the loader shuffles, and each sample is
taught with the answer for another."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "distillation"
EXPECTS = (
    "stalled-loss",
    "stuck-from-start",
    "underfitting",
    "nothing-generalises",
    "loss-at-chance",
    "oscillating-loss",
)


class Indexed(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i], i


def teacher_logits(x, y):
    teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for _ in range(15):
        for idx in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(teacher(x[idx]), y[idx], label_smoothing=0.05).backward()
            optimizer.step()
    return teacher(x).detach()


def main(watch, faulty):
    data = load_digits()
    x, y = torch.tensor(data.data, dtype=torch.float32) / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    stored = teacher_logits(x[:1400], y[:1400])
    loader = DataLoader(Indexed(x[:1400], y[:1400]), batch_size=50, shuffle=True)
    student = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
    temperature = 3.0
    monitor = watch(student, optimizer)
    for epoch in range(20):
        student.train()
        for n, (xb, _, idx) in enumerate(loader):
            taught = stored[n * 50 : (n + 1) * 50] if faulty else stored[idx]
            out = student(xb)
            soft = F.kl_div(
                F.log_softmax(out / temperature, 1), F.softmax(taught / temperature, 1), reduction="batchmean"
            )
            loss = temperature**2 * soft
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        student.eval()
        with torch.no_grad():
            out = student(x[1400:])
            acc = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
