"""From a batch to its loss, for whatever model, batch and loss function the user has.

The model gets what its `forward` asks for: a tuple's leading entries, a dict's or dataclass's fields by name, or the
batch itself. The loss function gets `(output, batch)`, or `(output, target)` where its second parameter is called
target, label or y, as in `nn.CrossEntropyLoss()`. Without a loss function the model's own `.loss` counts, as Hugging
Face's models have it. Where this guesses wrong, `forward=lambda model, batch: ...` says it outright.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from bedside.errors import BadModel, BadOption
from bedside.training.batches import is_dataclass_value, to_device

LossFunction = Callable[..., Tensor]
Forward = Callable[[nn.Module, Any], Any]

TARGETS = ("labels", "label", "targets", "target", "y", "y_true", "ys", "gold")
INPUTS = ("x", "input", "inputs", "input_ids", "pixel_values", "image", "images", "features", "data", "xs")


class BatchLoss:
    """Computes the loss of a batch: `BatchLoss(model, loss_fn)(batch)`; also the output and the target alone."""

    def __init__(self, model: nn.Module, loss_fn: LossFunction | None = None, forward: Forward | None = None) -> None:
        if not isinstance(model, nn.Module):
            raise BadModel(f"{type(model).__name__} is not a model.", expected="a torch.nn.Module")
        if loss_fn is not None and not callable(loss_fn):
            raise BadOption(
                f"loss_fn={loss_fn!r} cannot be called.",
                expected="a function of (output, batch), a torch loss, or None where the model computes its own loss",
                try_="loss_fn=torch.nn.CrossEntropyLoss()",
            )
        self.model = model
        self.loss_fn = None if loss_fn is None or loss_fn is model else loss_fn
        self._forward = forward
        self._parameters = _parameters(model.forward)
        self._wants_target = self.loss_fn is not None and _second_is_a_target(self.loss_fn)

    def __call__(self, batch: Any) -> Tensor:
        """The loss of one batch, a scalar with its graph."""
        batch = self.placed(batch)
        return self.loss_of(self.output(batch), batch)

    def placed(self, batch: Any) -> Any:
        """The batch on the model's device."""
        return to_device(batch, device_of(self.model))

    def output(self, batch: Any) -> Any:
        """What the model answers."""
        if self._forward is not None:
            return self._forward(self.model, batch)
        args, kwargs = self._arguments(batch)
        return self.model(*args, **kwargs)

    def loss_of(self, output: Any, batch: Any) -> Tensor:
        """The loss of an answer that is already there."""
        if self.loss_fn is None:
            loss = _own_loss(output)
        else:
            loss = self.loss_fn(output, self.target(batch) if self._wants_target else batch)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            raise _no_loss(loss, self.loss_fn)
        return loss.reshape(())

    def target(self, batch: Any) -> Any:
        """The part of the batch that the output is compared with; None if it has no such part."""
        fields = _fields(batch) or {}
        named = next((fields[name] for name in TARGETS if name in fields), None)
        if named is None and isinstance(batch, list | tuple) and len(batch) > 1:
            return batch[self._leading(len(batch))]
        return named

    def _arguments(self, batch: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if isinstance(batch, Tensor):
            return (batch,), {}
        fields = _fields(batch)
        if fields is not None:
            return self._by_name(batch, fields)
        if isinstance(batch, list | tuple) and len(batch):
            return tuple(batch[: self._leading(len(batch))]), {}
        return (batch,), {}

    def _leading(self, length: int) -> int:
        """How many entries of a tuple are for the model: as many as it requires, and at least one for the loss."""
        required = [p for p in self._parameters if p.default is p.empty and p.kind in _BY_POSITION]
        takes_any = any(p.kind is p.VAR_POSITIONAL for p in self._parameters)
        most = length - 1 if self.loss_fn is not None and length > 1 else length
        if takes_any or (self.loss_fn is None and len(self._parameters) >= length):
            return most
        return max(1, min(len(required), most))

    def _by_name(self, batch: Any, fields: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        names = [p.name for p in self._parameters if p.kind in _BY_NAME]
        if any(p.kind is p.VAR_KEYWORD for p in self._parameters) and not set(names) - {"args"} - set(fields):
            return (), dict(fields)
        known = {name: fields[name] for name in names if name in fields}
        if known:
            return (), known
        only = names[0] if names else ""
        if only != "batch" and (found := next((fields[name] for name in INPUTS if name in fields), None)) is not None:
            return (found,), {}
        return (batch[: self._leading(len(batch))] if isinstance(batch, tuple) else (batch,)), {}


_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature: it takes the first entry
        return []


def _second_is_a_target(loss_fn: LossFunction) -> bool:
    called = loss_fn.forward if isinstance(loss_fn, nn.Module) else loss_fn
    positional = [p for p in _parameters(called) if p.kind in _BY_POSITION]
    return len(positional) > 1 and positional[1].name.lower() in TARGETS


def _fields(batch: Any) -> Mapping[str, Any] | None:
    """A dict's or a dataclass's or a named tuple's entries by name."""
    if isinstance(batch, Mapping):
        return batch
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return dict(zip(batch._fields, batch, strict=True))
    if is_dataclass_value(batch):
        return {field.name: getattr(batch, field.name, None) for field in dataclasses.fields(batch)}
    return None


def _own_loss(output: Any) -> Any:
    if isinstance(output, Mapping) and "loss" in output:
        return output["loss"]
    if getattr(output, "loss", None) is not None:
        return output.loss
    if isinstance(output, tuple) and output:
        return output[0]
    return output


def _no_loss(loss: Any, loss_fn: LossFunction | None) -> BadOption:
    shape = f"a tensor of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else f"a {type(loss).__name__}"
    if loss_fn is None:
        return BadOption(
            f"The model returned {shape}, which is not a loss.",
            expected="a model whose output has `.loss`, or a loss_fn",
            try_="loss_fn=lambda output, batch: torch.nn.functional.cross_entropy(output, batch[1])",
        )
    return BadOption(
        f"loss_fn returned {shape}.",
        expected="a tensor with one element",
        try_="loss_fn=lambda output, batch: per_sample_losses(output, batch).mean()",
    )


def device_of(model: nn.Module) -> torch.device:
    """Where the model's first parameter lives; the CPU for a model without any."""
    first = next(model.parameters(), None)
    return first.device if first is not None else torch.device("cpu")
