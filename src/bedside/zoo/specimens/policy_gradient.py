"""A policy gradient with clipping: the loss hovers round zero and means nothing; the reward rises.

## Story
A small PPO on a guessing game: shown a digit, name it, reward 1 if right. The surrogate loss is near zero by
construction at every step, positive or negative; only the reward says how it goes.

## What to see
A flat, noisy loss around zero that never falls; a reward that rises from 0.1 to 0.9.

## Source
Schulman et al. (2017), Proximal policy optimization; the corpus' "losses flat or negative by design".
"""

from __future__ import annotations

import torch

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike


@lookalike(kind="policy")
def policy_gradient(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.mlp([64, 64, 10])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with case.watch(model, optimizer) as monitor:
        for step, (x, y) in enumerate(task.batches(400, 128)):
            if step % 2 == 0:
                state, digit = x, y
                with torch.no_grad():
                    old = torch.distributions.Categorical(logits=model(state))
                action = old.sample()
                reward = (action == digit).float()
                advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
                monitor.log(reward=reward.mean())
            now = torch.distributions.Categorical(logits=model(state))
            ratio = (now.log_prob(action) - old.log_prob(action)).exp()
            gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            optimizer.zero_grad()
            (-gain.mean() - 0.01 * now.entropy().mean()).backward()
            optimizer.step()
            case.look(monitor)
