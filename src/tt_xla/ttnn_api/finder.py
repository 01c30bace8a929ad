"""Finds the file that serves as module ``ttnn``."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

from tt_xla.environment import variable

MODULES = {"ttnn": "root.py", "ttnn.model_preprocessing": "model_preprocessing.py"}
"""File of each module that is imported by its name. Others below ``ttnn`` are attributes."""


def find(name: str) -> ModuleSpec | None:
    """Returns the import spec of ``ttnn``; None when ``TTXLA_TTNN`` is ``off``.

    Args:
        name: full name of the module, ``ttnn`` or ``ttnn.transformer``.

    Raises:
        ModuleNotFoundError: a module below ``ttnn``. Its functions are attributes of ``ttnn``.
    """
    if variable("TTXLA_TTNN") == "off":
        return None
    if name not in MODULES:
        raise ModuleNotFoundError(
            f"{name} is not available: this ttnn is the part of its API that tt-xla runs on the emulated card. "
            "Installing the real ttnn package replaces it.",
            name=name,
        )
    path = Path(__file__).with_name(MODULES[name])
    spec = importlib.util.spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    if spec is not None and name == "ttnn":
        spec.submodule_search_locations = []  # marks a package; what it has are attributes
    return spec
