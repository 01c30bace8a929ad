"""Finds the file that serves as module ``ttnn``."""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

from tt_xla.environment import variable
from tt_xla.ttnn_api.absent import reason

MODULES = {
    "ttnn": "root.py",
    "ttnn.dot_access": "dot_access.py",
    "ttnn.model_preprocessing": "model_preprocessing.py",
}
"""File of each module that is imported by its name."""

NAMESPACES = ("transformer", "experimental", "kv_cache", "operations", "distributed", "graph")
"""Packages of operations below ``ttnn``."""

ALIASES = ("core", "decorators", "device", "types", "distributed.distributed")
"""Modules of the real package below ``ttnn`` whose names ``ttnn`` has as well."""

_PART = "this ttnn is the part of its API that tt-xla runs on the emulated card"


class _AttributeLoader(Loader):
    """Loads a module below ``ttnn`` whose names are attributes that ``ttnn`` finds."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules["ttnn"].namespace(spec.name)

    def exec_module(self, module: ModuleType) -> None: ...


def find(name: str) -> ModuleSpec | None:
    """Returns the import spec of ``ttnn``; None when ``TTXLA_TTNN`` is ``off``.

    Args:
        name: full name of the module, ``ttnn`` or ``ttnn.transformer``.

    Raises:
        ModuleNotFoundError: a module below ``ttnn``. Its functions are attributes of ``ttnn``.
    """
    if variable("TTXLA_TTNN") == "off":
        return None
    short = name.removeprefix("ttnn.")
    if short in (*NAMESPACES, *ALIASES) or short.startswith("operations."):
        return ModuleSpec(name, _AttributeLoader(), is_package=True)
    if name not in MODULES:
        raise ModuleNotFoundError(
            f"{name} is not available: {reason(name) or _PART}. Installing the real ttnn package replaces it.",
            name=name,
        )
    path = Path(__file__).with_name(MODULES[name])
    spec = importlib.util.spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    if spec is not None and name == "ttnn":
        spec.submodule_search_locations = []  # marks a package; what it has are attributes
    return spec
