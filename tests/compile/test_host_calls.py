"""Host calls: which ops become one, how values cross to the host and back, and which programs are refused."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.errors import ExecutionError, UnsupportedOpError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

pytestmark = pytest.mark.usefixtures("golden_programs")


def compiled(source: str, **options: object) -> Program:
    return compile_module(parse_module(source), CompileOptions.parse(options), load_target("n150"))


def run(program: Program, *tensors: torch.Tensor) -> list[torch.Tensor]:
    return get_device().load(program).run(tensors, [None] * len(tensors))


def host_calls(program: Program) -> list[str]:
    return [step.op for f in program.functions for step in f.body if step.op == "ttnn.host_call"]


CHAIN = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xcomplex<f32>> loc("model.py":3:1)
  %1 = stablehlo.fft %0, type = FFT, length = [8]
    : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> loc("model.py":4:1)
  %2 = stablehlo.real %1 : (tensor<8xcomplex<f32>>) -> tensor<8xf32> loc("model.py":5:1)
  %3 = stablehlo.add %2, %2 : tensor<8xf32> loc("model.py":6:1)
  return %3 : tensor<8xf32>
}"""


def test_a_chain_is_one_call_and_is_listed_with_its_lines() -> None:
    program = compiled(CHAIN)
    assert program.host_ops == (
        "stablehlo.convert at model.py:3:1",
        "stablehlo.fft at model.py:4:1",
        "stablehlo.real at model.py:5:1",
    )
    assert host_calls(program) == ["ttnn.host_call"]
    moves = [step for step in program.functions[0].body if step.op in ("ttnn.from_device", "ttnn.to_device")]
    assert [step.op for step in moves] == ["ttnn.to_device"]  # the argument never leaves the host
    assert all(step.cost.total_us > 0 for step in moves)
    x = torch.arange(8.0)
    torch.testing.assert_close(run(program, x)[0], 2 * torch.fft.fft(x).real)


def test_a_program_on_a_file_runs_its_host_calls() -> None:
    program = Program.from_bytes(compiled(CHAIN).to_bytes())
    x = torch.ones(8)
    torch.testing.assert_close(run(program, x)[0], 2 * torch.fft.fft(x).real)


def test_without_fallback_the_first_host_op_is_an_error() -> None:
    with pytest.raises(UnsupportedOpError, match=r"failed to legalize operation 'stablehlo\.convert'.*model\.py:3:1"):
        compiled(CHAIN, host_fallback=False)


def test_complex_arguments_and_results_stay_on_the_host() -> None:
    program = compiled("""
func.func @main(%x: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
  %0 = stablehlo.multiply %x, %x : tensor<3xcomplex<f32>>
  return %0 : tensor<3xcomplex<f32>>
}""")
    x = torch.tensor([1 + 2j, -1j, 0.5], dtype=torch.complex64)
    torch.testing.assert_close(run(program, x)[0], x * x)
    assert not any(step.op.endswith("_device") for step in program.functions[0].body)


def test_64_bits_stay_64_bits_on_the_host() -> None:
    program = compiled("""
func.func @main() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[1, 4294967296]> : tensor<2xi64>
  %1 = stablehlo.add %0, %0 : tensor<2xi64>
  return %1 : tensor<2xi64>
}""")
    assert run(program)[0].tolist() == [2, 2**33]


def test_a_value_that_does_not_fit_on_the_way_back_is_an_error() -> None:
    program = compiled("""
func.func @main(%x: tensor<2xf32>) -> tensor<i64> {
  %z = stablehlo.constant dense<0> : tensor<i64>
  %c = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
  %r = stablehlo.real %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %0 = stablehlo.convert %r : (tensor<2xf32>) -> tensor<2xi64>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  return %1 : tensor<i64>
}""")
    assert run(program, torch.tensor([5.0, 7.0]))[0].item() == 12
    with pytest.raises(ExecutionError, match="returned 4294967296, which is outside the range of si32"):
        run(program, torch.tensor([1.0, 2.0**32]))


def test_ui32_becomes_i64_on_the_host() -> None:
    """The chip has no integer type for such values, so later ops stay on the host until a result is small again."""
    program = compiled("""
func.func @main(%x: tensor<2xui32>) -> (tensor<2xi64>, tensor<2xi32>) {
  %c = stablehlo.constant dense<7> : tensor<2xi64>
  %0 = stablehlo.convert %x : (tensor<2xui32>) -> tensor<2xi64>
  %1 = stablehlo.remainder %0, %c : tensor<2xi64>
  %2 = stablehlo.convert %1 : (tensor<2xi64>) -> tensor<2xi32>
  %3 = stablehlo.add %2, %2 : tensor<2xi32>
  return %0, %3 : tensor<2xi64>, tensor<2xi32>
}""")
    results = run(program, torch.tensor([5, 3_000_000_000], dtype=torch.uint32))
    assert [value.tolist() for value in results] == [[5, 3_000_000_000], [10, 2 * (3_000_000_000 % 7)]]


def test_calls_of_parameters_alone_are_computed_once() -> None:
    program = compiled("""
func.func @main(%x: tensor<4xi32>, %w: tensor<4xi32> {ttcore.argument_type = "parameter"}) -> tensor<4xi32> {
  %0 = "stablehlo.sort"(%w) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %2 = stablehlo.compare LE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  %1 = stablehlo.add %x, %0 : tensor<4xi32>
  return %1 : tensor<4xi32>
}""")
    assert program.host_ops
    assert "ttnn.host_call" not in [step.op for step in program.functions[0].body]
    executable = get_device().load(program)
    for _ in range(2):
        (result,) = executable.run(
            [torch.zeros(4, dtype=torch.int32), torch.tensor([3, 1, 2, 0], dtype=torch.int32)], [None, 1]
        )
        assert result.tolist() == [0, 1, 2, 3]
    assert executable.counters.const_evals == 1


@pytest.mark.nightly
def test_jax_keeps_its_backends_to_itself() -> None:
    """The client that runs host ops is not JAX's."""
    source = f"""
import torch
from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target
program = compile_module(parse_module({CHAIN!r}), CompileOptions.parse(), load_target("n150"))
get_device().load(program).run([torch.ones(8)], [None])
from jax._src import xla_bridge
assert not xla_bridge._backends, xla_bridge._backends
"""
    finished = subprocess.run(
        [sys.executable, "-c", source],
        env=os.environ | {"JAX_PLATFORMS": "none_such"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr


def test_calls_that_host_work_joins_pass_values_in_order() -> None:
    def model(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        spectrum = jnp.fft.fft(x)
        return jnp.real(jnp.fft.ifft(spectrum * 2)), jnp.imag(spectrum) + x

    x = np.random.default_rng(0).standard_normal(16).astype(np.float32)
    program = compile_module(
        jax.jit(model).lower(x).compiler_ir("stablehlo"), CompileOptions.parse(), load_target("n150")
    )
    got = run(program, torch.from_numpy(x))
    spectrum = np.fft.fft(x)
    np.testing.assert_allclose(got[0].numpy(), 2 * x, atol=1e-5)
    np.testing.assert_allclose(got[1].numpy(), spectrum.imag + x, atol=1e-5)
    assert len(host_calls(program)) == 1


def test_a_call_without_inputs_is_a_constant() -> None:
    program = compiled("""
func.func @main(%x: tensor<8xi32>) -> tensor<8xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<8xui64>
  %1 = stablehlo.constant dense<4294967299> : tensor<ui64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<ui64>) -> tensor<8xui64>
  %3 = stablehlo.multiply %0, %2 : tensor<8xui64>
  %4 = stablehlo.convert %3 : (tensor<8xui64>) -> tensor<8xi32>
  %5 = stablehlo.add %4, %x : tensor<8xi32>
  return %5 : tensor<8xi32>
}""")
    assert host_calls(program) == []
    assert run(program, torch.ones(8, dtype=torch.int32))[0].tolist() == [3 * n + 1 for n in range(8)]


SORT = """"stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<ui2>, %b: tensor<ui2>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<ui2>, tensor<ui2>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<40xui2>) -> tensor<40xui2>"""
PERMUTE = """"stablehlo.collective_permute"(%x) {source_target_pairs = dense<0> : tensor<1x2xi64>}
    : (tensor<40xi4>) -> tensor<40xi4>"""


@pytest.mark.parametrize(
    ("element", "op"),
    [("ui2", SORT), ("i4", PERMUTE), ("complex<f32>", "stablehlo.remainder %x, %x : tensor<40xcomplex<f32>>")],
)
def test_what_would_end_the_process_is_refused(element: str, op: str) -> None:
    with pytest.raises(UnsupportedOpError, match="ends the process"):
        compiled(f"""
func.func @main(%x: tensor<40x{element}>) -> tensor<40x{element}> {{
  %0 = {op}
  return %0 : tensor<40x{element}>
}}""")


def test_constants_may_be_divided_by_zero() -> None:
    """XLA's CPU compiler would fold the division, at which the processor ends the process."""
    program = compiled("""
func.func @main() -> (tensor<2xui64>, tensor<2xui64>) {
  %0 = stablehlo.constant dense<[7, 9]> : tensor<2xui64>
  %1 = stablehlo.constant dense<[0, 4]> : tensor<2xui64>
  %2 = stablehlo.divide %0, %1 : tensor<2xui64>
  %3 = stablehlo.remainder %0, %1 : tensor<2xui64>
  return %2, %3 : tensor<2xui64>, tensor<2xui64>
}""")
    assert [result.tolist() for result in run(program)] == [[2**64 - 1, 2], [7, 1]]
