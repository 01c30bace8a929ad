"""Conversion of Programs, and of modules of TTIR and TTNN, to nodes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from tt_xla.compiler.instructions import plain_value
from tt_xla.compiler.locations import describe
from tt_xla.compiler.ttnn.layouts.explain import name as place_of
from tt_xla.ir.base import TTOp
from tt_xla.ir.program import (
    CALL,
    FUNCTION_TYPE,
    LOAD_CACHED,
    TRACE,
    Function,
    FunctionKind,
    Instruction,
    Program,
    Role,
    TensorSpec,
    subprograms_of,
)
from tt_xla.ir.ttnn.attributes import layout_of
from tt_xla.tools.explorer.nodes import FunctionBuilder, FunctionNodes, shortened

# Programs


def of_program(program: Program) -> list[FunctionNodes]:
    """Returns the functions of a Program, the entry first."""
    return [_of_function(function, program) for function in program.functions]


def _of_function(function: Function, program: Program) -> FunctionNodes:
    made = FunctionBuilder(function.name, function.kind.value)
    declared = program.arguments if function is program.functions[0] else ()

    def words(value: int) -> dict[str, str]:
        return _spec(function.values[value])

    for value, argument in itertools.zip_longest(function.arguments, declared):
        node = made.argument(value, words(value))
        if argument is not None:
            node.argument, node.is_weight = argument.name, argument.role is not Role.INPUT
            node.attributes["role"] = argument.role.value
            if argument.sharding is not None:
                node.attributes["sharding"] = shortened(str(argument.sharding))
    for step in function.body:
        node = made.op(step.op, step.operand_values(), step.results, words, step.location)
        node.instruction, node.attributes, node.calls = step, _plain(step.attributes), _called(step)
    made.returned(function.results)
    return made.function


def _called(instruction: Instruction) -> tuple[str, ...]:
    attributes = instruction.attributes
    if instruction.op in (LOAD_CACHED, CALL):
        return (str(attributes["callee"]),)
    if instruction.op == TRACE:
        return str(attributes["capture_callee"]), str(attributes["execute_callee"])
    return tuple(name.lstrip("@") for name in subprograms_of(instruction))


def _plain(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Returns attributes in words. Values of configs are listed one by one; those that are not set are left out."""
    words: dict[str, str] = {}
    for name, value in attributes.items():
        if isinstance(value, bytes):
            words[name] = f"{len(value)} bytes"
        elif isinstance(value, Mapping):
            words |= {f"{name}.{inner}": shortened(str(each)) for inner, each in value.items() if each is not None}
        elif value is not None:
            words[name] = shortened(str(value))
    return words


def _spec(spec: TensorSpec) -> dict[str, str]:
    """Returns shape, format and place of a value in words."""
    layout = spec.layout
    words = {
        "tensor_shape": "x".join(map(str, spec.shape)) or "scalar",
        "dtype": layout.dtype.value,
        "layout": "tile" if layout.tiled else "row_major",
        "memory": place_of(layout),
        "bytes": f"{layout.bytes:,}",
    }
    if layout.is_sharded:
        unit = " tiles" if layout.tiled else ""
        words["shard_grid"] = "x".join(map(str, layout.grid))
        words["shard"] = f"{layout.shard[0]}x{layout.shard[1]}{unit}"
        words["cores"] = ", ".join(f"{tuple(each.start)}-{tuple(each.end)}" for each in layout.core_ranges)
    return words


# TTIR and TTNN text


def of_xdsl(module: ModuleOp) -> list[FunctionNodes]:
    """Returns the functions of a module of TTIR or TTNN."""
    return [_of_xdsl_function(op) for op in module.walk() if isinstance(op, FuncOp) and op.body.blocks]


def _of_xdsl_function(function: FuncOp) -> FunctionNodes:
    block = function.body.blocks[0]
    attributes: Sequence[Any] = function.arg_attrs.data if function.arg_attrs is not None else ()
    kind = getattr(function.attributes.get(FUNCTION_TYPE), "data", FunctionKind.FORWARD.value)
    made = FunctionBuilder(function.sym_name.data, str(kind))
    for index, argument in enumerate(block.args):
        data: Mapping[str, Any] = attributes[index].data if index < len(attributes) else {}
        given = data.get("ttir.name")
        node = made.argument(argument, _typed(argument))
        node.argument = given.data if isinstance(given, StringAttr) else (argument.name_hint or node.argument)
        role = str(data.get("ttcore.argument_type", ""))
        node.is_weight = "parameter" in role or "constant" in role
    _add_block(made, block, ())
    return made.function


def _add_block(made: FunctionBuilder, block: Block, scope: tuple[str, ...]) -> None:
    """Adds the ops of a block, those of nested regions included."""
    for op in block.ops:
        if isinstance(op, ReturnOp):
            made.returned(op.operands)
            continue
        name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
        node = made.op(name, op.operands, op.results, _typed, describe(op.location), scope)
        node.attributes = _xdsl_attributes(op)
        if isinstance(op, CallOp):
            node.calls = (op.callee.root_reference.data,)
        for number, region in enumerate(op.regions):
            for inner in region.blocks:
                _add_block(made, inner, made.inside(node, number, inner.args))


def _xdsl_attributes(op: Operation) -> dict[str, str]:
    if isinstance(op, TTOp):
        return _plain({name: plain_value(value) for name, value in op.values().items()})
    return {name: shortened(str(value)) for name, value in {**op.properties, **op.attributes}.items()}


def _typed(value: SSAValue) -> dict[str, str]:
    """Returns the type of a value in words; of a tensor with a layout, its place too."""
    type_: Any = value.type
    if not hasattr(type_, "get_shape"):
        return {"type": shortened(str(type_))}
    sizes = tuple(type_.get_shape())
    if getattr(type_, "encoding", None) is not None and "ttnn_layout" in str(type_.encoding)[:40]:
        return _spec(TensorSpec(sizes, layout_of(value)))
    return {"tensor_shape": "x".join(map(str, sizes)) or "scalar", "dtype": str(type_.element_type)}
