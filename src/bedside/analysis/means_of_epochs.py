"""Whether a reading is the mean of many batches: of an epoch, or of a whole evaluation set.

Rules that see through batch noise ask for dozens of readings. A mean over an epoch has hardly any: where the readings
are such means, a handful of them is a curve, and what it does it does for a reason.

>>> steps = np.arange(6)
>>> flat = Series("loss", "", steps, [2.303, 2.301, 2.304, 2.302, 2.303, 2.302])
>>> wild = Series("loss", "", steps, [2.3, 1.7, 2.9, 2.2, 1.6, 3.0])
>>> is_quiet(flat), is_quiet(wild)
(True, False)
"""

from __future__ import annotations

import numpy as np

from bedside.analysis.losses import validation_losses
from bedside.analysis.statistics import noise_level
from bedside.record.run import Run
from bedside.record.series import Series

QUIET = 0.01  # of the level, the noise of one reading: five such readings show a fall by a few percent
LOW_SPREAD = 0.05  # of the level, all of the later half: single wide readings do not show in a median of differences


def are_means(run: Run, series: Series) -> bool:
    """Whether the log counts epochs, or every reading stands beside an evaluation, or is one itself."""
    if run.axis == "epoch" or series.vital.startswith("val/"):
        return True
    beside = [*validation_losses(run), *run.matching("val/")]
    return any(len(series) == len(each) for each in beside)


def is_quiet(series: Series) -> bool:
    """Whether the readings scatter by so little that a few of them tell a level."""
    values = series.finite().values
    late = values[len(values) // 2 :]
    level = abs(float(np.median(late))) if len(late) else 0.0
    return level > 0 and noise_level(values) <= QUIET * level and float(np.ptp(late)) <= LOW_SPREAD * level
