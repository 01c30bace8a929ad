"""Writes a PyTorch model as Python source that calls TT-NN.

``python examples/codegen.py`` creates the folder ``model/``; ``model/run`` runs the generated source.
"""

from __future__ import annotations

import torch
from torch import nn

import tt_torch


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, layers: int = 2, width: int = 128) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.head = nn.Linear(width, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Model().eval().to(torch.bfloat16)
    tokens = torch.randint(0, 1000, (4, 32))
    tt_torch.codegen_py(model, tokens, export_path="model", compiler_options={"optimization_level": 2})
