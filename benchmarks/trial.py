"""Does `lab.trial` find the true cure? On failures of the zoo, whose cure is known: the line that makes them sick.

    python benchmarks/trial.py [SPECIMEN ...] [-o benchmarks/results/trial.csv]

Each specimen is trained for some steps as it is, sick; then a trial with its default treatments is run from that state.
It counts as found if a true cure is on top and is said to help. Severities are all of the specimen's.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from bedside import lab
from bedside.training.step import Loop, Training
from bedside.zoo.specimen import Case, Specimen
from bedside.zoo.specimens import find_specimen
from bedside.zoo.training_loop import cross_entropy

LOWER, HIGHER = ("LR ÷ 10", "LR ÷ 100"), ("LR × 10", "LR × 100")
COLUMNS = ["specimen", "severity", "cures", "on_top", "verdict", "won", "found", "loss", "control"]

# The specimen, what undoes its one sick line, and after how many steps of it the doctor is called.
CASES: dict[str, tuple[tuple[str, ...], int]] = {
    "learning-rate-ten": (LOWER, 0),
    "rate-one": (LOWER, 0),
    "learning-rate-1e-6": (HIGHER, 20),
    "rate-1e-7": (HIGHER, 20),
    "clipping-too-tight": (("no clipping",), 20),
    "decay-too-strong": (("no weight decay",), 20),
    "dead-relu": (("re-initialised dead units",), 250),
    "missing-warmup": ((*LOWER, "warm-up of 30 steps"), 0),
    "oscillating-loss": (LOWER, 100),
    "exploding-recurrence": (("clip at 1",), 0),
    "nan-from-steps-too-long": (LOWER, 0),
    "swallowed-bf16-updates": (("float32",), 500),
    "diverging-late": (LOWER, 100),
}


class Captured(Exception):
    """Carries a specimen's training out of it, before its first step."""

    def __init__(self, training: Training) -> None:
        self.training = training
        super().__init__()


def captured(specimen: Specimen, severity: str, seed: int = 0) -> Training:
    """The specimen's own model, optimizer, data, loss and loop, as it hands them to the zoo's training loop."""
    home: Any = sys.modules[specimen.train.__module__]

    def stop(_case: Any, model: Any, optimizer: Any, task: Any, **options: Any) -> None:
        order = torch.Generator().manual_seed(seed)
        batch = min(options.get("batch", 64), len(task.x))
        loader = DataLoader(TensorDataset(task.x, task.y), batch, shuffle=True, generator=order, drop_last=True)
        loss = options.get("loss") or cross_entropy
        loop = Loop(scheduler=options.get("scheduler"), clip=options.get("clip"))
        raise Captured(Training(model, loader, lambda output, target: loss(output, target), optimizer, loop=loop))

    kept, home.train = home.train, stop
    try:
        torch.manual_seed(seed)
        with tempfile.TemporaryDirectory() as folder:
            specimen.train(Case(True, specimen.severities[severity], seed, Path(folder)))
    except Captured as caught:
        return caught.training
    finally:
        home.train = kept
    raise RuntimeError(f"{specimen.name} does not use the zoo's training loop")


@dataclass(frozen=True)
class Row:
    specimen: str
    severity: str
    cures: str
    on_top: str
    verdict: str
    won: str
    found: bool
    loss: str
    control: str


def measured(name: str, severity: str) -> Row:
    cures, warm = CASES[name]
    specimen = find_specimen(name)
    training = captured(specimen, severity)
    for step in range(warm):
        training.step(step)
    result = lab.trial(
        training.model, training.loader, training.loss_fn, training.optimizer, loop=training.loop, progress=False
    )
    top = result.arms[0]
    control = sum(result.control) / len(result.control)
    found = top.name in cures and top.verdict == "helps"
    won = f"{top.won} of {len(top.losses)}"
    ends = f"{top.loss:.3g}", f"{control:.3g}"
    return Row(name, severity, " / ".join(cures), top.name, top.verdict, won, found, *ends)


def _mostly(name: str, rows: list[Row]) -> bool:
    own = [row.found for row in rows if row.specimen == name]
    return sum(own) > len(own) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("specimens", nargs="*", default=[], metavar="SPECIMEN")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "trial.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in options.specimens or CASES:
        specimen = find_specimen(name)
        for severity in specimen.severities:
            row = measured(name, severity)
            rows.append(row)
            word = "found " if row.found else "MISSED"
            print(f"{word} {name} {severity}: {row.on_top} {row.loss} (control {row.control})", flush=True)
    if not options.specimens:
        with options.output.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(vars(row) for row in rows)
    wholly = {row.specimen for row in rows} - {row.specimen for row in rows if not row.found}
    most = {name for name in {row.specimen for row in rows} if _mostly(name, rows)}
    every = len({row.specimen for row in rows})
    print(f"{sum(row.found for row in rows)} of {len(rows)} cases; in most severities {len(most)} of {every} specimens")
    print(f"in every severity {len(wholly)} of {every} specimens")


if __name__ == "__main__":
    main()
