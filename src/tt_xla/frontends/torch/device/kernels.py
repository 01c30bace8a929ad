"""Kernels of ops that are not recorded as they are: factories, copies, views, and ops with other names in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import chips, integers, metrics
from tt_xla.frontends.torch.device.buffers import (
    aten,
    buffer_of,
    host_alias,
    lift,
    tensor_of,
)
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.dispatch import resize, run
from tt_xla.frontends.torch.device.draws import LARGE
from tt_xla.frontends.torch.device.geometry import memory_order, storage_elements
from tt_xla.frontends.torch.device.placements import count_read
from tt_xla.frontends.torch.device.recording import (
    converted,
    expanded,
    full,
    new_tensor,
    read,
    sharing_copy,
    write,
)
from tt_xla.frontends.torch.device.signatures import signature_of
from tt_xla.frontends.torch.device.values import ParameterVersions, Value
from tt_xla.frontends.torch.private.dispatcher import CPU_KEYS, META_KEYS, DispatchKeySet, is_in_backward
from tt_xla.frontends.torch.private.fake import FakeTensor
from tt_xla.frontends.torch.private.ops import OpOverload


def _is_ours(tensor: torch.Tensor) -> bool:
    return tensor.device.type == DEVICE_TYPE


# Making tensors ------------------------------------------------------------------------------------------------------


def _empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """Returns a new tensor. Elements that nobody wrote are zeros."""
    dtype = dtype or torch.get_default_dtype()
    if memory_format in (None, torch.contiguous_format, torch.preserve_format):
        chip, nbytes = chips.chip_of(device), math.prod(size) * dtype.itemsize
        if nbytes < LARGE:
            return new_tensor(full(size, 0, dtype, chip))
        session.current.memory[chip].check(nbytes)
        # The operating system gives memory to a page of these zeros once it is written.
        return lift(torch.from_numpy(np.zeros(nbytes, np.uint8)).view(dtype).view(*size), chip)
    strides = torch.empty(size, dtype=dtype, device="meta", memory_format=memory_format).stride()
    return _empty_strided(size, strides, dtype=dtype, device=device)


def _arange(*bounds: float, **options: Any) -> torch.Tensor:
    """Records one op; PyTorch's own kernel would make an empty tensor and resize it."""
    arguments = (*([0] if len(bounds) == 1 else []), *bounds, 1)
    return run(signature_of(aten.arange.start_step), arguments, options)


def _zeros_like(
    x: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """Records the op, or makes zeros in the shape of a fake tensor, on which PyTorch runs an op to infer its shapes."""
    if isinstance(x, FakeTensor):
        return _empty_strided(x.shape, x.stride(), dtype=dtype or x.dtype, device=device or x.fake_device).zero_()
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    return run(signature_of(aten.zeros_like.default), [x], {**options, "memory_format": memory_format})


def _empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    dtype = dtype or torch.get_default_dtype()
    order = memory_order(size, stride)
    shape = [storage_elements(size, stride)] if order is None else [size[dim] for dim in order]
    return tensor_of(full(shape, 0, dtype, chips.chip_of(device)), size, stride)


def _set_storage(tensor: torch.Tensor, source: torch.UntypedStorage) -> torch.Tensor:
    size = [source.nbytes() // tensor.element_size()]
    return aten.set_.source_Storage_storage_offset.redispatch(CPU_KEYS, tensor, source, 0, size, [1])


def _set_storage_offset(
    tensor: torch.Tensor,
    source: torch.UntypedStorage,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int] = (),
) -> torch.Tensor:
    return aten.set_.source_Storage_storage_offset.redispatch(CPU_KEYS, tensor, source, offset, size, stride)


def _resize(
    tensor: torch.Tensor, size: Sequence[int], *, memory_format: torch.memory_format | None = None
) -> torch.Tensor:
    if tensor.shape == tuple(size) and memory_format is None:
        return tensor
    resize(tensor, size, **({} if memory_format is None else {"memory_format": memory_format}))
    return tensor


# Copies --------------------------------------------------------------------------------------------------------------


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    if not _is_ours(target):
        host = host_alias(source)
        count_read(source)
        with metrics.transferring(host.nbytes, to_device=False):
            target.copy_(host)
        return target
    if source.shape != target.shape:  # PyTorch calls this before it compares the shapes
        torch.empty(target.shape, device="meta").copy_(torch.empty(source.shape, device="meta"))
    if _is_ours(source) and source.device == target.device:
        if integers.run(signature_of(aten.copy_.default), (target, source), {}, None) is not NotImplemented:
            return target
        value = read(source)
    else:
        source = host_alias(source) if _is_ours(source) else source.detach()
        with metrics.transferring(source.nbytes, to_device=True):
            host = torch.empty(source.shape, dtype=target.dtype, device="cpu").copy_(source)
        value = Value.of(host)
    write(target, expanded(converted(value, target.dtype), target.shape))
    return target


def _to_copy(
    tensor: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """Copies a tensor to or from a chip, or within it. PyTorch calls this for either of the two devices.

    A tensor that is moved to ``xla``, where it is already, is no copy.
    """
    if device is not None and device.type == chips.XLA:
        device = chips.own(device)
        stays = _is_ours(tensor) and device == tensor.device and dtype in (None, tensor.dtype)
        if stays and memory_format in (None, torch.preserve_format):
            return aten.detach.default.redispatch(CPU_KEYS, tensor)
    to_device = device is None or device.type == DEVICE_TYPE
    chip = 0
    if to_device:
        chip = buffer_of(tensor).chip if device is None else chips.chip_of(device)
    if _is_ours(tensor) and to_device and chip == buffer_of(tensor).chip:
        keeps_type = dtype in (None, tensor.dtype) and memory_format in (None, torch.preserve_format)
        if keeps_type and (copy := sharing_copy(tensor)) is not None:
            metrics.count("xla::_to_copy")
            return copy
        options = {"dtype": dtype or tensor.dtype, "memory_format": memory_format}
        return run(signature_of(aten._to_copy.default), (tensor,), options)
    source = host_alias(tensor) if _is_ours(tensor) else tensor.detach()
    if to_device:
        session.current.memory[chip].check(source.numel() * (dtype or source.dtype).itemsize)
    elif _is_ours(tensor):
        count_read(tensor)
    with metrics.transferring(source.nbytes, to_device=to_device):
        host = torch.empty_like(
            source, dtype=dtype, device="cpu", memory_format=memory_format or torch.preserve_format
        ).copy_(source)
    if to_device:
        return lift(host, chip)
    return host if device is None or device.type == "cpu" else host.to(device)


def _record_stream(tensor: torch.Tensor, stream: torch.Stream) -> None:
    """Does nothing: ops run in the order of the script, and memory lives as long as its tensor."""


def _item(tensor: torch.Tensor) -> Any:
    metrics.count("aten::_local_scalar_dense")
    buffer = buffer_of(tensor)
    is_whole = tensor.untyped_storage().nbytes() == tensor.element_size() and buffer.host.dtype is tensor.dtype
    if is_whole and not (tensor.is_conj() or tensor.is_neg()):
        return buffer.host.item()
    return buffer.alias(tensor).item()


def _equal(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    if tensor.shape != other.shape:
        return False
    return bool(torch.all(tensor == other).item())


def _pin_memory(tensor: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:
    """Returns a copy: pinned memory makes copies to the card no faster."""
    return tensor.clone()


def _is_pinned(tensor: torch.Tensor, device: torch.device | None = None) -> bool:
    """Returns whether a backward pass runs, in which ``DistributedDataParallel`` insists that it got pinned memory."""
    return is_in_backward()


# Filling and masks ---------------------------------------------------------------------------------------------------


def _fill_scalar(tensor: torch.Tensor, number: float) -> torch.Tensor:
    write(tensor, full(tensor.shape, number, tensor.dtype, buffer_of(tensor).chip))
    return tensor


def _fill_tensor(tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return tensor.copy_(other)


def _zero(tensor: torch.Tensor) -> torch.Tensor:
    return _fill_scalar(tensor, 0)


def _index_put(
    tensor: torch.Tensor, indices: Sequence[torch.Tensor | None], values: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    """Runs ``index_put_``. ``x[mask] = number`` becomes ``where``; every other use is recorded as it is."""
    mask = indices[0] if len(indices) == 1 else None
    is_mask = mask is not None and mask.dtype in (torch.bool, torch.uint8)
    fills = is_mask and values.numel() == 1 and not accumulate
    if mask is not None and fills and tuple(mask.shape) == tuple(tensor.shape[: mask.dim()]):
        mask = mask.to(tensor.device).to(torch.bool).reshape(*mask.shape, *[1] * (tensor.dim() - mask.dim()))
        return tensor.copy_(torch.where(mask, values.to(tensor.device).to(tensor.dtype).reshape(()), tensor))
    values = values.to(tensor.device)
    return run(signature_of(aten.index_put_.default), (tensor, indices, values, accumulate), {})


def _index_put_impl(
    tensor: torch.Tensor,
    indices: Sequence[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> torch.Tensor:
    return _index_put(tensor, indices, values, accumulate)


# Networks ------------------------------------------------------------------------------------------------------------


def _convolution(*args: Any) -> torch.Tensor:
    return run(signature_of(aten.convolution.default), args, {})


def _convolution_backward(
    grad: torch.Tensor, tensor: torch.Tensor, weight: torch.Tensor, *rest: Any
) -> tuple[torch.Tensor | None, ...]:
    arguments = (grad, tensor, weight, [grad.shape[1]], *rest)
    return run(signature_of(aten.convolution_backward.default), arguments, {})


def _batch_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor | None,
    variance: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    """Runs ``native_batch_norm``, whose schema does not say that it writes the running statistics."""
    if not training:
        assert mean is not None
        assert variance is not None
        op = aten._native_batch_norm_legit_no_training.default
        return run(signature_of(op), (x, weight, bias, mean, variance, momentum, eps), {})
    if mean is None or variance is None:
        op = aten._native_batch_norm_legit.no_stats
        return run(signature_of(op), (x, weight, bias, True, momentum, eps), {})
    op = aten._native_batch_norm_legit_functional.default
    *results, new_mean, new_variance = run(signature_of(op), (x, weight, bias, mean, variance, True, momentum, eps), {})
    mean.copy_(new_mean)
    variance.copy_(new_variance)
    return tuple(results)


def _dropout(x: torch.Tensor, p: float, train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Runs dropout with a mask drawn by the CPU's generator, so that a seed gives the same mask as on the CPU."""
    if train is False or p == 0:
        return x.clone(), torch.ones(x.shape, dtype=torch.bool, device=x.device)
    metrics.count("RandomOps")
    metrics.count("xla::native_dropout")
    chip = buffer_of(x).chip
    with chips.drawing_on(chip):
        like = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
        keeps = torch.empty_like(like, device="cpu").bernoulli_(1 - p)
    mask = lift(keeps.to(torch.bool), chip)
    return x * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def _embedding_sparse_backward(
    grad: torch.Tensor, indices: torch.Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> torch.Tensor:
    """Returns the dense gradient of an embedding: the device has no sparse tensors."""
    return aten.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def _embedding_bag_backward(*args: Any, **kwargs: Any) -> torch.Tensor:
    """Runs ``_embedding_bag_backward`` without ``sparse``, its tenth argument: the device has no sparse tensors."""
    return run(signature_of(aten._embedding_bag_backward.default), (*args[:9], False, *args[10:]), kwargs)


def _redispatched(op: OpOverload, keys: DispatchKeySet) -> Callable[..., torch.Tensor]:
    """Returns PyTorch's kernel of a view op for other dispatch keys. It computes sizes and shares the storage."""

    def kernel(*args: Any, **kwargs: Any) -> torch.Tensor:
        return op.redispatch(keys, *args, **kwargs)

    return kernel


def _has_contents_for(tensor: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether ``tensor.data = value`` may give a tensor another one's memory, which may be on another device.

    PyTorch knows a list of devices between which a tensor moves so. ``Module.to`` asks too: a Parameter then stays the
    object that optimizers and tied modules hold, and its contents are known to be a parameter's.
    """
    if not all(each.layout is torch.strided and each.device.type in _MOVABLE for each in (tensor, value)):
        return False
    if isinstance(tensor, torch.nn.Parameter) and value.device.type == chips.DEVICE_TYPE:
        session.current.part(ParameterVersions).add(buffer_of(value).version)
    return True


_MOVABLE = (chips.DEVICE_TYPE, "cpu")

KERNELS: dict[str, Callable[..., Any]] = {
    "_copy_from": _copy_from,
    "_embedding_bag_backward": _embedding_bag_backward,
    "_has_compatible_shallow_copy_type": _has_contents_for,
    "_index_put_impl_": _index_put_impl,
    "_local_scalar_dense": _item,
    "_reshape_alias": _redispatched(aten._reshape_alias.default, CPU_KEYS),
    "_to_copy": _to_copy,
    "arange": _arange,
    "arange.start": _arange,
    "as_strided": _redispatched(aten.as_strided.default, META_KEYS),
    "convolution_backward_overrideable": _convolution_backward,
    "convolution_overrideable": _convolution,
    "embedding_sparse_backward": _embedding_sparse_backward,
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "equal": _equal,
    "fill_.Scalar": _fill_scalar,
    "fill_.Tensor": _fill_tensor,
    "index_put_": _index_put,
    "native_batch_norm": _batch_norm,
    "native_dropout": _dropout,
    "record_stream": _record_stream,
    "resize_": _resize,
    "set_.source_Storage": _set_storage,
    "set_.source_Storage_storage_offset": _set_storage_offset,
    "unfold": _redispatched(aten.unfold.default, CPU_KEYS),
    "view": _redispatched(aten.view.default, CPU_KEYS),
    "zero_": _zero,
    "zeros_like": _zeros_like,
}
"""Kernels for tensors of the device, by name of the overload."""

HOST_KERNELS: dict[str, Callable[..., Any]] = {"_pin_memory": _pin_memory, "is_pinned": _is_pinned}
"""Kernels for tensors of the CPU, by name of the overload."""
