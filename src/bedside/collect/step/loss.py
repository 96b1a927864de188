"""The loss of a step, observed at `backward()`: which scalars, of this model, and divided by how much.

Three questions are answered here without asking the user:

* **Is this backward ours?** Only if it changed a gradient of the watched model. A few parameters serve as probes, one
  alone once they have long agreed; if none of them changed, all are looked at the next time.
* **Accumulation.** Several backwards before one step are micro-batches. If the user divided each loss by their
  number (the last operations of the graph say so), the step's loss is the mean of the undivided ones either way.
  One whose gradients are gone when the next begins was discarded, and is not counted.
* **Were the old gradients cleared?** A gradient that is still the same tensor at the same version when the next
  backward begins was not: `zero_grad` was forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from bedside.collect.reading.device_queue import on_cpu, reading
from bedside.collect.reading.graph_values import kept_as
from bedside.collect.sampling.intervals import FULL_STEPS
from bedside.collect.step.loss_parts import Origin, origin_of

PROBES = 4  # parameters looked at per backward: first, last and two between cost under a microsecond each
LEARNING_BACKWARDS = FULL_STEPS  # that are looked at closely: with all probes, and for a division of the loss
ADDED_UP = 2  # what torch's loss functions keep as their reduction: "sum"
LOOKS_AT_INPUTS = 5  # backwards once one was discarded: that of the step itself, then those of the next attack
MAX_LEAF_NODES = 5000  # graph nodes that are looked at for an input that gets a gradient
MAX_NODES_BACK = 4  # graph nodes from the loss in which a division by the number of micro-batches can hide

State = tuple[Tensor | None, int]
Divisors = tuple[float, ...] | None  # None: nobody looked
Made = tuple[Divisors, Origin | None]  # what a loss may have been divided by, and how it was made


@dataclass(slots=True)
class StepLoss:
    """What was observed since the last step."""

    values: list[float | Tensor] = field(default_factory=list)  # one per backward, as passed to it, unscaled
    divisors: list[Divisors] = field(default_factory=list)  # what each may have been divided by
    origins: list[Origin | None] = field(default_factory=list)  # how each was made
    forwards: int = 0  # training forwards, as far as they are observed
    forward_missed: bool = False  # watching began between the first forward and its backward
    discarded: int = 0  # backwards before them whose gradients nobody used
    grads_not_zeroed: bool | None = None  # None: nothing to compare with


class LossListener:
    """Observes every backward pass; `take` hands over the losses since the last step."""

    def __init__(self, *, judge_clearing: bool = True) -> None:
        self._observed = StepLoss()
        self._judge_clearing = judge_clearing
        self._probes: list[nn.Parameter] = []
        self._before: list[tuple[nn.Parameter, State]] = []
        self._after_step: list[tuple[nn.Parameter, State]] = []
        self._after_backward: list[tuple[nn.Parameter, State]] = []
        self._unscaled: dict[int, tuple[Tensor, Tensor, Made]] = {}
        self._coming: list[tuple[float | Tensor, Made]] = []
        self._evaluation_done = False
        self._judged_now = False  # whether gradients were cleared was settled by the backward that runs now
        self._lesson = 0  # backwards of ours observed so far, up to LEARNING
        self._agreed = True  # so far every probe changed in every backward of ours
        self._accumulates = False  # there was a step with several backwards, not long ago
        self._singles = 0  # steps since then
        self.zeroing = True  # gradients were zeroed before the last backward that could tell
        self.grads_kept = False  # before the last backward there were gradients, zeroed or not
        self.on_cpu = True  # the last loss could be read without waiting for a device
        self.in_step = False  # inside optimizer.step(closure): only the first evaluation counts
        self.trains_inputs = False  # gradients of inputs are asked for (an attack, a penalty): the model's go unused
        self._has_discarded = False  # a backward was once discarded: was it meant for the inputs?
        self._looks_at_inputs = LOOKS_AT_INPUTS
        self.kept_elsewhere = False  # gradients are added up outside of `.grad`, which is cleared for every micro-batch

    def scaled(self, loss: Any, scaled: Any) -> None:
        """A GradScaler multiplied the loss; remember what it was before."""
        if isinstance(loss, Tensor) and isinstance(scaled, Tensor) and loss.numel() == 1:
            self._unscaled[id(scaled)] = (scaled, loss.detach(), self._made(loss))

    @property
    def in_later_evaluation(self) -> bool:
        """Inside an optimizer's step, in another call of its closure than the first."""
        return self._evaluation_done

    @property
    def waiting(self) -> int:
        """Backward passes since the last step: the micro-batches so far, or gradients that nobody uses."""
        return self._observed.discarded + len(self._observed.values)

    @property
    def coming(self) -> list[float | Tensor]:
        """The losses of the backward that is about to run: unscaled; numbers already, where nobody waits for them."""
        return [value for value, _ in self._coming]

    def before(self, tensors: Any, gradient: Any, parameters: Sequence[nn.Parameter]) -> None:
        self._judged_now = False
        if self._after_step:
            cleared = all(state[0] is None or not _same(_state(p), state) for p, state in self._after_step)
            if self._judge_clearing and self._observed.grads_not_zeroed is None:
                self._observed.grads_not_zeroed = not cleared
                self.zeroing = cleared
                self._judged_now = True
            if self.in_step and cleared and self._observed.values:
                self._evaluation_done = True  # LBFGS cleared and goes on to its next evaluation
        looked_at = self._probes or parameters
        self._before = [(p, _state(p)) for p in looked_at]
        empty = all(gradient is None for _, (gradient, _) in self._before)
        self.grads_kept = not empty
        thrown_away = empty or (bool(self._observed.values) and self._zeroed_in_place())
        if self._observed.values and thrown_away and not (self.in_step or self.kept_elsewhere):
            # What they gave was thrown away before anybody stepped; only the last forward belongs to this backward.
            # So was what the step before had left: whoever attacks a batch first may clear gradients only then.
            discarded = self._observed.discarded + len(self._observed.values)
            known = self._observed.grads_not_zeroed is not None
            self._observed = StepLoss(forwards=1, discarded=discarded, grads_not_zeroed=False if known else None)
            self.zeroing = True
        self._has_discarded = self._has_discarded or bool(self._observed.discarded)
        if self._has_discarded and self._looks_at_inputs and not self.trains_inputs:
            self._looks_at_inputs -= 1
            self.trains_inputs = has_trained_input(tensors)
        self._coming = self._scalars(tensors, gradient)

    def after(self) -> bool:
        """Take the loss in if the backward was ours; says whether it was."""
        changed = [p for p, state in self._before if not _same(_state(p), state)]
        looked_at, self._before = len(self._before), []
        coming, self._coming = self._coming, []
        if not changed:
            self._probes = []  # the next backward looks at all parameters
            self._agreed = False
            if self._judged_now:  # of another model: what lies in our gradients meanwhile may still be cleared
                self._observed.grads_not_zeroed, self.zeroing = None, True
            return False
        if self._lesson < LEARNING_BACKWARDS:
            self._learn(changed, looked_at)
        elif not self._probes:
            self._choose_probes(changed)
        self._after_step = [(p, _state(p)) for p in self._probes] if self.in_step else []
        self._after_backward = [(p, _state(p)) for p in self._probes]
        if not self._evaluation_done and coming:
            observed = self._observed
            self.on_cpu = type(coming[0][0]) is float
            self._add(coming)
            if len(observed.values) > 1:
                self._accumulates, self._singles = True, -1
        return True

    def _zeroed_in_place(self) -> bool:
        """Whether gradients of an earlier backward were set to zero in place (only where nobody waits for it)."""
        gradients = [p.grad for p, state in self._after_backward if not _same(_state(p), state)]
        return bool(gradients) and all(g is not None and on_cpu(g) and not g.any() for g in gradients)

    def _learn(self, changed: Sequence[nn.Parameter], looked_at: int) -> None:
        self._lesson += 1
        if not self._probes:
            self._choose_probes(changed)
        elif len(changed) < looked_at:
            self._agreed = False
        if self._lesson == LEARNING_BACKWARDS and self._agreed:
            self._probes = self._probes[:1]

    def _choose_probes(self, changed: Sequence[nn.Parameter]) -> None:
        spread = [changed[i * (len(changed) - 1) // max(PROBES - 1, 1)] for i in range(PROBES)]
        self._probes = sorted({id(p): p for p in spread}.values(), key=lambda p: p.numel())  # they are held for a while

    @property
    def probe(self) -> nn.Parameter | None:
        """The one parameter that tells a backward of ours, if the loop is that plain: one backward a step."""
        plain = self._lesson >= LEARNING_BACKWARDS and self._agreed and not self._accumulates and len(self._probes) == 1
        return self._probes[0] if plain and not self.in_step else None

    @property
    def empty(self) -> bool:
        """Whether no backward has come since the last step."""
        return not self._observed.values

    def add_skipped(self, loss: float | Tensor) -> None:
        """A backward of ours was observed at a fast-path step, which then left the fast path."""
        self._add([(loss, (None, None))])

    def forward_began(self) -> None:
        """A training forward of the model."""
        self._observed.forwards += 1

    def _add(self, losses: Sequence[tuple[float | Tensor, Made]]) -> None:
        """Those of one backward."""
        observed = self._observed
        observed.forward_missed |= not observed.forwards
        observed.values.append(losses[0][0] if len(losses) == 1 else sum(value for value, _ in losses))
        divisors, origin = losses[0][1]
        observed.divisors.append(divisors)
        observed.origins.append(origin)

    def doubt_zeroing(self, after_step: tuple[nn.Parameter, State]) -> None:
        """At a fast-path step gradients were unexpectedly there: the next steps are observed until it is known why."""
        self.zeroing = False
        self._after_step = [after_step] if after_step[1][0] is not None else []

    def enter_fast_path(self) -> None:
        """Fast-path steps follow: what was seen before them says nothing about what comes after."""
        self._after_step = []

    def left_fast_path(self) -> None:
        """Fast-path steps are over: whether gradients are cleared is judged from here on."""
        self._after_step = [(p, _state(p)) for p in self._probes]

    def take(self) -> StepLoss:
        """The losses since the last step; the next backward starts a new one."""
        if self._coming:  # an optimizer that is stepped inside the backward: this is the backward of its step
            self._add(self._coming)
            self._coming = []
        observed, self._observed = self._observed, StepLoss()
        if observed.forward_missed:
            observed.forwards = 0  # how many there were is not known
        self._unscaled.clear()
        self._evaluation_done = False
        self._after_backward = []
        self._after_step = [(p, _state(p)) for p in self._probes]
        if self._accumulates:  # one step that failed and was made again is not for ever
            self._singles += 1
            self._accumulates = self._singles < LEARNING_BACKWARDS
        return observed

    def _scalars(self, tensors: Any, gradient: Any) -> list[tuple[float | Tensor, Made]]:
        """The scalar losses among what backward was called on; a gradient that differs from place to place means that
        it is not a loss, but something in the middle of a graph."""
        if gradient is not None:
            value = _weighted(tensors, gradient)
            return [] if value is None else [(value, self._made(tensors))]
        if isinstance(tensors, Tensor):
            tensors = (tensors,)
        if not isinstance(tensors, Sequence):
            return []
        found = []
        for tensor in tensors:
            if isinstance(tensor, Tensor) and tensor.numel() == 1:
                if (known := self._unscaled.get(id(tensor))) is not None and known[0] is tensor:
                    found.append((reading(known[1]), known[2]))
                else:
                    found.append((reading(tensor), self._made(tensor)))
        return found

    def _made(self, loss: Tensor) -> Made:
        """Looked for while learning; afterwards only where losses are accumulated, or a second one comes."""
        if self._accumulates or self._lesson < LEARNING_BACKWARDS or self._observed.values:
            return divisors_of(loss), origin_of(loss)
        return None, None


def has_trained_input(tensors: Any) -> bool:
    """Whether a gradient is asked for that is no parameter's: that of an input, which somebody changes by it.

    >>> import torch
    >>> net, batch = nn.Linear(2, 1), torch.ones(3, 2)
    >>> has_trained_input(net(batch).sum()), has_trained_input(net(batch.requires_grad_()).sum())
    (False, True)
    """
    roots = [tensors] if isinstance(tensors, Tensor) else tensors if isinstance(tensors, Sequence) else []
    waiting = [each.grad_fn for each in roots if isinstance(each, Tensor) and each.grad_fn is not None]
    seen = set(waiting)
    while waiting and len(seen) < MAX_LEAF_NODES:
        node = waiting.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None and not isinstance(leaf, nn.Parameter):
            return True
        following = {each for each, _ in node.next_functions if each is not None} - seen
        seen |= following
        waiting += following
    return False


def _weighted(losses: Any, gradient: Any) -> float | None:
    """The loss of `losses.backward(gradient)` where all get one weight: `ones_like(losses) / len(losses)`, or a minus
    one that turns a score into a loss. Only where nobody waits for the numbers."""
    if not (type(losses) is Tensor and type(gradient) is Tensor and on_cpu(losses) and on_cpu(gradient)):
        return None
    if losses.shape != gradient.shape or not losses.numel() or gradient.dtype != losses.dtype:
        return None
    least, most = (float(end) for end in gradient.detach().aminmax())
    return float(losses.detach().double().sum()) * most if least == most else None


def divisors_of(loss: Tensor) -> tuple[float, ...]:
    """Constants that the last few operations divided the loss by (a factor of 1/4 counts as division by 4).

    A loss that is added up over its samples and then divided by a constant is their mean divided by so much less.
    """
    found: list[float] = []
    node = loss.grad_fn
    for _ in range(MAX_NODES_BACK):
        if node is None:
            break
        name = node.name()
        if name in ("DivBackward0", "MulBackward0"):
            other = kept_as(node, "other", unknown=True)
            if other is None or other.numel() != 1 or other.device.type != "cpu" or other.requires_grad:
                break
            constant = float(other)
            if constant > 0:
                found.append(constant if name == "DivBackward0" else 1 / constant)
        elif name not in ("ToCopyBackward0", "CloneBackward0", "ViewBackward0", "SqueezeBackward0"):
            break
        node = node.next_functions[0][0] if node.next_functions else None
    if found and (samples := _samples_added_up(node)):
        return tuple(math.prod(found) / number for number in samples)
    return tuple(found)


def _samples_added_up(node: Any) -> tuple[float, ...]:
    """Over how many samples, or elements, the loss function of this graph node added up; none if it took the mean."""
    target = kept_as(node, "target", unknown=True)
    if getattr(node, "_saved_reduction", None) != ADDED_UP or not isinstance(target, Tensor) or not target.dim():
        return ()
    labelled = kept_as(node, "total_weight", unknown=True)  # of class labels: how many of them count
    if isinstance(labelled, Tensor):
        return (float(labelled),) if on_cpu(labelled) and float(labelled) > 0 else ()
    return tuple(float(number) for number in {target.numel(), len(target)} if number)


class Accumulation:
    """Turns the losses of a step's micro-batches into the step's loss, and knows whether they were divided."""

    def __init__(self) -> None:
        self.confirmed: float | None = None  # the divisor seen to equal the number of micro-batches
        self.known_as = ""  # "sum" or "mean", where a framework knows how its losses make up the step's

    def loss_of(self, values: Sequence[float], divisors: Sequence[Divisors]) -> tuple[float, bool | None]:
        """(the step's loss, divided?); the second is None when there was one micro-batch and no known divisor."""
        count = len(values)
        if not count:
            return float("nan"), None
        if self.known_as:
            return sum(values) / (count if self.known_as == "mean" else 1), True
        divisor = self._divisor(count, divisors)  # asked first: equal shares are also a divisor that is seen to fit
        if divisor is not None:
            return sum(values) * divisor / count, True
        if count > 1 and _are_shares(count, divisors):
            return sum(values), True
        return sum(values) / count, (False if count > 1 else None)

    def _divisor(self, count: int, divisors: Sequence[Divisors]) -> float | None:
        known = [set(each) for each in divisors if each is not None]
        common = set.intersection(*known) if known else set()
        if count > 1 and (match := [d for d in common if abs(d - count) < 1e-6 * count]):
            self.confirmed = match[0]
            return match[0]
        # The last, incomplete window of an epoch is still divided by the full number.
        return self.confirmed if self.confirmed in common else None


def _are_shares(count: int, divisors: Sequence[Divisors]) -> bool:
    """Whether micro-batches of unequal size were each divided by the size of all of them together.

    >>> _are_shares(2, [(4.0,), (4 / 3,)]), _are_shares(2, [(4.0,), (4.0,)])
    (True, False)
    """
    known = [each for each in divisors if each]
    return len(known) == count and any(
        abs(sum(1 / divisor for divisor in column) - 1) < 1e-6 for column in zip(*known, strict=False)
    )


def _state(parameter: nn.Parameter) -> State:
    gradient = parameter.grad
    return (gradient, gradient._version if gradient is not None else -1)


def _same(one: State, other: State) -> bool:
    return one[0] is other[0] and one[1] == other[1]
