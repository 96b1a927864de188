"""Validation rows among the training rows."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn


def looks(tmp_path, held_out, score=None, name="val_loss"):
    training = torch.randn(64, 10)
    model = nn.Linear(10, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        model(training[torch.randperm(64)[:32]]).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            for batch in held_out(training):
                answers = model(batch)
                if score is not None:
                    score(answers)
        monitor.log(**{name: 1.0})

    run = watched(model, optimizer, tmp_path, body, steps=12)
    return [event.data for event in run.events_of("seen_before")]


def test_an_evaluation_of_training_rows_is_told_with_its_numbers(tmp_path):
    told = looks(tmp_path, lambda training: [training])
    assert told[-1]["rows"] == 64
    assert told[-1]["known"] > 50  # after a dozen batches
    assert told[-1]["repeated"] == 0


def test_other_rows_are_not_known(tmp_path):
    other = torch.randn(64, 10)
    assert {each["known"] for each in looks(tmp_path, lambda training: [other])} == {0}


def test_an_evaluation_of_both_parts_has_forwards_without_a_hit(tmp_path):
    other = torch.randn(64, 10)
    told = looks(tmp_path, lambda training: [training, other])
    assert (told[-1]["forwards"], told[-1]["hits"]) == (2, 1)


def test_copies_within_an_evaluation_excuse_whole_numbers_only(tmp_path):
    told = looks(tmp_path, lambda training: [torch.cat([training, training])])
    assert told[-1]["repeated"] == 0
    whole = torch.arange(320.0).view(32, 10)
    assert looks(tmp_path / "whole", lambda training: [torch.cat([whole, whole])])[-1]["repeated"] == 32


def mean_square(answers):
    return nn.functional.mse_loss(answers, torch.zeros_like(answers))


def test_forwards_whose_answers_a_validation_loss_is_made_of_are_counted(tmp_path):
    told = looks(tmp_path, lambda training: [training], mean_square)
    assert (told[-1]["hits"], told[-1]["graded"]) == (1, 1)
    other = torch.randn(64, 10)
    told = looks(tmp_path / "both", lambda training: [training, other], mean_square)
    assert (told[-1]["hits"], told[-1]["graded"]) == (1, 1)  # of the forwards in which rows were found


def test_a_search_and_a_score_are_no_validation_loss(tmp_path):
    assert looks(tmp_path, lambda training: [training])[-1]["graded"] == 0
    assert (
        looks(tmp_path / "part", lambda training: [training], lambda answers: mean_square(answers[:9]))[-1]["graded"]
        == 0
    )  # of other rows than those
    assert looks(tmp_path / "score", lambda training: [training], mean_square, "val_psnr")[-1]["graded"] == 0
