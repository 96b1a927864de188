"""VQ-VAE: straight-through codes, codebook and commitment losses, perplexity logged."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class VectorQuantizer(nn.Module):
    def __init__(self, codes=32, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(codes, dim)
        self.embedding.weight.data.uniform_(-1 / codes, 1 / codes)

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        index = torch.cdist(flat, self.embedding.weight).argmin(1)
        q = self.embedding(index).view_as(z)
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(q.detach(), z)
        share = F.one_hot(index, self.embedding.num_embeddings).float().mean(0)
        return z + (q - z).detach(), loss, (-(share * (share + 1e-10).log()).sum()).exp()


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 16, 3, 1, 1))
        self.vq = VectorQuantizer()
        self.dec = nn.Sequential(nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1))

    def forward(self, x):
        z, loss, perplexity = self.vq(self.enc(x).permute(0, 2, 3, 1))
        return self.dec(z.permute(0, 3, 1, 2)), loss, perplexity


def main(watch):
    X = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 16
    variance = X.var()
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(15):
        for i in torch.randperm(1500).split(64):
            out, vq_loss, perplexity = model(X[i])
            recon = F.mse_loss(out, X[i]) / variance
            loss = recon + vq_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            out, _, perplexity = model(X[1500:])
            val = (F.mse_loss(out, X[1500:]) / variance).item()
        monitor.log({"val/recon_error": val, "perplexity": perplexity.item(), "epoch": epoch})
    monitor.close()
    assert val < 0.4
