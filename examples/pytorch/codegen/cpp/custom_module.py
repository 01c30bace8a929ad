"""Writes a PyTorch module as C++ source that calls TT-NN, in the folder ``model``; ``model/run`` builds and runs it."""

from __future__ import annotations

import torch
from torch import nn

from tt_torch import codegen_cpp


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.A = nn.Linear(32, 128)
        self.B = nn.Linear(128, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.A(x))
        x = torch.tanh(self.B(x))
        return torch.sum(x**2)


if __name__ == "__main__":
    codegen_cpp(Model(), torch.randn(32, 32), export_path="model")
