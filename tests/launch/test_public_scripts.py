"""Scripts as people write them: launched, they print the same, end with the same weights, and none is alarmed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from tests.launch.side_by_side import SCRIPTS

import bedside
from bedside.finding import Severity

NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py") if find_spec("keras") or "keras" not in path.stem)
SEVERAL = {"cross_validation": [60] * 5, "distillation": [150] * 2}
STEPS = {"actor_critic": 200, "char_lstm": 130, "dqn": 197, "lbfgs_sine": 12, "mnist": 128, "muon": 200, "nanogpt": 81}
STEPS |= {"keras_convnet": 180, "keras_gan": 120, "keras_loop": 100, "keras_regression": 200, "keras_text": 100}


class Trained:
    """Scripts are trained when a test asks for them, so that each test has its own time."""

    def __init__(self, folder: Path) -> None:
        driver = Path(__file__).parent / "side_by_side.py"
        self._folder = folder
        self._done: set[str] = set()
        self._driver = subprocess.Popen(
            [sys.executable, str(driver), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Under load, threads that wait for each other take minutes, and how many there are changes the last bits.
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def __truediv__(self, name: str) -> Path:
        """`trained / "mnist.plain.out"`: a file of a script, or with its bare name the folder of its record."""
        script = name.partition(".")[0]
        if script not in self._done:
            self._driver.stdin.write(f"{script}\n")
            self._driver.stdin.flush()
            assert self._driver.stdout.readline() == "done\n"
            self._done.add(script)
        return self._folder / name

    def records(self, name: str) -> list[Path]:
        """One for each training of a script."""
        kept = (self / name).parent
        return [path for path in sorted(kept.iterdir()) if path.is_dir() and path.name.rstrip("_0123456789") == name]

    def close(self) -> None:
        self._driver.stdin.close()
        self._driver.wait(60)
        self._driver.stdout.close()


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Iterator[Trained]:
    trained = Trained(tmp_path_factory.mktemp("scripts"))
    yield trained
    trained.close()


def equal(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


@pytest.mark.parametrize("name", NAMES)
def test_a_launched_script_ends_with_the_same_bits_and_no_alarm(trained, name):
    assert [(trained / f"{name}.{kind}.code").read_text() for kind in ("plain", "watched")] == ["0", "0"]
    assert equal(*(torch.load(trained / f"{name}.{kind}.pt") for kind in ("plain", "watched")))
    assert (trained / f"{name}.plain.out").read_text() == (trained / f"{name}.watched.out").read_text()
    diagnoses = [bedside.diagnose(path) for path in trained.records(name)]
    assert len(diagnoses) == len(SEVERAL.get(name, [0]))
    for diagnosis in diagnoses:
        assert diagnosis.verdict != "sick", str(diagnosis)
        assert not [finding for finding in diagnosis.at_least(Severity.WARNING) if not finding.preview]
        assert diagnosis.steps >= 12
    if name in STEPS:
        assert diagnoses[0].steps == STEPS[name]
    if name in SEVERAL:
        assert [each.steps for each in diagnoses] == SEVERAL[name]


def test_models_are_called_what_the_script_calls_them(trained):
    owners = bedside.load(trained / "dcgan").owners("grad_norm")
    assert {owner.partition(".")[0] for owner in owners} == {"netD", "netG"}
    assert set(bedside.load(trained / "by_hand").owners("grad_norm")) == {"w", "b"}
    assert {each.partition(".")[0] for each in bedside.load(trained / "actor_critic").owners("grad_norm")} == {
        "actor",
        "critic",
    }


def test_a_new_optimizer_for_the_same_model_continues_the_record(trained):
    run = bedside.load(trained / "finetune")
    assert len(run.loss) == 160
    assert run.series("lr").values[0] == pytest.approx(3e-3)
    assert run.series("lr").values[-1] == pytest.approx(1e-3)


def test_a_progress_bar_tells_the_validation_loss(trained):
    losses = bedside.load(trained / "denoiser").series("val/loss")
    assert list(losses.steps) == [24, 49, 74, 99, 124, 149, 174, 199]
    assert losses.values[-1] < losses.values[0]


def test_several_trainings_end_with_a_table_and_the_worst_in_full(trained):
    report = (trained / "cross_validation.watched.err").read_text()
    assert report.count("60 steps") == 6  # a line each, and one headline
    assert "5 runs" in report or "5 healthy" in report


@pytest.mark.skipif(find_spec("keras") is None, reason="keras is not installed")
def test_keras_is_watched_under_its_own_names_from_the_first_batch_of_a_fit(trained):
    convnet = bedside.load(trained / "keras_convnet")
    assert {"conv2d", "dense"} <= set(convnet.owners("grad_norm"))
    assert len(convnet.loss) == 180
    assert list(convnet["val/loss"].steps) == [35, 71, 107, 143, 179]
    assert len(convnet["val/accuracy"]) == 5
    assert set(bedside.load(trained / "keras_regression").series("clip_threshold").values) == {5}
    gan = bedside.load(trained / "keras_gan").owners("grad_norm")
    assert {each.partition(".")[0] for each in gan} == {"discriminator", "generator"}
    text = bedside.load(trained / "keras_text")  # compiled anew, with another optimizer, for its last epoch
    assert (len(text.loss), len(text["val/loss"])) == (100, 5)
    assert text["lr"].values[[0, -1]] == pytest.approx([5e-3, 1e-2])
