"""Handles an op on tensors of the device: records it, records its functional form, or runs it on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.frontends.torch import fused_steps, session
from tt_xla.frontends.torch.device import chips, integers, metrics, on_host
from tt_xla.frontends.torch.device.buffers import aten, buffer_of
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.draws import drawn
from tt_xla.frontends.torch.device.geometry import contiguous_strides
from tt_xla.frontends.torch.device.programs import synchronize
from tt_xla.frontends.torch.device.recording import (
    converted,
    full,
    new_tensor,
    new_tensors,
    record,
    write,
)
from tt_xla.frontends.torch.device.signatures import Signature, signature_of
from tt_xla.frontends.torch.device.values import Value
from tt_xla.frontends.torch.drawn import DRAWN
from tt_xla.frontends.torch.private.dispatcher import CPU_KEYS, kernel_for_xla
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.frontends.torch.trees import tree_leaves

MAX_NODES = 10_000
"""Number of recorded ops after which they run by themselves. A script that reads no result would fill the memory."""


def fallback(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Runs or records an op that has no kernel of its own, or calls the kernel that a library has for torch_xla."""
    if (kernel := kernel_for_xla(op)) is not None:
        return kernel(*args, **kwargs)
    return run(signature_of(op), args, kwargs)


def mark(x: torch.Tensor, name: str, position: int, group: str, is_input: bool, attributes: str) -> torch.Tensor:
    """Records a mark of a composite's input or output (:mod:`tt_xla.frontends.torch.graph.marks`).

    Groups are numbered from the last run on, so that each step of a loop has the same program.
    """
    groups = session.current.pressure.groups
    number = groups.setdefault(group, len(groups))
    op = torch.ops.tt_xla.mark_tensor.default
    return run(signature_of(op), (x, name, position, str(number), is_input, attributes), {})


def run(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs or records an op.

    Raises:
        RuntimeError: PyTorch refuses the arguments.
    """
    device = kwargs.get("device")
    if device is not None and device.type == chips.XLA:
        kwargs = {**kwargs, "device": chips.own(device)}
    chip = _requested_chip(args, kwargs["device"]) if "device" in kwargs else None
    if signature.tensors:
        signature = signature.for_numbers(args)
    own = session.current
    is_on_floats = args and args[0].__class__ is torch.Tensor and args[0].dtype.is_floating_point
    result = NotImplemented
    if is_on_floats and signature.op in integers.POSITIONS:
        result = integers.position(signature, args, kwargs)
    elif not (is_on_floats or signature.is_view or signature.is_random or signature.is_out):
        result = integers.run(signature, args, kwargs, chip)
    if result is not NotImplemented:
        own.counters[signature.counter] += 1
        return result
    if signature.is_pure:
        kind, values = record(signature, args, _on_first_chip(kwargs) if chip else kwargs, chip)
        if kind.reason:
            return on_host.run(signature, args, kwargs, chip)
        result = new_tensors(kind, values)
        if integers.is_awaited(values):
            synchronize(only=[result])
    elif signature.is_random:
        chip = on_host.chip_among((*args, *kwargs.values())) if chip is None else chip
        with chips.drawing_on(chip):
            result = _draw(signature, args, kwargs, chip)
    elif not signature.writes:
        return _view(signature, args, kwargs)
    elif torch.Tag.inplace_view in signature.op.tags:
        return signature.op.redispatch(CPU_KEYS, *args, **kwargs)  # changes sizes and strides alone
    elif signature.op in fused_steps.IN_PLACE:
        result = _step(signature, args, kwargs)
    else:
        result = _write_results(signature, args, kwargs)
    if own.pressure.nodes > MAX_NODES or own.mode.eager:
        synchronize()
    return result


def _requested_chip(args: Sequence[Any], device: torch.device | None) -> int | None:
    """Returns the chip that an argument ``device`` names; None where a tensor among the arguments decides."""
    if device is None:
        return None if any(isinstance(arg, torch.Tensor) for arg in args) else chips.current()
    return chips.chip_of(device) if device.type == DEVICE_TYPE else None


def _on_first_chip(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns keyword arguments as :func:`record` takes them: kinds know the first chip only."""
    device = kwargs.get("device")
    return kwargs if device is None or device.type != DEVICE_TYPE else {**kwargs, "device": chips.device()}


def _view(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs PyTorch's CPU kernel of a view op, which computes sizes and strides and shares the storage."""
    try:
        return signature.op.redispatch(CPU_KEYS, *args, **kwargs)
    except NotImplementedError:
        return on_host.run(signature, args, kwargs)


def _write_results(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs an in-place or out= op: records its functional form and writes the results to the op's targets."""
    functional = signature.functional
    targets = signature.written(args, kwargs)
    if functional is None or not all(isinstance(t, torch.Tensor) and t.device.type == DEVICE_TYPE for t in targets):
        return on_host.run(signature, args, kwargs)
    arguments = _for_functional(functional, signature, targets, kwargs)
    chip = _requested_chip(args, arguments["device"]) if "device" in arguments else None
    kind, values = record(signature_of(functional), args, _on_first_chip(arguments) if chip else arguments, chip)
    if kind.reason:
        return on_host.run(signature, args, kwargs)
    for target, value in zip(targets, values, strict=True):
        if signature.is_out:
            _resize_out(target, value.shape)
        store(target, value, signature.op)
    return targets[0] if len(targets) == 1 else tuple(targets)


def _step(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs a fused optimizer step as the ops that it consists of, and writes the results to the step's targets."""
    results = fused_steps.IN_PLACE[signature.op](*args, **kwargs)
    targets = signature.written(args, kwargs)
    with torch.no_grad():
        for target, result in zip(tree_leaves(targets), tree_leaves(results), strict=True):
            target.copy_(result)
    return targets[0] if signature.returns_written else None


def _for_functional(
    functional: OpOverload, signature: Signature, targets: Sequence[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Returns the keyword arguments for the functional op. A factory gets dtype and device from ``out``."""
    if not signature.is_out:
        return kwargs
    arguments = signature.without_out(kwargs)
    names = {argument.name for argument in functional._schema.arguments}
    if "device" in names:
        arguments |= {"dtype": targets[0].dtype, "device": targets[0].device}
    return arguments


def store(target: torch.Tensor, value: Value, op: OpOverload) -> None:
    """Writes the result of an in-place or out= op to its target, under PyTorch's rules.

    Raises:
        RuntimeError: the result has another shape, or a dtype that cannot be cast to the target's.
    """
    if target.shape != value.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(value.shape)} ({op})"
        )
    if target.dtype is not value.dtype and not torch.can_cast(value.dtype, target.dtype):
        raise RuntimeError(
            f"result type {_type_name(value.dtype)} can't be cast to the desired output type "
            f"{_type_name(target.dtype)} ({op})"
        )
    write(target, converted(value, target.dtype))


def _type_name(dtype: torch.dtype) -> str:
    """Returns the name of a dtype in PyTorch's error messages."""
    names = {torch.float32: "Float", torch.float64: "Double", torch.int64: "Long", torch.int32: "Int"}
    return names.get(dtype, str(dtype).removeprefix("torch.").capitalize())


def _resize_out(target: torch.Tensor, shape: Sequence[int]) -> None:
    if target.shape != tuple(shape):
        resize(target, shape)


def resize(tensor: torch.Tensor, size: Sequence[int], **options: Any) -> None:
    """Resizes a tensor as ``resize_`` does: its elements stay, in a new storage where they no longer fit.

    Args:
        tensor: tensor of the device.
        size: new sizes.
        options: further keyword arguments of ``resize_``.
    """
    if tensor.numel() == 0 and not options:
        empty = tensor_of_zeros(size, tensor.dtype, buffer_of(tensor).chip)
        layout = 0, tuple(size), contiguous_strides(size)
        aten.set_.source_Storage_storage_offset.redispatch(CPU_KEYS, tensor, empty.untyped_storage(), *layout)
        return
    host = buffer_of(tensor).writable_alias(tensor).detach()
    host.resize_(size, **options)
    on_host.take_over(tensor, host)


def tensor_of_zeros(size: Sequence[int], dtype: torch.dtype, chip: int) -> torch.Tensor:
    """Returns a new contiguous tensor of zeros on a chip."""
    return new_tensor(full(size, 0, dtype, chip))


# Random numbers ------------------------------------------------------------------------------------------------------


def _draw(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any], chip: int) -> Any:
    """Runs a random op: draws on the CPU when the op is recorded, so that ``torch.manual_seed`` acts as on the CPU."""
    rule = None if signature.functional is None else DRAWN.get(signature.functional)
    if rule is not None:
        result = rule(*args, **signature.without_out(kwargs))
        if not signature.writes:
            return result
        (target,) = signature.written(args, kwargs)
        if signature.is_out:
            _resize_out(target, result.shape)
        return target.copy_(result)
    parameters = [
        arg
        for arg in (*args[1:], *kwargs.values())
        if isinstance(arg, torch.Tensor) and not _is_written(arg, signature, args, kwargs)
    ]
    targets = signature.written(args, kwargs)
    in_place = not signature.is_out and len(targets) == 1 and targets[0] is args[0]
    if (
        parameters
        or (signature.is_out and args and isinstance(args[0], torch.Tensor))
        or not (in_place or signature.is_out)
    ):
        return on_host.run(signature, args, kwargs, chip)
    metrics.count("RandomOps")
    (target,) = signature.written(args, kwargs)
    if in_place:
        host = torch.empty_strided(target.shape, target.stride(), dtype=target.dtype, device="cpu")
        signature.op(host, *args[1:], **kwargs)
    else:
        host = signature.op(
            *args, **signature.without_out(kwargs), out=torch.empty(0, dtype=target.dtype, device="cpu")
        )
        _resize_out(target, host.shape)
    write(target, drawn(signature, host.contiguous()))
    return target


def _is_written(arg: torch.Tensor, signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    return any(arg is target for target in signature.written(args, kwargs))
