"""What the autograd graph of the first loss shows: leaves that no optimizer holds, and unintended broadcasts.

Layers that a model keeps in a plain list are not in `model.parameters()`, so no optimizer gets them, and no error is
raised. The graph knows them: they are leaves of the loss. And `prediction - target` with shapes (N, 1) and (N,) is an
(N, N) table whose mean has little to do with the error; the graph knows that shape too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor, nn

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.model.shards import is_sharded
from bedside.collect.reading.graph_values import kept_as
from bedside.record.run import Event

ATTEMPTS = 3  # backwards looked at before giving up: some loops begin with a penalty or an auxiliary loss
MAX_NODES = 200_000  # of the graph: a walk of this many takes about a quarter of a second, once
NEAR = 8  # nodes between the loss and the difference that makes it: mean, square, sum, weights, division
ELEMENTWISE = frozenset(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"])
SHOWN = 20  # names or shapes in an event


class FirstGraph(Collector):
    """Walks the graph of the first loss, once; looks at shapes wherever prediction and target meet."""

    name = "graph"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._attempts = 0
        self._done = False
        self._found: list[Event] = []
        self._news: list[Event] = []
        self._broadcast = False

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        if self._broadcast or function not in ELEMENTWISE or not isinstance(prediction, Tensor):
            return
        if isinstance(target, Tensor) and prediction.requires_grad:
            own, others = unexpanded(prediction), unexpanded(target)
            if own == others:
                return
            together = _together(own, others)
            if together is not None and math.prod(together) > max(math.prod(own), math.prod(others)):
                self._report_broadcast(function, own, others, together)

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        if self._done:
            return
        roots = [t for t in ([tensors] if isinstance(tensors, Tensor) else tensors) if isinstance(t, Tensor)]
        nodes = [root.grad_fn for root in roots if root.grad_fn is not None]
        leaves = graph_leaves(nodes)
        self._found = []
        if leaves is not None and (foreign := self._foreign(leaves)):
            self._found.append(Event(self.context.step, "foreign_leaves", foreign, time.time()))
        if not self._broadcast and (shapes := hidden_broadcast(nodes)):
            self._report_broadcast("", *shapes)

    def backward_ended(self, ours: bool) -> None:
        if self._done:
            return
        self._attempts += 1
        self._done = ours or self._attempts >= ATTEMPTS
        if ours:
            self._news += self._found

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news

    def _report_broadcast(
        self, function: str, prediction: Sequence[int], target: Sequence[int] | None, result: Sequence[int]
    ) -> None:
        self._broadcast = True
        facts = {
            "function": function,
            "prediction": list(prediction),
            "target": None if target is None else list(target),
            "result": list(result),
        }
        self._news.append(Event(self.context.step, "broadcast_loss", facts, time.time()))

    def _foreign(self, leaves: Sequence[Tensor]) -> dict[str, Any] | None:
        """Parameters of the loss that are neither the model's nor any optimizer's."""
        if any(map(is_sharded, self.model.parameters())):
            return None  # FSDP2 computes with whole parameters that it makes for the forward: strangers by right
        known = {id(p) for p in self.model.parameters()}
        known |= {id(p) for o in self.context.optimizers for group in o.param_groups for p in group["params"]}
        strangers = [leaf for leaf in leaves if isinstance(leaf, nn.Parameter) and id(leaf) not in known]
        if not strangers:
            return None
        names = hiding_places(self.model, strangers)
        return {
            "tensors": len(strangers),
            "size": sum(p.numel() for p in strangers),
            "names": names[:SHOWN],
            "shapes": [list(p.shape) for p in strangers[:SHOWN]],
            "model_size": sum(p.numel() for p in self.model.parameters()),
        }


def graph_leaves(roots: Sequence[Any]) -> list[Tensor] | None:
    """The leaf tensors that these graph nodes lead to; None if the graph is too large to walk."""
    found: dict[int, Tensor] = {}
    seen = set(roots)
    stack = list(roots)
    while stack:
        node = stack.pop()
        if (variable := getattr(node, "variable", None)) is not None:
            found.setdefault(id(variable), variable)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
        if len(seen) > MAX_NODES:
            return None
    return list(found.values())


def hidden_broadcast(roots: Sequence[Any]) -> tuple[Sequence[int], None, Sequence[int]] | None:
    """Near the loss, a prediction of shape (N, 1) or (N,) in a difference of shape (N, N) with something that needs
    no gradient, or what became of it multiplied to that shape by one number for each sample: (prediction's shape,
    None, result's shape)."""
    level = list(roots)
    for _ in range(NEAR):
        for node in level:
            inputs = [following for following, _ in node.next_functions]
            if (node.name() == "SubBackward0" and inputs.count(None) == 1) or _by_a_row(node, inputs):
                result = shape_of(node)
                before = shape_of(next(each for each in inputs if each is not None))
                if result and before and _is_square_of(result, before):
                    return before, None, result
        level = [following for node in level for following, _ in node.next_functions if following is not None]
        if len(level) > 64:  # no longer the loss, but the model
            break
    return None


def _by_a_row(node: Any, inputs: Sequence[Any]) -> bool:
    """Whether something is multiplied by, or divided by, one number for each sample: a mask, or weights. A table of
    pairs, as in a ranking or a partial likelihood, is no such thing."""
    if node.name() not in ("MulBackward0", "DivBackward0") or len(inputs) != 2 or inputs[1] is not None:
        return False
    result, factor = shape_of(node), kept_as(node, "other")
    return bool(result and isinstance(factor, Tensor) and factor.numel() == result[0] > 1)


def unexpanded(tensor: Tensor) -> tuple[int, ...]:
    """The shape before the loss function broadcast it: stretched dimensions have a stride of zero.

    >>> import torch
    >>> unexpanded(torch.zeros(5).expand(5, 5)), unexpanded(torch.zeros(5, 1).expand(5, 5))
    ((5,), (5, 1))
    """
    shape = tuple(1 if stride == 0 else size for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    if shape != tuple(tensor.shape):
        while len(shape) > 1 and shape[0] == 1:  # put in front by the broadcast
            shape = shape[1:]
    return shape


def _is_square_of(result: Sequence[int], before: Sequence[int]) -> bool:
    n = before[0]
    return n > 1 and tuple(result) == (n, n) and tuple(before) in ((n, 1), (n,))


def shape_of(node: Any) -> Sequence[int] | None:
    """The shape of what a node made, from what its gradient will look like."""
    metadata = getattr(node, "_input_metadata", None)
    return tuple(metadata[0].shape) if metadata else None


def _together(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...] | None:
    """The shape that two shapes broadcast to; None if they do not."""
    result = []
    for i in range(1, max(len(one), len(other)) + 1):
        a = one[-i] if i <= len(one) else 1
        b = other[-i] if i <= len(other) else 1
        if a != b and 1 not in (a, b):
            return None
        result.append(max(a, b) if 0 not in (a, b) else 0)
    return tuple(reversed(result))


def hiding_places(model: nn.Module, strangers: Sequence[Tensor]) -> list[str]:
    """Where they are kept: `blocks[3].weight` in a plain list or dict that is an attribute of some module."""
    wanted = {id(p) for p in strangers}
    found: dict[int, str] = {}
    for path, module in model.named_modules():
        for attribute, value in vars(module).items():
            if attribute.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in items:
                where = f"{plain_name(path)}.{attribute}[{key}]".removeprefix(".")
                held = item.named_parameters() if isinstance(item, nn.Module) else [("", item)]
                for name, parameter in held:
                    if id(parameter) in wanted:
                        found.setdefault(id(parameter), f"{where}.{name}".removesuffix("."))
    return list(found.values())
