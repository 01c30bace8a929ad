"""Trains a convolutional network on scikit-learn's handwritten digits with lazy tensors."""

import torch
import torch_xla
from pydantic import Field
from sklearn.datasets import load_digits
from torch import nn

from tt_xla.profiling.workload import TrainingWorkload, begin


class Config(TrainingWorkload):
    channels: tuple[int, int] = Field(description="output channels of both convolutions")


class DigitsCNN(nn.Module):
    """Maps images, [N, 1, 8, 8], to scores of ten classes, [N, 10]."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, first, 3, padding=1)
        self.conv2 = nn.Conv2d(first, second, 3, padding=1)
        self.out = nn.Linear(second * 16, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.conv1(images))
        hidden = nn.functional.max_pool2d(torch.relu(self.conv2(hidden)), 2)
        return self.out(hidden.flatten(1))


def main() -> None:
    config = begin(Config, __doc__)
    device = torch_xla.device()
    images, labels = load_digits(return_X_y=True)
    data = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    classes = torch.tensor(labels)
    model = DigitsCNN(*config.channels).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
    for step in range(config.max_steps):
        chosen = torch.randint(0, len(data), (config.batch_size,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data[chosen].to(device)), classes[chosen].to(device))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        print(f"step {step + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
