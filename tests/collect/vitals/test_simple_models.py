"""The plainest models, fitted to the run's own examples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.reading.asked_examples import features
from bedside.collect.reading.simple_fits import Examples, marks_of, tried


def run_of(tmp_path, model, batch, loss, steps=30):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    asked = []

    def body(step, monitor):
        x, y = batch(step)
        optimizer.zero_grad()
        answers = model(x)
        asked.append((answers.detach(), y))
        loss(answers, y).backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps=steps), asked


def test_the_share_of_wrong_classes_is_that_of_the_batch(tmp_path):
    weights = torch.randn(6, 3)

    def batch(step):
        x = torch.randn(40, 6)
        return x, (x @ weights).argmax(1)

    run, asked = run_of(tmp_path, nn.Linear(6, 3), batch, F.cross_entropy)
    errors = run.series("fit_error")
    for step, value in zip(errors.steps, errors.values, strict=True):
        answers, labels = asked[int(step)]
        wrong = sum(int(np.argmax(row)) != int(label) for row, label in zip(answers.tolist(), labels, strict=True))
        assert value == pytest.approx(wrong / len(labels), abs=1e-6)
    simple = run.config["simple_models"]
    assert simple["classes"] == 3
    assert simple["linear"] < 0.25 < simple["guess"]


def test_numbers_are_judged_by_their_squared_error(tmp_path):
    def batch(step):
        x = torch.randn(40, 5)
        return x, x[:, :1] * 3 + 7

    run, asked = run_of(tmp_path, nn.Linear(5, 1), batch, F.l1_loss)
    first = int(run.series("fit_error").steps[0])
    answers, targets = (each.double().numpy() for each in asked[first])
    assert run.series("fit_error").values[0] == pytest.approx(float(((answers - targets) ** 2).mean()), rel=1e-5)
    simple = run.config["simple_models"]
    assert simple["classes"] == 0
    assert simple["linear"] < 0.05 * simple["guess"]
    assert simple["guess"] == pytest.approx(9, rel=0.4)


def test_a_batch_that_comes_again_and_again_proves_nothing(tmp_path):
    x = torch.randn(40, 6)
    run, _ = run_of(tmp_path, nn.Linear(6, 1), lambda step: (x, x[:, :1]), F.mse_loss)
    assert "simple_models" not in run.config


def test_words_are_counted():
    tokens = torch.randint(0, 50, (400, 12), generator=torch.Generator().manual_seed(0))
    labels = (tokens < 8).sum(1).clamp(max=3)
    counts = torch.ones(400, dtype=torch.bool)
    table = features([tokens], labels, torch.arange(400))
    linear, _, guess, examples = tried(Examples(table, labels, counts, marks_of(table), 4)).tolist()
    assert linear < 0.6 * guess
    assert examples == 400


def test_one_large_batch_stands_for_all_and_a_loss_by_hand_is_read(tmp_path):
    x = torch.randn(1400, 5)
    y = x.sum(1, keepdim=True)
    order = y.flatten().argsort()  # sorted, as files are

    run, _ = run_of(tmp_path, nn.Linear(5, 1), lambda step: (x[order], y[order]), lambda a, b: ((a - b) ** 2).mean())
    simple = run.config["simple_models"]
    assert simple["examples"] > 500
    assert simple["linear"] < 0.05 * simple["guess"]
    assert simple["guess"] == pytest.approx(float(y.var()), rel=0.5)
    assert run.config["target_variance"] == pytest.approx(float(y.var(correction=0)), rel=1e-4)
    assert len(run.series("fit_error"))


def test_held_out_examples_are_tried_by_themselves_and_from_training(tmp_path):
    """The held-out inputs have their columns in another order: each set is easy by itself."""
    torch.manual_seed(0)
    weights, model = torch.randn(6, 3), nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    held_out = torch.randn(300, 6)
    labels, shown = (held_out @ weights).argmax(1), held_out.roll(3, 1)
    wrong = []

    def body(step, monitor):
        x = torch.randn(40, 6)
        optimizer.zero_grad()
        F.cross_entropy(model(x), (x @ weights).argmax(1)).backward()
        optimizer.step()
        if step % 10 == 9:
            with torch.no_grad():
                answers = model(shown)
            monitor.log(val_loss=F.cross_entropy(answers, labels).item())
            wrong.append(float((answers.argmax(1) != labels).float().mean()))

    run = watched(model, optimizer, tmp_path, body, steps=40)
    assert run.series("held_out_error").values.tolist() == pytest.approx(wrong, abs=1e-6)
    held = run.config["held_out_models"]
    assert held["examples"] == 300
    assert held["linear"] < 0.25 < held["carried_linear"]
    assert run.config["simple_models"]["linear"] < 0.25


def test_every_place_of_a_sequence_is_an_example_and_what_comes_later_is_left_out(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    asked = []

    def of_this_and_the_one_before(step, monitor):
        x = torch.randint(0, 30, (16, 12))
        y = torch.where(x.roll(1, 1) % 2 == 0, x % 5, 4 - x % 5)
        y[:, 9:] = -100
        optimizer.zero_grad()
        answers = model(x)
        asked.append((answers.detach().argmax(-1), y))
        F.cross_entropy(answers.flatten(0, 1), y.flatten()).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path / "this", of_this_and_the_one_before, steps=30)
    simple = run.config["simple_models"]
    assert simple["places"]
    # What is ignored does not count, nor does the beginning of another sequence that begins alike.
    assert 0.6 * simple["kept"] < simple["examples"] < 0.75 * simple["kept"]
    assert simple["linear"] < 0.75 * simple["guess"]
    answers, labels = asked[int(run.series("fit_error").steps[0])]
    counts = labels >= 0
    assert run.series("fit_error").values[0] == pytest.approx(float((answers != labels)[counts].float().mean()))

    def of_the_next(step, monitor):
        x = torch.randint(0, 30, (16, 12))
        optimizer.zero_grad()
        F.cross_entropy(model(x).permute(0, 2, 1), x.roll(-1, 1) % 5).backward()
        optimizer.step()

    simple = watched(model, optimizer, tmp_path / "next", of_the_next, steps=30).config["simple_models"]
    assert simple["linear"] > 0.9 * simple["guess"]


def test_every_pixel_is_an_example_with_its_neighbours(tmp_path):
    model = nn.Conv2d(2, 1, 3, padding=1)

    def batch(step):
        x = torch.randn(8, 2, 10, 10)
        return x, (x[:, :1] + x[:, 1:].roll(1, 3) > 0).float()

    run, _ = run_of(tmp_path, model, batch, F.binary_cross_entropy_with_logits)
    simple = run.config["simple_models"]
    assert (simple["places"], simple["classes"]) == (True, 2)
    assert simple["linear"] < 0.3 * simple["guess"]


def test_several_answers_of_yes_or_no_are_counted_one_by_one(tmp_path):
    weights = torch.randn(6, 4)

    def batch(step):
        x = torch.randn(40, 6)
        return x, (x @ weights > 0).float()

    run, asked = run_of(tmp_path, nn.Linear(6, 4), batch, F.binary_cross_entropy_with_logits)
    simple = run.config["simple_models"]
    assert simple["bits"]
    assert simple["linear"] < 0.3 * simple["guess"]
    answers, labels = asked[int(run.series("fit_error").steps[0])]
    assert run.series("fit_error").values[0] == pytest.approx(float(((answers > 0) != (labels > 0.5)).float().mean()))


class TwoInputs(nn.Module):
    """Numbers and a category; and perhaps the target, of which it makes the loss itself."""

    def __init__(self):
        super().__init__()
        self.kind, self.out = nn.Embedding(5, 4), nn.Linear(10, 3)

    def forward(self, table, labels=None):
        answers = self.out(torch.cat([table["numbers"], self.kind(table["kind"])], 1))
        return answers if labels is None else F.cross_entropy(answers, labels)


def test_all_inputs_count_and_the_target_is_none_of_them(tmp_path):
    torch.manual_seed(0)
    model = TwoInputs()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def told(by_kind):
        def body(step, monitor):
            table = {"numbers": torch.randn(40, 6), "kind": torch.randint(0, 5, (40,))}
            labels = table["kind"] % 3 if by_kind else torch.randint(0, 3, (40,))
            optimizer.zero_grad()
            model(table, labels=labels).backward()
            optimizer.step()

        return body

    simple = watched(model, optimizer, tmp_path / "kind", told(by_kind=True), steps=30).config["simple_models"]
    assert simple["linear"] < 0.1 * simple["guess"]
    simple = watched(model, optimizer, tmp_path / "chance", told(by_kind=False), steps=30).config["simple_models"]
    assert simple["linear"] > 0.8 * simple["guess"]


def test_a_reconstruction_through_a_narrow_code_is_not_compared_with_the_identity(tmp_path):
    def pictures(step):
        x = torch.rand(40, 16)
        return x + 0.2 * torch.randn(40, 16), x

    def others(step):
        x = torch.rand(40, 16)
        return x, x.flip(1)

    narrow = nn.Sequential(nn.Linear(16, 2), nn.Linear(2, 16))
    copied, _ = run_of(tmp_path / "copied", narrow, pictures, F.binary_cross_entropy_with_logits)
    turned, _ = run_of(tmp_path / "turned", narrow, others, F.binary_cross_entropy_with_logits)
    assert "simple_models" not in copied.config
    assert "simple_models" in turned.config


def test_codes_are_known_by_a_weight_for_each(tmp_path):
    worth = torch.randn(12, generator=torch.Generator().manual_seed(1))

    class Shop(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(2, 1)

        def forward(self, codes, price):
            return self.out(torch.cat([codes.float(), price[:, None]], 1)).squeeze(1)

    model = Shop()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def body(step, monitor):
        codes, price = torch.randint(0, 12, (64, 1)), torch.randn(64)
        optimizer.zero_grad()
        F.mse_loss(model(codes, price), worth[codes[:, 0]] + price).backward()
        optimizer.step()

    simple = watched(model, optimizer, tmp_path, body, steps=30, budget=None).config["simple_models"]
    assert simple["coded_columns"] == [12]
    assert simple["codes"] < 0.01 * simple["numbers"]
