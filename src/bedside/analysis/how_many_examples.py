"""How many examples a share was counted on, as its values tell: multiples of 1/63 were counted on 63.

>>> examples_behind(np.array([0.1587, 0.2222, 0.2063, 0.1905, 0.2381]))
63
>>> examples_behind(np.array([0.51234, 0.48716, 0.50098, 0.49512]))
0
"""

from __future__ import annotations

import numpy as np

from bedside.record.series import Values

MOST = 1000  # examples: shares of more scatter by a percent or two, which every rule allows for
DIFFERENT = 3  # values: two may fit by chance
DECIMALS = 6  # more were not printed to be read
BY_CHANCE = 0.01  # of the sets of so many numbers would fit as well


def examples_behind(shares: Values) -> int:
    """The fewest examples that all the shares fit to their last printed digit; 0 if that would be chance."""
    values = np.unique(shares[(shares > 0) & (shares < 1)])
    if len(values) < DIFFERENT:
        return 0
    decimals = max(len(f"{each:.{DECIMALS}f}".rstrip("0").partition(".")[2]) for each in values.tolist())
    off = 0.5 * 10.0**-decimals
    counts = np.arange(2, MOST + 1)
    products = np.outer(counts, values)
    fits = (np.abs(products - np.round(products)) <= off * counts[:, None] + 1e-9).all(axis=1)
    # Each number below would have fitted by chance with its own share of luck; what comes after is worth no more.
    luck = np.cumsum(np.minimum(1.0, 2 * off * counts) ** len(values))
    found = counts[fits & (luck < BY_CHANCE)]
    return int(found[0]) if len(found) else 0
