"""Parsing of modules that JAX writes, in all their serialized forms."""

from tt_xla.compiler import parse_module
from tt_xla.compiler.stablehlo.parse import portable_artifact, print_vhlo

SQUARE = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_chlo_becomes_vhlo_by_its_definition():
    text = print_vhlo(parse_module(SQUARE))
    assert "vhlo.multiply_v1" in text


def test_a_portable_artifact_is_read_back():
    module = parse_module(portable_artifact(parse_module(SQUARE)))
    assert "stablehlo.multiply" in str(module)
