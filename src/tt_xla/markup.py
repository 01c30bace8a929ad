"""Text and data in HTML pages, so that no name of a model, file or error can leave its place there."""

from __future__ import annotations

import html
import re
from typing import Any

_SCRIPT_ENDS = re.compile(r"<(?=/script|!--)", re.IGNORECASE)


def escape(text: object) -> str:
    """Returns a text as it stands in an element or in an attribute in quotes."""
    return html.escape(str(text), quote=True)


def page_json(data: Any) -> str:
    """Returns data as JSON, which may also stand in a script element; NaN and infinities become null."""
    import msgspec

    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def script_text(source: str) -> str:
    """Returns source of JavaScript as it stands in a script element: no string in it ends the element."""
    return _SCRIPT_ENDS.sub(r"<\\", source)
