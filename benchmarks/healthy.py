"""Healthy training runs, drawn or really trained, and how many of them are alarmed.

    python benchmarks/healthy.py [--runs 2000] [--details]           drawn curves
    python benchmarks/healthy.py --programs [NAME ...] [--seed 1]    ordinary public-style programs, trained and watched

Drawn curves prove nothing about catching faults; they are here to be left in peace. Each kind is one trait that real
logs have: power-law falls under noise that remembers, learning-rate drops, warm restarts, epoch staircases, single
strange batches, losses that are negative or zero by design, a level change when augmentation ends, flat continued
pre-training, grokking, rounding, evaluations only, a handful of points.

The programs in benchmarks/healthy_programs/ are what people copy from: each trains for seconds and asserts that it
learned. For each the table has the alarms at the end, those that came and went while it ran, and the questions asked;
it is written to benchmarks/results/healthy_programs.csv.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bedside.diagnosis.engine import examine
from bedside.finding import Severity
from bedside.record.run import Event, Run
from bedside.record.series import Series

HERE = Path(__file__).parent
PROGRAMS = HERE / "healthy_programs"
RESULTS = HERE / "results" / "healthy_programs.csv"
Curve = NDArray[np.float64]
KINDS: dict[str, Callable[[Generator], Run]] = {}


def kind(draw: Callable[[Generator], Run]) -> Callable[[Generator], Run]:
    KINDS[draw.__name__] = draw
    return draw


def healthy_run(seed: int, of: str | None = None) -> Run:
    """The healthy run number `seed`, of a given kind or of each kind in turn."""
    names = list(KINDS)
    name = of or names[seed % len(names)]
    run = KINDS[name](np.random.default_rng(seed))
    run.name = f"{name} {seed}"
    return run


def noise(rng: Generator, n: int, sigma: float, phi: float | None = None, tails: bool = False) -> Curve:
    """Multiplicative noise around one: AR(1) with a random memory, normal or heavy-tailed."""
    phi = rng.choice([0.0, 0.0, 0.3, 0.7, 0.9]) if phi is None else phi
    steps = rng.standard_t(4, size=n) / np.sqrt(2) if tails else rng.normal(size=n)
    steps *= np.sqrt(1 - phi**2)
    for i in range(1, n):
        steps[i] += phi * steps[i - 1]
    return np.exp(sigma * steps)


def power_law(rng: Generator, n: int, start: float, end: float) -> Curve:
    t = np.arange(n) / n
    early, power = rng.uniform(0.0005, 0.05), rng.uniform(0.2, 1.0)
    shape = (1 + t / early) ** -power
    shape = (shape - shape[-1]) / max(1 - shape[-1], 1e-9)
    return end + (start - end) * shape


def cosine(n: int, peak: float, warmup: float = 0.05) -> Curve:
    t = np.arange(n) / n
    return peak * np.where(
        t < warmup, t / warmup + 1e-9, 0.5 * (1 + np.cos(np.pi * (t - warmup) / (1 - warmup))) + 1e-6
    )


def gradient_norm(rng: Generator, n: int) -> Curve:
    return power_law(rng, n, rng.uniform(2, 20), rng.uniform(0.3, 2)) * noise(rng, n, 0.3, tails=True)


def a_log(
    every: int = 1, *, events: Sequence[Event] = (), axis: str = "step", finished: bool = True, **curves: Any
) -> Run:
    """The longest curves are logged `every` so many steps; shorter ones are spread over the run, as evaluations are."""
    longest = max(len(curve) for curve in curves.values())
    series = []
    for name, curve in curves.items():
        stride = every * longest / len(curve)
        steps = np.floor(np.arange(1, len(curve) + 1) * stride).astype(np.int64)
        series.append(Series(name.replace("__", "/"), "", steps, curve))
    return Run("", series, events=events, axis=axis, finished=finished, format="drawn")


@kind
def pretraining(rng: Generator) -> Run:
    n = int(rng.integers(100, 5000))
    loss = power_law(rng, n, rng.uniform(8, 11), rng.uniform(2, 4))
    val = loss[:: max(1, n // 40)] * (1 + 0.003 * rng.normal(size=len(loss[:: max(1, n // 40)])))
    return a_log(
        int(rng.choice([1, 10, 100])),
        loss=loss * noise(rng, n, rng.uniform(0.005, 0.05)),
        lr=cosine(n, 3e-4),
        grad_norm=gradient_norm(rng, n),
        val__loss=val,
    )


@kind
def classifier_with_learning_rate_drops(rng: Generator) -> Run:
    epochs = int(rng.integers(30, 200))
    t = np.arange(epochs) / epochs
    factor = np.where(t < 0.5, 1.0, np.where(t < 0.75, 0.35, 0.2))
    train = power_law(rng, epochs, 2.2, 0.5) * factor * noise(rng, epochs, 0.02)
    bumpy = np.where(t < 0.5, 0.15, 0.02)
    val = (power_law(rng, epochs, 1.9, 0.8) * (0.6 + 0.4 * factor)) * np.exp(bumpy * rng.normal(size=epochs))
    accuracy = np.clip(1 - 0.35 * val, 0, 1)
    lr = 0.1 * np.where(t < 0.5, 1.0, np.where(t < 0.75, 0.1, 0.01))
    return a_log(axis="epoch", loss=train, val__loss=val, val__accuracy=accuracy, lr=lr)


@kind
def fine_tuning_staircase(rng: Generator) -> Run:
    epochs, per = int(rng.integers(2, 6)), int(rng.integers(50, 500))
    levels = rng.uniform(1, 2) * rng.uniform(0.55, 0.85) ** np.arange(epochs)
    loss = np.repeat(levels, per) * (1 + 0.08 * np.tile(np.linspace(0, 1, per), epochs))
    loss[: max(3, per // 20)] *= np.linspace(1.6, 1, max(3, per // 20))
    n = len(loss)
    val = levels[0] * (1 - 0.08 * (1 - np.exp(-np.arange(2 * epochs)))) + 0.02 * np.arange(2 * epochs) / epochs
    return a_log(
        int(rng.choice([1, 10])),
        loss=np.round(loss * noise(rng, n, rng.uniform(0.03, 0.15), phi=0.0), 4),
        lr=cosine(n, 2e-5),
        epoch=np.arange(n) / per,
        grad_norm=gradient_norm(rng, n),
        val__loss=val,
    )


@kind
def fine_tuning_in_tiny_batches(rng: Generator) -> Run:
    n = int(rng.integers(50, 1500))
    loss = power_law(rng, n, rng.uniform(1, 3), rng.uniform(0.7, 1)) * noise(rng, n, rng.uniform(0.15, 0.5), phi=0.0)
    return a_log(10, loss=np.round(loss, 4), lr=cosine(n, 2e-4, 0.03), grad_norm=gradient_norm(rng, n))


@kind
def continued_pretraining(rng: Generator) -> Run:
    n = int(rng.integers(100, 2000))
    level = rng.uniform(1.2, 2.5)
    loss = power_law(rng, n, level, level * rng.uniform(0.95, 1.0)) * noise(rng, n, rng.uniform(0.01, 0.08))
    return a_log(10, loss=loss, lr=cosine(n, 1e-5), grad_norm=gradient_norm(rng, n))


@kind
def single_strange_batches(rng: Generator) -> Run:
    n = int(rng.integers(300, 3000))
    loss = power_law(rng, n, rng.uniform(5, 11), rng.uniform(2, 3)) * noise(rng, n, 0.03)
    for place in rng.integers(n // 10, n, size=int(rng.integers(1, 3))):
        loss[place] *= rng.uniform(1.3, 1.6)
    return a_log(loss=loss, lr=cosine(n, 1e-3), grad_norm=gradient_norm(rng, n))


@kind
def heavy_tailed_noise(rng: Generator) -> Run:
    n = int(rng.integers(200, 3000))
    loss = power_law(rng, n, rng.uniform(2, 6), rng.uniform(0.5, 1)) * noise(rng, n, 0.15, tails=True)
    return a_log(loss=loss, grad_norm=gradient_norm(rng, n))


@kind
def warm_restarts(rng: Generator) -> Run:
    cycles, per = int(rng.integers(2, 6)), int(rng.integers(50, 300))
    t = np.tile(np.arange(per) / per, cycles)
    lr = 0.05 * (1 + np.cos(np.pi * t)) + 1e-4
    base = power_law(rng, cycles * per, 2.3, 0.3)
    loss = base * (0.7 + 6 * lr) * noise(rng, cycles * per, 0.04)
    stop = int(rng.integers(per, cycles * per))
    return a_log(loss=loss[:stop], lr=lr[:stop])


@kind
def negative_by_design(rng: Generator) -> Run:
    epochs = int(rng.integers(20, 250))
    train = -power_law(rng, epochs, 0.2, rng.uniform(0.8, 0.95)) + 0.01 * rng.normal(size=epochs)
    val = -power_law(rng, epochs, 0.2, rng.uniform(0.7, 0.85)) + 0.03 * rng.normal(size=epochs)
    return a_log(axis="epoch", loss=train, val__loss=val, val__dice_coef=-val)


@kind
def policy_optimisation(rng: Generator) -> Run:
    n = int(rng.integers(50, 1000))
    kl = 0.05 * np.arange(n) / n * noise(rng, n, 0.3)
    loss = rng.choice([0.0, 1.0]) * 0.02 * rng.normal(size=n) + 0.04 * kl
    return a_log(loss=np.round(loss, 4), kl=kl, reward=np.arange(n) / n + 0.2 * rng.normal(size=n), lr=cosine(n, 1e-6))


@kind
def evaluations_only(rng: Generator) -> Run:
    n = int(rng.integers(5, 60))
    val = power_law(rng, n, rng.uniform(3, 30), rng.uniform(0.2, 2)) * noise(rng, n, 0.02)
    return a_log(2000, val__loss=val, val__accuracy=np.clip(0.8 - 0.02 * val + 0.003 * rng.normal(size=n), 0, 1))


@kind
def augmentation_switched_off(rng: Generator) -> Run:
    n = int(rng.integers(200, 2000))
    loss = power_law(rng, n, 6, 2)
    loss[int(0.9 * n) :] *= 0.6
    return a_log(loss=loss * noise(rng, n, 0.03), lr=cosine(n, 1e-3), val__loss=power_law(rng, 20, 5, 1.4))


@kind
def resumed_with_a_small_bump(rng: Generator) -> Run:
    n = int(rng.integers(300, 2000))
    loss, place = power_law(rng, n, 8, 3), int(n * rng.uniform(0.3, 0.8))
    after = np.arange(n - place)
    loss[place:] *= 1 + 0.15 * np.exp(-after / (0.02 * n))
    return a_log(loss=loss * noise(rng, n, 0.02), events=[Event(place, "resume")], lr=cosine(n, 3e-4))


@kind
def grokking(rng: Generator) -> Run:
    n = int(rng.integers(400, 3000))
    train = np.exp(-np.arange(n) / (0.02 * n)) * 4 + 0.01
    t = np.arange(100) / 100
    val = 4.5 + 3 * np.minimum(t / 0.3, 1) - 7.4 / (1 + np.exp(-(t - 0.7) / 0.03))
    accuracy = 1 / (1 + np.exp(-(t - 0.7) / 0.03))
    return a_log(
        loss=train * noise(rng, n, 0.05), val__loss=np.maximum(val, 0.05), val__accuracy=accuracy, lr=np.full(n, 1e-3)
    )


@kind
def random_timesteps(rng: Generator) -> Run:
    n = int(rng.integers(300, 5000))
    loss = power_law(rng, n, 1.0, rng.uniform(0.05, 0.2)) * noise(rng, n, rng.uniform(0.3, 0.6), phi=0.0)
    return a_log(loss=loss, lr=np.full(n, 1e-4), grad_norm=gradient_norm(rng, n))


@kind
def decades_of_progress(rng: Generator) -> Run:
    n = int(rng.integers(200, 3000))
    wander = np.cumsum(0.02 * rng.normal(size=n))
    loss = np.exp(
        np.linspace(np.log(100), np.log(10 ** rng.uniform(-4, -1)), n) + wander - wander[-1] * np.linspace(0, 1, n)
    )
    return a_log(loss=loss * noise(rng, n, rng.uniform(0.1, 0.4)), lr=np.full(n, 1e-3))


@kind
def small_noisy_validation_set(rng: Generator) -> Run:
    epochs = int(rng.integers(20, 200))
    train = power_law(rng, epochs, 0.5, 0.01) * noise(rng, epochs, 0.2)
    val = power_law(rng, epochs, 0.3, 0.005) * noise(rng, epochs, 0.25, phi=0.0)
    return a_log(axis="epoch", loss=train, val__loss=val, val__rmse=np.sqrt(val))


@kind
def regularised_so_that_validation_is_lower(rng: Generator) -> Run:
    n = int(rng.integers(200, 2000))
    loss = power_law(rng, n, 7, 3) * noise(rng, n, 0.03)
    val = power_law(rng, 30, 6, 1.2) * noise(rng, 30, 0.01)
    return a_log(
        loss=loss, val__loss=val, val__accuracy=np.clip(0.9 - 0.12 * val, 0, 1), grad_norm=gradient_norm(rng, n)
    )


@kind
def loss_drifts_up_while_the_metric_improves(rng: Generator) -> Run:
    n, evaluations = int(rng.integers(200, 2000)), int(rng.integers(5, 30))
    t = np.arange(evaluations) / evaluations
    val = 0.4 - 0.15 * np.minimum(t / 0.3, 1) + rng.uniform(0.05, 0.2) * np.maximum(0, t - 0.3)
    accuracy = 0.8 + 0.12 * (1 - np.exp(-4 * t)) + 0.002 * rng.normal(size=evaluations)
    return a_log(10, loss=power_law(rng, n, 0.7, 0.02) * noise(rng, n, 0.3), val__loss=val, val__accuracy=accuracy)


@kind
def a_handful_of_points(rng: Generator) -> Run:
    n = int(rng.integers(1, 30))
    return a_log(50, finished=False, loss=power_law(rng, n, 3, 1) * noise(rng, n, 0.1, phi=0.0))


@kind
def slow_recurrent_start(rng: Generator) -> Run:
    n = int(rng.integers(300, 2000))
    t = np.arange(n) / n
    loss = 3.0 - 2.4 / (1 + np.exp(-(t - rng.uniform(0.2, 0.5)) / 0.05))
    return a_log(loss=loss * noise(rng, n, 0.03), lr=cosine(n, 1e-3), val__loss=loss[:: n // 20] * 1.05)


def train_programs(names: Sequence[str], seed: int, everything: bool, details: bool, keep: Path | None) -> int:
    from watched import Job, train_all

    files = [PROGRAMS / f"{name}.py" for name in names] or sorted(PROGRAMS.glob("*.py"))
    rows, failures = [], 0
    for outcome in train_all([Job(str(file), seed) for file in files], everything=everything, keep=keep):
        alarms = [f["name"] for f in outcome.alarms if not f.get("preview")]
        previews = [f["name"] for f in outcome.alarms if f.get("preview")]
        rows.append(
            {
                "program": outcome.job.name,
                "verdict": " ".join(dict.fromkeys(outcome.verdicts)),
                "alarms": " ".join(dict.fromkeys(alarms)),
                "previews": " ".join(dict.fromkeys(previews)),
                "in_passing": " ".join(outcome.passing),
                "questions": len(outcome.questions),
                "steps": outcome.steps,
            }
        )
        failures += bool(outcome.failed)
        print("{program:30}{verdict:10}{alarms:45} passing: {in_passing:30} questions: {questions}".format(**rows[-1]))
        if outcome.failed:
            print(outcome.failed)
        for finding in outcome.alarms if details else ():
            print(f"    {finding['code']} {finding['name']}: {finding['message']}")
        for question in outcome.questions if details else ():
            print(f"    asked: {question}")
        sys.stdout.flush()
    count = Counter(key for row in rows for key in ("alarms", "previews", "in_passing", "questions") if row[key])
    print(
        f"\n{len(rows)} programs: {count['alarms']} alarmed at the end, {count['in_passing']} in passing, "
        f"{count['previews']} with a preview finding, {count['questions']} asked a question, {failures} did not learn"
    )
    if not names:
        with RESULTS.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    return 1 if failures else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--details", action="store_true", help="show every alarm")
    parser.add_argument("--programs", nargs="*", metavar="NAME", help="train programs instead, by default all of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--everything", action="store_true", help="record every step in full, whatever it costs")
    parser.add_argument("--keep", type=Path, help="leave records in this folder; judge those that are there already")
    options = parser.parse_args(arguments)
    if options.programs is not None:
        return train_programs(options.programs, options.seed, options.everything, options.details, options.keep)
    alarmed, by_rule, by_kind = 0, Counter[str](), Counter[str]()
    for seed in range(options.runs):
        run = healthy_run(seed)
        found = examine(run).at_least(Severity.WARNING)
        alarmed += bool(found)
        by_rule.update({finding.name for finding in found})
        by_kind.update([run.name.rsplit(" ", 1)[0]] if found else [])
        if options.details:
            for finding in found:
                print(f"{run.name}: {finding}")
    print(f"{alarmed} of {options.runs} healthy runs alarmed ({100 * alarmed / options.runs:.1f} %)")
    for title, counts in (("rule", by_rule), ("kind", by_kind)):
        print(f"\n{title}")
        print("\n".join(f"  {name:45}{count:5}" for name, count in counts.most_common()) or "  none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
