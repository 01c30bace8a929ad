"""One folder uses the private APIs of PyTorch, and every name that it replaces still exists."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import tt_torch
import tt_xla
from tests.syntax import dotted
from tt_xla.frontends.torch import private
from tt_xla.frontends.torch.private import (
    accelerator,
    aot_cache,
    dynamo_patches,
    patches,
    rng_regions,
    stamping,
    storages,
    xla_type,
)
from tt_xla.frontends.torch.private.names import PARTS

SOURCES = [Path(tt_xla.__file__).parent, Path(tt_torch.__file__).parent]
PRIVATE = Path(private.__file__).parent
OUTSIDE_OF_THE_FRONTEND = {
    "runtime/torch_state.py": {"torch._C", "torch.utils._python_dispatch"},
    "runtime/ownership.py": {"torch._C"},
}
"""Private names that other folders use. The runtime may not import a frontend, but turns gradients off in each run and
counts the owners of a storage, also for JAX; public functions serve where PyTorch lacks those of torch._C."""


def _private_names(tree: ast.AST) -> set[str]:
    """Returns the private names of torch that a module imports or reaches as attributes of torch."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute):
            names.add(dotted(node))
    return {name for name in names if _is_private(name)}


def _is_private(name: str) -> bool:
    first, *rest = name.split(".")
    public_ops = rest[:1] == ["ops"]
    return (
        first == "torch" and not public_ops and any(part.startswith("_") and not part.startswith("__") for part in rest)
    )


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import torch._dynamo", {"torch._dynamo"}),
        ("from torch._C import DispatchKey", {"torch._C.DispatchKey"}),
        ("from torch import _ops", {"torch._ops"}),
        ("torch.nn.attention._validate(x)", {"torch.nn.attention._validate"}),
        ("torch.ops.aten._softmax(x); torch.__version__; self._x; import torch.fx", set()),
    ],
)
def test_private_names_are_recognised(source, names):
    assert _private_names(ast.parse(source)) == names


def test_private_names_of_torch_are_used_in_one_folder():
    outside = {}
    for folder in SOURCES:
        for path in folder.rglob("*.py"):
            text = path.read_text()
            if not path.is_relative_to(PRIVATE) and "torch" in text and (names := _private_names(ast.parse(text))):
                outside[path.relative_to(folder).as_posix()] = names
    assert outside == OUTSIDE_OF_THE_FRONTEND


def _taken_names(path: Path) -> set[str]:
    """Returns the private names that a module takes within ``names_of``; members of a class count with the class."""
    tree, names = ast.parse(path.read_text()), set[str]()
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    full = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    for block in ast.walk(tree):
        is_block = isinstance(block, ast.With) and "names_of" in ast.dump(block.items[0])
        for node in [child for statement in block.body for child in ast.walk(statement)] if is_block else []:
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Assign | ast.Expr) and isinstance(node.value, ast.Attribute):
                first, _, rest = dotted(node.value).partition(".")
                names.add(f"{full.get(first, first)}.{rest}")
    return {name for name in names if _is_private(name)}


@pytest.mark.parametrize("name", sorted(PARTS))
def test_the_table_has_the_names_that_modules_take(name):
    listed, taken = set(PARTS[name].names), _taken_names(PRIVATE / f"{name}.py")
    assert taken - listed == set()
    assert listed - taken == set()


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules([str(PRIVATE)])])
def test_every_private_name_exists(name):
    module = importlib.import_module(f"{private.__name__}.{name}")
    assert [missing for missing in getattr(module, "__all__", ()) if not hasattr(module, missing)] == []


def test_every_replaced_name_is_one_of_pytorch():
    """Looks the names up in a process in which nothing is replaced."""
    code = ["import importlib, torch", "missing = []"]
    replacing = (patches, dynamo_patches, accelerator, aot_cache, rng_regions, stamping, storages, xla_type)
    for owner, name in [pair for module in replacing for pair in module.REPLACED]:
        if isinstance(owner, str):
            module, _, attribute = owner.rpartition(".")
        else:
            module, attribute = (owner.__module__, owner.__name__) if isinstance(owner, type) else (owner.__name__, "")
        code += [f"owner = importlib.import_module({module!r})"]
        code += [f"owner = getattr(owner, {attribute!r})"] if attribute else []
        code += [f"missing += [] if hasattr(owner, {name!r}) else [(str(owner), {name!r})]"]
    code += ["import sys", "assert 'tt_xla.frontends' not in sys.modules and not missing, missing"]
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    subprocess.run([sys.executable, "-c", "\n".join(code)], check=True, env=environment)


def test_importing_torch_imports_neither_jax_nor_dynamo():
    code = "import sys, torch; torch.device('tt'); print(sorted({'jax', 'torch._dynamo'} & {*sys.modules}))"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert output.strip() == "[]"
