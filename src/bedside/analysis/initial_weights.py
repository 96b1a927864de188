"""How large the weights were before the first step, as far as a watched run knows."""

from __future__ import annotations

import math

from bedside.record.run import Run

NOTHING = 1e-4  # root mean square of weights: initialisations begin a hundred times above it, or at zero


def began_at_zero(run: Run, nothing: float = NOTHING) -> bool:
    """Whether there were no weights to speak of: then the first steps make them, and replace nothing."""
    began, size = run.config.get("initial_param_norm"), sum(each.size for each in run.parameters)
    return isinstance(began, (int, float)) and size > 0 and began < nothing * math.sqrt(size)
