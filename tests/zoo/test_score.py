"""A bounded part of the score, trained anew: the committed table must not get worse unnoticed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bedside.zoo.cards import write_gallery
from bedside.zoo.score import ON_SHOW, TABLE, read, rows_of, worse
from bedside.zoo.specimens import ZOO, find_specimen
from bedside.zoo.summary import TARGETS, shares

ROOT = Path(__file__).resolve().parents[2]

# One of each kind of model and family of faults that trains in a second or two; the rest is `bedside zoo score`.
PART = (
    "learning-rate-ten",
    "learning-rate-1e-6",
    "ten-sigmoid-layers",
    "no-zero-grad",
    "head-not-in-optimizer",
    "nan-from-module-four",
    "dead-relu",
    "training-in-eval-mode",
    "schedule-ended-early",
    "broadcast-loss",
    "loss-scale-collapse",
    "exploding-recurrence",
    "textbook",
    "warm-restart",
    "mixup",
)


@pytest.fixture(scope="module")
def table():
    return read(ROOT / TABLE)


@pytest.mark.parametrize("name", PART)
def test_no_specimen_is_judged_worse_than_the_committed_table_says(name, table, tmp_path):
    assert worse(rows_of(name, ON_SHOW, cache=tmp_path), table) == []


def test_the_table_has_every_specimen_and_severity_once_for_every_seed(table):
    runs = {(each.name, severity) for each in ZOO for severity in each.severities if each.sick}
    runs |= {(each.name, "healthy") for each in ZOO}
    scored = [(row.specimen, row.severity) for row in table]
    assert {run: scored.count(run) for run in runs} == dict.fromkeys(runs, len({row.seed for row in table}))
    assert set(scored) == runs


def test_no_rule_broke_on_any_run_of_the_table(table):
    assert not [row.key for row in table if row.broken]


def test_the_table_does_not_fall_behind_what_was_reached(table):
    found = shares(table)
    for share in ("caught", "primary", "in time"):
        assert found[share].value >= TARGETS[share]
    assert found["false alarms"].value <= TARGETS["false alarms"]


def test_the_gallery_has_the_curves_the_diagnosis_and_the_line_of_every_severity(tmp_path):
    specimen = find_specimen("learning-rate-1e-6")
    card = json.loads(write_gallery(specimen, ON_SHOW, tmp_path).read_text())
    assert list(card["runs"]) == ["healthy", *specimen.severities]
    assert "case.sick" in card["line"]
    sick, twin = card["runs"]["marked"], card["runs"]["healthy"]
    assert all((sick["diagnosis"], sick["prescription"]))
    assert not twin["diagnosis"]
    assert sick["curves"]["loss"][-1][1] > 2 > twin["curves"]["loss"][-1][1]
    assert {"loss", "val/loss", "lr", "grad_norm"} <= set(sick["curves"])
    assert set(sick["layers"]["grad_norm"]) == set(twin["layers"]["grad_norm"]) != set()
