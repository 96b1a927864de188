"""How general is the diagnosis? Classic faults are put into healthy programs of all families, each into each.

    python benchmarks/injected.py                              what is in sight, a sample of about 150 trainings
    python benchmarks/injected.py --details                    with what was said of each sick run
    python benchmarks/injected.py --half held_out              totals alone; look at them last
    python benchmarks/injected.py --keep FOLDER                leave the records, and judge those that are there

The base are programs of healthy_programs/, the faults the operators of injected/. An operator changes torch, the model
or the optimizer from outside before bedside has seen them; it is written without a program in mind, and what would be
right to say of it was written from its definition, before any result. So a rule that was fitted to the programs of the
zoo or to those of strangers/ is found out here.

Programs and operators are split in two by a hash of their names. What combines a program of the first half with an
operator of the first half is *in sight*: rules may be changed with it. All other combinations are *held out*: only
totals are printed and kept.

Not every fault harms every program. A combination counts only where the run is really sick, which is decided without
bedside: the program's own assertion at its end failed, or a NaN broke it, or (where the fault leaves the loss what it
is) its final loss is worse than those of two healthy seeds by a quarter of what they had won and by three times their
difference. A program that fails on its own, or breaks for another reason, is left out. *Caught*: an error or warning
names the cause or one of the symptoms that lead to it. *Exact*: the cause itself is among them. *Healthy*: the run was
called healthy, which is the worst answer.

Results go to benchmarks/results/injected.csv.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from injected import OPERATORS
from injected.injection import Operator
from watched import NOT_APPLICABLE, Job, Outcome, train_all

HERE = Path(__file__).parent
PROGRAMS = HERE / "healthy_programs"
RESULTS = HERE / "results" / "injected.csv"
COLUMNS = ("half", "kind", "name", "sick", "caught", "exact", "alarmed", "called_healthy")

# Quick ones of all families: seconds each, judged by a score or a loss on held-out data.
QUICK = (
    "frozen_backbone",
    "full_batch",
    "imbalanced_weighted",
    "label_smoothing_mixup",
    "link_prediction",
    "lion_optimizer",
    "mixture_density",
    "multi_task",
    "noisy_prognosis",
    "one_cycle_fastai",
    "quantile_regression",
    "schedule_free",
    "tabular_embeddings",
    "text_bag_tutorial",
    "time_series_forecast",
    "trainer_class",
    "triangular_lr",
    "vae_digits",
    "warm_restarts",
    "word_language_model",
)


@dataclass(frozen=True)
class Limits:
    lost: float = 0.25  # of what the healthy runs won: with less than three quarters of it nobody is content
    spread: float = 3.0  # times the difference of two healthy seeds
    tail: float = 0.1  # of the readings: the end of a curve


SHARES = {"in_sight": 0.17, "held_out": 0.06}  # of the combinations are trained, drawn by their hash


def drawn(text: str) -> float:
    """A number from 0 to 1 that depends on nothing but the text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def half_of(program: str, operator: str) -> str:
    first = drawn(f"program {program}") < 0.5 and drawn(f"operator {operator}") < 0.5
    return "in_sight" if first else "held_out"


def combinations(half: str, share: float) -> list[tuple[str, str]]:
    """Programs and operators of that half: a sample that is the same at every call, in an order without meaning."""
    every = [(program, operator) for program in QUICK for operator in OPERATORS]
    chosen = [each for each in every if half_of(*each) == half and drawn(" ".join(each)) < share]
    return sorted(chosen, key=lambda each: drawn(" ".join(each)))


@dataclass(frozen=True)
class Level:
    """Where a loss began and ended."""

    first: float
    last: float


def level(run: Any, limits: Limits) -> tuple[str, Level] | None:
    """The held-out loss of a run, or else its training loss."""
    for name in ("val/loss", "test/loss", "loss"):
        values = run[name].values if name in run.keys() else ()  # noqa: SIM118 - a run is asked for its names
        if len(values) >= 5:
            tail = max(2, int(limits.tail * len(values)))
            ends = sorted(values[-tail:], key=lambda each: math.inf if math.isnan(each) else each)
            return name, Level(float(values[0]), float(ends[len(ends) // 2]))
    return None


def harmed(failed: str, sick: Level | None, healthy: Sequence[Level], same_loss: bool, limits: Limits) -> bool | None:
    """Whether the fault did real harm; None where the program broke for reasons of its own."""
    if failed:
        asserted = failed.rstrip().splitlines()[-1].startswith("AssertionError")
        return True if asserted or "nan" in failed.lower() else None
    if not same_loss or sick is None or not healthy:
        return False
    if not math.isfinite(sick.last):
        return True
    worst = max(each.last for each in healthy)
    won = sum(each.first - each.last for each in healthy) / len(healthy)
    differ = worst - min(each.last for each in healthy)
    return won > 0 and sick.last - worst > max(limits.lost * won, limits.spread * differ)


@dataclass(frozen=True)
class Row:
    program: str
    operator: str
    half: str
    outcome: Outcome

    @property
    def spec(self) -> Operator:
        return OPERATORS[self.operator]

    @property
    def named(self) -> set[str]:
        return {finding["name"] for finding in self.outcome.alarms}

    @property
    def exact(self) -> bool:
        return bool(self.named & set(self.spec.exact))

    @property
    def caught(self) -> bool:
        return self.exact or bool(self.named & set(self.spec.also))

    @property
    def called_healthy(self) -> bool:
        return "healthy" in self.outcome.verdicts and "sick" not in self.outcome.verdicts


def bases(programs: Iterable[str], keep: Path) -> dict[str, tuple[Outcome, list[tuple[str, Level]]]]:
    """The programs as they are, with two seeds; those that do not learn with both are left out."""
    programs = list(programs)
    jobs = [Job(str(PROGRAMS / f"{name}.py"), seed) for name in programs for seed in (0, 1)]
    outcomes = train_all(jobs, keep=keep)
    found = {}
    for name in programs:
        two = [next(outcomes), next(outcomes)]
        if not any(each.failed for each in two):
            levels = [_level_of(each.job, keep) for each in two]
            found[name] = (two[0], [each for each in levels if each is not None])
    return found


def _level_of(job: Job, keep: Path) -> tuple[str, Level] | None:
    import bedside

    folder = keep.resolve() / job.folder / "0"
    return level(bedside.load(folder), Limits()) if folder.exists() else None


def sick_rows(half: str, share: float, keep: Path) -> Iterator[Row]:
    """Everything of that half that turned out to be sick, as it comes."""
    chosen = combinations(half, share)
    healthy = bases(sorted({program for program, _ in chosen}), keep)
    chosen = [each for each in chosen if each[0] in healthy]
    jobs = [
        Job(str(PROGRAMS / f"{program}.py"), 0, fault=operator, steps=_steps(healthy[program][0], keep))
        for program, operator in chosen
    ]
    for (program, operator), outcome in zip(chosen, train_all(jobs, keep=keep), strict=True):
        if outcome.failed == NOT_APPLICABLE or not outcome.verdicts:
            continue
        now = _level_of(outcome.job, keep)
        levels = [each for name, each in healthy[program][1] if now is not None and name == now[0]]
        last = now[1] if now is not None else None
        if harmed(outcome.failed, last, levels, OPERATORS[operator].same_loss, Limits()):
            yield Row(program, operator, half, outcome)


def _steps(outcome: Outcome, keep: Path) -> int:
    import bedside

    return int(bedside.load(keep.resolve() / outcome.job.folder / "0").steps)


def totals(rows: Sequence[Row]) -> str:
    counts = counted(rows)
    share = " ".join(
        f"{name.replace('_', ' ')} {counts[name]} ({100 * counts[name] / max(counts['sick'], 1):.0f} %)"
        for name in COLUMNS[4:]
    )
    return f"{counts['sick']} sick: {share}"


def counted(rows: Sequence[Row]) -> Counter[str]:
    counts = Counter(sick=len(rows))
    for row in rows:
        counts.update(caught=row.caught, exact=row.exact, alarmed=bool(row.named), called_healthy=row.called_healthy)
    return counts


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Totals of a half, and, of what is in sight, those of every operator and every program."""
    half = rows[0].half
    groups = [("total", "", list(rows))]
    if half == "in_sight":
        for kind in ("operator", "program"):
            names = sorted({getattr(row, kind) for row in rows})
            groups += [(kind, name, [row for row in rows if getattr(row, kind) == name]) for name in names]
    return [{"half": half, "kind": kind, "name": name, **counted(own)} for kind, name, own in groups]


def tell(row: Row, findings: bool) -> None:
    mark = "exact " if row.exact else "caught" if row.caught else "other " if row.named else "MISSED"
    verdict = "/".join(dict.fromkeys(row.outcome.verdicts))
    print(f"{mark} {row.operator:34} {row.program:24} {verdict:8} {' '.join(sorted(row.named))}", flush=True)
    for each in row.outcome.findings if findings else ():
        print(f"      {each['severity']} {each['name']}: {each['message']}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="these alone; the table stays as it is")
    parser.add_argument("--half", choices=tuple(SHARES), default="in_sight")
    parser.add_argument("--share", type=float, help="of the combinations of that half, drawn by a hash of their names")
    parser.add_argument("--details", action="store_true", help="show every finding of what is in sight")
    parser.add_argument("--keep", type=Path, required=True, help="the folder of records; those in it are judged anew")
    parser.add_argument("--list", action="store_true", help="what the operators are, and which half each is in")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if options.list:
        for name, each in OPERATORS.items():
            print(f"{name:36} {'in sight' if drawn(f'operator {name}') < 0.5 else 'held out'}  {each.what}")
        return 0
    rows = []
    for row in sick_rows(options.half, options.share or SHARES[options.half], options.keep):
        rows.append(row)
        if options.half == "in_sight" and (not options.operators or row.operator in options.operators):
            tell(row, options.details)
    print(f"{options.half.replace('_', ' ')}: {totals(rows)}")
    if rows and options.share is None:
        write(table(rows), options.output)
    return 0


def write(rows: Sequence[dict[str, Any]], output: Path) -> None:
    """The rows of this half in place of its former ones."""
    kept = []
    if output.exists():
        with output.open(encoding="utf-8") as file:
            kept = [each for each in csv.DictReader(file) if each["half"] != rows[0]["half"]]
    with output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*kept, *rows], key=lambda each: each["half"] != "in_sight"))


if __name__ == "__main__":
    sys.exit(main())
