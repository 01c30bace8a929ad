"""Collective ops between the chips of a mesh.

``cluster_axis`` is the axis of the mesh that takes part. The op does not know the size of the axis, so the verifier
only checks that a dimension which the axis splits or joins is an integer multiple or fraction.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import LikeInput, TensorOp
from tt_xla.ir.base import shape
from tt_xla.ir.properties import SI32, UI32, opt_prop_def, prop_def
from tt_xla.ir.ttcore import REDUCE_TYPE


class _AlongDim(TensorOp, ABC):
    """An op whose result differs from ``input`` along one dimension only."""

    input = operand_def(TensorType)

    def sizes(self, name: str, dim: int) -> tuple[int, int]:
        """Returns the sizes of a dimension in ``input`` and in ``result``.

        Args:
            name: name of the property that gives the dimension, for the message.
            dim: the dimension.

        Raises:
            ValueError: input and result differ in another dimension.
        """
        before, after = shape(self.input), shape(self.result)
        (dim,) = shapes.normalise_dims((dim,), len(before))
        same = len(after) == len(before) and before[:dim] == after[:dim] and before[dim + 1 :] == after[dim + 1 :]
        self.require(same, f"result of shape {after} differs from the operand of shape {before} outside {name} {dim}")
        return before[dim], after[dim]


class AllGather(_AlongDim, ABC):
    """Joins the tensors of all chips along ``all_gather_dim``."""

    all_gather_dim = prop_def(SI32)
    cluster_axis = prop_def(UI32)

    def result_shape(self) -> None:
        before, after = self.sizes("all_gather_dim", self.all_gather_dim)
        self.require(
            before == after or (before > 0 and after % before == 0),
            f"result has size {after} along all_gather_dim, expected a multiple of {before}",
        )


class AllReduce(LikeInput, ABC):
    """Reduces over all chips; each chip has the result."""

    reduce_type = prop_def(REDUCE_TYPE)
    cluster_axis = prop_def(UI32)


class ReduceScatter(_AlongDim, ABC):
    """Reduces over all chips; each chip has its part of the result along ``scatter_dim``."""

    reduce_type = prop_def(REDUCE_TYPE)
    scatter_dim = prop_def(SI32)
    cluster_axis = prop_def(UI32)

    def result_shape(self) -> None:
        before, after = self.sizes("scatter_dim", self.scatter_dim)
        self.require(
            before == after or (after > 0 and before % after == 0),
            f"result has size {after} along scatter_dim, expected a divisor of {before}",
        )


class MeshPartition(_AlongDim, ABC):
    """Takes each chip's part along ``dim`` of a tensor that all chips have."""

    dim = prop_def(SI32)
    cluster_axis = opt_prop_def(UI32)

    def result_shape(self) -> None:
        before, after = self.sizes("dim", self.dim)
        self.require(
            before == after or (after > 0 and before % after == 0),
            f"result has size {after} along dim, expected a divisor of {before}",
        )
