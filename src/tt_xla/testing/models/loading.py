"""Imports loaders, and asks them for what the runner needs. Runs in the processes that run models."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "third_party.tt_forge_models"
"""What loaders call the folder they lie in."""


def import_loader(root: Path, folder: str) -> Any:
    """The module of a loader, as a part of :data:`PACKAGE`, so that relative imports reach up to the root.

    Args:
        root: the folder with all loaders.
        folder: of this one, below the root.
    """
    parent, _, name = PACKAGE.rpartition(".")
    if PACKAGE in sys.modules and list(sys.modules[PACKAGE].__path__) != [str(root)]:
        for known in [known for known in sys.modules if known == PACKAGE or known.startswith(f"{PACKAGE}.")]:
            del sys.modules[known]  # of another root
    if PACKAGE not in sys.modules:
        outer = sys.modules.setdefault(parent, ModuleType(parent))
        outer.__path__ = [*getattr(outer, "__path__", [])]
        package = ModuleType(PACKAGE)
        package.__path__ = [str(root)]
        sys.modules[PACKAGE] = package
        setattr(outer, name, package)
        if (root / "__init__.py").is_file():
            package.__file__ = str(root / "__init__.py")
            exec(compile((root / "__init__.py").read_text(), package.__file__, "exec"), package.__dict__)
    return importlib.import_module(f"{PACKAGE}.{folder.replace('/', '.')}.loader")


def make_loader(root: Path, folder: str, variant: str | None) -> Any:
    """The loader of one variant.

    Raises:
        ValueError: it has no such variant.
    """
    kind = import_loader(root, folder).ModelLoader
    if variant is None:
        return kind()
    known = {text(key): key for key in kind.query_available_variants() or {}}
    if variant not in known:
        raise ValueError(f"{folder} has no variant '{variant}'; it has {', '.join(known) or 'none'}.")
    return kind(known[variant])


def text(variant: Any) -> str:
    return str(getattr(variant, "value", variant))


def call(method: Callable[..., Any], **given: Any) -> Any:
    """Calls a loader's method with those of the arguments that it names."""
    names = inspect.signature(method).parameters
    return method(**{name: value for name, value in given.items() if name in names and value is not None})


def info_of(loader: Any) -> dict[str, Any]:
    """What the loader tells of its model for reports; nothing where it cannot."""
    try:
        info = type(loader).get_model_info(loader._variant)
        return {"name": str(info.name), "group": text(info.group), **info.to_report_dict()}
    except Exception:
        return {}
