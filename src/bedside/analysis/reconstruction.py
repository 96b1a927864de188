"""Whether an autoencoder still tells its samples apart."""

from __future__ import annotations

from bedside.errors import NotEnough
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import RECONSTRUCTION_VARIATION

READINGS = 20  # of the whole run
LATE = 3  # readings after its first quarter: short runs are read at every step only in their first twenty
GROWS = 1.2  # times what it was before: training is still finding out
BEGAN = 3.0  # times less than that: a net that begins with nearly constant outputs is judged by the limit alone
GONE = 0.15  # of the samples' own spread; healthy autoencoders ended at 0.27 and more, one whose code is noise at 0.09


def collapsed_reconstruction_series(run: Run) -> Series | None:
    """The variation of reconstructions, where it is next to none, no more than untrained, and not growing."""
    variation = run.series(RECONSTRUCTION_VARIATION.name).finite()
    if len(variation) < READINGS:
        raise NotEnough(f"{READINGS} readings of {RECONSTRUCTION_VARIATION.name}, has {len(variation)}")
    late = variation.since(variation.first_step + (run.steps - variation.first_step) // 4)
    if len(late) < LATE:
        raise NotEnough(f"{LATE} readings of {RECONSTRUCTION_VARIATION.name} after the first quarter, has {len(late)}")
    third = len(late) // 3
    now, before = late.median(third), late.head(len(late) - third).median(third)
    first = variation.head(max(3, len(variation) // 16)).median()
    return variation if now < GONE and now < GROWS * before and now < max(first, GONE / BEGAN) else None
