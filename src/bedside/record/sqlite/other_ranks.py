"""What the other ranks of a run recorded besides rank 0: a few series, under names of their own.

Each rank writes its own file and knows nothing of the others. A rule that compares ranks asks for `rank_loss` of owner
`0`, `1`, …; no other rule meets these names, and nothing is read before one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bedside.record.run import Key, Run
from bedside.record.series import Series

COMPARED = {
    "batch_fingerprint": "rank_fingerprint",
    "loss": "rank_loss",
    "param_norm": "rank_param_norm",
    "data_wait": "rank_data_wait",
    "step_time": "rank_step_time",
}
INITIAL = "rank_initial_norm"  # not a series of each rank but a fact about it


def with_other_ranks(run: Run, own: int, others: Mapping[int, Callable[[], Run]]) -> Run:
    """`run` of rank `own`, with the compared series of all ranks added; others are opened when they are asked for."""
    opened: dict[int, Run] = {own: run}
    original = {compared: vital for vital, compared in COMPARED.items()}
    extra: list[Key] = [(vital, str(rank)) for vital in (*original, INITIAL) for rank in sorted([own, *others])]

    def load(keys: Sequence[Key]) -> Iterable[Series]:
        for vital, owner in keys:
            if vital not in original and vital != INITIAL:
                yield run.series(vital, owner)
                continue
            rank = int(owner)
            if rank not in opened:
                opened[rank] = others[rank]()
            if vital == INITIAL:
                norm = opened[rank].config.get("initial_param_norm")
                yield Series(vital, owner, *(([0], [norm]) if isinstance(norm, (int, float)) else ((), ())))
                continue
            series = opened[rank].series(original[vital])
            yield Series(vital, owner, series.steps, series.values)

    return Run(
        run.name,
        format=run.format,
        keys=[*run.series_keys, *extra],
        load=load,
        events=run.events,
        parameters=run.parameters,
        config=run.config,
        environment=run.environment,
        notes=run.notes,
        axis=run.axis,
        finished=run.finished,
    )
