"""Makes tensors of the device without calling an op, through PyTorch's reader of DLPack.

It is the one way to a tensor of a device written in Python that calls no op, and to one on another device than the
first: it takes a device, an address, sizes and strides at once (ATen/DLConvertor.cpp, where the device type of
extensions is ``PrivateUse1``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch

from tt_xla.locks import Lock

_EXTENSION_DEVICE = 12
"""``kDLExtDev`` of DLPack."""
_CAPSULE_NAME = b"dltensor"
TYPE_CODES: dict[torch.dtype, int] = {
    **dict.fromkeys((torch.int8, torch.int16, torch.int32, torch.int64), 0),
    **dict.fromkeys((torch.uint8, torch.uint16, torch.uint32, torch.uint64), 1),
    **dict.fromkeys((torch.float16, torch.float32, torch.float64), 2),
    torch.bfloat16: 4,
    **dict.fromkeys((torch.complex32, torch.complex64, torch.complex128), 5),
    torch.bool: 6,
    torch.float8_e4m3fn: 10,
    torch.float8_e4m3fnuz: 11,
    torch.float8_e5m2: 12,
    torch.float8_e5m2fnuz: 13,
    torch.float8_e8m0fnu: 14,
}
"""``DLDataTypeCode`` by dtype."""

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _ManagedTensor(ctypes.Structure):
    """``DLManagedTensor`` of DLPack."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


def _allocate_descriptor() -> _ManagedTensor:
    """Allocates a descriptor that is never freed: PyTorch reads its deleter when a tensor dies, maybe at shutdown."""
    allocate = ctypes.pythonapi.PyMem_RawCalloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    return _ManagedTensor.from_address(allocate(1, ctypes.sizeof(_ManagedTensor)))


_DESCRIPTOR = _allocate_descriptor()
"""Descriptor of the tensor that is being made; guarded by ``_LOCK``."""
_DESCRIPTOR_ADDRESS, _DESCRIPTOR_BYTES = ctypes.addressof(_DESCRIPTOR), memoryview(_DESCRIPTOR).cast("B")
_LOCK = Lock()


class Layout:
    """Dtype, sizes and strides of tensors to make."""

    def __init__(self, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int]) -> None:
        rank = len(size)
        self._c_arrays = [(ctypes.c_int64 * rank)(*numbers) for numbers in (size, stride)]
        self._template = bytes(
            _ManagedTensor(
                device_type=_EXTENSION_DEVICE,
                ndim=rank,
                code=TYPE_CODES[dtype],
                bits=8 * dtype.itemsize,
                lanes=1,
                shape=ctypes.addressof(self._c_arrays[0]),
                strides=ctypes.addressof(self._c_arrays[1]),
            )
        )

    def tensor_at(self, address: int, chip: int) -> torch.Tensor:
        """Returns a new tensor of a chip at an address, which PyTorch neither reads nor frees."""
        with _LOCK:
            _DESCRIPTOR_BYTES[:] = self._template
            _DESCRIPTOR.data = address
            if chip:
                _DESCRIPTOR.device_id = chip
            return torch.from_dlpack(_new_capsule(_DESCRIPTOR_ADDRESS, _CAPSULE_NAME, None))
