"""Numbers, steps and lists as people write them; the one place that decides, so that every report agrees.

>>> number(0.0003), number(0.01234), number(1200.0), percent(0.934)
('3e-4', '0.0123', '1,200', '93 %')
>>> since(150), span(150, 600), plural(2, "warning")
('since step 150', 'steps 150-600', '2 warnings')

It imports nothing of the house, so rules may use it for their messages as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

FAMILIES = {
    "NUM": "numerics",
    "LOS": "loss curve",
    "GEN": "generalisation",
    "GRD": "gradients",
    "UPD": "updates",
    "WGT": "weights",
    "ACT": "activations",
    "LRS": "schedule",
    "LOP": "loop",
    "DAT": "data",
    "DST": "ranks",
    "PRE": "preflight",
}

PLAIN_FROM, PLAIN_BELOW = 1e-3, 1e6  # outside, people write 3e-4 and 8e26


def number(value: float, digits: int = 3) -> str:
    """`value` to `digits` significant digits: 3e-4, 0.0123, 2.31, 1,200, 8e26, NaN."""
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    rounded = float(f"{value:.{digits - 1}e}")
    size = abs(rounded)
    if size == 0:
        return "0"
    if PLAIN_FROM <= size < PLAIN_BELOW:
        if size >= 10 ** (digits - 1):
            return f"{value:,.0f}"
        return f"{rounded:.{digits + 2}f}".rstrip("0").rstrip(".")
    mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"


def count(value: int) -> str:
    return f"{int(value):,}"


def percent(fraction: float) -> str:
    """`93 %`; never 0 % or 100 % for what is only nearly so."""
    if math.isnan(fraction):
        return "NaN"
    hundredths = fraction * 100
    if 0 < hundredths < 0.5:
        return "< 1 %"
    if 99.5 <= hundredths < 100:
        return "> 99 %"
    return f"{hundredths:.0f} %"


def plural(how_many: int, thing: str) -> str:
    return f"{count(how_many)} {thing}{'' if how_many == 1 else 's'}"


def steps(how_many: int, axis: str = "step") -> str:
    """`1,200 steps`; `40 epochs` when the log counts in those."""
    return plural(how_many, _unit(axis))


def since(first: int, axis: str = "step") -> str:
    return f"since {_unit(axis)} {count(first)}"


def span(first: int, last: int, axis: str = "step") -> str:
    """`steps 150-600`, or `step 150` for a single one."""
    if first == last:
        return f"{_unit(axis)} {count(first)}"
    return f"{_unit(axis)}s {count(first)}-{count(last)}"


def _unit(axis: str) -> str:
    """Tokens and seconds are axes too, but nobody says "since second 41"."""
    return axis if axis in ("step", "epoch") else "step"


def listed(words: Iterable[str], most: int = 6) -> str:
    """`a, b and 3 more`."""
    every = list(words)
    if len(every) <= most:
        return ", ".join(every)
    return ", ".join(every[: most - 1]) + f" and {count(len(every) - most + 1)} more"


def counted(things: Mapping[str, int]) -> str:
    """`2 errors, 1 warning`, leaving out what there is none of."""
    return ", ".join(plural(how_many, thing) for thing, how_many in things.items() if how_many)


def value(anything: Any) -> str:
    """One piece of evidence in words: a number, a list of them, or what it says of itself."""
    if hasattr(anything, "tolist"):  # numpy's scalars and arrays
        anything = anything.tolist()
    if isinstance(anything, bool):
        return "yes" if anything else "no"
    if isinstance(anything, int):
        return count(anything) if abs(anything) < 1e12 else number(anything)
    if isinstance(anything, float):
        return number(anything)
    if isinstance(anything, Mapping):
        return f"({listed(f'{printable(str(key))} {value(each)}' for key, each in anything.items())})"
    if isinstance(anything, (list, tuple, set)):
        return listed(value(each) for each in anything)
    return printable(str(anything))


def printable(text: str) -> str:
    """Without the control characters that a hostile or broken log could send to a terminal."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines, which stay."""
    return "\n".join(map(printable, text.split("\n")))


def capital(text: str) -> str:
    """A sentence begins with a capital letter, a `name`, a series or a number as it is.

    >>> capital("the loss fell"), capital("val/loss fell")
    ('The loss fell', 'val/loss fell')
    """
    first = text.split(" ", 1)[0]
    return text if "/" in first or "_" in first else text[:1].upper() + text[1:]


def words(name: str) -> str:
    """`relative_update` as a person says it: `relative update`."""
    return printable(name).replace("_", " ")
