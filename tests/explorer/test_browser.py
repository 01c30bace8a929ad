"""The explorer in a headless Chromium, on the models that its documentation shows; run by `make test-explorer`.

EXPLORER_PICTURES names a folder that receives a picture of each page.
"""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tt_xla.compiler import compile_module, read_module
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.explorer import views
from tt_xla.tools.explorer.command import started

pytestmark = pytest.mark.browser

PICTURES = Path(os.environ.get("EXPLORER_PICTURES") or tempfile.gettempdir())


MNIST = """
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Flatten(), torch.nn.Linear(9216, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10), torch.nn.LogSoftmax(-1),
).bfloat16().eval()
with torch.no_grad():
    torch.compile(model, backend="tt", options={"optimization_level": 2})(torch.randn(8, 1, 28, 28).bfloat16())
"""

BERT = """
import torch
from transformers import BertConfig, BertModel

torch.manual_seed(0)
model = BertModel(BertConfig()).bfloat16().eval()
with torch.no_grad():
    torch.compile(model, backend="tt", options={"optimization_level": 2})(torch.randint(0, 1000, (1, 128)))
"""

DECODER = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    hidden_size=256, intermediate_size=688, num_hidden_layers=24, num_attention_heads=8, num_key_value_heads=2,
    vocab_size=1024,
)
model = LlamaForCausalLM(config).bfloat16().eval()
with torch.no_grad():
    compiled = torch.compile(model, backend="tt", options={"optimization_level": 2})
    compiled(torch.randint(0, 1000, (1, 64)), use_cache=False)
"""

MLP = """
func.func @main(%x: tensor<256x1024xbf16>,
                %v: tensor<1024x1024xbf16> {ttcore.argument_type = "parameter", ttir.name = "layers.0.fc.weight"},
                %w: tensor<1024x1024xbf16> {ttcore.argument_type = "parameter", ttir.name = "layers.1.fc.weight"})
    -> tensor<256x1024xbf16> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
    : (tensor<256x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<256x1024xbf16> loc("model.py":3:1)
  %1 = stablehlo.tanh %0 : tensor<256x1024xbf16> loc("model.py":4:1)
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
    : (tensor<256x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<256x1024xbf16> loc("model.py":3:1)
  return %2 : tensor<256x1024xbf16>
}
"""

LARGE = """
func.func @main(%x: tensor<1024x1024x1024x64xf32>) -> tensor<1024x1024x1024x64xf32> {
  %0 = stablehlo.tanh %x : tensor<1024x1024x1024x64xf32> loc("model.py":3:1)
  return %0 : tensor<1024x1024x1024x64xf32>
}
"""
"""A program that does not fit in the memory of the chip."""


class Explorer:
    """Opens models, each with a server of its own."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.servers: list[Any] = []

    def serve(self, model: Path, level: int = 2) -> Any:
        server = started(model, (), 0, {"optimization_level": level}, "n150")
        self.servers.append(server)
        return server

    def page(self, server: Any, query: str = "", *, draws: bool = True) -> Any:
        """Returns a page with the graph of a server's model, if it is to draw one."""
        page = self._context.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("requestfailed", lambda request: page.errors.append(f"{request.url}: {request.failure}"))
        page.goto(server.url + query)
        if draws:
            drawn(page)
        return page

    def close(self) -> None:
        self._context.close()
        for server in self.servers:
            server.close()


@pytest.fixture
def explorer(chromium: Any) -> Iterator[Explorer]:
    running = Explorer(chromium.new_context(viewport={"width": 1400, "height": 820}))
    yield running
    running.close()


_DRAWN = """() => {
  const frame = document.getElementById("graph").contentWindow;
  return document.body.dataset.graph && !document.body.dataset.busy && frame.me_test && frame.me_test.renderers[0]
    && !frame.document.querySelector("mat-spinner");
}"""
"""Whether the web app has laid out the graph and no work goes on."""


def problems(page: Any) -> list[str]:
    """Returns errors of the page, without requests that ended because another graph was asked for."""
    return [error for error in page.errors if "ERR_ABORTED" not in error]


def drawn(page: Any) -> None:
    """Waits until the page shows a graph."""
    page.wait_for_function(_DRAWN, timeout=300_000)


def seconds_to_draw(explorer: Explorer, server: Any) -> float:
    """Returns the time from the request of a page to its graph, with the model compiled already."""
    explorer.page(server).close()
    begin = time.perf_counter()
    explorer.page(server)
    return time.perf_counter() - begin


def select(page: Any, node: str) -> None:
    """Selects a node in the graph, as a click does."""
    message = {"cmd": "model-explorer-select-node-by-node-id", "nodeId": node}
    page.evaluate("message => document.getElementById('graph').contentWindow.postMessage(message, '*')", message)
    page.wait_for_selector(f"#node-section[data-node='{node}']", timeout=20_000)


def nodes_named(page: Any, label: str) -> list[str]:
    """Returns the nodes of the graph that is shown with a label."""
    graphs = page.evaluate(
        "async () => (await fetch('/api/v1/load_graphs_json?graph_index=' + info.graphs.split('/').at(-1))).json()"
    )
    return [node["id"] for node in graphs["graphs"][0]["nodes"] if node["label"] == label]


def finished(page: Any) -> None:
    """Waits until the work that a click started has ended and its outcome is shown."""
    drawn(page)


def picture(page: Any, name: str) -> None:
    page.wait_for_timeout(1500)  # the web app moves the graph into its place
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(128)
    image.save(PICTURES / f"explorer-{name}.png", optimize=True)


def saved(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_example_graph_opens_and_a_node_leads_to_what_it_was(explorer: Explorer):
    server = explorer.serve(views.EXAMPLES["Additions"])
    print(f"\nexample graph, 8 nodes: {seconds_to_draw(explorer, server):.2f} s")
    page = explorer.page(server)
    select(page, "forward:6")
    assert page.inner_text("#node-title").startswith("ttnn.add")
    assert "2.30 us" in page.inner_text("#node-facts")
    picture(page, "example")
    page.click("#node-links button:has-text('ttir.relu')")
    page.wait_for_selector("#node-section[data-node='forward:3']", timeout=20_000)
    assert page.inner_text("#node-title").startswith("ttir.relu")
    assert page.input_value("#stage") == "ttir"
    assert problems(page) == []


MODELS = [
    ("mnist", MNIST, "conv2d", ["predicted time (us)", "bound by", "L1 in use (KiB a core)"]),
    ("bert", BERT, "linear", ["predicted time (us)"]),
    ("decoder", DECODER, "matmul", ["predicted time (us)"]),
]


@pytest.mark.parametrize(("name", "script", "op", "overlays"), MODELS, ids=[name for name, *_ in MODELS])
def test_models_open_with_overlays(
    explorer: Explorer, tmp_path: Path, name: str, script: str, op: str, overlays: list[str]
):
    server = explorer.serve(saved(tmp_path, f"{name}.py", script))
    seconds = seconds_to_draw(explorer, server)
    page = explorer.page(server)
    nodes = page.evaluate("info.nodes")
    print(f"\n{name}, stage ttnn, {nodes} nodes: {seconds:.2f} s")
    for overlay in overlays:
        page.select_option("#overlay", overlay)
        drawn(page)
        select(page, nodes_named(page, op)[0])
        page.frame_locator("#graph").locator(f"text={overlay[:10]}").first.wait_for(timeout=20_000)
    picture(page, name)
    begin = time.perf_counter()
    page.select_option("#stage", "ttir")
    page.wait_for_function("info && info.label.endsWith('ttir')", timeout=60_000)
    drawn(page)
    print(f"{name}, stage ttir, {page.evaluate('info.nodes')} nodes: {time.perf_counter() - begin:.2f} s")
    assert problems(page) == []


def test_a_choice_changes_the_predicted_time_and_the_result_stays_right(explorer: Explorer, tmp_path: Path):
    page = explorer.page(explorer.serve(saved(tmp_path, "mlp.mlir", MLP), level=0))
    page.click("#execute")
    finished(page)
    [product, _] = nodes_named(page, "matmul")
    select(page, product)
    assert page.inner_text("#choice-name") == "matmul@model.py:3:1#0"
    page.select_option("#choice-place", label="L1 block sharded 8x8")
    page.select_option("#choice-fidelity", "hifi2")
    page.click("#choose")
    page.fill("#choice-grid", "1x1")
    page.click("#choose")
    assert "1,1" in page.inner_text("#pending")
    page.click("#undo")
    assert "block_sharded" in page.inner_text("#pending")
    assert "1,1" not in page.inner_text("#pending")
    page.click("#compile")
    finished(page)
    page.click("#execute")
    finished(page)
    versions = page.evaluate("state.versions")
    assert [version["label"] for version in versions] == ["level 0", "level 0, 1 override"]
    assert versions[1]["predicted_us"] < versions[0]["predicted_us"]
    assert min(version["pcc"] for version in versions) > 0.999
    select(page, product)
    assert "L1 block sharded 8x8" in page.inner_text("#node-facts")
    picture(page, "choices")
    with page.expect_download() as download:
        page.click("#write")
    options = CompileOptions.parse({"overrides": str(download.value.path())})
    program = compile_module(read_module(MLP, trusted=True), options, load_target("n150"))
    assert program.predicted_device_us == versions[1]["predicted_us"]
    page.select_option("#overlay", "PCC so far")
    drawn(page)
    page.select_option("#beside", "0/ttnn")
    page.wait_for_function("other !== null", timeout=20_000)
    drawn(page)
    page.wait_for_function("document.getElementById('graph').contentWindow.me_test.renderers[1]", timeout=20_000)
    titles = page.frame_locator("#graph").locator(".pane-title, .title").all_inner_texts()
    assert any("mlp 0 ttnn" in title for title in titles)
    picture(page, "beside")
    assert problems(page) == []


def test_a_choice_that_ttnn_refuses_is_shown_at_its_node(explorer: Explorer, tmp_path: Path):
    page = explorer.page(explorer.serve(saved(tmp_path, "mlp.mlir", MLP), level=0))
    select(page, nodes_named(page, "matmul")[0])
    page.select_option("#choice-place", label="L1 block sharded 8x8")
    page.fill("#choice-config", "in0_block_w=3")
    page.click("#choose")
    page.click("#compile")
    finished(page)
    assert "Kt (32) must be divisible by in0_block_w (3)" in page.inner_text("#failure")
    errors = page.evaluate("info.errors")
    assert {
        page.evaluate("node => ask(`node?version=1&stage=${shown.stage}&node=${node}`)", node)["op"] for node in errors
    } == {"ttir.dot_general"}
    picture(page, "refused")


def test_a_program_that_does_not_fit_shows_its_error(explorer: Explorer, tmp_path: Path):
    page = explorer.page(explorer.serve(saved(tmp_path, "large.mlir", LARGE)))
    assert "does not hold the program" in page.inner_text("#failure")


def test_a_closed_browser_leaves_the_server_and_its_compilations(explorer: Explorer, tmp_path: Path):
    server = explorer.serve(saved(tmp_path, "mlp.mlir", MLP), level=0)
    page = explorer.page(server)
    page.click("#compile")
    page.close()
    again = explorer.page(server)
    assert len(again.evaluate("state.versions")) == 2


def test_an_export_opens_without_a_server_at_the_op_of_a_line(chromium: Any, explorer: Explorer, tmp_path: Path):
    page = explorer.page(explorer.serve(saved(tmp_path, "mlp.mlir", MLP)))
    with page.expect_download() as download:
        page.click("#export")
    path = tmp_path / "export.html"
    download.value.save_as(path)
    for server in explorer.servers:
        server.close()
    offline = chromium.new_page(viewport={"width": 1400, "height": 820})
    requests: list[str] = []
    offline.on("request", lambda request: requests.append(request.url))
    offline.goto(f"{path.as_uri()}#source=model.py:4")
    offline.wait_for_function("window.me_test && window.me_test.renderers[0]", timeout=60_000)
    picture(offline, "export")
    offline.locator("text=ttnn.tanh >> visible=true").first.wait_for(timeout=20_000)
    assert {url.partition(":")[0] for url in requests} <= {"file", "data", "blob"}
    assert len([url for url in requests if url.startswith("file:")]) == 1


def test_a_page_without_a_model_offers_examples(explorer: Explorer):
    server = started(None, (), 0, {}, "n150")
    explorer.servers.append(server)
    page = explorer.page(server, draws=False)
    page.wait_for_selector("body.empty #welcome")
    assert "export_path" in page.inner_text("#welcome")
    assert page.is_hidden("#execute")
    assert page.is_visible("#path")
    for name in views.EXAMPLES:
        page = explorer.page(server, draws=False)
        page.wait_for_function("state.examples")
        if page.is_visible("#welcome"):
            picture(page, "welcome")
            page.click(f"#examples button:has-text('{name}')")
        else:
            page.evaluate("example => start('open', { example })", name)
        drawn(page)
        assert page.is_hidden("#welcome")
        assert page.is_hidden("#failure")
    assert problems(page) == []


def test_a_run_and_a_compilation_stay_at_the_op_that_is_selected(explorer: Explorer, tmp_path: Path):
    page = explorer.page(explorer.serve(saved(tmp_path, "mlp.mlir", MLP), level=0))
    [_, product] = nodes_named(page, "matmul")
    select(page, product)
    asked = "() => decodeURIComponent(document.getElementById('graph').contentWindow.location.search)"
    page.click("#execute")
    finished(page)
    assert f'"selectedNodeId":"{product}"' in page.evaluate(asked)
    page.select_option("#level", "2")
    page.click("#compile")
    finished(page)
    [_, product] = nodes_named(page, "matmul")
    assert f'"selectedNodeId":"{product}"' in page.evaluate(asked)
    assert page.is_hidden("#note")


def test_a_choice_that_changes_nothing_is_said(explorer: Explorer, tmp_path: Path):
    page = explorer.page(explorer.serve(saved(tmp_path, "mlp.mlir", MLP), level=0))
    select(page, nodes_named(page, "matmul")[0])
    page.select_option("#choice-fp32", "true")
    page.click("#choose")
    page.click("#compile")
    finished(page)
    assert "every op is as in compilation 0" in page.inner_text("#note")
    assert problems(page) == []
