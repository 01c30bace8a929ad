"""Groups of nodes: the user's modules, known by the names of their weights, and source lines within them.

A node that reads a weight belongs to the module of the weight, and nodes between two such nodes belong to what the two
modules have in common, as in generated source (:mod:`tt_xla.codegen.blocks`). Without names of weights, groups are the
scopes that the user named; without those, a layer begins where the source returns to an earlier line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from tt_xla.codegen.naming import module_path
from tt_xla.tools.explorer.nodes import ARGUMENT, RETURN, Node

Path = tuple[str, ...]

_LINE = re.compile(r"^(.*?):(\d+)(?::\d+)?$")


def shown_source(location: str) -> str:
    """Returns a location as pages show it: that of an installed library starts at the library's folder."""
    return location.rpartition("/site-packages/")[2]


def source_line(location: str) -> str:
    """Returns file name and line of a location, ``model.py:12``; empty for an unknown one."""
    match = _LINE.match(location)
    return f"{PurePath(match[1]).name}:{match[2]}" if match else ""


def namespaces(nodes: Sequence[Node], *, named_scopes: bool = True) -> dict[str, str]:
    """Returns the namespace of each node by its id: modules, source line and regions, joined by slashes.

    Args:
        nodes: nodes of a function.
        named_scopes: whether scopes that the user named are groups where weights have no names.
    """
    modules = _modules(nodes)
    if not any(modules.values()):
        scoped = {node.id: node.named_scope for node in nodes if node.named_scope and named_scopes}
        modules |= scoped or _repeated_layers(nodes)
    spaces: dict[str, str] = {}
    for node in nodes:
        line = source_line(node.location)
        parts = [*modules.get(node.id, ()), *([line] if line else []), *node.scope]
        if parts and parts[0].isdigit():  # of torch.nn.Sequential
            parts[0] = f"layer {parts[0]}"
        spaces[node.id] = "/".join(part.replace("/", "_") for part in parts)
    return spaces


def has_modules(nodes: Sequence[Node]) -> bool:
    """Returns whether names of weights tell the modules of nodes."""
    return any(node.is_weight and module_path(node.argument) for node in nodes if node.op == ARGUMENT)


def _modules(nodes: Sequence[Node]) -> dict[str, Path]:
    """Returns the path of the module that each node belongs to."""
    weights = _weights(nodes)
    modules: dict[str, Path] = {}
    for node in nodes:
        if node.id in weights:
            modules[node.id] = _common([module_path(name) for name in sorted(weights[node.id])])
    readers: dict[str, int] = Counter()
    for node in nodes:
        if node.id not in weights:
            readers.update({producer for producer, _ in node.operands if producer in weights})
    ordered = [node for node in nodes if node.id not in weights and node.op not in (ARGUMENT, RETURN)]
    own = [_read_module(node, weights, readers) for node in ordered]
    following: list[Path | None] = [None] * len(ordered)
    upcoming: Path | None = None
    for index in range(len(ordered) - 1, -1, -1):
        upcoming = own[index] or upcoming
        following[index] = upcoming
    previous: Path = ()
    for node, read, after in zip(ordered, own, following, strict=True):
        previous = read or previous
        modules[node.id] = read or _between(previous, after)
    return modules


def _weights(nodes: Sequence[Node]) -> dict[str, frozenset[str]]:
    """Returns the nodes whose values depend on weights alone, with the names of those weights."""
    weights: dict[str, frozenset[str]] = {}
    for node in nodes:
        if node.op == ARGUMENT:
            if node.is_weight and module_path(node.argument):
                weights[node.id] = frozenset((node.argument,))
        elif node.op != RETURN and node.operands and all(producer in weights for producer, _ in node.operands):
            weights[node.id] = frozenset().union(*(weights[producer] for producer, _ in node.operands))
    return weights


def _read_module(node: Node, weights: dict[str, frozenset[str]], readers: dict[str, int]) -> Path | None:
    """Returns the module of the weights that a node reads. Weights that several nodes read tell nothing without one
    that is read once."""
    read = [producer for producer, _ in node.operands if producer in weights]
    once = [producer for producer in read if readers[producer] == 1] or read
    return _common([module_path(name) for producer in once for name in sorted(weights[producer])]) or None


def _between(previous: Path, following: Path | None) -> Path:
    """Returns the module of a node between nodes of two modules: what they share, or the first one's numbered block."""
    shared = _common([previous, following]) if following is not None else ()
    numbers = [index for index, part in enumerate(previous) if part.isdigit()]
    block = previous[: numbers[-1] + 1] if numbers else previous[:1] if following is None else ()
    return shared if len(shared) >= len(block) else block


def _common(paths: Sequence[Path]) -> Path:
    """Returns the longest path that all paths begin with."""
    if not paths:
        return ()
    low, high = min(paths), max(paths)
    length = next((index for index, part in enumerate(low) if index >= len(high) or part != high[index]), len(low))
    return low[:length]


_FEWEST_RECURRENCES = 2
"""Fewest times that a line recurs for its recurrences to count as layers."""


def _repeated_layers(nodes: Sequence[Node]) -> dict[str, Path]:
    """Returns numbered layers: each begins where the source returns to the first line that recurs."""
    runs: list[tuple[str, list[Node]]] = []
    for node in nodes:
        line = source_line(node.location)
        if not line or node.scope:
            continue
        if runs and runs[-1][0] == line:
            runs[-1][1].append(node)
        else:
            runs.append((line, [node]))
    counts = Counter(line for line, _ in runs)
    most = max(counts.values(), default=0)
    if most < _FEWEST_RECURRENCES:
        return {}
    anchor = next(line for line, _ in runs if counts[line] == most)
    paths: dict[str, Path] = {}
    layer = -1
    for line, inside in runs:
        layer += line == anchor
        if layer >= 0:
            paths |= {node.id: ("layers", str(layer)) for node in inside}
    return paths
