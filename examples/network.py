"""Defines the convolutional network for 28 x 28 digits that the examples, tests and benchmarks share."""

import torch
from torch import nn


class DigitsNetwork(nn.Module):
    """Computes log probabilities of ten classes with two convolutions, pooling and two linear layers.

    The input is [N, 1, 28, 28], the output [N, 10].
    """

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=3),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Dropout(0.25),
        )
        self.classifier = nn.Sequential(
            nn.Linear(9216, 128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, 10),
            nn.LogSoftmax(dim=1),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(images).flatten(1))
