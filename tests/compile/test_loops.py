"""Loops and branches: which are kept, their form in a Program, and how a Program runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest
import torch
from jax import lax

from tt_xla.codegen.generator import generate
from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.errors import ExecutionError
from tt_xla.ir.program import CASE, WHILE_LOOP, Function, FunctionKind, Instruction, Program, loop_of
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target
from tt_xla.tools.estimate import by_op, open_loops

pytestmark = [pytest.mark.usefixtures("golden_programs"), pytest.mark.quick]

X = jax.ShapeDtypeStruct((4, 8), jnp.float32)
W = jax.ShapeDtypeStruct((8, 8), jnp.float32)


def compiled(function: Callable[..., Any], *inputs: Any, parameters: int = 0, **options: Any) -> Program:
    """Compiles a function whose last ``parameters`` arguments are parameters."""
    source = jax.jit(function).lower(*inputs).as_text()
    for index in range(len(inputs) - parameters, len(inputs)):
        source = source.replace(
            f"%arg{index}: tensor<8x8xf32>", f'%arg{index}: tensor<8x8xf32> {{ttcore.argument_type = "parameter"}}', 1
        )
    return compile_module(parse_module(source), CompileOptions.parse(options), load_target("n150"))


def instructions(program: Program, op: str) -> list[Instruction]:
    return [each for function in program.functions for each in function.body if each.op == op]


def subprograms(program: Program) -> dict[str, Function]:
    return {each.name: each for each in program.functions if each.kind is FunctionKind.SUBPROGRAM}


def run(program: Program, *inputs: np.ndarray) -> list[torch.Tensor]:
    tensors = [torch.from_numpy(np.asarray(value)) for value in inputs]
    return get_device().load(program).run(tensors, [None] * len(tensors))


def loop(x: Any, w: Any) -> Any:
    return lax.fori_loop(0, 20, lambda i, c: jnp.tanh(c @ w), x)


def until(x: Any, w: Any) -> Any:
    return lax.while_loop(lambda c: c.sum() < 100, lambda c: jnp.exp(c @ w * 0.01) + c, x)


def test_a_counted_loop_stays_one_without_its_counter() -> None:
    program = compiled(loop, X, W)
    (while_loop,) = instructions(program, WHILE_LOOP)
    assert loop_of(while_loop).trips == 20
    assert loop_of(while_loop).states == 1
    body = subprograms(program)[loop_of(while_loop).body]
    assert [each.op for each in body.body if each.op != "ttnn.deallocate"] == ["ttnn.matmul", "ttnn.tanh"]


def test_a_loop_whose_end_it_computes_has_a_condition() -> None:
    (while_loop,) = instructions(compiled(until, X, W), WHILE_LOOP)
    assert loop_of(while_loop).condition == "main_while_condition"
    assert loop_of(while_loop).trips is None


@pytest.mark.parametrize("trips", [0, 1])
def test_a_loop_of_one_round_at_most_is_written_out(trips: int) -> None:
    program = compiled(lambda x, w: lax.fori_loop(0, trips, lambda i, c: jnp.tanh(c @ w), x), X, W)
    assert not instructions(program, WHILE_LOOP)
    assert len(instructions(program, "ttnn.tanh")) == trips


def test_a_loop_that_mostly_counts_is_written_out() -> None:
    program = compiled(lambda x: lax.fori_loop(0, 3, lambda i, c: c.at[i].set(c[i] * 2), x), X)
    assert not instructions(program, WHILE_LOOP)


def test_invariant_work_on_parameters_is_done_once_for_all_calls() -> None:
    def step(x: Any, w: Any) -> Any:
        return lax.fori_loop(0, 20, lambda i, c: jnp.tanh(c @ jnp.exp(w + w.T)), x)

    program = compiled(step, X, W, parameters=1)
    (body,) = subprograms(program).values()
    assert not {"ttnn.add", "ttnn.permute"} & {each.op for each in body.body}
    cached = {each.op for f in program.functions if f.kind is FunctionKind.CONST_EVAL for each in f.body}
    assert {"ttnn.permute", "ttnn.add"} <= cached


def test_each_round_is_counted_in_the_estimate() -> None:
    short = compiled(lambda x, w: lax.fori_loop(0, 10, lambda i, c: jnp.tanh(c @ w), x), X, W)
    long = compiled(lambda x, w: lax.fori_loop(0, 30, lambda i, c: jnp.tanh(c @ w), x), X, W)
    assert by_op(short.functions)["ttnn.tanh"].count == 10
    assert by_op(long.functions)["ttnn.tanh"].count == 30
    assert long.predicted_device_us > 2 * short.predicted_device_us
    assert open_loops(compiled(until, X, W).functions) == ["main_while_body"]
    assert open_loops(long.functions) == []


def test_memory_does_not_grow_with_the_rounds() -> None:
    few, many = (
        compiled(lambda x, w, n=n: lax.fori_loop(0, n, lambda i, c: jnp.tanh(c @ w), x), X, W).memory for n in (5, 500)
    )
    assert few.dram_peak_bytes == many.dram_peak_bytes


def test_a_program_with_loops_survives_its_file() -> None:
    program = compiled(until, X, W)
    again = Program.from_bytes(program.to_bytes())
    inputs = np.full((4, 8), 0.1, np.float32), np.eye(8, dtype=np.float32)
    assert torch.equal(run(program, *inputs)[0], run(again, *inputs)[0])


def test_a_counted_loop_is_traced() -> None:
    program = compiled(loop, X, W, enable_trace=True)
    assert program.memory.trace_bytes > 20 * 2 * 4096
    x, w = np.full((4, 8), 0.1, np.float32), np.eye(8, dtype=np.float32) / 2
    executable = get_device().load(program)
    tensors = [torch.from_numpy(x), torch.from_numpy(w)]
    results = [executable.run(tensors, [None, None])[0] for _ in range(3)]
    assert executable.state == "captured"
    lookups = executable.counters.kernel_lookups
    results.append(executable.run(tensors, [None, None])[0])
    assert executable.counters.kernel_lookups == lookups
    for result in results[1:]:
        assert torch.equal(result, results[0])


def test_a_loop_that_asks_the_device_runs_untraced(project_log: pytest.LogCaptureFixture) -> None:
    program = compiled(until, X, W, enable_trace=True)
    assert not program.memory.trace_bytes
    assert "'ttcore.while_loop'" in project_log.text


def test_an_edited_program_is_refused() -> None:
    program = compiled(loop, X, W)
    others = tuple(each for each in program.functions if each.kind is not FunctionKind.SUBPROGRAM)
    with pytest.raises(ExecutionError, match="calls 'main_counted_loop', which is not a function"):
        get_device().load(msgspec.structs.replace(program, functions=others))


def test_generated_source_loops() -> None:
    text = generate(compiled(loop, X, W)).main
    assert "for _ in range(20):\n        carried = main_counted_loop(device, *carried, " in text
    assert "while utils.scalar(main_while_condition(device, *carried" in generate(compiled(until, X, W)).main


def test_large_branches_become_a_case() -> None:
    def large(v: Any) -> Any:
        for _ in range(10):
            v = jnp.tanh(v) + jnp.exp(-v)
        return v

    program = compiled(lambda i, x: lax.cond(i > 0, large, lambda v: v, x), jax.ShapeDtypeStruct((), jnp.int32), X)
    assert len(instructions(program, CASE)) == 1
    assert not instructions(program, "ttnn.where")
    assert "utils.pick(" in generate(program).main
    small = compiled(lambda i, x: lax.cond(i > 0, jnp.tanh, jnp.exp, x), jax.ShapeDtypeStruct((), jnp.int32), X)
    assert not instructions(small, CASE)


def test_a_loop_whose_states_outgrow_the_chip_runs_on_the_host() -> None:
    """On the host, unsigned integers and the sum that the loop carries become 64-bit integers."""
    steps = "\n".join(
        f"    %s{n + 1} = stablehlo.sine %s{n} : tensor<4xf32>\n    %t{n} = stablehlo.add %s{n + 1}, %y : tensor<4xf32>"
        for n in range(70)
    )
    state = "tensor<i64>, tensor<4xi64>, tensor<4xf32>"
    text = f"""
func.func @main(%u: tensor<4xui32>, %sum: tensor<4xi64>, %x: tensor<4xf32>) -> (tensor<4xi64>, tensor<4xf32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %many = stablehlo.constant dense<3000> : tensor<i64>
  %r:3 = stablehlo.while(%i = %zero, %total = %sum, %y = %x) : {state}
  cond {{
    %c = stablehlo.compare LT, %i, %many : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %s0 = stablehlo.negate %y : tensor<4xf32>
{steps}
    %w = stablehlo.convert %u : (tensor<4xui32>) -> tensor<4xi64>
    %next = stablehlo.add %total, %w : tensor<4xi64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %next, %t69 : {state}
  }}
  return %r#1, %r#2 : tensor<4xi64>, tensor<4xf32>
}}"""
    program = compile_module(parse_module(text), CompileOptions.parse({}), load_target("n150"))
    assert not instructions(program, WHILE_LOOP)
    assert any("stablehlo.while" in op for op in program.host_ops)
    arguments = (np.array([1, 2, 3, 4], np.uint32), np.zeros(4, np.int64), np.zeros(4, np.float32))
    assert run(program, *arguments)[0].tolist() == [3000, 6000, 9000, 12000]


BOOLEANS_IN_A_LOOP = """
func.func @main(%x: tensor<i32>) -> (tensor<i1>, tensor<i1>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %r:4 = stablehlo.while(%k = %zero, %a = %true, %b = %true, %y = %x)
    : tensor<i32>, tensor<i1>, tensor<i1>, tensor<i32>
    cond {
      %p = stablehlo.compare LT, %k, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %next = stablehlo.add %k, %one : tensor<i32>
      %two = stablehlo.add %next, %one : tensor<i32>
      %converted = stablehlo.convert %two : (tensor<i32>) -> tensor<i1>
      %sum = stablehlo.add %true, %true : tensor<i1>
      %z = stablehlo.add %y, %two : tensor<i32>
      stablehlo.return %next, %converted, %sum, %z : tensor<i32>, tensor<i1>, tensor<i1>, tensor<i32>
    }
  return %r#1, %r#2, %r#3 : tensor<i1>, tensor<i1>, tensor<i32>
}"""


def test_scalars_that_become_booleans_in_a_loop() -> None:
    """The loop is unrolled, and its scalars are computed during the import: 2 is true, and true + true is true."""
    program = compile_module(parse_module(BOOLEANS_IN_A_LOOP), CompileOptions.parse(), load_target("n150"))
    results = get_device("n150").load(program).run([torch.tensor(5, dtype=torch.int32)], [None])
    assert [value.item() for value in results] == [True, True, 7]
