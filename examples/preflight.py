"""Check a training before its first step: a healthy classifier, then the same with a softmax too many."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import bedside


def setup():
    """What `bedside preflight examples/preflight.py:setup` asks for."""
    torch.manual_seed(0)
    x = torch.randn(1200, 20)
    y = (x @ torch.randn(20, 4)).argmax(1)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return {
        "model": model,
        "train_loader": DataLoader(TensorDataset(x[:1000], y[:1000]), batch_size=32, shuffle=True),
        "val_loader": DataLoader(TensorDataset(x[1000:], y[1000:]), batch_size=100),
        "loss_fn": nn.CrossEntropyLoss(),
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=640),
        "steps": 640,
    }


if __name__ == "__main__":
    print(bedside.preflight(**setup()))

    training = setup()
    training["model"].append(nn.Softmax(dim=1))
    result = bedside.preflight(**training)
    for finding in result.failed:
        print(finding)
