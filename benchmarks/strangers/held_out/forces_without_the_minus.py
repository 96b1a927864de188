"""A force field is fitted to energies and forces, but the force is taken as plus the gradient of the energy."""

import torch
from torch import nn

FAMILY = "molecular force field"
EXPECTS = ("underfitting", "stalled-loss", "loss-at-chance", "unbalanced-loss-parts", "stuck-from-start")

ATOMS = 4


def energy_of(pos):
    d = torch.cdist(pos, pos) + torch.eye(ATOMS) * 10
    pair = torch.triu(torch.ones(ATOMS, ATOMS), 1)
    return (((1 - torch.exp(-1.2 * (d - 1.3))) ** 2 - 1) * pair).sum((-1, -2))


def conformations(n):
    ring = torch.tensor([[0.0, 0, 0], [1.3, 0, 0], [0, 1.3, 0], [0, 0, 1.3]])
    pos = (ring + 0.2 * torch.randn(n, ATOMS, 3)).requires_grad_()
    energy = energy_of(pos)
    force = -torch.autograd.grad(energy.sum(), pos)[0]
    return pos.detach(), energy.detach(), force.detach()


class Potential(nn.Module):
    def __init__(self, shift, scale, width=128):
        super().__init__()
        pairs = ATOMS * (ATOMS - 1) // 2
        self.register_buffer("i", torch.triu_indices(ATOMS, ATOMS, 1))
        self.mlp = nn.Sequential(
            nn.Linear(pairs, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1)
        )
        self.shift, self.scale = shift, scale

    def forward(self, pos):
        dist = (pos[:, self.i[0]] - pos[:, self.i[1]]).norm(dim=-1)
        return self.shift + self.scale * self.mlp(dist - 1.5).squeeze(-1)


def predict(model, pos, faulty, create_graph):
    pos = pos.clone().requires_grad_()
    energy = model(pos)
    (grad,) = torch.autograd.grad(energy.sum(), pos, create_graph=create_graph)
    return energy, (grad if faulty else -grad)


def main(watch, faulty):
    pos, e, f = conformations(1200)
    vpos, ve, vf = conformations(300)
    model = Potential(e.mean(), e.std())
    f_scale = f.std()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    steps = 1000
    lr = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    monitor = watch(model, optimizer)
    for step in range(steps):
        b = torch.randint(0, len(pos), (32,))
        ep, fp = predict(model, pos[b], faulty, True)
        loss_e = ((ep - e[b]) / e.std()).pow(2).mean()
        loss_f = ((fp - f[b]) / f_scale).pow(2).mean()
        loss = loss_e + loss_f
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lr.step()
        if (step + 1) % 60 == 0:
            ep, fp = predict(model, vpos, faulty, False)
            val_e = ((ep - ve) / e.std()).pow(2).mean().item()
            val_f = ((fp - vf) / f_scale).pow(2).mean().item()
            monitor.log(val_loss=val_e + val_f, val_energy_mse=val_e, val_force_mse=val_f)
    monitor.close()
    return 1 - (val_e + val_f) / 2
