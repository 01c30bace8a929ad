"""``torch_xla.core.xla_model``, which scripts import as ``xm``."""

from __future__ import annotations

import contextlib
import copy as _copy
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TextIO

import torch
import torch_xla
import torch_xla.runtime as _runtime
import torch_xla.utils.utils as _utils

from tt_xla.frontends.torch import replicas as _replicas
from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device.placements import replicate as _replicate
from tt_xla.frontends.torch.device.streams import wait as _wait
from tt_xla.frontends.torch.private.dispatcher import storage_identity as _storage_identity
from tt_xla.frontends.torch.trees import tree_leaves as _tree_leaves
from tt_xla.frontends.torch.trees import tree_map_only as _tree_map_only
from tt_xla.frontends.torch.xla_api import random_states as _random_states
from tt_xla.frontends.torch.xla_api.closures import StepClosures as _StepClosures
from tt_xla.frontends.torch.xla_api.collectives import (
    REDUCE_AND,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_MUL,
    REDUCE_OR,
    REDUCE_SUM,
    all_gather,
    all_gather_bucketized,
    all_reduce,
    all_to_all,
    collective_broadcast,
    collective_permute,
    reduce_scatter,
    reduce_scatter_bucketized,
)

# Devices -------------------------------------------------------------------------------------------------------------


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """Returns the torch device of a chip; by default that of the current one.

    Raises:
        IndexError: the system has no such chip.
    """
    return torch_xla.device(n)


def is_xla_tensor(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor is on the device."""
    return tensor.device.type in (_chips.DEVICE_TYPE, _chips.XLA)


def get_xla_supported_devices(devkind: str | int | None = None, max_devices: int | None = None) -> list[str]:
    """Returns the names of devices, such as ``tt:0``.

    Args:
        devkind: kind of the devices, ``TT`` for all; as in the real package, a number is ``max_devices``.
        max_devices: number of devices to name at most.
    """
    if isinstance(devkind, int):
        devkind, max_devices = None, devkind
    names = [str(device) for device in torch_xla.devices()] if devkind in (None, "TT") else []
    return names[:max_devices]


def xla_real_devices(devices: Sequence[torch.device | str] | None = None) -> list[str]:
    """Returns the names of the chips behind devices, such as ``TT:0``; by default those of all devices."""
    named = devices or torch_xla.devices()
    return [f"TT:{_chips.chip_of(_chips.own(torch.device(device)))}" for device in named]


def xla_replication_devices(local_devices: Sequence[torch.device | str] | None = None) -> list[str]:
    """Returns the names of the chips that run the same program.

    Raises:
        RuntimeError: these are not all devices.
    """
    count = len(torch_xla.devices())
    if local_devices is not None and len(local_devices) != count:
        raise RuntimeError(f"Programs run on all {count} devices or on one, and {len(local_devices)} are given.")
    return xla_real_devices(local_devices)


def xla_device_hw(device: torch.device | str) -> str:
    return str(_chips.own(torch.device(device)).type).upper()


def xla_device_kind(device: torch.device | str | None = None) -> str:
    """Returns the architecture of the chip."""
    return torch_xla._XLAC._xla_device_kind(str(device))


def set_replication(device: torch.device | str, devices: Sequence[torch.device | str]) -> None:
    """Does nothing: one process drives all chips, so no device has replicas in other processes."""


def get_memory_info(device: torch.device | str | None = None) -> dict[str, int]:
    """Returns the use of DRAM in bytes, under the names of the real package."""
    from tt_xla.runtime import get_device

    chip = _chips.chip_of(None if device is None else _chips.own(torch.device(device)))
    report = get_device(chip=chip).memory()
    used = report.resident
    return {"bytes_used": used, "bytes_limit": report.usable, "peak_bytes_used": used + report.program_peak}


# Steps ---------------------------------------------------------------------------------------------------------------


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    """Same as ``torch_xla.sync``."""
    torch_xla.sync(wait, reset_scope)


def wait_device_ops(devices: list[str] | None = None) -> None:
    """Waits for running programs. Those of the emulated card have finished when ``sync`` returns."""
    _wait()


def unlazy(tensors: Sequence[torch.Tensor]) -> None:
    """Runs all recorded ops, those of ``tensors`` among them."""
    torch_xla._XLAC._xla_sync_multi(list(tensors), [])


def get_stablehlo(tensors: Sequence[torch.Tensor] | None = None) -> str:
    """Returns the StableHLO of the recorded ops that compute tensors, which stay recorded; by default of all ops.

    Raises:
        CompileError: an op cannot be lowered.
    """
    return torch_xla._XLAC._get_stablehlo(list(tensors or ()), "", [], False)


def get_stablehlo_bytecode(tensors: Sequence[torch.Tensor] | None = None) -> bytes:
    """Returns what :func:`get_stablehlo` does as bytecode of MLIR."""
    return torch_xla._XLAC._get_stablehlo(list(tensors or ()), "", [], True)


def add_step_closure(closure: Callable[..., Any], args: tuple[Any, ...] = (), run_async: bool = False) -> None:
    """Queues a function that the next ``torch_xla.sync`` calls once the step has run.

    Args:
        closure: the function.
        args: its arguments.
        run_async: whether it runs in another thread, while the script goes on. An error in it is raised by the next
            asynchronous closure's ``sync``.
    """
    _session.current.part(_StepClosures).add(lambda: closure(*args), run_async=run_async)


def optimization_barrier_(tensors: Sequence[torch.Tensor]) -> None:
    """Runs all recorded ops, so that no program has ops on both sides.

    A program that computes activations twice, before and after the barrier, keeps neither from being merged.
    """
    unlazy(tensors)


def optimizer_step(
    optimizer: torch.optim.Optimizer,
    barrier: bool = False,
    optimizer_args: dict[str, Any] | None = None,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
) -> Any:
    """Reduces gradients over the replicas and steps the optimizer.

    Args:
        optimizer: the optimizer.
        barrier: whether to run all recorded ops. ``MpDeviceLoader`` does so before the next batch.
        optimizer_args: keyword arguments of ``optimizer.step``.
        groups: groups of ordinals that reduce their gradients together; None for one group of all.
        pin_layout: changes nothing.

    Returns:
        What ``optimizer.step`` returns.
    """
    reduce_gradients(optimizer, groups, pin_layout)
    loss = optimizer.step(**(optimizer_args or {}))
    if barrier:
        torch_xla.sync()
    return loss


def reduce_gradients(
    optimizer: torch.optim.Optimizer, groups: list[list[int]] | None = None, pin_layout: bool = True
) -> None:
    """Replaces gradients by their mean over all replicas; with one replica, leaves them as they are."""
    all_reduce_bucketized_gradients(_fetch_gradients(optimizer), 1.0 / _runtime.world_size(), groups, pin_layout)


def all_reduce_bucketized_gradients(
    gradients: Sequence[torch.Tensor],
    scale: float,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
    bucket_cap_mb: int = 0,
) -> None:
    """Adds gradients over all replicas, in place, and scales them."""
    if _runtime.world_size() > 1:
        all_reduce(REDUCE_SUM, list(gradients), scale, groups, pin_layout)


class RateTracker:
    """Measures how many items per second a script handles.

    Args:
        smooth_factor: weight of the previous rate in the next one.
    """

    def __init__(self, smooth_factor: float | None = None) -> None:
        self._smooth_factor = 0.4 if smooth_factor is None else smooth_factor
        self._start = self._last = time.time()
        self._count = self._total = 0.0
        self._rate: float | None = None

    def add(self, count: float) -> None:
        """Counts items."""
        self._count += count
        self._total += count

    def rate(self) -> float:
        """Returns the smoothed items per second since the last call."""
        now = time.time()
        if now <= self._last:
            return 0.0
        current = self._count / (now - self._last)
        before = current if self._rate is None else self._rate
        self._rate = (1 - self._smooth_factor) * current + self._smooth_factor * before
        self._last, self._count = now, 0.0
        return self._rate

    def global_rate(self) -> float:
        """Returns the items per second since the tracker was made."""
        elapsed = time.time() - self._start
        return self._total / elapsed if elapsed > 0 else 0.0


# Replicas ------------------------------------------------------------------------------------------------------------


def get_ordinal() -> int:
    return _runtime.global_ordinal()


def get_local_ordinal() -> int:
    return _runtime.local_ordinal()


def is_master_ordinal(local: bool = True) -> bool:
    """Returns whether this is the replica that prints and saves."""
    return (_runtime.local_ordinal() if local else _runtime.global_ordinal()) == 0


def xrt_world_size() -> int:
    return _runtime.world_size()


def mesh_reduce(tag: str, data: Any, reduce_fn: Callable[[list[Any]], Any]) -> Any:
    """Returns what ``reduce_fn`` makes of the data of all replicas, whose tensors are on the CPU then."""
    return reduce_fn([_copy.deepcopy(each) for each in _replicas.exchange(_maybe_convert_to_cpu(data))])


def rendezvous(tag: str, payload: bytes = b"", replicas: list[int] | None = None) -> list[bytes]:
    """Same as :func:`xla_rendezvous`, with its arguments in another order."""
    return xla_rendezvous(payload, replicas, tag)


def xla_rendezvous(payload: bytes = b"", ordinals: list[int] | None = None, tag: str | None = None) -> list[bytes]:
    """Runs all recorded ops and waits for other replicas.

    Args:
        payload: bytes for the others.
        ordinals: numbers of the replicas, of which this is one; None for all.
        tag: name of the rendezvous, which is not needed.

    Returns:
        The payloads, in the order of ``ordinals``.

    Raises:
        TypeError: the payload is not of type bytes.
        ValueError: ``ordinals`` do not have this replica.
    """
    if ordinals and _runtime.global_ordinal() not in ordinals:
        raise ValueError(f"A rendezvous of the replicas {ordinals} does not have replica {_runtime.global_ordinal()}.")
    if not isinstance(payload, bytes):
        raise TypeError(f"The payload of a rendezvous is of type bytes, not {type(payload).__name__}.")
    torch_xla.sync()
    return _replicas.exchange(payload, ordinals or None)


def do_on_ordinals(target: Callable[..., Any], data: tuple[Any, ...] = (), ordinals: Collection[int] = (0,)) -> Any:
    """Calls a function in some replicas, with its data on the CPU, and waits for all replicas.

    Returns:
        What the function returns; None in other replicas.
    """
    result = target(*_maybe_convert_to_cpu(data)) if _runtime.global_ordinal() in ordinals else None
    rendezvous("torch_xla.core.xla_model.do_on_ordinals")
    return result


def broadcast_master_param(model: torch.nn.Module) -> None:
    """Gives the parameters and buffers of a model their contents in the first replica, and runs all recorded ops."""
    collective_broadcast([*model.parameters(), *model.buffers()])
    torch_xla.sync()


def master_print(*args: Any, fd: TextIO | None = None, local: bool = False, flush: bool = False) -> None:
    """Prints in the first replica, to standard output or to ``fd``."""
    if is_master_ordinal(local=local):
        print(*args, file=sys.stdout if fd is None else fd, flush=flush)


# Data ----------------------------------------------------------------------------------------------------------------


class ToXlaTensorArena:
    """Converts the tensors of nested containers, and of objects' attributes, together.

    Args:
        convert_fn: takes the tensors and returns as many others.
        select_fn: says which objects are tensors to convert.
    """

    def __init__(
        self, convert_fn: Callable[[list[torch.Tensor]], Sequence[torch.Tensor]], select_fn: Callable[[Any], bool]
    ) -> None:
        self._convert_fn, self._select_fn = convert_fn, select_fn

    def transform(self, inputs: Any) -> Any:
        """Returns the data with the converted tensors. The containers are new ones."""
        selected: list[torch.Tensor] = []
        _utils.for_each_instance(inputs, self._select_fn, selected.append)
        converted = iter(self._convert_fn(selected) if selected else ())
        return _utils.for_each_instance_rewrite(inputs, self._select_fn, lambda tensor: next(converted))


def send_cpu_data_to_device(datas: Any, device: torch.device | str, input_sharding: Any = None) -> Any:
    """Moves all tensors in nested containers, and in objects' attributes, to a device: in place in lists and dicts.

    Args:
        datas: the data.
        device: the device.
        input_sharding: an ``xs.ShardingSpec`` that splits the tensors with as many dimensions as it has entries.

    Returns:
        The moved data; a list for a single tensor. Callers may ignore it where ``datas`` is a list or a dict.

    Raises:
        RuntimeError: the spec is for minibatches, and a first dimension is no multiple of the number of chips.
    """

    def move(tensor: torch.Tensor) -> torch.Tensor:
        splits = input_sharding is not None and input_sharding.can_apply(tensor)
        moved = tensor.to(device)
        if splits:
            input_sharding.apply(moved)
        elif _runtime.is_spmd():
            _replicate(moved)
        return moved

    given = [datas] if isinstance(datas, torch.Tensor) else datas
    return _replace_leaves(given, _utils.for_each_instance_rewrite(given, _is_tensor, move))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _replace_leaves(target: Any, source: Any) -> Any:
    """Writes the leaves of ``source`` into the lists and dicts of ``target``, which has the same structure."""
    if isinstance(target, dict):
        for key, value in source.items():
            target[key] = _replace_leaves(target[key], value)
        return target
    if isinstance(target, list):
        target[:] = [_replace_leaves(old, new) for old, new in zip(target, source, strict=True)]
        return target
    return source


def _fetch_gradients(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """Returns the gradients of the optimizer's parameters. accelerate reduces them over processes."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _maybe_convert_to_cpu(data: Any, convert: bool = True) -> Any:
    """Returns data with all its tensors on the CPU. accelerate calls it before saving."""
    return _tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), data) if convert else data


def check_view_sharing(obj: Any) -> None:
    """Checks that no two tensors of nested lists, tuples and dictionaries share memory.

    Raises:
        RuntimeError: two tensors do. Files, and moves to a device, would make two copies.
    """
    known: dict[int, torch.Tensor] = {}
    for tensor in _tree_leaves(obj):
        if isinstance(tensor, torch.Tensor):
            other = known.setdefault(_storage_identity(tensor), tensor)
            if other is not tensor:
                raise RuntimeError(
                    f"A tensor of shape {list(tensor.shape)} shares its memory with one of shape {list(other.shape)}. "
                    "Save or move one of them, and make the other from it afterwards."
                )


def save(
    data: Any, file_or_path: str | os.PathLike[str], master_only: bool = True, global_master: bool = False
) -> None:
    """Saves data with all its tensors on the CPU.

    Args:
        data: the data.
        file_or_path: the file.
        master_only: whether only the first replica saves.
        global_master: whether only the first replica of all hosts is meant.
    """
    writes = not master_only or is_master_ordinal(local=not global_master)
    cpu_data = _maybe_convert_to_cpu(data, convert=writes)
    if writes:
        torch.save(cpu_data, file_or_path)


# Random numbers ------------------------------------------------------------------------------------------------------


def get_rng_state(device: torch.device | str | None = None) -> int:
    """Returns a number for the state of a device's random numbers, by default the current one's.

    It is the seed as long as no number was drawn. :func:`set_rng_state` restores what it stands for.
    """
    return _random_states.number_of(_random_states.generator_of(device))


def set_rng_state(seed: int, device: torch.device | str | None = None) -> None:
    """Restores a state that :func:`get_rng_state` returned in this process; another number is a seed.

    With no device, a seed is that of all devices and of the CPU, and a state that of the current device.
    """
    if not _random_states.restore(_random_states.generator_of(device), seed):
        torch_xla.manual_seed(seed, device)


@contextlib.contextmanager
def fork_rng(device: torch.device | str | None = None, enabled: bool = True) -> Iterator[None]:
    """Context manager after which a device's random numbers go on as if none had been drawn in the block."""
    generator = _random_states.generator_of(device)
    state = generator.get_state()
    try:
        yield
    finally:
        if enabled:
            generator.set_state(state)


def get_num_cached_compilation_graph() -> int:
    """Returns the number of compiled programs that are kept."""
    return _runtime.get_num_cached_compilation_graph()


__all__ = [
    "REDUCE_AND",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_MUL",
    "REDUCE_OR",
    "REDUCE_SUM",
    "RateTracker",
    "ToXlaTensorArena",
    "add_step_closure",
    "all_gather",
    "all_gather_bucketized",
    "all_reduce",
    "all_reduce_bucketized_gradients",
    "all_to_all",
    "broadcast_master_param",
    "check_view_sharing",
    "collective_broadcast",
    "collective_permute",
    "do_on_ordinals",
    "fork_rng",
    "get_local_ordinal",
    "get_memory_info",
    "get_num_cached_compilation_graph",
    "get_ordinal",
    "get_rng_state",
    "get_stablehlo",
    "get_stablehlo_bytecode",
    "get_xla_supported_devices",
    "is_master_ordinal",
    "is_xla_tensor",
    "mark_step",
    "master_print",
    "mesh_reduce",
    "optimization_barrier_",
    "optimizer_step",
    "reduce_gradients",
    "reduce_scatter",
    "reduce_scatter_bucketized",
    "rendezvous",
    "save",
    "send_cpu_data_to_device",
    "set_replication",
    "set_rng_state",
    "unlazy",
    "wait_device_ops",
    "xla_device",
    "xla_device_hw",
    "xla_device_kind",
    "xla_real_devices",
    "xla_rendezvous",
    "xla_replication_devices",
    "xrt_world_size",
]
