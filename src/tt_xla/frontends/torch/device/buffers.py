"""The contents of ``tt`` storages, and ways to make tensors over them.

PyTorch keeps the Python object of a storage alive as long as a tensor shares the storage. That object has a class of
its own and carries a :class:`Buffer` in its attribute ``tt_buffer``. The contents of a buffer are a
:class:`~.values.Value` whose contiguous base shape covers the whole storage: either bytes, or the result of a recorded
op that has not run. A value never changes; a write gives the buffer another value. Views, Parameters and autograd
therefore need no code here.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import metrics
from tt_xla.frontends.torch.device.dlpack import TYPE_CODES, Layout
from tt_xla.frontends.torch.device.geometry import memory_order
from tt_xla.frontends.torch.device.values import Value
from tt_xla.frontends.torch.private.dispatcher import CPU_KEYS, set_storage, view_as_dtype
from tt_xla.frontends.torch.private.storages import UntypedStorage
from tt_xla.locks import Lock
from tt_xla.runtime.lifetimes import KEEPERS, VERSIONS, ended

if TYPE_CHECKING:
    from tt_xla.frontends.torch.device.values import Kept

aten = torch.ops.aten

_ALIGNMENT = 64

NO_BYTES = (
    "It was made as a placeholder, or a program took its bytes, which were donated: clone a donated tensor that is "
    "read later."
)


class _Addresses:
    """Hands out addresses for storages. They are unique, never null, and never read or written."""

    def __init__(self) -> None:
        self._next = 1 << 46
        self._lock = Lock()

    def reserve(self, nbytes: int) -> int:
        """Returns the first address of a range of at least ``nbytes`` bytes."""
        size = (nbytes // _ALIGNMENT + 1) * _ALIGNMENT
        with self._lock:
            address = self._next
            self._next = address + size
        return address


ADDRESSES = _Addresses()
"""Addresses of the process, because tensors of all sessions live beside each other."""


@dataclass(slots=True)
class Offloaded:
    """Released bytes that a program can restore from the copy it keeps in a form of its own.

    Attributes:
        program: the executable that keeps the copy.
        stand_in: CPU tensor of the same shape without bytes, which only that program accepts as an argument.
        restore: returns the bytes as a new CPU tensor.
        host: tensor on the meta device with the size and strides of the released CPU tensor.
    """

    program: object
    stand_in: torch.Tensor
    restore: Callable[[], torch.Tensor]
    host: torch.Tensor


class Buffer:
    """The contents of one ``tt`` storage.

    Attributes:
        chip: number of the chip that has them.
        version: content version, unique in the process. Every write renews it, so equal versions mean equal contents.
        offloaded: how to restore the bytes, while they are released.

    The memory of a buffer stays on the account of the session in which it was made.
    """

    __slots__ = (
        "__weakref__",
        "_alias",
        "_alias_key",
        "_counted_bytes",
        "_host",
        "_kept",
        "_session",
        "_value",
        "_was_restored",
        "chip",
        "offloaded",
        "version",
    )

    def __init__(
        self,
        host: torch.Tensor | None = None,
        value: Value | None = None,
        nbytes: int | None = None,
        chip: int = 0,
        kept: Kept | None = None,
    ) -> None:
        """Makes a buffer of a CPU tensor, of a value, or of a result that stays in the memory of a card.

        Args:
            host: CPU tensor whose memory the buffer takes over.
            value: contents, when there is no ``host``.
            nbytes: size of the memory of ``host`` in bytes, where the caller knows it, or of ``kept``.
            chip: number of the chip, where ``value`` is on no particular one.
            kept: the result, whose elements fill the memory in order.
        """
        self.chip = chip
        self._session = own = session.current
        self._host = host
        self._value = value
        self.version = next(VERSIONS)
        self._alias_key: object = None
        self._alias: torch.Tensor | None = None
        self.offloaded: Offloaded | None = None
        self._kept = kept
        self._was_restored = False
        self._counted_bytes: int | None = None
        own.counters[metrics.TENSORS] += 1
        if host is not None:
            self._counted_bytes = nbytes = host.untyped_storage().nbytes() if nbytes is None else nbytes
            own.memory[chip].count_allocation(nbytes)
        elif kept is not None:
            assert nbytes is not None
            self._count_bytes(nbytes)
        elif value is not None:
            self._join_chips(value)
            if value.node is not None:
                own.pending[id(self)] = weakref.ref(self)

    def _join_chips(self, value: Value) -> None:
        """Gives a value without a chip this buffer's chip; otherwise this buffer takes the value's."""
        if value.chip is None:
            value.chip = self.chip
        else:
            self.chip = value.chip

    def __del__(self, keepers: dict[int, Any] = KEEPERS) -> None:  # tensors outlive the names of this module
        if not hasattr(self, "_counted_bytes"):  # an error or signal ended __init__
            return
        own, nbytes, version = self._session, self._counted_bytes, self.version
        if nbytes is not None:
            own.memory[self.chip].count_free(nbytes)
        own.counters[metrics.ENDED_TENSORS] += 1
        if version in keepers:
            ended(version)

    def _count_bytes(self, nbytes: int) -> None:
        """Puts the bytes on the chip's account, in place of what the buffer had there."""
        if self._counted_bytes is not None:
            self._session.memory[self.chip].count_free(self._counted_bytes)
        self._counted_bytes = nbytes
        self._session.memory[self.chip].count_allocation(nbytes)

    def _release(self) -> None:
        """Releases the bytes."""
        if self._counted_bytes is not None:
            self._session.memory[self.chip].count_free(self._counted_bytes)
        self._counted_bytes = self._host = self.offloaded = self._kept = None

    def offload(self, program: object, stand_in: torch.Tensor, restore: Callable[[], torch.Tensor]) -> None:
        """Releases host bytes that a program can restore.

        The account of the card's memory still counts them. Bytes that had to be restored once are not released again.
        """
        host = self._host
        if host is None or self._was_restored or not host.is_contiguous() or host.numel() != stand_in.numel():
            return
        if host.untyped_storage().nbytes() == host.numel() * host.element_size():
            self.offloaded = Offloaded(program, stand_in, restore, torch.empty_like(host, device="meta"))
            self._host = self._value = self._alias = self._alias_key = None

    def _restore(self) -> torch.Tensor:
        """Restores offloaded bytes and returns the CPU tensor over them."""
        with self._session.restoring:
            offloaded, host = self.offloaded, self._host
            if host is None:
                assert offloaded is not None
                host = self._host = offloaded.restore().view(offloaded.host.shape)
                self._was_restored = True
                self.offloaded = None
            return host

    def keep(self, handle: Kept, nbytes: int) -> None:
        """Replaces the contents of the whole storage by a result that stays in the memory of a card.

        Args:
            handle: the result, whose elements fill the storage in order.
            nbytes: size of the storage in bytes.
        """
        self._release()
        self._count_bytes(nbytes)
        self._host = self._value = self._alias = self._alias_key = None
        self._renew_version()
        self._kept = handle

    @property
    def kept(self) -> Kept | None:
        """The contents as a program left them in the memory of a card; None if they are on the host alone."""
        value = self._value
        return self._kept if value is None or value.kept is None else value.kept

    @property
    def is_read(self) -> bool:
        """Whether recorded ops, or other buffers, may read the present contents, so that nothing may overwrite them."""
        return self._value is not None

    def _fetch(self, handle: Kept) -> torch.Tensor:
        """Brings contents that a card has to the host. The card keeps them too, until somebody writes to the buffer."""
        value = self._value  # reads without a lock: a program that runs may call code that reads tensors
        host = handle.read() if value is None or value.kept is not handle else value.data
        assert host is not None
        if value is not None and value.owner is not None and value.owner() not in (None, self):
            host = host.clone()
        with self._session.restoring:
            if self._host is None:
                self._host = host
            return self._host

    @property
    def pending(self) -> bool:
        """Whether recorded ops that have not run compute the contents."""
        value = self._value
        return self._host is None and value is not None and value.node is not None

    @property
    def is_on_host(self) -> bool:
        """Whether the host has the bytes, so that reading them neither runs recorded ops nor waits for a card."""
        value = self._value
        return self._host is not None or (value is not None and value.host is not None)

    @property
    def handle(self) -> int:
        """Content version of the bytes, which buffers have in common while they share them."""
        value = self._value
        return self.version if value is None or not value.is_computed else value.version

    @property
    def is_placeholder(self) -> bool:
        """Whether nothing has or computes the contents."""
        value = self._value
        return self._host is None and value is not None and not value.is_computed and value.node is None

    @property
    def is_donated(self) -> bool:
        """Whether a program that reads the contents may release them, or has done so."""
        return self._value is not None and self._value.donated

    @property
    def host(self) -> torch.Tensor:
        """CPU tensor over the bytes, in the shape of the tensor that made the buffer. Runs pending ops."""
        while (host := self._host) is None:
            if self.offloaded is not None:
                return self._restore()
            if self.pending:
                synchronize_for(self)
            elif (kept := self.kept) is not None:
                if self._counted_bytes is None:
                    self.claim_bytes()
                return self._fetch(kept)
            elif self.is_placeholder:
                raise RuntimeError(f"The tensor has no bytes. {NO_BYTES}")
            if self._host is None:
                self.claim_bytes()  # another thread may record a write meanwhile, which is pending then
        return host

    @property
    def address(self) -> int | None:
        """Address of the bytes on the host; None while they are released, or not computed yet."""
        host = self._host
        return None if host is None else host.untyped_storage().data_ptr()

    @property
    def value(self) -> Value:
        """The contents as a base that covers the storage. Nobody may write to its bytes in place while it is in use."""
        if self._value is None:
            kept = self._kept
            self._value = Value.of(_base_of(self.host)) if kept is None else Value.of_kept(kept)
            self._value.version = self.version
            self._value.owner = weakref.ref(self)
            self._value.chip = self.chip
        return self._value

    def value_as(self, dtype: torch.dtype) -> Value:
        """Returns the contents with their bytes read as ``dtype``. Runs pending ops."""
        host = self.host.untyped_storage()
        flat = torch.empty(0, dtype=dtype, device="cpu")
        self._value = Value.of(flat.set_(host, 0, [host.nbytes() // dtype.itemsize], [1]))
        self._value.version = self.version
        self._value.owner = weakref.ref(self)
        self._value.chip = self.chip
        return self._value

    def set_value(self, value: Value) -> None:
        """Replaces the contents of the whole storage by a value, of this chip or of no particular one."""
        if value.chip is None:
            value.chip = self.chip
        with self._session.claiming:
            self._release()
            self._value = value
            self._alias_key = self._alias = None
            self._renew_version()
        if value.node is not None:
            session.current.pending[id(self)] = weakref.ref(self)
        elif value.owner is None and value.is_computed:
            self.claim_bytes()  # makes the value's version end together with this buffer's

    def claim_bytes(self) -> None:
        """Takes over the bytes of the current value, or copies them when they belong to another buffer. A value that
        another thread has replaced by a pending one meanwhile is left alone."""
        with self._session.claiming:
            value = self._value
            if value is None or (value.host is None and value.kept is None):
                return
            owner = value.owner() if value.owner is not None else None
            is_own = owner is None or owner is self
            if is_own:
                value.owner = weakref.ref(self)
                value.version = self.version
            if value.kept is not None:
                self._count_bytes(value.kept.nbytes)
                return
            assert value.host is not None
            self._host = value.host if is_own else value.host.clone()
            self._value = value if is_own else None
            self._count_bytes(self._host.untyped_storage().nbytes())

    def mark_written(self) -> None:
        """Records that the bytes were changed in place."""
        self._renew_version()
        self._value = None

    def _renew_version(self) -> None:
        counters = self._session.counters
        counters[metrics.TENSORS] += 1
        counters[metrics.ENDED_TENSORS] += 1
        if self.version in KEEPERS:
            ended(self.version)
        self.version = next(VERSIONS)
        self._kept = None

    def set_host(self, host: torch.Tensor) -> None:
        """Replaces the contents of the whole storage by the bytes of a CPU tensor."""
        self._release()
        self._count_bytes(host.untyped_storage().nbytes())
        self._host, self._value = host, None
        self._alias_key = self._alias = None
        self._renew_version()

    def writable_alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns an alias that may be written through; recorded ops that read the contents keep the present bytes."""
        host = self.host
        if self._value is not None:
            copied_bytes = host.untyped_storage().clone()
            copy = torch.empty(0, dtype=host.dtype, device="cpu")
            self._host = copy.set_(copied_bytes, host.storage_offset(), host.shape, host.stride())
            self._value = None
            self.forget_alias()
        return self.alias(tensor)

    def forget_alias(self) -> None:
        """Drops the cached alias."""
        self._alias_key = self._alias = None

    def kept_for(self, tensor: torch.Tensor) -> Kept | None:
        """Returns the contents in a card's memory, if ``tensor`` is all of them in order; None otherwise."""
        handle = self.kept
        is_whole = (
            handle is not None
            and tensor.dtype is handle.dtype
            and tensor.shape == handle.shape
            and tensor.is_contiguous()
            and not (tensor.is_conj() or tensor.is_neg())
        )
        return handle if is_whole else None

    def alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns a CPU tensor over the elements of ``tensor``, whose storage this is. The last alias is cached."""
        key = (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())
        alias = self._alias
        if alias is None or key != self._alias_key:
            alias = self._alias = _view_of(self.host, *key)
            self._alias_key = key
        if tensor.is_conj():
            alias = alias.conj()
        return alias._neg_view() if tensor.is_neg() else alias

    def present(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns a CPU tensor to read the elements of ``tensor`` from, whose storage this is. Unlike :attr:`host` it
        copies no bytes that belong to another buffer; the host must have them (:attr:`is_on_host`)."""
        value = self._value
        if self._host is not None or value is None or value.host is None or value.dtype is not tensor.dtype:
            return self.alias(tensor)
        start = value.host.storage_offset() + tensor.storage_offset()
        return value.host.as_strided(tensor.shape, tensor.stride(), start)


class CachedArgument(NamedTuple):
    """An argument of a program's last call. It is replaced as a whole, because threads may call at once.

    Attributes:
        tensor: the ``tt`` tensor.
        address: its address.
        buffer: its buffer.
        alias_key: key of the alias that the buffer cached for it.
    """

    tensor: weakref.ref[torch.Tensor]
    address: int
    buffer: weakref.ref[Buffer]
    alias_key: object


def reuse_aliases(cached: Sequence[CachedArgument | None], tensors: list[Any], versions: list[int | None]) -> list[int]:
    """Replaces ``tt`` tensors that the last call received too by their cached aliases, without a look at storages.

    Such a tensor still has the shape and strides that it had: dynamo checks them before each call.

    Args:
        cached: arguments of the last call, by position.
        tensors: arguments of this call; replaced in place by aliases on the CPU.
        versions: content versions; set in place for each replaced argument.

    Returns:
        The positions of all arguments that were not replaced.
    """
    others: list[int] = []
    for position, argument in enumerate(cached):
        if argument is not None:
            tensor_reference, address, buffer_reference, alias_key = argument
            tensor, buffer = tensors[position], buffer_reference()
            if tensor_reference() is tensor and buffer is not None and tensor.data_ptr() == address:
                alias = buffer._alias
                if alias is not None and buffer._alias_key is alias_key:
                    tensors[position], versions[position] = alias, buffer.version
                    continue
        others.append(position)
    return others


def reuse_writable(argument: CachedArgument | None, tensor: torch.Tensor) -> tuple[Buffer, torch.Tensor] | None:
    """Returns the buffer of a ``tt`` tensor that the last call received too, and its cached alias; None where the alias
    may not be written through."""
    if argument is None:
        return None
    tensor_reference, address, buffer_reference, alias_key = argument
    buffer = buffer_reference()
    if buffer is None or tensor_reference() is not tensor or tensor.data_ptr() != address:
        return None
    alias = buffer._alias
    if alias is None or buffer._value is not None or buffer._alias_key is not alias_key:
        return None
    return buffer, alias


def resolve_argument(
    tensor: torch.Tensor, *, writes: bool = False
) -> tuple[Buffer, torch.Tensor, CachedArgument | None]:
    """Returns the buffer of a ``tt`` tensor, its alias on the CPU, and the entry for :func:`reuse_aliases`, or for
    :func:`reuse_writable` where a program writes to it."""
    buffer = buffer_of(tensor)
    alias = buffer.writable_alias(tensor) if writes else buffer.alias(tensor)
    if alias is not buffer._alias:
        return buffer, alias, None
    return buffer, alias, CachedArgument(weakref.ref(tensor), tensor.data_ptr(), weakref.ref(buffer), buffer._alias_key)


_synchronize: Callable[[Buffer], None] | None = None


def synchronize_for(buffer: Buffer) -> None:
    """Runs the recorded ops on which the bytes of ``buffer`` depend."""
    assert _synchronize is not None
    _synchronize(buffer)


def set_synchronize(run: Callable[[Buffer], None]) -> None:
    """Sets the function that :func:`synchronize_for` calls. :mod:`.programs`, a layer above, provides it."""
    global _synchronize
    _synchronize = run


def _base_of(host: torch.Tensor) -> torch.Tensor:
    """Returns the whole memory of ``host`` as a contiguous tensor: in its own shape where that covers it, else flat."""
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
    """Returns the buffer of a ``tt`` tensor.

    Raises:
        NotImplementedError: the tensor has no contents. PyTorch tries kernels on such tensors and expects this error.
    """
    try:
        return tensor.untyped_storage().tt_buffer  # type: ignore[attr-defined]
    except AttributeError:
        raise NotImplementedError("a tensor without contents has no buffer") from None


def is_computed(tensor: torch.Tensor) -> bool:
    """Returns whether the contents of a ``tt`` tensor are there, so that reading them runs no recorded ops."""
    buffer = getattr(tensor.untyped_storage(), "tt_buffer", None)
    return buffer is not None and not (buffer.pending or buffer.is_placeholder)


def pending_buffers() -> list[Buffer]:
    """Returns the buffers that wait for recorded ops."""
    references = list(session.current.pending.values())
    return [buffer for reference in references if (buffer := reference()) is not None and buffer.pending]


def buffer_of_storage(storage: torch.UntypedStorage) -> Buffer:
    """Returns the buffer of a storage of the device."""
    return storage.tt_buffer  # type: ignore[attr-defined]


def host_alias(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a CPU tensor over the memory of a ``tt`` tensor. After a write, call :meth:`Buffer.mark_written`."""
    return buffer_of(tensor).alias(tensor)


def storage_for(buffer: Buffer, nbytes: int) -> torch.UntypedStorage:
    """Returns a new storage on the buffer's chip with these contents."""
    storage = _bytes_layout(nbytes).tensor_at(ADDRESSES.reserve(nbytes), buffer.chip).untyped_storage()
    storage.__class__ = UntypedStorage
    storage.tt_buffer = buffer
    return storage


def storage_of_host(host: torch.Tensor, chip: int = 0) -> torch.UntypedStorage:
    """Returns a new storage of a chip that takes over the memory of a CPU tensor."""
    return storage_for(Buffer(host, chip=chip), host.untyped_storage().nbytes())


@functools.lru_cache(1024)
def _bytes_layout(nbytes: int) -> Layout:
    return Layout(torch.uint8, [nbytes], [1])


@functools.cache
def _empty_layout(dtype: torch.dtype) -> Layout:
    """Returns the layout of tensors without elements; that of integers of the same size for a dtype without a code."""
    unit = dtype if dtype in TYPE_CODES else (torch.uint8, torch.int16, torch.int32)[dtype.itemsize // 2]
    return Layout(unit, [0], [1])


def new_tensor_on(
    storage: torch.UntypedStorage, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], offset: int
) -> torch.Tensor:
    """Returns a tensor over ``storage``. Strides and offset count elements."""
    chip = buffer_of_storage(storage).chip
    tensor = _empty_layout(dtype).tensor_at(ADDRESSES.reserve(0), chip)
    if tensor.dtype != dtype:
        tensor = view_as_dtype(CPU_KEYS, tensor, dtype)
    set_storage(CPU_KEYS, tensor, storage, offset, [*size], [*stride])  # PyTorch converts lists faster than tuples
    return tensor


def lift(host: torch.Tensor, chip: int = 0) -> torch.Tensor:
    """Returns a tensor of a chip that takes over the memory of a CPU tensor without a copy."""
    return new_tensor_on(storage_of_host(host, chip), host.dtype, host.shape, host.stride(), host.storage_offset())


def tensor_of(value: Value, size: Sequence[int], stride: Sequence[int]) -> torch.Tensor:
    """Returns a new tensor, on the chip of ``value``, whose whole storage has the contents ``value``."""
    nbytes = math.prod(value.shape) * value.dtype.itemsize
    return new_tensor_on(storage_for(Buffer(value=value), nbytes), value.dtype, size, stride, 0)
