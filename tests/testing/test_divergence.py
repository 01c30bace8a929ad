"""``tt-xla compare`` finds the part with an injected fault, reports it, and writes it to files."""

import dataclasses
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from tt_xla.compiler import pipeline
from tt_xla.compiler.rewriting import Change, pattern, replace_with
from tt_xla.compiler.ttir import fuse
from tt_xla.compiler.ttir.match import UNARY
from tt_xla.errors import MalformedModuleError, OptionError
from tt_xla.options import CompileOptions
from tt_xla.publish import RECORD
from tt_xla.testing import ComparisonConfig, PccConfig
from tt_xla.testing.divergence import bisect, check_module
from tt_xla.testing.divergence.bisect import Bisection
from tt_xla.testing.divergence.float32 import Float32Copies
from tt_xla.testing.divergence.instructions import compare_instructions
from tt_xla.testing.divergence.modules import Source, widened
from tt_xla.testing.divergence.parts import Error, Golden, compare_parts
from tt_xla.testing.divergence.runs import on_card, on_cpu, random_inputs
from tt_xla.testing.divergence.subjects import of_file, of_model
from tt_xla.tools.cli import cli

pytest_plugins = "pytester"

TEXT = """
#first = loc("model.py":10:4)
#second = loc("model.py":12:4)
#third = loc("model.py":14:4)
module @m {
  func.func public @main(%arg0: tensor<32x64xbf16> {ttcore.argument_type = #ttcore.argument_type<input>},
      %arg1: tensor<64x64xbf16> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<32x64xbf16> {
    %half = stablehlo.constant dense<5.000000e-01> : tensor<32x64xbf16>
    %0 = stablehlo.multiply %arg0, %half : tensor<32x64xbf16> loc(#first)
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0]
        : (tensor<32x64xbf16>, tensor<64x64xbf16>) -> tensor<32x64xbf16> loc(#second)
    %2 = func.call @activation(%1) : (tensor<32x64xbf16>) -> tensor<32x64xbf16> loc(#third)
    return %2 : tensor<32x64xbf16>
  }
  func.func private @activation(%arg0: tensor<32x64xbf16>) -> tensor<32x64xbf16> {
    %0 = stablehlo.exponential %arg0 : tensor<32x64xbf16> loc(#third)
    return %0 : tensor<32x64xbf16>
  }
}
"""
# With four bits per weight, the correlation of a product is 0.995.
LOSSY = {"experimental_weight_dtype": "bfp_bf4"}
REQUIRED = 0.999
STAGES = pipeline.TTIR_STAGES


@pytest.fixture
def inputs():
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(np.float32) * 0.2 for shape in ((32, 64), (64, 64))]


@pytest.fixture
def files(tmp_path, inputs):
    (tmp_path / "model.mlir").write_text(TEXT)
    np.savez(tmp_path / "inputs.npz", *inputs)
    return tmp_path


def test_parts_have_names_lines_and_results():
    source = Source(TEXT)
    parts = source.parts("op")
    assert [part.name for part in parts] == ["stablehlo.multiply", "stablehlo.dot_general", "stablehlo.exponential"]
    assert [part.location for part in parts] == ["model.py:10:4", "model.py:12:4", "model.py:14:4"]
    assert [part.result_types for part in parts] == ["32x64xbf16"] * 3
    module, values = source.module_of(parts[1].ops, parts[1].results)
    assert len(values) == 2
    assert "argument_type<parameter>" in str(module)  # makes the argument a weight
    assert "stablehlo.multiply" not in str(module)


def test_layers_begin_where_the_source_goes_back():
    again = TEXT.replace(
        "return %2", "%3 = stablehlo.multiply %2, %half : tensor<32x64xbf16> loc(#first)\n    return %3"
    )
    parts = Source(again).parts("layer")
    assert [len(part.ops) for part in parts] == [3, 1]
    assert parts[0].name == "3 ops, stablehlo.multiply to stablehlo.exponential"


def test_widened_computes_in_float32(inputs):
    module, _ = _whole()
    assert "bf16" not in str(widened(module))
    x, weights = inputs
    np.testing.assert_allclose(on_cpu(module, inputs)[0], np.exp(x * 0.5 @ weights), rtol=1e-4)


def _whole():
    source = Source(TEXT)
    return source.module_returning(source.returned)


def test_first_and_worst(inputs):
    source = Source(TEXT)
    comparison = compare_parts(source, inputs, CompileOptions.parse(LOSSY), source.parts("op"), required=REQUIRED)
    assert not comparison.passed
    assert comparison.first is comparison.worst
    assert comparison.first.part.name == "stablehlo.dot_general"
    assert comparison.first.part.location == "model.py:12:4"
    multiply, _, exponential = comparison.rows
    assert multiply.alone.pcc == 1
    assert exponential.alone.pcc > 0.999  # right by itself
    assert exponential.running.pcc < REQUIRED  # wrong because of its input
    good = compare_parts(source, inputs, CompileOptions.parse({}), source.parts("op"), required=REQUIRED)
    assert good.passed
    assert good.first is None


def test_a_part_that_cannot_be_compiled_is_told():
    text = """
    func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = stablehlo.add %arg0, %arg0 : tensor<4x4xf32>
      %1 = "stablehlo.cholesky"(%0) {lower = true} : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("model.py":7:1)
      return %1 : tensor<4x4xf32>
    }"""
    source = Source(text)
    options = CompileOptions.parse({"host_fallback": False})
    comparison = compare_parts(source, [np.eye(4, dtype=np.float32)], options, source.parts("op"))
    assert not comparison.passed
    assert "cholesky" in comparison.failure
    assert comparison.first.part.location == "model.py:7:1"
    assert "cholesky" in comparison.first.failure
    assert comparison.rows[0].alone.pcc == 1


def test_by_format_finds_the_format(inputs):
    module, _ = _whole()
    trials = Bisection(module, inputs, on_cpu(module, inputs), CompileOptions.parse(LOSSY)).by_format()
    assert bisect.verdict(trials, REQUIRED).startswith(
        "The number formats are the cause. Each of these is enough to agree: weights as given;"
    )
    assert trials[-1].error.relative < 1e-4
    assert all(trial.error is not None for trial in trials)
    trials = Bisection(module, inputs, on_cpu(module, inputs), CompileOptions.parse({})).by_format()
    assert bisect.verdict(trials, REQUIRED) == "The program agrees with float32 on the CPU."


def test_by_fusion_finds_a_wrong_stage(inputs, monkeypatch):
    def wrong(module, options, target):
        for op in module.walk():
            if op.name == "ttir.multiply":
                op.results[0].replace_all_uses_with(op.operands[0])

    stages = [
        dataclasses.replace(stage, run=wrong) if stage.name == "ttir-fuse" else stage for stage in pipeline.TTIR_STAGES
    ]
    monkeypatch.setattr(pipeline, "TTIR_STAGES", tuple(stages))
    module, _ = _whole()
    trials = {trial.label: trial for trial in Bisection(module, inputs, on_cpu(module, inputs), _exact()).by_fusion()}
    assert trials["as it is"].error.relative > 0.1
    assert trials["without ttir-fuse"].error.relative < 1e-2
    assert trials["without ttnn-fuse"].error.relative > 0.1
    assert "without ttnn-choose-layouts" not in trials  # the stage does not run at level 0
    verdict = bisect.verdict(Bisection(module, inputs, on_cpu(module, inputs), _exact()).by_format(), 0.9999)
    assert "the compiler is the cause" in verdict


def test_the_rewrite_that_is_wrong_is_found(inputs, monkeypatch):
    @pattern(UNARY["exp"])
    def exp_is_sigmoid(op, rewriter):
        replace_with(rewriter, op, UNARY["sigmoid"], [op.operands[0]])

    monkeypatch.setattr(fuse, "PATTERNS", (*fuse.PATTERNS, exp_is_sigmoid))
    module, _ = _whole()
    culprit = Bisection(module, inputs, on_cpu(module, inputs), _exact()).first_change()
    (change,) = culprit.changes
    assert str(change) == "exp_is_sigmoid on ttir.exp at model.py:14:4 in ttir-fuse"
    assert culprit.before.relative < 1e-2 < 0.1 < culprit.after.relative
    assert 1 <= culprit.position <= culprit.total


def test_right_rewrites_are_not_blamed(inputs):
    module, _ = _whole()
    assert Bisection(module, inputs, on_cpu(module, inputs), _exact()).first_change() is None


def test_a_stage_without_patterns_is_found_whole(inputs, monkeypatch):
    def wrong(module, options, target):
        for op in module.walk():
            if op.name == "ttnn.exp":
                op.results[0].replace_all_uses_with(op.operands[0])

    stages = [
        dataclasses.replace(stage, run=wrong) if stage.name == "ttnn-hoist-const-eval" else stage
        for stage in pipeline.TTNN_STAGES
    ]
    monkeypatch.setattr(pipeline, "TTNN_STAGES", tuple(stages))
    module, _ = _whole()
    culprit = Bisection(module, inputs, on_cpu(module, inputs), _exact()).first_change()
    assert [str(change) for change in culprit.changes] == ["ttnn-hoist-const-eval"]


def test_a_bisection_goes_around_what_does_not_compile(inputs, monkeypatch):
    """The 6th of 8 changes is wrong; programs with 4 or 5 changes do not compile."""
    golden = np.ones(4, np.float32)

    def on_card(*_, without, changes):
        if changes.limit is None:
            changes.applied += [Change("stage", f"p{number}") for number in range(1, 9)]
        if changes.limit in (4, 5):
            raise MalformedModuleError("no program")
        return [golden * (1.5 if changes.limit in (None, 6, 7, 8) else 1.001)]

    monkeypatch.setattr(bisect, "on_card", on_card)
    culprit = Bisection(None, [], [golden], _exact()).first_change()
    assert [change.pattern for change in culprit.changes] == ["p4", "p5", "p6"]


def test_each_weight_by_itself(inputs):
    """The weight whose numbers do not fit in four bits is named, out of two weights."""
    text = TEXT.replace("func.call @activation(%1)", "func.call @activation(%3)").replace(
        "%2 = func", "%3 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0] : (tensor<32x64xbf16>, "
        "tensor<64x64xbf16>) -> tensor<32x64xbf16> loc(#second)\n    %2 = func",
    )  # fmt: skip
    parameter = "{ttcore.argument_type = #ttcore.argument_type<parameter>"
    text = text.replace(parameter, f'{parameter}, ttir.name = "fine"').replace(
        ") -> tensor<32x64xbf16> {\n    %half", f', %arg2: tensor<64x64xbf16> {parameter}, ttir.name = "rough"}}) '
        "-> tensor<32x64xbf16> {\n    %half", 1
    )  # fmt: skip
    source = Source(text)
    module, _ = source.module_returning(source.returned)
    arguments = [inputs[0], np.eye(64, dtype=np.float32), inputs[1]]
    before = str(module)
    trials = Bisection(module, arguments, on_cpu(module, arguments), CompileOptions.parse(LOSSY)).by_weight()
    assert [trial.label for trial in trials] == ["rough alone in bfp_bf4", "fine alone in bfp_bf4"]
    assert trials[0].error.relative > 5 * trials[1].error.relative
    assert str(module) == before
    assert Bisection(module, arguments, on_cpu(module, arguments), CompileOptions.parse({})).by_weight() == []


@pytest.mark.parametrize("level", [0, 2])
def test_instructions_beside_float32(inputs, level):
    options = CompileOptions.parse(LOSSY | {"optimization_level": level, "enable_trace": True})
    comparison = compare_instructions(Source(TEXT), inputs, options, required=REQUIRED)
    assert not comparison.passed
    first = comparison.first
    assert re.fullmatch(r"ttnn\.(typecast|to_layout) of arg1", first.part.name)
    assert first.part.result_types == "64x64xbfp_bf4"
    assert comparison.in_float32.relative < 1e-6  # the chip's formats cause the rest
    by_name = {row.part.name.partition(" ")[0]: row for row in comparison.rows}
    product = by_name["ttnn.matmul"]
    assert product.part.location == "model.py:12:4"
    assert product.alone.relative < 1e-2 < product.running.relative


def test_instructions_tell_a_wrong_compiler_from_formats(inputs, monkeypatch):
    def wrong(module, options, target):
        for op in module.walk():
            if op.name == "ttir.exp":
                op.results[0].replace_all_uses_with(op.operands[0])

    stages = [dataclasses.replace(stage, run=wrong) if stage.name == "ttir-cse" else stage for stage in STAGES]
    monkeypatch.setattr(pipeline, "TTIR_STAGES", tuple(stages))
    comparison = compare_instructions(Source(TEXT), inputs, CompileOptions.parse({}), required=REQUIRED)
    assert comparison.first is None  # each instruction is computed correctly
    assert comparison.in_float32.relative > 0.1  # but the instructions are wrong


def test_instructions_of_loops_and_integers():
    import jax
    import jax.numpy as jnp

    def program(n, x):
        table = jax.lax.fori_loop(0, n, lambda i, y: jnp.tanh(y) * 1.5 + i, x)
        return table + 1, (table > 0).sum(-1), jnp.where(table > 0, table, -jnp.inf)

    text = jax.jit(program).lower(jnp.int32(3), jnp.ones((8, 64))).compiler_ir("stablehlo").operation.get_asm()
    arguments = [np.array(5, np.int32), np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)]
    comparison = compare_instructions(Source(text), arguments, CompileOptions.parse({}))
    assert comparison.passed
    assert comparison.first is None
    assert comparison.in_float32.pcc > 0.9999
    adds = [row for row in comparison.rows if row.part.name == "ttnn.add" and row.part.result_types == "8x64xf32"]
    assert len(adds) == 2  # one in the loop of five rounds, and one after the loop


def _exact():
    return CompileOptions.parse({"numerics": "exact"})


def test_nothing_is_left_out_by_default(inputs):
    module, _ = _whole()
    first, second = (on_card(module, inputs, CompileOptions.parse({}), without=names) for names in ((), ("ttir-fuse",)))
    np.testing.assert_allclose(first[0], second[0], rtol=0.1)


def test_errors_are_the_worst_of_all_results():
    x = np.arange(100.0)
    error = Error.of([x, x + 1, -x], [x, x, x])
    assert error.pcc == pytest.approx(-1)
    assert error.relative == pytest.approx(2)
    assert error.absolute == 198
    assert Error.of([-x * 1e-6], [x * 1e-6]).pcc == pytest.approx(
        -1
    )  # small numbers are compared relative to their size
    assert Error.of([np.full(4, 1.001)], [np.full(4, 1.0)]).pcc == 1
    assert not Error.of([np.full(4, np.nan)], [np.ones(4)]).within(0.99)
    assert Error.of([np.full(4, np.nan)], [np.ones(4)]).weight == np.inf


def test_golden_knows_arguments(inputs):
    source = Source(TEXT)
    golden = Golden(source, inputs, source.arguments)
    assert golden.of(source.arguments)[0] is inputs[0]


def test_the_command(files):
    arguments = ["compare", str(files / "model.mlir"), "--inputs", str(files / "inputs.npz"), "--pcc", "0.999"]
    lossy = ["--option", "experimental_weight_dtype=bfp_bf4"]
    result = CliRunner().invoke(cli, [*arguments, *lossy])
    assert result.exit_code == 1
    assert "First below 0.999: #1 stablehlo.dot_general to 32x64xbf16 at model.py:12:4" in result.output
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    assert result.exit_code == 0
    record = json.loads(result.stdout.splitlines()[-1])
    assert record["passed"]
    assert [part["source"] for part in record["parts"]] == ["model.py:10:4", "model.py:12:4", "model.py:14:4"]
    result = CliRunner().invoke(cli, [*arguments, *lossy, "--bisect", "format", "--range", "1"])
    assert re.search(r"weights as given +1\.00000", result.output)
    assert "arg1 alone in bfp_bf4: PCC 0.99" in result.output
    result = CliRunner().invoke(cli, [*arguments, *lossy, "--by", "instruction"])
    assert re.search(r"First below 0\.999: #0 ttnn\.\w+ of arg1 to 64x64xbfp_bf4", result.output)
    assert "With each instruction in float32: PCC 1.00000" in result.output
    result = CliRunner().invoke(cli, [*arguments, "--by", "instruction", "--range", "1"])
    assert (result.exit_code, "take parts of StableHLO" in result.output) == (2, True)
    result = CliRunner().invoke(cli, [*arguments, "--bisect", "fusion"])
    assert "No rewrite of these stages raises the error." in result.output
    result = CliRunner().invoke(cli, [*arguments, "--range", "2:7", "--bisect", "fusion"])
    assert isinstance(result.exception, OptionError)
    assert "which are 0 to 2" in str(result.exception)


def test_a_reproducer_runs_by_itself(files, pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    out = files / "repro"
    arguments = ["compare", str(files / "model.mlir"), "--inputs", str(files / "inputs.npz"), "--reproduce", str(out)]
    arguments += ["--pcc", "0.999"]
    CliRunner().invoke(cli, [*arguments, "--option", "experimental_weight_dtype=bfp_bf4"])
    assert sorted(path.name for path in out.iterdir()) == [RECORD, "inputs.npz", "part.mlir", "test_part.py"]
    assert "dot_general" in (out / "part.mlir").read_text()
    assert "exponential" not in (out / "part.mlir").read_text()
    result = pytester.runpytest_inprocess(str(out / "test_part.py"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*PCC comparison failed*"])
    (out / "test_part.py").write_text("mine")
    refused = CliRunner().invoke(cli, arguments).exception
    assert "tt-xla did not write what is there, or it was changed since: test_part.py" in str(refused)
    assert (out / "test_part.py").read_text() == "mine"
    check_module(out / "part.mlir", out / "inputs.npz", None, ComparisonConfig(pcc=PccConfig(required_pcc=REQUIRED)))


def test_shardings_stay_behind(inputs):
    text = TEXT.replace("module @m {", 'module @m {\n  sdy.mesh @mesh = <["x"=1]>')
    text = text.replace(
        "{ttcore.argument_type = #ttcore.argument_type<input>}", "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"
    )
    source = Source(text)
    assert compare_parts(source, inputs, CompileOptions.parse({}), source.parts("op")).passed


def test_bad_files(files):
    with pytest.raises(MalformedModuleError, match="no function @main"):
        Source("module { func.func public @other() { return } }")
    np.savez(files / "one.npz", np.ones(3))
    with pytest.raises(MalformedModuleError, match="1 arrays; the module takes 2"):
        of_file(files / "model.mlir", files / "one.npz")


def test_random_inputs_repeat():
    source = Source(TEXT)
    types = [value.type for value in source.arguments]
    first, second = random_inputs(types), random_inputs(types)
    assert all(np.array_equal(x, y) for x, y in zip(first, second, strict=True))
    assert [x.shape for x in first] == [(32, 64), (64, 64)]


LOADER = """
import torch
from tt_xla.testing.models.protocol import ForgeModel, ModelInfo

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant):
        return ModelInfo("m", variant, "generality", "nlp", "custom", "pytorch")

    def load_inputs(self, dtype_override=None):
        return torch.full((4, 8), 3.0, dtype=dtype_override)

    def load_model(self, dtype_override=None):
        return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()).to(dtype_override)
"""


def test_a_model_gives_its_programs_and_inputs(tmp_path):
    path = tmp_path / "small" / "pytorch" / "loader.py"
    path.parent.mkdir(parents=True)
    path.write_text(LOADER)
    (subject,) = of_model(tmp_path, "small/pytorch", 0)
    assert any(array.shape == (4, 8) and (array == 3).all() for array in subject.inputs)
    comparison = compare_parts(subject.source, subject.inputs, CompileOptions.parse({}), subject.source.parts("op"))
    assert comparison.passed
    with pytest.raises(OptionError, match="No model below"):
        of_model(tmp_path, "large/pytorch", 0)


def test_equal_parts_are_compiled_once(inputs, monkeypatch):
    from tt_xla.testing.divergence import parts

    compiled = []
    compile_for_card = parts.for_card
    monkeypatch.setattr(
        parts, "for_card", lambda *arguments: compiled.append(arguments) or compile_for_card(*arguments)
    )
    text = TEXT.replace("return %2", "%3 = stablehlo.exponential %2 : tensor<32x64xbf16> loc(#first)\n    return %3")
    source = Source(text)
    comparison = compare_parts(source, inputs, CompileOptions.parse({}), source.parts("op"))
    assert len(comparison.rows) == 4
    assert len(compiled) == 3
    assert comparison.passed


def test_a_kernel_that_refuses_float32_has_no_error_and_a_lack_of_memory_is_raised():
    def raising(error):
        def call():
            raise error

        return call

    copies = Float32Copies()
    for refusal in (RuntimeError(), TypeError(), ValueError(), NotImplementedError()):
        assert copies.called(raising(refusal), []) == (None, None)
    with pytest.raises(MemoryError):
        copies.called(raising(MemoryError()), [])
