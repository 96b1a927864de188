"""Small hand-written runs, for rule pages and tests.

>>> run = a_run(loss=[3, 2, 1], grad_norm={"embed": 0.1, "head": 0.3})
>>> run.steps, run.owners("grad_norm")
(3, ['embed', 'head'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bedside.record.run import Event, Parameter, Run
from bedside.record.series import Series


def a_run(
    *,
    steps: int | None = None,
    events: Sequence[Event] = (),
    parameters: Sequence[Parameter] = (),
    config: Mapping[str, Any] | None = None,
    name: str = "a-run",
    finished: bool | None = None,
    **vitals: Any,
) -> Run:
    """A run from plain numbers.

    A number is constant over the run, a list is one value a step, a dict gives one of these per module.
    A list shorter than the run is spread evenly over it and ends on the last step, as evaluations do.
    `val_loss=` means `val/loss`, and so on; a Series is taken as it is.
    """
    length = steps or _longest(vitals.values()) or 100
    series: list[Series] = []
    for keyword, value in vitals.items():
        vital = "val/" + keyword[4:] if keyword.startswith("val_") else keyword
        if isinstance(value, Mapping):
            series += [_series(vital, owner, each, length) for owner, each in value.items()]
        else:
            series.append(_series(vital, "", value, length))
    return Run(name, series, events=events, parameters=parameters, config=config, finished=finished)


def _series(vital: str, owner: str, value: Any, length: int) -> Series:
    if isinstance(value, Series):
        return value
    values = np.full(length, value, np.float64) if np.isscalar(value) else np.asarray(value, np.float64)
    stride = length / len(values) if len(values) else 1.0
    steps = np.floor(np.arange(1, len(values) + 1) * stride).astype(np.int64) - 1
    return Series(vital, owner, steps, values)


def _longest(values: Any) -> int:
    lengths = [0]
    for value in values:
        for each in value.values() if isinstance(value, Mapping) else [value]:
            if isinstance(each, Series):
                lengths.append(each.last_step + 1 if each else 0)
            elif not np.isscalar(each):
                lengths.append(len(each))
    return max(lengths)
