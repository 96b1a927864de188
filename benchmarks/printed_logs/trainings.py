"""Small real trainings in plain torch: one loop, and the faults that people put into such loops as arguments of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class History:
    """What a training loop had at hand to print: readings of single steps and of whole epochs."""

    steps: list[dict[str, float]] = field(default_factory=list)
    epochs: list[dict[str, float]] = field(default_factory=list)
    steps_per_epoch: int = 1
    planned_epochs: int = 1


@dataclass
class Task:
    x: Tensor
    y: Tensor
    val_x: Tensor
    val_y: Tensor
    outputs: int
    kind: str = "classes"  # or "values", "tokens"


def classes(
    seed: int, *, samples: int = 1000, count: int = 10, dims: int = 20, noise: float = 0.05, held_out: int = 500
) -> Task:
    """Which of `count` random linear scores of a bent input is the largest; a share `noise` of the labels is random."""
    maker = torch.Generator().manual_seed(seed)
    first, second = torch.randn(dims, 32, generator=maker), torch.randn(32, count, generator=maker)
    x = torch.randn(samples + held_out, dims, generator=maker)
    y = (torch.tanh(x @ first / dims**0.5) @ second).argmax(1)
    wrong = torch.rand(len(y), generator=maker) < noise
    y = torch.where(wrong, torch.randint(count, (len(y),), generator=maker), y)
    return Task(x[:samples], y[:samples], x[samples:], y[samples:], count)


def values(seed: int, *, samples: int = 600, dims: int = 8, noise: float = 0.1, scale: float = 1.0) -> Task:
    maker = torch.Generator().manual_seed(seed)
    x = torch.randn(samples + 300, dims, generator=maker)
    y = torch.sin(x @ torch.randn(dims, generator=maker)) + 0.5 * x[:, 0] + noise * torch.randn(len(x), generator=maker)
    y = scale * y[:, None]
    return Task(x[:samples], y[:samples], x[samples:], y[samples:], 1, "values")


def tokens(seed: int, *, samples: int = 4000, symbols: int = 30, sharpness: float = 2.0) -> Task:
    """The next symbol of a Markov chain, given the last two as one-hot vectors."""
    maker = torch.Generator().manual_seed(seed)
    table = torch.softmax(sharpness * torch.randn(symbols, symbols, generator=maker), 1)
    text = [0]
    for _ in range(samples + 1002):
        text.append(int(torch.multinomial(table[text[-1]], 1, generator=maker)))
    line = torch.tensor(text)
    x = torch.cat([F.one_hot(line[:-2], symbols), F.one_hot(line[1:-1], symbols)], 1).float()
    y = line[2:]
    return Task(x[:samples], y[:samples], x[samples:], y[samples:], symbols, "tokens")


def network(task: Task, width: int, depth: int, activation: str, norm: bool, dropout: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    size = task.x.shape[1]
    for _ in range(depth):
        layers.append(nn.Linear(size, width))
        layers += [nn.BatchNorm1d(width)] if norm else []
        layers.append({"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}[activation]())
        layers += [nn.Dropout(dropout)] if dropout else []
        size = width
    return nn.Sequential(*layers, nn.Linear(size, task.outputs))


Hook = Callable[[dict[str, Any]], None]


def fit(
    task: Task,
    *,
    seed: int = 0,
    width: int = 64,
    depth: int = 2,
    activation: str = "relu",
    norm: bool = False,
    dropout: float = 0.0,
    optimizer: str = "adam",
    lr: float = 1e-3,
    momentum: float = 0.9,
    decay: float = 0.0,
    batch: int = 50,
    epochs: int = 20,
    schedule: Callable[[float], float] | None = None,
    clip: float | None = None,
    shuffle: bool = True,
    smoothing: float = 0.0,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    before_step: Hook | None = None,
    after_step: Hook | None = None,
    before_validation: Hook | None = None,
    stale_copy: bool = False,
    train_mode_in_validation: bool = False,
    wrong_accuracy: bool = False,
    patience: int | None = None,
) -> History:
    """Train, and write down what a loop could print. Schedules get the share of the run that is over."""
    torch.manual_seed(seed)
    model = network(task, width, depth, activation, norm, dropout)
    parameters = list(model.parameters())
    torch_optimizer: torch.optim.Optimizer = (
        torch.optim.SGD(parameters, lr, momentum=momentum, weight_decay=decay)
        if optimizer == "sgd"
        else torch.optim.AdamW(parameters, lr, weight_decay=decay)
    )
    evaluated = copy.deepcopy(model) if stale_copy else model
    per_epoch = len(task.x) // batch
    history = History(steps_per_epoch=per_epoch, planned_epochs=epochs)
    loss = loss or (
        F.mse_loss if task.kind == "values" else lambda out, y: F.cross_entropy(out, y, label_smoothing=smoothing)
    )
    plain = F.mse_loss if task.kind == "values" else F.cross_entropy
    step, best, since = 0, math.inf, 0
    for epoch in range(1, epochs + 1):
        order = torch.randperm(len(task.x)) if shuffle else torch.arange(len(task.x))
        losses, right = [], []
        for rows in order[: per_epoch * batch].split(batch):
            step += 1
            now = {"step": step, "model": model, "x": task.x[rows], "y": task.y[rows], "optimizer": torch_optimizer}
            rate = lr * (schedule((step - 1) / (per_epoch * epochs)) if schedule else 1.0)
            for group in torch_optimizer.param_groups:
                group["lr"] = rate
            if before_step:
                before_step(now)
            model.train()
            out = model(now["x"])
            value = loss(out, now["y"])
            torch_optimizer.zero_grad()
            value.backward()
            total = nn.utils.clip_grad_norm_(parameters, clip if clip is not None else math.inf)
            torch_optimizer.step()
            if after_step:
                after_step(now)
            losses.append(value.item())
            reading = {"step": step, "epoch": epoch, "loss": value.item(), "lr": rate, "grad_norm": total.item()}
            if task.kind != "values":
                right.append(_right(out, now["y"], wrong_accuracy))
                reading["acc"] = right[-1]
            history.steps.append(reading)
        summary = {"step": step, "epoch": epoch, "train_loss": sum(losses) / len(losses), "lr": rate}
        if right:
            summary["train_acc"] = sum(right) / len(right)
        with torch.no_grad():
            evaluated.train(train_mode_in_validation)
            shown = {"epoch": epoch, "x": task.val_x, "y": task.val_y, "model": evaluated}
            if before_validation:
                before_validation(shown)
            out = evaluated(shown["x"])
            summary["val_loss"] = plain(out, shown["y"]).item()
            if task.kind != "values":
                summary["val_acc"] = _right(out, shown["y"], wrong_accuracy)
                for name in range(min(task.outputs, 5)):
                    mine = shown["y"] == name
                    summary[f"recall_{name}"] = (out.argmax(1)[mine] == name).float().mean().item()
        history.epochs.append(summary)
        best, since = (summary["val_loss"], 0) if summary["val_loss"] < best else (best, since + 1)
        if patience is not None and since >= patience:
            break
    return history


def _right(out: Tensor, y: Tensor, wrong: bool) -> float:
    """The share of right answers, or, as a slip has it, of answers that agree with somebody else's label."""
    return (out.argmax(1) == (y.roll(1) if wrong else y)).float().mean().item()


def adversaries(
    seed: int, *, epochs: int = 20, rates: tuple[float, float] = (1e-3, 1e-3), per_epoch: int = 40
) -> History:
    """A GAN on a ring of points."""
    torch.manual_seed(seed)
    generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    of_generator = torch.optim.Adam(generator.parameters(), rates[0], betas=(0.5, 0.9))
    of_critic = torch.optim.Adam(critic.parameters(), rates[1], betas=(0.5, 0.9))
    one, zero = torch.ones(64, 1), torch.zeros(64, 1)
    judge = F.binary_cross_entropy_with_logits
    history = History(steps_per_epoch=per_epoch, planned_epochs=epochs)
    for step in range(1, epochs * per_epoch + 1):
        angle = 2 * math.pi * torch.rand(64, 1)
        real = torch.cat([angle.cos(), angle.sin()], 1) + 0.1 * torch.randn(64, 2)
        fake = generator(torch.randn(64, 4))
        loss_d = judge(critic(real), one) + judge(critic(fake.detach()), zero)
        of_critic.zero_grad(), loss_d.backward(), of_critic.step()
        loss_g = judge(critic(fake), one)
        of_generator.zero_grad(), loss_g.backward(), of_generator.step()
        history.steps.append(
            {
                "step": step,
                "epoch": (step - 1) // per_epoch + 1,
                "loss_d": loss_d.item(),
                "loss_g": loss_g.item(),
                "d_x": torch.sigmoid(critic(real)).mean().item(),
                "d_g": torch.sigmoid(critic(fake)).mean().item(),
            }
        )
    return history


def policy(seed: int, *, updates: int = 80, lr: float = 1e-2, sign: float = 1.0, leap: int | None = None) -> History:
    """REINFORCE in a corridor of nine places: a step costs one, the end on the right pays ten, thirty steps at most."""
    torch.manual_seed(seed)
    actor = nn.Sequential(nn.Linear(9, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(actor.parameters(), lr)
    history = History(planned_epochs=updates)
    baseline = 0.0
    for update in range(1, updates + 1):
        if update == leap:
            for group in optimizer.param_groups:
                group["lr"] = 100 * lr
        place, alive = torch.full((32,), 2), torch.ones(32)
        chosen, returns, lengths = torch.zeros(32), torch.zeros(32), torch.zeros(32)
        entropy = torch.zeros(())
        for _ in range(30):
            answer = torch.distributions.Categorical(logits=actor(F.one_hot(place, 9).float()))
            action = answer.sample()
            chosen = chosen + alive * answer.log_prob(action)
            entropy = entropy + (alive * answer.entropy()).mean() / 30
            place = (place + 2 * action - 1).clamp(0, 8)
            returns, lengths = returns - alive, lengths + alive
            returns = returns + 10 * alive * (place == 8)
            alive = alive * (place != 8)
        mean = returns.mean().item()
        loss = -sign * (chosen * (returns - baseline)).mean() / 10
        baseline = mean if update == 1 else 0.9 * baseline + 0.1 * mean
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        history.steps.append(
            {
                "step": update * 32,
                "epoch": update,
                "loss": loss.item(),
                "reward": mean,
                "length": lengths.mean().item(),
                "entropy": entropy.item(),
            }
        )
    return history
