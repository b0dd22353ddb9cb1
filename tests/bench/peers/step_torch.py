# SPDX-License-Identifier: Apache-2.0
"""Times a training step of the networks of `gradus-cli bench` in PyTorch and prints JSON.

    python3 step_torch.py mlp|cnn|lstm|transformer [--threads N] [--channels-last] [--steps N]

Batch 64, float32, Adam 1e-3, sparse crossentropy, random data of the same shapes.
"""
import argparse
import json
import statistics
import time

import torch
from torch import nn

BATCH = 64


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(28, 128, batch_first=True)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(nn.TransformerEncoderLayer(128, 4, 512, 0.0, batch_first=True, norm_first=True)
                                      for _ in range(2)))
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.blocks(x).mean(1))


def make(name):
    if name == 'mlp':
        return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)), (784,)
    if name == 'cnn':
        return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, 10)), (1, 28, 28)
    return (Recurrent(), (28, 28)) if name == 'lstm' else (Transformer(), (64, 128))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('network', choices=['mlp', 'cnn', 'lstm', 'transformer'])
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--channels-last', action='store_true')
    parser.add_argument('--steps', type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    model, shape = make(args.network)
    x, y = torch.randn(BATCH, *shape), torch.randint(0, 10, (BATCH,))
    if args.channels_last and len(shape) == 3:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7)
    times = []
    for _ in range(args.steps + 10):
        begun = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - begun))
    times = times[10:]
    print(json.dumps({'peer': 'torch ' + torch.__version__, 'network': args.network, 'step_ms': statistics.median(times),
                      'step_ms_least': min(times)}))


main()
