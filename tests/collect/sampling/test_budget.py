"""The books: what was spent, and how often each group may then be read."""

from __future__ import annotations

import pytest

from bedside.collect.sampling.budget import GRACE, LISTENING, LOOKING, QUIET, UNSEEN, Governor, intervals
from bedside.collect.sampling.intervals import FULL_STEPS, LADDER, Cadence


def run(governor: Governor, steps: int, *, step: float, costs: dict[str, float], first: int = 0) -> None:
    """So many steps of `step` seconds without us, at which the groups that are due cost so much."""
    for number in range(first, first + steps):
        own = 0.0
        for group, cost in costs.items():
            if governor.cadence.due(group, number):
                own += cost
                if group != LISTENING:
                    governor.add(group, cost)
        governor.total += own
        governor.step_took(number, step + own)


def spent_per_step(governor: Governor, costs: dict[str, float]) -> float:
    return sum(cost / governor.cadence.every[group] for group, cost in costs.items())


@pytest.mark.parametrize("step", [2e-3, 2e-2, 0.5])
@pytest.mark.parametrize("budget", [0.01, 0.05])
def test_what_is_chosen_stays_within_the_budget(step, budget):
    costs = {LISTENING: 1e-4, "gradients": 1e-3, "updates": 2e-3, "activations": 3e-3}
    governor = Governor(Cadence(), budget)
    run(governor, 600, step=step, costs=costs)
    allowed = budget * (1 - LOOKING) * step / UNSEEN
    floor = QUIET
    if allowed > floor + sum(costs.values()) / LADDER[-1]:
        assert spent_per_step(governor, costs) <= allowed - floor + 1e-9
    else:
        assert set(governor.cadence.every.values()) == {LADDER[-1]}


def test_a_step_too_quick_for_the_floor_leaves_one_reading_in_five_hundred_steps():
    assert intervals({"gradients": 1e-4, "updates": 2e-4}, left=-1e-6) == {"gradients": 500, "updates": 500}


def test_a_slow_step_pays_for_everything_at_every_step():
    costs = {LISTENING: 1e-4, "gradients": 1e-3, "updates": 2e-3, "activations": 1e-3}
    assert set(intervals(costs, left=0.1).values()) == {1}


def test_what_a_cheap_group_leaves_goes_to_the_others():
    alone = intervals({"updates": 1e-2}, left=6e-3)["updates"]
    beside_a_cheap_one = intervals({LISTENING: 1e-5, "updates": 1e-2}, left=6e-3)["updates"]
    assert beside_a_cheap_one == alone


def test_full_recording_ends_when_it_has_cost_enough_and_not_before_the_first_steps_are_over():
    dear = Governor(Cadence(), 0.01)
    run(dear, FULL_STEPS + 5, step=1.0, costs={"gradients": 2 * GRACE})
    assert FULL_STEPS <= dear.cadence.full_until <= FULL_STEPS + 2
    cheap = Governor(Cadence(), 0.01)
    run(cheap, 300, step=1.0, costs={"gradients": 1e-6})
    assert cheap.cadence.full_until > 300, "a short run is told in full while that costs nothing"


def test_without_a_budget_everything_is_read_at_every_step():
    governor = Governor(Cadence(), None)
    run(governor, 2000, step=1e-3, costs={"gradients": 1e-2})
    assert all(governor.cadence.due("gradients", step) for step in (1999, 2000))


def test_one_reading_that_met_somebody_elses_work_does_not_set_the_cadence():
    governor = Governor(Cadence(), 0.01)
    run(governor, 300, step=0.1, costs={"gradients": 1e-4})
    governor.add("gradients", 10.0)
    run(governor, 400, step=0.1, costs={"gradients": 1e-4}, first=300)
    assert governor.cadence.every["gradients"] == 1


def test_several_ranks_choose_by_the_step_number_and_never_by_their_clocks():
    slow, quick = (Governor(Cadence(), 0.01, fixed=True) for _ in range(2))
    run(slow, 300, step=1.0, costs={"gradients": 0.5, "activations": 0.5})
    run(quick, 300, step=1e-3, costs={"gradients": 1e-6, "activations": 1e-6})
    assert slow.cadence.every == quick.cadence.every
    assert slow.cadence.full_until == quick.cadence.full_until


def test_quiet_steps_count_as_steps_and_their_cost_as_the_floor():
    governor = Governor(Cadence(), 0.01)
    run(governor, 600, step=1e-2, costs={"gradients": 1e-4})
    governor.total += 200 * 5e-6
    governor.rested(799, 200, 200 * (1e-2 + 5e-6))
    described = governor.described()
    assert 0 < described["share"] < 0.1
    assert described["floor_microseconds"] == pytest.approx(200 * 5 / 800, rel=0.01)
