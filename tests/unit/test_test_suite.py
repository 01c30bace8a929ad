"""Rules about the tests themselves: what an assertion may contain, and where test data comes from."""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path for folder in ("tests", "benchmarks", "conformance", "docs") for path in (ROOT / folder).rglob("*.py")
)
CLOCKS = {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns", "time"}
Rule = Callable[[ast.AST], list[int]]
ORDERINGS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
OURS = ("tt_xla", "tt_torch", "tt_jax", "tracy", "tests", "benchmarks", "conformance")
"""Packages whose private names a test may not use. Names of others are judged by the code that needs them."""
NAMES_OF_OTHERS = {
    "_VARIANTS": "a class of model loaders, in upstream's form, lists its variants",
    "_base": "torch.Tensor: the tensor that a view shows a part of",
    "_flatten": "torch's DeviceMesh: the mesh with several axes as one",
    "_get_shared_fd": "torch.UntypedStorage: the file of a storage in shared memory",
    "_import_hook": "the .pth file of an installation imports this module, and so do scripts of tests",
    "_replace": "a named tuple with other fields; its documentation has it",
    "_variant": "a model loader, in upstream's form, knows its variant",
}
"""Names that sources of ours have too, and that tests use of somebody else."""


@functools.lru_cache(maxsize=8)
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Returns the nodes of a file, which all rules look at."""
    return tuple(ast.walk(tree))


def names_in(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def reads_clock(node: ast.AST) -> bool:
    """Returns whether an expression calls a function of module ``time`` that returns the time."""
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in CLOCKS
        and names_in(call.func) == {"time"}
        for call in ast.walk(node)
    )


def assertions_with_or(tree: ast.AST) -> list[int]:
    """Returns lines of assertions that contain ``or``: such an assertion passes although one side of it never holds."""
    return [
        node.lineno
        for node in nodes_of(tree)
        if isinstance(node, ast.Assert) and any(isinstance(child, ast.Or) for child in ast.walk(node.test))
    ]


def assertions_about_time(tree: ast.AST) -> list[int]:
    """Returns lines of assertions about durations, which fail on a busy machine.

    An assertion counts when it says that a time, or a variable that was computed from a time in the same file, is
    smaller or larger than something.
    """
    assignments = [node for node in nodes_of(tree) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    timed: set[str] = set()
    while True:
        derived = {
            name.id
            for node in assignments
            if reads_clock(node.value) or names_in(node.value) & timed
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        }
        if derived <= timed:
            break
        timed |= derived
    return [
        assertion.lineno
        for assertion in nodes_of(tree)
        if isinstance(assertion, ast.Assert)
        and any(
            isinstance(comparison, ast.Compare)
            and any(isinstance(operator, ORDERINGS) for operator in comparison.ops)
            and (reads_clock(comparison) or names_in(comparison) & timed)
            for comparison in ast.walk(assertion.test)
        )
    ]


def paths_beside_the_checkout(tree: ast.AST) -> list[int]:
    """Returns lines that build a path with a folder ``shared``, which a clone does not have."""
    return [
        node.lineno
        for node in nodes_of(tree)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and isinstance(node.right, ast.Constant)
        and str(node.right.value).split("/")[0] in ("shared", "..")
    ]


@functools.cache
def names_in_sources() -> frozenset[str]:
    """Returns the names with one underscore in front that the package defines."""
    definition = re.compile(r"(?:\bdef |\bclass |\bself\.|^\s*)(_[A-Za-z]\w*)", re.MULTILINE)
    texts = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    return frozenset(name for text in texts for name in definition.findall(text)) - NAMES_OF_OTHERS.keys()


def is_private(name: str) -> bool:
    """Returns whether a name is private to the package. Names such as ``_repr_html_`` belong to protocols."""
    return name in names_in_sources() and not name.endswith("_")


def is_call_of(methods: tuple[str, ...], node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods


def imports_in(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yields the line of each import, the name that it binds, and the dotted name of what it imports."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.asname or alias.name.split(".")[0], alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)
        elif isinstance(node, ast.Assign) and is_call_of(("importorskip",), node.value):
            yield node.lineno, ast.unparse(node.targets[0]), str(ast.literal_eval(node.value.args[0]))


def scripts_in(tree: ast.AST) -> Iterator[tuple[int, ast.AST]]:
    """Yields the Python that stands in strings, such as scripts that a test runs, with the line of each."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            try:
                yield node.lineno, ast.parse(textwrap.dedent(node.value))
            except SyntaxError:
                continue


def pieces_of_text(tree: ast.AST) -> set[ast.AST]:
    """Returns string constants that are a part of a longer text: in f-strings, and as its beginning or end."""
    return {
        constant
        for node in nodes_of(tree)
        if isinstance(node, ast.JoinedStr) or is_call_of(("endswith", "startswith"), node)
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant)
    }


def private_names(tree: ast.AST) -> list[int]:
    """Returns lines that use a private name of the package, which hold back whoever changes how it does something.

    A use is an import, an attribute of anything but ``self``, or a string, as ``monkeypatch.setattr`` takes it.
    """

    def of_module(dotted: str) -> bool:
        """Returns whether a dotted name goes through something private in a package of ours."""
        package, *parts = dotted.split(".")
        return package in OURS and any(re.match("_[^_]", part) and part not in NAMES_OF_OTHERS for part in parts)

    imports, pieces = [*imports_in(tree)], pieces_of_text(tree)
    others = {name for _, name, dotted in imports if dotted.split(".")[0] not in OURS}
    lines = [line for line, script in scripts_in(tree) if private_names(script)]
    lines += [line for line, _, dotted in imports if of_module(dotted)]
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            receiver = ast.unparse(node.value)
            is_own = receiver in ("self", "cls", "super()")
            lines += [] if is_own or receiver.split(".")[0] in others else [node.lineno]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in pieces:
            lines += [node.lineno] if is_private(node.value) or of_module(node.value) else []
    return lines


RULES = (assertions_with_or, assertions_about_time, paths_beside_the_checkout, private_names)


@functools.cache
def findings() -> dict[Rule, list[str]]:
    """Returns the places that break each rule. A file is read once, and its tree is dropped before the next one."""
    found: dict[Rule, list[str]] = {rule: [] for rule in RULES}
    for path in FILES:
        tree = ast.parse(path.read_text())
        for rule, places in found.items():
            places += [f"{path.relative_to(ROOT)}:{line}" for line in rule(tree)]
    return found


def test_no_assertion_contains_or():
    assert findings()[assertions_with_or] == []


def test_no_assertion_is_about_time():
    assert findings()[assertions_about_time] == []


def test_no_test_needs_a_folder_beside_the_checkout():
    """Benchmarks may: `make bench` compares with a compiler that this repository does not hold."""
    assert [place for place in findings()[paths_beside_the_checkout] if place.startswith("tests/")] == []


def test_no_test_uses_a_private_name():
    assert [place for place in findings()[private_names] if not place.startswith("tests/unit/test_test_suite.py")] == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (assertions_with_or, "assert a or b"),
        (assertions_with_or, "assert not [x for x in y if x or z]"),
        (assertions_about_time, "import time\nassert time.monotonic() < 3"),
        (assertions_about_time, "import time\nstart = time.time()\nspent = time.time() - start\nassert spent < 2"),
        (paths_beside_the_checkout, "ROOT / 'shared' / 'reference'"),
        (paths_beside_the_checkout, "ROOT / '../shared/reference'"),
        (private_names, "from tt_xla.frontends.torch import processes\nprocesses._STORES"),
        (private_names, "from tt_xla.runtime.mesh.workers import _sets"),
        (private_names, "import tt_xla.frontends.jax.pjrt._trampoline"),
        (private_names, "executable.worker._running.process.wait()"),
        (private_names, "monkeypatch.setattr(processes, '_STORES', None)"),
        (private_names, "pytest.importorskip('tt_xla.frontends.jax.pjrt._trampoline')"),
        (private_names, "run_python('import tt_xla; print(workers._sets)')"),
    ],
)
def test_each_rule_sees_what_it_forbids(rule, source):
    assert len(rule(ast.parse(source))) == 1
