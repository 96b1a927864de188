import numpy as np

from bedside.rules.bad_batch import bad_batch
from bedside.testing import a_run

random = np.random.default_rng(1)
SIZE = 1 + 0.02 * random.standard_normal(300)
LOSS = 2 * 0.995 ** np.arange(300) + 0.05 * random.random(300)


def check(loss, size):
    return bad_batch.check(a_run(loss=loss, input_rms=size))


def changed(values, **at):
    values = values.copy()
    for place, value in at.items():
        values[int(place[1:])] = value
    return values


def test_speaks_when_one_batch_was_a_thousand_times_too_large():
    [found] = check(changed(LOSS, _200=500.0), changed(SIZE, _200=1000.0))
    assert (found.first_step, found.last_step) == (200, 200)
    assert "times as large as usual" in found.message


def test_speaks_when_its_loss_was_not_even_finite():
    [found] = check(changed(LOSS, _200=np.inf), changed(SIZE, _200=1e30))
    assert found.first_step == 200


def test_speaks_when_the_batch_was_nearly_empty():
    [found] = check(changed(LOSS, _200=50.0), changed(SIZE, _200=1e-4))
    assert "times smaller than usual" in found.message


def test_stays_silent_when_the_loss_leapt_but_the_batch_was_like_the_others():
    assert not check(changed(LOSS, _200=500.0), SIZE)


def test_stays_silent_when_a_strange_batch_did_not_matter():
    assert not check(LOSS, changed(SIZE, _200=20.0))


def test_stays_silent_when_sizes_vary_widely_anyway():
    wide = np.exp(2 * random.standard_normal(300))
    assert not check(changed(LOSS, _200=500.0), changed(wide, _200=30.0))


def test_speaks_when_the_network_got_the_batch_right_and_was_thrown_off_by_its_gradient():
    [found] = check(changed(LOSS, _201=25.0), changed(SIZE, _200=25.0))
    assert found.first_step == 200
