import numpy as np

from bedside.finding import Severity
from bedside.record.run import Event, Run
from bedside.record.series import Series
from bedside.rules.weight_jump import weight_jump
from bedside.testing import a_run

CALM = 10 + 0.002 * np.arange(300)


def jump(at=200, to=17.0):
    norms = CALM.copy()
    norms[at:] += to - 10
    return norms


def test_warns_when_the_weights_jump_and_the_loss_suffers():
    [found] = weight_jump.check(a_run(loss=[1.0] * 200 + [3.0] * 100, param_norm=jump()))
    assert (found.severity, found.first_step) == (Severity.WARNING, 200)


def test_is_a_note_when_the_loss_does_not_mind():
    [found] = weight_jump.check(a_run(loss=1.0, param_norm=jump()))
    assert found.severity == Severity.NOTE


def test_names_the_module_that_jumped():
    norms = {"": jump(), "body": CALM, "head": jump(to=14)}
    [found] = weight_jump.check(a_run(loss=1.0, param_norm=norms))
    assert found.where == ("head",)


def test_stays_silent_when_weights_drift():
    assert not weight_jump.check(a_run(loss=1.0, param_norm=CALM))


def test_stays_silent_when_weights_that_grow_are_read_less_often():
    """From every tenth step to every twentieth: the same drift makes twice the change."""
    steps = np.r_[np.arange(0, 1000, 10), np.arange(1000, 9000, 20)]
    growing = 10 * np.exp(0.0058 * np.clip(steps - 900, 0, 160))

    def judged(norms):
        loss = Series("loss", "", steps, np.ones(len(steps)))
        return weight_jump.check(Run("run", [Series("param_norm", "", steps, norms), loss]))

    assert judged(growing) == []
    assert len(judged(np.where(steps > 1000, 1.3, 1.0) * growing)) == 1


def test_stays_silent_when_the_run_was_resumed_there():
    assert not weight_jump.check(a_run(loss=1.0, param_norm=jump(), events=[Event(200, "resume")]))


def test_stays_silent_about_large_first_steps():
    assert not weight_jump.check(a_run(loss=1.0, param_norm=jump(at=5)))


def test_names_the_layer_that_something_other_than_the_optimizer_changed():
    head = np.r_[np.full(100, 4.0), np.full(100, 24.0)]
    norms = {"": np.hypot(5.0, head), "body": 5.0, "head": head}
    updates = {"": 0.01, "body": 0.01, "head": 0.01}
    run = a_run(loss=[1.0] * 100 + [3.0] * 100, param_norm=norms, update_norm=updates, lr=0.1)
    [found] = weight_jump.check(run)
    assert found.where == ("head",)
    assert "something other than the optimizer's step (`head` from 4 to 24) at step 100" in found.message
    assert found.severity == Severity.WARNING


def test_stays_silent_when_it_happens_again_and_again():
    head = 4.0 + np.repeat(np.arange(20) % 2, 10) * 4.0
    run = a_run(loss=[1.0] * 200, param_norm={"": head, "head": head}, update_norm={"": 0.01, "head": 0.01}, lr=0.1)
    assert weight_jump.check(run) == []


def moved(moves, own=0.01, uphill=0.9, loss=2.3, every=1):
    steps = np.arange(len(moves)) * every
    series = {"outside_move": moves, "own_move": own, "outside_uphill": uphill, "moved_norm": 1.0, "param_norm": 1.0}
    made = [Series(name, "", steps, np.broadcast_to(np.float64(v), len(steps)).copy()) for name, v in series.items()]
    levels = np.broadcast_to(np.float64(loss), int(steps[-1]) + 1).copy()
    levels[0] = 2.3
    return weight_jump.check(Run("run", [*made, Series("loss", "", np.arange(len(levels)), levels)]))


def test_speaks_of_weights_that_are_replaced_at_every_epoch():
    [found] = moved([0.2, 0.2, 0.2, 1.4] * 5, every=20)
    assert found.severity == Severity.WARNING
    assert "replaced again and again by something other than the optimizer: 5 times, first at step 60" in found.message


def test_weights_that_are_replaced_now_and_then_or_travel_by_themselves_are_left_alone():
    assert not moved([0.2, 0.2, 0.2, 1.4] * 4, every=20)
    assert not moved([1.4] * 20, own=0.03, every=20)  # twenty steps of this length go that far


def test_speaks_of_weights_that_climb_between_steps():
    [found] = moved([0.0] + [0.03] * 20)
    assert "up the gradient between steps: 20 times" in found.message
    assert "back before optimizer.step()" in found.try_[0]


def test_what_undoes_a_step_or_goes_elsewhere_is_no_climb():
    for run in ({"moves": [0.0] + [0.0115] * 20}, {"moves": [0.0] + [0.03] * 20, "uphill": 0.4}):
        assert not moved(**run)


def test_a_run_that_learns_all_the_same_knows_what_it_does():
    [found] = moved([0.0] + [0.03] * 20, loss=1.0)
    assert found.severity == Severity.NOTE
