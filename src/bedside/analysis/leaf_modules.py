"""The leaves of a model: modules that hold parameters themselves, and bare parameters.

A vital is recorded for containers too (`layers`, `layers.0`, `layers.0.attn`), and a container's norm includes its
children's, so modules can only be compared leaf with leaf.

>>> places(["layers.0.attn", "layers.0.mlp", "head"], of=["embed", "layers.0.attn", "layers.0.mlp", "head"])
['layers', 'head']
"""

from __future__ import annotations

from collections.abc import Sequence

from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import Vital


def leaf_owners(owners: Sequence[str]) -> list[str]:
    """Those owners that contain no other one, in their order."""
    containers = {prefix for owner in owners for prefix in _above(owner)}
    return [owner for owner in owners if owner not in containers]


def leaves(run: Run, vital: Vital) -> list[Series]:
    """The series of a vital per leaf, in model order: the front of the network first."""
    wanted = set(leaf_owners(run.owners(vital.name)))
    return [series for series in run.of(vital.name) if series.owner in wanted]


def places(affected: Sequence[str], *, of: Sequence[str]) -> list[str]:
    """`affected` leaves in as few names as possible: a container stands for its leaves when all are affected."""
    hit = set(affected)
    spared = {prefix for owner in of if owner not in hit for prefix in _above(owner)}
    named: dict[str, None] = {}
    for owner in affected:
        whole = next((prefix for prefix in _above(owner) if prefix not in spared), owner)
        named.setdefault(whole)
    return list(named)


def owner_sizes(run: Run) -> dict[str, int]:
    """How many numbers each leaf holds, as far as the record knows its parameters."""
    sizes: dict[str, int] = {}
    for parameter in run.parameters:
        for owner in {parameter.owner, parameter.name}:  # logs of other tools own series by parameter
            sizes[owner] = sizes.get(owner, 0) + parameter.size
    return sizes


def _above(owner: str) -> list[str]:
    """The containers of an owner, outermost first: `a.b.c` is in `a` and in `a.b`."""
    parts = owner.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]
