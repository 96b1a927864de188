"""Experiments that decide between causes which look alike in a record: what to do, and what each outcome means.

They are named data. A person can do each of them now, with the words given here; a lab that runs them by itself finds
them under the same names.
"""

from __future__ import annotations

from bedside.finding import Experiment, Outcome

EXPERIMENTS: dict[str, Experiment] = {
    test.name: test
    for test in (
        Experiment(
            "overfit-one-batch",
            "two minutes",
            "Take one batch of 32 examples, switch off dropout, augmentation and weight decay, and train on that batch "
            "alone for 500 steps with a fresh Adam at a learning rate of 1e-3.",
            (
                Outcome(
                    "the loss goes to nearly zero",
                    "model, loss and gradient are sound: look at the schedule, the optimizer's settings or the data",
                ),
                Outcome(
                    "it does not", "the model, its initialisation or the loss is broken, and no schedule will help"
                ),
            ),
        ),
        Experiment(
            "fresh-learning-rate",
            "a few hundred steps",
            "Load the last checkpoint, make a new optimizer with a constant learning rate of a tenth of the run's "
            "peak, and train a few hundred steps.",
            (
                Outcome(
                    "training and validation loss fall again", "the schedule had taken the learning rate away too early"
                ),
                Outcome(
                    "nothing moves, or both get worse and come back to the same level",
                    "it was not a lack of learning rate: the network has converged, or sits on a plateau",
                ),
            ),
        ),
        Experiment(
            "lr-range-test",
            "a hundred steps",
            "From the first checkpoint, raise the learning rate from 1e-7 by a constant factor at every step for a "
            "hundred steps, and plot the loss against it.",
            (
                Outcome(
                    "the loss turns up at less than the run's learning rate",
                    "the run's learning rate is too high: take a tenth of the rate at which it turns up",
                ),
                Outcome(
                    "the loss falls fastest at ten times the run's learning rate or more",
                    "the run's learning rate is too low",
                ),
                Outcome(
                    "the loss is flat at every rate",
                    "the learning rate is not the reason: look for units without a gradient, and at the labels",
                ),
            ),
        ),
        Experiment(
            "sharpness",
            "one evaluation, twenty times",
            "Add noise of a twentieth of each weight tensor's norm to the last checkpoint, evaluate, put it back, "
            "twenty times; do the same with the checkpoint of the best evaluation.",
            (
                Outcome(
                    "the loss of the last one rises far more",
                    "training has since moved into a sharp minimum: it is learning by heart",
                ),
                Outcome("both rise alike", "the minimum is as flat as it was: the run has converged"),
            ),
        ),
        Experiment(
            "repeat-validation",
            "two evaluations",
            "Evaluate the network in memory. Add noise of a tenth of its norm to one weight tensor, evaluate again "
            "through the same code, and put the weights back. Print a checksum of that tensor before each evaluation.",
            (
                Outcome(
                    "both evaluations give the same number",
                    "the evaluation does not look at the network that is trained: a stale checkpoint, a copy, a cache",
                ),
                Outcome("they differ", "the evaluation is real, and the flat curve is the network's own"),
            ),
        ),
        Experiment(
            "evaluate-training-data",
            "one evaluation",
            "Run as many training examples as there are validation examples through the validation code, in evaluation "
            "mode, with the last checkpoint.",
            (
                Outcome(
                    "the loss is as low as it is in training",
                    "the evaluation is right, and the network has learned its training data by heart",
                ),
                Outcome(
                    "the loss is as high as on the validation set",
                    "the evaluation differs from training: its mode, its preprocessing or the checkpoint it loads",
                ),
            ),
        ),
        Experiment(
            "replay-batch",
            "a few steps",
            "Load the last checkpoint before the onset. Run the suspected batch through the network and note its "
            "loss, its gradient norm and the extremes of its inputs; do the same with five other batches.",
            (
                Outcome(
                    "only that batch has such a loss or such inputs",
                    "the data is the reason: look at the examples, clean or skip them",
                ),
                Outcome("all batches do", "it is the weights: the steps before it were too large"),
            ),
        ),
        Experiment(
            "full-precision",
            "a few dozen steps",
            "Load the last checkpoint before the onset and go on in float32, without autocast and without a scaler.",
            (
                Outcome(
                    "the run passes the step unharmed",
                    "a number left the range of the shorter type: keep that part in float32, or use bfloat16",
                ),
                Outcome(
                    "it breaks at about the same place",
                    "precision is not the reason: look at the steps' size and at the operation that made the first NaN",
                ),
            ),
        ),
        Experiment(
            "tenth-learning-rate",
            "as many steps as it took to go wrong",
            "Load the last checkpoint before the onset and go on with a tenth of the learning rate, all else the same.",
            (
                Outcome("the run stays stable", "the steps were too large"),
                Outcome("it goes wrong at the same batch", "the data of that batch is the reason"),
                Outcome(
                    "it goes wrong as before, only later",
                    "the network or the loss is unstable by itself: look at the module whose gradient grows first",
                ),
            ),
        ),
        Experiment(
            "first-nonfinite",
            "a few steps, two to three times slower",
            "Load the last checkpoint before the onset and go on under torch.autograd.set_detect_anomaly(True), with a "
            "forward hook on every module that checks its output for NaN.",
            (
                Outcome(
                    "a module or an operation is named whose inputs were finite",
                    "that operation has no finite value there: log of 0, 0/0, the square root's slope at 0, exp of 100",
                ),
                Outcome("the inputs of the first module were not finite", "the NaN comes with the data"),
                Outcome("nothing happens", "it takes the very steps before it: keep the optimizer's state as well"),
            ),
        ),
        Experiment(
            "hold-out-training-data",
            "a training run, or a part of one",
            "Hold back a tenth of the training data, train as before, and evaluate on it beside the validation set.",
            (
                Outcome(
                    "it is as bad as the validation set",
                    "the network learns its training data by heart, all else is well",
                ),
                Outcome("it is as good as the training loss", "the validation set differs from the training data"),
            ),
        ),
    )
}
