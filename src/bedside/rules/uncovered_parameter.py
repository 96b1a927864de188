"""Trainable parameters are in no optimizer, so no step can ever move them.

## What it sees
Parameters that require a gradient and that none of the watched optimizers holds: those of the model, and those which
the first loss was made of though the model does not know them, such as layers kept in a plain list.

## Why it matters
The backward pass computes their gradients and nobody uses them. The rest of the network learns around weights that
stay random, so the loss falls, only not as far as it could. Typical: the optimizer was built before a head was
added, or from one part of the model only; layers in a Python list, which `model.parameters()` does not see.

## How it decides
From the optimizers' own parameter lists, at the first step, and from the leaves of the first loss's autograd graph.
When the optimizer holds only the back of the model and everything in front of it is left out, that is most likely
fine-tuning of a head, and it is a note, unless two optimizers hold the same tensors: then one of them was meant for
these. It is a note as well when the unknown leaves are not kept inside the model (a teacher, a
network that judges the output).

## When it is wrong
Parameters moved by hand or by an optimizer that is not watched; a second optimizer that has not stepped yet.

## What to try
1. Build the optimizer after the model is complete, from `model.parameters()`.
2. Add what is missing: `optimizer.add_param_group({"params": model.head.parameters()})`.
3. Keep layers in `nn.ModuleList` or `nn.ModuleDict`, single tensors as `nn.Parameter` attributes.
4. If they are meant to stay as they are, freeze them with `requires_grad_(False)`: the backward pass gets cheaper.

## Example
>>> from bedside.record.run import Parameter
>>> from bedside.testing import a_run
>>> body = Parameter("body.weight", "body", 4096)
>>> head = Parameter("head.weight", "head", 640, in_optimizer=False)
>>> print(*uncovered_parameter.check(a_run(loss=[2.3, 1.9], parameters=[body, head])))
LOP108 uncovered-parameter: No optimizer holds `head` (640 of 4,736 trainable numbers): it keeps its first values.

## References
- huggingface/accelerate#2665: an optimizer whose steps moved nothing, noticed late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bedside.analysis.leaf_modules import places
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Parameter, Run
from bedside.rules.base import rule
from bedside.wording import count, listed


@dataclass(frozen=True)
class Limits:
    """A parameter is in an optimizer or it is not: nothing to set."""


@rule("LOP108", severity=Severity.ERROR, needs=[], limits=Limits())
def uncovered_parameter(run: Run, limits: Limits) -> Iterator[Finding]:
    trainable = [parameter for parameter in run.parameters if parameter.trainable]
    if not trainable:
        raise NotEnough("the model's parameters (a watched run)")
    yield from _unknown_to_the_model(run)
    missing = [parameter for parameter in trainable if not parameter.in_optimizer]
    if not missing:
        return
    twice = bool(run.events_of("shared_parameters"))
    only_the_back = _leads(missing, trainable) and not twice
    held = {p.owner for p in trainable if p.in_optimizer}
    names = list(dict.fromkeys(p.owner if p.owner not in held else p.name for p in missing))
    everyone = [p.owner if p.owner not in held else p.name for p in trainable]
    where = places(names, of=everyone) if len(missing) < len(trainable) else []
    size, total = sum(p.size for p in missing), sum(p.size for p in trainable)
    what = listed(f"`{place}`" for place in where) if where else "any of the model's parameters"
    them = "they keep their" if len(where) != 1 else "it keeps its"
    module = where[0] if where and where[0] not in {p.name for p in missing} else ""
    add = f'model.get_submodule("{module}").parameters()' if module else "the missing parameters"
    yield uncovered_parameter.finding(
        f"No optimizer holds {what} ({count(size)} of {count(total)} trainable numbers): {them} first values"
        + (", while two optimizers hold the same others." if twice else "."),
        first_step=0,
        last_step=max(0, run.steps - 1),
        confidence=0.6 if only_the_back else 0.98,
        where=where,
        evidence={"uncovered": [p.name for p in missing][:20], "share": size / total},
        could_also_be=(
            "Fine-tuning of the back on purpose: freeze the front with requires_grad_(False) to say so.",
            "Another optimizer moves them that bedside does not watch: pass every optimizer to watch().",
        ),
        try_=(
            "Build the optimizer after the model is complete: torch.optim.AdamW(model.parameters(), lr=…).",
            f'Add what is missing: optimizer.add_param_group({{"params": {add}}}).',
        ),
        severity=Severity.NOTE if only_the_back else Severity.ERROR,
    )


def _unknown_to_the_model(run: Run) -> Iterator[Finding]:
    """Leaves of the first loss that neither the model nor an optimizer holds."""
    for event in run.events_of("foreign_leaves")[:1]:
        names, size = list(event.data.get("names", ())), int(event.data.get("size", 0))
        total = size + int(event.data.get("model_size", 0))
        lists = list(dict.fromkeys(name.split("[")[0] for name in names))
        kept = f"`{lists[0]}`, a plain list or dict" if len(lists) == 1 else listed(f"`{each}`" for each in lists)
        where = f" Keep them in nn.ModuleList or nn.ModuleDict: self.{lists[0]} = nn.ModuleList([…])." if lists else ""
        yield uncovered_parameter.finding(
            f"The loss is made with {count(size)} trainable numbers (of {count(total)}) that model.parameters() does "
            f"not list and no optimizer holds" + (f", in {kept}: they keep their first values." if lists else "."),
            first_step=event.step,
            last_step=max(event.step, run.steps - 1),
            confidence=0.97 if lists else 0.5,
            where=lists,
            evidence={"uncovered": names, "share": size / total if total else 1.0},
            could_also_be=(
                "A network beside the model that is not to be trained: call it under torch.no_grad(), or freeze it.",
            ),
            try_=(
                f"Register them, so that model.parameters() lists them.{where}",
                "Build the optimizer after that, from model.parameters().",
            ),
            severity=Severity.ERROR if lists else Severity.NOTE,
        )


def _leads(missing: Sequence[Parameter], trainable: Sequence[Parameter]) -> bool:
    """Whether everything up to some point of the model is missing and everything after it is held."""
    return len(missing) < len(trainable) and list(missing) == list(trainable[: len(missing)])
