"""Rules about the repository itself."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]


def _modules():
    """Returns the path of each module below ``src`` by its dotted name."""
    paths = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        names = path.relative_to(ROOT / "src").with_suffix("").parts
        paths[".".join(names[:-1] if names[-1] == "__init__" else names)] = path
    return paths


def _python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("module", ["tt_xla", "tt_xla.runtime", "tt_xla.compiler", "tt_xla.tools.cli", "tt_xla.target"])
def test_import_is_light(module):
    """Heavy libraries are imported when something needs them, not before."""
    heavy = _python(f"import {module}, sys; print([m for m in ('torch', 'jax', 'xdsl', 'numpy') if m in sys.modules])")
    assert heavy.strip() == "[]"


def test_import_order():
    run = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout


def _imports(tree, modules):
    """Yields the modules of ``src`` that a syntax tree imports, also inside functions; ``TYPE_CHECKING`` is skipped."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for statement in node.orelse:
                yield from _imports(statement, modules)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from {name if name in modules else node.module for name in names} & modules.keys()
        yield from _imports(node, modules)


def test_modules_import_each_other_one_way():
    """import-linter sees layers; this also sees circles within a package and imports inside functions."""
    modules = _modules()
    graph = networkx.DiGraph()
    for module, path in modules.items():
        tree = ast.parse(path.read_text())
        graph.add_edges_from((module, imported) for imported in _imports(tree, modules) if imported != module)
    groups = networkx.strongly_connected_components(graph)
    assert {frozenset(group) for group in groups if len(group) > 1} == set()


def test_files_stay_readable():
    long = [path for path in _modules().values() if len(path.read_text().splitlines()) > 600]
    assert not long


def test_one_module_passes_addresses_of_tensors_to_cpp():
    """Another may ask for the address of a storage, to find out who owns it."""
    addresses = re.compile(r"(?<!untyped_storage\(\))\.data_ptr\b")
    runtime = {name: path for name, path in _modules().items() if name.startswith("tt_xla.runtime.")}
    passing = {name for name, path in runtime.items() if addresses.search(path.read_text())}
    assert passing == {"tt_xla.runtime.emulator.fused.calls"}


def test_properties_are_read_as_fields():
    """``op.value(name)`` is for names that are computed; a literal name is read as ``op.<field>``, which is typed."""
    literal = re.compile(r"""\.value\(\s*["']""")
    assert not [module for module, path in _modules().items() if literal.search(path.read_text())]


def test_one_module_reads_the_environment():
    """Every variable is declared in ``environment.ENVIRONMENT``, which ``tt-xla info`` and the documents list."""
    access = re.compile(r"\bos\.(environ|getenv|putenv|unsetenv)\b|from os import .*(environ|getenv)")
    readers = {module for module, path in _modules().items() if access.search(path.read_text())}
    assert readers == {"tt_xla.environment"}


TABLES_OF_ELEMENT_TYPES = {
    "tt_xla.ir.base",  # xDSL's types, which ir/element_types.py does not import.
    "tt_xla.codegen.host_ops",  # Scripts for an interpreter that does not have this package.
    "tt_xla.codegen.worker",
    "tt_xla.compiler.stablehlo.bits",  # Bits of exponent and mantissa that the chip keeps.
}


def test_element_types_have_one_table():
    """Names and sizes of element types are columns of ``ir/element_types.py``."""
    row = re.compile(r"""DataType\.F32\s*: |["']f32["']\s*: |["']float32["']\s*: """)
    assert {module for module, path in _modules().items() if row.search(path.read_text())} == TABLES_OF_ELEMENT_TYPES


def _calls(path, names):
    """Yields the line and the keywords of each call ``torch.NAME(...)``."""
    for node in ast.walk(ast.parse(path.read_text())):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "torch" and function.attr in names:
            yield node.lineno, {keyword.arg for keyword in node.keywords}


FACTORIES = {"arange", "empty", "eye", "full", "linspace", "ones", "rand", "randn", "tensor", "zeros"}


def test_the_runtime_does_not_depend_on_the_default_dtype():
    """What a user sets by torch.set_default_dtype must not change what a card computes."""
    paths = (ROOT / "src" / "tt_xla" / "runtime").rglob("*.py")
    calls = ((path, *call) for path in paths for call in _calls(path, FACTORIES))
    assert [f"{path.name}:{line}" for path, line, keywords in calls if "dtype" not in keywords] == []


def test_no_module_makes_a_tensor_when_it_is_imported():
    """It would be a fake one, for ever, in a process that imports the module while a fake mode is active."""
    made = []
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text())
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
        called_later = {node.lineno for function in functions for node in ast.walk(function) if hasattr(node, "lineno")}
        made += [(path.name, line) for line, _ in _calls(path, FACTORIES) if line not in called_later]
    assert made == []


def test_locks_work_in_forked_processes():
    """A lock of module ``threading`` that another thread holds stays taken in a forked process for ever."""
    others = ROOT / "src" / "tt_xla" / "tools"
    locks = re.compile(r"threading\.R?Lock\(")
    paths = [path for path in (ROOT / "src").rglob("*.py") if path.name != "locks.py" and others not in path.parents]
    assert [path.name for path in paths if locks.search(path.read_text())] == []


def test_packages_that_threads_import_import_none_of_their_modules():
    """A thread that imports ``a.b`` waits for ``a`` only where ``a.b`` asks for it: then both may wait for ever."""
    for package in ("emulator", "emulator/fast", "emulator/fused", "emulator/kernels", "emulator/bit_exact"):
        tree = ast.parse((ROOT / "src" / "tt_xla" / "runtime" / package / "__init__.py").read_text())
        assert [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)] == [], package
