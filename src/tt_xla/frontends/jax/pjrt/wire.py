"""The options of compilations and the assignments of devices, as protocol buffers, without a protobuf library."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tt_xla.frontends.jax.pjrt.errors import PluginError

EFFORTS = {9: 0, 19: 1, 29: 2, 39: 2}
"""Optimization levels of tt-xla by XLA's effort levels O0 to O3. The newest JAX writes effort levels, for ``"O1"``."""

OptionValue = str | bool | int | float


@dataclass
class CompileRequest:
    """The content of a ``CompileOptionsProto``.

    Attributes:
        replicas: number of replicas of the program.
        partitions: number of partitions of each replica.
        assignment: for each partition, the id of the device of each replica; empty to let the platform choose.
        options: the user's ``compiler_options``.
    """

    replicas: int = 1
    partitions: int = 1
    assignment: tuple[tuple[int, ...], ...] = ()
    options: dict[str, OptionValue] = field(default_factory=dict)

    @property
    def chips(self) -> int:
        """Number of devices that the program runs on."""
        return self.replicas * self.partitions


def read_compile_options(data: bytes) -> CompileRequest:
    """Reads a ``CompileOptionsProto``.

    Raises:
        PluginError: the bytes are no such message, or they are damaged.
    """
    request = CompileRequest()
    level: int | None = None
    try:
        for number, value in _fields(data):
            if number == 3 and isinstance(value, bytes):  # executable_build_options
                for inner, content in _fields(value):
                    if inner == 4 and isinstance(content, int):
                        request.replicas = content
                    elif inner == 5 and isinstance(content, int):
                        request.partitions = content
                    elif inner == 7 and content:  # use_auto_spmd_partitioning: AUTO shardings of JAX before 0.8
                        request.options.setdefault("auto_sharding", True)
                    elif inner == 9 and isinstance(content, bytes):
                        request.assignment = _read_assignment(content)
                    elif inner == 24 and isinstance(content, int):  # optimization_level: JAX takes it from the options
                        level = EFFORTS.get(content, content)
            elif number == 7 and isinstance(value, bytes):  # env_option_overrides
                entry = dict(_fields(value))
                name, override = entry[1], entry[2]
                if isinstance(name, bytes) and isinstance(override, bytes):
                    request.options[name.decode()] = _option_value(override)
    except (IndexError, KeyError, ValueError, struct.error) as error:
        raise PluginError(
            "INVALID_ARGUMENT",
            f"The compile options are not a CompileOptionsProto: {error!r}.",
            hint=f"The message has {len(data)} bytes.",
        ) from error
    if level is not None:
        request.options.setdefault("optimization_level", level)
    return request


def _read_assignment(data: bytes) -> tuple[tuple[int, ...], ...]:
    """Returns the devices in a ``DeviceAssignmentProto``: for each partition, the device of each replica.

    Raises:
        ValueError: the partitions have different numbers of replicas.
    """
    partitions: list[tuple[int, ...]] = []
    for number, value in _fields(data):
        if number == 3 and isinstance(value, bytes):  # computation_devices
            devices: list[int] = []
            for inner, content in _fields(value):
                if inner == 1:
                    devices += [content] if isinstance(content, int) else _packed(content)
            partitions.append(tuple(devices))
    if len({len(devices) for devices in partitions}) > 1:
        raise ValueError("a device assignment whose partitions have different numbers of replicas")
    return tuple(partitions)


def write_assignment(assignment: Sequence[Sequence[int]]) -> bytes:
    """Returns a ``DeviceAssignmentProto``.

    Args:
        assignment: for each partition, the id of the device of each replica.
    """
    rows = [b"".join(map(write_varint, devices)) for devices in assignment]
    messages = [b"\x0a" + write_varint(len(row)) + row for row in rows]
    counts = b"\x08" + write_varint(len(assignment[0])) + b"\x10" + write_varint(len(assignment))
    return counts + b"".join(b"\x1a" + write_varint(len(message)) + message for message in messages)


def _option_value(data: bytes) -> OptionValue:
    """Returns the value in an ``OptionOverrideProto``: a string (1), bool (2), int64 (3) or double (4)."""
    for number, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            return value.decode()
        if number == 2:
            return bool(value)
        if number == 3 and isinstance(value, int):
            return value - (1 << 64) if value >= 1 << 63 else value
        if number == 4 and isinstance(value, bytes):
            return float(struct.unpack("<d", value)[0])
    return ""


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields number and value of each field of a message: an integer for a varint, bytes for every other type.

    Raises:
        ValueError: the message is damaged.
    """
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == 0:
            number, position = _varint(data, position)
            yield key >> 3, number
            continue
        if kind == 2:
            size, position = _varint(data, position)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if position + size > len(data):
            raise ValueError("the message is cut off")
        yield key >> 3, data[position : position + size]
        position += size


def _packed(data: bytes) -> list[int]:
    """Returns the varints that follow each other in a packed field."""
    numbers: list[int] = []
    position = 0
    while position < len(data):
        number, position = _varint(data, position)
        numbers.append(number)
    return numbers


def write_varint(number: int) -> bytes:
    """Returns the varint of a number of at least 0."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Returns the varint at a position, and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if not byte & 0x80:
            return value, position
        if shift > 63:
            raise ValueError("a number is too long")
