"""Diagnoses to tell, and snapshots to tell them against."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from bedside.finding import Diagnosis, Finding, NotExamined, Severity

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.fixture
def snapshot():
    """`snapshot("name.txt", text)`; BEDSIDE_UPDATE_SNAPSHOTS=1 writes what is there now, for the diff to be read."""

    def compare(name: str, text: str) -> None:
        path = SNAPSHOTS / name
        if os.environ.get("BEDSIDE_UPDATE_SNAPSHOTS"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text + "\n"

    return compare


def a_finding(code, name, severity, message, first, last, **rest):
    return Finding(code, name, severity, message, rest.pop("confidence", 0.9), first, last, **rest)


VANISHING = a_finding(
    "GRD101",
    "vanishing-gradient",
    Severity.ERROR,
    "`layers.0` gets 1e-8 of the gradient that `head` gets.",
    150,
    1199,
    confidence=0.93,
    where=("layers.0", "layers.1"),
    evidence={"ratio": 1e-8, "limit": 1e-4, "readings": 50},
    series=("grad_norm/layers.0",),
    primary=True,
    try_=(
        "put normalisation or a skip connection across `layers.0` to `layers.3`, so that the gradient has a way around "
        "the quiet layers",
        "initialise for the activation that is used: He for ReLU, Glorot for tanh",
    ),
    could_also_be=("layers that are frozen on purpose: `requires_grad` is then False for all of `layers.0`",),
)
STALLED = a_finding(
    "LOS104",
    "stalled-loss",
    Severity.WARNING,
    "The loss fell to 0.42 by step 300 and has stayed there; the last quarter brought less than one batch's noise.",
    300,
    1199,
    causes=("GRD101",),
)
OVERFITTING = a_finding(
    "GEN101",
    "overfitting",
    Severity.WARNING,
    "The validation loss rose from 0.31 at step 400 to 0.55.",
    400,
    900,
    confidence=0.8,
    try_=("keep the checkpoint of step 400 and stop there",),
)
NO_RATE = a_finding(
    "LRS108", "no-learning-rate", Severity.NOTE, "The learning rate was not logged.", 0, 1199, preview=True
)
UNSEEN = (
    NotExamined("ACT101", "dead-units", ("dead_fraction per module",)),
    NotExamined("ACT102", "saturated-units", ("dead_fraction per module",)),
    NotExamined("NUM103", "nonfinite-weights", ("nonfinite_params",)),
)


def curves():
    steps = range(0, 1200, 3)
    return {
        "loss": [(s, 2.3 * math.exp(-s / 200) + 0.05) for s in steps],
        "val/loss": [(s, 1 / (s // 150 + 1)) for s in range(149, 1200, 150)],
        "lr": [(s, 3e-4) for s in steps],
        "grad_norm/layers.0": [(s, 10 ** (-s / 150)) for s in steps],
    }


def a_diagnosis(*findings, verdict="sick", **rest):
    given = {
        "run": "runs/a",
        "format": "bedside",
        "steps": 1200,
        "not_examined": UNSEEN,
        "examined": ("NUM101", "LOS101", "LOS104", "GRD101"),
        "pictures": curves(),
    }
    return Diagnosis(verdict=verdict, findings=findings, **(given | rest))


@pytest.fixture
def sick():
    return a_diagnosis(
        VANISHING, STALLED, OVERFITTING, NO_RATE, notes=("steps restart at line 41: the later were kept",)
    )


@pytest.fixture
def healthy():
    return a_diagnosis(verdict="healthy", reason="The loss went from 2.35 to 0.056.")


@pytest.fixture
def unclear():
    return a_diagnosis(
        verdict="unclear",
        steps=12,
        pictures={"loss": curves()["loss"][:4]},
        reason="Too little was recorded to judge: 12 readings of the loss.",
        settled_by="20 readings of the loss, or 5 evaluations.",
    )


@pytest.fixture
def previews():
    """Only previews spoke: shown, but the verdict does not count them."""
    return a_diagnosis(*(each.with_(preview=True) for each in (VANISHING, STALLED)), verdict="healthy")


@pytest.fixture
def hostile():
    """Names that would like to be markup, commands or escapes."""
    evil = '<script>alert("x")</script> \x1b[31m | ::error::gotcha\n::error::second @everyone'
    finding = a_finding(
        "GRD101",
        "vanishing-gradient",
        Severity.ERROR,
        f"`{evil}` fades; {evil}.",
        3,
        9,
        where=(evil,),
        evidence={evil: evil},
        primary=True,
        try_=(evil,),
        could_also_be=(evil,),
    )
    return a_diagnosis(finding, run=evil, notes=(evil,), pictures={evil: [(0, 1.0), (1, math.nan)]}, steps=10)
