"""Methods of PyTorch's storages that read, write, resize or share bytes, for storages of the device.

PyTorch would use the address of the storage or ask the device's allocator for memory. A device written in Python has no
allocator, and its addresses are made up: nothing is there. Each method that is replaced here acts on the host bytes of
the storage's buffer, or says what to do instead; storages of other devices are passed on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import reduce_storage

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

REFUSED = {
    "share_memory_": _NOT_SHARED,
    "_share_fd_cpu_": _NOT_SHARED,
    "_share_filename_cpu_": _NOT_SHARED,
    "_get_shared_fd": _NOT_SHARED,
    "__delitem__": _NO_ADDRESS,
    "_swap_data_ptr_": _NO_ADDRESS,
}
"""Methods that storages of the device do not have, and why."""

OWN = ("__getitem__", "_byteswap", "_set_from_file", "_write_file", "clone", "cpu", "is_shared", "new", "resize_")
"""Methods that act on host bytes for storages of the device."""

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

REPLACED = tuple((torch.UntypedStorage, name) for name in ("__new__", *OWN, *REFUSED))
"""Owner and name of each attribute that :func:`apply` replaces."""

with names_of("storages"):
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


def apply(
    device_type: str, storage_of_host: StorageOfHost, copy_of: CopyOf, chip_of: ChipOf, received: StorageOfHost
) -> None:
    """Replaces the methods, and registers how storages are saved, loaded and sent to other processes.

    Args:
        device_type: name of the device, ``tt``.
        storage_of_host: makes storages of the device.
        copy_of: copies a storage of the device.
        chip_of: finds the chip behind a device.
        received: makes a storage in another process, which finds this function by its name.
    """
    device = _Device(device_type, storage_of_host, copy_of, chip_of, received)
    _replace_new(device)
    methods = _methods(device)
    for _, name in REPLACED[1:]:
        _replace(device_type, name, methods[name])
    _register_serialization(device)
    ForkingPickler.register(torch.UntypedStorage, functools.partial(_reduced, device))


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


def _replace(device_type: str, name: str, method: Callable[..., Any]) -> None:
    """Makes storages of the device use another method."""
    original = getattr(torch.UntypedStorage, name)

    @functools.wraps(original)
    def of_any_device(self: torch.UntypedStorage, *args: Any, **kwargs: Any) -> Any:
        return (method if self.device.type == device_type else original)(self, *args, **kwargs)

    setattr(torch.UntypedStorage, name, of_any_device)


def _methods(device: _Device) -> dict[str, Callable[..., Any]]:
    """Returns the methods of storages of the device by name."""
    item = torch.UntypedStorage.__getitem__

    def get_item(storage: torch.UntypedStorage, index: Any) -> Any:
        if isinstance(index, slice):
            raise NotImplementedError(_NO_ADDRESS.format(name="a slice", device=storage.device))
        return item(storage, index)

    def new(storage: torch.UntypedStorage) -> torch.UntypedStorage:
        return device.storage_of_host(torch.empty(0, dtype=torch.uint8, device="cpu"), storage.tt_buffer.chip)

    def resize(storage: torch.UntypedStorage, size: int) -> None:
        return _resize(device, storage, size)

    own = (
        get_item,
        _byteswap,
        _set_from_file,
        lambda storage, *args: _bytes_of(storage).untyped_storage()._write_file(*args),
        device.copy_of,
        lambda storage: _bytes_of(storage).clone().untyped_storage(),
        lambda storage: False,
        new,
        resize,
    )
    return dict(zip(OWN, own, strict=True)) | {name: _refusing(name, why) for name, why in REFUSED.items()}


def _refusing(name: str, reason: str) -> Callable[..., Any]:
    def refuse(storage: torch.UntypedStorage, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(reason.format(name=name, device=storage.device))

    return refuse


def _bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    """Returns the bytes of a storage of the device as a uint8 CPU tensor over the same memory."""
    host = storage.tt_buffer.host.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device="cpu").set_(host, 0, [storage.nbytes()], [1])


def _byteswap(storage: torch.UntypedStorage, element_size: int) -> None:
    host = _bytes_of(storage).clone()
    host.untyped_storage()._byteswap(element_size)
    storage.tt_buffer.set_host(host)


def _set_from_file(storage: torch.UntypedStorage, *args: Any) -> torch.UntypedStorage:
    host = _bytes_of(storage).clone()
    host.untyped_storage()._set_from_file(*args)
    storage.tt_buffer.set_host(host)
    return storage


def _resize(device: _Device, storage: torch.UntypedStorage, size: int) -> None:
    """Resizes a storage, which keeps as many of its bytes as fit; new ones are zero.

    PyTorch keeps a size with each address, and swaps both between two storages if one of them is empty.
    """
    if size == storage.nbytes():
        return
    buffer = storage.tt_buffer
    host = torch.zeros(size, dtype=torch.uint8, device="cpu")
    kept = _bytes_of(storage)[:size]
    host[: len(kept)] = kept
    for part in (host[:0], host):
        if part.numel() or storage.nbytes():
            _swap_addresses(storage, device.storage_of_host(part.clone(), buffer.chip))
    buffer.set_host(host)


def _reduced(device: _Device, storage: torch.UntypedStorage) -> tuple[Any, ...]:
    """Describes a storage for another process, which gets a copy of its own in shared memory of the host."""
    if storage.device.type != device.type:
        return reduce_storage(storage)
    return device.received, (_bytes_of(storage).clone(), storage.tt_buffer.chip)


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


__all__ = ["OWN", "REFUSED", "UNCHANGED", "ChipOf", "CopyOf", "StorageOfHost", "apply"]
