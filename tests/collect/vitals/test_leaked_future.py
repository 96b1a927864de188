"""Whether a next-token model sees the next token."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.probes import Probes
from bedside.collect.reading import device_queue as queue
from bedside.collect.vitals import leaked_future
from bedside.finding import NotExamined
from bedside.rules.leaked_answer import leaked_answer

WORDS, LENGTH, BATCH = 23, 10, 4


class Reader(nn.Module):
    """Attention with dropout, batch normalisation and a list that every call adds to."""

    def __init__(self, causal=True, answers=lambda scores: scores):
        super().__init__()
        self.words, self.attn = nn.Embedding(WORDS, 16), nn.MultiheadAttention(16, 2, dropout=0.2, batch_first=True)
        self.norm, self.drop, self.head = nn.BatchNorm1d(16), nn.Dropout(0.1), nn.Linear(16, WORDS)
        self.causal, self.answers = causal, answers
        self.calls, self.counts = [], {"calls": 0}

    def forward(self, tokens):
        self.calls.append(len(tokens))
        self.counts["calls"] += 1
        x = self.words(tokens)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        x = x + self.attn(x, x, x, attn_mask=mask, need_weights=False)[0]
        return self.answers(self.head(self.drop(self.norm(x.transpose(1, 2)).transpose(1, 2))))


class Recurrent(nn.Module):
    """Time first, as the recurrent layers have it."""

    def __init__(self, both_ways):
        super().__init__()
        self.words, self.cell = nn.Embedding(WORDS, 8), nn.GRU(8, 8, bidirectional=both_ways)
        self.head = nn.Linear(16 if both_ways else 8, WORDS)

    def forward(self, tokens):
        return self.head(self.cell(self.words(tokens))[0])


def text():
    return torch.randint(0, WORDS, (BATCH, LENGTH + 1))


def next_token(model):
    tokens = text()
    return F.cross_entropy(scores_in(model(tokens[:, :-1])).reshape(-1, WORDS), tokens[:, 1:].reshape(-1))


def shifted_afterwards(model):
    tokens = text()
    return F.cross_entropy(model(tokens)[:, :-1].transpose(1, 2), tokens[:, 1:])


def with_padding(model):
    tokens = text()
    target = tokens[:, 1:].clone()
    target[:, -3:] = -100
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), target.flatten())


def time_first(model):
    tokens = text().T
    return F.cross_entropy(model(tokens[:-1]).reshape(-1, WORDS), tokens[1:].reshape(-1))


def scores_in(output):
    return output if isinstance(output, torch.Tensor) else output["scores"]


def run_of(model, loss, tmp_path, steps=30, **options):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def body(step, monitor):
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps=steps, **options)


@pytest.mark.parametrize("loss", [next_token, shifted_afterwards, with_padding])
def test_a_missing_mask_is_found(loss, tmp_path):
    [event] = run_of(Reader(causal=False), loss, tmp_path).events_of("future_seen")
    assert event.data["changed"] == event.data["position"]  # every position before it
    assert event.data["change"] > event.data["rounding"]


@pytest.mark.parametrize("loss", [next_token, shifted_afterwards, with_padding])
def test_a_causal_model_is_left_in_peace(loss, tmp_path):
    assert not run_of(Reader(), loss, tmp_path).events_of("future_seen")


@pytest.mark.parametrize("answers", [lambda s: {"scores": s, "more": s.sum()}, lambda s: s.flatten(0, 1)])
def test_scores_are_found_in_whatever_a_model_returns(answers, tmp_path):
    assert run_of(Reader(False, answers), next_token, tmp_path).events_of("future_seen")


def test_of_two_tensors_that_could_be_the_scores_neither_is_judged(tmp_path):
    run = run_of(Reader(False, lambda s: {"scores": s, "backwards": s.flip(1)}), next_token, tmp_path)
    assert not run.events_of("future_seen")


@pytest.mark.parametrize("both_ways", [True, False])
def test_time_may_come_first(both_ways, tmp_path):
    assert bool(run_of(Recurrent(both_ways), time_first, tmp_path).events_of("future_seen")) == both_ways


def test_nothing_waits_for_a_device(tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "on_cpu", lambda tensor: False)
    assert run_of(Reader(causal=False), next_token, tmp_path).events_of("future_seen")


def same_tokens(model):
    tokens = text()[:, 1:]
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


def masked_tokens(model):
    tokens = text()[:, 1:]
    hidden = torch.rand(tokens.shape) < 0.3
    hidden[0, 0] = True
    target = tokens.where(hidden, -100)
    return F.cross_entropy(model(tokens.masked_fill(hidden, 0)).flatten(0, 1), target.flatten())


def other_labels(model):
    tags = torch.randint(0, WORDS, (BATCH * LENGTH,))
    return F.cross_entropy(model(text()[:, 1:]).flatten(0, 1), tags)


@pytest.mark.parametrize("loss", [same_tokens, masked_tokens, other_labels])
def test_other_tasks_may_look_both_ways(loss, tmp_path, monkeypatch):
    monkeypatch.setattr(leaked_future.LeakedFuture, "_try", lambda *_: pytest.fail("tried"))
    assert not run_of(Reader(causal=False), loss, tmp_path).events_of("future_seen")


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, 16), nn.Linear(16, WORDS)
        self.net = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)

    def forward(self, source, before):
        mask = nn.Transformer.generate_square_subsequent_mask(before.shape[1])
        return self.head(self.net(self.words(source), self.words(before), tgt_mask=mask))


def copied(model):
    tokens = text()
    return F.cross_entropy(model(tokens, tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def test_an_encoder_may_read_the_whole_sequence(tmp_path):
    assert not run_of(Translator(), copied, tmp_path).events_of("future_seen")


def test_hooks_of_the_user_never_hear_the_trial(tmp_path):
    model = Reader(causal=False)
    recorded = []
    model.head.register_forward_hook(lambda *_: recorded.append(1))
    assert not run_of(model, next_token, tmp_path).events_of("future_seen")
    assert len(recorded) == 30


def test_the_trial_leaves_no_trace(tmp_path):
    def trained(watching):
        torch.manual_seed(5)
        model = Reader(causal=False)
        if watching:
            assert run_of(model, next_token, tmp_path).events_of("future_seen")
            return model
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(30):
            optimizer.zero_grad()
            next_token(model).backward()
            optimizer.step()
        return model

    plain, random = trained(False), torch.get_rng_state()
    watched_one = trained(True)
    assert torch.equal(random, torch.get_rng_state())
    for name, value in plain.state_dict().items():
        assert torch.equal(value, watched_one.state_dict()[name]), name
    assert (plain.calls, plain.counts) == (watched_one.calls, watched_one.counts)


def test_the_batch_goes_through_copies_of_the_model_twice_and_that_is_all(tmp_path, monkeypatch):
    passes, tried = [], []
    forward, answers = Reader.forward, Probes.answers
    monkeypatch.setattr(
        Reader, "forward", lambda self, tokens: (passes.append(tokens.clone()), forward(self, tokens))[1]
    )
    monkeypatch.setattr(
        Probes, "answers", lambda self, forwards, prepare: (tried.append(forwards), answers(self, forwards, prepare))[1]
    )
    run_of(Reader(), next_token, tmp_path, steps=150)
    assert len(passes) == 150, "not even what the forward keeps outside of the model shows it"
    ((one, other),) = tried
    assert (one.args[0] != other.args[0]).nonzero().tolist() == [[0, LENGTH - 1]]


def test_without_probes_nothing_is_tried_and_that_is_said(tmp_path):
    run = run_of(Reader(), next_token, tmp_path, steps=150, probes=False)
    assert not run.events_of("future_seen")
    answer = leaked_answer.examine(run)
    assert isinstance(answer, NotExamined)
    assert answer.needs[0].startswith("a trial on a copy of the model, which was not made: it was turned off")
