"""Loss, rate, gradient norms before and after clipping, threshold and steps equal an independent recorder's."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from tests.integrations.recorder import RecordingSGD, record_clipping
from tests.launch.processes import BEDSIDE, PYTHON, run, written
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import bedside

CLIP, ACCUMULATE, BATCHES = 0.3, 2, 24


def data() -> TensorDataset:
    torch.manual_seed(1)
    x = torch.randn(BATCHES * 8, 6)
    return TensorDataset(x, x[:, :3].argmax(1))


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))


def check(folder, losses, optimizer, before):
    """`losses` of the micro-batches, undivided."""
    run = bedside.load(folder)
    steps = len(optimizer.rates)
    assert run.steps == steps == BATCHES // ACCUMULATE
    means = np.asarray(losses).reshape(steps, ACCUMULATE).mean(axis=1)
    np.testing.assert_allclose(run.loss.values, means, rtol=1e-5)
    np.testing.assert_allclose(run.series("lr").values, optimizer.rates, rtol=1e-6)
    np.testing.assert_allclose(run.series("grad_norm_clipped").values, optimizer.clipped, rtol=1e-5)
    np.testing.assert_allclose(run.series("grad_norm").values, before, rtol=1e-5)
    assert (run.series("grad_norm").values > CLIP).all()
    np.testing.assert_allclose(run.series("clip_threshold").values, CLIP)
    assert set(run.series("micro_batches").values) == {ACCUMULATE}
    every = run.owners("grad_norm")
    owners = [each for each in every if not any(other.startswith(f"{each}.") for other in every)]  # a parent adds up
    parts = np.array([run.series("grad_norm", owner).values for owner in owners])
    np.testing.assert_allclose(np.sqrt((parts**2).sum(axis=0)), before, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("manual", [False, True])
def test_lightning(tmp_path, monkeypatch, manual):
    pl = pytest.importorskip("lightning.pytorch")
    from bedside.integrations.lightning import BedsideCallback

    losses: list[float] = []
    before = record_clipping(monkeypatch)

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net()
            self.automatic_optimization = not manual

        def training_step(self, batch, batch_idx):
            loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            losses.append(loss.item())
            if not manual:
                return loss
            self.manual_backward(loss / ACCUMULATE)
            if (batch_idx + 1) % ACCUMULATE == 0:
                self.clip_gradients(self.optimizers(), gradient_clip_val=CLIP, gradient_clip_algorithm="norm")
                self.optimizers().step()
                self.optimizers().zero_grad()
                self.lr_schedulers().step()
            return None

        def configure_optimizers(self):
            self.recorded = RecordingSGD(self.parameters(), 0.1)
            scheduler = torch.optim.lr_scheduler.StepLR(self.recorded, 3, 0.5)
            return [self.recorded], [{"scheduler": scheduler, "interval": "step"}]

    automatic = {} if manual else {"gradient_clip_val": CLIP, "accumulate_grad_batches": ACCUMULATE}
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    module = Module()
    callback = BedsideCallback(run_dir=tmp_path / "run", quiet=True)
    trainer = pl.Trainer(max_epochs=1, accelerator="cpu", callbacks=[callback], **automatic, **quiet)
    trainer.fit(module, DataLoader(data(), 8))
    check(tmp_path / "run", losses, module.recorded, before)


@pytest.mark.filterwarnings("ignore")
def test_accelerate(tmp_path, monkeypatch):
    accelerate = pytest.importorskip("accelerate")
    before = record_clipping(monkeypatch)
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=ACCUMULATE)
    model = net()
    recorded = RecordingSGD(model.parameters(), 0.1)
    model, optimizer, loader = accelerator.prepare(model, recorded, DataLoader(data(), 8))
    losses = []
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                losses.append(loss.item())
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), CLIP)
                optimizer.step()
                optimizer.zero_grad()
    check(tmp_path / "run", losses, recorded, before)


def test_ignite(tmp_path, monkeypatch):
    engine = pytest.importorskip("ignite.engine")
    from bedside.integrations.ignite import attach

    before = record_clipping(monkeypatch)
    model = net()
    optimizer = RecordingSGD(model.parameters(), 0.1)
    losses = []

    def update(trainer, batch):
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        losses.append(loss.item())
        (loss / ACCUMULATE).backward()
        if trainer.state.iteration % ACCUMULATE == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            optimizer.zero_grad()

    trainer = engine.Engine(update)
    attach(trainer, model, optimizer, run_dir=tmp_path / "run", quiet=True)
    trainer.run(DataLoader(data(), 8), max_epochs=1)
    check(tmp_path / "run", losses, optimizer, before)


def test_an_exception_in_ignite_is_still_the_user_s(tmp_path):
    engine = pytest.importorskip("ignite.engine")
    from bedside.integrations.ignite import attach

    model = net()

    def update(trainer, batch):
        raise ZeroDivisionError("theirs")

    trainer = engine.Engine(update)
    attach(trainer, model, torch.optim.SGD(model.parameters(), 0.1), run_dir=tmp_path / "run", quiet=True)
    with pytest.raises(ZeroDivisionError, match="theirs"):
        trainer.run([1], max_epochs=1)


def test_an_optimizer_for_every_parameter_stepped_in_the_backward(tmp_path):
    model, losses, norms = net(), [], []
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
    seen: list[torch.Tensor] = []

    def step_and_clear(parameter):
        seen.append(parameter.grad.double().clone())
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    with bedside.watch(model, list(optimizers.values()), run_dir=tmp_path / "run", quiet=True):
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(step_and_clear)
        for x, y in DataLoader(data(), 8):
            loss = nn.functional.cross_entropy(model(x), y)
            losses.append(loss.item())
            loss.backward()
            norms.append(float(torch.sqrt(sum((g**2).sum() for g in seen))))
            seen.clear()
    run = bedside.load(tmp_path / "run")
    assert run.steps == BATCHES
    np.testing.assert_allclose(run.loss.values, losses, rtol=1e-5)
    np.testing.assert_allclose(run.series("grad_norm").values, norms, rtol=1e-5)


KERAS = """
import os, sys, json
os.environ["KERAS_BACKEND"] = "torch"
import keras, numpy as np, torch

def norm(tensors):
    return float(torch.sqrt(sum((t.detach().double() ** 2).sum() for t in tensors)))

class Recording(keras.optimizers.SGD):
    before, after, rates, sums = [], [], [], None
    def apply(self, grads, trainable_variables=None):
        self.sums = [g.clone() for g in grads] if self.sums is None else [s + g for s, g in zip(self.sums, grads)]
        super().apply(grads, trainable_variables)
    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        self.before.append(norm(s / (self.gradient_accumulation_steps or 1) for s in self.sums))
        self.sums = None
        self.after.append(norm(grads))
        self.rates.append(float(learning_rate))
        super()._backend_update_step(grads, trainable_variables, learning_rate)

losses = []
class Recorded(keras.losses.SparseCategoricalCrossentropy):
    def call(self, y_true, y_pred):
        value = super().call(y_true, y_pred)
        if value.requires_grad:
            losses.append(float(value.detach().mean()))
        return value

keras.utils.set_random_seed(0)
x = np.random.randn(192, 6).astype("float32")
y = x[:, :3].argmax(1)
rate = keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.5, staircase=True)
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(12, "tanh"), keras.layers.Dense(3)])
optimizer = Recording(rate, **json.loads(sys.argv[1]))
model.compile(optimizer, Recorded(from_logits=True))
callbacks = []
if sys.argv[2] == "callback":
    from bedside.integrations.keras import Monitor
    callbacks = [Monitor(run_dir="run", quiet=True)]
model.fit(x, y, batch_size=8, epochs=1, verbose=0, callbacks=callbacks)
json.dump({"losses": losses, "before": optimizer.before, "after": optimizer.after, "rates": optimizer.rates},
          open("recorded.json", "w"))
"""


@pytest.mark.parametrize(
    ("options", "way"),
    [
        ({"global_clipnorm": CLIP, "gradient_accumulation_steps": ACCUMULATE}, "callback"),
        ({"global_clipnorm": CLIP, "gradient_accumulation_steps": ACCUMULATE}, "run"),
        ({"clipnorm": CLIP}, "callback"),
        ({"clipvalue": 0.05}, "callback"),
        ({}, "run"),
    ],
)
def test_keras(tmp_path, options, way):
    if find_spec("keras") is None:
        pytest.skip("keras is not installed")
    command = [*(BEDSIDE if way == "run" else PYTHON), *(["--run-dir", "run"] if way == "run" else [])]
    done = run([*command, written(tmp_path, KERAS), json.dumps(options), way], tmp_path)
    assert done.returncode == 0, done.stderr
    recorded = json.loads((tmp_path / "recorded.json").read_text())
    watched = bedside.load(tmp_path / "run")
    micro_batches = options.get("gradient_accumulation_steps", 1)
    assert watched.steps == len(recorded["rates"]) == BATCHES // micro_batches
    means = np.asarray(recorded["losses"]).reshape(-1, micro_batches).mean(axis=1)
    np.testing.assert_allclose(watched.loss.values, means, rtol=1e-5)
    norms = watched["grad_norm/overall"]
    assert norms.steps[:20].tolist() == list(range(min(20, watched.steps)))  # later ones as the clock allows
    np.testing.assert_allclose(norms.values, np.asarray(recorded["before"])[norms.steps], rtol=1e-4)
    np.testing.assert_allclose(watched["lr"].values, recorded["rates"], rtol=1e-5)
    assert set(watched.series("micro_batches").values) == {micro_batches}
    if "clipvalue" not in options:  # then only what came before clipping is known
        clipped = watched["grad_norm_clipped"]
        np.testing.assert_allclose(clipped.values, np.asarray(recorded["after"])[clipped.steps], rtol=1e-4)
    if "global_clipnorm" in options:
        assert set(watched.series("clip_threshold").values) == {CLIP}
        assert (watched["grad_norm/overall"].values > CLIP).any()
    assert {"dense", "dense_1"} <= set(watched.owners("grad_norm"))
    said = {each.name for each in bedside.diagnose(tmp_path / "run").findings}
    assert not said & {"unscaled-accumulation", "never-stepped", "accumulating-gradient"}, said
