"""Answers: the outputs of queries about a handle, prepared as bytes that the C part copies.

No query runs Python, because jaxlib makes most of them while it frees objects or many times per call, and ends the
process when one of many queries fails.
"""

from __future__ import annotations

import ctypes
import struct as binary
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.frontends.jax.pjrt.structs import ALL_SLOTS, VALUE_TYPES, arguments, fields, struct

CAPACITY = 200
"""Number of slots that the C part has room for; equals its constant of the same name."""

_NUMBERS = {slot: number for number, slot in enumerate(ALL_SLOTS)}
_AFTER_HEAD, _AFTER_HANDLE = 16, 24

NamedValue = int | float | str | bool | Sequence[int]
"""A value of an attribute or a property."""

BY_NOBODY, BY_HANDLE, BY_PLUGIN = 0, 1, 2
"""Whose answers serve a slot: those of no object, of the handle in its arguments, or of the plugin."""

_HANDLES = ("Client", "DeviceDescription", "Device", "Memory", "Executable", "LoadedExecutable", "Buffer")
_WITHOUT_ANSWERS = ("PJRT_Client_Create", "PJRT_Executable_DeserializeAndLoad")


def answered_by(slot: str) -> int:
    """Returns whose answers serve a slot: :data:`BY_NOBODY`, :data:`BY_HANDLE` or :data:`BY_PLUGIN`."""
    if slot == "PJRT_Plugin_Attributes":
        return BY_PLUGIN
    if slot in _WITHOUT_ANSWERS:
        return BY_NOBODY
    if slot.startswith("PJRT_TopologyDescription_"):
        return BY_NOBODY if slot.endswith(("_Create", "_Deserialize")) else BY_HANDLE
    return BY_HANDLE if slot.split("_")[1] in (*_HANDLES, "Layouts") else BY_NOBODY


class Packed(bytes):
    """Answers in the C part's format.

    Attributes:
        keep: the ctypes values that the answers point to, kept alive here.
    """

    keep: list[Any]


class Answers:
    """Collects the answers of one handle, and the values that they point to."""

    def __init__(self) -> None:
        self._answers: dict[int, bytes] = {}
        self.keep: list[Any] = []

    def set(self, slot: str, **values: Any) -> Answers:
        """Sets the outputs of a query.

        Args:
            slot: name of the query.
            values: outputs by the name of their field. A text or bytes becomes a pointer, and its length is set in
                field ``<name>_size``.

        Returns:
            This object.
        """
        args = arguments(slot)()
        for name, value in values.items():
            if isinstance(value, str | bytes):
                data = value.encode() if isinstance(value, str) else value
                setattr(args, name, self.pointer(ctypes.create_string_buffer(data, len(data) + 1)))
                setattr(args, f"{name}_size", len(data))
            else:
                setattr(args, name, value)
        by = answered_by(slot)
        assert by != BY_NOBODY, slot
        if by == BY_HANDLE:
            assert fields(f"{slot}_Args")[2][1] == "pointer", slot
        self._answers[_NUMBERS[slot]] = bytes(args)[_AFTER_HANDLE if by == BY_HANDLE else _AFTER_HEAD :]
        return self

    def pointer(self, value: Any) -> int:
        """Returns the address of a ctypes value, which is kept alive."""
        self.keep.append(value)
        return ctypes.addressof(value)

    def handles(self, handles: Sequence[int]) -> int:
        """Returns the address of an array of handles."""
        return self.pointer((ctypes.c_void_p * max(1, len(handles)))(*handles))

    def integers(self, values: Sequence[int], type_: Any = ctypes.c_int64) -> int:
        """Returns the address of an array of integers of a ctypes type."""
        return self.pointer((type_ * max(1, len(values)))(*values))

    def texts(self, values: Sequence[str]) -> tuple[int, int]:
        """Returns the address of an array of texts and that of an array of their lengths."""
        encoded = [value.encode() for value in values]
        buffers = [self.pointer(ctypes.create_string_buffer(value, len(value) + 1)) for value in encoded]
        return self.handles(buffers), self.integers([len(value) for value in encoded], ctypes.c_size_t)

    def named_values(self, values: Mapping[str, NamedValue]) -> int:
        """Returns the address of an array of ``PJRT_NamedValue``."""
        array = (struct("PJRT_NamedValue") * max(1, len(values)))()
        for item, (name, value) in zip(array, values.items(), strict=False):
            item.struct_size = ctypes.sizeof(item)
            item.name = self.pointer(ctypes.create_string_buffer(name.encode()))
            item.name_size = len(name.encode())
            item.value_size = 1
            self._set_value(item, value)
        return self.pointer(array)

    def _set_value(self, item: Any, value: NamedValue) -> None:
        if isinstance(value, str):
            item.type = VALUE_TYPES["kString"]
            item.value = self.pointer(ctypes.create_string_buffer(value.encode()))
            item.value_size = len(value.encode())
            return
        if isinstance(value, Sequence):
            item.type = VALUE_TYPES["kInt64List"]
            item.value = self.integers(value)
            item.value_size = len(value)
            return
        if isinstance(value, bool):
            kind, code = "kBool", "<?7x"
        else:
            kind, code = ("kInt64", "<q") if isinstance(value, int) else ("kFloat", "<f4x")
        item.type = VALUE_TYPES[kind]
        item.value = int.from_bytes(binary.pack(code, value), "little")

    def pack(self) -> Packed:
        """Returns the answers in the C part's format.

        The format is ``CAPACITY + 1`` offsets of 16 bits, followed by the answers. The answer of a slot lies between
        its offset and the next one.
        """
        offsets = [position := 2 * (CAPACITY + 1)]
        for number in range(CAPACITY):
            position += len(self._answers.get(number, b""))
            offsets.append(position)
        answers = b"".join(data for _, data in sorted(self._answers.items()))
        packed = Packed(binary.pack(f"<{len(offsets)}H", *offsets) + answers)
        packed.keep = self.keep
        return packed
