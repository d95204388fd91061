"""A plain loop over a small CNN that keeps the features of every batch: 64 x 512 floats a step, a leak."""

import argparse
import time

import torch
from data import arguments, loader
from torch import nn
from torch.nn import functional
from tqdm import tqdm


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, stride=4)
        self.features = nn.Linear(8 * 8 * 8, 512)
        self.head = nn.Linear(512, 10)

    def forward(self, pictures):
        seen = functional.relu(self.convolution(pictures)).flatten(1)
        features = functional.relu(self.features(seen))
        return self.head(features), features


def main():
    args = arguments(argparse.ArgumentParser(), epochs=60)
    torch.set_num_threads(1)
    network = Network()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    batches, kept = loader(args), []
    for epoch in tqdm(range(args.epochs), desc="epochs", disable=not args.epoch_bar):
        bar = tqdm(batches, desc=f"epoch {epoch + 1}/{args.epochs}", disable=args.epoch_bar)
        for pictures, labels in bar:
            scores, features = network(pictures)
            loss = functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kept.append(features.detach())
            bar.set_postfix(loss=f"{loss.item():.3f}")
            time.sleep(args.pause)


if __name__ == "__main__":
    main()
