"""Every row of every table that bedside set out to answer, in our own words, and what answers it: docs/coverage.md.

A row names rules of the catalogue, tests that decide (`src/bedside/deciding.py`), or says in words what else answers
it. What nothing answers yet says so under `later`. A row with none of these is a healthy state: all rules are silent.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One thing that may be seen, and what answers it."""

    seen: str
    rules: str = ""  # names with spaces between them
    tests: str = ""  # names of deciding tests
    also: str = ""  # what else answers it, in words
    later: str = ""  # what is still to come


QUESTION = "the question of 11 PM weighs the five answers (src/bedside/differential/flat_validation.py)"

TABLES: dict[str, tuple[Row, ...]] = {
    "Weights, updates and the effective learning rate": (
        Row("the weights' norm grows, ever more slowly"),
        Row("the weights' norm grows ever faster", "runaway-weights diverging-loss"),
        Row("the weights' norm shrinks", "shrinking-weights"),
        Row("the weights' norm is flat while the loss falls"),
        Row("the weights' norm leaps or drops", "weight-jump dominant-module"),
        Row("a step changes the weights by a thousandth to a ten-thousandth"),
        Row("a step changes the weights by far more than a hundredth", "oversized-update"),
        Row("a step changes the weights by far less than a millionth", "undersized-update unmoved-parameter"),
        Row("the relative update rises late, while the loss is flat", "late-overshoot"),
        Row("the effective rate is about the nominal one"),
        Row("the effective rate is far above the nominal one", "amplified-step"),
        Row("the effective rate is far below the nominal one", "amplified-step"),
    ),
    "What to record, and what it tells": (
        Row("the learning rate is not recorded", "no-learning-rate"),
        Row("there is no validation", "no-validation"),
        Row("one bare parameter, nobody's module, carries the gradient", "dominant-module exploding-gradient"),
        Row("gradients are worst at the front of the network", "exploding-gradient dominant-module"),
        Row("the trouble begins when the warm-up ends", also="every finding says what happened around its onset"),
        Row("clipping hides the explosion and starves the rest", "dominant-module gradient-always-clipped"),
        Row("the loss formula changed, only other metrics compare", "metric-loss-disagreement loss-without-accuracy"),
        Row("one category of samples is far worse than the others", "category-gap"),
        Row("losses by category are not normalised by length", also="an event of the collector says so"),
        Row("a run was resumed", also="one axis of steps; told as what happened around an onset"),
    ),
    "A gallery of loss curves": (
        Row("the textbook curve: falls, little noise, validation just above"),
        Row("it turns upward and keeps rising", "diverging-loss"),
        Row("it does not move", "stuck-from-start loss-at-chance constant-loss", "overfit-one-batch lr-range-test"),
        Row("it falls a little and stays", "stalled-loss underfitting", "overfit-one-batch"),
        Row("it saws up and down", "oscillating-loss"),
        Row("training falls, validation rises", "overfitting overconfident", "evaluate-training-data"),
        Row("training and validation are both high", "underfitting"),
        Row("it wiggles more than the batch size explains", "noisy-loss"),
        Row("it falls while a layer is dead", "dead-layer dead-units"),
        Row("smoothing hides a spike", "loss-spike", also="rules read every reading, never a smoothed curve"),
        Row("it was still falling when the run ended", "still-falling unfinished-schedule"),
    ),
    "Gradients, layer by layer": (
        Row("all layers within a factor of a hundred"),
        Row("the front gets a thousandth of the back, or less", "vanishing-gradient"),
        Row("norms grow without end", "exploding-gradient"),
        Row("exactly zero, or constant and all but zero", "dead-layer silent-parameter"),
        Row("large and small by turns", "oscillating-gradient"),
        Row("stuck at the clipping threshold", "gradient-always-clipped"),
        Row("always far below the threshold", "idle-clipping"),
        Row("far below the threshold, and the loss is stuck", "faded-gradient undersized-update"),
        Row("faded everywhere while the loss is high", "faded-gradient", "fresh-learning-rate"),
    ),
    "Loss against accuracy": (
        Row("the loss falls, accuracy stands still", "loss-without-accuracy"),
        Row("accuracy rises, the loss stands still"),
        Row("validation loss rises under a steady accuracy", "overconfident"),
        Row("the loss leaps and comes back", "loss-spike bad-batch", "replay-batch"),
        Row("a good loss and a bad metric", "metric-loss-disagreement"),
    ),
    "From symptom to cause": (
        Row("NaN at once", "nonfinite-loss nonfinite-activation nonfinite-input", "first-nonfinite"),
        Row("NaN after many steps", "exploding-gradient nonfinite-gradient nonfinite-loss", "tenth-learning-rate"),
        Row("stuck from the first step", "stuck-from-start", "lr-range-test overfit-one-batch"),
        Row(
            "stuck after a first fall",
            "stalled-loss vanished-learning-rate schedule-ended-early",
            "fresh-learning-rate",
        ),
        Row("oscillates throughout", "oscillating-loss oversized-update"),
        Row("training fine, validation runs away", "overfitting"),
        Row("both losses high and equal", "underfitting", "overfit-one-batch"),
        Row("validation loss good, metric bad", "metric-loss-disagreement loss-without-accuracy"),
        Row("the loss is at chance", "loss-at-chance", "overfit-one-batch"),
        Row("the loss is exactly constant", "constant-loss step-without-gradient silent-parameter"),
        Row("validation much higher than training from the start", "gap-from-start evaluating-in-train-mode"),
        Row("the loss leaps at epoch boundaries", "epoch-boundary-jump"),
        Row("one GPU works, several do not", "ranks-see-same-data ranks-disagree straggling-rank"),
        Row("Adam diverges in half precision despite warm-up", "underflowing-second-moment", "full-precision"),
        Row("a lower rate helps at first, then a plateau", "missing-warmup frozen-learning-rate", "lr-range-test"),
    ),
    "The question of 11 PM": (
        Row("normal convergence", also=QUESTION),
        Row("a saddle or a plateau", "faded-gradient stalled-loss", "overfit-one-batch", QUESTION),
        Row("a rate decayed below usefulness", "vanished-learning-rate", "fresh-learning-rate", QUESTION),
        Row("the same number again, or a stale checkpoint", "frozen-validation", "repeat-validation", QUESTION),
        Row("silent overfitting", "overfitting", "evaluate-training-data sharpness", QUESTION),
    ),
    "Where NaN comes from": (
        Row("log of zero", "nonfinite-activation nonfinite-loss", "first-nonfinite"),
        Row("zero over zero", "nonfinite-activation", "first-nonfinite"),
        Row("the slope of a square root at zero", "nonfinite-gradient", "first-nonfinite"),
        Row("exponentials of large logits", "nonfinite-activation growing-activations", "first-nonfinite"),
        Row("beyond the range of float16", "loss-scale-collapse nonfinite-gradient", "full-precision"),
        Row("exploding gradients", "exploding-gradient oversized-update", "tenth-learning-rate"),
        Row("NaN in the data", "nonfinite-input", "replay-batch"),
        Row("an in-place operation on what was saved", "nonfinite-activation", "first-nonfinite"),
    ),
    "Activations and attention": (
        Row("units that are always zero", "dead-units"),
        Row("saturated units", "saturated-units"),
        Row("outputs that no longer vary", "collapsed-activations"),
        Row("outputs that grow from layer to layer or step to step", "growing-activations"),
        Row("attention on a single key", "collapsed-attention"),
        Row("units that are copies of each other", "symmetric-units"),
    ),
    "The schedule": (
        Row("no warm-up where one is needed", "missing-warmup"),
        Row("a warm-up that never ends", "endless-warmup"),
        Row("decayed to nothing before the end", "schedule-ended-early vanished-learning-rate"),
        Row("the run ends before its schedule does", "unfinished-schedule"),
        Row("stepped per batch instead of per epoch", "scheduler-per-batch"),
        Row("never stepped", "frozen-learning-rate"),
        Row("stepped before the optimizer", "scheduler-before-optimizer"),
        Row("too high for the last phase", "oscillating-loss late-overshoot"),
        Row("the scheduler's state is missing from a checkpoint", also="the learning rate's leap is told at a resume"),
    ),
    "How the loop is written": (
        Row("training in evaluation mode", "training-in-eval-mode erratic-validation"),
        Row("evaluating in training mode", "evaluating-in-train-mode"),
        Row("evaluating without no_grad", "evaluating-with-gradients"),
        Row("gradients are never cleared", "accumulating-gradient"),
        Row("the optimizer is never stepped", "never-stepped"),
        Row("parameters in no optimizer", "uncovered-parameter stale-optimizer"),
        Row("parameters without a gradient", "silent-parameter"),
        Row("clipped before unscaling", "clipping-scaled-gradients"),
        Row("accumulated without dividing", "unscaled-accumulation"),
        Row("prediction and target broadcast", "broadcast-loss"),
        Row("a softmax before a loss that takes its own", "mismatched-loss"),
        Row("clipping far too tight", "gradient-always-clipped"),
        Row("the answer is among the inputs, or further on", "leaked-answer"),
    ),
    "Mixed precision": (
        Row("the loss scale collapses", "loss-scale-collapse"),
        Row("updates smaller than the type can hold", "swallowed-updates"),
        Row("second moments that underflow", "underflowing-second-moment"),
    ),
    "Before a long run": (
        Row("outputs of the right shape", "broadcast-loss", later="preflight"),
        Row("the loss falls after one step", later="preflight"),
        Row("one batch can be learned by heart", tests="overfit-one-batch", later="preflight and lab run it"),
        Row("no NaN in the inputs", "nonfinite-input", later="preflight"),
        Row("inputs are normalised", "unnormalised-input extreme-input", later="preflight"),
        Row("training and validation data are disjoint", "suspiciously-perfect", later="preflight"),
        Row("no augmentation on validation data", "validation-below-training", later="preflight"),
        Row("training mode before training", "training-in-eval-mode"),
        Row("the loss begins at ln K", "loss-at-chance", later="preflight"),
        Row("gradients reach every parameter", "silent-parameter uncovered-parameter"),
        Row("a known recipe is matched first", also="bedside compare, and diagnose --baseline"),
        Row("the learning rate is logged", "no-learning-rate"),
    ),
    "Experiments": (
        Row("learning-rate range test", tests="lr-range-test", later="the lab runs it"),
        Row("sharp or flat minimum", tests="sharpness", later="the lab runs it"),
        Row("too small a batch for its noise", "noisy-loss", later="the lab measures the gradient noise scale"),
    ),
}
