"""What the other ranks of a run recorded, beside rank 0's own: a few series, under names of their own.

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


def beside(run: Run, own: int, others: Mapping[int, Callable[[], Run]]) -> Run:
    """`run` of rank `own`, with the compared series of all ranks added; others are opened when they are asked for."""
    opened: dict[int, Run] = {own: run}
    original = {compared: vital for vital, compared in COMPARED.items()}
    extra: list[Key] = [(compared, str(rank)) for compared in original for rank in sorted([own, *others])]

    def load(keys: Sequence[Key]) -> Iterable[Series]:
        for vital, owner in keys:
            if vital not in original:
                yield run.series(vital, owner)
                continue
            rank = int(owner)
            if rank not in opened:
                opened[rank] = others[rank]()
            series = opened[rank].series(original[vital])
            yield Series(vital, owner, series.steps, series.values)

    return Run(
        run.name,
        format=run.format,
        keys=[*run.keys, *extra],
        load=load,
        events=run.events,
        parameters=run.parameters,
        config=run.config,
        environment=run.environment,
        notes=run.notes,
        axis=run.axis,
        finished=run.finished,
    )
