"""A next-token model does not see the next token, and is not asked for the token it is given.

## What it sees
Answers at earlier positions that change when a later token is changed; targets that are the input itself, position by
position.

## Why it matters
A missing or transposed mask lets every position look at its answer. The loss falls to almost nothing within minutes,
and the model cannot write a sentence. Targets that were not shifted are learned by copying.

## How it decides
Where the targets are the input moved by one, one token of one sequence is changed and the batch goes through the model
again with the same random numbers: no answer before it may change beyond rounding. Where the targets are the input
itself at `copied` of the places, a token is changed, and the answer at its own place may not change.

## When it is wrong
Autoencoders over tokens, which are asked to repeat their input by design. Encoder-decoder models are not examined.

## What to try
1. `is_causal=True`, or `torch.triu(..., diagonal=1)` as a mask of what may not be seen.
2. `input = tokens[:, :-1]`, `target = tokens[:, 1:]`.

## Example
>>> import torch
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined
>>> class Sees(nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.token, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)
...     def forward(self, x):
...         hidden = self.token(x)
...         return self.head(hidden + hidden.mean(1, keepdim=True)).transpose(1, 2)
>>> text = torch.randint(0, 20, (96, 9), generator=torch.Generator().manual_seed(0))
>>> print(examined(causal, Sees, x=text[:, :-1], y=text[:, 1:]))
PRE404 causal: Changing the token at position 7 changes the answers at 7 earlier positions: the model sees what it is \
asked for.

## References
- Vaswani et al. (2017), Attention is all you need: masking preserves the auto-regressive property.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from bedside.collect.vitals.leaked_future import answers_in, differences, is_next_token, one_changed
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import LOSS, Setup
from bedside.preflight.torch_calls import OF_CLASSES, Call
from bedside.training.batches import map_tensors, named_tensors
from bedside.training.random_state import save_random_state
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    steps: int = 3  # before it is tried: branches that begin at zero pass nothing on at first
    shortest: int = 4  # tokens of a sequence
    copied: float = 0.99  # of the targets are the input at the same place
    answered: int = 32  # targets at least
    rounding: float = 1e-5  # of the largest score


@check("PRE404", severity=Severity.ERROR, limits=Limits(), needs=[LOSS])
def causal(setup: Setup, limits: Limits) -> Passed | Finding:
    call = next((each for each in setup.first.calls if each.function in OF_CLASSES), None)
    tables = _tables(setup, limits)
    if call is None or call.target.is_floating_point() or not tables:
        raise NotEnough("tokens as inputs and targets")
    if getattr(getattr(setup.model, "config", None), "is_encoder_decoder", False):
        raise NotEnough("a model that reads from left to right, without an encoder")
    for at, table in tables:
        for axis in (0, 1):
            if bool(is_next_token(table, call.target.detach().cpu(), axis)):
                return _tried(setup, at, table, call, axis, limits)
    share, at, table = max(
        ((_copied(table, call, limits), at, table) for at, table in tables), key=lambda each: each[0]
    )
    if share >= limits.copied and _sees_itself(setup, at, table, call, limits):
        return causal.finding(
            f"{percent(share)} of the targets are the input token at the same place: it is learned by copying.",
            severity=Severity.WARNING,
            confidence=0.8,
            evidence={"copied": share},
            could_also_be=("An autoencoder, which is asked to repeat its input by design.",),
            try_=("Shift by one: input = tokens[:, :-1], target = tokens[:, 1:].",),
        )
    raise NotEnough("targets that are the input moved by one")


def _tables(setup: Setup, limits: Limits) -> list[tuple[str, Tensor]]:
    whole = (torch.int64, torch.int32)
    every = [
        (at, each.cpu()) for at, each in named_tensors(setup.first.batch) if each.dtype in whole and each.ndim == 2
    ]
    inputs = {at for at, _ in setup.inputs(setup.first.batch)}
    return [(at, each) for at, each in every if at in inputs and max(each.shape) >= limits.shortest]


def _tried(setup: Setup, at: str, table: Tensor, call: Call, axis: int, limits: Limits) -> Passed | Finding:
    setup.warm_up(limits.steps)
    for module in setup.model.modules():  # statistics of the batch would carry the change to everybody
        if isinstance(module, _BatchNorm):
            module.eval()
    changed, place = one_changed(table, call.target.detach().cpu(), axis)
    before, after = _answers(setup, at, table, changed, call)
    where, earlier, largest, limit = differences(before.movedim(axis, 0), after.movedim(axis, 0), place).tolist()
    numbers = {"position": int(where), "length": table.shape[axis], "changed": int(earlier), "change": largest}
    if not earlier:
        said = f"a changed token at position {int(where)} of {table.shape[axis]} changes no earlier answer"
        return causal.passed(said, **numbers)
    return causal.finding(
        f"Changing the token at position {int(where)} changes the answers at {int(earlier)} earlier positions: the "
        "model sees what it is asked for.",
        confidence=0.95,
        evidence=numbers,
        could_also_be=(f"Numerical noise of the kernels (change {number(largest)}, rounding {number(limit)}).",),
        try_=("is_causal=True, or a mask that hides what comes later (torch.triu with diagonal=1).",),
    )


def _sees_itself(setup: Setup, at: str, table: Tensor, call: Call, limits: Limits) -> bool:
    """Whether the answer at a place changes with the token that is given there. A decoder that is taught with the
    target moves it by one itself."""
    setup.warm_up(limits.steps)
    place = int(torch.nonzero(call.target.detach().cpu().reshape(table.shape)[0] >= 0).max())
    others = table[table != table[0, place]]
    if not others.numel():
        return False
    changed = table.clone()
    changed[0, place] = others[0]
    before, after = _answers(setup, at, table, changed, call)
    apart = (before[0, place] - after[0, place]).abs().max()
    return bool(apart > limits.rounding * before.abs().max())


def _answers(setup: Setup, at: str, table: Tensor, changed: Tensor, call: Call) -> tuple[Tensor, Tensor]:
    """The scores of every position before and after the change, with the same random numbers."""
    same_numbers = save_random_state()
    outputs = []
    for tokens in (table, changed):
        same_numbers()
        with torch.no_grad():
            outputs.append(_output(setup, at, table, tokens))
    before, after = (_scores(each, table, call.prediction.shape[1]) for each in outputs)
    if before is None or after is None:
        raise NotEnough("one output with scores for every position")
    return before, after


def _output(setup: Setup, at: str, table: Tensor, tokens: Tensor) -> Any:
    """The model's answer to the first batch with these tokens, also in parts of the batch that repeat them."""
    batch = setup.batch()
    device = next((each.device for place, each in named_tensors(batch) if place == at), torch.device("cpu"))

    def exchanged(each: Tensor) -> Tensor:
        alike = each.shape == table.shape and each.dtype == table.dtype and torch.equal(each.cpu(), table)
        return tokens.to(device) if alike else each

    return setup.loss.output(map_tensors(exchanged, batch))


def _scores(output: Any, table: Tensor, classes: int) -> Tensor | None:
    """As (rows, positions, classes), also where the classes come second, as cross_entropy takes them."""
    found: Tensor | None = answers_in(output, table, classes)
    if found is not None:
        return found.cpu()
    second = (table.shape[0], classes, table.shape[1])
    turned = [each for _, each in named_tensors(output) if tuple(each.shape) == second]
    return turned[0].transpose(1, 2).cpu() if len(turned) == 1 else None


def _copied(table: Tensor, call: Call, limits: Limits) -> float:
    target = call.target.detach().cpu()
    if target.numel() != table.numel():
        return 0.0
    wanted = target.reshape(table.shape)
    answered = wanted >= 0
    if int(answered.sum()) < limits.answered:
        return 0.0
    return float((wanted == table)[answered].double().mean())
