# SPDX-License-Identifier: Apache-2.0
"""Trains the Fashion-MNIST examples in PyTorch by the same recipe and prints the test accuracies.

    python3 fashion_torch.py [dense|cnn] [SEEDS]

The same as resources/examples: glorot_uniform and zeros, Adam 1e-3 with epsilon 1e-7, batch 64, 5 epochs,
a tenth of the training set held out, pixels in 0..1. The test set is looked at once, at the end.
"""
import gzip
import json
import sys

import numpy as np
import torch

FOLDER = '/usr/share/datasets/fashion-mnist/'
EPOCHS, BATCH = 5, 64


def read(name, offset):
    with gzip.open(FOLDER + name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


def load(prefix):
    x = read(f'{prefix}-images-idx3-ubyte.gz', 16).reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return torch.from_numpy(x), torch.from_numpy(read(f'{prefix}-labels-idx1-ubyte.gz', 8).astype(np.int64))


def make(kind):
    nn = torch.nn
    if kind == 'dense':
        model = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    else:
        model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, 10))
    for module in model:
        if hasattr(module, 'weight'):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
    return model


def accuracy(kind, seed, train, test):
    torch.manual_seed(seed)
    order = torch.randperm(len(train[0]))[:len(train[0]) * 9 // 10]
    x, y = train[0][order], train[1][order]
    model = make(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(a).argmax(1) == b).sum().item() for a, b in zip(test[0].split(500), test[1].split(500)))
    return hits / len(test[0])


kind = sys.argv[1] if len(sys.argv) > 1 else 'dense'
seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
torch.set_num_threads(2)
train, test = load('train'), load('t10k')
values = [accuracy(kind, seed, train, test) for seed in range(42, 42 + seeds)]
print(json.dumps({'peer': f'torch {torch.__version__}', 'model': kind, 'test_accuracy': values, 'mean': float(np.mean(values))}))
