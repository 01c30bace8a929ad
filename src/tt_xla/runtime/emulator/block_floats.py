"""Rounding to block floats in C++, with the bits of :mod:`.formats` and a tenth of its time on large weights."""

from __future__ import annotations

import torch

from tt_xla.runtime.emulator.library import library

Tensor = torch.Tensor

_IN_CPP = (torch.float32, torch.bfloat16)
"""Dtypes that the C++ reads and writes."""


def packed(blocks: Tensor, bits: int, container: torch.dtype) -> Tensor | None:
    """Returns blocks ``[n, 16]`` rounded to a shared exponent and ``bits`` of magnitude.

    Args:
        blocks: the blocks, float32 or bfloat16.
        bits: bits of magnitude, at most 8.
        container: dtype of the result, float32 or bfloat16.

    Returns:
        None without a compiler, for other dtypes, and where tensors do not lie in the CPU's memory.
    """
    if not {blocks.dtype, container} <= {*_IN_CPP} or blocks.device.type != "cpu":
        return None
    compiled = library()
    if compiled is None:
        return None
    source, result = blocks.contiguous(), torch.empty(blocks.shape, dtype=container, device="cpu")
    narrow = [dtype is torch.bfloat16 for dtype in (blocks.dtype, container)]
    sizes = torch.tensor([len(blocks), bits, *narrow], dtype=torch.int64, device="cpu")
    compiled.pack_blocks(source, result, sizes)
    return result


__all__ = ["packed"]
