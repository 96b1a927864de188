"""A siamese net: one tower is called twice, it learns which pairs are of the same class."""

import sys

import torch
import torch.nn as nn

torch.manual_seed(0)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
        self.fc = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()

    def forward_once(self, x):
        return self.tower(x)

    def forward(self, input1, input2):
        output1, output2 = self.forward_once(input1), self.forward_once(input2)
        return self.sigmoid(self.fc(torch.cat((output1, output2), 1)))


prototypes = 2 * torch.randn(6, 16)
model = SiameseNetwork()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCELoss()
model.train()
for step in range(240):
    one, same = torch.randint(6, (32,)), torch.rand(32) < 0.5
    other = torch.where(same, one, (one + torch.randint(1, 6, (32,))) % 6)
    images_1, images_2 = (prototypes[each] + 0.5 * torch.randn(32, 16) for each in (one, other))
    optimizer.zero_grad()
    outputs = model(images_1, images_2).squeeze()
    loss = criterion(outputs, same.float())
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), sys.argv[1])
