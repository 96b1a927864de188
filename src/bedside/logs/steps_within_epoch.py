"""Counts that begin anew in every epoch, as one count over the run.

Many loops log `epoch, batch`; some log a `step` that starts from zero whenever the epoch goes up. Taken as it is,
such a step looks like a run that was resumed over and over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def over_the_run(counts: Sequence[float | None], epochs: Sequence[float | None]) -> list[float | None] | None:
    """`counts` with the length of the finished epochs added; None unless each begins anew, and only with an epoch.

    >>> over_the_run([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2])
    [0, 1, 2, 3, 4, 5]
    >>> over_the_run([0, 1, 2, 3], [0, 0, 1, 1]) is None
    True
    """
    found: list[float | None] = []
    before, longest, restarts = 0.0, 0.0, 0
    last: tuple[float, float] | None = None
    for count, epoch in zip(counts, epochs, strict=True):
        if count is None or epoch is None or not (math.isfinite(count) and math.isfinite(epoch)):
            found.append(None)
            continue
        if last is not None and count < last[0]:
            if not epoch > last[1]:
                return None  # it goes back within an epoch: late records, or a resume
            before, longest, restarts = before + longest + 1, 0.0, restarts + 1
        elif last is not None and epoch > last[1] and restarts and count <= last[0]:
            before, longest = before + longest + 1, 0.0
        longest, last = max(longest, count), (count, epoch)
        whole = before + count
        found.append(int(whole) if whole == int(whole) else whole)
    return found if restarts else None
