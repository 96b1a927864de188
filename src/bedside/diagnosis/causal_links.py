"""Which finding brings about which, and why: data that `story.py` reads to tell one story.

A link is used when both findings are there and the cause did not begin after its effect. Causes are listed in the
order in which a run goes wrong: the loop and the data, the schedule, the steps, gradients and weights, the loss, and
last what validation makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """`cause` brings about `effect` (rule names), by this mechanism."""

    cause: str
    effect: str
    why: str
    gradual: bool = False  # the cause comes on by degrees and is dated when it is complete; its effects begin before


def links(cause: str, effects: str, why: str, *, gradual: bool = False) -> Iterator[Link]:
    """One link from `cause` to each of the `effects` (names with spaces between them), all by one mechanism."""
    for effect in effects.split():
        if effect != cause:
            yield Link(cause, effect, why, gradual)


# What is seen when nothing, or nothing more, is learned. A network that stands still also evaluates to one number.
NOT_LEARNING = "stuck-from-start loss-at-chance stalled-loss constant-loss underfitting frozen-validation"
# What is seen when weights are thrown about.
THROWN_ABOUT = """
diverging-loss loss-spike oscillating-loss noisy-loss erratic-validation oscillating-gradient exploding-gradient
gradient-always-clipped runaway-weights weight-jump lost-progress
"""
# What is seen when numbers leave the range of their type.
SPREADING = "nonfinite-loss nonfinite-gradient nonfinite-weights loss-scale-collapse"
NOT_FINITE = f"nonfinite-activation {SPREADING}"  # its birth in a module, and what it then spreads to

LINKS: tuple[Link, ...] = (
    # The loop.
    *links("stale-optimizer", "uncovered-parameter", "parameters that were replaced are in no optimizer"),
    *links("stale-optimizer", "accumulating-gradient", "its zero_grad clears the tensors it holds, and no others"),
    *links("stale-optimizer", "step-without-gradient", "the tensors it holds are no longer part of the loss"),
    *links("stale-optimizer", "undersized-update", "nothing that the optimizer holds is part of the model"),
    *links("stale-optimizer", "unmoved-parameter", "the optimizer moves tensors the model no longer uses"),
    *links("stale-optimizer", NOT_LEARNING, "the optimizer moves tensors the model no longer uses"),
    *links("uncovered-parameter", "accumulating-gradient", "zero_grad clears what the optimizer holds, and no more"),
    *links("uncovered-parameter", "unmoved-parameter", "no optimizer moves them"),
    *links("uncovered-parameter", "dominant-module", "nothing lowers the gradient of weights that stay random"),
    *links("uncovered-parameter", "exploding-gradient", "nothing lowers the gradient of weights that stay random"),
    *links("uncovered-parameter", NOT_LEARNING, "weights that no optimizer holds stay random"),
    *links("silent-parameter", "unmoved-parameter", "without a gradient there is no step"),
    *links("silent-parameter", NOT_LEARNING, "weights without a gradient stay random"),
    *links("never-stepped", "unmoved-parameter", "the optimizer was never stepped"),
    *links("never-stepped", "accumulating-gradient", "gradients are cleared once a step, and there is none"),
    *links("never-stepped", NOT_LEARNING, "the optimizer was never stepped"),
    *links("ranks-see-same-data", "overfitting", "there are fewer different examples than it seems"),
    *links("ranks-disagree", "erratic-validation", "each rank trains a network of its own"),
    *links("ranks-disagree", "diverging-loss", "each rank trains a network of its own"),
    *links("step-without-gradient", "undersized-update", "the steps changed nothing"),
    *links("step-without-gradient", "unmoved-parameter", "the steps changed nothing"),
    *links("step-without-gradient", "silent-parameter", "no parameter ever had a gradient when it counted"),
    *links("step-without-gradient", NOT_LEARNING, "the steps changed nothing"),
    *links("accumulating-gradient", "oversized-update", "the step follows a gradient that grows with the step count"),
    *links("accumulating-gradient", THROWN_ABOUT, "the gradient is the sum of all steps so far"),
    *links("accumulating-gradient", "dominant-module", "the sum is largest where nothing clears it"),
    *links("accumulating-gradient", "late-overshoot", "the sum grows while the loss no longer falls"),
    *links("accumulating-gradient", "amplified-step", "the step follows the sum of all gradients so far"),
    *links("accumulating-gradient", "dead-layer", "steps along a growing sum switch units off"),
    *links("accumulating-gradient", NOT_FINITE, "the sum grows until it overflows"),
    *links("accumulating-gradient", NOT_LEARNING, "the step follows stale gradients"),
    *links("unscaled-accumulation", "oversized-update", "the step is as many times too large as there are parts"),
    *links("unscaled-accumulation", THROWN_ABOUT, "the gradient is a sum where a mean was meant"),
    *links("clipping-scaled-gradients", "gradient-always-clipped", "scaled gradients exceed any threshold"),
    *links(
        "clipping-scaled-gradients",
        "undersized-update",
        "unscaling after clipping leaves almost nothing of the gradient",
    ),
    *links("clipping-scaled-gradients", NOT_LEARNING, "unscaling after clipping leaves almost nothing of the gradient"),
    *links("mismatched-loss", "undersized-update faded-gradient", "squeezed between 0 and 1, scores pass on little"),
    *links("mismatched-loss", "collapsed-reconstruction", "the encoder learns nothing of what its code is good for"),
    *links("mismatched-loss", "stuck-reward worsening-metric", "the policy is taught something else than what pays"),
    *links("mismatched-loss", "unbounded-negative-loss", "unnormalised scores can be raised for ever"),
    *links("mismatched-loss", "runaway-weights exploding-gradient", "unnormalised scores can be raised for ever"),
    *links("mismatched-loss", "dead-layer", "what pushes in one direction only ends where nothing pushes any more"),
    *links("mismatched-loss", "loss-without-accuracy overconfident", "the loss does not measure the answers"),
    *links("mismatched-loss", NOT_LEARNING, "a loss that cannot fall far looks like a network that cannot learn"),
    *links("broadcast-loss", "undersized-update", "averaged over all pairs, the errors cancel"),
    *links("broadcast-loss", "faded-gradient", "averaged over all pairs, the errors cancel"),
    *links("broadcast-loss", "loss-without-accuracy", "the best answer to all pairs is the mean"),
    *links("broadcast-loss", NOT_LEARNING, "the best answer to all pairs is the mean"),
    *links("training-in-eval-mode", "overfitting", "dropout is off"),
    *links("training-in-eval-mode", "overconfident", "dropout is off"),
    *links("training-in-eval-mode", "erratic-validation", "statistics stand still while the weights move on"),
    *links("training-in-eval-mode", "diverging-loss", "statistics stand still while the weights move on"),
    *links("evaluating-in-train-mode", "erratic-validation", "dropout makes every pass another network"),
    *links("evaluating-in-train-mode", "gap-from-start", "dropout is on where it should not be"),
    *links("evaluating-in-train-mode", "underfitting", "the evaluation is of a network with half its units off"),
    *links("stochastic-evaluation", "erratic-validation gap-from-start", "every evaluation is of another network"),
    *links("stochastic-evaluation", "underfitting", "the evaluation is of a network with units left out"),
    *links(
        "single-sample-batchnorm",
        "gap-from-start erratic-validation overfitting overconfident loss-at-chance noisy-loss",
        "running averages fit no single sample",
    ),
    *links(
        "stale-statistics",
        "gap-from-start erratic-validation overfitting overconfident nothing-generalises worsening-metric",
        "evaluation normalises by averages that have not arrived",
    ),
    *links("frozen-untrained", NOT_LEARNING, "random layers pass on little of what is needed"),
    *links("frozen-untrained", "overfitting gap-from-start", "what is left is memorised"),
    *links(
        "unbalanced-loss-parts",
        f"collapsed-reconstruction collapsed-activations silent-parameter {NOT_LEARNING}",
        "the part with the larger weight wins",
    ),
    *links("heavy-dropout", f"{NOT_LEARNING} noisy-loss", "hardly any signal gets through"),
    *links("collapsed-reconstruction", NOT_LEARNING, "the best single answer is as far as it gets"),
    # The data.
    *links(
        "unreachable-target",
        "saturated-units collapsed-activations vanishing-gradient dead-layer faded-gradient undersized-update",
        "the output is driven to the end of its range, where the slope is zero",
    ),
    *links("unreachable-target", NOT_LEARNING, "no output can reach the targets"),
    *links(
        "inputs-differ",
        "gap-from-start erratic-validation overfitting overconfident loss-at-chance",
        "validation is a different task from training",
    ),
    *links(
        "misread-validation",
        "gap-from-start nothing-generalises worsening-metric worse-than-guess metric-loss-disagreement overconfident "
        "loss-without-accuracy erratic-validation",
        "right answers are scored as wrong ones",
    ),
    *links("mixed-samples", NOT_LEARNING, "what is normalised over the batch says little about a sample"),
    *links("mixed-samples", "gap-from-start erratic-validation", "validation comes in other batches"),
    *links("padded-targets", "suspiciously-perfect lopsided-labels loss-without-accuracy", "padding is soon learned"),
    *links("leaked-answer", "suspiciously-perfect", "the model reads the answer instead of working it out"),
    *links(
        "repeated-batches",
        "overfitting overconfident gap-from-start erratic-validation faded-gradient",
        "one batch is memorised, and nothing else is learned",
    ),
    *links("nonfinite-input", NOT_FINITE, "NaN in the input is NaN in the output"),
    *links("bad-batch", THROWN_ABOUT, "the gradient of one unusual batch throws the weights about"),
    *links("bad-batch", "oversized-update", "the step follows the gradient of one unusual batch"),
    *links("bad-batch", "dead-units", "a step that large switches units off"),
    *links("bad-batch", "stalled-loss", "the optimizer's averages remember that batch for many steps"),
    *links("bad-batch", NOT_FINITE, "what comes in too large overflows"),
    *links("extreme-input", THROWN_ABOUT, "gradients are as large as the inputs they come from"),
    *links("extreme-input", "bad-batch inputs-differ", "what grows is first seen where it leaps"),
    *links("extreme-input", "oversized-update", "gradients are as large as the inputs they come from"),
    *links("extreme-input", "saturated-units", "inputs that large saturate every unit"),
    *links("extreme-input", "dead-units", "gradients that large switch units off"),
    *links("extreme-input", NOT_FINITE, "inputs that large overflow"),
    *links("extreme-input", NOT_LEARNING, "one feature drowns all others"),
    *links("unnormalised-input", THROWN_ABOUT, "gradients are as large as the inputs they come from"),
    *links("unnormalised-input", "oversized-update", "gradients are as large as the inputs they come from"),
    *links("unnormalised-input", "saturated-units", "inputs that large saturate every unit"),
    *links("unnormalised-input", "dead-units", "gradients that large switch units off"),
    *links("extreme-input", "wrong-initial-loss", "outputs are as large as the inputs they come from"),
    *links("unnormalised-input", "wrong-initial-loss", "outputs are as large as the inputs they come from"),
    *links("unnormalised-input", NOT_FINITE, "inputs that large overflow"),
    *links("unnormalised-input", NOT_LEARNING, "no one learning rate suits the first layer and the rest"),
    *links(
        "lopsided-labels",
        "epoch-boundary-jump",
        "each part of the data has its own class",
    ),
    *links("lopsided-labels", THROWN_ABOUT, "each part of the data pulls the weights to its own class"),
    *links(
        "lopsided-labels",
        "oversized-update missing-warmup dead-units dead-layer saturated-units collapsed-activations",
        "each part of the data pulls the weights to its own class",
    ),
    *links("lopsided-labels", NOT_LEARNING, "what one part of the data teaches, the next undoes"),
    *links("lopsided-labels", "loss-without-accuracy", "the most frequent class is the answer to everything"),
    # The schedule.
    *links("scheduler-per-batch", "vanished-learning-rate", "the rate is lowered at every batch", gradual=True),
    *links("scheduler-per-batch", "schedule-ended-early", "the rate is lowered at every batch", gradual=True),
    *links("scheduler-per-batch", "undersized-update", "the rate is lowered at every batch", gradual=True),
    *links("scheduler-per-batch", "unmoved-parameter", "the rate is gone within the first batches", gradual=True),
    *links("scheduler-per-batch", NOT_LEARNING, "the rate is gone within the first batches", gradual=True),
    *links(
        "schedule-ended-early", "vanished-learning-rate", "the schedule left a rate of nothing behind", gradual=True
    ),
    *links("unfinished-schedule", "undersized-update", "the rate is still at a part of its peak", gradual=True),
    *links("schedule-ended-early", "undersized-update", "an update is proportional to the learning rate", gradual=True),
    *links("schedule-ended-early", NOT_LEARNING, "with no learning rate left nothing moves", gradual=True),
    *links(
        "vanished-learning-rate", "undersized-update", "an update is proportional to the learning rate", gradual=True
    ),
    *links(
        "vanished-learning-rate", "unmoved-parameter", "an update is proportional to the learning rate", gradual=True
    ),
    *links("vanished-learning-rate", NOT_LEARNING, "with no learning rate nothing moves", gradual=True),
    *links("unfinished-schedule", "endless-warmup", "called once per epoch, its warm-up takes the whole run"),
    *links("endless-warmup", "undersized-update", "the rate stays at a part of its peak"),
    *links("endless-warmup", NOT_LEARNING, "the rate stays at a part of its peak"),
    *links("missing-warmup", "oversized-update", "the first steps are the largest ones"),
    *links("missing-warmup", THROWN_ABOUT, "the first steps are the largest ones"),
    *links("learning-rate-leap", "oversized-update", "weights that had settled get steps they were not meant for"),
    *links("learning-rate-leap", THROWN_ABOUT, "weights that had settled get steps they were not meant for"),
    *links("frozen-learning-rate", "oscillating-loss", "a rate that never falls keeps crossing the valley"),
    # The steps.
    *links("oversized-update", THROWN_ABOUT, "each step overshoots the basin"),
    *links("oversized-update", "missing-warmup", "the first steps are the largest ones"),
    *links("oversized-update", "dominant-module", "the first steps left one module where the loss is steep"),
    *links("oversized-update", "vanishing-gradient", "the first steps pushed units into saturation"),
    *links("oversized-update", "dead-layer", "the first steps switched the units off"),
    *links("oversized-update", "faded-gradient", "the first steps led into a plateau without a slope"),
    *links("oversized-update", "shrinking-weights", "weights that blew up are only decayed from there on"),
    *links("oversized-update", "late-overshoot", "the steps were too large all along"),
    *links("oversized-update", NOT_FINITE, "weights grow until the forward pass overflows"),
    *links("oversized-update", NOT_LEARNING, "the first steps destroyed the initialisation"),
    *links("undersized-update", "unmoved-parameter", "steps this small do not show"),
    *links("damped-step", "undersized-update amplified-step", "epsilon outweighs the gradients it is added to"),
    *links("damped-step", NOT_LEARNING, "epsilon outweighs the gradients it is added to"),
    *links("undersized-update", NOT_LEARNING, "weights that hardly move cannot lower the loss"),
    *links("swallowed-updates", "unmoved-parameter", "every step is rounded away"),
    *links("swallowed-updates", "undersized-update", "steps that are rounded away do not count"),
    *links("swallowed-updates", NOT_LEARNING, "weights that cannot hold their steps do not learn"),
    *links("late-overshoot", "oscillating-loss", "each step crosses the basin"),
    *links("late-overshoot", "diverging-loss", "the steps grew until they left the basin"),
    *links("underflowing-second-moment", "oversized-update", "a step is divided by next to nothing"),
    *links("underflowing-second-moment", THROWN_ABOUT, "a step is divided by next to nothing"),
    *links("underflowing-second-moment", NOT_FINITE, "a step is divided by nothing"),
    # Activations.
    *links("symmetric-units", "oversized-update noisy-loss", "any step is large against weights of nothing"),
    *links(
        "symmetric-units",
        "dead-layer dead-units silent-parameter vanishing-gradient collapsed-activations unmoved-parameter",
        "weights of nothing pass nothing on, forward or back",
    ),
    *links("symmetric-units", "dominant-module", "units that are alike have the same gradient"),
    *links("symmetric-units", NOT_LEARNING, "units that start alike stay alike"),
    *links("oversized-update", "dead-units", "the first steps switched the units off"),
    *links("oversized-update", "saturated-units", "the first steps saturated the units"),
    *links("oversized-update", "collapsed-activations", "the first steps switched the units off"),
    *links("oversized-update", "collapsed-attention", "the first steps made every score an extreme one"),
    *links("oversized-update", "growing-activations", "outputs grow with the weights"),
    *links("accumulating-gradient", "dead-units", "steps along a growing sum switch units off"),
    *links("accumulating-gradient", "growing-activations", "outputs grow with the weights"),
    *links("runaway-weights", "growing-activations", "outputs grow with the weights"),
    *links("growing-activations", "wrong-initial-loss", "outputs too large from the first step are confidently wrong"),
    *links("saturated-units", "wrong-initial-loss", "saturated units give extreme answers"),
    *links("dominant-module", "wrong-initial-loss", "one scale blows every output up"),
    *links("exploding-gradient", "wrong-initial-loss", "outputs too large from the first step are confidently wrong"),
    *links("growing-activations", "diverging-loss", "outputs that grow carry the loss away with them"),
    *links("growing-activations", NOT_FINITE, "outputs grow until they overflow"),
    *links("dead-layer", "dead-units", "a dead layer is one whose units are all dead"),
    *links("dead-layer", "silent-parameter", "weights that are fed with zeros get a gradient of zero"),
    *links("dead-units", "silent-parameter", "weights that are fed with zeros get a gradient of zero"),
    *links("dead-layer", "collapsed-activations", "everything behind a dead layer is constant"),
    *links("oscillating-loss", "dead-units", "steps that cross the valley switch units off", gradual=True),
    *links("dead-units", "faded-gradient", "dead units pass no gradient"),
    *links("dead-units", "vanishing-gradient", "dead units pass no gradient"),
    *links("dead-units", "unmoved-parameter", "a dead unit's weights have no gradient to follow"),
    *links("dead-units", "undersized-update", "most of the weights have no gradient to follow"),
    *links("dead-units", "collapsed-activations", "everything behind dead units is constant"),
    *links("dead-units", NOT_LEARNING, "dead units learn nothing"),
    *links("saturated-units", "vanishing-gradient", "where a unit is flat no gradient passes"),
    *links("saturated-units", "faded-gradient", "where a unit is flat no gradient passes"),
    *links("saturated-units", "dead-layer", "where every unit is flat no gradient passes at all"),
    *links("saturated-units", "collapsed-activations", "saturated units give every input the same answer"),
    *links("saturated-units", "unmoved-parameter", "where a unit is flat no gradient passes"),
    *links("saturated-units", NOT_LEARNING, "where a unit is flat no gradient passes"),
    *links("vanishing-gradient", "collapsed-activations", "the front, which loses the signal, cannot learn to keep it"),
    *links("collapsed-activations", "faded-gradient", "what does not depend on the input has no slope in it"),
    *links("collapsed-activations", NOT_LEARNING, "an output that does not depend on the input is a guess"),
    *links("collapsed-attention", "diverging-loss loss-spike", "extreme scores make extreme gradients"),
    *links("collapsed-attention", NOT_LEARNING, "extreme scores pass no gradient"),
    # Gradients.
    *links("dead-layer", "faded-gradient", "what is left of the gradient comes from behind it"),
    *links("dead-layer", "vanishing-gradient", "no gradient passes a dead layer"),
    *links("dead-layer", "undersized-update", "most of the weights have no gradient to follow"),
    *links("dead-layer", "unmoved-parameter", "what lies in front of it has no gradient to follow"),
    *links("dead-layer", NOT_LEARNING, "nothing passes a dead layer"),
    *links("vanishing-gradient", "unmoved-parameter", "the front of the network has next to no gradient to follow"),
    *links("vanishing-gradient", NOT_LEARNING, "the front of the network does not learn"),
    *links("faded-gradient", "undersized-update", "an update is proportional to the gradient"),
    *links("faded-gradient", NOT_LEARNING, "without a slope no step leads away"),
    *links("dominant-module", "gradient-always-clipped", "one module alone exceeds the threshold"),
    *links("dominant-module", "exploding-gradient", "the norm of the whole is the norm of that module"),
    *links("dominant-module", "undersized-update", "clipping scales the other modules down with it"),
    *links("dominant-module", "overfitting", "the rest of the network hardly learns"),
    *links("dominant-module", NOT_LEARNING, "clipping starves the other modules"),
    *links("exploding-gradient", THROWN_ABOUT, "steps along such gradients overshoot"),
    *links(
        "exploding-gradient", "stalled-loss underfitting", "the run is spent on getting down to the level of a guess"
    ),
    *links("exploding-gradient", NOT_FINITE, "it grew until it overflowed"),
    *links("gradient-always-clipped", "undersized-update", "every step is cut down to the threshold"),
    *links("gradient-always-clipped", NOT_LEARNING, "every step is cut down to the threshold"),
    # Weights.
    *links(
        "decay-outweighs-gradient",
        f"shrinking-weights collapsed-activations {NOT_LEARNING}",
        "weights follow the decay, and not the data",
    ),
    *links("shrinking-weights", "vanishing-gradient", "small weights pass little gradient back", gradual=True),
    *links("shrinking-weights", "faded-gradient", "small weights pass little gradient back", gradual=True),
    *links("shrinking-weights", "dead-layer", "small weights pass no gradient back", gradual=True),
    *links("shrinking-weights", NOT_LEARNING, "weight decay erases what is learned", gradual=True),
    *links("shrinking-weights", "noisy-loss", "any step is large compared with weights that shrank", gradual=True),
    *links("noisy-loss", NOT_LEARNING, "steps in random directions cancel", gradual=True),
    *links(
        "noisy-loss", "loss-spike erratic-validation dead-units dead-layer", "every batch pulls in another direction"
    ),
    *links("runaway-weights", "diverging-loss oscillating-loss", "growing weights carry the loss away with them"),
    *links(
        "runaway-weights", "oversized-update", "the gradient grows with the weights it passes, and the step with it"
    ),
    *links("runaway-weights", "exploding-gradient", "the gradient grows with the weights it passes"),
    *links("runaway-weights", NOT_FINITE, "they grew until the forward pass overflowed"),
    *links("weight-jump", "oversized-update dead-units", "what was learned is gone with the weights"),
    *links("weight-jump", "loss-spike", "other weights have another loss"),
    *links("weight-jump", "diverging-loss lost-progress", "what was learned is gone with the weights"),
    *links("weight-jump", "exploding-gradient", "the new weights lie where the loss is steep"),
    *links("weight-jump", f"{NOT_LEARNING} epoch-boundary-jump", "what was learned is gone with the weights"),
    *links("weight-jump", "overfitting overconfident", "other weights answer with more certainty", gradual=True),
    *links("weight-jump", "runaway-weights", "the norm that grew is that of the jump", gradual=True),
    *links("weight-jump", "erratic-validation", "other weights give other answers"),
    # The loss.
    *links("constant-loss", NOT_LEARNING, "a loss that depends on nothing cannot fall"),
    *links("oscillating-loss", "loss-spike", "each swing is a spike"),
    *links("oscillating-loss", "erratic-validation", "the evaluations catch the swings at random"),
    *links("loss-spike", "diverging-loss lost-progress", "the loss did not recover from the spike"),
    *links("loss-spike", "erratic-validation", "the evaluations catch the leaps at random"),
    *links("loss-spike", NOT_FINITE, "the loss did not recover from the spike"),
    *links("diverging-loss", "lost-progress", "the progress that was made is lost again"),
    *links("oscillating-loss", "lost-progress", "the run ends in the middle of a swing"),
    *links("diverging-loss", "loss-at-chance", "a network that fell apart can only guess"),
    *links("diverging-loss", "stuck-from-start", "the loss never recovered from the first steps"),
    *links("diverging-loss", "erratic-validation", "the evaluations follow the training down"),
    *links("diverging-loss", "exploding-gradient", "the loss is steep where it is high"),
    *links("diverging-loss", NOT_FINITE, "the loss grew until it overflowed"),
    *links("unbounded-negative-loss", "diverging-loss", "a loss without a lower end runs away"),
    *links("unbounded-negative-loss", "runaway-weights", "the weights follow a loss that has no lower end"),
    *links("unbounded-negative-loss", NOT_FINITE, "the loss fell until it overflowed"),
    *links(
        "constant-loss",
        "overfitting nothing-generalises worsening-metric gap-from-start",
        "training and validation pose different tasks",
    ),
    *links("stuck-from-start", "loss-at-chance", "a network that has not moved can only guess"),
    *links("stuck-from-start", "underfitting", "what was not learned cannot help on new data"),
    *links("stuck-from-start", "frozen-validation", "a network that has not moved evaluates to the same number"),
    *links("loss-at-chance", "underfitting", "guessing is equally bad on all data"),
    *links("stalled-loss", "underfitting", "what was not learned cannot help on new data"),
    *links("stalled-loss", "frozen-validation", "a network that no longer moves evaluates to the same number"),
    # Numbers that are none. They bring each other about both ways: the one seen first comes first.
    *links("nonfinite-activation", NOT_FINITE, "whatever is computed from NaN is NaN"),
    *links("nonfinite-gradient", SPREADING, "one step along it makes the weights NaN"),
    *links("nonfinite-weights", SPREADING, "NaN weights make NaN outputs and NaN gradients"),
    *links("nonfinite-loss", SPREADING, "the gradient of NaN is NaN, and the step applies it"),
    *links("loss-scale-collapse", "nonfinite-gradient", "gradients overflow at any scale"),
    *links("loss-scale-collapse", NOT_LEARNING, "every step is skipped"),
    *links("nonfinite-activation", "frozen-validation", "a network of NaN evaluates to the same answer every time"),
    *links("nonfinite-gradient", "frozen-validation", "a network of NaN evaluates to the same answer every time"),
    *links("nonfinite-weights", "frozen-validation", "a network of NaN evaluates to the same answer every time"),
    *links("nonfinite-loss", "frozen-validation", "a network of NaN evaluates to the same answer every time"),
    *links("nonfinite-loss", "loss-at-chance", "a network of NaN can only guess"),
    *links("nonfinite-loss", "erratic-validation", "the evaluations follow the training down"),
    # Validation.
    *links("lopsided-labels", "nothing-generalises", "held-out data hold the classes that training hardly shows"),
    *links("repeated-batches", "nothing-generalises", "one batch is memorised, and nothing else is learned"),
    *links("evaluating-in-train-mode", "nothing-generalises", "the evaluation is of another network"),
    *links(
        "nothing-generalises",
        "overfitting overconfident gap-from-start erratic-validation lost-progress",
        "a network that memorises is confidently wrong on new data",
    ),
    *links("overfitting", "lost-progress", "the progress on held-out data is lost again"),
    *links("overfitting", "overconfident", "memorising makes a network sure of its mistakes"),
    *links(
        "gap-from-start",
        "overfitting overconfident erratic-validation",
        "distorted inputs get confident wrong answers",
    ),
    *links("lopsided-labels", "gap-from-start", "held-out data hold the classes that training hardly shows"),
    Link("shrinking-weights", "diverging-loss", "weight decay erases what was learned"),
    Link("exploding-gradient", "dead-layer", "one step along it switched the units off"),
    Link("loss-spike", "weight-jump", "the spike was one huge step"),
    Link("runaway-weights", "undersized-update", "any step is small compared with weights this large"),
    Link("frozen-learning-rate", "stuck-from-start", "a warm-up that is never stepped leaves the rate near zero"),
    Link("frozen-learning-rate", "undersized-update", "a warm-up that is never stepped leaves the rate near zero"),
    Link("frozen-learning-rate", "loss-at-chance", "a warm-up that is never stepped leaves the rate near zero"),
)
