"""PyTorch's guard of the device, which answers without Python, and its hooks, which lend the CPU's memory.

PyTorch asks the guard for the current stream before and after each node of a backward pass, also while an exception of
the user's hook, of an interrupt or of a kernel is on its way. PyTorch's class for a device written in Python then calls
a Python method that returns the type of the device. Python refuses a call that returns while an exception is set, C++
cannot throw another one, and the process aborts. Here the guard's table of virtual functions has machine code in place
of those calls, and of the wait for an event, which the class refuses. Where the processor or the system does not allow
it, the guard stays PyTorch's.

PyTorch asks its hooks for pinned memory, for example in ``DistributedDataParallel``, and hooks written in Python have
none. Here they give the CPU's allocator: a device whose tensors are in the host's memory copies from any.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import platform
import re
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import torch
from torch.autograd import DeviceType

from tt_xla.frontends.torch.private.names import names_of

with names_of("device_guard"):
    from torch.utils.backend_registration import _DummyDeviceGuard as PythonDeviceGuard
    from torch.utils.backend_registration import _DummyPrivateUse1Hook as PythonHooks

_HEADERS = Path(torch.__file__).parent / "include"
_OF_GUARDS = ("c10/core/impl/DeviceGuardImplInterface.h",)
_OF_HOOKS = ("ATen/detail/AcceleratorHooksInterface.h", "ATen/detail/PrivateUse1HooksInterface.h")
"""Headers that declare the virtual functions in the order in which they stand in the table."""

_CALL_PYTHON = {"type", "exchangeDevice", "getDevice", "getStream", "getNewStream", "exchangeStream"}
"""Virtual functions that ask the Python method for the type. Each returns the first device, or its default stream."""

_NOTHING_TO_DO = {"synchronizeEvent"}
"""Virtual functions that PyTorch's class refuses, although a chip has nothing to do: its one queue keeps the order."""

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_BEFORE, _DESTRUCTORS = 2, 2
"""Pointers of a table before its functions, which say the object's class, and those of its destructor."""

_KEPT: list[object] = []
"""Memory that the guard points to."""


def _returning(value: int) -> bytes:
    """Returns the machine code of a function that returns a number below 2^16 and, in the second register, 0.

    A type is one byte, a device that and the byte of its index, a stream a device and a number in the second register.
    For other processors the code is empty.
    """
    match platform.machine():
        case "x86_64":  # mov eax, value; xor edx, edx; ret
            return b"\xb8" + value.to_bytes(4, "little") + b"\x31\xd2\xc3"
        case "aarch64":  # mov w0, #value; mov x1, #0; ret
            return (0x52800000 | value << 5).to_bytes(4, "little") + bytes.fromhex("010080d2c0035fd6")
        case _:
            return b""


def make_guard(kind: type[PythonDeviceGuard] = PythonDeviceGuard) -> PythonDeviceGuard:
    """Returns a guard for ``_setup_privateuseone_for_python_backend``, or one of another class for another type."""
    guard = kind()
    _answer_by(_returning(int(guard.type_())), guard, _virtual_functions(_OF_GUARDS), _CALL_PYTHON | _NOTHING_TO_DO)
    return guard


def make_hooks() -> PythonHooks:
    """Returns hooks for ``_setup_privateuseone_for_python_backend`` whose pinned memory is the CPU's."""
    hooks = PythonHooks()
    allocator = _cpu_allocator()
    if allocator:
        _answer_by(_returning_address(allocator), hooks, _virtual_functions(_OF_HOOKS), {"getPinnedMemoryAllocator"})
    return hooks


def _cpu_allocator() -> int:
    """Returns the address of PyTorch's allocator for the CPU; 0 where the library does not export it."""
    for path in (Path(torch.__file__).parent / "lib").glob("libc10.*"):
        with contextlib.suppress(OSError, AttributeError):
            function = getattr(ctypes.CDLL(str(path)), _CPU_ALLOCATOR)
            function.restype = ctypes.c_void_p
            return function() or 0
    return 0


def _returning_address(value: int) -> bytes:
    """Returns the machine code of a function that returns an address; for other processors it is empty."""
    match platform.machine():
        case "x86_64":  # movabs rax, value; ret
            return b"\x48\xb8" + value.to_bytes(8, "little") + b"\xc3"
        case "aarch64":  # ldr x0, [pc + 8]; ret; the value
            return bytes.fromhex("40000058c0035fd6") + value.to_bytes(8, "little")
        case _:
            return b""


def _virtual_functions(headers: Sequence[str]) -> list[str]:
    """Returns the names of an interface's virtual functions in the order of the table; none without the headers.

    A destructor is an empty name, twice: it has two functions.
    """
    try:
        text = "\n".join((_HEADERS / header).read_text() for header in headers)
    except OSError:
        return []
    names = re.findall(r"^\s*virtual\s(?:[^~;{]*?(\w+)|\s*~\w+)\(", text, re.MULTILINE)
    return [function for name in names for function in ([name] if name else [""] * _DESTRUCTORS)]


def _answer_by(code: bytes, instance: Any, functions: list[str], answered: Set[str]) -> None:
    """Gives an object a copy of its table of virtual functions where machine code replaces some.

    It keeps its own table if the interface lacks one of these, or the system or the processor does not allow it.
    """
    if not code or not set(functions) >= answered:
        return
    try:
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:  # the system forbids memory that is both written and executed
        return
    memory.write(code)
    table = ctypes.c_void_p.from_address(_address(instance))  # a C++ object begins with the address of its table
    count = _BEFORE + len(functions)
    copied = ctypes.string_at((table.value or 0) - _BEFORE * _POINTER, count * _POINTER)
    copy = (ctypes.c_void_p * count).from_buffer_copy(copied)
    for place, name in enumerate(functions):
        if name in answered:
            copy[_BEFORE + place] = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    _KEPT.extend((instance, memory, copy))
    table.value = ctypes.addressof(copy) + _BEFORE * _POINTER


def _address(instance: Any) -> int:
    """Returns the address of the C++ object with which a Python object of pybind11 begins."""
    return ctypes.c_void_p.from_address(id(instance) + object.__basicsize__).value or 0


_CPU_ALLOCATOR = "_ZN3c1015GetCPUAllocatorEv"
"""The symbol of the function that returns the CPU's allocator."""


_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
"""The symbol of PyTorch's table of guards, which has the address of one for each device type."""


class _XLADeviceGuard(PythonDeviceGuard):
    def type_(self) -> Any:
        return DeviceType.XLA


def register_xla_guard() -> bool:
    """Gives PyTorch a guard for the device type ``xla``, without which it refuses the name before any kernel is asked.

    Returns:
        Whether there is one. PyTorch has a function for the type of a device written in Python alone, so the guard is
        written to the table itself, which builds for other systems may not export.
    """
    number = int(DeviceType.XLA)
    for path in (Path(torch.__file__).parent / "lib").glob("libc10.*"):
        try:
            registry = (ctypes.c_void_p * (number + 1)).in_dll(ctypes.CDLL(str(path)), _REGISTRY)
        except (OSError, ValueError):
            continue
        if registry[number] is None:
            guard = make_guard(_XLADeviceGuard)
            _KEPT.append(guard)
            registry[number] = _address(guard)
        return True
    return False


__all__ = ["PythonDeviceGuard", "make_guard", "make_hooks", "register_xla_guard"]
