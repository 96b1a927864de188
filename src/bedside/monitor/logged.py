"""What the user logs: names read as in any log, numbers averaged within an evaluation, axes apart from metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor

from bedside.errors import BadOption
from bedside.naming.axes import axis_kind, plain
from bedside.naming.name_parts import Name
from bedside.naming.resolve import key_of, resolve, within_validation
from bedside.record.run import Key

IGNORE = "-"
Write = Callable[[int, Key, float, float | None], None]  # the last: samples behind a mean over all ranks


class LoggedMetrics:
    """Takes what `monitor.log` is given, and writes it under the keys that a log with the same names would have."""

    def __init__(self, write: Write, mapping: Mapping[str, str], recorded_here: Callable[[Key], bool]) -> None:
        self._write = write
        self._mapping = mapping  # the user's own names for ours, from the settings; `-` for what is to be left out
        self._recorded_here = recorded_here  # whether the monitor itself reads this series
        self._evaluation: dict[Key, tuple[float, float]] | None = None  # sum and weight, while one is under way
        self._reduced: set[Key] = set()  # those to be averaged over all ranks

    def begin_evaluation(self) -> None:
        self._evaluation = {}

    def end_evaluation(self, step: int) -> None:
        """Write the mean of whatever was logged several times within it."""
        sums, self._evaluation = self._evaluation or {}, None
        for key, (total, weight) in sums.items():
            self._write(step, key, total / weight, weight if key in self._reduced else None)

    def log(self, given: Mapping[str, Any], step: int, n: float | None, reduce: bool = False) -> list[str]:
        """Write these numbers at this step, or at the earlier one that they name; returns the vitals they are.

        All of them are read before the first is written: either everything is kept, or nothing.
        """
        weight = 1.0 if n is None else number("n", n)
        if weight <= 0:
            raise BadOption(f"n={n!r} is not a number of samples.", expected="how many samples the mean is over")
        axes = {name: number(name, value) for name, value in given.items() if axis_kind(name) is not None}
        numbers = {
            key: number(name, given[name]) for name, key in self._keys([name for name in given if name not in axes])
        }
        at = _step_named(axes, step)
        for name, value in axes.items():
            if axis_kind(name) != "step":
                self._write(at, ("epoch" if axis_kind(name) == "epoch" else plain(name), ""), value, None)
        for key, value in numbers.items():
            if self._evaluation is not None:
                (self._reduced.add if reduce else self._reduced.discard)(key)
                total, count = self._evaluation.get(key, (0.0, 0.0))
                self._evaluation[key] = (total + value * weight, count + weight)
            else:
                self._write(at, key, value, weight if reduce else None)
        return [vital for vital, _ in numbers]

    def _keys(self, names: list[str]) -> list[tuple[str, Key]]:
        mapped = {name: self._mapping[name] for name in names if name in self._mapping}
        rest = [name for name in names if name not in mapped]
        read = resolve(rest) if self._evaluation is None else {name: within_validation(name) for name in rest}
        found = [(name, (mapped[name], "")) for name in mapped if mapped[name] != IGNORE]
        for name, meaning in read.items():
            key = key_of(name, meaning)
            if _has_epoch_mean(meaning, read.values()):  # Lightning's `val_loss_step` beside `val_loss_epoch`
                key = (name, "")
            if name != key[0] and self._recorded_here(key):
                # `train_loss` is the user's own mean beside the loss of every step; a plain `loss` replaces it.
                key = (f"train/{key[0]}", key[1])
            found.append((name, key))
        return found


def _has_epoch_mean(meaning: Name, others: Iterable[Name]) -> bool:
    """Whether this is the held-out value of one step, beside the mean over the epoch under the same name."""
    mine = (meaning.split, meaning.kind, meaning.metric, meaning.owner)
    per_step = meaning.over == "step" and meaning.split in ("val", "test")
    return per_step and any(
        each.over != "step" and (each.split, each.kind, each.metric, each.owner) == mine for each in others
    )


def _step_named(axes: Mapping[str, float], step: int) -> int:
    """The step that a call names, if the run has reached it: the caller's own count may be of something else."""
    named = [int(value) for name, value in axes.items() if axis_kind(name) == "step" and value == int(value)]
    return named[0] if named and 0 <= named[0] <= step + 1 else step


def number(name: str, value: Any) -> float:
    """The number that was given: a float, an int, or a tensor with one element."""
    try:
        return float(value.detach() if isinstance(value, Tensor) else value)
    except (OverflowError, TypeError, ValueError, RuntimeError):
        raise BadOption(
            f"{name}={value!r} is not a number.",
            expected="one number per metric: a float, an int or a tensor with one element",
            try_=f"monitor.log({name}=float(...))",
        ) from None
