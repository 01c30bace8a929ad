"""Products with weights of two dimensions: one call of oneDNN or torch, with weights prepared once for many calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import matrix_unit, threads
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Call, Context, Weighted
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.functions import activate, fused_activation

Tensor = torch.Tensor

SMALL_PRODUCT = 1 << 16
"""Multiplications up to which a product may be part of a fused kernel, which reads its weights as they are."""

_ROW_WEIGHTS = 1 << 22
"""Elements of weights up to which torch multiplies one row by them: weights that come anew in each run are copied into
the other order in 3 ms, and oneDNN is as quick for more of them."""

_VECTOR = 16
"""Columns of which a block has a multiple: floats of the widest vector register."""

_BLOCKS = (8, 6, 4)
"""Numbers of blocks of columns. Weights that one row is multiplied by have the number that wants least filling. Threads
share blocks, and one thread computes each, so that the order of additions does not depend on the number of threads."""


def take(context: Context, attributes: Mapping[str, Any]) -> Call | Weighted | None:
    """Returns the call of a product that is one product of matrices with weights [K, N]; None for other products."""
    if list(context.operands)[:3] not in (["a", "b"], ["a", "b", "bias"]) or not is_one_product(context, attributes):
        return None
    return Linear(context, attributes).call()


class Linear:
    """A product with weights of two dimensions, all operands in one dtype."""

    def __init__(self, context: Context, attributes: Mapping[str, Any]) -> None:
        a, b = context.spec("a"), context.spec("b")
        self.weights_dtype = CONTAINERS[b.layout.dtype]
        self.activation = fused_activation(attributes.get("activation"), attributes.get("matmul_program_config"))
        self.transpose_a = bool(attributes.get("transpose_a"))
        self.transpose_b = bool(attributes.get("transpose_b"))
        config = attributes.get("compute_config")
        self.a_bits, self.b_bits = matrix_unit.source_bits(config, silicon=context.silicon)
        inner = a.shape[-2 if self.transpose_a else -1]
        self.is_small = math.prod(context.result.shape) * inner <= SMALL_PRODUCT
        self.rows = math.prod(a.shape) // inner if inner else 0
        # A product in bfloat16 is rounded to bfloat16 at once, after what oneDNN or an exact function applies to it.
        dtypes = {CONTAINERS[spec.layout.dtype] for spec in (a, b, context.result)}
        approximates = context.silicon
        ends_in_onednn = onednn.takes(torch.bfloat16, self.activation, approximates=approximates)
        ends_exactly = ends_in_onednn or (self.activation in (None, "relu") and onednn.is_fast(torch.bfloat16))
        self.dtype = torch.bfloat16 if dtypes == {torch.bfloat16} and ends_exactly else torch.float32
        empty = not (math.prod(a.shape) and math.prod(b.shape))
        taken = not empty and onednn.takes(self.dtype, self.activation, approximates=approximates)
        one_row = self.rows == 1 and math.prod(b.shape) <= _ROW_WEIGHTS
        self.is_row = taken and one_row and self.dtype is torch.float32
        """Whether torch multiplies one row by weights [K, N]. oneDNN takes five times as long for small weights, and
        twice as long for large ones of few columns, which it reads by one thread. With weights in that order torch's
        bits do not depend on the addresses."""
        self.in_blocks = self.is_row and not self.is_small
        """Whether the weights of one row are blocks of columns."""
        self.columns = b.shape[-2 if self.transpose_b else -1]
        self.by_onednn = taken and not self.is_row
        self.as_is = dtypes == {self.dtype} and min(self.a_bits, self.b_bits) >= matrix_unit.SIGNIFICANT[self.dtype]
        """Whether the matrix unit's registers hold all bits of both operands."""

    def call(self) -> Call | Weighted:
        """Returns the product; where preparing weights saves time, with weights as they are and with prepared ones."""
        product = self._product()

        def with_weights(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
            return product(a, self._sources(b), bias)

        def with_prepared(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
            return product(a, b, bias)

        if self.as_is and not (self.by_onednn or self.is_row):
            return with_weights
        return Weighted(with_weights, self._prepare, with_prepared, self._restore, self.as_is, self.is_small)

    def _sources(self, b: Tensor) -> Tensor:
        """Returns weights as the matrix unit's registers hold them: [N, K]; for one row [K, N], or blocks of that."""
        rows = b if self.transpose_b != self.is_row else b.t()
        if self.is_row:
            rows = _in_blocks(rows) if self.in_blocks else rows.contiguous()
        if self.by_onednn and (self.rows == 1 or not rows.t().is_contiguous()):
            # oneDNN adds the terms of a single row in another order when the weights lie transposed. Prepared weights
            # never do, so the bits would change in the run in which the weights are prepared. For weights with gaps
            # between their rows, such as a part of a larger tensor, oneDNN takes ten thousand times as long.
            rows = rows.contiguous()
        return rows if self.as_is else matrix_unit.significant(rows.to(self.dtype), self.b_bits)

    def _prepare(self, b: Tensor) -> Tensor | None:
        rows = self._sources(b)
        if self.is_row and rows is b:  # there is nothing to prepare, and a call keeps no reference to its weights
            return None
        return onednn.ordered(rows, self.rows) if self.by_onednn else rows

    def _restore(self, prepared: Tensor) -> Tensor:
        rows = _from_blocks(prepared, self.columns) if self.in_blocks else onednn.plain(prepared)
        rows = rows.to(self.weights_dtype)
        return rows if self.transpose_b != self.is_row else rows.t().contiguous()

    def _product(self) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
        dtype, activation, as_is = self.dtype, self.activation, self.as_is
        transpose_a, by_onednn = self.transpose_a, self.by_onednn
        linear: Callable[[Tensor, Tensor, Tensor | None], Tensor] = _times_rows
        if self.is_row:
            linear = _times_blocks(self.columns) if self.in_blocks else _times_columns
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
            result = linear(a, rows, bias)
            return activate(result, activation) if activation else result

        return product


def _times_rows(a: Tensor, rows: Tensor, bias: Tensor | None) -> Tensor:
    """Returns ``a @ rows.T + bias`` for weights [N, K]."""
    result = threads.product(a, rows.t())
    return result if bias is None else result.add_(bias)


def _times_columns(a: Tensor, columns: Tensor, bias: Tensor | None) -> Tensor:
    """Returns ``a @ columns + bias`` for one row and weights [K, N]."""
    product = threads.product_by_one_thread(a, columns)
    return product if bias is None else product.add_(bias)


def _in_blocks(columns: Tensor) -> Tensor:
    """Returns weights [K, N] as blocks of columns, [blocks, K, N / blocks], with zeros after the last column."""
    inner, count = columns.shape

    def filled(blocks: int) -> int:
        """Returns the number of columns with as many zeros after them as make the blocks equal."""
        return math.ceil(count / (blocks * _VECTOR)) * blocks * _VECTOR

    blocks = min(_BLOCKS, key=filled)
    wide = filled(blocks)
    padded = columns if wide == count else F.pad(columns, (0, wide - count))
    return padded.reshape(inner, blocks, -1).permute(1, 0, 2).contiguous()


def _from_blocks(blocks: Tensor, columns: int) -> Tensor:
    return blocks.permute(1, 0, 2).flatten(1)[:, :columns].contiguous()


def _times_blocks(columns: int) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
    """Returns the function that multiplies one row by :func:`_in_blocks` of weights with this number of columns."""

    def product(a: Tensor, blocks: Tensor, bias: Tensor | None) -> Tensor:
        row = a.reshape(1, 1, -1).expand(len(blocks), 1, -1)
        result = torch.bmm(row, blocks).reshape(*a.shape[:-1], -1)
        result = result if result.shape[-1] == columns else result[..., :columns].contiguous()
        return result if bias is None else result.add_(bias)

    return product


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
