"""Losses, rates and norms equal what the Trainers of transformers and TRL log, with and without accumulation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.integrations.language_models import CLIP, KINDS, STEPS, logged, make_trainer
from tests.launch.processes import BEDSIDE, run

import bedside
from bedside.finding import Severity

pytest.importorskip("transformers")

ACCUMULATIONS = (1, 2, 4)


def needs(kind: str) -> None:
    if kind != "trainer":
        pytest.importorskip("trl")


def check(folder: Path, logs: list[dict[str, float]], accumulation: int) -> None:
    recorded = bedside.load(folder)
    assert recorded.steps == len(logs) == STEPS
    np.testing.assert_allclose(recorded.loss.values, [each["loss"] for each in logs], rtol=1e-3)
    np.testing.assert_allclose(recorded.series("grad_norm").values, [each["grad_norm"] for each in logs], rtol=1e-4)
    np.testing.assert_allclose(recorded.series("lr").values, [each["learning_rate"] for each in logs], rtol=1e-4)
    assert set(recorded.series("micro_batches").values) == {accumulation}
    assert set(recorded.series("clip_threshold").values) == {CLIP}
    assert recorded.series("grad_norm_clipped").values.max() == pytest.approx(CLIP, rel=1e-3)
    diagnosis = bedside.diagnose(folder)
    said = {each.name for each in diagnosis.findings}
    assert not said & {"unscaled-accumulation", "loss-spike", "wrong-initial-loss", "loss-at-chance"}, str(diagnosis)
    assert not [each for each in diagnosis.at_least(Severity.WARNING) if not each.preview], str(diagnosis)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("way", "accumulation"), [*(("attach", each) for each in ACCUMULATIONS), ("callback", 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_are_the_trainer_s_own(tmp_path, monkeypatch, kind, way, accumulation):
    from bedside.integrations.transformers import BedsideCallback, attach

    needs(kind)
    monkeypatch.chdir(tmp_path)
    options = {"run_dir": tmp_path / "run", "quiet": True}
    if way == "attach":
        trainer = make_trainer(kind, accumulation)
        attach(trainer, **options)
    else:
        trainer = make_trainer(kind, accumulation, callbacks=[BedsideCallback(**options)])
    trainer.train()
    check(tmp_path / "run", logged(trainer), accumulation)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_are_the_trainer_s_own_in_an_unchanged_script(tmp_path, kind):
    needs(kind)
    script = Path(__file__).with_name("language_models.py")
    launched = run([*BEDSIDE, "--run-dir", "run", str(script), kind, *map(str, ACCUMULATIONS)], tmp_path)
    assert launched.returncode == 0, launched.stderr
    folders = sorted({path.parent for path in tmp_path.rglob("rank0.sqlite")})
    assert len(folders) == len(ACCUMULATIONS), launched.stderr
    for folder, accumulation in zip(folders, ACCUMULATIONS, strict=True):
        check(folder, json.loads((tmp_path / f"accumulation_{accumulation}.json").read_text()), accumulation)


@pytest.mark.filterwarnings("ignore")
def test_a_preference_loss_that_begins_at_ln_2_is_no_chance_level(tmp_path, monkeypatch):
    from bedside.integrations.transformers import attach

    pytest.importorskip("trl")
    monkeypatch.chdir(tmp_path)
    trainer = make_trainer("dpo", 1, steps=60)
    attach(trainer, run_dir=tmp_path / "run", quiet=True)
    trainer.train()
    recorded = bedside.load(tmp_path / "run")
    assert recorded.loss.values[0] == pytest.approx(math.log(2), rel=1e-3)
    assert recorded.loss.values[-5:].mean() < 0.5
    assert any("rewards" in name for name in recorded), list(recorded)
    diagnosis = bedside.diagnose(tmp_path / "run")
    assert not [each for each in diagnosis.at_least(Severity.WARNING) if not each.preview], str(diagnosis)
