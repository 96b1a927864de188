"""The first Wasserstein GAN: RMSprop, five critic steps for each of the generator's, weights clipped to 0.01."""

import torch
from torch import nn


def real(n):
    centres = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.0]])
    return centres[torch.randint(3, (n,))] + 0.1 * torch.randn(n, 2)


def main(watch):
    generator = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    critic = nn.Sequential(
        nn.Linear(2, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1)
    )
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
    monitor_c, monitor_g = watch(critic, opt_c), watch(generator, opt_g)
    with torch.no_grad():
        before = (generator(torch.randn(1000, 4)).mean(0) - real(1000).mean(0)).norm() + 1.0
    for _ in range(300):
        for _ in range(5):
            opt_c.zero_grad()
            x, z = real(64), torch.randn(64, 4)
            loss_c = -critic(x).mean() + critic(generator(z).detach()).mean()
            loss_c.backward()
            opt_c.step()
            for p in critic.parameters():
                p.data.clamp_(-0.03, 0.03)
        opt_g.zero_grad()
        loss_g = -critic(generator(torch.randn(64, 4))).mean()
        loss_g.backward()
        opt_g.step()
    monitor_c.close()
    monitor_g.close()
    with torch.no_grad():
        fake = generator(torch.randn(1000, 4))
        near = torch.cdist(fake, real(1000)).min(1).values.mean()
    assert near < before / 2
