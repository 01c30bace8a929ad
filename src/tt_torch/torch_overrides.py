"""Upstream's names for switching its patches of torch functions on and off.

Importing upstream's module replaces torch functions that its compiler cannot lower. This compiler lowers them, so the
names here change nothing; code that uses them runs unmodified.
"""

import contextlib

import torch.nn.functional as F

torch_function_override = contextlib.nullcontext()
"""Context manager that does nothing; upstream's switches its overrides."""

_unfold_via_gather = F.unfold

__all__ = ["torch_function_override"]
