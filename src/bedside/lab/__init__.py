"""The lab: experiments that cost a few steps, answer one question, and put everything back.

    from bedside import lab

    result = lab.lr_range(model, loader, loss_fn, optimizer)
    print(result)
    result.plot("lr_range.png")

Each restores weights, buffers, optimizer, scheduler, random numbers, modes and the loader's position bitwise, also on
exceptions and Ctrl-C. Experiments are loaded when they are first used, so that listing them needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bedside.lab.experiments import schedules as schedules
    from bedside.lab.experiments.dead_units import dead_units as dead_units
    from bedside.lab.experiments.differential import differential as differential
    from bedside.lab.experiments.find_nan import find_nan as find_nan
    from bedside.lab.experiments.gradient_flow import gradient_flow as gradient_flow
    from bedside.lab.experiments.gradient_noise import gradient_noise as gradient_noise
    from bedside.lab.experiments.gradient_summary import gradient_summary as gradient_summary
    from bedside.lab.experiments.landscape import landscape as landscape
    from bedside.lab.experiments.lr_range import lr_range as lr_range
    from bedside.lab.experiments.nan_hunt import nan_hunt as nan_hunt
    from bedside.lab.experiments.overfit_batch import overfit_batch as overfit_batch
    from bedside.lab.experiments.rerun import rerun as rerun
    from bedside.lab.experiments.sharpness import sharpness as sharpness
    from bedside.lab.experiments.trial import trial as trial
    from bedside.lab.experiments.validate_batch import validate_batch as validate_batch
    from bedside.training.step import Loop as Loop

EXPERIMENTS = {
    "lr_range": "Which learning rate to use: a sweep, then short forks that confirm it",
    "overfit_batch": "Whether the model can memorise one batch, and what is broken if it cannot",
    "trial": "Which treatment helps: forks of the training under each, paired with an untreated control",
    "nan_hunt": "The first operation that made NaN or Inf out of finite numbers, with its line of code",
    "find_nan": "Parameters and buffers that hold NaN or Inf, by name",
    "validate_batch": "What is wrong with the numbers of one batch",
    "rerun": "Whether a step gives the same result twice: data and code, or non-determinism",
    "gradient_summary": "Each layer's gradient norm, its share and its status, and how first and last layer compare",
    "gradient_flow": "Each layer's gradient norm over training",
    "gradient_noise": "How noisy the gradient is, the useful batch size, and whether the linear scaling rule holds",
    "dead_units": "Units that never fire over a loader, with their indices",
    "sharpness": "How sharp the minimum is: random and worst-case perturbations, largest curvatures",
    "landscape": "The loss along random directions around the present weights, in one or two dimensions",
    "differential": "Runs the experiments that decide between the causes a diagnosis left open",
    "schedules": "Warm-up with cosine decay, one-cycle, and a preview of any schedule before it is used",
}

_OTHERS = {"Loop": "bedside.training.step", "Treatment": "bedside.lab.treatments"}

__all__ = [*EXPERIMENTS, *_OTHERS, "EXPERIMENTS"]  # the catalogue is the list


def __getattr__(name: str) -> Any:
    if name in EXPERIMENTS:
        module = import_module(f"bedside.lab.experiments.{name}")
        return getattr(module, name, module)  # schedules is a module of functions
    if name in _OTHERS:
        return getattr(import_module(_OTHERS[name]), name)
    raise AttributeError(f"module 'bedside.lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
