"""Levels of a blind guess: where one is known, where it is only recognised, and how near a loss has to be."""

from __future__ import annotations

import math

import pytest

from bedside.analysis.chance_levels import FAMILIAR, chance_level, known_chance, sits_on_a_guess


@pytest.mark.parametrize(
    ("classes", "of_what"),
    [
        (2, "two"),
        (3, "three"),
        (4, "four"),
        (5, "five"),
        (8, "eight"),
        (10, "digits"),
        (20, "newsgroups"),
        (100, "CIFAR-100"),
        (256, "bytes"),
        (1000, "ImageNet"),
        (28996, "BERT, cased"),
        (30522, "BERT, uncased"),
        (32000, "Llama 2"),
        (50257, "GPT-2"),
        (50304, "GPT-2, padded"),
        (50265, "RoBERTa"),
        (128256, "Llama 3"),
        (151936, "Qwen 2"),
        (256000, "Gemma"),
    ],
)
def test_numbers_of_classes_that_people_train_with_are_recognised(classes, of_what):
    assert classes in FAMILIAR, of_what
    chance = chance_level({}, math.log(classes))
    assert chance is not None
    assert not chance.known
    assert chance.level == pytest.approx(math.log(classes), rel=1e-3)


@pytest.mark.parametrize(("off", "recognised"), [(0.0015, True), (0.004, False)])
def test_an_unknown_number_of_classes_is_only_recognised_at_the_third_digit(off, recognised):
    assert (chance_level({}, (1 + off) * math.log(10)) is not None) is recognised


@pytest.mark.parametrize(("off", "near"), [(0.015, True), (0.03, False)])
def test_a_known_level_may_be_missed_by_two_hundredths(off, near):
    assert (chance_level({"classes": 7}, (1 + off) * math.log(7)) is not None) is near


@pytest.mark.parametrize(("off", "beside"), [(0.02, True), (0.04, False)])
def test_a_loss_sits_on_a_guess_within_three_hundredths(off, beside):
    assert (sits_on_a_guess({"label_entropy": 0.5}, 0.5 * (1 + off)) is not None) is beside
    assert (sits_on_a_guess({"label_entropy": 0.5}, 0.5 * (1 - off)) is not None) is beside


def test_of_two_levels_the_nearer_one_is_meant():
    config = {"classes": 10, "label_entropy": 2.28}
    assert sits_on_a_guess(config, 2.281).what == "the entropy of the labels"
    assert sits_on_a_guess(config, 2.302).classes == 10


def test_where_the_classes_are_known_no_other_number_of_them_is_recognised():
    assert chance_level({"classes": 7}, math.log(10)) is None
    assert chance_level({"model.vocab_size": 32000}, math.log(32000)).known


def test_a_single_class_a_zero_and_a_negative_loss_have_no_level():
    assert known_chance({"classes": 1, "target_variance": 0.0}) is None
    assert chance_level({}, -0.693) is None
    assert chance_level({}, math.nan) is None
    assert str(known_chance({"target_variance": 0.012})) == "the variance of the targets = 0.012"
