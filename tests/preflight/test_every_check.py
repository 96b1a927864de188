"""The common contract: what holds for every check of the catalogue, whoever wrote it."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from bedside.finding import Finding, NotExamined
from bedside.preflight import checks
from bedside.preflight.check import Passed
from bedside.preflight.checks import CATALOGUE
from bedside.preflight.example_setup import a_setup, examples, loader
from bedside.rules import CATALOGUE as RULES
from bedside.rules.page import SECTIONS, page

FOLDER = Path(checks.__file__).parent
EVERY_CHECK = pytest.mark.parametrize("check", CATALOGUE, ids=lambda check: check.name)


def file_of(check):
    return FOLDER / f"{check.name.replace('-', '_')}.py"


def test_the_catalogue_is_the_folder():
    assert {path.stem for path in FOLDER.glob("*.py")} - {"__init__"} == {c.name.replace("-", "_") for c in CATALOGUE}


def test_codes_are_unique_and_in_order_and_names_are_no_rules():
    codes = [check.code for check in CATALOGUE]
    assert codes == sorted(set(codes))
    assert all(re.fullmatch(r"PRE\d{3}", code) for code in codes)
    assert not {check.name for check in CATALOGUE} & {rule.name for rule in RULES}


@EVERY_CHECK
def test_has_a_page_with_all_sections_in_order(check):
    assert tuple(re.findall(r"^## (.+)$", check.page, re.MULTILINE)) == SECTIONS
    assert check.title.endswith(".")
    for section in re.split(r"^## .+$", check.page, flags=re.MULTILINE)[1:]:
        assert section.strip()
    assert page(check).startswith(f"# {check.code} {check.name}\n")


@EVERY_CHECK
def test_has_an_example_that_speaks(check):
    result = doctest.testmod(importlib.import_module(f"bedside.preflight.checks.{check.name.replace('-', '_')}"))
    assert result.attempted
    assert not result.failed
    assert f"\n{check.code} {check.name}: " in check.page


@EVERY_CHECK
def test_every_limit_says_where_it_comes_from(check):
    assert is_dataclass(check.limits)
    source = file_of(check).read_text()
    (limits,) = [n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "Limits"]
    lines = source.splitlines()
    for node in limits.body:
        if isinstance(node, ast.AnnAssign):
            assert "#" in lines[node.end_lineno - 1], lines[node.lineno - 1]
    assert all(isinstance(getattr(check.limits, field.name), (int, float)) for field in fields(check.limits))


@EVERY_CHECK
def test_is_one_idea_that_imports_no_other_check(check):
    source = file_of(check).read_text()
    assert len(source.splitlines()) <= 200
    assert "from bedside.preflight.checks" not in source.partition("from __future__")[2]


@EVERY_CHECK
def test_has_tests_of_both_kinds(check):
    tests = (Path(__file__).parent / f"checks/test_{check.name.replace('-', '_')}.py").read_text()
    names = re.findall(r"def test_(\w+)", tests)
    assert any("silent" in name or "not_" in name or "passes" in name for name in names)
    assert any("speaks" in name for name in names)


@EVERY_CHECK
def test_says_nothing_about_a_healthy_training(check):
    x, y = examples(64, seed=5)
    setup = a_setup(val_loader=loader(x, y, shuffle=False), steps=600, depth="full")
    with setup.opened():
        answer = check.examine(setup)
    assert isinstance(answer, Passed | NotExamined) or answer.severity.word == "note"
    assert not getattr(answer, "broken", False), answer


@EVERY_CHECK
def test_a_model_that_fails_is_a_finding_of_one_check_only(check):
    def fails(output, batch):
        raise ValueError("no such thing")

    setup = a_setup(loss_fn=fails)
    with setup.opened():
        answer = check.examine(setup)
    if check.code == "PRE101":
        assert isinstance(answer, Finding)
        assert "ValueError: no such thing" in answer.message
    else:
        assert not isinstance(answer, Finding) or answer.severity.word == "note"
        assert not getattr(answer, "broken", False), answer
