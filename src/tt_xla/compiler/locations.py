"""Source locations: of MLIR as attributes of xDSL, and as text for people."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, IntAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Attribute

_FILE_LINE_COLUMN = re.compile(r'"([^"]*)":(\d+):(\d+)')


@lru_cache(maxsize=4096)
def convert_location(text: str) -> Attribute:
    """Returns the innermost file, line and column in the text of an MLIR location, or an unknown location."""
    match = _FILE_LINE_COLUMN.search(text)
    if match is None:
        return UnknownLoc()
    return FileLineColLoc(_file_name(match[1]), _number(match[2]), _number(match[3]))


@lru_cache(maxsize=4096)
def _file_name(text: str) -> StringAttr:
    """Returns the attribute of a file name. xDSL verifies each new attribute, and locations share their files."""
    return StringAttr(text)


@lru_cache(maxsize=4096)
def _number(text: str) -> IntAttr:
    """Returns the attribute of a line or column, which many locations share."""
    return IntAttr(int(text))


def describe(location: Any) -> str:
    """Returns ``file:line``, with the column where it is known; an empty string for an unknown location.

    A location with a name has that of the source behind it, and a fused one that of its first part that has one.
    """
    if isinstance(location, NameLoc):
        return describe(location.location)
    if isinstance(location, FusedLoc):
        parts: Any = location.locations
        return next(filter(None, map(describe, parts.data)), "")
    if not isinstance(location, FileLineColLoc):
        return ""
    column = f":{location.column.data}" if location.column.data else ""
    return f"{location.filename.data}:{location.line.data}{column}"
