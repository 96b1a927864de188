"""The records of several ranks in one folder, read as one run.

Each rank writes its own file and knows nothing of the others. Opened together, the run shows
- what only all ranks know together: norms of sharded parameters, and metrics logged with `reduce=True`
  (`across_ranks.py` puts them together);
- what rules compare: `rank_loss` of owner `0`, `1`, … and its like. No other rule meets these names;
- what became of each rank: when it wrote last, and whether it was closed.

Nothing of another rank is read before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bedside.record.across_ranks import (
    COUNTS,
    RATIOS,
    SHARDED,
    mean_over_ranks,
    most,
    norms_added,
    ranks_at,
    ratio,
    weight_of,
)
from bedside.record.run import Key, Run
from bedside.record.series import Series
from bedside.wording import listed

COMPARED = {
    "rank_fingerprint": "batch_fingerprint",
    "rank_loss": "loss",
    "rank_param_norm": "param_norm",
    "rank_data_wait": "data_wait",
    "rank_step_time": "step_time",
}


@dataclass(frozen=True)
class RankRecord:
    """One rank's own file, and what is known about the rank itself."""

    run: Run
    last_step: int = -1
    last_time: float = 0.0  # when it wrote its last step, or was closed
    closed: bool = False
    resumed_at: int | None = None  # the first step since the last resume; -1 if it has not made one yet

    @property
    def passed(self) -> float:
        """The step before which nothing will be logged any more."""
        return float("inf") if self.closed else float(self.last_step)

    @property
    def rank(self) -> int:
        return int(next((event.data.get("rank", 0) for event in self.run.events_of("ranks")[-1:]), 0))


def _initial_norm(rank: RankRecord) -> float | None:
    norm = rank.run.config.get("initial_param_norm")
    return float(norm) if isinstance(norm, (int, float)) else None


def _batch_group(rank: RankRecord) -> float | None:
    """The lowest of the ranks that get the same batch on purpose, as those of one tensor-parallel group do."""
    for event in rank.run.events_of("ranks")[-1:]:
        return float(min(event.data.get("same_batch") or [rank.rank]))
    return None


def _finished(rank: RankRecord) -> float | None:
    """1 if it ended by itself, 0.5 if contact with other ranks was lost, 0 if another exception ended it, -1 if its
    record was never closed."""
    starts = rank.run.events_of("ranks")
    began = starts[-1].time if starts else 0.0  # what ended an attempt before a restart is over
    how = next((event.data for event in rank.run.events_of("ended")[-1:] if event.time >= began), None)
    if how is not None and not how.get("interrupted"):  # Ctrl-C reaches all ranks, and is the fault of none
        return 0.5 if how.get("lost_contact") else 0.0
    if rank.closed or how is not None:
        return 1.0 if rank.run.finished is not False or how is not None else 0.0
    return -1.0 if rank.last_time else None


BEFOREHAND = frozenset({"rank_initial_norm", "rank_batch_group"})  # known before the first step
FACTS: dict[str, Callable[[RankRecord], float | None]] = {
    "rank_initial_norm": _initial_norm,
    "rank_batch_group": _batch_group,
    "rank_last_time": lambda rank: rank.last_time or None,
    "rank_finished": _finished,
}


def with_other_ranks(shown: Run, ranks: Mapping[int, Callable[[], RankRecord]], *, added_up: bool = False) -> Run:
    """A rank's run with all that the ranks know together; each record is opened when it is asked for.

    `added_up`: what takes all ranks to know is in `shown` already, as it is in the live view.
    """
    together = _Ranks(shown, ranks, added_up=added_up)
    everyone = [str(rank) for rank in sorted(ranks)]
    return Run(
        shown.name,
        format=shown.format,
        keys=[*shown.series_keys, *((vital, rank) for vital in (*COMPARED, *FACTS) for rank in everyone)],
        load=together.load,
        events=shown.events,
        parameters=shown.parameters,
        config=shown.config,
        environment=shown.environment,
        notes=[*shown.notes, *_about(shown, len(ranks)), *_absent(shown, ranks)],
        axis=shown.axis,
        finished=shown.finished,
        ended=shown.ended,
    )


class _Ranks:
    """Loads series of the whole run; each rank's file is opened once."""

    def __init__(self, shown: Run, ranks: Mapping[int, Callable[[], RankRecord]], *, added_up: bool) -> None:
        self._shown = shown
        self._open = ranks
        self._opened: dict[int, RankRecord] = {}
        self._sharded = not added_up and is_sharded(shown)
        self._reduced = not added_up
        self._world = ranks_at(shown.events)
        self._known = set(shown.series_keys)

    def load(self, keys: Sequence[Key]) -> Iterable[Series]:
        shared = [key for key in keys if self._is_shared(key)]
        if shared:
            parts = [(part, owner) for vital, owner in shared for part in RATIOS.get(vital, (vital,))]
            parts += [weight_of(key) for key in shared if weight_of(key) in self._known]
            for rank in self._open:
                self._record(rank).run.fetch(parts)
        self._shown.fetch([key for key in keys if not self._is_shared(key)])
        return [self._series(*key) for key in keys]

    def _is_shared(self, key: Key) -> bool:
        """Whether it takes all ranks to know it."""
        if key not in self._known:
            return False
        return (self._sharded and key[0] in SHARDED) or (self._reduced and weight_of(key) in self._known)

    def _series(self, vital: str, owner: str) -> Series:
        if vital in FACTS:
            record = self._record(int(owner))
            fact = FACTS[vital](record)
            step = 0 if vital in BEFOREHAND else max(record.last_step, 0)
            return Series(vital, owner, *(((), ()) if fact is None else ([step], [fact])))
        if vital in COMPARED:
            series = self._compared(int(owner), COMPARED[vital])
            return Series(vital, owner, series.steps, series.values)
        if not self._is_shared((vital, owner)):
            return self._shown.series(vital, owner)
        if vital in RATIOS:
            above, below = (self._series(part, owner) for part in RATIOS[vital])
            return ratio(vital, above, below)
        parts = self._everywhere((vital, owner))
        if vital in SHARDED:
            return (most if vital in COUNTS else norms_added)(parts, self._world)
        passed = [self._record(rank).passed for rank in self._open]
        return mean_over_ranks(parts, self._everywhere(weight_of((vital, owner))), passed)

    def _compared(self, rank: int, vital: str) -> Series:
        run = self._record(rank).run
        if vital in SHARDED and is_sharded(run):
            return Series(vital)  # shards of one model are not meant to be alike
        return run.series(vital)

    def _everywhere(self, key: Key) -> list[Series]:
        records = [self._record(rank) for rank in self._open]
        resumed = [each.resumed_at for each in records if each.resumed_at is not None and each.resumed_at >= 0]
        begun = min(resumed, default=None)
        # Until a resumed rank has made a step, its record still shows the branch that the others have left.
        return [
            each.run.series(*key).before(begun)
            if begun is not None and each.resumed_at == -1
            else each.run.series(*key)
            for each in records
        ]

    def _record(self, rank: int) -> RankRecord:
        if rank not in self._opened:
            self._opened[rank] = self._open[rank]()
        return self._opened[rank]


def is_sharded(run: Run) -> bool:
    """Whether its ranks hold parts of the parameters."""
    return any(event.data.get("sharded") for event in run.events_of("ranks"))


def _about(run: Run, ranks: int) -> list[str]:
    """Whose numbers a reader of several ranks sees."""
    starts = run.events_of("ranks")
    if not starts or ranks < 2:
        return []
    norms = ", norms those of the whole model" if is_sharded(run) else ""
    rank = starts[-1].data.get("rank", 0)
    return [f"One run of {ranks} ranks: loss, data and activations are those of rank {rank}{norms}."]


def _absent(run: Run, there: Iterable[int]) -> list[str]:
    """What cannot be known because a rank's record is not in the folder."""
    starts = run.events_of("ranks")
    if not starts:
        return []
    absent = sorted(set(range(int(starts[-1].data.get("world_size", 1)))) - set(there))
    if not absent:
        return []
    ranks = f"record of rank {absent[0]} is" if len(absent) == 1 else f"records of ranks {listed(map(str, absent))} are"
    lost = "the norms of sharded parameters are not known" if is_sharded(run) else "not all ranks were compared"
    return [f"The {ranks} not here, so {lost}; read one folder that holds every rank*.sqlite of the run."]
