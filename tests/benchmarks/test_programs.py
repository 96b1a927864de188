"""Programs of strangers: their labels are sound, and the benchmark tells a faulty program from its twin."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from bedside.rules import CATALOGUE

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
HEALTHY = sorted((BENCHMARKS / "healthy_programs").glob("*.py"))
FAULTY = [file for half in ("in_sight", "held_out") for file in sorted((BENCHMARKS / "strangers" / half).glob("*.py"))]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmarks are scripts: they import each other as neighbours in their folder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in [each for each in sys.modules if each.split(".")[0] in ("strangers", "watched")]:
        monkeypatch.delitem(sys.modules, name)


def test_there_are_enough_programs_in_both_halves() -> None:
    in_sight = [file for file in FAULTY if file.parent.name == "in_sight"]
    assert len(HEALTHY) >= 40
    assert min(len(in_sight), len(FAULTY) - len(in_sight)) >= 40  # rounds that wait to be divided make one half larger


@pytest.mark.parametrize("file", [*HEALTHY, *FAULTY], ids=lambda file: file.stem)
def test_every_program_says_what_it_is_and_takes_the_monitor_from_outside(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    main = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    wanted = ["watch", "faulty"] if file in FAULTY else ["watch"]
    assert [argument.arg for argument in main.args.args] == wanted
    assert ast.get_docstring(tree)
    if file in HEALTHY:
        assert any(isinstance(node, ast.Assert) for node in ast.walk(main)), "a healthy program asserts that it learned"


@pytest.mark.parametrize("file", FAULTY, ids=lambda file: file.stem)
def test_every_fault_expects_a_finding_that_exists(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("FAMILY", "EXPECTS")
    }
    assert values["FAMILY"]
    assert set(values["EXPECTS"]) & {rule.name for rule in CATALOGUE}


def test_a_faulty_program_is_told_from_its_twin(tmp_path: Path) -> None:
    from watched import Job, train_or_judge

    file = str(BENCHMARKS / "strangers" / "in_sight" / "column_against_row.py")
    sick, twin = (train_or_judge((Job(file, faulty=faulty), True, tmp_path)) for faulty in (True, False))
    assert not sick.failed
    assert not twin.failed
    assert "broadcast-loss" in {finding["name"] for finding in sick.alarms}
    assert not twin.alarms
    assert sick.score is not None
    assert twin.score is not None
    assert twin.score > sick.score
    again = train_or_judge((Job(file, faulty=True), True, tmp_path))  # from the records: nothing is trained
    assert (again.alarms, again.score, again.seconds) == (sick.alarms, sick.score, sick.seconds)


def test_a_program_that_does_not_learn_is_reported_as_failed(tmp_path: Path) -> None:
    from watched import Job, train

    (folder := tmp_path / "runs").mkdir()
    lazy = tmp_path / "lazy.py"
    lazy.write_text('"""Learns nothing."""\n\n\ndef main(watch):\n    assert False, "did not learn"\n')
    outcome = train(Job(str(lazy)), everything=True, folder=folder)
    assert "did not learn" in outcome.failed
