"""One batch as a table of examples with what is asked of each, and how wrong the network's own answers are.

An example is a sample where one answer is asked for each: its numbers, spread over all inputs, or how often each token
occurs in it. Where every place of a sequence or a picture is asked, an example is a place, and its row is what stands
there and beside it: a token and the one before, a pixel and its eight neighbours. What comes later in a sequence is
left out, because a language model is asked for just that.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bedside.collect.reading.class_labels import BITS, CLASSES, MAX_CLASSES, chosen_rows, class_labels
from bedside.collect.reading.nested_tensors import arrays_in
from bedside.collect.reading.simple_fits import Examples, marks_of

COLUMNS = 256  # of an example, over all inputs: what a fit costs grows with their square
MAX_INPUTS = 8  # that share them
PLACES = 256  # of a batch, where every place is an example
MAX_TABLE = 32  # numbers in an example that is a row of a table, with a meaning for each of its columns
CONTEXT = 8  # tokens: the same so many in a row are the same place, seen again
SQUARED = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
MAX_TARGETS = 8  # numbers for each example
ALIKE = 0.5  # the correlation of a picture with itself under as much noise is 0.7
MAX_BITS = 64  # answers of yes or no for each
HALF = {"binary_cross_entropy": 0.5, "binary_cross_entropy_with_logits": 0.0}
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8)

Asked = tuple[Examples, Tensor]  # with the network's error, and how many answers it is of, as one tensor


def inputs_of(values: Any, first: Tensor) -> list[Tensor]:
    """What a forward was given for each sample: the first input, and those of the same length."""
    others = [t for t in arrays_in(values) if t is not first and not t.is_complex() and len(t) == len(first)]
    return [each.detach() for each in [first, *others] if each.dtype is not torch.bool][:MAX_INPUTS]


def asked_examples(
    inputs: list[Tensor], function: str, prediction: Tensor, target: Any, most: int, turn: int
) -> Asked | None:
    """None where the target is of another kind. Of large batches `most` are taken, others at each `turn`."""
    if not isinstance(target, Tensor) or not target.numel():
        return None
    answered, target = prediction.detach(), target.detach()
    return (
        _one_class_each(inputs, function, prediction, target, most, turn)
        or _places(inputs[0], function, answered, target, turn)
        or _numbers_each(inputs, function, answered, target, most, turn)
    )


def _one_class_each(
    inputs: list[Tensor], function: str, prediction: Tensor, target: Tensor, most: int, turn: int
) -> Asked | None:
    wanted, classes = class_labels(function, prediction, target)
    if wanted is None or classes == len(prediction) > 2:  # in a contrastive loss the class of a sample is its place
        return None
    if len(wanted) != len(inputs[0]) and (chosen := chosen_rows(prediction)) is not None:
        inputs = [each[chosen.to(each.device)] for each in inputs]
    if len(wanted) != len(inputs[0]):
        return None
    wanted, answered = wanted.reshape(-1).long(), prediction.detach()
    answers = answered.reshape(-1) > HALF[function] if function in HALF else answered.argmax(1)
    some = spread(len(wanted), most, turn).to(wanted.device)
    table = features(inputs, target, some)
    raw, counts = as_they_are(inputs, target, some), wanted[some] >= 0
    return Examples(table, wanted[some], counts, marks_of(table), classes, raw=raw), wrong(answers.long(), wanted)


def _places(batch: Tensor, function: str, answered: Tensor, target: Tensor, turn: int) -> Asked | None:
    classes = answered.shape[1] if function in CLASSES and answered.dim() > 1 else 2
    if function not in (*CLASSES, *BITS) or classes > MAX_CLASSES or target.is_floating_point() != (function in BITS):
        return None
    if not 2 <= batch.dim() <= 4 or batch.numel() == 0 or target.numel() == len(batch):
        return None
    per_place = batch.shape[1] if batch.dim() == 4 else batch.shape[2] if batch.dim() == 3 else 1
    tokens = batch.dim() == 2 and batch.dtype in WHOLE
    if target.numel() * per_place != batch.numel() or not (tokens or batch.dim() > 2):
        return None
    wanted = target.reshape(-1)
    answers = answered.reshape(-1) > HALF[function] if function in BITS else answered.argmax(1).reshape(-1)
    if len(answers) != len(wanted):
        return None
    if function in BITS:
        wanted = torch.where((wanted == 0) | (wanted == 1), wanted, -1)
    some = spread(len(wanted), PLACES, turn).to(batch.device)
    asked = wanted[some.to(wanted.device)].long()
    table = around(batch, some)
    marks = marks_of(context(batch, some)) if tokens else marks_of(table)
    counts = (asked >= 0) & ~_is_given(batch, wanted).to(asked.device)
    examples = Examples(table, asked, counts, marks, classes, places=True)
    return examples, wrong(answers.long(), wanted.long())


def _numbers_each(
    inputs: list[Tensor], function: str, answered: Tensor, target: Tensor, most: int, turn: int
) -> Asked | None:
    bits = function in BITS
    if not target.is_floating_point() or target.shape != answered.shape or not target.dim():
        return None
    if not bits and function not in SQUARED:
        return None
    if len(target) != len(inputs[0]) or target.numel() > (MAX_BITS if bits else MAX_TARGETS) * len(target):
        return None
    wanted, given = target.reshape(len(target), -1).float(), answered.reshape(len(target), -1).float()
    off = ((given > HALF[function]) != (wanted > 0.5)) if bits else (given - wanted).double().square()
    some = spread(len(wanted), most, turn).to(wanted.device)
    table = features(inputs, target, some)
    error = torch.stack([off.double().mean(), torch.tensor(float(len(wanted)), device=off.device).double()])
    counts = (~_is_given(inputs[0], target)).expand(len(some)).to(some.device)
    raw = as_they_are(inputs, target, some)
    return Examples(table, wanted[some], counts, marks_of(table), bits=bits, raw=raw), error


def _is_given(batch: Tensor, target: Tensor) -> Tensor:
    """Whether the answer stands in the input at the same place, with some noise perhaps: a network that reconstructs
    through a narrow code loses to the identity by design."""
    if batch.numel() != target.numel() or batch.numel() == len(batch):
        return torch.zeros((), dtype=torch.bool, device=batch.device)
    given, asked = batch.reshape(-1).double(), target.reshape(-1).double().to(batch.device)
    given, asked = given - given.mean(), asked - asked.mean()
    return given @ asked > ALIKE * given.norm() * asked.norm()


def wrong(answers: Tensor, wanted: Tensor) -> Tensor:
    """The share of wrong answers, and how many were asked for."""
    asked = wanted >= 0
    count = asked.sum().double()
    return torch.stack([((answers != wanted) & asked).sum() / count.clamp(min=1), count])


def features(inputs: list[Tensor], target: Tensor, some: Tensor) -> Tensor:
    """A table of some of a batch: its numbers, spread over an example, or how often each token occurs in it. Another
    input may be the target itself, of a model that computes its own loss or a head with a margin: then it is left out.
    """
    room = COLUMNS // len(inputs)
    tables = [_columns(each[some.to(each.device)], room) for each in inputs]
    return torch.cat(_without_the_target(tables, inputs, target), 1)


def as_they_are(inputs: list[Tensor], target: Tensor, some: Tensor) -> Tensor | None:
    """The same of a table, whole numbers as numbers; None of what is no table."""
    if sum(each[0].numel() for each in inputs) > MAX_TABLE or any(each.dim() > 2 for each in inputs):
        return None
    columns = [each[some.to(each.device)].reshape(len(some), -1).double() for each in inputs]
    return torch.cat(_without_the_target(columns, inputs, target), 1)


def _without_the_target(tables: list[Tensor], inputs: list[Tensor], target: Tensor) -> list[Tensor]:
    kept = tables[:1]
    for table, each in zip(tables[1:], inputs[1:], strict=True):
        same_size = each.numel() == target.numel()
        kept.append(table * (each.reshape(-1) != target.reshape(-1).to(each.device)).any() if same_size else table)
    return kept


def spread(examples: int, most: int, turn: int) -> Tensor:
    """Places all over a batch, others at each turn."""
    if examples <= most:
        return torch.arange(examples)
    return (torch.linspace(0, examples - 1, most).long() + turn) % examples


def _columns(batch: Tensor, most: int) -> Tensor:
    flat = batch.reshape(len(batch), -1)
    if flat.dtype in WHOLE:
        counts = torch.zeros(len(flat), most, device=flat.device)
        return counts.scatter_add_(1, flat.long().remainder(most), torch.ones_like(flat, dtype=counts.dtype))
    if flat.shape[1] > most:
        flat = flat[:, torch.linspace(0, flat.shape[1] - 1, most, device=flat.device).long()]
    return flat.float().clone()


def around(batch: Tensor, places: Tensor) -> Tensor:
    """What stands at places of a batch, counted through it, and beside them."""
    if batch.dim() == 4:
        (height, width), room = batch.shape[2:], COLUMNS // 9
        kept = batch[:, torch.linspace(0, batch.shape[1] - 1, min(batch.shape[1], room), device=batch.device).long()]
        sample, row, column = places // (height * width), places // width % height, places % width
        near = [
            kept[sample, :, (row + down).clamp(0, height - 1), (column + right).clamp(0, width - 1)]
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
        ]
        return torch.cat(near, 1).float()
    length, room = batch.shape[1], COLUMNS // 2
    sample, place = places // length, places % length
    here, before = batch[sample, place], batch[sample, (place - 1).clamp(min=0)]
    if batch.dim() == 3:
        return torch.cat([_columns(here, room), _columns(before, room)], 1)
    which = torch.stack([here.long() % room, before.long() % room + room], 1)
    return torch.zeros(len(which), 2 * room, device=batch.device).scatter_(1, which, 1.0)  # one_hot looks at its input


def context(tokens: Tensor, places: Tensor) -> Tensor:
    """The tokens at places and the ones before them, by which the same place of a text is known again."""
    length = tokens.shape[1]
    sample, place = places // length, places % length
    return torch.stack([tokens[sample, (place - back).clamp(min=0)] for back in range(CONTEXT)], 1)
