"""Repeated parts are found in models whose arguments have no names."""

from __future__ import annotations

import re

import pytest

from tests.codegen.test_python import compiled, decoder
from tt_xla.codegen.generator import generate
from tt_xla.codegen.repeats import find_repeats
from tt_xla.ir.program import Instruction

pytestmark = pytest.mark.quick


def nameless(layers: int) -> str:
    """Returns the decoder without argument names, as plain JAX produces it."""
    return re.sub(r" \{[^{}]*ttir.name[^{}]*\}", "", decoder(layers))


def test_layers_are_one_function_without_names() -> None:
    program = compiled(nameless(30))
    main = generate(program).main
    ops = sum(step.op != "ttnn.deallocate" for function in program.functions for step in function.body)
    assert main.count("def block(device, w, x):") == 1
    assert main.count(" = block(device, utils.named(w, ") >= 29
    assert "**utils.load_range(range(0, 61), ttnn.bfloat16, " in main
    assert len(main.splitlines()) < 1.0 * ops


def test_every_op_is_still_called() -> None:
    main = generate(compiled(nameless(30))).main
    body = main.partition("def block(")[2].partition("def forward(")[0]
    calls = main.count(" = block(")
    for op in ("ttnn.multiply(", "ttnn.add("):
        inside = body.count(op)
        assert calls * inside + main.count(op) - inside == 30


def test_cpp_gives_weights_one_by_one() -> None:
    main = generate(compiled(nameless(8)), language="cpp").main
    assert "utils.named" not in main
    assert re.search(r" = block\(device, w.at\(\"arg\d+\"\), w.at\(\"arg\d+\"\), ", main)


def step(text: str, reads: list[int], makes: int) -> Instruction:
    return Instruction(op=text, operands={"inputs": tuple(reads)}, results=(makes,), attributes={}, location="")


def described(instruction: Instruction) -> tuple[str, list[int]]:
    return instruction.op, list(instruction.operands["inputs"])  # type: ignore[arg-type]


def test_the_same_calls_wired_otherwise_are_another_part() -> None:
    names = ["a", "b", "c", "d", "e", "f"]
    alike: list[Instruction] = []
    value = 0
    for turn in range(6):
        for position, name in enumerate(names):
            crossed = turn == 3 and position == 4
            alike.append(step(name, [value - 1 if crossed else value], value + 1))
            value += 1
    repeats = find_repeats(alike, described, ())
    spans = [(repeat.first, repeat.last) for repeat in repeats]
    assert not any(first <= 3 * 6 + 4 - 1 and last >= 3 * 6 + 4 for first, last in spans)
    assert len(repeats) > 1
