"""``torch_xla._XLAC``: the functions of the extension module that scripts call directly."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch.device import synchronize
from tt_xla.frontends.torch.device.marking import mark
from tt_xla.frontends.torch.xla_api import finder as _finder
from tt_xla.frontends.torch.xla_api import preemption
from tt_xla.frontends.torch.xla_api.spmd_meshes import OpSharding
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
