"""PyTorch's guard of the device, which answers without Python.

PyTorch asks the guard for the current stream before and after each node of a backward pass, also while an exception of
the user's hook, of an interrupt or of a kernel is on its way. PyTorch's class for a device written in Python then calls
a Python method that returns the type of the device. Python refuses a call that returns while an exception is set, C++
cannot throw another one, and the process aborts. Here the guard's table of virtual functions has machine code in place
of those calls, and of the wait for an event, which the class refuses. Where the processor or the system does not allow
it, the guard stays PyTorch's.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
from pathlib import Path
from typing import Any

import torch
from torch.autograd import DeviceType

from tt_xla.frontends.torch.private.names import names_of

with names_of("device_guard"):
    from torch.utils.backend_registration import _DummyDeviceGuard as PythonDeviceGuard

_HEADER = Path(torch.__file__).parent / "include/c10/core/impl/DeviceGuardImplInterface.h"
"""Declares the virtual functions in the order in which they stand in the table."""

_CALL_PYTHON = {"type", "exchangeDevice", "getDevice", "getStream", "getNewStream", "exchangeStream"}
"""Virtual functions that ask the Python method for the type. Each returns the first device, or its default stream."""

_NOTHING_TO_DO = {"synchronizeEvent"}
"""Virtual functions that PyTorch's class refuses, although a chip has nothing to do: its one queue keeps the order."""

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_BEFORE, _AFTER = 2, 2
"""Pointers of a table before its virtual functions, which say the object's class, and behind them: two destructors."""

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
    functions, code = _virtual_functions(), _returning(int(guard.type_()))
    if code and set(functions) >= _CALL_PYTHON | _NOTHING_TO_DO:
        try:
            memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        except OSError:  # the system forbids memory that is both written and executed
            return guard
        memory.write(code)
        _answer_by(memory, guard, functions)
    return guard


def _virtual_functions() -> list[str]:
    """Returns the names of the interface's virtual functions in the order of the table; none without the header."""
    try:
        text = _HEADER.read_text()
    except OSError:
        return []
    return re.findall(r"^\s*virtual\s[^~;{]*?(\w+)\(", text, re.MULTILINE)


def _answer_by(memory: mmap.mmap, guard: PythonDeviceGuard, functions: list[str]) -> None:
    """Gives a guard a copy of its table of virtual functions where a page of code replaces those that call Python."""
    table = ctypes.c_void_p.from_address(_address(guard))  # a C++ object begins with the address of its table
    count = _BEFORE + len(functions) + _AFTER
    copied = ctypes.string_at((table.value or 0) - _BEFORE * _POINTER, count * _POINTER)
    copy = (ctypes.c_void_p * count).from_buffer_copy(copied)
    for place, name in enumerate(functions):
        if name in _CALL_PYTHON | _NOTHING_TO_DO:
            copy[_BEFORE + place] = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    _KEPT.extend((guard, memory, copy))
    table.value = ctypes.addressof(copy) + _BEFORE * _POINTER


def _address(guard: PythonDeviceGuard) -> int:
    """Returns the address of a guard's C++ object, with which a Python object of pybind11 begins."""
    return ctypes.c_void_p.from_address(id(guard) + object.__basicsize__).value or 0


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


__all__ = ["PythonDeviceGuard", "make_guard", "register_xla_guard"]
