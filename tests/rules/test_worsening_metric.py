import numpy as np

from bedside.finding import NotExamined
from bedside.rules.worsening_metric import worsening_metric
from bedside.testing import a_run

RNG = np.random.default_rng(0)
FALLING = 0.25 * np.exp(-np.arange(30) / 4) + 0.005 * RNG.normal(size=30)


def found(**metrics):
    return worsening_metric.check(a_run(loss=[0.01] * 300, **{f"train/{name}": v for name, v in metrics.items()}))


def test_speaks_when_the_reward_falls_to_its_worst():
    [finding] = found(reward=FALLING)
    assert finding.series[0] == "train/reward"


def test_stays_silent_when_the_reward_rises():
    assert not found(reward=FALLING[::-1])


def test_stays_silent_when_it_rose_before_it_fell():
    assert not found(success_rate=np.concatenate([FALLING[::-1], FALLING]))


def test_stays_silent_when_another_metric_rises():
    assert not found(reward=FALLING, accuracy=np.linspace(0.1, 0.9, 30))


def test_stays_silent_about_noise():
    assert not found(reward=0.5 + 0.2 * RNG.normal(size=40))


def test_stays_silent_about_metrics_of_unknown_direction():
    assert isinstance(worsening_metric.examine(a_run(loss=1.0, **{"train/epsilon": FALLING})), NotExamined)


def test_stays_silent_when_an_accuracy_settles_a_little_lower():
    assert not found(accuracy=0.95 - 0.1 * (1 - np.exp(-np.arange(30) / 5)))


def test_the_sign_of_a_policy_gradient_is_no_matter_of_accuracies():
    [reward], [accuracy] = found(reward=FALLING), found(accuracy=FALLING)
    assert any("policy gradient" in each for each in reward.try_)
    assert not any("policy gradient" in each for each in accuracy.try_)


def test_only_a_reward_makes_it_speak_of_a_policy_gradient():
    assert "policy gradient" in found(reward=FALLING)[0].try_[0]
    assert not any("policy gradient" in each for each in found(accuracy=FALLING)[0].try_)
    assert not any("policy gradient" in each for each in found(f1=FALLING)[0].try_)


def test_what_bedside_measures_on_the_batches_is_no_metric_of_the_users():
    error = 0.9 - 0.7 * np.exp(-np.arange(30) / 4)
    run = a_run(loss=[0.01] * 300, fit_error=error)
    assert isinstance(worsening_metric.examine(run), NotExamined)
