"""Collectives between the ranks of ``torch.distributed``."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def

from tt_xla.ir.base import TTOp, shape
from tt_xla.ir.properties import I64S, STR, UI32, opt_prop_def, prop_def
from tt_xla.ir.ranks import rows_of
from tt_xla.ir.shapes import Shape
from tt_xla.ir.ttcore import REDUCE_TYPE

KINDS = ("all_gather", "all_reduce", "all_to_all", "broadcast", "reduce_scatter")
_REDUCING = ("all_reduce", "reduce_scatter")


@irdl_op_definition
class RankCollectiveOp(TTOp):
    """Exchanges a tensor with the other ranks of a process group, along its first dimension.

    Ours. The other ranks run programs of their own and wait for this one, so the op is no :class:`Pure` one: it runs as
    often and in the same order as in the source, whether its result is used or not. The passes for a mesh, whose chips
    all run one program, do not know it. Fields are those of :class:`~tt_xla.ir.ranks.RankCollective`.
    """

    name = "ttir.rank_collective"
    input = operand_def(TensorType)
    kind = prop_def(STR)
    process_group = prop_def(STR)
    ranks = prop_def(UI32)
    chips = opt_prop_def(I64S)
    reduce_type = opt_prop_def(REDUCE_TYPE)
    root = opt_prop_def(UI32)
    sent = opt_prop_def(I64S)
    received = opt_prop_def(I64S)
    element_type = prop_def(STR)
    """StableHLO element type of what crosses: that of the source, in which the other ranks expect it."""
    result = result_def(TensorType)

    def verify_(self) -> None:
        if self.kind not in KINDS:
            self.fail(f"kind is {self.kind!r}, expected one of {', '.join(KINDS)}")
        if (self.reduce_type is None) == (self.kind in _REDUCING):
            named = " and ".join(_REDUCING)
            self.fail(f"{self.kind} has reduce_type {self.reduce_type}; {named} have one, and no other kind")
        before, after = shape(self.input), shape(self.result)
        if (self.sent is None) != (self.received is None) or (self.sent is not None and self.kind != "all_to_all"):
            self.fail(
                f"{self.kind} has sent {self.sent} and received {self.received}; an all_to_all has both or neither"
            )
        if self.sent is not None and self.received is not None:
            if before[:1] != (rows_of(self.sent),):
                self.fail(f"operand has shape {before}, expected {rows_of(self.sent)} rows, as sent {self.sent} says")
            before = (rows_of(self.received), *before[1:])
        if self.kind == "all_gather":
            before = _times(before, self.ranks)
        elif self.kind == "reduce_scatter":
            after = _times(after, self.ranks)
        if before != after:
            self.fail(
                f"{self.kind} of {self.ranks} ranks has an operand of shape {shape(self.input)} and a result of shape "
                f"{shape(self.result)}"
            )


def _times(sizes: Shape, count: int) -> Shape:
    """Returns the sizes of several tensors that lie one after another along the first dimension."""
    return (sizes[0] * count, *sizes[1:]) if sizes else sizes


OPS = (RankCollectiveOp,)
