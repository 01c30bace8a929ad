"""Finds the files of this folder that serve as modules of ``torch_xla``."""

from __future__ import annotations

import importlib
import importlib.util
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any

_FILES = {
    "torch_xla": "root.py",
    "torch_xla._XLAC": "extension.py",
    "torch_xla._dynamo": "dynamo.py",
    "torch_xla._dynamo.dynamo_bridge": "dynamo_bridge.py",
    "torch_xla.amp": "amp.py",
    "torch_xla.core": "core.py",
    "torch_xla.core.dynamo_bridge": "dynamo_bridge.py",
    "torch_xla.core.xla_model": "xla_model.py",
    "torch_xla.debug": "debug.py",
    "torch_xla.debug.metrics": "metrics.py",
    "torch_xla.distributed": "distributed.py",
    "torch_xla.distributed.parallel_loader": "parallel_loader.py",
    "torch_xla.distributed.fsdp": "distributed.py",
    "torch_xla.distributed.fsdp.utils": "fsdp_utils.py",
    "torch_xla.distributed.spmd": "spmd.py",
    "torch_xla.distributed.spmd.api": "spmd_api.py",
    "torch_xla.distributed.spmd.debugging": "spmd_debugging.py",
    "torch_xla.distributed.spmd.xla_sharded_tensor": "xla_sharded_tensor.py",
    "torch_xla.distributed.spmd.xla_sharding": "xla_sharding.py",
    "torch_xla.distributed.xla_multiprocessing": "xla_multiprocessing.py",
    "torch_xla.experimental": "experimental.py",
    "torch_xla.experimental.distributed_checkpoint": "distributed_checkpoint.py",
    "torch_xla.experimental.distributed_checkpoint._helpers": "checkpoint_helpers.py",
    "torch_xla.experimental.eager": "eager.py",
    "torch_xla.experimental.mark_pattern_utils": "mark_pattern_utils.py",
    "torch_xla.experimental.plugins": "plugins.py",
    "torch_xla.experimental.spmd_fully_sharded_data_parallel": "spmd_fsdp.py",
    "torch_xla.experimental.xla_sharding": "xla_sharding.py",
    "torch_xla.runtime": "runtime.py",
}
_MISSING = (
    "{} is not available: this torch_xla is the part of its API that tt-xla provides. "
    "Installing the real torch_xla package replaces it."
)
_PACKAGES = {
    "torch_xla",
    "torch_xla._dynamo",
    "torch_xla.core",
    "torch_xla.debug",
    "torch_xla.distributed",
    "torch_xla.distributed.fsdp",
    "torch_xla.distributed.spmd",
    "torch_xla.experimental",
    "torch_xla.experimental.distributed_checkpoint",
}


def find(name: str) -> ModuleSpec | None:
    """Returns the import spec of a module.

    Args:
        name: full name of the module, such as ``torch_xla.runtime``.

    Raises:
        ModuleNotFoundError: this package lacks the module. The real package may have it.
    """
    file = _FILES.get(name)
    if file is None:
        raise ModuleNotFoundError(_MISSING.format(name), name=name)
    path = Path(__file__).with_name(file)
    spec = importlib.util.spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    if spec is not None and name in _PACKAGES:
        spec.submodule_search_locations = []  # marks a package; its modules come from the table, not from a folder
    return spec


def attribute(module: str, name: str) -> Any:
    """Imports and returns the submodule ``module.name``.

    Raises:
        AttributeError: there is no such submodule.
    """
    if f"{module}.{name}" in _FILES:
        return importlib.import_module(f"{module}.{name}")
    raise missing(module, name)


def missing(module: str, name: str) -> AttributeError:
    """Returns the error for a name that the real package may have and this one lacks."""
    return AttributeError(_MISSING.format(f"{module}.{name}"))
