"""Skip-gram with negative sampling on a toy corpus with structure; sparse updates through two embeddings."""

import torch
import torch.nn.functional as F
from torch import nn

V, D = 60, 16


class SkipGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.center, self.context = nn.Embedding(V, D), nn.Embedding(V, D)
        nn.init.uniform_(self.center.weight, -0.5 / D, 0.5 / D)
        nn.init.zeros_(self.context.weight)

    def forward(self, c, o, neg):
        v = self.center(c)
        pos = (v * self.context(o)).sum(-1)
        bad = (self.context(neg) @ v.unsqueeze(-1)).squeeze(-1)
        return -(F.logsigmoid(pos) + F.logsigmoid(-bad).sum(-1)).mean()


def main(watch):
    topic = torch.randint(0, 6, (3000,))
    words = topic[:, None] * 10 + torch.randint(0, 10, (3000, 8))
    model = SkipGram()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    mon = watch(model, opt)
    losses = []
    for step in range(900):
        row = torch.randint(0, 3000, (256,))
        i, j = torch.randint(0, 8, (256,)), torch.randint(0, 8, (256,))
        loss = model(words[row, i], words[row, j], torch.randint(0, V, (256, 5)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 100 == 99:
            mon.log(avg_loss=sum(losses[-100:]) / 100)
    mon.close()
    w = F.normalize(model.center.weight.detach(), dim=1)
    near = (w @ w.T).fill_diagonal_(-1).argmax(1)
    assert (near // 10 == torch.arange(V) // 10).float().mean() > 0.9
