"""Upstream changes torch functions that its compiler cannot lower while this is imported.

Here they are lowered as they are, so nothing is changed; the names say so to code that uses them.
"""

import contextlib

import torch.nn.functional as F

torch_function_override = contextlib.nullcontext()
"""Entered and left by code that switches upstream's overrides on and off."""

_unfold_via_gather = F.unfold

__all__ = ["torch_function_override"]
