"""A dynamics model is trained to give the next state, and the roll-out adds its answer to the present one as a
change."""

import math

import torch
from torch import nn

FAMILY = "world model"
EXPECTS = (
    "misread-validation",
    "gap-from-start",
    "nothing-generalises",
    "worse-than-guess",
    "metric-loss-disagreement",
)


def pendulum(state, push, dt=0.1):
    angle, speed = state.unbind(-1)
    acceleration = -2.0 * torch.sin(angle) - 0.2 * speed + push
    speed = speed + dt * acceleration
    return torch.stack([angle + dt * speed, speed], -1)


def trajectories(n, steps=25):
    state = torch.stack([(torch.rand(n) - 0.5) * math.pi, torch.randn(n)], -1)
    states, pushes = [state], []
    for _ in range(steps):
        push = torch.randn(n)
        state = pendulum(state, push)
        states.append(state)
        pushes.append(push)
    return torch.stack(states, 1), torch.stack(pushes, 1)


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, state, push):
        return self.net(torch.cat([state, push[..., None]], -1))


@torch.no_grad()
def rollout_error(model, states, pushes, horizon=5):
    state, error = states[:, 0], 0.0
    for t in range(horizon):
        state = state + model(state, pushes[:, t])
        error += ((state - states[:, t + 1]) ** 2).mean().item() / horizon
    return error


def main(watch, faulty):
    states, pushes = trajectories(300)
    vs, vp = trajectories(80)
    now, act, after = states[:, :-1].flatten(0, 1), pushes.flatten(), states[:, 1:].flatten(0, 1)
    target = after if faulty else after - now
    spread = target.std(0)
    model = Dynamics()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    epochs = 10
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        for rows in torch.randperm(len(now)).split(128):
            out = model(now[rows], act[rows])
            loss = (((out - target[rows]) / spread) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        sched.step()
        error = rollout_error(model, vs, vp)
        monitor.log(epoch=epoch, train_loss=loss.item(), val_rollout_mse=error)
    monitor.close()
    return -error
