"""A resumed run goes on where its checkpoint was saved, on an axis that counts what the optimizer does not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import bedside
from bedside.errors import BedsideError
from bedside.monitor import ranks
from bedside.record.sqlite.reader import open_run
from bedside.record.sqlite.writer import Store


def trained(optimizer, model, steps, **options):
    with bedside.watch(model, optimizer, quiet=True, **options) as monitor:
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.randn(4, 3)).square().mean().backward()
            optimizer.step()
    return monitor


def a_model(kind=torch.optim.Adam):
    model = nn.Linear(3, 1)
    return model, kind(model.parameters(), lr=1e-3)


def test_an_older_checkpoint_takes_the_axis_back(tmp_path):
    model, optimizer = a_model()
    trained(optimizer, model, 20, run_dir=tmp_path / "run")
    saved = optimizer.state_dict()
    trained(optimizer, model, 10, resume=tmp_path / "run")
    optimizer.load_state_dict(saved)
    for state in optimizer.state.values():
        state["step"] = torch.tensor(20.0)
    trained(optimizer, model, 5, resume=tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert run.loss.steps.tolist() == list(range(25))
    assert "10 steps after it belong to an abandoned branch" in run.notes[-1]


def test_what_was_said_wins(tmp_path):
    model, optimizer = a_model()
    trained(optimizer, model, 20, run_dir=tmp_path / "run")
    trained(optimizer, model, 3, resume=tmp_path / "run", step=7)
    assert open_run(tmp_path / "run").loss.steps.tolist() == list(range(10))


def test_an_optimizer_that_does_not_count_goes_on_after_the_last_step(tmp_path):
    model, optimizer = a_model(torch.optim.SGD)
    trained(optimizer, model, 20, run_dir=tmp_path / "run")
    trained(optimizer, model, 3, resume=tmp_path / "run")
    assert open_run(tmp_path / "run").loss.steps.tolist() == list(range(23))


def test_steps_before_the_first_watched_one_are_not_counted(tmp_path):
    model, optimizer = a_model()
    trained(optimizer, model, 50, run_dir=tmp_path / "pretrained")
    trained(optimizer, model, 20, run_dir=tmp_path / "run")
    trained(optimizer, model, 3, resume=tmp_path / "run")
    assert open_run(tmp_path / "run").loss.steps.tolist() == list(range(23))


def test_skipped_steps_are_steps_too(tmp_path):
    from bedside.monitor.resuming import next_step

    store = Store.create(tmp_path)
    rows = np.stack([np.ones(30), np.isin(np.arange(30), [3, 8, 25])], axis=1).astype(float)
    store.rows(store.declare("x", [("loss", ""), ("skipped", "")], "f8"), range(30), [0.0] * 30, rows)
    store.close()
    model, optimizer = a_model()
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    optimizer.state[model.weight]["step"].fill_(18.0)  # of its own count: two were skipped until then
    assert next_step(tmp_path, optimizer) == 20


@pytest.mark.parametrize("step", [-1, 1.5, "7"])
def test_a_step_that_is_none_is_refused(tmp_path, step):
    model, optimizer = a_model()
    with pytest.raises(BedsideError, match="is not the number of a step"):
        bedside.watch(model, optimizer, run_dir=tmp_path / "run", step=step)
    assert not (tmp_path / "run").exists()


def test_a_restart_whose_record_cannot_be_continued_goes_on_in_another_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "rank0.sqlite").write_bytes(b"torn")
    model, optimizer = a_model()
    with pytest.warns(RuntimeWarning, match="after the restart"):
        monitor = trained(optimizer, model, 3, run_dir=tmp_path / "run")
    assert monitor.run_dir == tmp_path / "run-restart1"


def test_two_models_of_a_launch_get_folders_of_their_own(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("MASTER_PORT", "29500")
    first, second = ranks.new_folder(), ranks.new_folder()
    assert first != second
