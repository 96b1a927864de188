"""The policy gradient has the wrong sign: what is rewarded is done less often.

## Story
The surrogate is to be maximised, and its minus was lost when the loss was put together. The agent learns to lose with
great certainty.

## What to see
A reward that falls from chance to nothing and stays there; a loss that says nothing.

## Source
Williams (1992), Simple statistical gradient-following algorithms for connectionist reinforcement learning.
"""

from __future__ import annotations

import numpy as np
import torch

from bedside.record.run import Run
from bedside.zoo import data, models
from bedside.zoo.specimen import Case, specimen


def never_rewarded(sick: Run, twin: Run) -> bool:
    """The sick agent ends with less than chance, the twin with several times that."""
    ends = [float(np.median(run.series("train/reward").values[-20:])) for run in (sick, twin)]
    return ends[0] < 0.1 and ends[1] > 0.3


@specimen(
    kind="policy",
    expects=[["worsening-metric", "stuck-reward", "worse-than-guess", "lost-progress"]],
    fault_check=never_rewarded,
)
def reward_turned_round(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    sign = 1.0 if case.sick else -1.0
    with case.watch(model, optimizer) as monitor:
        for x, y in task.batches(300, 128):
            answers = torch.distributions.Categorical(logits=model(x))
            action = answers.sample()
            reward = (action == y).float()
            optimizer.zero_grad()
            (sign * ((reward - reward.mean()) * answers.log_prob(action)).mean()).backward()
            optimizer.step()
            monitor.log(reward=reward.mean())
            case.look(monitor)
