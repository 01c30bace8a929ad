"""Shardy's attributes and ops in the form in which XLA hides them from StableHLO's tools."""

from __future__ import annotations

import pytest

from tests.golden import Goldens
from tt_xla.compiler.sharding import localise
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.errors import MalformedModuleError

MODULE = r"""
module attributes {mhlo.num_partitions = 8 : i32, mhlo.frontend_attributes = {
    xla.sdy.meshes = "{mesh = #sdy.mesh<[\\\22x\\\22=4, \\\22y\\\22=2]>}"}} {
  func.func public @main(%arg0: tensor<8x16xf32> {
      mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\\\22x\\\22}, {}]>"},
      mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}) -> tensor<8x16xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {
      mhlo.frontend_attributes = {
        xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\\\22x\\\22}, {\\\22y\\\22}]>]>"},
      mhlo.sharding = "{devices=[4,2]<=[8]}"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%0) {mhlo.frontend_attributes = {
      xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\\\22x\\\22}, {}]>]>",
      xla.sdy.manual_axes = "#sdy<manual_axes{\\\22x\\\22}>"}} : (tensor<8x16xf32>) -> tensor<2x16xf32>
    %2 = call @xla.sdy.manual_computation_body(%1) : (tensor<2x16xf32>) -> tensor<2x16xf32>
    %3 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%2) {mhlo.frontend_attributes = {
      xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\\\22x\\\22}, {}]>]>",
      xla.sdy.manual_axes = "#sdy<manual_axes{\\\22x\\\22}>"}} : (tensor<2x16xf32>) -> tensor<8x16xf32>
    %4 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%3) {has_side_effect = true, mhlo.frontend_attributes = {
      xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{}, {\\\22y\\\22}]>]>"}}
      : (tensor<8x16xf32>) -> tensor<8x16xf32>
    return %4 : tensor<8x16xf32>
  }
  func.func private @xla.sdy.manual_computation_body(%arg0: tensor<2x16xf32>) -> tensor<2x16xf32> {
    %0 = stablehlo.negate %arg0 : tensor<2x16xf32>
    return %0 : tensor<2x16xf32>
  }
}
"""


def test_the_hidden_form_is_read(goldens: Goldens) -> None:
    localised = localise(parse_module(MODULE), 8)
    assert localised is not None
    assert localised.mesh.axes == ("x", "y")
    assert [sharding.dims for sharding, _ in localised.arguments] == [((0,), ())]
    assert [sharding.dims for sharding, _ in localised.results] == [((), (1,))]
    text = str(localised.module)
    goldens.check("sharding/round_trip", "hidden form", text)
    assert "xla.sdy" not in text
    assert "custom_call" not in text
    assert text.count("stablehlo.negate") == 1


def test_shardings_leave_a_manual_computation() -> None:
    """Propagation carries the sharding of its result on to the result of the function."""
    start, end = MODULE.index("    %4 = "), MODULE.index("    return %4")
    localised = localise(parse_module(MODULE[:start] + MODULE[end:].replace("return %4", "return %3")), 8)
    assert localised is not None
    assert [sharding.dims for sharding, _ in localised.results] == [((0,), ())]


def test_damaged_text_is_refused() -> None:
    damaged = MODULE.replace(r"#sdy.sharding<@mesh, [{\\\22x\\\22}, {}]>", "#sdy.sharding<@mesh")
    with pytest.raises(MalformedModuleError, match="is not an attribute of Shardy's"):
        localise(parse_module(damaged), 8)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('"x"', "mhlo.frontend_attributes is .*, expected a dictionary"),
        ('{xla.sdy.sharding = "42 : i32"}', "should have a sharding attribute"),
        ("{xla.sdy.sharding = 42 : i32}", "expected a string"),
    ],
)
def test_wrong_kinds_of_hidden_attributes_are_refused(attributes: str, message: str) -> None:
    hidden = r'{xla.sdy.sharding = "#sdy.sharding<@mesh, [{\\\22x\\\22}, {}]>"}'
    assert hidden in MODULE
    with pytest.raises(MalformedModuleError, match=message):
        localise(parse_module(MODULE.replace(hidden, attributes)), 8)
