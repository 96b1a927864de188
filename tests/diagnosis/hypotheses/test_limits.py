"""Each limit of the hypotheses decides: a sign is there on one side of it, with its side and its strength, and not on
the other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bedside.diagnosis.hypotheses.evidence import Symptom
from bedside.diagnosis.hypotheses.stuck_loss import CAUSES as OF_A_STUCK_LOSS
from bedside.diagnosis.hypotheses.unstable_loss import CAUSES as OF_AN_UNSTABLE_LOSS
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG
from bedside.diagnosis.hypotheses.worse_on_validation import CAUSES as OF_A_WORSE_VALIDATION
from bedside.finding import Finding, Severity
from bedside.record.run import Event, Parameter
from bedside.testing import a_run

NOISE = np.random.default_rng(0)
FLAT = 2.303 + 0.01 * NOISE.standard_normal(400)
CALM = 1.0 + 0.02 * NOISE.standard_normal(200)
BROKEN = np.r_[CALM, np.full(200, math.nan)]
CHANCE = math.log(10)


def alarm(name, first=0):
    return Finding("XXX101", name, Severity.WARNING, "It is so.", 0.9, first, 399, primary=True)


def signs(causes, run, finding, *others):
    """Every sign of the causes of a symptom: the cause, its odds and its words."""
    facts = Symptom(run, finding, [finding, *others])
    return [(cause.name, sign.odds, sign.text) for cause in causes for sign in cause.signs(facts)]


def shown(every, cause, odds, phrase):
    return any(each[0] == cause and each[1] == pytest.approx(odds) and phrase in each[2] for each in every)


def stuck(vitals, *others):
    return signs(OF_A_STUCK_LOSS, a_run(**{"loss": FLAT, **vitals}), alarm("stuck-from-start"), *others)


def unstable(vitals, name="nonfinite-loss", onset=200):
    return signs(OF_AN_UNSTABLE_LOSS, a_run(**{"loss": BROKEN, **vitals}), alarm(name, onset))


def worse(vitals, name="gap-from-start"):
    return signs(OF_A_WORSE_VALIDATION, a_run(**vitals), alarm(name))


def updates(size):
    return {"relative_update_norm": size}


def one_update_at(step):
    return updates(np.where(np.arange(400) == step, 0.2, 0.02))


def layers(*shares):
    return {"grad_norm": {str(place): share for place, share in enumerate(shares)}}


def rose_to(times):
    return {"loss": np.r_[2.3, 2.3 * times, FLAT[2:]]}


def won(share):
    low = 2.3 * (1 - share)
    return {"loss": np.r_[np.linspace(2.3, low, 100), low + 0.01 * FLAT[100:] - 0.023]}


def parameters(*, held=True, gradients=400, watched=400):
    named = Parameter("w", "a", 10, in_optimizer=held, gradient_steps=gradients, watched_steps=watched)
    return {"parameters": [named]}


# The cause, how much the sign weighs for it, words of the sign, vitals with which it is there, and others without.
STUCK = {
    "tiny steps": ("steps-too-small", STRONG, "a step changes the weights by", updates(5e-7), updates(3e-6)),
    "steps long enough": ("steps-too-small", -STRONG, "which is enough", updates(2e-5), updates(6e-6)),
    "a tiny rate": ("steps-too-small", STRONG, "the learning rate is 9e-8", {"lr": 9e-8}, {"lr": 3e-7}),
    "a usual rate": ("steps-too-small", -HINT, "within the usual range", {"lr": 2e-4}, {"lr": 6e-5}),
    "a rate whose steps are known": (
        "steps-too-small",
        -HINT,
        "within the usual range",
        {"lr": 2e-4},
        {"lr": 2e-4, **updates(3e-6)},
    ),
    "a wrecking step": ("steps-too-large", STRONG, "an early step changed", updates(0.2), updates(0.07)),
    "a wrecking step early on": (
        "steps-too-large",
        STRONG,
        "an early step changed",
        one_update_at(30),
        one_update_at(50),
    ),
    "no large step": ("steps-too-large", -STRONG, "no early step changed", updates(6e-3), updates(0.02)),
    "a loss that leapt": ("steps-too-large", STRONG, "the loss leapt from", rose_to(2.0), rose_to(1.3)),
    "a loss that did not": ("steps-too-large", -HINT, "did not raise the loss", rose_to(1.3), rose_to(2.0)),
    "no gradient": ("no-gradient", DECISIVE, "exactly zero", {"grad_norm": 0.0}, {"grad_norm": 1e-9}),
    "a silent part": (
        "no-gradient",
        STRONG,
        "of the largest module's",
        layers(6e-5, 6e-5, 1.0),
        layers(3e-4, 3e-4, 1.0),
    ),
    "half of it silent": (
        "no-gradient",
        STRONG,
        "of the largest module's",
        layers(1e-5, 1e-5, 1, 1),
        layers(1e-5, 1, 1, 1),
    ),
    "no silent part": ("no-gradient", -STRONG, "of the same order", layers(3e-4, 0.5, 1.0), layers(6e-5, 0.5, 1.0)),
    "dead units": (
        "no-gradient",
        STRONG,
        "of the units of b",
        {"dead_fraction": {"a": 0.1, "b": 0.6}},
        {"dead_fraction": {"a": 0.1, "b": 0.4}},
    ),
    "not held": ("not-connected", DECISIVE, "no optimizer holds w", parameters(held=False), parameters()),
    "never reached": ("not-connected", DECISIVE, "w never got a gradient", parameters(gradients=0), parameters()),
    "held and reached": ("not-connected", -STRONG, "each of them gets gradients", parameters(), parameters(held=False)),
    "reached, as far as was watched": (
        "not-connected",
        -STRONG,
        "each of them gets gradients",
        parameters(),
        parameters(gradients=0, watched=0),
    ),
    "something to learn": ("nothing-to-learn", -DECISIVE, "there is something to learn", won(0.35), won(0.12)),
    "a blind guess": (
        "nothing-to-learn",
        HINT,
        "that of a blind guess",
        {"config": {"classes": 10}},
        {"config": {"classes": 12}},
    ),
    "held back": ("held-back", STRONG, "was won before it stopped", won(0.35), won(0.12)),
    "nothing won": ("held-back", -STRONG, "of the loss was won", won(0.12), won(0.35)),
    "steps above the least": ("held-back", HINT, "steps are of a healthy size", updates(2e-5), updates(6e-6)),
    "steps below the most": ("nothing-to-learn", HINT, "steps are of a healthy size", updates(6e-3), updates(0.02)),
    "sound gradients": ("held-back", HINT, "of the same order", layers(3e-4, 1.0), layers(6e-5, 1.0)),
}


def lead_up(vital, values, **more):
    return {vital: np.r_[values, np.full(200, math.nan)], **more}


def grown(by):
    """Gradients that grow over the fifty readings before the onset, by this share of what they usually are there."""
    return lead_up("grad_norm", np.r_[np.ones(150), np.linspace(1 - by / 2, 1 + by / 2, 50)])


def rates(before, at):
    return {"lr": np.r_[np.full(150, before), np.full(250, at)]}


def batch(distance):
    """An input at the onset that is so many robust σ from all before it."""
    usual = 10 + np.tile([-1.0, 1.0], 200) / 1.4826
    usual[200] = 10 + distance
    return {"input_rms": usual}


def clipped_at(most, now):
    """Inputs whose largest is `most` in nearly every batch, and once was less, and this one at the onset."""
    return {"input_max": np.where(np.arange(400) == 200, now, np.where(np.arange(400) == 90, 0.7 * most, most))}


def scale_fell_at(step):
    return {"loss_scale": np.where(np.arange(400) < step, 65536.0, 1024.0)}


def of_type(dtype):
    return {"parameters": [Parameter("w", "a", 10, dtype=dtype)]}


def resumed_at(step):
    return {"events": [Event(step, "resume")]}


UNSTABLE = {
    "large steps": ("steps-too-large", STRONG, "steps changed the weights by 2 % each", updates(0.02), updates(6e-3)),
    "small steps": ("steps-too-large", -STRONG, "by only", updates(6e-5), updates(2e-4)),
    "a rate that came down": ("steps-too-large", -STRONG, "had come down to", rates(1.0, 0.2), rates(1.0, 0.4)),
    "a rate at its peak": ("steps-too-large", HINT, "just come to its peak", rates(0.2, 1.0), rates(0.4, 1.0)),
    "gradients that grew": ("steps-too-large", STRONG, "gradients grew before it", grown(0.7), grown(0.3)),
    "gradients that did not": ("steps-too-large", -HINT, "did not grow", grown(0.3), grown(0.7)),
    "an odd batch": ("bad-batch", DECISIVE, "unlike those before it", batch(10.0), batch(6.0)),
    "a usual batch": ("bad-batch", -STRONG, "looked like those before it", batch(6.0), batch(10.0)),
    "a batch beyond the clipping": (
        "bad-batch",
        DECISIVE,
        "unlike those before it",
        clipped_at(1.0, 1.5),
        clipped_at(1.0, 1.05),
    ),
    "a batch such as there was before": (
        "bad-batch",
        -STRONG,
        "looked like those before it",
        clipped_at(1.0, 0.75),
        clipped_at(1.0, 0.6),
    ),
    "a sudden gradient": (
        "bad-batch",
        HINT,
        "out of the blue",
        {"grad_norm": np.r_[CALM, np.full(200, 6.0)]},
        {"grad_norm": np.r_[CALM, np.full(200, 4.0)]},
    ),
    "a scale that fell": ("precision", STRONG, "the loss scale fell", scale_fell_at(170), scale_fell_at(140)),
    "a scale that did not": ("precision", -STRONG, "did not change", scale_fell_at(140), scale_fell_at(170)),
    "short weights": ("precision", STRONG, "the weights are float16", of_type("float16"), of_type("bfloat16")),
    "long weights": ("precision", -STRONG, "the weights are float32", of_type("float32"), of_type("bfloat16")),
    "one module": ("one-module", STRONG, "1 carried", layers(0.2, 1.0), layers(0.5, 1.0)),
    "many modules": ("one-module", -STRONG, "no module carried", layers(0.8, 0.8, 1.0), layers(0.1, 0.8, 1.0)),
    "a calm loss": ("formula", STRONG, "the loss was stable", {}, lead_up("loss", np.r_[CALM[:199], 6.0])),
    "a loss that leapt": (
        "formula",
        -STRONG,
        "the loss grew before it",
        lead_up("loss", np.r_[CALM[:199], 6.0]),
        lead_up("loss", np.r_[CALM[:199], 4.0]),
    ),
    "calm gradients": ("formula", HINT, "gradients did not grow", grown(0.3), grown(0.7)),
    "a resume": ("from-outside", STRONG, "resumed at step 202", resumed_at(202), resumed_at(205)),
    "no resume": ("from-outside", -STRONG, "nothing was loaded", resumed_at(205), resumed_at(202)),
}


@pytest.mark.parametrize("name", STUCK)
def test_a_sign_of_a_stuck_loss_depends_on_its_limit(name):
    *sign, there, absent = STUCK[name]
    assert shown(stuck(there), *sign)
    assert not shown(stuck(absent), *sign)


def test_a_loss_that_is_the_same_whatever_the_labels_is_not_the_labels_fault():
    sign = ("nothing-to-learn", -STRONG, "whatever the labels")
    assert shown(stuck({}, alarm("constant-loss")), *sign)
    assert not shown(stuck({}, alarm("noisy-loss")), *sign)


@pytest.mark.parametrize("name", UNSTABLE)
def test_a_sign_of_an_unstable_loss_depends_on_its_limit(name):
    *sign, there, absent = UNSTABLE[name]
    assert shown(unstable(there), *sign)
    assert not shown(unstable(absent), *sign)


def test_what_breaks_at_once_never_worked_and_what_breaks_later_did():
    config, high = {"config": {"classes": 10}}, np.r_[4 * CHANCE, np.full(399, math.nan)]
    assert shown(unstable({**config, "loss": high}, onset=2), "formula", HINT, "it never worked")
    assert not shown(unstable(config, onset=4), "formula", HINT, "it never worked")
    assert shown(unstable(config, onset=4), "bad-start", -DECISIVE, "the first 4 steps were normal")
    assert not shown(unstable(config, onset=2), "bad-start", -DECISIVE, "were normal")


@pytest.mark.parametrize(("times", "odds"), [(4.0, DECISIVE), (2.0, -STRONG), (0.01, -STRONG)])
def test_a_first_loss_is_measured_by_that_of_a_blind_guess(times, odds):
    loss = np.r_[times * CHANCE, np.full(399, math.nan)]
    every = unstable({"loss": loss, "config": {"classes": 10}}, onset=1)
    assert shown(every, "bad-start", odds, "where a blind guess has 2.3")


def test_a_lead_up_of_seven_readings_shows_nothing_and_one_of_nine_does():
    for onset, calm in ((7, False), (9, True)):
        assert shown(unstable({}, onset=onset), "formula", STRONG, "the loss was stable") is calm
        assert (
            shown(unstable({"input_rms": 1.0}, onset=onset), "bad-batch", -STRONG, "looked like those before") is calm
        )
        gradients = unstable({"grad_norm": 1.0}, onset=onset)
        assert shown(gradients, "steps-too-large", -HINT, "did not grow") is calm


def test_growth_long_before_the_onset_is_no_lead_up():
    long_ago = lead_up("grad_norm", np.r_[np.linspace(1, 9, 120), np.full(80, 9.0)])
    assert not shown(unstable(long_ago), "steps-too-large", STRONG, "gradients grew")


def test_a_finite_loss_with_a_gradient_that_is_not_has_an_infinite_slope():
    last = {"loss": np.r_[CALM, 1.0, np.full(199, math.nan)]}
    sign = ("formula", STRONG, "its slope was not")
    assert shown(unstable(last, "nonfinite-gradient"), *sign)
    assert not shown(unstable({}, "nonfinite-gradient"), *sign)
    assert not shown(unstable(last, "nonfinite-weights"), *sign)


def test_numbers_that_stayed_finite_are_no_matter_of_a_formula():
    sick = unstable({"loss": np.r_[CALM, 9 * CALM]}, "diverging-loss")
    assert shown(sick, "formula", -DECISIVE, "all numbers stayed finite")
    assert shown(sick, "precision", -HINT, "all numbers stayed finite")
    assert not any("stayed finite" in text for *_, text in unstable({}))


def test_a_loss_that_came_back_hints_at_a_batch():
    spike = {"loss": np.r_[CALM, 9.0, CALM[1:]]}
    assert shown(unstable(spike, "loss-spike"), "bad-batch", HINT, "came back")
    assert not shown(unstable(spike, "diverging-loss"), "bad-batch", HINT, "came back")


def falling_from(start):
    return start * np.geomspace(1.0, 0.2, 400)


def gaps(early, now, evaluations=10):
    """A validation loss so far above training at its first and at its last evaluation, as shares of the first loss."""
    at = np.floor(np.arange(1, evaluations + 1) * 400 / evaluations).astype(int) - 1
    return {"loss": falling_from(2.0), "val_loss": falling_from(2.0)[at] + 2.0 * np.linspace(early, now, evaluations)}


def passes(count):
    return {"epoch": np.linspace(0, count, 400)}


def scatters(by):
    return {"loss": falling_from(2.0), "val_loss": 2.0 + by * 2.0 * NOISE_OF_TWELVE}


NOISE_OF_TWELVE = np.array([0.6, -1.1, 0.3, 1.4, -0.5, -0.9, 1.2, 0.2, -1.3, 0.8, -0.3, 0.1])
FRESH = {"config": {"steps_per_epoch": 40}}  # ten passes; the first two evaluations are of the first two

WORSE = {
    "a gap that opened": ("learned-by-heart", STRONG, "the gap opened", gaps(0.0, 0.15), gaps(0.0, 0.07)),
    "a gap that did not": ("learned-by-heart", -STRONG, "did not open", gaps(0.3, 0.2), gaps(0.3, 0.35)),
    "a gap too early": (
        "learned-by-heart",
        -DECISIVE,
        "before anything could be known by heart",
        {**gaps(0.3, 0.3), **FRESH},
        {**gaps(0.15, 0.15), **FRESH},
    ),
    "a gap after many passes": (
        "learned-by-heart",
        -DECISIVE,
        "before anything could be known by heart",
        {**gaps(0.3, 0.3), **FRESH},
        {**gaps(0.3, 0.3), **passes(30)},
    ),
    "one pass": (
        "learned-by-heart",
        -STRONG,
        "seen only once",
        {**gaps(0.3, 0.3), **passes(1.2)},
        {**gaps(0.3, 0.3), **passes(1.8)},
    ),
    "many passes": (
        "learned-by-heart",
        HINT,
        "seen 4 times",
        {**gaps(0.3, 0.3), **passes(4)},
        {**gaps(0.3, 0.3), **passes(2)},
    ),
    "there at once": (
        "evaluated-otherwise",
        STRONG,
        "the gap was there at",
        {**gaps(0.3, 0.3), **FRESH},
        {**gaps(0.15, 0.15), **FRESH},
    ),
    "not there at first": ("evaluated-otherwise", -STRONG, "there was no gap", gaps(0.15, 0.3), gaps(0.3, 0.3)),
    "erratic": ("evaluated-otherwise", HINT, "jump from one", scatters(0.35), scatters(0.1)),
    "other data from the start": (
        "other-data",
        STRONG,
        "the gap was there at",
        {**gaps(0.3, 0.3), **FRESH},
        {**gaps(0.15, 0.15), **FRESH},
    ),
    "other data for good": ("other-data", HINT, "stays as it is", gaps(0.3, 0.35), gaps(0.3, 0.45)),
    "other data, not at first": ("other-data", -STRONG, "there was no gap", gaps(0.15, 0.3), gaps(0.3, 0.3)),
}


@pytest.mark.parametrize("name", WORSE)
def test_a_sign_of_a_worse_validation_depends_on_its_limit(name):
    *sign, there, absent = WORSE[name]
    assert shown(worse(there), *sign)
    assert not shown(worse(absent), *sign)


def test_two_evaluations_have_no_beginning_and_no_end():
    assert not any("gap" in text for *_, text in worse(gaps(0.3, 0.3, evaluations=2)))
    assert any("gap" in text for *_, text in worse(gaps(0.3, 0.3, evaluations=3)))


def test_five_evaluations_show_no_noise_and_six_do():
    for count, erratic in ((5, False), (6, True)):
        vitals = {"loss": falling_from(2.0), "val_loss": 2.0 + NOISE_OF_TWELVE[:count]}
        assert shown(worse(vitals), "evaluated-otherwise", HINT, "jump from one") is erratic


def test_modes_that_were_watched_speak_a_little_against_another_evaluation():
    watched = {**gaps(0.3, 0.3), "events": [Event(9, "validation")]}
    sign = ("evaluated-otherwise", -HINT, "the modes were watched")
    assert shown(worse({**watched, "eval_mode": 1.0}), *sign)
    assert not shown(worse(watched), *sign)


def test_a_validation_that_was_better_once_is_no_other_kind_of_data():
    sign = ("learned-by-heart", STRONG, "validation was better before")
    assert shown(worse(gaps(0.0, 0.3), "overfitting"), *sign)
    assert not shown(worse(gaps(0.0, 0.3), "overconfident"), *sign)
    assert not shown(worse({**gaps(0.3, 0.5), **FRESH}, "overfitting"), *sign)
