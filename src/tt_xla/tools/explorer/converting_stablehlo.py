"""Conversion of StableHLO modules to nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.locations import convert_location, describe
from tt_xla.compiler.stablehlo.annotations import is_mark, marked_arguments
from tt_xla.tools.explorer.nodes import FunctionBuilder, FunctionNodes, shortened


def of_stablehlo(module: ir.Module) -> list[FunctionNodes]:
    """Returns the functions of a StableHLO module, ``@main`` first."""
    with module.context:
        functions = [
            _of_mlir_function(op.operation) for op in module.body.operations if op.operation.name == "func.func"
        ]
    return sorted(functions, key=lambda function: function.name != "main")


def _of_mlir_function(function: ir.Operation) -> FunctionNodes:
    made = FunctionBuilder(ir.StringAttr(function.attributes["sym_name"]).value)
    if not len(function.regions[0].blocks):
        return made.function
    block = function.regions[0].blocks[0]
    has_attributes = "arg_attrs" in function.attributes
    given = [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes["arg_attrs"])] if has_attributes else []
    marked = marked_arguments(function)
    for index, argument in enumerate(block.arguments):
        node = made.argument(argument, _typed(argument))
        declared = given[index] if index < len(given) else {}
        text = {each: _unquoted(str(declared[each])) for each in _ARGUMENT_ATTRIBUTES if each in declared}
        node.argument = text.get("ttir.name") or marked.get(index) or node.argument
        node.is_weight = index in marked or text.get("ttcore.argument_type", "") in ("parameter", "constant")
        node.attributes = {key.rpartition(".")[2]: shortened(value) for key, value in text.items()}
    _add_block(made, block, ())
    return made.function


_ARGUMENT_ATTRIBUTES = ("ttir.name", "ttcore.argument_type", "mhlo.sharding", "sdy.sharding")


def _unquoted(text: str) -> str:
    return text.strip('"')


def _add_block(made: FunctionBuilder, block: ir.Block, scope: tuple[str, ...]) -> None:
    """Adds the ops of a block, those of nested regions included."""
    for view in block.operations:
        op = view.operation
        if op.name.endswith("return"):
            if not scope:
                made.returned(op.operands)
            continue
        if is_mark(op) and made.passed_on(op.results[0], op.operands):
            continue
        location = str(op.location)
        node = made.op(op.name, op.operands, op.results, _typed, describe(convert_location(location)), scope)
        node.named_scope = named_scope(location)
        node.attributes = dict(_mlir_attributes(op))
        for name in ("callee", "decomposition"):
            if name in op.attributes and not node.calls:
                node.calls = (str(op.attributes[name]).lstrip("@"),)
        for number, region in enumerate(op.regions):
            for inner in region.blocks:
                _add_block(made, inner, made.inside(node, number, inner.arguments))


_OUTER_NAME = re.compile(r'loc\("([^"]*)"\(')
_TRANSFORMED = re.compile(r"(?:jvp|transpose|vmap|rematted_computation)\((.*)\)")
_CALLED = re.compile(r"(?:p?jit|xla_pmap|shard_map|core_call)\(.*\)?")
_CONTROL_FLOW = {"while", "body", "cond", "closed_call", "checkpoint", "rematted_computation", "shard_map"}
"""Names that JAX itself gives to parts of a program."""


def named_scope(location: str) -> tuple[str, ...]:
    """Returns the scopes in the name of an MLIR location, such as ``jit(f)/encoder/layer0/tanh``, outermost first.

    The last part of the name is the primitive. A transformation wraps the name of a scope: ``transpose(jvp(encoder))``.
    """
    match = _OUTER_NAME.match(location)
    scopes: list[str] = []
    for part in match[1].split("/")[:-1] if match is not None else ():
        name = part
        while (wrapped := _TRANSFORMED.fullmatch(name)) is not None:
            name = wrapped[1]
        if name and name not in _CONTROL_FLOW and not _CALLED.fullmatch(name):
            scopes.append(name)
    return tuple(scopes)


def _mlir_attributes(op: ir.Operation) -> Iterator[tuple[str, str]]:
    for item in op.attributes:
        name: str = getattr(item, "name", item)  # jaxlib before 0.8 iterates over pairs
        value = op.attributes[name]
        if isinstance(value, ir.DenseElementsAttr) and len(value) > 16 and not value.is_splat:
            yield name, f"{len(value)} elements"
        else:
            yield name, shortened(_unquoted(str(value)))


_TENSOR = re.compile(r"tensor<(?:((?:\d+x|\?x)*))([^x,>][^,>]*)")


def _typed(value: ir.Value[Any]) -> dict[str, str]:
    """Returns the type of a value in words."""
    match = _TENSOR.match(str(value.type))
    if match is None:
        return {"type": shortened(str(value.type))}
    return {"tensor_shape": match[1].rstrip("x") or "scalar", "dtype": match[2]}
