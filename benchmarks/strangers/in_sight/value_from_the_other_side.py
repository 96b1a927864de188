"""Self-play of Nim: the value of the next position is taken over without changing its sign, as if the opponent wished
us well."""

import random

import torch
from torch import nn

FAMILY = "self-play"
EXPECTS = ("stuck-reward", "collapsed-activations", "loss-without-accuracy", "suspiciously-perfect", "worse-than-guess")

PILES, MOST = 3, 5


def encode(positions):
    return nn.functional.one_hot(torch.tensor(positions), MOST + 1).flatten(1).float()


def moves(position):
    out = []
    for i, height in enumerate(position):
        out.extend((*position[:i], left, *position[i + 1 :]) for left in range(height))
    return out


class Player:
    def __init__(self, model, flip):
        self.model, self.flip = model, flip

    @torch.no_grad()
    def worth(self, positions):
        """Value of each position for whoever is to move; with nothing left he has lost."""
        v = self.model(encode(positions)).squeeze(1)
        over = torch.tensor([sum(p) == 0 for p in positions])
        return torch.where(over, torch.tensor(-1.0), v)

    def choose(self, position, epsilon=0.0):
        options = moves(position)
        if random.random() < epsilon:
            return random.choice(options)
        value = self.worth(options)
        return options[int((-value if self.flip else value).argmax())]


def win_rate(player, games=60):
    won = 0
    for _g in range(games):
        position, mine = tuple(random.randint(1, MOST) for _ in range(PILES)), True
        while sum(position):
            position = player.choose(position) if mine else random.choice(moves(position))
            mine = not mine
        won += not mine
    return won / games


def main(watch, faulty):
    model = nn.Sequential(
        nn.Linear(PILES * (MOST + 1), 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1), nn.Tanh()
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    player = Player(model, flip=not faulty)
    memory, position, steps = [], (MOST,) * PILES, 700
    monitor = watch(model, optimizer)
    for step in range(steps):
        for _ in range(4):
            memory.append(position)
            position = player.choose(position, epsilon=0.4)
            if sum(position) == 0:
                position = tuple(random.randint(1, MOST) for _ in range(PILES))
        memory = memory[-1500:]
        batch = random.choices(memory, k=24)
        options = [moves(p) for p in batch]
        flat = player.worth([q for o in options for q in o])
        target = [value.max() if faulty else (-value).max() for value in flat.split([len(o) for o in options])]
        loss = nn.functional.mse_loss(model(encode(batch)).squeeze(1), torch.stack(target))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 2e-3 * (1 - 0.9 * step / steps)
        if step % 70 == 69:
            monitor.log(step=step, td_loss=loss.item(), win_rate=win_rate(player))
    monitor.close()
    return win_rate(player, 300)
