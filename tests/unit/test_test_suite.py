"""Rules about the tests themselves: what an assertion may contain, and where test data comes from."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
CLOCKS = {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns", "time"}
ORDERINGS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


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
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert) and any(isinstance(child, ast.Or) for child in ast.walk(node.test))
    ]


def assertions_about_time(tree: ast.AST) -> list[int]:
    """Returns lines of assertions about durations, which fail on a busy machine.

    An assertion counts when it says that a time, or a variable that was computed from a time in the same file, is
    smaller or larger than something.
    """
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
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
        for assertion in ast.walk(tree)
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
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and isinstance(node.right, ast.Constant)
        and str(node.right.value).split("/")[0] in ("shared", "..")
    ]


def places(rule) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{line}" for path in FILES for line in rule(ast.parse(path.read_text()))]


def test_no_assertion_contains_or():
    assert places(assertions_with_or) == []


def test_no_assertion_is_about_time():
    assert places(assertions_about_time) == []


def test_no_test_needs_a_folder_beside_the_checkout():
    """Benchmarks may: `make bench` compares with a compiler that this repository does not hold."""
    assert [place for place in places(paths_beside_the_checkout) if place.startswith("tests/")] == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (assertions_with_or, "assert a or b"),
        (assertions_with_or, "assert not [x for x in y if x or z]"),
        (assertions_about_time, "import time\nassert time.monotonic() < 3"),
        (assertions_about_time, "import time\nstart = time.time()\nspent = time.time() - start\nassert spent < 2"),
        (paths_beside_the_checkout, "ROOT / 'shared' / 'reference'"),
        (paths_beside_the_checkout, "ROOT / '../shared/reference'"),
    ],
)
def test_each_rule_sees_what_it_forbids(rule, source):
    assert len(rule(ast.parse(source))) == 1
