"""The benchmark of preflight takes programs apart rightly, and tells a faulty specimen from its twin."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path

import pytest

from bedside.preflight.checks import CATALOGUE
from bedside.zoo.specimens import ZOO

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("preflight", "preflight_by_hand"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("preflight")


def test_what_is_visible_names_specimens_and_checks(benchmark):
    codes = {check.code for check in CATALOGUE}
    assert set(benchmark.VISIBLE) <= {each.name for each in ZOO if each.sick}
    assert {code for each in benchmark.VISIBLE.values() for code in each} <= codes


@pytest.mark.parametrize(("sick", "failed"), [(True, ["PRE102"]), (False, [])])
def test_a_specimen_of_the_plain_loop_and_its_twin(benchmark, sick, failed):
    captured = benchmark.specimen_training(benchmark.Job("zoo", "relu-on-the-logits", sick))
    import bedside

    result = bedside.preflight(**captured, select=["PRE101", "PRE102", "PRE302"], progress=False)
    assert [each.code for each in result.failed] == failed


def test_a_program_is_taken_apart_and_put_back_to_its_start(benchmark):
    file = BENCHMARKS / "healthy_programs" / "trainer_class.py"
    captured = benchmark.program_training(benchmark.Job("healthy", "trainer-class", False, str(file)))
    model, (x, y) = captured["model"], captured["train_loader"][0]
    assert captured["optimizer"].state_dict()["state"] == {}
    assert captured["loss_fn"](captured["forward"](model, (x, y)), (x, y)).item() > 0
    assert not model._forward_hooks


def test_a_program_that_scales_its_loss_is_not_taken_apart(benchmark):
    assert benchmark._factor([(0.5, 1.0), (1.0, 2.0)]) == 0.5
    assert benchmark._factor([(65536.0, 1.0), (131072.0, 2.0)]) is None
    assert benchmark._factor([(0.5, 1.0), (0.2, 2.0)]) is None


def test_every_row_of_the_table_is_of_a_program_that_is_there(benchmark):
    with (BENCHMARKS / "results/preflight.csv").open(newline="") as table:
        rows = {(row["source"], row["program"], int(row["sick"])) for row in csv.DictReader(table)}
    known = {(job.source, job.name, int(job.sick)) for job in benchmark.jobs(benchmark.SOURCES, [], "fast")}
    assert rows <= known
    assert len(rows) > 0.5 * len(known)  # new programs are added to the table when it is next made: --missing
