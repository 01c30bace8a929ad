"""Makes libraries that list PyTorch's devices and backends by name know ``tt``.

A library is changed when it is imported. A process that does not import it pays nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tt_xla.frontends.torch.libraries import accelerate, transformers

_CHANGES: dict[str, Callable[[Any], None]] = {
    "accelerate.accelerator": accelerate.name_parameters,
    "accelerate.state": accelerate.choose_device,
    "accelerate.utils.dataclasses": accelerate.name_backend,
    "accelerate.utils.imports": accelerate.choose_path,
    "transformers.generation.utils": transformers.generate_on_device,
    "transformers.modeling_utils": transformers.compile_for_device,
    "transformers.training_args": transformers.train_on_device,
    "transformers.utils.import_utils": transformers.choose_path,
}
"""The change by the name of the module that it changes."""


class _ChangingLoader(Loader):
    """Loads a module as its own loader does, and then changes it."""

    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self._loader = loader
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)


class _ChangingFinder(MetaPathFinder):
    """The first finder on ``sys.meta_path``: it lets the others find a module, and changes it after loading."""

    def __init__(self) -> None:
        self._searching = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        change = _CHANGES.get(fullname)
        if change is None or self._searching:
            return None
        self._searching = True
        try:
            spec = find_spec(fullname)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _ChangingLoader(spec.loader, change)
        return spec


def register() -> None:
    """Changes the libraries that are imported, and others when they are imported. Call it once."""
    for name, change in _CHANGES.items():
        if name in sys.modules:
            change(sys.modules[name])
    sys.meta_path.insert(0, _ChangingFinder())


__all__ = ["register"]
