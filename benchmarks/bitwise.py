"""Is a training the same to the last bit, watched and not? Weights, buffers, attributes, optimizer, random numbers.

    python -m benchmarks.bitwise [NAME ...] [--steps 60] [--part zoo|programs|stateful]

Trains every specimen of the zoo, every healthy program and every model of `stateful_models.py` twice, once under
`bedside.watch`, for so many optimizer steps, and compares everything that is left at the end. Where the two differ, the
training is repeated without watching: one that differs from itself proves nothing, and is counted apart. Writes
benchmarks/results/bitwise.csv.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import random
import runpy
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.stateful_models import OUTSIDE, TRAININGS
from torch import Tensor, nn
from torch._dynamo.eval_frame import OptimizedModule
from torch.optim.optimizer import register_optimizer_step_post_hook

import bedside
from bedside.zoo.specimen import Case, Specimen
from bedside.zoo.specimens import ZOO

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "bitwise.csv"
OF_TORCH = frozenset(nn.Module().__dict__) - {"training"}  # tables of torch's own: parameters, buffers, hooks
OWN_PROCESSES = ("ranks-disagree", "ranks-see-same-data")  # they train elsewhere


class Enough(Exception):
    """So many steps were taken."""


class Unwatched:
    """Stands where a Monitor would, and does nothing."""

    step = 0

    def log(self, *_: Any, **__: Any) -> None: ...

    epoch = categories = close = log

    @contextmanager
    def validation(self) -> Iterator[None]:
        yield

    def __enter__(self) -> Unwatched:
        return self

    def __exit__(self, *_: object) -> None: ...


@dataclass
class Training:
    """One of them: how to run it, given a `watch`, and what it trained."""

    part: str
    name: str
    run: Callable[[Callable[..., Any]], None]
    trained: list[tuple[nn.Module, Any]] = field(default_factory=list)

    def digest(self, watched: bool, steps: int) -> tuple[str, int]:
        """Everything at its end in one number, and how many steps it took."""
        self.trained, taken = [], 0
        OUTSIDE.clear()
        OUTSIDE["generator"] = np.random.default_rng(7)
        torch.manual_seed(0), np.random.seed(0), random.seed(0)
        torch._dynamo.reset()

        def stop(*_: Any) -> None:
            nonlocal taken
            taken += 1
            if taken >= steps:
                raise Enough

        handle = register_optimizer_step_post_hook(stop)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")

            def watch(model: nn.Module, optimizer: Any, **config: Any) -> Any:
                self.trained.append((model, optimizer))
                if not watched:
                    return Unwatched()
                run_dir = Path(folder, str(len(self.trained)))
                monitors.append(bedside.watch(model, optimizer, run_dir=run_dir, quiet=True))
                return monitors[-1]

            monitors: list[Any] = []
            try:
                self.run(watch)
            except (Enough, AssertionError):  # a healthy program asserts that it learned, which takes longer
                pass
            except Exception as error:
                if not watched:  # then it is no training
                    raise
                return f"{type(error).__name__}: {error}", taken
            finally:
                handle.remove()
                for each in monitors:
                    each.close()
        return self._everything(), taken

    def _everything(self) -> str:
        found = hashlib.sha256()
        for model, optimizer in self.trained:
            for name, tensor in model.state_dict().items():
                add(found, (name, tensor))
            for name, module in model.named_modules():
                if not isinstance(module, OptimizedModule):  # which keeps what the compiler has learnt
                    add(found, {f"{name}.{k}": v for k, v in vars(module).items() if k not in OF_TORCH})
            for each in optimizer if isinstance(optimizer, list | tuple) else [optimizer]:
                add(found, each.state_dict())
        add(found, (OUTSIDE, torch.get_rng_state(), random.getstate(), np.random.get_state()))
        return found.hexdigest()


def add(found: Any, value: Any) -> None:
    """A value, bit by bit; an object that holds no numbers counts by its kind."""
    found.update(type(value).__name__.encode())
    if isinstance(value, Tensor):
        flat = value.detach().to_dense() if value.is_sparse else value.detach()
        if flat.is_floating_point():  # one NaN is as good as another, whatever bits a vector unit leaves in it
            flat = flat.masked_fill(flat.isnan(), torch.nan)
        found.update(str(flat.dtype).encode() + flat.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    elif isinstance(value, np.ndarray):
        found.update(value.tobytes())
    elif isinstance(value, dict):
        for key, each in value.items():
            add(found, key), add(found, each)
    elif isinstance(value, list | tuple | deque):
        for each in value:
            add(found, each)
    elif isinstance(value, torch.Generator):
        add(found, value.get_state())
    elif isinstance(value, random.Random):
        add(found, value.getstate())
    elif isinstance(value, np.random.RandomState):
        add(found, value.get_state())
    elif isinstance(value, np.random.Generator):
        add(found, value.bit_generator.state)
    elif isinstance(value, bool | int | float | str | None):
        found.update(repr(value).encode())


def specimen(each: Specimen) -> Training:
    def run(watch: Callable[..., Any]) -> None:
        class Compared(Case):
            def watch(self, model: Any, optimizer: Any, **config: Any) -> Any:
                return watch(model, optimizer)

        severity = next(iter(each.severities.values()), None)
        each.train(Compared(sick=each.sick, severity=severity, seed=0, folder=Path(tempfile.gettempdir())))

    return Training("zoo", each.name, run)


def program(file: Path) -> Training:
    return Training("programs", file.stem.replace("_", "-"), lambda watch: runpy.run_path(str(file))["main"](watch))


def all_trainings() -> list[Training]:
    zoo = [specimen(each) for each in ZOO if each.name not in OWN_PROCESSES]
    programs = [program(file) for file in sorted((HERE / "healthy_programs").glob("*.py"))]
    return zoo + programs + [Training("stateful", name, run) for name, run in TRAININGS.items()]


def compare(training: Training, steps: int) -> dict[str, Any]:
    began = time.perf_counter()
    plain, taken = training.digest(False, steps)
    watched, _ = training.digest(True, steps)
    same = "same"
    if ": " in watched:
        print(f"{training.name}: {watched}")
    if plain != watched:
        again, _ = training.digest(False, steps)  # the first may have imported what draws random numbers
        same = "same" if again == watched else "different" if again == plain else "not repeatable"
    seconds = round(time.perf_counter() - began, 1)
    return {"part": training.part, "training": training.name, "steps": taken, "result": same, "seconds": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--part", choices=("zoo", "programs", "stateful"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for each in all_trainings():
        if (options.names and each.name not in options.names) or (options.part and each.part != options.part):
            continue
        rows.append(compare(each, options.steps))
        print("{part:10}{training:40}{steps:5} steps  {result}".format(**rows[-1]), flush=True)
    different = [row["training"] for row in rows if row["result"] == "different"]
    unrepeatable = [row["training"] for row in rows if row["result"] == "not repeatable"]
    print(f"\n{len(rows)} trainings: {len(different)} different when watched, {len(unrepeatable)} not repeatable")
    if not options.names and not options.part:
        with RESULTS.open("w", newline="") as file:
            table = csv.DictWriter(
                file, ["part", "training", "steps", "result"], extrasaction="ignore", lineterminator="\n"
            )
            table.writeheader()
            table.writerows(rows)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
