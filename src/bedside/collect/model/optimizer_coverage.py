"""Do the model and its optimizers hold the same tensors?

A layer that no optimizer holds never learns; an optimizer that holds tensors the model has since replaced moves
nothing. Both train without an error, so both are looked at when watching begins and whenever the model changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn
from torch.optim import Optimizer

from bedside.collect.model.parameter_layout import Layout, is_trainable, plain_name, size_of
from bedside.record.run import Parameter


def coverage(layout: Layout, optimizers: Sequence[Optimizer]) -> dict[str, Any]:
    """Names that no optimizer holds, and how many tensors the optimizers hold that are not the model's."""
    held = {id(p): p for o in optimizers for group in o.param_groups for p in group["params"]}
    uncovered = [name for name, p in zip(layout.names, layout.parameters, strict=True) if id(p) not in held]
    strangers = [p for key, p in held.items() if key not in layout.index and is_trainable(p)]
    shapes = [tuple(p.shape) for p in strangers]
    lost = [name for name in uncovered if tuple(_parameter(layout, name).shape) in shapes]
    return {
        "held": len(held),
        "covered": len(layout) - len(uncovered),
        "trainable": len(layout),
        "uncovered": uncovered,
        "stale": len(strangers),
        "stale_twins": lost,  # uncovered parameters shaped like a foreign tensor: its likely replacements
    }


def parameter_table(
    model: nn.Module,
    layout: Layout,
    optimizers: Sequence[Optimizer],
    gradient_steps: Sequence[int],
    watched_steps: Sequence[int],
) -> list[Parameter]:
    """One line per parameter tensor of the model, frozen ones included."""
    held = {id(p) for o in optimizers for group in o.param_groups for p in group["params"]}
    table = []
    for raw_name, p in model.named_parameters():
        position = layout.index.get(id(p))
        counted = position is not None and position < len(gradient_steps)
        table.append(
            Parameter(
                name=plain_name(raw_name),
                owner=layout.home[position] if position is not None else plain_name(raw_name).rpartition(".")[0],
                size=size_of(p),
                dtype=str(p.dtype).removeprefix("torch."),
                trainable=p.requires_grad,
                in_optimizer=id(p) in held,
                gradient_steps=int(gradient_steps[position]) if counted and position is not None else 0,
                watched_steps=int(watched_steps[position]) if counted and position is not None else 0,
            )
        )
    return table


def parameter_counts(model: nn.Module) -> dict[str, int]:
    """How large the model is, for the run's config."""
    parameters = list(model.parameters())
    return {
        "parameters": sum(size_of(p) for p in parameters),
        "trainable_parameters": sum(size_of(p) for p in parameters if p.requires_grad),
    }


def _parameter(layout: Layout, name: str) -> nn.Parameter:
    return layout.parameters[layout.names.index(name)]
