"""A GAN: netD and netG, optimizerD and optimizerG, real and fake labels."""

import sys

import torch
import torch.nn as nn
import torch.optim as optim

manualSeed = 999
torch.manual_seed(manualSeed)
nz, batch_size = 4, 64


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.2)
        nn.init.zeros_(m.bias)


netG = nn.Sequential(nn.Linear(nz, 32), nn.ReLU(True), nn.Linear(32, 2))
netG.apply(weights_init)
netD = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
netD.apply(weights_init)
criterion = nn.BCELoss()
real_label, fake_label = 1.0, 0.0
optimizerD = optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
for i in range(200):
    netD.zero_grad()
    angle = torch.rand(batch_size) * 6.2832
    real = torch.stack([angle.cos(), angle.sin()], 1) + 0.1 * torch.randn(batch_size, 2)
    label = torch.full((batch_size,), real_label)
    output = netD(real).view(-1)
    errD_real = criterion(output, label)
    errD_real.backward()
    noise = torch.randn(batch_size, nz)
    fake = netG(noise)
    label.fill_(fake_label)
    output = netD(fake.detach()).view(-1)
    errD_fake = criterion(output, label)
    errD_fake.backward()
    errD = errD_real + errD_fake
    optimizerD.step()
    netG.zero_grad()
    label.fill_(real_label)
    output = netD(fake).view(-1)
    errG = criterion(output, label)
    errG.backward()
    optimizerG.step()
    if i % 50 == 0:
        print("[%d] Loss_D: %.4f Loss_G: %.4f" % (i, errD.item(), errG.item()))
torch.save([netG.state_dict(), netD.state_dict()], sys.argv[1])
