"""Forms of TTIR that upstream's compiler printed before 2026, as the forms of today.

An op named the tensor for its result as a last operand::

    %0 = ttir.empty() : tensor<64x128xbf16>
    %1 = "ttir.add"(%a, %b, %0) <{operandSegmentSizes = array<i32: 2, 1>}> : ...

The dialect ``ttcore`` was named ``tt``, and some ops had other names.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.irdl.operations import OptionalDef, VariadicDef

from tt_xla.ir.base import TTOp, has_segments
from tt_xla.ir.ttir.creation import EmptyOp

SEGMENTS = "operandSegmentSizes"
CONSTRAINTS = "operand_constraints"
"""Attribute with the layouts that an op's operands may have, in texts of 2024. Layouts follow from the op today."""

_RENAMED = {"ttir.slice": "ttir.slice_static"}
"""Names of today's ops by their older names."""


def today(name: str) -> str:
    """Returns today's name of an op, attribute or type, whose older name ``name`` may be."""
    if name.startswith("tt."):
        return f"ttcore.{name.removeprefix('tt.')}"
    return _RENAMED.get(name, name)


@irdl_op_definition
class TensorEmptyOp(EmptyOp):
    """The op of MLIR's dialect ``tensor`` that older texts use as ``ttir.empty``."""

    name = "tensor.empty"


def drop_destinations(module: ModuleOp) -> None:
    """Removes the operands that name the tensor of an op's result, and the ``empty`` ops that nothing uses then."""
    empties: list[EmptyOp] = []
    for op in module.walk():
        if isinstance(op, EmptyOp):
            empties.append(op)
        elif isinstance(op, TTOp) and op.name.startswith("ttir."):
            _drop_destination(op)
    for empty in empties:
        if not empty.result.uses:
            empty.detach()
            empty.erase()


def _drop_destination(op: TTOp) -> None:
    """Removes the operands of an op that name the tensors of its results, if it has any."""
    op.properties.pop(CONSTRAINTS, None)
    segments = _take_segments(op)
    count = len(op.results)
    inputs, destinations = op.operands[:-count], op.operands[-count:]
    types_match = [value.type for value in destinations] == [value.type for value in op.results]
    if not count or not types_match or not (_too_many(op, segments) or all(map(_is_empty, destinations))):
        return
    op.operands = inputs
    if segments is not None and has_segments(type(op)):
        kept = segments[:-1] if len(segments) > _declared(op) else [*segments[:-1], 0]
        op.properties[SEGMENTS] = DenseArrayBase.from_list(i32, kept)


def _take_segments(op: TTOp) -> list[int] | None:
    """Returns the sizes of an op's groups of operands; removes them from an op that has no groups today."""
    attribute = op.properties.get(SEGMENTS) or op.attributes.get(SEGMENTS)
    if not isinstance(attribute, DenseArrayBase):
        return None
    if not has_segments(type(op)):
        op.properties.pop(SEGMENTS, None)
        op.attributes.pop(SEGMENTS, None)
    return [int(size) for size in attribute.iter_values()]


def _too_many(op: TTOp, segments: list[int] | None) -> bool:
    """Whether an op has more operands than today's form of it can take."""
    if segments is not None and has_segments(type(op)):
        return len(segments) > _declared(op)
    operands = [operand for _, operand in op.get_irdl_definition().operands]
    if any(isinstance(operand, VariadicDef) and not isinstance(operand, OptionalDef) for operand in operands):
        return segments is not None and len(segments) == len(operands) + 1
    return len(op.operands) > len(operands)


def _declared(op: TTOp) -> int:
    """Returns the number of operands that an op's class declares, each group counted once."""
    return len(op.get_irdl_definition().operands)


def _is_empty(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and isinstance(owner, EmptyOp)
