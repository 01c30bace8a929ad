"""Cuts StableHLO modules into parts: inlines calls, widens 16-bit floats, and makes modules of ranges of ops."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from tt_xla.compiler import parse_module
from tt_xla.compiler.locations import convert_location, describe
from tt_xla.compiler.stablehlo.outline import is_constant, outline_all, used_values, walk
from tt_xla.errors import MalformedModuleError, OptionError
from tt_xla.ir.program import WEIGHT_DTYPE

_NARROW = "bf16", "f16"
_CALL = "func.call"


@dataclass(frozen=True)
class Part:
    """Consecutive ops of ``@main``.

    Attributes:
        index: position of the part in the program.
        ops: the ops.
        results: the values that later ops or the caller use.
        location: the user's source line of the last op that has one.
        source: the program, which keeps the ops alive.
    """

    index: int
    ops: tuple[Any, ...]
    results: tuple[Any, ...]
    location: str
    source: Source = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The op's name, such as ``stablehlo.dot_general``; for several ops, their number, first and last name."""
        kinds = [_kind(op) for op in self.ops]
        return kinds[0] if len(kinds) == 1 else f"{len(kinds)} ops, {kinds[0]} to {kinds[-1]}"

    @property
    def result_types(self) -> str:
        """Shapes and element types of the results."""
        return ", ".join(str(value.type).removeprefix("tensor<").removesuffix(">") for value in self.results)


def _kind(op: Any) -> str:
    """Returns the name of an op, with the name of the composite for a ``stablehlo.composite``."""
    name = op.operation.name
    if name == "stablehlo.composite":
        return f"{name} {op.operation.attributes['name'].value}"
    return name


def check_range(parts: Sequence[Part], first: int, last: int) -> None:
    """Checks that a program has the parts from one index to another.

    Raises:
        OptionError: it has no such parts.
    """
    if not 0 <= first <= last < len(parts):
        raise OptionError(f"{first}:{last} is not a range of the program's parts, which are 0 to {len(parts) - 1}.")


class Source:
    """A StableHLO module whose ``@main`` has the ops of all functions that it called. Keeps its ops and values alive.

    Args:
        text: text or bytecode of the module.
        name: name of the module, for messages.

    Raises:
        MalformedModuleError: the module does not parse, or has no ``@main``.
    """

    def __init__(self, text: str | bytes, name: str = "<module>") -> None:
        self.module = parse_module(text, name)
        defined = [op for op in self.module.body.operations if op.operation.name == "func.func"]
        functions: dict[str, Any] = {op.name.value: op for op in defined}
        if "main" not in functions:
            raise MalformedModuleError(
                f"'{name}' has no function @main.", hint="A module of `jax.jit(f).lower(...)` has it."
            )
        self.main = functions.pop("main")
        self.functions: Mapping[str, Any] = functions
        self.block = self.main.body.blocks[0]
        _inline(self.block, functions)

    @property
    def arguments(self) -> list[Any]:
        """The arguments of ``@main``."""
        return list(self.block.arguments)

    @property
    def ops(self) -> list[Any]:
        """The ops of ``@main`` in order, without the return and without constants, which are part of their users."""
        body = list(self.block.operations)[:-1]
        return [op for op in body if not len(op.results) or not all(map(is_constant, op.results))]

    @property
    def returned(self) -> list[Any]:
        """The values that ``@main`` returns."""
        return list(list(self.block.operations)[-1].operands)

    def parts(self, by: str) -> list[Part]:
        """Returns the parts of the program.

        Args:
            by: ``op`` for one op each, ``line`` to cut where the source line changes, or ``layer``. A layer begins
                where the source returns to a line that the previous layer has passed.
        """
        groups = list(_grouped(self.ops, by))
        last_use = {value: len(groups) for value in self.returned}
        for number, group in enumerate(groups):
            for op in group:
                for value in used_values(op.operation):
                    last_use[value] = max(last_use.get(value, 0), number)
        return [
            Part(
                number,
                tuple(group),
                tuple(value for op in group for value in op.results if last_use.get(value, -1) > number),
                next(filter(None, (location_of(op) for op in reversed(group))), ""),
                self,
            )
            for number, group in enumerate(groups)
        ]

    def module_of(self, ops: Sequence[Any], results: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Returns a module of ops, and the values that are its arguments. Arguments of ``@main`` keep their attributes.

        Args:
            ops: ops of the program.
            results: the values that the module returns.
        """
        module, values = outline_all(ops, results, self.functions)
        self._describe(module, values)
        return module, values

    def module_of_parts(self, parts: Sequence[Part], first: int, last: int) -> tuple[Any, list[Any], list[Any]]:
        """Returns a module of consecutive parts, the values that are its arguments, and the values that it returns.

        Args:
            parts: all parts of the program.
            first: index of the first part.
            last: index of the last part, included.

        Raises:
            OptionError: the program has no such parts.
        """
        check_range(parts, first, last)
        selected = parts[first : last + 1]
        used_later = {value for part in parts[last + 1 :] for op in part.ops for value in used_values(op.operation)}
        used_later |= set(self.returned)
        results = [value for part in selected for value in part.results if value in used_later]
        module, arguments = self.module_of([op for part in selected for op in part.ops], results)
        return module, arguments, results

    def module_returning(self, values: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Returns a module of the whole program that returns other values, and the values that are its arguments."""
        return self.module_of(list(self.block.operations)[:-1], values)

    def _describe(self, module: Any, values: Sequence[Any]) -> None:
        """Copies the attributes of the arguments of ``@main`` to the arguments of a module of a part."""
        if "arg_attrs" not in self.main.attributes:
            return
        by_argument = dict(zip(self.arguments, self.main.attributes["arg_attrs"], strict=True))
        with module.context:
            empty = ir.DictAttr.get({})
            own = (by_argument.get(value, empty) for value in values)
            # A module of a part does not define the meshes of shardings.
            kept = [{item.name: item.attr for item in each if "sharding" not in item.name} for each in own]
            attributes = [ir.DictAttr.get(each) for each in kept]
            module.body.operations[0].attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def weights(module: Any) -> dict[int, str]:
    """Returns position and name of the arguments that are weights without a format of their own."""
    main = module.body.operations[0]
    if "arg_attrs" not in main.attributes:
        return {}
    names: dict[int, str] = {}
    all_attributes = main.attributes["arg_attrs"]
    for index, (attributes, argument) in enumerate(zip(all_attributes, main.body.blocks[0].arguments, strict=False)):
        role = str(attributes["ttcore.argument_type"]) if "ttcore.argument_type" in attributes else ""
        if len(argument.type.shape) > 1 and re.search("parameter|constant", role) and WEIGHT_DTYPE not in attributes:
            name = attributes["ttir.name"].value if "ttir.name" in attributes else f"arg{index}"
            names[index] = name
    return names


@contextmanager
def weight_in(module: Any, index: int, dtype: str) -> Generator[None]:
    """Gives one argument of a module a weight format inside the ``with`` block.

    Args:
        module: a module with one function.
        index: position of the argument.
        dtype: the format, such as ``bfp_bf8``.
    """
    attributes = module.body.operations[0].attributes
    before = attributes["arg_attrs"]
    with module.context:
        arguments = list(before)
        items = {item.name: item.attr for item in arguments[index]} | {WEIGHT_DTYPE: ir.StringAttr.get(dtype)}
        arguments[index] = ir.DictAttr.get(items)
        attributes["arg_attrs"] = ir.ArrayAttr.get(arguments)
    try:
        yield
    finally:
        attributes["arg_attrs"] = before


def location_of(op: Any) -> str:
    """Returns the user's source line of an op; empty if it has none."""
    return describe(convert_location(str(op.location)))


def _grouped(ops: Sequence[Any], by: str) -> Iterator[list[Any]]:
    """Yields the ops of each part; see :meth:`Source.parts`."""
    group: list[Any] = []
    group_lines: set[str] = set()
    previous = ""
    for op in ops:
        line = re.sub(r"(:\d+):\d+$", r"\1", location_of(op)) or previous
        returns = line in group_lines and line != previous
        if group and (by == "op" or (by == "line" and line != previous) or (by == "layer" and returns)):
            yield group
            group, group_lines = [], set()
        group.append(op)
        group_lines.add(line)
        previous = line
    if group:
        yield group


def _inline(block: Any, functions: Mapping[str, Any]) -> None:
    """Replaces calls in a block by the ops of the called functions."""
    waiting = [op for op in block.operations if op.operation.name == _CALL]
    while waiting:
        call = waiting.pop()
        callee = functions[call.operation.attributes["callee"].value].body.blocks[0]
        waiting += [op for op in splice(call, callee, call.operands) if op.operation.name == _CALL]


def splice(op: Any, block: Any, values: Sequence[Any]) -> list[Any]:
    """Replaces an op by the ops of a block: of the function that it calls, or of one of its regions.

    Args:
        op: the op, which is erased.
        block: the block; its last op returns values in the place of the op's results.
        values: values in the place of the block's arguments.

    Returns:
        The new ops.
    """
    replacements = dict(zip(block.arguments, values, strict=True))
    *body, last = block.operations
    clones: list[Any] = []
    with ir.InsertionPoint(op), op.operation.context:
        for old_op in body:
            clone = old_op.operation.clone()
            for inner in walk(clone.operation):
                for position, operand in enumerate(inner.operands):
                    if operand in replacements:
                        inner.operands[position] = replacements[operand]
            replacements |= zip(old_op.results, clone.results, strict=True)
            clones.append(clone)
    for old, new in zip(op.results, last.operands, strict=True):
        old.replace_all_uses_with(replacements.get(new, new))
    op.operation.erase()
    return clones


def widened(module: Any) -> Any:
    """Returns a copy of a module that computes in float32 where the module computes in 16-bit floats."""
    copy = parse_module(module.operation.get_asm(enable_debug_info=True))
    with copy.context, ir.Location.unknown():
        for op in walk(copy.operation):
            for value in op.results:
                value.set_type(_wide(value.type))
            for region in op.regions:
                for block in region.blocks:
                    for value in block.arguments:
                        value.set_type(_wide(value.type))
            if "function_type" in op.attributes:
                signature = op.attributes["function_type"].value
                inputs, results = map(_wide, signature.inputs), map(_wide, signature.results)
                op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(list(inputs), list(results)))
            if op.name == "stablehlo.constant":
                op.attributes["value"] = _wide_constant(op.attributes["value"])
    return copy


def _wide(type_: Any) -> Any:
    if isinstance(type_, ir.RankedTensorType) and str(type_.element_type) in _NARROW:
        return ir.RankedTensorType.get(type_.shape, ir.F32Type.get())
    return type_


def _wide_constant(value: Any) -> Any:
    if str(value.type.element_type) not in _NARROW:
        return value
    type_ = _wide(value.type)
    if value.is_splat:
        return ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(ir.F32Type.get(), value.get_splat_value().value))
    return ir.DenseElementsAttr.get(np.asarray(value).astype(np.float32), type=type_)
