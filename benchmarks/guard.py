"""One batch in a hundred is poisoned with NaN: what becomes of the run under each guard?

    python benchmarks/guard.py [--seeds 5] [--steps 1000]

The same small classifier, once plain and once with batch norm, whose running mean a NaN batch spoils in the forward.
Guards: none; bedside's `on_nan="skip"`; the rule of OLMo-core's SkipStepOptimizer (skip where the loss or the gradient
norm is more than six standard deviations from the mean of the last 128 steps, once there are 64; a skipped value stays
in that history), written down here from its published description; and stabilityguard 0.3.0 where it is installed.
Compared is the validation loss with that of the same run without any bad batch. Writes benchmarks/results/guard.csv.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import math
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import bedside

RESULTS = Path(__file__).parent / "results" / "guard.csv"
EVERY = 100  # one batch in so many is poisoned
MODELS = ("plain", "batch norm")
GUARDS = ("clean", "none", "bedside", "olmo-core rule", "stabilityguard")


class SigmaRule:
    """OLMo-core's rule: six standard deviations from the mean of the last 128, for loss and gradient norm."""

    def __init__(self, window: int = 128, sigmas: float = 6.0) -> None:
        self.window, self.sigmas = window, sigmas
        self.history: dict[str, list[float]] = {"loss": [], "norm": []}

    def takes(self, **values: float) -> bool:
        """Whether the step with these values is taken."""
        usual = [self._is_usual(self.history[name], value) for name, value in values.items()]
        for name, value in values.items():
            self.history[name] = [*self.history[name][-self.window + 1 :], value]
        return all(usual)

    def _is_usual(self, history: list[float], value: float) -> bool:
        if len(history) < self.window // 2:
            return True
        seen = torch.tensor(history)
        return bool((value - seen.mean()).abs() / seen.std() <= self.sigmas)  # False where one of them is NaN


def build(kind: str) -> nn.Module:
    norm: nn.Module = nn.BatchNorm1d(32) if kind == "batch norm" else nn.Identity()
    return nn.Sequential(nn.Linear(8, 32), norm, nn.Tanh(), nn.Linear(32, 4))


def batches(seed: int, steps: int, poisoned: bool) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    for step in range(steps):
        x = torch.randn(32, 8, generator=generator)
        y = (x @ truth + 0.5 * torch.randn(32, 4, generator=generator)).argmax(1)
        if poisoned and step % EVERY == EVERY - 1:
            x[3, 1] = float("nan")
        yield x, y


def train(kind: str, guard: str, seed: int, steps: int) -> dict[str, Any]:
    """One run; its loss on data it has not seen, in evaluation mode, and how many steps were taken."""
    torch.manual_seed(seed)
    model = build(kind)
    plain = torch.optim.AdamW(model.parameters(), lr=3e-3)
    optimizer: Any = plain
    taken = [0]
    plain.register_step_post_hook(lambda *_: taken.__setitem__(0, taken[0] + 1))
    rule = SigmaRule() if guard == "olmo-core rule" else None
    with contextlib.ExitStack() as cleanup:
        folder = cleanup.enter_context(tempfile.TemporaryDirectory())
        if guard == "bedside":
            options: dict[str, Any] = {"on_nan": "skip", "quiet": True, "run_dir": Path(folder) / "run"}
            monitor = cleanup.enter_context(bedside.watch(model, plain, **options))
        if guard == "stabilityguard":
            from stabilityguard import GuardedOptimizer

            cleanup.enter_context(contextlib.redirect_stdout(io.StringIO()))
            optimizer = GuardedOptimizer(plain, model, log_dir=folder)
        for x, y in batches(seed, steps, poisoned=guard != "clean"):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.get_total_norm([p.grad for p in model.parameters()])
            if rule is None or rule.takes(loss=loss.item(), norm=norm.item()):
                optimizer.step()
        if guard == "bedside":
            taken[0] -= int(monitor.summary()["guarded_steps"] or 0)
    return {"loss": validation_loss(model), "taken": taken[0]}


def validation_loss(model: nn.Module) -> float:
    model.eval()
    with torch.no_grad():
        losses = [F.cross_entropy(model(x), y).item() for x, y in batches(10_000, 50, poisoned=False)]
    return statistics.fmean(losses)


def measure(seeds: int, steps: int, show: Callable[[str], None] = print) -> list[dict[str, Any]]:
    rows = []
    for kind in MODELS:
        clean = [train(kind, "clean", seed, steps)["loss"] for seed in range(seeds)]
        for guard in GUARDS:
            try:
                runs = [train(kind, guard, seed, steps) for seed in range(seeds)]
            except ImportError:
                show(f"{kind:11} {guard:15} is not installed")
                continue
            losses = [run["loss"] for run in runs]
            finite = [loss for loss in losses if math.isfinite(loss)]
            gaps = [loss - one for loss, one in zip(losses, clean, strict=True) if math.isfinite(loss)]
            rows.append(
                {
                    "model": kind,
                    "guard": guard,
                    "runs": seeds,
                    "finite_runs": len(finite),
                    "median_loss": f"{statistics.median(finite):.4f}" if finite else "NaN",
                    "median_gap_to_clean": f"{statistics.median(gaps):+.4f}" if gaps else "NaN",
                    "spread_of_clean": f"{statistics.stdev(clean):.4f}" if seeds > 1 else "",
                    "steps_taken": round(statistics.median(run["taken"] for run in runs)),
                    "steps": steps,
                }
            )
            show("  ".join(f"{value!s:>14}" for value in rows[-1].values()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = measure(options.seeds, options.steps)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
