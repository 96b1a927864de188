"""Which module an operation of the autograd graph belongs to, learnt from a forward that was listened to.

Autograd numbers the operations of a thread as it records them, so a module's own are those between the numbers at its
beginning and at its end. Later forwards are not listened to; theirs are known by the same operations in the same order.
Where a forward took another way for a while (a branch, a skipped layer), what comes before and after still matches, and
what lies between belongs to the modules that were called between.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.collect.reading.graph_values import number_of


@dataclass(frozen=True)
class Span:
    """One call of a module: the numbers of the operations from its beginning to its end."""

    module: str
    enter: int
    leave: int

    def holds(self, other: Span) -> bool:
        return self.enter <= other.enter and other.leave <= self.leave


@dataclass(frozen=True)
class Located:
    """Where some operations were made: the innermost module that holds them all, and its parts around them."""

    module: str
    after: str = ""
    before: str = ""


class ForwardMap:
    """The calls of one forward, in the order in which they began, and the operations of its loss."""

    def __init__(self, spans: Sequence[Span], nodes: Sequence[Any]) -> None:
        first = number_of(nodes[0])
        self._spans = [Span(each.module, each.enter - first, each.leave - first) for each in spans]
        self._operations = _operations(nodes)

    def locate(self, nodes: Sequence[Any], wanted: Collection[Any]) -> Located | None:
        """Where `wanted`, some of the `nodes` of another loss, were made; None if no module made them all."""
        mine, theirs = self._operations, _operations(nodes)
        front, back = _alike(mine, theirs)
        numbers: list[int] = []
        in_gap = False
        for place, node in enumerate(nodes):
            if node not in wanted:
                continue
            if place < front:
                numbers.append(mine[place][1])
            elif place >= len(theirs) - back:
                numbers.append(mine[place - len(theirs)][1])
            else:
                in_gap = True
        if in_gap:
            if not front or not back:
                return None
            low, high = mine[front - 1][1], mine[len(mine) - back][1]  # the last and the first that are known again
            only = self._between(low, high)
            if only and not numbers:
                return Located(only)
            numbers += [low, high]
        return self._around(min(numbers), max(numbers), in_gap) if numbers else None

    def called_before(self, module: str) -> Located:
        """What was called just before a module and left no operation of its own: it works on what needs no gradient."""
        at = next(place for place, each in enumerate(self._spans) if each.module == module)
        here = self._spans[at]
        last = max((number for _, number in self._operations if number < here.enter), default=-1)
        holders = [each for each in self._spans[:at] if each.holds(here) and each.leave > each.enter]
        silent = [each for each in self._spans[:at] if last < each.enter == each.leave <= here.enter]
        calls = [a for i, a in enumerate(silent) if not any(b.holds(a) for b in silent[:i])]
        if len(calls) == 1 and here.leave > here.enter:
            return Located(calls[0].module)
        return Located(holders[-1].module if holders else "", before=module)

    def _between(self, low: int, high: int) -> str:
        """The module that was called between these two operations, if it was only one."""
        inside = [each for each in self._spans if low < each.enter and each.leave <= high]
        calls = [a for i, a in enumerate(inside) if not any(b.holds(a) for b in inside[:i])]
        return calls[0].module if len(calls) == 1 else ""

    def _around(self, low: int, high: int, in_gap: bool) -> Located | None:
        """The innermost module in which all operations from `low` to `high` were made."""
        holders = [each for each in self._spans if each.enter <= low and high < each.leave]
        if not holders:
            return None
        inner = min(reversed(holders), key=lambda each: each.leave - each.enter)
        parts = [each for each in self._spans if inner.holds(each) and each not in holders]
        earlier = [each for each in parts if each.leave <= low + in_gap]
        later = [each for each in parts if each.enter >= high + (not in_gap)]
        return Located(
            inner.module,
            max(earlier, key=lambda each: each.leave).module if earlier else "",
            min(later, key=lambda each: each.enter).module if later else "",
        )


def _operations(nodes: Sequence[Any]) -> list[tuple[str, int]]:
    first = number_of(nodes[0])
    return [(node.name(), number_of(node) - first) for node in nodes]


def _alike(mine: Sequence[tuple[str, int]], theirs: Sequence[tuple[str, int]]) -> tuple[int, int]:
    """How many operations are the same from the front, and how many of the rest from the back."""
    most = min(len(mine), len(theirs))
    front = next((i for i in range(most) if mine[i] != theirs[i]), most)
    moved = mine[-1][1] - theirs[-1][1]
    back = 0
    while back < most - front:
        name, number = theirs[-1 - back]
        if mine[-1 - back] != (name, number + moved):
            break
        back += 1
    return front, back
