"""What is on disk: complete or not there, within its size, without pickle, and refused when it is not ours."""

from __future__ import annotations

import json

import pytest
import torch
from tests.incident.kept_steps import WithLog, a_batch, keep
from torch.nn import functional as F

import bedside
from bedside.errors import NoSuchPath, NotARun
from bedside.incident import BlackBox, load
from bedside.incident.replay.matching import CannotReplay


@pytest.fixture
def incident(tmp_path):
    torch.manual_seed(0)
    model = WithLog()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    F.cross_entropy(model(a_batch()[0]), a_batch()[1]).backward()
    optimizer.step()
    return keep(tmp_path, model, [a_batch(bad=[2])], F.cross_entropy, optimizer=optimizer)


def test_only_json_and_safetensors(incident):
    assert {each.suffix for each in incident.folder.iterdir()} == {".json", ".safetensors"}
    assert not any(b"pickle" in each.read_bytes() for each in incident.folder.iterdir())


def test_optimizer_and_scheduler_come_back(incident):
    model = WithLog()
    optimizer = torch.optim.AdamW(model.parameters(), lr=9.0)
    optimizer.load_state_dict(incident.optimizers[0])
    assert optimizer.param_groups[0]["lr"] == 1e-3
    assert float(next(iter(optimizer.state.values()))["step"]) == 1.0
    assert incident.schedulers[0]["step_size"] == 10


def test_environment_and_stack_are_kept(incident):
    assert incident.facts["environment"]["torch"] == torch.__version__
    assert any("kept_steps.py" in line for line in incident.facts["stack"])
    assert "bedside replay" in str(incident)


def test_what_is_too_large_is_left_out_the_optimizer_first(tmp_path):
    model = WithLog()
    optimizer = torch.optim.AdamW(model.parameters())
    F.cross_entropy(model(a_batch()[0]), a_batch()[1]).backward()
    optimizer.step()
    small = keep(tmp_path, model, [a_batch(bad=[2])], F.cross_entropy, optimizer=optimizer, max_bytes=9_000)
    assert [each.partition(":")[0] for each in small.facts["left_out"]] == ["optimizer"]
    assert small.replay(WithLog(), F.cross_entropy).exact
    smaller = keep(tmp_path, model, [a_batch(bad=[2])], F.cross_entropy, optimizer=optimizer, max_bytes=100)
    with pytest.raises(CannotReplay, match="max_bytes=100"):
        smaller.replay(WithLog(), F.cross_entropy)


def test_what_is_redacted_is_not_on_disk_and_said_to_be_missing(tmp_path):
    secret = 1234.5678
    x, y = a_batch(bad=[2])
    x[:, 3] = secret
    clean = keep(tmp_path, WithLog(), [(x, y)], F.cross_entropy, redact=lambda value: _without_last_column(value))
    assert not (clean.micro_batches[0].inputs[0] == secret).any()
    assert "redacted" in str(clean.replay(WithLog(), F.cross_entropy))


def _without_last_column(value):
    from bedside.training.batches import map_tensors

    return map_tensors(lambda x: x * torch.tensor([1.0, 1.0, 1.0, 0.0]) if x.ndim == 2 else x, value)


def test_a_run_folder_gives_its_first_incident(incident):
    assert load(incident.folder.parent.parent).step == incident.step
    assert load(incident.folder.parent).step == incident.step


def test_a_newer_format_is_refused_in_three_lines(incident):
    path = incident.folder / "incident.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(NotARun) as raised:
        load(incident.folder)
    assert "written by a newer bedside" in str(raised.value)
    assert len(str(raised.value).splitlines()) == 3


def test_paths_without_an_incident_are_refused(tmp_path, incident):
    with pytest.raises(NoSuchPath):
        load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotARun, match="holds no incident"):
        load(tmp_path / "empty")
    (incident.folder / "incident.json").write_text("[1]")
    with pytest.raises(NotARun, match="is not an incident"):
        load(incident.folder)


def test_a_torn_file_is_refused(incident):
    (incident.folder / "weights.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(NotARun, match="cannot be read"):
        load(incident.folder)


def test_options_are_checked():
    for options in ({"keep": 0}, {"max_bytes": -1}, {"redact": 3}, {"spike": 0}):
        with pytest.raises(bedside.BedsideError) as raised:
            BlackBox(**options)
        assert len(str(raised.value).splitlines()) == 3
