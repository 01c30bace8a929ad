"""Regions of StableHLO ops as TTIR functions: bodies and conditions of loops, branches."""

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
"""Largest constant, in bytes, that is copied into a function, where passes can see it. Larger ones become arguments."""


def used_from_outside(op: Any) -> list[Any]:
    """Returns the StableHLO values that the regions of an op use but do not define, in order of use."""
    ops = [inner for region in op.regions for block in region.blocks for top in block.operations for inner in walk(top)]
    defined = {result for inner in ops for result in inner.results}
    for block in _blocks(op, ops):
        defined.update(block.arguments)
    used = dict.fromkeys(operand for inner in ops for operand in inner.operands)
    return [value for value in used if value not in defined]


def _blocks(op: Any, ops: Iterable[Any]) -> list[Any]:
    return [block for inner in (op.operation, *ops) for region in inner.regions for block in region.blocks]


class Captures:
    """The caller's values that a function reads, through arguments or as copies of small constants."""

    def __init__(self, context: ImportContext, outside: Iterable[Any]) -> None:
        """
        Args:
            outside: the StableHLO values that the function reads.
        """
        self.converted = {value: context[value] for value in outside}
        """The caller's TTIR values by StableHLO value."""
        self.passed = [value for value in dict.fromkeys(self.converted.values()) if not _copied(value)]
        """The caller's TTIR values that the function takes as arguments."""

    def enter(self, block: Block, arguments: Mapping[SSAValue, SSAValue]) -> dict[Any, SSAValue]:
        """Copies the constants to a function's block.

        Args:
            block: the block of the function.
            arguments: arguments of the block by the caller's TTIR value.

        Returns:
            The TTIR values inside the function by StableHLO value.
        """
        copies: dict[SSAValue, SSAValue] = dict(arguments)
        return {source: _copy(value, block, copies) for source, value in self.converted.items()}


def _copied(value: SSAValue) -> bool:
    """Whether a value is a small constant, or moves or converts one."""
    op = value.owner
    if isinstance(op, ConstantOp):
        return len(op.value_.data.data) <= MOST_COPIED_BYTES
    if isinstance(op, ReshapeOp | BroadcastOp | TypecastOp | PermuteOp):
        return _copied(op.operands[0])
    return isinstance(op, FullOp | ArangeOp)


def _copy(value: SSAValue, block: Block, copies: dict[SSAValue, SSAValue]) -> SSAValue:
    """Returns the copy of a value, after cloning the op that makes it, and its operands, to the end of a block.

    Args:
        copies: copies by original; extended.
    """
    if value in copies:
        return copies[value]
    assert isinstance(value, OpResult)
    operands = [_copy(operand, block, copies) for operand in value.op.operands]
    clone = value.op.clone()
    for index, operand in enumerate(operands):
        clone.operands[index] = operand
    block.add_op(clone)
    copies.update(zip(value.op.results, clone.results, strict=True))
    return copies[value]


def subprogram(
    context: ImportContext,
    name: str,
    source: Any,
    leading: Sequence[Any],
    captured: Mapping[Any, Any],
    inputs: Sequence[SSAValue],
    captures: Captures,
    returned: Sequence[int] | None = None,
) -> str:
    """Converts a StableHLO block to a TTIR function.

    Args:
        context: the context of the op that has the block.
        name: name of the function, to which a number is added if it is in use.
        source: the block.
        leading: arguments of the block that become the first arguments of the function.
        captured: for each other argument of the block, the StableHLO value outside that it stands for.
        inputs: the caller's TTIR values for the function's arguments.
        captures: the caller's values that the block reads.
        returned: positions of the results that the function returns; None for all.

    Returns:
        The name of the function.

    Raises:
        UnsupportedOpError: the chip cannot run an op of the block, and the options forbid host ops.
    """
    block = Block(arg_types=[value.type for value in inputs])
    name = context.module.reserve_name(name)
    inside = captures.enter(block, dict(zip(inputs[len(leading) :], block.args[len(leading) :], strict=True)))
    inner = context.replace(values=ValueTable(inside), block=block, function=name, folds_scalars=True)
    for argument, value in zip(leading, block.args, strict=False):
        inner.bind(argument, value)
    for argument, outside in captured.items():
        inner.bind(argument, inside[outside])
    results = convert_block(inner, source)
    results = results if returned is None else [results[index] for index in returned]
    block.add_op(ReturnOp(*results))
    signature: tuple[list[Attribute], list[Attribute]] = (
        [argument.type for argument in block.args],
        [value.type for value in results],
    )
    function = FuncOp(name, signature, Region(block), visibility="private")
    function.attributes[FUNCTION_TYPE] = StringAttr(FunctionKind.FORWARD.value)
    context.module.subprograms[name] = function
    return name


def set_roles(functions: Iterable[FuncOp]) -> None:
    """Makes arguments of functions made from regions parameters if they depend on parameters and constants only."""
    by_name = {function.sym_name.data: function for function in functions}
    for function in by_name.values():
        for op in function.body.block.ops:
            for name in subprograms(op):
                states = op.state_count if isinstance(op, WhileLoopOp) else 0
                inputs = op.operands[1:] if isinstance(op, CaseOp) else op.operands
                constant = [index >= states and is_constant(value) for index, value in enumerate(inputs)]
                roles = [Role.PARAMETER if flag else Role.INPUT for flag in constant]
                by_name[name].properties["arg_attrs"] = ArrayAttr(
                    [DictionaryAttr({"ttcore.argument_type": ArgumentTypeAttr(role)}) for role in roles]
                )
