"""A convolutional net with batch normalisation and a one-cycle schedule; the best checkpoint is kept."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


net = nn.Sequential(conv_block(3, 8), nn.MaxPool2d(2), conv_block(8, 16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
net = net.to(device)
y = torch.randint(4, (640,))
x = torch.randn(640, 3, 8, 8) + 1.5 * torch.nn.functional.one_hot(y, 4)[:, :3].float()[:, :, None, None]
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
epochs, batch = 6, 32
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, steps_per_epoch=512 // batch, epochs=epochs)
best_acc = 0
for epoch in range(epochs):
    net.train()
    running = 0.0
    for idx in torch.randperm(512).split(batch):
        inputs, targets = x[idx].to(device), y[idx].to(device)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item()
    net.eval()
    with torch.inference_mode():
        acc = (net(x[512:]).argmax(1) == y[512:]).float().mean().item()
    print(f"[{epoch + 1}] loss: {running / 16:.3f} acc: {acc:.3f}")
    if acc > best_acc:
        best_acc = acc
        torch.save({"net": net.state_dict(), "acc": acc, "epoch": epoch}, sys.argv[1])
torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, sys.argv[1])
