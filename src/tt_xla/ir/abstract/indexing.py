"""Ops that take or put elements by position, and those that find positions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure

from tt_xla.ir import shapes
from tt_xla.ir.abstract import ShapedOp, TensorOp
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, I32, I64S, UI32, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ttcore import REDUCE_TYPE


class Scatter(TensorOp, ABC):
    """``torch.scatter_reduce``: each element of ``source`` joins the one of ``input`` that ``index`` names along
    ``dim``; the reduction ``invalid`` assigns."""

    input = operand_def(TensorType)
    index = operand_def(TensorType)
    source = operand_def(TensorType)
    scatter_reduce_type = prop_def(REDUCE_TYPE)
    if TYPE_CHECKING:
        dim: int
        """Declared by each dialect, as ``i32`` or ``si32``."""

    def result_shape(self) -> shapes.Shape:
        whole, index = shape(self.input), shape(self.index)
        (dim,) = shapes.normalise_dims((self.dim,), len(whole))
        self.expect("source", index)
        inside = len(index) == len(whole) and all(
            size <= limit for at, (size, limit) in enumerate(zip(index, whole, strict=True)) if at != dim
        )
        self.need(inside, f"index of shape {index} does not lie in an operand of shape {whole} along {dim}")
        return whole


class EmbeddingBackward(TensorOp, ABC):
    """The gradient of a table ``weight`` [V, D] of which ``input`` took rows, from that of the rows."""

    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    in_gradient = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        table, gradient = shape(self.weight), shape(self.in_gradient)
        self.need(gradient[-1:] == table[-1:], f"in_gradient has shape {gradient}, weight has {table}")
        return table


class Sort(ShapedOp, ABC):
    """Values in order along ``dim`` and the positions that they had."""

    traits = traits_def(Pure())
    input = operand_def(TensorType)
    descending = defaulted(BOOL, False)
    stable = defaulted(BOOL, False)
    if TYPE_CHECKING:
        dim: int
        """Declared by each dialect, as ``i32`` or ``si32``."""
    values_ = result_def(TensorType)
    indices = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        shapes.normalise_dims((self.dim,), len(shape(self.input)))
        return (shape(self.input),) * 2


class TopK(ShapedOp, ABC):
    """The ``k`` greatest values along ``dim``, or the least, and their positions."""

    traits = traits_def(Pure())
    input_tensor = operand_def(TensorType)
    k = prop_def(I32)
    largest = defaulted(BOOL, True)
    sorted = defaulted(BOOL, False)
    if TYPE_CHECKING:
        dim: int
        """Declared by each dialect, as ``i32`` or ``si32``."""
    values_ = result_def(TensorType)
    indices = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        whole, count = shape(self.input_tensor), self.k
        (dim,) = shapes.normalise_dims((self.dim,), len(whole))
        self.need(0 < count <= whole[dim], f"k = {count} is not within 1 to {whole[dim]}, the size along {dim}")
        return ((*whole[:dim], count, *whole[dim + 1 :]),) * 2


class TopKRouter(ShapedOp, ABC):
    """Scores input [B, I] @ weight [I, E] + bias [B, E] of E experts; positions and weights of the ``k`` best, padded
    to a multiple of 8."""

    traits = traits_def(Pure())
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = operand_def(TensorType)
    k = prop_def(I32)
    num_experts = prop_def(I32)
    expert_indices = result_def(TensorType)
    expert_weights = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        rows, inner = self.rank("input", 2)
        experts = self.num_experts
        self.expect("weight", (inner, experts))
        self.expect("bias", (rows, experts))
        self.need(0 < self.k <= experts, f"k = {self.k} is not within 1 to {experts} experts")
        return ((rows, -(-self.k // 8) * 8),) * 2


class Sampling(TensorOp, ABC):
    """A candidate of each row of [B, N], drawn among the ``k`` best within probability ``p`` at a temperature."""

    input_values = operand_def(TensorType)
    input_indices = operand_def(TensorType)
    k = operand_def(TensorType)
    p = operand_def(TensorType)
    temp = operand_def(TensorType)
    seed = opt_prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        rows, candidates = self.rank("input_values", 2)
        self.expect("input_indices", (rows, candidates))
        for name in ("k", "p", "temp"):
            self.expect(name, (rows,))
        return (rows,)


class RowsGather(TensorOp, ABC):
    """Rows of ``input`` [B, R, C], or columns with ``column``, at the positions in ``index`` [B, K, N].

    The release of upstream's compiler that JAX users install has this op; its sources do not.
    """

    input = operand_def(TensorType)
    index = operand_def(TensorType)
    column = prop_def(BOOL)
    fill_out_of_bounds = prop_def(BOOL)
    sizes = prop_def(I64S)
    """Sizes of the dimensions that the rows were collapsed from."""
    windows = prop_def(I64S)
    """How many elements each position takes along them."""

    def result_shape(self) -> None:
        check_rows(self)


class RowsScatter(TensorOp, ABC):
    """``source`` put or reduced into ``input`` at the positions in ``index``; see :class:`RowsGather`."""

    input = operand_def(TensorType)
    index = operand_def(TensorType)
    source = operand_def(TensorType)
    column = prop_def(BOOL)
    reduce = prop_def(REDUCE_TYPE)
    sizes = prop_def(I64S)
    windows = prop_def(I64S)

    def result_shape(self) -> shapes.Shape:
        check_rows(self)
        return shape(self.input)


def check_rows(op: RowsGather | RowsScatter) -> None:
    op.rank("input", 3)
    sizes, windows = op.sizes, op.windows
    op.need(len(sizes) == len(windows), f"sizes {sizes} and windows {windows} differ in length")
