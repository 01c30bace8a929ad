"""``torch_xla._XLAC``: the functions of the extension module that scripts call directly."""

from __future__ import annotations

from typing import Any

import torch
import torch_xla

from tt_xla.frontends.torch.device import metrics as _metrics
from tt_xla.frontends.torch.device import synchronize
from tt_xla.frontends.torch.device.marking import has_parts, mark, placement_of
from tt_xla.frontends.torch.device.mode import MODE as _MODE
from tt_xla.frontends.torch.private.dispatcher import storage_identity as _storage_identity
from tt_xla.frontends.torch.xla_api import preemption
from tt_xla.frontends.torch.xla_api.dot_general import dot_general as _dot_general
from tt_xla.frontends.torch.xla_api.spmd_meshes import Mesh, OpSharding
from tt_xla.ir.mesh import replicated
from tt_xla.runtime.mesh.shards import join

_xla_dot_general = _dot_general


def _get_xla_sharding_spec(tensor: torch.Tensor) -> str:
    """Returns the sharding of a tensor in XLA's notation, or an empty string for a tensor without one."""
    from torch_xla.distributed.spmd import sharding_of

    return sharding_of(tensor)


def _get_xla_sharding_type(tensor: torch.Tensor) -> int | None:
    """Returns the number of the kind of a tensor's sharding (``xs.ShardingType``), or None without one."""
    from torch_xla.distributed.spmd import sharding_type_of

    return sharding_type_of(tensor)


def _global_tensor_from_cpu_shards(
    shards: list[torch.Tensor], sharding: OpSharding, global_shape: torch.Size | None = None
) -> torch.Tensor:
    """Makes a tensor of the device from the parts of all chips.

    Args:
        shards: the parts, in the order of the mesh.
        sharding: how the tensor is split, from ``Mesh.get_op_sharding``.
        global_shape: shape of the tensor without padding; by default every part is full.

    Raises:
        RuntimeError: the parts are not those of a tensor of this shape.
    """
    mesh, split = sharding.mesh, sharding.sharding
    local = tuple(shards[0].shape) if shards else ()
    split = replicated(len(local)) if split.is_replicated else split  # which says nothing about a number of dimensions
    full = tuple(size * count for size, count in zip(local, split.counts(mesh), strict=False))
    shape = full if global_shape is None else tuple(global_shape)
    fits = len(shape) == len(split.dims) == len(local) and split.local_shape(mesh, shape) == local
    if len(shards) != mesh.size or not fits or any(tuple(shard.shape) != local for shard in shards):
        raise RuntimeError(
            f"{len(shards)} parts of the shapes {[list(shard.shape) for shard in shards]} are not those of a tensor of "
            f"shape {list(shape)} with the sharding {sharding} over {mesh.size} chips."
        )
    tensor = join(shards, split, mesh, shape).to("tt")
    mark(tensor, OpSharding(mesh, sharding.chips, split).placement(shape))
    return tensor


def _spmd_full_to_shard_shape(tensor: torch.Tensor) -> torch.Tensor:
    """Returns every chip's part of a marked tensor, as ``xs.enable_manual_sharding`` does.

    Raises:
        RuntimeError: the tensor has no mark.
    """
    from torch_xla.distributed.spmd import enable_manual_sharding, unwrap_sharded_tensor

    placement = placement_of(tensor)
    if placement is None:
        raise RuntimeError("_spmd_full_to_shard_shape takes a tensor that is marked with a sharding, got one without.")
    mesh = Mesh(placement.chips, placement.mesh.shape, placement.mesh.axes)
    return unwrap_sharded_tensor(enable_manual_sharding(tensor, placement.sharding.dims, mesh=mesh))


def _spmd_shard_to_full_shape(
    tensor: torch.Tensor, sharding: OpSharding, full_shape: torch.Size, dtype: torch.dtype
) -> torch.Tensor:
    """Makes a tensor of every chip's part, as ``xs.disable_manual_sharding`` does.

    Args:
        tensor: the parts.
        sharding: how the tensor is split, from ``Mesh.get_op_sharding``.
        full_shape: shape of the tensor.
        dtype: dtype of the tensor, which is that of the parts.

    Raises:
        RuntimeError: the tensor is whole.
    """
    from torch_xla.distributed.spmd import disable_manual_sharding, unwrap_sharded_tensor

    if not has_parts(tensor):
        raise RuntimeError("_spmd_shard_to_full_shape takes every chip's part of a tensor, got a whole tensor.")
    mesh = Mesh(sharding.chips, sharding.mesh.shape, sharding.mesh.axes)
    return unwrap_sharded_tensor(disable_manual_sharding(tensor, sharding.sharding.dims, full_shape, mesh=mesh))


def _ensure_xla_coordinator_initialized(global_rank: int, world_size: int, master_addr: str, port: str = "") -> None:
    """Does nothing: there is one process, which coordinates itself."""


def _activate_preemption_sync_manager() -> None:
    """Keeps SIGTERM from ending the process, so that it can take a checkpoint first."""
    preemption.activate()


def _deactivate_preemption_sync_manager() -> None:
    """Lets SIGTERM end the process."""
    preemption.deactivate()


def _sync_point_reached(step: int) -> bool:
    """Returns whether the process was told to terminate."""
    return preemption.was_preempted()


def _xla_get_default_device() -> str:
    return "TT:0"


def _xla_computation_cache_is_initialized() -> bool:
    """Returns whether ``xr.initialize_cache`` was called."""
    from tt_xla.frontends.torch import program_cache

    return program_cache.current() is not None


def _xla_sync_multi(
    tensors: list[torch.Tensor], devices: list[str], wait: bool = True, sync_xla_data: bool = True
) -> None:
    """Runs all recorded ops, those of ``tensors`` among them."""
    synchronize()


def _xla_step_marker(device: str, devices: list[str], wait: bool = True, reset_scope: bool = True) -> None:
    """Runs all recorded ops."""
    synchronize()


def _xla_warm_up_cache(tensors: list[torch.Tensor], devices: list[str]) -> None:
    """Compiles all recorded ops, and runs them, which is the only way to compile them here."""
    synchronize()


def _xla_device_kind(device: str) -> str:
    """Returns the architecture of the chip."""
    from tt_xla.runtime import get_device

    return get_device().target.arch


def _init_computation_client() -> None:
    """Opens the device, which otherwise opens at its first use."""
    from tt_xla.runtime import get_device

    get_device()


def _xla_get_tensor_id(tensor: torch.Tensor) -> int:
    """Returns a number that tensors have in common exactly when they share memory.

    Libraries look for tied parameters by it before they save a model.
    """
    return _storage_identity(tensor)


def _xla_real_devices(devices: list[str] | None = None) -> list[str]:
    """Returns the names of the chips behind devices; by default those of all chips."""
    return torch_xla.core.xla_model.xla_real_devices(devices) if devices else torch_xla.real_devices()


def _xla_get_all_devices() -> list[str]:
    """Returns the names of the chips behind all torch devices."""
    return _xla_get_devices()


def _xla_tensors_from_aten(
    tensors: list[torch.Tensor], devices: list[str], shardings: list[Any] | None = None
) -> list[torch.Tensor]:
    """Moves each tensor to its device."""
    return [tensor.to(device) for tensor, device in zip(tensors, devices, strict=True)]


def _get_executed_fallback_ops() -> list[str]:
    """Returns the names of ops that ran on the host."""
    return torch_xla.debug.metrics.executed_fallback_ops()


def _xla_increment_counter(name: str, value: int) -> None:
    """Adds to a counter, which may be one of the script's own."""
    _metrics.count(name, value)


def _get_git_revs() -> dict[str, str]:
    """Returns the version of this package, under the names of the repositories of the real one."""
    from tt_xla import __version__

    return {"xla": __version__, "torch": torch.version.git_version}


def _get_xla_tensor_shape_type(tensor: torch.Tensor) -> str:
    """Returns the name of a tensor's dtype in XLA's notation, such as ``f32``."""
    return _TYPES[tensor.dtype]


_TYPES = {
    **{torch.bool: "pred", torch.bfloat16: "bf16", torch.complex64: "c64", torch.complex128: "c128"},
    **{torch.float16: "f16", torch.float32: "f32", torch.float64: "f64"},
    **{torch.int8: "s8", torch.int16: "s16", torch.int32: "s32", torch.int64: "s64"},
    **{torch.uint8: "u8", torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64"},
}


def _set_allow_execution(allow: bool) -> None:
    """Says whether recorded ops may run. While they may not, reading a result is an error."""
    _MODE.may_run = allow


def _get_allow_execution() -> bool:
    """Returns whether recorded ops may run."""
    return _MODE.may_run


def _xla_set_mat_mul_precision(precision: str) -> None:
    """Same as ``torch_xla.backends.set_mat_mul_precision``."""
    torch_xla.backends.set_mat_mul_precision(precision)


def _xla_get_mat_mul_precision() -> str:
    """Same as ``torch_xla.backends.get_mat_mul_precision``."""
    return torch_xla.backends.get_mat_mul_precision()


def _get_stablehlo(tensors: list[torch.Tensor], device: str, devices: list[str], emit_bytecode: bool) -> Any:
    """Returns the program that computes tensors, as text or bytecode; that of all recorded ops for no tensors."""
    from tt_xla.frontends.torch.device.programs import stablehlo_of

    return stablehlo_of(tensors, bytecode=emit_bytecode)


def _init_xla_lazy_backend() -> None:
    """Does nothing: importing ``torch_xla`` has registered the device."""


def _xla_get_devices() -> list[str]:
    """Returns the names of the chips behind the torch devices."""
    return [f"TT:{device.index}" for device in torch_xla.devices()]


def _xla_num_devices() -> int:
    """Returns the number of torch devices."""
    return len(torch_xla.devices())


def _xla_num_runtime_devices() -> int:
    """Returns the number of chips."""
    return torch_xla.device_count()


def _xla_increment_counter(name: str, count: int) -> None:
    """Adds to a counter of ``torch_xla.debug.metrics``."""
    _metrics.count(name, count)


def _get_use_eager_mode() -> bool:
    """Returns whether each op runs at once."""
    return _MODE.eager


def _set_use_eager_mode(enable: bool) -> None:
    """Switches between running each op at once and recording ops."""
    _MODE.eager = enable


def _xla_optimization_barrier_(tensors: list[torch.Tensor]) -> None:
    """Same as ``xm.optimization_barrier_``."""
    synchronize()
