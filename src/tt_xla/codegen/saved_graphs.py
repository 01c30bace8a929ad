"""The keys of generated source on disk: two files in the folder of a graph, and ``manifest.json`` above all of them.

``module_key`` has upstream's three lines: the graph's hash, its mesh and its number of chips. ``module.json`` has the
name of the system and the positions of the arguments that the graph reads. ``manifest.json`` has a JSON object a line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tt_xla.errors import CompileError
from tt_xla.ir.program import GraphKey, Program
from tt_xla.publish import Content

MODULE_KEY = "module_key"
MODULE = "module.json"
MANIFEST = "manifest.json"

FOLDER = re.compile(r"(graph|program)_\d+")
"""Folder of one graph of several, or of one program of a graph with host ops between its programs."""


class _Module(msgspec.Struct, frozen=True):
    """The contents of ``module.json``: the system of a graph, and the positions of the arguments that it reads."""

    system: str
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class SavedGraph:
    """Generated source in a folder."""

    folder: Path
    key: GraphKey
    mesh: tuple[int, ...]
    system: str
    """Name of the system that the source was generated for."""

    @property
    def main(self) -> Path:
        """The file with the program."""
        return self.folder / "main.py"


def key_files(program: Program) -> Mapping[str, Content]:
    """Returns the files with a program's key, by their names; none for a program without a key."""
    if program.graph is None:
        return {}
    shape = _mesh_of(program)
    key = f"{program.graph.hash}\n{_text(shape)}\n{math.prod(shape)}\n"
    module = _Module(program.target, program.graph.used)
    return {MODULE_KEY: key.encode(), MODULE: msgspec.json.encode(module) + b"\n"}


def manifest(root: Path) -> dict[str, Content]:
    """Returns the manifest of the generated source in a folder, by its name; nothing if no graph there has a key."""
    keys = [(str(folder.relative_to(root)), _lines(folder)) for folder in _folders(root)]
    objects = [{"hash": lines[0], "dir": name, "mesh": lines[1]} for name, lines in keys if len(lines) > 1]
    return {MANIFEST: "".join(f"{json.dumps(each)}\n" for each in objects).encode()} if objects else {}


def find(root: Path, program: Program) -> SavedGraph:
    """Returns the source of a program's graph in a folder, or in the folders of graphs and programs below it.

    Raises:
        CompileError: there is no such folder, a key in it is damaged, it has no source of this graph, or the source is
            for another system or mesh.
    """
    if not root.is_dir():
        reason = "it is a file" if root.exists() else "it does not exist"
        raise CompileError(
            f"Codegen load: cannot read load directory '{root}': {reason}.",
            hint="Name the folder that codegen_py wrote (export_path), or generate the source again.",
        )
    if program.graph is None:
        raise CompileError(
            f"Codegen load: program '{program.name}' was not compiled from StableHLO and has no key.",
            hint="Load source for a PyTorch model, a JAX function or a StableHLO module.",
        )
    hashes = {folder: _lines(folder)[0] for folder in _folders(root)}
    for folder, saved_hash in hashes.items():
        if saved_hash == program.graph.hash:
            return _checked(_read(folder), program)
    available = "".join(f"\n  {folder.relative_to(root)} ({key})" for folder, key in hashes.items()) or " none"
    raise CompileError(
        f"Codegen load: no saved graph with hash {program.graph.hash} found in '{root}'. Available graphs:{available}\n"
        "The model, its shapes or its types differ from those that the source was generated for.",
        hint="Generate the source again with codegen_py or TTXLA_CODEGEN_EXPORT_DIR to capture this graph.",
    )


def _folders(root: Path) -> Iterator[Path]:
    """Yields the folders with a key: the root, and folders of graphs and programs below it."""
    if (root / MODULE_KEY).is_file():
        yield root
    for path in sorted(root.iterdir()):
        if FOLDER.fullmatch(path.name) and path.is_dir():
            yield from _folders(path)


def _mesh_of(program: Program) -> tuple[int, ...]:
    return (1, 1) if program.mesh is None else program.mesh.shape


def _text(mesh: Sequence[int]) -> str:
    return "x".join(map(str, mesh))


def _lines(folder: Path) -> list[str]:
    """Returns the lines of the key in a folder, at least one."""
    return [line.strip() for line in (folder / MODULE_KEY).read_text(errors="replace").splitlines()] or [""]


def _read(folder: Path) -> SavedGraph:
    """Returns the contents of the key in a folder.

    Raises:
        CompileError: it is damaged.
    """
    name = MODULE_KEY
    try:
        key, mesh, _ = _lines(folder)
        shape = tuple(map(int, mesh.split("x")))
        name = MODULE
        module = msgspec.json.decode((folder / MODULE).read_bytes(), type=_Module)
    except (OSError, ValueError) as error:
        raise CompileError(
            f"Codegen load: malformed {name} in '{folder}': {error}.",
            hint="Generate the source again with codegen_py or TTXLA_CODEGEN_EXPORT_DIR.",
        ) from error
    return SavedGraph(folder, GraphKey(key, module.arguments), shape, module.system)


def _checked(saved: SavedGraph, program: Program) -> SavedGraph:
    """Returns the source if it is Python for the program's system and mesh.

    Raises:
        CompileError: it is not.
    """
    needed, found = (program.target, _mesh_of(program)), (saved.system, saved.mesh)
    if found != needed:
        ours, theirs = (f"{system} and mesh {_text(mesh)}" for system, mesh in (needed, found))
        raise CompileError(
            f"Codegen load: the source in '{saved.folder}' was generated for {theirs}; the program is for {ours}.",
            hint=f"Set TTXLA_SYSTEM={saved.system}, or generate the source again.",
        )
    if not saved.main.is_file():
        raise CompileError(
            f"Codegen load: '{saved.main}' is missing.", hint="Generate the source again with codegen_py."
        )
    return saved
