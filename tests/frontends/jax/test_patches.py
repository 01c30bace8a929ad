"""One file holds all patches of JAX, and every private name that it uses exists in the installed JAX."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import jax
import pytest

from tests.syntax import dotted
from tt_xla.frontends.jax import plugin

SOURCES = Path(__file__).parents[3] / "src"
PLUGIN = SOURCES / "tt_xla/frontends/jax/plugin.py"
FRAMEWORKS = ("jax", "jaxlib")


def resolves(path: str) -> bool:
    """Returns whether a dotted path names a module, or an attribute inside one."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[count:]:
            if not hasattr(value, attribute):
                return False
            value = getattr(value, attribute)
        return True
    return False


@pytest.mark.parametrize("name", plugin.JAX_PRIVATE_NAMES, ids=lambda name: name.path)
def test_private_names_exist_in_the_versions_that_the_list_says(name):
    assert resolves(name.path) == name.exists_in(jax.version.__version_info__)


def test_a_name_that_is_missing_does_not_resolve():
    assert not resolves("jax._src.compiler.no_such_name")
    assert not resolves("no_such_module.name")


def imported_names(tree: ast.AST) -> dict[str, str]:
    """Returns names bound by imports of JAX and jaxlib anywhere in a file, with the dotted path of each."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in FRAMEWORKS:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in FRAMEWORKS:
                    root = alias.name if alias.asname else alias.name.split(".")[0]
                    names[alias.asname or root] = root
    return names


def assigned_attributes(tree: ast.AST) -> list[str]:
    """Returns attribute chains that a file assigns to or deletes, also with ``setattr`` and ``delattr``."""
    chains = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            chains.append(dotted(node if isinstance(node, ast.Attribute) else node.value))
        elif isinstance(node, ast.Call) and dotted(node.func) in ("setattr", "delattr"):
            chains.append(f"{dotted(node.args[0])}.*")
    return chains


def patches(source: str) -> list[str]:
    """Returns the attributes of JAX and jaxlib that a file changes."""
    tree = ast.parse(source)
    names = imported_names(tree)
    return [chain for chain in assigned_attributes(tree) if chain.partition(".")[0] in names and "." in chain]


def test_no_other_file_changes_jax():
    texts = {str(path.relative_to(SOURCES)): path.read_text() for path in SOURCES.rglob("*.py")}
    assert {path for path, text in texts.items() if "jax" in text and patches(text)} == {
        "tt_xla/frontends/jax/plugin.py"
    }


@pytest.mark.parametrize(
    "source",
    [
        "from jax._src import compiler\ncompiler.backend_compile = None",
        "import jax\njax.config.x = 1",
        "import jax.numpy as jnp\nsetattr(jnp, 'ones', None)",
        "from jax._src.array import ArrayImpl\ndel ArrayImpl.__dlpack__",
        "from jax._src.interpreters import mlir\nmlir._lowerings['add'] = None",
    ],
)
def test_changes_of_jax_are_seen(source):
    assert patches(source)


def test_only_the_plugin_imports_private_modules_in_the_front_end():
    importers = set()
    for path in (SOURCES / "tt_xla/frontends/jax").rglob("*.py"):
        private = [name for name in imported_names(ast.parse(path.read_text())).values() if "jax._src" in name]
        if private:
            importers.add(path.name)
    assert importers == {"plugin.py"}


def test_every_private_name_of_the_plugin_is_listed():
    tree = ast.parse(PLUGIN.read_text())
    modules = {name: path for name, path in imported_names(tree).items() if path.startswith("jax._src")}
    chains = {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used = {
        f"{modules[root]}.{rest}" for root, _, rest in (chain.partition(".") for chain in chains) if root in modules
    }
    listed = tuple(name.path for name in plugin.JAX_PRIVATE_NAMES)
    assert used
    unlisted = {path for path in used if not path.startswith(listed) and not any(n.startswith(path) for n in listed)}
    assert not unlisted
