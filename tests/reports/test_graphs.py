"""Graphs of the explorer: nodes, groups, edges and overlays of each stage, and what its page tells about a node."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest

from tests.golden import Goldens
from tests.reports.programs import EXAMPLES
from tests.reports.texts import lines_of
from tt_xla.options import COMPILE_OPTIONS
from tt_xla.tools.explorer import views
from tt_xla.tools.explorer.jobs import JOBS
from tt_xla.tools.explorer.session import Session
from tt_xla.tools.explorer.subjects import Subject
from tt_xla.tools.explorer.worker import Worker

pytestmark = pytest.mark.quick

STAGES = ["stablehlo", "ttir", "ttnn"]
MENU_ENTRIES = 2
"""Number of entries of a menu of layouts that a golden text has in full; of the others it has the words."""


class InThisProcess:
    """Does the work of an explorer without the process that it starts for it."""

    def run(self, function: str, *arguments: Any, progress: Callable[[str], None]) -> Any:
        return JOBS[function](*arguments, progress)


@functools.cache
def session_of(name: str) -> Session:
    """Returns a session with an example at level 2 as its first version, and at level 0 as its second."""
    example = EXAMPLES[name]
    session = Session([Subject(name, example.text)], example.system, {"optimization_level": 2})
    session.worker = cast("Worker", InThisProcess())
    session.add_known(0)
    session.compile(0, {"optimization_level": 0})
    return session


def pairs(items: list[dict[str, str]]) -> str:
    return ", ".join(f"{item['key']}={item['value']}" for item in items)


def graph_lines(graph: Mapping[str, Any]) -> Iterator[str]:
    """Yields the lines of a graph: each node with its namespace, attributes, edges and results."""
    yield f"graph {graph['id']}, hides {' '.join(graph['nodeLabelsToHide'])}"
    for space, attributes in graph["groupNodeAttributes"].items():
        yield f"group '{space}': {attributes}"
    for node in graph["nodes"]:
        colour = (node["style"] or {}).get("backgroundColor", "")
        yield f"{node['id']} '{node['label']}' in '{node['namespace']}' {colour}".rstrip()
        yield from (f"  calls {name}" for name in node["subgraphIds"])
        yield from (f"  {item['key']} = {item['value']}" for item in node["attrs"])
        for edge in node["incomingEdges"]:
            yield f"  input {edge['targetNodeInputId']}: {edge['sourceNodeId']} output {edge['sourceNodeOutputId']}"
        yield from (f"  output {item['id']}: {pairs(item['attrs'])}" for item in node["outputsMetadata"])


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_graphs(name: str, stage: str, goldens: Goldens) -> None:
    session = session_of(name)
    made = views.graphs(session, views.graph_index(0, stage))["graphs"]
    goldens.check(f"explorer/graphs_{name}", stage, [line for graph in made for line in graph_lines(graph)])


@pytest.mark.parametrize("name", EXAMPLES)
def test_stages_and_overlays(name: str, goldens: Goldens) -> None:
    session = session_of(name)
    stages = {stage: views.stage(session, 0, stage) for stage in STAGES}
    goldens.check(f"explorer/overlays_{name}", "stages", lines_of(stages))
    overlays = [
        f"{graph}: {json.dumps(data)}"
        for index in range(len(stages["ttnn"]["overlays"]))
        for graph, data in views.node_data(session, index).items()
    ]
    goldens.check(f"explorer/overlays_{name}", "overlays", overlays)
    goldens.check(f"explorer/overlays_{name}", "changes from level 0", lines_of(views.changes(session, 0, 1)))


def node_lines(facts: dict[str, Any]) -> Iterator[str]:
    """Yields what the page tells about a node; a menu of layouts has its first entries in full."""
    sources = [facts.pop(language, "") for language in ("python", "cpp")]
    menu = facts.get("menu", [])
    facts["menu"] = [entry if index < MENU_ENTRIES else entry["text"] for index, entry in enumerate(menu)]
    yield from lines_of(facts)
    yield from (f"| {line}" for source in sources for line in source.splitlines())


@pytest.mark.parametrize("name", EXAMPLES)
def test_nodes(name: str, goldens: Goldens) -> None:
    session = session_of(name)
    ids = [node.id for function in session.main_functions(0, "ttnn") for node in function.nodes]
    lines = [line for each in ids for line in node_lines(views.node(session, 0, "ttnn", each))]
    goldens.check(f"explorer/nodes_{name}", "ttnn", lines)
    linked = [lines_of(views.node(session, 0, "stablehlo", each)["linked"], each) for each in ids_of(session)]
    goldens.check(f"explorer/nodes_{name}", "links of stablehlo", [line for lines in linked for line in lines])


def ids_of(session: Session) -> list[str]:
    return [node.id for function in session.main_functions(0, "stablehlo") for node in function.nodes]


def test_a_session(goldens: Goldens) -> None:
    session = session_of("mlp")
    state = views.state(session)
    assert {option["name"] for option in state.pop("options")} < COMPILE_OPTIONS.keys()
    for version in state["versions"]:
        assert version.pop("compile_seconds") > 0
    goldens.check("explorer/session", "state", lines_of(state))
    assert views.node_at(session, 0, "ttnn", "model.py:8") == "main:3"
    assert views.node_at(session, 0, "ttnn", "model.py:80") == ""
    ops = {"tanh@model.py:8:8#0": {"memory": "dram", "layout": "interleaved"}}
    goldens.check("explorer/session", "overrides", views.override_file(session, 0, ops, {"optimization_level": 1}))


def test_a_program_that_does_not_compile(goldens: Goldens) -> None:
    """Its version has the stages until the error, and no overlays."""
    text = EXAMPLES["mlp"].text.replace("stablehlo.tanh %2 :", "stablehlo.no_such_op %2 :")
    session = Session([Subject("broken", text)], "n150")
    session.worker = cast("Worker", InThisProcess())
    session.add_known(0)
    state = views.state(session)
    assert state.pop("options")
    assert state["versions"][0].pop("compile_seconds") >= 0
    assert views.all_overlays(session, 0) == []
    goldens.check("explorer/session", "error", lines_of(state))


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    kinds = {
        "graphs": STAGES,
        "overlays": ["stages", "overlays", "changes from level 0"],
        "nodes": ["ttnn", "links of stablehlo"],
    }
    files = {f"{kind}_{name}": texts for kind, texts in kinds.items() for name in EXAMPLES}
    goldens.has_only("explorer", files | {"session": ["error", "overrides", "state"]})
