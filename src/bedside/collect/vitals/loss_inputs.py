"""What the loss function was given: the graph of the first predictions shows which operation made them.

`cross_entropy` takes a softmax itself, `nll_loss`, `ctc_loss` and `kl_div` want logarithms; none of them can tell that
it was given something else. The last operation before the loss, apart from those that only reshape, shows it; the
backward pass must come through that very call, which may have been made for the log alone. A loss of counts or rates
takes the exponential of its input itself: where that input is an exponential already, the graph has one upon the other.
A cross-entropy whose targets are several classes at once lets none of them be right. A loss that divides by a sum (an
overlap over two areas) wants what cannot be negative: a sum of bare scores may be zero and of either sign. And a loss
of margins wants signs, and no zeros among them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.reading.entropy_sign import paid_for_certainty
from bedside.collect.reading.graph_values import SHAPING, kept_as
from bedside.collect.reading.margin_targets import zeros_among_signs
from bedside.collect.reading.policy_gradient import weighted_with_gradient
from bedside.record.run import Event

MAX_LOOKS = 3  # predictions of each loss function that are looked at: a loop computes its loss in one way
FLATTENING = ("View", "UnsafeView", "ReshapeAlias")
MAX_SHAPING = 8  # operations, one after another
PROBABILITIES = {"Softmax": "softmax", "Sigmoid": "sigmoid"}
SCORES = {"Addmm": "linear layer", "Mm": "linear layer", "Linear": "linear layer", "Convolution": "convolution"}
PICKING = ("IndexBackward", "GatherBackward", "MulBackward")  # of a label's probability, or by a one-hot table
CUT = {"Relu": "ReLU"}  # scores that cannot be negative: whatever is below zero counts the same and gets no gradient
# What each loss function should not be given.
UNWANTED = {
    "cross_entropy": PROBABILITIES | CUT,
    "binary_cross_entropy_with_logits": PROBABILITIES | CUT,
    "nll_loss": PROBABILITIES | SCORES,
    "kl_div": PROBABILITIES,
    "ctc_loss": PROBABILITIES | SCORES,
}
# The node that a call leaves in the graph of the loss; a loss made of several common operations cannot be recognised by
# it.
LEAVES = {
    "cross_entropy": "LogSoftmaxBackward",
    "log_softmax": "LogSoftmaxBackward",
    "class_targets": "LogSoftmaxBackward",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogitsBackward",
    "nll_loss": "NllLoss",
    "ctc_loss": "CtcLossBackward",
}

MAX_NODES = 2000  # of a graph in which the node is looked for: in a larger one it is taken to be there
NEAR = 8  # nodes between the loss and what it is made of: mean, difference, weights, division
WIDEST = 64  # nodes at one distance: beyond, it is no longer the loss but the model


class LossInputs(Collector):
    """Looks at the first predictions that a loss function is given."""

    name = "loss inputs"
    sampled = False

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._looked: dict[str, int] = {}
        self._suspected: list[Event] = []  # until a backward pass comes through the call
        self._news: list[Event] = []

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        looked = self._looked.get(function, 0)
        if function not in UNWANTED or looked >= MAX_LOOKS or not isinstance(prediction, Tensor):
            return
        if prediction.grad_fn is None:
            return
        self._looked[function] = looked + 1
        given_to = function
        made_by = UNWANTED[function].get(maker(prediction)) or (function == "nll_loss" and other_classes(prediction))
        if not made_by and function == "nll_loss" and (made_by := before_log_softmax(prediction)):
            given_to = "log_softmax"
        if not made_by and function == "cross_entropy" and several_classes(prediction, target):
            given_to, made_by = "class_targets", "several classes"
        if made_by:
            self._looked[function] = MAX_LOOKS
            facts = {"function": given_to, "made_by": made_by}
            self._suspected.append(Event(self.context.step, "loss_input", facts, time.time()))

    def backward_begins(self, tensors: Any, losses: Sequence[float | Tensor]) -> None:
        for each in [event for event in self._suspected if comes_through(tensors, LEAVES.get(event.data["function"]))]:
            self._suspected.remove(each)
            self._news.append(each)
        looked = self._looked.get("graph", 0)
        if looked >= MAX_LOOKS:
            return
        self._looked["graph"] = looked + 1
        for each in [tensors] if isinstance(tensors, Tensor) else tensors:
            divides_by = divided_by_scores(each)
            if exponential_twice(each):
                facts = {"function": "exp", "made_by": "exp"}
            elif over := picked_from_softmax_over_the_batch(each):
                facts = {"function": "probabilities", "made_by": over}
            elif divides_by:
                facts = {"function": "division", "made_by": divides_by}
            elif weighted_with_gradient(each):
                facts = {"function": "policy_gradient", "made_by": "value network"}
            elif paid_for_certainty(each):
                facts = {"function": "entropy", "made_by": "plus sign"}
            elif (blank := blank_in_targets(each)) is not None:
                facts = {"function": "ctc_targets", "made_by": f"blank ({blank})"}
            elif labels := zeros_among_signs(list(_near_the_end(each))):
                facts = {"function": "margins", "made_by": labels}
            else:
                continue
            self._looked["graph"] = MAX_LOOKS
            self._news.append(Event(self.context.step, "loss_input", facts, time.time()))
            return

    def events(self) -> Iterable[Event]:
        news, self._news = self._news, []
        return news


def comes_through(losses: Any, name: str | None) -> bool:
    """Whether the graph of a loss has a node of this name, as far as it is looked at; True where none is known.

    >>> import torch
    >>> scores, labels = torch.zeros(5, 3, requires_grad=True), torch.tensor([0, 2, 1, 0, 2])
    >>> loss = torch.nn.functional.mse_loss(scores, torch.ones(5, 3))
    >>> comes_through(loss, "NllLoss"), comes_through(loss, "MseLoss"), comes_through(loss, None)
    (False, True, True)
    """
    roots = [losses] if isinstance(losses, Tensor) else losses if isinstance(losses, Sequence) else []
    waiting = [each.grad_fn for each in roots if isinstance(each, Tensor) and each.grad_fn is not None]
    if name is None or not waiting:
        return True
    seen = set(waiting)
    while waiting:
        node = waiting.pop(0)
        if str(node.name()).startswith(name) or len(seen) > MAX_NODES:
            return True
        following = {each for each, _ in node.next_functions if each is not None} - seen
        seen |= following
        waiting += following
    return False


def maker(tensor: Tensor) -> str:
    """The operation that made the numbers of a tensor, whatever has reshaped them since.

    >>> import torch
    >>> scores = torch.zeros(2, 3, requires_grad=True)
    >>> maker(scores.softmax(1).squeeze().view(-1))
    'Softmax'
    """
    return _operation(tensor.grad_fn)


def several_classes(prediction: Tensor, target: Any) -> bool:
    """Whether the targets of a cross-entropy are zeros and ones, with more than one of them for a sample.

    >>> import torch
    >>> scores, labels = torch.zeros(2, 3), torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> several_classes(scores, labels), several_classes(scores, labels / labels.sum(1, keepdim=True))
    (True, False)
    """
    if not isinstance(target, Tensor) or target.shape != prediction.shape or target.dim() < 2 or not target.is_cpu:
        return False  # on another device reading it would make the loop wait
    wanted = target.detach()
    return bool(((wanted == 0) | (wanted == 1)).all() and (wanted.sum(1) > 1).any())


def other_classes(prediction: Tensor) -> str:
    """`log_softmax over dimension 0`, where the logarithms were not taken over the classes; empty if they were.

    >>> import torch
    >>> scores = torch.zeros(5, 3, requires_grad=True)
    >>> other_classes(scores.log_softmax(0)), other_classes(scores.log_softmax(1))
    ('log_softmax over dimension 0', '')
    >>> words = torch.zeros(5, 7, 3, requires_grad=True)
    >>> other_classes(words.log_softmax(1).view(35, 3)), other_classes(words.log_softmax(2).view(35, 3))
    ('log_softmax over dimension 1', '')
    """
    node, viewed = prediction.grad_fn, False
    while node is not None and node.name().partition("Backward")[0] in FLATTENING:
        node, viewed = node.next_functions[0][0], True
    if node is None or node.name().partition("Backward")[0] != "LogSoftmax":
        return ""
    shape = tuple(node._input_metadata[0].shape)
    over = node._saved_dim if node._saved_dim < len(shape) else len(shape) - 1  # -1 comes as the largest number
    # Flattened, the classes were last; and where another dimension is as long, nobody can tell.
    classes = len(shape) - 1 if viewed else 1
    kept = not viewed or (prediction.dim() == 2 and prediction.shape[1] == shape[-1])
    if len(shape) < 2 or not kept or over == classes:
        return ""
    return f"log_softmax over dimension {over}"


def before_log_softmax(prediction: Tensor) -> str:
    """What a log_softmax was given that wants scores, as the first half of cross_entropy; empty where that is fine.

    >>> import torch
    >>> scores = torch.zeros(5, 3, requires_grad=True)
    >>> before_log_softmax(scores.softmax(1).log_softmax(1)), before_log_softmax(scores.log_softmax(1))
    ('softmax', '')
    """
    node = prediction.grad_fn
    while node is not None and str(node.name()).partition("Backward")[0] in SHAPING and node.next_functions:
        node = node.next_functions[0][0]
    if node is None or str(node.name()).partition("Backward")[0] != "LogSoftmax":
        return ""
    return UNWANTED["cross_entropy"].get(_operation(node.next_functions[0][0]), "")


def exponential_twice(loss: Any) -> bool:
    """Whether a loss takes, near its end, the exponential of what is an exponential already.

    >>> import torch
    >>> rate = torch.zeros(3, requires_grad=True).exp()
    >>> count = torch.ones(3)
    >>> poisson = torch.nn.functional.poisson_nll_loss
    >>> exponential_twice(poisson(rate, count)), exponential_twice(poisson(rate, count, log_input=False))
    (True, False)
    """
    return any(
        node.name().startswith("ExpBackward") and _operation(node.next_functions[0][0]) == "Exp"
        for node in _near_the_end(loss)
    )


def picked_from_softmax_over_the_batch(loss: Any) -> str:
    """`softmax over dimension 0`, where a loss picks from each sample's row probabilities that add up over the samples;
    empty if it does not. A square table may be one of similarities, which is normalised both ways. A gate inside the
    model is no likelihood, whatever it is normalised over.

    >>> import torch
    >>> scores, labels = torch.nn.Linear(3, 4)(torch.ones(7, 3)), torch.tensor([0, 1, 2, 3, 0, 1, 2])
    >>> def likelihood(dim):
    ...     return -torch.log(scores.softmax(dim)[torch.arange(7), labels] + 1e-9).mean()
    >>> picked_from_softmax_over_the_batch(likelihood(0)), picked_from_softmax_over_the_batch(likelihood(1))
    ('softmax over dimension 0', '')
    >>> gated = torch.nn.Linear(4, 3)(scores.softmax(0) * scores)
    >>> picked_from_softmax_over_the_batch(torch.nn.functional.cross_entropy(gated, labels % 3))
    ''
    """
    for node in _near_the_end(loss):
        if str(node.name()).startswith(PICKING):
            before, _ = node.next_functions[0]
            name = "" if before is None else str(before.name()).partition("Backward")[0]
            if name not in ("Softmax", "LogSoftmax"):
                continue
            shape = tuple(before._input_metadata[0].shape)
            if len(shape) == 2 and before._saved_dim == 0 and shape[0] != shape[1]:
                return "softmax over dimension 0"
    return ""


def divided_by_scores(loss: Any) -> str:
    """The layer by whose bare answers, added up over several of them, a loss divides near its end; empty if by none.

    >>> import torch
    >>> scores, mask = torch.nn.Linear(3, 4)(torch.ones(2, 3)), torch.ones(2, 4)
    >>> def overlap(p):
    ...     return (1 - 2 * (p * mask).sum(1) / (p.sum(1) + mask.sum(1))).mean()
    >>> divided_by_scores(overlap(scores)), divided_by_scores(overlap(scores.sigmoid()))
    ('linear layer', '')
    """
    for node in _near_the_end(loss):
        if str(node.name()).startswith("DivBackward") and len(node.next_functions) == 2:
            made_by = _summed_scores(node.next_functions[1][0])
            if made_by:
                return made_by
    return ""


def blank_in_targets(loss: Any) -> int | None:
    """The number of the blank, where a CTC loss is asked to find that very symbol; None if it is not.

    >>> import torch
    >>> frames, lengths = torch.zeros(9, 2, 4, requires_grad=True).log_softmax(2), (torch.tensor([9, 9]), [3, 1])
    >>> def ctc(targets):
    ...     return torch.nn.functional.ctc_loss(frames, torch.tensor(targets), lengths[0], torch.tensor(lengths[1]))
    >>> blank_in_targets(ctc([1, 0, 2, 3])), blank_in_targets(ctc([[1, 2, 3], [2, 0, 0]]))  # a filled-up row is fine
    (0, None)
    """
    for node in _near_the_end(loss):
        if str(node.name()).startswith("CtcLoss"):
            blank, lengths = getattr(node, "_saved_blank", None), getattr(node, "_saved_target_lengths", None)
            targets = kept_as(node, "targets")
            if blank is None or lengths is None or targets is None:  # another kernel, or changed in place since
                return None
            if not targets.is_cpu:  # reading it would make the loop wait
                return None
            asked = targets == blank
            if targets.dim() == 2:
                asked = asked & (torch.arange(targets.shape[1]) < torch.as_tensor(lengths)[:, None])
            return int(blank) if bool(asked.any()) else None
    return None


def _summed_scores(node: Any) -> str:
    """The layer whose answers a sum is made of, where nothing but sums, constants and shapes lies between."""
    added = False
    for _ in range(MAX_SHAPING):
        name = _operation(node)
        while node is not None and str(node.name()).partition("Backward")[0] != name:
            node = node.next_functions[0][0]
        if name in SCORES:
            return SCORES[name] if added else ""
        following = [] if node is None else [each for each, _ in node.next_functions if each is not None]
        if name not in ("Sum", "Mean", "Add") or len(following) != 1:
            return ""
        added = added or name in ("Sum", "Mean")
        node = following[0]
    return ""


def _near_the_end(loss: Any) -> Iterator[Any]:
    """The nodes of the graph that lie near the loss itself, and none before the layer that made what it is given."""
    level = [loss.grad_fn] if isinstance(loss, Tensor) and loss.grad_fn is not None else []
    for _ in range(NEAR):
        yield from level
        of_the_loss = [node for node in level if str(node.name()).partition("Backward")[0] not in SCORES]
        level = [following for node in of_the_loss for following, _ in node.next_functions if following is not None]
        if not level or len(level) > WIDEST:
            return


def _operation(node: Any) -> str:
    """The operation of this node, or of the one whose numbers it only reshapes."""
    for _ in range(MAX_SHAPING):
        if node is None:
            return ""
        name = str(node.name()).partition("Backward")[0]
        if name == "Add" and (product := _with_bias(node)):
            return product
        if name not in SHAPING or not node.next_functions:
            return name
        node = node.next_functions[0][0]
    return ""


def _with_bias(node: Any) -> str:
    """The product to which this sum adds a bias: a linear layer of an input that is not contiguous makes two steps."""
    inputs = [following for following, _ in node.next_functions]
    bias = [each for each in inputs if (leaf := getattr(each, "variable", None)) is not None and leaf.dim() == 1]
    others = [each for each in inputs if each not in bias]
    made_by = _operation(others[0]) if len(bias) == len(others) == 1 else ""
    return made_by if made_by in SCORES else ""
