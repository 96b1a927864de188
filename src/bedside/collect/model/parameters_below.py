"""The parameters of every module of a model and of all modules below it, in one pass.

`module.parameters()` walks through everything below the module. Asked of every module of a model, that takes as many
walks as the model has modules, each as long as what is below: for a net of five hundred modules, longer than its step.
"""

from __future__ import annotations

from torch import nn

Below = dict[int, dict[int, nn.Parameter]]  # by the module's id: its parameters by their ids


def parameters_below(model: nn.Module) -> Below:
    """For every module those that `module.parameters()` gives, as they are stored.

    >>> net = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)), nn.ReLU())
    >>> below = parameters_below(net)
    >>> [len(below[id(each)]) for each in net.modules()]
    [4, 4, 2, 2, 0]
    """
    found: Below = {}
    _gather(model, found)
    return found


def _gather(module: nn.Module, found: Below) -> dict[int, nn.Parameter]:
    below = found.get(id(module))
    if below is None:
        below = found[id(module)] = {id(each): each for each in module._parameters.values() if each is not None}
        for child in module._modules.values():
            if child is not None:
                below |= _gather(child, found)
    return below
