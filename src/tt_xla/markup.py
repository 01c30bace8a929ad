"""Text and data in HTML pages, so that no name of a model, file or error can leave its place there."""

from __future__ import annotations

import html
import re

from tt_xla.json_text import to_json

_SCRIPT_ENDS = re.compile(r"<(?=/script|!--)", re.IGNORECASE)


def escape(text: object) -> str:
    """Returns a text as it stands in an element or in an attribute in quotes."""
    return html.escape(str(text), quote=True)


def page_json(data: object) -> str:
    """The JSON of :func:`.to_json` as it may also stand in a script element."""
    return to_json(data).replace("<", "\\u003c")


def script_text(source: str) -> str:
    """Returns source of JavaScript as it stands in a script element: no string in it ends the element."""
    return _SCRIPT_ENDS.sub(r"<\\", source)
