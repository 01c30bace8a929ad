"""Source locations as people read them."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import FileLineColLoc


def describe(location: Any) -> str:
    """``file:line``, with the column where it is known; empty for an unknown location."""
    if not isinstance(location, FileLineColLoc):
        return ""
    column = f":{location.column.data}" if location.column.data else ""
    return f"{location.filename.data}:{location.line.data}{column}"
