"""What another thread does with its own model, or with ours, is not read in the middle of this training."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch
from tests.hostile.programs import run
from torch import Tensor, nn
from torch.nn import functional as F

import bedside
from bedside.collect.sampling import budget
from bedside.incident.capture.step_check import StepCheck
from bedside.record.sqlite.unsaved import Unsaved
from bedside.record.sqlite.writer import Store


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
        optimizer.step()


def in_another_thread(call: object) -> None:
    thread = threading.Thread(target=call)  # type: ignore[arg-type]
    thread.start()
    thread.join()


@pytest.mark.parametrize("clip", ["clip_grad_norm_", "clip_grad_value_"])
def test_a_clip_call_for_another_model_reads_no_gradient_of_ours(
    clip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = nn.Linear(6, 3), nn.Linear(6, 3)
    optimizer = torch.optim.SGD(ours.parameters(), 0.1)
    looks: list[int] = []
    answer = StepCheck.answer
    monkeypatch.setattr(StepCheck, "answer", lambda self, each: looks.append(1) or answer(self, each))
    with bedside.watch(ours, optimizer, run_dir=tmp_path / "run", quiet=True, black_box=True):
        train(ours, optimizer, 3)
        F.cross_entropy(ours(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
        before = len(looks)
        theirs(torch.randn(8, 6)).sum().backward()
        in_another_thread(lambda: getattr(nn.utils, clip)(theirs.parameters(), 1.0))
        assert len(looks) == before
        optimizer.step()
        assert len(looks) == before + 1


def test_another_thread_takes_no_training_off_its_fast_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "FULL_RECORDING_SHARE", 0.0)
    monkeypatch.setattr(budget, "QUICK_STEP_SECONDS", 0.0)
    ours, theirs = nn.Linear(6, 3), nn.Linear(6, 3)
    optimizer = torch.optim.SGD(ours.parameters(), 0.1)
    with bedside.watch(ours, optimizer, run_dir=tmp_path / "run", quiet=True, vitals=["loss"]) as monitor:
        for _ in range(400):
            train(ours, optimizer, 1)
            if monitor.dispatcher.fast_path.active:
                break

        def everything() -> None:
            other = torch.optim.SGD(theirs.parameters(), 0.1)
            scaler = torch.amp.GradScaler("cpu")
            scaler.scale(theirs(torch.randn(8, 6)).sum()).backward()
            nn.utils.clip_grad_value_(theirs.parameters(), 1.0)
            nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
            scaler.step(other)
            with bedside.watch(theirs, other, run_dir=tmp_path / "other", quiet=True):
                pass

        assert monitor.dispatcher.fast_path.active
        in_another_thread(everything)
        assert monitor.dispatcher.fast_path.active
        train(ours, optimizer, 100)
        steps = monitor.step
    assert bedside.load(tmp_path / "run").loss.steps.tolist() == list(range(steps))


class Looked(nn.Module):
    """While its forward is under way, another thread may evaluate it on numbers a thousand times as large."""

    def __init__(self, evaluated: bool) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 3)
        self.evaluated = evaluated
        self.evaluating = False

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x).relu()
        if self.evaluated and not self.evaluating:
            self.evaluating = True
            in_another_thread(self.evaluate)
            self.evaluating = False
        return self.last(hidden)

    @torch.no_grad()
    def evaluate(self) -> None:
        self(1000 * torch.ones(8, 6))


def recorded(folder: Path, *, evaluated: bool) -> dict[tuple[str, str], list[float]]:
    torch.manual_seed(0)
    model = Looked(evaluated)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with bedside.watch(model, optimizer, run_dir=folder, quiet=True, budget=None, probes=False):
        train(model, optimizer, 12)
    run_ = bedside.load(folder)
    timed = ("time", "wait")
    return {
        key: run_.series(*key).values.tolist() for key in run_.series_keys if not any(word in key[0] for word in timed)
    }


def test_an_evaluation_in_another_thread_is_not_taken_for_the_forward_under_way(tmp_path: Path) -> None:
    alone = recorded(tmp_path / "alone", evaluated=False)
    beside = recorded(tmp_path / "beside", evaluated=True)
    assert any("activation" in vital for vital, _ in alone)
    assert str(beside) == str(alone)  # as text, since NaN is not equal to itself


def test_what_another_thread_logs_in_the_middle_of_a_commit_is_written_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, others = Store.create(tmp_path / "run"), []

    saved = Unsaved.saved

    def another_logs(unsaved: Unsaved) -> None:
        if not others:
            others.append(threading.Thread(target=lambda: store.metric(1, "val/loss", 0.5)))
            others[0].start()
            others[0].join(0.3)
        saved(unsaved)

    monkeypatch.setattr(Unsaved, "saved", another_logs)
    store.metric(0, "val/loss", 1.0)
    store.commit()
    others[0].join()
    store.close()
    assert bedside.load(tmp_path / "run").series("val/loss").values.tolist() == [1.0, 0.5]


THREE = """
import threading
def one(number):
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    with bedside.watch(model, optimizer, run_dir=f"{sys.argv[1]}-{number}", quiet=True, black_box=True) as monitor:
        for _ in range(60):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,))).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    assert not monitor.dispatcher.off
threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


def test_three_trainings_with_a_black_box_each_do_not_end_in_a_crash(tmp_path: Path) -> None:
    done = run(THREE, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    for number in range(3):
        assert len(bedside.load(tmp_path / f"run-{number}").loss) == 60
