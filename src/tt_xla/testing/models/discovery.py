"""Finds the loaders below a folder and lists their tests. Loaders are imported in a process of their own, and cached.

A loader is ``<model>/[<task>/]{pytorch,jax}/loader.py``. A test's name is
``<folder of the loader>-<variant>-<parallelism>-<run mode>``.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import re
import signal
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tt_xla import disk_cache
from tt_xla.environment import shows_progress
from tt_xla.testing.child_processes import signal_name
from tt_xla.testing.models import loading, protocol, reading, requirements

Facts = dict[str, Any]

FRAMEWORKS = "pytorch", "jax"
PARALLELISMS = "single_device", "data_parallel", "tensor_parallel"
RUN_MODES = "inference", "training"
EXCLUDED = frozenset({"suryaocr"})
"""Folders whose loaders upstream excludes."""

_PHASE = re.compile(r"(.+)-(llm_(?:prefill|decode)-seq_\d+-batch_\d+)-(.+)-(inference|training)")
"""Name of the test of an LLM phase: variant, phase, strategy with mesh, run mode. A variant has hundreds; those that an
entry names exist."""

_READERS = [Path(str(module.__file__)) for module in (reading, loading, protocol)]
"""Files of this package on which the facts about a loader depend."""

_ANNOUNCED = 20
"""Number of loaders from which on their import is announced."""


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
    """A ``loader.py`` and its variants.

    Attributes:
        folder: folder of the loader below the root.
        variants: names of the variants; one None for a loader without variants.
        groups: model group of each variant, such as ``red``; empty if the loader does not tell.
        digest: digest of the files below the root that the loader consists of, and of its files of requirements.
    """

    folder: str
    variants: tuple[str | None, ...]
    groups: tuple[str, ...] = ()
    digest: str = ""

    def group(self, variant: str | None) -> str:
        """Returns the model group of a variant; empty if it is unknown."""
        return dict(zip(self.variants, self.groups, strict=False)).get(variant, "")

    def cases(self) -> Iterator[Case]:
        """Yields the tests of the loader, without those of LLM phases."""
        for variant, parallelism, mode in itertools.product(self.variants, PARALLELISMS, RUN_MODES):
            yield Case(self.folder, variant, parallelism, mode)


@dataclass
class Discovery:
    """The loaders below a root.

    Attributes:
        root: the folder.
        loaders: the loaders, sorted by path.
        unreadable: folders of the loaders that cannot be imported, each with the reason.
    """

    root: Path
    loaders: list[LoaderFile] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> list[str]:
        """One message per loader that cannot be imported."""
        return [f"Cannot import path: {self.root / name / 'loader.py'}: {why}" for name, why in self.unreadable.items()]

    @cached_property
    def cases(self) -> list[Case]:
        """The tests of all loaders, without those of LLM phases."""
        return [case for loader in self.loaders for case in loader.cases()]

    @cached_property
    def _variants(self) -> dict[str, tuple[str, str | None]]:
        """Folder and variant of each model, by the beginning of its tests' names."""
        models = [(loader.folder, variant) for loader in self.loaders for variant in loader.variants]
        return {"-".join(filter(None, model)): model for model in models}

    def phase(self, name: str) -> Case | None:
        """Returns the test of an LLM phase by its name; None if it is not one, or there is no such variant."""
        match = _PHASE.fullmatch(name)
        if match is None or match[1] not in self._variants:
            return None
        return Case(*self._variants[match[1]], match[3], match[4], match[2])


def discover(root: Path) -> Discovery:
    """Finds every loader below a folder, sorted by path.

    Loaders that are not in the cache are imported, one after the other in one process; see
    :mod:`tt_xla.testing.models.reading`.
    """
    discovery = Discovery(root.resolve())
    folders = [path.parent.relative_to(discovery.root).as_posix() for path in sorted(_loader_paths(discovery.root))]
    for folder, facts in _all_facts(discovery.root, folders).items():
        if "error" in facts:
            discovery.unreadable[folder] = facts["error"]
        else:
            required = {name: _digest(discovery.root / folder / name) for name, _ in requirements.FILES}
            files = sorted((facts.pop("sources") | required).items())
            digest = hashlib.sha256(repr(files).encode()).hexdigest()
            names = {name: tuple(values) for name, values in facts.items() if isinstance(values, list)}
            discovery.loaders.append(LoaderFile(folder, **{**facts, **names}, digest=digest))
    return discovery


def _loader_paths(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith((".", "__pycache__"))]
        path = Path(folder)
        if path.name in FRAMEWORKS and "loader.py" in files and path.parent.name not in EXCLUDED:
            yield path / "loader.py"


def _all_facts(root: Path, folders: Sequence[str]) -> dict[str, Facts]:
    """Returns the facts about each loader, from the cache or by importing it."""
    cache, digest_of = disk_cache.current(), functools.cache(_digest)
    environment = [_digest(path) for path in _READERS], sys.version, _installed()
    keys = {
        folder: hashlib.sha256(repr((environment, folder, digest_of(root / folder / "loader.py"))).encode()).hexdigest()
        for folder in folders
    }
    known: dict[str, Facts] = {}
    for folder, key in keys.items() if cache else ():
        if contents := cache.get(reading.KIND, key):
            facts: Facts = json.loads(contents)
            if all(digest_of(root / path) == digest for path, digest in facts["sources"].items()):
                known[folder] = facts
    known |= _imported(root, {folder: key for folder, key in keys.items() if folder not in known})
    return {folder: known[folder] for folder in folders}


def _imported(root: Path, keys: Mapping[str, str]) -> Iterator[tuple[str, Facts]]:
    """Yields the facts about loaders that are imported in another process, or an error.

    That process caches each loader at once. When a loader ends it or takes too long, a new process imports the rest.

    Args:
        root: folder with all loaders.
        keys: key of each loader's entry in the cache, by its folder.
    """
    waiting = list(keys)
    if len(waiting) >= _ANNOUNCED and shows_progress():
        print(f"Importing {len(waiting)} loaders of {root}; the next run finds them in the cache.", file=sys.stderr)
    while waiting:
        with tempfile.TemporaryDirectory(prefix="tt-xla-loaders-") as work:
            output = Path(work) / "facts"
            command = [sys.executable, "-m", reading.__name__, str(root), str(output), str(os.getpid())]
            work_list = "".join(f"{each}\t{keys[each]}\n" for each in waiting)
            run = subprocess.run(command, input=work_list, capture_output=True, text=True, check=False)
            lines = output.read_text().splitlines() if output.exists() else []
        yield from zip(waiting, map(json.loads, lines), strict=False)
        del waiting[: len(lines)]
        if waiting:
            yield waiting.pop(0), {"error": _ending(run)}


def _ending(run: subprocess.CompletedProcess[str]) -> str:
    """Returns how the process ended that imported a loader."""
    if run.returncode == -signal.SIGALRM:
        return f"the import takes more than {reading.TIMEOUT_S} s"
    last_line = (run.stderr.strip().splitlines() or [""])[-1]
    return f"the import ended the process: {signal_name(run.returncode)} {last_line}".strip()


def _digest(path: Path) -> str:
    """Returns the digest of a file; empty if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _installed() -> list[int]:
    """Returns numbers that change when a package is installed or removed."""
    return [os.stat(folder).st_mtime_ns for folder in site.getsitepackages() if os.path.isdir(folder)]
