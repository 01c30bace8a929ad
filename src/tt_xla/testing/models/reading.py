"""The process that imports loaders: ``python -m tt_xla.testing.models.reading ROOT FILE PARENT``.

Standard input has the folder of a loader and its key in the cache on each line, divided by a tab. FILE and the cache
receive a line of JSON for each: the fields of a :class:`~tt_xla.testing.models.discovery.LoaderFile`, or ``error``; and
``sources``, the digests of the files below ROOT that the import read. Modules below ROOT are imported anew for each
loader, so that no loader depends on another.

A package that is not installed is replaced by a stand-in, because a model's own packages are only installed to run it.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from tt_xla import disk_cache
from tt_xla.testing.child_processes import limit_this_process
from tt_xla.testing.models import loading

KIND = "loaders"
"""Kind of the cache's entries."""

TIMEOUT_S = 300
"""Seconds after which the import of a loader ends the process with SIGALRM."""


def main(root: Path, file: Path, parent: int) -> None:
    """Imports the loaders whose folders standard input lists."""
    limit_this_process(0, parent)
    sys.dont_write_bytecode = True  # a file that keeps its size and its second would be read from its bytecode
    opened: set[str] = set()
    builtins.__import__ = _import
    sys.addaudithook(lambda event, arguments: opened.add(str(arguments[0])) if event == "open" else None)
    cache = disk_cache.current()
    with file.open("w") as output:
        for folder, key in (line.split("\t") for line in sys.stdin.read().splitlines()):
            signal.alarm(TIMEOUT_S)
            opened.clear()
            try:
                loading.forget_package()
                facts = _facts(loading.import_loader(root, folder))
            except (Exception, SystemExit) as error:
                facts = {"error": f"{type(error).__name__}: {error}"}
            facts["sources"] = _digests(root, opened)
            text = json.dumps(facts)
            if cache is not None:
                cache.put(KIND, key, text.encode())
            output.write(f"{text}\n")
            output.flush()
    os._exit(0)  # threads that a loader started would keep the process alive


class _StandIn(mock.MagicMock):
    """A module that is not installed, or a name of it. As a base class it adds nothing."""

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()


def _import(
    name: str, names: Mapping[str, Any] | None = None, local: Any = None, fromlist: Sequence[str] = (), level: int = 0
) -> Any:
    """Imports as Python does. A loader that imports a package that is not installed gets a stand-in.

    Other packages get none: they ask whether a package is installed, and do without it.
    """
    try:
        return _python_import(name, names, local, fromlist, level)
    except ModuleNotFoundError as error:
        importer = str((names or {}).get("__name__"))
        if error.name != name.partition(".")[0] or not loading.is_of_package(importer):
            raise
        return _StandIn(name=name)


_python_import = builtins.__import__


def _facts(module: ModuleType) -> dict[str, Any]:
    loader = getattr(module, "ModelLoader", None)
    if loader is None:
        raise ValueError("the file has no class ModelLoader")
    query = getattr(loader, "query_available_variants", dict)
    variants = list(query() or ()) or [None]
    return {
        "variants": [None if key is None else loading.text(key) for key in variants],
        "groups": [_group(loader, variant) for variant in variants],
    }


def _group(loader: Any, variant: Any) -> str:
    """Returns the model group of a variant; empty if the loader does not tell."""
    try:
        return loading.text(loader.get_model_info(variant).group)
    except Exception:
        return ""


def _digests(root: Path, opened: set[str]) -> dict[str, str]:
    """Returns the digest of each file below the root that is imported or was to be opened, by path below the root.

    The digest of a file that does not exist is empty.
    """
    modules = (getattr(module, "__file__", None) for name, module in sys.modules.items() if loading.is_of_package(name))
    paths = {Path(name) for name in (*opened, *modules) if name and name.startswith(f"{root}{os.sep}")}
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in paths
        if not path.is_dir() and "__pycache__" not in path.parts
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
