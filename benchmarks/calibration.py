"""Is "80 % sure" right 80 % of the time? Reliability tables and Brier scores of hypotheses and findings.

    python benchmarks/calibration.py [--cache .cache/zoo ...] [--programs FOLDER ...] [--drawn 660] [--write]

Every recorded run of the zoo that is in a cache is diagnosed, and so are drawn healthy runs and the programs whose
records were kept (`healthy.py --programs --keep FOLDER`, `strangers.py --half in_sight --keep FOLDER`). A hypothesis
is right when it is the cause that the specimen was made with; of a healthy run only the harmless explanation is. A
finding is right when it is one of those that the specimen or program expects, or when it follows from one; on a healthy
run none is. Runs that have no answer in the table below are left out of the hypotheses' score. Every report is
searched for contradictions. `--write` puts the figures into benchmarks/results/calibration.csv, of which
`scripts/make_docs.py` makes docs/calibration.md.
"""

from __future__ import annotations

import argparse
import csv
import runpy
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

from bedside.diagnosis.engine import examine
from bedside.finding import Diagnosis, Severity
from bedside.record.run import Run
from bedside.record.sqlite.reader import open_run
from bedside.zoo.against_the_run import against_the_run
from bedside.zoo.contradictions import contradictions
from bedside.zoo.specimens import ZOO
from healthy import healthy_run

# Drawn so that training falls epoch by epoch and validation does not follow: that is what the answer says.
DRAWN_TRUTH = {"fine_tuning_staircase": ("silent-overfitting", "normal-convergence")}
HERE = Path(__file__).parent
RESULTS = HERE / "results" / "calibration.csv"
label = runpy.run_path(str(HERE / "strangers.py"))["label"]  # the script, beside a folder of the same name
EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)
HARMLESS = "normal-convergence"

# The true answer of each question, by specimen: what its one line does.
TRUTH: dict[str, tuple[str, ...]] = {
    "learning-rate-ten": ("steps-too-large", "plateau"),
    "rate-one": ("steps-too-large", "plateau"),
    "learning-rate-1e-6": ("steps-too-small", "learning-rate-gone"),
    "rate-1e-7": ("steps-too-small", "learning-rate-gone"),
    "hundred-examples": ("learned-by-heart", "silent-overfitting"),
    "overfitting-uncured": ("learned-by-heart", "silent-overfitting"),
    "overconfident": ("learned-by-heart", "silent-overfitting"),
    "same-batch-again": ("learned-by-heart", "silent-overfitting"),
    "ten-sigmoid-layers": ("no-gradient", "plateau"),
    "collapsed-activations": ("no-gradient", "plateau"),
    "dead-layer": ("no-gradient", "plateau"),
    "dead-relu": ("no-gradient", "plateau"),
    "relu-on-the-logits": ("no-gradient", "plateau"),
    "saturated-head": ("no-gradient", "plateau"),
    "saturated-tanh": ("no-gradient", "bad-start", "plateau"),
    "growing-activations": ("bad-start",),
    "exploding-depth": ("bad-start", "one-module", "steps-too-large"),
    "learnable-scale": ("bad-start", "one-module"),
    "labels-torn-from-inputs": ("nothing-to-learn", "plateau"),
    "underfitting": ("held-back", "plateau"),
    "broadcast-loss": ("held-back", "nothing-to-learn", "plateau"),
    "double-softmax": ("held-back", "plateau"),
    "validation-scaled-otherwise": ("evaluated-otherwise", "other-data"),
    "evaluating-in-train-mode": ("evaluated-otherwise",),
    "lopsided-labels": ("other-data", "evaluated-otherwise"),
    "stale-checkpoint-evaluated": ("broken-evaluation",),
    "schedule-ended-early": ("learning-rate-gone", "steps-too-small"),
    "scheduler-per-batch": ("learning-rate-gone", "steps-too-small"),
    "late-overshoot": ("learning-rate-gone", "steps-too-large"),
    "batch-of-two": ("steps-too-large",),
    "diverging-late": ("steps-too-large",),
    "exploding-recurrence": ("steps-too-large", "one-module"),
    "nan-from-steps-too-long": ("steps-too-large",),
    "missing-warmup": ("steps-too-large", "plateau"),
    "nan-log-of-zero": ("formula",),
    "nan-zero-over-zero": ("formula",),
    "nan-sqrt-of-zero": ("formula",),
    "nan-exp-overflow": ("formula",),
    "nan-from-module-four": ("formula",),
    "nan-fp16-overflow": ("precision",),
    "underflowing-second-moment": ("precision",),
    "loss-scale-collapse": ("precision", "plateau"),
    "nan-in-the-data": ("bad-batch",),
    "bad-batch": ("bad-batch",),
    "batch-outliers": ("bad-batch",),
    "weights-overwritten": ("from-outside",),
    "head-not-in-optimizer": ("not-connected", "plateau"),
    "detached-backbone": ("not-connected", "plateau"),
    "step-before-backward": ("not-connected", "plateau"),
}


@dataclass(frozen=True)
class Claim:
    """Something said with a probability, and whether it was so."""

    sure: float
    right: bool


def hypotheses(diagnosis: Diagnosis, truth: Sequence[str]) -> Iterator[Claim]:
    for asked in diagnosis.differential:
        names = {each.name for each in asked.hypotheses}
        if names & set(truth):  # the question has the true answer among its answers
            for each in asked.hypotheses:
                yield Claim(each.weight, each.name in truth)


def findings(diagnosis: Diagnosis, expected: Iterable[str]) -> Iterator[Claim]:
    wanted = set(expected)
    codes = {each.code for each in diagnosis.findings if each.name in wanted}
    for each in diagnosis.findings:
        if each.severity > Severity.NOTE and not each.preview:
            yield Claim(each.confidence, each.name in wanted or bool(set(each.causes) & codes))


def brier(claims: Sequence[Claim]) -> float:
    """The mean squared distance between what was said and what was so: 0 is perfect, 0.25 is "one half" every time."""
    return sum((each.sure - each.right) ** 2 for each in claims) / len(claims) if claims else float("nan")


def reliability(claims: Sequence[Claim]) -> list[tuple[str, int, float, float]]:
    """Per band: how many claims, how sure on average, and how often right."""
    rows = []
    for low, high in pairwise(EDGES):
        band = [each for each in claims if low <= each.sure < high or (high == 1.0 and each.sure == 1.0)]
        if band:
            said = sum(each.sure for each in band) / len(band)
            rows.append((f"{low:.0%} to {high:.0%}", len(band), said, sum(each.right for each in band) / len(band)))
    return rows


@dataclass(frozen=True)
class Known:
    """A run and what is true of it: which findings are expected, and which answers to open questions are right."""

    name: str
    run: Run
    kind: str  # of run: a line of the table of verdicts
    expected: Sequence[str] = ()
    truth: Sequence[str] = (HARMLESS,)


def zoo_runs(cache: Path) -> Iterator[Known]:
    for specimen in ZOO:
        for folder in sorted((cache / specimen.name).glob("*-*-*")):
            if folder.suffix:
                continue  # still being trained
            if specimen.sick and not folder.name.startswith("healthy-"):
                truth = TRUTH.get(specimen.name, ())
                yield Known(specimen.name, open_run(folder), "sick specimens", sorted(specimen.names), truth)
            else:
                yield Known(specimen.name, open_run(folder), "healthy specimens and twins")


def program_runs(kept: Path) -> Iterator[Known]:
    for folder in sorted(each.parent for each in kept.glob("*/*/*/rank0.sqlite")):
        half, program = folder.parts[-3:-1]
        name = program.rsplit("-", 1)[0]
        if name.endswith("-faulty"):
            file = HERE / "strangers" / half / f"{name.removesuffix('-faulty').replace('-', '_')}.py"
            yield Known(name, open_run(folder), "faulty programs", label(file)["EXPECTS"], ())
        else:
            yield Known(name, open_run(folder), "healthy programs and repaired twins")


def drawn_runs(count: int) -> Iterator[Known]:
    for seed in range(count):
        run = healthy_run(seed)
        truth = DRAWN_TRUTH.get(run.name.rsplit(" ", 1)[0], (HARMLESS,))
        yield Known(run.name, run, "drawn healthy runs", truth=truth)


Row = tuple[str, str, int, float, float]  # part, band or name, how many, said, right


def rows_of(part: str, claims: Sequence[Claim]) -> list[Row]:
    """The bands of a reliability table, and the Brier score over all of them."""
    bands = [(part, band, count, said, right) for band, count, said, right in reliability(claims)]
    return [*bands, (part, "Brier score", len(claims), brier(claims), float("nan"))]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, nargs="*", default=[Path(".cache/zoo")], help="recorded runs of the zoo")
    parser.add_argument("--programs", type=Path, nargs="*", default=[], help="kept records of programs")
    parser.add_argument("--drawn", type=int, default=660, help="drawn healthy runs")
    parser.add_argument("--write", action="store_true", help=f"write the figures into {RESULTS.name}")
    options = parser.parse_args(arguments)
    weighed: list[Claim] = []
    found: list[Claim] = []
    against: list[str] = []
    verdicts: dict[str, dict[str, int]] = {}
    every = chain(
        *(zoo_runs(each) for each in options.cache),
        *(program_runs(each) for each in options.programs),
        drawn_runs(options.drawn),
    )
    for known in every:
        diagnosis = examine(known.run)
        verdicts.setdefault(known.kind, dict.fromkeys(("sick", "unclear", "healthy"), 0))[diagnosis.verdict] += 1
        weighed += hypotheses(diagnosis, known.truth)
        found += findings(diagnosis, known.expected)
        said = [*contradictions(diagnosis), *against_the_run(diagnosis, known.run)]
        against += [f"{known.name}: {each}" for each in said]
    rows = [*rows_of("hypotheses", weighed), *rows_of("findings", found)]
    for title, counts in verdicts.items():
        total = sum(counts.values())
        rows += [(f"verdicts: {title}", word, n, n / total, float("nan")) for word, n in counts.items()]
    rows.append(("contradictions", "reports", len(against), float("nan"), float("nan")))
    for part, name, count, said, right in rows:
        print(f"{part:40} {name:14} {count:6} {said:8.3f} {right:8.3f}")
    print(*against, sep="\n")
    if options.write:
        with RESULTS.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("part", "name", "count", "said", "right"))
            writer.writerows((part, name, n, f"{said:.4f}", f"{right:.4f}") for part, name, n, said, right in rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
