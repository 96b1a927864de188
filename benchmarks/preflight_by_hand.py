"""Healthy programs whose loss cannot be taken apart by watching them, as their authors would hand them to preflight.

Each takes the program's own names (its classes, constants and helpers) and returns what `bedside.preflight` takes. The
models, losses, optimizers and rates are the program's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

Names = dict[str, Any]
BY_HAND: dict[str, Callable[[Names], dict[str, Any]]] = {}


def by_hand(function: Callable[[Names], dict[str, Any]]) -> Callable[[Names], dict[str, Any]]:
    BY_HAND[function.__name__.replace("_", "-")] = function
    return function


def digits() -> tuple[Tensor, Tensor]:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return torch.tensor(x, dtype=torch.float32) / 16, torch.tensor(y)


def loaders(*columns: Tensor, batch: int = 64) -> dict[str, Any]:
    """Training and validation loaders of the same columns, four fifths and one fifth."""
    cut = len(columns[0]) * 4 // 5
    train, rest = (TensorDataset(*(each[part] for each in columns)) for part in (slice(cut), slice(cut, None)))
    return {"train_loader": DataLoader(train, batch, shuffle=True), "val_loader": DataLoader(rest, batch)}


@by_hand
def multi_task(names: Names) -> dict[str, Any]:
    x, y = digits()
    ink = x.sum(1)
    model = names["TwoHeads"]()

    def loss_fn(output: Any, batch: Any) -> Tensor:
        losses = torch.stack([F.cross_entropy(output[0], batch[1]), F.mse_loss(output[1], batch[2])])
        return (torch.exp(-model.log_vars) * losses + model.log_vars).sum()

    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return {"model": model, "loss_fn": loss_fn, "optimizer": optimizer, **loaders(x, y, (ink - ink.mean()) / ink.std())}


@by_hand
def moe_router(names: Names) -> dict[str, Any]:
    model = names["Net"]()
    x = torch.randn(2000, 4)

    def loss_fn(output: Any, batch: Any) -> Tensor:
        return F.mse_loss(output[0], batch[1]) + 0.01 * output[1]

    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    return {"model": model, "loss_fn": loss_fn, "optimizer": optimizer, **loaders(x, names["truth"](x), batch=128)}


@by_hand
def siamese_triplet(names: Names) -> dict[str, Any]:
    x, y = digits()
    order = y.argsort()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
    criterion = nn.TripletMarginLoss(margin=1.0)
    return {
        "model": model,
        "loss_fn": lambda output, batch: criterion(*output),
        "forward": lambda model, batch: tuple(model(each) for each in batch),
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        **loaders(x[order], x[order].roll(1, 0), x[torch.randperm(len(x))]),
    }


@by_hand
def simclr_digits(names: Names) -> dict[str, Any]:
    x, _ = digits()
    encoder = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64))
    model = nn.Sequential(encoder, nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    return {
        "model": model,
        "loss_fn": lambda output, batch: names["nt_xent"](*output),
        "forward": lambda model, batch: tuple(model(names["augment"](batch[0])) for _ in range(2)),
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20),
        "steps": 20 * 6,
        **loaders(x, batch=256),
    }


@by_hand
def graph_convolution(names: Names) -> dict[str, Any]:
    n = 300
    labels = torch.arange(n) % 3
    upper = (torch.rand(n, n) < torch.where(labels[:, None] == labels[None], 0.06, 0.008)).float().triu(1)
    adjacency = upper + upper.T + torch.eye(n)
    d = adjacency.sum(1).rsqrt()
    features = torch.randn(n, 16) + F.one_hot(labels, 16).float() * 1.5
    chosen = torch.randperm(n)[:60]
    model = names["GCN"](16, 16, 3)
    return {
        "model": model,
        "train_loader": [(features, d[:, None] * adjacency * d[None], labels)] * 2,
        "loss_fn": lambda output, batch: F.nll_loss(output[chosen], batch[2][chosen]),
        "optimizer": torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4),
    }


@by_hand
def normalizing_flow(names: Names) -> dict[str, Any]:
    from sklearn.datasets import make_moons

    x = torch.tensor(make_moons(5000, noise=0.03)[0], dtype=torch.float32) * 0.6
    model = names["Flow"]()
    return {
        "model": model,
        "loss_fn": lambda output, batch: -output.mean(),
        "forward": lambda model, batch: model.log_prob(batch[0]),
        "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3),
        **loaders(x[torch.randperm(5000)], batch=200),
    }


@by_hand
def diffusion_points(names: Names) -> dict[str, Any]:
    angle = torch.rand(2560) * 2 * torch.pi
    x = torch.stack([angle.cos(), angle.sin()], 1) * 1.2 + 0.03 * torch.randn(2560, 2)
    model, bar = names["Denoiser"](), names["bar"]

    def forward(model: Any, batch: Any) -> Tensor:
        t = torch.randint(0, names["T"], (len(batch[0]),))
        noise = torch.randn_like(batch[0])
        noisy = bar[t].sqrt()[:, None] * batch[0] + (1 - bar[t]).sqrt()[:, None] * noise
        return model(noisy, t.float()) - noise

    return {
        "model": model,
        "forward": forward,
        "loss_fn": lambda output, batch: (output**2).mean(),
        "optimizer": torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4),
        **loaders(x, batch=256),
    }


@by_hand
def pinn_heat(names: Names) -> dict[str, Any]:
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def derivatives(model: Any, t: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            t = t.clone().requires_grad_(True)
            y = model(t)
            return y, torch.autograd.grad(y.sum(), t, create_graph=True)[0]

    def forward(model: Any, batch: Any) -> Any:
        with torch.enable_grad():
            t = batch[0].clone().requires_grad_(True)
            y = model(t)
            dy = torch.autograd.grad(y.sum(), t, create_graph=True)[0]
            ddy = torch.autograd.grad(dy.sum(), t, create_graph=True)[0]
        return (ddy + y, *derivatives(model, torch.zeros(1, 1)))

    def loss_fn(output: Any, batch: Any) -> Tensor:
        rest, y0, dy0 = output
        return (rest**2).mean() + 10 * ((y0**2).mean() + ((dy0 - 1) ** 2).mean())

    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    times = torch.rand(1000, 1) * 3.14
    return {"model": model, "forward": forward, "loss_fn": loss_fn, "optimizer": optimizer, **loaders(times)}


@by_hand
def distillation(names: Names) -> dict[str, Any]:
    x, y = digits()
    teacher, student = names["mlp"](256).eval(), names["mlp"](24)

    def loss_fn(output: Tensor, batch: Any) -> Tensor:
        with torch.no_grad():
            soft = F.softmax(teacher(batch[0]) / 4, 1)
        kd = F.kl_div(F.log_softmax(output / 4, 1), soft, reduction="batchmean") * 16
        return 0.7 * kd + 0.3 * F.cross_entropy(output, batch[1])

    optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
    return {"model": student, "loss_fn": loss_fn, "optimizer": optimizer, **loaders(x, y)}


@by_hand
def label_smoothing_mixup(names: Names) -> dict[str, Any]:
    x, y = digits()
    model = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 10))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def forward(model: Any, batch: Any) -> Any:
        inputs, a, b, share = names["mixup_data"](*batch)
        return model(inputs), a, b, share

    def loss_fn(output: Any, batch: Any) -> Tensor:
        scores, a, b, share = output
        return share * criterion(scores, a) + (1 - share) * criterion(scores, b)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [10, 16], gamma=0.1)
    found = {"model": model, "forward": forward, "loss_fn": loss_fn, "optimizer": optimizer, "scheduler": scheduler}
    return found | {"steps": 20 * 12} | loaders(x, y, batch=128)


@by_hand
def vae_digits(names: Names) -> dict[str, Any]:
    x, _ = digits()
    model = names["VAE"]()
    return {
        "model": model,
        "loss_fn": lambda output, batch: names["loss_function"](output[0], batch[0], *output[1:]),
        "forward": lambda model, batch: model(batch[0]),
        "optimizer": torch.optim.Adam(model.parameters(), lr=1e-3),
        **loaders(x),
    }


@by_hand
def lstm_language_model(names: Names) -> dict[str, Any]:
    import textwrap

    with open(textwrap.__file__, encoding="utf-8") as file:
        text = file.read()
    vocabulary = {c: i for i, c in enumerate(sorted(set(text)))}
    columns = names["batchify"](torch.tensor([vocabulary[c] for c in text]), 16)
    model, criterion = names["RNNModel"](len(vocabulary)), nn.CrossEntropyLoss()
    pieces = range(0, len(columns) - 33, 32)
    return {
        "model": model,
        "train_loader": [(columns[i : i + 32], columns[i + 1 : i + 33]) for i in pieces],
        "forward": lambda model, batch: model(batch[0], None),
        "loss_fn": lambda output, batch: criterion(output[0], batch[1].flatten()),
        "optimizer": torch.optim.Adam(model.parameters(), lr=4e-3),
    }
