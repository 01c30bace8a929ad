"""Functions that make configs and tables for normalizations."""

from __future__ import annotations

from tt_xla.ttnn_api.configs import Config, WormholeComputeKernelConfig, config_class
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import Arch, BufferType, DataType, Layout, MathFidelity, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.geometry import CoreCoord, CoreRangeSet, MemoryConfig, ShardSpec
from tt_xla.ttnn_api.operation import OPERATIONS, Rule, define, operation
from tt_xla.ttnn_api.tensor import Tensor


def _default(*, approximate: bool, float32: bool) -> Rule:
    def rule(arch: Arch) -> Config:
        return WormholeComputeKernelConfig(
            math_fidelity=MathFidelity.HiFi4,
            math_approx_mode=approximate,
            fp32_dest_acc_en=float32,
            packer_l1_acc=False,
            dst_full_sync_en=False,
        )

    rule.__doc__ = "Returns the compute config of a norm; it is the same for all chips."
    return rule


define("ttnn.layernorm_default_compute_config", _default(approximate=False, float32=True), composite=True)
define("ttnn.rmsnorm_default_compute_config", _default(approximate=True, float32=False), composite=True)


@operation("ttnn.create_layernorm_program_config", composite=True)
def create_layernorm_program_config(shard_spec: ShardSpec | None, tile_height: int, tile_width: int) -> Config:
    """Returns the program config of a norm of shards, or of a norm in DRAM if there are none."""
    if shard_spec is None:
        return config_class("ttnn.LayerNormDefaultProgramConfig")()
    box = shard_spec.grid.bounding_box()
    rows, columns = shard_spec.shape
    return config_class("ttnn.LayerNormShardedMultiCoreProgramConfig")(
        compute_with_storage_grid_size=CoreCoord(box.end.x - box.start.x + 1, box.end.y - box.start.y + 1),
        subblock_w=1,
        block_h=-(-rows // tile_height),
        block_w=-(-columns // tile_width),
        inplace=False,
    )


@operation("ttnn.create_layer_norm_reciprocals", composite=True)
def create_layer_norm_reciprocals(device: MeshDevice, core_range_set: CoreRangeSet, width: int) -> Tensor:
    """Returns 1 / 1, 1 / 2 to 1 / width on each core: float32 [cores, width] in shards of one row in L1."""
    import torch

    rows = (1 / torch.arange(1, width + 1, dtype=torch.float64)).float().repeat(core_range_set.num_cores(), 1)
    shards = ShardSpec(core_range_set, (1, width), ShardOrientation.ROW_MAJOR)
    memory = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, shards)
    placed = {"dtype": DataType.FLOAT32, "layout": Layout.ROW_MAJOR, "device": device, "memory_config": memory}
    return OPERATIONS["ttnn.from_torch"](rows, **placed)
