"""The explorer in a headless Chromium, on the models that its documentation shows; run by `make test-explorer`.

EXPLORER_PICTURES names a folder that receives a picture of each page.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tt_xla.tools.explorer.command import started

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
]
PICTURES = Path(os.environ.get("EXPLORER_PICTURES") or tempfile.gettempdir())

EXAMPLE = """
func.func @forward(%arg0: tensor<64x128xbf16>, %arg1: tensor<64x128xbf16>, %arg2: tensor<64x128xbf16>,
                   %arg3: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %0 = ttir.empty() : tensor<64x128xbf16>
  %1 = "ttir.add"(%arg0, %arg1, %0)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %2 = ttir.empty() : tensor<64x128xbf16>
  %3 = "ttir.add"(%arg2, %arg3, %2)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %4 = ttir.empty() : tensor<64x128xbf16>
  %5 = "ttir.add"(%1, %3, %4)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %6 = ttir.empty() : tensor<64x128xbf16>
  %7 = "ttir.relu"(%5, %6) : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %7 : tensor<64x128xbf16>
}
"""
"""The graph that tt-explorer's documentation gives to try out."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium is not on PATH. On Debian and Ubuntu: sudo apt install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="pip install 'tt-xla[explorer-tests]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def explorer(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Returns a function that opens a model at a level, and returns the page once it shows a graph."""
    servers: list[Any] = []
    context = chromium.new_context(viewport={"width": 1280, "height": 760})

    def opened(model: Path, level: int = 2) -> Any:
        server = started(model, (), 0, {"optimization_level": level}, "n150")
        servers.append(server)
        page = context.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("requestfailed", lambda request: page.errors.append(request.url))
        page.goto(server.url)
        shown(page)
        return page

    yield opened
    context.close()
    for server in servers:
        server.close()


def shown(page: Any) -> None:
    """Waits until the page shows a graph and no work goes on."""
    page.wait_for_function("document.body.dataset.graph && !document.body.dataset.busy", timeout=300_000)
    frame(page).wait_for_selector("canvas", timeout=60_000)
    page.wait_for_timeout(1500)  # the web app moves the graph into its place


def frame(page: Any) -> Any:
    return page.frame_locator("#graph").locator("body").element_handle().owner_frame()


def select(page: Any, node: str) -> None:
    """Selects a node in the graph, as a click does."""
    message = {"cmd": "model-explorer-select-node-by-node-id", "nodeId": node}
    page.evaluate("message => document.getElementById('graph').contentWindow.postMessage(message, '*')", message)
    page.wait_for_selector(f"#node-section[data-node='{node}']", timeout=20_000)
    page.wait_for_timeout(800)


def picture(page: Any, name: str) -> None:
    page.screenshot(path=PICTURES / f"explorer-{name}.png")


def test_the_example_graph_opens_and_a_node_leads_to_what_it_was(explorer: Callable[..., Any], tmp_path: Path):
    (tmp_path / "example.mlir").write_text(EXAMPLE)
    page = explorer(tmp_path / "example.mlir")
    select(page, "forward:6")
    assert page.inner_text("#node-title").startswith("ttnn.add")
    assert "2.30 us" in page.inner_text("#node-facts")
    picture(page, "example")
    page.click("#node-links button:has-text('ttir.relu')")
    page.wait_for_selector("#node-section[data-node='forward:3']", timeout=20_000)
    assert page.inner_text("#node-title").startswith("ttir.relu")
    assert page.input_value("#stage") == "ttir"
    assert page.errors == []
