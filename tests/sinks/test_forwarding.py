"""Forwarding never costs the training anything: full queues, failing, slow and hanging trackers."""

from __future__ import annotations

import threading
import time

import pytest
from tests.sinks.watched_into_sinks import train

import bedside
from bedside.errors import BadOption
from bedside.sinks import Sink, forwarding
from bedside.sinks.tracker_names import tracker_name


class Listening(Sink):
    name = "listening"

    def __init__(self, seconds: float = 0.0, fails: bool = False) -> None:
        self.seconds, self.fails = seconds, fails
        self.steps: list[int] = []
        self.values: dict[str, float] = {}
        self.threads: set[str] = set()
        self.verdict = ""

    def write(self, step, values):
        self.threads.add(threading.current_thread().name)
        time.sleep(self.seconds)
        if self.fails:
            raise ConnectionError("quota exceeded")
        self.steps.append(step)
        self.values.update(values)

    def close(self, ending):
        self.verdict = ending.verdict


def of_sinks(run):
    return next(event.data for event in run.events if event.kind == "sinks")


def test_a_quick_sink_gets_every_step_in_another_thread(tmp_path):
    sink = Listening()
    run = train(tmp_path / "run", [sink])
    assert sorted({*sink.steps}) == list(range(60))
    assert sink.threads == {"bedside sinks"}
    assert sink.verdict == bedside.diagnose(run).verdict
    assert of_sinks(run)["listening"]["lost"] == of_sinks(run)["dropped"] == 0


def test_a_slow_sink_gets_fewer_steps_but_every_validation(tmp_path):
    sink = Listening(seconds=0.1)
    run = train(tmp_path / "run", [sink], steps=200)
    assert {*range(19, 200, 20)} <= {*sink.steps}
    assert len({*sink.steps}) < 100
    assert of_sinks(run)["listening"]["thinned"] > 0
    assert len(run.loss) == 200


def test_a_failing_sink_is_left_alone_and_the_others_go_on(tmp_path, capfd):
    broken, fine = Listening(fails=True), Listening()
    run = train(tmp_path / "run", [broken, fine])
    assert len(run.loss) == len({*fine.steps}) == 60
    assert not broken.steps
    said = capfd.readouterr().err
    assert "bedside: listening: 3 steps were not delivered (ConnectionError: quota exceeded)" in said
    assert of_sinks(run)["listening"]


def test_a_hanging_sink_does_not_hold_up_the_end(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(forwarding, "PATIENCE", 0.5)
    hanging = Listening(seconds=60)
    began = time.perf_counter()
    run = train(tmp_path / "run", [hanging])
    assert time.perf_counter() - began < 50
    assert len(run.loss) == 60


def test_what_finds_the_queue_full_is_counted_and_said(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(forwarding, "PATIENCE", 0.5)
    monkeypatch.setattr(forwarding, "WAITING", 2)
    run = train(tmp_path / "run", [Listening(seconds=1)], steps=400)
    assert of_sinks(run)["dropped"] > 0
    assert "numbers were dropped: the queue to the sinks was full" in capfd.readouterr().err


def test_weights_are_the_same_with_sinks(tmp_path):
    one, other = train(tmp_path / "a", []), train(tmp_path / "b", [Listening()])
    assert one.loss.values.tolist() == other.loss.values.tolist()


def test_what_is_no_sink_is_refused_in_three_lines(tmp_path):
    with pytest.raises(BadOption, match="str is not a sink"):
        train(tmp_path / "run", ["tensorboard"])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("vital", "owner", "name"),
    [
        ("loss", "", "train/loss"),
        ("loss_epoch", "", "train/loss_epoch"),
        ("train/loss", "", "train/loss_logged"),
        ("val/loss", "", "val/loss"),
        ("lr", "", "lr"),
        ("lr", "group_1", "lr/group_1"),
        ("grad_norm", "", "grad_norm/overall"),
        ("grad_norm", "h.0", "grad_norm/h.0"),
        ("grad_norm_clipped", "", "grad_norm_clipped"),
        ("param_norm", "", "param_norm"),
        ("relative_update_norm", "", "relative_update_norm"),
        ("loss_by_category", "cats", "loss_by_category/cats"),
        ("activation_rms", "h.0", "activation/rms/h.0"),
        ("attention_entropy", "attn", "attention_entropy/attn"),
        ("loss_scale", "", "loss_scale"),
        ("batch_fingerprint", "", None),
    ],
)
def test_names_are_those_of_the_design(vital, owner, name):
    assert tracker_name(vital, owner) == name
