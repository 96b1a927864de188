"""Is this number far beyond the run's history? Checked on the number's own device, so that the host need not wait.

Beyond the median of the last steps by a multiple of their spread (the median distance from the median, scaled to a
standard deviation). Only upwards; the first steps are exempt; and three in a row are not a spike but a new level, so
that a guard cannot stop a training for ever.
"""

from __future__ import annotations

import torch
from torch import Tensor

WINDOW = 128  # steps: OLMo-core's window, which is published and long in use
EXEMPT = 50  # first steps: a loss falls most there, and its spread says nothing yet
SIGMA = 1.4826  # the median distance from the median of a normal distribution is 1 / 1.4826 standard deviations
MIN_RELATIVE_SPREAD = 0.02  # of the median: a run that hardly moves is not judged by its rounding errors
IN_A_ROW = 3  # after so many it is a new level


class Spikes:
    """The last values of one series, and whether a new one is a spike."""

    def __init__(self, multiple: float) -> None:
        self.multiple = multiple
        self._history: Tensor | None = None
        self._in_a_row = torch.zeros(())
        self._seen = 0
        self.before: tuple[Tensor, Tensor] | None = None  # median and spread before the last value

    def check(self, value: Tensor | float) -> Tensor:
        """Whether it is one, as a tensor on the value's device; what is not finite is neither a spike nor history."""
        value = torch.as_tensor(value, dtype=torch.float32).detach().reshape(())
        if self._history is None or self._history.device != value.device:
            self._history = torch.full((WINDOW,), torch.nan, device=value.device)
            self._in_a_row = torch.zeros((), device=value.device)
            self._seen = 0
        usual, spread = self.before = self._usual(self._history)
        finite = torch.isfinite(value)
        beyond = finite & (value > usual + self.multiple * spread)
        if self._seen < EXEMPT:
            beyond = torch.zeros_like(beyond)
        spike = beyond & (self._in_a_row < IN_A_ROW)
        self._in_a_row = torch.where(beyond, self._in_a_row + 1, torch.zeros_like(value))
        self._history[self._seen % WINDOW] = torch.where(finite & ~spike, value, torch.nan)
        self._seen += 1
        return spike

    def _usual(self, history: Tensor) -> tuple[Tensor, Tensor]:
        median = torch.nanmedian(history)
        spread = SIGMA * torch.nanmedian((history - median).abs())
        return median, torch.maximum(spread, MIN_RELATIVE_SPREAD * median.abs())
