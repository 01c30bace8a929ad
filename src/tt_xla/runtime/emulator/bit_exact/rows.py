"""Softmax and normalizations along rows as TT-NN's kernels compute them.

The matrix unit adds the terms as a product with ones: of rows as activations, of columns as weights, tile after tile.
Sources: TT-NN 0.81's ``reduce`` helpers, ``llk_math_reduce.h``, ``softmax.cpp`` and ``layernorm.cpp``.
"""

from __future__ import annotations

import math

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE, MemoryLayout, round_up
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded, otherwise
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.kernels.normalization import per_channel
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.softmax", bit_exact=True)
def softmax(
    ctx: Context, input: Tensor, dimension: int, numericStable: bool = False, compute_config: Config = None
) -> Tensor:
    """A softmax, whose exponentials along the last dimension are approximate in bfloat16 without a compute config."""
    bfloat16 = ctx.spec("input").layout.dtype is not DataType.F32
    settings = Settings.of(compute_config, wide=True, approximate=bfloat16)
    if dimension % input.ndim != input.ndim - 1:
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


@kernel("ttnn.batch_norm_inference", bit_exact=True)
def batch_norm_inference(
    ctx: Context,
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-5,
    compute_config: Config = None,
) -> Tensor:
    """Normalizes with given statistics in the vector unit, in float32; the root is rounded to bfloat16 for it."""
    wide = ctx.spec("input").layout.dtype is DataType.F32
    x, mean, variance = (loaded(per_channel(each, input)) for each in (input, running_mean, running_var))
    root = functions.rsqrt(sfpu.add(variance, sfpu.single(epsilon)), wide=wide)
    result = sfpu.multiply(*torch.broadcast_tensors(sfpu.stored(x - mean, wide=True), root))
    if weight is not None:
        result = sfpu.stored(result * loaded(per_channel(weight, input)), wide=True)
    if bias is not None:
        result = sfpu.stored(result + loaded(per_channel(bias, input)), wide=True)
    return packed(result, ctx.dtype).to(ctx.container)


@kernel("ttnn.layer_norm", bit_exact=True)
def layer_norm(
    ctx: Context,
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
) -> Tensor:
    """Normalizes over the last dimension; the buffers between the steps hold float32."""
    settings = Settings.of(compute_config, wide=True, approximate=False)
    x = input.reshape(-1, input.shape[-1]).to(torch.float32)
    centred = packed(settings.subtract(x, _mean(x, settings, ctx.spec("input"), ctx.grid[1])), settings.between)
    return _normalized(ctx, input, centred, weight, bias, epsilon, settings)


@kernel("ttnn.rms_norm", bit_exact=True)
def rms_norm(
    ctx: Context,
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
) -> Tensor:
    """Normalizes over the last dimension, with a 16-bit accumulator and an approximate root where TT-NN chooses."""
    settings = Settings.of(compute_config, wide=False, approximate=True)
    x = input.reshape(-1, input.shape[-1]).to(torch.float32)
    return _normalized(ctx, input, x, weight, bias, epsilon, settings)


def _mean(x: Tensor, settings: Settings, spec: TensorSpec, row: int) -> Tensor:
    """Returns means of rows: a sum, which the vector unit multiplies, if a core has whole rows.

    Args:
        row: cores of a row of the chip.
    """
    if spec.layout.memory in (MemoryLayout.WIDTH_SHARDED, MemoryLayout.BLOCK_SHARDED) and spec.layout.grid[1] > 1:
        return _mean_of_shards(x, settings, spec, row)
    scaled = sfpu.multiply(settings.sum_of_rows(x), 1 / x.shape[-1])
    return packed(sfpu.stored(scaled, wide=settings.wide), settings.between)


def _mean_of_shards(x: Tensor, settings: Settings, spec: TensorSpec, row: int) -> Tensor:
    """Returns means of rows that are cut among cores: each core averages its columns, and another all averages.

    Tiles of rows are divided among the cores that join averages. Each core begins with its own, and goes on to the
    cores after it. Where shards have different widths, the first average is the part of the sum. If the cores fill
    several rows of the chip, the averages of the other rows are added first.
    """
    layout, width = spec.layout, x.shape[1]
    height, columns = layout.shard[0], layout.shard[1] * TILE
    parts = x.split(columns, 1)
    inner, outer = (1 / columns, 1 / len(parts)) if len(parts) * columns == width else (1 / width, 1.0)
    across = row if len(parts) % row == 0 else len(parts)
    averages = [packed(settings.scaled_sum_of_rows(part, inner), settings.between) for part in parts]
    index, size = torch.arange(x.shape[0], device=x.device), math.prod(spec.shape[-2:-1])
    tiles = index // size * round_up(size, TILE) // TILE + index % size // TILE
    cores = tiles % height // -(-height // len(parts))
    result = torch.zeros(x.shape[0], 1, device=x.device)
    for core in range(int(cores.amax()) + 1):
        own = [average[cores == core] for average in averages]
        first, *others = [own[start : start + across] for start in range(0, len(own), across)]
        sums = [packed(settings.chained(row, 1.0), settings.between) for row in others]
        result[cores == core] = packed(settings.chained([*first[core:], *first[:core], *sums], outer), settings.between)
    return result


def _normalized(
    ctx: Context,
    input: Tensor,
    centred: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    settings: Settings,
) -> Tensor:
    between, wide = settings.between, settings.wide
    variance = _mean(packed(settings.multiply(centred, centred), between), settings, ctx.spec("input"), ctx.grid[1])
    constant = torch.full((1, 1), epsilon, device=input.device).to(torch.bfloat16)
    root = functions.rsqrt(settings.add(variance, constant), wide=wide, approximate=settings.approximate)
    result = settings.multiply(centred, packed(sfpu.stored(root, wide=wide), between))
    if weight is not None:
        result = settings.multiply(packed(result, between), weight.reshape(1, -1))
    if bias is not None:
        result = settings.add(packed(result, between), bias.reshape(1, -1))
    return packed(result, ctx.dtype).reshape(input.shape).to(ctx.container)
