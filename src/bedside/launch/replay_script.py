"""`bedside replay INCIDENT --script train.py`: the script's own loop runs the kept step again, and is then stopped. The
script needs no changes. It is started as python would start it; the first module whose parameters have the names and
shapes of the incident is the model. From its first step on, the loop gets the kept batches from its loader, the model
the kept arguments, torch's loss functions the kept targets, and the random generators their kept states. What the
script computes from them is the step, loss included. It is run in passes: as it was; with every operation checked; and
without the samples that are suspected. No optimizer moves a weight meanwhile, and then the script is left.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data.dataloader import _BaseDataLoaderIter

from bedside.collect.hooks.torch_patches import LOSSES
from bedside.errors import BedsideError
from bedside.incident.incident import Incident
from bedside.incident.numeric_settings import numerics_of
from bedside.incident.replay.attribution import by_halving, rows_not_finite
from bedside.incident.replay.kept_batch import KeptBatch
from bedside.incident.replay.matching import refuse_another, replayable_batches
from bedside.incident.replay.outcome import Outcome, compare, fails, outcome_of, restore_model
from bedside.incident.replay.replay_result import Experiment, Replay
from bedside.launch.target import Target
from bedside.training.nonfinite.backward_nodes import first_bad_node, with_lines
from bedside.training.nonfinite.hunt import Culprit, already_bad, answer, bad_input
from bedside.training.nonfinite.module_check import ModuleCheck
from bedside.training.nonfinite.operators import CheckOperations
from bedside.training.nonfinite.values import is_finite


class Finished(BaseException):
    """Ends the script; its own `except Exception` does not catch it."""


@dataclasses.dataclass(frozen=True)
class Pass:
    """The micro-batches that the loop gets next."""

    batches: Sequence[KeptBatch]
    checking: bool = False  # every operation, for what is not finite


def replay_script(incident: Incident, target: Target, *, anyway: bool = False) -> Replay:
    """Run the script until its loop has gone through the kept step; what it prints goes to stderr."""
    loop = _Loop(incident, anyway)
    code, main = target.prepare()
    with loop.installed(), numerics_of(incident.facts["numerics"]), contextlib.redirect_stdout(sys.stderr):
        try:
            exec(code, vars(main))
        except (Finished, SystemExit):
            pass
        except Exception as error:
            loop.raised(error)
    return loop.answer()


class _Loop:
    """Stands between the script's loop and what it calls."""

    def __init__(self, incident: Incident, anyway: bool) -> None:
        self._incident = incident
        self._anyway = anyway
        self._batches = replayable_batches(incident)
        self._weights = incident.weights
        self._model: nn.Module | None = None
        self._result: Replay | None = None
        self._refused: BedsideError | None = None
        self._plan = self._passes()
        self._pass: Pass | None = None  # None: the loop has not come to its first step yet
        self._number = self._calls = 0
        self._losses: list[float] = []
        self._output: Any = None
        self._unscaled: Tensor | None = None
        self._checks: tuple[CheckOperations, ModuleCheck, contextlib.ExitStack] | None = None
        self._culprit: Culprit | None = None
        self._notes: tuple[str, ...] = ()

    def answer(self) -> Replay:
        if self._refused is not None:
            raise self._refused
        if self._result is None:
            seen = (
                "no module with the parameters of the incident was called"
                if self._model is None
                else ("it ended before its loop had made two steps")
            )
            raise BedsideError(
                f"The script did not come to the kept step: {seen}.",
                expected="the script of the run, with the arguments it had",
                try_=f"bedside replay {self._incident.folder} --script train.py {_arguments(self._incident)}".rstrip(),
            )
        return dataclasses.replace(self._result, notes=self._notes)

    # What is run, and what is made of it.

    def _passes(self) -> Any:
        """Each pass is yielded, and its outcome comes back."""
        incident, batches = self._incident, self._batches
        outcome: Outcome = yield Pass(batches)
        exact, differences = compare(incident, batches, outcome)
        reproduced = fails(incident, outcome)
        self._result = Replay(incident.step, incident.kind, reproduced, exact, differences, outcome.losses)
        if outcome.error is not None or incident.kind == "spike" or not reproduced:
            return
        assert self._model is not None
        restore_model(incident, self._model)
        if culprit := already_bad(self._model):
            self._result = dataclasses.replace(self._result, culprit=culprit)
            return
        bad = next((i for i, each in enumerate(outcome.losses) if not math.isfinite(each)), len(outcome.losses) - 1)
        self._culprit = bad_input(batches[bad])
        if self._culprit is None:
            yield Pass([batches[bad]], checking=True)
        self._result = dataclasses.replace(self._result, culprit=self._culprit)
        yield from self._suspect(batches[bad], outcome.losses[bad])

    def _suspect(self, batch: KeptBatch, whole: float) -> Any:
        """The step without the rows that are not finite, or else without those that halving finds."""
        every = list(range(batch.rows))
        rows = rows_not_finite((batch.inputs, batch.keywords, batch.target), batch.rows)
        rows = rows or rows_not_finite(self._output, batch.rows)
        if not rows or len(rows) == batch.rows:
            search = by_halving(every)
            part = next(search)
            try:
                while True:
                    outcome: Outcome = yield Pass([_part(batch, part)])
                    part = search.send(outcome.is_finite)
            except StopIteration as found:
                rows = found.value
        others = [each for each in every if each not in rows]
        if rows and others:
            rest: Outcome = yield Pass([_part(batch, others)])
            names = tuple(batch.sample(row) for row in rows)
            experiment = Experiment(tuple(rows), names, whole, rest.losses[0], rest.is_finite)
            self._result = dataclasses.replace(self._result, experiment=experiment)  # type: ignore[type-var]

    def _next_pass(self, outcome: Outcome | None) -> None:
        try:
            self._pass = self._plan.send(outcome)
        except StopIteration:
            raise Finished from None
        self._number, self._losses = 0, []
        assert self._model is not None
        restore_model(self._incident, self._model)
        for each in self._model.parameters():
            each.grad = None

    def raised(self, error: Exception) -> None:
        """The script's loop failed."""
        if self._pass is not None and self._model is not None and self._incident.facts["error"]:
            with contextlib.suppress(Finished):
                self._next_pass(outcome_of(self._model, self._losses, error))
        elif self._result is None:
            raise error

    # What the loop calls.

    @property
    def _batch(self) -> KeptBatch | None:
        return self._pass.batches[self._number] if self._pass is not None else None

    @contextlib.contextmanager
    def installed(self) -> Any:
        import bedside.monitor.watch

        with contextlib.ExitStack() as cleanup:
            cleanup.callback(register_module_forward_pre_hook(self._find_model).remove)
            cleanup.callback(register_optimizer_step_pre_hook(self._step_begins).remove)
            replaced: list[tuple[Any, str, Callable[..., Any]]] = [
                (torch.autograd, "backward", self._backward),
                (torch.amp.GradScaler, "scale", self._scale),
                (_BaseDataLoaderIter, "__next__", self._loaded),
                (bedside, "watch", _unwatched),
                (bedside.monitor.watch, "watch", _unwatched),
                *((home, name, functools.partial(self._loss, kind)) for kind, (home, name) in LOSSES.items()),
            ]
            for home, name, replacement in replaced:
                original = getattr(home, name)
                cleanup.callback(setattr, home, name, original)
                setattr(home, name, functools.wraps(original)(_bound(replacement, original)))
            yield

    def _find_model(self, module: nn.Module, args: Any) -> None:
        if self._model is not None or not torch.is_grad_enabled():
            return
        shapes = {name: each.shape for name, each in [*module.named_parameters(), *module.named_buffers()]}
        if shapes != {name: getattr(each, "shape", None) for name, each in self._weights.items()}:
            return
        self._model = module
        try:
            self._notes = tuple(refuse_another(self._incident, module, self._anyway))
        except BedsideError as error:
            self._refused = error
            raise Finished from None
        module.register_forward_pre_hook(self._forward_begins, with_kwargs=True, prepend=True)
        module.register_forward_hook(self._forward_ended)

    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """No weight moves. The first step is where a step of the loop begins, however many micro-batches it has."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.grad = None
        if self._model is not None and self._pass is None:
            self._next_pass(None)

    def _loaded(self, original: Any, iterator: Any) -> Any:
        batch = original(iterator)
        kept = self._batch
        return batch if kept is None or kept.loaded is None else kept.copied().loaded

    def _forward_begins(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        batch = self._batch
        if (
            batch is None
            or not torch.is_grad_enabled()
            or module.training is ("" in self._incident.facts["evaluating"])
        ):
            return None
        self._calls += 1
        if self._calls == 1:
            if batch.random is not None:
                batch.random.restore()
            if self._pass is not None and self._pass.checking:
                self._begin_checking(module)
        copy = batch.copied()
        return (copy.inputs, copy.keywords) if batch.calls == 1 else None

    def _forward_ended(self, module: nn.Module, args: Any, output: Any) -> None:
        if self._calls:
            self._output = output

    def _loss(self, kind: str, original: Any, *args: Any, **kwargs: Any) -> Any:
        batch = self._batch
        if self._calls and batch is not None and batch.function == kind and batch.target is not None:
            args = (args[0], batch.target, *args[2:]) if len(args) > 1 else args
            kwargs = {**kwargs, "target": batch.target} if "target" in kwargs else kwargs
        return original(*args, **kwargs)

    def _scale(self, original: Any, scaler: Any, outputs: Any) -> Any:
        self._unscaled = outputs if isinstance(outputs, Tensor) else None
        return original(scaler, outputs)

    def _backward(self, original: Any, tensors: Any, *args: Any, **kwargs: Any) -> None:
        if self._pass is None or not self._calls or self._model is None:
            original(tensors, *args, **kwargs)
            return
        loss = tensors[0] if isinstance(tensors, tuple | list) else tensors
        unscaled, self._unscaled = self._unscaled, None
        self._losses.append((loss if unscaled is None else unscaled).item())
        if self._checks is not None:
            self._end_checking(loss, original)
        else:
            original(tensors, *args, **kwargs)
        self._calls = 0
        self._number += 1
        if self._number == len(self._pass.batches):
            self._next_pass(outcome_of(self._model, self._losses))

    # The first operation that is not finite.

    def _begin_checking(self, module: nn.Module) -> None:
        stack = contextlib.ExitStack()
        modules, operations = ModuleCheck(module), CheckOperations()
        stack.enter_context(modules.attached())
        stack.enter_context(with_lines())
        stack.enter_context(operations)
        self._checks = (operations, modules, stack)

    def _end_checking(self, loss: Tensor, backward: Any) -> None:
        assert self._checks is not None
        (operations, modules, stack), self._checks = self._checks, None
        stack.close()
        if not is_finite(loss):
            operation = operations.producer(loss)
            guilty = modules.guilty[0].name if modules.guilty else ""
            moment = "forward" if modules.guilty else "loss"
            self._culprit = answer(moment, guilty, operation) if operation is not None else Culprit(moment, guilty)
            return
        operation = first_bad_node(loss)
        self._culprit = answer("backward", "", operation) if operation is not None else Culprit("backward")


def _part(batch: KeptBatch, rows: Sequence[int]) -> KeptBatch:
    """These rows. Where the script makes its targets itself it makes as many as ever, so the rows are repeated."""
    return batch.only(rows if batch.loaded is not None else [rows[i % len(rows)] for i in range(batch.rows)])


class _Unwatched:
    """Takes the place of a Monitor while a script is replayed."""

    step = 0
    run_dir = "bedside-runs/replay"

    def __enter__(self) -> _Unwatched:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def validation(self) -> Any:
        return contextlib.nullcontext()

    def summary(self, *_: Any) -> dict[str, Any]:
        return {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


def _unwatched(original: Any, *args: Any, **kwargs: Any) -> _Unwatched:
    return _Unwatched()


def _bound(replacement: Callable[..., Any], original: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return replacement(original, *args, **kwargs)

    return call


def _arguments(incident: Incident) -> str:
    """The script's own arguments at the time, as far as its command line tells."""
    command = incident.facts["environment"].get("command", "")
    words = command if isinstance(command, list) else str(command).split()
    script = next((i for i, each in enumerate(words) if str(each).endswith(".py")), None)
    arguments = [] if script is None else [str(each) for each in words[script + 1 :]]
    return " ".join(["--", *arguments]) if arguments else ""
