"""Views of a session as JSON data, for the pages."""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tt_xla.codegen.body import Constants
from tt_xla.codegen.calls import call_of
from tt_xla.codegen.formatting import flat
from tt_xla.codegen.languages.base import Language
from tt_xla.codegen.languages.cpp import Cpp
from tt_xla.codegen.languages.python import Python
from tt_xla.errors import TTXLAError
from tt_xla.options import COMPILE_OPTIONS
from tt_xla.tools.explorer.graphs import graph_of
from tt_xla.tools.explorer.namespaces import shown_source
from tt_xla.tools.explorer.nodes import Node
from tt_xla.tools.explorer.overlays import Overlay, overlays
from tt_xla.tools.explorer.session import Session, Version
from tt_xla.tools.explorer.subjects import STAGES

ELSEWHERE = re.compile(r"""@font-face{[^}]*url\(https:[^}]*}|<link rel="preconnect"[^>]*>""")
"""Fonts that the web app would load from another machine; it has copies of those that it needs."""

NAMES_OF_ATTRIBUTES = "<style>.metadata-table td.key { min-width: 180px !important; width: 180px !important; }</style>"
"""Style that gives room to names such as ``compute_config.math_fidelity``; the web app cuts them after 14 letters."""

NO_NEWER_VERSION = {"version": "", "runningVersion": "", "releaseUrl": "", "desktopAppUrl": ""}
"""Answer to the web app's question for a newer version of itself; nothing asks another machine."""

EXTENSIONS = [
    {"id": "builtin_json", "name": "JSON adapter", "description": "", "fileExts": ["json"], "type": "adapter"}
]
"""The reader of graphs in the web app."""

EXAMPLES = {
    name: Path(__file__).parent / "examples" / file
    for name, file in (("Additions", "addition.mlir"), ("A network for digits", "mnist.mlir"))
}
"""File of each example that the page offers, by its name there."""

_STAGE_COUNT = len(STAGES)
"""Stages of a version; each has two graphs, one of them with constants."""


def state(session: Session) -> dict[str, Any]:
    """Returns the programs, their versions, the options, and the work that is going on."""
    return {
        "arch": session.arch,
        "subjects": [{"name": subject.name, "can_compile": subject.source is not None} for subject in session.subjects],
        "versions": [
            _version(version) | {"warning": session.subjects[version.subject].warning}
            for version in list(session.versions)
        ],
        "job": asdict(session.job),
        "options": [
            {"name": option.name, "default": option.default, "meaning": option.meaning, "choices": option.choices}
            for option in COMPILE_OPTIONS.values()
            if option.effective
        ],
        "session_options": session.options,
        "examples": list(EXAMPLES),
        "runs": session.runs,
    }


def _version(version: Version) -> dict[str, Any]:
    compiled, accuracy = version.compiled, version.accuracy
    program = compiled.program
    facts: dict[str, Any] = {
        "number": version.number,
        "subject": version.subject,
        "label": version.label,
        "options": version.options,
        "stages": version.stages,
        "error": compiled.error,
        "compile_seconds": compiled.seconds,
        "run_error": version.run_error,
    }
    if program is not None:
        facts["predicted_us"] = program.predicted_device_us
        facts["dram_peak_bytes"] = program.memory.dram_peak_bytes
        facts["l1_peak_bytes_per_core"] = program.memory.l1_peak_bytes_per_core
        facts["mesh"] = list(program.mesh.shape) if program.mesh is not None else []
        facts["host_ops"] = list(program.host_ops)
    if accuracy is not None:
        facts["pcc"], facts["relative_error"] = accuracy.pcc, accuracy.relative
        facts["reference"], facts["run_seconds"] = accuracy.reference, accuracy.seconds
        facts["runtime"] = accuracy.runtime
    return facts


def graph_index(version: int, stage: str, constants: bool = False) -> int:
    """Returns the number by which Model Explorer asks for the graphs of a stage."""
    return (version * _STAGE_COUNT + STAGES.index(stage)) * 2 + constants


def graph_name(version: int, stage: str, function: str) -> str:
    """Returns the name of a graph, which is unique among all stages and versions."""
    return f"{function} ({stage} {version})"


def _of_index(index: int) -> tuple[int, str, bool]:
    rest, constants = divmod(index, 2)
    version, stage = divmod(rest, _STAGE_COUNT)
    return version, STAGES[stage], bool(constants)


def graphs(session: Session, index: int) -> dict[str, Any]:
    """Returns the graphs of a stage of a version, by :func:`graph_index`, as Model Explorer reads them."""
    number, stage, constants = _of_index(index)
    functions = session.main_functions(number, stage)
    names = {function.name: graph_name(number, stage, function.name) for function in functions}
    errors = session.errors(number, stage)
    made = (graph_of(each, names[each.name], names, constants=constants, errors=errors) for each in functions)
    return {"graphs": [asdict(graph) for graph in made]}


def all_overlays(session: Session, number: int) -> list[Overlay]:
    """Returns the overlays of the stage ``ttnn`` of a version."""
    version = session.versions[number]
    program = version.compiled.program
    if program is None:
        return []
    shown = overlays(session.functions(number, "ttnn"), program, session.target(version))
    if version.accuracy is not None:
        for index, name in enumerate(("PCC of the op alone", "PCC so far")):
            pairs = ((node, found[index]) for node, found in version.accuracy.nodes.items())
            values: dict[str, float | str] = {node: round(pcc, 6) for node, pcc in pairs if pcc is not None}
            shown.append(Overlay(name, values, correlations=True, sums=False))
    return shown


_MOST_OVERLAYS = 32


def node_data(session: Session, index: int) -> dict[str, Any]:
    """Returns an overlay in Model Explorer's form, for all functions of a version."""
    number, position = divmod(index, _MOST_OVERLAYS)
    overlay = all_overlays(session, number)[position]
    data = overlay.node_data()
    functions = [function.name for function in session.main_functions(number, "ttnn")]
    by_graph: dict[str, Any] = {}
    for name in functions:
        own = {node: result for node, result in data.results.items() if node.rpartition(":")[0] == name}
        by_graph[graph_name(number, "ttnn", name)] = _without_none(
            asdict(data) | {"results": {node: asdict(own[node]) for node in own}}
        )
    return by_graph


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list) else value


def stage(session: Session, number: int, name: str) -> dict[str, Any]:
    """Returns the data of a stage for our page: addresses of its graphs and overlays for Model Explorer."""
    version = session.versions[number]
    functions = session.main_functions(number, name)
    subject = session.subjects[version.subject].name.replace("/", "_")
    label = f"{subject} {number} {name}"
    shown = all_overlays(session, number) if name == "ttnn" else []
    return {
        "label": label,
        "graphs": f"graphs://{label}/{graph_index(number, name)}",
        "with_constants": f"graphs://{label}/{graph_index(number, name, constants=True)}",
        "functions": {function.name: graph_name(number, name, function.name) for function in functions},
        "nodes": sum(len(function.nodes) for function in functions),
        "overlays": [
            {"name": overlay.name, "url": f"node_data://{overlay.name}/{number * _MOST_OVERLAYS + position}"}
            for position, overlay in enumerate(shown)
        ],
        "errors": session.errors(number, name),
        "named": {op: node for node, op in version.op_names.items()} if name == "ttnn" else {},
    }


def node(session: Session, number: int, name: str, node_id: str) -> dict[str, Any]:
    """Returns a node: its source line, what it became and came from, and its calls in Python and C++."""
    version = session.versions[number]
    found = session.node(number, name, node_id)
    others = {
        other: [
            {"id": each, "label": session.node(number, other, each).op}
            for each in session.linked(number, name, other).get(node_id, ())
        ]
        for other in version.stages
        if other != name
    }
    facts: dict[str, Any] = {
        "id": found.id,
        "op": found.op,
        "results": found.results,
        "source": shown_source(found.location),
        "source_text": _source_text(found.location),
        "linked": others,
    }
    if found.instruction is not None:
        cost = found.instruction.cost
        facts["cost"] = {"us": cost.total_us, "bound": cost.bound if cost.total_us else "", "cores": cost.cores}
        facts |= _calls(session, version, found)
        facts |= _choices(version, found)
    if version.accuracy is not None and node_id in version.accuracy.nodes:
        facts["pcc_alone"], facts["pcc_so_far"] = version.accuracy.nodes[node_id]
    return facts


def _choices(version: Version, found: Node) -> dict[str, Any]:
    """Returns the choices that an override has for an op, and those in force; nothing for ops without choices."""
    name = version.op_names.get(found.id)
    if name is None or found.instruction is None:
        return {}
    attributes = found.instruction.attributes
    config = attributes.get("matmul_program_config") or attributes.get("conv2d_config") or {}
    compute = attributes.get("compute_config")
    return {
        "name": name,
        "menu": version.compiled.menus.get(name, []),
        "config": {key: value for key, value in config.items() if isinstance(value, int)},
        "compute_config": {key: compute[key] for key in ("math_fidelity", "fp32_dest_acc_en") if key in compute}
        if compute
        else None,
    }


def override_file(session: Session, number: int, ops: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Returns the text of an override file, of choices by name of an op that were made for a version.

    Raises:
        OptionError: a choice has an unknown field or a wrong value.
    """
    import yaml

    from tt_xla.overrides import read_overrides

    version = session.versions[number]
    facts = _version(version)
    made_from = {"program": session.subjects[version.subject].name, "system": session.target(version).name}
    made_from |= {key: facts[key] for key in ("predicted_us", "pcc") if facts.get(key) is not None}
    own = {key: value for key, value in options.items() if key != "overrides"}
    overrides = read_overrides({"made_from": made_from, "options": own, "ops": dict(ops)})
    return yaml.safe_dump(overrides.model_dump(mode="json", exclude_none=True), sort_keys=False)


def node_at(session: Session, number: int, name: str, source: str) -> str:
    """Returns the first op at a source line, such as ``model.py:12`` or the whole path; empty without one."""
    for function in session.main_functions(number, name):
        for found in function.nodes:
            if f"/{source}:" in f"/{found.location}:":
                return found.id
    return ""


def changes(session: Session, number: int, other: int) -> list[dict[str, Any]]:
    """Returns the ops whose place or predicted time differs between two versions, largest change first.

    Ops are the same if they have the same name (:mod:`tt_xla.ir.op_names`).
    """
    before, after = (_places(session.versions[each]) for each in (other, number))
    found = [
        {"name": name, "before": before.get(name), "after": after.get(name)}
        for name in dict.fromkeys([*after, *before])
        if before.get(name) != after.get(name)
    ]
    return sorted(found, key=lambda change: -abs(_us(change["after"]) - _us(change["before"])))


def _us(facts: Mapping[str, Any] | None) -> float:
    return float(facts["us"]) if facts is not None else 0.0


def _places(version: Version) -> dict[str, dict[str, Any]]:
    """Returns place and predicted time of the result of each op by name."""
    facts: dict[str, dict[str, Any]] = {}
    for function in version.compiled.functions:
        for found in function.nodes:
            if found.id in version.op_names and found.instruction is not None:
                result = found.results[0] if found.results else {}
                words = " ".join(result.get(key, "") for key in ("dtype", "memory")).strip()
                us = round(found.instruction.cost.total_us, 3)
                facts[version.op_names[found.id]] = {"node": found.id, "place": words, "us": us}
    return facts


def _source_text(location: str) -> str:
    path, _, rest = location.partition(":")
    line = rest.partition(":")[0]
    return linecache.getline(path, int(line)).strip() if line.isdigit() and Path(path).suffix == ".py" else ""


def _calls(session: Session, version: Version, found: Node) -> dict[str, str]:
    """Returns the call of TT-NN that an instruction becomes, with its configs, in Python and C++.

    Instructions that the table of calls lacks have none: those that run functions, and ops of dumps.
    """
    program = version.compiled.program
    assert program is not None
    assert found.instruction is not None
    values = program.function(found.id.rpartition(":")[0]).values
    languages: dict[str, Language] = {"python": Python(), "cpp": Cpp()}
    sources: dict[str, str] = {}
    for name, language in languages.items():
        constants = Constants()
        try:
            call = constants.named(call_of(found.instruction, values, session.target(version)))
            source = flat(language.node(call, lambda number: f"v{number}", constants.data))
        except (TTXLAError, KeyError):
            continue
        configs = [line for config, value in constants.names.values() for line in language.config(config, value)]
        results = ", ".join(f"v{number}" for number in found.instruction.results)
        bound = f"auto {results} = {source};" if name == "cpp" else f"{results} = {source}"
        sources[name] = "\n".join([*configs, bound if results else source])
    return sources
