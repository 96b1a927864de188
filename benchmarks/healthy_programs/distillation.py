"""Knowledge distillation: a teacher trained first (unwatched), a small student with soft targets at temperature 4."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def mlp(width):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    loader = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=64, shuffle=True)
    teacher = mlp(256)
    opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
    for _ in range(15):
        for xb, yb in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(xb), yb).backward()
            opt.step()
    teacher.eval()
    student, temperature, alpha = mlp(24), 4.0, 0.7
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    monitor = watch(student, opt)
    for epoch in range(20):
        student.train()
        for xb, yb in loader:
            with torch.no_grad():
                soft = F.softmax(teacher(xb) / temperature, 1)
            out = student(xb)
            kd = F.kl_div(F.log_softmax(out / temperature, 1), soft, reduction="batchmean") * temperature**2
            loss = alpha * kd + (1 - alpha) * F.cross_entropy(out, yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        student.eval()
        with torch.no_grad():
            out = student(X[1400:])
            val = F.cross_entropy(out, y[1400:]).item()
            acc = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=val, val_acc=acc, epoch=epoch)
    monitor.close()
    assert acc > 0.85
