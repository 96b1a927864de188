"""A callback reloads the pretrained first layer at step 200, over what has been learned."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "loop"
EXPECTS = ("weight-jump", "loss-spike", "lost-progress")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    initial = {k: v.clone() for k, v in model[0].state_dict().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for step in range(400):
            if faulty and step == 300:
                model[0].load_state_dict({k: torch.randn_like(v) * 0.6 for k, v in initial.items()})
            i = torch.randint(0, len(x), (64,))
            optimizer.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            optimizer.step()
            if step % 25 == 24:
                loss, acc = accuracy(model, xt, yt)
                monitor.log(val_loss=loss, val_acc=acc)
    return acc
