"""The structs of the PJRT C API as ctypes classes, which are created on first use."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from tt_xla.frontends.jax.pjrt.abi import ENUMS, SLOTS, STRUCTS, VERSION
from tt_xla.frontends.jax.pjrt.layouts_abi import LAYOUT_SLOTS, LAYOUT_STRUCTS
from tt_xla.frontends.jax.pjrt.profiler_abi import PROFILER_SLOTS, PROFILER_STRUCTS

TYPES: dict[str, Any] = {
    "size": ctypes.c_size_t,
    "int": ctypes.c_int,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "float": ctypes.c_float,
    "pointer": ctypes.c_void_p,
}

ERROR_CODES = ENUMS["PJRT_Error_Code"]
BUFFER_TYPES = ENUMS["PJRT_Buffer_Type"]
VALUE_TYPES = {name.rpartition("_")[2]: value for name, value in ENUMS["PJRT_NamedValue_Type"].items()}

ALL_SLOTS = SLOTS + LAYOUT_SLOTS + PROFILER_SLOTS
"""Functions of ``PJRT_Api`` and, after them, those of its extensions."""

_HEAD = "struct_size:size extension_start:pointer"


def fields(name: str) -> list[tuple[str, str]]:
    """Returns names and types of a struct's fields, in order."""
    if name == "PJRT_Api":
        slots = " ".join(f"{slot}:pointer" for slot in SLOTS)
        text = f"{_HEAD} version:PJRT_Api_Version {slots}"
    else:
        text = (STRUCTS | LAYOUT_STRUCTS | PROFILER_STRUCTS)[name]
    pairs = (field.rstrip("!").split(":") for field in text.replace("head", _HEAD, 1).split())
    return [(field, type_) for field, type_ in pairs]


@functools.cache
def struct(name: str) -> Any:
    """Returns the ctypes class of a struct."""

    def type_of(type_: str) -> Any:
        return TYPES[type_] if type_ in TYPES else struct(type_)

    return type(name, (ctypes.Structure,), {"_fields_": [(field, type_of(type_)) for field, type_ in fields(name)]})


def arguments(slot: str) -> Any:
    """Returns the ctypes class of a slot's arguments."""
    return struct(f"{slot}_Args")


def has_field(args: Any, field: str) -> bool:
    """Returns whether the caller's struct contains ``field``; a struct of an older version of the API is shorter."""
    descriptor = getattr(type(args), field)
    return bool(descriptor.offset + descriptor.size <= args.struct_size)


def text_at(address: int | None, size: int) -> str:
    """Returns the UTF-8 text of ``size`` bytes at an address; empty for a null pointer."""
    return bytes_at(address, size).decode("utf-8", "replace")


def bytes_at(address: int | None, size: int) -> bytes:
    """Returns ``size`` bytes at an address; empty for a null pointer."""
    return ctypes.string_at(address, size) if address and size else b""


def integers_at(address: int | None, count: int, type_: Any = ctypes.c_int64) -> tuple[int, ...]:
    """Returns ``count`` integers of a ctypes type at an address; empty for a null pointer."""
    return tuple((type_ * count).from_address(address)) if address and count else ()


__all__ = [
    "ALL_SLOTS",
    "BUFFER_TYPES",
    "ERROR_CODES",
    "SLOTS",
    "TYPES",
    "VALUE_TYPES",
    "VERSION",
    "arguments",
    "bytes_at",
    "fields",
    "has_field",
    "integers_at",
    "struct",
    "text_at",
]
