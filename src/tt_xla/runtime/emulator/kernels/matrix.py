"""Matmul and linear."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import matrix_unit, onednn
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.kernels.elementwise import gelu
from tt_xla.runtime.emulator.registry import Context, Weighted, kernel
from tt_xla.runtime.emulator.small import is_small_product

Tensor = torch.Tensor
Config = Mapping[str, Any] | None

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "relu6": F.relu6,
    "gelu": gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "mish": F.mish,
    "hardsigmoid": F.hardsigmoid,
    "leaky_relu": F.leaky_relu,
}


def activate(tensor: Tensor, activation: str | None) -> Tensor:
    """The fused activation of a matmul or convolution, by its name in IR; may overwrite ``tensor``, the fresh product.

    Raises:
        ValueError: the name is unknown.
    """
    if not activation:
        return tensor
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation {activation!r} is unknown; known are {', '.join(ACTIVATIONS)}")
    return tensor.relu_() if activation == "relu" else ACTIVATIONS[activation](tensor)


def fused_activation(activation: str | None, program_config: Mapping[str, Any] | None) -> str | None:
    """The activation that a product ends with: named by the op or, where it has one, by its program config."""
    fused = (program_config or {}).get("fused_activation")
    return activation or (fused["op_type"] if fused else None)


def _operand(tensor: Tensor, transpose: bool) -> Tensor:
    return tensor.transpose(-2, -1) if transpose else tensor


def _in_general(
    ctx: Context, a: Tensor, b: Tensor, bias: Tensor | None, activation: str | None, config: Config
) -> Tensor:
    """Any operands; what is done to the product is done before it is rounded."""
    if not a.is_floating_point():
        result = torch.matmul(a, b.to(a.dtype))
    elif ctx.silicon and not matrix_unit.keeps_float32(config):
        result = matrix_unit.matmul_in_bfloat16_steps(a, b, config)
    else:
        rounded_once = bias is None and activation in (None, "relu") and CONTAINERS[ctx.result.layout.dtype] is a.dtype
        if not rounded_once:
            a, b = a.to(torch.float32), b.to(torch.float32)
        result = matrix_unit.multiply(torch.matmul, a, b, config, silicon=ctx.silicon)
    return activate(result if bias is None else result + bias, activation)


@kernel("ttnn.linear", "ttnn.matmul", prepared=True)
def linear(
    ctx: Context,
    transpose_a: bool = False,
    transpose_b: bool = False,
    matmul_program_config: Mapping[str, Any] | None = None,
    activation: str | None = None,
    compute_config: Config = None,
) -> Callable[..., Tensor] | Weighted:
    """With weights of two dimensions, a row or column for each feature, torch's linear; else a matmul."""
    activation = fused_activation(activation, matmul_program_config)
    if is_small(ctx, compute_config, transpose_a=transpose_a):
        return _small(ctx, activation, compute_config, transpose_a=transpose_a, transpose_b=transpose_b)
    if _is_one_product(ctx, transpose_b, compute_config):
        return _Linear(ctx, activation, compute_config, transpose_a=transpose_a, transpose_b=transpose_b).kernel()

    def general(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        return _in_general(ctx, _operand(a, transpose_a), _operand(b, transpose_b), bias, activation, compute_config)

    return general


def is_small(ctx: Context, config: Config, *, transpose_a: bool) -> bool:
    """Whether it is a small product, which is summed in float64, of matrices."""
    a, b = ctx.operands["a"], ctx.operands["b"]
    if isinstance(a, tuple) or isinstance(b, tuple) or min(len(a.shape), len(b.shape)) < 2:
        return False
    inner = a.shape[-2 if transpose_a else -1]
    return matrix_unit.is_one_product(config, silicon=ctx.silicon) and is_small_product(
        ctx.operands.values(), math.prod(ctx.result.shape) * inner
    )


def _small(ctx: Context, activation: str | None, config: Config, *, transpose_a: bool, transpose_b: bool) -> Weighted:
    """A product of matrices in float64; what is done to it is done there too."""
    a_bits, b_bits = matrix_unit.source_bits(config, silicon=ctx.silicon)

    shapes = {name: spec.shape for name, spec in ctx.operands.items() if isinstance(spec, TensorSpec)}
    rank, row = len(shapes["b"]), shapes.get("bias", ctx.result.shape[-1:]) == ctx.result.shape[-1:]

    def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        a = matrix_unit.in_float64(_operand(a, transpose_a), a_bits)
        if rank == 2 and row:
            result = F.linear(a, b.t(), None if bias is None else bias.to(torch.float64))
        else:
            result = torch.matmul(a, b) if bias is None else torch.matmul(a, b) + bias
        return activate(result, activation) if activation else result

    def prepare(b: Tensor) -> Tensor:
        return matrix_unit.in_float64(_operand(b, transpose_b), b_bits)

    def call(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        return product(a, prepare(b), bias)

    return Weighted(call, prepare, product, stay=True)


class _Linear:
    """A product with weights [K, N] in one dtype, by oneDNN where that is worth it, and how it is called."""

    def __init__(
        self, ctx: Context, activation: str | None, config: Config, *, transpose_a: bool, transpose_b: bool
    ) -> None:
        a, b = ctx.operands["a"], ctx.operands["b"]
        assert isinstance(a, TensorSpec)
        assert isinstance(b, TensorSpec)
        self.activation = activation
        self.transpose_a, self.transpose_b = transpose_a, transpose_b
        self.a_bits, self.b_bits = matrix_unit.source_bits(config, silicon=ctx.silicon)
        types = {CONTAINERS[spec.layout.dtype] for spec in (a, b)}
        inner = a.shape[-2 if transpose_a else -1]
        self.rows = math.prod(a.shape) // inner if inner else 0
        work = math.prod(a.shape) * b.shape[-2 if transpose_b else -1]
        # A result of another type is not rounded to this one.
        narrow = types | {CONTAINERS[ctx.result.layout.dtype]} == {torch.bfloat16}
        self.onednn = narrow and onednn.takes(work, activation)
        # What comes after the product comes before it is rounded.
        narrow = narrow and (self.onednn or activation in (None, "relu"))
        self.dtype = torch.bfloat16 if narrow else torch.float32
        self.as_is = narrow and min(self.a_bits, self.b_bits) >= matrix_unit.BFLOAT16_BITS

    def kernel(self) -> Callable[..., Tensor] | Weighted:
        product, prepare = self.product(), self.prepare
        if self.as_is and not self.onednn:
            return self.plain()

        def call(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
            return product(a, self.sources(b), bias)

        def with_prepared(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
            return product(a, b, bias)

        return Weighted(call, prepare, with_prepared, self.restore if self.as_is and self.onednn else None)

    def plain(self) -> Callable[..., Tensor]:
        """torch's linear alone."""
        transpose_a, transpose_b, activation = self.transpose_a, self.transpose_b, self.activation

        def call(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
            row = bias if bias is None or bias.ndim == 1 else bias.reshape(-1)
            result = F.linear(a.transpose(-2, -1) if transpose_a else a, b if transpose_b else b.t(), row)
            return result.relu_() if activation else result

        return call

    def sources(self, b: Tensor) -> Tensor:
        """[N, K] as the registers hold it."""
        rows = b if self.transpose_b else b.t()
        return rows if self.as_is else matrix_unit.significant(rows.to(self.dtype), self.b_bits)

    def prepare(self, b: Tensor) -> Tensor:
        rows = self.sources(b)
        return onednn.ordered(rows, self.rows) if self.onednn else rows

    def restore(self, prepared: Tensor) -> Tensor:
        """The weights that were prepared as they are."""
        rows = onednn.plain(prepared)
        return rows if self.transpose_b else rows.t().contiguous()

    def product(self) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
        dtype, activation, as_is = self.dtype, self.activation, self.as_is
        transpose_a, by_onednn, plain = self.transpose_a, self.onednn, F.linear
        cut = matrix_unit.cutter(dtype, self.a_bits)

        def product(a: Tensor, rows: Tensor, bias: Tensor | None) -> Tensor:
            if transpose_a:
                a = a.transpose(-2, -1)
            if not as_is:
                a = cut(a if a.dtype is dtype else a.to(dtype))
            if bias is not None and (bias.ndim != 1 or bias.dtype is not dtype):
                bias = bias.reshape(-1).to(dtype)
            if by_onednn:
                return onednn.linear(a, rows, bias, activation)
            made = plain(a, rows, bias)
            return activate(made, activation) if activation else made

        return product


def _is_one_product(ctx: Context, transpose_b: bool, config: Config) -> bool:
    """Whether torch's linear is the whole op: float operands, weights of two dimensions, a bias that is a row of the
    result and of the input's type, and one product in float32."""
    a, b, bias = (ctx.operands.get(name) for name in ("a", "b", "bias"))
    if not isinstance(a, TensorSpec) or not isinstance(b, TensorSpec) or isinstance(bias, tuple):
        return False
    types = [CONTAINERS[spec.layout.dtype] for spec in (a, b)]
    one_product = matrix_unit.is_one_product(config, silicon=ctx.silicon)
    if len(b.shape) != 2 or len(a.shape) < 2 or not one_product or not set(types) <= {torch.bfloat16, torch.float32}:
        return False
    if bias is None:
        return True
    columns = b.shape[-2 if transpose_b else -1]
    row = bias.shape[-1:] == (columns,) and math.prod(bias.shape) == columns and len(bias.shape) <= len(a.shape)
    return row and CONTAINERS[bias.layout.dtype] is types[0]
