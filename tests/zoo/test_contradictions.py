"""No report contradicts itself: the check notices each way in which one could, and small runs of all kinds pass it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bedside.diagnosis.engine import examine
from bedside.finding import Advice, Diagnosis, Differential, Finding, Hypothesis, Severity
from bedside.testing import a_run
from bedside.zoo.against_the_run import against_the_run
from bedside.zoo.contradictions import contradictions

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from healthy import KINDS, healthy_run

RNG = np.random.default_rng(0)
GOOD = Diagnosis("run", "bedside", 100, "healthy", (), (), reason="It learned.")
BAD = Finding("AAA101", "a", Severity.ERROR, "Bad.", 0.9, 0, 9, primary=True)
NOTE = Finding("AAA102", "b", Severity.NOTE, "Note.", 0.9, 0, 9)
SICK = replace(GOOD, verdict="sick", findings=(BAD,))


def advised(*advice):
    return replace(SICK, findings=(SICK.findings[0].with_(try_=advice),))


def asked(name, weight, *, harmless=False, question="Why?", first=0):
    from bedside.diagnosis.experiments import EXPERIMENTS

    test = None if harmless else next(iter(EXPERIMENTS.values()))
    return Differential(question, first, (Hypothesis(name, name, weight, (), (), test),))


@pytest.mark.parametrize(
    "report",
    [
        replace(GOOD, verdict="sick"),
        replace(SICK, verdict="healthy"),
        replace(GOOD, reason=""),
        replace(GOOD, verdict="unclear"),
        replace(GOOD, settled_by="More steps."),
        replace(GOOD, differential=(asked("broken", 0.8),)),
        replace(SICK, differential=(asked("normal-convergence", 0.8, harmless=True),)),
        replace(
            SICK, differential=(asked("silent-overfitting", 0.9), asked("learned-by-heart", 0.1, question="Is it?"))
        ),
        advised(Advice("Up.", "learning rate", 1), Advice("Down.", "learning rate", -1)),
        advised("Raise the learning rate tenfold.", "Lower the learning rate tenfold."),
        advised("Lower the learning rate from 1e-8 to about 1e-9."),
        advised("Raise the learning rate from 10 to about 30."),
        advised("Go back to a checkpoint from before step 3."),
        replace(SICK, findings=(replace(BAD, primary=False),)),
        replace(SICK, findings=(replace(NOTE, code="AAA102"), BAD)),
        replace(SICK, findings=(BAD, replace(NOTE, causes=("AAA109",)))),
        replace(SICK, findings=(BAD, NOTE, replace(NOTE, message="Other words."))),
        replace(SICK, findings=(BAD, NOTE, replace(NOTE, code="AAA103"))),
        advised("Once.", "Once."),
        replace(GOOD, differential=(asked("plateau", 0.3), asked("other-data", 0.3))),
        replace(SICK, findings=(replace(BAD, first_step=12),)),
        replace(SICK, findings=(replace(BAD, message="Bad since step 4."),)),
        replace(
            GOOD,
            differential=(asked("plateau", 0.3, question="val/loss has not improved since step 10, for long."),),
            pictures={"val/loss": [(0, 1.0), (10, 0.555), (50, 0.4), (60, 0.3), (70, 0.28), (80, 0.271)]},
        ),
    ],
)
def test_the_check_notices(report):
    assert len(contradictions(report)) == 1


@pytest.mark.parametrize(
    "report",
    [GOOD, SICK, replace(SICK, findings=(BAD, NOTE)), advised("Lower the learning rate from 0.1 to about 0.01.")],
)
def test_the_check_passes_what_is_well(report):
    assert contradictions(report) == []


@pytest.mark.parametrize("kind", list(KINDS))
def test_drawn_healthy_runs_are_judged_without_contradiction(kind):
    for seed in range(3):
        run = healthy_run(seed, of=kind)
        diagnosis = examine(run)
        assert [*contradictions(diagnosis), *against_the_run(diagnosis, run)] == []


def noisy(values, by=0.02):
    values = np.asarray(values, float)
    return values * np.exp(by * RNG.standard_normal(len(values)))


FLAT = noisy([2.303] * 400, 0.005)
FALLING = noisy(0.2 + 2.1 * np.exp(-np.arange(400) / 60))
RATES = {"lr": 0.1, "grad_norm": noisy([1.0] * 400, 0.2), "relative_update_norm": 1e-3}
RISING = np.geomspace(0.85, 2.0, 12)
STOPPED = noisy([*np.geomspace(2.3, 1.7, 100), *[1.7] * 300])
SICK_RUNS = {
    "diverges": a_run(loss=[*FALLING[:200], *noisy(np.geomspace(0.3, 50, 200))], **RATES),
    "nan": a_run(loss=[*FALLING[:200], *[np.nan] * 200], **RATES),
    "at chance": a_run(loss=FLAT, config={"classes": 10}, **RATES),
    "no rate": a_run(loss=FLAT, config={"classes": 10}, lr=1e-9, relative_update_norm=1e-9, grad_norm=1.0),
    "wrecked": a_run(
        loss=[2.3, 90.0, *FLAT[2:]], config={"classes": 10}, lr=10.0, relative_update_norm=[3.0] * 20 + [1e-3] * 380
    ),
    "overfits": a_run(loss=noisy(np.geomspace(2.3, 0.001, 400)), val_loss=[*np.geomspace(2.2, 0.8, 8), *RISING]),
    "clips": a_run(loss=STOPPED, grad_norm=noisy([80.0] * 400, 0.1), clip_threshold=0.1, clip_active=1.0, lr=0.01),
    "schedule gone": a_run(loss=STOPPED, lr=[*[0.1] * 100, *[1e-9] * 300], config={"classes": 10}),
    "stale evaluation": a_run(loss=FALLING, val_loss=[2.2, 1.0, *[0.91234] * 18]),
    "oscillates": a_run(loss=noisy(1.0 + 0.8 * np.sin(np.arange(400) / 4)), **RATES),
    "reward": a_run(loss=RNG.standard_normal(400), approx_kl=0.01, reward=0.1),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SICK_RUNS))
def test_sick_runs_are_judged_without_contradiction(name):
    diagnosis = examine(SICK_RUNS[name])
    assert diagnosis.verdict != "healthy"
    assert [*contradictions(diagnosis), *against_the_run(diagnosis, SICK_RUNS[name])] == []
