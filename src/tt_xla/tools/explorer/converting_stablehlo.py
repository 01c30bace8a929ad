"""Conversion of StableHLO modules to nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.locations import convert_location, describe
from tt_xla.compiler.stablehlo.annotations import is_mark, marked_arguments
from tt_xla.ir.program import FunctionKind
from tt_xla.tools.explorer.nodes import ARGUMENT, RETURN, FunctionNodes, Node, shortened


def of_stablehlo(module: ir.Module) -> list[FunctionNodes]:
    """Returns the functions of a StableHLO module, ``@main`` first."""
    with module.context:
        functions = [
            _of_mlir_function(op.operation) for op in module.body.operations if op.operation.name == "func.func"
        ]
    return sorted(functions, key=lambda function: function.name != "main")


def _of_mlir_function(function: ir.Operation) -> FunctionNodes:
    name = ir.StringAttr(function.attributes["sym_name"]).value
    nodes: list[Node] = []
    if not len(function.regions[0].blocks):
        return FunctionNodes(name, FunctionKind.FORWARD.value, nodes)
    block = function.regions[0].blocks[0]
    has_attributes = "arg_attrs" in function.attributes
    given = [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes["arg_attrs"])] if has_attributes else []
    marked = marked_arguments(function)
    producers: dict[Any, tuple[str, int]] = {}
    for index, argument in enumerate(block.arguments):
        node = Node(f"{name}:{ARGUMENT}{index}", ARGUMENT, results=[_mlir_typed(argument.type)])
        declared = given[index] if index < len(given) else {}
        text = {each: _unquoted(str(declared[each])) for each in _ARGUMENT_ATTRIBUTES if each in declared}
        node.argument = text.get("ttir.name") or marked.get(index) or f"argument {index}"
        node.is_weight = index in marked or text.get("ttcore.argument_type", "") in ("parameter", "constant")
        node.attributes = {key.rpartition(".")[2]: shortened(value) for key, value in text.items()}
        producers[argument] = node.id, 0
        nodes.append(node)
    _MlirBlock(name, nodes, producers).add(block, ())
    return FunctionNodes(name, FunctionKind.FORWARD.value, nodes)


_ARGUMENT_ATTRIBUTES = ("ttir.name", "ttcore.argument_type", "mhlo.sharding", "sdy.sharding")


def _unquoted(text: str) -> str:
    return text.strip('"')


class _MlirBlock:
    """Collects the nodes of a function's blocks, those of nested regions included."""

    def __init__(self, function: str, nodes: list[Node], producers: dict[Any, tuple[str, int]]) -> None:
        self.function, self.nodes, self.producers = function, nodes, producers
        self.count = 0

    def add(self, block: ir.Block, scope: tuple[str, ...]) -> None:
        for view in block.operations:
            op = view.operation
            operands = [self.producers[value] for value in op.operands if value in self.producers]
            if op.name.endswith("return"):
                if not scope:
                    self.nodes.append(Node(f"{self.function}:{RETURN}", RETURN, operands))
                continue
            if is_mark(op) and operands:
                self.producers[op.results[0]] = operands[0]
                continue
            node = Node(f"{self.function}:{self.count}", op.name, operands, scope=scope)
            self.count += 1
            node.results = [_mlir_typed(result.type) for result in op.results]
            location = str(op.location)
            node.location = describe(convert_location(location))
            node.named_scope = named_scope(location)
            node.attributes = dict(_mlir_attributes(op))
            if "callee" in op.attributes:
                node.calls = (str(op.attributes["callee"]).lstrip("@"),)
            elif "decomposition" in op.attributes:
                node.calls = (str(op.attributes["decomposition"]).lstrip("@"),)
            self.producers |= {result: (node.id, index) for index, result in enumerate(op.results)}
            self.nodes.append(node)
            for number, region in enumerate(op.regions):
                for inner in region.blocks:
                    self.producers |= dict.fromkeys(inner.arguments, (node.id, 0))
                    self.add(inner, (*scope, f"{node.name} {node.id.rpartition(':')[2]}", f"region {number}"))


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


def _mlir_typed(type_: ir.Type) -> dict[str, str]:
    match = _TENSOR.match(str(type_))
    if match is None:
        return {"type": shortened(str(type_))}
    return {"tensor_shape": match[1].rstrip("x") or "scalar", "dtype": match[2]}
