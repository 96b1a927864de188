"""Where the units of an output are: channels come second after a convolution, features last after a linear layer.

Of (batch, channels, length) and (batch, length, features) the shape says nothing. The graph knows which operation made
the numbers, whatever was done to each of them since: activations, dropout, a residual that was added, a cut.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

NODES_BACK = 12  # operations that may have followed: non-linearity, dropout, cut, residual
SECOND = ("Convolution", "BatchNorm", "GroupNorm", "InstanceNorm", "Pool", "Upsample", "Pad")
LAST = ("Addmm", "Linear", "LayerNorm", "RmsNorm", "RMSNorm", "Embedding", "MkldnnRnn", "Mm", "Attention")


def unit_axis(output: Tensor) -> int:
    """The dimension whose places are units."""
    if output.dim() == 2:
        return 1
    second = channels_come_second(output) if output.dim() == 3 else _says(output.grad_fn)
    if second is None:
        second = output.dim() >= 4
    return 1 if second else output.dim() - 1


def channels_come_second(output: Tensor) -> bool | None:
    """Whether they do in a tensor of three dimensions; None if its graph does not tell."""
    node, swapped = output.grad_fn, False
    for _ in range(NODES_BACK):
        if node is None:
            return None
        found = _says(node)
        if found is not None:
            return found is not swapped
        swapped ^= _swaps(node)
        inputs = [following for following, _ in node.next_functions if following is not None]
        node = next((each for each in inputs if not hasattr(each, "variable")), None)
    return None


def _says(node: Any) -> bool | None:
    """What one operation tells of what it makes."""
    name = "" if node is None else node.name()
    if any(word in name for word in SECOND):
        return True
    return False if name.startswith(LAST) or any(name.startswith(f"Native{word}") for word in LAST) else None


def _swaps(node: Any) -> bool:
    """Whether it exchanges the last two of three dimensions."""
    if node.name() == "TransposeBackward0":
        return {node._saved_dim0 % 3, node._saved_dim1 % 3} == {1, 2} if hasattr(node, "_saved_dim0") else False
    if node.name() == "PermuteBackward0":
        return [dim % 3 for dim in node._saved_dims] == [0, 2, 1]
    return False
