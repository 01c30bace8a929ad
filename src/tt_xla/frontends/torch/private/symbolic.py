"""Functions of sizes in PyTorch's expressions: quotients and remainders of integers."""

from torch.utils._sympy.functions import FloorDiv, Mod

__all__ = ["FloorDiv", "Mod"]
