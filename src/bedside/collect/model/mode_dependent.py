"""Which modules behave differently in training and in evaluation."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from bedside.collect.model.parameter_layout import plain_name
from bedside.collect.model.parameters_below import parameters_below
from bedside.collect.model.stored import stored

SHOWN = 8  # dropout modules
RATES = ("p", "dropout", "drop_prob", "drop_rate")  # what dropout and its relatives call their rate


def mode_dependent(model: nn.Module) -> list[nn.Module]:
    """Dropout with a rate above zero, normalisation with running statistics, and what calls itself alike."""
    return [module for module in model.modules() if _depends(module)]


def dropout_rates(model: nn.Module) -> dict[str, float]:
    """The rates of dropout modules, the largest first; a model may have hundreds, and a few are recorded."""
    found = {
        plain_name(name): float(module.p) for name, module in model.named_modules() if isinstance(module, _DropoutNd)
    }
    return dict(sorted(found.items(), key=lambda each: -each[1])[:SHOWN])


def trained(model: nn.Module, modules: list[nn.Module]) -> list[nn.Module]:
    """Those of them that belong to what is trained. Who freezes a trunk keeps its statistics and its dropout still on
    purpose: a normalisation without a trainable parameter, and whatever is inside a module without one."""
    if not modules:
        return []
    frozen: set[int] = set()
    below = parameters_below(model)
    for module in model.modules():
        parameters = below[id(module)].values()
        if parameters and not any(p.requires_grad for p in parameters):
            frozen |= {id(each) for each in module.modules()}
    return [module for module in modules if id(module) not in frozen]


def kinds(modules: list[nn.Module]) -> list[str]:
    """Their class names, each once, as a reader would look for them."""
    return sorted({type(module).__name__ for module in modules})


def keeps_statistics(modules: list[nn.Module]) -> bool:
    """Whether a forward in training mode changes them: validation data then leaks into the normalisation."""
    return any(isinstance(module, _NormBase) for module in modules)


def _depends(module: nn.Module) -> bool:
    if isinstance(module, _NormBase):
        return bool(stored(module, "track_running_stats"))
    named = (
        isinstance(module, (_DropoutNd, nn.RNNBase, nn.MultiheadAttention)) or "drop" in type(module).__name__.lower()
    )
    return named and any(_positive(stored(module, name)) for name in RATES)


def _positive(rate: object) -> bool:
    return isinstance(rate, (int, float)) and rate > 0
