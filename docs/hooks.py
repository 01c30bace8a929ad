"""Hooks of MkDocs: what the site has beside the pages of docs/.

The home page is README.md. Links from a page to a file of the repository outside docs/ become its path as text, since
the site has the pages alone; a file that does not exist is an error. The scripts that the theme would fetch from a
server when a page is viewed, for diagrams and for search in a site that is opened as a file, come with the site:
docs/site/ has their packages as the npm registry serves them.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[([^\]\n]+)\]\(((?:\.\./)+[^)\s#]+)(#[^)\s]*)?\)")
MERMAID = "javascripts/mermaid.js"
SCRIPTS = {
    MERMAID: ("mermaid-js-tiny-11.17.2.tgz", "package/dist/mermaid.tiny.js"),
    "javascripts/iframe-worker.js": ("iframe-worker-1.0.4.tgz", "package/shim/index.js"),
}
"""Package and file in it of each script, by its place in the site."""

API_BOOST = 0.1
"""Weight of a page of the API in a search: it contains source, and other pages explain what is sought."""


def on_config(config: Any) -> Any:
    """Links the site to the repository that the clone came from, if that is a web address."""
    if not config["repo_url"]:
        remote = subprocess.run(
            ["git", "remote", "get-url", "origin"], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout
        config["repo_url"] = web_address(remote.strip())
        config["repo_name"] = config["repo_url"].rpartition("://")[2].partition("/")[2]
    return config


def web_address(remote: str) -> str:
    """Returns the web address of a remote of git without a user's name or password; empty for a path on the disk."""
    found = re.fullmatch(r"(?:(?:https?|ssh|git)://)?(?:[^@/]+@)?([\w.-]+\.\w+)(?::\d+)?[:/](.+?)(?:\.git)?/?", remote)
    return f"https://{found[1]}/{found[2]}" if found and not remote.startswith((".", "/")) else ""


def on_files(files: Any, config: Any) -> Any:
    """Adds the home page and the scripts to the site."""
    readme = re.sub(r'(\]\(|src=")docs/', r"\1", (ROOT / "README.md").read_text())
    files.append(File.generated(config, "index.md", content=readme))
    for place, (package, name) in SCRIPTS.items():
        with tarfile.open(ROOT / "docs/site" / package) as archive:
            script, licence = (archive.extractfile(member) for member in (name, "package/LICENSE"))
            assert script is not None
            assert licence is not None
            text = f"/*\n{licence.read().decode()}*/\n{script.read().decode()}"
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Returns a page's text without links that lead out of docs/."""
    docs = Path(config["docs_dir"]).resolve()
    folder = (docs / page.file.src_uri).parent
    if page.file.src_uri.startswith("api/"):
        page.meta["search"] = {"boost": API_BOOST}

    def replaced(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(docs):
            return link[0]
        if not target.exists():
            raise PluginError(f"{page.file.src_uri} links to {link[2]}, which does not exist.")
        shown, path = link[1].strip("`"), target.relative_to(docs.parent).as_posix()
        return f"`{path}`" if shown.rstrip("/") in path else f"{link[1]} (`{path}`)"

    return LINK.sub(replaced, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Returns a page's HTML, with the script that draws diagrams if it has any."""
    if 'class="mermaid"' not in html:
        return html
    return f'{html}\n<script src="{files.get_file_from_path(MERMAID).url_relative_to(page.file)}"></script>'
