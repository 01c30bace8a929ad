"""``tt-xla reduce`` brings programs with planted faults down to the ops that fail, and writes a test and a report."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.testing.planting import plant
from tt_xla.compiler import parse_module
from tt_xla.errors import ExecutionError, OptionError
from tt_xla.options import CompileOptions
from tt_xla.publish import RECORD
from tt_xla.testing.reduction import edits
from tt_xla.testing.reduction.api import begin, check, program_of
from tt_xla.testing.reduction.failures import Failure, Outcome
from tt_xla.testing.reduction.graphs import Graph, count_ops, smallest
from tt_xla.testing.reduction.processes import Lost, Processes
from tt_xla.testing.reduction.recording import record
from tt_xla.testing.reduction.reducer import Reducer, Reduction, TrialRunner
from tt_xla.testing.reduction.report import FILE_NAMES, files
from tt_xla.testing.reduction.trials import Program, Reference, deviation
from tt_xla.tools.cli import cli

ELEMENTWISE = "tt_xla.compiler.stablehlo.elementwise"
ONE_TO_ONE = '    type_ = context.result_type(op)\n    if name == "stablehlo.power"'
FAULTS = f"""\
    if name == "stablehlo.cosine":
        raise ValueError(f"no cosine of {{op.operands[0].type}}")
    while name == "stablehlo.tanh":
        pass
    if name == "stablehlo.atan2":
        __import__("os").kill(__import__("os").getpid(), 6)
    if name == "stablehlo.cbrt":
        name = "stablehlo.sqrt"
        kind = ttir.ELEMENTWISE_OPS["sqrt"]
    if name == "stablehlo.log_plus_one":
        raise context.reject(op, "it is planted")
    if name == "stablehlo.floor":
        __import__("time").sleep(1.5)
{ONE_TO_ONE}"""
"""An error, a hang, a signal, wrong values, an op on the host, and slowness, each for one op."""


@pytest.fixture(scope="module")
def fault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("fault"), ELEMENTWISE, ONE_TO_ONE, FAULTS)


@pytest.fixture(scope="module")
def processes(fault: Path) -> Iterator[Processes]:
    with Processes(imports=[fault]) as processes:
        yield processes


def chain(op: str, length: int = 12) -> str:
    """Returns a program of several results in whose middle there is ``op``."""
    lines = [f"    %{number + 1} = stablehlo.add %{number}, %x : tensor<8x16xf32>" for number in range(length)]
    lines[length // 2] = f"    %{length // 2 + 1} = {op.replace('VALUE', f'%{length // 2}')} : tensor<8x16xf32>"
    return (
        "func.func @main(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {\n"
        "    %0 = stablehlo.abs %x : tensor<8x16xf32>\n"
        + "\n".join(lines)
        + f"\n    return %{length}, %2 : tensor<8x16xf32>, tensor<8x16xf32>\n}}"
    )


def reduced(processes: Processes, text: str, fails: str, limit: float | None = None) -> Reduction:
    runner = TrialRunner(processes, CompileOptions(), limit or 30.0, own_limit=limit is not None)
    program, failure = program_of(text), Failure.parse(fails)
    first = runner.outcome(program, failure)
    assert failure.shown_by(first), first.text
    reduction = begin(program, first, runner, failure)
    Reducer(reduction, runner, time.monotonic() + 300, lambda now: None).run()
    return reduction


@pytest.mark.parametrize(
    ("op", "fails", "ending"),
    [
        ("stablehlo.cosine VALUE", "crash", "error"),
        ("stablehlo.cosine VALUE", "crash|hang|differs", "error"),
        ("stablehlo.cosine VALUE", "error:no cosine", "error"),
        ("stablehlo.atan2 VALUE, %x", "crash", "signal"),
        ("stablehlo.cbrt VALUE", "differs>0.01", "ran"),
        ("stablehlo.cbrt VALUE", "pcc<0.999", "ran"),
        ("stablehlo.log_plus_one VALUE", "host op", "ran"),
        ("stablehlo.log_plus_one VALUE", "host op:log_plus_one", "ran"),
        pytest.param("stablehlo.floor VALUE", "compiles slower than 1.4 s", "ran", marks=pytest.mark.nightly),
    ],
)
def test_one_op_is_left(processes: Processes, op: str, fails: str, ending: str) -> None:
    reduction = reduced(processes, chain(op), fails)
    assert reduction.outcome.ending == ending
    assert reduction.ops == 1
    assert op.split()[0] in reduction.program.text
    assert reduction.ops_before == 13
    assert reduction.ended == ""


@pytest.mark.nightly
def test_a_hang_is_reduced(processes: Processes) -> None:
    reduction = reduced(processes, chain("stablehlo.tanh VALUE", 4), "hang", limit=2.0)
    assert reduction.outcome.text == "it takes more than 2 s"
    assert reduction.ops == 1


LOOP = """\
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>
   cond {
    %end = stablehlo.constant dense<6> : tensor<i32>
    %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.OP %a : tensor<4x4xf32>
    %t = stablehlo.multiply %s, %b : tensor<4x4xf32>
    %u = stablehlo.subtract %b, %a : tensor<4x4xf32>
    stablehlo.return %n, %t, %u : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  return %0#1, %0#2 : tensor<4x4xf32>, tensor<4x4xf32>
}
"""


def test_the_body_of_a_loop_replaces_the_loop(processes: Processes) -> None:
    reduction = reduced(processes, LOOP.replace("OP", "cosine"), "crash")
    assert reduction.ops == 1
    assert "stablehlo.while" not in reduction.program.text


@pytest.mark.nightly
def test_a_loop_that_is_needed_keeps_few_ops(tmp_path: Path) -> None:
    fault = plant(
        tmp_path,
        "tt_xla.compiler.stablehlo.control",
        "    counter = counter_of(op, context.values.by_source)\n    trip_count",
        '    if any(inner.name == "stablehlo.sine" for inner in walk(op.operation)):\n'
        '        raise ValueError("no loop over a sine")\n'
        "    counter = counter_of(op, context.values.by_source)\n    trip_count",
    )
    with Processes(imports=[fault]) as processes:
        reduction = reduced(processes, LOOP.replace("OP", "sine"), "crash")
    text = reduction.program.text
    assert "stablehlo.while" in text
    assert "stablehlo.multiply" not in text
    assert "stablehlo.subtract" not in text
    assert reduction.ops < count_ops(LOOP) - 3


def test_another_error_is_another_failure() -> None:
    failure = Failure.parse("crash").narrowed(Outcome("error", "ValueError: no sum of tensor<4x8xf32> at a.py:12"))
    assert failure.shown_by(Outcome("error", "ValueError: no sum of tensor<2xf32> at b.py:7"))
    assert not failure.shown_by(Outcome("error", "ValueError: no product of tensor<2xf32> at b.py:7"))
    assert not failure.shown_by(Outcome("error", "TypeError: no sum of tensor<4x8xf32> at a.py:12"))
    assert not failure.shown_by(Outcome("signal", "SIGSEGV"))
    assert not Failure.parse("crash").shown_by(Outcome("unknown", "ValueError: no sum"))


@pytest.mark.parametrize(
    ("fails", "outcome", "shown"),
    [
        ("crash:no sum", Outcome("error", "ValueError: no sum"), True),
        ("crash:no sum", Outcome("error", "ValueError: no product"), False),
        ("hang", Outcome("hang", "3 s"), True),
        ("hang", Outcome("ran"), False),
        ("differs", Outcome("ran", difference=0.5, pcc=0.98), True),
        ("differs", Outcome("ran", difference=0.5, pcc=float("nan")), True),
        ("differs", Outcome("ran", difference=0.5, pcc=0.999), False),
        ("differs > 1e-3", Outcome("ran", difference=0.002, pcc=1.0), True),
        ("differs>1e-3", Outcome("ran", difference=0.001, pcc=1.0), False),
        ("differs>1e-3", Outcome("ran", difference=float("inf"), pcc=1.0), True),
        ("differs>1e-3", Outcome("error", "ValueError"), False),
        ("pcc<0.9", Outcome("ran", difference=0.5, pcc=0.95), False),
        ("host op", Outcome("ran", host_ops=("stablehlo.fft",)), True),
        ("host op", Outcome("ran"), False),
        ("host op:fft", Outcome("ran", host_ops=("stablehlo.cholesky",)), False),
        ("slower than 2 s", Outcome("ran", compile_s=1.5, run_s=1.0), True),
        ("runs slower than 2 s", Outcome("ran", compile_s=3.0, run_s=1.0), False),
        ("compiles slower than 2 s", Outcome("ran", compile_s=3.0, run_s=1.0), True),
        ("slower than 2 s", Outcome("hang", "30 s"), True),
        ("hang|crash", Outcome("signal", "SIGABRT"), True),
    ],
)
def test_what_an_outcome_shows(fails: str, outcome: Outcome, shown: bool) -> None:
    assert Failure.parse(fails).shown_by(outcome) is shown


@pytest.mark.parametrize("text", ["", "crashes", "differs<1", "slower than two s", "crash|", "pcc>0.9"])
def test_unknown_failures_are_named_with_the_known_ones(text: str) -> None:
    with pytest.raises(OptionError, match="slower than 2 s"):
        Failure.parse(text)


def test_differences_are_relative_to_the_expected_result() -> None:
    golden = np.full(4, 200.0, np.float32)
    assert deviation([golden + np.float32(50)], [golden])[0] == 0.25
    assert deviation([np.array([0.5])], [np.array([0.0])])[0] == 0.5
    nan = np.array([1.0, np.nan, np.inf])
    assert deviation([nan], [nan])[0] == 0.0
    assert deviation([nan], [nan])[1] == 1.0
    assert deviation([np.array([np.nan, 1.0])], [np.array([1.0, 1.0])])[0] == float("inf")
    assert deviation([np.zeros(2)], [np.zeros(3)])[0] == float("inf")
    assert math.isnan(deviation([np.zeros(2)], [np.zeros(3)])[1])


def test_the_smallest_part_of_a_list() -> None:
    tried: list[list[int]] = []

    def test(part: list[int]) -> bool:
        tried.append(part)
        return {17, 93} <= set(part)

    assert smallest(range(200), test) == [17, 93]
    assert len(tried) < 120
    assert smallest([1, 2, 3], lambda part: True) == [1]
    assert smallest([1], lambda part: True) == [1]


def only(edit: edits.Edit, text: str, inputs: int = 1) -> list[str]:
    program = program_of(text)
    proposals = list(edit(program))
    for proposal in proposals:
        module = parse_module(proposal.text)
        arguments = module.body.operations[0].body.blocks[0].arguments
        shapes = [tuple(argument.type.shape) for argument in arguments]
        assert shapes == [array.shape for array in proposal.inputs]
    return [proposal.text for proposal in proposals]


def test_ops_that_are_left_out_become_arguments() -> None:
    program = program_of(chain("stablehlo.cosine VALUE", 4))
    graph = Graph(program)
    graph.learn(lambda values: [np.full((8, 16), number, np.float32) for number in range(5)])
    part = graph.keeping(graph.ops[2:4])
    assert part is not None
    assert count_ops(part.text) == 2
    assert [float(array.flat[0]) for array in part.inputs[:1]] == [1.0]
    assert graph.keeping([]) is None
    assert graph.needed(graph.ops, graph.ops[1].results) == graph.ops[:2]


def test_loops_branches_and_composites_give_way_to_their_ops() -> None:
    body, *others = only(edits.without_control_flow, LOOP.replace("OP", "sine"), 2)
    assert others == []
    assert count_ops(body) == 6  # with the constants of the counter, and its sum
    branches = only(
        edits.without_control_flow,
        """func.func @main(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = "stablehlo.case"(%i) ({
            %1 = stablehlo.sine %x : tensor<4xf32>
            stablehlo.return %1 : tensor<4xf32>
          }, {
            %1 = stablehlo.cosine %x : tensor<4xf32>
            stablehlo.return %1 : tensor<4xf32>
          }) : (tensor<i32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }""",
    )
    assert ["stablehlo.sine" in text for text in branches] == [True, False]
    composite = only(
        edits.without_control_flow,
        """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.composite "a.b" %x {decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }
        func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
          %0 = stablehlo.tanh %x : tensor<4xf32>
          return %0 : tensor<4xf32>
        }""",
    )
    assert [("composite" in text, "stablehlo.tanh" in text) for text in composite] == [(False, True)]


def test_loops_carry_fewer_values() -> None:
    texts = only(edits.without_carried_values, LOOP.replace("OP", "sine"), 2)
    assert [text.count("tensor<4x4xf32>, tensor<4x4xf32>\n") for text in texts[:2]] == [0, 0]
    assert len(texts) == 3  # also without its counter, although such a loop may not end


def test_sizes_types_and_arguments_become_plain() -> None:
    text = """func.func @main(%x: tensor<8x6xbf16>, %y: tensor<8x6xbf16>) -> tensor<4x6xbf16> {
      %0 = stablehlo.add %x, %y : tensor<8x6xbf16>
      %1 = stablehlo.slice %0 [0:4, 0:6] : (tensor<8x6xbf16>) -> tensor<4x6xbf16>
      return %1 : tensor<4x6xbf16>
    }"""
    sizes = only(edits.with_smaller_sizes, text)
    assert any("tensor<8x1xbf16>" in each for each in sizes)
    assert any("tensor<f32>" not in each and "xf32>" in each for each in only(edits.with_plain_types, text))
    (one,) = only(edits.with_fewer_arguments, text)
    assert one.count("%arg0") == 3
    plain = list(edits.with_plain_inputs(program_of(text)))
    assert [float(program.inputs[0].sum()) for program in plain[:2]] == [0.0, 48.0]
    constants = """func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
      %0 = stablehlo.constant dense<[1.0, 2.5, 3.5]> : tensor<3xf32>
      %1 = stablehlo.constant dense<40> : tensor<i32>
      %2 = stablehlo.add %x, %0 : tensor<3xf32>
      return %2, %1 : tensor<3xf32>, tensor<i32>
    }"""
    values = only(edits.with_plain_constants, constants)
    assert [
        next(value for value in ("<1.0", "<0.0", "<1>", "<2>", "<20>") if f"dense{value}" in each) for each in values
    ]
    broadcast = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.constant dense<2.5> : tensor<f32>
      %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %2 = stablehlo.add %x, %1 : tensor<3xf32>
      return %2 : tensor<3xf32>
    }"""
    (folded,) = only(edits.with_folded_constants, broadcast)
    assert count_ops(folded) == 2


def test_a_process_that_dies_or_hangs_is_replaced(processes: Processes) -> None:
    crash, runner = program_of(chain("stablehlo.atan2 VALUE, %x")), TrialRunner(processes, CompileOptions(), 20.0)
    assert runner.outcome(crash, Failure.parse("crash")).text == "its process was killed by SIGABRT"
    hang = program_of(chain("stablehlo.tanh VALUE"))
    assert runner.outcome(hang, Failure.parse("crash"), 0.5).text == "it takes more than 0.5 s"
    assert runner.outcome(program_of(chain("stablehlo.sine VALUE")), Failure.parse("crash")).ending == "ran"
    broken = Program("func.func @main() { nonsense }", ())
    assert runner.outcome(broken, Failure.parse("crash")).ending == "unknown"
    with pytest.raises(Lost):
        processes.run(Reference(broken), 5.0)


def test_errors_of_the_prepared_process_are_reported(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('no such thing')")
    with Processes(imports=[tmp_path / "broken.py"]) as processes, pytest.raises(ExecutionError, match="no such thing"):
        processes.run(None, 1.0)


def test_a_check_fails_as_long_as_the_fault_is_there(fault: Path) -> None:
    text = chain("stablehlo.cosine VALUE")
    with pytest.raises(AssertionError, match="no cosine of"):
        check(text, fails="crash", imports=[fault])
    check(text, fails="crash")


def test_the_report_has_what_somebody_else_needs(processes: Processes) -> None:
    reduction = reduced(processes, chain("stablehlo.cosine VALUE"), "crash")
    written = files(reduction, "chain", "tt-xla reduce chain.mlir", "versions", ["/home/fault.py"])
    test = written["test_reduced.py"].decode()
    assert len(test.splitlines()) < 25
    assert "check(MODULE, [np.full((1, 1), 0.0, np.float32)], fails='crash', imports=[Path('/home/fault.py')])" in test
    compile(test, "test_reduced.py", "exec")
    report = written["report.txt"].decode()
    for part in ("from 13 to 1 ops", "tt-xla reduce chain.mlir", "no cosine of tensor<8x16xf32>", "versions"):
        assert part in report
    with zipfile.ZipFile(__import__("io").BytesIO(written["report.zip"])) as archive:
        assert sorted(archive.namelist()) == sorted(written.keys() - {"report.zip"})


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "chain.mlir"
    path.write_text(chain("stablehlo.cosine VALUE"))
    return path


def test_the_command_writes_a_folder(module: Path, fault: Path) -> None:
    result = CliRunner().invoke(cli, ["reduce", str(module), "--import", str(fault), "--level", "1"])
    assert result.exit_code == 0, result.output
    assert "13 ops became 1 in" in result.output
    folder = module.parent / "chain-reduced"
    assert {path.name for path in folder.iterdir()} == {*FILE_NAMES, RECORD}
    assert "{'optimization_level': 1}" in (folder / "test_reduced.py").read_text()


def test_the_command_says_that_nothing_fails(module: Path) -> None:
    result = CliRunner().invoke(cli, ["reduce", str(module)])
    assert result.exit_code == 1
    assert "Nothing fails by 'crash|hang|differs'" in result.output
    assert [path.name for path in module.parent.iterdir()] == ["chain.mlir"]


def test_the_command_refuses_what_it_cannot_use(module: Path) -> None:
    wrong = CliRunner().invoke(cli, ["reduce", str(module), "--fails", "burns"])
    assert wrong.exit_code == 2
    assert "expected one or several" in wrong.output
    mine = module.with_name("report.txt")
    mine.write_text("mine")
    result = CliRunner().invoke(cli, ["reduce", str(module), "-o", str(module.parent)])
    assert "tt-xla did not write what is there, or it was changed since: report.txt" in str(result.exception)
    assert mine.read_text() == "mine"
    assert sorted(path.name for path in module.parent.iterdir()) == ["chain.mlir", "report.txt"]


@pytest.mark.nightly
def test_an_interrupt_keeps_the_smallest_program(module: Path, fault: Path) -> None:
    module.write_text(chain("stablehlo.tanh VALUE", 40))
    command = [sys.executable, "-m", "tt_xla", "reduce", str(module), "--import", str(fault), "--fails", "hang"]
    process = subprocess.Popen(
        [*command, "--limit", "3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background ignores it
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "chain.mlir fails: it takes more than 3 s" in line
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert "It ended early: it was interrupted." in output
    assert (module.parent / "chain-reduced" / "report.zip").exists()
    assert process.returncode == 0


SCRIPT = """
import sys
import jax, jax.numpy as jnp

x = jnp.arange(8.0)
print(jax.jit(jnp.sin)(x), jax.jit(lambda x: jnp.cos(x * float(sys.argv[1])) + 1)(x))
"""


def test_the_programs_of_a_script_are_recorded(tmp_path: Path, fault: Path) -> None:
    (tmp_path / "run.py").write_text(SCRIPT)
    (tmp_path / "programs").mkdir()
    recording = record(tmp_path / "programs", str(tmp_path / "run.py"), ["3"], 300.0, [fault])
    assert recording.ending == "exit status 1"
    assert "no cosine" in recording.output
    sine = next(each for each in recording.programs if "stablehlo.sine" in each.program.text)
    assert sine.program.inputs[0].tolist() == list(range(8))
    assert "stablehlo.cosine" in recording.programs[-1].program.text
    assert CompileOptions.parse(sine.options) == CompileOptions()


def test_a_script_that_compiles_nothing_is_told_where_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.py").write_text("raise ValueError('before anything')")
    result = CliRunner().invoke(cli, ["reduce", "run.py"])
    assert isinstance(result.exception, ExecutionError)
    assert "before anything" in str(result.exception)
    assert "TORCHDYNAMO_REPRO_AFTER=dynamo" in str(result.exception)
