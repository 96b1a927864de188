"""The books: what was spent, and how often each group may then be read."""

from __future__ import annotations

import pytest

from bedside.collect.sampling.budget import (
    ALARM_SHARE,
    FAST_STEP_SECONDS,
    MAX_UNTIMED,
    MOMENTS_GROUP,
    QUICK_START_INTERVALS,
    RECENT_READS,
    UNTIMED_FACTOR,
    Budget,
    affordable_intervals,
)
from bedside.collect.sampling.intervals import FULL_STEPS, GRACE_STEPS, LADDER, Intervals


@pytest.fixture(autouse=True)
def the_clock_ends_no_full_recording():
    """Here it does: the clock is the tests' own."""


def run(budget: Budget, steps: int, *, step: float, costs: dict[str, float], first: int = 0) -> None:
    """So many steps of `step` seconds without us, at which the groups that are due cost so much."""
    for number in range(first, first + steps):
        own = 0.0
        for group, cost in costs.items():
            if budget.intervals.due(group, number):
                own += cost
                if group != MOMENTS_GROUP:
                    budget.add(group, cost)
        if own:
            budget.total += own
            budget.step_took(number, step + own)
        else:
            budget.total += FAST_STEP_SECONDS
            budget.fast_steps_took(number, 1, step + FAST_STEP_SECONDS, usual=step + FAST_STEP_SECONDS)


def spent_per_step(budget: Budget, costs: dict[str, float]) -> float:
    return sum(cost / budget.intervals.every[group] for group, cost in costs.items())


@pytest.mark.parametrize("step", [1e-3, 2e-2, 0.5])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_what_is_chosen_stays_within_the_budget(step, share):
    costs = {MOMENTS_GROUP: 1e-4, "gradients": 1e-3, "updates": 2e-3, "activations": 3e-3}
    budget = Budget(Intervals(), share)
    run(budget, 600, step=step, costs=costs)
    allowed = share * (1 - ALARM_SHARE) * step / budget.untimed_factor
    floor = FAST_STEP_SECONDS
    if allowed > floor + sum(costs.values()) / LADDER[-1]:
        assert spent_per_step(budget, costs) <= allowed - floor + 1e-9
    else:
        assert set(budget.intervals.every.values()) == {LADDER[-1]}


def test_a_step_too_quick_for_the_floor_leaves_one_reading_in_five_hundred_steps():
    assert affordable_intervals({"gradients": 1e-4, "updates": 2e-4}, left=-1e-6) == {"gradients": 500, "updates": 500}


def test_a_slow_step_pays_for_everything_at_every_step():
    costs = {MOMENTS_GROUP: 1e-4, "gradients": 1e-3, "updates": 2e-3, "activations": 1e-3}
    assert set(affordable_intervals(costs, left=0.1).values()) == {1}


def test_what_a_cheap_group_leaves_goes_to_the_others():
    alone = affordable_intervals({"updates": 1e-2}, left=6e-3)["updates"]
    beside_a_cheap_one = affordable_intervals({MOMENTS_GROUP: 1e-5, "updates": 1e-2}, left=6e-3)["updates"]
    assert beside_a_cheap_one == alone


def test_full_recording_ends_when_it_has_cost_enough_and_not_before_the_first_steps_are_over():
    dear = Budget(Intervals(), 0.01)
    run(dear, FULL_STEPS + 5, step=1.0, costs={"gradients": 2.0})
    assert FULL_STEPS <= dear.intervals.full_until <= FULL_STEPS + 2
    cheap = Budget(Intervals(), 0.01)
    run(cheap, 300, step=1.0, costs={"gradients": 1e-6})
    assert cheap.intervals.full_until > 300, "a short run is recorded in full while that costs nothing"


@pytest.mark.parametrize("step", [0.01, 0.04, 1.0])
@pytest.mark.parametrize("dearness", [0.1, 0.4])
def test_the_first_five_hundred_steps_cost_a_twentieth_at_most(step, dearness):
    budget = Budget(Intervals(), 0.01)
    run(budget, 500, step=step, costs={"gradients": dearness * step / UNTIMED_FACTOR})
    always = FULL_STEPS * dearness / 500  # the first ones, whatever they cost
    assert UNTIMED_FACTOR * budget.total / (500 * step) < max(0.05, always + 0.01)


def readings(budget: Budget, *, of: str, steps: range, step: float, cost: float) -> list[int]:
    before = {number for number in range(steps.start) if budget.intervals.due(of, number)}
    taken = []
    for number in steps:
        taken += [number] if budget.intervals.due(of, number) and number not in before else []
        run(budget, 1, step=step, costs={of: cost}, first=number)
    return taken


@pytest.mark.parametrize(("cost", "interval"), [(2e-4, QUICK_START_INTERVALS[0]), (1e-3, QUICK_START_INTERVALS[1])])
def test_quick_steps_are_read_as_often_as_is_left_of_the_start(cost, interval):
    budget = Budget(Intervals(), 0.01)
    taken = readings(budget, of="gradients", steps=range(700), step=1e-3, cost=cost)
    assert taken[:FULL_STEPS] == list(range(FULL_STEPS))
    early = [number for number in taken if FULL_STEPS + 40 < number < GRACE_STEPS]
    assert early == list(range(-(-(FULL_STEPS + 41) // interval) * interval, GRACE_STEPS, interval))
    assert len([number for number in taken if number >= GRACE_STEPS]) <= 1


def test_what_no_timer_sees_shows_in_steps_that_were_not_observed():
    budget = Budget(Intervals(), 0.01)
    assert budget.untimed_factor == UNTIMED_FACTOR, "nothing to compare with yet"
    for number in range(0, 4 * RECENT_READS, 2):
        budget.total += 1e-3
        budget.step_took(number, 10e-3 + 1e-3 + 0.2e-3)
        budget.fast_steps_took(number + 1, 1, 10e-3, usual=10e-3)
    assert budget.untimed_factor == pytest.approx(1.2)
    for number in range(0, 4 * RECENT_READS, 2):
        budget.fast_steps_took(number, 1, 1e-3, usual=1e-3)
    assert budget.untimed_factor == MAX_UNTIMED, "whatever it was, it was not ours"


def test_work_that_is_done_once_waits_until_the_run_is_long_enough_for_it():
    budget = Budget(Intervals(), 0.01)
    run(budget, 100, step=1.0, costs={"gradients": 1e-4})
    assert not budget.affords(1.0)
    run(budget, 1000, step=1.0, costs={"gradients": 1e-4}, first=100)
    assert budget.affords(1.0)
    assert Budget(Intervals(), None).affords(1.0), "without a budget it is enough that it pays for itself"


def test_without_a_budget_everything_is_read_at_every_step():
    budget = Budget(Intervals(), None)
    run(budget, 2000, step=1e-3, costs={"gradients": 1e-2})
    assert all(budget.intervals.due("gradients", step) for step in (1999, 2000))


def test_one_reading_that_met_somebody_elses_work_does_not_set_the_cadence():
    budget = Budget(Intervals(), 0.01)
    run(budget, 300, step=0.1, costs={"gradients": 1e-4})
    budget.add("gradients", 10.0)
    run(budget, 400, step=0.1, costs={"gradients": 1e-4}, first=300)
    assert budget.intervals.every["gradients"] == 1


def test_a_few_steps_that_met_somebody_elses_work_do_not_pay_for_more_readings():
    costs = {MOMENTS_GROUP: 1e-4, "gradients": 1e-3, "updates": 2e-3}
    alone, beside_others = Budget(Intervals(), 0.01), Budget(Intervals(), 0.01)
    run(alone, 700, step=1e-2, costs=costs)
    for number in range(700):
        run(beside_others, 1, step=1.0 if number % 10 == 7 else 1e-2, costs=costs, first=number)
    assert beside_others.intervals.every == alone.intervals.every


def test_several_ranks_choose_by_the_step_number_and_never_by_their_clocks():
    slow, quick = (Budget(Intervals(), 0.01, fixed=True) for _ in range(2))
    run(slow, 300, step=1.0, costs={"gradients": 0.5, "activations": 0.5})
    run(quick, 300, step=1e-3, costs={"gradients": 1e-6, "activations": 1e-6})
    assert slow.intervals.every == quick.intervals.every
    assert slow.intervals.full_until == quick.intervals.full_until


def test_quiet_steps_count_as_steps_and_their_cost_as_the_floor():
    budget = Budget(Intervals(), 0.01)
    run(budget, GRACE_STEPS, step=1e-2, costs={"gradients": 1e-4})  # all of them in full
    budget.total += 200 * 5e-6
    budget.fast_steps_took(GRACE_STEPS + 199, 200, 200 * (1e-2 + 5e-6), usual=1e-2 + 5e-6)
    described = budget.described()
    assert 0 < described["share"] < 0.1
    assert described["floor_microseconds"] == pytest.approx(200 * 5 / (GRACE_STEPS + 200), rel=0.01)
