// RUN: pass=ttnn-write-in-place

#dram = #ttnn.buffer_type<dram>
#cache = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 256 + d1 * 64 + d2, d3), <1x1>, memref<8x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#rows = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2, d3), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#many = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 128 + d1 * 32 + d2, d3), <1x1>, memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#place = #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, memref<1x1xsi32, #dram>, <interleaved>>

// The caller gives up the operand, so the operand becomes the result. Each sequence's new row lies on a core of its own.
// CHECK-LABEL: func.func public @written(
// CHECK-SAME: ttcore.kv_cache
// CHECK-NEXT: %[[ROWS:.*]] = "ttnn.to_memory_config"(%rows)
// CHECK-SAME: #ttnn_layout
// CHECK-NEXT: "ttnn.paged_update_cache"(%cache, %[[ROWS]], %place) <{share_cache = false}> : {{.*}} -> ()
// CHECK-NEXT: "ttnn.fill_cache"(%cache, %many) <{batch_offset = 0 : i32}> : {{.*}} -> ()
// CHECK-NEXT: %[[READ:.*]] = "ttnn.exp"(%cache)
// CHECK-NEXT: func.return %cache, %[[READ]]
func.func public @written(%cache: tensor<1x4x64x32xbf16, #cache> {jax.buffer_donor = true}, %rows: tensor<1x1x4x32xbf16, #rows>, %place: tensor<1xsi32, #place>, %many: tensor<1x4x32x32xbf16, #many>) -> (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x64x32xbf16, #cache>) {
  %0 = "ttnn.paged_update_cache"(%cache, %rows, %place) <{share_cache = false}> : (tensor<1x4x64x32xbf16, #cache>, tensor<1x1x4x32xbf16, #rows>, tensor<1xsi32, #place>) -> tensor<1x4x64x32xbf16, #cache>
  %1 = "ttnn.fill_cache"(%0, %many) <{batch_offset = 0 : i32}> : (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache>
  %2 = "ttnn.exp"(%1) : (tensor<1x4x64x32xbf16, #cache>) -> tensor<1x4x64x32xbf16, #cache>
  func.return %1, %2 : tensor<1x4x64x32xbf16, #cache>, tensor<1x4x64x32xbf16, #cache>
}

// A cache is copied if the caller keeps it, if it is read again, or if the program computes it.
// CHECK-LABEL: func.func public @copied(
// CHECK-NOT: ttcore.kv_cache
// CHECK: %[[A:.*]] = "ttnn.assign"(%kept)
// CHECK-NEXT: "ttnn.fill_cache"(%[[A]], %many)
// CHECK-NEXT: %[[B:.*]] = "ttnn.assign"(%read)
// CHECK-NEXT: "ttnn.fill_cache"(%[[B]], %many)
// CHECK-NEXT: %[[OLD:.*]] = "ttnn.exp"(%read)
// CHECK-NEXT: %[[C:.*]] = "ttnn.assign"(%[[OLD]])
// CHECK-NEXT: "ttnn.fill_cache"(%[[C]], %many)
// CHECK-NEXT: func.return %[[A]], %[[B]], %[[C]]
func.func public @copied(%kept: tensor<1x4x64x32xbf16, #cache>, %read: tensor<1x4x64x32xbf16, #cache> {jax.buffer_donor = true}, %many: tensor<1x4x32x32xbf16, #many>) -> (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x64x32xbf16, #cache>, tensor<1x4x64x32xbf16, #cache>) {
  %0 = "ttnn.fill_cache"(%kept, %many) <{batch_offset = 0 : i32}> : (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache>
  %1 = "ttnn.fill_cache"(%read, %many) <{batch_offset = 0 : i32}> : (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache>
  %2 = "ttnn.exp"(%read) : (tensor<1x4x64x32xbf16, #cache>) -> tensor<1x4x64x32xbf16, #cache>
  %3 = "ttnn.fill_cache"(%2, %many) <{batch_offset = 0 : i32}> : (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache>
  func.return %0, %1, %3 : tensor<1x4x64x32xbf16, #cache>, tensor<1x4x64x32xbf16, #cache>, tensor<1x4x64x32xbf16, #cache>
}

// A caller outside the module gives up arguments of entry functions only, so a loop's function has no such mark.
// CHECK-LABEL: func.func private @written_by_a_loop(
// CHECK-NOT: ttcore.kv_cache
// CHECK: "ttnn.fill_cache"(%cache, %many) <{batch_offset = 0 : i32}> : {{.*}} -> ()
func.func private @written_by_a_loop(%cache: tensor<1x4x64x32xbf16, #cache> {jax.buffer_donor = true}, %many: tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache> {
  "ttnn.fill_cache"(%cache, %many) <{batch_offset = 0 : i32}> : (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x32x32xbf16, #many>) -> ()
  func.return %cache : tensor<1x4x64x32xbf16, #cache>
}

// Nor may a function that is no entry write to its argument, although it says that the argument is given up.
// CHECK-LABEL: func.func private @copied_by_a_loop(
// CHECK-NOT: ttcore.kv_cache
// CHECK: %[[A:.*]] = "ttnn.assign"(%cache)
// CHECK-NEXT: "ttnn.fill_cache"(%[[A]], %many)
func.func private @copied_by_a_loop(%cache: tensor<1x4x64x32xbf16, #cache> {jax.buffer_donor = true}, %many: tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache> {
  %0 = "ttnn.fill_cache"(%cache, %many) <{batch_offset = 0 : i32}> : (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache>
  func.return %0 : tensor<1x4x64x32xbf16, #cache>
}

// Weights stay as they are for the next call, so they are copied too.
// CHECK-LABEL: func.func public @copied_weights(
// CHECK-NOT: ttcore.kv_cache
// CHECK: "ttnn.assign"(%cache)
func.func public @copied_weights(%cache: tensor<1x4x64x32xbf16, #cache> {jax.buffer_donor = true, ttcore.argument_type = #ttcore.argument_type<parameter>}, %many: tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache> {
  %0 = "ttnn.fill_cache"(%cache, %many) <{batch_offset = 0 : i32}> : (tensor<1x4x64x32xbf16, #cache>, tensor<1x4x32x32xbf16, #many>) -> tensor<1x4x64x32xbf16, #cache>
  func.return %0 : tensor<1x4x64x32xbf16, #cache>
}
