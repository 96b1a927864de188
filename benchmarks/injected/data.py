"""Faults of the data: inputs, labels, batches, and the share of them that is seen."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim import Optimizer
from torch.utils.data import DataLoader, RandomSampler, Subset

from injected.injection import (
    BLEW_UP,
    NEVER_LEARNED,
    NOT_ON_NEW_DATA,
    Injection,
    evaluating,
    inputs,
    operator,
    targets,
    training,
)

LARGE = (*BLEW_UP, *NEVER_LEARNED, "wrong-initial-loss", "dead-units", "saturated-units", "oversized-update")
FEW = 24  # examples that are left of the training data


@operator("unnormalised-input", "extreme-input", also=LARGE)
def inputs_times_255(injection: Injection) -> None:
    """Inputs are 255 times what they should be, in training and evaluation alike."""
    inputs(injection, lambda x: 255 * x)


@operator("unnormalised-input", "extreme-input", also=LARGE)
def inputs_plus_100(injection: Injection) -> None:
    """Inputs lie around a hundred."""
    inputs(injection, lambda x: x + 100)


@operator("unnormalised-input", "extreme-input", also=LARGE)
def one_feature_in_ten_thousands(injection: Injection) -> None:
    """The first column of the inputs has another unit, ten thousand times the others'."""

    def change(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[..., 0] = 1e4 * (x[..., 0] + 1)
        return x

    inputs(injection, change)


@operator("repeated-batches", "loss-at-chance", "collapsed-activations", also=(*NEVER_LEARNED, "worse-than-guess"))
def inputs_constant(injection: Injection) -> None:
    """Every input is the same: what should be read is never filled in."""
    inputs(injection, torch.ones_like)


@operator("loss-at-chance", "nothing-generalises", also=(*NEVER_LEARNED, *NOT_ON_NEW_DATA))
def labels_torn_from_inputs(injection: Injection) -> None:
    """Inputs are shuffled without their labels in every training batch."""
    inputs(injection, lambda x: x[torch.randperm(len(x))], training, integers=True)


@operator("loss-at-chance", "underfitting", "stalled-loss", also=(*NEVER_LEARNED, "noisy-loss", "gap-from-start"))
def labels_mostly_random(injection: Injection) -> None:
    """Nine of ten training labels are drawn at random."""

    def change(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
        if target.is_floating_point():
            return None
        anew = torch.rand(target.shape) < 0.9
        return torch.where(anew, torch.randint_like(target, int(target.max()) + 1), target)

    targets(injection, ("cross_entropy", "nll_loss"), change)


@operator("misread-validation", "nothing-generalises", "loss-without-accuracy", also=NOT_ON_NEW_DATA)
def training_labels_numbered_otherwise(injection: Injection) -> None:
    """In training the classes have other numbers than in evaluation."""

    def change(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor | None:
        if target.is_floating_point() or prediction.dim() < 2:
            return None
        classes = prediction.shape[1]
        return torch.where(target < 0, target, (target + 1) % classes)

    targets(injection, ("cross_entropy", "nll_loss"), change)


@operator("nonfinite-input", also=("bad-batch", *BLEW_UP))
def nan_in_one_batch(injection: Injection) -> None:
    """At four tenths of the run one number of a training batch is NaN."""
    due = injection.at_share(0.4)

    def change(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x.view(-1)[0] = float("nan")
        return x

    inputs(injection, change, lambda model: injection.step == due and training(model))


@operator("bad-batch", "extreme-input", also=(*BLEW_UP, "weight-jump", "dead-units"))
def one_batch_in_ten_thousands(injection: Injection) -> None:
    """At half of the run one training batch is ten thousand times too large."""
    due = injection.at_share(0.5)
    inputs(injection, lambda x: 1e4 * x, lambda model: injection.step == due and training(model))


@operator("inputs-differ", also=NOT_ON_NEW_DATA)
def evaluated_on_raw_inputs(injection: Injection) -> None:
    """Inputs are scaled in training alone: evaluation sees numbers twenty times larger, and shifted."""
    inputs(injection, lambda x: 20 * x + 5, evaluating)
    injection.due = 10**9


@operator("inputs-differ", also=NOT_ON_NEW_DATA)
def evaluated_on_small_inputs(injection: Injection) -> None:
    """Evaluation divides the inputs by 255 once more than training."""
    inputs(injection, lambda x: x / 255, evaluating)
    injection.due = 10**9


@operator("repeated-batches", also=("overfitting", "suspiciously-perfect", *NOT_ON_NEW_DATA))
def one_batch_for_ever(injection: Injection) -> None:
    """The loader gives its first batch again and again."""

    def made(original: Any) -> Any:
        def batches(self: DataLoader[Any]) -> Any:
            if not injection.watching or not isinstance(self.sampler, RandomSampler):
                yield from original(self)
                return
            kept = vars(self).setdefault("_first_batch", [])
            if not kept:
                kept.append(next(iter(original(self))))
            for _ in range(len(self)):
                injection.acted += 1
                yield kept[0]

        return batches

    injection.patch(DataLoader, "__iter__", made)


@operator("repeated-batches", also=("overfitting", "suspiciously-perfect", *NOT_ON_NEW_DATA))
def seed_set_at_every_step(injection: Injection) -> None:
    """The random numbers begin anew at every step, so that the same batch is drawn."""

    def seed(_optimizer: Optimizer) -> None:
        torch.manual_seed(0)
        injection.acted += 1

    injection.before_step(seed)


@operator("overfitting", "nothing-generalises", also=(*NOT_ON_NEW_DATA, "repeated-batches", "suspiciously-perfect"))
def few_training_examples(injection: Injection) -> None:
    """Two dozen examples are all that training ever sees."""

    def permuted(original: Any) -> Any:
        def randperm(n: int, *args: Any, **kwargs: Any) -> torch.Tensor:
            drawn = original(n, *args, **kwargs)
            if not injection.watching or n <= 4 * FEW or kwargs.get("generator") is not None:
                return drawn
            injection.acted += 1
            return drawn % FEW

        return randperm

    def drawn(original: Any) -> Any:
        def randint(*args: Any, **kwargs: Any) -> torch.Tensor:
            if injection.watching and len(args) == 2 and isinstance(args[1], tuple) and args[0] > 4 * FEW:
                injection.acted += 1
                args = (FEW, args[1])
            elif injection.watching and len(args) == 3 and args[0] == 0 and args[1] > 4 * FEW:
                injection.acted += 1
                args = (0, FEW, args[2])
            return original(*args, **kwargs)

        return randint

    def loaded(original: Any) -> Any:
        def initialise(self: DataLoader[Any], dataset: Any, *args: Any, **kwargs: Any) -> None:
            if kwargs.get("shuffle") and len(dataset) > 4 * FEW:
                injection.acted += 1
                length = len(dataset)
                kwargs["shuffle"] = False
                dataset = Subset(dataset, [i % FEW for i in torch.randperm(length).tolist()])
            original(self, dataset, *args, **kwargs)

        return initialise

    injection.patch(torch, "randperm", permuted)
    injection.patch(torch, "randint", drawn)
    injection.patch(DataLoader, "__init__", loaded)


@operator(
    "lopsided-labels",
    "oscillating-loss",
    also=("oscillating-gradient", "epoch-boundary-jump", *NEVER_LEARNED, *BLEW_UP),
)
def sorted_by_class(injection: Injection) -> None:
    """Training batches come in the order of the classes, unshuffled."""

    def loaded(original: Any) -> Any:
        def initialise(self: DataLoader[Any], dataset: Any, *args: Any, **kwargs: Any) -> None:
            kept = getattr(dataset, "tensors", ())
            if kwargs.get("shuffle") and len(kept) == 2 and kept[1].dim() == 1:
                injection.acted += 1
                kwargs["shuffle"] = False
                dataset = Subset(dataset, kept[1].argsort().tolist())
            original(self, dataset, *args, **kwargs)

        return initialise

    injection.patch(DataLoader, "__init__", loaded)
