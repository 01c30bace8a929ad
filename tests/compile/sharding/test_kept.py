"""What stays in the module of one chip: composites that need no other chip, marks of parameters, roles of arguments."""

from __future__ import annotations

import pytest

from tt_xla.compiler import compile_module
from tt_xla.compiler.sharding import localise
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.ir.program import ARGUMENT_MARK, Role
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

NORM = """
module attributes {{mhlo.num_partitions = 2 : i32}} {{
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}) -> tensor<4x8xf32> {{
    %0 = stablehlo.composite "tenstorrent.rms_norm" %arg0 {{
      composite_attributes = {{normalized_shape = dense<8> : tensor<1xi64>, epsilon = 1.0e-05 : f32}},
      decomposition = @norm}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }}
  func.func private @norm(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {{
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<4x8xf32>
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1]
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
    %3 = stablehlo.rsqrt %2 : tensor<4x8xf32>
    %4 = stablehlo.multiply %arg0, %3 : tensor<4x8xf32>
    return %4 : tensor<4x8xf32>
  }}
}}
"""


def test_a_composite_over_the_batch_stays() -> None:
    localised = localise(parse_module(NORM.format('{"x"}, {}')), 2)
    assert localised is not None
    text = str(localised.module)
    assert 'stablehlo.composite "tenstorrent.rms_norm"' in text
    assert ": (tensor<2x8xf32>) -> tensor<2x8xf32>" in text
    assert "stablehlo.all_reduce" not in text
    program = compile_module(parse_module(NORM.format('{"x"}, {}')), CompileOptions(), load_target("n300"))
    assert "ttnn.rms_norm" in [instruction.op for instruction in program.functions[0].body]


def test_a_composite_over_the_features_becomes_its_ops() -> None:
    localised = localise(parse_module(NORM.format('{}, {"x"}')), 2)
    assert localised is not None
    text = str(localised.module)
    assert "composite" not in text
    assert text.count('"stablehlo.all_reduce"') == 1


CENTRE = """
module attributes {{mhlo.num_partitions = 2 : i32}} {{
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}})
      -> tensor<8x4xf32> {{
    %0 = stablehlo.composite "tests.centre" %arg0 {{decomposition = @centre}} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    {}
    return %last : tensor<8x4xf32>
  }}
  func.func private @centre(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {{
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [0]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.subtract %arg0, %1 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }}
}}
"""


@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_later_op_is_a_broadcast_of_a_composite_that_became_its_ops(count: int) -> None:
    """The ops of the first attempt are erased, and a later one gets the address of its broadcast."""
    chain = "\n    ".join(
        f"""%{number} = stablehlo.tanh %{number - 1} : tensor<8x4xf32>
    %whole{number} = sdy.sharding_constraint %{number} <@mesh, [{{}}, {{}}]> : tensor<8x4xf32>"""
        for number in range(1, count + 1)
    )
    localised = localise(parse_module(CENTRE.format(chain).replace("%last", f"%whole{count}")), 2)
    assert localised is not None
    assert str(localised.module).count('"stablehlo.all_gather"') == count


@pytest.mark.parametrize("attribute", ["decomposition = @norm", "called_computations = [@norm]"])
def test_functions_of_copied_ops_stay(attribute: str) -> None:
    """An op that each chip computes on whole tensors names the same functions as before."""
    call = f"stablehlo.custom_call @kept(%arg0) {{{attribute}}} : (tensor<4x8xf32>) -> tensor<4x8xf32>"
    text = NORM.format("{}, {}")
    begin, end = text.index("stablehlo.composite"), text.index("    return %0")
    localised = localise(parse_module(f"{text[:begin]}{call}\n{text[end:]}"), 2)
    assert localised is not None
    assert "@norm(" in str(localised.module)


def test_marks_and_roles_of_arguments_stay() -> None:
    source = f"""
module attributes {{mhlo.num_partitions = 2 : i32}} {{
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(
      %arg0: tensor<4x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
      %arg1: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>, ttir.name = "w",
                               ttcore.argument_type = "parameter"}}) -> tensor<4x4xf32> {{
    %0 = stablehlo.custom_call @{ARGUMENT_MARK}(%arg0) {{backend_config = "marked"}}
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0]
      : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }}
}}
"""
    program = compile_module(parse_module(source), CompileOptions(), load_target("n300"))
    assert [(argument.name, argument.role) for argument in program.arguments] == [
        ("marked", Role.PARAMETER),
        ("w", Role.PARAMETER),
    ]
    assert [argument.shape for argument in program.arguments] == [(2, 8), (8, 4)]
    assert [argument.global_shape for argument in program.arguments] == [(4, 8), (8, 4)]
    assert "ttnn.all_gather" not in [instruction.op for instruction in program.functions[0].body]
