"""New tensors of the device of one type, size and strides, made quickly: the results of compiled programs.

Of the ways to a tensor of a device of one's own, torch's reader of DLPack is the one that calls no op: it takes up an
address, sizes and strides at once (ATen/DLConvertor.cpp, where the device type of extensions is ``PrivateUse1``).
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence

import torch

from tt_xla.frontends.torch.device.buffers import ADDRESSES, Buffer, storage_for, tensor_on

_EXTENSION = 12
"""``kDLExtDev`` of DLPack."""
_CAPSULE = b"dltensor"
_CODES: dict[torch.dtype, int] = {
    **dict.fromkeys((torch.int8, torch.int16, torch.int32, torch.int64), 0),
    torch.uint8: 1,
    **dict.fromkeys((torch.float16, torch.float32, torch.float64), 2),
    torch.bfloat16: 4,
    **dict.fromkeys((torch.complex64, torch.complex128), 5),
    torch.bool: 6,
}
"""``DLDataTypeCode``; types that are missing here take torch's longer way."""

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_from_capsule = torch._C._from_dlpack
_memmove = ctypes.memmove


class _Tensor(ctypes.Structure):
    """``DLManagedTensor``."""

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


def _never_freed() -> _Tensor:
    """Memory of the C library: torch looks there for a deleter when a tensor ends, be it after this module has."""
    allocate = ctypes.pythonapi.PyMem_RawCalloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    return _Tensor.from_address(allocate(1, ctypes.sizeof(_Tensor)))


_DESCRIBED = _never_freed()
"""The tensor that is being made."""
_AT, _SIZE = ctypes.addressof(_DESCRIBED), ctypes.sizeof(_Tensor)
_LOCK = threading.Lock()


class Mold:
    """Makes tensors of the device of one type, size and strides, of which the elements lie side by side."""

    def __init__(self, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int]) -> None:
        self._dtype, self._size, self._stride = dtype, [int(n) for n in size], [int(n) for n in stride]
        self._nbytes = math.prod(self._size) * dtype.itemsize
        self._description = b""
        if dtype in _CODES and self._nbytes:
            self._numbers = [(ctypes.c_int64 * len(self._size))(*given) for given in (self._size, self._stride)]
            self._description = bytes(
                _Tensor(
                    device_type=_EXTENSION,
                    ndim=len(self._size),
                    code=_CODES[dtype],
                    bits=8 * dtype.itemsize,
                    lanes=1,
                    shape=ctypes.addressof(self._numbers[0]),
                    strides=ctypes.addressof(self._numbers[1]),
                )
            )

    def lift(self, host: torch.Tensor) -> torch.Tensor:
        """A ``tt`` tensor that takes over the memory of a CPU tensor that owns its memory, whose own size and strides
        do not count."""
        buffer = Buffer(host, nbytes=self._nbytes)
        if not self._description:
            return tensor_on(storage_for(buffer, self._nbytes), self._dtype, self._size, self._stride, 0)
        with _LOCK:
            _memmove(_AT, self._description, _SIZE)
            _DESCRIBED.data = ADDRESSES.take(self._nbytes)
            tensor = _from_capsule(_new_capsule(_AT, _CAPSULE, None))
        tensor.untyped_storage().tt_buffer = buffer
        return tensor
