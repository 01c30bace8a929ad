"""Malformed and unsupported programs raise the documented error, never another exception, and never crash."""

from __future__ import annotations

import contextlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.errors import CompileError, MalformedModuleError, ResourceExhaustedError, UnsupportedOpError
from tt_xla.ir import text
from tt_xla.options import CompileOptions
from tt_xla.target import load_target


def compiled(source: str | bytes, **options: object) -> None:
    compile_module(parse_module(source), CompileOptions.parse(options), load_target("n150"))


def small_program() -> str:
    def model(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.nn.softmax(jnp.maximum(x @ w, 0.5), axis=-1)

    return jax.jit(model).lower(np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)).as_text()


STABLEHLO = small_program()
_dumps: dict[str, str] = {}
compile_module(parse_module(STABLEHLO), CompileOptions.parse(), load_target("n150"), dumps=_dumps)
IR = {stage: re.sub(r" loc\(.*?\)(?=[,)]| \{|$)", "", _dumps[stage], flags=re.MULTILINE) for stage in ("ttir", "ttnn")}


def refused_or_accepted(source: str | bytes) -> None:
    with contextlib.suppress(CompileError, ResourceExhaustedError):
        compiled(source)


@given(st.integers(0, len(STABLEHLO)))
def test_stablehlo_text_cut_anywhere(position: int) -> None:
    refused_or_accepted(STABLEHLO[:position])


@given(st.integers(0, len(STABLEHLO) - 1), st.integers(1, 12))
def test_stablehlo_text_with_a_hole(position: int, length: int) -> None:
    refused_or_accepted(STABLEHLO[:position] + STABLEHLO[position + length :])


@given(st.integers(0, len(STABLEHLO)), st.characters())
def test_stablehlo_text_with_any_character_added(position: int, character: str) -> None:
    refused_or_accepted((STABLEHLO[:position] + character + STABLEHLO[position:]).encode("utf-8", "surrogatepass"))


def portable_artifact() -> bytes:
    from jaxlib.mlir.dialects import stablehlo

    module = parse_module(STABLEHLO)
    return stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())


ARTIFACT = portable_artifact()


def test_a_whole_artifact_compiles() -> None:
    compiled(ARTIFACT)


@given(st.integers(0, len(ARTIFACT) - 1))
def test_bytecode_cut_anywhere(position: int) -> None:
    with pytest.raises(CompileError):
        compiled(ARTIFACT[:position])


@pytest.mark.parametrize(
    "junk", [b"", b"\x00", b"ML\xefR", b"ML\xefRStableHLO_v9.9.9\x00", b"\xff\xfe", b"hello", b"{}"]
)
def test_junk(junk: bytes) -> None:
    with pytest.raises(MalformedModuleError):
        compiled(junk)


def read_back(source: str) -> None:
    with contextlib.suppress(MalformedModuleError):
        text.parse_module(source)


@pytest.mark.parametrize("stage", IR)
def test_ir_text_cut_anywhere(stage: str) -> None:
    for position in range(0, len(IR[stage]), max(1, len(IR[stage]) // 60)):
        read_back(IR[stage][:position])


@pytest.mark.parametrize("stage", IR)
def test_ir_text_with_words_missing_or_doubled(stage: str) -> None:
    words = list(re.finditer(r"[\w.]+|[<>(){}\[\],:=%#@!]", IR[stage]))
    for match in words[:: max(1, len(words) // 60)]:
        read_back(IR[stage][: match.start()] + IR[stage][match.end() :])
        read_back(IR[stage][: match.end()] + IR[stage][match.start() :])


def test_deep_nesting() -> None:
    with pytest.raises(MalformedModuleError):
        text.parse_module("func.func @f() attributes {x = " + "[" * 5000 + "]" * 5000 + "} { func.return }")


MALFORMED = {
    "calls itself": (
        """
func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @g(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @g(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}""",
        r"Function @f calls itself: main -> f -> g -> f\.",
    ),
    "no function": ("module {}", "Expected exactly one public function, found: 0"),
    "no public function": (
        "func.func private @f() { return }",
        "Expected exactly one public function, found: 0",
    ),
    "two public functions": (
        "func.func @f() { return }\nfunc.func @g() { return }",
        "Expected exactly one public function, found: 2",
    ),
    "no body": ("func.func private @main()", "found: 0"),
    "unknown argument role": (
        'func.func @main(%x: tensor<2xf32> {ttcore.argument_type = "weight"}) { return }',
        r'ttcore\.argument_type of argument 0 is "weight", expected default, input, parameter, constant\.',
    ),
    "role of another kind": (
        "func.func @main(%x: tensor<2xf32> {ttcore.argument_type = 3 : i32}) { return }",
        r"ttcore\.argument_type of argument 0 is 3 : i32, expected",
    ),
    "name of another kind": (
        "func.func @main(%x: tensor<2xf32> {ttir.name = 3 : i32}) -> tensor<2xf32> { return %x : tensor<2xf32> }",
        r"ttir\.name of argument 0 is 3 : i32, expected a string",
    ),
    "several blocks": (
        """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  cf.br ^b(%x : tensor<2xf32>)
^b(%y: tensor<2xf32>):
  return %y : tensor<2xf32>
}""",
        "@main has 2 blocks",
    ),
    "argument that is no tensor": ("func.func @main(%x: i32) { return }", "expected a ranked tensor"),
    "unranked tensor": ("func.func @main(%x: tensor<*xf32>) { return }", "expected a ranked tensor"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_modules(name: str) -> None:
    source, message = MALFORMED[name]
    with pytest.raises(CompileError, match=message):
        compiled(source)


UNSUPPORTED = {
    "dynamic shape": (
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }",
        "expected a ranked tensor of static shape",
    ),
    "complex numbers": (
        """
func.func @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  %0 = stablehlo.add %x, %x : tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}""",
        "'stablehlo.add' on .*a tensor that the chip cannot hold",
    ),
    "integer that does not fit": (
        """
func.func @main() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[1, 4294967296]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}""",
        "A constant has values from 1 to 4294967296; its type on the chip, si32, holds -2147483648 to 2147483647",
    ),
    "op that no dialect has": (
        """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "made.up"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}""",
        "failed to legalize operation 'made.up'",
    ),
    "custom call": (
        """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @foo(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}""",
        "failed to legalize operation 'stablehlo.custom_call'",
    ),
    "windows that start from a number": (
        """
func.func @main(%x: tensor<4xi32>) -> tensor<2xi32> {
  %c = stablehlo.constant dense<3> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}""",
        "its initial value is not the identity of its body",
    ),
    "argmax that keeps the last": (
        """
func.func @main(%x: tensor<4xf32>) -> tensor<i32> {
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %z), (%i init: %c) across dimensions = [0]
    : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %1 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.compare GT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %3 = stablehlo.or %1, %2 : tensor<i1>
      %4 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
      %5 = stablehlo.select %3, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %4, %5 : tensor<f32>, tensor<i32>
    }
  return %0#1 : tensor<i32>
}""",
        "a reduction of two tensors that is neither argmax nor argmin",
    ),
    "reduction of several ops": (
        """
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %1 = stablehlo.multiply %b, %b : tensor<f32>
      %2 = stablehlo.add %a, %1 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }
  return %0 : tensor<f32>
}""",
        "its body is not one add, multiply",
    ),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_programs(name: str) -> None:
    source, message = UNSUPPORTED[name]
    with pytest.raises(UnsupportedOpError, match=message):
        compiled(source, host_fallback=False)


@pytest.mark.parametrize("name", ["dynamic shape", "op that no dialect has", "custom call"])
def test_what_the_host_cannot_run_either(name: str) -> None:
    source, message = UNSUPPORTED[name]
    with pytest.raises(UnsupportedOpError, match=message):
        compiled(source)


def test_the_users_line_is_in_the_error() -> None:
    def model(x: jax.Array) -> jax.Array:
        return jax.lax.sort(x)  # 32-bit integers, which TT-NN does not sort

    module = jax.jit(model).lower(np.ones(4, np.int32)).compiler_ir("stablehlo")
    with pytest.raises(UnsupportedOpError, match=r"'stablehlo\.sort'.* At .*test_malformed\.py:\d+:\d+") as caught:
        compile_module(module, CompileOptions.parse({"host_fallback": False}), load_target("n150"))
    line = re.search(r"test_malformed\.py:(\d+)", str(caught.value))
    assert line
    assert int(line[1]) == model.__code__.co_firstlineno + 1
