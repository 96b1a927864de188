"""Every metric that was logged, validation and training on the same axes, and at the end whatever else there is."""

from __future__ import annotations

from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import VITALS
from bedside.report.instruments.loss_curves import smoothing
from bedside.report.instruments.panel import Instrument, Line, Panel
from bedside.wording import capital, number, printable, words

SPLITS = {"val": "validation", "test": "test", "train": "training", "eval": "evaluation"}
# Counters and flags of the record itself: no reader wants a chart of them.
NOT_SHOWN = {
    "batch_fingerprint",
    "rank_fingerprint",
    "epoch",
    "micro_batches",
    "discarded_backwards",
    "training_forwards",
    "clip_active",
}
MAX_LINES = 12  # of a chart that nobody chose: nobody can distinguish more colours
MAX_FOLDED = 40  # of what is left over; logs with thousands of series exist


def metric_instruments(run: Run) -> list[Instrument]:
    """One chart per metric name, whatever sets it was evaluated on."""
    found = []
    for name, keys in _by_name(run).items():

        def read(run: Run, name: str = name, keys: list[str] = keys) -> Panel | None:
            return metric_panel(name, [run.series(key) for key in keys])

        found.append(Instrument(f"metric:{name}", "metrics", capital(spoken(name)), read))
    return found


def metric_panel(name: str, every: list[Series]) -> Panel | None:
    shown = [each for each in every if each]
    if not shown:
        return None
    said = []
    for each in shown:
        finite = each.finite()
        if finite:
            said.append(f"{_split(each)} {number(finite.last)}{_best(finite)}".strip())
    return Panel(
        f"metric:{name}",
        "metrics",
        capital(spoken(name)),
        say=" · ".join(said),
        lines=[
            Line(each.key, f"{_split(each)} {words(name)}".strip(), _role(each), smooth=smoothing(each))
            for each in shown
        ],
        series=shown,
    )


def _best(finite: Series) -> str:
    """`, best 0.97`, where it is known which way is better and the end is not the best."""
    up = goes_up(finite.vital)
    if up is None:
        return ""
    best = float(finite.values.max() if up else finite.values.min())
    return f", best {number(best)}" if best != finite.last else ""


def left_over(run: Run, shown: set[str]) -> list[Instrument]:
    """A folded chart for every vital that no other instrument shows; of layers all lines in one."""
    vitals: dict[str, list[str]] = {}
    for vital, owner in run.series_keys:
        key = f"{vital}/{owner}" if owner else vital
        if key not in shown and vital not in NOT_SHOWN:
            vitals.setdefault(vital, []).append(owner)
    found = []
    for vital, owners in list(vitals.items())[:MAX_FOLDED]:

        def read(run: Run, vital: str = vital, owners: list[str] = owners) -> Panel | None:
            return other_panel(vital, [run.series(vital, owner) for owner in owners])

        found.append(Instrument(f"other:{vital}", "other", capital(spoken(vital)), read, folded=True))
    return found


def other_panel(vital: str, every: list[Series]) -> Panel | None:
    shown = [each for each in every if each][:MAX_LINES]
    if not shown:
        return None
    meaning = VITALS[vital].meaning if vital in VITALS else ""
    more = f" {len(shown)} of {len(every)} are shown." if len(every) > len(shown) else ""
    return Panel(
        f"other:{vital}",
        "other",
        capital(spoken(vital)),
        say=meaning + more,
        lines=[Line(each.key, printable(each.owner) or capital(spoken(vital))) for each in shown],
        folded=True,
        extra={"points": 80 if len(shown) > 4 else 250},
        series=shown,
    )


def _by_name(run: Run) -> dict[str, list[str]]:
    """`val/accuracy` and `accuracy` belong together; losses have an instrument of their own."""
    held_out = {
        vital for vital, owner in run.series_keys if not owner and vital.partition("/")[0] in SPLITS and "/" in vital
    }
    names: dict[str, list[str]] = {}
    for vital, owner in run.series_keys:
        name = vital.partition("/")[2] if vital in held_out else vital
        if owner or name == "loss" or vital in VITALS:
            continue
        names.setdefault(name, []).append(vital)
    return names


def _split(series: Series) -> str:
    split, slash, _ = series.vital.partition("/")
    return SPLITS.get(split, "") if slash else ""


def _role(series: Series) -> str:
    return "validation" if series.vital.startswith("val/") else "training"


def spoken(vital: str) -> str:
    """`val/top_1` as a person says it: `validation top 1`."""
    split, slash, rest = vital.partition("/")
    return f"{SPLITS[split]} {words(rest)}" if slash and split in SPLITS else words(vital)
