"""Makes new tensors of the device quickly, for the results of compiled programs and of recorded ops.

PyTorch's DLPack reader is the one way to a tensor of a device written in Python that calls no op: it takes an address,
sizes and strides at once (ATen/DLConvertor.cpp, where the device type of extensions is ``PrivateUse1``).
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence

import torch

from tt_xla.frontends.torch.device.buffers import ADDRESSES, Buffer, storage_for
from tt_xla.frontends.torch.private.dispatcher import new_tensor_on, tensor_from_dlpack

_EXTENSION_DEVICE = 12
"""``kDLExtDev`` of DLPack."""
_CAPSULE_NAME = b"dltensor"
_TYPE_CODES: dict[torch.dtype, int] = {
    **dict.fromkeys((torch.int8, torch.int16, torch.int32, torch.int64), 0),
    torch.uint8: 1,
    **dict.fromkeys((torch.float16, torch.float32, torch.float64), 2),
    torch.bfloat16: 4,
    **dict.fromkeys((torch.complex64, torch.complex128), 5),
    torch.bool: 6,
}
"""``DLDataTypeCode`` by dtype. Tensors of other dtypes are made by an op, which takes longer."""

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
_LOCK = threading.Lock()


class TensorFactory:
    """Makes tensors of the device of one dtype, size and strides, whose elements fill their memory without gaps."""

    def __init__(self, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int]) -> None:
        self._dtype, self._size, self._stride = dtype, [int(n) for n in size], [int(n) for n in stride]
        self._nbytes = math.prod(self._size) * dtype.itemsize
        self._template = b""
        if dtype in _TYPE_CODES and self._nbytes:
            rank = len(self._size)
            self._c_arrays = [(ctypes.c_int64 * rank)(*numbers) for numbers in (self._size, self._stride)]
            self._template = bytes(
                _ManagedTensor(
                    device_type=_EXTENSION_DEVICE,
                    ndim=rank,
                    code=_TYPE_CODES[dtype],
                    bits=8 * dtype.itemsize,
                    lanes=1,
                    shape=ctypes.addressof(self._c_arrays[0]),
                    strides=ctypes.addressof(self._c_arrays[1]),
                )
            )

    def lift(self, host: torch.Tensor) -> torch.Tensor:
        """Returns a ``tt`` tensor that takes over the memory of a CPU tensor.

        Args:
            host: CPU tensor that owns its whole memory. Its own size and strides are ignored.
        """
        return self.make(Buffer(host, nbytes=self._nbytes))

    def make(self, buffer: Buffer) -> torch.Tensor:
        """Returns a ``tt`` tensor whose whole memory has the contents of a buffer."""
        if not self._template:
            return new_tensor_on(storage_for(buffer, self._nbytes), self._dtype, self._size, self._stride, 0)
        with _LOCK:
            _DESCRIPTOR_BYTES[:] = self._template
            _DESCRIPTOR.data = ADDRESSES.reserve(self._nbytes)
            tensor = tensor_from_dlpack(_new_capsule(_DESCRIPTOR_ADDRESS, _CAPSULE_NAME, None))
        tensor.untyped_storage().tt_buffer = buffer
        return tensor
