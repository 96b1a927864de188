"""The common contract: what holds for every rule of the catalogue, whoever wrote it."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import math
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from benchmarks.healthy import KINDS, healthy_run

import bedside.rules
from bedside.diagnosis.causal_links import LINKS
from bedside.finding import Finding, NotExamined, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules import CATALOGUE
from bedside.testing import a_run
from bedside.wording import FAMILIES

FOLDER = Path(bedside.rules.__file__).parent
SECTIONS = [
    "What it sees",
    "Why it matters",
    "How it decides",
    "When it is wrong",
    "What to try",
    "Example",
    "References",
]
EVERY_RULE = pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.name)
RNG = np.random.default_rng(0)
ODD_VALUES = {
    "empty": [],
    "one": [1.5],
    "two": [1.5, 0.5],
    "nan": [math.nan] * 60,
    "infinite": [math.inf] * 60,
    "constant": [2.0] * 200,
    "zero": [0.0] * 200,
    "negative": list(-1 - RNG.random(200)),
    "huge": list(1e38 * RNG.random(200)),  # as far as float32 goes
    "tiny": list(1e-38 * RNG.random(200)),
    "mixed": [1.0, math.nan, -3.0, math.inf, 0.0, 5.0, -math.inf, 2.0] * 25,
    "two values": [0.0, 1.0] * 100,
}


def file_of(rule):
    return FOLDER / f"{rule.name.replace('-', '_')}.py"


def odd_run(values):
    """Every vital that a rule could ask for, with these readings."""
    vitals = {need.vital for rule in CATALOGUE for need in rule.needs}
    vitals |= {
        "loss",
        "loss_epoch",
        "lr",
        "grad_norm",
        "val/loss",
        "val/accuracy",
        "val/wer",
        "eval_train/loss",
        "epoch",
    }
    vitals |= {"relative_update_norm", "update_norm", "param_norm", "clip_threshold", "grad_norm_clipped", "loss_scale"}
    steps = np.arange(len(values))
    series = [Series(vital, "", steps, np.asarray(values, float)) for vital in sorted(vitals)]
    for owner in ("front", "middle", "head"):
        series += [
            Series(vital, owner, steps, np.asarray(values, float)) for vital in sorted(vitals) if "/" not in vital
        ]
    return Run("odd", series, config={"max_grad_norm": 1.0, "num_classes": 10}, finished=True)


def assert_sound(finding: Finding, rule):
    assert (finding.code, finding.name) == (rule.code, rule.name)
    assert finding.message.endswith(".")
    assert "\n" not in finding.message
    assert not re.search(r"\bnp\.|float64\(|\{|\}", finding.message), finding.message
    assert finding.try_, "a finding says what to try"
    assert 0 <= finding.confidence <= 1
    assert finding.first_step <= finding.last_step
    assert isinstance(finding.severity, Severity)
    for value in finding.evidence.values():
        assert isinstance(value, (int, float, str, bool, list, tuple, dict, type(None))), (rule.name, value)


def test_the_catalogue_is_the_folder():
    with_rules = {path.stem for path in FOLDER.glob("*.py") if re.search(r"^@rule\(", path.read_text(), re.MULTILINE)}
    assert with_rules == {rule.name.replace("-", "_") for rule in CATALOGUE}


def test_codes_are_unique_and_in_order():
    families = list(FAMILIES)
    order = [(families.index(rule.code[:3]), int(rule.code[3:])) for rule in CATALOGUE]
    assert order == sorted(set(order))


def test_links_lead_from_rules_to_rules_and_say_why():
    names = {rule.name for rule in CATALOGUE}
    assert {link.cause for link in LINKS} | {link.effect for link in LINKS} <= names
    assert len({(link.cause, link.effect) for link in LINKS}) == len(LINKS)
    assert all(link.why for link in LINKS)


@EVERY_RULE
def test_has_a_page_with_all_sections_in_order(rule):
    assert re.findall(r"^## (.+)$", rule.page, re.MULTILINE) == SECTIONS
    assert rule.title.endswith(".")
    for section in re.split(r"^## .+$", rule.page, flags=re.MULTILINE)[1:]:
        assert section.strip()


@EVERY_RULE
def test_has_an_example_that_speaks(rule):
    module = importlib.import_module(f"bedside.rules.{rule.name.replace('-', '_')}")
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed
    assert f"\n{rule.code} {rule.name}: " in rule.page


@EVERY_RULE
def test_every_limit_says_where_it_comes_from(rule):
    assert is_dataclass(rule.limits)
    source = file_of(rule).read_text()
    tree = ast.parse(source)
    (limits,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Limits"]
    lines = source.splitlines()
    for node in limits.body:
        if isinstance(node, ast.AnnAssign):
            assert "#" in lines[node.end_lineno - 1] or "#" in lines[node.lineno - 2], lines[node.lineno - 1]
    assert all(isinstance(getattr(rule.limits, field.name), (int, float)) for field in fields(rule.limits))


@EVERY_RULE
def test_is_one_idea_of_readable_length(rule):
    assert len(file_of(rule).read_text().splitlines()) <= 350
    assert inspect.isgeneratorfunction(rule.function)


@EVERY_RULE
def test_has_tests_of_both_kinds(rule):
    tests = (Path(__file__).parent / f"test_{rule.name.replace('-', '_')}.py").read_text()
    names = re.findall(r"def test_(\w+)", tests)
    assert any("silent" in name or "does_not" in name or "not_" in name for name in names)
    assert len(names) >= 2


@EVERY_RULE
@pytest.mark.parametrize("values", ODD_VALUES.values(), ids=ODD_VALUES)
def test_survives_odd_readings(rule, values):
    for run in (odd_run(values), a_run(loss=values), a_run(steps=300, val_loss=values)):
        answer = rule.examine(run)
        for finding in answer if isinstance(answer, list) else []:
            assert_sound(finding, rule)


@EVERY_RULE
def test_survives_a_run_without_anything(rule):
    answer = rule.examine(Run("nothing"))
    assert isinstance(answer, NotExamined) or answer == []


@EVERY_RULE
def test_answers_on_a_hundred_thousand_readings(rule):
    n = 100_000
    loss = 2 + 8 * (1 + np.arange(n) / 100) ** -0.5 + 0.05 * RNG.normal(size=n)
    run = a_run(
        loss=loss, lr=np.linspace(1e-3, 1e-5, n), grad_norm=np.exp(0.2 * RNG.normal(size=n)), val_loss=loss[::100]
    )
    assert [finding for finding in rule.check(run) if finding.severity > Severity.NOTE] == []


@pytest.mark.parametrize("kind", KINDS)
def test_healthy_runs_are_left_in_peace(kind):
    runs = [healthy_run(seed, of=kind) for seed in range(4)]
    alarms = [
        f"{run.name}: {finding}"
        for run in runs
        for rule in CATALOGUE
        for finding in rule.check(run)
        if finding.severity > Severity.NOTE and not rule.preview
    ]
    assert alarms == []
