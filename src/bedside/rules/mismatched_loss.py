"""The loss function was given the wrong kind of input: probabilities for scores, scores for logarithms.

## What it sees
The operation that made the prediction, in front of a loss function that does not want it: a softmax or sigmoid before
`cross_entropy`, `log_softmax` or `binary_cross_entropy_with_logits`, a ReLU before any of them, a softmax or nothing at
all before `nll_loss` and `ctc_loss`, a softmax before `kl_div`, and an exponential before a loss that takes the
exponential itself, as `poisson_nll_loss` does unless `log_input=False`. A loss that divides by a sum of bare scores, as
a Dice loss does where the sigmoid was forgotten. Logarithms that were taken over another dimension than that of the
classes. A `cross_entropy` whose targets are several classes at once. A CTC loss among whose targets is its own blank. A
policy gradient whose advantage still hangs on the network that estimates values, whose entropy has the wrong sign, or
that scores an action which was drawn anew instead of the one that was taken. A code that is drawn with `sample()` where
only `rsample()` lets a gradient through. A hinge, a soft margin, a ranking or a cosine embedding whose labels are 0
and 1.

## Why it matters
No error is raised. `cross_entropy` takes a softmax itself; given numbers between 0 and 1 it can never be sure, so the
loss flattens far above zero (1.46 for ten classes) and gradients are small throughout. `nll_loss` of bare scores has no
lower end: they grow for ever. Behind a ReLU a class whose score is not positive gets no gradient, and stays as it is.
A sum of bare scores passes through zero, where a quotient leaps from one end to the other. An advantage with a gradient
teaches the critic to be wrong, to where it makes the actor's part of the loss small. An entropy that is added to the
loss, and not taken off it, makes the policy certain of anything. Losses of margins multiply the score by a sign: times
zero it counts nothing, and half of the examples teach nothing. The network learns in spite of it, slowly, and the curve
looks like a hard problem.

## How it decides
It reads the graph of the first predictions; operations that only change the shape are looked through.

## When it is wrong
Never seen. Scores that are kept between 0 and 1 on purpose would look the same.

## What to try
1. Drop the softmax or sigmoid from the model, and apply it only where probabilities are needed.
2. `log_softmax` before `nll_loss`, `kl_div` and `ctc_loss`.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = [Event(0, "coverage"), Event(0, "loss_input", {"function": "cross_entropy", "made_by": "softmax"})]
>>> print(*mismatched_loss.check(a_run(loss=[2.2, 1.9, 1.6], config={"classes": 10}, events=seen)))
LOP111 mismatched-loss: cross_entropy takes scores and is given the output of a softmax: the loss cannot fall below \
1.461.

## References
- PyTorch documentation, CrossEntropyLoss: the input is expected to contain the unnormalised logits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.chance_levels import known_chance
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS
from bedside.rules.base import rule
from bedside.wording import number

# What each takes, what it means for the loss, and what to do.
TAKES = {
    "cross_entropy": "scores",
    "binary_cross_entropy_with_logits": "scores",
    "log_softmax": "scores",
    "nll_loss": "logarithms of probabilities",
    "kl_div": "logarithms of probabilities",
    "ctc_loss": "logarithms of probabilities",
    "exp": "logarithms",
    "division": "a sum of what is never negative",
    "probabilities": "probabilities that add up to one over the classes of each sample",
    "ctc_targets": "targets without the blank",
    "class_targets": "one class for each sample, or shares that add up to one",
    "policy_gradient": "an advantage without a gradient",
    "margins": "labels of -1 and +1",
    "entropy": "the entropy with a minus sign",
    "log_prob": "the action that was taken",
    "decoder": "a sample that a gradient flows through",
}
# What the function is called in a sentence, where it has no name of its own.
CALLED = {
    "exp": "The exponential in the loss",
    "division": "The division in the loss",
    "probabilities": "The likelihood in the loss",
    "ctc_targets": "ctc_loss",
    "class_targets": "cross_entropy",
    "policy_gradient": "The policy gradient",
    "margins": "The margin in the loss",
    "entropy": "The policy's loss",
    "log_prob": "The log-probability in the loss",
    "decoder": "What follows a random code",
}


@dataclass(frozen=True)
class Limits:
    """One operation follows another or it does not: nothing to set."""


@rule("LOP111", severity=Severity.ERROR, needs=[], limits=Limits())
def mismatched_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the graph of the loss (a watched run)")
    for event in run.events_of("loss_input")[:1]:
        function, made_by = str(event.data["function"]), str(event.data["made_by"])
        yield mismatched_loss.finding(
            f"{CALLED.get(function, function)} takes {TAKES[function]} and is given "
            f"{_given(function, made_by)}: {_meaning(run, function, made_by)}.",
            severity=Severity.WARNING if function == "class_targets" else None,  # the order of the answers may be right
            first_step=event.step,
            last_step=max(event.step, run.steps - 1),
            confidence=0.95,
            evidence=dict(event.data),
            series=[LOSS.name],
            could_also_be=("Scores that are kept in this range on purpose: then say so with `ignore`.",),
            try_=(_remedy(function, made_by),),
        )


def _given(function: str, made_by: str) -> str:
    if function == "ctc_targets":
        return f"the {made_by} among them"
    if function == "class_targets":
        return f"{made_by} at once, each as a one"
    if function == "margins":
        return made_by
    if function == "policy_gradient":
        return f"one that still hangs on the {made_by}"
    if function == "entropy":
        return f"it with a {made_by}"
    if function == "log_prob":
        return "another one, which was drawn anew from the same distribution and never taken"
    if function == "decoder":
        return f"one of .{made_by}(), which cuts it off"
    return f"the output of {'another' if function == 'exp' else 'a'} {made_by}"


def _meaning(run: Run, function: str, made_by: str) -> str:
    chance = known_chance(run.config)
    if made_by == "ReLU":
        return "a score below zero counts as zero and gets no gradient, so an answer that is never positive stays so"
    if function in ("cross_entropy", "log_softmax"):
        classes = chance.classes if chance else 0
        floor = f" below {number(math.log(math.e + classes - 1) - 1, 4)}" if classes >= 2 else " far"
        return f"the loss cannot fall{floor}"
    if function == "binary_cross_entropy_with_logits":
        return "the loss cannot fall below 0.313 for ones and 0.693 for zeros"
    if function == "probabilities":
        return "a sample's answer depends on the others of its batch, and alone it is always certain"
    if function == "division":
        return "scores of either sign add up to anything, zero too, and the loss has no lower end"
    if function == "class_targets":
        return "they have one whole to divide among them, and no two can be certain"
    if function == "ctc_targets":
        return "a symbol that is also the silence can be neither learned nor read, and the loss may fall below zero"
    if function == "policy_gradient":
        return "values are then learned so that actions look good, and not so that they are right"
    if function == "margins":
        return "an example whose label is 0 has the same loss whatever its score, and teaches nothing"
    if function == "entropy":
        return "the agent is paid for being certain, and is so before it has found anything out"
    if function == "log_prob":
        return "rewards are credited to actions that had nothing to do with them"
    if function == "decoder":
        return "what makes the code learns nothing of what it is good for, only its penalty"
    if function == "exp":
        return "what the network says is not the rate that the loss compares"
    return "the loss has no meaning, and may fall below zero"


def _remedy(function: str, made_by: str) -> str:
    if function == "margins":
        return "Give it 2 * labels - 1, or use binary_cross_entropy_with_logits, which takes labels of 0 and 1."
    if function == "policy_gradient":
        return "Detach it: -(log_prob * advantage.detach()).mean() for the actor; the critic has a loss of its own."
    if function == "entropy":
        return "Take the bonus off the loss: loss = policy_loss - 0.01 * entropy.mean()."
    if function == "log_prob":
        return "Draw once and keep it: action = policy.sample(); log_prob = policy.log_prob(action)."
    if function == "decoder":
        return "Draw with rsample(), or code = mean + torch.randn_like(mean) * std."
    if function == "probabilities":
        return (
            "Take the softmax over the classes: torch.log_softmax(scores, dim=1), or F.cross_entropy(scores, labels)."
        )
    if function == "division":
        return "Give the loss torch.sigmoid(scores), or softmax where every place has one class."
    if function == "class_targets":
        return "Use binary_cross_entropy_with_logits, which asks about each class by itself."
    if function == "ctc_targets":
        return "Number the symbols from 1 and give the network one more output, or say blank=… for a number of its own."
    if function == "exp":
        return "Let the network end without the exp, or tell the loss: poisson_nll_loss(..., log_input=False)."
    if function == "ctc_loss":
        return "Give it scores.log_softmax(-1), in the shape (time, batch, classes)."
    if function in ("nll_loss", "kl_div"):
        instead = "cross_entropy" if function == "nll_loss" else "kl_div of log_softmax"
        return f"Give it torch.log_softmax(scores, dim=1), or use F.{instead} on the scores themselves."
    return f"Drop the {made_by} in front of {function}; apply it only where probabilities are needed."
