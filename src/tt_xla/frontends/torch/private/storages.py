"""The class of the device's storages, whose methods read, write, resize or share bytes otherwise than PyTorch's.

PyTorch would use the address of the storage or ask the device's allocator for memory. A device written in Python has no
allocator, and its addresses are made up: nothing is there. Each method that is overridden here acts on the host bytes
of the storage's buffer, or says what to do instead. PyTorch keeps the Python object of a storage, and so its class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any, ClassVar, NamedTuple

import torch

from tt_xla.frontends.torch.private.names import names_of

StorageOfHost = Callable[[torch.Tensor, int], torch.UntypedStorage]
"""Returns a new storage of the chip with a number that takes over the memory of a CPU tensor."""

ChipOf = Callable[[torch.device], int]
"""Returns the number of the chip behind a device, or raises an error if there is none."""

CopyOf = Callable[[torch.UntypedStorage], torch.UntypedStorage]
"""Returns a copy of a storage of the device."""

_NOT_SHARED = (
    "A tensor on {device} cannot be in shared memory: the bytes on a device belong to one process. Share a copy on the "
    "CPU instead, tensor.cpu().share_memory_(), and move it to the device in each process; a queue or a DataLoader "
    "sends a copy of a tensor on {device} by itself."
)
_NO_ADDRESS = "{name} is not available for a storage on {device}, which has no address. Use it on storage.cpu()."

UNCHANGED = frozenset(
    {
        *("_cdata", "_fix_weakref", "_get_filename", "_set_cdata", "data_ptr", "device", "filename", "__dict__"),
        *("_expired", "_free_weak_ref", "_new_with_weak_ptr", "_weak_ref", "_shared_decref", "_shared_incref"),
        *("__len__", "__sizeof__", "element_size", "get_device", "nbytes", "resizable", "size", "untyped"),
        *("is_cuda", "is_hpu", "is_pinned", "is_sparse", "is_sparse_csr", "_checkpoint_offset", "_fake_device"),
        # These call the methods above or below, or make a tensor.
        *("__copy__", "__deepcopy__", "__iter__", "__reduce__", "__repr__", "__setitem__", "byteswap", "copy_"),
        *("fill_", "tolist", "type", "to", "_to", "bfloat16", "bool", "byte", "char", "double", "float", "half"),
        *("complex_double", "complex_float", "int", "long", "short"),
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
        # Class methods, whose storages are on the CPU or on CUDA.
        *("_new_shared", "_new_shared_cuda", "_new_shared_fd_cpu", "_new_shared_filename_cpu", "_new_using_fd_cpu"),
        *("_new_using_filename_cpu", "_new_with_file", "_release_ipc_counter", "_release_ipc_counter_cuda"),
        *("from_buffer", "from_file"),
        # PyTorch refuses storages of other devices here.
        *("_resize_with_addr_", "_share_cuda_", "cuda", "hpu", "mps", "pin_memory"),
    }
)
"""Members of storages that never use an address of the device. Any other that a new version of PyTorch has may."""

REPLACED = (
    (torch.UntypedStorage, "__new__"),
    (torch.TypedStorage, "_new_wrapped_storage"),
    (torch, "is_storage"),
)
"""Owner and name of each attribute that :func:`apply` replaces."""

with names_of("storages"):
    _typed_storage_of = torch.TypedStorage._new_wrapped_storage
    _swap_addresses = torch.UntypedStorage._swap_data_ptr_


class _Device(NamedTuple):
    """Functions that make and copy storages of the device and find its chip.

    Attributes:
        type: its name, ``tt``.
        storage_of_host: makes storages.
        copy_of: copies a storage.
        chip_of: finds the chip behind a device.
        received: makes a storage in another process, which finds this function by its name.
    """

    type: str
    storage_of_host: StorageOfHost
    copy_of: CopyOf
    chip_of: ChipOf
    received: StorageOfHost


def _refusing(name: str, reason: str) -> Callable[..., Any]:
    """Returns a method that raises an error. Errors are better than what PyTorch would do at an address."""

    def refuse(storage: torch.UntypedStorage, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(reason.format(name=name, device=storage.device))

    return refuse


class UntypedStorage(torch.UntypedStorage):
    """A storage of the device. It has the name of PyTorch's class, which files and texts show.

    Attributes:
        tt_buffer: its contents.
        functions: makes and copies storages; set by :func:`apply`.
    """

    __module__ = torch.UntypedStorage.__module__
    tt_buffer: Any
    functions: ClassVar[_Device]

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Returns a storage of the device that the options name: code of PyTorch calls the class of another storage."""
        return torch.UntypedStorage(*args, **options)

    @property
    def bytes(self) -> torch.Tensor:
        """The bytes as a uint8 CPU tensor over the same memory."""
        host = self.tt_buffer.host.untyped_storage()
        return torch.empty(0, dtype=torch.uint8, device="cpu").set_(host, 0, [self.nbytes()], [1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise NotImplementedError(_NO_ADDRESS.format(name="a slice", device=self.device))
        return super().__getitem__(index)

    def _byteswap(self, element_size: int) -> None:
        host = self.bytes.clone()
        host.untyped_storage()._byteswap(element_size)
        self.tt_buffer.set_host(host)

    def _set_from_file(self, *args: Any) -> UntypedStorage:
        host = self.bytes.clone()
        host.untyped_storage()._set_from_file(*args)
        self.tt_buffer.set_host(host)
        return self

    def _write_file(self, *args: Any) -> None:
        self.bytes.untyped_storage()._write_file(*args)

    def clone(self) -> torch.UntypedStorage:
        """Returns a copy on the same chip, with the same placement."""
        return self.functions.copy_of(self)

    def cpu(self) -> torch.UntypedStorage:
        """Returns a copy on the CPU."""
        return self.bytes.clone().untyped_storage()

    def is_shared(self) -> bool:
        """Whether the bytes are in shared memory: they are not."""
        return False

    def new(self) -> torch.UntypedStorage:
        """Returns an empty storage on the same chip."""
        return self._of_host(torch.empty(0, dtype=torch.uint8, device="cpu"))

    def resize_(self, size: int) -> None:
        """Resizes the storage, which keeps as many of its bytes as fit; new ones are zero.

        PyTorch keeps a size with each address, and swaps both between two storages if one of them is empty.
        """
        if size == self.nbytes():
            return
        host = torch.zeros(size, dtype=torch.uint8, device="cpu")
        kept = self.bytes[:size]
        host[: len(kept)] = kept
        for part in (host[:0], host):
            if part.numel() or self.nbytes():
                _swap_addresses(self, self._of_host(part.clone()))
        self.tt_buffer.set_host(host)

    def _of_host(self, host: torch.Tensor) -> torch.UntypedStorage:
        return self.functions.storage_of_host(host, self.tt_buffer.chip)

    share_memory_ = _refusing("share_memory_", _NOT_SHARED)
    _share_fd_cpu_ = _refusing("_share_fd_cpu_", _NOT_SHARED)
    _share_filename_cpu_ = _refusing("_share_filename_cpu_", _NOT_SHARED)
    _get_shared_fd = _refusing("_get_shared_fd", _NOT_SHARED)
    __delitem__ = _refusing("__delitem__", _NO_ADDRESS)
    _swap_data_ptr_ = _refusing("_swap_data_ptr_", _NO_ADDRESS)


def apply(
    device_type: str, storage_of_host: StorageOfHost, copy_of: CopyOf, chip_of: ChipOf, received: StorageOfHost
) -> None:
    """Registers how storages of the device are made, saved, loaded and sent to other processes.

    Args:
        device_type: name of the device, ``tt``.
        storage_of_host: makes storages of the device.
        copy_of: copies a storage of the device.
        chip_of: finds the chip behind a device.
        received: makes a storage in another process, which finds this function by its name.
    """
    UntypedStorage.functions = device = _Device(device_type, storage_of_host, copy_of, chip_of, received)
    _replace_new(device)
    _replace_comparisons()
    _register_serialization(device)
    ForkingPickler.register(UntypedStorage, _reduced)


def _replace_new(device: _Device) -> None:
    """Makes ``torch.UntypedStorage(size, device="tt")`` work."""
    new = torch.UntypedStorage.__new__

    def storage_new(cls: type, *args: Any, **options: Any) -> torch.UntypedStorage:
        requested = options.get("device")
        target = None if requested is None else torch.device(requested)
        if target is None or target.type != device.type:
            return new(cls, *args, **options)
        host = torch.empty(0, dtype=torch.uint8, device="cpu").set_(new(cls, *args))
        return device.storage_of_host(host, device.chip_of(target))

    torch.UntypedStorage.__new__ = storage_new


def _replace_comparisons() -> None:
    """Lets storages of the device be saved and copied deep, where PyTorch compares a storage's class with its own."""
    is_storage = torch.is_storage

    def is_any_storage(obj: Any, /) -> bool:
        return isinstance(obj, UntypedStorage) or is_storage(obj)

    def typed_storage(self: torch.TypedStorage, storage: torch.UntypedStorage) -> torch.TypedStorage:
        if not isinstance(storage, UntypedStorage):
            return _typed_storage_of(self, storage)
        return torch.TypedStorage(wrap_storage=storage, dtype=self.dtype, _internal=True)

    torch.is_storage = functools.wraps(is_storage)(is_any_storage)  # type: ignore[assignment]
    torch.TypedStorage._new_wrapped_storage = typed_storage


def _reduced(storage: UntypedStorage) -> tuple[Any, ...]:
    """Describes a storage for another process, which gets a copy of its own in shared memory of the host."""
    return storage.functions.received, (storage.bytes.clone(), storage.tt_buffer.chip)


def _register_serialization(device: _Device) -> None:
    """Tells ``torch.save`` and ``torch.load`` how storages of the device are named and restored."""

    def tag(storage: torch.UntypedStorage) -> str | None:
        return str(storage.device) if storage.device.type == device.type else None

    def restore(storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
        if location.partition(":")[0] != device.type:
            return None
        host = torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage.cpu(), 0, [storage.nbytes()], [1])
        try:
            chip = device.chip_of(torch.device(location))
        except RuntimeError as error:
            raise RuntimeError(
                f"A tensor that was saved on {location} cannot be loaded there. {error} To load it elsewhere, pass "
                f"map_location='{device.type}:0' or map_location='cpu' to torch.load."
            ) from error
        return device.storage_of_host(host, chip)

    torch.serialization.register_package(15, tag, restore)


__all__ = ["UNCHANGED", "ChipOf", "CopyOf", "StorageOfHost", "UntypedStorage", "apply"]
