"""Matmul and linear as TT-NN's kernels compute them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator import matrix_unit as fidelities
from tt_xla.runtime.emulator.bit_exact import matrix_unit, native
from tt_xla.runtime.emulator.bit_exact.blocks import Blocks, Product, blocks_of, width_of
from tt_xla.runtime.emulator.bit_exact.elementwise import applied
from tt_xla.runtime.emulator.bit_exact.registers import added_in_l1, packed, source
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.kernels.matrix import linear as other_linear
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
Config = Mapping[str, Any] | None


@kernel("ttnn.linear", "ttnn.matmul", bit_exact=True)
def linear(
    ctx: Context,
    a: Tensor,
    b: Tensor,
    bias: Tensor | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    matmul_program_config: Config = None,
    activation: str | None = None,
    compute_config: Config = None,
) -> Tensor:
    """A bias is added by the kernel, to partial sums as the source registers read them, or by an addition of its own
    after the product was rounded: where the weights are batched, and where TT-NN may choose its plain kernel. An
    activation that the op names is a function of its own too; one of the program config is applied to the
    accumulator."""
    if not a.is_floating_point():
        attributes = (transpose_a, transpose_b, matmul_program_config, activation, compute_config)
        return other_linear(ctx, *attributes)(a, b, bias)
    if "fp32_dest_acc_en" not in (compute_config or {}):
        compute_config = {**default_config(ctx, matmul_program_config), **(compute_config or {})}
    wide = fidelities.keeps_float32(compute_config)
    left, right = source(a, wide=wide), source(b, wide=wide)
    left, right = left.mT if transpose_a else left, right.mT if transpose_b else right
    if transpose_a and ctx.spec("a").layout.dtype.is_block_float:
        # The kernel transposes a block of tiles first, and packs it again.
        left = packed(left.contiguous(), ctx.spec("a").layout.dtype)
    product = Product(
        (left.shape[-2], left.shape[-1], right.shape[-1]),
        (math.prod(left.shape[:-2]), math.prod(right.shape[:-2])),
        ctx.spec("a").layout,
        ctx.spec("b").layout,
        ctx.result.layout,
        matmul_program_config,
        wide,
    )
    width = width_of(product, ctx.grid)
    apart = width is None or _is_batched(right) or product.adds_bias_after
    in_kernel = None if bias is None or apart else source(bias, wide=wide)
    blocks = blocks_of(product, width or product.tiles[1], compute_config, biased=in_kernel is not None)
    phases = matrix_unit.PHASES[fidelities.fidelity(compute_config)]
    total = _batched(left, right, blocks, phases, wide=wide, keeps_blocks=in_kernel is not None)
    if in_kernel is not None:
        total = matrix_unit.add(source(total, wide=wide), in_kernel, wide=wide)
    fused = (matmul_program_config or {}).get("fused_activation")
    if fused:
        total = applied(fused["op_type"], total, wide=wide)
    result = packed(total, ctx.dtype)
    if bias is not None and in_kernel is None:
        result = _with_bias(result, bias, {ctx.dtype, ctx.spec("bias").layout.dtype}, ctx.dtype)
    if activation:
        wide_result = ctx.dtype is DataType.F32
        result = packed(applied(activation, result, wide=wide_result), ctx.dtype)
    return result.to(ctx.container)


def default_config(ctx: Context, program_config: Config) -> Mapping[str, Any]:
    """Returns TT-NN's compute config of a product that names none: its result decides about the accumulator, and its
    operands about the fidelity."""
    inputs = [ctx.spec(name).layout.dtype for name in ("a", "b")]
    wide = ctx.dtype is DataType.F32
    if all(dtype is DataType.F32 for dtype in inputs):
        fidelity = "hifi4"
    elif program_config is not None or all(dtype.is_block_float for dtype in inputs):
        fidelity = "lofi"
    else:
        fidelity = "hifi2"
    return {"math_fidelity": fidelity, "fp32_dest_acc_en": wide, "packer_l1_acc": not wide}


def _with_bias(result: Tensor, bias: Tensor, dtypes: set[DataType], dtype: DataType) -> Tensor:
    """Returns the sum of a packed result and a bias of its own op: the vector unit adds two float32 tensors, the matrix
    unit all others."""
    if dtypes == {DataType.F32}:
        return result + bias
    wide = DataType.F32 in dtypes
    return packed(matrix_unit.add(source(result, wide=wide), source(bias, wide=wide), wide=wide), dtype)


def _is_batched(right: Tensor) -> bool:
    return any(size > 1 for size in right.shape[:-2])


def _batched(a: Tensor, b: Tensor, blocks: Blocks, phases: int, *, wide: bool, keeps_blocks: bool) -> Tensor:
    """Returns the accumulator of a product of matrices with leading dimensions that broadcast."""
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not _is_batched(b):
        matrix = a.reshape(-1, a.shape[-1])
        weights = b.reshape(b.shape[-2:])
        total = in_blocks(matrix, weights, blocks, phases, wide=wide, keeps_blocks=keeps_blocks)
        return total.reshape(*batch, a.shape[-2], b.shape[-1])
    pairs = zip(
        a.expand(*batch, *a.shape[-2:]).reshape(-1, *a.shape[-2:]),
        b.expand(*batch, *b.shape[-2:]).reshape(-1, *b.shape[-2:]),
        strict=True,
    )
    results = [in_blocks(x, y, blocks, phases, wide=wide, keeps_blocks=keeps_blocks) for x, y in pairs]
    if not results:
        return torch.zeros(*batch, a.shape[-2], b.shape[-1], device=a.device, dtype=torch.float32)
    return torch.stack(results).reshape(*batch, a.shape[-2], b.shape[-1])


def in_blocks(a: Tensor, b: Tensor, blocks: Blocks, phases: int, *, wide: bool, keeps_blocks: bool = False) -> Tensor:
    """Returns ``a @ b`` over blocks of the inner dimension, as the accumulator holds it at the end.

    Args:
        a: activations as SrcB holds them, ``[m, k]``.
        b: weights as SrcA holds them, ``[k, n]``.
        keeps_blocks: whether the sums of the last block lie in L1 like those of the others, for a bias to be added.
    """
    total: Tensor | None = None
    starts = range(0, max(a.shape[1], 1), blocks.width)
    for start in starts:
        part = slice(start, start + blocks.width)
        ends = start + blocks.width >= a.shape[1]
        reloads = total is not None and (not blocks.adds_in_l1 or (ends and blocks.reloads_last))
        start_sums = total if reloads else None
        if start_sums is not None and blocks.through_source:
            start_sums = source(start_sums, wide=wide)
        sums = native.product(a[:, part], b[part], start_sums, phases=phases, wide=wide)
        if ends and not keeps_blocks:
            return sums
        if total is not None and blocks.adds_in_l1:
            total = added_in_l1(total, packed(sums, blocks.between), blocks.between)
        else:
            total = packed(sums, blocks.between)
    assert total is not None
    return total
