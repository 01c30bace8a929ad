// RUN: roundtrip

// The form of a compiled module: functions for the device and for the host apart, locations defined after their use,
// attributes that are not modelled kept as they are.

#dram = #ttnn.buffer_type<dram>
#loc2 = loc("model.py":2:26)
#system_desc = #ttcore.system_desc<[{role = host, target_triple = "x86_64-pc-linux"}], [{arch = <blackhole>, grid = 10x11, supported_data_types = [<f32>, <bf16>]}], [0], [1 : i32], [ 0x0x0x0]>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>

// CHECK: ttcore.device_module {
// CHECK: builtin.module @jit_f attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>, ttcore.system_desc = #ttcore.system_desc<[{role = host,{{.*}}ttnn.l1_const_eval_usage = 1024 : ui64}
// CHECK: ttcore.device @default_device = <workerGrid = #ttcore.grid<10x11>, {{.*}}chipIds = [0]>
// CHECK: ttcore.local_shape = #ttcore<local_shape local_shape = tensor<4x8xbf16>>, ttcore.shard_status = #ttcore.shard_status<unsharded>
// CHECK: %[[D:.*]] = "ttnn.get_device"() <{mesh_offset = #ttnn<mesh_offset 0x0>, mesh_shape = #ttnn<mesh_shape 1x2>}>
// CHECK: ttcore.cpu_module {
module @jit_f attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>} {
  ttcore.device_module {
    builtin.module @jit_f attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>, ttcore.system_desc = #system_desc, ttnn.l1_const_eval_usage = 1024 : ui64} {
      ttcore.device @default_device = <workerGrid = #ttcore.grid<10x11>, dramGrid = #ttcore.grid<1x8>, l1Map = (d0, d1)[s0] -> (0, d0, d1 + s0), meshShape = 1x2, chipIds = [0]> loc(#loc)
      func.func public @main(%arg0: tensor<4x8xbf16, #ttnn_layout> {ttcore.argument_type = #ttcore.argument_type<input>, ttcore.local_shape = #ttcore<local_shape local_shape = tensor<4x8xbf16>>, ttcore.shard_status = #ttcore.shard_status<unsharded>} loc("model.py":2:26)) -> tensor<4x8xbf16, #ttnn_layout> {
        %0 = "ttnn.get_device"() <{mesh_offset = #ttnn<mesh_offset 0x0>, mesh_shape = #ttnn<mesh_shape 1x2>}> : () -> !ttnn.device loc(#loc3)
        %1 = "ttnn.relu"(%arg0) : (tensor<4x8xbf16, #ttnn_layout>) -> tensor<4x8xbf16, #ttnn_layout> loc(#loc4)
        return %1 : tensor<4x8xbf16, #ttnn_layout> loc(unknown)
      } loc(#loc2)
    } loc(#loc)
  } loc(#loc)
  ttcore.cpu_module {
    builtin.module {
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc("-":1:1)
#loc3 = loc(fused["a", "model.py":6:10 to :12])
#loc4 = loc("relu"(callsite(#loc3 at #loc2)))
