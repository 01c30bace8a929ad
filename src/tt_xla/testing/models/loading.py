"""Imports loaders and calls their methods, in the processes that run models."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tt_xla.log import logger

PACKAGE = "third_party.tt_forge_models"
"""Name under which loaders import the package that they are part of."""

TRAINING_BATCH = 2
"""Batch size of a training test whose entry has none."""


def import_loader(root: Path, folder: str) -> Any:
    """Imports a loader as a module of :data:`PACKAGE`, so that its relative imports work up to the root.

    Args:
        root: folder with all loaders.
        folder: folder of the loader below the root.

    Returns:
        The module.
    """
    parent, _, name = PACKAGE.rpartition(".")
    if PACKAGE in sys.modules and list(sys.modules[PACKAGE].__path__) != [str(root)]:
        forget_package()  # its modules are below another root
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


def is_of_package(name: str) -> bool:
    """Returns whether a module's full name is :data:`PACKAGE` or below it."""
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def forget_package() -> None:
    """Lets the next import of a loader run all modules of :data:`PACKAGE` anew."""
    for name in [name for name in sys.modules if is_of_package(name)]:
        del sys.modules[name]


def make_loader(root: Path, folder: str, variant: str | None) -> Any:
    """Creates the loader of one variant.

    Args:
        root: folder with all loaders.
        folder: folder of the loader below the root.
        variant: name of the variant; None for a loader without variants.

    Raises:
        ValueError: the loader has no such variant.
    """
    loader_class = import_loader(root, folder).ModelLoader
    if variant is None:
        return loader_class()
    known = {text(key): key for key in loader_class.query_available_variants() or {}}
    if variant not in known:
        raise ValueError(f"{folder} has no variant '{variant}'; it has {', '.join(known) or 'none'}.")
    return loader_class(known[variant])


def text(variant: Any) -> str:
    """Returns the name of a variant, which may be a member of an enumeration."""
    return str(getattr(variant, "value", variant))


def call(method: Callable[..., Any], **arguments: Any) -> Any:
    """Calls a loader's method with the arguments that it has parameters for and that are not None."""
    names = inspect.signature(method).parameters
    return method(**{name: value for name, value in arguments.items() if name in names and value is not None})


def info_of(loader: Any) -> dict[str, Any]:
    """Returns a loader's information about its model, for reports; empty if the loader has none, or only a part."""
    try:
        info = type(loader).get_model_info(loader._variant)
        return {"name": str(info.name), "group": text(info.group), **info.to_report_dict()}
    except (AttributeError, NotImplementedError) as error:
        logger().debug("%s has no information about its model: %s", type(loader).__module__, error)
        return {}
