"""What a module stores under a name, and nothing that it computes.

`module.weight` may be a property: a parametrised layer runs its power iteration or draws random numbers each time it is
read, and what a user's own property does nobody knows. So nothing of a user's module is asked for by attribute.
"""

from __future__ import annotations

from typing import Any

from torch import nn


def stored(module: nn.Module, name: str) -> Any:
    """The attribute, parameter or buffer of this name; None if there is none, or if it is computed (a traced module
    computes all of them).

    >>> from torch.nn.utils.parametrizations import spectral_norm
    >>> stored(nn.Linear(2, 3), "weight").shape, stored(spectral_norm(nn.Linear(2, 3)), "weight")
    (torch.Size([3, 2]), None)
    """
    own = module.__dict__
    for table in (own, own.get("_parameters", {}), own.get("_buffers", {})):
        if name in table:
            return table[name]
    return None
