"""Runs ops without a lowering to the device: they wait for their inputs, run on the CPU, are counted and logged."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch import host_ops
from tt_xla.frontends.torch.device import chips
from tt_xla.frontends.torch.device.buffers import (
    aten,
    buffer_of,
    host_alias,
    lift,
    new_tensor_on,
    storage_of_host,
)
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.recording import user_line
from tt_xla.frontends.torch.device.signatures import Signature
from tt_xla.frontends.torch.private.dispatcher import CPU_KEYS, storage_identity


def run(signature: Signature, args: Any, kwargs: dict[str, Any], chip: int | None = None) -> Any:
    """Runs an op on CPU aliases of its tensors, moves the results to the device, and counts the op.

    Args:
        signature: the op.
        args: positional arguments.
        kwargs: keyword arguments.
        chip: number of the chip that gets the results; None for that of the tensors among the arguments.
    """
    result = run_uncounted(signature, args, kwargs, chip)  # first: an op that PyTorch refuses has not run
    host_ops.record(str(signature.op), location=user_line())
    return result


def chip_among(arguments: Any) -> int:
    """Returns the chip of the first tensor of the device among some arguments, else the current chip."""
    tensors = _tensors_in(list(arguments))
    return buffer_of(tensors[0]).chip if tensors else chips.current()


def run_uncounted(signature: Signature, args: Any, kwargs: dict[str, Any], chip: int | None = None) -> Any:
    """Same as :func:`run`, for ops that are no computation and are therefore not counted."""
    op = signature.op
    written = {id(tensor) for argument in signature.written(args, kwargs) for tensor in _as_list(argument)}
    host_args = [_to_host(arg, written) for arg in args]
    host_kwargs = {name: _to_host(value, written) for name, value in kwargs.items()}
    if "device" in host_kwargs and host_kwargs["device"] is None:
        host_kwargs["device"] = torch.device("cpu")
    result = op(*host_args, **host_kwargs)
    targets = signature.written(args, kwargs)
    for tensors, aliases in zip(targets, signature.written(host_args, host_kwargs), strict=True):
        for tensor, alias in zip(_as_list(tensors), _as_list(aliases), strict=True):
            if isinstance(tensor, torch.Tensor) and tensor.device.type == DEVICE_TYPE:
                take_over(tensor, alias)
    if signature.returns_written:
        return targets[0] if signature.returns == 1 else tuple(targets[: signature.returns])
    chip = chip_among((*args, *kwargs.values())) if chip is None else chip
    return _lift_results(result, _tensors_in(list(args)) if signature.is_view else None, chip)


def _to_host(value: Any, written: set[int]) -> Any:
    """Returns an argument with its ``tt`` tensors replaced by CPU aliases; those in ``written`` may be written to."""
    if isinstance(value, torch.Tensor):
        if value.device.type != DEVICE_TYPE:
            return value
        return buffer_of(value).writable_alias(value) if id(value) in written else host_alias(value)
    if isinstance(value, list | tuple):
        return [_to_host(item, written) for item in value]
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == DEVICE_TYPE else value
    return value


def _lift_results(value: Any, sources: list[torch.Tensor] | None, chip: int) -> Any:
    """Returns results as tensors of the device, which are dense.

    Args:
        value: results on the CPU.
        sources: for a view op, the ``tt`` tensors whose storage a result may share; None for any other op.
        chip: number of the chip that gets the results.
    """
    if isinstance(value, torch.Tensor):
        value = value if value.layout is torch.strided else value.to_dense()
        if sources is not None:
            storage = storage_identity(value)
            for source in sources:
                if storage_identity(host_alias(source)) == storage:
                    layout = value.dtype, value.shape, value.stride(), value.storage_offset()
                    return new_tensor_on(source.untyped_storage(), *layout)
        return lift(value, chip)
    if isinstance(value, list | tuple):
        return type(value)([_lift_results(item, sources, chip) for item in value])
    return value


def _tensors_in(values: Any) -> list[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        return [values] if values.device.type == DEVICE_TYPE else []
    if isinstance(values, list | tuple):
        return [tensor for value in values for tensor in _tensors_in(value)]
    return []


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def take_over(tensor: torch.Tensor, host: torch.Tensor) -> None:
    """Updates a tensor of the device after a write through its CPU alias: renews the version and follows a resize."""
    buffer = buffer_of(tensor)
    buffer.mark_written()
    same_memory = storage_identity(host) == storage_identity(buffer.host)
    if same_memory and host.untyped_storage().nbytes() <= tensor.untyped_storage().nbytes():
        if host.shape == tensor.shape and host.stride() == tensor.stride():
            return
        storage = tensor.untyped_storage()
    else:
        # The memory of a storage cannot grow, so the tensor moves to a new storage. Earlier views keep the old one.
        storage = storage_of_host(host, buffer.chip)
    buffer.forget_alias()  # the alias was resized in place
    layout = host.storage_offset(), host.shape, host.stride()
    aten.set_.source_Storage_storage_offset.redispatch(CPU_KEYS, tensor, storage, *layout)
