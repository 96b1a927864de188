"""Loss by category: which kinds of samples the model finds hard.

`monitor.categories(per_sample_loss, labels)` adds a batch to sums that are kept per category, in time proportional to
the batch however many categories there are; every `EVERY` steps, at each epoch and after each evaluation the means are
written. A loss that grows with the length of its sample says more about the length than about the category, so it is
divided by `lengths=`, or averaged over `mask=`; what looks as if it were not normalised, or twice, is said once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bedside.collect.reading.device_queue import DeviceQueue, PendingValue
from bedside.errors import BadOption
from bedside.stderr import warn_safely

REPORT_INTERVAL = 100  # steps between two reports in training
MIN_SAMPLES = 50  # samples before anything is said about their normalisation
PADDED = 0.05  # of the losses of a batch of sequences exactly zero: padding, for no real token is predicted that well
CLOSE = 0.8  # correlation from which on one number is taken to follow from another

Means = dict[str, float]


class Categories:
    """Sums and counts per category, one pair for training and one for validation."""

    def __init__(self, queue: DeviceQueue) -> None:
        self._queue = queue
        self._waiting: list[tuple[bool, list[str] | PendingValue, PendingValue, PendingValue | None]] = []
        self._sums: dict[bool, dict[str, list[float]]] = {False: {}, True: {}}
        self._pairs: list[tuple[float, float]] = []  # of the first samples: loss before division, and length
        self._reported = False
        self.news: list[str] = []  # what was noticed about the normalisation, for the record

    def add(self, losses: Any, labels: Any, lengths: Any, mask: Any, *, validating: bool) -> None:
        """One batch. Nothing waits for a device: the numbers are added up when they have arrived."""
        per_sample = _losses(losses, mask, self._notice_padding)
        count = len(per_sample)
        names = _labels(labels, count)
        sizes = None if lengths is None else _lengths(lengths, count).to(per_sample.device)
        raw = self._queue.put(per_sample)
        known = names if isinstance(names, list) else self._queue.put(names)
        self._waiting.append((validating, known, raw, None if sizes is None else self._queue.put(sizes)))

    def collect(self) -> None:
        """Add up what has arrived."""
        waiting, self._waiting = self._waiting, []
        for validating, names, losses, lengths in waiting:
            values = losses.numbers
            if lengths is not None:
                self._notice_lengths(values, lengths.numbers)
                values = values / np.maximum(lengths.numbers, 1.0)
            known = names if isinstance(names, list) else [str(int(label)) for label in names.numbers]
            sums = self._sums[validating]
            for name, value in zip(known, values.tolist(), strict=True):
                pair = sums.setdefault(name, [0.0, 0.0])
                pair[0] += value
                pair[1] += 1.0

    def report(self, *, validating: bool) -> Means:
        """The mean loss of every category since the last report, which begins anew."""
        sums, self._sums[validating] = self._sums[validating], {}
        return {name: total / count for name, (total, count) in sums.items()}

    def _notice_padding(self, losses: Tensor) -> None:
        """A batch of sequences without a mask: exact zeros at the ends are padding."""
        if not self._reported and losses.device.type == "cpu" and losses.numel() >= MIN_SAMPLES:
            share = float((losses == 0).float().mean())
            if share > PADDED:
                self._say(f"{100 * share:.0f} % of the losses are exactly zero, as padding is", "mask=")

    def _notice_lengths(self, losses: np.ndarray, lengths: np.ndarray) -> None:
        """Losses that do not grow with the length were means already; dividing them again favours long samples."""
        if self._reported or len(self._pairs) >= MIN_SAMPLES:
            return
        self._pairs += list(zip(losses.tolist(), lengths.tolist(), strict=True))
        if len(self._pairs) < MIN_SAMPLES:
            return
        value, length = np.asarray(self._pairs).T
        if min(value.std(), length.std()) == 0 or length.max() < 2 * length.min():
            return
        grows = np.corrcoef(value, length)[0, 1]
        divided = np.corrcoef(value / np.maximum(length, 1.0), 1 / np.maximum(length, 1.0))[0, 1]
        if grows < 1 - CLOSE and divided > CLOSE:
            self._say("the losses do not grow with their lengths, so they are means already", "no lengths=")

    def _say(self, what: str, instead: str) -> None:
        self._reported = True
        self.news.append(what)
        error = BadOption(
            f"In monitor.categories, {what}.",
            expected="losses that are comparable between samples, whatever their length",
            try_=f"monitor.categories(per_sample_loss, labels) with {instead}",
        )
        warn_safely(str(error), stacklevel=5)


def _losses(losses: Any, mask: Any, notice: Any) -> Tensor:
    """One loss per sample: averaged over the rest of its dimensions, where the mask says so."""
    if not isinstance(losses, Tensor) or losses.dim() == 0:
        what = "one number" if isinstance(losses, Tensor) else type(losses).__name__
        raise BadOption(
            f"The losses are {what}.",
            expected="a tensor with one loss per sample",
            try_='monitor.categories(F.cross_entropy(logits, targets, reduction="none"), labels)',
        )
    values = losses.detach().double()
    if mask is not None:
        if tuple(mask.shape) != tuple(losses.shape):
            raise BadOption(
                f"The mask is {tuple(mask.shape)}, the losses are {tuple(losses.shape)}.",
                expected="a mask of the losses' own shape",
                try_="monitor.categories(loss_per_token, labels, mask=attention_mask)",
            )
        kept = mask.to(values.device).double().flatten(1) if values.dim() > 1 else mask.to(values.device).double()
        if values.dim() == 1:
            return values * kept
        return (values.flatten(1) * kept).sum(1) / kept.sum(1).clamp(min=1)
    if values.dim() > 1:
        notice(values)
        return values.flatten(1).mean(1)
    return values


def _labels(labels: Any, count: int) -> list[str] | Tensor:
    given = len(labels) if isinstance(labels, Sequence) and not isinstance(labels, str) else None
    if isinstance(labels, Tensor):
        given = labels.numel() if labels.dim() == 1 and not labels.is_floating_point() else None
    if given is None or given != count:
        what = f"{given} labels" if given is not None else f"labels of type {type(labels).__name__}"
        raise BadOption(
            f"There are {count} losses, but {what}.",
            expected="one label per loss: a list of names, or a one-dimensional tensor of integers",
            try_="monitor.categories(per_sample_loss, labels)",
        )
    return labels.detach() if isinstance(labels, Tensor) else [str(label) for label in labels]


def _lengths(lengths: Any, count: int) -> Tensor:
    given = torch.as_tensor(lengths).detach().double().reshape(-1)
    if len(given) != count:
        raise BadOption(
            f"There are {count} losses, but {len(given)} lengths.",
            expected="one length per loss: how many labels it is a sum over",
            try_="monitor.categories(summed_loss, labels, lengths=mask.sum(1))",
        )
    return given
