"""Elements at computed positions. TT-NN moves them in the data movement cores; tiles that it takes apart, fills or
transposes before pass the compute cores.

Sources: TT-NN 0.81's ``gather.cpp`` and ``scatter.cpp``.
"""

from __future__ import annotations

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact.elementwise import otherwise
from tt_xla.runtime.emulator.bit_exact.moves import with_filled_tiles
from tt_xla.runtime.emulator.bit_exact.registers import repacked
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.gather", bit_exact=True)
def gather(ctx: Context, input: Tensor, index: Tensor, dim: int) -> Tensor:
    """Gathers elements along a dimension.

    TT-NN fills the padding of the operand's tiles before it gathers along rows, and transposes the operand before it
    gathers along another dimension than the last.
    """
    if ctx.dtype is not DataType.BF16:
        return otherwise(ctx, {"dim": dim})(input, index)
    if dim % input.ndim != input.ndim - 1:
        input = repacked(input, ctx.dtype).to(ctx.container)
    elif ctx.spec("input").layout.tiled:
        input = with_filled_tiles(input, ctx.dtype, rows=False)
    return torch.gather(_bits(input), dim, index.to(torch.int64)).view(torch.bfloat16)


@kernel("ttnn.scatter", bit_exact=True)
def scatter(
    ctx: Context, input: Tensor, index: Tensor, source: Tensor, dim: int, scatter_reduce_type: str = "invalid"
) -> Tensor:
    """Writes elements at positions.

    TT-NN does so in rows: operands in tiles pass the packer before, and all operands where they are transposed.
    """
    if ctx.dtype is not DataType.BF16 or scatter_reduce_type != "invalid":
        return otherwise(ctx, {"dim": dim, "scatter_reduce_type": scatter_reduce_type})(input, index, source)
    turns = dim % input.ndim != input.ndim - 1
    operands = {"input": input, "source": source}
    for name, tensor in operands.items():
        if turns or ctx.spec(name).layout.tiled:
            operands[name] = repacked(tensor, ctx.dtype).to(ctx.container)
    written = _bits(operands["input"]).scatter(dim, index.to(torch.int64), _bits(operands["source"]))
    return written.view(torch.bfloat16)


def _bits(tensor: Tensor) -> Tensor:
    """Returns the bits of bfloat16, which torch's functions of indices change where a float is a NaN."""
    return tensor.contiguous().view(torch.int16)
