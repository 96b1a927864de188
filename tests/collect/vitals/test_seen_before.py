"""Validation rows among the training rows."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn


def looks(tmp_path, held_out, also=None):
    training = torch.randn(64, 10)
    model = nn.Linear(10, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        model(training[torch.randperm(64)[:32]]).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            for batch in held_out(training):
                model(batch)
        monitor.log(val_loss=1.0)

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
