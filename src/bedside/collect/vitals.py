"""The collectors, one line each: what a watched run records besides losses, gradients and updates."""

from __future__ import annotations

from bedside.collect.activations import Activations
from bedside.collect.attention import Attention
from bedside.collect.beginning import Beginning
from bedside.collect.collector import Collector
from bedside.collect.constant_weights import ConstantWeights
from bedside.collect.dead_units import DeadUnits
from bedside.collect.first_nonfinite import FirstNonfinite
from bedside.collect.gradient_noise import GradientNoise
from bedside.collect.graph import FirstGraph
from bedside.collect.inputs import Inputs
from bedside.collect.labels import Labels
from bedside.collect.leaked_future import LeakedFuture
from bedside.collect.leaked_labels import LeakedLabels
from bedside.collect.loop import Loop
from bedside.collect.loss_inputs import LossInputs
from bedside.collect.narrowest import Narrowest
from bedside.collect.numerics import Numerics
from bedside.collect.restarted_loader import RestartedLoader
from bedside.collect.schedulers import Schedulers

COLLECTORS: tuple[type[Collector], ...] = (
    Beginning,
    ConstantWeights,
    Loop,
    Schedulers,
    FirstGraph,
    LossInputs,
    Narrowest,
    FirstNonfinite,
    Inputs,
    Labels,
    Activations,
    DeadUnits,
    Attention,
    Numerics,
    GradientNoise,
    LeakedLabels,
    LeakedFuture,
    RestartedLoader,
)
