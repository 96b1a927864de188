"""Two runs side by side: what diverges, what does not, and what was set differently."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import bedside
from bedside import cli
from bedside.comparison.compare import compare_runs
from bedside.testing import a_run


def noisy(values, seed, size=0.05):
    values = np.asarray(values, float)
    return values * (1 + size * np.random.default_rng(seed).standard_normal(len(values)))


FALLING = 2.0 * np.exp(-np.arange(600) / 150) + 0.2


def test_two_runs_of_one_recipe_are_alike():
    a = a_run(loss=noisy(FALLING, 0), lr=0.1, grad_norm={"front": noisy(FALLING, 2, 0.3)}, val_loss=FALLING[::60] * 1.1)
    b = a_run(loss=noisy(FALLING, 1), lr=0.1, grad_norm={"front": noisy(FALLING, 3, 0.3)}, val_loss=FALLING[::60])
    answer = compare_runs(a, b)
    assert (answer.verdict, answer.first) == ("alike", None)
    assert set(answer.alike) == {"loss", "lr", "grad_norm/front", "val/loss"}


def test_the_step_and_the_module_that_part_first_are_named():
    grown = noisy(FALLING, 2, 0.2) * np.where(np.arange(600) < 300, 1, 20)
    worse = noisy(FALLING, 0) + np.where(np.arange(600) < 360, 0, 1.5)
    a = a_run(loss=worse, grad_norm={"front": grown, "head": noisy(FALLING, 4, 0.2)})
    b = a_run(loss=noisy(FALLING, 1), grad_norm={"front": noisy(FALLING, 3, 0.2), "head": noisy(FALLING, 5, 0.2)})
    answer = compare_runs(a, b)
    assert answer.first.key == "grad_norm/front"
    assert answer.first.step == pytest.approx(300, abs=12)
    assert [each.key for each in answer.divergences] == ["grad_norm/front", "loss"]
    assert answer.alike == ("grad_norm/head",)


def test_a_difference_that_does_not_last_is_none():
    bump = np.where((np.arange(600) > 200) & (np.arange(600) < 300), 1.0, 0.0)
    assert compare_runs(a_run(loss=noisy(FALLING, 0) + bump), a_run(loss=noisy(FALLING, 1))).verdict == "alike"


def test_a_nan_in_one_of_them_is_a_divergence_at_its_step():
    lost = [*noisy(FALLING, 0)[:400], *[math.nan] * 200]
    answer = compare_runs(a_run(loss=lost), a_run(loss=noisy(FALLING, 1)))
    assert (answer.first.key, answer.first.step) == ("loss", 400)


def test_runs_that_share_their_random_numbers_part_at_the_very_step():
    losses = noisy(FALLING, 0)
    later = losses.copy()
    later[123:] *= 1.001  # far less than the noise
    later[300:] *= 1.5
    answer = compare_runs(a_run(loss=losses), a_run(loss=later))
    assert (answer.first.step, answer.first.exact) == (123, True)


def test_rounding_that_adds_up_is_no_divergence():
    losses = noisy(FALLING, 0)
    drifted = losses * (1 + np.linspace(0, 1e-4, 600))
    assert compare_runs(a_run(loss=losses), a_run(loss=drifted)).verdict == "alike"


def test_a_learning_rate_that_was_set_otherwise_comes_before_what_came_of_it():
    a = a_run(loss=noisy(FALLING, 0) * 3, lr=0.1, config={"optimizers": [{"lr": 0.1, "name": "SGD"}]})
    b = a_run(loss=noisy(FALLING, 1), lr=0.01, config={"optimizers": [{"lr": 0.01, "name": "SGD"}]})
    answer = compare_runs(a, b)
    assert answer.first.key == "lr"
    assert [(each.name, each.a, each.b) for each in answer.settings] == [("optimizers.0.lr", 0.1, 0.01)]


def test_what_only_one_of_them_recorded_is_named_on_its_side():
    a = a_run(loss=noisy(FALLING, 0), grad_norm={"front": FALLING, "head": FALLING}, val_loss=FALLING[::60])
    b = a_run(loss=noisy(FALLING, 1), grad_norm={"front": FALLING}, lr=0.1)
    answer = compare_runs(a, b)
    assert set(answer.only_a) == {"grad_norm/head", "val/loss"}
    assert answer.only_b == ("lr",)


def test_the_pictures_are_of_the_losses_and_of_what_diverged_first():
    grown = noisy(FALLING, 2, 0.2) * np.where(np.arange(600) < 300, 1, 20)
    a = a_run(loss=noisy(FALLING, 0), lr=0.1, grad_norm={"front": grown}, val_loss=FALLING[::60])
    b = a_run(loss=noisy(FALLING, 1), lr=0.1, grad_norm={"front": noisy(FALLING, 3, 0.2)})
    answer = compare_runs(a, b)
    assert list(answer.pictures) == ["loss", "grad_norm/front"]  # not a validation loss that one of them lacks
    left, right = answer.pictures["loss"]
    assert (left[0], right[0]) == ((0, a.loss.values[0]), (0, b.loss.values[0]))


def test_nothing_in_common_is_unclear():
    assert compare_runs(a_run(loss=[1.0] * 20), a_run(val_wer=[1.0] * 20)).verdict == "unclear"


def trained(folder, rate=0.1, seed=0, steps=150):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    with bedside.watch(model, optimizer, run_dir=folder, quiet=True, budget=None):
        for step in range(steps):
            x = torch.randn(32, 10)
            if step == 60 and rate > 0.1:
                with torch.no_grad():
                    model[0].weight.mul_(3)
            optimizer.zero_grad()
            F.mse_loss(model(x), x[:, :1]).backward()
            optimizer.step()
    return folder


def test_recorded_runs_on_the_command_line(tmp_path, capsys):
    a, b = trained(tmp_path / "a"), trained(tmp_path / "b", rate=0.2)
    assert cli.run(["compare", str(a), str(b)]) == 1
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    said = " ".join(text.split())
    assert "they diverge at step 0" in said
    assert "first in lr: 0.1 in the first, 0.2 in the second" in said
    assert "optimizers.0.lr: 0.1 in the first, 0.2 in the second" in said
    assert cli.run(["compare", str(a), str(trained(tmp_path / "again"))]) == 0
    capsys.readouterr()
    assert cli.run(["compare", str(a), str(b), "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert answer["first"]["key"] == "lr"
    assert {"name": "optimizers.0.lr", "a": 0.1, "b": 0.2} in answer["settings"]


def test_logs_of_other_tools_and_a_path_that_does_not_exist(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, seed, factor in (("a.csv", 0, 1), ("b.csv", 1, 3)):
        rows = "".join(f"{step},{loss}\n" for step, loss in enumerate(noisy(FALLING, seed) * factor))
        (tmp_path / name).write_text("step,loss\n" + rows)
    assert str(bedside.compare("a.csv", "b.csv")).startswith(
        "a.csv compared with b.csv · 600 and 600 steps · they diverge"
    )
    assert cli.run(["compare", "a.csv", "nowhere.csv"]) == 2
    assert "nowhere.csv does not exist." in capsys.readouterr().err


CLIPPED = {"grad_norm": noisy(np.full(600, 40.0), 0, 0.2), "clip_threshold": 1.0, "lr": 0.1}


class TestBaseline:
    """What a good run of the same family shows as well is normal."""

    def test_what_the_good_run_shows_too_is_only_noted(self):
        run = a_run(loss=noisy(FALLING, 0), name="today", **CLIPPED)
        good = a_run(loss=noisy(FALLING, 1), name="good", **CLIPPED)
        assert bedside.diagnose(run).primary.name == "gradient-always-clipped"
        answer = bedside.diagnose(run, baseline=good)
        assert answer.verdict == "healthy"
        [note] = [each for each in answer.findings if each.name == "gradient-always-clipped"]
        assert note.severity.word == "note"
        assert "normal for this family: good shows it as well" in note.message
        assert "Beside good: No difference in" in str(answer)
        assert answer.to_json()["baseline"]["verdict"] == "alike"

    def test_what_only_this_run_shows_stays_an_alarm(self):
        lost = [*noisy(FALLING, 0)[:400], *[math.nan] * 200]
        answer = bedside.diagnose(a_run(loss=lost), baseline=a_run(loss=noisy(FALLING, 1), name="good"))
        assert answer.primary.name == "nonfinite-loss"
        assert "They diverge at step 400, first in loss" in str(answer)

    def test_on_the_command_line(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        for name, seed in (("run.csv", 0), ("good.csv", 1)):
            rows = zip(noisy(FALLING, seed), noisy(np.full(600, 40.0), seed, 0.2), strict=True)
            lines = "".join(f"{step},{loss},{norm},1.0\n" for step, (loss, norm) in enumerate(rows))
            (tmp_path / name).write_text("step,loss,grad_norm,clip_threshold\n" + lines)
        assert cli.run(["diagnose", "run.csv", "--fail-on", "warning"]) == 1
        assert cli.run(["diagnose", "run.csv", "--fail-on", "warning", "--baseline", "good.csv"]) == 0
        capsys.readouterr()
        assert cli.run(["diagnose", "run.csv", "--baseline", "nowhere.csv"]) == 2
        assert "nowhere.csv does not exist." in capsys.readouterr().err
