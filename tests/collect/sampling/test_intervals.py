"""Which steps are read: by the step number alone."""

from __future__ import annotations

from bedside.collect.sampling.intervals import BURST_STEPS, FULL_STEPS, LADDER, Cadence, rung


def due(cadence: Cadence, group: str, steps: range) -> list[int]:
    return [step for step in steps if cadence.due(group, step)]


def test_the_first_steps_are_read_in_full():
    cadence = Cadence({"gradients": 50})
    assert due(cadence, "gradients", range(FULL_STEPS)) == list(range(FULL_STEPS))


def test_afterwards_a_group_is_read_at_multiples_of_its_interval():
    cadence = Cadence({"gradients": 50, "updates": 100})
    assert due(cadence, "gradients", range(101, 300)) == [150, 200, 250]
    assert due(cadence, "updates", range(101, 300)) == [200]


def test_two_ranks_with_the_same_intervals_decide_alike():
    one, other = Cadence({"gradients": 20}), Cadence({"gradients": 20})
    assert due(one, "gradients", range(1000)) == due(other, "gradients", range(1000))


def test_after_an_alarm_the_cadence_rises_for_a_while_and_bursts_stay_rare():
    cadence = Cadence({"gradients": 50})
    cadence.burst(1000)
    assert due(cadence, "gradients", range(1000, 1000 + BURST_STEPS)) == list(range(1000, 1050, 5))
    assert due(cadence, "gradients", range(1051, 1200)) == [1100, 1150]
    cadence.burst(1100)
    assert not cadence.due("gradients", 1105), "a second alarm so soon does not prolong the burst"


def test_nothing_is_due_in_a_quiet_stretch_and_it_ends_where_something_is():
    cadence = Cadence({"gradients": 50, "updates": 200})
    cadence.rest(101, ["gradients", "updates"])
    assert cadence.quiet(101) == 49
    assert not any(cadence.due(group, step) for group in cadence.every for step in range(101, 150))
    assert cadence.due("gradients", 150)


def test_the_step_at_which_the_stretch_is_worked_out_is_not_part_of_it():
    cadence = Cadence({"gradients": 50})
    cadence.rest(151, ["gradients"])  # while step 150, which is due, is under way
    assert cadence.due("gradients", 150)
    assert cadence.quiet(150) == 0
    assert cadence.quiet(151) == 49


def test_a_quiet_stretch_ends_at_once_with_an_alarm_or_other_intervals():
    for change in (lambda c: c.burst(101), lambda c: c.set({"gradients": 5})):
        cadence = Cadence({"gradients": 50})
        cadence.rest(101, ["gradients"])
        change(cadence)
        assert cadence.quiet(101) == 0


def test_there_is_no_quiet_stretch_while_everything_is_recorded():
    cadence = Cadence({"gradients": 50})
    cadence.rest(10, ["gradients"])
    assert cadence.quiet(10) == 0


def test_intervals_are_rounded_up_to_the_ladder():
    assert [rung(x) for x in (0.3, 1, 1.1, 7, 480, 1e9)] == [1, 1, 2, 10, 500, LADDER[-1]]
