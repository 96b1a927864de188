"""A denoising autoencoder behind a progress bar; the validation loss is shown on a bar of its own."""

import sys

import torch
from torch import nn
from tqdm import tqdm

torch.manual_seed(0)
basis = torch.randn(4, 24)
clean = torch.randn(900, 4) @ basis
model = nn.Sequential(nn.Linear(24, 16), nn.LeakyReLU(), nn.Linear(16, 24))
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
mse = nn.MSELoss()
for epoch in range(8):
    model.train()
    with tqdm(clean[torch.randperm(800)].split(32), desc=f"Epoch {epoch}", disable=None) as bar:
        for x in bar:
            loss = mse(model(x + 0.3 * torch.randn_like(x)), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=f"{loss.item():.4f}")
    model.eval()
    with torch.no_grad(), tqdm(clean[800:].split(50), desc="Validation", disable=None) as bar:
        total = 0.0
        for n, x in enumerate(bar, 1):
            total += mse(model(x + 0.3 * torch.randn_like(x)), x).item()
            bar.set_postfix(loss=total / n)
torch.save(model.state_dict(), sys.argv[1])
