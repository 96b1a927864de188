"""Tokens beside the targets at the same places."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.vitals.answers_in_place import compared


def recorded(tmp_path, make, loss=F.cross_entropy):
    model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        x, y = make()
        optimizer.zero_grad()
        loss(model(x).flatten(0, 1), y.flatten()).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=6)
    return [event.data for event in run.events_of("answers_in_place")]


def test_targets_that_are_the_tokens_are_seen(tmp_path):
    def unshifted():
        x = torch.randint(1, 20, (8, 12))
        return x, x.clone()

    seen = recorded(tmp_path, unshifted)
    assert len(seen) == 3
    assert all(each["same"] == 1.0 and each["asked"] == 96 and not each["beside"] for each in seen)


def test_targets_that_are_the_next_tokens_are_not_the_same(tmp_path):
    def shifted():
        ids = torch.randint(1, 20, (8, 13))
        return ids[:, :-1], ids[:, 1:]

    assert all(each["same"] < 0.3 for each in recorded(tmp_path, shifted))


def padded():
    x = torch.randint(1, 20, (8, 12))
    x[:, 4:] = 0
    return x, torch.where(x > 0, x.roll(1, 0) % 19 + 1, 0)


def test_padding_is_measured_where_it_counts_in_the_loss(tmp_path):
    assert all(each["padded"] == pytest.approx(2 / 3) for each in recorded(tmp_path, padded))


def test_padding_may_be_a_symbol_that_also_ends_a_line():
    tokens, answers = torch.zeros(400, dtype=torch.long), torch.zeros(400, dtype=torch.long)
    tokens[:100], answers[:100] = torch.arange(100) % 7 + 1, torch.arange(100) % 6 + 1
    tokens[3], answers[9] = 0, 0  # one line begins after a line's end, one ends
    assert compared(tokens, answers, 0)[3].item() == pytest.approx(301 / 400)
    tokens[:20] = 0  # a symbol that is often followed by something else is no padding
    assert compared(tokens, answers, 0)[3].item() == 0


def test_padding_that_the_loss_ignores_is_no_target(tmp_path):
    seen = recorded(tmp_path, padded, lambda p, y: F.cross_entropy(p, y, ignore_index=0))
    assert all(each["asked"] == 32 and each["padded"] < 0.5 for each in seen)


def test_the_numbers_agree_with_counting():
    tokens, answers = torch.tensor([5, 6, 7, 0, 0, 0]), torch.tensor([5, 1, -100, 9, 9, 9])
    asked, same, kinds, padding = compared(tokens, answers, 1).tolist()
    assert (asked, same, kinds, padding) == (5, 0.2, 3, 0.6)


def test_a_decoder_that_is_given_its_target_is_seen_beside_the_source(tmp_path):
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.source, self.given, self.head = nn.Embedding(20, 8), nn.Embedding(21, 8), nn.Linear(8, 20)

        def forward(self, source, given):
            return self.head(self.source(source) + self.given(given))

    model = Decoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def body(step, monitor):
        source = torch.randint(0, 20, (8, 6))
        wanted = source.flip(1)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(source, wanted).flatten(0, 1), wanted.flatten()).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=5)
    assert {(event.data["same"], event.data["beside"]) for event in run.events_of("answers_in_place")} == {(1.0, True)}


def test_a_model_that_computes_its_own_loss_is_given_its_target_by_right(tmp_path):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(20, 8), nn.Linear(8, 20)

        def forward(self, ids, targets):
            return nn.functional.cross_entropy(self.head(self.embed(ids)).flatten(0, 1), targets.flatten())

    model = Own()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def body(step, monitor):
        ids = torch.randint(0, 20, (8, 7))
        optimizer.zero_grad()
        model(ids[:, :-1].contiguous(), ids[:, 1:].contiguous()).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=5)
    assert max(event.data["same"] for event in run.events_of("answers_in_place")) < 0.5


def test_the_last_word_of_a_row_is_followed_by_padding_too():
    words = torch.tensor([[5, 6, 7, 0, 0, 0, 0], [4, 3, 0, 0, 0, 0, 0]])
    tokens, answers = words[:, :-1].reshape(-1), words[:, 1:].reshape(-1)
    assert compared(tokens, answers, 2)[3].item() == pytest.approx(9 / 12)
    assert compared(tokens, answers, 1)[3].item() == 0  # two last words in one row
    tokens[4] = 0
    answers[4] = 6  # a padding that something follows is none
    assert compared(tokens, answers, 2)[3].item() == 0
