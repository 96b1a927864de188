"""The validation loop was copied from the training loop with backward() and step() in it: the network learns the
validation set, and the best epoch is chosen by it."""

import copy

import torch
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "evaluation"
EXPECTS = (
    "seen-before",
    "overfitting",
    "evaluating-with-gradients",
    "training-in-eval-mode",
    "validation-below-training",
)


def make_data():
    X, y = make_classification(3000, 20, n_informative=8, n_redundant=2, class_sep=1.0, flip_y=0.2)
    X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
    y = torch.tensor(y, dtype=torch.float32)
    return TensorDataset(X[:1500], y[:1500]), TensorDataset(X[1500:1800], y[1500:1800]), (X[1800:], y[1800:])


def main(watch, faulty):
    train_set, val_set, (X_test, y_test) = make_data()
    loaders = {"train": DataLoader(train_set, 50, shuffle=True), "val": DataLoader(val_set, 50)}
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=3e-4)
    criterion = nn.BCEWithLogitsLoss()
    best_loss, best_state, waited = float("inf"), None, 0
    with watch(model, optimizer) as monitor:
        for epoch in range(40):
            for phase in ("train", "val"):
                model.train(phase == "train")
                running = correct = 0.0
                for X, y in loaders[phase]:
                    optimizer.zero_grad()
                    with torch.set_grad_enabled(phase == "train" or faulty):
                        out = model(X).squeeze(1)
                        loss = criterion(out, y)
                    if phase == "train" or faulty:
                        loss.backward()
                        optimizer.step()
                    running += loss.item() * len(y)
                    correct += ((out > 0) == (y > 0.5)).sum().item()
                n = len(loaders[phase].dataset)
                monitor.log(**{"epoch": epoch, f"{phase}_loss": running / n, f"{phase}_acc": correct / n})
            val_loss = running / n
            if val_loss < best_loss - 1e-3:
                best_loss, best_state, waited = val_loss, copy.deepcopy(model.state_dict()), 0
            else:
                waited += 1
                if waited == 4:
                    break
    model.load_state_dict(best_state)
    model.eval()
    with torch.no_grad():
        return -criterion(model(X_test).squeeze(1), y_test).item()
