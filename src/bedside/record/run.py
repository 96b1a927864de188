"""A Run: everything that is known about one training run, wherever it came from.

This is the waist of the hourglass. A watched run, a TensorBoard file and a CSV become the same thing here;
rules and reports read nothing else. Series are loaded when they are asked for, so that one metric of a large
run does not cost the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bedside.errors import BadOption, unknown_name
from bedside.record.series import Series
from bedside.record.series_names import Key as Key
from bedside.record.series_names import key_named, matching_names, name_of
from bedside.rendering import render

Load = Callable[[Sequence[Key]], Iterable[Series]]  # reads series of a run in one pass, when they are asked for


@dataclass(frozen=True)
class Event:
    """Something that happened once: an epoch began, the run resumed, a step was skipped."""

    step: int
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)
    time: float = 0.0


@dataclass(frozen=True)
class Parameter:
    """One parameter tensor of the model, as the optimizer and the backward pass treat it."""

    name: str
    owner: str  # the module, or the bare parameter's own name
    size: int
    dtype: str = "float32"
    trainable: bool = True
    in_optimizer: bool = True
    gradient_steps: int = 0  # steps at which it had a gradient
    watched_steps: int = 0  # steps at which it could have had one


class Run:
    """One run: series by (vital, owner), events, parameters, and what is known about its making."""

    def __init__(
        self,
        name: str,
        series: Iterable[Series] = (),
        *,
        format: str = "bedside",
        keys: Sequence[Key] | None = None,
        load: Load | None = None,
        events: Sequence[Event] = (),
        parameters: Sequence[Parameter] = (),
        config: Mapping[str, Any] | None = None,
        environment: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        axis: str = "step",
        finished: bool | None = None,
        ended: bool = False,
    ) -> None:
        self.name = name
        self.format = format
        self.events = tuple(events)
        self.parameters = tuple(parameters)
        self.config = dict(config or {})
        self.environment = dict(environment or {})
        self.notes = tuple(notes)  # what a reader had to assume or repair: "about this log"
        self.axis = axis  # what a "step" is here: step, epoch, tokens or time
        self.finished = finished  # True: it ended by itself; None: nobody knows
        self.ended = ended or finished is not None  # whether it was closed, however it ended
        self._loaded: dict[Key, Series] = {(s.vital, s.owner): s for s in series}
        self._keys: list[Key] = list(keys) if keys is not None else list(self._loaded)
        self._known = frozenset(self._keys)
        self._load = load
        self._by_prefix: dict[str, list[Key]] = {}
        self._by_vital: dict[str, list[str]] = {}
        for vital, owner in self._keys:
            self._by_vital.setdefault(vital, []).append(owner)

    def __repr__(self) -> str:
        return f"<Run {self.name}: {len(self._keys)} series, see .keys()>"

    @property
    def series_keys(self) -> list[Key]:
        """All series as (vital, owner), in the order they were recorded."""
        return list(self._keys)

    # A run as data: series under the names that trackers show.

    def keys(self) -> list[str]:
        """The names of all series: `train/loss`, `val/loss`, `lr`, `grad_norm/overall`, `grad_norm/layers.0`."""
        return [name_of(key) for key in self._keys]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and key_named(name, self._by_vital) is not None

    def __getitem__(self, name: str) -> Series:
        """The series of this name: `run["grad_norm/gain"].values`. Unknown names raise, nearest names first."""
        key = key_named(name, self._by_vital)
        if key is None:
            raise unknown_name("series", name, self.keys(), try_="run.keys()")
        return self.series(*key)

    def select(self, *patterns: str) -> list[Series]:
        """The series of these names, in which `*` stands for anything: `run.select("loss", "grad_norm/*")`."""
        chosen: dict[Key, None] = {}
        for pattern in patterns or ("*",):
            found = matching_names(pattern, self._keys)
            if not found:
                raise unknown_name("series", pattern, self.keys(), try_="run.keys()")
            chosen.update(dict.fromkeys(found))
        self.fetch(list(chosen))
        return [self.series(*key) for key in chosen]

    def to_dict(self, *patterns: str) -> dict[str, dict[str, list[float]]]:
        """The series as plain lists: `{"train/loss": {"steps": […], "values": […]}}`; all of them by default."""
        return {
            name_of((each.vital, each.owner)): {"steps": each.steps.tolist(), "values": each.values.tolist()}
            for each in self.select(*patterns)
        }

    def to_pandas(self, *patterns: str) -> Any:
        """The series as a DataFrame: one row a step, one column a series, blank where nothing was read."""
        try:
            import pandas
        except ImportError:
            raise BadOption(
                "pandas is not installed.",
                expected="pandas, which `to_pandas` puts the series into",
                try_="pip install pandas, or run.to_dict()",
            ) from None
        columns = {
            name_of((each.vital, each.owner)): pandas.Series(each.values, index=each.steps)
            for each in self.select(*patterns)
        }
        return pandas.DataFrame(columns).rename_axis(index=self.axis)

    def plot(self, *patterns: str, **options: Any) -> Any:
        """Draw series as a matplotlib figure: `run.plot("loss", "val/loss", "grad_norm/*")`.

        Options: `log` (the y axis: True, False or None to decide by the numbers), `smooth` (a window in readings).
        """
        return render("run as figure", self, self.select(*(patterns or ("loss", "val/loss"))), **options)

    def renamed(self, names: Mapping[Key, Key], notes: Sequence[str] = ()) -> Run:
        """The same run with some of its series under other keys."""
        back = {new: old for old, new in names.items()}

        def load(keys: Sequence[Key]) -> Iterable[Series]:
            wanted = [back.get(key, key) for key in keys]
            self.fetch(wanted)
            found = [self.series(*key) for key in wanted]
            return [Series(*key, each.steps, each.values) for key, each in zip(keys, found, strict=True)]

        return self._with((), [names.get(key, key) for key in self._keys], load, notes)

    def with_series(self, added: Sequence[Series], notes: Sequence[str] = ()) -> Run:
        """The same run with series that follow from its own."""

        def load(keys: Sequence[Key]) -> Iterable[Series]:
            self.fetch(keys)
            return [self.series(*key) for key in keys]

        return self._with(added, [*self._keys, *((each.vital, each.owner) for each in added)], load, notes)

    def _with(self, series: Sequence[Series], keys: Sequence[Key], load: Load, notes: Sequence[str]) -> Run:
        """The same run with other series."""
        return Run(
            self.name,
            series,
            format=self.format,
            keys=keys,
            load=load,
            events=self.events,
            parameters=self.parameters,
            config=self.config,
            environment=self.environment,
            notes=[*self.notes, *notes],
            axis=self.axis,
            finished=self.finished,
            ended=self.ended,
        )

    @property
    def vitals(self) -> list[str]:
        return list(self._by_vital)

    def owners(self, vital: str) -> list[str]:
        """The modules (groups, categories) that have a series of this vital, in model order."""
        return [owner for owner in self._by_vital.get(vital, []) if owner]

    def has(self, vital: str, *, per_owner: bool = False) -> bool:
        owners = self._by_vital.get(vital, [])
        return any(owners) if per_owner else "" in owners

    def series(self, vital: str, owner: str = "") -> Series:
        """One series; an empty one if it was never read."""
        key = (vital, owner)
        if key not in self._loaded:
            if key not in self._known:
                return Series(vital, owner)
            self.fetch([key])
        return self._loaded[key]

    def of(self, vital: str) -> list[Series]:
        """The per-module series of a vital, in model order, fetched in one go."""
        keys = [(vital, owner) for owner in self.owners(vital)]
        self.fetch(keys)
        return [self._loaded[key] for key in keys]

    def matching(self, prefix: str) -> list[Series]:
        """All series whose vital begins with `prefix`, e.g. `val/`."""
        keys = self._by_prefix.get(prefix)
        if keys is None:  # many rules ask for the same few
            keys = self._by_prefix[prefix] = [key for key in self._keys if key[0].startswith(prefix)]
        self.fetch(keys)
        return [self._loaded[key] for key in keys]

    def fetch_scalars(self) -> None:
        """Read the series of the whole run, those that nobody owns, in one pass; one at a time each costs a pass."""
        self.fetch([key for key in self._keys if not key[1]])

    @property
    def loss(self) -> Series:
        return self.series("loss")

    @property
    def steps(self) -> int:
        """How many steps the run is long: the last step seen, plus one for counting from zero."""
        from bedside.record.vocabulary import CLOCKS  # the cheapest series that tell the time

        last = -1
        for vital in CLOCKS:
            if self.has(vital):
                series = self.series(vital)
                last = max(last, series.last_step if series else -1)
        if last < 0:
            for key in self._keys:
                series = self.series(*key)
                last = max(last, series.last_step if series else -1)
        return last + 1

    def events_of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]

    def fetch(self, keys: Sequence[Key]) -> None:
        """Read these series in one pass; those that are there already are not read again."""
        keys = [key for key in keys if key in self._known and key not in self._loaded]
        if not keys or self._load is None:
            return
        for series in self._load(keys):
            self._loaded[(series.vital, series.owner)] = series
        for key in keys:  # promised by the index, but nothing stored yet
            self._loaded.setdefault(key, Series(key[0], key[1], np.empty(0, np.int64), np.empty(0)))
