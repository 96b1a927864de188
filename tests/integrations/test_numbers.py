"""Loss, rate, gradient norms before and after clipping, threshold and steps equal an independent recorder's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.integrations.recorder import RecordingSGD, record_clipping
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["trainer", "sft"])
def test_transformers_and_trl(tmp_path, monkeypatch, kind):
    transformers = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    from bedside.integrations.transformers import attach

    torch.manual_seed(0)
    small = {"vocab_size": 32, "n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**small, bos_token_id=0, eos_token_id=0, pad_token_id=0)
    )
    common = {
        "output_dir": "out",
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": ACCUMULATE,
        "max_steps": 12,
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "max_grad_norm": CLIP,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
    }
    ids = (torch.arange(12) + torch.randint(32, (96, 1))) % 31 + 1
    if kind == "trainer":
        rows = [{"input_ids": each, "labels": each} for each in ids]
        trainer = transformers.Trainer(model, transformers.TrainingArguments(**common), train_dataset=rows)
    else:
        trainer = trl_trainer(model, common, ids)
    attach(trainer, run_dir=tmp_path / "run", quiet=True)
    trainer.train()
    logs = [each for each in trainer.state.log_history if "grad_norm" in each]
    run = bedside.load(tmp_path / "run")
    assert run.steps == len(logs) == 12
    np.testing.assert_allclose(run.series("grad_norm").values, [each["grad_norm"] for each in logs], rtol=1e-4)
    np.testing.assert_allclose(run.series("lr").values, [each["learning_rate"] for each in logs], rtol=1e-4)
    assert len(run.loss) == 12
    assert set(run.series("micro_batches").values) == {ACCUMULATE}
    assert run.series("grad_norm_clipped").values.max() == pytest.approx(CLIP, rel=1e-3)


def trl_trainer(model, common, ids):
    trl, datasets = pytest.importorskip("trl"), pytest.importorskip("datasets")
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = {"<pad>": 0, **{f"w{i}": i for i in range(1, 32)}}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<pad>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<pad>")
    texts = [" ".join(f"w{i}" for i in each) for each in ids.tolist()]
    dataset = datasets.Dataset.from_dict({"text": texts})
    args = trl.SFTConfig(**common, max_length=16)
    return trl.SFTTrainer(model, args=args, train_dataset=dataset, processing_class=tokenizer)


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
