"""The black box and the guard in watched trainings."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
import torch
from tests.incident.kept_steps import WithLog
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import bedside
from bedside.incident import BlackBox, NonFiniteStep, load


class Poisoned(nn.Module):
    """Batch norm before the bad operation, so that a running mean is in danger too."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.BatchNorm1d(width)
        self.last = nn.Linear(width, 3)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu())


def data(rows=320, bad=(), seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(rows, 4, generator=generator)
    y = (x.sum(1) * 1.5).long().clamp(max=2)
    x[list(bad), 0] = float("nan")
    return TensorDataset(x, y)


def train(model, optimizer, loader, *, epochs=1, clip=None, loss_fn=F.cross_entropy):
    losses = []
    for _ in range(epochs):
        for x, y in loader:
            loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(loss.item())
    return losses


def finite(model):
    return all(torch.isfinite(each).all() for each in [*model.parameters(), *model.buffers()])


@pytest.fixture
def made():
    torch.manual_seed(0)
    model = Poisoned()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def loader(bad=(), batch_size=16, **options):
    return DataLoader(data(bad=bad), batch_size=batch_size, generator=torch.Generator().manual_seed(1), **options)


def test_the_bad_step_is_kept_and_fails_again(tmp_path, made):
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True) as monitor:
        train(model, optimizer, loader(bad=[77], shuffle=True), clip=1.0)
    incident = load(monitor.run_dir)
    assert incident.kind == "nonfinite loss"
    again = incident.replay(Poisoned(), F.cross_entropy)
    assert again.exact, again.differences
    assert "index 77 of the data set" in str(again)
    assert len(bedside.load(tmp_path / "run").events_of("incident")) == 1, "what follows is its consequence"


@pytest.mark.parametrize("workers", [0, 2])
def test_indices_are_right_with_workers_too(tmp_path, made, workers):
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True) as monitor:
        train(model, optimizer, loader(bad=[203], shuffle=True, num_workers=workers))
    kept = load(monitor.run_dir).micro_batches[0]
    row = kept.inputs[0].isnan().any(1).nonzero().item()
    assert kept.indices[row] == 203


def test_the_weights_are_those_from_before_the_step(tmp_path, made):
    model, optimizer = made
    before = {}

    def note(*_):
        before.update({name: each.clone() for name, each in model.state_dict().items()})

    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        batches = list(loader(bad=[165]))
        train(model, optimizer, batches[:10])
        note()
        state = {key: value["exp_avg"].clone() for key, value in optimizer.state_dict()["state"].items()}
        train(model, optimizer, batches[10:12])
    incident = load(tmp_path / "run")
    assert incident.step == 10
    assert all(torch.equal(each, before[name]) for name, each in incident.weights.items())
    assert all(torch.equal(incident.optimizers[0]["state"][key]["exp_avg"], each) for key, each in state.items())


def test_vitals_of_the_last_steps_are_beside_it(tmp_path, made):
    model, optimizer = made
    box = BlackBox(history=5)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=box, quiet=True):
        train(model, optimizer, loader(bad=[200]))
    vitals = load(tmp_path / "run").vitals
    steps, values = vitals["loss", ""]
    assert 200 // 16 in steps.tolist()
    assert len(steps) <= 5
    assert math.isnan(values[steps.tolist().index(200 // 16)])


def test_accumulation_keeps_every_micro_batch(tmp_path, made):
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        for number, (x, y) in enumerate(loader(bad=[100])):
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
            if number % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    incident = load(tmp_path / "run")
    assert len(incident.micro_batches) == 3, "up to the one that was bad: 100 is in the third of its step"
    again = incident.replay(Poisoned(), F.cross_entropy)
    assert again.exact, again.differences


def test_a_spike_is_kept_with_what_was_usual(tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x, y = torch.randn(3200, 4), torch.randn(3200, 1)
    y[1605] = 500.0
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        train(model, optimizer, DataLoader(TensorDataset(x, y), 16), loss_fn=F.mse_loss)
    incident = load(tmp_path / "run")
    assert (incident.kind, incident.step) == ("spike", 100)
    again = incident.replay(nn.Linear(4, 1), F.mse_loss)
    assert again.exact, again.differences
    assert "The cause is row 5 (index 1605 of the data set)" in str(again)


def test_healthy_runs_keep_nothing(tmp_path, made):
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        train(model, optimizer, loader(shuffle=True), epochs=10)
    assert not (tmp_path / "run" / "incidents").exists()


def test_no_more_than_asked_for(tmp_path, made):
    model, optimizer = made
    box = BlackBox(keep=2)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=box, on_nan="skip", quiet=True):
        train(model, optimizer, loader(bad=range(0, 320, 50)))
    assert len(list((tmp_path / "run" / "incidents").iterdir())) == 2


@pytest.mark.parametrize("where", ["forward", "backward", "between"])
def test_an_exception_is_kept_and_is_still_the_users(tmp_path, where):
    class Raising(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            if where == "backward":
                raise ValueError("the user's own")
            return gradient

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):
            if where == "forward" and x.isnan().any():
                raise ValueError("the user's own")
            return Raising.apply(self.layer(x)) if x.isnan().any() else self.layer(x)

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_fn(output, target):
        if where == "between" and output.isnan().any():
            raise ValueError("the user's own")
        return F.cross_entropy(output, target)

    with (
        pytest.raises(ValueError, match="the user's own"),
        bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=BlackBox(spike=None), quiet=True),
    ):
        train(model, optimizer, loader(bad=[40]), loss_fn=loss_fn)
    incident = load(tmp_path / "run")
    assert incident.kind == "exception"
    again = incident.replay(Model(), loss_fn)
    assert again.reproduced
    assert "raise ValueError" in again.line


def test_an_exception_that_is_caught_is_kept_and_training_goes_on(tmp_path):
    class Model(nn.Linear):
        def forward(self, x):
            if x.isnan().any():
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
            return super().forward(x)

    model = Model(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True) as monitor:
        for x, y in loader(bad=[40]):
            try:
                train(model, optimizer, [(x, y)])
            except torch.OutOfMemoryError:
                optimizer.zero_grad()
        assert monitor.step == 19
    assert load(tmp_path / "run").kind == "out of memory"


def test_skipping_keeps_weights_and_running_means_clean(tmp_path, made):
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", on_nan="skip", quiet=True) as monitor:
        losses = train(model, optimizer, loader(bad=[30, 170]), epochs=2)
        assert finite(model)
        summary = monitor.summary()
    assert sum(map(math.isnan, losses)) == 4
    assert summary["guarded_steps"] == 4
    assert float(optimizer.state_dict()["state"][0]["step"]) == len(losses) - 4


def test_raise_and_stop(tmp_path, made):
    model, optimizer = made
    with (
        pytest.raises(NonFiniteStep) as raised,
        bedside.watch(model, optimizer, run_dir=tmp_path / "raise", on_nan="raise", quiet=True),
    ):
        train(model, optimizer, loader(bad=[30]))
    text = str(raised.value)
    assert text.startswith("Step 1 was not taken: the gradient of")
    assert "the batch is not (inputs[0][0] with 1 entry)" in text
    assert len(text.splitlines()) == 3
    assert finite_parameters(model)
    with (
        pytest.raises(SystemExit),
        bedside.watch(model, optimizer, run_dir=tmp_path / "stop", on_nan="stop", quiet=True),
    ):
        train(model, optimizer, loader(bad=[30]))


def finite_parameters(model):
    return all(torch.isfinite(each).all() for each in model.parameters())


def test_three_in_a_row_escalate_and_name_what_is_not_finite(tmp_path, made, capfd):
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "batch", on_nan="skip"):
        train(model, optimizer, loader(bad=[17, 33, 50]))
    said = capfd.readouterr().err
    assert "3 steps in a row were skipped, up to step 3. The weights are finite, the batch is not" in said
    with torch.no_grad():
        model.last.bias[0] = float("inf")
    with bedside.watch(model, optimizer, run_dir=tmp_path / "weights", on_nan="skip"):
        train(model, optimizer, loader())
    assert "Not finite are the weights themselves (last.bias)" in capfd.readouterr().err
    events = bedside.load(tmp_path / "weights").events_of("guard")
    assert [each.data["in_a_row"] for each in events if each.data["action"] == "skip"][-1] == 20


@pytest.mark.parametrize("options", [{"black_box": True}, {"on_nan": "skip"}, {"skip_spikes": 6.0, "black_box": True}])
@pytest.mark.parametrize("amp", [False, True])
def test_a_healthy_run_is_bitwise_the_unwatched_one(tmp_path, options, amp):
    def run(watched):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 3))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        scaler = torch.amp.GradScaler("cpu", enabled=amp, init_scale=1024.0)
        monitor = bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True, **options) if watched else None
        for x, y in list(loader(shuffle=True)) * 6:
            with torch.autocast("cpu", torch.bfloat16, enabled=amp):
                loss = F.cross_entropy(model(x).float(), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        if monitor is not None:
            monitor.close()
        return [*model.state_dict().values(), torch.get_rng_state()]

    assert all(torch.equal(a, b) for a, b in zip(run(False), run(True), strict=True))


def test_nothing_is_left_behind(tmp_path, made):
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    before = (_BaseDataLoaderIter.__next__, _BaseDataLoaderIter._next_index, _BaseDataLoaderIter._reset)
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, on_nan="skip", quiet=True):
        train(model, optimizer, loader())
    assert (_BaseDataLoaderIter.__next__, _BaseDataLoaderIter._next_index, _BaseDataLoaderIter._reset) == before
    assert not model._forward_hooks
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"on_nan": "ignore"}, "on_nan='ignore' is not an action."),
        ({"black_box": 3}, "black_box=3 is not a black box."),
        ({"skip_spikes": -1}, "skip_spikes=-1 is not a multiple"),
    ],
)
def test_wrong_options_are_three_lines(tmp_path, made, options, what):
    with pytest.raises(bedside.BedsideError) as raised:
        bedside.watch(*made, run_dir=tmp_path / "run", **options)
    assert str(raised.value).startswith(what)
    assert len(str(raised.value).splitlines()) == 3
    assert not (tmp_path / "run").exists()


def test_a_full_disk_costs_the_incident_and_not_the_training(tmp_path, made, monkeypatch, recwarn):
    from bedside.incident import folder

    monkeypatch.setattr(
        folder, "_write_parts", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, on_nan="skip", quiet=True):
        losses = train(model, optimizer, loader(bad=[30]))
    assert len(losses) == 20
    assert finite(model)
    assert any("could not keep step 1 (OSError: [Errno 28]" in str(each.message) for each in recwarn)
    assert not list((tmp_path / "run" / "incidents").iterdir())


def test_a_copy_of_the_model_does_not_need_bedside(tmp_path):
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        torch.save(model, tmp_path / "model.pt")
    code = (
        f"import sys, torch; torch.load({str(tmp_path / 'model.pt')!r}, weights_only=False); "
        "assert not any(name.startswith('bedside') for name in sys.modules)"
    )
    env = {"PYTHONPATH": "."}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)


def test_evaluations_and_unused_forwards_do_not_pile_up(tmp_path, made):
    from bedside.incident.capture.micro_batches import MAX_CALLS

    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True) as monitor:
        for x, _ in loader():
            model(x)  # with gradients, and nobody uses them
        [listener] = [each for each in monitor._collectors if each.name == "black box"]
        assert sum(len(each.calls) for each in listener._micro_batches) <= MAX_CALLS
        train(model, optimizer, loader())
        assert len(listener._micro_batches) == 0


def test_json_is_strict(tmp_path, made):
    model, optimizer = made
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        train(model, optimizer, loader(bad=[1]))
    text = (load(tmp_path / "run").folder / "incident.json").read_text()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_a_bad_log_is_named_through_dropout(tmp_path):
    torch.manual_seed(0)
    model = WithLog()
    optimizer = torch.optim.AdamW(model.parameters())
    x, y = data().tensors
    x[99, 0] = -4.0
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        train(model, optimizer, DataLoader(TensorDataset(x, y), 16, shuffle=True))
    again = load(tmp_path / "run").replay(WithLog())
    assert again.exact, again.differences
    assert again.culprit.operator == "aten.log"
    assert "index 99" in str(again)


def test_a_replay_beside_the_run_is_no_part_of_it(tmp_path, made):
    model, optimizer = made
    with bedside.watch(
        model, optimizer, run_dir=tmp_path / "run", black_box=True, on_nan="skip", quiet=True
    ) as monitor:
        train(model, optimizer, loader(bad=[30]))
        before = {name: each.clone() for name, each in model.state_dict().items()}
        assert load(monitor.run_dir).replay(model, F.cross_entropy).exact
        assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())
        train(model, optimizer, loader())
    found = bedside.load(tmp_path / "run")
    assert found.steps == 40
    assert not found.events_of("switched_off")
    assert sum(map(math.isnan, found.loss.values)) == 1


def test_losses_that_the_loop_threw_away_are_not_replayed(tmp_path, made):
    model, optimizer = made
    batches = list(loader(bad=[60]))
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        for x, y in batches[:4]:  # backward passes that nobody steps after
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
    assert len(load(tmp_path / "run").micro_batches) == 1


@pytest.mark.slow
def test_a_compiled_model_stays_one_graph_and_is_kept(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.AdamW(model.parameters())
    options = {"black_box": True, "on_nan": "skip", "quiet": True}
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", **options):
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        train(compiled, optimizer, loader(bad=[70]))
    assert finite(model)
    again = load(tmp_path / "run").replay(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)), F.cross_entropy)
    assert again.reproduced
    assert "the same bits as then" in str(again), "random numbers are those of before the forward"


@pytest.mark.parametrize("scaled", [False, True])
def test_autocast_is_that_of_then(tmp_path, scaled):
    torch.manual_seed(0)
    model = WithLog()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cpu", enabled=scaled, init_scale=128.0)
    x, y = data().tensors
    x[99, 0] = -4.0
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", black_box=True, quiet=True):
        for inputs, targets in DataLoader(TensorDataset(x, y), 16):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    incident = load(tmp_path / "run")
    assert incident.facts["micro_batches"][0]["calls"][0]["autocast"] == [["cpu", "bfloat16"]]
    again = incident.replay(WithLog(), F.cross_entropy)
    assert again.exact, again.differences
    assert "index 99" in str(again)
    assert (incident.facts["loss_scale"] is not None) == scaled


def test_the_guard_leaves_the_fast_path_on_and_works_there(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    bad = []
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", on_nan="skip", quiet=True) as monitor:
        for step in range(1000):
            on_fast_path = step >= 150 and monitor.dispatcher.fast_path.active and len(bad) < 2
            x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
            if on_fast_path and bad:
                x[0, 0] = float("nan")
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            if on_fast_path:
                bad.append(step)
                model[0].weight.grad[0, 0] = float("nan")  # once under a sound loss, once under a NaN
            optimizer.step()
            if len(bad) == 2 and step > bad[1] + 20:
                break
    assert len(bad) == 2, "there was a fast path"
    assert finite(model)
    found = bedside.load(tmp_path / "run")
    assert [each.step for each in found.events_of("guard")] == bad
    losses = dict(zip(found.loss.steps.tolist(), found.loss.values.tolist(), strict=True))
    assert len(losses) == found.steps == bad[1] + 22
    assert [math.isnan(losses[each]) for each in bad] == [False, True]
