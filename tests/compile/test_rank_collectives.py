"""Collectives with ranks of torch.distributed in compiled programs: none is lost, merged or moved, and dtypes cross."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from tt_xla.codegen.generator import generate
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import CompileError, ExecutionError, UnsupportedOpError, VerificationError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import Device, process_groups
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

N300 = load_target("n300")


class Ranks:
    """A group of two ranks that give the same; it notes what was called."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def collective(
        self,
        kind: str,
        tensor: torch.Tensor,
        *,
        reduction: str,
        root: int,
        sent: Sequence[int],
        received: Sequence[int],
        silicon: bool,
    ) -> torch.Tensor:
        self.calls.append((kind, tensor.dtype, reduction, root, silicon))
        if sent:
            self.sizes = [*sent], [*received]
            return torch.arange(max(sum(received), 1) * tensor.shape[1], dtype=tensor.dtype).view(-1, tensor.shape[1])
        if kind == "all_gather":
            return torch.cat([tensor, tensor])
        if kind == "reduce_scatter":
            return tensor[: tensor.shape[0] // 2] * 2
        return tensor + tensor if kind == "all_reduce" else tensor.clone()


@pytest.fixture
def ranks() -> Ranks:
    group = Ranks()
    process_groups.register("pair", group)
    return group


def call(kind: str, operand: str, result: str, value: str = "%x", **fields: object) -> str:
    """Returns the custom call of a collective."""
    config = json.dumps({"kind": kind, "process_group": "pair", "ranks": 2, **fields}).replace('"', "\\22")
    return (
        f'stablehlo.custom_call @tt.rank_collective({value}) {{backend_config = "{config}", has_side_effect = true}} '
        f": (tensor<{operand}>) -> tensor<{result}>"
    )


def compiled(body: str, argument: str, result: str, **options: object) -> Program:
    text = f"func.func @main(%x: tensor<{argument}>) -> tensor<{result}> {{\n{body}\n}}"
    return compile_module(parse_module(text), CompileOptions.parse(options), N300)


def exchanges(program: Program) -> list[str]:
    ops = [step for function in program.functions for step in function.body]
    return [step.op for step in ops if "process_group" in step.attributes]


def run(program: Program, tensor: torch.Tensor) -> torch.Tensor:
    (result,) = Device(N300, trace_region_bytes=None).load(program).run([tensor], [None])
    return result


@pytest.mark.parametrize("level", [0, 2])
def test_calls_stay_in_their_order_whether_used_or_not(ranks: Ranks, level: int) -> None:
    body = "\n".join(
        [
            f"%0 = {call('all_reduce', '4x4xf32', '4x4xf32', reduction='sum')}",
            f"%1 = {call('all_reduce', '4x4xf32', '4x4xf32', reduction='sum')}",
            f"%2 = {call('broadcast', '4x4xf32', '4x4xf32', root=1)}",
            f"%3 = {call('reduce_scatter', '4x4xf32', '2x4xf32', '%1', reduction='mean')}",
            f"%4 = {call('all_gather', '2x4xf32', '4x4xf32', '%3')}",
            f"%5 = {call('all_to_all', '4x4xf32', '4x4xf32', '%4')}",
            "return %5 : tensor<4x4xf32>",
        ]
    )
    program = compiled(body, "4x4xf32", "4x4xf32", optimization_level=level)
    names = ("all_reduce", "all_reduce", "broadcast", "reduce_scatter", "all_gather", "all_to_all")
    assert exchanges(program) == [f"ttnn.{name}" for name in names]
    result = run(program, torch.ones(4, 4))
    assert torch.equal(result, torch.full((4, 4), 4.0))
    assert [made[0] for made in ranks.calls] == [*names]
    assert ranks.calls[2] == ("broadcast", torch.float32, "", 1, True)
    assert ranks.calls[3] == ("reduce_scatter", torch.float32, "mean", 0, True)


def test_a_call_of_a_branch_or_a_loop_runs_only_there(ranks: Ranks) -> None:
    inner = call("all_reduce", "2xf32", "2xf32", "%y", reduction="sum")
    body = f"""
    %n = stablehlo.constant dense<3> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<2xf32>
    %k = stablehlo.slice %x [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %s = stablehlo.reshape %k : (tensor<1xf32>) -> tensor<f32>
    %f = stablehlo.constant dense<0.0> : tensor<f32>
    %p = stablehlo.compare GT, %s, %f : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b = "stablehlo.if"(%p) ({{
      %y = stablehlo.add %x, %x : tensor<2xf32>
      %t = {inner}
      stablehlo.return %t : tensor<2xf32>
    }}, {{ stablehlo.return %x : tensor<2xf32> }}) : (tensor<i1>) -> tensor<2xf32>
    %l:2 = stablehlo.while(%i = %zero, %y = %b) : tensor<i32>, tensor<2xf32>
    cond {{
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %t = {inner}
      %v = stablehlo.multiply %y, %half : tensor<2xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %v : tensor<i32>, tensor<2xf32>
    }}
    return %l#1 : tensor<2xf32>"""
    program = compiled(body, "2xf32", "2xf32")
    assert torch.equal(run(program, torch.full((2,), -8.0)), torch.full((2,), -1.0))
    assert len(ranks.calls) == 3
    assert torch.equal(run(program, torch.full((2,), 8.0)), torch.full((2,), 4.0))
    assert len(ranks.calls) == 3 + 4


@pytest.mark.parametrize(
    ("element", "dtype", "given"),
    [
        ("bf16", torch.bfloat16, [0.5, -3.0]),
        ("f16", torch.float16, [0.5, -3.0]),
        ("i64", torch.int64, [-5, 7]),
        ("ui8", torch.uint8, [1, 9]),
        ("i1", torch.bool, [True, False]),
    ],
)
def test_elements_cross_in_the_dtype_of_the_source(ranks: Ranks, element: str, dtype: torch.dtype, given: Any) -> None:
    body = f"%0 = {call('all_gather', f'2x{element}', f'4x{element}')}\nreturn %0 : tensor<4x{element}>"
    result = run(compiled(body, f"2x{element}", f"4x{element}", numerics="exact"), torch.tensor(given, dtype=dtype))
    assert result.dtype is dtype
    assert result.tolist() == [*given, *given]
    assert ranks.calls == [("all_gather", dtype, "", 0, False)]


@pytest.mark.parametrize(("sent", "received", "rows"), [([1, 3], [2, 4], 6), ([0, 4], [0, 0], 1)])
def test_parts_of_different_sizes_cross(ranks: Ranks, sent: list[int], received: list[int], rows: int) -> None:
    exchange = call("all_to_all", "4x3xf32", f"{rows}x3xf32", sent=sent, received=received)
    program = compiled(f"%0 = {exchange}\nreturn %0 : tensor<{rows}x3xf32>", "4x3xf32", f"{rows}x3xf32")
    assert exchanges(program) == ["ttnn.all_to_all"]
    assert torch.equal(run(program, torch.ones(4, 3)), torch.arange(3.0 * rows).view(rows, 3))
    assert ranks.sizes == (sent, received)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("all_to_all", {"sent": [1, 1], "received": [2, 2]}, "expected 2 rows, as sent"),
        ("all_to_all", {"sent": [1, 3], "received": [2, 3]}, "has an operand of shape"),
        ("all_to_all", {"sent": [1, 3]}, "an all_to_all has both or neither"),
        ("broadcast", {"sent": [1, 3], "received": [1, 3]}, "an all_to_all has both or neither"),
    ],
)
def test_parts_that_do_not_fit_are_refused(kind: str, fields: dict[str, list[int]], message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        compiled(f"%0 = {call(kind, '4xf32', '4xf32', **fields)}\nreturn %0 : tensor<4xf32>", "4xf32", "4xf32")


def test_what_no_rank_can_run_is_refused(ranks: Ranks) -> None:
    body = f"%0 = {call('all_reduce', '2xf32', '2xf32', reduction='sum')}\nreturn %0 : tensor<2xf32>"
    program = compiled(body, "2xf32", "2xf32")
    with pytest.raises(UnsupportedOpError, match=r"ranks of torch\.distributed, and generated source is one process"):
        generate(program)
    elsewhere = compiled(body.replace("pair", "elsewhere"), "2xf32", "2xf32")
    with pytest.raises(ExecutionError, match="process group 'elsewhere', and this process is in no such group"):
        run(elsewhere, torch.ones(2))
    split = (
        "module attributes {mhlo.num_partitions = 2 : i32} {\nfunc.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    )
    with pytest.raises(CompileError, match=r"ranks of torch\.distributed, which have one chip each"):
        compile_module(parse_module(f"{split}\n{body}\n}}\n}}"), CompileOptions.parse({}), N300)
