"""Group norm, and the functions that bring its weights into the form that it reads."""

from __future__ import annotations

from typing import Any

from tt_xla.target.group_norm_cores import chosen_grid, virtual_columns
from tt_xla.ttnn_api.configs import Config, compute_config
from tt_xla.ttnn_api.enums import DataType, Layout, ShardOrientation, ShardStrategy, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.core_grids import create_sharded_memory_config
from tt_xla.ttnn_api.families.pointwise import required
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, TILE_SIZE, CoreGrid, MemoryConfig
from tt_xla.ttnn_api.operation import OPERATIONS, Rule, define, operation
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor


@operation("ttnn.group_norm")
def group_norm(
    input_tensor: Operand,
    num_groups: int,
    epsilon: float,
    input_mask: Operand | None,
    weight: Operand | None,
    bias: Operand | None,
    memory_config: MemoryConfig | None,
    dtype: DataType | None,
    inplace: bool,
    core_grid: CoreGrid | None,
    output_layout: Layout | None,
    num_out_blocks: int | None,
    compute_kernel_config: Config | None,
    negative_mask: Operand | None,
    use_welford: bool,
) -> Step:
    """Normalizes groups of channels of [N, 1, H * W, C]. The masks of a card's tiles change no result."""
    source = required(input_tensor, "ttnn.group_norm")
    if num_groups <= 0:
        raise TTFatal(f"num_groups must be greater than 0, got {num_groups}", hint="Pass at least one group.")
    if source.shape[-1] % num_groups:
        raise TTFatal(
            f"channel must be divisible by num_groups! Got {source.shape[-1]} and {num_groups}",
            hint="Choose a number of groups that divides the last dimension.",
        )
    _check_cores(source, core_grid)
    is_wormhole = source.device is not None and source.device.arch().name == "WORMHOLE_B0"
    if source.layout is Layout.ROW_MAJOR and not source.memory.is_sharded() and not is_wormhole:
        raise TTFatal(
            "group_norm: interleaved (non-sharded) input must be in TILE layout, got ROW_MAJOR. Convert the input "
            "with ttnn.to_layout(input, ttnn.TILE_LAYOUT) before calling group_norm. ROW_MAJOR is supported only for "
            "sharded inputs, or on Wormhole.",
            hint="Pass inplace=False then.",
        )
    if inplace and source.layout is Layout.TILE:
        raise TTFatal(
            "In-place operation not supported: Tile layout requires non-inplace tensors. (inplace=true)",
            hint="Pass inplace=False.",
        )
    operands = {"input": source, "input_mask": input_mask, "weight": weight, "bias": bias}
    attributes = {
        "num_groups": num_groups,
        "epsilon": epsilon,
        "compute_config": compute_config(compute_kernel_config),
        "core_grid": _cores_of(source, num_groups) if core_grid is None else (core_grid.x, core_grid.y),
        "num_out_blocks": -1 if core_grid is None else num_out_blocks,
        "use_welford": use_welford,
    }
    memory = memory_config if source.memory.is_sharded() else memory_config or DRAM_MEMORY_CONFIG
    result = source.type.with_(memory=memory, dtype=dtype, layout=output_layout)
    return Step("ttnn.group_norm", operands, [result], attributes)


def _cores_of(source: Operand, num_groups: int) -> tuple[int, int] | None:
    """Returns the cores that TT-NN chooses; None where the input's shards say it."""
    if source.device is None or source.memory.is_sharded():
        return None
    cores = source.device.compute_with_storage_grid_size()
    batches, tiles = source.shape[0], source.shape[0] * source.shape[1] * -(-source.shape[2] // TILE_SIZE)
    return chosen_grid((cores.x, cores.y), source.shape[3], num_groups, tiles, batches)


def _check_cores(source: Operand, core_grid: CoreGrid | None) -> None:
    """Refuses shards that TT-NN's program does not take."""
    spec = source.memory.shard_spec if source.type.on_device else None
    if spec is None:
        return
    if spec.shape[0] % TILE_SIZE:
        raise TTFatal(
            f"shard height {spec.shape[0]} must be divisible by tile height {TILE_SIZE}",
            hint="Divide the tensor among fewer cores.",
        )
    box = spec.grid.bounding_box().grid_size()
    if core_grid is not None and (box.x > core_grid.x or box.y > core_grid.y):
        raise TTFatal(
            f"shard_spec.grid size {box.x}x{box.y} does not fit within program_config grid {core_grid.x}x{core_grid.y}",
            hint="Pass the core grid of the shards.",
        )


def _tiles_of_group(columns: int, size: int, tile_width: int) -> int:
    """Returns the greatest number of tiles that a group of channels touches."""
    starts = range(0, columns, size)
    return max((start + size - 1) // tile_width - start // tile_width + 1 for start in starts)


def _mask(*, negative: bool) -> Rule:
    def rule(
        num_channel: int,
        num_groups: int,
        num_cores_across_channel: int,
        data_type: DataType,
        tile_height: int,
        tile_width: int,
    ) -> Tensor:
        import torch

        from tt_xla.ttnn_api.conversion import tensor_of

        size = num_channel // num_groups
        columns, groups = (each // num_cores_across_channel for each in (num_channel, num_groups))
        tiles = _tiles_of_group(columns, size, tile_width)
        mask = torch.full((1, num_groups, tile_height, tile_width * tiles), float(negative))
        for group in range(num_groups):
            start = group % max(groups, 1) * size % tile_width
            mask[:, group, :, start : start + size] = float(not negative)
        return tensor_of(mask, None, data_type, Layout.TILE)

    inside, beside = (0, 1) if negative else (1, 0)
    rule.__doc__ = f"Returns a mask of {inside} in the columns of each group, and of {beside} beside them in its tiles."
    return rule


create_group_norm_input_mask = _mask(negative=False)
define("ttnn.create_group_norm_input_mask", create_group_norm_input_mask, composite=True)
define("ttnn.create_group_norm_input_negative_mask", _mask(negative=True), composite=True)


@operation("ttnn.create_group_norm_weight_bias_rm", composite=True)
def create_group_norm_weight_bias_rm(input_tensor: Any, num_channels: int, num_cores_x: int) -> Any:
    """Returns the weights of channels as [1, 1, n, 32]: those of each core fill whole rows."""
    import torch.nn.functional as F

    size = num_channels // num_cores_x
    return F.pad(input_tensor.reshape(-1, size), (0, -size % TILE_SIZE)).reshape(1, 1, -1, TILE_SIZE)


@operation("ttnn.determine_expected_group_norm_dram_grid_size", composite=True)
def group_norm_dram_grid(device: Any, num_channels: int, num_groups: int, input_nhw: int, num_batches: int) -> CoreGrid:
    """Returns the cores for a group norm of a tensor in DRAM: grids without idle columns come first, then wide ones."""
    _check_channels(num_channels, num_groups)
    cores = device.compute_with_storage_grid_size()
    chosen = chosen_grid((cores.x, cores.y), num_channels, num_groups, -(-input_nhw // TILE_SIZE), num_batches)
    if chosen is None:
        raise TTFatal(
            f"Cannot find a valid DRAM group-norm grid for num_channels={num_channels}, num_groups={num_groups}, "
            f"input_nhw={input_nhw}, num_batches={num_batches}",
            hint="Pad the channels to a multiple of 32.",
        )
    return CoreGrid(x=chosen[0], y=chosen[1])


def _check_channels(num_channels: int, num_groups: int) -> None:
    if num_channels % num_groups or num_channels % TILE_SIZE:
        raise TTFatal(
            f"num_channels must be divisible by num_groups and {TILE_SIZE}, got {num_channels} and {num_groups}",
            hint="Pad the channels.",
        )


@operation("ttnn.dram_group_norm_params_from_torch", composite=True)
def dram_group_norm_params_from_torch(
    torch_params: Any,
    channels_per_device: int,
    groups_per_device: int,
    device: Any,
    mesh_axis: int | None,
    core_grid: CoreGrid | None,
    return_mask: bool,
    dtype: DataType,
) -> Any:
    """Returns the weights of torch as group norm reads them in DRAM, and the mask of the groups."""
    import torch

    from tt_xla.ttnn_api.conversion import tensor_of

    _check_channels(channels_per_device, groups_per_device)
    if mesh_axis is not None:
        raise TTFatal(
            f"ttnn.dram_group_norm_params_from_torch: the emulated card takes no mesh_axis, got {mesh_axis}",
            hint="Leave mesh_axis out.",
        )
    grid = core_grid or device.core_grid
    columns = virtual_columns(grid.x, groups_per_device, channels_per_device)
    params: list[Any] = [torch_params] if isinstance(torch_params, torch.Tensor) else list(torch_params)
    for param in params:
        if param.numel() != channels_per_device:
            raise TTFatal(
                f"Computed number of channels per device: {param.numel()} not equal to provided number of channels "
                f"per device: {channels_per_device}",
                hint="Pass the number of elements of the weights.",
            )
    rows = [create_group_norm_weight_bias_rm(param, channels_per_device, columns) for param in params]
    made = [_placed(tensor_of(row, None, dtype, None), device) for row in rows]
    result = made[0] if isinstance(torch_params, torch.Tensor) else made
    if not return_mask:
        return result
    mask = create_group_norm_input_mask(channels_per_device, groups_per_device, columns, dtype, TILE_SIZE, TILE_SIZE)
    return result, _placed(mask, device)


def _placed(tensor: Tensor, device: Any) -> Tensor:
    return tensor if device is None else OPERATIONS["ttnn.to_device"](tensor, device)


@operation("ttnn.get_group_norm_cores_across_channel", composite=True)
def get_group_norm_cores_across_channel(
    memory_layout: TensorMemoryLayout, core_grid: CoreGrid, shard_orientation: ShardOrientation | None
) -> int:
    """Returns the number of cores that share the channels."""
    if memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
        return core_grid.x if shard_orientation is ShardOrientation.ROW_MAJOR else core_grid.y
    return 1 if memory_layout is TensorMemoryLayout.HEIGHT_SHARDED else core_grid.x * core_grid.y


@operation("ttnn.determine_expected_group_norm_sharded_config_and_grid_size", composite=True)
def group_norm_config(
    device: Any, num_channels: int, num_groups: int, input_nhw: int, is_height_sharded: bool, is_row_major: bool
) -> tuple[MemoryConfig, CoreGrid]:
    """Returns the memory config and the cores for a sharded group norm."""
    _check_channels(num_channels, num_groups)
    cores = device.compute_with_storage_grid_size()
    along, across = (cores.y, cores.x) if is_row_major else (cores.x, cores.y)
    tiles = -(-input_nhw // TILE_SIZE)
    most = along * across if is_height_sharded else along
    parts = next(count for count in range(min(most, tiles), 0, -1) if tiles % count == 0)
    shares = 1
    if not is_height_sharded:
        eighths, size = num_channels // 8, num_channels // num_groups
        shares = next(
            count for count in range(across, 0, -1) if eighths % count == 0 and num_channels // count % size == 0
        )
    rows = -(-input_nhw // (parts * TILE_SIZE)) * TILE_SIZE
    columns = num_channels // shares
    if is_height_sharded:
        grid = CoreGrid(x=min(parts, along), y=-(-parts // along))
    else:
        grid = CoreGrid(x=shares, y=parts) if is_row_major else CoreGrid(x=parts, y=shares)
    shape = (1, 1, rows, columns) if is_row_major else (1, 1, columns, rows)
    strategy = ShardStrategy.HEIGHT if is_height_sharded else ShardStrategy.BLOCK
    by_rows = is_height_sharded or is_row_major
    orientation = ShardOrientation.ROW_MAJOR if by_rows else ShardOrientation.COL_MAJOR
    return create_sharded_memory_config(shape, grid, strategy, orientation, True), grid
