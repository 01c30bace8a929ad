"""Constants whose elements stand at the end of the module's text, ``dense_resource<name>``.

jaxlib reads such modules, but gives the elements only as text.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from tt_xla.errors import MalformedModuleError, UnsupportedOpError
from tt_xla.ir.element_types import ElementType

_NAME = re.compile(r"dense_resource<([^>]*)>")
_ENTRY = re.compile(r'^\s*("?)(?P<name>[^":\s]+)\1: "0x(?P<data>[0-9A-Fa-f]*)"', re.MULTILINE)
_ALIGNMENT_BYTES = 4
"""Bytes before the contents that hold their alignment."""


def resource_values(op: Any, resources: dict[str, bytes], location: str) -> np.ndarray:
    """Returns the elements of a constant that is a resource of its module.

    Args:
        op: the constant.
        resources: contents by name, which are read from the module if it is empty.
        location: place of the constant in the source.

    Raises:
        MalformedModuleError: the module lacks the resource, or it has another size than the constant.
        UnsupportedOpError: the elements have a type that is not read from resources.
    """
    attribute = op.attributes["value"]
    name = _NAME.search(str(attribute))
    if name is None:
        raise UnsupportedOpError(
            f"The elements of a constant are {str(attribute)[:60]}, expected dense elements.", location=location
        )
    if not resources:
        resources |= _read(op)
    kind, sizes = str(attribute.type.element_type), tuple(attribute.type.shape)
    if kind not in set(ElementType):
        raise UnsupportedOpError(
            f"A constant in dialect_resources has elements of type {kind}.",
            location=location,
            hint="Write its elements as dense<...>.",
        )
    dtype, data = ElementType(kind).numpy_dtype(), resources.get(name[1])
    expected = math.prod(sizes) * dtype.itemsize
    if data is None or len(data) != expected:
        size = "is missing" if data is None else f"has {len(data)} bytes, expected {expected}"
        raise MalformedModuleError(
            f"The resource '{name[1]}' of a constant {size}.",
            location=location,
            hint="Write the module again with all of dialect_resources.",
        )
    values = np.frombuffer(data, dtype).reshape(sizes)
    return values.astype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else values


def _read(op: Any) -> dict[str, bytes]:
    """Returns the contents of all resources of an op's module."""
    root = op.operation
    while root.parent is not None:
        root = root.parent
    _, _, section = root.get_asm().rpartition("dialect_resources:")
    entries = _ENTRY.finditer(section)
    return {entry["name"]: bytes.fromhex(entry["data"])[_ALIGNMENT_BYTES:] for entry in entries}
