"""Whether the label is among the inputs."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

from bedside.collect.reading import device_queue as queue
from bedside.collect.sampling import flush_timing
from bedside.collect.vitals.leaked_labels import Table

WIDTH = 12


def recorded(make_input, tmp_path, *, classes=3, steps=40, loss=F.cross_entropy, outputs=None, rows=32, draw=None):
    """The events of a run on noise, into which `make_input(x, y)` may put something of the labels."""
    generator = torch.Generator().manual_seed(3)
    model = nn.Sequential(nn.Flatten(), nn.LazyLinear(outputs or classes))
    optimizer = None

    def batch():
        y = torch.randint(0, classes, (rows,), generator=generator)
        return make_input(torch.randn(rows, WIDTH, generator=generator), y), y

    draw = draw or batch
    model(draw()[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        x, y = draw()
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=steps)
    return [event.data for event in run.events_of("label_in_input")]


def with_column(x, column):
    return torch.cat([x, column[:, None].float()], 1)


def test_a_column_that_is_the_label_under_another_name_is_found_and_named(tmp_path):
    [event] = recorded(lambda x, y: with_column(x, 0.7 - 3 * y), tmp_path)
    assert event == {"leak": True, "examples": 256, "classes": 3, "columns": 1, "first": WIDTH, "of": WIDTH + 1}


def test_a_one_hot_copy_of_the_label_is_found(tmp_path):
    [event] = recorded(lambda x, y: torch.cat([F.one_hot(y, 3).float(), x], 1), tmp_path)
    assert (event["columns"], event["first"]) == (3, 0)


def test_a_label_in_the_corner_of_an_image_is_found_whatever_its_size(tmp_path):
    def image(x, y):
        images = torch.rand(len(x), 1, 40, 40)
        images[:, 0, -1, -1] = y.float()
        return images

    [event] = recorded(image, tmp_path)
    assert (event["columns"], event["first"], event["of"]) == (1, 1599, 1600)


def test_targets_of_zeros_and_ones_are_labels_as_well(tmp_path):
    def loss(scores, y):
        return F.binary_cross_entropy_with_logits(scores, y[:, None].float())

    [event] = recorded(with_column, tmp_path, classes=2, outputs=1, loss=loss)
    assert event["leak"]


@pytest.mark.parametrize("agreement", [0.9, 0.98])
def test_a_strong_feature_is_no_leak(agreement, tmp_path):
    def feature(x, y):
        return with_column(x, torch.where(torch.rand(len(y)) < agreement, y, 1 - y))

    assert recorded(feature, tmp_path, classes=2) == []


def test_a_column_that_tells_one_class_from_the_others_is_no_leak(tmp_path):
    assert recorded(lambda x, y: with_column(x, y == 1), tmp_path) == []


def test_a_column_with_several_numbers_in_a_class_is_no_leak(tmp_path):
    assert recorded(lambda x, y: with_column(x, y + 0.1 * torch.rand(len(y))), tmp_path) == []


def test_a_batch_that_is_learnt_by_heart_proves_nothing(tmp_path):
    torch.manual_seed(0)
    x, y = torch.randn(64, WIDTH), torch.randint(0, 2, (64,))
    x[:, 5] = y
    assert recorded(None, tmp_path, classes=2, draw=lambda: (x, y)) == []


def test_what_agreed_by_chance_is_taken_back(tmp_path):
    seen = 0

    def late(x, y):
        nonlocal seen
        seen += len(y)
        return with_column(x, y if seen < 600 else torch.zeros_like(y))

    assert [event["leak"] for event in recorded(late, tmp_path)] == [True, False]


def test_sequences_and_tokens_are_not_looked_at(tmp_path):
    assert recorded(lambda x, y: with_column(x, y)[:, :, None].repeat(1, 1, 2), tmp_path) == []


@pytest.mark.parametrize(("make_input", "looks"), [(with_column, 16), (lambda x, y: x, 1)], ids=["a leak", "none"])
def test_it_stops_looking_once_it_knows(make_input, looks, tmp_path, monkeypatch):
    rows = []
    add = Table.add
    monkeypatch.setattr(Table, "add", lambda self, x, y: (rows.append(len(x)), add(self, x, y)))
    monkeypatch.setattr(flush_timing, "MIN_STEPS", 1)
    recorded(make_input, tmp_path, rows=300, steps=30)
    assert rows == [256] * looks


def test_nothing_waits_for_a_device(tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "on_cpu", lambda tensor: False)
    [event] = recorded(with_column, tmp_path)
    assert event["leak"]


@pytest.mark.parametrize("leaks", [True, False])
def test_the_verdict_is_that_of_an_obvious_search(leaks):
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 4, (400, 6), generator=generator).float() + torch.rand(400, 6, generator=generator)
    y = torch.randint(-1, 4, (400,), generator=generator)
    x[:, 2] = torch.tensor([5.0, 1.0, 3.0, 2.0, 9.0])[y] if leaks else torch.tensor([5.0, 1.0, 3.0, 3.0, 9.0])[y]
    table = Table(x[:50], 4)
    for part, labels in zip(x.split(50), y.split(50), strict=True):
        table.add(part, labels)
    found, _, examples, classes, columns, first = table.verdict().tolist()
    numbers = {c: {float(v) for v in x[y == c][:, 2]} for c in range(4)}
    apart = len(set.union(*numbers.values())) == 4 and all(len(each) == 1 for each in numbers.values())
    assert found == apart == leaks
    assert (examples, classes, columns, first) == (int((y >= 0).sum()), 4, 1, 2)


@pytest.mark.parametrize("pick", [lambda mask: mask, lambda mask: mask.nonzero()[:, 0]])
def test_a_label_is_found_where_the_loss_leaves_samples_out(pick, tmp_path):
    def loss(scores, y):
        mask = pick(torch.arange(len(y)) % 3 > 0)
        return F.cross_entropy(scores[mask], y[mask])

    [event] = recorded(with_column, tmp_path, loss=loss, steps=60)
    assert (event["leak"], event["first"]) == (True, WIDTH)


def test_what_could_not_be_compared_is_not_said_to_be(tmp_path):
    """Outputs that are rearranged before the loss: which row belongs to which label is anybody's guess."""

    def train(folder, loss):
        model = nn.Linear(WIDTH, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def body(step, monitor):
            optimizer.zero_grad()
            loss(model(torch.randn(32, WIDTH)), torch.randint(0, 3, (32,))).backward()
            optimizer.step()

        return watched(model, optimizer, tmp_path / folder, body, steps=40).config.get("labels_compared")

    assert train("plain", F.cross_entropy) >= 256
    assert train("halved", lambda scores, y: F.cross_entropy(scores.reshape(16, 2, 3).mean(1), y[::2])) is None


@pytest.mark.parametrize("leaks", [True, False])
def test_a_yes_or_no_asked_at_each_place_of_a_sequence_is_a_label_there(leaks, tmp_path):
    generator = torch.Generator().manual_seed(3)

    def draw():
        x, y = torch.randn(16, 5, 4, generator=generator), torch.randint(0, 2, (16, 5), generator=generator)
        x[..., 2] = 0.7 - 3 * (y if leaks else y.roll(1, 1))
        return x, y

    def masked(scores, y):
        each = F.binary_cross_entropy_with_logits(scores, y.float(), reduction="none")
        return (each * (torch.arange(5) > 1)).mean()

    found = recorded(None, tmp_path, outputs=5, loss=masked, draw=draw)
    assert [(each["leak"], each["first"], each["of"]) for each in found] == [(True, 2, 4)] * leaks
