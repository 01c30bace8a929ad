"""Finds the loaders below a folder and lists their tests, by reading the sources without importing them.

A loader is ``<model>/[<task>/]{pytorch,jax}/loader.py``. A test's name is
``<folder of the loader>-<variant>-<parallelism>-<run mode>``.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tt_xla.testing.models.groups import GROUPS, Text, UnreadableError, group_of, value_of

FRAMEWORKS = "pytorch", "jax"
PARALLELISMS = "single_device", "data_parallel", "tensor_parallel"
RUN_MODES = "inference", "training"
EXCLUDED = frozenset({"suryaocr"})
"""Folders whose loaders upstream excludes."""

LLM_STRATEGIES = (
    "single_device",
    "tensor_parallel",
    *(f"{kind}-{data}-tensor_parallel" for kind in ("megatron", "fsdp") for data in ("no_dp", "dp")),
)
LLM_MESHES = "mesh_default", "mesh_1x4", "mesh_2x2", "mesh_1x8", "mesh_2x4", "mesh_4x8"
LLM_PREFILL = tuple(f"llm_prefill-seq_{2**n}-batch_{batch}" for n in range(7, 14) for batch in (1, 2, 4))
LLM_DECODE = ("llm_decode-seq_1-batch_1",)

_IMPORT_TIMEOUT_S = 120


@dataclass(frozen=True)
class Case:
    """One test: a variant of a model, its parallelism and its run mode.

    Attributes:
        model: folder of the loader below the root, such as ``llama/causal_lm/pytorch``.
        variant: the variant; None for a loader without variants.
        parallelism: one of :data:`PARALLELISMS`; for an LLM phase, strategy and mesh.
        run_mode: one of :data:`RUN_MODES`.
        phase: phase of a language model, such as ``llm_decode-seq_1-batch_1``; empty for other tests.
    """

    model: str
    variant: str | None
    parallelism: str
    run_mode: str
    phase: str = ""

    @property
    def id(self) -> str:
        """The test's name."""
        return "-".join(filter(None, (self.model, self.variant, self.phase, self.parallelism, self.run_mode)))

    @property
    def framework(self) -> str:
        """The framework of the loader: ``pytorch`` or ``jax``."""
        return self.model.rpartition("/")[2]


@dataclass(frozen=True)
class LoaderFile:
    """The facts read from a ``loader.py``.

    Attributes:
        folder: folder of the loader below the root.
        variants: names of the variants; one None for a loader without variants.
        groups: model group of each variant, such as ``red``; empty if the source does not tell.
        phases: names of LLM phases, each with the variants that have it.
    """

    folder: str
    variants: tuple[str | None, ...]
    groups: tuple[str, ...] = ()
    phases: tuple[tuple[str, tuple[str | None, ...]], ...] = ()

    def group(self, variant: str | None) -> str:
        """Returns the model group of a variant; empty if it is unknown."""
        return dict(zip(self.variants, self.groups, strict=True)).get(variant, "")

    def cases(self) -> Iterator[Case]:
        """Yields the tests of the loader, without those of LLM phases."""
        for variant in self.variants:
            for parallelism in PARALLELISMS:
                for mode in RUN_MODES:
                    yield Case(self.folder, variant, parallelism, mode)

    def llm_cases(self) -> Iterator[Case]:
        """Yields the tests of LLM phases. A variant has hundreds; only those that an entry names are run."""
        for phase, variants in self.phases:
            for variant in variants:
                for strategy in LLM_STRATEGIES:
                    for mesh in LLM_MESHES:
                        for mode in RUN_MODES:
                            yield Case(self.folder, variant, f"{strategy}-{mesh}", mode, phase)


@dataclass
class Discovery:
    """The loaders below a root.

    Attributes:
        root: the folder.
        loaders: the loaders, sorted by path.
        problems: one message per loader that cannot be read.
    """

    root: Path
    loaders: list[LoaderFile] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @cached_property
    def cases(self) -> list[Case]:
        """The tests of all loaders, without those of LLM phases."""
        return [case for loader in self.loaders for case in loader.cases()]

    @cached_property
    def llm_cases(self) -> dict[str, Case]:
        """The tests of LLM phases of all loaders, by name."""
        return {case.id: case for loader in self.loaders for case in loader.llm_cases()}


def discover(root: Path) -> Discovery:
    """Reads every loader below a folder, sorted by path."""
    discovery = Discovery(root.resolve())
    sources = _Sources(discovery.root)
    for path in sorted(_loader_paths(discovery.root)):
        folder = path.parent.relative_to(discovery.root).as_posix()
        try:
            discovery.loaders.append(_read(sources, path, folder))
        except (SyntaxError, OSError, UnicodeDecodeError, ValueError, RecursionError, UnreadableError) as error:
            discovery.problems.append(f"Cannot import path: {path}: {error}")
    return discovery


def _loader_paths(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith((".", "__pycache__"))]
        path = Path(folder)
        if path.name in FRAMEWORKS and "loader.py" in files and path.parent.name not in EXCLUDED:
            yield path / "loader.py"


def _read(sources: _Sources, path: Path, folder: str) -> LoaderFile:
    """Reads a loader.

    Raises:
        ValueError: the file has no class ``ModelLoader``.
        UnreadableError: its variants can be found neither in the source nor by importing it.
    """
    source = sources.of(path)
    if "ModelLoader" not in source.classes and "ModelLoader" not in source.imports:
        raise ValueError("the file has no class ModelLoader")
    try:
        variants = source.variants("ModelLoader")
    except UnreadableError:
        variants = _imported_variants(sources.root, path)
    phases: list[tuple[str, tuple[str | None, ...]]] = []
    all_variants = tuple(variants) or (None,)
    if folder.endswith("pytorch"):
        prefill = next((name for name in source.classes if source.derives(name, "ForgePrefillModel")), None)
        if prefill is not None:
            prefill_variants = tuple(source.variants(prefill)) or all_variants
            phases += [(phase, prefill_variants) for phase in LLM_PREFILL]
        if source.has_method("ModelLoader", "load_inputs_decode"):
            phases += [(phase, all_variants) for phase in LLM_DECODE]
    groups = tuple(source.group("ModelLoader", variant) for variant in all_variants)
    return LoaderFile(folder, all_variants, groups, tuple(phases))


class _Sources:
    """Sources below a root; each is parsed once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[Path, _Source] = {}

    def of(self, path: Path) -> _Source:
        if path not in self._known:
            self._known[path] = _Source(self, path)
        return self._known[path]


class _Source:
    """The names that a module binds at top level, and their meaning.

    Attributes:
        classes: class definitions by name.
        values: assigned expressions by name.
        imports: path without suffix and original name of each relative import.
    """

    def __init__(self, sources: _Sources, path: Path) -> None:
        self.sources = sources
        self.path = path
        tree = ast.parse(path.read_bytes(), filename=str(path))
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.values = {name: value for node in tree.body for name, value in _assigned(node)}
        self.imports: dict[str, tuple[Path, str]] = {}
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.level:
                base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = base, alias.name

    def _origin(self, name: str) -> tuple[_Source, str] | None:
        """Returns the source below the root that an imported name comes from, and its name there."""
        if name not in self.imports:
            return None
        base, original = self.imports[name]
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file() and path.is_relative_to(self.sources.root):
                return self.sources.of(path), original
        return None

    def variants(self, name: str) -> list[str]:
        """Returns the variants of a loader class: the keys of ``_VARIANTS``, which may be inherited."""
        if name not in self.classes:
            other = self._origin(name)
            if other is None:
                return []
            return other[0].variants(other[1])
        node = self.classes[name]
        for statement in node.body:
            for target, value in _assigned(statement):
                if target == "_VARIANTS":
                    return self._keys(value)
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id != name and (inherited := self.variants(base.id)):
                return inherited
        return []

    def _keys(self, node: ast.expr) -> list[str]:
        """Returns the keys of an expression that is a dict.

        Raises:
            UnreadableError: the source does not show the keys.
        """
        if isinstance(node, ast.Dict):
            items = zip(node.keys, node.values, strict=True)
            return [text for key, value in items for text in (self._keys(value) if key is None else [self._text(key)])]
        if isinstance(node, ast.DictComp) and isinstance(source := node.generators[0].iter, ast.Name):
            if len(node.generators) == 1 and not node.generators[0].ifs:
                return list(self._members(source.id).values())
        elif isinstance(node, ast.Name) and node.id in self.values:
            return self._keys(self.values[node.id])
        elif isinstance(node, ast.Name) and (other := self._origin(node.id)) and other[1] in other[0].values:
            return other[0]._keys(other[0].values[other[1]])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr == "_VARIANTS":
            return self.variants(node.value.id)
        raise UnreadableError(f"line {node.lineno}: the variants are not written as a dict")

    def _text(self, key: ast.expr) -> str:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value
        if isinstance(key, ast.Attribute) and isinstance(key.value, ast.Name):
            members = self._members(key.value.id)
            if key.attr in members:
                return members[key.attr]
        raise UnreadableError(f"line {key.lineno}: a variant is neither a string nor a member of an enumeration")

    def _members(self, name: str) -> dict[str, str]:
        """Returns the members of an enumeration of strings, by name.

        Raises:
            UnreadableError: the source does not show the members.
        """
        if name not in self.classes:
            other = self._origin(name)
            if other is None:
                raise UnreadableError(f"the file does not define {name}")
            return other[0]._members(other[1])
        members: dict[str, str] = {}
        for statement in self.classes[name].body:
            for target, value in _assigned(statement):
                if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
                    raise UnreadableError(f"line {value.lineno}: {name}.{target} is not a string")
                members[target] = value.value
        return members

    def group(self, name: str, variant: str | None) -> str:
        """Returns the model group of a variant, from a loader class or its base classes below the root."""
        if name not in self.classes:
            other = self._origin(name)
            return "" if other is None else other[0].group(other[1], variant)
        node = self.classes[name]
        described = next(
            (item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "_get_model_info"), None
        )
        groups = {
            child.attr
            for child in (ast.walk(described) if described else ())
            if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name) and child.value.id == GROUPS
        }
        if len(groups) == 1:
            return groups.pop().lower()
        if described is not None and groups:
            return group_of(described, variant, self._default(node), self._meaning)
        bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id not in ("ForgeModel", name)]
        return next(filter(None, (self.group(base, variant) for base in bases)), "")

    def _default(self, node: ast.ClassDef) -> str | None:
        """Returns the default variant of a loader class; None if the source does not tell."""
        for statement in node.body:
            for target, value in _assigned(statement):
                if target == "DEFAULT_VARIANT":
                    with contextlib.suppress(UnreadableError):
                        return self._text(value)
        return None

    def _meaning(self, name: str) -> Any:
        """Returns the value of a name of this module: a written value, or an object with an enumeration's members.

        Raises:
            UnreadableError: the source does not show the value.
        """
        if name in self.values:
            return value_of(self.values[name], self._meaning)
        if (other := self._origin(name)) is not None and other[1] in other[0].values:
            return other[0]._meaning(other[1])
        return SimpleNamespace(**{member: Text(value) for member, value in self._members(name).items()})

    def derives(self, name: str, base: str) -> bool:
        """Returns whether a class derives from a base class. Classes are compared by name, across sources."""
        if name not in self.classes:
            other = self._origin(name)
            return other is not None and other[0].derives(other[1], base)
        bases = [node.id for node in self.classes[name].bases if isinstance(node, ast.Name)]
        return any(parent == base or (parent != name and self.derives(parent, base)) for parent in bases)

    def has_method(self, name: str, method: str) -> bool:
        """Returns whether a class, or a base class below the root, defines a method."""
        if name not in self.classes:
            other = self._origin(name)
            return other is not None and other[0].has_method(other[1], method)
        node = self.classes[name]
        if any(isinstance(item, ast.FunctionDef) and item.name == method for item in node.body):
            return True
        bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id not in ("ForgeModel", name)]
        return any(self.has_method(base, method) for base in bases)


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yields the names that a statement assigns, with the assigned expressions."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value


def _imported_variants(root: Path, path: Path) -> Sequence[str]:
    """Returns the variants of a loader by importing it in another process. They are cached until the file changes.

    Raises:
        UnreadableError: the import fails or takes too long.
    """
    from platformdirs import user_cache_path

    state = path.stat()
    cache_file = user_cache_path("tt-xla") / "variants.json"
    try:
        cache = json.loads(cache_file.read_text())
    except (OSError, ValueError):
        cache = {}
    key, stamp = str(path), [state.st_mtime_ns, state.st_size]
    if key in cache and cache[key][0] == stamp:
        return list(cache[key][1])
    command = [sys.executable, "-m", "tt_xla.testing.models.worker", "--variants", str(root), str(path.parent)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_IMPORT_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise UnreadableError(f"the import takes more than {_IMPORT_TIMEOUT_S} s") from None
    lines = run.stdout.strip().splitlines()
    if run.returncode or not lines:
        raise UnreadableError((run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1])
    variants = json.loads(lines[-1])
    cache[key] = [stamp, variants]
    try:
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        new_file = cache_file.with_suffix(f".{os.getpid()}")
        new_file.write_text(json.dumps(cache))
        new_file.replace(cache_file)
    except OSError:
        pass  # without the cache, the next run imports the loader again
    return variants
