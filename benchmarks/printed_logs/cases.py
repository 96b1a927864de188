"""Which training is printed in which style, and what an expert would say of it: 40 sick and 60 healthy ones.

Every second case of each list is held out: rule writers look at the others only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .trainings import History, Task, adversaries, classes, fit, policy, tokens, values


@dataclass(frozen=True)
class Case:
    name: str
    style: str
    train: Callable[[], History]
    exact: tuple[str, ...] = ()  # findings that name what is wrong; none means healthy
    also: tuple[str, ...] = ()  # findings that an expert would accept as having seen it
    held_out: bool = False

    @property
    def sick(self) -> bool:
        return bool(self.exact)


def shuffled(task: Task) -> Task:
    """Labels that have nothing to do with their inputs, in training alone."""
    order = torch.randperm(len(task.y), generator=torch.Generator().manual_seed(1))
    return replace(task, y=task.y[order])


def by_label(task: Task) -> Task:
    order = task.y.argsort(stable=True)
    return replace(task, x=task.x[order], y=task.y[order])


def leaked(task: Task) -> Task:
    def result(x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x, 3.0 * F.one_hot(y, task.outputs)], 1)

    return replace(task, x=result(task.x, task.y), val_x=result(task.val_x, task.val_y))


def by_hand(out: Tensor, y: Tensor) -> Tensor:
    return -(torch.softmax(out, 1).log().gather(1, y[:, None])).mean()


def at(step: int, do: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    return lambda now: do(now) if now["step"] == step else None


def scaled_input(factor: float) -> Callable[[dict[str, Any]], None]:
    def change(now: dict[str, Any]) -> None:
        now["x"] = factor * now["x"]

    return change


def overwrite(now: dict[str, Any]) -> None:
    with torch.no_grad():
        for weight in now["model"].parameters():
            weight.normal_(0, 0.5)


def other_scale(shown: dict[str, Any]) -> None:
    shown["x"] = 20 * shown["x"] + 10


def cosine(done: float) -> float:
    return 0.5 + 0.5 * math.cos(math.pi * done)


def warm_cosine(done: float) -> float:
    return min(1.0, (done + 1e-3) / 0.1) * cosine(done)


def restarts(done: float) -> float:
    return 0.02 + 0.98 * cosine((4 * done) % 1.0)


def halving(done: float) -> float:
    return 0.1 ** int(done / 0.4)


def early_end(done: float) -> float:
    return max(1e-5, 1 - done / 0.1)


def never_warm(done: float) -> float:
    return done


def leap(done: float) -> float:
    return 1.0 if done < 0.5 else 60.0


DIVERGED = ("diverging-loss", "nonfinite-loss", "exploding-gradient")
CHANCE = ("loss-at-chance", "stuck-from-start")
MEMORISED = ("overfitting", "overconfident")

SICK = [
    (
        "rate-ten-times-too-high",
        "logger",
        lambda: fit(classes(1), optimizer="sgd", lr=3.0, epochs=15),
        ("diverging-loss", "oscillating-loss", "noisy-loss", "loss-at-chance", "stuck-from-start"),
        (*DIVERGED, "lost-progress", "wrong-initial-loss"),
    ),
    (
        "regression-blows-up",
        "keras",
        lambda: fit(values(2, scale=10), optimizer="sgd", lr=0.05, epochs=12),
        DIVERGED,
        ("lost-progress",),
    ),
    (
        "nan-half-way",
        "json_lines",
        lambda: fit(classes(3), epochs=20, before_step=at(170, scaled_input(math.nan))),
        ("nonfinite-loss",),
        ("nonfinite-gradient",),
    ),
    (
        "nan-at-the-end",
        "hf_printed",
        lambda: fit(tokens(4), epochs=10, loss=by_hand, lr=3e-3, before_step=at(650, scaled_input(1e30))),
        ("nonfinite-loss",),
        ("nonfinite-gradient",),
    ),
    ("few-samples", "epoch_csv", lambda: fit(classes(5, samples=200, noise=0.1), epochs=60, batch=20), MEMORISED, ()),
    (
        "few-samples-printed",
        "notebook",
        lambda: fit(classes(6, samples=150, count=4, noise=0.2), epochs=40, batch=15, width=128),
        MEMORISED,
        (),
    ),
    ("language-model-memorises", "nanogpt", lambda: fit(tokens(7, samples=600), epochs=30, width=128), MEMORISED, ()),
    (
        "perplexity-turns",
        "perplexity_only",
        lambda: fit(tokens(8, samples=800), epochs=25, width=128, lr=2e-3),
        MEMORISED,
        (),
    ),
    (
        "noisy-labels-memorised",
        "gappy_csv",
        lambda: fit(classes(9, samples=500, noise=0.4), epochs=40, width=128),
        MEMORISED,
        (),
    ),
    (
        "fine-tuned-too-long",
        "hf_printed",
        lambda: fit(classes(10, samples=300, noise=0.3), epochs=6, batch=10, width=256, lr=5e-3),
        MEMORISED,
        ("gap-from-start",),
    ),
    (
        "no-rate",
        "summary",
        lambda: fit(classes(11), optimizer="sgd", lr=1e-7, epochs=15),
        CHANCE,
        ("constant-loss", "underfitting", "nothing-generalises", "loss-without-accuracy"),
    ),
    (
        "tiny-rate",
        "json_lines",
        lambda: fit(classes(12), lr=1e-7, epochs=12),
        (*CHANCE, "vanished-learning-rate"),
        ("constant-loss", "underfitting", "nothing-generalises"),
    ),
    (
        "shuffled-labels",
        "logger",
        lambda: fit(shuffled(classes(13, samples=500)), epochs=40),
        ("nothing-generalises",),
        MEMORISED,
    ),
    (
        "shuffled-labels-four",
        "keras",
        lambda: fit(shuffled(classes(14, samples=400, count=4)), epochs=30, width=128),
        ("nothing-generalises",),
        MEMORISED,
    ),
    (
        "dead-at-chance",
        "nested",
        lambda: fit(classes(15), depth=14, activation="sigmoid", epochs=15),
        CHANCE,
        ("constant-loss", "stalled-loss", "underfitting", "nothing-generalises"),
    ),
    (
        "deep-sigmoid-tokens",
        "fairseq",
        lambda: fit(tokens(16), depth=10, activation="sigmoid", epochs=12),
        (*CHANCE, "stalled-loss"),
        ("constant-loss", "underfitting", "nothing-generalises", "faded-gradient"),
    ),
    (
        "accuracy-of-others",
        "logger",
        lambda: fit(classes(17), epochs=20, wrong_accuracy=True),
        ("loss-without-accuracy",),
        ("nothing-generalises",),
    ),
    (
        "accuracy-of-others-bars",
        "keras",
        lambda: fit(classes(18, count=5), epochs=25, wrong_accuracy=True),
        ("loss-without-accuracy",),
        ("nothing-generalises",),
    ),
    (
        "sorted-labels",
        "imagenet",
        lambda: fit(by_label(classes(19)), shuffle=False, epochs=25, optimizer="sgd", lr=0.1),
        ("oscillating-loss", "epoch-boundary-jump", "erratic-validation", "nothing-generalises", "noisy-loss"),
        ("diverging-loss", "gap-from-start", "overfitting", "overconfident", "lost-progress", "loss-spike"),
    ),
    (
        "sorted-labels-json",
        "json_lines",
        lambda: fit(by_label(classes(20, count=5)), shuffle=False, epochs=20, lr=5e-3),
        ("oscillating-loss", "epoch-boundary-jump", "erratic-validation", "nothing-generalises", "noisy-loss"),
        ("diverging-loss", "gap-from-start", "overfitting", "overconfident", "lost-progress", "loss-spike"),
    ),
    (
        "weights-lost",
        "json_lines",
        lambda: fit(classes(21), epochs=20, lr=3e-4, before_step=at(330, overwrite)),
        ("lost-progress", "loss-spike", "diverging-loss"),
        ("exploding-gradient",),
    ),
    (
        "rate-leaps-at-a-resume",
        "mm",
        lambda: fit(classes(22), epochs=20, optimizer="sgd", lr=0.05, schedule=leap),
        ("learning-rate-leap",),
        ("diverging-loss", "lost-progress", "exploding-gradient", "loss-spike", "oscillating-loss"),
    ),
    (
        "rate-leaps-unlogged",
        "nanogpt",
        lambda: fit(tokens(23), epochs=16, lr=1e-3, schedule=lambda d: 1 if d < 0.5 else 300),
        ("lost-progress", "diverging-loss"),
        ("oscillating-loss", "loss-spike", "noisy-loss"),
    ),
    (
        "always-clipped",
        "hf_printed",
        lambda: fit(classes(24), epochs=20, optimizer="sgd", momentum=0.0, lr=0.1, clip=1e-3),
        ("gradient-always-clipped",),
        ("stuck-from-start", "underfitting", "stalled-loss", "loss-at-chance"),
    ),
    (
        "schedule-over-too-soon",
        "json_lines",
        lambda: fit(classes(25, samples=2000), epochs=20, schedule=early_end),
        ("schedule-ended-early", "vanished-learning-rate"),
        ("stalled-loss", "scheduler-per-batch"),
    ),
    (
        "schedule-over-printed",
        "fairseq",
        lambda: fit(tokens(26), epochs=12, schedule=early_end, lr=3e-4),
        ("schedule-ended-early", "vanished-learning-rate"),
        ("stalled-loss", "scheduler-per-batch"),
    ),
    (
        "warm-up-without-end",
        "gappy_csv",
        lambda: fit(classes(27), epochs=20, lr=3e-4, schedule=never_warm),
        ("endless-warmup",),
        (),
    ),
    (
        "validation-of-a-copy",
        "summary",
        lambda: fit(classes(28), epochs=20, stale_copy=True),
        ("frozen-validation",),
        ("gap-from-start", "nothing-generalises", "loss-without-accuracy"),
    ),
    (
        "validation-of-a-copy-csv",
        "epoch_csv",
        lambda: fit(values(29), epochs=20, stale_copy=True),
        ("frozen-validation",),
        ("gap-from-start", "nothing-generalises"),
    ),
    (
        "validation-unscaled",
        "logger",
        lambda: fit(classes(30), epochs=20, before_validation=other_scale),
        ("gap-from-start", "nothing-generalises"),
        MEMORISED,
    ),
    (
        "validation-unscaled-values",
        "markdown",
        lambda: fit(values(31), epochs=30, before_validation=other_scale),
        ("gap-from-start", "nothing-generalises"),
        ("overfitting", "diverging-loss"),
    ),
    (
        "told-the-answer",
        "keras",
        lambda: fit(leaked(classes(32)), epochs=15, lr=5e-3),
        ("suspiciously-perfect",),
        ("leaked-answer",),
    ),
    (
        "decay-eats-the-weights",
        "nested",
        lambda: fit(classes(33), epochs=20, lr=1e-2, decay=30.0),
        (*CHANCE, "stalled-loss"),
        ("underfitting", "nothing-generalises", "diverging-loss", "lost-progress", "constant-loss"),
    ),
    (
        "critic-wins",
        "gan_prints",
        lambda: adversaries(34, rates=(1e-6, 5e-3)),
        ("diverging-loss", "stalled-loss", "unbalanced-loss-parts"),
        ("lost-progress",),
    ),
    (
        "reward-falls",
        "rollouts",
        lambda: policy(35, sign=-1.0),
        ("worsening-metric",),
        ("lost-progress", "diverging-loss"),
    ),
    (
        "reward-lost",
        "episodes",
        lambda: policy(36, leap=50, lr=2e-2, updates=100),
        ("lost-progress", "worsening-metric"),
        ("diverging-loss",),
    ),
    (
        "at-the-edge",
        "gappy_csv",
        lambda: fit(values(37), optimizer="sgd", lr=0.18, momentum=0.9, batch=300, epochs=100),
        ("oscillating-loss", "erratic-validation", "noisy-loss"),
        (*DIVERGED, "loss-spike", "lost-progress"),
    ),
    (
        "bad-statistics",
        "mm",
        lambda: fit(classes(38), norm=True, batch=2, epochs=12, lr=3e-2, train_mode_in_validation=False),
        ("erratic-validation", "noisy-loss"),
        ("underfitting", "stalled-loss", "oscillating-loss", "overfitting", "nothing-generalises"),
    ),
    (
        "accuracy-at-chance",
        "accuracy_only",
        lambda: fit(shuffled(classes(39, samples=500)), epochs=40),
        ("nothing-generalises",),
        MEMORISED,
    ),
    (
        "accuracy-turns",
        "accuracy_only",
        lambda: fit(classes(40), epochs=25, optimizer="sgd", lr=0.02, schedule=lambda d: 1 if d < 0.6 else 400),
        ("lost-progress", "diverging-loss", "worsening-metric"),
        (),
    ),
]

HEALTHY = [
    ("classes-logger", "logger", lambda: fit(classes(101, samples=4000), epochs=20, decay=0.01)),
    ("classes-tqdm", "tqdm", lambda: fit(classes(102, samples=4000), epochs=12, batch=100)),
    ("classes-keras", "keras", lambda: fit(classes(103, samples=4000), epochs=15)),
    ("classes-nested", "nested", lambda: fit(classes(104, samples=4000), epochs=15, optimizer="sgd", lr=0.05)),
    ("classes-summary", "summary", lambda: fit(classes(105, samples=4000), epochs=25, schedule=cosine)),
    ("classes-notebook", "notebook", lambda: fit(classes(106, samples=4000, count=3), epochs=10)),
    (
        "classes-imagenet",
        "imagenet",
        lambda: fit(classes(107, samples=4000), epochs=15, optimizer="sgd", lr=0.1, schedule=halving),
    ),
    (
        "classes-mm",
        "mm",
        lambda: fit(classes(108, samples=4000), epochs=12, optimizer="sgd", lr=0.05, schedule=warm_cosine),
    ),
    ("classes-table", "class_table", lambda: fit(classes(109, samples=4000, count=5), epochs=15)),
    ("classes-markdown", "markdown", lambda: fit(classes(110, samples=4000), epochs=10)),
    ("classes-csv", "epoch_csv", lambda: fit(classes(111, samples=4000), epochs=30, lr=3e-4)),
    ("classes-gappy", "gappy_csv", lambda: fit(classes(112, samples=4000), epochs=15, schedule=warm_cosine)),
    ("classes-json", "json_lines", lambda: fit(classes(113, samples=4000), epochs=15, clip=1.0)),
    ("classes-hf", "hf_printed", lambda: fit(classes(114, samples=4000), epochs=3, batch=20, schedule=lambda d: 1 - d)),
    ("accuracy", "accuracy_only", lambda: fit(classes(115, samples=4000), epochs=20)),
    ("accuracy-noisy", "accuracy_only", lambda: fit(classes(116, samples=3000, noise=0.3), epochs=12, decay=0.1)),
    ("tokens-nanogpt", "nanogpt", lambda: fit(tokens(117, samples=8000), epochs=10, schedule=warm_cosine)),
    ("tokens-fairseq", "fairseq", lambda: fit(tokens(118, samples=8000), epochs=12, schedule=warm_cosine)),
    ("tokens-perplexity", "perplexity_only", lambda: fit(tokens(119, samples=8000), epochs=12)),
    ("tokens-hf", "hf_printed", lambda: fit(tokens(120, samples=8000), epochs=4, schedule=lambda d: 1 - d, clip=1.0)),
    ("tokens-tqdm", "tqdm", lambda: fit(tokens(121, samples=6000), epochs=8)),
    ("tokens-json", "json_lines", lambda: fit(tokens(122, samples=8000), epochs=10, schedule=restarts, lr=3e-3)),
    ("values-keras", "keras", lambda: fit(values(123, samples=3000), epochs=30)),
    ("values-logger", "logger", lambda: fit(values(124, samples=3000), epochs=30, schedule=cosine)),
    ("values-csv", "epoch_csv", lambda: fit(values(125, samples=3000, scale=30), epochs=40, lr=3e-3)),
    ("values-summary", "summary", lambda: fit(values(126, samples=3000), epochs=20)),
    ("values-markdown", "markdown", lambda: fit(values(127, samples=3000), epochs=12)),
    ("values-gappy", "gappy_csv", lambda: fit(values(128, samples=3000), epochs=20, optimizer="sgd", lr=0.01)),
    ("values-nanogpt", "nanogpt", lambda: fit(values(129, samples=3000, noise=0.5), epochs=20)),
    ("values-notebook", "notebook", lambda: fit(values(130, samples=3000), epochs=20)),
    (
        "restarts-mm",
        "mm",
        lambda: fit(classes(131, samples=4000), epochs=16, optimizer="sgd", lr=0.1, schedule=restarts),
    ),
    ("restarts-gappy", "gappy_csv", lambda: fit(classes(132, samples=4000), epochs=20, lr=3e-3, schedule=restarts)),
    (
        "spike-that-recovers",
        "nanogpt",
        lambda: fit(tokens(133, samples=8000), epochs=10, before_step=at(700, scaled_input(8.0)), clip=1.0),
    ),
    (
        "spike-that-recovers-json",
        "json_lines",
        lambda: fit(classes(134, samples=4000), epochs=12, before_step=at(420, scaled_input(6.0)), clip=1.0),
    ),
    ("stopped-early", "keras", lambda: fit(classes(135, samples=1200), epochs=100, patience=3)),
    ("stopped-early-csv", "epoch_csv", lambda: fit(classes(136, samples=1500), epochs=100, patience=5, dropout=0.2)),
    ("stopped-early-logger", "logger", lambda: fit(tokens(137, samples=3000), epochs=100, patience=3)),
    ("stopped-early-summary", "summary", lambda: fit(values(138, samples=1000), epochs=200, patience=6)),
    ("three-epochs", "keras", lambda: fit(classes(139, samples=6000), epochs=3)),
    ("four-epochs-table", "class_table", lambda: fit(classes(140, samples=6000, count=5), epochs=4)),
    ("two-epochs-tqdm", "tqdm", lambda: fit(classes(141, samples=8000), epochs=2, batch=40)),
    ("dropout-keras", "keras", lambda: fit(classes(142, samples=4000), epochs=25, dropout=0.5)),
    ("dropout-logger", "logger", lambda: fit(classes(143, samples=3000), epochs=30, dropout=0.4, width=128)),
    (
        "batchnorm-imagenet",
        "imagenet",
        lambda: fit(classes(144, samples=4000), epochs=12, norm=True, optimizer="sgd", lr=0.05),
    ),
    ("batchnorm-summary", "summary", lambda: fit(classes(145, samples=4000), epochs=15, norm=True)),
    ("smoothing-logger", "logger", lambda: fit(classes(146, samples=4000), epochs=15, smoothing=0.1)),
    ("smoothing-json", "json_lines", lambda: fit(classes(147, samples=4000), epochs=15, smoothing=0.2)),
    ("gan", "gan_prints", lambda: adversaries(148)),
    ("gan-longer", "gan_prints", lambda: adversaries(149, epochs=40, rates=(1e-3, 5e-4))),
    ("gan-short", "gan_prints", lambda: adversaries(150, epochs=8)),
    ("policy-boxes", "rollouts", lambda: policy(151)),
    ("policy-boxes-slow", "rollouts", lambda: policy(152, lr=4e-3, updates=150)),
    ("policy-episodes", "episodes", lambda: policy(153)),
    ("policy-episodes-fast", "episodes", lambda: policy(154, lr=2e-2, updates=60)),
    ("noisy-labels", "keras", lambda: fit(classes(155, samples=6000, noise=0.4), epochs=8)),
    ("noisy-labels-nested", "nested", lambda: fit(classes(156, samples=6000, noise=0.3), epochs=10, decay=0.1)),
    (
        "small-batches",
        "gappy_csv",
        lambda: fit(classes(157, samples=1500), epochs=10, batch=4, optimizer="sgd", lr=0.003),
    ),
    ("full-batch", "json_lines", lambda: fit(classes(158, samples=2000), epochs=200, batch=2000, lr=3e-3)),
    ("easy-task", "keras", lambda: fit(classes(159, samples=6000, count=2, noise=0.0), epochs=15)),
    ("hundred-classes", "tqdm", lambda: fit(classes(160, samples=8000, count=40, noise=0.0), epochs=15, width=128)),
]

CASES = [
    *(
        Case(name, style, train, exact, also, bool(place % 2))
        for place, (name, style, train, exact, also) in enumerate(SICK)
    ),
    *(Case(name, style, train, held_out=bool(place % 2)) for place, (name, style, train) in enumerate(HEALTHY)),
]
