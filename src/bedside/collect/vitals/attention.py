"""Attention entropy per layer and head: how widely a query looks, from one key (0) to all alike (1).

Attention weights are usually never formed (`scaled_dot_product_attention` fuses them away), so a few of them are formed
here: for one sequence of the batch and a few of its queries, the scores with all keys, masked as the call was, in
float32. Where the weights are formed by a softmax of their own (attention written out by hand, or with weights asked
for), a few of its rows are taken instead. Entropy is divided by that of looking at every visible key alike, so a causal
mask and the length of the sequence do not matter.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.hooks.function_calls import FunctionCalls
from bedside.collect.model.nonlinearities import Numbered
from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.model.shards import is_sharded
from bedside.collect.reading.device_queue import PendingValue
from bedside.record.missing import MISSING
from bedside.record.run import Key

QUERIES = 16  # of one sequence: 0.6 % of a small language model's step (measured), and all rows 13 %
MIN_KEYS = 4  # visible: with fewer there is little to choose from
DIRAC = 0.1  # of the largest entropy: 97 % of the weight is on one of a hundred keys
UNIFORM = 0.95  # of the largest entropy: no key has more than a small multiple of its share
VITALS = ("attention_entropy", "attention_dirac", "attention_uniform")
FUNCTIONS = ((F, "scaled_dot_product_attention"), (F, "softmax"), (torch, "softmax"), (Tensor, "softmax"))


class Attention(Collector):
    """Observes scaled_dot_product_attention, and softmax over what looks like attention scores."""

    name = "attention"
    vitals = VITALS

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._function_calls = FunctionCalls(FUNCTIONS, self._observed)
        self._names: dict[int, str] = {}
        self._numbered = Numbered()
        self._found: list[tuple[str, Tensor]] = []
        self._waiting: list[tuple[int, list[tuple[str, int]], PendingValue]] = []
        self._turn = 0

    def begin_reading(self, forward: Forward) -> bool:
        began = time.perf_counter()
        if not self._names:
            self._names = {id(m): plain_name(name) for name, m in self.model.named_modules()}
        self._numbered = Numbered()
        self._turn += 1
        self._function_calls.on()
        self.hook_seconds += time.perf_counter() - began
        return True

    def end_reading(self) -> None:
        self._function_calls.off()
        if self._function_calls.error is not None:
            raise self._function_calls.error

    def detach(self, step: int) -> None:
        if self._found:
            began = time.perf_counter()
            found, self._found = self._found, []
            heads = [(owner, len(each)) for owner, each in found]
            self._waiting.append((step, heads, self.queue.put(torch.cat([each for _, each in found]))))
            self.hook_seconds += time.perf_counter() - began

    def end(self) -> None:
        self._function_calls.off()

    def _observed(self, function: str, module: nn.Module | None, args: Any, kwargs: Any, output: Any) -> None:
        name = self._names.get(id(module), "" if module is None else None)
        if name is None:
            return
        began = time.perf_counter()
        with torch.no_grad():
            if function == "softmax":
                read = of_weights(output, args, kwargs, self._turn)
            else:
                read = of_call(self._turn, *args, **kwargs)
        if read is not None:
            owner = self._numbered(name or "attention")
            if owner is not None:
                self._found.append((owner, read))
        self.hook_seconds += time.perf_counter() - began

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        for step, layers, pending in waiting:
            per_head = pending.numbers.reshape(-1, len(VITALS))
            columns: list[Key] = []
            values: list[float] = []
            start = 0
            for owner, heads in layers:
                mine = per_head[start : start + heads]
                start += heads
                seen = mine[np.isfinite(mine).all(axis=1)]
                whole = seen.mean(axis=0) if len(seen) else np.full(len(VITALS), MISSING)
                for vital, value in zip(VITALS, whole, strict=True):
                    columns.append((vital, owner))
                    values.append(value)
                if heads > 1:
                    for head, row in enumerate(mine):
                        columns.append(("attention_entropy", f"{owner}.head_{head}"))
                        values.append(row[0] if np.isfinite(row[0]) else MISSING)
            yield RowSet("attention", columns, [step], np.asarray(values)[None, :])


def of_call(
    turn: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor | None:
    """Per head: mean entropy, share of near-Dirac and of near-uniform queries, from the arguments of the call."""
    if query.dim() < 3 or key.shape[-2] < MIN_KEYS:
        return None
    one = _one_sequence(query, turn).float(), _one_sequence(key, turn).float()
    queries, keys = one
    heads, length, width = queries.shape
    if len(keys) != heads:  # grouped queries: each key head serves several
        keys = keys.repeat_interleave(heads // len(keys), dim=0)
    at = query_places(length, turn).to(query.device)
    scores = queries[:, at] @ keys.transpose(-1, -2) * (width**-0.5 if scale is None else scale)
    if attn_mask is not None:
        mask = _one_sequence(attn_mask.expand(*query.shape[:-1], key.shape[-2]), turn)[:, at]
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype is torch.bool else scores + mask.float()
    if is_causal:
        later = torch.arange(keys.shape[-2], device=query.device)[None, :] > at[:, None]
        scores = scores.masked_fill(later, -torch.inf)
    visible = (scores > -torch.inf).sum(-1)
    return summary(torch.softmax(scores, dim=-1), visible)


def of_weights(output: Any, args: Any, kwargs: Any, turn: int) -> Tensor | None:
    """The same from weights that a softmax has made: (batch, heads, queries, keys), or (batch · heads, …)."""
    dimension = kwargs.get("dim", args[1] if len(args) > 1 else None)
    readable = isinstance(output, Tensor) and not is_sharded(output)
    looks_like_it = readable and output.dim() in (3, 4) and output.shape[-1] >= MIN_KEYS
    if not looks_like_it or dimension not in (-1, output.dim() - 1) or not output.is_floating_point():
        return None
    if output.dim() == 3 and output.shape[-1] != output.shape[-2]:
        return None  # more likely probabilities over classes
    weights = _one_sequence(output, turn) if output.dim() == 4 else output[:1]
    weights = weights[:, query_places(weights.shape[-2], turn).to(output.device)].float()
    visible = (weights > 0).sum(-1).amax(0, keepdim=True).expand(weights.shape[:-1])  # masks are the same for all heads
    return summary(weights, visible)


def summary(weights: Tensor, visible: Tensor) -> Tensor:
    """(heads, 3) from weights (heads, queries, keys); NaN for a head none of whose queries had a choice."""
    entropy = -torch.special.xlogy(weights, weights).sum(-1)
    counted = visible >= MIN_KEYS
    relative = torch.where(counted, entropy / visible.clamp(min=2).double().log().float(), torch.nan)
    number = counted.sum(-1)
    return torch.stack(
        [
            relative.nanmean(-1),
            (relative < DIRAC).sum(-1) / number,
            (relative > UNIFORM).sum(-1) / number,
        ],
        dim=-1,
    )


def query_places(length: int, turn: int) -> Tensor:
    """A few queries, spread over the sequence, others at the next turn."""
    if length <= QUERIES:
        return torch.arange(length)
    stride = length / QUERIES
    return (torch.arange(QUERIES) * stride + turn % max(1, int(stride))).long().clamp(max=length - 1)


def _one_sequence(tensor: Tensor, turn: int) -> Tensor:
    """(heads, length, width) of one element of the batch."""
    tensor = tensor.detach()
    if tensor.dim() == 3:
        return tensor[turn % len(tensor)][None]
    tensor = tensor.reshape(-1, *tensor.shape[-3:]) if tensor.dim() > 4 else tensor
    return tensor[turn % len(tensor)]
