"""Writes a PyTorch module as Python source that calls TT-NN, in the folder ``model``; ``model/run`` runs it."""

from __future__ import annotations

import argparse

import torch
from torch import nn

from tt_torch import codegen_py


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.A = nn.Linear(32, 128)
        self.B = nn.Linear(128, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.A(x))
        x = torch.tanh(self.B(x))
        return torch.sum(x**2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", type=int, default=0, help="optimization level (default 0)")
    parser.add_argument("--no-tensors", action="store_true", help="write no tensors; the source uses ones")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    codegen_py(
        Model(),
        torch.randn(32, 32),
        export_path="model",
        export_tensors=not arguments.no_tensors,
        compiler_options={"optimization_level": arguments.level},  # any compile option works here
    )


if __name__ == "__main__":
    main()
