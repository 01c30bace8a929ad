"""Changes modules of TTIR and TTNN a little, as the guards of patterns must notice."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from tests.fuzz.cases import NotDrawnError
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.errors import TTXLAError
from tt_xla.ir.program import Role
from tt_xla.ir.text import parse_module, print_module
from tt_xla.ir.ttcore import ArgumentTypeAttr

Change = Callable[[random.Random, str], str]
"""Returns a changed text, which may mean nothing, or the same text where there is nothing to change."""

_NUMBERS = (
    "0.0",
    "-0.0",
    "1.0",
    "-1.0",
    "0.5",
    "2.0",
    "3.0",
    "6.0",
    "0.044715",
    "0.044",
    "0.7978846",
    "1.0e-06",
    "-3.0e+38",
)
_INTEGERS = ("0", "1", "-1", "2", "3", "31", "32", "33", "127", "-128", "65535", "2147483647", "-2147483648")
_SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64)


def entry_of(module: ModuleOp) -> FuncOp:
    """Returns the function that a program starts with."""
    return next(function for function in functions(module) if is_entry(function))


def _on_ops(change: Callable[[random.Random, FuncOp], None]) -> Change:
    """Makes a change of a function a change of the text."""

    def changed(random: random.Random, text: str) -> str:
        module = parse_module(text)
        change(random, entry_of(module))
        return print_module(module)

    return changed


def _operations(function: FuncOp) -> list[Operation]:
    return [op for op in body(function).ops if not isinstance(op, ReturnOp)]


@_on_ops
def swap_operands(random: random.Random, function: FuncOp) -> None:
    """Exchanges two operands of an op that have the same type."""
    pairs = [
        (op, one, other)
        for op in body(function).ops
        for one, first in enumerate(op.operands)
        for other, second in enumerate(op.operands)
        if one < other and first is not second and first.type == second.type
    ]
    if pairs:
        op, one, other = random.choice(pairs)
        op.operands[one], op.operands[other] = op.operands[other], op.operands[one]


@_on_ops
def use_another_value(random: random.Random, function: FuncOp) -> None:
    """Replaces an operand by another value of the same type: an argument, a constant or what an op computed."""
    known: list[SSAValue] = list(body(function).args)
    choices: list[tuple[Operation, int, SSAValue]] = []
    for op in body(function).ops:
        for index, operand in enumerate(op.operands):
            others = [value for value in known if value is not operand and value.type == operand.type]
            choices += [(op, index, value) for value in others]
        known += op.results
    if choices:
        op, index, value = random.choice(choices)
        op.operands[index] = value


@_on_ops
def use_an_argument(random: random.Random, function: FuncOp) -> None:
    """Replaces the uses of a constant or of another value by a new argument."""
    values = [result for op in _operations(function) for result in op.results if isinstance(result.type, TensorType)]
    if values:
        value = random.choice(values)
        new = body(function).insert_arg(value.type, len(body(function).args))
        value.replace_all_uses_with(new)
        _declare(function)


@_on_ops
def return_a_value_too(random: random.Random, function: FuncOp) -> None:
    """Returns the result of an op, or an argument, beside the other results."""
    returned = body(function).last_op
    assert returned is not None
    values = [result for op in _operations(function) for result in op.results if isinstance(result.type, TensorType)]
    values = [value for value in values if value not in returned.operands] or [*body(function).args]
    if values:
        returned.operands = [*returned.operands, random.choice(values)]
        _declare(function)


@_on_ops
def make_parameters(random: random.Random, function: FuncOp) -> None:
    """Chooses the roles of the arguments, which decide what const-eval computes."""
    _declare(function)
    attributes: list[DictionaryAttr] = []
    assert function.arg_attrs is not None
    for known in function.arg_attrs.data:
        role = random.choice((Role.INPUT, Role.PARAMETER, Role.CONSTANT))
        attributes.append(DictionaryAttr({**known.data, ArgumentTypeAttr.name: ArgumentTypeAttr(role)}))
    function.properties["arg_attrs"] = ArrayAttr(attributes)


def _declare(function: FuncOp) -> None:
    """Gives a function the type that its block has, and attributes for each argument."""
    returned, count = body(function).last_op, len(body(function).args)
    assert returned is not None
    known: Sequence[Any] = () if function.arg_attrs is None else function.arg_attrs.data
    function.properties["arg_attrs"] = ArrayAttr([*known, *[DictionaryAttr({})] * (count - len(known))])
    types = [value.type for value in returned.operands]
    function.function_type = FunctionType.from_lists([argument.type for argument in body(function).args], types)
    function.properties.pop("res_attrs", None)


def change_a_constant(random: random.Random, text: str) -> str:
    """Replaces the number of a constant."""
    return _replaced_once(random, text, r"(?<=dense<)(-?[0-9.]+(?:e[+-]\d+)?)(?=> : tensor<[^>]*f)", _NUMBERS) or (
        _replaced_once(random, text, r"(?<=dense<)(-?\d+)(?=> : tensor<)", _INTEGERS) or text
    )


def change_an_attribute(random: random.Random, text: str) -> str:
    """Changes a number or a truth in the properties of an op."""
    pattern = (
        r"(?<=[\[<=:,(] )-?\d+(?= : [su]?i32|, |>)|(?<=[= ])(?:true|false)(?=[,}>])|-?\d+\.\d+(?:e[+-]\d+)?(?= : f32)"
    )
    places = [
        place
        for place in re.finditer(pattern, text)
        if "<{" in text[text.rfind("\n", 0, place.start()) : place.start()]
    ]
    if not places:
        return text
    place = random.choice(places)
    old = place[0]
    if old in ("true", "false"):
        new = "false" if old == "true" else "true"
    elif "." in old:
        new = random.choice(_NUMBERS)
    else:
        new = str(int(old) + random.choice((-1, 1, 1, 2)))
    return text[: place.start()] + new + text[place.end() :]


def change_a_size(random: random.Random, text: str) -> str:
    """Replaces a size wherever it stands, in types and in properties."""
    sizes = sorted(
        {int(size) for shape in re.findall(r"tensor<((?:\d+x)+)", text) for size in shape.split("x") if size}
    )
    if not sizes or "#ttnn." in text:
        return text
    old, new = random.choice(sizes), random.choice(_SIZES)
    text = re.sub(rf"(?<=[<x]){old}(?=x)", str(new), text)
    text = re.sub(rf"(?<=[\[ ]){old}(?= : [su]?i32[,\]])", str(new), text)
    return re.sub(rf"(?<=[: ]){old}(?=[,>])", str(new), text)


def change_a_type(random: random.Random, text: str) -> str:
    """Replaces an element type wherever it stands."""
    if "#ttnn." in text:
        return text
    types = [name for name in ("bf16", "f32", "si32") if f"x{name}>" in text]
    if not types:
        return text
    old = random.choice(types)
    new = random.choice([name for name in ("bf16", "f32", "f32", "bf16", "si32") if name != old])
    return re.sub(rf"(?<=[<x]){old}(?=>)", new, text)


def insert_a_move(random: random.Random, text: str) -> str:
    """Puts an op that moves nothing, or a negation, between a value and its uses."""
    if "#ttnn." in text:
        return text
    lines = text.split("\n")
    found = [(index, place) for index, line in enumerate(lines) if (place := _ONE_RESULT.match(line))]
    if not found:
        return text
    index, place = random.choice(found)
    name, type_ = place[1], place[2]
    way = random.choice(("reshape", "neg", "abs", "typecast"))
    shape = ", ".join(f"{size} : i32" for size in re.findall(r"(\d+)x", type_))
    values = f" <{{shape = [{shape}]}}>" if way == "reshape" else ""
    lines[index] = re.sub(rf"{re.escape(name)}(?= =)", f"{name}_before", lines[index])
    lines.insert(index + 1, f'  {name} = "ttir.{way}"({name}_before){values} : ({type_}) -> {type_}')
    return "\n".join(lines)


_ONE_RESULT = re.compile(r"\s+(%[\w]+) = .* (tensor<[^>]*>)$")


def _replaced_once(random: random.Random, text: str, pattern: str, choices: Sequence[str]) -> str:
    places = list(re.finditer(pattern, text))
    if not places:
        return ""
    place = random.choice(places)
    return text[: place.start()] + random.choice(choices) + text[place.end() :]


CHANGES: tuple[Change, ...] = (
    swap_operands,
    use_another_value,
    use_an_argument,
    return_a_value_too,
    make_parameters,
    change_a_constant,
    change_an_attribute,
    change_a_size,
    change_a_type,
    insert_a_move,
)


def mutated(random: random.Random, module: ModuleOp, changes: int) -> str:
    """Returns the text of a module after some changes, each of which leaves a valid module.

    A drawn change after which the module is not valid is dropped, and another one is drawn, up to four times.

    Raises:
        NotDrawnError: The module itself is not valid.
    """
    text = print_module(module)
    if not is_valid(text):
        raise NotDrawnError("the function has no text that parses")
    for _ in range(changes):
        for _ in range(4):
            new = random.choice(CHANGES)(random, text)
            if new != text and is_valid(new):
                text = new
                break
    return text


def is_valid(text: str) -> bool:
    """Whether a text parses and follows the rules of its dialect."""
    from xdsl.utils.exceptions import DiagnosticException, VerifyException

    try:
        parse_module(text).verify()
    except (TTXLAError, VerifyException, DiagnosticException):
        return False
    return True
