"""Loops and cases on one chip, and the faults of Programs that call other functions than they declare."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.program import FunctionKind, Instruction
from tt_xla.runtime import control

pytestmark = pytest.mark.quick

SHAPE = (1, 3)


def loop(**changes: Any) -> dict[str, Any]:
    bounds = {"initial": (1, None), "limit": (7, None), "step": (2, None)}
    attributes = {**bounds, "body_program": "body", "state_count": 1, "output_indices": (0,), **changes}
    return {name: value for name, value in attributes.items() if value is not None}


def rounds(attributes: dict[str, Any], *inputs: float) -> tuple[list[float], int]:
    """Runs a loop whose body adds its last operand to the state, while that is below 10; returns also the calls."""
    calls = 0

    def call(name: str, operands: Any) -> list[torch.Tensor]:
        nonlocal calls
        calls += 1
        assert name in ("body", "condition")
        return [operands[0] < 10] if name == "condition" else [operands[0] + operands[-1], *operands[1:-1]]

    instruction = Instruction(
        "ttcore.while_loop", {"inputs": tuple(range(len(inputs)))}, (9,), attributes, "model.py:7"
    )
    results = control.run(instruction, [torch.tensor(each) for each in inputs], call)
    return [result.item() for result in results], calls


UNCOUNTED = {"condition_program": "condition", "initial": None, "limit": None, "step": None}


@pytest.mark.parametrize(
    ("changes", "inputs", "expected", "calls"),
    [
        ({}, (5.0, 2.0), [11.0], 3),
        ({"limit": (8, None)}, (5.0, 2.0), [13.0], 4),
        ({"initial": (7, None)}, (5.0, 2.0), [5.0], 0),
        ({"initial": (3, None), "limit": (0, None), "step": (-1, None)}, (5.0, 2.0), [11.0], 3),
        ({"limit": (99, 1)}, (5.0, 4.0, 2.0), [9.0], 2),
        ({"state_count": 2, "output_indices": (1, 0)}, (5.0, 3.0, 2.0), [3.0, 11.0], 3),
        (UNCOUNTED, (5.0, 2.0), [11.0], 7),
        (UNCOUNTED, (12.0, 2.0), [12.0], 1),
    ],
)
def test_loops(changes: dict[str, Any], inputs: tuple[float, ...], expected: list[float], calls: int) -> None:
    assert rounds(loop(**changes), *inputs) == (expected, calls)


def test_a_loop_without_a_step() -> None:
    with pytest.raises(ExecutionError, match=r"A counted loop has step 0\.") as error:
        rounds(loop(step=(1, 1)), 5.0, 0)
    assert error.value.location == "model.py:7"


@pytest.mark.parametrize(("index", "chosen"), [(0, "a"), (1, "b"), (2, "c"), (3, "c"), (-1, "c"), (-2, "c")])
def test_an_index_out_of_range_selects_the_last_case(index: int, chosen: str) -> None:
    instruction = Instruction("ttcore.case", {"inputs": (0, 1)}, (2,), {"branch_programs": ("a", "b", "c")}, "")
    called = control.run(instruction, [torch.tensor(index), torch.tensor(4.0)], lambda name, inputs: [name, *inputs])
    assert called == [chosen, torch.tensor(4.0)]


def checked(function_builder: Any, make_program: Any, op: str, attributes: dict[str, Any], **callee: Any) -> None:
    """Checks an instruction with one state and one other operand, whose functions have the given facts."""
    body = function_builder(callee.get("name", "body"), callee.get("kind", FunctionKind.SUBPROGRAM))
    state, other = (body.argument(callee.get("shape", SHAPE), "f32") for _ in range(2))
    results = [state] if callee.get("returned", 1) == 1 else [state, other]
    condition = function_builder("condition", FunctionKind.SUBPROGRAM)
    truth, _ = (condition.argument(SHAPE, "f32") for _ in range(2))
    main = function_builder("main")
    inputs = tuple(main.argument(SHAPE, "f32") for _ in range(2))
    result = main.value(callee.get("result", SHAPE), "f32")
    instruction = Instruction(op, {"inputs": inputs}, (result,), attributes, "model.py:7")
    function = main.done(result)
    kept = [truth] * callee.get("truths", 1)
    control.check(make_program([function, body.done(*results), condition.done(*kept)], [], []), function, instruction)


CASE = {"branch_programs": ("body",)}


@pytest.mark.parametrize(
    ("op", "attributes", "callee", "problem"),
    [
        ("while_loop", loop(), {}, None),
        ("case", CASE, {}, None),
        ("while_loop", loop(**UNCOUNTED), {}, None),
        ("while_loop", loop(), {"name": "other"}, "calls 'body', which is not a function for loops and cases"),
        ("case", CASE, {"kind": FunctionKind.FORWARD}, "calls 'body', which is not a function for loops and cases"),
        ("case", CASE, {"shape": (1, 4)}, "passes tensors to 'body' that differ from its declared arguments"),
        ("case", CASE, {"result": (1, 4)}, "expects results that differ from those of 'body'"),
        ("case", CASE, {"returned": 2}, "expects results that differ from those of 'body'"),
        ("while_loop", loop(), {"returned": 2}, "expects results that differ from those of 'body'"),
        ("while_loop", loop(state_count=2), {"returned": 2}, None),
        ("while_loop", loop(**UNCOUNTED), {"truths": 2}, "expects results that differ from those of 'condition'"),
    ],
)
def test_functions_that_are_called(
    function_builder: Any, make_program: Any, op: str, attributes: Any, callee: Any, problem: str | None
) -> None:
    if problem is None:
        checked(function_builder, make_program, f"ttcore.{op}", attributes, **callee)
        return
    with pytest.raises(ExecutionError) as error:
        checked(function_builder, make_program, f"ttcore.{op}", attributes, **callee)
    assert f"ttcore.{op} {problem}." in str(error.value)
    assert "This is a fault of the compiler or of an edited Program; please report it." in str(error.value)
    assert error.value.location == "model.py:7"
