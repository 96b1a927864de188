"""Two tasks on one body; the line that adds up their losses was copied and not changed, so that the second head never
learns."""

import torch
from torch import nn

FAMILY = "multi-task"
EXPECTS = ("silent-parameter", "frozen-validation", "uncovered-parameter", "nothing-generalises", "dead-layer")


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.age = nn.Linear(64, 1)
        self.job = nn.Linear(64, 6)

    def forward(self, x):
        h = self.shared(x)
        return self.age(h).squeeze(1), self.job(h)


def people(count, habits):
    x = torch.randn(count, 10)
    return x, (x[:, 0] * x[:, 1] + x[:, 2]).clamp(-3, 3), (x @ habits + x[:, 3:4].abs()).argmax(1)


def main(watch, faulty):
    habits = torch.randn(10, 6)
    x, age, job = people(2500, habits)
    x_val, age_val, job_val = people(500, habits)
    model = TwoHeads()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    mse, ce = nn.MSELoss(), nn.CrossEntropyLoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(10):
            for idx in torch.randperm(len(x)).split(64):
                age_out, job_out = model(x[idx])
                age_loss = mse(age_out, age[idx])
                job_loss = ce(job_out, job[idx])
                loss = age_loss + (age_loss if faulty else job_loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                age_out, job_out = model(x_val)
                monitor.log(
                    epoch=epoch,
                    val_age_mse=mse(age_out, age_val).item(),
                    val_job_acc=(job_out.argmax(1) == job_val).float().mean().item(),
                )
    x, _, job = people(2000, habits)
    with torch.no_grad():
        return (model(x)[1].argmax(1) == job).float().mean().item()
