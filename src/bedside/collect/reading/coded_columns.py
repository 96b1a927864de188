"""Columns of a table that hold codes: whole numbers of which there are few, as of shops, products and weekdays.

To a network that is given such a number as it is, product 12 lies between products 11 and 13, and it hardly finds what
each of them is worth. A linear model with a weight of its own for every code finds it; how well is known from the
examples at hand.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bedside.collect.reading.simple_fits import Examples, tried

MIN_CODES = 3  # different numbers: with two of them one weight is enough
MAX_CODES = 64  # in as many examples as are kept, each has come several times then
MAX_WEIGHTS = 256  # for the codes of all columns


def fitted_to_codes(numbers: Tensor, like: Examples) -> tuple[float, float, list[int]] | None:
    """The error of a linear model with a weight for every code, that of one with a weight for every column, and how
    many codes each column has; None where no column holds any. The numbers are those of `as_numbers`.

    >>> shop = torch.randint(0, 9, (500, 1), generator=torch.Generator().manual_seed(0)).double()
    >>> worth = torch.tensor([3.0, -1, 2, 0, -4, 1, -2, 4, 1])[shop.long()]
    >>> examples = Examples(shop, worth, torch.ones(500).bool(), torch.arange(500).double(), raw=shop)
    >>> coded, plain, codes = fitted_to_codes(as_numbers(examples), examples)
    >>> coded < 0.01 * plain, codes
    (True, [9])
    """
    raw, counts, marks, wanted = _parts(numbers.reshape(len(like), -1), like)
    plain, coded, codes = [], [], list[int]()
    for column in raw.T:
        values, places = column.unique(return_inverse=True)
        is_coded = MIN_CODES <= len(values) <= MAX_CODES and bool((values == values.round()).all())
        if is_coded and sum(codes) + len(values) <= MAX_WEIGHTS:
            coded.append(torch.nn.functional.one_hot(places, len(values)).to(column.dtype))
            codes.append(len(values))
        else:
            plain.append(column[:, None])
    if not codes:
        return None
    examples = replace(like, table=raw, wanted=wanted, counts=counts, marks=marks)
    with_codes = replace(examples, table=torch.cat([*plain, *coded], 1))
    return float(tried(with_codes)[0]), float(tried(examples)[0]), codes


def as_numbers(examples: Examples) -> Tensor:
    """A table as it is and what is asked of it in one tensor, for one transfer."""
    assert examples.raw is not None
    rest = [examples.counts[:, None], examples.marks[:, None], examples.wanted.reshape(len(examples), -1)]
    return torch.cat([each.double().to(examples.raw.device) for each in (examples.raw, *rest)], 1)


def _parts(table: Tensor, like: Examples) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    assert like.raw is not None
    raw, counts, marks, wanted = table.split([like.raw.shape[1], 1, 1, table.shape[1] - like.raw.shape[1] - 2], 1)
    wanted = wanted[:, 0].long() if like.classes else wanted.reshape(like.wanted.shape)
    return raw, counts[:, 0] > 0, marks[:, 0], wanted
