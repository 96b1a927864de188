"""A balanced GAN: two losses that never fall, and pictures that get better.

## Story
Generator and critic get better together, so that neither loss goes anywhere: the critic's stays near 2 ln 2 or below
it, the generator's swings. The distance between real and made pictures shrinks all the same.

## What to see
Losses without a trend; a falling distance of the pixel means.

## Source
Goodfellow et al. (2014), Generative adversarial nets.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from bedside.zoo import data, models
from bedside.zoo.specimen import Case, lookalike


@lookalike(kind="GAN")
def balanced_gan(case: Case) -> None:
    task = data.digits(case.seed)
    model = models.GAN()
    makes = torch.optim.Adam(model.generator.parameters(), lr=2e-3, betas=(0.5, 0.99))
    judges = torch.optim.Adam(model.critic.parameters(), lr=5e-4, betas=(0.5, 0.99))
    with case.watch(model, [judges, makes]) as monitor:
        for step, (real, _) in enumerate(task.batches(400, 64)):
            judges.zero_grad()
            judged = F.softplus(-model.critic(real)) + F.softplus(model.critic(model.fakes(64).detach()))
            judged.mean().backward()
            judges.step()
            makes.zero_grad()
            F.softplus(-model.critic(model.fakes(64))).mean().backward()
            makes.step()
            if step % 20 == 19:
                with monitor.validation(), torch.no_grad():
                    monitor.log(pixel_distance=(model.fakes(256).mean(0) - task.x_val.mean(0)).norm())
            case.look(monitor)
