"""The traps of the emulated card, on Programs written by hand: what each finds, and what it lets pass."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tt_xla.errors import ExecutionError, IndexTrapError, NumberTrapError
from tt_xla.ir.program import Program, Role

pytestmark = pytest.mark.quick

NAN, INF = math.nan, math.inf


@pytest.fixture
def trapped(device, function_builder, make_program):
    """Runs a program with traps on tensors; ``make`` emits its ops on the arguments and returns a result."""

    def run(trap: str, make: Any, *tensors: torch.Tensor, numerics: str = "silicon") -> torch.Tensor:
        f = function_builder("main")
        names = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int32: "si32"}
        declared = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int32: "i32"}
        arguments = [f.argument(x.shape, names[x.dtype]) for x in tensors]
        result = make(f, *arguments)
        spec = f.values[result]
        kinds = [(f"a{i}", Role.INPUT, tuple(x.shape), declared[x.dtype]) for i, x in enumerate(tensors)]
        returned = [(spec.shape, {"bfp_bf8": "bf16"}.get(spec.layout.dtype.value, spec.layout.dtype.value))]
        options = {"numerics": numerics, "trap": trap}
        program: Program = make_program([f.done(result)], kinds, returned, options=options)
        executable = device.load(program)
        executable.run(list(tensors), [None] * len(tensors))
        (outcome,) = executable.run(list(tensors), [None] * len(tensors))
        return outcome

    return run


def unary(op: str, dtype: str = "f32", **attributes: Any) -> Any:
    return lambda f, x: f.op(op, f.values[x].shape, dtype, attributes, input=x)


def binary(op: str, dtype: str = "f32") -> Any:
    return lambda f, x, y: f.op(op, f.values[x].shape, dtype, {}, lhs=x, rhs=y)


@pytest.mark.parametrize(
    ("op", "operand", "kind", "element"),
    [
        ("ttnn.log", [1.0, -1.0, -2.0], "nan", (1,)),
        ("ttnn.sqrt", [NAN, -1.0, 4.0], "nan", (1,)),
        ("ttnn.sin", [1.0, 2.0, INF], "nan", (2,)),
        ("ttnn.log", [1.0, 2.0, 0.0], "inf", (2,)),
        ("ttnn.exp", [INF, 100.0, 1.0], "inf", (1,)),
        ("ttnn.reciprocal", [1.0, 0.0, 1.0], "inf", (1,)),
    ],
)
def test_first_element_is_named(trapped, op: str, operand: list[float], kind: str, element: tuple[int, ...]) -> None:
    with pytest.raises(NumberTrapError, match=rf"{op} made .*element \[{element[0]}\] of its result 3 f32") as caught:
        trapped("nan,inf", unary(op), torch.tensor(operand))
    assert (caught.value.kind, caught.value.op, caught.value.element) == (kind, op, element)
    assert caught.value.location == "model.py:7"
    assert isinstance(caught.value, ExecutionError)
    assert isinstance(caught.value, FloatingPointError)


@pytest.mark.parametrize(
    ("trap", "op", "operand"),
    [
        ("nan,inf", "ttnn.log", [NAN, 1.0, 2.0]),
        ("nan,inf", "ttnn.exp", [INF, -INF, NAN]),
        ("inf", "ttnn.log", [-1.0, 1.0, 1.0]),
        ("nan", "ttnn.log", [0.0, 1.0, 1.0]),
        ("", "ttnn.log", [-1.0, 0.0, 1.0]),
        ("nan,inf,precision", "ttnn.exp", [3e4 / 1e4, 0.0, -1.0]),
    ],
)
def test_what_is_passed_on_or_not_asked_for_is_no_fault(trapped, trap: str, op: str, operand: list[float]) -> None:
    result = trapped(trap, unary(op), torch.tensor(operand))
    assert torch.equal(result.isfinite(), getattr(torch, op[5:])(torch.tensor(operand)).isfinite())


def test_overflow_of_a_format_is_an_infinity(trapped) -> None:
    with pytest.raises(NumberTrapError, match=r"typecast made an infinity \(inf\) in element \[1\].*input 3.4e\+38"):
        trapped("inf", unary("ttnn.typecast", "bf16"), torch.tensor([1.0, 3.4e38]))


def test_ops_that_mix_elements_name_ranges(trapped) -> None:
    def product(f: Any, x: int, y: int) -> int:
        flags = {"transpose_a": False, "transpose_b": False}
        return f.op("ttnn.matmul", (2, 2), "f32", flags, a=x, b=y)

    large = torch.full((2, 2), 3e38)
    with pytest.raises(NumberTrapError, match=r"ttnn.matmul made an infinity.*operands are a 2x2 f32 from 3e\+38 to"):
        trapped("inf", product, large, large)
    holds = large.clone()
    holds[0, 0] = INF
    assert trapped("inf", product, holds, large).isinf().all()


def test_a_mask_of_minus_infinity_is_no_fault(trapped) -> None:
    def masked(f: Any, x: int, mask: int) -> int:
        minus = f.op("ttnn.full", (1, 4), "f32", {"shape": (1, 4), "fill_value": -INF})
        chosen = f.op("ttnn.where", (1, 4), "f32", {}, first=mask, second=x, third=minus)
        total = f.op("ttnn.add", (1, 4), "f32", {}, lhs=chosen, rhs=minus)
        both = f.op("ttnn.maximum", (1, 4), "f32", {}, lhs=total, rhs=chosen)
        return f.op("ttnn.softmax", (1, 4), "f32", {"dimension": 1}, input=both)

    keep = torch.tensor([[1.0, 1.0, 0.0, 0.0]])
    assert trapped("all", masked, torch.rand(1, 4), keep).isfinite().all()
    with pytest.raises(NumberTrapError, match="softmax made a NaN"):
        trapped("all", masked, torch.rand(1, 4), torch.zeros(1, 4))


def test_bits_that_a_block_float_loses(trapped) -> None:
    row = torch.full((1, 32), 1.0)
    assert trapped("precision", unary("ttnn.typecast", "bfp_bf8"), row).eq(1).all()
    row[0, 3] = 1000.0
    with pytest.raises(NumberTrapError, match=r"lost 6.7 of the 7 significant bits of bfp_bf8 in element \[0, 0\]"):
        trapped("precision", unary("ttnn.typecast", "bfp_bf8"), row)
    row[0, 3] = 5.0
    assert trapped("precision:6", unary("ttnn.typecast", "bfp_bf8"), row).eq(1).sum() == 31
    row[0, 0] = 1.03
    with pytest.raises(NumberTrapError, match="and 1 are allowed"):
        trapped("precision:1", unary("ttnn.typecast", "bfp_bf8"), row)


def test_bits_that_cancelling_terms_lose(trapped) -> None:
    x, near = torch.full((1, 32), 4096.0), torch.full((1, 32), 4096.0)
    near[0, ::2] += 32
    with pytest.raises(NumberTrapError, match=r"ttnn.subtract lost 8.0 of the 8 .*because its terms cancel") as caught:
        trapped("precision", binary("ttnn.subtract", "bf16"), near.bfloat16(), x.bfloat16())
    assert caught.value.kind == "precision"
    assert trapped("precision", binary("ttnn.subtract"), near, x).max() == 32  # float32 keeps 17 bits of them


def test_indices_outside(trapped) -> None:
    def looked_up(f: Any, table: int, rows: int) -> int:
        marks = {"min": 0, "max": 2, "indexes": "stablehlo.gather, dimension 0"}
        limited = f.op("ttnn.clamp_scalar", (1, 4), "si32", marks, input=rows)
        return f.op("ttnn.embedding", (1, 4, 2), "f32", {}, input=limited, weight=table)

    table = torch.arange(6.0).reshape(3, 2)
    inside, outside = (torch.tensor([[0, 2, 1, last]], dtype=torch.int32) for last in (2, 5))
    assert trapped("index", looked_up, table, inside).shape == (1, 4, 2)
    assert trapped("nan", looked_up, table, outside)[0, 3].tolist() == [4.0, 5.0]
    with pytest.raises(IndexTrapError, match=r"Index 5 is outside of 0 to 2: element \[0, 3\]") as caught:
        trapped("index", looked_up, table, outside)
    assert (caught.value.op, caught.value.location) == ("stablehlo.gather", "model.py:7")
    assert isinstance(caught.value, IndexError)


def test_negative_index_of_a_gather_is_outside(trapped) -> None:
    def gathered(f: Any, x: int, index: int) -> int:
        return f.op("ttnn.gather", (1, 2), "f32", {"dim": 1}, input=x, index=index)

    with pytest.raises(IndexTrapError, match="Index -1 is outside of 0 to 3"):
        trapped("index", gathered, torch.rand(1, 4), torch.tensor([[0, -1]], dtype=torch.int32))


def test_an_infinity_that_the_program_names_is_no_fault(trapped) -> None:
    limited = unary("ttnn.clamp_scalar", min=INF, max=INF)
    assert trapped("nan,inf", limited, torch.tensor([1.0, -2.0])).tolist() == [INF, INF]
