"""Known operands of host ops: quotients by zero, and 4-bit floats, have the values that XLA gives them on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from tt_xla import host
from tt_xla.compiler import compile_module, parse_module
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

pytestmark = pytest.mark.usefixtures("golden_programs")

PAIRS = [(7, 0), (0, 0), (7, 2), (7, 3)]
SIGNED_PAIRS = [*PAIRS, (-7, 0), (-7, 2), (7, -2), ("least", -1), ("least", 0)]


def least(element: str) -> int:
    return -(2 ** (int(element.lstrip("ui")) - 1))


def pairs_of(element: str) -> list[tuple[int, int]]:
    pairs = PAIRS if element.startswith("u") else SIGNED_PAIRS
    return [(least(element) if a == "least" else int(a), b) for a, b in pairs]


def module(element: str, shape: str) -> str:
    """Returns the quotient and the remainder of each pair, all of constants."""
    type_ = f"tensor<{shape}{element}>"
    lines: list[str] = []
    results: list[str] = []
    for number, (a, b) in enumerate(pairs_of(element)):
        lines += [f"%a{number} = stablehlo.constant dense<{a}> : {type_}"]
        lines += [f"%b{number} = stablehlo.constant dense<{b}> : {type_}"]
        for op in ("divide", "remainder"):
            results.append(f"%{op}{number}")
            lines.append(f"{results[-1]} = stablehlo.{op} %a{number}, %b{number} : {type_}")
    types = ", ".join([type_] * len(results))
    body = "\n".join(lines)
    return f"module {{ func.func @main() -> ({types}) {{\n{body}\nreturn {', '.join(results)} : {types} }} }}"


def quotients_of_xla(element: str) -> list[list[int]]:
    """Returns the quotients and remainders as XLA computes them from arguments; its folding of constants crashes."""
    dtype = ("u" if element.startswith("u") else "") + f"int{element.lstrip('ui')}"
    pairs = np.array(pairs_of(element)).T.astype(dtype)
    type_ = f"tensor<{pairs.shape[1]}x{element}>"
    text = f"""module {{ func.func @main(%a: {type_}, %b: {type_}) -> ({type_}, {type_}) {{
        %q = stablehlo.divide %a, %b : {type_}
        %r = stablehlo.remainder %a, %b : {type_}
        return %q, %r : {type_}, {type_} }} }}"""
    return [[int(number) for number in array] for array in host.load(text)([*pairs])]


@pytest.mark.parametrize("shape", ["", "40x"])
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "ui8", "ui16", "ui32"])
def test_known_quotients_and_remainders_are_those_of_xla(element: str, shape: str) -> None:
    program = compile_module(parse_module(module(element, shape)), CompileOptions(), load_target("n150"))
    results = get_device("n150").load(program).run([], [])
    known = [set(result.flatten().tolist()) for result in results]
    quotients, remainders = quotients_of_xla(element)
    assert known[::2] == [{number} for number in quotients]
    assert known[1::2] == [{number} for number in remainders]


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("8xf4E2M1FN", [0, 0, 0, 0, 0, 0, -6, 1.5]),
        ("8xui4", [0, 0, 0, 0, 0, 0, 15, 3]),
        ("16xui2", [0] * 12 + [3, 3, 3, 0]),
    ],
)
def test_known_bits_are_numbers_of_a_few_bits_in_order(type_: str, expected: list[float]) -> None:
    """XLA's folding of constants puts several such numbers into a byte, and reads one from each."""
    body = f"stablehlo.bitcast_convert %a : (tensor<1xf32>) -> tensor<1x{type_}>"
    known = (
        "module {{ func.func @main({}) -> tensor<1x"
        + type_
        + "> {{ {} %r = {} return %r : tensor<1x"
        + type_
        + "> }} }}"
    )
    constant = host.load(known.format("", "%a = stablehlo.constant dense<[0.5]> : tensor<1xf32>", body))([])
    argument = host.load(known.format("%a: tensor<1xf32>", "", body))([np.array([0.5], np.float32)])
    assert [float(value) for value in constant[0].ravel()] == expected
    assert [float(value) for value in argument[0].ravel()] == expected
