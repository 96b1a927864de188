"""What was aimed at beside what was found: verdicts follow from the numbers."""

from __future__ import annotations

import csv
import math

import pytest
from benchmarks.cost.workloads import WORKLOADS
from scripts.cost_goals import NETS, NORMS, SHAPES, Costs, goals, goals_table


def row(net, watcher, **numbers):
    return {"workload": net, "optimizer": "fused", "watcher": watcher, "base_ms": "1.0", **numbers}


def verdict_of(beginning, rows=(), limits=()):
    return next(goal for goal in goals(Costs(rows, limits)) if goal.what.startswith(beginning))


@pytest.mark.parametrize(
    ("gpt", "verdict"), [("1.9", "holds"), ("2.0", "holds"), ("2.1", "missed: GPT"), ("", "not measured in full")]
)
def test_a_number_above_its_aim_is_called_missed_and_a_missing_one_is_told(gpt, verdict):
    usual = {"mlp": "20", "deep": "5", "resnet": "0.1"} | {"gpt": gpt}
    goal = verdict_of("norms at every step", [row(net, NORMS, inside=usual[net]) for net in NETS])
    assert goal.verdict == verdict
    assert goal.aim == "22, 8, 0.2, 2 %"


def test_how_many_times_cheaper_is_the_ratio_of_two_rows():
    found = {NORMS: "2", "naive hooks, all our norms": "130"}
    rows = [row(net, watcher, inside=inside) for net in NETS for watcher, inside in found.items()]
    goal = verdict_of("norms: less than the naive way", rows)
    assert (goal.found, goal.verdict) == ("65x", "holds")
    rows[1] = row("mlp", "naive hooks, all our norms", inside="15.8")
    assert verdict_of("norms: less than the naive way", rows).verdict == "missed: MLP"


def test_what_may_grow_is_reckoned_from_tensors_and_parameters():
    allowed = 40 + 3.5 * 6 + 1.5e-3 * SHAPES["mlp"][1]
    at_aim = row("mlp", NORMS, inside=f"{allowed / 10:.6f}")  # per cent of a millisecond
    assert verdict_of("growth with", [at_aim]).found == "1 to 1 of it"
    above = row("mlp", NORMS, inside=f"{allowed / 9:.6f}")
    assert verdict_of("growth with", [above]).found == "1.11 to 1.11 of it"


def test_limits_are_found_by_the_words_the_benchmark_writes(request):
    with (request.config.rootpath / "benchmarks/results/limits.csv").open(newline="") as file:
        costs = Costs([], list(csv.DictReader(file)))
    for beginning, end in (("transfers", "budget"), ("bytes", "step"), ("relative error of a norm", "native")):
        assert not math.isnan(costs.limit(beginning, end))
    assert math.isnan(costs.limit("teapots"))


def test_shapes_are_those_of_the_trainings():
    for name, (tensors, parameters) in SHAPES.items():
        sizes = [parameter.numel() for parameter in WORKLOADS[name].model().parameters()]
        assert (len(sizes), sum(sizes)) == (tensors, parameters), name


def test_every_line_of_the_table_has_four_cells():
    lines = goals_table([], []).splitlines()
    assert len(lines) > 15
    assert {line.count("|") for line in lines} == {5}
