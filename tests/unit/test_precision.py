"""Precision files: what they hold, what the compiler makes of them, and what is wrong with bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import OptionError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.precision import LayerPrecision, Precision, read_precision
from tt_xla.target import load_target
from tt_xla.tools.cli import cli

pytestmark = pytest.mark.quick

MODULE = """
!t = tensor<64x64xbf16>
func.func public @main(%x: !t,
    %a: !t {ttcore.argument_type = "parameter", ttir.name = "blocks.0.a"},
    %b: !t {ttcore.argument_type = "parameter", ttir.name = "blocks.0.b"},
    %c: !t {ttcore.argument_type = "parameter", ttir.name = "head['c']"}) -> !t {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (!t, !t) -> !t
  %1 = stablehlo.tanh %0 : !t
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : (!t, !t) -> !t
  %3 = stablehlo.tanh %2 : !t
  %4 = stablehlo.dot_general %3, %c, contracting_dims = [1] x [0] : (!t, !t) -> !t
  return %4 : !t
}
"""

FILE = """
made_from: {program: model.py, accuracy: {pcc: 0.991}}
options:
  math_fidelity: hifi3
layers:
  blocks.*: {weights: bfp_bf8, fp32_dest_acc_en: false}
  blocks.0.b: {weights: bfp_bf4, math_fidelity: lofi}
  head['c']: {weights: bf16}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "precision.yaml"
    path.write_text(FILE)
    return path


def compiled(options: dict[str, Any], text: str = MODULE) -> Program:
    return compile_module(parse_module(text), CompileOptions.parse(options), load_target("n150"))


def products(program: Program) -> list[tuple[str, str, bool]]:
    """Returns weight format, fidelity and accumulation of each product, in order."""
    function = program.functions[0]
    steps = [step for step in function.body if step.op in ("ttnn.matmul", "ttnn.linear")]
    formats = [str(function.values[step.operands["b"]].layout.dtype) for step in steps]
    configs = [step.attributes["compute_config"] for step in steps]
    return [
        (dtype, str(config["math_fidelity"]), config["fp32_dest_acc_en"])
        for dtype, config in zip(formats, configs, strict=True)
    ]


def test_each_layer_has_its_precision(file: Path) -> None:
    assert products(compiled({"precision": str(file), "optimization_level": 1})) == [
        ("bfp_bf8", "hifi3", False),
        ("bfp_bf4", "lofi", False),
        ("bf16", "hifi3", True),
    ]


def test_options_of_the_user_come_first(file: Path) -> None:
    program = compiled({"precision": str(file), "math_fidelity": "hifi2"})
    assert [fidelity for _, fidelity, _ in products(program)] == ["hifi2", "lofi", "hifi2"]
    overrides = "blocks.0.a=bf16"
    program = compiled({"precision": str(file), "experimental_weight_dtype_overrides": overrides})
    assert [dtype for dtype, _, _ in products(program)] == ["bf16", "bfp_bf4", "bf16"]


def test_joined_layers_have_the_most_precise_choice() -> None:
    """Products of one activation with two weights become one product, as queries, keys and values do."""
    joined = """
!t = tensor<64x64xbf16>
func.func public @main(%x: !t, %a: !t {ttcore.argument_type = "parameter", ttir.name = "a"},
    %b: !t {ttcore.argument_type = "parameter", ttir.name = "b"}) -> tensor<64x128xbf16> {
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (!t, !t) -> tensor<64x128xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (!t, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %1 : tensor<64x128xbf16>
}"""
    narrow = {"weights": "bfp_bf4", "math_fidelity": "lofi", "fp32_dest_acc_en": False}
    wide = {"weights": "bfp_bf8", "math_fidelity": "hifi2", "fp32_dest_acc_en": True}
    assert products(compiled({"precision": {"layers": {"a": narrow, "b": wide}}}, joined)) == [
        ("bfp_bf8", "hifi2", True)
    ]
    assert products(compiled({"precision": {"layers": {"*": narrow}}}, joined)) == [("bfp_bf4", "lofi", False)]


def test_a_file_sets_the_format_of_caches(file: Path) -> None:
    file.write_text("options: {experimental_kv_cache_dtype: bfp8}")
    expected = CompileOptions.parse({"experimental_kv_cache_dtype": "bfp8"})
    assert CompileOptions.parse({"precision": str(file)}) == expected
    wide = CompileOptions.parse({"precision": str(file), "experimental_kv_cache_dtype": "none"})
    assert wide == CompileOptions.parse({})


def test_options_hold_the_contents_of_the_file(file: Path) -> None:
    before = CompileOptions.parse({"precision": str(file)})
    again = CompileOptions.parse(before.as_dict())
    assert again == before
    file.write_text(FILE.replace("lofi", "hifi2").replace("model.py", "other.py"))
    assert CompileOptions.parse({"precision": str(file)}) != before
    file.write_text(FILE.replace("model.py", "other.py"))
    assert CompileOptions.parse({"precision": str(file)}) == before  # where it comes from does not matter
    assert CompileOptions.parse({"precision": json.loads(read_precision(file).model_dump_json())}) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("layers: [", "is not valid YAML"),
        ("- 1", "does not map names to values"),
        ("", "does not map names to values"),
        ("layers: {a: {weights: fp8}}", "layers: a: weights: Input should be 'bf16', 'bfp_bf8' or 'bfp_bf4'"),
        ("layers: {a: {fidelity: lofi}}", "layers: a: fidelity: Extra inputs are not permitted"),
        ("layers: {a: {fp32_dest_acc_en: 1}}", "layers: a: fp32_dest_acc_en: Input should be a valid boolean"),
        ("version: 2", "version: Input should be 1"),
        ("layer: {}", "layer: Extra inputs are not permitted"),
        ("layers: {a: {weights: bf16}, a: {weights: bfp_bf8}}", "has 'a' twice, in line 1"),
        ("options: {enable_trace: true}", "No such option of a precision file: 'enable_trace'"),
        ("options: {math_fidelity: hifi9}", "Compile option 'math_fidelity' was given 'hifi9'"),
    ],
)
def test_bad_files_are_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(OptionError, match=message):
        CompileOptions.parse({"precision": str(file)})


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"'nowhere\.yaml' cannot be read: No such file or directory"):
        CompileOptions.parse({"precision": "nowhere.yaml"})
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(OptionError, match="cannot be read: it is no text"):
        CompileOptions.parse({"precision": str(tmp_path / "bytes.yaml")})
    with pytest.raises(OptionError, match="cannot be read: Is a directory"):
        CompileOptions.parse({"precision": str(tmp_path)})


def test_layers_that_a_program_lacks_are_refused() -> None:
    layer = {"weights": "bfp_bf8"}
    with pytest.raises(OptionError, match=r"names layer 'blocks\.0\.d', which the program lacks.*such as 'blocks\.0\."):
        compiled({"precision": {"layers": {"blocks.0.a": layer, "blocks.0.d": layer}}})
    with pytest.raises(OptionError, match=r"names layer 'other\.\*' and 1 more"):
        compiled({"precision": {"layers": {"other.*": layer, "else": layer}, "several_programs": True}})
    spread = {"layers": {"blocks.0.a": layer, "else": layer}, "several_programs": True}
    assert products(compiled({"precision": spread}))[0][0] == "bfp_bf8"
    without = MODULE.replace('{ttcore.argument_type = "parameter"', '{ttcore.argument_type = "input"')
    compiled({"precision": {"layers": {"else": layer}}}, without)  # a small program beside a model


def test_patterns_and_later_entries() -> None:
    precision = Precision(
        layers={
            "*": LayerPrecision(weights="bfp_bf8", math_fidelity="hifi2"),
            "a[0].*": LayerPrecision(weights="bfp_bf4"),
            "b": LayerPrecision(fp32_dest_acc_en=False),
        }
    )
    assert precision.by_layer(["a[0].w", "b"]) == {
        "a[0].w": LayerPrecision(weights="bfp_bf4", math_fidelity="hifi2"),
        "b": LayerPrecision(weights="bfp_bf8", math_fidelity="hifi2", fp32_dest_acc_en=False),
    }


def test_the_command_takes_the_file(file: Path, tmp_path: Path) -> None:
    module = tmp_path / "model.mlir"
    module.write_text(MODULE)
    flags = ["compile", str(module), "--arch", "n150", "--option", f"precision={file}", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, flags, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (path,) = (tmp_path / "out").rglob("*.ttnn")
    assert [dtype for dtype, _, _ in products(Program.from_bytes(path.read_bytes()))] == ["bfp_bf8", "bfp_bf4", "bf16"]
    file.write_text("layers: 3")
    done = CliRunner().invoke(cli, flags)
    assert done.exit_code == 2
    assert "is not valid: layers: Input should be a valid dictionary" in done.output


def test_a_layer_chooses_the_coarse_form_of_its_function() -> None:
    gelu = MODULE + "func.func private @f(%x: !t) -> !t { return %x : !t }"
    for value in ("%0", "%2"):
        composite = f'stablehlo.composite "tenstorrent.gelu" {value} {{decomposition = @f}} : (!t) -> !t'
        gelu = gelu.replace(f"stablehlo.tanh {value} : !t", composite)

    def activations(options: dict[str, Any]) -> list[str | None]:
        function = compiled({"optimization_level": 1, **options}, gelu).functions[0]
        return [step.attributes.get("activation") for step in function.body if "activation" in step.attributes]

    one = {"precision": {"layers": {"blocks.0.b": {"fast_and_approximate_mode": True}}}}
    all_but_one = {
        "precision": {
            "options": {"fast_and_approximate_mode": True},
            "layers": {"blocks.0.a": {"fast_and_approximate_mode": False}},
        }
    }
    assert activations({}) == ["gelu", "gelu"]
    assert activations({"fast_and_approximate_mode": True}) == ["gelu_approx", "gelu_approx"]
    assert activations(one) == activations(all_but_one) == ["gelu", "gelu_approx"]
    exact = compiled({"fast_and_approximate_mode": True, "numerics": "exact"}, gelu).functions[0]
    assert [step.op for step in exact.body].count("ttnn.gelu") == 2
