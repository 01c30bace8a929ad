"""Loads the golden functions of an installed TT-NN: what its operations compute, as functions of torch tensors.

The files of ``ttnn/operations`` that attach them are read with a stand-in for ``ttnn``, because the interpreter of the
tests need not be one that TT-NN's native code supports.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import logging
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODULES = (
    *(
        "golden_common",
        "integer_golden",
        "unary",
        "unary_backward",
        "unary_complex",
        "complex_unary_backward",
        "binary",
    ),
    *(
        "binary_backward",
        "ternary",
        "ternary_backward",
        "reduction",
        "losses",
        "matmul",
        "data_movement",
        "normalization",
    ),
    *(
        "embedding",
        "moreh",
        "activations",
        "transformer_golden",
        "transformer",
        "pool",
        "conv2d",
        "comparison",
        "creation",
    ),
)
"""Modules of ``ttnn.operations`` that are read; one that cannot be read without native code is left out."""


def _ours() -> Any:
    package = sys.modules["ttnn"]
    return getattr(package, "ours", package) if isinstance(package, _Package) else package


class _Name:
    """Stands in for an attribute that our ``ttnn`` lacks."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__name__":
            raise AttributeError(name)
        ours = getattr(_ours(), name, None) if name[:1].isupper() else None
        return _Name(f"{self.__name__}.{name}") if ours is None else ours

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Serves as a decorator that changes nothing, and as a constructor."""
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Name) and other.__name__ == self.__name__

    def __or__(self, other: object) -> Any:
        return self

    __ror__ = __or__


class _Package(types.ModuleType):
    """``ttnn`` as the files see it: ours, with stand-ins for what ours lacks."""

    def __init__(self, root: Path, goldens: dict[str, Callable[..., Any]]) -> None:
        super().__init__("ttnn")
        self.__path__ = [str(root)]
        self.ours: Any = sys.modules["ttnn"]

        def attach(operation: Any, golden_function: Callable[..., Any], **options: Any) -> None:
            name = str(operation.__name__)
            goldens[name if name.startswith("ttnn.") else f"ttnn.{name}"] = golden_function

        self.attach_golden_function = attach
        self.decorators = types.SimpleNamespace(
            set_golden_comparison_config=lambda tensor, **options: tensor,
            _copy_golden_comparison_config=lambda source, target: target,
            attach_golden_function=attach,
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.ours, name, None)
        return _Name(f"ttnn.{name}") if value is None or isinstance(value, types.ModuleType) else value


class _NativeFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves the modules of TT-NN's native code as stand-ins."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        native = fullname.startswith("ttnn._ttnn")
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if native else None

    def create_module(self, spec: Any) -> Any:
        return _Native(spec.name)

    def exec_module(self, module: Any) -> None: ...


class _Native(types.ModuleType):
    """A module of TT-NN's native code, whose names are stand-ins."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_Name(self.__name__), name)


@contextmanager
def _replaced(package: types.ModuleType) -> Iterator[None]:
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "ttnn"}
    for name in before:
        del sys.modules[name]
    operations = types.ModuleType("ttnn.operations")
    operations.__path__ = [str(Path(package.__path__[0], "operations"))]
    sys.modules |= {"ttnn": package, "ttnn.operations": operations}
    finder = _NativeFinder()
    sys.meta_path.insert(0, finder)
    loguru = types.ModuleType("loguru")
    loguru.logger = logging.getLogger("loguru")
    sys.modules.setdefault("loguru", loguru)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "ttnn"]:
            del sys.modules[name]
        sys.modules.update(before)


def load(site_packages: Path) -> dict[str, Callable[..., Any]]:
    """Returns the golden functions by the full name of their operation.

    Args:
        site_packages: folder with the package ``ttnn``.
    """
    goldens: dict[str, Callable[..., Any]] = {}
    package = _Package(site_packages / "ttnn", goldens)
    with _replaced(package):
        for name in MODULES:
            try:
                importlib.import_module(f"ttnn.operations.{name}")
            except Exception as error:
                print(f"ttnn.operations.{name} is left out: {type(error).__name__}: {error}", file=sys.stderr)
    return goldens
