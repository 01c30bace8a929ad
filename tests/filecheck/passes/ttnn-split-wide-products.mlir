// RUN: pass=ttnn-split-wide-products

#dram = #ttnn.buffer_type<dram>
#row = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x128x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#wide = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<128x4008x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
#logits = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x4008x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
#narrow = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<128x448x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>
#hidden = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x448x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// The buffers of the whole product would not fit, and those of a part do; few cores compute it, so it pays at lofi.
// CHECK-LABEL: func.func public @logits(
// CHECK-NEXT: %[[W:.*]] = "ttnn.slice_static"(%w) <{begins = [0 : i32, 0 : i32], ends = [4096 : i32, 16032 : i32]
// CHECK-NEXT: %[[P:.*]] = "ttnn.matmul"(%x, %[[W]])
// CHECK-COUNT-7: "ttnn.matmul"
// CHECK-NEXT: %[[C:.*]] = "ttnn.concat"(%[[P]], {{.*}} <{dim = 1
// CHECK-NEXT: func.return %[[C]]
func.func public @logits(%x: tensor<32x4096xbf16, #row>, %w: tensor<4096x128256xbf16, #wide> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<32x128256xbf16, #logits> {
  %0 = "ttnn.matmul"(%x, %w) <{compute_config = #ttnn.device_compute_kernel_config<math_fidelity = lofi>, transpose_a = false, transpose_b = false}> : (tensor<32x4096xbf16, #row>, tensor<4096x128256xbf16, #wide>) -> tensor<32x128256xbf16, #logits>
  func.return %0 : tensor<32x128256xbf16, #logits>
}

// A narrower weight is cut over the banks as a whole, and one that is no parameter cannot be cut beforehand.
// CHECK-LABEL: func.func public @others(
// CHECK-NEXT: "ttnn.matmul"
// CHECK-NEXT: "ttnn.matmul"
// CHECK-NEXT: func.return
func.func public @others(%x: tensor<32x4096xbf16, #row>, %w: tensor<4096x14336xbf16, #narrow> {ttcore.argument_type = #ttcore.argument_type<parameter>}, %v: tensor<4096x128256xbf16, #wide>) -> (tensor<32x14336xbf16, #hidden>, tensor<32x128256xbf16, #logits>) {
  %0 = "ttnn.matmul"(%x, %w) <{compute_config = #ttnn.device_compute_kernel_config<math_fidelity = lofi>, transpose_a = false, transpose_b = false}> : (tensor<32x4096xbf16, #row>, tensor<4096x14336xbf16, #narrow>) -> tensor<32x14336xbf16, #hidden>
  %1 = "ttnn.matmul"(%x, %v) <{compute_config = #ttnn.device_compute_kernel_config<math_fidelity = lofi>, transpose_a = false, transpose_b = false}> : (tensor<32x4096xbf16, #row>, tensor<4096x128256xbf16, #wide>) -> tensor<32x128256xbf16, #logits>
  func.return %0, %1 : tensor<32x14336xbf16, #hidden>, tensor<32x128256xbf16, #logits>
}
