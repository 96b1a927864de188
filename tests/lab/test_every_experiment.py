"""What every experiment of the lab promises: it puts everything back, repeats itself, prints, plots and is recorded."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.training.models import a_training, cross_entropy, everything, loader, same

import bedside
from bedside import lab
from bedside.lab import treatments
from bedside.lab.experiment_result import Result
from bedside.report.lab_results import experiments
from bedside.testing import a_run

NOISE = np.random.default_rng(0).normal(size=(2, 300))
STUCK = a_run(
    loss=1.1 + 0.02 * NOISE[0],
    lr=1e-6,
    grad_norm=0.5 + 0.05 * NOISE[1],
    relative_update=1e-9,
    config={"classes": 3},
)


def with_objects(training):
    """Model, loader, loss and optimizer as an experiment takes them."""
    return training.model, training.loader, training.loss_fn, training.optimizer


def differential(training, loss_fn):
    model, batches, _, optimizer = with_objects(training)
    return lab.differential(
        STUCK, model, batches, loss_fn, optimizer, val_loader=batches, evaluate=lambda: 1.0, steps=3, loop=training.loop
    )


EXPERIMENTS = {
    "lr_range": lambda t, f: lab.lr_range(
        t.model, t.loader, f, t.optimizer, points=20, repeats=2, fork_steps=5, loop=t.loop
    ),
    "overfit_batch": lambda t, f: lab.overfit_batch(t.model, t.loader, f, steps=10),
    "trial": lambda t, f: lab.trial(t.model, t.loader, f, t.optimizer, steps=3, repeats=2, loop=t.loop),
    "nan_hunt": lambda t, f: lab.nan_hunt(t.model, t.loader, f, t.optimizer, steps=3, loop=t.loop),
    "find_nan": lambda t, f: lab.find_nan(t.model),
    "validate_batch": lambda t, f: lab.validate_batch(next(iter([(torch.ones(4, 8), torch.arange(4))])), classes=3),
    "rerun": lambda t, f: lab.rerun(t.model, t.loader, f, loop=t.loop),
    "gradient_summary": lambda t, f: lab.gradient_summary(t.model, t.loader, f, batches=2, loop=t.loop),
    "gradient_flow": lambda t, f: lab.gradient_flow(t.model, t.loader, f, t.optimizer, steps=4, loop=t.loop),
    "gradient_noise": lambda t, f: lab.gradient_noise(
        t.model, t.loader, f, t.optimizer, batches=4, steps=2, loop=t.loop
    ),
    "dead_units": lambda t, f: lab.dead_units(t.model, t.loader),
    "sharpness": lambda t, f: lab.sharpness(t.model, t.loader, f, perturbations=3, eigenvalues=1, batches=2),
    "landscape": lambda t, f: lab.landscape(t.model, t.loader, f, points=3, batches=2, dimensions=2),
    "differential": differential,
    "schedules": lambda t, f: lab.schedules.preview(t.loop.scheduler, 20),
}
WITHOUT_LOSS = {"find_nan", "validate_batch", "dead_units", "schedules"}
WITHOUT_PICTURE = {"nan_hunt", "find_nan", "validate_batch", "rerun"}
NOT_OF_A_MODEL = {"validate_batch", "schedules", "differential"}


def with_gradients():
    training = a_training()
    training.model(training.batches[0][0]).sum().backward()  # a call in the middle of the user's step
    return dataclasses.replace(training)


def test_every_experiment_is_here_and_in_the_catalogue():
    files = {path.stem for path in Path(lab.__file__).parent.glob("experiments/*.py")} - {"__init__"}
    assert set(EXPERIMENTS) == set(lab.EXPERIMENTS) == files
    for name in lab.EXPERIMENTS:
        assert callable(getattr(lab, name)) or name == "schedules"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_everything_is_put_back_and_twice_gives_the_same(name):
    training = with_gradients()
    before = everything(training)
    first = EXPERIMENTS[name](training, cross_entropy)
    assert same(everything(training), before)
    second = EXPERIMENTS[name](training, cross_entropy)
    assert json.dumps(first.to_json(), allow_nan=False) == json.dumps(second.to_json(), allow_nan=False)
    assert str(first) == str(second)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_training_afterwards_is_bitwise_as_if_nothing_had_happened(name):
    ends = []
    for disturbed in (False, True):
        training = with_gradients()
        if disturbed:
            EXPERIMENTS[name](training, cross_entropy)
        training = dataclasses.replace(training)
        losses = [training.step(step) for step in range(3)]
        ends.append((losses, everything(training)))
    assert same(*ends)


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in WITHOUT_LOSS])
def test_everything_is_put_back_when_it_is_left_by_an_exception(name, raised):
    training = with_gradients()
    before = everything(training)
    calls = []

    def fails_at_the_second(output, batch):
        calls.append(1)
        if len(calls) == 2:
            raise raised("stop")
        return cross_entropy(output, batch)

    with pytest.raises(raised):
        EXPERIMENTS[name](training, fails_at_the_second)
    assert same(everything(training), before)
    for module in training.model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_results_print_plot_and_serialise(name, tmp_path):
    result = EXPERIMENTS[name](a_training(), cross_entropy)
    assert isinstance(result, Result)
    assert str(result).strip()
    assert "\n\n" not in str(result)
    assert result.to_json()["experiment"] == name
    assert json.loads(json.dumps(result.to_json(), allow_nan=False))["text"] == str(result)
    assert str(result).splitlines()[0].split()[0] in result._repr_html_()
    if name in WITHOUT_PICTURE:
        with pytest.raises(bedside.BedsideError, match="has no picture"):
            result.plot()
        return
    for ending in ("png", "svg"):
        result.plot(tmp_path / f"picture.{ending}")
        assert (tmp_path / f"picture.{ending}").stat().st_size > 1000


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in NOT_OF_A_MODEL])
def test_a_watched_run_gets_the_result_and_none_of_the_steps(name, tmp_path):
    records = []
    for disturbed in (False, True):
        training = a_training(0)
        folder = tmp_path / str(disturbed)
        with bedside.watch(training.model, training.optimizer, run_dir=folder, quiet=True, budget=None) as monitor:
            for step in range(6):
                if disturbed and step == 3:
                    EXPERIMENTS[name](dataclasses.replace(training), cross_entropy)
                    assert monitor.step == 3
                training.step(step)
        records.append(bedside.load(folder))
    plain, disturbed = records
    assert [event.data["experiment"] for event in disturbed.events_of("experiment")] == [name]
    (shown,) = experiments(disturbed)
    assert shown["text"]
    assert (shown["picture"] is not None) == (name not in WITHOUT_PICTURE)
    for key in (("loss", ""), ("grad_norm", ""), ("grad_norm", "head"), ("relative_update", "")):
        assert disturbed.series(*key).values.tolist() == plain.series(*key).values.tolist(), key


def test_a_picture_needs_a_known_ending(tmp_path):
    result = lab.landscape(a_training().model, loader(), cross_entropy, points=3)
    with pytest.raises(bedside.BedsideError, match=r"No picture can be saved as 'a\.xyz'"):
        result.plot(tmp_path / "a.xyz")


def test_treatments_of_your_own_are_tried_too():
    training = a_training()
    slower = treatments.Treatment("half the rate", treatments.learning_rate(0.5).apply)
    result = lab.trial(*with_objects(training), [slower], steps=2, repeats=2)
    assert [arm.name for arm in result.arms] == ["half the rate"]
