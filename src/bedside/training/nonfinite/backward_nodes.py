"""The first backward operation that made NaN or Inf out of finite gradients, with the forward line it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from bedside.training.nonfinite.operators import OURS, TORCH, Operation
from bedside.training.nonfinite.values import Statistics, all_finite, is_finite, statistics


def first_bad_node(loss: Tensor) -> Operation | None:
    """Run the backward of `loss` with every node of its graph checked. The graph should have been built in anomaly
    mode, so that each node knows its line."""
    found: list[tuple[Any, Any, Any]] = []

    def check(node: Any) -> Callable[[Any, Any], None]:
        def hook(gradients: Any, incoming: Any) -> None:
            if not found and all_finite(_tensors(incoming)) and not all_finite(_tensors(gradients)):
                found.append((node, gradients, incoming))

        return hook

    with ExitStack() as cleanup:
        for node in _nodes(loss):
            cleanup.callback(node.register_hook(check(node)).remove)
        loss.backward(retain_graph=True)  # what nodes saved for their backward is still to be read
    return _described(*found[0]) if found else None


def _nodes(loss: Tensor) -> list[Any]:
    """Every node of the graph, the loss's own first."""
    waiting, seen, nodes = [loss.grad_fn], set(), []
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        nodes.append(node)
        waiting += [each for each, _ in node.next_functions]
    return [node for node in nodes if not node.name().endswith("AccumulateGrad")]


def _described(node: Any, gradients: Any, incoming: Any) -> Operation:
    operands = [*_saved(node), *[statistics(each) for each in _tensors(incoming)]]
    bad = next(each for each in _tensors(gradients) if not is_finite(each))
    return Operation(node.name(), _forward_line(node), tuple(operands), statistics(bad), produces=True)


def _saved(node: Any) -> list[Statistics]:
    """What the forward kept for this backward: `_saved_self`, `_saved_result` and so on."""
    kept = []
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
            except RuntimeError:  # freed already, or changed in place since
                continue
            if isinstance(value, Tensor) and value.is_floating_point():
                kept.append(statistics(value))
    return kept


def _forward_line(node: Any) -> str:
    """From the traceback that anomaly mode keeps with each node."""
    for entry in reversed(node.metadata.get("traceback_", [])):
        match = re.search(r'File "(.+)", line (\d+), in (\S+)\n\s*(.*)', entry)
        if match and not match[1].startswith((TORCH, OURS)) and not match[1].startswith("<"):
            return f"{match[1].rpartition('/')[2]}:{match[2]} in {match[3]}: {match[4].strip()}"
    return ""


def _tensors(values: Any) -> list[Tensor]:
    return [each for each in values if isinstance(each, Tensor)]


def with_lines() -> Any:
    """Anomaly mode for its tracebacks alone: each node of the graph remembers the line that made it."""
    return torch.autograd.set_detect_anomaly(True, check_nan=False)
