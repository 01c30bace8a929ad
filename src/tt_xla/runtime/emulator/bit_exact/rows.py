"""Softmax along rows and along other dimensions as TT-NN's kernels compute them.

The matrix unit adds the terms as a product with ones: of rows as activations, of columns as weights, tile after tile.
Sources: TT-NN 0.81's ``reduce`` helpers, ``llk_math_reduce.h`` and ``softmax.cpp``.
"""

from __future__ import annotations

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import otherwise
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


_OPTIMIZED_RANK = 4
"""Largest number of dimensions for which TT-NN has a kernel of rows."""


@kernel("ttnn.softmax", bit_exact=True)
def softmax(
    ctx: Context, input: Tensor, dimension: int, numericStable: bool = False, compute_config: Config = None
) -> Tensor:
    """A softmax, whose exponentials along the last dimension are approximate in bfloat16 without a compute config.

    Along other dimensions, and of tensors with more than four, TT-NN takes the kernels of moreh.
    """
    bfloat16 = ctx.spec("input").layout.dtype is not DataType.F32
    settings = Settings.of(compute_config, wide=True, approximate=bfloat16)
    if dimension % input.ndim != input.ndim - 1 or input.ndim > _OPTIMIZED_RANK:
        result = _softmax_of_columns(input.to(torch.float32), dimension % input.ndim, settings)
        return packed(result, ctx.dtype).to(ctx.container)
    x = input.reshape(-1, input.shape[-1]).to(torch.float32)
    result = _softmax_of_rows(x, settings, bfloat16=bfloat16, stable=numericStable)
    return packed(result, ctx.dtype).reshape(input.shape).to(ctx.container)


@kernel("ttnn.scale_mask_softmax", bit_exact=True)
def scale_mask_softmax(
    ctx: Context,
    input_tensor: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    is_causal_mask: bool = False,
) -> Tensor:
    """TT-NN cuts the scale to bfloat16 and keeps scaled and masked scores in it. Float32 is computed as by default."""
    if ctx.dtype is DataType.F32:
        attributes = {"scale": scale, "is_causal_mask": is_causal_mask}
        return otherwise(ctx, attributes)(input_tensor, mask=mask)
    settings = Settings.of(None, wide=True, approximate=True)
    scores = input_tensor.to(torch.float32)
    if scale is not None:
        factor = sfpu.stored(torch.full_like(scores, scale), wide=False)
        scores = packed(settings.multiply(scores, factor), DataType.BF16).to(torch.float32)
    if mask is not None:
        # TT-NN adds a mask's first row to all rows unless the mask is causal.
        rows = mask.to(torch.float32) if is_causal_mask else mask[..., :1, :].to(torch.float32)
        scores = packed(settings.add(scores, rows.expand_as(scores)), DataType.BF16).to(torch.float32)
    result = _softmax_of_rows(scores.reshape(-1, scores.shape[-1]), settings, bfloat16=True, stable=True)
    return packed(result, ctx.dtype).reshape(input_tensor.shape).to(ctx.container)


def _softmax_of_rows(x: Tensor, settings: Settings, *, bfloat16: bool, stable: bool) -> Tensor:
    """Returns the softmax along rows as the accumulator holds it.

    Args:
        x: ``[rows, columns]``.
        settings: the compute config.
        bfloat16: whether the operand is bfloat16; approximate exponentials of it lie in bfloat16 too.
        stable: whether the largest element of a row is subtracted first.
    """
    terms = settings.read(x)
    if stable:
        largest = terms.amax(1, keepdim=True)
        terms = settings.subtract(x, largest)
    wide = settings.wide
    powers = functions.fast_exponential(terms) if settings.approximate else functions.exponential(terms, wide=wide)
    powers = packed(
        sfpu.stored(powers, wide=wide), DataType.BF16 if settings.approximate and bfloat16 else settings.between
    )
    inverse = functions.reciprocal(settings.sum_of_rows(powers), wide=wide)
    inverse = packed(sfpu.stored(inverse, wide=wide), settings.between)
    return settings.multiply(powers, inverse)


@kernel("ttnn.moreh_softmax", "ttnn.moreh_softmin", "ttnn.moreh_logsoftmax", bit_exact=True)
def moreh_softmax(ctx: Context, input_tensor: Tensor, dim: int, op: str) -> Tensor:
    """A softmax along any dimension; a softmin negates the differences, and of a logarithm the sum's is subtracted."""
    dtype = ctx.spec("input_tensor").layout.dtype
    settings = Settings(4, wide=dtype is DataType.F32, approximate=True, narrow=dtype)
    x = input_tensor.to(torch.float32)
    result = _softmax_of_columns(x, dim % x.ndim, settings, negated=op == "SOFTMIN", logarithmic=op == "LOGSOFTMAX")
    return packed(result, ctx.dtype).to(ctx.container)


def _softmax_of_columns(
    x: Tensor, dim: int, settings: Settings, *, negated: bool = False, logarithmic: bool = False
) -> Tensor:
    """Returns the softmax along a dimension as the kernels of moreh compute it, as the accumulator holds it.

    A source register brings the differences to the exponential. The matrix unit multiplies the last two dimensions by
    ones, and adds the tiles of the others one after another, which a source register brings to the reciprocal
    (``moreh_softmax_w.cpp``, ``moreh_softmax_h.cpp``, ``moreh_softmax_c_large.cpp``).
    """
    wide, between = settings.wide, settings.between
    largest = settings.read(x).amax(dim, keepdim=True)
    if dim >= x.ndim - 2 and x.shape[dim] % TILE:
        largest = largest.clamp(min=0.0)  # the mask makes zeros of the padding, which takes part
    differences = packed(settings.subtract(x, largest.expand_as(x)), between)
    terms = settings.read(differences)
    terms = functions.negative(terms) if negated else terms
    powers = packed(sfpu.stored(functions.FUNCTIONS["exp"](terms, wide=wide), wide=wide), between)
    total = sfpu.stored(_sum_of_powers(powers, dim, settings), wide=wide)
    if logarithmic:
        logarithm = packed(sfpu.stored(functions.log(total, wide=wide), wide=wide), between)
        return settings.subtract(differences, logarithm.expand_as(differences))
    inverse = functions.reciprocal(total, wide=wide, approximate=settings.approximate)
    inverse = packed(sfpu.stored(inverse, wide=wide), between)
    return settings.multiply(powers, inverse.expand_as(powers))


def _sum_of_powers(powers: Tensor, dim: int, settings: Settings) -> Tensor:
    """Returns the sum along a dimension, whose size is 1 then."""
    if dim == powers.ndim - 1:
        total = settings.sum_of_rows(powers.reshape(-1, powers.shape[-1]))
        return total.reshape(*powers.shape[:-1], 1)
    if dim == powers.ndim - 2:
        columns = powers.movedim(dim, 0)
        total = settings.sum_of_columns(columns.reshape(columns.shape[0], -1))
        return total.reshape(columns.shape[1:]).unsqueeze(dim)
    first, *others = powers.split(1, dim)
    total = first
    for other in others:
        total = packed(settings.add(total, other), settings.between)
    return settings.read(total)
