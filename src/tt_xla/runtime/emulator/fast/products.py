"""Products with weights of two dimensions, with weights prepared once for many calls.

Large products are oneDNN's, with weights in its own memory order. The others have weights in panels of columns, cut to
the bits that the matrix unit reads, and the order of additions of :mod:`~tt_xla.runtime.emulator.sums`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import matrix_unit, sums, threads
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Call, Context, Weighted
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.functions import activate, fused_activation

Tensor = torch.Tensor


def take(context: Context, attributes: Mapping[str, Any]) -> Call | Weighted | None:
    """Returns the call of a product that is one product of matrices with weights [K, N]; None for other products."""
    if list(context.operands)[:3] not in (["a", "b"], ["a", "b", "bias"]) or not is_one_product(context, attributes):
        return None
    linear = Linear(context, attributes)
    return linear.by_library() if linear.is_large else linear.in_panels()


class Linear:
    """A product with weights of two dimensions.

    Args:
        context: facts about the instruction, which :func:`is_one_product` accepts.
        attributes: its attributes.
    """

    def __init__(self, context: Context, attributes: Mapping[str, Any]) -> None:
        a, b = context.spec("a"), context.spec("b")
        self._dtypes = {CONTAINERS[spec.layout.dtype] for spec in (a, b, context.result)}
        self._weights_dtype = CONTAINERS[b.layout.dtype]
        self._silicon = context.silicon
        self.activation = fused_activation(attributes.get("activation"), attributes.get("matmul_program_config"))
        self.transpose_a = bool(attributes.get("transpose_a"))
        self.transpose_b = bool(attributes.get("transpose_b"))
        config = attributes.get("compute_config")
        self.a_bits, self.b_bits = matrix_unit.source_bits(config, silicon=context.silicon)
        self.inner = a.shape[-2 if self.transpose_a else -1]
        self.columns = b.shape[-2 if self.transpose_b else -1]
        self.rows = math.prod(a.shape) // self.inner if self.inner else 0
        self.is_large = sums.is_large(self.rows, self.inner, self.columns)
        """Whether the product is a library's."""

    def in_panels(self) -> Weighted:
        """Returns the product with weights in panels."""
        activation, columns, transpose_a = self.activation, self.columns, self.transpose_a
        cut = matrix_unit.cutter(torch.float32, self.a_bits)

        def with_prepared(a: Tensor, panels: Tensor, bias: Tensor | None = None) -> Tensor:
            a = cut((a.transpose(-2, -1) if transpose_a else a).to(torch.float32))
            result = sums.times_packed(a.reshape(-1, a.shape[-1]), panels, columns).view(*a.shape[:-1], columns)
            if bias is not None:
                result = result.add_(bias.reshape(-1).to(torch.float32))
            return activate(result, activation) if activation else result

        def with_weights(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
            if not (a.numel() and b.numel()):
                panels = b.new_zeros(-(-columns // sums.LANES), b.shape[1 if self.transpose_b else 0], sums.LANES)
                return with_prepared(a, panels, bias)
            return with_prepared(a, self.packed(b), bias)

        keeps_bits = self.b_bits >= matrix_unit.SIGNIFICANT[self._weights_dtype]
        return Weighted(with_weights, self.packed, with_prepared, self.unpacked, keeps_bits)

    def packed(self, b: Tensor) -> Tensor:
        """Returns weights in panels."""
        return sums.packed(b.t() if self.transpose_b else b, matrix_unit.mask_of(self.b_bits))

    def unpacked(self, panels: Tensor) -> Tensor:
        """Returns weights that were packed, as the op takes them."""
        matrix = sums.unpacked(panels, self.columns)
        return matrix.t().contiguous() if self.transpose_b else matrix

    def by_library(self) -> Call | Weighted:
        """Returns the product by oneDNN or torch; where preparing weights saves time, in two forms."""
        # A product in bfloat16 is rounded to bfloat16 at once, after what oneDNN or an exact function applies to it.
        ends_in_onednn = onednn.takes(torch.bfloat16, self.activation, approximates=self._silicon)
        ends_exactly = ends_in_onednn or (self.activation in (None, "relu") and onednn.is_fast(torch.bfloat16))
        dtype = torch.bfloat16 if self._dtypes == {torch.bfloat16} and ends_exactly else torch.float32
        by_onednn = onednn.takes(dtype, self.activation, approximates=self._silicon)
        as_is = self._dtypes == {dtype} and min(self.a_bits, self.b_bits) >= matrix_unit.SIGNIFICANT[dtype]
        activation, transpose_a, transpose_b = self.activation, self.transpose_a, self.transpose_b
        cut = matrix_unit.cutter(dtype, self.a_bits)

        def sources(b: Tensor) -> Tensor:
            """Returns weights [N, K] as the matrix unit's registers hold them."""
            rows = b if transpose_b else b.t()
            if by_onednn and not rows.t().is_contiguous():
                # For weights with gaps between their rows, such as a part of a larger tensor, oneDNN takes ten thousand
                # times as long.
                rows = rows.contiguous()
            return rows if as_is else matrix_unit.significant(rows.to(dtype), self.b_bits)

        def with_prepared(a: Tensor, rows: Tensor, bias: Tensor | None = None) -> Tensor:
            a = a.transpose(-2, -1) if transpose_a else a
            a = a if as_is else cut(a.to(dtype))
            if bias is not None and (bias.ndim != 1 or bias.dtype is not dtype):
                bias = bias.reshape(-1).to(dtype)
            if by_onednn:
                return onednn.linear(a, rows, bias, activation)
            result = threads.product(a, rows.t())
            result = result if bias is None else result.add_(bias)
            return activate(result, activation) if activation else result

        def with_weights(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
            return with_prepared(a, sources(b), bias)

        def prepare(b: Tensor) -> Tensor:
            return onednn.ordered(sources(b), self.rows) if by_onednn else sources(b)

        def restore(prepared: Tensor) -> Tensor:
            rows = onednn.plain(prepared).to(self._weights_dtype)
            return rows if transpose_b else rows.t().contiguous()

        if as_is and not by_onednn:
            return with_weights
        return Weighted(with_weights, prepare, with_prepared, restore, as_is)


def is_one_product(context: Context, attributes: Mapping[str, Any]) -> bool:
    """Whether the op is one product of float matrices with a 32-bit accumulator, weights of two dimensions, and a bias,
    if any, that is a row of the result in the activations' dtype."""
    a, b, bias = (context.operands.get(name) for name in ("a", "b", "bias"))
    if not isinstance(a, TensorSpec) or not isinstance(b, TensorSpec) or isinstance(bias, tuple):
        return False
    dtypes = [CONTAINERS[spec.layout.dtype] for spec in (a, b)]
    one_product = matrix_unit.is_one_product(attributes.get("compute_config"), silicon=context.silicon)
    if len(b.shape) != 2 or len(a.shape) < 2 or not one_product or not set(dtypes) <= {torch.bfloat16, torch.float32}:
        return False
    if bias is None:
        return True
    columns = b.shape[-2 if attributes.get("transpose_b") else -1]
    is_row = bias.shape[-1:] == (columns,) and math.prod(bias.shape) == columns and len(bias.shape) <= len(a.shape)
    return is_row and CONTAINERS[bias.layout.dtype] is dtypes[0]
