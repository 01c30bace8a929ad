"""``--serialize`` and filecheck markers, tested in runs of pytest inside this run."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tt_xla.errors import OutputError
from tt_xla.testing import artifacts, run_op_test

pytest_plugins = "pytester"


@pytest.fixture(scope="module", autouse=True)
def _imported():
    """Imports torch first: modules that a run of pytester imports are unloaded afterwards, and torch cannot be
    reloaded."""
    torch = pytest.importorskip("torch")
    with artifacts.recording(None) as compilations:
        run_op_test(lambda x: torch.relu(x), [torch.ones(4)])
    assert [compilation.modules for compilation in compilations] == [{}]


TESTS = """
import logging, pytest, torch
from tt_xla.testing import TorchModelTester, run_op_test

class MyOp(torch.nn.Module):
    def forward(self, x):
        return x + x

class Two(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        torch._dynamo.graph_break()
        return y * 2

def test_my_op(request):
    run_op_test(MyOp(), [torch.randn(32, 32)], request=request)

@pytest.mark.parametrize("op", [Two()], ids=["two graphs, (32, 32)"])
def test_pieces(op, request):
    run_op_test(op, [torch.randn(32, 32)], request=request)

@pytest.mark.filecheck(["add.ttnn.mlir", "add.ttir.mlir"])
def test_checked(request):
    run_op_test(MyOp(), [torch.randn(32, 32)], request=request)

@pytest.mark.filecheck(["subtract.ttnn.mlir"])
def test_no_match(request):
    run_op_test(MyOp(), [torch.randn(32, 32)], request=request)

@pytest.mark.filecheck(["missing.ttnn.mlir", "add.llvm.mlir"])
def test_missing(request):
    run_op_test(MyOp(), [torch.randn(32, 32)], request=request)

class MyModelTester(TorchModelTester):
    def _get_model(self):
        return MyOp()

    def _get_input_activations(self):
        return torch.randn(32, 32)

@pytest.fixture
def model_tester():
    return MyModelTester()

@pytest.mark.filecheck(["add.ttnn.mlir"])
def test_my_model(model_tester: MyModelTester, request):
    model_tester.test(request=request)

@pytest.mark.filecheck("add.ttnn.mlir")
def test_not_a_list(request):
    run_op_test(MyOp(), [torch.randn(32, 32)], request=request)

@pytest.mark.filecheck(["add.ttnn.mlir"])
def test_forgets_request():
    run_op_test(MyOp(), [torch.randn(32, 32)])

@pytest.mark.filecheck(["add.ttnn.mlir"])
def test_skips():
    pytest.skip("not here")

def test_logs():
    logging.getLogger("torch.__trace").debug("")
    logging.getLogger("mine").warning("look here")
    assert False

@pytest.mark.filecheck(["add.ttnn.mlir"])
def test_wrong(request):
    run_op_test(lambda x: x if x.device.type == "tt" else -x, [torch.randn(32, 32)], request=request)
"""
PATTERNS = {
    "add.ttnn.mlir": (
        '// CHECK-LABEL: func.func {{.*}}@main\n// CHECK: [[SUM:%.*]] = "ttnn.add"\n// CHECK-NOT: ttnn.multiply\n'
    ),
    "add.ttir.mlir": "// CHECK: {{ttir\\.add}}\n",
    "subtract.ttnn.mlir": "// CHECK: func.func\n// CHECK: ttnn.subtract\n",
    "add.llvm.mlir": "// CHECK: add\n",
}


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # keeps other plugins from being imported in each run
    pytester.makepyfile(test_ops=TESTS)
    for name, text in PATTERNS.items():
        path = pytester.path / "tests/filecheck" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(*args):
        return pytester.runpytest_inprocess("-p", "tt_xla.testing.plugin", "--strict-markers", *args)

    return run


def names(pytester):
    root = pytester.path / "output_artifact"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_serialize(run, pytester):
    run("test_ops.py::test_my_op", "--serialize").assert_outcomes(passed=1)
    paths = names(pytester)
    assert [name for name in paths if "/" not in name] == [
        "test_my_op.ttnn",
        "test_my_op_ttir.mlir",
        "test_my_op_ttnn.mlir",
    ]
    assert len([name for name in paths if name.startswith("test_my_op/")]) == 3
    assert "ttir.add" in (pytester.path / "output_artifact/test_my_op_ttir.mlir").read_text()
    assert "ttnn.add" in (pytester.path / "output_artifact/test_my_op_ttnn.mlir").read_text()
    from tt_xla.ir.program import Program

    Program.from_bytes((pytester.path / "output_artifact/test_my_op.ttnn").read_bytes())


def test_each_graph_has_files(run, pytester):
    run("test_ops.py", "-k", "test_pieces", "--serialize").assert_outcomes(passed=1, deselected=10)
    paths = [name for name in names(pytester) if name.startswith("test_pieces_two_graphs_32_32/")]
    assert len(paths) == 6


def test_nothing_is_written_unasked(run, pytester):
    run("test_ops.py::test_my_op").assert_outcomes(passed=1)
    assert not (pytester.path / "output_artifact").exists()


def test_models_are_serialized_and_checked(run, pytester):
    run("test_ops.py::test_my_model").assert_outcomes(passed=1)
    assert "ttnn.add" in (pytester.path / "output_artifact/test_my_model_ttnn.mlir").read_text()


def test_patterns_that_match(run):
    result = run("test_ops.py::test_checked", "-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*Running FileCheck for add.ttnn IR:", "  Pattern: *", "  IR file: *"])
    result.stdout.fnmatch_lines(["✓ FileCheck PASSED for add.ttir*"])


def test_a_failure_shows_the_pattern_its_line_and_the_ir(run):
    result = run("test_ops.py::test_no_match")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*AssertionError: FileCheck failed for pattern 'subtract.ttnn':*", "*subtract.ttnn.mlir:2:*", "*ttnn.add*"]
    )


def test_missing_files_are_told(run):
    result = run("test_ops.py::test_missing")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Pattern file not found: missing.ttnn.mlir.*", "*No IR file found for type 'llvm'*"])


def test_a_marker_takes_a_list(run):
    result = run("test_ops.py::test_not_a_list")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*filecheck got 'add.ttnn.mlir'; expected one list of names*"])


def test_a_marked_test_must_check_something(run):
    result = run("test_ops.py::test_forgets_request", "test_ops.py::test_skips")
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["The test is marked filecheck, but no IR was checked. Give it the fixture `request`*"])


def test_records_of_trace_files_are_not_shown(run):
    result = run("test_ops.py::test_logs")
    result.stdout.fnmatch_lines(["*look here*"])
    result.stdout.no_fnmatch_line("*torch.__trace:*")


def test_a_wrong_result_leaves_nothing(run, pytester):
    run("test_ops.py::test_wrong").assert_outcomes(failed=1)
    assert not (pytester.path / "output_artifact").exists()


def test_names_of_files():
    assert artifacts.sanitized("test_add[(32, 32)-a/b:c]") == "test_add_32_32_a_b_c"


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    from tt_xla.compiler.recording import Compilation
    from tt_xla.ir.program import Program

    class Kept:
        def to_bytes(self) -> bytes:
            return b""

    def full(*_):
        raise OSError(28, "No space left on device")

    program: Program = Kept()  # type: ignore[assignment]
    monkeypatch.setattr(artifacts, "publish", full)
    with pytest.raises(OutputError, match=r"cannot be written under .*: No space left on device"):
        artifacts.write("test", [Compilation("main", {"ttir": "", "ttnn": ""}, program)], Path(tmp_path))
    with pytest.raises(OutputError, match="compiled nothing"):
        artifacts.write("test", [], tmp_path)


def test_the_plugin_is_registered_and_light():
    import subprocess
    import sys
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert "tt_xla.testing.plugin" in project["entry-points"]["pytest11"].values()
    code = "import pytest, sys; had = {*sys.modules}; import tt_xla.testing.plugin; print(*{*sys.modules} - had)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"torch", "jax", "numpy", "xdsl", "yaml", "ruamel.yaml", "rich", "click", "msgspec"}
    assert not heavy & set(loaded)


@pytest.mark.parametrize(("pattern", "fits"), [("ttnn.add", True), ("ttnn.mul", False)])
def test_filecheck_by_llvms_name(tmp_path, pattern, fits):
    scripts = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["FileCheck"].partition(":")
    (tmp_path / "ir.mlir").write_text('%0 = "ttnn.add"(%x, %x)\n')
    (tmp_path / "pattern.mlir").write_text(f'// CHECK: "{pattern}"\n')
    code = f"import sys; from {module} import {name}; sys.exit({name}())"
    arguments = [sys.executable, "-c", code, tmp_path / "pattern.mlir", "--input-file", tmp_path / "ir.mlir"]
    assert (subprocess.run(arguments, capture_output=True, check=False).returncode == 0) == fits
