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

from tt_xla.frontends.torch.libraries import accelerate, keras, lightning, transformers

_FABRIC, _PYTORCH = ("lightning.fabric", "lightning_fabric"), ("lightning.pytorch", "pytorch_lightning")

_CHANGES: dict[str, Callable[[Any], None]] = {
    "accelerate.accelerator": accelerate.prepare_models,
    "accelerate.launchers": accelerate.launch_replicas,
    "accelerate.state": accelerate.choose_device,
    "accelerate.utils.dataclasses": accelerate.name_backend,
    "accelerate.utils.imports": accelerate.choose_path,
    "accelerate.utils.modeling": accelerate.count_memory,
    "keras.src.backend.torch.core": keras.choose_device,
    **{f"{name}.accelerators": lightning.register_accelerator for name in (*_FABRIC, *_PYTORCH)},
    **{f"{name}.accelerators.xla": lightning.see_chips for name in _FABRIC},
    **{f"{name}.connector": lightning.choose_strategy for name in _FABRIC},
    **{f"{name}.plugins.precision.xla": lightning.cast for name in (*_FABRIC, *_PYTORCH)},
    **{f"{name}.trainer.connectors.accelerator_connector": lightning.choose_strategy for name in _PYTORCH},
    **{f"{name}.trainer.setup": lightning.report_device for name in _PYTORCH},
    "transformers.generation.utils": transformers.generate_on_device,
    "transformers.integrations.tpu": transformers.save_unwrapped,
    "transformers.modeling_utils": transformers.compile_for_device,
    "transformers.pipelines.base": transformers.run_pipelines,
    "transformers.trainer": transformers.create_optimizer,
    "transformers.trainer_pt_utils": transformers.keep_safe_globals,
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
        self._loading = list(_CHANGES)
        """Modules that may have been imported before this finder was there, and are not changed yet."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        self.change_loaded()
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

    def change_loaded(self) -> None:
        """Changes modules that were imported earlier; one that is still loading, as it imports torch, later."""
        for name in tuple(self._loading):
            module = sys.modules.get(name)
            if module is not None and getattr(module.__spec__, "_initializing", False):
                continue
            self._loading.remove(name)
            if module is not None:
                _CHANGES[name](module)


def register() -> None:
    """Changes the libraries that are imported, and others when they are imported. Call it once."""
    finder = _ChangingFinder()
    finder.change_loaded()
    sys.meta_path.insert(0, finder)


__all__ = ["register"]
