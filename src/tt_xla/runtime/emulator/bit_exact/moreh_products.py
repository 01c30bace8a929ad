"""The products of moreh as TT-NN's kernels compute them.

Sources: TT-NN 0.81's ``moreh_matmul.cpp``, ``moreh_matmul_device_operation.cpp`` and ``moreh_dot.cpp``.
"""

from __future__ import annotations

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded
from tt_xla.runtime.emulator.bit_exact.native import product
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_PRODUCTS = Settings(1, wide=False, approximate=False)
"""TT-NN's default of a product, in LoFi."""
_DOTS = Settings(4, wide=False, approximate=False)
"""TT-NN's default of an inner product."""


@kernel("ttnn.moreh_matmul", bit_exact=True)
def moreh_matmul(
    ctx: Context,
    input: Tensor,
    other: Tensor,
    transpose_input: bool = False,
    transpose_other: bool = False,
    bias: Tensor | None = None,
    compute_kernel_config: Config = None,
) -> Tensor:
    """A product of matrices, or of two rows."""
    if not (transpose_input or transpose_other) and _are_rows(input, other):
        return moreh_dot(ctx, input, other, compute_kernel_config)
    settings = _settings(compute_kernel_config, _PRODUCTS)
    left, right = _turned(loaded(input), transpose_input), _turned(loaded(other), transpose_other)
    shift = None if bias is None else loaded(bias)
    whole = all(size % TILE == 0 for size in (*input.shape[-2:], *other.shape[-2:]))
    in_tiles = transpose_input or transpose_other or bias is not None or not whole
    left, right = _masked(left, settings), _masked(right, settings)
    batch = torch.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    lefts = left.expand(*batch, *left.shape[-2:]).reshape(-1, *left.shape[-2:])
    rights = right.expand(*batch, *right.shape[-2:]).reshape(-1, *right.shape[-2:])
    results = [_product(a, b, settings, in_tiles=in_tiles) for a, b in zip(lefts, rights, strict=True)]
    total = torch.stack(results).reshape(*batch, left.shape[-2], right.shape[-1])
    if shift is not None:
        total = settings.add(packed(total, settings.between), shift)
    return packed(total, ctx.dtype).reshape(ctx.result.shape).to(ctx.container)


@kernel("ttnn.moreh_bmm", bit_exact=True)
def moreh_bmm(ctx: Context, input: Tensor, mat2: Tensor, compute_kernel_config: Config = None) -> Tensor:
    """A product of matrices of a batch."""
    return moreh_matmul(ctx, input, mat2, compute_kernel_config=compute_kernel_config)


@kernel("ttnn.moreh_linear", bit_exact=True)
def moreh_linear(
    ctx: Context, input: Tensor, weight: Tensor, bias: Tensor | None = None, compute_kernel_config: Config = None
) -> Tensor:
    """A product with a matrix that is turned around, and a bias."""
    return moreh_matmul(ctx, input, weight, False, True, bias, compute_kernel_config)


@kernel("ttnn.moreh_dot", bit_exact=True)
def moreh_dot(
    ctx: Context, input_tensor_a: Tensor, input_tensor_b: Tensor, compute_kernel_config: Config = None
) -> Tensor:
    """An inner product: products lie in a buffer, and the sum of each tile passes another one to the next."""
    settings = _settings(compute_kernel_config, _DOTS)
    a, b = (loaded(each).reshape(1, -1) for each in (input_tensor_a, input_tensor_b))
    terms = packed(settings.multiply(a, b), DataType.BF16)
    total: Tensor | None = None
    for tile in terms.split(TILE, 1):
        start = None if total is None else settings.read(packed(total, DataType.BF16))
        total = settings.scaled_sum_of_rows(tile, 1.0, start)
    assert total is not None
    return packed(total, ctx.dtype).reshape(ctx.result.shape).to(ctx.container)


def _settings(config: Config, default: Settings) -> Settings:
    return Settings.of(config, wide=False, approximate=False) if config else default


def _are_rows(input: Tensor, other: Tensor) -> bool:
    """Returns whether TT-NN takes the kernel of an inner product: for two rows of one size."""
    return input.shape == other.shape and input.ndim == 4 and input.numel() == input.shape[-1]


def _turned(x: Tensor, turns: bool) -> Tensor:
    """Returns matrices as they are, or turned around by the packer."""
    return packed(x.mT.contiguous(), DataType.BF16) if turns else x


def _masked(x: Tensor, settings: Settings) -> Tensor:
    """Returns matrices after the kernel has cleared the padding of tiles at their ends by a product with ones, which in
    LoFi keeps 5 bits of the elements."""
    cleared = packed(settings.multiply(x, torch.ones_like(x)), DataType.BF16)
    rows, columns = x.shape[-2:]
    ends = torch.zeros(rows, columns, dtype=torch.bool, device=x.device)
    if rows % TILE:
        ends[rows // TILE * TILE :] = True
    if columns % TILE:
        ends[:, columns // TILE * TILE :] = True
    return torch.where(ends, cleared, x)


def _product(a: Tensor, b: Tensor, settings: Settings, *, in_tiles: bool) -> Tensor:
    """Returns a product of matrices as the accumulator holds it. If it is computed in tiles, each sum passes a buffer
    before the next tile of the inner dimension is added."""
    total: Tensor | None = None
    width = TILE if in_tiles else a.shape[1]
    for left, right in zip(a.split(width, 1), b.split(width, 0), strict=True):
        start = None if total is None else packed(total, settings.between)
        total = product(settings.read(left), settings.read(right), start, phases=settings.phases, wide=settings.wide)
    assert total is not None
    return total
