"""The tool that changes lines to faults: its operators, drawing, selection, verdicts and tables."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.mutants import drawing, linemap, operators, recorder, running, sources, table
from tests.mutants.drawing import Mutant
from tests.mutants.linemap import LineMap, RecordedTest
from tests.mutants.running import Judge, Run, Server, Verdict
from tests.mutants.selection import Selection, Selector
from tests.mutants.sources import Source
from tests.mutants.tree import Tree

FILE = "src/tt_xla/cost/model.py"
needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in Python 3.12")


def source(text: str, file: str = FILE) -> Source:
    return Source(file, text)


def mutated(text: str, kind: str) -> list[str]:
    """Returns the valid programs that operators of a kind make of a text."""
    original = source(text)
    found = [each.edit for each in operators.mutations(original) if each.kind == kind]
    return [operators.apply(original, edit) for edit in found if operators.is_valid(original, edit)]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("comparison boundary", "x = a < b", ["x = a <= b"]),
        ("comparison boundary", "x = 0 <= a > b", ["x = 0 < a > b", "x = 0 <= a >= b"]),
        ("comparison negated", "x = a is not None", ["x = a is None"]),
        ("comparison negated", "x = (a) in (b)", ["x = (a) not in (b)"]),
        ("and/or", "x = a and (b or c)", ["x = a or (b or c)", "x = a and (b and c)"]),
        ("condition dropped", "x = a and b", ["x = True and b", "x = a and True"]),
        ("condition dropped", "x = (a or b)", ["x = (False or b)", "x = (a or False)"]),
        ("not dropped", "x = not (a or b)", ["x = (a or b)"]),
        ("sign dropped", "x = a[-1]", ["x = a[1]"]),
        ("True/False", "f(keep=True)", ["f(keep=False)"]),
        ("guard removed", "if a:\n    raise E", ["if False:\n    raise E"]),
        ("guard forced", "if a:\n    raise E", []),
        ("guard forced", "for a in b:\n    if a:\n        continue", ["for a in b:\n    if True:\n        continue"]),
        ("branch forced", "x = 1 if a else 2", ["x = 1 if True else 2", "x = 1 if False else 2"]),
        ("branch forced", "if a:\n    x = 1", ["if True:\n    x = 1", "if False:\n    x = 1"]),
        ("filter dropped", "x = [a for a in b if a > 1]", ["x = [a for a in b if True]"]),
        ("break/continue", "for a in b:\n    break", ["for a in b:\n    continue"]),
        ("arithmetic operator", "x = a + b", ["x = a - b"]),
        ("arithmetic operator", "x = a + b // c", ["x = a - b // c", "x = a + b * c", "x = a + b / c",
         "x = a + -(-b // c)"]),
        ("arithmetic operator", "x = 'a' + b", []),
        ("arithmetic operator", "x += a", ["x -= a"]),
        ("operands swapped", "x = a - b.c", ["x = b.c - a"]),
        ("operand dropped", "x = a + (b - c)", ["x = a", "x = (b - c)"]),
        ("constant", "x = a[0]", ["x = a[1]", "x = a[-1]"]),
        ("constant", "x = 32", ["x = 33", "x = 31"]),
        ("constant", "x = 1e-5", ["x = 2e-05"]),
        ("slice bound", "x = a[n:]", ["x = a[n + 1:]"]),
        ("slice bound", "x = a[:n]", ["x = a[:n - 1]", "x = a[1:n]"]),
        ("wrong attribute", "x = a.rows, a.columns", ["x = a.columns, a.columns", "x = a.rows, a.rows"]),
        ("wrong attribute", "x = a.rows", []),
        ("wrong variable", "def f(a: int, b: int, c: str):\n    return a, c", ["def f(a: int, b: int, c: str):\n"
         "    return b, c"]),
        ("wrong variable", "def f(max_row, max_column):\n    g(max_row)", ["def f(max_row, max_column):\n"
         "    g(max_column)"]),
        ("counterpart called", "x = min(a, b.max())", ["x = max(a, b.max())", "x = min(a, b.min())"]),
        ("call dropped", "x = sorted(a), b.copy()", ["x = list(a), b.copy()", "x = sorted(a), b"]),
        ("arguments swapped", "f(a, b, c.d)", ["f(b, a, c.d)"]),
        ("keyword argument dropped", "f(a, b=1, c=2)", ["f(a, c=2)", "f(a, b=1)"]),
        ("keyword argument dropped", "f(b=1)", ["f()"]),
        ("statement deleted", "def f(a):\n    a.b = 1\n    g(a)", ["def f(a):\n    pass\n    g(a)",
         "def f(a):\n    a.b = 1\n    pass"]),
        ("entry dropped", "T = {'a': 1, 'b': 2}", ["T = {'b': 2}", "T = {'a': 1}"]),
        ("entry dropped", "T = frozenset({a, b, c})", ["T = frozenset({b, c})", "T = frozenset({a, c})",
         "T = frozenset({a, b})"]),
        ("entry dropped", "def f():\n    return x in (a, b)", ["def f():\n    return x in (b,)",
         "def f():\n    return x in (a,)"]),
        ("entry dropped", "def f():\n    return {a, b}", []),
        ("values swapped", "T = {'a': 1, 'b': 2}", ["T = {'a': 2, 'b': 1}"]),
    ],
)  # fmt: skip
def test_each_kind_of_fault(kind, text, expected):
    assert mutated(text, kind) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""Returns 1 or 2."""',
        "def f(a: int | None = None) -> Literal[1, 2]: ...",
        "if TYPE_CHECKING:\n    x = 1",
        "__all__ = ['a', 'b']",
        "def f():\n    raise ValueError(f'{a + 1} of {b}', 3)",
        "def f():\n    assert a < b",
        "def f():\n    _log.debug('x', a + 1)",
        "def f():\n    warnings.warn('x', stacklevel=2)",
        "@functools.lru_cache(maxsize=64)\ndef f(): ...",
        "@click.option('--size', default=2)\ndef f(): ...",
        "@dataclass(frozen=True)\nclass A: ...",
        "_TIMEOUT_S = 3.0",
        "class A:\n    def __repr__(self):\n        return a + 1",
    ],
)
def test_places_without_a_fault(text):
    assert list(operators.mutations(source(text))) == []


def test_a_parameter_without_a_default_is_not_dropped():
    text = "class A:\n    x: int\n    y: int = 2\n\nvalue = A(x=a, y=b)"
    required = operators.required_parameters([source(text)])
    dropped = [each for each in operators.mutations(source(text), required) if each.kind == "keyword argument dropped"]
    assert [operators.apply(source(text), each.edit).splitlines()[-1] for each in dropped] == ["value = A(x=a)"]


def test_characters_of_several_bytes_shift_no_span():
    text = "x = 'µ·', a < b  # ≤\ny = 'ü' if a < b else c"
    assert mutated(text, "comparison boundary") == [
        text.replace("b  #", "b  #").replace("a < b  ", "a <= b  "),
        text.replace("if a < b", "if a <= b"),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "lines"),
    [
        ("if a < b:\n    x = 1\n    y = 2", "comparison boundary", (1, 1)),
        ("x = [\n    a,\n    b - c,\n]", "arithmetic operator", (1, 4)),
        ("for a in b - c:\n    x = a\n", "arithmetic operator", (1, 1)),
        ("def f(\n    a=b - c,\n):\n    return a", "arithmetic operator", (1, 2)),
    ],
)
def test_the_lines_of_a_statement(text, kind, lines):
    (mutation,) = [each for each in operators.mutations(source(text)) if each.kind == kind][:1]
    assert mutation.place.lines == lines


def test_packages():
    packages = [source("", f"src/tt_xla/{name}").package for name in ("a.py", "ir/a.py", "frontends/jax/b/a.py")]
    assert packages == ["tt_xla", "ir", "frontends/jax"]


# Drawing.

MODULE = "def f(a, b):\n    return a < b\n\n\ndef g(a):\n    return a + 1\n"


def test_shares_follow_the_lines_of_code():
    assert drawing.shares({"a": 700, "b": 200, "c": 90, "d": 10}, 10) == {"a": 7, "b": 2, "c": 1, "d": 0}


def test_a_seed_draws_the_same_mutants():
    known = {f"src/tt_xla/{name}/a.py": source(MODULE, f"src/tt_xla/{name}/a.py") for name in ("ir", "cost")}
    first, again, other = (drawing.draw(known, 4, seed) for seed in ("1", "1", "2"))
    assert first == again != other
    assert {mutant.package for mutant in first} == {"ir", "cost"}


def test_drawing_is_restricted_to_packages_and_lines():
    known = {f"src/tt_xla/{name}/a.py": source(MODULE, f"src/tt_xla/{name}/a.py") for name in ("ir", "cost")}
    assert {each.package for each in drawing.draw(known, 2, "1", ("ir",))} == {"ir"}
    changed = drawing.draw(known, 9, "1", (), {"src/tt_xla/cost/a.py": {6}})
    assert [(each.file, each.line) for each in changed] == [("src/tt_xla/cost/a.py", 6)]


def drawn(text: str, kind: str, number: int = 0, file: str = FILE) -> Mutant:
    original = source(text, file)
    return drawing.mutant(original, [each for each in operators.mutations(original) if each.kind == kind][number])


def test_a_mutant_shows_its_line_before_and_after():
    mutant = drawn(MODULE, "comparison boundary")
    assert (mutant.line, mutant.scope, mutant.old, mutant.new) == (2, "f", "return a < b", "return a <= b")


def test_a_long_line_is_shown_around_the_change():
    mutant = drawn(f"x = ({' + '.join(['abcdef'] * 30)}, a < b, {'c' * 90})", "comparison boundary")
    assert "a <= b" in mutant.new
    assert len(mutant.new) < 110


def test_a_mutant_is_found_again_where_its_line_has_moved():
    earlier = drawn(MODULE, "arithmetic operator")
    later = drawing.find({FILE: source("import math\n" + MODULE)}, earlier)
    assert later is not None
    assert (later.id, later.line, later.start) == (earlier.id, earlier.line + 1, earlier.start + len("import math\n"))
    assert drawing.find({FILE: source(MODULE.replace("a + 1", "a + 2"))}, earlier) is None
    assert drawing.find({}, earlier) is None


# The map and the selection.


def recorded(path, *records, text=MODULE):
    assert linemap.write(path, records, {FILE: source(text)}) == len({name for _, name, *_ in records} - {""})
    return LineMap(path)


TESTS = [
    ("test", "tests/unit/test_cost.py::test_f", 0.2, {"tt_xla/cost/model.py": [2]}),
    (
        "test",
        "tests/device/test_all.py::test_f[1]",
        0.1,
        {"tt_xla/cost/model.py": [2, 6], "tt_xla/b.py": [*range(900)]},
    ),
    ("test", "tests/device/test_all.py::test_f[2]", 0.05, {"tt_xla/cost/model.py": [6]}),
    ("child", "tests/device/test_all.py::test_f[2]", 0.0, {"tt_xla/cost/model.py": [2]}),
    ("test", "tests/device/test_other.py::test_g", 0.01, {"tt_xla/cost/model.py": [6]}),
]


def names_of(lines: LineMap, numbers) -> list[str]:
    return sorted(lines.tests[number].name.rpartition("::")[2] for number in numbers)


def test_the_map_knows_which_tests_execute_a_line(tmp_path):
    lines = recorded(tmp_path / "map", *TESTS)
    assert names_of(lines, lines.executing(source(MODULE), [2])) == ["test_f", "test_f[1]", "test_f[2]"]
    assert lines.executing(source(MODULE), [1]) == frozenset()


def test_the_map_follows_lines_that_moved(tmp_path):
    lines = recorded(tmp_path / "map", *TESTS)
    later = source("import math\n\n" + MODULE.replace("return a + 1", "return a + 2"))
    assert names_of(lines, lines.executing(later, [4])) == ["test_f", "test_f[1]", "test_f[2]"]
    assert lines.executing(later, [8]) == frozenset()


def test_tests_are_recorded_anew_in_a_map(tmp_path):
    lines = recorded(tmp_path / "map", *TESTS)
    later = source("import math\n" + MODULE)
    kept = list(lines.without(["tests/device"], {FILE: later}))
    assert [(name, seconds) for kind, name, seconds, _ in kept if kind == "test"] == [(TESTS[0][1], 0.2)]
    again = recorded(tmp_path / "again", *kept, text=later.text)
    assert names_of(again, again.executing(later, [3])) == ["test_f"]


def test_the_time_of_a_test_includes_its_processes(tmp_path):
    waited = [("test", "waited", 1.0, {}), ("reaped", "waited", 3.0, {}), ("child", "waited", 2.0, {})]
    served = [("test", "served", 1.0, {}), ("reaped", "served", 0.0, {}), ("child", "served", 2.0, {})]
    lines = recorded(tmp_path / "map", *waited, *served)
    assert {test.name: test.processor_s for test in lines.tests} == {"waited": 4.0, "served": 3.0}


def test_a_broken_record_ends_a_file(tmp_path):
    (tmp_path / "1.bin").write_bytes(b"\x40\0\0\0\0\0\0\0too short")
    assert list(linemap.records(tmp_path)) == []


def select(tmp_path, mutant: Mutant, text: str = MODULE, budget_s: float = 9.0) -> Selection:
    known = {FILE: source(text)}
    return Selector(recorded(tmp_path / "map", *TESTS, text=text), known).select(mutant, budget_s)


def test_tests_of_the_module_run_first_and_parameters_in_turn(tmp_path):
    selection = select(tmp_path, drawn(MODULE, "comparison boundary"))
    assert selection.reached
    assert [test.name.rpartition("/")[2] for test in selection.tests] == [
        "test_cost.py::test_f",
        "test_all.py::test_f[2]",
        "test_all.py::test_f[1]",
    ]


def test_the_budget_limits_the_tests(tmp_path):
    selection = select(tmp_path, drawn(MODULE, "comparison boundary"), budget_s=0.6)
    assert [test.name for test in selection.tests] == ["tests/unit/test_cost.py::test_f"]


def test_a_line_that_no_test_executes(tmp_path):
    text = MODULE.replace("    return a < b", "    if a:\n        return b < a\n    return a < b")
    selection = Selector(recorded(tmp_path / "map", *TESTS), {FILE: source(text)}).select(
        drawn(text, "comparison boundary"), 9.0
    )
    assert not selection.reached
    assert "tests/unit/test_cost.py::test_f" in {test.name for test in selection.tests}


def test_a_table_is_judged_by_the_tests_of_its_uses(tmp_path):
    text = "T = {'a': 1, 'b': 2}\n\n\ndef f():\n\n    return T\n"
    selection = select(tmp_path, drawn(text, "values swapped"), text)
    assert selection.reached
    assert len(selection.tests) == 3


def test_a_table_is_judged_by_the_tests_of_what_is_made_of_it(tmp_path):
    text = "T = {'a': 1, 'b': 2}\nU = {**T, 'c': 3}\n\ndef f():\n\n    return U\n"
    assert len(select(tmp_path, drawn(text, "values swapped"), text).tests) == 3


def test_a_function_of_an_import_is_judged_by_the_tests_of_its_module(tmp_path):
    text = "def f(a, b):\n    return a\n\ndef g(a):\n    return a\n    return a < 1\n"
    imported = ("collection", linemap.IMPORT, 1.0, {"tt_xla/cost/model.py": [6]})
    lines = recorded(tmp_path / "map", TESTS[0], imported, text=text)
    selection = Selector(lines, {FILE: source(text)}).select(drawn(text, "comparison boundary"), 9.0)
    assert (selection.reached, [test.name for test in selection.tests]) == (True, [TESTS[0][1]])


# Verdicts.


class FakeServer:
    """Fails the tests that are named, with a fault in the file or always."""

    def __init__(self, root, failing: str = "", unsound: str = "", outcome: str = "failed"):
        self._path = root / FILE
        self._path.parent.mkdir(parents=True)
        self._path.write_text(MODULE)
        self._failing, self._unsound, self._outcome = failing, unsound, outcome
        self.runs: list[tuple[bool, list[str]]] = []

    def run(self, tests: Sequence[RecordedTest]) -> Run:
        changed = self._path.read_text() != MODULE
        self.runs.append((changed, [test.name for test in tests]))
        run = Run()
        for test in tests:
            if test.name == self._unsound or (changed and test.name == self._failing):
                run.outcome, run.test = self._outcome, test.name
                break
            run.passed += 1
        return run

    def close(self) -> None: ...


def judged(root, server: FakeServer, names: str = "abc", reached: bool = True) -> Verdict:
    tests = [RecordedTest(name, 1.0, 1) for name in names]
    mutant = drawn(MODULE, "comparison boundary")
    verdict = Judge(root, server).judge(mutant, source(MODULE), Selection(reached, tests))
    assert (root / FILE).read_text() == MODULE
    return verdict


@pytest.mark.parametrize("outcome", ["failed", "hung", "crashed"])
def test_a_test_that_fails_with_the_fault_alone_kills(tmp_path, outcome):
    server = FakeServer(tmp_path, failing="b", outcome=outcome)
    verdict = judged(tmp_path, server)
    assert (verdict.outcome, verdict.how, verdict.test) == ("killed", outcome, "b")
    assert server.runs == [(True, ["a", "b", "c"]), (False, ["a", "b"])]


def test_a_test_that_always_fails_kills_nothing(tmp_path):
    verdict = judged(tmp_path, FakeServer(tmp_path, failing="c", unsound="b"))
    assert (verdict.outcome, verdict.test, verdict.unsound) == ("killed", "c", ["b"])
    verdict = judged(tmp_path / "other", FakeServer(tmp_path / "other", unsound="b"))
    assert (verdict.outcome, verdict.tests, verdict.unsound) == ("survived", 2, ["b"])


@pytest.mark.parametrize(("reached", "names", "outcome"), [(True, "ab", "survived"), (False, "ab", "not executed")])
def test_a_mutant_that_no_test_kills_is_alive(tmp_path, reached, names, outcome):
    verdict = judged(tmp_path, FakeServer(tmp_path), names, reached)
    assert (verdict.outcome, verdict.is_alive) == (outcome, True)


def test_a_verdict_is_read_as_it_was_written(tmp_path):
    verdict = judged(tmp_path, FakeServer(tmp_path, failing="b"))
    assert Verdict.from_line(verdict.as_line()) == verdict


def test_cheap_tests_run_first_and_files_stay_together():
    tests = [
        RecordedTest(name, seconds, 1) for name, seconds in (("a::1", 4.0), ("b::1", 4.0), ("a::2", 1.0), ("b::2", 9.0))
    ]
    assert [[test.name for test in batch] for batch in running.batches(tests)] == [["a::1", "a::2", "b::1"], ["b::2"]]


@pytest.mark.nightly
def test_a_fault_is_found_in_a_copy_of_the_repository(tmp_path):
    tree = Tree(tmp_path)
    tree.make()
    file = "src/tt_xla/ir/shapes.py"
    original = source((tree.root / file).read_text(), file)
    mutant = drawn(original.text, "guard removed", 0, file)
    judge = Judge(tree.root, Server(tree, "not nightly"))
    tests = [
        RecordedTest("tests/unit/test_shapes.py::test_broadcast_of_nothing_and_of_empty", 0.1, 9),
        RecordedTest("tests/unit/test_shapes.py::test_broadcast_is_numpys", 0.1, 9),
    ]
    try:
        verdict = judge.judge(mutant, original, Selection(True, tests))
        assert (verdict.outcome, verdict.test) == ("killed", tests[1].name)
        first = judge.judge(mutant, original, Selection(True, tests[:1]))
        assert (first.outcome, first.tests) == ("survived", 1)
    finally:
        judge.close()
    assert (tree.root / file).read_text() == original.text


# The tables.


def test_reasons_stay_when_the_table_is_written_again():
    first = drawn("def f(a, b):\n    return g(a | b, '`') < 1\n", "comparison boundary")
    second = drawn(MODULE, "comparison boundary")
    verdicts = [Verdict(first, "survived", tests=1200), Verdict(second, "not executed"), Verdict(second, "killed")]
    text = table.tables(verdicts, "1", {})
    assert "1 of 3 mutants are killed" in text
    assert "| cost | 3 | 1 | 1 | 1 |" in text
    explained = text.replace("not judged", "equivalent: b is never 1").replace("not reached", "needs a card")
    assert table.tables(verdicts, "1", table.kept_reasons(explained)) == explained


# The recorder.


@needs_monitoring
def test_the_lines_of_a_folder_are_recorded():
    code = compile("x = 0\nfor i in range(3):\n    x += i\nif x > 9:\n    x = 9\n", "/root/a.py", "exec")
    other = compile("y = 1\n", "/elsewhere/a.py", "exec")
    before = [sys.monitoring.get_tool(number) for number in range(6)]
    recorder.start("/root/")
    try:
        exec(code, {})
        exec(other, {})
        exec(code, {})
        assert recorder.take() == {"a.py": [1, 2, 3, 4]}
        exec(code, {})
        assert recorder.take() == {}
        sys.monitoring.restart_events()
        exec(code, {})
        assert recorder.take() == {"a.py": [1, 2, 3, 4]}
    finally:
        recorder.stop()
    assert [sys.monitoring.get_tool(number) for number in range(6)] == before


@needs_monitoring
def test_the_lines_of_children_are_kept_though_they_are_killed(tmp_path):
    """The child executes a file, forks, and kills both processes."""
    module, records = tmp_path / "src/tt_xla/a.py", tmp_path / "records"
    module.parent.mkdir(parents=True)
    records.mkdir()
    module.write_text("def f(x):\n    if x:\n        return 1\n    return 2\n")
    shutil.copy(recorder.__file__, tmp_path / "mutants_recorder.py")
    settings = {"root": f"{tmp_path / 'src'}/", "records": str(records)}
    (tmp_path / "mutants_recorder.json").write_text(json.dumps(settings))
    script = (
        "import os, signal, runpy, mutants_recorder\n"
        "mutants_recorder.child()\n"
        f"f = runpy.run_path({str(module)!r})['f']\n"
        "child = os.fork()\n"
        "f(bool(child))\n"
        "child and os.waitpid(child, 0)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTEST_CURRENT_TEST": "tests/test_a.py::test_f (call)", "PYTHONPATH": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode == -signal.SIGKILL
    found = [(kind, test, lines) for kind, test, _, lines in linemap.records(records)]
    expected = [{"tt_xla/a.py": [1, 2, 3]}, {"tt_xla/a.py": [2, 4]}]
    assert sorted(found, key=str) == [("child", "tests/test_a.py::test_f", lines) for lines in expected]


def test_sources_are_those_of_the_package(tmp_path):
    for name in ("src/tt_xla/ir/a.py", "src/tt_jax/b.py", "tests/c.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(MODULE)
    assert {file: each.package for file, each in sources.read(tmp_path).items()} == {"src/tt_xla/ir/a.py": "ir"}
