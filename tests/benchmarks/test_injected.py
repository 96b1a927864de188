"""Faults put into healthy programs: labels are sound, what is put in is taken out, harm is decided fairly."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.optim import Optimizer

from bedside.rules import CATALOGUE

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAM = '''"""Fits a line with a small net."""

import torch
import torch.nn.functional as F
from torch import nn


def main(watch):
    x = torch.randn(256, 4)
    y = x.sum(1)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    monitor = watch(model, optimizer)
    for _ in range(60):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
    monitor.close()
    assert loss < 0.5
'''


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script; beside it stands a folder of the same name, which is what `import injected` finds."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in [each for each in sys.modules if each.split(".")[0] in ("injected", "watched")]:
        monkeypatch.delitem(sys.modules, name)
    spec = importlib.util.spec_from_file_location("injected_script", BENCHMARKS / "injected.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "injected_script", script)
    spec.loader.exec_module(script)
    return script


@pytest.fixture
def program(tmp_path: Path) -> str:
    (file := tmp_path / "line.py").write_text(PROGRAM)
    return str(file)


def test_every_operator_expects_findings_that_exist_and_says_what_it_does(benchmark: ModuleType) -> None:
    known = {rule.name for rule in CATALOGUE}
    assert len(benchmark.OPERATORS) >= 40
    for name, each in benchmark.OPERATORS.items():
        assert each.what, name
        assert each.exact, name
        assert {*each.exact, *each.also} <= known, name


def test_only_the_first_halves_of_both_are_in_sight(benchmark: ModuleType) -> None:
    seen, unseen = (set(benchmark.combinations(half, 1.0)) for half in ("in_sight", "held_out"))
    assert len(seen) + len(unseen) == len(benchmark.QUICK) * len(benchmark.OPERATORS)
    for program, operator in seen:
        assert benchmark.drawn(f"program {program}") < 0.5
        assert benchmark.drawn(f"operator {operator}") < 0.5
    assert min(len(seen), len(unseen)) > 100
    sample = set(benchmark.combinations("in_sight", 0.3))
    assert sample < seen


def test_every_program_of_the_base_is_there(benchmark: ModuleType) -> None:
    assert all((BENCHMARKS / "healthy_programs" / f"{name}.py").exists() for name in benchmark.QUICK)


def test_harm_is_a_failed_assertion_or_a_loss_that_won_clearly_less(benchmark: ModuleType) -> None:
    level, limits = benchmark.Level, benchmark.Limits()
    healthy = [level(2.0, 0.50), level(2.0, 0.52)]

    def harmed(failed: str, last: float, same: bool = True) -> bool | None:
        verdict: bool | None = benchmark.harmed(failed, level(2.0, last), healthy, same, limits)
        return verdict

    assert harmed("…\nAssertionError: 0.3", 0.5)
    assert harmed("…\nValueError: input contains NaN", 0.5)
    assert harmed("…\nTypeError: broken by the fault", 0.5) is None
    assert harmed("", 0.95)
    assert harmed("", float("nan"))
    assert not harmed("", 0.80)  # four fifths of what the others won
    assert not harmed("", 0.95, same=False)  # another loss has other levels


def test_a_fault_is_in_the_program_and_gone_after_it(benchmark: ModuleType, program: str, tmp_path: Path) -> None:
    import bedside
    from watched import Job, train

    made = Optimizer.__init__
    rates = []
    for fault in ("", "rate_times_100"):
        (folder := tmp_path / f"run {fault}").mkdir()
        outcome = train(Job(program, fault=fault, steps=60), everything=True, folder=folder)
        rates.append(bedside.load(folder / "0")["lr"].last)
        assert bool(outcome.failed) == bool(fault)
    assert rates == [pytest.approx(0.05), pytest.approx(5.0)]
    assert Optimizer.__init__ is made


def test_a_fault_that_changes_nothing_is_given_up(benchmark: ModuleType, program: str, tmp_path: Path) -> None:
    from watched import NOT_APPLICABLE, Job, train

    (folder := tmp_path / "run").mkdir()
    outcome = train(Job(program, fault="dropout_of_95", steps=60), everything=False, folder=folder)
    assert outcome.failed == NOT_APPLICABLE
    assert outcome.steps < 30


def test_inputs_are_changed_before_the_model_is_called(benchmark: ModuleType) -> None:
    from injected.injection import injected

    model = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(3, 2)
    usual = model(x)
    with injected("inputs_times_255", 10) as injection:
        injection.watch(model, optimizer)
        assert torch.allclose(model(x), 255 * usual)
    assert type(model).__name__ == "Linear"
