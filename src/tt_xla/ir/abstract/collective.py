"""Exchange between the chips of a mesh. ``cluster_axis`` is the axis of the mesh that takes part; its size is not in
the op, so that a dimension that it splits or joins is only checked to be a whole multiple or part."""

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
    """The result differs from ``input`` along one dimension."""

    input = operand_def(TensorType)

    def sizes(self, name: str) -> tuple[int, int]:
        """Of the dimension that the property ``name`` gives, in input and result; all others must agree."""
        before, after = shape(self.input), shape(self.result)
        (dim,) = shapes.normalise_dims((self.value(name),), len(before))
        same = len(after) == len(before) and all(
            a == b for at, (a, b) in enumerate(zip(before, after, strict=True)) if at != dim
        )
        self.need(same, f"the result {after} differs from the operand {before} besides {name} {dim}")
        return before[dim], after[dim]


class AllGather(_AlongDim, ABC):
    """The parts of all chips one after the other along ``all_gather_dim``."""

    all_gather_dim = prop_def(SI32)
    cluster_axis = prop_def(UI32)

    def result_shape(self) -> None:
        before, after = self.sizes("all_gather_dim")
        self.need(before == after or (before > 0 and after % before == 0), f"{after} is no multiple of {before}")


class AllReduce(LikeInput, ABC):
    """The reduction over all chips, on each of them."""

    reduce_type = prop_def(REDUCE_TYPE)
    cluster_axis = prop_def(UI32)


class ReduceScatter(_AlongDim, ABC):
    """The reduction over all chips, of which each has its part along ``scatter_dim``."""

    reduce_type = prop_def(REDUCE_TYPE)
    scatter_dim = prop_def(SI32)
    cluster_axis = prop_def(UI32)

    def result_shape(self) -> None:
        before, after = self.sizes("scatter_dim")
        self.need(before == after or (after > 0 and before % after == 0), f"{before} is no multiple of {after}")


class MeshPartition(_AlongDim, ABC):
    """Each chip's part along ``dim`` of a tensor that all of them have."""

    dim = prop_def(SI32)
    cluster_axis = opt_prop_def(UI32)

    def result_shape(self) -> None:
        before, after = self.sizes("dim")
        self.need(before == after or (after > 0 and before % after == 0), f"{before} is no multiple of {after}")
