"""Softmax along rows and along other dimensions as TT-NN's kernels compute them.

The matrix unit adds the terms as a product with ones: of rows as activations, of columns as weights, tile after tile.
Sources: TT-NN 0.81's ``reduce`` helpers, ``llk_math_reduce.h`` and ``softmax.cpp``.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import FACE, TILE
from tt_xla.runtime.emulator.bit_exact import fast_functions, functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded
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
        missing = -input.shape[-1] % FACE if ctx.dtype.is_block_float else 0
        x = F.pad(loaded(input), (0, missing)) if dimension % input.ndim != input.ndim - 1 else loaded(input)
        result = packed(
            _softmax_of_columns(x, dimension % input.ndim, settings, ctx.spec("input").layout.dtype), ctx.dtype
        )
        return result[..., : input.shape[-1]].to(ctx.container)
    x = _hidden(loaded(input.reshape(-1, input.shape[-1])), settings)
    between = _between(settings, bfloat16=bfloat16, configured=bool(compute_config))
    result = _softmax_of_terms(_terms(x, settings, stable=numericStable), settings, between)
    return packed(result, ctx.dtype).reshape(input.shape).to(ctx.container)


@kernel("ttnn.scale_mask_softmax", bit_exact=True)
def scale_mask_softmax(
    ctx: Context,
    input_tensor: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    is_causal_mask: bool = False,
    compute_kernel_config: Config = None,
    numeric_stable: bool = True,
) -> Tensor:
    """A softmax of scaled and masked scores, whose scale TT-NN cuts to bfloat16."""
    bfloat16 = ctx.spec("input_tensor").layout.dtype is not DataType.F32
    settings = Settings.of(compute_kernel_config, wide=True, approximate=bfloat16)
    between = _between(settings, bfloat16=bfloat16, configured=bool(compute_kernel_config))
    scores = loaded(input_tensor)
    if mask is None:
        terms = _terms(_hidden(scores, settings), settings, stable=numeric_stable)
    else:
        factor = sfpu.stored(torch.full_like(scores, 1.0 if scale is None else scale), wide=False)
        scores = packed(settings.multiply(scores, factor), between)
        # TT-NN adds a mask's first row to all rows unless the mask is causal.
        rows = mask if is_causal_mask else mask[..., :1, :]
        terms = settings.add(scores, loaded(rows).expand_as(scores))
        if numeric_stable:
            terms = _terms(packed(terms, between), settings, stable=True)
    result = _softmax_of_terms(terms.reshape(-1, terms.shape[-1]), settings, between)
    return packed(result, ctx.dtype).reshape(input_tensor.shape).to(ctx.container)


def _between(settings: Settings, *, bfloat16: bool, configured: bool) -> DataType:
    """Returns the type of the buffers between the steps. Those of 16-bit operands hold bfloat16 without a compute
    config."""
    return DataType.BF16 if bfloat16 and not configured else settings.between


def _hidden(x: Tensor, settings: Settings) -> Tensor:
    """Returns rows after the kernel has hidden the padding of the last tile, which makes an infinity of a NaN."""
    return settings.add(x, torch.zeros_like(x)) if x.shape[-1] % TILE else x


def _terms(x: Tensor, settings: Settings, *, stable: bool) -> Tensor:
    """Returns the exponents as the accumulator holds them, below zero if the largest of a row is subtracted first."""
    return settings.subtract(x, settings.largest(x, -1)) if stable else settings.read(x)


def _softmax_of_terms(terms: Tensor, settings: Settings, between: DataType) -> Tensor:
    """Returns the softmax along rows as the accumulator holds it.

    Args:
        terms: exponents, ``[rows, columns]``.
        settings: the compute config.
        between: type of the buffer of exponentials.
    """
    wide = settings.wide
    powers = (fast_functions.exp if settings.approximate else functions.exponential)(terms, wide=wide)
    powers = packed(sfpu.stored(powers, wide=wide), between)
    inverse = functions.reciprocal(settings.sum_of_rows(powers), wide=wide)
    inverse = packed(sfpu.stored(inverse, wide=wide), settings.between)
    return settings.multiply(powers, inverse)


@kernel("ttnn.moreh_softmax", "ttnn.moreh_softmin", "ttnn.moreh_logsoftmax", bit_exact=True)
def moreh_softmax(ctx: Context, input_tensor: Tensor, dim: int, op: str) -> Tensor:
    """A softmax along any dimension; a softmin negates the differences, and of a logarithm the sum's is subtracted."""
    dtype = ctx.spec("input_tensor").layout.dtype
    settings = Settings(4, wide=dtype is DataType.F32, approximate=True, narrow=dtype)
    x = loaded(input_tensor)
    result = _softmax_of_columns(
        x, dim % x.ndim, settings, dtype, negated=op == "SOFTMIN", logarithmic=op == "LOGSOFTMAX"
    )
    return packed(result, ctx.dtype).to(ctx.container)


def _softmax_of_columns(
    x: Tensor, dim: int, settings: Settings, dtype: DataType, *, negated: bool = False, logarithmic: bool = False
) -> Tensor:
    """Returns the softmax along a dimension as the kernels of moreh compute it, as the accumulator holds it.

    A source register brings the differences to the exponential. The matrix unit multiplies the last two dimensions by
    ones, and adds the tiles of the others one after another, which a source register brings to the reciprocal
    (``moreh_softmax_w.cpp``, ``moreh_softmax_h.cpp``, ``moreh_softmax_c_large.cpp``).
    """
    wide, between = settings.wide, settings.between
    largest = _largest(x, dim, settings, dtype)
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


def _largest(x: Tensor, dim: int, settings: Settings, dtype: DataType) -> Tensor:
    """Returns the largest numbers along a dimension. Those along an outer one pass a buffer of the operand's type tile
    after tile, in which block floats share the exponents of other numbers."""
    if dim >= x.ndim - 2:
        largest = settings.largest(x, dim)
        # The mask makes zeros of the padding, which takes part.
        return largest.clamp(min=0.0) if x.shape[dim] % TILE else largest
    first, *others = settings.add(x, torch.zeros_like(x)).split(1, dim)
    largest = packed(first, dtype)
    for other in others:
        largest = packed(sfpu.maximum(other, largest), dtype)
    return largest


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


@kernel("ttnn.moreh_softmax_backward", "ttnn.moreh_softmin_backward", "ttnn.moreh_logsoftmax_backward", bit_exact=True)
def moreh_softmax_backward(
    ctx: Context,
    output_tensor: Tensor,
    output_grad_tensor: Tensor,
    dim: int,
    op: str,
    compute_kernel_config: Config = None,
) -> Tensor:
    """The gradient of a softmax along any dimension, whose sums pass a buffer (``moreh_softmax_backward_w.cpp``,
    ``moreh_softmax_backward_c_large.cpp``)."""
    dtype = ctx.spec("output_tensor").layout.dtype
    default = Settings.of(compute_kernel_config, wide=False, approximate=True)
    settings = Settings(default.phases, default.wide, default.approximate, narrow=dtype)
    y, grad = loaded(output_tensor), loaded(output_grad_tensor)
    dim, between = dim % y.ndim, settings.between
    if op == "LOGSOFTMAX":
        return packed(_gradient_of_logarithm(y, grad, dim, settings), ctx.dtype).to(ctx.container)
    terms = packed(settings.multiply(y, grad), between)
    total = packed(sfpu.stored(_sum_of_powers(terms, dim, settings), wide=settings.wide), between)
    centred = packed(settings.subtract(grad, total.expand_as(grad)), between)
    pair = (y, centred) if dim >= y.ndim - 2 else (centred, y)
    slope = settings.multiply(*pair)
    return packed(functions.negative(slope) if op == "SOFTMIN" else slope, ctx.dtype).to(ctx.container)


def _gradient_of_logarithm(y: Tensor, grad: Tensor, dim: int, settings: Settings) -> Tensor:
    """Returns the gradient as the accumulator holds it. Along the last two dimensions the sum of the last tile, and
    that of the others, are added by an op of their own."""
    wide, between = settings.wide, settings.between
    before = (y.shape[dim] - 1) // TILE * TILE if dim >= y.ndim - 2 else 0
    parts = grad.split([before, y.shape[dim] - before], dim) if before else (grad,)
    sums = [packed(_sum_of_powers(part, dim, settings), between) for part in parts]
    total = sums[0] if len(sums) == 1 else packed(settings.add(*sums), between)
    powers = packed(sfpu.stored(functions.FUNCTIONS["exp"](settings.read(y), wide=wide), wide=wide), between)
    pair = (powers, total.expand_as(powers)) if dim >= y.ndim - 2 else (total.expand_as(powers), powers)
    return settings.subtract(grad, packed(settings.multiply(*pair), between))
