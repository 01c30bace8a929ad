"""``torch_xla._XLAC``: the functions of the extension module that scripts call directly."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
import torch_xla

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device import donation as _donation
from tt_xla.frontends.torch.device import kept_graphs as _kept_graphs
from tt_xla.frontends.torch.device import metrics as _metrics
from tt_xla.frontends.torch.device import synchronize
from tt_xla.frontends.torch.device import xla_type as _xla_type
from tt_xla.frontends.torch.device.buffers import buffer_of as _buffer_of
from tt_xla.frontends.torch.device.buffers import host_alias as _host_alias
from tt_xla.frontends.torch.device.marking import has_parts, is_replicated, mark, placement_of
from tt_xla.frontends.torch.device.recording import new_tensor as _new_tensor
from tt_xla.frontends.torch.device.streams import wait as _wait
from tt_xla.frontends.torch.device.text import XLA_NAMES as _XLA_NAMES
from tt_xla.frontends.torch.device.text import describe as _describe
from tt_xla.frontends.torch.device.text import key_of as _key_of
from tt_xla.frontends.torch.device.text import text_of as _text_of
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
        if _chips.chip_count() == 1 and is_replicated(tensor):
            return tensor
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

    if not has_parts(tensor) and sharding.mesh.size > 1:
        raise RuntimeError("_spmd_shard_to_full_shape takes every chip's part of a tensor, got a whole tensor.")
    mesh = Mesh(sharding.chips, sharding.mesh.shape, sharding.mesh.axes)
    return unwrap_sharded_tensor(disable_manual_sharding(tensor, sharding.sharding.dims, full_shape, mesh=mesh))


def _xla_set_auto_sharding() -> None:
    """Lets the compiler split arguments of recorded ops that nobody marked."""
    torch_xla.runtime.use_spmd(auto=True)


def _xla_get_auto_sharding() -> bool:
    """Returns whether the compiler splits arguments of recorded ops that nobody marked."""
    return _session.current.chips.chooses_shardings


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
    """Runs the recorded ops on which tensors depend. They take donations unless ``sync_xla_data`` is False."""
    synchronize(ends_step=sync_xla_data, only=tensors)
    if wait:
        _wait()


def _xla_step_marker(device: str, devices: list[str], wait: bool = True, reset_scope: bool = True) -> None:
    """Runs all recorded ops, and ends the step."""
    synchronize(ends_step=True)
    if wait:
        _wait()


def _xla_warm_up_cache(tensors: list[torch.Tensor], devices: list[str]) -> None:
    """Compiles the recorded ops on which tensors depend, for :func:`_run_cached_graph`."""
    _kept_graphs.keep(tensors, _get_graph_hash(tensors))


def _run_cached_graph(hash: bytes, graph_inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Runs a graph that :func:`_xla_warm_up_cache` compiled, on other tensors.

    Args:
        hash: what :func:`_get_graph_hash` returned before.
        graph_inputs: tensors in the order of :func:`_get_tensors_xla_device_data_node`; those of the CPU are copied.

    Returns:
        Its results, without those that are inputs as they are, and each once.

    Raises:
        KeyError: no such graph was compiled.
        ValueError: shapes or dtypes are others.
    """
    with _metrics.timed(_metrics.DYNAMO_INPUTS_TIME):
        inputs = [tensor.to("tt") for tensor in graph_inputs]
    results = _kept_graphs.run(hash, inputs)
    with _metrics.timed(_metrics.DYNAMO_OUTPUTS_TIME):
        return results


def _get_tensors_xla_device_data_node(tensors: Sequence[torch.Tensor]) -> tuple[list[int], list[torch.Tensor]]:
    """Returns the inputs of the recorded ops on which tensors depend: their numbers, and tensors that share the bytes.

    A number is that of :func:`_xla_get_tensor_id` as long as the tensor has the contents that the ops read.
    """
    values = _kept_graphs.inputs_of(tensors)
    buffers = [None if value.owner is None else value.owner() for value in values]
    numbers = [
        id(value if buffer is None or buffer.handle != value.version else buffer)
        for value, buffer in zip(values, buffers, strict=True)
    ]
    return numbers, [_new_tensor(value) for value in values]


def _check_tensor_need_materialization(tensors: Sequence[torch.Tensor]) -> list[bool]:
    """Returns which tensors wait for recorded ops."""
    return [tensor.device.type == "tt" and _buffer_of(tensor).pending for tensor in tensors]


def _clear_pending_irs(device: str) -> None:
    """Forgets the recorded ops of a device. Tensors that wait for them have no bytes afterwards."""
    _kept_graphs.drop_pending(_chips.chip_of(_chips.own(torch.device(device))))


def _get_base_seed_as_tensor(device: str) -> torch.Tensor:
    """Returns the number that stands for the state of a device's random numbers, as a tensor of the device."""
    return torch.tensor(torch_xla.core.xla_model.get_rng_state(device), device=device)


def _get_seed_info_id() -> int:
    """Returns the number of the seed among inputs of recorded ops. Here random numbers are inputs, and no seed is."""
    return -127389


def _xla_device_kind(device: str) -> str:
    """Returns the architecture of the chip."""
    from tt_xla.runtime import get_device

    return get_device().target.arch


def _xla_runtime_is_initialized() -> bool:
    """Returns whether the device is open."""
    from tt_xla.runtime import is_open

    return is_open()


def _init_computation_client() -> None:
    """Opens the device, which otherwise opens at its first use."""
    from tt_xla.runtime import get_device

    get_device()


def _xla_get_tensor_id(tensor: torch.Tensor) -> int:
    """Returns a number that tensors have in common exactly when they share memory.

    Libraries look for tied parameters by it before they save a model.
    """
    return id(_buffer_of(tensor)) if tensor.device.type == "tt" else _storage_identity(tensor)


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


def _xla_user_computation(name: str, tensors: Sequence[torch.Tensor], computation: Any) -> list[torch.Tensor]:
    """Records a computation of ``xla_builder`` on tensors, and returns the list of its results."""
    from tt_xla.frontends.torch.jax_calls import call

    results = call(tensors, *computation.traced)
    return list(results) if isinstance(results, tuple) else [results]


def _get_xla_tensor_shape_type(tensor: torch.Tensor) -> str:
    """Returns the name of a tensor's dtype in XLA's notation, such as ``f32``."""
    return _XLA_NAMES[tensor.dtype]


def _get_xla_tensors_text(tensors: Sequence[torch.Tensor]) -> str:
    """Returns the recorded ops on which tensors depend as text."""
    return _text_of(tensors)


def _get_xla_tensor_debug_info(tensor: torch.Tensor) -> str:
    """Returns where a tensor is, and the recorded ops that compute it or the bytes that it has."""
    return _describe(tensor) if torch_xla.core.xla_model.is_xla_tensor(tensor) else "Not a XLATensor\n"


def _get_xla_tensor_dimension_size(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Returns a size of a tensor as a tensor of the device. Sizes that depend on contents are known here too."""
    return torch.tensor(tensor.shape[dim], dtype=torch.int32, device=tensor.device)


def _set_buffer_donation(tensor: torch.Tensor, should_donate: bool) -> bool:
    """Lets the next program that reads a tensor release its bytes, at the end of a step or in a function of dynamo.

    Returns:
        Whether the tensor has bytes: the result of recorded ops that have not run has none to donate.
    """
    return _donation.donate(tensor, should_donate)


def _get_buffer_donation(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor's bytes are donated."""
    return _donation.is_donated(tensor)


def _xla_set_enable_alias_with_buffer_donor_config(enable: bool) -> None:
    """Says whether each run of recorded ops takes donated tensors, beside those that end a step."""
    _session.current.mode.takes_donations = enable


def _xla_get_enable_alias_with_buffer_donor_config() -> bool:
    """Returns whether each run of recorded ops takes donated tensors."""
    return _session.current.mode.takes_donations


def _is_placecholder(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor has no bytes: a placeholder, or one whose donation a program took."""
    return _donation.is_placeholder(tensor)


def _get_tensors_handle(tensors: Sequence[torch.Tensor]) -> list[int]:
    """Returns a number for the bytes of each tensor, or for a placeholder.

    Raises:
        RuntimeError: a program took the donated bytes of a tensor.
    """
    for tensor in tensors:
        if _donation.is_placeholder(tensor) and _donation.is_donated(tensor):
            raise RuntimeError(f"A tensor of shape {list(tensor.shape)} is deleted: a program took its donated bytes.")
    return [_buffer_of(tensor).handle for tensor in tensors]


def _get_graph_hash(tensors: Sequence[torch.Tensor]) -> bytes:
    """Returns a hash of the recorded ops on which tensors depend, and of donations that their program would take."""
    return hashlib.sha256(_key_of(tensors).encode()).digest()


def _replace_xla_tensor(tensor: torch.Tensor, other: torch.Tensor) -> None:
    """Makes a tensor one of the memory of another tensor, with its sizes."""
    tensor.set_(other)  # type: ignore[call-overload]


def _unsafe_buffer_pointer(tensor: torch.Tensor) -> int:
    """Returns the address of a tensor's bytes on the host, which the device emulates. Recorded ops run first."""
    return _host_alias(tensor).data_ptr()


def _set_allow_execution(allow: bool) -> None:
    """Says whether recorded ops may run. While they may not, reading a result is an error."""
    _session.current.mode.may_run = allow


def _get_allow_execution() -> bool:
    """Returns whether recorded ops may run."""
    return _session.current.mode.may_run


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
    """Registers the device type ``xla``, unless importing ``torch_xla`` has."""
    _xla_type.register()


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


def _xla_metrics_report() -> str:
    """Same as ``torch_xla.debug.metrics.metrics_report``."""
    return _metrics.report()


def _get_use_eager_mode() -> bool:
    """Returns whether each op runs at once."""
    return _session.current.mode.eager


def _set_use_eager_mode(enable: bool) -> None:
    """Switches between running each op at once and recording ops."""
    _session.current.mode.eager = enable


def _xla_optimization_barrier_(tensors: list[torch.Tensor]) -> None:
    """Same as ``xm.optimization_barrier_``."""
    synchronize()
