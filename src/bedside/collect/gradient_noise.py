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

from bedside.collect.collector import Collector, Patient, RowSet
from bedside.collect.elements import Elements, gradients, readable
from bedside.collect.freight import Ticket
from bedside.collect.layout import Layout
from bedside.record.missing import MISSING

MEMORY = 0.95  # of the sums survives a pair: about the last twenty pairs count
VITALS = ("gradient_cosine", "gradient_noise")


class GradientNoise(Collector):
    """Keeps a few elements of the gradient of a sampled step, and compares them with the next step's."""

    name = "gradient_noise"
    vitals = VITALS

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._due = False
        self._last: tuple[int, Any] | None = None  # step, elements
        self._pairs: list[tuple[int, Ticket]] = []
        self._signal = self._noise = 0.0
        self._layout: Layout | None = None
        self._row = 0

    def attach(self, step: int) -> None:
        self._due = True

    def step_begins(self, optimizer: Optimizer, closure: bool) -> None:  # type: ignore[override]
        step = self.patient.step
        follows = self._last is not None and self._last[0] == step - 1
        if closure or optimizer is not self.patient.optimizers[0] or not (self._due or follows):
            return
        now = self._elements_of(optimizer)
        if now is None:
            return
        if follows and self._last is not None and self._last[1].shape == now.shape:
            before = self._last[1]
            with np.errstate(all="ignore"):
                products = [before @ now, before @ before, now @ now]
            together = np.asarray(products, np.float64) if self._elements.here else torch.stack(products).double()
            self._pairs.append((step, self.freight.put(together)))
        self._last = (step, now) if self._due else None

    def _elements_of(self, optimizer: Optimizer) -> Any:
        """A few elements of every gradient, weighted so that their products estimate those of the whole."""
        layout = self.patient.layout
        if self._layout is not layout:
            self._layout, self._elements = layout, Elements(readable(optimizer, layout))
            counts = np.asarray(self._elements.counts, np.int64)
            sizes = np.asarray([t.numel() for t in self._elements.tensors], np.int64)
            weights = np.sqrt(sizes / counts).repeat(counts).astype(np.float32)
            self._weights = weights if self._elements.here else torch.as_tensor(weights, device=self._elements.device)
        if not self._elements.tensors:
            return None
        self._row = 1 - self._row  # the other one holds the step before
        now = self._elements.pick(gradients(self._elements.tensors), 0, self._row)
        with np.errstate(all="ignore"):
            now *= self._weights
        return now

    def detach(self, step: int) -> None:
        self._due = False

    def rows(self) -> Iterable[RowSet]:
        pairs, self._pairs = self._pairs, []
        if not pairs:
            return
        values = np.full((len(pairs), 2), MISSING)
        for row, (_, ticket) in zip(values, pairs, strict=True):
            product, first, second = ticket.numbers
            if not np.isfinite(ticket.numbers).all() or first <= 0 or second <= 0:
                continue
            row[0] = product / np.sqrt(first * second)
            # Clipping and a falling loss change the length of a gradient: pairs count alike if both have length one.
            self._signal = MEMORY * self._signal + row[0]
            self._noise = MEMORY * self._noise + (1 - row[0])
            if self._signal > 0:
                row[1] = self._noise / self._signal
        yield RowSet("gradient_noise", [(vital, "") for vital in VITALS], [step for step, _ in pairs], values)
