"""Loaders below a folder, and the tests they make; sources are read, nothing of them is imported.

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
"""Folders whose loaders upstream leaves out."""

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
    """One test: a variant of a model, how it is spread, and what is run."""

    model: str
    """Folder of the loader below the root: ``llama/causal_lm/pytorch``."""
    variant: str | None
    parallelism: str
    run_mode: str
    phase: str = ""
    """Of tests of language models: ``llm_decode-seq_1-batch_1``; then ``parallelism`` has strategy and mesh."""

    @property
    def id(self) -> str:
        return "-".join(filter(None, (self.model, self.variant, self.phase, self.parallelism, self.run_mode)))

    @property
    def framework(self) -> str:
        return self.model.rpartition("/")[2]


@dataclass(frozen=True)
class LoaderFile:
    """A ``loader.py``.

    Attributes:
        variants: one None where the loader has no variants.
        groups: whom each variant is for, ``red``; empty where it is not written down.
        phases: of language models, with the variants that have them.
    """

    folder: str
    variants: tuple[str | None, ...]
    groups: tuple[str, ...] = ()
    phases: tuple[tuple[str, tuple[str | None, ...]], ...] = ()

    def group(self, variant: str | None) -> str:
        """Of a variant, also one that only a phase of a language model has."""
        return dict(zip(self.variants, self.groups, strict=True)).get(variant, "")

    def cases(self) -> Iterator[Case]:
        for variant in self.variants:
            for parallelism in PARALLELISMS:
                for mode in RUN_MODES:
                    yield Case(self.folder, variant, parallelism, mode)

    def llm_cases(self) -> Iterator[Case]:
        """Tests of single phases of generation. Hundreds a variant: only those that a configuration names are run."""
        for phase, variants in self.phases:
            for variant in variants:
                for strategy in LLM_STRATEGIES:
                    for mesh in LLM_MESHES:
                        for mode in RUN_MODES:
                            yield Case(self.folder, variant, f"{strategy}-{mesh}", mode, phase)


@dataclass
class Discovery:
    """What lies below a root; ``problems`` tells of loaders that cannot be read."""

    root: Path
    loaders: list[LoaderFile] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @cached_property
    def cases(self) -> list[Case]:
        return [case for loader in self.loaders for case in loader.cases()]

    @cached_property
    def llm_cases(self) -> dict[str, Case]:
        return {case.id: case for loader in self.loaders for case in loader.llm_cases()}


def discover(root: Path) -> Discovery:
    """Reads every loader below ``root``, in the order of their paths."""
    found = Discovery(root.resolve())
    sources = _Sources(found.root)
    for path in sorted(_loader_paths(found.root)):
        folder = path.parent.relative_to(found.root).as_posix()
        try:
            found.loaders.append(_read(sources, path, folder))
        except (SyntaxError, OSError, UnicodeDecodeError, ValueError, RecursionError, UnreadableError) as error:
            found.problems.append(f"Cannot import path: {path}: {error}")
    return found


def _loader_paths(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith((".", "__pycache__"))]
        here = Path(folder)
        if here.name in FRAMEWORKS and "loader.py" in files and here.parent.name not in EXCLUDED:
            yield here / "loader.py"


def _read(sources: _Sources, path: Path, folder: str) -> LoaderFile:
    source = sources.of(path)
    if "ModelLoader" not in source.classes and "ModelLoader" not in source.imports:
        raise ValueError("it has no class ModelLoader")
    try:
        variants = source.variants("ModelLoader")
    except UnreadableError:
        variants = _imported_variants(sources.root, path)
    phases: list[tuple[str, tuple[str | None, ...]]] = []
    some = tuple(variants) or (None,)
    if folder.endswith("pytorch"):
        prefill = next((name for name in source.classes if source.derives(name, "ForgePrefillModel")), None)
        if prefill is not None:
            own = tuple(source.variants(prefill)) or some
            phases += [(phase, own) for phase in LLM_PREFILL]
        if source.has_method("ModelLoader", "load_inputs_decode"):
            phases += [(phase, some) for phase in LLM_DECODE]
    groups = tuple(source.group("ModelLoader", variant) for variant in some)
    return LoaderFile(folder, some, groups, tuple(phases))


class _Sources:
    """Parsed sources below a root, each once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[Path, _Source] = {}

    def of(self, path: Path) -> _Source:
        if path not in self._known:
            self._known[path] = _Source(self, path)
        return self._known[path]


class _Source:
    """The names that a module binds at its top, and what they stand for."""

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

    def _elsewhere(self, name: str) -> tuple[_Source, str] | None:
        """The source below the root that an imported name comes from, and its name there."""
        if name not in self.imports:
            return None
        base, original = self.imports[name]
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file() and path.is_relative_to(self.sources.root):
                return self.sources.of(path), original
        return None

    def variants(self, name: str) -> list[str]:
        """Variants of a loader class: the keys of ``_VARIANTS``, its own or inherited."""
        if name not in self.classes:
            other = self._elsewhere(name)
            if other is None:
                return []
            return other[0].variants(other[1])
        node = self.classes[name]
        for statement in node.body:
            for target, value in _assigned(statement):
                if target == "_VARIANTS":
                    return self._keys(value)
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id != name and (found := self.variants(base.id)):
                return found
        return []

    def _keys(self, node: ast.expr) -> list[str]:
        if isinstance(node, ast.Dict):
            parts = zip(node.keys, node.values, strict=True)
            return [text for key, value in parts for text in (self._keys(value) if key is None else [self._text(key)])]
        if isinstance(node, ast.DictComp) and isinstance(source := node.generators[0].iter, ast.Name):
            if len(node.generators) == 1 and not node.generators[0].ifs:
                return list(self._members(source.id).values())
        elif isinstance(node, ast.Name) and node.id in self.values:
            return self._keys(self.values[node.id])
        elif isinstance(node, ast.Name) and (other := self._elsewhere(node.id)) and other[1] in other[0].values:
            return other[0]._keys(other[0].values[other[1]])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr == "_VARIANTS":
            return self.variants(node.value.id)
        raise UnreadableError(f"line {node.lineno}: its variants are not written down as a dict")

    def _text(self, key: ast.expr) -> str:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return key.value
        if isinstance(key, ast.Attribute) and isinstance(key.value, ast.Name):
            members = self._members(key.value.id)
            if key.attr in members:
                return members[key.attr]
        raise UnreadableError(f"line {key.lineno}: a variant is neither text nor a member of an enumeration")

    def _members(self, name: str) -> dict[str, str]:
        """Members of an enumeration of texts."""
        if name not in self.classes:
            other = self._elsewhere(name)
            if other is None:
                raise UnreadableError(f"it does not say what {name} is")
            return other[0]._members(other[1])
        found: dict[str, str] = {}
        for statement in self.classes[name].body:
            for target, value in _assigned(statement):
                if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
                    raise UnreadableError(f"line {value.lineno}: {name}.{target} is not written down as text")
                found[target] = value.value
        return found

    def group(self, name: str, variant: str | None) -> str:
        """The member of ``ModelGroup`` that a loader class, or what it comes from below the root, gives a variant."""
        if name not in self.classes:
            other = self._elsewhere(name)
            return "" if other is None else other[0].group(other[1], variant)
        node = self.classes[name]
        described = next(
            (item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "_get_model_info"), None
        )
        named = {
            found.attr
            for found in (ast.walk(described) if described else ())
            if isinstance(found, ast.Attribute) and isinstance(found.value, ast.Name) and found.value.id == GROUPS
        }
        if len(named) == 1:
            return named.pop().lower()
        if described is not None and named:
            return group_of(described, variant, self._default(node), self._meaning)
        bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id not in ("ForgeModel", name)]
        return next(filter(None, (self.group(base, variant) for base in bases)), "")

    def _default(self, node: ast.ClassDef) -> str | None:
        """The variant that a loader class takes when none is asked for."""
        for statement in node.body:
            for target, value in _assigned(statement):
                if target == "DEFAULT_VARIANT":
                    with contextlib.suppress(UnreadableError):
                        return self._text(value)
        return None

    def _meaning(self, name: str) -> Any:
        """What a name of this module stands for: members of an enumeration, or a value that is written down."""
        if name in self.values:
            return value_of(self.values[name], self._meaning)
        if (other := self._elsewhere(name)) is not None and other[1] in other[0].values:
            return other[0]._meaning(other[1])
        return SimpleNamespace(**{member: Text(value) for member, value in self._members(name).items()})

    def derives(self, name: str, base: str) -> bool:
        """Whether a class comes from a base, by names, over any number of sources."""
        if name not in self.classes:
            other = self._elsewhere(name)
            return other is not None and other[0].derives(other[1], base)
        bases = [found.id for found in self.classes[name].bases if isinstance(found, ast.Name)]
        return any(found == base or (found != name and self.derives(found, base)) for found in bases)

    def has_method(self, name: str, method: str) -> bool:
        """Whether a class here, or the one it comes from below the root, has a method."""
        if name not in self.classes:
            other = self._elsewhere(name)
            return other is not None and other[0].has_method(other[1], method)
        node = self.classes[name]
        if any(isinstance(item, ast.FunctionDef) and item.name == method for item in node.body):
            return True
        bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id not in ("ForgeModel", name)]
        return any(self.has_method(base, method) for base in bases)


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value


def _imported_variants(root: Path, path: Path) -> Sequence[str]:
    """Asks the loader itself, in a process of its own; the answer is kept until the file changes."""
    from platformdirs import user_cache_path

    state = path.stat()
    kept = user_cache_path("tt-xla") / "variants.json"
    try:
        known = json.loads(kept.read_text())
    except (OSError, ValueError):
        known = {}
    key, stamp = str(path), [state.st_mtime_ns, state.st_size]
    if key in known and known[key][0] == stamp:
        return list(known[key][1])
    command = [sys.executable, "-m", "tt_xla.testing.models.worker", "--variants", str(root), str(path.parent)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_IMPORT_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise UnreadableError(f"importing it takes more than {_IMPORT_TIMEOUT_S} s") from None
    lines = run.stdout.strip().splitlines()
    if run.returncode or not lines:
        raise UnreadableError((run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1])
    variants = json.loads(lines[-1])
    known[key] = [stamp, variants]
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known))
        fresh.replace(kept)
    except OSError:
        pass  # asked again next time
    return variants
