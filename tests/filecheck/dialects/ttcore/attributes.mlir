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
