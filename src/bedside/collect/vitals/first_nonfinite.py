"""Where a NaN was born: the forward whose loss is not finite is run once more, with every module checked.

On healthy steps this costs a look at the loss. When the loss of a backward is NaN or infinite, the batch is still there
and the weights have not been moved by it yet, so the same forward is re-run (`silent re-run.py`: no gradients, nothing
changed) and the first module is named that was given finite numbers and returned others. The silent re-run tells apart:

* the batch itself held NaN,
* weights were bad already (then the step before was the bad one),
* a module's own arithmetic made it,
* the model's output is finite and the loss function made it (every label ignored, NaN in the targets, log of zero),
* it did not happen again: a matter of chance in the forward, such as a dropout mask.

Off the CPU, looking at the loss at once would make the device wait, so there the loss is looked at when it arrives with
the other numbers; by then the bad step has been made, and bad weights are all that can be reported.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.forward_hooks import Forward
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.reading.nested_tensors import tensors_in
from bedside.record.run import Event

MAX_SEARCHES = 20  # a run that goes on with NaN need not be explained at every step
COUNTING = 3  # forwards over which modules that count their own calls are found


class FirstNonfinite(Collector):
    """Looks at the loss before every backward; hunts when it is not finite."""

    name = "first_nonfinite"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._news: list[Event] = []
        self._searches = 0
        self._target: tuple[str, Any, Any] | None = None
        self._late: list[tuple[int, Any]] = []  # losses on their way from a device
        self._counters = Counters(context.model)

    # The moments.

    def forward_begins(self, forward: Forward) -> None:  # type: ignore[override]
        if forward.grad:
            self._counters.remember()
            self.needs_every_step = bool(self._counters.before)  # a silent re-run must start from what they were

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:  # type: ignore[override]
        self._target = (function, prediction, target)

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:  # type: ignore[override]
        if self._searches >= MAX_SEARCHES:
            return
        for loss in losses:
            if isinstance(loss, Tensor):
                self._late.append((self.context.step, self.queue.put(loss)))
            elif not _finite(loss):
                self._searches += 1
                self._search(loss)
                return
        self._target = None  # the predictions need not wait for the backward pass to end

    def step_ended(self, optimizer: Any, closure: bool) -> None:  # type: ignore[override]
        self._target = None  # the batch must not outlive its step

    def events(self) -> Iterable[Event]:
        late, self._late = self._late, []
        for step, pending in late:
            if not _finite(pending.number) and self._searches < MAX_SEARCHES:
                self._searches += 1
                facts = {"kind": "late", "loss": pending.number, "weights": bad_parameters(self.model)}
                self._news.append(Event(step, "origin", facts, time.time()))
        news, self._news = self._news, []
        return news

    # The hunt.

    def _search(self, loss: float) -> None:
        facts: dict[str, Any] = {"loss": loss, "weights": bad_parameters(self.model)[:20]}
        forward = self.context.forward_hooks.last
        if forward is None or _needs_other_ranks(self.model):
            facts["kind"] = "weights" if facts["weights"] else "unknown"
        else:
            facts["autocast"] = [str(kind).removeprefix("torch.") for _, kind in forward.autocast]
            try:
                facts |= self._rerun(forward, loss)
            except Exception as error:  # a forward that cannot be repeated, such as one that eats an iterator
                facts |= {"kind": "unknown", "error": f"{type(error).__name__}: {error}"}
        self._news.append(Event(self.context.step, "origin", facts, time.time()))

    def _rerun(self, forward: Forward, loss: float) -> dict[str, Any]:
        module = forward.module
        want_nan = loss != loss
        tracer = Tracer(self.model, want_nan)
        with tracer.listening(module):
            output = self.context.forward_hooks.rerun_silently(forward, self._counters.before)
        if tracer.found is None and want_nan:  # an infinity may have become NaN in the loss function
            tracer.found = tracer.first_infinity
        if tracer.found is not None:
            return tracer.found
        bad_output = any(_bad(t, want_nan) for t in tensors_in(output))
        return {"kind": "not_again"} if bad_output or self._real_output_was_bad() else self._in_the_loss()

    def _real_output_was_bad(self) -> bool:
        prediction = self._target[1] if self._target else None
        return isinstance(prediction, Tensor) and not bool(torch.isfinite(prediction).all())

    def _in_the_loss(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"kind": "loss"}
        if self._target is not None:
            function, _, target = self._target
            facts["function"] = function
            if isinstance(target, Tensor) and target.is_floating_point():
                facts["targets_finite"] = bool(torch.isfinite(target).all())
            elif isinstance(target, Tensor) and function in ("cross_entropy", "nll_loss"):
                facts["labels_all_ignored"] = bool((target < 0).all())
        return facts


class Tracer:
    """Hooks on every module of one forward; `found` is where the first bad number came from."""

    def __init__(self, model: nn.Module, want_nan: bool) -> None:
        self._names = {id(m): plain_name(name) for name, m in model.named_modules()}
        self._want_nan = want_nan
        self._stack: list[nn.Module] = []
        self.found: dict[str, Any] | None = None
        self.first_infinity: dict[str, Any] | None = None

    @contextmanager
    def listening(self, root: nn.Module) -> Iterator[None]:
        handles = []
        try:
            for module in root.modules():
                handles.append(module.register_forward_pre_hook(self._enter, with_kwargs=True))
                handles.append(module.register_forward_hook(self._leave, with_kwargs=True))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if self.found is None and self._any_bad((args, kwargs)):
            if not self._stack:
                self.found = {"kind": "input", "inputs_finite": False}
            else:  # its caller's own code made it, after the last child that returned well
                self.found = self._born_in(self._stack[-1], before=self._names.get(id(module), ""))
        self._stack.append(module)

    def _leave(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        self._stack.pop()
        if self.found is None and self._any_bad(output):
            # Infinities become NaN a few operations later: then the overflow is the origin.
            overflow = self.first_infinity if any(_bad(t, False) for t in tensors_in((args, kwargs))) else None
            self.found = overflow or self._born_in(module)
        elif self.found is None and self.first_infinity is None and self._want_nan and self._overflowed(args, output):
            self.first_infinity = self._born_in(module)

    def _any_bad(self, values: Any) -> bool:
        return any(_bad(t, self._want_nan) for t in tensors_in(values))

    def _overflowed(self, args: Any, output: Any) -> bool:
        return any(_bad(t, False) for t in tensors_in(output)) and not any(_bad(t, False) for t in tensors_in(args))

    def _born_in(self, module: nn.Module, before: str = "") -> dict[str, Any]:
        own = [name for name, p in module.named_parameters(recurse=False) if not bool(torch.isfinite(p).all())]
        return {
            "kind": "weights" if own else "module",
            "module": self._names.get(id(module), ""),
            "class": type(module).__name__,
            "inputs_finite": True,
            "weights_finite": not own,
            **({"before": before} if before else {}),
        }


class Counters:
    """Plain numbers that modules change in their own forward: a silent re-run must start from what they were."""

    def __init__(self, model: nn.Module) -> None:
        self._custom = [m for m in model.modules() if not type(m).__module__.startswith("torch.")]
        self._changing: dict[nn.Module, set[str]] = {}
        self._previous: dict[nn.Module, dict[str, Any]] = {}
        self._seen = 0
        self.before: dict[nn.Module, dict[str, Any]] = {}

    def remember(self) -> None:
        if self._seen < COUNTING:
            self._seen += 1
            now = {module: _numbers_of(module) for module in self._custom}
            for module, values in now.items():
                old = self._previous.get(module, values)
                changed = {name for name, value in values.items() if bool(old.get(name, value) != value)}
                if changed:
                    self._changing.setdefault(module, set()).update(changed)
            self._previous = now if self._seen < COUNTING else {}
        self.before = {
            module: {name: value for name, value in _numbers_of(module).items() if name in names}
            for module, names in self._changing.items()
        }


def bad_parameters(model: nn.Module) -> list[str]:
    """Names of parameters that hold a NaN or an infinity."""
    return [plain_name(name) for name, p in model.named_parameters() if not bool(torch.isfinite(p).all())]


def _numbers_of(module: nn.Module) -> dict[str, Any]:
    plain = {k: v for k, v in module.__dict__.items() if isinstance(v, (int, float)) and k != "training"}
    single = {k: b.detach().clone() for k, b in module._buffers.items() if b is not None and b.numel() == 1}
    return plain | single


def _bad(tensor: Tensor, nan: bool) -> bool:
    """Whether it holds a NaN, or (for an infinite loss) an infinity. Masks of -inf are no NaN."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return False
    return bool((torch.isnan(tensor) if nan else ~torch.isfinite(tensor)).any())


def _finite(number: float) -> bool:
    return number - number == 0.0


def _needs_other_ranks(model: nn.Module) -> bool:
    """A forward that talks to other ranks cannot be re-run by one rank alone."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return False
    sharded = any(hasattr(p, "full_tensor") for p in model.parameters())
    return sharded or any(isinstance(m, nn.SyncBatchNorm) for m in model.modules())
