from bedside.rules.collapsed_activations import collapsed_activations
from bedside.testing import a_run


def check(loss=2.3, **variation):
    return collapsed_activations.check(a_run(loss=loss, steps=60, batch_variation=variation))


def test_speaks_when_the_back_is_the_same_for_every_sample():
    [found] = check(first=0.7, middle=0.05, lost=1e-4, last=1e-6)
    assert found.where == ("lost",)


def test_names_the_beginning_of_the_last_stretch():
    [found] = check(first=0.7, dip=1e-5, back=0.1, lost=1e-4, last=1e-6)
    assert found.where == ("lost",)


def test_stays_silent_when_the_batch_itself_is_one_sample_many_times():
    assert not check(first=1e-6, middle=1e-6, last=1e-6)


def test_stays_silent_when_a_deep_net_still_tells_samples_apart():
    assert not check(first=0.7, middle=0.1, last=0.016)


def test_stays_silent_when_the_run_learns():
    assert not check(loss=[2.3 * 0.97**i for i in range(60)], first=0.7, last=1e-5)


def test_is_dated_from_when_the_differences_were_gone():
    [found] = check(first=0.7, last=[0.4] * 30 + [1e-6] * 30)
    assert found.first_step == 30
