"""Hook of MkDocs: links from a page to a file of the repository outside docs/ become its path as text.

On a code host the pages link to sources directly; the site has the pages alone. A file that does not exist is an error.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

LINK = re.compile(r"\[([^\]\n]+)\]\(((?:\.\./)+[^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Returns a page's text without links that lead out of docs/."""
    docs = Path(config["docs_dir"]).resolve()
    folder = (docs / page.file.src_uri).parent

    def replaced(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(docs):
            return link[0]
        if not target.exists():
            raise PluginError(f"{page.file.src_uri} links to {link[2]}, which does not exist.")
        shown, path = link[1].strip("`"), target.relative_to(docs.parent).as_posix()
        return f"`{path}`" if shown.rstrip("/") in path else f"{link[1]} (`{path}`)"

    return LINK.sub(replaced, markdown)
