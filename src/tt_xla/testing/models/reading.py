"""The process that imports loaders: ``python -m tt_xla.testing.models.reading ROOT FILE PARENT``.

Standard input has the folder of a loader on each line. FILE receives a line of JSON for each: the fields of a
:class:`~tt_xla.testing.models.discovery.LoaderFile`, or ``error``; and ``sources``, the digests of the files below ROOT
that the import read. Modules below ROOT are imported anew for each loader, so that no loader depends on another.

A package that is not installed is replaced by a stand-in, because a model's own packages are only installed to run it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from tt_xla.testing.child_processes import limit_this_process
from tt_xla.testing.models import loading

TIMEOUT_S = 120
"""Seconds after which the import of a loader ends the process with SIGALRM."""


def main(root: Path, file: Path, parent: int) -> None:
    """Imports the loaders whose folders standard input lists."""
    limit_this_process(0, parent)
    opened: set[str] = set()
    sys.addaudithook(lambda event, arguments: opened.add(str(arguments[0])) if event == "open" else None)
    with file.open("w") as output:
        for folder in sys.stdin.read().splitlines():
            signal.alarm(TIMEOUT_S)
            opened.clear()
            try:
                facts = _facts(_imported(root, folder))
            except (Exception, SystemExit) as error:
                facts = {"error": f"{type(error).__name__}: {error}"}
            facts["sources"] = _digests(root, opened)
            output.write(json.dumps(facts) + "\n")
            output.flush()
    os._exit(0)  # threads that a loader started would keep the process alive


def _imported(root: Path, folder: str) -> ModuleType:
    """Imports a loader, with a stand-in for each package that it asks for and that is not installed."""
    absent: set[str] = set()
    while True:
        loading.forget_package()
        try:
            return loading.import_loader(root, folder)
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if not package or package in absent or package in sys.modules or importlib.util.find_spec(package):
                raise
            absent.add(package)
            sys.meta_path.append(_StandIns(package))
        finally:
            for name in [name for name in sys.modules if name.partition(".")[0] in absent]:
                del sys.modules[name]


class _StandIn(mock.MagicMock):
    """A module, or a name of it. As a base class it adds nothing."""

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()


class _StandIns:
    """Finds a stand-in for a package and for its modules."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name.partition(".")[0] != self._package:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: Any) -> Any:
        return _StandIn(name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leaves the stand-in as it is."""


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
