"""Shardings of results that the module does not state."""

from __future__ import annotations

from tt_xla.compiler.sharding import localise
from tt_xla.compiler.stablehlo import parse_module

GSPMD = """
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%arg0: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) -> tensor<8x4xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{devices=[4,1]<=[4]}"}
        : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"}
        : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.negate %1 : tensor<2x4xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[4,1]<=[4]}"}
        : (tensor<2x4xf32>) -> tensor<8x4xf32>
    return %4 : tensor<8x4xf32>
  }
}
"""


def test_a_result_of_gspmds_shard_map_stays_split() -> None:
    localised = localise(parse_module(GSPMD), 4)
    assert localised is not None
    ((sharding, shape),) = localised.results
    assert (sharding.counts(localised.mesh), shape) == ((4, 1), (8, 4))
    assert "all_gather" not in str(localised.module)


OPEN = """
module attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main(%arg0: tensor<1x8xf32> {mhlo.sharding = "{devices=[1,2,4]<=[8] last_tile_dim_replicate}"})
      -> tensor<1x8xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "unspecified_dims=[0,1]",
        mhlo.sharding = "{replicated}"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "unspecified_dims=[0,1]",
        mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"}
        : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %2 = stablehlo.negate %1 : tensor<1x8xf32>
    %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {backend_config = "unspecified_dims=[0,1]",
        mhlo.sharding = "{replicated}"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    return %3 : tensor<1x8xf32>
  }
}
"""


def test_propagation_splits_no_operand_that_gspmds_shard_map_takes_as_a_whole() -> None:
    """It splits the open dimension of the operand along the region's own axis, as the argument is split."""
    localised = localise(parse_module(OPEN), 8)
    assert localised is not None
    (negated,) = [line for line in str(localised.module).splitlines() if "negate" in line]
    assert negated.endswith("tensor<1x8xf32>")
