# SPDX-License-Identifier: MIT
"""A small training loop: synthetic images, two data loader workers, a convolutional net, SGD."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = 240
BATCH = 16


class Blobs(Dataset):
    """12x12 noise with a bright square in one of four corners; the corner is the label."""

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.randn(1, 12, 12, generator=generator)
        label = index % 4
        row, column = 6 * (label // 2), 6 * (label % 2)
        image[:, row : row + 6, column : column + 6] += 0.7
        return image, label


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(8 * 6 * 6, 32)
        self.output = nn.Linear(32, 4)

    def forward(self, images):
        features = self.pool(torch.relu(self.conv(images)))
        return self.output(torch.relu(self.hidden(features.flatten(1))))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    loss_function = nn.CrossEntropyLoss()
    loader = DataLoader(Blobs(), batch_size=BATCH, shuffle=True, num_workers=2)
    for step, (images, labels) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = loss_function(net(images), labels)
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"step {step:3d}  loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
