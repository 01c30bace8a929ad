"""Regions of StableHLO ops as functions of their own: bodies and conditions of loops, branches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.stablehlo.context import ImportContext, ValueTable
from tt_xla.compiler.stablehlo.conversion import convert_block
from tt_xla.compiler.stablehlo.outline import walk
from tt_xla.ir.control import CaseOp, WhileLoopOp, subprograms
from tt_xla.ir.program import FUNCTION_TYPE, FunctionKind, Role
from tt_xla.ir.ttcore import ArgumentTypeAttr
from tt_xla.ir.ttir.creation import ArangeOp, ConstantOp, FullOp
from tt_xla.ir.ttir.structure import BroadcastOp, PermuteOp, ReshapeOp, TypecastOp

MOST_COPIED_BYTES = 256
"""Constants of more bytes reach a function as arguments; the others it has itself, for its passes to see."""


def used_from_outside(op: Any) -> list[Any]:
    """StableHLO values that the regions of an op use and do not make, in order."""
    ops = [inner for region in op.regions for block in region.blocks for top in block.operations for inner in walk(top)]
    made = {result for inner in ops for result in inner.results}
    for block in _blocks(op, ops):
        made.update(block.arguments)
    used = dict.fromkeys(operand for inner in ops for operand in inner.operands)
    return [value for value in used if value not in made]


def _blocks(op: Any, ops: Iterable[Any]) -> list[Any]:
    return [block for inner in (op.operation, *ops) for region in inner.regions for block in region.blocks]


class Captures:
    """What a function reads of its caller's values: arguments, and copies of small constants."""

    def __init__(self, context: ImportContext, outside: Iterable[Any]) -> None:
        self.made = {value: context[value] for value in outside}
        """TTIR values by StableHLO value."""
        self.passed = [value for value in dict.fromkeys(self.made.values()) if not _copied(value)]

    def enter(self, block: Block, places: Mapping[SSAValue, SSAValue]) -> dict[Any, SSAValue]:
        """What each StableHLO value is inside a function; constants are copied to its block."""
        copies: dict[SSAValue, SSAValue] = dict(places)
        return {value: _copy(made, block, copies) for value, made in self.made.items()}


def _copied(value: SSAValue) -> bool:
    op = value.owner
    if isinstance(op, ConstantOp):
        return len(op.value_.data.data) <= MOST_COPIED_BYTES
    if isinstance(op, ReshapeOp | BroadcastOp | TypecastOp | PermuteOp):
        return _copied(op.operands[0])
    return isinstance(op, FullOp | ArangeOp)


def _copy(value: SSAValue, block: Block, copies: dict[SSAValue, SSAValue]) -> SSAValue:
    if value in copies:
        return copies[value]
    assert isinstance(value, OpResult)
    operands = [_copy(operand, block, copies) for operand in value.op.operands]
    made = value.op.clone()
    for index, operand in enumerate(operands):
        made.operands[index] = operand
    block.add_op(made)
    copies.update(zip(value.op.results, made.results, strict=True))
    return copies[value]


def subprogram(
    context: ImportContext,
    name: str,
    source: Any,
    taken: Sequence[Any],
    captured: Mapping[Any, Any],
    given: Sequence[SSAValue],
    captures: Captures,
    returned: Sequence[int] | None = None,
) -> str:
    """Makes a function of a block of StableHLO; its name.

    Args:
        taken: arguments of the block that are the function's first ones.
        captured: StableHLO values outside that the other arguments of the block are.
        given: the caller's values for the function's arguments.
        returned: which of the results the function returns; None for all.

    Raises:
        UnsupportedOpError: an op of it has no place on the chip, and the options forbid host ops.
    """
    block = Block(arg_types=[value.type for value in given])
    name = context.module.reserve_name(name)
    inside = captures.enter(block, dict(zip(given[len(taken) :], block.args[len(taken) :], strict=True)))
    inner = context.replace(values=ValueTable(inside), block=block, function=name, folds_scalars=True)
    for argument, place in zip(taken, block.args, strict=False):
        inner.bind(argument, place)
    for argument, outside in captured.items():
        inner.bind(argument, inside[outside])
    results = convert_block(inner, source)
    results = results if returned is None else [results[index] for index in returned]
    block.add_op(ReturnOp(*results))
    signature: tuple[list[Attribute], list[Attribute]] = (
        [argument.type for argument in block.args],
        [value.type for value in results],
    )
    made = FuncOp(name, signature, Region(block), visibility="private")
    made.attributes[FUNCTION_TYPE] = StringAttr(FunctionKind.FORWARD.value)
    context.module.subprograms[name] = made
    return name


def set_roles(functions: Iterable[FuncOp]) -> None:
    """Says of arguments of functions made of regions which are parameters: what is captured of parameters alone."""
    by_name = {function.sym_name.data: function for function in functions}
    for function in by_name.values():
        for op in function.body.block.ops:
            for name in subprograms(op):
                states = op.state_count if isinstance(op, WhileLoopOp) else 0
                inputs = op.operands[1:] if isinstance(op, CaseOp) else op.operands
                constant = [place >= states and is_constant(value) for place, value in enumerate(inputs)]
                roles = [Role.PARAMETER if found else Role.INPUT for found in constant]
                by_name[name].properties["arg_attrs"] = ArrayAttr(
                    [DictionaryAttr({"ttcore.argument_type": ArgumentTypeAttr(role)}) for role in roles]
                )
