"""How good is the suggested learning rate? Regret against a nine-point grid, beside three other finders.

    python benchmarks/lr_range.py [--task NAME] [-o benchmarks/results/lr_range.csv]

Eight small tasks, two of them fine-tuning. Each finder starts from the same weights, data and optimizer and names one
rate; that rate and each of nine rates half a decade apart are trained at full length with a constant rate, over two
seeds, and the loss on held-out data decides. Regret is the share of the way from the first loss to the grid's best that
a finder's rate leaves: 0 is as good as the grid's best, 1 has learned nothing, more has done harm.

The others are the packages themselves (torch-lr-finder, fastai, Lightning). Whichever is not installed is left out
and named. fastai asks for torchvision but does not need it here: `pip install requests pandas cloudpickle
plum-dispatch` and then `pip install --no-deps fastai fastcore fastprogress==1.0.3 fasttransform fastdownload`.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import csv
import functools
import io
import logging
import math
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab
from bedside.zoo import data, models
from bedside.zoo.data import Task
from bedside.zoo.training_loop import cross_entropy

SEEDS = (0, 1)
WORST = 3.0  # regret of a rate that diverges: what is lost is lost
COLUMNS = ["task", "finder", "rate", "warned", "regret", "times_best_rate", "note"]


@dataclass(frozen=True)
class Problem:
    """One task: how the model, the data, the optimizer and the loss are made."""

    name: str
    task: Callable[[int], Task]
    model: Callable[[], nn.Module]
    optimizer: Callable[[Any, float], torch.optim.Optimizer]
    loss: Callable[[Tensor, Tensor], Tensor]
    grid: tuple[float, float]  # the smallest and the largest rate
    steps: int = 400
    batch: int = 32
    pretrained: Callable[[nn.Module, int], None] | None = None

    @property
    def rates(self) -> list[float]:
        low, high = map(math.log10, self.grid)
        return [10 ** (low + (high - low) * place / 8) for place in range(9)]

    def started(self, seed: int) -> nn.Module:
        torch.manual_seed(seed)
        model = self.model()
        if self.pretrained is not None:
            self.pretrained(model, seed)
        return model

    def loader(self, seed: int) -> DataLoader[Any]:
        task = self.task(seed)
        order = torch.Generator().manual_seed(seed)
        return DataLoader(TensorDataset(task.x, task.y), self.batch, shuffle=True, generator=order, drop_last=True)

    def held_out(self, model: nn.Module, seed: int) -> float:
        task = self.task(seed)
        model.eval()
        with torch.no_grad():
            value = float(self.loss(model(task.x_val), task.y_val))
        model.train()
        return value if math.isfinite(value) else math.inf

    def trained(self, start: nn.Module, rate: float, seed: int) -> float:
        """The held-out loss after full length at this rate."""
        model = copy.deepcopy(start)
        optimizer = self.optimizer(model.parameters(), rate)
        torch.manual_seed(seed + 100)
        step = 0
        while step < self.steps:
            for x, y in self.loader(seed + 50):
                optimizer.zero_grad()
                loss = self.loss(model(x), y)
                if not torch.isfinite(loss):
                    return math.inf
                loss.backward()
                optimizer.step()
                step += 1
                if step == self.steps:
                    break
        return self.held_out(model, seed)


def mse(answers: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.mse_loss(answers.squeeze(-1), targets)


def adam(parameters: Any, rate: float) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=rate)


def sgd(parameters: Any, rate: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9)


def first_half(task: Task) -> Task:
    half = len(task.x) // 2
    return task.with_(x=task.x[:half], y=task.y[:half])


def pretrain(task: Callable[[int], Task], rate: float, steps: int) -> Callable[[nn.Module, int], None]:
    """Train the model well on something related, as a published checkpoint would be."""

    def pretrained(model: nn.Module, seed: int) -> None:
        optimizer = adam(model.parameters(), rate)
        schedule = lab.schedules.warmup_cosine(optimizer, 20, steps, floor=0.0)
        for x, y in task(seed + 7).batches(steps, 64):
            optimizer.zero_grad()
            cross_entropy(model(x), y).backward()
            optimizer.step()
            schedule.step()

    return pretrained


def shifted(seed: int) -> Task:
    """The digits, a pixel to the right and with noise: what a model of clean digits is fine-tuned to."""
    task = data.images(seed)
    noise = torch.Generator().manual_seed(seed)

    def moved(x: Tensor) -> Tensor:
        return x.roll(1, -1) + 0.5 * torch.randn(x.shape, generator=noise)

    return task.with_(x=moved(task.x), x_val=moved(task.x_val)).first(600)


def other_text(seed: int) -> Task:
    """Another part of the documentation, half of it upper-cased: near to what the model knows, and not the same."""
    task = data.text(seed + 31)
    return task.first(1500)


PROBLEMS = (
    Problem("digits-mlp-adam", data.digits, lambda: models.mlp([64, 64, 64, 10]), adam, cross_entropy, (1e-5, 1e-1)),
    Problem("digits-conv-sgd", data.images, models.ConvNet, sgd, cross_entropy, (1e-4, 1.0)),
    Problem("text-gpt-adam", data.text, models.GPT, adam, cross_entropy, (1e-5, 1e-1), 300),
    Problem("text-lstm-adam", data.text, models.Recurrent, adam, cross_entropy, (1e-5, 1e-1), 300),
    Problem("tumours-mlp-sgd", data.tumours, lambda: models.mlp([30, 32, 2]), sgd, cross_entropy, (1e-4, 1.0), 200),
    Problem("diabetes-mlp-adam", data.diabetes, lambda: models.mlp([10, 32, 1]), adam, mse, (1e-5, 1e-1), 300),
    Problem(
        "fine-tune-encoder", shifted, models.Encoder, adam, cross_entropy, (1e-6, 1e-2), 200,
        pretrained=pretrain(data.images, 2e-3, 500),
    ),
    Problem(
        "fine-tune-gpt", other_text, models.GPT, adam, cross_entropy, (1e-6, 1e-2), 200,
        pretrained=pretrain(data.text, 2e-3, 800),
    ),
)  # fmt: skip

Finder = Callable[[Problem, nn.Module, int], tuple[float, bool, str]]  # the rate, whether it warned, and a note


def ours(problem: Problem, model: nn.Module, seed: int) -> tuple[float, bool, str]:
    optimizer = problem.optimizer(model.parameters(), 1e-3)
    found = lab.lr_range(model, problem.loader(seed), lambda o, y: problem.loss(o, y), optimizer, progress=False)
    return found.suggestion, bool(found.warnings) or not found.usable, found.reason if not found.usable else ""


def sweep_alone(problem: Problem, model: nn.Module, seed: int) -> tuple[float, bool, str]:
    optimizer = problem.optimizer(model.parameters(), 1e-3)
    found = lab.lr_range(
        model, problem.loader(seed), lambda o, y: problem.loss(o, y), optimizer, fork_steps=0, progress=False
    )
    return found.suggestion, bool(found.warnings) or not found.usable, found.reason if not found.usable else ""


def torch_lr_finder(problem: Problem, model: nn.Module, seed: int) -> tuple[float, bool, str]:
    from torch_lr_finder import LRFinder

    finder = LRFinder(model, problem.optimizer(model.parameters(), 1e-7), problem.loss, device="cpu")
    finder.range_test(problem.loader(seed), end_lr=10, num_iter=100)
    _, rate = finder.plot(suggest_lr=True)
    return float(rate), False, ""


def fastai_valley(problem: Problem, model: nn.Module, seed: int) -> tuple[float, bool, str]:
    from fastai.basics import DataLoaders, Learner, OptimWrapper
    from fastai.callback.schedule import valley

    batches = problem.loader(seed)
    wrapped = functools.partial(OptimWrapper, opt=lambda groups, lr=1e-3, **_: problem.optimizer(groups, lr))
    learner = Learner(
        DataLoaders(batches, batches), model, loss_func=problem.loss, opt_func=wrapped, path=tempfile.mkdtemp()
    )
    with learner.no_bar(), learner.no_logging():
        found = learner.lr_find(suggest_funcs=(valley,), show_plot=False)
    return float(found.valley), False, ""


def lightning_tuner(problem: Problem, model: nn.Module, seed: int) -> tuple[float, bool, str]:
    import lightning
    from lightning.pytorch.tuner import Tuner

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.lr = model, 1e-3

        def training_step(self, batch: Any, _: int) -> Tensor:
            return problem.loss(self.model(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return problem.optimizer(self.parameters(), self.lr)

    for name in ("lightning", "lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    trainer = lightning.Trainer(
        max_epochs=50, logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu",
        enable_model_summary=False, default_root_dir=tempfile.mkdtemp(),
    )  # fmt: skip
    found = Tuner(trainer).lr_find(Module(), problem.loader(seed), min_lr=1e-7, max_lr=10, num_training=100)
    rate = found.suggestion() if found is not None else None
    return (math.nan, True, "no suggestion") if rate is None else (float(rate), False, "")


FINDERS: dict[str, Finder] = {
    "bedside": ours,
    "bedside, sweep alone": sweep_alone,
    "torch-lr-finder": torch_lr_finder,
    "fastai valley": fastai_valley,
    "lightning": lightning_tuner,
}


def quietly(finder: Finder, problem: Problem, model: nn.Module, seed: int) -> tuple[float, bool, str]:
    """Other tools print bars and warnings; a failure is a result too."""
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        warnings.simplefilter("ignore")
        try:
            torch.manual_seed(seed)
            return finder(problem, copy.deepcopy(model), seed)
        except ImportError as error:
            return math.nan, True, f"not installed: {error.name}"
        except Exception as error:
            return math.nan, True, f"failed: {type(error).__name__}: {error}".splitlines()[0][:120]


def measured(problem: Problem) -> list[dict[str, Any]]:
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in FINDERS}
    notes: dict[str, list[str]] = {name: [] for name in FINDERS}
    for seed in SEEDS:
        start = problem.started(seed)
        first = problem.held_out(start, seed)
        grid = {rate: problem.trained(start, rate, seed) for rate in problem.rates}
        best = min(grid, key=lambda rate: grid[rate])
        print(f"{problem.name} seed {seed}: start {first:.3g}, best {grid[best]:.3g} at {best:.1g}", file=sys.stderr)
        for name, finder in FINDERS.items():
            rate, warned, note = quietly(finder, problem, start, seed)
            end = problem.trained(start, rate, seed) if math.isfinite(rate) else math.inf
            regret = min(WORST, (end - grid[best]) / max(first - grid[best], 1e-9)) if math.isfinite(rate) else math.nan
            rows[name].append({"rate": rate, "warned": warned, "regret": regret, "times": rate / best})
            notes[name].append(note)
    return [summarised(problem.name, name, rows[name], notes[name]) for name in FINDERS]


def summarised(task: str, finder: str, runs: list[dict[str, float]], notes: list[str]) -> dict[str, Any]:
    known = [run for run in runs if math.isfinite(run["rate"])]

    def mean(key: str) -> str:
        if not known:
            return ""
        values = [run[key] for run in known]
        logarithmic = key in ("rate", "times")
        value = math.exp(statistics.fmean(map(math.log, values))) if logarithmic else statistics.fmean(values)
        return f"{value:.3g}"

    worst = max((abs(math.log10(run["times"])) for run in known), default=0.0)
    return {
        "task": task,
        "finder": finder,
        "rate": mean("rate"),
        "warned": sum(bool(run["warned"]) for run in runs),
        "regret": mean("regret"),
        "times_best_rate": f"{10**worst:.3g}" if known else "",  # of the worse seed, in either direction
        "note": next((each for each in notes if each), ""),
    }


def answer(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'finder':<22} {'median regret':>14} {'worst':>7} {'misses > 10x':>13} {'unwarned':>9} {'answers':>8}"]
    for finder in FINDERS:
        own = [row for row in rows if row["finder"] == finder]
        regrets = [float(row["regret"]) for row in own if row["regret"]]
        misses = [row for row in own if row["times_best_rate"] and float(row["times_best_rate"]) > 10.01]
        unwarned = [row for row in misses if not int(row["warned"])]
        middle = f"{statistics.median(regrets):.3f}" if regrets else "-"
        worst = f"{max(regrets):.2f}" if regrets else "-"
        lines.append(f"{finder:<22} {middle:>14} {worst:>7} {len(misses):>13} {len(unwarned):>9} {len(regrets):>8}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=[problem.name for problem in PROBLEMS])
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "lr_range.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for problem in PROBLEMS if options.task in (None, problem.name) for row in measured(problem)]
    if options.task is None:
        with options.output.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    for row in rows if options.task else ():
        print(row)
    print(answer(rows))


if __name__ == "__main__":
    main()
