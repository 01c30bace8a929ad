"""Exports of a compilation as one HTML file, which opens without a server.

The file has Model Explorer's web app with the graphs of all stages and the overlays of the last one. A few lines of
script answer from the file what the app would ask a server for.
"""

from __future__ import annotations

import base64
import mimetypes
import re
from pathlib import Path
from typing import Any

import model_explorer

from tt_xla.markup import page_json, script_text
from tt_xla.tools.explorer import views
from tt_xla.tools.explorer.session import Session

_WEB_APP = Path(model_explorer.__file__).with_name("web_app")

_SERVER_SCRIPT = """
(() => {
  // The app's router knows the address "/" alone; this makes the address of the file count as it.
  document.head.prepend(Object.assign(document.createElement("base"), { href: location.pathname }));
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  // #source=model.py:12 selects the first op of that line; links of tt-xla report have it.
  const wanted = decodeURIComponent((location.hash.match(/^#source=(.*)/) || [])[1] || "");
  const isWanted = ({ key, value }) => key === "source" && `/${value}:`.includes(`/${wanted}:`);
  for (const graph of wanted ? data.graphs[data.first].graphs : []) {
    const node = graph.nodes.find(({ attrs }) => attrs.some(isWanted));
    if (!node) continue;
    Object.assign(data.query.uiState.paneStates[0], { selectedNodeId: node.id, selectedGraphId: graph.id });
    // The app drops the selection while overlays arrive, so it is asked again until it has been there for a while.
    let times = 0;
    const message = { cmd: "model-explorer-select-node-by-node-id", nodeId: node.id };
    const timer = setInterval(() => window.postMessage(message, "*"), 500);
    window.addEventListener("message", ({ data: answer }) => {
      const selected = answer.cmd === "model-explorer-node-selected" && answer.nodeId === node.id;
      if (selected && ++times === 4) clearInterval(timer);
    });
    setTimeout(() => clearInterval(timer), 30000);
    break;
  }
  const query = JSON.stringify(data.query);
  const named = (url) => Object.keys(data.files).find((name) => String(url).split("?")[0].endsWith(name));
  const json = (value) => Promise.resolve(new Response(JSON.stringify(value)));
  const original = window.fetch.bind(window);
  window.fetch = (request, options) => {
    const url = String(request.url || request);
    const index = () => new URLSearchParams(url.slice(url.indexOf("?"))).values().next().value;
    if (url.includes("/api/v1/load_graphs_json")) return json(data.graphs[index()]);
    if (url.includes("/api/v1/load_node_data")) return json({ content: data.overlays[index()] });
    if (url.includes("/api/v1/get_extensions")) return json(data.extensions);
    if (url.includes("/api/v1/check_new_version")) return json(data.version);
    if (url.includes("/api/")) return json({});
    return original(named(url) ? data.files[named(url)] : request, options);
  };
  const source = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, "src");
  Object.defineProperty(HTMLImageElement.prototype, "src", {
    get() { return source.get.call(this); },
    set(url) { source.set.call(this, named(url) ? data.files[named(url)] : url); },
  });
  const code = () => new Blob([document.getElementById("explorer-worker").textContent], { type: "text/javascript" });
  window.Worker = class extends window.Worker { constructor() { super(URL.createObjectURL(code())); } };
  window.EventSource = class { addEventListener() {} };
  for (const name of ["pushState", "replaceState"]) history[name] = () => {}; // the address of a file stays as it is
  URLSearchParams.prototype.get = ((get) => function (name) {
    return name === "data" && !get.call(this, name) ? query : get.call(this, name);
  })(URLSearchParams.prototype.get);
})();
"""
"""Script that stands for the server."""


def export(session: Session, number: int) -> str:
    """Returns the version of a number as the text of an HTML file."""
    stages = session.versions[number].stages
    facts = {stage: views.stage(session, number, stage) for stage in stages}
    overlays = facts.get("ttnn", {"overlays": []})["overlays"]
    first = facts[stages[-1]]
    data: dict[str, Any] = {
        "graphs": {
            str(views.graph_index(number, stage)): views.graphs(session, views.graph_index(number, stage))
            for stage in stages
        },
        "overlays": {
            url.rpartition("/")[2]: page_json(views.node_data(session, int(url.rpartition("/")[2])))
            for url in (overlay["url"] for overlay in overlays)
        },
        "first": str(views.graph_index(number, stages[-1])),
        "extensions": views.EXTENSIONS,
        "version": views.NO_NEWER_VERSION,
        "files": {f"static_files/{path.name}": _as_url(path) for path in _static_files()},
        "query": _query(first, [facts[stage] for stage in reversed(stages)], overlays),
    }
    return _page(data)


def _query(first: dict[str, Any], stages: list[dict[str, Any]], overlays: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the query of the web app's address: its graphs, overlays, and which graph comes first."""
    pane = {
        "deepestExpandedGroupNodeIds": [],
        "selectedNodeId": "",
        "selectedGraphId": next(iter(first["functions"].values())),
        "selectedCollectionLabel": first["label"],
        "widthFraction": 1,
    }
    return {
        "models": [{"url": stage["graphs"]} for stage in stages],
        "nodeData": [overlay["url"] for overlay in reversed(overlays)],  # the one that is added last is shown
        "nodeDataTargets": [first["label"]] * len(overlays),
        "uiState": {"paneStates": [pane]},
    }


def _static_files() -> list[Path]:
    """Returns the files that the web app's script asks for: letters and icons of the graph."""
    return [path for path in sorted((_WEB_APP / "static_files").iterdir()) if path.suffix in (".json", ".png")]


def _as_url(path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _inlined(style: str) -> str:
    """Returns a style sheet that contains the files that it names; those on other machines are left out."""
    style = views.ELSEWHERE.sub("", style)
    return re.sub(r"url\(/(static_files/[\w.-]+)\)", lambda match: f"url({_as_url(_WEB_APP / match[1])})", style)


def _page(data: dict[str, Any]) -> str:
    [main], [polyfills], [worker], [style] = (
        list(_WEB_APP.glob(pattern)) for pattern in ("main-*.js", "polyfills-*.js", "worker-*.js", "styles-*.css")
    )
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tt-explorer</title>',
        f"<style>{_inlined(style.read_text())}</style>{views.NAMES_OF_ATTRIBUTES}</head><body><app-root></app-root>",
        f'<script type="application/json" id="explorer-data">{page_json(data)}</script>',
        f'<script type="text/plain" id="explorer-worker">{script_text(worker.read_text())}</script>',
        f"<script>{_SERVER_SCRIPT}</script>",
        *(f'<script type="module">{script_text(path.read_text())}</script>' for path in (polyfills, main)),
        "</body></html>",
    ]
    return "\n".join(parts)
