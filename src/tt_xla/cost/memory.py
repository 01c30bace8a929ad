"""Bytes that a tensor takes in a bank of DRAM or in the L1 of a core.

Interleaved tensors spread page by page over all banks, each page aligned; a bank holds the rounded-up share, since the
allocator gives a buffer the same address in every bank (tt-metal ``Allocator``, lock-step allocation).
"""

from __future__ import annotations

import math

from tt_xla.ir.layout import BufferType, TensorLayout, round_up
from tt_xla.target import Target


def bytes_per_bank(layout: TensorLayout, target: Target) -> int:
    """Returns the aligned bytes of a tensor in each bank, a DRAM bank or a core's L1; 0 for host memory."""
    if layout.buffer is BufferType.SYSTEM_MEMORY:
        return 0
    in_l1 = layout.buffer is BufferType.L1
    page = round_up(layout.page_bytes, target.noc_l1_align if in_l1 else target.dram_align)
    if layout.is_sharded:
        return page * layout.shard[0] * (layout.shard[1] if layout.tiled else 1)
    banks = math.prod(target.grid) if in_l1 else target.dram_banks
    return -(-layout.pages // banks) * page
