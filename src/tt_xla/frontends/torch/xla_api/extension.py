"""``torch_xla._XLAC``: the functions of the extension module that scripts call directly."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch.device import synchronize
from tt_xla.frontends.torch.device.marking import has_parts, mark, placement_of
from tt_xla.frontends.torch.xla_api import finder as _finder
from tt_xla.frontends.torch.xla_api import preemption
from tt_xla.frontends.torch.xla_api.spmd_meshes import Mesh, OpSharding
from tt_xla.ir.mesh import replicated
from tt_xla.runtime.mesh.shards import join


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


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
