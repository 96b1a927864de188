import pytest

from bedside.analysis.scheduler_calls import scheduler_calls
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
