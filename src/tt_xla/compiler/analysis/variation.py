"""Query along which axes of the mesh the chips may hold different values."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from tt_xla.compiler.meshes import mesh_shape_of
from tt_xla.compiler.rewriting import body, is_pure
from tt_xla.ir.control import subprograms
from tt_xla.ir.program import SHARDED_AXES
from tt_xla.ir.properties import I64S
from tt_xla.ir.ttir.collective import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    CollectivePermuteOp,
    MeshPartitionOp,
    ReduceScatterOp,
)
from tt_xla.ir.ttir.creation import RandOp

Axes = frozenset[int]

_ANYWHERE = (AllToAllOp, CollectivePermuteOp, CollectiveBroadcastOp, RandOp)
"""Ops after which chips may differ along all axes."""


def varying_axes(function: FuncOp) -> dict[SSAValue, Axes]:
    """Returns, for each value of a TTIR function, the axes along which chips may hold different tensors.

    Nothing is known of arguments without ``tt.sharded_axes``, nor of the results of loops, cases and callbacks.
    """
    everywhere = frozenset(range(len(mesh_shape_of(function))))
    block = body(function)
    axes: dict[SSAValue, Axes] = {}
    for argument in block.args:
        axes[argument] = _of_argument(function, argument.index, everywhere)
    for op in block.ops:
        varying: Axes = frozenset().union(*(axes[operand] for operand in op.operands))
        if isinstance(op, AllGatherOp | AllReduceOp):
            varying -= {op.cluster_axis}
        elif isinstance(op, ReduceScatterOp):
            varying |= {op.cluster_axis}
        elif isinstance(op, MeshPartitionOp):
            varying = everywhere if op.cluster_axis is None else varying | {op.cluster_axis}
        elif isinstance(op, _ANYWHERE) or not is_pure(op) or subprograms(op):
            varying = everywhere
        axes.update(dict.fromkeys(op.results, varying))
    return axes


def _of_argument(function: FuncOp, index: int, everywhere: Axes) -> Axes:
    if function.arg_attrs is None:
        return everywhere
    attribute = function.arg_attrs.data[index].data.get(SHARDED_AXES)
    return everywhere if attribute is None else frozenset(I64S.decode(attribute))
