"""The site of the documentation in a headless Chromium, opened as a file; run by `make test-explorer`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("material.plugins.offline", reason="the extra docs is not installed")

from docs.hooks import web_address

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(folder)], cwd=ROOT, check=True)
    return folder


@pytest.fixture
def page(chromium: Any) -> Any:
    """A page that may load files alone, and raises no error."""
    page, faults = chromium.new_page(), []
    page.on("request", lambda request: faults.append(request.url) if request.url.startswith("http") else None)
    page.on("requestfailed", lambda request: faults.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    page.close()
    assert faults == []


def test_every_diagram_is_drawn(site: Path, page: Any) -> None:
    with_diagrams = [path for path in site.rglob("*.html") if '<pre class="mermaid">' in path.read_text()]
    assert len(with_diagrams) > 3
    for path in with_diagrams:
        page.goto(path.as_uri())
        page.wait_for_function("document.querySelectorAll('pre.mermaid').length == 0")
        assert page.evaluate("[...document.querySelectorAll('div.mermaid')].every(drawn => drawn.clientHeight > 20)")


@pytest.mark.parametrize(
    ("words", "first"),
    [("enable_bfp8_conversion", "performance.html"), ("experimental_weight_dtype", "performance.html")],
)
def test_the_search_finds_options_where_they_are_explained(site: Path, page: Any, words: str, first: str) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator("input.md-search__input").click()
    page.locator("input.md-search__input").press_sequentially(words)
    result = page.locator(".md-search-result__item a").first
    assert result.get_attribute("href").partition("?")[0].rpartition("/")[2] == first


def test_the_home_page_shows_commands_and_pictures_first(site: Path, page: Any) -> None:
    page.set_viewport_size({"width": 1280, "height": 820})
    page.goto((site / "index.html").as_uri())
    for selector in ("article pre", "article img >> nth=0", "article img >> nth=1"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] < 820


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://name:secret@host.org/owner/tt.git", "https://host.org/owner/tt"),
        ("git@host.org:owner/tt.git", "https://host.org/owner/tt"),
        ("ssh://git@host.org:22/owner/tt", "https://host.org/owner/tt"),
        ("/srv/tt.git", ""),
        ("../tt", ""),
        ("", ""),
    ],
)
def test_the_site_links_to_the_repository_of_the_clone(remote: str, address: str) -> None:
    assert web_address(remote) == address
