"""Source locations: of MLIR as attributes of xDSL, and as text for people."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute

_FILE_LINE_COLUMN = re.compile(r'"([^"]*)":(\d+):(\d+)')


@lru_cache(maxsize=4096)
def convert_location(text: str) -> Attribute:
    """Returns the innermost file, line and column in the text of an MLIR location, or an unknown location."""
    match = _FILE_LINE_COLUMN.search(text)
    if match is None:
        return UnknownLoc()
    return FileLineColLoc(StringAttr(match[1]), IntAttr(int(match[2])), IntAttr(int(match[3])))


def describe(location: Any) -> str:
    """Returns ``file:line``, with the column where it is known; an empty string for an unknown location."""
    if not isinstance(location, FileLineColLoc):
        return ""
    column = f":{location.column.data}" if location.column.data else ""
    return f"{location.filename.data}:{location.line.data}{column}"
