"""Ops that read or write elements at positions, and ops that find positions."""

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
    """Computes ``torch.scatter_reduce``: combines each element of ``source`` with an element of ``input``.

    ``index`` gives the position of that element along ``dim``; the reduction ``invalid`` replaces the element.
    """

    input = operand_def(TensorType)
    index = operand_def(TensorType)
    source = operand_def(TensorType)
    scatter_reduce_type = prop_def(REDUCE_TYPE)
    if TYPE_CHECKING:
        dim: int
        """Declared by each dialect, as ``i32`` or ``si32``."""

    def result_shape(self) -> shapes.Shape:
        (dim,) = shapes.normalise_dims((self.dim,), len(shape(self.input)))
        self.expect_shape("source", shape(self.index))
        shapes.check_index(shape(self.index), shape(self.input), dim)
        return shape(self.input)


class EmbeddingBackward(TensorOp, ABC):
    """Computes the gradient of the table ``weight`` [V, D] from that of the rows that ``input`` selected."""

    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    in_gradient = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        table, gradient = shape(self.weight), shape(self.in_gradient)
        self.require(gradient[-1:] == table[-1:], f"in_gradient has shape {gradient}, weight has {table}")
        return table


class Sort(ShapedOp, ABC):
    """Sorts along ``dim``; also returns the position that each value had."""

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
    """Selects the ``k`` greatest values along ``dim``, or the least; also returns their positions."""

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
        input_shape, count = shape(self.input_tensor), self.k
        (dim,) = shapes.normalise_dims((self.dim,), len(input_shape))
        self.require(
            0 < count <= input_shape[dim], f"k = {count} is not within 1 to {input_shape[dim]}, the size along {dim}"
        )
        return ((*input_shape[:dim], count, *input_shape[dim + 1 :]),) * 2


class TopKRouter(ShapedOp, ABC):
    """Scores E experts by input [B, I] @ weight [I, E] + bias [B, E] and selects the ``k`` best.

    Returns positions and weights of the selected experts, padded to a multiple of 8.
    """

    traits = traits_def(Pure())
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = operand_def(TensorType)
    k = prop_def(I32)
    num_experts = prop_def(I32)
    expert_indices = result_def(TensorType)
    expert_weights = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        rows, inner = self.shape_of_rank("input", 2)
        experts = self.num_experts
        self.expect_shape("weight", (inner, experts))
        self.expect_shape("bias", (rows, experts))
        self.require(0 < self.k <= experts, f"k = {self.k} is not within 1 to {experts} experts")
        return ((rows, -(-self.k // 8) * 8),) * 2


class Sampling(TensorOp, ABC):
    """Draws a candidate of each row of [B, N] among the ``k`` best within probability ``p`` at temperature ``temp``."""

    input_values = operand_def(TensorType)
    input_indices = operand_def(TensorType)
    k = operand_def(TensorType)
    p = operand_def(TensorType)
    temp = operand_def(TensorType)
    seed = opt_prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        rows, candidates = self.shape_of_rank("input_values", 2)
        self.expect_shape("input_indices", (rows, candidates))
        for name in ("k", "p", "temp"):
            self.expect_shape(name, (rows,))
        return (rows,)


class RowsGather(TensorOp, ABC):
    """Reads rows of ``input`` [B, R, C], or columns with ``column``, at the positions in ``index`` [B, K, N].

    Only the release of upstream's compiler that JAX users install has this op; the published sources do not.
    """

    input = operand_def(TensorType)
    index = operand_def(TensorType)
    column = prop_def(BOOL)
    fill_out_of_bounds = prop_def(BOOL)
    sizes = prop_def(I64S)
    """Sizes of the dimensions that were collapsed into the rows."""
    windows = prop_def(I64S)
    """Number of elements that each position reads along these dimensions."""

    def result_shape(self) -> None:
        check_rows(self)


class RowsScatter(TensorOp, ABC):
    """Writes or reduces ``source`` into ``input`` at the positions in ``index``; see :class:`RowsGather`."""

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
    """Checks the input's rank and that ``sizes`` and ``windows`` have equal lengths.

    Raises:
        ValueError: a check failed.
    """
    op.shape_of_rank("input", 3)
    sizes, windows = op.sizes, op.windows
    op.require(len(sizes) == len(windows), f"sizes {sizes} and windows {windows} differ in length")
