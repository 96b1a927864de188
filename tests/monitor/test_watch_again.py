"""What people do around `watch`: freeze layers after it, build lazy ones, fail, and run the same cell again."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bedside
from bedside.errors import RunFolder
from bedside.monitor.monitor import monitors
from bedside.record.sqlite.reader import open_run


def net(first=nn.Linear):
    layer = nn.LazyLinear(16) if first is nn.LazyLinear else nn.Linear(20, 16)
    return nn.Sequential(layer, nn.ReLU(), nn.Linear(16, 3))


def train(model, optimizer, steps=3, backward=torch.Tensor.backward):
    for _ in range(steps):
        optimizer.zero_grad()
        backward(F.cross_entropy(model(torch.randn(8, 20)), torch.randint(3, (8,))))
        optimizer.step()


def test_freezing_layers_before_the_first_backward_switches_nothing_off(tmp_path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        model[0].requires_grad_(False)
        train(model, optimizer, 5)
    run = open_run(tmp_path / "run")
    assert not run.events_of("switched_off")
    assert len(run.series("grad_norm", "2")) == 5
    assert [each.name for each in run.parameters if each.trainable] == ["2.weight", "2.bias"]


def test_lazy_layers_are_read_from_their_first_backward_on(tmp_path):
    model = net(nn.LazyLinear)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        train(model, optimizer, 5)
    run = open_run(tmp_path / "run")
    assert not run.events_of("switched_off")
    assert run.series("grad_norm", "0").steps.tolist() == [0, 1, 2, 3, 4]
    assert run.config["parameters"] == sum(p.numel() for p in model.parameters())
    assert not run.events_of("coverage")[-1].data["stale"]


def test_a_failed_watch_leaves_no_folder_that_refuses_the_next_attempt(tmp_path, monkeypatch):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fails(*args, **kwargs):
        raise ValueError("boom")

    with monkeypatch.context() as broken:
        broken.setattr("bedside.monitor.monitor.lay_out", fails)
        with pytest.raises(ValueError, match="boom"):
            bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()
    bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True).close()
    with monkeypatch.context() as broken:
        broken.setattr("bedside.monitor.monitor.lay_out", fails)
        with pytest.raises(ValueError, match="boom"):
            bedside.watch(model, optimizer, resume=tmp_path / "run", quiet=True)
    assert open_run(tmp_path / "run").steps == 0, "a run that is resumed in vain is still there"


def test_an_optimizer_that_accelerate_prepared_is_watched(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    plain = net()
    model, optimizer = accelerator.prepare(plain, torch.optim.SGD(plain.parameters(), lr=0.1))
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        train(model, optimizer, 3, accelerator.backward)
    assert open_run(tmp_path / "run").steps == 3


def test_a_cell_that_is_run_again_closes_the_older_monitor_with_a_word(tmp_path, capsys):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hooks = []
    for number in range(40):
        bedside.watch(model, optimizer, run_dir=tmp_path / str(number))
        train(model, optimizer, 1)
        assert len(monitors()) == 1
        hooks.append((len(model._forward_pre_hooks), len(optimizer._optimizer_step_post_hooks)))
    assert len(set(hooks)) == 1, "nothing piles up"
    monitors()[0].close_for_another()
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "watched by a new monitor" in line] == said
    assert len(said) == 39
    assert open_run(tmp_path / "7").steps == 1


def test_another_model_is_nobodys_business(tmp_path):
    for name in "ab":
        model = net()
        bedside.watch(model, torch.optim.SGD(model.parameters(), lr=0.1), run_dir=tmp_path / name, quiet=True)
    assert len(monitors()) == 2
    for each in monitors():
        each.close()


def test_a_deleted_working_directory_is_said_in_three_lines(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(RunFolder, match="the working directory was deleted"):
        bedside.watch(model, optimizer, quiet=True)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):  # there it can be written
        train(model, optimizer)
    assert len(open_run(tmp_path / "run").loss) == 3
