"""Preflight over healthy and faulty programs: faults that are seen before the first step, and false alarms.

    python benchmarks/preflight.py                          everything, about half an hour on two cores
    python benchmarks/preflight.py --missing                programs that have no row in the table yet
    python benchmarks/preflight.py --only zoo double-softmax --details
    python benchmarks/preflight.py --depth full --only zoo labels-torn-from-inputs

Each program of the zoo, of benchmarks/healthy_programs and of benchmarks/strangers runs until its first optimizer
steps; what it gave to its model and to its loss functions until then becomes a loader and a loss function, and the
model and the optimizer are put back to where they began. Specimens that use the zoo's plain loop give everything at
once: the validation part, the schedule and the number of steps too. A program whose loss cannot be taken apart like
that (several models, a loss of its own make) is handed over by hand (preflight_by_hand.py) or counted as *not
adapted*.

VISIBLE says which faults of the zoo are there before the first step, and which checks would be right. For the strangers
any failed check on the faulty program counts. Results go to benchmarks/results/preflight.csv.
"""

from __future__ import annotations

import argparse
import csv
import functools
import importlib
import math
import multiprocessing
import random
import runpy
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "preflight.csv"
COLUMNS = ("source", "program", "sick", "adapted", "visible", "caught", "right", "failed", "notes", "seconds")
SOURCES = ("zoo", "healthy", "in_sight", "held_out")
STEPS = 10  # until the program is stopped: enough batches for every check
SEED = 0

# Faults that are in the model, the data, the loss, the optimizer or the schedule before the first step, and the checks
# that would name them. The other specimens' faults happen in the loop or later.
VISIBLE: dict[str, tuple[str, ...]] = {
    "learning-rate-ten": ("PRE105",),
    "rate-one": ("PRE105",),
    "nan-from-steps-too-long": ("PRE105",),
    "learning-rate-1e-6": ("PRE105",),
    "rate-1e-7": ("PRE105",),
    "ten-sigmoid-layers": ("PRE407", "PRE106"),
    "dead-layer": ("PRE301", "PRE403", "PRE407", "PRE106"),
    "head-not-in-optimizer": ("PRE302",),
    "labels-torn-from-inputs": ("PRE108",),
    "relu-on-the-logits": ("PRE102",),
    "label-in-the-input": (),
    "future-leaks": ("PRE404",),
    "no-shuffling": ("PRE501",),
    "double-softmax": ("PRE102",),
    "validation-scaled-otherwise": ("PRE205",),
    "exploding-depth": ("PRE407", "PRE104"),
    "detached-backbone": ("PRE301",),
    "layers-in-a-list": ("PRE302",),
    "saturated-head": ("PRE106", "PRE407"),
    "saturated-tanh": ("PRE407", "PRE106"),
    "rate-of-zero-for-the-backbone": ("PRE306",),
    "swallowed-bf16-updates": ("PRE701",),
    "collapsed-activations": ("PRE407", "PRE403", "PRE106"),
    "growing-activations": ("PRE407", "PRE104"),
    "symmetric-units": (),
    "collapsed-attention": (),
    "schedule-ended-early": ("PRE601",),
    "endless-warmup": ("PRE601",),
    "late-overshoot": ("PRE601",),
    "stale-optimizer": ("PRE302",),
    "one-feature-in-thousands": ("PRE202",),
    "same-batch-again": ("PRE501",),
    "lopsided-labels": ("PRE207",),
    "broadcast-loss": ("PRE101",),
    "nan-in-the-data": ("PRE201",),
    "nan-zero-over-zero": ("PRE109", "PRE101"),
    "nan-sqrt-of-zero": ("PRE109",),
    "nan-exp-overflow": ("PRE109",),
    "nan-fp16-overflow": ("PRE109", "PRE701"),
    "underflowing-second-moment": ("PRE701",),
    "underfitting": ("PRE106",),
}


@dataclass(frozen=True)
class Job:
    """One program, faulty or not; `file` for a program, a name for a specimen."""

    source: str
    name: str
    sick: bool
    file: str = ""
    depth: str = "fast"


@dataclass
class Outcome:
    job: Job
    adapted: bool = False
    failed: list[tuple[str, str]] = field(default_factory=list)  # code and message
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    error: str = ""

    def row(self) -> dict[str, Any]:
        visible = self.job.sick and (self.job.source != "zoo" or self.job.name in VISIBLE)
        codes = [code for code, _ in self.failed]
        right = set(codes + self.notes) & set(VISIBLE.get(self.job.name, ()))
        return {
            "source": self.job.source,
            "program": self.job.name,
            "sick": int(self.job.sick),
            "adapted": int(self.adapted),
            "visible": int(visible),
            "caught": int(self.job.sick and bool(codes)),
            "right": int(self.job.sick and bool(right)),
            "failed": " ".join(codes),
            "notes": " ".join(self.notes),
            "seconds": f"{self.seconds:.0f}",
        }


class Stop(BaseException):
    """Enough was seen: no program catches this."""


def run(job: Job) -> Outcome:
    """Capture one program's training and look at it."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    np.random.seed(SEED)
    random.seed(SEED)
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    outcome = Outcome(job)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            captured = specimen_training(job) if job.source == "zoo" else None
            captured = captured or program_training(job) or training_by_hand(job)
            if captured is not None:
                import bedside

                outcome.adapted = True
                result = bedside.preflight(**captured, depth=job.depth, progress=False, ignore=["PRE505"])
                outcome.failed = [(each.code, each.message) for each in result.failed]
                outcome.notes = [each.code for each in result.notes]
                outcome.error = "; ".join(str(each) for each in result.not_examined if each.broken)
        except Exception:
            outcome.error = traceback.format_exc(limit=-3)
    outcome.seconds = time.perf_counter() - began
    return outcome


def specimen_training(job: Job) -> dict[str, Any] | None:
    """The objects that a specimen hands to the zoo's plain loop; None if it has a loop of its own."""
    from torch.utils.data import DataLoader, TensorDataset

    found: dict[str, Any] = {}

    def train(case: Any, model: Any, optimizer: Any, task: Any, **options: Any) -> None:
        from bedside.zoo.training_loop import cross_entropy

        size = min(options.get("batch", 64), len(task))
        steps = options.get("steps", 300)
        found.update(
            model=model,
            optimizer=optimizer,
            loss_fn=options.get("loss") or cross_entropy,
            train_loader=DataLoader(TensorDataset(task.x, task.y), size, shuffle=task.shuffle, drop_last=True),
            val_loader=DataLoader(TensorDataset(task.x_val, task.y_val), size),
            scheduler=options.get("scheduler"),
            steps=steps,
        )
        raise Stop

    module = importlib.import_module(f"bedside.zoo.specimens.{job.name.replace('-', '_')}")
    with ExitStack() as stack:
        if hasattr(module, "train"):
            stack.enter_context(mock.patch.object(module, "train", train))
        with suppress(Stop):
            _train_specimen(job)
    return found or None


def _train_specimen(job: Job, watch: Callable[..., Any] | None = None) -> None:
    from bedside.zoo.specimen import Case
    from bedside.zoo.specimens import find_specimen

    specimen = find_specimen(job.name)
    severity = list(specimen.severities.values())[-1] if job.sick else None
    with tempfile.TemporaryDirectory() as folder:
        case = Case(job.sick, severity, SEED, Path(folder))
        with ExitStack() as stack:
            if watch is None:
                watch = _stopping
            stack.enter_context(mock.patch.object(Case, "watch", lambda self, *args, **more: watch(*args)))
            specimen.train(case)


def _stopping(*_: Any) -> Any:
    raise Stop  # a loop of its own


def training_by_hand(job: Job) -> dict[str, Any] | None:
    """What the author of a healthy program would hand over, for those that cannot be taken apart."""
    from preflight_by_hand import BY_HAND

    if job.source != "healthy" or job.name not in BY_HAND:
        return None
    return BY_HAND[job.name](runpy.run_path(job.file))


@dataclass(frozen=True)
class Backward:
    """One backward pass: the forwards and loss calls that led to it, and the value it began at."""

    forwards: list[Any]
    calls: list[Any]
    root: float


class Capture:
    """Records what a program gives to its model and to its loss functions, for a few steps."""

    def __init__(self) -> None:
        self.model: Any = None
        self.optimizer: Any = None
        self.state: Any = None
        self.backwards: list[Backward] = []
        self._forwards: list[Any] = []
        self._steps = 0
        self._stack = ExitStack()

    def watch(self, model: Any, optimizer: Any, **_: Any) -> Any:
        import torch

        from bedside.preflight.torch_calls import LOSSES, FunctionCalls
        from bedside.training.preserve import Preserved

        if self.model is not None or isinstance(optimizer, (list, tuple)) or not isinstance(model, torch.nn.Module):
            raise Stop
        self.model, self.optimizer = model, optimizer
        self.state = Preserved(model, optimizer)
        self._mode = self._stack.enter_context(FunctionCalls(LOSSES))
        self._stack.enter_context(
            mock.patch.object(torch.autograd, "backward", self._backward(torch.autograd.backward))
        )
        self._stack.callback(model.register_forward_hook(self._forward, with_kwargs=True).remove)
        self._stack.callback(optimizer.register_step_pre_hook(self._step).remove)
        return mock.MagicMock()

    def _forward(self, model: Any, args: Any, kwargs: Any, output: Any) -> None:
        import torch

        from bedside.training.batches import map_tensors

        if torch.is_grad_enabled():
            self._forwards.append((map_tensors(torch.clone, args), dict(kwargs), output))

    def _backward(self, original: Any) -> Any:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            root = tensors[0] if isinstance(tensors, (list, tuple)) else tensors
            calls = [each for each in self._mode.calls if each.result is not None and each.result.requires_grad]
            self.backwards.append(
                Backward(self._forwards, calls, float(root.detach()) if root.numel() == 1 else math.nan)
            )
            self._forwards = []
            self._mode.calls.clear()
            return original(tensors, *args, **kwargs)

        return backward

    def _step(self, *_: Any) -> None:
        self._steps += 1
        if self._steps >= STEPS:
            raise Stop

    def end(self) -> None:
        self._stack.close()
        if self.state is not None:
            self.state.put_back()


def program_training(job: Job) -> dict[str, Any] | None:
    """A loader and a loss made of what a program did in its first steps; None if that cannot be taken apart."""
    capture = Capture()
    try:
        if job.source == "zoo":
            _train_specimen(job, capture.watch)
        else:
            main = runpy.run_path(job.file)["main"]
            main(capture.watch) if job.source == "healthy" else main(capture.watch, job.sick)
    except Stop:
        pass
    except Exception:
        if not capture.backwards:
            return None
    finally:
        capture.end()
    return _adapted(capture)


def _adapted(capture: Capture) -> dict[str, Any] | None:
    """The training put together again; None where something happens between the model and the loss."""
    simple = [each for each in capture.backwards if len(each.forwards) == 1 and not each.forwards[0][1]]
    if len(simple) < max(2, len(capture.backwards) // 2):
        return None
    for rebuild in (_own_loss, _one_call):
        if (found := rebuild(simple)) is not None:
            batches, loss_fn = found
            return {
                "model": capture.model,
                "optimizer": capture.optimizer,
                "train_loader": batches,
                "loss_fn": loss_fn,
                "forward": functools.partial(_called, arguments=len(simple[0].forwards[0][0])),
            }
    return None


def _called(model: Any, batch: Any, arguments: int) -> Any:
    return model(*batch[:arguments])


def _own_loss(backwards: Sequence[Backward]) -> tuple[list[Any], Any] | None:
    """A model that returns its own loss, among other things, times a constant."""
    from bedside.training.batches import named_tensors

    scalars = [[t for _, t in named_tensors(each.forwards[0][2]) if t.numel() == 1] for each in backwards]
    if any(len(each) != 1 for each in scalars):
        return None
    factor = _factor([(each.root, float(t[0])) for each, t in zip(backwards, scalars, strict=True)])
    if factor is None:
        return None

    def loss_fn(output: Any, batch: Any) -> Any:
        return factor * next(t for _, t in named_tensors(output) if t.numel() == 1).reshape(())

    return [each.forwards[0][0] for each in backwards], loss_fn


def _one_call(backwards: Sequence[Backward]) -> tuple[list[Any], Any] | None:
    """One call of a loss function on the model's output, reshaped or not, times a constant."""
    from torch import Tensor

    from bedside.preflight.torch_calls import LOSSES

    first = backwards[0]
    output = first.forwards[0][2]
    if any(len(each.calls) != 1 for each in backwards) or not isinstance(output, Tensor):
        return None
    call = first.calls[0]
    if not _same_numbers(call.prediction, output) or any(each.calls[0].target.requires_grad for each in backwards):
        return None
    factor = _factor([(each.root, float(each.calls[0].result.detach().mean())) for each in backwards])
    if factor is None:
        return None
    function = next(each for each, name in LOSSES.items() if name == call.function)
    options = {key: value for key, value in call.arguments.items() if key not in ("input", "target")}
    shape = None if call.prediction.shape == output.shape else call.prediction.shape

    def loss_fn(output: Any, batch: Any) -> Any:
        target = batch[-1]
        if shape is not None:
            output = output.reshape(len(target), *shape[1:])
        loss = function(output, target, **options)
        return loss if factor == 1 else factor * loss

    return [(*each.forwards[0][0], each.calls[0].target.detach().clone()) for each in backwards], loss_fn


def _factor(pairs: Sequence[tuple[float, float]]) -> float | None:
    """By what the value is divided before the backward pass, if always by the same: the number of micro-batches."""
    ratios = [root / value for root, value in pairs if value]
    if len(ratios) < len(pairs) or not all(math.isfinite(each) for each in ratios):
        return None
    if max(ratios) - min(ratios) > 1e-4 * abs(ratios[0]):
        return None
    parts = round(1 / abs(ratios[0])) if ratios[0] else 0
    shared = 1 <= parts <= 64 and abs(ratios[0] * parts - 1) < 1e-3  # micro-batches; anything else is a scaler's
    return 1 / parts if shared else None


def _same_numbers(one: Any, other: Any) -> bool:
    import torch

    return one.numel() == other.numel() and torch.equal(one.detach().flatten(), other.detach().flatten())


def jobs(sources: Sequence[str], names: Sequence[str], depth: str) -> Iterator[Job]:
    from bedside.zoo.specimens import ZOO

    wanted = [name.replace("_", "-") for name in names]

    def chosen(name: str) -> bool:
        return not wanted or name in wanted

    if "zoo" in sources:
        for each in ZOO:
            if chosen(each.name) and not each.name.startswith("ranks-"):  # two processes each
                yield from (
                    Job("zoo", each.name, sick, depth=depth) for sick in ((True, False) if each.sick else (False,))
                )
    for source, folder in (
        ("healthy", "healthy_programs"),
        ("in_sight", "strangers/in_sight"),
        ("held_out", "strangers/held_out"),
    ):
        for file in sorted((HERE / folder).glob("*.py")) if source in sources else ():
            name = file.stem.replace("_", "-")
            if chosen(name):
                for sick in (False,) if source == "healthy" else (True, False):
                    yield Job(source, name, sick, str(file), depth)


def summary(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for source in dict.fromkeys(row["source"] for row in rows):
        own = [row for row in rows if row["source"] == source and row["adapted"]]
        well = [row for row in own if not row["sick"]]
        visible = [row for row in own if row["visible"]]
        lines.append(
            f"{source}: {sum(bool(row['failed']) for row in well)} false alarms on {len(well)} healthy programs"
            + (f"; {sum(row['caught'] for row in visible)} of {len(visible)} faults caught" if visible else "")
            + (f", {sum(row['right'] for row in visible)} by name" if source == "zoo" else "")
            + f"; {sum(row['source'] == source and not row['adapted'] for row in rows)} not adapted"
        )
    return "\n".join(lines)


def table() -> list[dict[str, Any]]:
    """The rows on disk."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def of(row: dict[str, Any]) -> tuple[str, str, int]:
    """What a row is of: the source, the program, and whether with its fault."""
    return row["source"], row["program"], int(row["sick"])


def _keep(rows: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]]) -> None:
    """The table on disk: these rows, and those before that are of other programs; in the order of the programs."""
    own = {of(row): row for row in [*before, *rows]}
    order = [(job.source, job.name, int(job.sick)) for job in jobs(SOURCES, [], "fast")]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(own[each] for each in order if each in own)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="NAME")
    parser.add_argument("--only", choices=SOURCES, action="append")
    parser.add_argument("--depth", choices=("fast", "full"), default="fast")
    parser.add_argument("--details", action="store_true", help="show every failed check, but for the held-out programs")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--missing", action="store_true", help="only programs without a row in the table; adds theirs")
    options = parser.parse_args(arguments)
    sources = options.only or SOURCES
    there = {of(row) for row in table()} if options.missing else set()
    asked = [
        job
        for job in jobs(sources, options.programs, options.depth)
        if (job.source, job.name, int(job.sick)) not in there
    ]
    rows = []
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=10) as pool:
        for outcome in pool.imap(run, asked):
            rows.append(outcome.row())
            print(
                "{source:9} {program:34} sick {sick} adapted {adapted} visible {visible} | {failed} | {notes} "
                "{seconds}s".format(**rows[-1])
            )
            for code, message in outcome.failed if options.details and outcome.job.source != "held_out" else ():
                print(f"      {code} {message}")
            if outcome.error and options.details:
                print(f"      error: {outcome.error}")
            sys.stdout.flush()
    print(summary(rows))
    if not options.programs and options.depth == "fast":
        _keep(rows, [row for row in table() if options.missing or row["source"] not in sources])
    return 0


if __name__ == "__main__":
    sys.exit(main())
