"""What a ``tt`` storage holds, and how tensors on it are made.

A storage's Python object, which torch keeps alive as long as any tensor shares the storage, carries a
:class:`Buffer`. Its contents are a :class:`Value`, of a contiguous base shape that covers the whole storage: either
bytes, or the result of a recorded op that has not run. A value never changes; a write gives the buffer another one.
Views, Parameters and autograd therefore need no code here.
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.frontends.torch.device.geometry import memory_order
from tt_xla.runtime.lifetimes import ended

if TYPE_CHECKING:
    from tt_xla.frontends.torch.device.recording import Node

aten = torch.ops.aten

DEVICE_TYPE = "tt"
CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
META_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
_VERSIONS = itertools.count(1)
_ALIGNMENT = 64
_SMALLEST_DRAM = 1 << 33
"""In bytes: less than any chip has."""
_NO_ELEMENTS = [0]
_set_storage = aten.set_.source_Storage_storage_offset._handle.redispatch_boxed

_COMING_BACK = threading.Lock()

LOCK = threading.RLock()
"""Held while recorded ops run: backward records from threads of its own."""


@functools.cache
def device() -> torch.device:
    """The one torch device; more chips stand behind it."""
    return torch.device(DEVICE_TYPE, 0)


def check_ordinal(asked: torch.device | None) -> None:
    """That a device that is asked for is there.

    Raises:
        RuntimeError: it has a number that no device has.
    """
    if asked is not None and asked.index and asked.type == DEVICE_TYPE:
        raise RuntimeError(
            f"{asked}: invalid device ordinal. There is one torch device, {device()}; more chips stand behind it."
        )


def new_version() -> int:
    """A version that nothing else in the process has."""
    return next(_VERSIONS)


class _Addresses:
    """Addresses for storages: unique, never null, and never read or written."""

    def __init__(self) -> None:
        self._next = 1 << 46
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> int:
        size = (nbytes // _ALIGNMENT + 1) * _ALIGNMENT
        with self._lock:
            address = self._next
            self._next = address + size
        return address


ADDRESSES = _Addresses()


class Memory:
    """Bytes of all buffers that have bytes."""

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0
        self.allocations = 0
        self.frees = 0

    def current(self) -> int:
        return self.allocated

    def check(self, nbytes: int) -> None:
        """That a copy to the device of so many bytes fits beside the tensors that are there.

        Raises:
            OutOfMemoryError: it does not, in the words of torch.cuda.
        """
        if self.allocated + nbytes <= _SMALLEST_DRAM:
            return
        from tt_xla.runtime import get_device

        report = get_device().memory()
        if self.allocated + nbytes + report.resident > report.usable:
            gc.collect()  # tensors may wait for it in cycles
        free = report.usable - report.resident - self.allocated
        if nbytes > free:
            raise torch.OutOfMemoryError(
                f"tt out of memory. Tried to allocate {nbytes} bytes for a tensor on {get_device().name}, which has "
                f"{report.usable} bytes of DRAM: tensors take {self.allocated}, results that programs keep and traces "
                f"{report.resident}; {max(free, 0)} are free."
            )

    def take(self, nbytes: int) -> None:
        self.allocations += 1
        self.allocated += nbytes
        self.peak = max(self.peak, self.allocated)

    def give(self, nbytes: int) -> None:
        self.frees += 1
        self.allocated -= nbytes


MEMORY = Memory()


class Value:
    """Contents that never change: the bytes of a base, or result ``index`` of a recorded node.

    Attributes:
        data: a contiguous CPU tensor of this shape and dtype, once there is one.
        version: of ``data``, for the runtime.
        node: what computes it while there is no ``data``.
        owner: the buffer whose memory ``data`` is; others copy it.
    """

    __slots__ = ("data", "dtype", "index", "node", "owner", "shape", "version")

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, node: Node | None = None, index: int = 0) -> None:
        self.shape = shape
        self.dtype = dtype
        self.node = node
        self.index = index
        self.data: torch.Tensor | None = None
        self.version = 0
        self.owner: weakref.ref[Buffer] | None = None

    @staticmethod
    def of(data: torch.Tensor) -> Value:
        """A value of bytes that are there; nobody writes to ``data`` from here on."""
        value = Value(tuple(data.shape), data.dtype)
        value.data = data
        value.version = new_version()
        return value

    def computed(self, data: torch.Tensor) -> None:
        """Gives it the bytes that its node computed."""
        self.data = data
        self.version = new_version()
        self.node = None


@dataclass(slots=True)
class Away:
    """Bytes that a program can make again of what it keeps of them."""

    program: object
    stand_in: torch.Tensor
    """A CPU tensor of their shape without bytes, for that program alone."""
    restore: Callable[[], torch.Tensor]
    host: torch.Tensor
    """On the meta device: what the CPU tensor was like."""


class Buffer:
    """The contents of one ``tt`` storage.

    Attributes:
        version: unique in the process; renewed at each write, so that equal versions mean equal contents.
    """

    __slots__ = ("__weakref__", "_alias", "_alias_key", "_came_back", "_host", "_taken", "_value", "away", "version")

    def __init__(self, host: torch.Tensor | None = None, value: Value | None = None, nbytes: int | None = None) -> None:
        """``nbytes`` is the size of the host tensor's memory, where that is known."""
        self._host = host
        self._value = value
        self.version = next(_VERSIONS)
        self._alias_key: object = None
        self._alias: torch.Tensor | None = None
        self.away: Away | None = None
        self._came_back = False
        self._taken: int | None = None
        if host is not None:
            self._take(host.untyped_storage().nbytes() if nbytes is None else nbytes)
        elif value is not None and value.data is None:
            PENDING[id(self)] = weakref.ref(self)

    def __del__(self) -> None:
        if self._taken is not None:
            MEMORY.give(self._taken)
        ended(self.version)

    def _take(self, nbytes: int) -> None:
        self._taken = nbytes
        MEMORY.take(nbytes)

    def _let_go(self) -> None:
        """Of the bytes."""
        if self._taken is not None:
            MEMORY.give(self._taken)
            self._taken = self._host = self.away = None

    def leave(self, program: object, stand_in: torch.Tensor, restore: Callable[[], torch.Tensor]) -> None:
        """Lets go of the bytes, which a program can make again; of the card's memory they go on to take their part.

        Bytes that had to come back once stay.
        """
        host = self._host
        if host is None or self._came_back or not host.is_contiguous() or host.numel() != stand_in.numel():
            return
        if host.untyped_storage().nbytes() == host.numel() * host.element_size():
            self.away = Away(program, stand_in, restore, torch.empty_like(host, device="meta"))
            self._host = self._value = self._alias = self._alias_key = None

    def _come_back(self) -> torch.Tensor:
        with _COMING_BACK:
            away, host = self.away, self._host
            if host is None:
                assert away is not None
                host = self._host = away.restore().view(away.host.shape)
                self._came_back = True
                self.away = None
            return host

    @property
    def pending(self) -> bool:
        """Whether recorded ops that have not run compute the contents."""
        return self._host is None and self._value is not None and self._value.data is None

    @property
    def host(self) -> torch.Tensor:
        """A CPU tensor over the bytes; its own shape is that of the tensor that made it. Runs what is pending."""
        host = self._host
        if host is not None:
            return host
        if self.away is not None:
            return self._come_back()
        value = self._value
        assert value is not None
        if value.data is None:
            synchronize_for(self)
        if self._host is None:
            self.claim()
        assert self._host is not None
        return self._host

    @property
    def value(self) -> Value:
        """The contents as a base that covers the storage. They are not to be written in place while it is in use."""
        if self._value is None:
            self._value = Value.of(_base_of(self.host))
            self._value.version = self.version
            self._value.owner = weakref.ref(self)
        return self._value

    def value_as(self, dtype: torch.dtype) -> Value:
        """The contents, with the bytes read as another type. Runs what is pending."""
        host = self.host.untyped_storage()
        flat = torch.empty(0, dtype=dtype, device="cpu")
        self._value = Value.of(flat.set_(host, 0, [host.nbytes() // dtype.itemsize], [1]))
        self._value.version = self.version
        self._value.owner = weakref.ref(self)
        return self._value

    def become(self, value: Value) -> None:
        """A write: other contents for the whole storage."""
        self._let_go()
        self._value = value
        self._alias_key = self._alias = None
        self._renew()
        if value.data is None:
            PENDING[id(self)] = weakref.ref(self)
        elif value.owner is None:
            self.claim()  # so that its version ends with this buffer's

    def claim(self) -> None:
        """Takes over the bytes of a value that has them, or copies them where they are another buffer's."""
        value = self._value
        assert value is not None
        assert value.data is not None
        owner = value.owner() if value.owner is not None else None
        if owner is None or owner is self:
            value.owner = weakref.ref(self)
            value.version = self.version
            self._host = value.data
        else:
            self._host = value.data.clone()
            self._value = None
        self._take(self._host.untyped_storage().nbytes())

    def written(self) -> None:
        """Says that the bytes were changed in place."""
        self._renew()
        self._value = None

    def _renew(self) -> None:
        ended(self.version)
        self.version = next(_VERSIONS)

    def replace(self, host: torch.Tensor) -> None:
        """A write: these bytes for the whole storage."""
        self._let_go()
        self._take(host.untyped_storage().nbytes())
        self._host, self._value = host, None
        self._alias_key = self._alias = None
        self._renew()

    def writable_alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """An alias that may be written through: recorded ops that read the contents keep the bytes of now."""
        host = self.host
        if self._value is not None:
            bytes_now = host.untyped_storage().clone()
            copy = torch.empty(0, dtype=host.dtype, device="cpu")
            self._host = copy.set_(bytes_now, host.storage_offset(), host.shape, host.stride())
            self._value = None
            self.forget_alias()
        return self.alias(tensor)

    def forget_alias(self) -> None:
        self._alias_key = self._alias = None

    def alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """A CPU tensor over the same elements as ``tensor``, whose storage this is; kept for the next call."""
        key = (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())
        alias = self._alias
        if alias is None or key != self._alias_key:
            alias = self._alias = _view_of(self.host, *key)
            self._alias_key = key
        if tensor.is_conj():
            alias = alias.conj()
        return alias._neg_view() if tensor.is_neg() else alias


Seen = tuple[weakref.ref[torch.Tensor], int, weakref.ref[Buffer], object]
"""A tensor that a program was given, its address, its buffer and the key of the alias: one object, as threads may call
at once."""


def find_again(last: Sequence[Seen | None], tensors: list[Any], versions: list[int | None]) -> list[int]:
    """Puts aliases and versions in the places of the ``tt`` tensors that were given last, without a look at storages.

    Such a tensor still has the shape and strides that it had; dynamo checks them before each call.

    Returns:
        The positions of all others.
    """
    others: list[int] = []
    for index, seen in enumerate(last):
        if seen is not None:
            tensor, buffer = tensors[index], seen[2]()
            if seen[0]() is tensor and buffer is not None and tensor.data_ptr() == seen[1]:
                alias = buffer._alias
                if alias is not None and buffer._alias_key is seen[3]:
                    tensors[index], versions[index] = alias, buffer.version
                    continue
        others.append(index)
    return others


def find(tensor: torch.Tensor) -> tuple[Buffer, torch.Tensor, Seen | None]:
    """The buffer of a ``tt`` tensor, its :meth:`Buffer.alias`, and what it is found again by."""
    buffer = buffer_of(tensor)
    alias = buffer.alias(tensor)
    if alias is not buffer._alias:
        return buffer, alias, None
    return buffer, alias, (weakref.ref(tensor), tensor.data_ptr(), weakref.ref(buffer), buffer._alias_key)


PENDING: dict[int, weakref.ref[Buffer]] = {}
"""Buffers that became pending since recorded ops last ran, some of which may be gone or written again."""

_synchronize: Callable[[Buffer], None] | None = None


def synchronize_for(buffer: Buffer) -> None:
    """Runs what is pending, because the bytes of this buffer are needed."""
    assert _synchronize is not None
    _synchronize(buffer)


def set_synchronize(run: Callable[[Buffer], None]) -> None:
    """Names the function behind :func:`synchronize_for`, which lies in a layer above."""
    global _synchronize
    _synchronize = run


def _base_of(host: torch.Tensor) -> torch.Tensor:
    """The whole memory of a tensor as a contiguous one: in its own shape where that covers it, else flat."""
    elements = host.untyped_storage().nbytes() // host.element_size()
    if host.numel() == elements:
        if host.is_contiguous():
            return host.detach()
        order = memory_order(host.shape, host.stride())
        if order is not None:
            return host.detach().permute(order)
    flat = torch.empty(0, dtype=host.dtype, device="cpu")
    return flat.set_(host.untyped_storage(), 0, [elements], [1])


def _view_of(
    host: torch.Tensor, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], offset: int
) -> torch.Tensor:
    if host.dtype is dtype:
        return host.as_strided(size, stride, offset)
    return torch.empty(0, dtype=dtype, device="cpu").set_(host.untyped_storage(), offset, size, stride)


def buffer_of(tensor: torch.Tensor) -> Buffer:
    """The buffer of a ``tt`` tensor."""
    try:
        return tensor.untyped_storage().tt_buffer  # type: ignore[attr-defined]
    except AttributeError:  # torch tries kernels on tensors without contents, and goes on after this error
        raise NotImplementedError("a tensor without contents has no buffer") from None


def host_alias(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the memory of a ``tt`` tensor. Whoever writes through it calls :meth:`Buffer.written`."""
    return buffer_of(tensor).alias(tensor)


def storage_for(buffer: Buffer, nbytes: int) -> torch.UntypedStorage:
    """A new storage of the device with these contents."""
    storage = torch._C._construct_storage_from_data_pointer(ADDRESSES.take(nbytes), device(), nbytes)
    storage.tt_buffer = buffer
    return storage


def storage_of_host(host: torch.Tensor) -> torch.UntypedStorage:
    return storage_for(Buffer(host), host.untyped_storage().nbytes())


def tensor_on(
    storage: torch.UntypedStorage, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], offset: int
) -> torch.Tensor:
    """A tensor over a storage of the device."""
    tensor = torch._C._acc.create_empty_tensor(_NO_ELEMENTS, dtype)
    _set_storage(CPU_KEYS, tensor, storage, offset, [*size], [*stride])  # lists: torch takes up tuples slowly
    return tensor


def lift(host: torch.Tensor) -> torch.Tensor:
    """A ``tt`` tensor that takes over the memory of a CPU tensor, without a copy."""
    return tensor_on(storage_of_host(host), host.dtype, host.shape, host.stride(), host.storage_offset())


def tensor_of(value: Value, size: Sequence[int], stride: Sequence[int]) -> torch.Tensor:
    """A new tensor whose whole storage has these contents."""
    nbytes = math.prod(value.shape) * value.dtype.itemsize
    return tensor_on(storage_for(Buffer(value=value), nbytes), value.dtype, size, stride, 0)
