"""Whether the weights were put back to what they were before: a training that is begun anew within one run.

Pruning with rewinding, folds of a cross-validation and members of an ensemble start again from first weights. The loss
then leaps to that of an untrained network, and no step of the optimizer brought that about: one that overshoots makes
weights larger, or changes them by little.

>>> from bedside.testing import a_run
>>> run = a_run(loss=1.0, steps=100, param_norm=[8.0 + 0.1 * i for i in range(50)] * 2)
>>> weights_put_back(run, 50), weights_put_back(run, 30)
(True, False)
"""

from __future__ import annotations

import numpy as np

from bedside.record.run import Run
from bedside.record.vocabulary import PARAM_NORM

FELL = 0.2  # of the norm, between two readings: what decay takes away in a whole run, and no step at once
NEAR = 3  # steps either side: the loss is noted before its step, norms after it, and a curve may be a running median


def weights_put_back(run: Run, step: int) -> bool:
    """Whether the norm of all weights fell between the readings on either side of this step."""
    norms = run.series(PARAM_NORM.name).finite()
    first = int(np.searchsorted(norms.steps, step - NEAR))
    last = int(np.searchsorted(norms.steps, step + NEAR))
    if not 0 < first < len(norms):
        return False
    return float(norms.values[first : last + 1].min()) < (1 - FELL) * float(norms.values[first - 1])
