"""Walks over MLIR operations, copies of blocks, and inlining of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jaxlib.mlir import ir

from tt_xla.errors import MalformedModuleError

Functions = Mapping[str, Any]
"""Functions of a module by name."""


def walk(op: Any) -> Iterator[Any]:
    """Yields the operations in the regions of an operation, each before those in its own regions."""
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.operations):
                yield inner
                if len(inner.regions) > 0:
                    yield from walk(inner)


def remap_captures(op: Any, values: Mapping[Any, Any]) -> None:
    """Replaces operands inside the regions of an operation by what ``values`` has for them."""
    for inner in walk(op):
        for index, operand in enumerate(inner.operands):
            if operand in values:
                inner.operation.operands[index] = values[operand]


def copy_body(block: Any, arguments: list[Any], point: Any) -> list[Any]:
    """Copies the operations of a block, without its terminator.

    Args:
        block: the block to copy.
        arguments: values that take the place of the block's arguments.
        point: the insertion point for the copies.

    Returns:
        The values that take the place of the terminator's operands.
    """
    values: dict[Any, Any] = dict(zip(block.arguments, arguments, strict=True))
    *body, terminator = block.operations
    for op in body:
        copy = op.operation.clone(ip=point)
        for index, operand in enumerate(op.operands):
            if operand in values:
                copy.operation.operands[index] = values[operand]
        remap_captures(copy, values)
        values.update(zip(op.results, copy.results, strict=True))
    return [values.get(operand, operand) for operand in terminator.operands]


def inline_calls(function: Any, known: Functions, active: tuple[str, ...] = ()) -> None:
    """Replaces the calls in a function by copies of the functions that they call, in place.

    Raises:
        MalformedModuleError: a called function is missing, or functions call each other in a cycle.
    """
    active = (*active, function.name.value)
    for op in [op for op in walk(function) if op.operation.name == "func.call"]:
        name = op.attributes["callee"].value
        callee = known.get(name)
        if callee is None or not callee.regions[0].blocks:
            raise MalformedModuleError(f"The module calls @{name}, which it does not define.")
        if name in active:
            raise MalformedModuleError(f"The functions @{', @'.join(active)} call each other in a cycle.")
        inline_calls(callee, known, active)
        returned = copy_body(callee.regions[0].blocks[0], list(op.operands), ir.InsertionPoint(op))
        for result, value in zip(op.results, returned, strict=True):
            result.replace_all_uses_with(value)
        op.operation.erase()
