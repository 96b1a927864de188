"""Where a NaN was made: found in what the forward with the non-finite loss left behind, before its backward.

On healthy steps this costs a look at the loss. When the loss of a backward is NaN or infinite, the batch and the graph
of the loss are still there and the weights have not been moved by it yet. These questions are asked in order:

* whether the batch itself held NaN,
* whether weights were bad already (then the step before was the bad one),
* whether the prediction was finite and the loss function made it (every label ignored, NaN in targets, log of zero),
* which operation is the first whose result is not finite (`graph_values.py`), and in which module it was called
  (`forward_map.py`, learnt from the first forwards that are sampled).

Nothing is run again. Where operations left no trace of their results, or a model is compiled or checkpointed, the
smallest module that certainly contains the place is named.

Off the CPU, looking at the loss at once would make the device wait, so there the loss is looked at when it arrives with
the other numbers; by then the bad step has been made, and bad weights are all that can be reported.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.module_spans import ModuleSpans
from bedside.collect.model.forward_map import ForwardMap
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.model.shards import local
from bedside.collect.reading.graph_values import forward_order, graph_values
from bedside.collect.reading.nested_tensors import tensors_in
from bedside.record.run import Event
from bedside.training.freed_tensors import is_freed

MAX_SEARCHES = 20  # a run that goes on with NaN need not be explained at every step
MAPS = 3  # forwards from which the order of the modules is learnt


class FirstNonfinite(Collector):
    """Looks at the loss before every backward, and for the origin when it is not finite."""

    name = "first_nonfinite"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._news: list[Event] = []
        self._searches = 0
        self._target: tuple[str, Any, Any] | None = None
        self._late: list[tuple[int, Any]] = []  # losses on their way from a device
        self._forwards = 0  # with gradients, since the last backward
        self._spans = ModuleSpans(context.model)
        self._maps: list[ForwardMap] = []

    # The first sampled forwards are learnt.

    def begin_reading(self, forward: Forward) -> bool:
        if len(self._maps) >= MAPS or self.context.forward_hooks.compiled:
            return False
        self._spans.on(forward.module)
        return True

    def end_reading(self) -> None:
        self._spans.off()

    def end(self) -> None:
        self._spans.off()

    # The moments.

    def forward_begins(self, forward: Forward) -> None:
        self._forwards += forward.grad

    def forward_ended(self, output: Any) -> None:
        if output is not None:
            self._spans.ended()

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        self._target = (function, prediction, target)

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        scalar = tensors if isinstance(tensors, Tensor) else next(iter(tensors), None)
        if self._spans.found and isinstance(scalar, Tensor):
            spans, self._spans.found = self._spans.found, []
            if nodes := forward_order(scalar):
                self._maps.append(ForwardMap(spans, nodes))
        if self._searches >= MAX_SEARCHES:
            return
        for loss in losses:
            if isinstance(loss, Tensor):
                self._late.append((self.context.step, self.queue.put(loss)))
            elif not _finite(loss):
                self._searches += 1
                self._search(loss, scalar)
                return
        self._target = None  # the predictions need not wait for the backward pass to end

    def backward_ended(self, ours: bool) -> None:
        self._forwards = 0

    def step_ended(self, optimizer: Any, closure: bool) -> None:
        self._target = None  # the batch must not outlive its step
        self._spans.found = []

    def events(self) -> Iterable[Event]:
        late, self._late = self._late, []
        for step, pending in late:
            if not _finite(pending.number) and self._searches < MAX_SEARCHES:
                self._searches += 1
                facts = {"kind": "late", "loss": pending.number, "weights": bad_parameters(self.model)}
                self._news.append(Event(step, "origin", facts, time.time()))
        news, self._news = self._news, []
        return news

    # The search.

    def _search(self, loss: float, tensor: Any) -> None:
        forward = self.context.forward_hooks.last
        facts: dict[str, Any] = {"loss": loss, "weights": bad_parameters(self.model)[:20]}
        if forward is not None:
            facts["autocast"] = [str(kind).removeprefix("torch.") for _, kind in forward.autocast]
        if forward is not None and any(_bad(each) for each in tensors_in((forward.args, forward.kwargs))):
            facts |= {"kind": "input", "inputs_finite": False}
        elif facts["weights"]:
            home = facts["weights"][0].rpartition(".")[0]
            facts |= {"kind": "weights", "module": home, "weights_finite": False, "class": self._class_of(home)}
        elif self._prediction_is_finite():
            facts |= self._in_the_loss()
        else:
            facts |= self._in_the_graph(tensor)
        self._news.append(Event(self.context.step, "origin", facts, time.time()))

    def _prediction_is_finite(self) -> bool:
        prediction = self._target[1] if self._target else None
        there = isinstance(prediction, Tensor) and not is_freed(prediction)
        return there and bool(torch.isfinite(prediction).all())

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

    def _in_the_graph(self, loss: Any) -> dict[str, Any]:
        values = graph_values(loss) if isinstance(loss, Tensor) else None
        origins = values.origins() if values is not None else []
        if values is None or not origins:
            return {"kind": "unknown"}
        found = [each.locate(values.nodes, set(origins)) for each in self._maps]
        known = [each for each in found if each is not None]
        operation = origins[0].name().removesuffix("0").removesuffix("Backward") if len(origins) == 1 else ""
        if known:
            at = max(known, key=lambda each: each.module.count("."))
            if values.given.issuperset(origins) and self._is_of_torch(at.module):
                at, operation = self._maps[found.index(at)].called_before(at.module), ""
            around = {"after": at.after, "before": at.before}
            module = at.module
        elif self._maps and self._forwards == 1 and self._target is None:
            return {"kind": "loss"}  # after the model's only forward, in code of the loop
        else:
            module, around = "", {}
        return {
            "kind": "module",
            "module": module,
            "class": self._class_of(module),
            "inputs_finite": True,
            "weights_finite": True,
            **({"operation": operation} if operation else {}),
            **{key: name for key, name in around.items() if name},
        }

    def _module(self, name: str) -> nn.Module:
        """Of a wrapper and what it holds, which share a name, the inner one: it is the user's."""
        return [module for each, module in self.model.named_modules() if plain_name(each) == name][-1]

    def _class_of(self, name: str) -> str:
        return type(self._module(name)).__name__

    def _is_of_torch(self, name: str) -> bool:
        """Whether it is one of torch's own layers, which make no numbers but from what they are given."""
        return type(self._module(name)).__module__.startswith("torch.nn.")


def bad_parameters(model: nn.Module) -> list[str]:
    """Names of parameters that hold a NaN or an infinity, in the part of them that this rank holds."""
    return [plain_name(name) for name, p in model.named_parameters() if not bool(torch.isfinite(local(p)).all())]


def _bad(tensor: Tensor) -> bool:
    """Whether it holds a NaN or an infinity. Masks of -inf are meant."""
    if not (tensor.is_floating_point() or tensor.is_complex()) or is_freed(tensor):
        return False
    return not bool((torch.isfinite(tensor) | (tensor == -torch.inf)).all())


def _finite(number: float) -> bool:
    return number - number == 0.0
