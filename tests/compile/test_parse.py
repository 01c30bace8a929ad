"""Parsing of modules that JAX writes, in all their serialized forms."""

import pytest

from tt_xla.compiler import compile_module, parse_module, read_module
from tt_xla.compiler.mlir_context import copy_of
from tt_xla.compiler.reading import is_stablehlo
from tt_xla.compiler.stablehlo.parse import portable_artifact, print_vhlo
from tt_xla.errors import MalformedModuleError
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

SQUARE = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_chlo_becomes_vhlo_by_its_definition():
    text = print_vhlo(parse_module(SQUARE))
    assert "vhlo.multiply_v1" in text


def test_a_slice_of_a_scalar_is_copied_and_goes_to_the_host():
    """StableHLO prints such a slice in a form that its own parser refuses."""
    module = parse_module("""func.func public @main(%x: tensor<f8E4M3>) -> tensor<1x1xf8E4M3> {
      %0 = "stablehlo.dynamic_slice"(%x) {slice_sizes = array<i64>} : (tensor<f8E4M3>) -> tensor<f8E4M3>
      %1 = stablehlo.reshape %0 : (tensor<f8E4M3>) -> tensor<1x1xf8E4M3>
      return %1 : tensor<1x1xf8E4M3>
    }""")
    assert "dynamic_slice" in str(module)
    copy = copy_of(module)
    assert "stablehlo.reshape %arg0 : (tensor<f8E4M3>) -> tensor<f8E4M3>" in str(copy)
    program = compile_module(module, CompileOptions(), load_target("n150"))
    assert len(program.host_ops) == 2


def test_a_portable_artifact_is_read_back():
    module = parse_module(portable_artifact(parse_module(SQUARE)))
    assert "stablehlo.multiply" in str(module)


def test_vhlo_text_is_read_as_the_stablehlo_that_it_stands_for():
    text = """func.func public @main(%x: tensor<4x3xf32>, %y: tensor<3x5xf32>) -> tensor<4x5xf32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
      %1 = stablehlo.tanh %0 : tensor<4x5xf32>
      return %1 : tensor<4x5xf32>
    }"""
    vhlo = print_vhlo(parse_module(text))
    assert "vhlo.tanh" in vhlo
    assert str(read_module(vhlo)) == str(read_module(text))
    with pytest.raises(MalformedModuleError, match=r"unregistered operation 'vhlo\.tan_h'") as raised:
        read_module(vhlo.replace("vhlo.tanh_v2", "vhlo.tan_h"))
    assert "Traceback" not in str(raised.value)


LAYOUT = (
    "#l = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>"
)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (SQUARE, {True: True, False: True}),
        ("func.func @main() { return }", {True: True, False: False}),
        (f"{LAYOUT}\nfunc.func @main() {{ return }}", {True: False, False: False}),
        ('%0 = "ttir.abs"(%x) : () -> () // stablehlo.abs', {True: False, False: False}),
    ],
    ids=["ops", "no ops", "layouts", "ops of TTIR"],
)
def test_a_module_is_stablehlo_by_its_ops(text, answers):
    assert {default: is_stablehlo(text.encode(), default=default) for default in (True, False)} == answers
