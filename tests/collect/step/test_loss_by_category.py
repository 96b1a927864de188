"""Loss by category, against a plain mean over the samples of each."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import bedside
from bedside import stderr
from bedside.errors import BadOption
from bedside.record.sqlite.reader import open_run


@pytest.fixture
def watched(tmp_path):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)

    def step():
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()

    def finished():
        monitor.close()
        return open_run(tmp_path / "run")

    return monitor, step, finished


def test_means_per_category_are_those_of_their_samples(watched):
    monitor, step, finished = watched
    torch.manual_seed(0)
    seen = {"rock": [], "jazz": []}
    for _ in range(10):
        step()
        names = [("rock", "jazz")[int(i)] for i in torch.randint(2, (8,))]
        losses = torch.rand(8, requires_grad=True)
        for name, loss in zip(names, losses.tolist(), strict=True):
            seen[name].append(loss)
        monitor.categories(losses, names)
    run = finished()
    for name, losses in seen.items():
        assert run.series("loss_by_category", name).last == pytest.approx(np.mean(losses), rel=1e-6)


def test_integer_labels_on_the_device_are_names_too(watched):
    monitor, step, finished = watched
    step()
    monitor.categories(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([7, 3, 7]))
    run = finished()
    assert (run.series("loss_by_category", "7").last, run.series("loss_by_category", "3").last) == (2.5, 2.0)


def test_sums_over_samples_of_different_length_are_divided(watched):
    monitor, step, finished = watched
    step()
    monitor.categories(torch.tensor([10.0, 60.0]), ["short", "long"], lengths=[5, 30])
    run = finished()
    assert run.series("loss_by_category", "short").last == run.series("loss_by_category", "long").last == 2.0


def test_losses_per_token_are_averaged_where_the_mask_says(watched):
    monitor, step, finished = watched
    step()
    losses = torch.tensor([[1.0, 3.0, 9.0], [4.0, 9.0, 9.0]])
    monitor.categories(losses, ["a", "b"], mask=torch.tensor([[1, 1, 0], [1, 0, 0]]))
    run = finished()
    assert (run.series("loss_by_category", "a").last, run.series("loss_by_category", "b").last) == (2.0, 4.0)


def test_a_report_is_written_every_hundred_steps_at_epochs_and_after_evaluations(watched):
    monitor, step, finished = watched
    for _ in range(230):
        step()
        monitor.categories(torch.ones(2), ["a", "b"])
    monitor.epoch()
    with monitor.validation():
        monitor.categories(torch.full((2,), 5.0), ["a", "b"])
    run = finished()
    assert run.series("loss_by_category", "a").steps.tolist() == [99, 199, 229]
    assert run.series("val/loss_by_category", "b").values.tolist() == [5.0]


def test_thousands_of_categories_are_written_and_the_next_batch_touches_its_own_only(watched):
    monitor, step, finished = watched
    step()
    labels = [f"category {i}" for i in range(5000)]
    monitor.categories(torch.arange(5000.0), labels)
    monitor.epoch()  # a report: what follows begins anew
    monitor.categories(torch.ones(8), labels[:8])
    monitor.dispatcher.flush()
    assert list(monitor._categories._sums[False]) == labels[:8]
    run = finished()
    assert len(run.owners("loss_by_category")) == 5000
    assert run.series("loss_by_category", "category 4999").last == 4999


def test_padding_that_was_not_masked_is_said_once(watched):
    monitor, step, finished = watched
    step()
    losses = torch.rand(8, 20)
    losses[:, 12:] = 0.0
    with pytest.warns(RuntimeWarning, match=r"40 % of the losses are exactly zero.*\n  Expected: .*\n  Try: .*mask="):
        monitor.categories(losses, ["a"] * 8)
    monitor.categories(losses, ["a"] * 8)
    assert [event.kind for event in finished().events].count("categories_not_normalised") == 1


def test_means_that_are_divided_by_their_lengths_once_more_are_noticed(watched):
    monitor, step, finished = watched
    torch.manual_seed(0)
    step()
    lengths = torch.randint(5, 100, (80,))
    monitor.categories(1 + 0.05 * torch.randn(80), ["a"] * 80, lengths=lengths)
    with pytest.warns(RuntimeWarning, match="means already"):
        monitor.epoch()
    finished()


def test_sums_that_grow_with_their_lengths_are_quite_right(watched):
    monitor, step, finished = watched
    torch.manual_seed(0)
    step()
    lengths = torch.randint(5, 100, (80,))
    monitor.categories(lengths * (1 + 0.05 * torch.randn(80)), ["a"] * 80, lengths=lengths)
    assert not finished().events_of("categories_not_normalised")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((torch.rand(3), ["a", "b"]), {}, "There are 3 losses, but 2 labels."),
        ((torch.tensor(1.0), ["a"]), {}, "The losses are one number."),
        ((1.0, ["a"]), {}, "The losses are float."),
        ((torch.rand(2), "ab"), {}, "There are 2 losses, but labels of type str."),
        ((torch.rand(2), ["a", "b"]), {"lengths": [1]}, "There are 2 losses, but 1 lengths."),
        ((torch.rand(2, 3), ["a", "b"]), {"mask": torch.ones(2)}, r"The mask is \(2,\), the losses are \(2, 3\)."),
    ],
)
def test_what_does_not_fit_is_refused_in_three_lines(arguments, options, message, watched):
    monitor, _, finished = watched
    with pytest.raises(BadOption, match=message) as refused:
        monitor.categories(*arguments, **options)
    assert str(refused.value).count("\n") == 2
    finished()


def test_a_warning_that_is_an_error_to_the_program_does_not_end_recording(watched, monkeypatch):
    monitor, step, _ = watched
    said = []
    monkeypatch.setattr(stderr, "_instead_of_raising", said.append)
    step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as `python -W error` does
        losses = torch.rand(8, 20)
        losses[:, 12:] = 0.0
        monitor.categories(losses, ["a"] * 8)
        step()
        monitor.epoch()
    assert len(said) == 1
    assert not monitor.dispatcher.off
