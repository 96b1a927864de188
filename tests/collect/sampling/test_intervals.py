"""Which steps are read: by the step number alone."""

from __future__ import annotations

from bedside.collect.sampling.intervals import DENSE_STEPS, FULL_STEPS, LADDER, Intervals, ladder_interval


def due(intervals: Intervals, group: str, steps: range) -> list[int]:
    return [step for step in steps if intervals.due(group, step)]


def test_the_first_steps_are_read_in_full():
    intervals = Intervals({"gradients": 50})
    assert due(intervals, "gradients", range(FULL_STEPS)) == list(range(FULL_STEPS))


def test_afterwards_a_group_is_read_at_multiples_of_its_interval():
    intervals = Intervals({"gradients": 50, "updates": 100})
    assert due(intervals, "gradients", range(101, 300)) == [150, 200, 250]
    assert due(intervals, "updates", range(101, 300)) == [200]


def test_two_ranks_with_the_same_intervals_decide_alike():
    one, other = Intervals({"gradients": 20}), Intervals({"gradients": 20})
    assert due(one, "gradients", range(1000)) == due(other, "gradients", range(1000))


def test_after_an_alarm_the_cadence_rises_for_a_while_and_bursts_stay_rare():
    intervals = Intervals({"gradients": 50})
    intervals.start_dense_sampling(1000)
    assert due(intervals, "gradients", range(1000, 1000 + DENSE_STEPS)) == list(range(1000, 1050, 5))
    assert due(intervals, "gradients", range(1051, 1200)) == [1100, 1150]
    intervals.start_dense_sampling(1100)
    assert not intervals.due("gradients", 1105), "a second alarm so soon does not prolong the burst"


def test_nothing_is_due_in_a_quiet_stretch_and_it_ends_where_something_is():
    intervals = Intervals({"gradients": 50, "updates": 200})
    intervals.plan_fast_path(101, ["gradients", "updates"])
    assert intervals.fast_steps(101) == 49
    assert not any(intervals.due(group, step) for group in intervals.every for step in range(101, 150))
    assert intervals.due("gradients", 150)


def test_the_step_at_which_the_stretch_is_worked_out_is_not_part_of_it():
    intervals = Intervals({"gradients": 50})
    intervals.plan_fast_path(151, ["gradients"])  # while step 150, which is due, is under way
    assert intervals.due("gradients", 150)
    assert intervals.fast_steps(150) == 0
    assert intervals.fast_steps(151) == 49


def test_a_quiet_stretch_ends_at_once_with_an_alarm_or_other_intervals():
    for change in (lambda c: c.start_dense_sampling(101), lambda c: c.set({"gradients": 5})):
        intervals = Intervals({"gradients": 50})
        intervals.plan_fast_path(101, ["gradients"])
        change(intervals)
        assert intervals.fast_steps(101) == 0


def test_there_is_no_quiet_stretch_while_everything_is_recorded():
    intervals = Intervals({"gradients": 50})
    intervals.plan_fast_path(10, ["gradients"])
    assert intervals.fast_steps(10) == 0


def test_intervals_are_rounded_up_to_the_ladder():
    assert [ladder_interval(x) for x in (0.3, 1, 1.1, 7, 480, 1e9)] == [1, 1, 2, 10, 500, LADDER[-1]]
