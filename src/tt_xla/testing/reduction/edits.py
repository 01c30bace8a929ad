"""Ways to make a program smaller or plainer that keep its ops' order: each proposes programs, which the reducer tries.

A proposal need not be right: one that does not verify, or no longer shows the failure, is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from tt_xla.compiler.stablehlo.outline import walk
from tt_xla.errors import TTXLAError
from tt_xla.testing.divergence.modules import Source, splice
from tt_xla.testing.reduction.graphs import Graph, plain
from tt_xla.testing.reduction.trials import Program

Edit = Callable[[Program], Iterator[Program]]

_CONTROL = ("stablehlo.while", "stablehlo.case", "stablehlo.if", "stablehlo.composite")


def without_control_flow(program: Program) -> Iterator[Program]:
    """Replaces a loop by one run of its body, a branching by one of its branches, and a composite by its ops."""
    original = Source(program.text)
    for position, op in enumerate(_ops(original, _CONTROL)):
        blocks = 1 if op.name == "stablehlo.composite" else len(op.regions)
        for number in range(blocks):
            source = Source(program.text)
            copy = _ops(source, _CONTROL)[position]
            if copy.name == "stablehlo.composite":
                block = source.functions[copy.attributes["decomposition"].value].body.blocks[0]
            elif copy.name == "stablehlo.while" and number == 0:
                continue  # the condition has other results
            else:
                block = copy.regions[number].blocks[0]
            splice(copy, block, list(copy.operands) if len(block.arguments) else [])
            graph = _graph_of(source, program)
            spliced = graph and graph.keeping(graph.ops)  # with the values that the program did not return
            if spliced:
                yield spliced


def nested_ops(program: Program) -> int:
    """Returns the number of ops in regions of the program's ops."""
    source = Source(program.text)
    return len(_nested(source))


def keeping_nested(program: Program, kept: Sequence[int]) -> Program | None:
    """Returns a program without some of the ops in its regions; a constant replaces each of their results.

    Args:
        program: the program.
        kept: positions of the ops that stay, among those in regions.
    """
    source = Source(program.text)
    chosen = set(kept)
    for position, op in enumerate(_nested(source)):
        if position in chosen:
            continue
        for value in op.results:
            with ir.InsertionPoint(op), op.context, ir.Location.unknown():
                value.replace_all_uses_with(_constant(value.type))
        op.erase()
    return next(_cleaned(source, program), None)


def without_carried_values(program: Program) -> Iterator[Program]:
    """Removes one of the values that a loop carries; its initial value replaces it."""
    original = Source(program.text)
    for position, loop in enumerate(_ops(original, ("stablehlo.while",))):
        for number in reversed(range(len(loop.operands))):
            source = Source(program.text)
            _drop_carried(_ops(source, ("stablehlo.while",))[position], number)
            yield from _cleaned(source, program)


def with_operands_for_results(program: Program) -> Iterator[Program]:
    """Replaces the result of an op by one of its operands, if both have one type."""
    original = Source(program.text)
    for position, op in enumerate(walk(original.main.operation)):
        for number, operand in enumerate(op.operands):
            if len(op.results) == 1 and op.results[0].type == operand.type:
                source = Source(program.text)
                copy = walk(source.main.operation)[position]
                copy.results[0].replace_all_uses_with(copy.operands[number])
                yield from _cleaned(source, program)


def with_fewer_arguments(program: Program) -> Iterator[Program]:
    """Passes one argument in the place of another one of the same type."""
    original = Source(program.text)
    types = [argument.type for argument in original.arguments]
    for later in reversed(range(len(types))):
        for earlier in range(later):
            if types[earlier] == types[later]:
                source = Source(program.text)
                source.arguments[later].replace_all_uses_with(source.arguments[earlier])
                yield from _cleaned(source, program)


def with_folded_constants(program: Program) -> Iterator[Program]:
    """Replaces each constant that is broadcast, reshaped or transposed by a constant of the shape that results."""
    source = Source(program.text)
    for op in _ops(source, ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose")):
        value = _splat_of(op.operands[0])
        if value is not None:
            with ir.InsertionPoint(op), op.context, op.location:
                op.results[0].replace_all_uses_with(_splat(op.results[0].type, value))
            op.erase()
    yield from _cleaned(source, program)


def with_plain_constants(program: Program) -> Iterator[Program]:
    """Replaces a table of constants by one value for all elements, and an integer, such as a number of runs, by a
    smaller one."""
    text = plain(program.text)
    for match in re.finditer(r'dense<("0x[^"]*"|\[.*?\]|-?\d+)>( : tensor<[^>]*?([a-z]\w*)>)', text):
        element = match[3].rpartition("x")[2]
        if match[1][0] in '["':
            values = ["1.0" if "f" in element else "true" if element == "i1" else "1"]
            values += ["0.0" if "f" in element else "false" if element == "i1" else "0"]
        else:
            number = int(match[1])
            values = [str(value) for value in dict.fromkeys((1, 2, number // 2)) if 0 < value < number]
        for value in values:
            yield Program(f"{text[: match.start()]}dense<{value}>{match[2]}{text[match.end() :]}", program.inputs)


def with_smaller_sizes(program: Program) -> Iterator[Program]:
    """Replaces an extent of tensors by a smaller one throughout the program, with or without its multiples."""
    text = plain(program.text)
    extents = {int(number) for dims in re.findall(r"tensor<((?:\d+x)+)", text) for number in re.findall(r"\d+", dims)}
    for extent in sorted(extents - {1}, reverse=True):
        for smaller in dict.fromkeys((1, 2, extent // 2)):
            if smaller >= extent:
                continue
            for multiples in (True, False):
                for attributes in (True, False):
                    yield from _fitted(_resized(text, extent, smaller, multiples, attributes), program)


def with_plain_types(program: Program) -> Iterator[Program]:
    """Replaces an element type by a more common one throughout the program."""
    text = plain(program.text)
    for rare, common in (
        ("f64", "f32"),
        ("f16", "f32"),
        ("bf16", "f32"),
        ("i64", "i32"),
        ("i16", "i32"),
        ("i8", "i32"),
    ):
        changed = re.sub(rf"(?<=[x<])(u?){rare}(?=>)|(?<=: )(u?){rare}\b", rf"\1\2{common}", text)
        if changed != text:
            yield from _fitted(changed, program)


def with_plain_inputs(program: Program) -> Iterator[Program]:
    """Replaces the elements of an argument: all by 0 or by 1, or floats by their values rounded to one decimal."""
    for position, array in enumerate(program.inputs):
        plain = [np.zeros_like(array), np.ones_like(array)]
        if any(np.array_equal(array, other) for other in plain):
            continue
        if array.dtype.kind == "f":
            plain.append(np.round(array, 1))
        for other in plain:
            if not np.array_equal(array, other, equal_nan=array.dtype.kind in "fc"):
                yield Program(program.text, (*program.inputs[:position], other, *program.inputs[position + 1 :]))


def _ops(source: Source, names: Sequence[str]) -> list[Any]:
    """Returns the ops of ``@main`` of some names, in regions too."""
    return [op for op in walk(source.main.operation) if op.name in names]


def _nested(source: Source) -> list[Any]:
    """Returns the ops in regions of the program's ops, inner ones first, without constants and ops that end a
    region."""
    inside = [op for top in source.ops for op in walk(top.operation) if op != top.operation]
    return [op for op in inside if op.name not in ("stablehlo.return", "stablehlo.constant") and _all_plain(op)]


def _all_plain(op: Any) -> bool:
    """Whether a constant can replace each result of an op."""
    return bool(len(op.results)) and all(
        isinstance(value.type, ir.RankedTensorType)
        and value.type.has_static_shape
        and isinstance(value.type.element_type, ir.IntegerType | ir.FloatType)
        for value in op.results
    )


def _constant(type_: Any) -> Any:
    """Returns a new constant of a type: false, or 1 in each element. False ends the loop whose condition it is."""
    element = type_.element_type
    if isinstance(element, ir.FloatType):
        attribute: Any = ir.FloatAttr.get(element, 1.0)
    else:
        attribute = ir.IntegerAttr.get(element, 0 if str(element) == "i1" else 1)
    return _splat(type_, attribute)


def _splat(type_: Any, element: Any) -> Any:
    """Returns a new constant with one value in all elements."""
    value = ir.DenseElementsAttr.get_splat(type_, element)
    return ir.Operation.create("stablehlo.constant", results=[type_], attributes={"value": value}).result


def _splat_of(value: Any) -> Any | None:
    """Returns the value of all elements of a constant; None for other values."""
    op = getattr(value.owner, "operation", None)
    if op is None or op.name != "stablehlo.constant":
        return None
    elements = op.attributes["value"]
    return elements.get_splat_value() if elements.is_splat else None


def _drop_carried(loop: Any, number: int) -> None:
    """Replaces a loop by one that does not carry the value of a position."""
    others = [index for index in range(len(loop.operands)) if index != number]
    initial = loop.operands[number]
    with ir.InsertionPoint(loop), loop.context, loop.location:
        attributes = {item.name: item.attr for item in loop.attributes} if len(loop.attributes) else {}
        copy = ir.Operation.create(
            "stablehlo.while",
            results=[loop.results[index].type for index in others],
            operands=[loop.operands[index] for index in others],
            attributes=attributes,
            regions=2,
        )
    for old, new in zip(loop.regions, copy.regions, strict=True):
        block = old.blocks[0]
        block.append_to(new)
        block.arguments[number].replace_all_uses_with(initial)
        block.erase_argument(number)
    last = list(copy.regions[1].blocks[0].operations)[-1].operation
    with ir.InsertionPoint(last), last.context, last.location:
        ir.Operation.create("stablehlo.return", operands=[last.operands[index] for index in others])
    last.erase()
    loop.results[number].replace_all_uses_with(initial)
    for index, result in zip(others, copy.results, strict=True):
        loop.results[index].replace_all_uses_with(result)
    loop.erase()


def _cleaned(source: Source, program: Program) -> Iterator[Program]:
    """Yields the program of a changed module without ops and arguments that nothing uses, if the module verifies."""
    for loop in _ops(source, _CONTROL):
        _erase_unused(loop)
    graph = _graph_of(source, program)
    cleaned = graph and graph.keeping(graph.needed(graph.ops, graph.returned), graph.returned)
    if cleaned:
        yield cleaned


def _graph_of(source: Source, program: Program) -> Graph | None:
    """Returns the graph of a changed module; None if it does not verify."""
    try:
        return Graph(Program(str(source.module.operation.get_asm(enable_debug_info=True)), program.inputs))
    except TTXLAError:
        return None


def _erase_unused(op: Any) -> None:
    """Erases the ops in regions of an op whose results nothing uses."""
    for region in op.regions:
        for block in region.blocks:
            for inner in reversed(list(block.operations)[:-1]):
                if len(inner.results) and not any(next(iter(value.uses), None) for value in inner.results):
                    inner.operation.erase()


def _resized(text: str, extent: int, smaller: int, multiples: bool, attributes: bool) -> str:
    """Returns a text with ``smaller`` in the place of each ``extent``.

    Args:
        text: text of a module without locations.
        extent: the number to replace.
        smaller: the number in its place.
        multiples: whether multiples of ``extent`` are replaced too, by as many times ``smaller``.
        attributes: whether numbers in lists of attributes are replaced too, not only those in types.
    """

    def number(match: re.Match[str]) -> str:
        value = int(match[0])
        if value == extent or (multiples and value and value % extent == 0):
            return str(value // extent * smaller)
        return match[0]

    text = re.sub(r"(?<=tensor<)(?:\d+x)+", lambda dims: re.sub(r"\d+", number, dims[0]), text)
    if attributes:
        lists = r"(?<=array<i64: )[\d, -]+|(?<![<\w])\[[\d:, -]+\]"
        text = re.sub(lists, lambda items: re.sub(r"\d+", number, items[0]), text)
    return text


def _fitted(text: str, program: Program) -> Iterator[Program]:
    """Yields a program of a changed text with its inputs cut to the declared shapes, if the text verifies."""
    try:
        source = Source(text)
    except TTXLAError:
        return
    inputs: list[Any] = []
    for array, argument in zip(program.inputs, source.arguments, strict=True):
        cut = array[tuple(slice(extent) for extent in argument.type.shape)]
        if cut.shape != tuple(argument.type.shape):
            return
        inputs.append(cut)
    yield Program(text, tuple(inputs))
