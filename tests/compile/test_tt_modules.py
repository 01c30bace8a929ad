"""Modules of TTIR and TTNN text are compiled, run and written as source, like StableHLO."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from tt_xla.compiler import compile_module, read_module
from tt_xla.errors import CompileError, MalformedModuleError, ResourceExhaustedError, UnsupportedOpError
from tt_xla.ir.program import Program, Role
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target
from tt_xla.tools.cli import cli

pytestmark = [pytest.mark.usefixtures("golden_programs"), pytest.mark.quick]

EXAMPLE = """
module attributes {} {
func.func @forward(%arg0: tensor<64x128xbf16>, %arg1: tensor<64x128xbf16>, %arg2: tensor<64x128xbf16>,
                   %arg3: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %0 = ttir.empty() : tensor<64x128xbf16>
  %1 = "ttir.add"(%arg0, %arg1, %0)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %2 = ttir.empty() : tensor<64x128xbf16>
  %3 = "ttir.add"(%arg2, %arg3, %2)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %4 = ttir.empty() : tensor<64x128xbf16>
  %5 = "ttir.add"(%1, %3, %4)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %6 = ttir.empty() : tensor<64x128xbf16>
  %7 = "ttir.relu"(%5, %6) : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %7 : tensor<64x128xbf16>
}
}
"""
"""The graph that tt-explorer's documentation gives to try out."""

STABLEHLO = """
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x48xf32> {ttcore.argument_type = "parameter"})
    -> (tensor<32x48xf32>, tensor<32xi32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  %1 = stablehlo.tanh %0 : tensor<32x48xf32>
  %c = stablehlo.constant dense<1> : tensor<32xi32>
  return %1, %c : tensor<32x48xf32>, tensor<32xi32>
}
"""


def compiled(text: str | bytes, level: int = 0, dumps: dict[str, str] | None = None) -> Program:
    options = CompileOptions.parse({"optimization_level": level})
    return compile_module(read_module(text, trusted=True), options, load_target("n150"), dumps=dumps)


def run(program: Program, *inputs: torch.Tensor) -> list[torch.Tensor]:
    return get_device().load(program).run(list(inputs), [None] * len(inputs))


def run_text(text: str, *inputs: torch.Tensor) -> torch.Tensor:
    (result,) = run(compiled(text), *inputs)
    return result


def floats(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_the_example_graph_of_tt_explorer() -> None:
    inputs = [floats(64, 128, seed=seed).bfloat16() for seed in range(4)]
    one, two, three, four = inputs
    expected = torch.relu((one + two) + (three + four))
    torch.testing.assert_close(run_text(EXAMPLE, *inputs), expected, rtol=0.01, atol=0.02)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("stage", ["ttir", "ttnn"])
def test_a_dump_gives_the_program_that_it_was_dumped_from(stage: str, level: int) -> None:
    dumps: dict[str, str] = {}
    program = compiled(STABLEHLO, level, dumps)
    later: dict[str, str] = {}
    again = compiled(dumps[stage], level, later)
    assert again.arguments == program.arguments
    assert again.results == program.results
    assert again.predicted_device_us == pytest.approx(program.predicted_device_us)
    assert again.memory == program.memory
    assert list(later) == {"ttir": ["ttir", "ttnn"], "ttnn": ["ttnn"]}[stage]
    inputs = floats(32, 64), floats(64, 48, seed=1)
    for one, other in zip(run(program, *inputs), run(again, *inputs), strict=True):
        assert torch.equal(one, other)


def test_ttnn_keeps_its_layouts_and_frees_its_tensors() -> None:
    dumps: dict[str, str] = {}
    program = compiled(STABLEHLO, 2, dumps)
    freeing = re.sub(r'^.*"ttnn\.deallocate".*\n', "", dumps["ttnn"], flags=re.MULTILINE)
    again = compiled(freeing, 0)
    assert [step.op for step in again.functions[0].body] == [step.op for step in program.functions[0].body]
    assert again.functions[0].values == program.functions[0].values


ADD = "tensor<2x3xf32>, tensor<2x3xf32>"
OLDER = {
    "ttir.empty": ("%o = ttir.empty() : tensor<2x3xf32>", "", f"{ADD}, tensor<2x3xf32>", "%a, %b, %o"),
    "tensor.empty": ("%o = tensor.empty() : tensor<2x3xf32>", "", f"{ADD}, tensor<2x3xf32>", "%a, %b, %o"),
    "segments": (
        "%o = tensor.empty() : tensor<2x3xf32>",
        "<{operandSegmentSizes = array<i32: 2, 1>}>",
        f"{ADD}, tensor<2x3xf32>",
        "%a, %b, %o",
    ),
    "constraints": (
        "%o = tensor.empty() : tensor<2x3xf32>",
        "<{operandSegmentSizes = array<i32: 2, 1>, operand_constraints = [#tt.operand_constraint<any>]}>",
        f"{ADD}, tensor<2x3xf32>",
        "%a, %b, %o",
    ),
    "any destination": ("", "", f"{ADD}, tensor<2x3xf32>", "%a, %b, %a"),
    "today's": ("", "", ADD, "%a, %b"),
}


@pytest.mark.parametrize("form", OLDER)
def test_older_forms_of_an_op(form: str) -> None:
    empty, properties, types, operands = OLDER[form]
    text = f"""
func.func @f(%a: tensor<2x3xf32> {{tt.argument_type = #tt.argument_type<parameter>}}, %b: tensor<2x3xf32>)
    -> tensor<2x3xf32> {{
  {empty}
  %0 = "ttir.subtract"({operands}) {properties} : ({types}) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}}"""
    a, b = floats(2, 3), floats(2, 3, seed=1)
    program = compiled(text)
    assert [argument.role for argument in program.arguments] == [Role.PARAMETER, Role.INPUT]
    assert torch.equal(run(program, a, b)[0], a - b)


def test_older_forms_of_ops_with_groups_of_operands() -> None:
    text = """
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<8x6xf32>) {
  %0 = ttir.empty() : tensor<4x6xf32>
  %1 = "ttir.linear"(%a, %b, %c, %0) <{transpose_a = false, transpose_b = false}>
    : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = ttir.empty() : tensor<4x6xf32>
  %3 = "ttir.matmul"(%a, %b, %2) : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = tensor.empty() : tensor<8x6xf32>
  %5 = "ttir.concat"(%1, %3, %4) <{dim = 0 : si32}>
    : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  return %1, %5 : tensor<4x6xf32>, tensor<8x6xf32>
}"""
    a, b, c = floats(4, 8), floats(8, 6, seed=1), floats(6, seed=2)
    linear, both = run(compiled(text), a, b, c)
    torch.testing.assert_close(linear, a @ b + c, rtol=0.02, atol=0.05)
    torch.testing.assert_close(both, torch.cat([a @ b + c, a @ b]), rtol=0.02, atol=0.05)


def test_element_types_of_the_source() -> None:
    text = """
func.func @f(%a: tensor<5xi32>, %b: tensor<5xf32>) -> (tensor<5xi32>, tensor<5xi1>, tensor<5xi64>) {
  %0 = "ttir.constant"() <{value = dense<[1, -2, 3, 4, 2147483647]> : tensor<5xi32>}> : () -> tensor<5xi32>
  %1 = "ttir.maximum"(%a, %0) : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
  %2 = "ttir.constant"() <{value = dense<[true, false, true, false, true]> : tensor<5xi1>}> : () -> tensor<5xi1>
  %3 = "ttir.typecast"(%b) : (tensor<5xf32>) -> tensor<5xi1>
  %4 = "ttir.logical_and"(%2, %3) : (tensor<5xi1>, tensor<5xi1>) -> tensor<5xi1>
  %5 = "ttir.typecast"(%1) : (tensor<5xi32>) -> tensor<5xi64>
  return %1, %4, %5 : tensor<5xi32>, tensor<5xi1>, tensor<5xi64>
}"""
    program = compiled(text)
    assert [result.dtype for result in program.results] == ["i32", "i1", "i64"]
    largest, truth, wide = run(program, torch.tensor([0, 0, 5, 5, 0]).int(), torch.tensor([0.5, 2, 0, 0, -3]))
    assert largest.tolist() == wide.tolist() == [1, 0, 5, 5, 2147483647]
    assert truth.tolist() == [True, False, False, False, True]


def test_calls_and_const_eval_functions_are_inlined() -> None:
    text = """
module { ttcore.device_module { builtin.module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x1>]>} {
func.func private @forward_const_eval_0(%w: tensor<2x2xf32>) -> tensor<2x2xf32>
    attributes {tt.function_type = "const_eval"} {
  %0 = "ttir.exp"(%w) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func private @twice(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = "ttir.add"(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func private @unused() -> tensor<2x2xf32> {
  %0 = "ttir.zeros"() <{shape = array<i32: 2, 2>}> : () -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func @forward(%x: tensor<2x2xf32>, %w: tensor<2x2xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>})
    -> tensor<2x2xf32> {
  %0 = ttcore.load_cached(@forward_const_eval_0, [%w]) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = func.call @twice(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = "ttir.multiply"(%0, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
}}}"""
    program = compiled(text)
    assert [function.name for function in program.functions] == ["forward", "forward_const_eval_0"]
    x, w = floats(2, 2), floats(2, 2, seed=1)
    torch.testing.assert_close(run(program, x, w)[0], w.exp() * (x + x), rtol=0.01, atol=0.01)


def _function(line: str, result: str = "tensor<2x3xf32>") -> str:
    return f"func.func @main(%a: tensor<2x3xf32>) -> {result} {{\n  {line}\n  return %0 : {result}\n}}"


REFUSED = {
    "unknown op": (
        _function('%0 = "ttir.pooling"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>'),
        MalformedModuleError,
        r"line 2, column \d+: no op is named 'ttir\.pooling'",
    ),
    "wrong shape": (
        _function('%0 = "ttir.relu"(%a) : (tensor<2x3xf32>) -> tensor<2x4xf32>', "tensor<2x4xf32>"),
        MalformedModuleError,
        r"line 2, column 3: 'ttir\.relu' op: result has shape \(2, 4\), expected \(2, 3\)",
    ),
    "too few operands": (
        _function('%0 = "ttir.matmul"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>'),
        MalformedModuleError,
        "line 2, column 3: 'ttir.matmul' op: .*2 operands",
    ),
    "use before the op": (
        _function(
            '%0 = "ttir.relu"(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n'
            '  %1 = "ttir.exp"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>'
        ),
        MalformedModuleError,
        r"line 2, column 3: 'ttir\.relu' op: operand 0 is the result of a later 'ttir\.exp' op",
    ),
    "deep nesting": (
        _function(f'%0 = "ttir.relu"(%a) {{a = {"[" * 4000}{"]" * 4000}}} : (tensor<2x3xf32>) -> tensor<2x3xf32>'),
        MalformedModuleError,
        "nested too deeply",
    ),
    "no lowering": (
        _function('%0 = "ttir.cumprod"(%a) <{dim = 0 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>'),
        UnsupportedOpError,
        r"'ttir\.cumprod'.* At <module>:2:3\.",
    ),
    "cut off": (_function("%0 = ttir.empty() : tensor<2x3xf32>")[:-9], MalformedModuleError, r"line \d, column \d"),
    "element type": (
        _function('%0 = "ttir.relu"(%a) : (tensor<2x3xf32>) -> tensor<2x3xi128>', "tensor<2x3xi128>"),
        CompileError,
        "i128",
    ),
    "both dialects": (
        _function(
            '%1 = "ttir.relu"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n'
            '  %0 = "ttnn.relu"(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>'
        ),
        MalformedModuleError,
        "mixes TTIR and TTNN|layout",
    ),
    "several functions": (
        "".join(
            _function('%0 = "ttir.relu"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>').replace("main", name) + "\n"
            for name in ("one", "two")
        ),
        MalformedModuleError,
        "exactly one public function with a body, found: @one, @two",
    ),
    "function without body": (
        "func.func private @on_host(tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        + _function(
            '%1 = "ttir.relu"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n'
            "  %0 = func.call @on_host(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>"
        ),
        UnsupportedOpError,
        "@on_host has no body",
    ),
    "calls itself": (
        _function(
            '%1 = "ttir.relu"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n'
            "  %0 = func.call @main(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>"
        ),
        MalformedModuleError,
        "@main calls itself: main -> main",
    ),
    "several chips": (
        'module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>} {\n'
        + _function('%0 = "ttir.relu"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>')
        + "\n}",
        CompileError,
        r"mesh \(1, 2\) of 2 chips",
    ),
    "axis outside the mesh": (
        'module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>} {\n'
        + _function(
            '%0 = "ttir.all_reduce"(%a) <{reduce_type = #ttcore.reduce_type<sum>, cluster_axis = 2 : ui32}>'
            " : (tensor<2x3xf32>) -> tensor<2x3xf32>"
        )
        + "\n}",
        MalformedModuleError,
        "'ttir.all_reduce' has cluster_axis 2; expected one that fits the mesh 1x2",
    ),
    "parts of another mesh": (
        'module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x2>]>} {\n'
        + _function(
            '%1 = "ttir.all_gather"(%a) <{all_gather_dim = 0 : si32, cluster_axis = 1 : ui32}>'
            " : (tensor<2x3xf32>) -> tensor<8x3xf32>\n"
            '  %0 = "ttir.slice_static"(%1) <{begins = [0 : i32, 0 : i32], ends = [2 : i32, 3 : i32],'
            " step = [1 : i32, 1 : i32]}> : (tensor<8x3xf32>) -> tensor<2x3xf32>"
        )
        + "\n}",
        MalformedModuleError,
        "'ttir.all_gather' makes or joins 4 parts along cluster_axis 1",
    ),
    "convolution of integers": (
        """func.func @main(%x: tensor<1x6x6x4xsi32>, %w: tensor<4x4x3x3xsi32>) -> tensor<1x6x6x4xsi32> {
  %0 = "ttir.conv2d"(%x, %w) <{stride = array<i32: 1, 1>, padding = array<i32: 1, 1, 1, 1>,
    dilation = array<i32: 1, 1>, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 1 : i64, width_dim = 2 : i64,
    channel_dim = 3 : i64}> : (tensor<1x6x6x4xsi32>, tensor<4x4x3x3xsi32>) -> tensor<1x6x6x4xsi32>
  return %0 : tensor<1x6x6x4xsi32>
}""",
        UnsupportedOpError,
        "'ttir.conv2d' has elements of type si32; TT-NN convolves f32 and bf16",
    ),
    "not UTF-8": ("\udcff".join(["// ttir\n  ", '\n%0 = "ttir.relu"']), MalformedModuleError, "line 2, column 3"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_where(case: str) -> None:
    text, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        compiled(text.encode("utf-8", "surrogateescape"))


def mutated(text: str, generator: random.Random) -> str:
    """Returns a text with one to three words left out, doubled, swapped with another one, or changed."""
    words = re.findall(r'[\w.]+|[<>(){}\[\],:=%#@!"]|\s+', text)
    for _ in range(generator.randint(1, 3)):
        index, other = generator.randrange(len(words)), generator.randrange(len(words))
        replacement = generator.choice(["", words[index] * 2, words[other], "0", "-1", "99999999", "f32", "x", '"'])
        words[index] = replacement
    return "".join(words)[: generator.choice([None, None, None, generator.randrange(1, len(text))])]


def fuzz(count: int, seed: int) -> int:
    """Compiles mutated texts of both dialects, and returns how many are refused."""
    generator = random.Random(seed)
    dumps: dict[str, str] = {}
    compiled(STABLEHLO, 1, dumps)
    texts = [EXAMPLE, *(re.sub(r"ttcore\.device @.*", "", dumps[stage]) for stage in ("ttir", "ttnn"))]
    refused = 0
    for index in range(count):
        try:
            compiled(mutated(texts[index % len(texts)], generator))
        except (CompileError, ResourceExhaustedError):
            refused += 1
    return refused


def test_mutated_texts_are_compiled_or_refused() -> None:
    assert 30 < fuzz(120, seed=0) <= 120


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_mutated_texts_are_compiled_or_refused(seed: int) -> None:
    assert fuzz(1500, seed) > 300


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "graph.txt"
    path.write_text(EXAMPLE)
    return path


def test_the_command_compiles_text(example: Path, tmp_path: Path) -> None:
    outcome = CliRunner().invoke(cli, ["compile", str(example), "--json", "--out", str(tmp_path / "out")])
    assert outcome.exit_code == 0, outcome.output
    shown = json.loads(outcome.stdout)
    assert shown["ttir"] == {"ttir.add": 3, "ttir.relu": 1}
    assert shown["predicted_device_us"] > 0
    assert sorted(path.name.split("_")[0] for path in (tmp_path / "out" / "irs").iterdir()) == ["ttir", "ttnn"]


def test_the_command_generates_source_from_text(example: Path, tmp_path: Path) -> None:
    outcome = CliRunner().invoke(cli, ["codegen", str(example), "-o", str(tmp_path / "out")])
    assert outcome.exit_code == 0, outcome.output
    source = (tmp_path / "out" / "main.py").read_text()
    assert source.count("ttnn.add(") == 3
    assert "graph.txt:" in source


def test_the_command_runs_text(example: Path, tmp_path: Path) -> None:
    inputs = [floats(64, 128, seed=seed).bfloat16() for seed in range(4)]
    np.savez(tmp_path / "inputs.npz", *(tensor.float().numpy() for tensor in inputs))
    arguments = ["run", str(example), "--inputs", str(tmp_path / "inputs.npz"), "--out", str(tmp_path / "results.npz")]
    outcome = CliRunner().invoke(cli, [*arguments, "--json"])
    assert outcome.exit_code == 0, outcome.output
    shown = json.loads(outcome.stdout)
    expected = run_text(EXAMPLE, *inputs).float().numpy()
    with np.load(tmp_path / "results.npz") as results:
        assert np.array_equal(results["arr_0"], expected)
    assert shown["results"] == [{"shape": [64, 128], "dtype": "bf16", "first": expected.reshape(-1)[:6].tolist()}]
    assert shown["predicted_device_us"] == compiled(EXAMPLE).predicted_device_us


def test_random_arguments_depend_on_the_seed(example: Path) -> None:
    shown = [CliRunner().invoke(cli, ["run", str(example), "--seed", seed]).stdout for seed in ("0", "0", "1")]
    rows = [text.splitlines()[1] for text in shown]
    assert rows[0] == rows[1] != rows[2]


def test_the_command_takes_results_of_one_program(example: Path) -> None:
    outcome = CliRunner().invoke(cli, ["run", str(example), str(example), "--out", "x.npz"])
    assert outcome.exit_code == 2
    assert "single program" in outcome.output
