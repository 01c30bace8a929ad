"""Lowering of collectives between the ranks of ``torch.distributed``, which work along the first dimension."""

from __future__ import annotations

import math
from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir.base import TTOp, shape
from tt_xla.ir.layout import TILE, DataType, TensorLayout
from tt_xla.ir.mesh import Shape
from tt_xla.ir.ranks import CLUSTER_AXIS
from tt_xla.ir.ttir import ranks as source
from tt_xla.ir.ttnn import collective as target
from tt_xla.ir.ttnn.attributes import laid_out

_MOST_ROOM = 4
"""Room in tiles for each element, up to which a tensor is exchanged in tiles."""

_TARGETS: dict[str, tuple[type[TTOp], tuple[str, ...]]] = {
    "all_gather": (target.AllGatherOp, ("all_gather_dim",)),
    "all_reduce": (target.AllReduceOp, ()),
    "all_to_all": (target.AllToAllOp, ("split_dim", "concat_dim")),
    "broadcast": (target.BroadcastOp, ()),
    "reduce_scatter": (target.ReduceScatterOp, ("scatter_dim",)),
}
"""TTNN op of each kind, and its properties that name the first dimension."""


@lowers(source.RankCollectiveOp)
def rank_collective(lowering: Lowering, op: source.RankCollectiveOp) -> SSAValue:
    """Lowers a collective. No element type is converted: integers are added as integers, by the ranks themselves.

    Flat buffers, which data-parallel training exchanges, stay row-major: a row of tiles would be 32 rows on the links.
    """
    kind, dims = _TARGETS[op.kind]
    sizes, dtype = lowering.result(op)
    values: dict[str, Any] = op.values() | dict.fromkeys(dims, 0)
    del values["kind"]
    tiled = not any(_is_mostly_padding(each, dtype) for each in (shape(op.input), sizes))
    return lowering.add(
        kind,
        [lowering.laid_out(op.input, tiled=tiled)],
        laid_out(sizes, TensorLayout.of(sizes, dtype, tiled=tiled)),
        cluster_axis=CLUSTER_AXIS,
        effects=True,
        **values,
    )


def _is_mostly_padding(sizes: Shape, dtype: DataType) -> bool:
    """Returns whether the tiles of a tensor have room for several times its elements."""
    return TensorLayout.of(sizes, dtype).pages * TILE * TILE > _MOST_ROOM * max(math.prod(sizes), TILE * TILE)
