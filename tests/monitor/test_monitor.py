"""What the user calls: log, validation, epoch, resume, diagnose, alarms, and every wrong input with its words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
import torch
from tests.collect.models import CASES, mlp
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.errors import BedsideError
from bedside.record.sqlite.reader import open_run


def steps(model, optimizer, count, *, loss_factor=1.0):
    for _ in range(count):
        inputs, targets = CASES["mlp"].batch()
        optimizer.zero_grad()
        (loss_factor * F.cross_entropy(model(inputs), targets)).backward()
        optimizer.step()


def a_pair(lr=0.1):
    model = mlp()
    return model, torch.optim.SGD(model.parameters(), lr=lr)


def test_validation_metrics_land_under_val_with_and_without_the_block(tmp_path):
    model, optimizer = a_pair()
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        steps(model, optimizer, 3)
        monitor.log(val_loss=torch.tensor(0.5), accuracy=0.9)
        steps(model, optimizer, 2)
        with monitor.validation():
            monitor.log({"loss": 0.4, "f1": 0.7})
        monitor.log(temperature=40)
    run = bedside.load(tmp_path / "run")
    assert run.series("val/loss").steps.tolist() == [2, 4]
    assert run.series("val/loss").values.tolist() == [0.5, 0.4]
    assert run.series("val/accuracy").values.tolist() == [0.9]
    assert run.series("val/f1").values.tolist() == [0.7]
    assert run.series("temperature").values.tolist() == [40.0]
    assert [e.data["moment"] for e in run.events_of("validation")] == ["begin", "end"]


def test_epochs_keep_the_mean_training_loss_beside_the_steps(tmp_path):
    model, optimizer = a_pair()
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        for _ in range(3):
            monitor.epoch()
            steps(model, optimizer, 4)
    run = bedside.load(tmp_path / "run")
    assert run.series("loss_epoch").steps.tolist() == [3, 7]
    assert run.series("loss_epoch").values[0] == pytest.approx(run.loss.values[:4].mean())
    assert run.series("epoch").values.tolist() == [0.0] * 4 + [1.0] * 4 + [2.0] * 4


@pytest.mark.parametrize("falls", [True, False])
def test_whether_the_loss_is_meant_to_fall_is_in_the_config(falls, tmp_path):
    model, optimizer = a_pair()
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, loss_falls=falls):
        steps(model, optimizer, 2)
    assert open_run(tmp_path / "run").config.get("loss_falls", True) is falls


def test_resume_continues_on_the_same_step_axis(tmp_path):
    model, optimizer = a_pair()
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        steps(model, optimizer, 5)
    with bedside.watch(model, optimizer, resume=tmp_path / "run", quiet=True) as monitor:
        assert monitor.step == 5
        steps(model, optimizer, 5)
        assert monitor.diagnose().steps == 10
    run = bedside.load(tmp_path / "run")
    assert run.loss.steps.tolist() == list(range(10))
    assert [event.step for event in run.events_of("resume")] == [5]


def test_diagnose_works_at_any_time_and_after_close(tmp_path):
    model, optimizer = a_pair()
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)
    assert monitor.diagnose().verdict == "unclear"
    steps(model, optimizer, 30)
    inputs, targets = CASES["mlp"].batch()
    F.cross_entropy(model(inputs), targets).backward()
    assert monitor.diagnose().steps == 30  # between backward and step, too
    optimizer.step()
    monitor.close()
    monitor.close()
    assert monitor.diagnose().steps == 31
    assert bedside.diagnose(tmp_path / "run").to_json()["steps"] == 31


def test_an_alarm_is_one_line_on_stderr_once_and_reaches_the_callback(tmp_path, capsys):
    model, optimizer = a_pair()
    seen = []
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", on_finding=seen.append)
    steps(model, optimizer, 40)
    steps(model, optimizer, 60, loss_factor=float("nan"))
    lines = [line for line in capsys.readouterr().err.splitlines() if "nonfinite-loss" in line]
    assert len(lines) == 1
    assert lines[0].startswith("bedside: NUM101 nonfinite-loss: The loss is NaN since step 40")
    assert [f.code for f in seen].count("NUM101") == 1
    monitor.close()
    assert "NUM101 nonfinite-loss" in capsys.readouterr().err  # the report at the end
    alarms = bedside.load(tmp_path / "run").events_of("alarm")
    assert "NUM101" in {alarm.data["code"] for alarm in alarms}


def test_on_finding_can_stop_the_run(tmp_path):
    class Stop(Exception):
        pass

    def stop(finding):
        raise Stop(finding.code)

    def train():
        model, optimizer = a_pair()
        with bedside.watch(model, optimizer, run_dir=tmp_path / "run", on_finding=stop, quiet=True):
            steps(model, optimizer, 40)
            steps(model, optimizer, 2000, loss_factor=float("nan"))

    with pytest.raises(Stop, match="NUM10"):
        train()
    assert bedside.load(tmp_path / "run").steps < 2040


@pytest.mark.parametrize("missing", ["head", "everything"])
def test_an_optimizer_without_all_parameters_is_the_first_finding_at_step_zero(missing, tmp_path):
    model = mlp()
    if missing == "head":
        optimizer = torch.optim.SGD(model[:3].parameters(), lr=0.1)
        expected = "uncovered-parameter"
    else:
        optimizer = torch.optim.SGD(mlp().parameters(), lr=0.1)
        expected = "stale-optimizer"
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        steps(model, optimizer, 50)
        found = monitor.diagnose()
    assert found.primary is not None
    assert found.primary.name == expected
    assert found.primary.first_step == 0


BAD_CALLS = {
    "no trainable parameters": (
        lambda tmp: bedside.watch(mlp().requires_grad_(False), torch.optim.SGD(mlp().parameters(), lr=0.1)),
        ["Sequential has no trainable parameters (6 in all).", "requires_grad=True", "model.requires_grad_(True)"],
    ),
    "not a model": (
        lambda tmp: bedside.watch("resnet", torch.optim.SGD(mlp().parameters(), lr=0.1)),
        ["str is not a model.", "a torch.nn.Module", "bedside.watch(model, optimizer)"],
    ),
    "not an optimizer": (
        lambda tmp: bedside.watch(mlp(), 0.1),
        ["float is not an optimizer.", "a torch.optim.Optimizer", "torch.optim.AdamW"],
    ),
    "unknown vital": (
        lambda tmp: bedside.watch(*a_pair(), vitals=["grad_nrom"]),
        ["No vital is called 'grad_nrom'.", "one of grad_norm", 'vitals=["grad_norm"]'],
    ),
    "a budget of 100": (
        lambda tmp: bedside.watch(*a_pair(), budget=100),
        ["budget=100 is not a share of the step time.", "between 0 and 1", "budget=0.01"],
    ),
    "a loss that falls no": (
        lambda tmp: bedside.watch(*a_pair(), loss_falls="no"),
        ["loss_falls='no' is neither True nor False.", "loss_falls=True or loss_falls=False", "loss_falls=False"],
    ),
    "run_dir is a file": (
        lambda tmp: bedside.watch(*a_pair(), run_dir=tmp / "file"),
        ["file", "folder", "run_dir="],
    ),
    "run_dir below a file": (
        lambda tmp: bedside.watch(*a_pair(), run_dir=tmp / "file" / "run"),
        ["file", "folder", "run_dir="],
    ),
    "run_dir holds another run": (
        lambda tmp: bedside.watch(*a_pair(), run_dir=tmp / "old"),
        ["old", "new or empty folder", "resume="],
    ),
    "nothing to resume": (
        lambda tmp: bedside.watch(*a_pair(), resume=tmp / "nowhere"),
        ["nowhere", "Expected", "run_dir="],
    ),
    "run_dir and resume": (
        lambda tmp: bedside.watch(*a_pair(), run_dir=tmp / "a", resume=tmp / "old"),
        ["Both run_dir=", "run_dir= for a new run", "resume="],
    ),
    "load what is not there": (
        lambda tmp: bedside.load(tmp / "nowhere"),
        ["nowhere", "Expected", "Try"],
    ),
    "load what is not a run": (
        lambda tmp: bedside.load(tmp / "file"),
        ["file", "Expected", "Try"],
    ),
    "unknown rule": (
        lambda tmp: bedside.diagnose(tmp / "old", select=["GRD999"]),
        ["No rule is called 'GRD999'.", "one of GRD10", "bedside rules"],
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_gets_three_lines_and_changes_nothing(case, tmp_path):
    (tmp_path / "file").write_text("this is not a run\n")
    model, optimizer = a_pair()
    with bedside.watch(model, optimizer, run_dir=tmp_path / "old", quiet=True):
        steps(model, optimizer, 2)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    backward = torch.autograd.backward
    call, words = BAD_CALLS[case]
    with pytest.raises(BedsideError) as error:
        call(tmp_path)
    lines = str(error.value).splitlines()
    assert len(lines) == 3, str(error.value)
    assert lines[1].startswith("  Expected: ")
    assert lines[2].startswith("  Try: ")
    for word, line in zip(words, lines, strict=True):
        assert word in line, str(error.value)
    assert torch.autograd.backward is backward
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_logging_words_is_refused_kindly(tmp_path):
    model, optimizer = a_pair()
    monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)
    with pytest.raises(BedsideError, match="accuracy='high' is not a number"):
        monitor.log(loss_on_train=0.5, accuracy="high")
    monitor.close()
    assert not open_run(tmp_path / "run").series_keys, "nothing of such a call is kept"
    with pytest.raises(BedsideError, match="after the monitor was closed at step 0"):
        monitor.log(accuracy=0.5)


SCRIPT = """
import sys, time, torch, bedside
from torch import nn
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
monitor = bedside.watch(model, optimizer, run_dir=sys.argv[1])
for step in range(int(sys.argv[2])):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(2, (16,))).backward()
    optimizer.step()
    if len(sys.argv) > 3:
        print(step, time.time(), flush=True)
        time.sleep(0.005)
"""


def script(tmp_path, *arguments):
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return [sys.executable, str(path), str(tmp_path / "run"), *arguments]


def test_a_script_that_just_ends_gets_its_report_and_a_whole_record(tmp_path):
    done = subprocess.run(script(tmp_path, "60"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "60 steps" in done.stderr
    assert bedside.load(tmp_path / "run").steps == 60


@pytest.mark.parametrize("steps", [300, 900])  # while all is recorded, and when most steps are quiet
def test_a_killed_run_loses_at_most_about_one_second(tmp_path, steps):
    process = subprocess.Popen(script(tmp_path, "100000", "slowly"), stdout=subprocess.PIPE, text=True)
    reported = {}
    for line in process.stdout:
        step, when = line.split()
        reported[int(step)] = float(when)
        if len(reported) == steps:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    run = bedside.load(tmp_path / "run")
    lost = [step for step in reported if step >= run.steps]
    # One second, and what a busy machine adds to it.
    assert reported[steps - 1] - reported[lost[0] if lost else steps - 1] < 2.0
    assert run.steps > 100


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.used = nn.Linear(8, 2)
        self.forgotten = nn.Linear(8, 2)

    def forward(self, x):
        return self.used(torch.relu(self.body(x)))


def test_a_parameter_that_never_gets_a_gradient_is_named(tmp_path):
    model = TwoHeads()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        for _ in range(120):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(16, 8)), torch.randint(2, (16,))).backward()
            optimizer.step()
        found = monitor.diagnose()
    silent = [f for f in found.findings if f.name == "silent-parameter"]
    assert len(silent) == 1
    assert any("forgotten" in place for place in silent[0].where)


def test_a_loop_that_forgets_to_step_is_told(tmp_path, capsys):
    model, optimizer = a_pair()
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run") as monitor:
        for _ in range(40):
            inputs, targets = CASES["mlp"].batch()
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
        assert monitor.step == 0
    assert "LOP110 never-stepped" in capsys.readouterr().err
    assert bedside.diagnose(tmp_path / "run").verdict == "sick"
