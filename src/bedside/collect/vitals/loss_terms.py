"""What a loss is the sum of, and how each part was reduced: a mean here and a sum there weigh very differently.

`F.mse_loss(…) + kl.sum()` adds a mean over every pixel of every sample to a sum over every sample: one element of the
second counts thousands of times as much as one of the first. The graph of the loss shows it: additions, constant
weights, and at the end of each branch a mean or a sum with the number of elements that went in. A loss of one part is
recorded where it is no mean but a multiple of one.

Two pairs of parts have weights that belong together (`reading/loss_weights.py`): the logarithms of scales beside the
squares that they stretch, and the divergence of a code beside what is reconstructed from it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.graph_values import SHAPING, kept_as
from bedside.collect.reading.loss_weights import divergence, stretching
from bedside.record.run import Event

LOOK_FROM = (
    0,
    50,
    200,
    500,
    1000,
    2000,
    5000,
    10_000,
    20_000,
    50_000,
)  # steps from which on the next sampled loss is looked at: weights may be annealed
MAX_TERMS = 8
MIN_SAMPLES = 8  # whose codes are compared
MAX_NODES = 512  # on the way to them: a loss that is added up over the steps of a sequence has two for each
MEAN, SUM = 1, 2  # as loss functions number their reductions


class Term(NamedTuple):
    """One part of the loss."""

    made_by: str
    reduction: str  # "mean" or "sum"
    elements: int  # that went into it
    weight: float  # constant factor
    of_weights: bool = False  # a penalty on parameters, which no data go into

    @property
    def per_element(self) -> float:
        """How much one element counts."""
        return abs(self.weight) / (self.elements if self.reduction == "mean" else 1)

    @property
    def times(self) -> float:
        """How many times the mean over all elements this part is worth."""
        return self.per_element * self.elements

    def again(self, number: int) -> Term:
        """`number` such parts as one: a mean over all their elements that counts so often, or a sum over them."""
        weight = self.weight * (number if self.reduction == "mean" else 1)
        return self._replace(elements=self.elements * number, weight=weight)


class LossTerms(Collector):
    """Looks at the graph of a few losses."""

    name = "loss terms"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._looks = 0
        self._due = False
        self._found: list[Event] = []
        self._news: list[Event] = []
        self._means: tuple[float, PendingValue] | None = None  # weight of a code's divergence, and its squared means
        self._codes: list[tuple[int, float, PendingValue]] = []

    def attach(self, step: int) -> None:
        self._due = self._looks < len(LOOK_FROM) and step >= LOOK_FROM[self._looks]

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        self._found = []
        if self._due and isinstance(tensors, Tensor) and tensors.numel() == 1:
            terms = terms_of(tensors.grad_fn)
            if len(terms) > 1 or (terms and terms[0].times > 1):
                facts = [dict(each._asdict(), per_element=each.per_element) for each in terms]
                self._found = [Event(self.context.step, "loss_terms", {"terms": facts}, time.time())]
            if (stretched := stretching(tensors)) is not None:
                weights = {"weight": stretched[0], "numbers": stretched[1]}
                self._found.append(Event(self.context.step, "stretching", weights, time.time()))
            self._means = None
            if (code := divergence(tensors)) is not None:
                weight, squared = code
                means = kept_as(squared, "self")
                if isinstance(means, Tensor) and means.dim() > 1 and len(means) >= MIN_SAMPLES:
                    self._means = weight, self.queue.put(sizes(means.detach()))

    def backward_ended(self, ours: bool) -> None:
        if self._due and ours:
            self._due = False
            self._looks += 1
            self._news += self._found
            if self._means is not None:
                self._codes.append((self.context.step, *self._means))

    def detach(self, step: int) -> None:
        self._due = False

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        yield from news
        codes, self._codes = self._codes, []
        for step, weight, pending in codes:
            facts = {"weight": weight, "size": float(pending.numbers[0]), "varies": float(pending.numbers[1])}
            yield Event(step, "code_divergence", facts, time.time())


def sizes(means: Tensor) -> Tensor:
    """How large the means of a code are, and by how much the liveliest of them varies from sample to sample.

    >>> import torch
    >>> sizes(torch.tensor([[3.0, 1.0], [3.0, -1.0]])).tolist()
    [2.23606797749979, 1.0]
    """
    table = means.reshape(len(means), -1).double()
    return torch.stack([table.square().mean().sqrt(), table.std(0, correction=0).amax()])


def terms_of(root: Any) -> list[Term]:
    """The parts that are added up, those that are alike as one, if it is known of each how it was reduced.

    >>> import torch
    >>> x = torch.ones(4, 5, requires_grad=True)
    >>> for term in terms_of((x.square().mean() - 0.5 * x.sum()).grad_fn):
    ...     print(*term)
    Pow mean 20 1.0 True
    AccumulateGrad sum 20 -0.5 True
    """
    terms: list[Term] = []
    waiting = [(root, 1.0)]
    for _ in range(MAX_NODES):
        if not waiting:
            alike = [term.again(number) for term, number in Counter(terms).items()]
            return alike if len(alike) <= MAX_TERMS else []
        node, weight = waiting.pop(0)
        inputs = [] if node is None else [following for following, _ in node.next_functions]
        there = [each for each in inputs if each is not None]
        name = _operation(node)
        if name in ("Add", "Sub") and len(inputs) == 2:
            alpha = float(getattr(node, "_saved_alpha", 1)) * (-1 if name == "Sub" else 1)
            waiting += [(each, weight * factor) for each, factor in zip(inputs, (1.0, alpha), strict=True) if each]
        elif name in ("Mul", "Div") and len(there) == 1 and (constant := constant_factor(node, inputs)) is not None:
            waiting.append((there[0], weight * (constant if name == "Mul" else 1 / constant if constant else math.inf)))
        elif name in ("Neg", "Rsub") and there:
            waiting.append((there[0], -weight))
        elif name in SHAPING and there:
            waiting.append((there[0], weight))
        elif (term := _reduced(node, name, there, weight)) is not None:
            terms.append(term)
        else:
            return []
    return []


def _reduced(node: Any, name: str, there: Sequence[Any], weight: float) -> Term | None:
    """A mean, a sum, or a loss function that is one of them."""
    if name in ("Mean", "Sum"):
        made_by = _operation(there[0]) if there else ""
        inputs = [each for each, _ in there[0].next_functions] if there else []
        of_weights = "AccumulateGrad" in (made_by, *map(_operation, inputs[:1])) and len(inputs) < 2
        return Term(made_by, name.lower(), math.prod(node._saved_self_sym_sizes), weight, of_weights)
    reduction = getattr(node, "_saved_reduction", None)
    if reduction not in (MEAN, SUM):
        return None
    elements = kept_as(node, "target" if name.startswith("NllLoss") else "self")
    if elements is None:
        return None
    return Term(name, "mean" if reduction == MEAN else "sum", elements.numel(), weight)


def constant_factor(node: Any, inputs: Sequence[Any]) -> float | None:
    """The factor that needs no gradient, where reading it makes nobody wait."""
    value = kept_as(node, "other" if inputs[0] is not None else "self")
    plain = isinstance(value, Tensor) and value.numel() == 1 and value.is_cpu
    return float(value.detach().reshape(()).tolist()) if plain else None


def _operation(node: Any) -> str:
    return "" if node is None else str(node.name()).rpartition("::")[2].partition("Backward")[0]
