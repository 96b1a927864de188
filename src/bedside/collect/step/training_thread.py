"""Whose backward is it, when two threads train two models at once?

Torch runs the backward pass of a CPU graph in the thread that asked for it, and the functions that are replaced see the
calls of all threads. A training is known by its thread: the one that calls the model to train it and steps its
optimizers. A backward in another thread is ours only if its graph leads to our parameters; a graph that is too large to
walk is nobody's, which is counted and said once.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import get_ident
from typing import Any

from torch import Tensor

MAX_NODES = 100_000  # of a graph that is walked, 0.1 s: only in another thread than the one that is known


class TrainingThread:
    """The thread that trains. Until that is known, it is presumed to be the one in which watching began."""

    def __init__(self) -> None:
        self.ident = get_ident()
        self.unknown_backwards = 0  # that might have been ours, in other threads
        self._presumed = True

    def is_here(self) -> bool:
        """Whether this is the thread, as far as that is known."""
        return self._presumed or self.ident == get_ident()

    def stepped(self) -> None:
        """An optimizer of ours steps in this thread."""
        self.ident, self._presumed = get_ident(), False

    def called(self) -> bool:
        """The model is called in this thread, to be trained; says whether by the training that is known."""
        if self._presumed:
            self.stepped()
        return self.ident == get_ident()

    def owns_backward(self, tensors: Any, parameters: Mapping[int, int]) -> bool:
        """Whether a backward from these tensors, in this thread, is ours; `parameters` are known by their ids."""
        if self.ident == get_ident():
            return True
        reaches = _reaches(tensors, parameters)
        if reaches:
            self.stepped()
        elif reaches is None:
            self.unknown_backwards += 1
        return bool(reaches)


def _reaches(tensors: Any, parameters: Mapping[int, int]) -> bool | None:
    """Whether the graph leads to one of these; None if it is too large to tell."""
    outputs = tensors if isinstance(tensors, (tuple, list)) else [tensors]
    stack = [each.grad_fn for each in outputs if isinstance(each, Tensor) and each.grad_fn is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if id(getattr(node, "variable", None)) in parameters:
            return True
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
        if len(seen) > MAX_NODES:
            return None
    return False
