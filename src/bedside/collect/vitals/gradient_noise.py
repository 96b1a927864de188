"""How noisy the gradient is: the cosine between the gradients of two successive steps, and the noise scale.

Two batches of one size see nearly the same weights, so their gradients are one signal G with two independent noises:
the product of the two estimates |G|², and half the squared difference the noise. Their quotient is the gradient noise
scale in units of the present batch (McCandlish et al., 2018, up to the batch size as a factor): far below one, a
smaller batch would do as well; far above one, averaging over more samples pays. Single pairs are noisy, so sums over
recent pairs are divided, not the pairs' own quotients.

Only a few elements of each gradient are kept, the same ones at every step, which is a fair sample of both sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.optim import Optimizer

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.elements import Elements
from bedside.record.missing import MISSING

MEMORY = 0.95  # of the sums survives a pair: about the last twenty pairs count
VITALS = ("gradient_cosine", "gradient_noise")


class GradientNoise(Collector):
    """Keeps a few elements of the gradient of a sampled step, and compares them with the next step's."""

    name = "gradient_noise"
    vitals = VITALS

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._last: tuple[int, Any, Any] | None = None  # step, elements, their squared length
        self._pairs: list[tuple[int, PendingValue]] = []
        self._signal = self._noise = 0.0
        self._elements: Elements | None = None
        self._weights: Any = None

    def attach(self, step: int) -> None:
        self._due = True

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:
        step = self.context.step
        follows = self._last is not None and self._last[0] == step - 1
        if closure or optimizer is not self.context.optimizers[0] or not (self._due or follows):
            return
        elements = self.context.elements(optimizer, self.context.layout)
        if not elements.tensors:
            return
        if elements is not self._elements:
            self._elements, self._weights, self._last = elements, _weights(elements), None
        now = elements.gradients(step)
        with np.errstate(all="ignore"):
            weighted = now * self._weights
            square = weighted @ now
            if follows and self._last is not None:
                products = [weighted @ self._last[1], self._last[2], square]
                together = np.asarray(products, np.float64) if elements.here else torch.stack(products).double()
                self._pairs.append((step, self.queue.put(together)))
        self._last = (step, now, square) if self._due else None

    def detach(self, step: int) -> None:
        self._due = False

    def rows(self) -> Iterable[RowSet]:
        pairs, self._pairs = self._pairs, []
        if not pairs:
            return
        values = np.full((len(pairs), 2), MISSING)
        for row, (_, pending) in zip(values, pairs, strict=True):
            product, first, second = pending.numbers
            if not np.isfinite(pending.numbers).all() or first <= 0 or second <= 0:
                continue
            row[0] = product / np.sqrt(first * second)
            # Clipping and a falling loss change the length of a gradient: pairs count alike if both have length one.
            self._signal = MEMORY * self._signal + row[0]
            self._noise = MEMORY * self._noise + (1 - row[0])
            if self._signal > 0:
                row[1] = self._noise / self._signal
        yield RowSet("gradient_noise", [(vital, "") for vital in VITALS], [step for step, _ in pairs], values)


def _weights(elements: Elements) -> Any:
    """So that products of elements estimate those of the whole."""
    counts = np.asarray(elements.counts, np.int64)
    weights = (np.asarray(elements.sizes, np.int64) / counts).repeat(counts).astype(np.float32)
    return weights if elements.here else torch.as_tensor(weights, device=elements.device)
