"""Buffers: the arrays of the device.

Elements stand in host memory of the emulated card. They change only when a program writes a result to a buffer that was
donated to it.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_xla.frontends.jax import session
from tt_xla.frontends.jax.pjrt.answers import Answers, Packed
from tt_xla.frontends.jax.pjrt.errors import PluginError
from tt_xla.frontends.jax.pjrt.structs import BUFFER_TYPES, integers_at, struct
from tt_xla.frontends.jax.pjrt.table import slot, trampoline
from tt_xla.ir.element_types import ElementType
from tt_xla.locks import Lock
from tt_xla.runtime.lifetimes import ended, new_version

if TYPE_CHECKING:
    import torch

    from tt_xla.runtime.ttnn.handles import Handle

_ELEMENTS_BY_CODE = {BUFFER_TYPES[element.pjrt]: element for element in ElementType}
PJRT_CODES: dict[str, int] = {element.value: code for code, element in _ELEMENTS_BY_CODE.items()}
"""Values of ``PJRT_Buffer_Type`` by the element type's name in MLIR."""

Order = tuple[int, ...]
"""A layout: the dimensions from the one that varies fastest to the one that varies slowest."""

_RAW_DTYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
"""NumPy dtypes that copy elements bit by bit, by the bytes of an element."""


class Buffer:
    """One array, whose elements are on the host, or in the memory of a card until somebody reads them.

    Attributes:
        kept: the elements in the memory of a card; None if they are on the host alone.
        nbytes: size of the elements in bytes.
        layout: the layout that JAX sees.
        code: element type, a value of ``PJRT_Buffer_Type``.
        memory: handle of the memory that the buffer is in.
        version: a number that no other buffer of the process has.
        holders: number of buffers with the same :attr:`elements`: of chips that have the same shard of a result.
    """

    __slots__ = ("_stored", "_tensor", "code", "holders", "kept", "layout", "memory", "nbytes", "version")

    def __init__(
        self,
        tensor: torch.Tensor | None,
        kept: Handle | None,
        nbytes: int,
        layout: Order,
        code: int,
        memory: int,
        holders: int = 1,
    ) -> None:
        self.version = new_version()
        self._tensor = tensor
        self._stored: torch.Tensor | None = None
        self.kept = kept
        self.nbytes = nbytes
        self.layout = layout
        self.code = code
        self.memory = memory
        self.holders = holders

    def __del__(self) -> None:
        ended(self.version)

    @property
    def elements(self) -> torch.Tensor | Handle | None:
        """The elements where they are: in the memory of a card, or on the host."""
        return self._tensor if self.kept is None else self.kept

    @property
    def tensor(self) -> torch.Tensor:
        """The elements on the host, contiguous."""
        if self._tensor is None:
            assert self.kept is not None
            tensor = self.kept.read()  # without a lock: a program that runs may call code that reads arrays
            with session.current.reading:
                if self._tensor is None:
                    self._tensor = tensor
        return self._tensor

    @property
    def stored(self) -> torch.Tensor:
        """The elements on the host in the layout that JAX sees; :attr:`tensor` itself if that is row-major."""
        if self._stored is None:
            self._stored = self.tensor if self.layout in _ROW_MAJOR else in_layout(self.tensor, self.layout)
        return self._stored


class Place:
    """Creates buffers in one memory, with the answers to jaxlib's queries about them.

    Attributes:
        answers: returns the answers of a buffer for an element type, a shape and a layout; the last 4096 are cached.
        account: the bytes of the buffers.
    """

    def __init__(self, memory: int) -> None:
        from tt_xla.runtime import get_device
        from tt_xla.runtime.ttnn.handles import Handle

        self.memory = memory
        self._handle = Handle
        self.account = Account(memory)
        self._device = trampoline().object_of(memory).device
        device = trampoline().object_of(self._device)
        self._chip = get_device(device.target.name, device.number)
        self._is_device_memory = memory == device.memories[0]
        if self._is_device_memory:
            self._chip.count_tensors("jax", self.account.held, self.account.at_most)
        self._new_cell = trampoline().new_cell
        self.answers = functools.lru_cache(maxsize=4096)(self._answers)

    def _answers(self, code: int, dims: tuple[int, ...], layout: Order) -> Packed:
        answers = Answers()
        shape = answers.integers(dims)
        itemsize = _element(code).itemsize
        answers.set("PJRT_Buffer_ElementType", type=code)
        answers.set("PJRT_Buffer_Dimensions", dims=shape, num_dims=len(dims))
        answers.set("PJRT_Buffer_UnpaddedDimensions", unpadded_dims=shape, num_dims=len(dims))
        answers.set("PJRT_Buffer_DynamicDimensionIndices", dynamic_dim_indices=shape, num_dynamic_dims=0)
        answers.set("PJRT_Buffer_GetMemoryLayout", layout=_memory_layout(answers, layout))
        answers.set("PJRT_Layouts_PJRT_Buffer_MemoryLayout", layout=layout_handle(layout))
        answers.set("PJRT_Buffer_OnDeviceSizeInBytes", on_device_size_in_bytes=itemsize * math.prod(dims))
        answers.set("PJRT_Buffer_Device", device=self._device)
        answers.set("PJRT_Buffer_Memory", memory=self.memory)
        answers.set("PJRT_Buffer_IsOnCpu", is_on_cpu=True)  # np.asarray then copies no row-major array
        return answers.pack()

    def check(self, nbytes: int) -> None:
        """Checks that the memory has room for a new array.

        Raises:
            ResourceExhaustedError: it has not.
        """
        if self._is_device_memory:
            self._chip.check_tensor(nbytes)

    def new_handle(
        self, elements: torch.Tensor | Handle, code: int, layout: Order, answers: Packed, holders: int = 1
    ) -> int:
        """Returns the handle of a new buffer, whose elements ``holders`` buffers share.

        Args:
            elements: the elements, contiguous, on the host or in the memory of a card.
            code: element type, a value of ``PJRT_Buffer_Type``.
            layout: the layout that JAX sees.
            answers: those of :attr:`answers` for the same type, shape and layout.
            holders: number of buffers with the same tensor.
        """
        nbytes = elements.nbytes
        self.account.add(nbytes)
        if isinstance(elements, self._handle):
            buffer, address = Buffer(None, elements, nbytes, layout, code, self.memory, holders), 0
        else:
            buffer = Buffer(elements, None, nbytes, layout, code, self.memory, holders)
            address = address_of(buffer)
        handle: int = self._new_cell(buffer, answers, address)
        return handle


def address_of(buffer: Buffer) -> int:
    """Returns the address of a buffer's elements on the host, which come there if they are in the memory of a card."""
    address: int = buffer.stored.data_ptr() or trampoline().EVENT  # an address that stands for an empty tensor's data
    return address


@slot("PJRT_Buffer_ReadyEvent")
def wait(args: Any) -> None:
    """Waits until a card has computed a buffer; the C part knows that others have been computed."""
    kept = trampoline().object_of(args.buffer).kept
    if kept is not None:
        kept.wait()


@slot("PJRT_Buffer_UnsafePointer")
def unsafe_pointer(args: Any) -> None:
    """Returns the address of elements that are in the memory of a card; the C part knows that of others."""
    args.buffer_pointer = address_of(trampoline().object_of(args.buffer))


@slot("PJRT_Buffer_OpaqueDeviceMemoryDataPointer")
def data_pointer(args: Any) -> None:
    """Returns the address of elements that are in the memory of a card; the C part knows that of others."""
    args.device_memory_ptr = address_of(trampoline().object_of(args.buffer))


@functools.cache
def place(memory: int) -> Place:
    """Returns the place for the handle of a memory; there is one per memory."""
    return Place(memory)


def row_major(rank: int) -> Order:
    """Returns the layout in which the last dimension varies fastest."""
    return tuple(range(rank - 1, -1, -1))


_ROW_MAJOR = {row_major(rank) for rank in range(32)}


def in_layout(tensor: torch.Tensor, layout: Order) -> torch.Tensor:
    """Returns a tensor with the same elements that is dense in a layout."""
    slowest_first = layout[::-1]
    return tensor.permute(slowest_first).contiguous().permute([slowest_first.index(dim) for dim in range(tensor.ndim)])


@functools.cache
def layout_handle(layout: Order) -> int:
    """Returns the handle of a layout, which lives as long as the process."""
    library = trampoline()
    answers = Answers()
    answers.set(
        "PJRT_Layouts_MemoryLayout_Serialize",
        serialized_bytes=f"{{{','.join(map(str, layout))}}}",
        serialized_layout=library.EVENT,
        serialized_layout_deleter=library.NOTHING,
    )
    handle: int = library.new_cell(None, answers.pack(), 0)
    return handle


@slot("PJRT_Layouts_PJRT_Client_GetDefaultLayout")
def default_layout(args: Any) -> None:
    """Returns the layout of arrays for which JAX asks for none."""
    args.layout = layout_handle(row_major(args.num_dims))


@slot("PJRT_Layouts_PJRT_Topology_GetDefaultLayout")
def default_layout_of_topology(args: Any) -> None:
    """Returns the layout of arrays for which JAX asks for none."""
    args.layout = layout_handle(row_major(args.num_dims))


class Account:
    """The bytes of all arrays in one memory.

    New arrays are added up, but those that end are not taken off, because that would slow every call. They are left out
    when somebody counts.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._lock = Lock()
        self._counted = self._new = 0
        """Bytes of the arrays when they were counted, and of those that were created since."""

    def add(self, nbytes: int) -> None:
        """Adds a new array."""
        with self._lock:
            self._new += nbytes

    def at_most(self) -> int:
        """Returns a number of bytes that the arrays do not exceed."""
        return self._counted + self._new

    def held(self) -> int:
        """Returns the bytes of the arrays."""
        with self._lock:
            new = self._new
        buffers = trampoline().objects(Buffer)
        counted = sum(buffer.nbytes for buffer in buffers if buffer.memory == self._memory)
        with self._lock:
            self._counted = counted
            self._new = max(0, self._new - new)  # arrays that another thread created meanwhile may count twice
        return counted


def _memory_layout(answers: Answers, order: Order) -> Any:
    """Returns a ``PJRT_Buffer_MemoryLayout`` without tiles."""
    layout = struct("PJRT_Buffer_MemoryLayout")()
    layout.struct_size = ctypes.sizeof(layout)
    layout.value.struct_size = ctypes.sizeof(layout.value)
    layout.value.minor_to_major = answers.integers(order)
    layout.value.minor_to_major_size = len(order)
    return layout


@functools.cache
def _element(code: int) -> torch.dtype:
    """Returns the torch dtype that holds one element each of a PJRT element type.

    Raises:
        PluginError: the platform has no arrays of that type.
    """
    import torch

    element = _ELEMENTS_BY_CODE.get(code)
    if element is None:
        name = next((name for name, number in BUFFER_TYPES.items() if number == code), str(code))
        supported = ", ".join(element.pjrt for element in ElementType)
        raise PluginError("UNIMPLEMENTED", f"'tt' has no arrays of element type {name}; it has arrays of {supported}.")
    dtype: torch.dtype = getattr(torch, element.torch)
    return dtype


def _strided(address: int, itemsize: int, dims: Sequence[int], strides: Sequence[int]) -> np.ndarray[Any, Any]:
    """Returns an array over memory that Python does not own.

    Args:
        address: address of the first element.
        itemsize: bytes of an element.
        dims: shape.
        strides: bytes between neighbours along each dimension; may be negative.
    """
    low = sum(min(0, (n - 1) * stride) for n, stride in zip(dims, strides, strict=True))
    high = sum(max(0, (n - 1) * stride) for n, stride in zip(dims, strides, strict=True)) + itemsize
    memory = trampoline().view(address + low, high - low)
    return np.ndarray(dims, _RAW_DTYPES[itemsize], memory, -low, strides)


def _dense(itemsize: int, dims: Sequence[int], order: Sequence[int] | None = None) -> list[int]:
    """Returns the byte strides of a dense array.

    Args:
        itemsize: bytes of an element.
        dims: shape.
        order: dimensions from the fastest-varying to the slowest; None for row-major.
    """
    strides = [0] * len(dims)
    step = itemsize
    for dim in range(len(dims) - 1, -1, -1) if order is None else order:
        strides[dim] = step
        step *= max(1, dims[dim])
    return strides


@slot("PJRT_Client_BufferFromHostBuffer")
def from_host(args: Any) -> None:
    """Copies a host array to a new buffer.

    The copy is made whichever semantics jaxlib asks for: the buffer must not change when the user's array does.
    """
    import torch

    library = trampoline()
    dims = integers_at(args.dims, args.num_dims)
    dtype = _element(args.type)
    device = args.device or library.object_of(args.client).devices[0].handle
    where = place(args.memory or library.object_of(device).memories[0])
    layout = _asked_layout(args.device_layout, dims)
    nbytes = math.prod(dims) * dtype.itemsize
    where.check(nbytes)
    tensor = torch.empty(dims, dtype=dtype)
    dense = _dense(dtype.itemsize, dims)
    strides = [*integers_at(args.byte_strides, args.num_byte_strides)] or dense
    if strides == dense:
        ctypes.memmove(tensor.data_ptr(), args.data, nbytes)
    elif nbytes:
        source = _strided(args.data, dtype.itemsize, dims, strides)
        np.copyto(_strided(tensor.data_ptr(), dtype.itemsize, dims, dense), source)
    handle = where.new_handle(tensor, args.type, layout, where.answers(args.type, tuple(dims), layout))
    args.done_with_host_buffer = library.EVENT
    args.buffer = handle


@slot("PJRT_Buffer_ToHostBuffer")
def to_host(args: Any) -> None:
    """Copies a buffer to host memory in the layout that is asked for; without a destination, sets the size only."""
    buffer: Buffer = trampoline().object_of(args.src)
    tensor = buffer.tensor
    size = tensor.numel() * tensor.element_size()
    if not args.dst:
        args.dst_size = size
        return
    if args.dst_size < size:
        raise PluginError(
            "INVALID_ARGUMENT", f"The destination has {args.dst_size} bytes; the array needs {size} bytes."
        )
    if size:
        itemsize = tensor.element_size()
        source = _strided(tensor.data_ptr(), itemsize, tensor.shape, _dense(itemsize, tensor.shape))
        strides = _host_strides(args.host_layout, itemsize, tensor.shape)
        np.copyto(_strided(args.dst, itemsize, tensor.shape, strides), source)
    args.event = trampoline().EVENT


def _asked_layout(address: int | None, dims: Sequence[int]) -> Order:
    """Returns the layout that JAX asks for at an address; row-major without an address.

    Raises:
        PluginError: the layout has tiles, or is no permutation of the dimensions.
    """
    if not address:
        return row_major(len(dims))
    layout = struct("PJRT_Buffer_MemoryLayout").from_address(address)
    tiled = layout.value
    if layout.type == 1 or tiled.num_tiles:
        raise PluginError(
            "UNIMPLEMENTED",
            f"A{' strided' if layout.type == 1 else ' tiled'} layout was asked for an array of shape {tuple(dims)}; "
            "'tt' has layouts without tiles for arrays of JAX.",
            hint="Use Layout(major_to_minor=...) without a tiling.",
        )
    order = tuple(integers_at(tiled.minor_to_major, tiled.minor_to_major_size))
    if sorted(order) != list(range(len(dims))):
        raise PluginError(
            "INVALID_ARGUMENT",
            f"Layout minor_to_major={order} was asked for an array of shape {tuple(dims)}; expected each dimension "
            f"from 0 to {len(dims) - 1} once.",
        )
    return order


def _host_strides(address: int | None, itemsize: int, dims: Sequence[int]) -> Sequence[int]:
    """Returns byte strides of a ``PJRT_Buffer_MemoryLayout`` at an address; row-major without an address.

    Raises:
        PluginError: the layout has tiles.
    """
    if not address:
        return _dense(itemsize, dims)
    layout = struct("PJRT_Buffer_MemoryLayout").from_address(address)
    if layout.type == 1:
        strides = struct("PJRT_Buffer_MemoryLayout_Strides").from_buffer(layout.value)
        return integers_at(strides.byte_strides, strides.num_byte_strides)
    if layout.value.num_tiles:
        raise PluginError(
            "UNIMPLEMENTED", "A tiled layout was asked for; arrays reach the host in layouts without tiles."
        )
    return _dense(itemsize, dims, integers_at(layout.value.minor_to_major, layout.value.minor_to_major_size))


@slot("PJRT_Buffer_CopyRawToHost")
def copy_raw_to_host(args: Any) -> None:
    """Copies a range of a buffer's bytes to host memory."""
    tensor = trampoline().object_of(args.buffer).stored
    size = tensor.numel() * tensor.element_size()
    if args.offset < 0 or args.transfer_size < 0 or args.offset + args.transfer_size > size:
        raise PluginError(
            "INVALID_ARGUMENT",
            f"The range of bytes {args.offset} to {args.offset + args.transfer_size} is not inside the array, "
            f"which has {size} bytes.",
        )
    ctypes.memmove(args.dst, tensor.data_ptr() + args.offset, args.transfer_size)
    args.event = trampoline().EVENT


@slot("PJRT_Buffer_CopyToDevice")
def copy_to_device(args: Any) -> None:
    """Copies a buffer to the default memory of a device."""
    args.dst_buffer = _copy(args.buffer, trampoline().object_of(args.dst_device).memories[0])


@slot("PJRT_Buffer_CopyToMemory")
def copy_to_memory(args: Any) -> None:
    """Copies a buffer to a memory of any device."""
    args.dst_buffer = _copy(args.buffer, args.dst_memory)


def _copy(handle: int, memory: int) -> int:
    """Returns the handle of a copy. It shares no memory: a program may write to a buffer that is donated to it."""
    buffer: Buffer = trampoline().object_of(handle)
    where = place(memory)
    dims, layout = tuple(buffer.tensor.shape), buffer.layout
    where.check(buffer.nbytes)
    return where.new_handle(buffer.tensor.clone(), buffer.code, layout, where.answers(buffer.code, dims, layout))


def itemsize(code: int) -> int:
    """Returns the bytes of one element on the host.

    Args:
        code: value of ``PJRT_Buffer_Type``.
    """
    return _element(code).itemsize
