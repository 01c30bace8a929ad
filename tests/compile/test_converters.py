"""The importer handles converters that refuse an op with UnsupportedOpError, and reports those that have a bug."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.stablehlo import conversion
from tt_xla.compiler.stablehlo.structure import reshape
from tt_xla.errors import CompileError, InternalCompilerError, UnsupportedOpError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

pytestmark = [pytest.mark.usefixtures("golden_programs"), pytest.mark.quick]

IN_MAIN = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
IN_A_PRIVATE_FUNCTION = """
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
IN_A_BRANCH = """
func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
PROGRAMS = {"main": IN_MAIN, "private function": IN_A_PRIVATE_FUNCTION, "branch": IN_A_BRANCH}


def compiled(source: str) -> Program:
    return compile_module(parse_module(source), CompileOptions.parse(), load_target("n150"))


def replace_converter(monkeypatch: pytest.MonkeyPatch, name: str, converter: Any) -> None:
    monkeypatch.setattr(conversion, "CONVERTERS", {**conversion.CONVERTERS, name: converter})


@pytest.mark.parametrize("place", PROGRAMS)
@pytest.mark.parametrize("kind", [TypeError, ValueError, KeyError, AttributeError, RuntimeError, AssertionError])
def test_a_bug_in_a_converter_is_reported_as_a_bug(
    place: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(context: Any, op: Any) -> None:
        raise kind("a bug in the converter")

    replace_converter(monkeypatch, "stablehlo.sine", broken)
    with pytest.raises(CompileError, match=rf"'stablehlo\.sine' failed with {kind.__name__}") as caught:
        compiled(PROGRAMS[place])
    assert not isinstance(caught.value, UnsupportedOpError)
    assert isinstance(caught.value.__cause__, kind)
    assert "fault of tt-xla" in str(caught.value)


@pytest.mark.parametrize("place", PROGRAMS)
def test_a_lowering_of_another_shape_is_a_bug(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def reshaped(context: Any, op: Any) -> Any:
        return reshape(context, context[op.operands[0]], (2, 2))

    replace_converter(monkeypatch, "stablehlo.sine", reshaped)
    with pytest.raises(CompileError, match=r"its lowering has shape \(2, 2\), expected \(4,\)") as caught:
        compiled(PROGRAMS[place])
    assert not isinstance(caught.value, UnsupportedOpError)


@pytest.mark.parametrize("place", PROGRAMS)
def test_an_op_that_a_converter_rejects_runs_on_the_host(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def rejecting(context: Any, op: Any) -> None:
        raise context.reject(op, "the test wants it so")

    replace_converter(monkeypatch, "stablehlo.sine", rejecting)
    (host_op,) = compiled(PROGRAMS[place]).host_ops
    assert host_op.partition(" at ")[0] in ("stablehlo.sine", "stablehlo.if")


BRANCHES_WITH_AN_EMPTY_RESULT = """
func.func @main(%x: tensor<4xf32>, %e: tensor<0xf32>, %p: tensor<i1>) -> (tensor<0xf32>, tensor<4xf32>) {
  %0:2 = "stablehlo.if"(%p) ({
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %e, %1 : tensor<0xf32>, tensor<4xf32>
  }, {
    stablehlo.return %e, %x : tensor<0xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<0xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<0xf32>, tensor<4xf32>
}
"""


def test_an_op_with_one_empty_result_keeps_its_other_results() -> None:
    program = compiled(BRANCHES_WITH_AN_EMPTY_RESULT)
    x = torch.arange(4, dtype=torch.float32)
    empty, values = get_device("n150").load(program).run([x, torch.zeros(0), torch.tensor(True)], [None] * 3)
    assert empty.shape == (0,)
    torch.testing.assert_close(values, torch.sin(x), atol=0.01, rtol=0.01)


KNOWN_SCALARS = """
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<f32>
  cond {
    %1 = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.multiply %i, %two : tensor<i32>
    %3 = stablehlo.convert %2 : (tensor<i32>) -> tensor<f32>
    %4 = stablehlo.add %a, %3 : tensor<f32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %5, %4 : tensor<i32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
}
"""


def test_a_bug_in_the_arithmetic_of_known_scalars_is_reported_as_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    compute = conversion.scalars.compute

    def broken(op: Any, operands: list[int]) -> int | None:
        if op.operation.name == "stablehlo.multiply":
            raise KeyError("a bug in the arithmetic")
        return compute(op, operands)

    monkeypatch.setattr(conversion.scalars, "compute", broken)
    with pytest.raises(InternalCompilerError, match=r"'stablehlo\.multiply' failed with KeyError"):
        compiled(KNOWN_SCALARS)


@pytest.mark.parametrize("size", [0, 1, 2, 7, 40])
def test_a_product_of_integers_wraps_in_default_numerics(size: int) -> None:
    """TT-NN's own product is one of floats, which saturate."""
    program = compiled(f"""
    func.func @main(%x: tensor<2x{size}x3xi32>) -> tensor<2xi32> {{
      %c = stablehlo.constant dense<1> : tensor<i32>
      %0 = stablehlo.reduce(%x init: %c) applies stablehlo.multiply across dimensions = [1, 2]
        : (tensor<2x{size}x3xi32>, tensor<i32>) -> tensor<2xi32>
      return %0 : tensor<2xi32>
    }}""")
    x = (torch.arange(2 * size * 3, dtype=torch.int32) % 11 * 2 - 9).reshape(2, size, 3)
    (result,) = get_device().load(program).run([x], [None])
    assert result.tolist() == x.flatten(1).prod(1, dtype=torch.int32).tolist()
