"""Which finding brings about which, and why: data that `diagnose` reads to tell one story.

A link is used when both findings are there and the cause did not begin after its effect.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """`cause` brings about `effect` (rule names), by this mechanism."""

    cause: str
    effect: str
    why: str


LINKS: tuple[Link, ...] = (
    Link("stale-optimizer", "uncovered-parameter", "parameters that were replaced are in no optimizer"),
    Link("stale-optimizer", "stuck-from-start", "the optimizer moves tensors the model no longer uses"),
    Link("stale-optimizer", "undersized-update", "nothing that the optimizer holds is part of the model"),
    Link("uncovered-parameter", "stuck-from-start", "weights that no optimizer holds cannot learn"),
    Link("silent-parameter", "stuck-from-start", "weights without a gradient cannot learn"),
    Link("vanished-learning-rate", "undersized-update", "an update is proportional to the learning rate"),
    Link("vanished-learning-rate", "stuck-from-start", "with no learning rate nothing moves"),
    Link("undersized-update", "stuck-from-start", "weights that hardly move cannot lower the loss"),
    Link("vanishing-gradient", "stuck-from-start", "the front of the network does not learn"),
    Link("oversized-update", "diverging-loss", "each step overshoots the basin"),
    Link("oversized-update", "loss-spike", "a step large enough to leave the basin"),
    Link("oversized-update", "exploding-gradient", "overshooting lands where the loss is steep"),
    Link("oversized-update", "runaway-weights", "large updates add up to large weights"),
    Link("oversized-update", "stuck-from-start", "the first steps destroyed the initialisation"),
    Link("oversized-update", "nonfinite-loss", "weights grow until the forward pass overflows"),
    Link("oversized-update", "nonfinite-gradient", "weights grow until the backward pass overflows"),
    Link("oversized-update", "gradient-always-clipped", "overshooting keeps the gradient large"),
    Link("oversized-update", "vanishing-gradient", "the first steps pushed units into saturation"),
    Link("oversized-update", "dominant-module", "the first steps left one module where the loss is steep"),
    Link("dominant-module", "gradient-always-clipped", "one module alone exceeds the threshold"),
    Link("dominant-module", "stuck-from-start", "clipping starves the other modules"),
    Link("dominant-module", "exploding-gradient", "the norm of the whole is the norm of that module"),
    Link("dominant-module", "undersized-update", "clipping scales the other modules down with it"),
    Link("dominant-module", "overfitting", "the rest of the network hardly learns"),
    Link("exploding-gradient", "gradient-always-clipped", "gradients this large always exceed the threshold"),
    Link("exploding-gradient", "loss-spike", "a gradient this large throws the weights out of the basin"),
    Link("exploding-gradient", "diverging-loss", "steps along such gradients make the loss worse"),
    Link("exploding-gradient", "runaway-weights", "the weights follow the gradient"),
    Link("exploding-gradient", "nonfinite-gradient", "it grew until it overflowed"),
    Link("exploding-gradient", "nonfinite-loss", "it grew until it overflowed"),
    Link("runaway-weights", "diverging-loss", "growing weights carry the loss away with them"),
    Link("runaway-weights", "nonfinite-loss", "the forward pass overflows"),
    Link("diverging-loss", "nonfinite-loss", "the loss grew until it overflowed"),
    Link("diverging-loss", "nonfinite-gradient", "the loss grew until its gradient overflowed"),
    Link("loss-spike", "nonfinite-loss", "the spike did not come back"),
    Link("nonfinite-gradient", "nonfinite-loss", "one step with a NaN gradient makes the weights NaN"),
    Link("nonfinite-loss", "nonfinite-gradient", "the gradient of NaN is NaN"),
    Link("uncovered-parameter", "stalled-loss", "what the optimizer does not hold stays random"),
    Link("silent-parameter", "stalled-loss", "what gets no gradient stays random"),
    Link("vanishing-gradient", "stalled-loss", "only the last layers learn"),
    Link("dead-layer", "stalled-loss", "only what comes after the dead layer learns"),
    Link("dead-layer", "stuck-from-start", "nothing passes a dead layer"),
    Link("vanished-learning-rate", "stalled-loss", "the steps became too small to go on"),
    Link("oversized-update", "oscillating-loss", "each step lands on the other side of the valley"),
    Link("oversized-update", "loss-at-chance", "the first steps destroyed the initialisation"),
    Link("oversized-update", "erratic-validation", "batch-norm statistics lag behind steps this large"),
    Link("exploding-gradient", "oscillating-loss", "steps along such gradients overshoot"),
    Link("oscillating-loss", "loss-spike", "each swing is a leap"),
    Link("oscillating-loss", "erratic-validation", "the evaluations catch the swings at random"),
    Link("loss-spike", "diverging-loss", "the leap did not come back"),
    Link("diverging-loss", "loss-at-chance", "a network that fell apart can only guess"),
    Link("diverging-loss", "erratic-validation", "the evaluations follow the training down"),
    Link("stuck-from-start", "loss-at-chance", "a network that has not moved can only guess"),
    Link("stuck-from-start", "underfitting", "what has not been learned cannot be shown on new data"),
    Link("loss-at-chance", "underfitting", "guessing is equally bad on all data"),
    Link("stalled-loss", "underfitting", "what has not been learned cannot be shown on new data"),
    Link("constant-loss", "stuck-from-start", "a loss that depends on nothing cannot fall"),
    Link("constant-loss", "loss-at-chance", "a constant output can only guess"),
    Link("constant-loss", "frozen-validation", "a network that does not change evaluates to the same number"),
    Link("overfitting", "overconfident", "learning by heart makes a network sure of its mistakes"),
)
