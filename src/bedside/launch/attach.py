"""From the script's optimizers to monitors.

Optimizers are noted when they are made. The first backward that reaches a tensor of one of them is the moment to
attach: everything exists by then, and no step has been missed. What cannot be seen there (gradients that are computed
some other way) is seen at the first step. Models that begin within the first steps are trained together, as a
generator and a discriminator are, and share a monitor; one that begins later is another training, with a record of
its own. A new optimizer for a model that is already watched continues the same record.

Nothing here may stop the script: a failure is reported once, and the script goes on unwatched.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from bedside.collect.hooks.replacement import Replacement
from bedside.errors import pass_on_interrupts
from bedside.launch.find_model import as_one, roots_of, tensors_of
from bedside.launch.options import Options
from bedside.stderr import say

TOGETHER = 10  # steps within which a second model belongs to the same training: critics get five before a generator
SEARCH_STEPS = 1000  # steps after which the owner of a backward is no longer looked up; that of a step still is
MAX_SWITCHES = 4  # times a run may change its optimizer before all of them are watched together
MAX_RUNS = 100  # trainings of one script that get a record: a search over thousands of models is not one of them


@dataclass
class Watched:
    """One training: its monitor, and whom it watches."""

    monitor: Any
    optimizers: list[Optimizer]
    roots: list[nn.Module]
    switches: int = 0

    def trains(self, tensors: Iterable[Tensor]) -> bool:
        mine = {id(p) for p in tensors_of(self.optimizers)} | {id(p) for r in self.roots for p in r.parameters()}
        return any(id(tensor) in mine for tensor in tensors)


class Attach:
    """Notes optimizers, waits for their models, and starts the monitors."""

    def __init__(self, options: Options, started: Callable[[Any], None]) -> None:
        self.options = options
        self.watched: list[Watched] = []
        self._started = started  # called with every new monitor
        self._made: list[weakref.ref[Optimizer]] = []
        self._known: weakref.WeakSet[Optimizer] = weakref.WeakSet()  # watched, or given up
        self._awaited: set[int] = set()  # ids of the tensors of those that are neither
        self._busy = False
        self._backward = Replacement(torch.autograd, "backward", self._attaching)
        self.micro_losses: Literal["", "sum"] = ""  # how they make up a step's loss, where the framework at work knows
        self.before_step: Callable[[], None] = lambda: None  # at every step of an optimizer that is watched

    def install(self) -> None:
        Replacement(Optimizer, "__init__", self._noting).install()
        self._backward.install()
        register_optimizer_step_pre_hook(self._stepping)

    def _noting(self, original: Any) -> Any:
        def noted(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._made_one(optimizer)

        return noted

    def _attaching(self, original: Any) -> Any:
        def first(tensors: Any, *args: Any, **kwargs: Any) -> None:
            if self._awaited and not self._busy:
                self.safely(lambda: self._backward_begins(tensors))
                if not self._backward.on_top:  # somebody watches now, and observes this one as well
                    self._awaited, awaited = set(), self._awaited
                    try:
                        torch.autograd.backward(tensors, *args, **kwargs)
                    finally:
                        self._awaited = awaited
                    return
            original(tensors, *args, **kwargs)

        return first

    def forked(self) -> None:
        """In a forked child: the monitors belong to its parent."""
        self.watched = []

    @property
    def newest(self) -> Any:
        """The monitor of the training that is going on."""
        return self.watched[-1].monitor if self.watched else None

    def begin(self, optimizer: Optimizer, root: nn.Module, vitals: Sequence[str]) -> None:
        """Watch an optimizer found elsewhere, with a model that may have no forwards."""
        self._known.add(optimizer)
        self._start([optimizer], [root], vitals)
        self._forget()

    def monitor_of(self, optimizer: Optimizer) -> Any:
        """The monitor that watches it now; a new optimizer of the same training may have started another one."""
        return next((each.monitor for each in self.watched if optimizer in each.optimizers), None)

    # What torch tells us.

    def _made_one(self, optimizer: Optimizer) -> None:
        self._made.append(weakref.ref(optimizer))
        self._awaited |= {id(p) for p in tensors_of([optimizer])}

    def _backward_begins(self, tensors: Any) -> None:
        reached = [leaf for leaf in leaves_of(tensors) if id(leaf) in self._awaited]
        if reached:
            self._attach(reached)

    def _stepping(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if optimizer in self._known:
            self.safely(self.before_step)
            if self._awaited and self.watched and self.newest.step > SEARCH_STEPS:
                self._awaited = set()
            return
        if not self._busy:
            self.safely(lambda: self._attach(tensors_of([optimizer]), optimizer))
            self._known.add(optimizer)  # whatever the result: not tried again at every step

    def safely(self, action: Callable[[], None]) -> None:
        self._busy = True
        try:
            action()
        except Exception as error:
            pass_on_interrupts(error)
            self._awaited.clear()
            if os.environ.get("BEDSIDE_DEBUG"):
                raise
            say(f"bedside: this training is not watched ({type(error).__name__}: {error})")
        finally:
            self._busy = False

    # What we make of it.

    def _attach(self, seen: Sequence[Tensor], stepping: Optimizer | None = None) -> None:
        """`seen` is being trained: by the optimizer that steps, or by one that waits."""
        waiting = [each for each in self._alive() if each not in self._known]
        if stepping is not None and stepping not in waiting:
            waiting.append(stepping)
        roots = roots_of(tensors_of(waiting))
        ids = {id(tensor) for tensor in seen}
        mine = [root for root in roots if any(id(p) in ids for p in root.parameters())]
        held = {id(p) for root in mine for p in root.parameters()}
        inside = {id(p) for root in roots for p in root.parameters()}
        ours = [
            each for each in waiting if each is stepping or any(_of(each, held, inside, p) for p in tensors_of([each]))
        ]
        self._known.update(ours)
        ours = [each for each in newest_of_each(ours) if not _already_watched(each)]
        if stepping is not None and stepping not in ours and not _already_watched(stepping):
            ours = [each for each in ours if not _same_tensors(each, stepping)] + [stepping]
        if ours:
            self._start(ours, mine)
        self._forget()

    def _forget(self) -> None:
        """Stop waiting for tensors of optimizers that are watched by now."""
        self._awaited = {id(p) for p in tensors_of(each for each in self._alive() if each not in self._known)}

    def _start(self, optimizers: list[Optimizer], roots: list[nn.Module], vitals: Sequence[str] = ()) -> None:
        import bedside

        before = next((each for each in self.watched if each.trains(tensors_of(optimizers))), None)
        newest = self.watched[-1] if self.watched else None
        options: dict[str, Any] = dict(self.options.watch)
        switches = 0
        if before is not None:  # a new optimizer for the same model: the run goes on
            kept = [each for each in before.optimizers if not _overlap(each, optimizers)]
            if before.switches >= MAX_SWITCHES:
                kept = [each for each in before.optimizers if each not in optimizers]
            switches = before.switches + 1
            optimizers, roots = kept + optimizers, roots or before.roots
            folder = self._end(before)
            options["resume"] = folder
        elif newest is not None and newest.monitor.step <= TOGETHER:  # trained together
            optimizers, roots = newest.optimizers + optimizers, newest.roots + roots
            folder = self._end(newest)
            shutil.rmtree(folder, ignore_errors=True)
            options["run_dir"] = folder
        elif len(self.watched) >= MAX_RUNS:
            return
        else:
            options["run_dir"] = self.options.new_folder()
        model = as_one(roots, tensors_of(optimizers))
        if not roots:  # tensors without a module have no forwards to hook
            vitals = ["grad_norm", "update_norm"]
        if vitals:
            options["vitals"] = vitals
        monitor = bedside.watch(model, optimizers, quiet=True, **options)
        if self.micro_losses:
            monitor.combine_losses(self.micro_losses)
        self.watched.append(Watched(monitor, optimizers, roots, switches))
        self._started(monitor)

    def _end(self, watched: Watched) -> Path:
        self.watched.remove(watched)
        watched.monitor.close(finished=None)
        return Path(watched.monitor.run_dir)

    def _alive(self) -> list[Optimizer]:
        alive = [(each, optimizer) for each in self._made if (optimizer := each()) is not None]
        self._made = [each for each, _ in alive]
        return [optimizer for _, optimizer in alive]


def leaves_of(tensors: Any) -> list[Tensor]:
    """The leaves that a backward from these tensors reaches, as far as the graph tells."""
    outputs = tensors if isinstance(tensors, (tuple, list)) else [tensors]
    nodes = [each.grad_fn for each in outputs if isinstance(each, Tensor) and each.grad_fn is not None]
    seen, leaves = set(nodes), []
    while nodes:
        node = nodes.pop()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                nodes.append(following)
    return leaves


def newest_of_each(optimizers: Sequence[Optimizer]) -> list[Optimizer]:
    """Of optimizers with the same tensors only the newest: the others are wrapped by it, wrap it, or were replaced."""
    newest: dict[frozenset[int], Optimizer] = {}
    for each in optimizers:
        newest[_ids(each)] = each
    return list(newest.values())


def _of(optimizer: Optimizer, held: set[int], inside: set[int], tensor: Tensor) -> bool:
    """Whether it trains this model; an optimizer of tensors that belong to no module goes with whoever comes first."""
    return id(tensor) in held or id(tensor) not in inside


def _ids(optimizer: Optimizer) -> frozenset[int]:
    return frozenset(map(id, tensors_of([optimizer])))


def _same_tensors(one: Optimizer, other: Optimizer) -> bool:
    return one is not other and _ids(one) == _ids(other)


def _overlap(one: Optimizer, others: Iterable[Optimizer]) -> bool:
    return any(_ids(one) & _ids(other) for other in others)


def _already_watched(optimizer: Optimizer) -> bool:
    """By a `bedside.watch` that the script calls itself."""
    from bedside.collect.hooks.torch_patches import DISPATCHERS

    return any(optimizer is each for dispatcher in DISPATCHERS for each in dispatcher.optimizers)
