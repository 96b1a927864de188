import pytest

from bedside.analysis.scheduler_calls import made_anew, scheduler_calls
from bedside.testing import a_run


def calls(micro_batches=1.0, **facts):
    made = {"name": "AnyLR", "stepped": 400, "optimizer_steps": 400, **facts}
    [each] = scheduler_calls(a_run(loss=[1.0] * 400, micro_batches=micro_batches, config={"schedulers": [made]}))
    return each


@pytest.mark.parametrize(
    ("stepped", "micro_batches", "per"),
    [(400, 1, "step"), (390, 1, "step"), (1600, 4, "micro-batch"), (1600, 1, ""), (20, 1, "epoch"), (300, 1, "step")],
)
def test_tells_what_a_scheduler_is_called_once_for(stepped, micro_batches, per):
    assert calls(micro_batches, stepped=stepped).per == per


def test_knows_when_a_decay_without_an_end_has_taken_the_rate_away():
    assert calls(gamma=0.1, step_size=30).lasts == 90
    assert calls(gamma=0.9).lasts == 66
    assert calls(gamma=0.1, milestones=[4, 8, 12]).lasts == 12
    assert calls(gamma=0.1, milestones=[4, 7]).lasts == 7
    assert calls(gamma=0.5, milestones=[100, 200]).lasts == 0  # a quarter of the rate is left for good
    assert calls(gamma=1.0).lasts == 0


def test_dates_the_end_in_optimizer_steps():
    assert calls(4.0, stepped=1600, total=400).over_at == 100


def test_leaves_out_what_was_never_counted():
    assert scheduler_calls(a_run(loss=[1.0] * 50, config={"lr_scheduler_type": "cosine"})) == []


def cosine(total, begins, calls):
    return {"name": "CosineAnnealingLR", "total": total, "begins": begins, "stepped": calls, "optimizer_steps": calls}


def test_counts_a_scheduler_over_its_own_steps():
    run = a_run(loss=[1.0] * 300, config={"schedulers": [cosine(300, 0, 240), cosine(60, 240, 60)]})
    assert [each.per for each in scheduler_calls(run)] == ["step", "step"]
    assert [each.over_at for each in scheduler_calls(run)] == [300, 300]


@pytest.mark.parametrize(
    ("first", "second", "anew"),
    [
        (cosine(300, 0, 240), cosine(300, 240, 60), True),
        (cosine(150, 0, 150), cosine(150, 150, 150), False),  # a second phase after the first was over
        (cosine(300, 0, 240), cosine(60, 240, 60), False),  # built for what is left
        (cosine(300, 0, 300), cosine(300, 0, 300), False),  # two side by side
    ],
)
def test_knows_a_schedule_that_begins_once_more(first, second, anew):
    assert bool(made_anew(a_run(loss=[1.0] * 300, config={"schedulers": [first, second]}))) == anew
