// RUN: import

// A row [B, G, 1, D] at a position is written to a cache that the caller gives up; the position is clamped.
// CHECK-LABEL: func.func public @main(%cache: tensor<2x4x64x32xbf16>
// CHECK-SAME: jax.buffer_donor = true
// CHECK: %[[PLACE:.*]] = "ttir.clamp_scalar"({{.*}}) <{min = 0
// CHECK: %[[ROWS:.*]] = "ttir.permute"(%new) <{permutation = array<i64: 2, 0, 1, 3>}>
// CHECK: %[[PLACES:.*]] = "ttir.broadcast"(%[[PLACE]])
// CHECK: %[[ONE:.*]] = "ttir.paged_update_cache"(%cache, %[[ROWS]], %[[PLACES]]) <{share_cache = false}>
// Writes inside called functions go to the same cache, sequence by sequence.
// CHECK: %[[FIRST:.*]] = "ttir.fill_cache"(%[[ONE]], {{.*}}) <{batch_offset = 0 : i32}>
// CHECK: %[[BOTH:.*]] = "ttir.fill_cache"(%[[FIRST]], {{.*}}) <{batch_offset = 1 : i32}>
// A cache that the caller does not give up is not written to.
// CHECK-NOT: _cache"(%kept
// A cache that is read again is not written to.
// CHECK-NOT: _cache"(%read
// A prefill becomes no fill_cache unless it begins at position 0 and ends with a tile.
// CHECK-NOT: _cache"(%late
// CHECK-NOT: _cache"(%short
// CHECK: func.return %[[BOTH]]
func.func private @prefill(%c: tensor<2x4x64x32xbf16>, %p: tensor<2x4x32x32xbf16>) -> tensor<2x4x64x32xbf16> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %c, %p, %zero, %zero, %zero, %zero : (tensor<2x4x64x32xbf16>, tensor<2x4x32x32xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x64x32xbf16>
  return %0 : tensor<2x4x64x32xbf16>
}
func.func public @main(%cache: tensor<2x4x64x32xbf16> {ttir.name = "cache", tf.aliasing_output = 0 : i32}, %new: tensor<2x4x1x32xbf16> {ttir.name = "new"}, %place: tensor<i32> {ttir.name = "place"}, %many: tensor<2x4x32x32xbf16> {ttir.name = "many"}, %kept: tensor<2x4x64x32xbf16> {ttir.name = "kept"}, %read: tensor<2x4x64x32xbf16> {ttir.name = "read", jax.buffer_donor = true}, %late: tensor<2x4x64x32xbf16> {ttir.name = "late", jax.buffer_donor = true}, %short: tensor<2x4x64x32xbf16> {ttir.name = "short", jax.buffer_donor = true}, %few: tensor<2x4x9x32xbf16> {ttir.name = "few"}) -> (tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %dead = stablehlo.slice %cache [0:2, 0:4, 5:6, 0:32] : (tensor<2x4x64x32xbf16>) -> tensor<2x4x1x32xbf16>
  %0 = stablehlo.dynamic_update_slice %cache, %new, %zero, %zero, %place, %zero : (tensor<2x4x64x32xbf16>, tensor<2x4x1x32xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x64x32xbf16>
  %1 = call @prefill(%0, %many) : (tensor<2x4x64x32xbf16>, tensor<2x4x32x32xbf16>) -> tensor<2x4x64x32xbf16>
  %2 = stablehlo.dynamic_update_slice %kept, %new, %zero, %zero, %place, %zero : (tensor<2x4x64x32xbf16>, tensor<2x4x1x32xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x64x32xbf16>
  %3 = stablehlo.dynamic_update_slice %read, %new, %zero, %zero, %place, %zero : (tensor<2x4x64x32xbf16>, tensor<2x4x1x32xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x64x32xbf16>
  %4 = stablehlo.add %3, %read : tensor<2x4x64x32xbf16>
  %5 = stablehlo.dynamic_update_slice %late, %many, %zero, %zero, %place, %zero : (tensor<2x4x64x32xbf16>, tensor<2x4x32x32xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x64x32xbf16>
  %6 = stablehlo.dynamic_update_slice %short, %few, %zero, %zero, %zero, %zero : (tensor<2x4x64x32xbf16>, tensor<2x4x9x32xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x64x32xbf16>
  return %1, %2, %3, %4, %5, %6 : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>
}
