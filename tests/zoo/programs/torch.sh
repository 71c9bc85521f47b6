# SPDX-License-Identifier: MIT
# package: python3-torch
# needs: /usr/bin/python3 /usr/lib/python3/dist-packages/torch
# records: python3
cat >work.py <<'END'
import torch
from torch.utils.data import DataLoader, TensorDataset

def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(4 * 36, 10))
    step = torch.optim.Adam(net.parameters(), 0.01)
    data = TensorDataset(torch.randn(256, 1, 8, 8), torch.randint(0, 10, (256,)))
    for epoch in range(2):
        for x, y in DataLoader(data, 32, num_workers=2):
            step.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            step.step()
        print(epoch, round(loss.item(), 4))
    torch.save(net.state_dict(), "net.pt")
    print(sorted(torch.load("net.pt")))
    with torch.profiler.profile() as profile:
        net(x)
    print(sorted({e.key for e in profile.key_averages()}))

if __name__ == "__main__":
    main()
END
/usr/bin/python3 work.py
