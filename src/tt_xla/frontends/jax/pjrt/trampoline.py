"""The C part of the plugin. Importing this module raises ModuleNotFoundError where it was not built."""

from importlib import import_module
from typing import Any

MODULE: Any = import_module("tt_xla.frontends.jax.pjrt._trampoline")
"""The extension module, which ``trampoline.c`` defines."""
