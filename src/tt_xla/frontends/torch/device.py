"""The torch device ``tt``: a PrivateUse1 backend in Python, on plain tensors. All private torch APIs are in this file.

A ``tt`` tensor is an ordinary ``torch.Tensor`` whose storage has the device ``tt``. The storage's Python object, which
torch keeps alive as long as any tensor shares the storage, carries a :class:`Buffer`: the bytes on the host, and a
version that is renewed at each write, by which the runtime knows whether the copy it uploaded is still right. Views,
Parameters, autograd and ``torch.compile`` therefore need no code here.

Eager ops run on the CPU, on aliases of the host bytes; what is compiled runs on the device.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from tt_xla.frontends.torch import host_ops

aten = torch.ops.aten

DEVICE_TYPE = "tt"
_VERSIONS = itertools.count(1)
_EMPTY_ADDRESSES = itertools.count(1 << 46, 64)
_CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_META_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)

_DEVICE: torch.device | None = None
_LIBRARIES: list[torch.library.Library] = []  # a Library that is collected takes its kernels with it


def new_version() -> int:
    """A version that nothing else in the process has."""
    return next(_VERSIONS)


class Buffer:
    """The bytes of one ``tt`` storage.

    Attributes:
        host: a CPU tensor over those bytes; its own shape is that of the tensor that made it.
        version: unique in the process; renewed at each write, so that equal versions mean equal contents.
    """

    __slots__ = ("__weakref__", "_alias", "_alias_key", "host", "version")

    def __init__(self, host: torch.Tensor) -> None:
        self.host = host
        self.version = next(_VERSIONS)
        self._alias_key: object = None
        self._alias: torch.Tensor | None = None

    def written(self) -> None:
        """Says that the contents changed."""
        self.version = next(_VERSIONS)

    def alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """A CPU tensor over the same elements as ``tensor``, whose storage this is; kept for the next call."""
        key = (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())
        if key != self._alias_key:
            self._alias = _view_of(self.host, *key)
            self._alias_key = key
        assert self._alias is not None
        return self._alias


def _view_of(
    host: torch.Tensor, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], offset: int
) -> torch.Tensor:
    if host.dtype is dtype:
        return host.as_strided(size, stride, offset)
    return torch.empty(0, dtype=dtype, device="cpu").set_(host.untyped_storage(), offset, size, stride)


def buffer_of(tensor: torch.Tensor) -> Buffer:
    """The buffer of a ``tt`` tensor."""
    return tensor.untyped_storage().tt_buffer  # type: ignore[attr-defined]


def host_alias(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the memory of a ``tt`` tensor. Whoever writes through it calls :meth:`Buffer.written`."""
    return buffer_of(tensor).alias(tensor)


def _storage_for(host: torch.Tensor) -> torch.UntypedStorage:
    nbytes = host.untyped_storage().nbytes()
    address = host.untyped_storage().data_ptr() or next(_EMPTY_ADDRESSES)
    storage = torch._C._construct_storage_from_data_pointer(address, _DEVICE, nbytes)
    storage.tt_buffer = Buffer(host)
    return storage


def _tensor_on(
    storage: torch.UntypedStorage, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], offset: int
) -> torch.Tensor:
    tensor = torch._C._acc.create_empty_tensor([0], dtype)
    aten.set_.source_Storage_storage_offset.redispatch(_CPU_KEYS, tensor, storage, offset, size, stride)
    return tensor


def lift(host: torch.Tensor) -> torch.Tensor:
    """A ``tt`` tensor that takes over the memory of a CPU tensor, without a copy."""
    return _tensor_on(_storage_for(host), host.dtype, host.shape, host.stride(), host.storage_offset())


# Eager kernels -------------------------------------------------------------------------------------------------------


class _Signature:
    """What the boxed kernel needs to know of an op, worked out once."""

    def __init__(self, op: torch._ops.OpOverload) -> None:
        schema = op._schema
        self.writes = [
            (index, argument.name)
            for index, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        self.is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        # An in-place or out= op returns the tensors it wrote, in the order of its results.
        self.returns_written = bool(schema.returns) and all(
            r.alias_info is not None and r.alias_info.is_write for r in schema.returns
        )


_signature = functools.cache(_Signature)


def _lower(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return host_alias(value) if value.device.type == DEVICE_TYPE else value
    if isinstance(value, list | tuple):
        return [_lower(item) for item in value]
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == DEVICE_TYPE else value
    return value


def _lift_results(value: Any, sources: list[torch.Tensor] | None) -> Any:
    if isinstance(value, torch.Tensor):
        if sources is not None:
            address = value.untyped_storage()._cdata
            for source in sources:
                if host_alias(source).untyped_storage()._cdata == address:
                    layout = value.dtype, value.shape, value.stride(), value.storage_offset()
                    return _tensor_on(source.untyped_storage(), *layout)
        return lift(value)
    if isinstance(value, list | tuple):
        return type(value)([_lift_results(item, sources) for item in value])
    return value


def _tensors_in(values: Any) -> list[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        return [values] if values.device.type == DEVICE_TYPE else []
    if isinstance(values, list | tuple):
        return [tensor for value in values for tensor in _tensors_in(value)]
    return []


def _run_on_host(op: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """The kernel of every op that has none of its own: lower to host aliases, run on the CPU, lift the results."""
    host_ops.record(str(op))
    signature = _signature(op)
    host_args = [_lower(arg) for arg in args]
    host_kwargs = {name: _lower(value) for name, value in kwargs.items()}
    if "device" in host_kwargs and host_kwargs["device"] is None:
        host_kwargs["device"] = torch.device("cpu")
    result = op(*host_args, **host_kwargs)
    written: list[Any] = []
    for index, name in signature.writes:
        if index < len(args):
            given, host = args[index], host_args[index]
        else:
            given, host = kwargs.get(name), host_kwargs.get(name)
        written.append(given)
        for tensor, alias in zip(_as_list(given), _as_list(host), strict=True):
            if isinstance(tensor, torch.Tensor) and tensor.device.type == DEVICE_TYPE:
                _take_over(tensor, alias)
    if signature.returns_written:
        return written[0] if len(written) == 1 else tuple(written)
    return _lift_results(result, _tensors_in(list(args)) if signature.is_view else None)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _take_over(tensor: torch.Tensor, host: torch.Tensor) -> None:
    """After a write through ``host``: renews the version, and follows a resize."""
    buffer = buffer_of(tensor)
    buffer.written()
    same_memory = host.untyped_storage()._cdata == buffer.host.untyped_storage()._cdata
    if same_memory and host.untyped_storage().nbytes() <= tensor.untyped_storage().nbytes():
        if host.shape == tensor.shape and host.stride() == tensor.stride():
            return
        storage = tensor.untyped_storage()
    else:
        # The memory behind a storage cannot grow: the tensor moves to a new one, and views made before stay behind.
        storage = _storage_for(host)
    buffer._alias_key = buffer._alias = None  # it was resized in place
    layout = host.storage_offset(), host.shape, host.stride()
    aten.set_.source_Storage_storage_offset.redispatch(_CPU_KEYS, tensor, storage, *layout)


def _empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    return lift(torch.empty(size, dtype=dtype, device="cpu", memory_format=memory_format or torch.contiguous_format))


def _empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    return lift(torch.empty_strided(size, stride, dtype=dtype, device="cpu"))


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    host = host_alias(source) if source.device.type == DEVICE_TYPE else source
    if target.device.type == DEVICE_TYPE:
        buffer = buffer_of(target)
        buffer.alias(target).copy_(host)
        buffer.written()
    else:
        target.copy_(host)
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
    """Dispatched here by the target device as well as by the source's."""
    source = host_alias(tensor) if tensor.device.type == DEVICE_TYPE else tensor
    host = torch.empty_like(
        source, dtype=dtype, device="cpu", memory_format=memory_format or torch.preserve_format
    ).copy_(source)
    if device is None or device.type == DEVICE_TYPE:
        return lift(host)
    return host if device.type == "cpu" else host.to(device)


def _set_storage(tensor: torch.Tensor, source: torch.UntypedStorage) -> torch.Tensor:
    size = [source.nbytes() // tensor.element_size()]
    return aten.set_.source_Storage_storage_offset.redispatch(_CPU_KEYS, tensor, source, 0, size, [1])


def _set_storage_offset(
    tensor: torch.Tensor,
    source: torch.UntypedStorage,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int] = (),
) -> torch.Tensor:
    return aten.set_.source_Storage_storage_offset.redispatch(_CPU_KEYS, tensor, source, offset, size, stride)


def _resize(
    tensor: torch.Tensor, size: Sequence[int], *, memory_format: torch.memory_format | None = None
) -> torch.Tensor:
    host = host_alias(tensor).detach()
    host.resize_(size) if memory_format is None else host.resize_(size, memory_format=memory_format)
    _take_over(tensor, host)
    return tensor


def _item(tensor: torch.Tensor) -> Any:
    return host_alias(tensor).item()


def _convolution(*args: Any) -> torch.Tensor:
    return lift(aten.convolution.default(*[_lower(arg) for arg in args]))


def _convolution_backward(
    grad: torch.Tensor, tensor: torch.Tensor, weight: torch.Tensor, *rest: Any
) -> tuple[torch.Tensor | None, ...]:
    host = _lower(grad)
    bias_sizes = [host.shape[1]]
    results = aten.convolution_backward.default(host, _lower(tensor), _lower(weight), bias_sizes, *rest)
    return tuple(None if result is None else lift(result) for result in results)


def _redispatched(op: torch._ops.OpOverload, keys: torch._C.DispatchKeySet) -> Callable[..., torch.Tensor]:
    """A view kernel: torch's own, which only computes sizes and shares the storage."""

    def kernel(*args: Any, **kwargs: Any) -> torch.Tensor:
        return op.redispatch(keys, *args, **kwargs)

    return kernel


_KERNELS: dict[str, Callable[..., Any]] = {
    "_copy_from": _copy_from,
    "_local_scalar_dense": _item,
    "_reshape_alias": _redispatched(aten._reshape_alias.default, _CPU_KEYS),
    "_to_copy": _to_copy,
    "as_strided": _redispatched(aten.as_strided.default, _META_KEYS),
    "convolution_backward_overrideable": _convolution_backward,
    "convolution_overrideable": _convolution,
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "resize_": _resize,
    "set_.source_Storage": _set_storage,
    "set_.source_Storage_storage_offset": _set_storage_offset,
    "unfold": _redispatched(aten.unfold.default, _CPU_KEYS),
    "view": _redispatched(aten.view.default, _CPU_KEYS),
}


# Registration --------------------------------------------------------------------------------------------------------


class _DeviceModule:
    """``torch.tt``: what torch asks of a device module. Nothing is pending on the device between calls."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def set_device(self, device: object) -> None:
        """There is one torch device; more chips stand behind it."""

    def device_count(self) -> int:
        return 1

    def synchronize(self, device: object = None) -> None:
        """Results are complete when a call returns."""

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed(self, seed: int) -> None:
        """Random numbers come from the CPU generator, which ``torch.manual_seed`` seeds already."""

    def manual_seed_all(self, seed: int) -> None:
        """See :meth:`manual_seed`."""

    def get_rng_state(self, device: object = None) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: object = None) -> None:
        torch.set_rng_state(state)

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16, torch.float32]


def _patch_storage() -> None:
    """``copy.deepcopy``, ``torch.save`` and ``pickle`` reach into storages, which have no dispatcher to hook into."""
    clone, cpu = torch.UntypedStorage.clone, torch.UntypedStorage.cpu

    def storage_clone(self: torch.UntypedStorage) -> torch.UntypedStorage:
        if self.device.type != DEVICE_TYPE:
            return clone(self)
        return _storage_for(_bytes_of(self).clone())

    def storage_cpu(self: torch.UntypedStorage) -> torch.UntypedStorage:
        if self.device.type != DEVICE_TYPE:
            return cpu(self)
        return _bytes_of(self).clone().untyped_storage()

    write, read = torch.UntypedStorage._write_file, torch.UntypedStorage._set_from_file

    def storage_write(self: torch.UntypedStorage, *args: Any) -> None:
        write(self if self.device.type != DEVICE_TYPE else _bytes_of(self).untyped_storage(), *args)

    def storage_read(self: torch.UntypedStorage, *args: Any) -> torch.UntypedStorage:
        if self.device.type != DEVICE_TYPE:
            return read(self, *args)
        read(_bytes_of(self).untyped_storage(), *args)
        self.tt_buffer.written()
        return self

    torch.UntypedStorage.clone = storage_clone
    torch.UntypedStorage._write_file = storage_write
    torch.UntypedStorage._set_from_file = storage_read
    torch.UntypedStorage.cpu = storage_cpu


def _patch_module_moves() -> None:
    """``Module.to("tt")`` and back keep each Parameter object.

    Torch makes new Parameters when a module moves to a device of another kind, unless a process-wide flag is set. New
    ones untie tied weights, which silently gives wrong gradients, and leave an optimizer made before with the old ones.
    The flag's own way, to swap the contents of two tensors, refuses while an autograd graph or a weak reference holds
    the old contents, as in a script that ran its model on the CPU first. So it is set for moves to and from ``tt``
    alone, and where it refuses there are new Parameters, tied again as they were.
    """

    def keeps_parameters(method: Callable[..., torch.nn.Module]) -> Callable[..., torch.nn.Module]:
        @functools.wraps(method)
        def moved(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
            leaves = any(parameter.device.type == DEVICE_TYPE for parameter in self.parameters())
            if not leaves and DEVICE_TYPE not in method.__name__ and not _names_device(args, kwargs):
                return method(self, *args, **kwargs)
            return _move(self, functools.partial(method, self, *args, **kwargs))

        return moved

    for name in ("to", "cpu", DEVICE_TYPE):
        setattr(torch.nn.Module, name, keeps_parameters(getattr(torch.nn.Module, name)))


def _names_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    given = kwargs.get("device", args[0] if args else None)
    kind = given.device if isinstance(given, torch.Tensor) else given
    return kind is not None and str(kind).partition(":")[0] == DEVICE_TYPE


def _move(module: torch.nn.Module, move: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    places: dict[torch.nn.Parameter, list[tuple[torch.nn.Module, str]]] = {}
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                places.setdefault(parameter, []).append((owner, name))
    tied = [where for where in places.values() if len(where) > 1]
    places.clear()  # it holds the parameters, and a swap wants them held by the module alone
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        return move()
    except RuntimeError as error:
        if "Couldn't swap" not in str(error):
            raise
        torch.__future__.set_swap_module_params_on_conversion(False)
        result = move()
        for (first, first_name), *others in tied:
            for owner, name in others:
                owner._parameters[name] = first._parameters[first_name]
        return result
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)


def _bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    host = storage.tt_buffer.host.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device="cpu").set_(host, 0, [storage.nbytes()], [1])


def _storage_tag(storage: torch.UntypedStorage) -> str | None:
    return DEVICE_TYPE if storage.device.type == DEVICE_TYPE else None


def _restore_storage(storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
    if location.partition(":")[0] != DEVICE_TYPE:
        return None
    host = torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage.cpu(), 0, [storage.nbytes()], [1])
    return _storage_for(host)


def register() -> None:
    """Makes ``torch.device("tt")`` exist. Calls after the first do nothing."""
    global _DEVICE
    if _DEVICE is not None:
        return
    _setup_privateuseone_for_python_backend(DEVICE_TYPE, backend_module=_DeviceModule())
    _DEVICE = torch.device(DEVICE_TYPE, 0)
    ops = torch.library.Library("aten", "IMPL")
    for name, kernel in _KERNELS.items():
        ops.impl(name, kernel, "PrivateUse1")
    everything_else = torch.library.Library("_", "IMPL")
    everything_else.fallback(_run_on_host, "PrivateUse1")
    everything_else.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    _LIBRARIES.extend((ops, everything_else))
    _patch_storage()
    torch.serialization.register_package(15, _storage_tag, _restore_storage)
    _patch_module_moves()
