"""StableHLO modules taken apart: calls inlined, 16-bit floats widened, ranges of ops as modules of their own."""

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
from tt_xla.compiler.stablehlo.outline import is_constant, outline_all, walk
from tt_xla.errors import MalformedModuleError, OptionError
from tt_xla.ir.program import WEIGHT_DTYPE

_NARROW = "bf16", "f16"
_CALL = "func.call"


@dataclass(frozen=True)
class Part:
    """Ops of ``@main`` that follow one another.

    Attributes:
        index: of the part in the program.
        results: the values that ops after it, or who calls, use.
        location: the user's source line of its last op that has one.
    """

    index: int
    ops: tuple[Any, ...]
    results: tuple[Any, ...]
    location: str
    source: Source = field(repr=False, compare=False)
    """Its ops live as long as this does."""

    @property
    def name(self) -> str:
        """``stablehlo.dot_general``; for several ops how many there are."""
        kinds = [_kind(op) for op in self.ops]
        return kinds[0] if len(kinds) == 1 else f"{len(kinds)} ops, {kinds[0]} to {kinds[-1]}"

    @property
    def made(self) -> str:
        return ", ".join(str(value.type).removeprefix("tensor<").removesuffix(">") for value in self.results)


def _kind(op: Any) -> str:
    name = op.operation.name
    if name == "stablehlo.composite":
        return f"{name} {op.operation.attributes['name'].value}"
    return name


class Source:
    """A StableHLO module whose ``@main`` calls no functions of its own. Its ops and values end with it.

    Raises:
        MalformedModuleError: it does not parse, or has no ``@main``.
    """

    def __init__(self, text: str | bytes, name: str = "<module>") -> None:
        self.module = parse_module(text, name)
        defined = [op for op in self.module.body.operations if op.operation.name == "func.func"]
        functions: dict[str, Any] = {op.name.value: op for op in defined}
        if "main" not in functions:
            raise MalformedModuleError(f"'{name}' has no function @main.", hint="`jax.jit(f).lower(...)` names it so.")
        self.main = functions.pop("main")
        self.functions: Mapping[str, Any] = functions
        self.block = self.main.body.blocks[0]
        _inline(self.block, functions)

    @property
    def arguments(self) -> list[Any]:
        return list(self.block.arguments)

    @property
    def ops(self) -> list[Any]:
        """In order, without the return and without constants, which belong to whoever uses them."""
        body = list(self.block.operations)[:-1]
        return [op for op in body if not len(op.results) or not all(map(is_constant, op.results))]

    @property
    def returned(self) -> list[Any]:
        return list(list(self.block.operations)[-1].operands)

    def parts(self, by: str) -> list[Part]:
        """The program cut up: ``op`` by op, by source ``line``, or by ``layer``.

        A layer begins where the source goes back to a line that the layer before has been at.
        """
        groups = list(_grouped(self.ops, by))
        last_use = {value: len(groups) for value in self.returned}
        for number, group in enumerate(groups):
            for op in group:
                for value in _uses(op):
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
        """A module of some ops, and the values that its arguments are; those of ``@main`` keep their attributes."""
        module, values = outline_all(ops, results, self.functions)
        self._describe(module, values)
        return module, values

    def module_of_parts(self, parts: Sequence[Part], first: int, last: int) -> tuple[Any, list[Any], list[Any]]:
        """A module of the parts from ``first`` to ``last``; the values it takes, and those it gives.

        Raises:
            OptionError: there are no such parts.
        """
        if not 0 <= first <= last < len(parts):
            raise OptionError(f"The program has parts 0 to {len(parts) - 1}; {first}:{last} is no range of them.")
        chosen = parts[first : last + 1]
        later = {value for part in parts[last + 1 :] for op in part.ops for value in _uses(op)}
        later |= set(self.returned)
        results = [value for part in chosen for value in part.results if value in later]
        module, taken = self.module_of([op for part in chosen for op in part.ops], results)
        return module, taken, results

    def module_returning(self, values: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The program, with other results."""
        return self.module_of(list(self.block.operations)[:-1], values)

    def _describe(self, module: Any, values: Sequence[Any]) -> None:
        if "arg_attrs" not in self.main.attributes:
            return
        given = dict(zip(self.arguments, self.main.attributes["arg_attrs"], strict=True))
        with module.context:
            nothing = ir.DictAttr.get({})
            attributes = [_of_one_device(given.get(value, nothing)) for value in values]
            module.body.operations[0].attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def weights(module: Any) -> dict[int, str]:
    """The arguments of a module of one function that are weights and do not say their format: position to name."""
    main = module.body.operations[0]
    if "arg_attrs" not in main.attributes:
        return {}
    given = main.attributes["arg_attrs"]
    found: dict[int, str] = {}
    for index, (attributes, argument) in enumerate(zip(given, main.body.blocks[0].arguments, strict=False)):
        role = str(attributes["ttcore.argument_type"]) if "ttcore.argument_type" in attributes else ""
        if len(argument.type.shape) > 1 and re.search("parameter|constant", role) and WEIGHT_DTYPE not in attributes:
            name = attributes["ttir.name"].value if "ttir.name" in attributes else f"arg{index}"
            found[index] = name
    return found


@contextmanager
def weight_in(module: Any, index: int, dtype: str) -> Generator[None]:
    """The module has one of its weights in a format of its own."""
    attributes = module.body.operations[0].attributes
    before = attributes["arg_attrs"]
    with module.context:
        changed = list(before)
        items = {item.name: item.attr for item in changed[index]} | {WEIGHT_DTYPE: ir.StringAttr.get(dtype)}
        changed[index] = ir.DictAttr.get(items)
        attributes["arg_attrs"] = ir.ArrayAttr.get(changed)
    try:
        yield
    finally:
        attributes["arg_attrs"] = before


def _of_one_device(attributes: Any) -> Any:
    """Without shardings, whose meshes are not in a module of a part."""
    kept = {item.name: item.attr for item in attributes if "sharding" not in item.name}
    return ir.DictAttr.get(kept)


def location_of(op: Any) -> str:
    return describe(convert_location(str(op.location)))


def _grouped(ops: Sequence[Any], by: str) -> Iterator[list[Any]]:
    group: list[Any] = []
    seen: set[str] = set()
    last = ""
    for op in ops:
        line = re.sub(r"(:\d+):\d+$", r"\1", location_of(op)) or last
        back = line in seen and line != last
        if group and (by == "op" or (by == "line" and line != last) or (by == "layer" and back)):
            yield group
            group, seen = [], set()
        group.append(op)
        seen.add(line)
        last = line
    if group:
        yield group


def _uses(op: Any) -> list[Any]:
    ops = walk(op.operation) if len(op.operation.regions) else [op.operation]
    return [value for inner in ops for value in inner.operands]


def _inline(block: Any, functions: Mapping[str, Any]) -> None:
    """Puts the ops of called functions in the place of the calls."""
    waiting = [op for op in block.operations if op.operation.name == _CALL]
    while waiting:
        call = waiting.pop()
        callee = functions[call.operation.attributes["callee"].value].body.blocks[0]
        copied = dict(zip(callee.arguments, call.operands, strict=True))
        *body, last = callee.operations
        with ir.InsertionPoint(call), call.operation.context:
            for op in body:
                clone = op.operation.clone()
                for inner in walk(clone.operation):
                    for place, operand in enumerate(inner.operands):
                        if operand in copied:
                            inner.operands[place] = copied[operand]
                copied |= zip(op.results, clone.results, strict=True)
                if op.operation.name == _CALL:
                    waiting.append(clone)
        for old, new in zip(call.results, last.operands, strict=True):
            old.replace_all_uses_with(copied[new])
        call.operation.erase()


def widened(module: Any) -> Any:
    """A copy that computes in float32 what the module computes in 16-bit floats."""
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
