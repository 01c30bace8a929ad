// RUN: roundtrip

// CHECK-LABEL: func.func @arguments(
// CHECK-SAME: %{{.*}}: tensor<2xbf16> {ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}
// CHECK-SAME: %{{.*}}: tensor<2xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}
// CHECK-SAME: %{{.*}}: tensor<2xbf16> {ttcore.argument_type = #ttcore.argument_type<constant>}
func.func @arguments(%0: tensor<2xbf16> {ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "x"}, %1: tensor<2xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %2: tensor<2xbf16> {ttcore.argument_type = #ttcore.argument_type<constant>}) {
  func.return
}

// CHECK-LABEL: func.func @types(
// CHECK-SAME: data = [#ttcore.supportedDataTypes<f32>, #ttcore.supportedDataTypes<bfp_bf4>]
// CHECK-SAME: tiles = [!ttcore.tile<32x32, bf16>, !ttcore.tile<32x32, u16>]
func.func @types() attributes {data = [#ttcore.supportedDataTypes<f32>, #ttcore.supportedDataTypes<bfp_bf4>], tiles = [!ttcore.tile<32x32, bf16>, !ttcore.tile<32x32, u16>]} {
  func.return
}

// CHECK-LABEL: func.func @labels(
// CHECK-SAME: reductions = [#ttcore.reduce_type<sum>, #ttcore.reduce_type<invalid>]
// CHECK-SAME: shards = [#ttcore.shard_direction<full_to_shard>, #ttcore.shard_type<devices>, #ttcore.shard_status<presharded>]
// CHECK-SAME: masks = [#ttcore.attention_mask_type<causal>], experts = #ttcore.moe_activation_function<silu>
// CHECK-SAME: mesh = [#ttcore.tensor_mesh<"mesh">, #ttcore.meshes<[<"a" = 1x2>, <"b" = 2x4>]>, #ttcore.topology<ring>]
// CHECK-SAME: devices = [#ttcore.device<workerGrid = #ttcore.grid<8x8>>, #ttcore.system_desc<[], [{arch = <blackhole>}]>]
// CHECK-SAME: unknown = #ttcore.not_modelled<a = [1, 2], "b>">
func.func @labels() attributes {
  reductions = [#ttcore.reduce_type<sum>, #ttcore.reduce_type<invalid>],
  shards = [#ttcore.shard_direction<full_to_shard>, #ttcore.shard_type<devices>, #ttcore.shard_status<presharded>],
  masks = [#ttcore.attention_mask_type<causal>], experts = #ttcore.moe_activation_function<silu>,
  mesh = [#ttcore.tensor_mesh<"mesh">, #ttcore.meshes<[<"a" = 1x2>, <"b" = 2x4>]>, #ttcore.topology<ring>],
  devices = [#ttcore.device<workerGrid = #ttcore.grid<8x8>>, #ttcore.system_desc<[], [{arch = <blackhole>}]>],
  unknown = #ttcore.not_modelled<a = [1, 2], "b>">
} {
  func.return
}
