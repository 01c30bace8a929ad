"""Shardings of results that the module does not state."""

from __future__ import annotations

from tt_xla.compiler.sharding import localize
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
    localized = localize(parse_module(GSPMD), 4)
    assert localized is not None
    ((sharding, shape),) = localized.results
    assert (sharding.counts(localized.mesh), shape) == ((4, 1), (8, 4))
    assert "all_gather" not in str(localized.module)
