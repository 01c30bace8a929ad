"""Override files: choices for single ops that the compiler honours, or refuses in TT-NN's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from tt_xla.compiler import compile_module, read_module
from tt_xla.errors import OptionError
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout
from tt_xla.ir.op_names import OpNames
from tt_xla.ir.program import Instruction, Program
from tt_xla.options import CompileOptions
from tt_xla.overrides import Overrides
from tt_xla.runtime import get_device
from tt_xla.target import load_target
from tt_xla.tools.cli import cli

pytestmark = [pytest.mark.usefixtures("golden_programs"), pytest.mark.quick]

MODULE = """
func.func @main(%x: tensor<256x256xbf16>, %v: tensor<256x512xbf16>, %w: tensor<512x256xbf16>) -> tensor<256x256xbf16> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
    : (tensor<256x256xbf16>, tensor<256x512xbf16>) -> tensor<256x512xbf16> loc("model.py":3:1)
  %1 = stablehlo.exponential %0 : tensor<256x512xbf16> loc("model.py":4:1)
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
    : (tensor<256x512xbf16>, tensor<512x256xbf16>) -> tensor<256x256xbf16> loc("model.py":3:1)
  %3 = stablehlo.tanh %2 : tensor<256x256xbf16> loc("model.py":5:1)
  return %3 : tensor<256x256xbf16>
}
"""
FIRST, SECOND, EXP, TANH = "matmul@model.py:3:1#0", "matmul@model.py:3:1#1", "exp@model.py:4:1#0", "tanh@model.py:5:1#0"


def compiled(ops: dict[str, Any], level: int = 0, **rest: Any) -> Program:
    options = {"optimization_level": level, "overrides": {"ops": ops, **rest}} if ops or rest else {}
    options = options or {"optimization_level": level}
    return compile_module(read_module(MODULE, trusted=True), CompileOptions.parse(options), load_target("n150"))


def named(program: Program, name: str) -> tuple[Instruction, Any]:
    """Returns the instruction of a name and the layout of its result."""
    names, function = OpNames(), program.functions[0]
    for instruction in function.body:
        if names.name(instruction.op, instruction.location) == name:
            return instruction, function.values[instruction.results[0]].layout
    raise KeyError(name)


def results(program: Program) -> Any:
    generator = np.random.default_rng(0)
    import torch

    tensors = [
        torch.from_numpy(generator.standard_normal(argument.shape).astype(np.float32) / 16).to(torch.bfloat16)
        for argument in program.arguments
    ]
    [result] = get_device("n150").load(program).run(tensors, [None] * len(tensors))
    return result.float().numpy()


PLACES: list[dict[str, Any]] = [
    {"memory": "l1"},
    {"memory": "l1", "layout": "interleaved"},
    {"layout": "block_sharded"},
    {"layout": "height_sharded"},
    {"layout": "block_sharded", "grid": [4, 4]},
    {"layout": "width_sharded", "grid": [1, 8]},
]


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("op", [FIRST, EXP])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: "-".join(map(str, place.values())))
def test_a_result_lies_where_the_override_says_and_the_program_computes_the_same(
    level: int, op: str, place: dict[str, Any]
):
    plain, program = compiled({}, level), compiled({op: place}, level)
    _, layout = named(program, op)
    assert layout.buffer is BufferType.L1
    if "layout" in place:
        assert layout.memory is MemoryLayout(place["layout"])
    if "grid" in place:
        assert layout.grid == tuple(place["grid"])
    np.testing.assert_array_equal(results(program), results(plain))


def test_other_ops_stay_as_they_are_below_level_2():
    plain, program = compiled({}), compiled({EXP: {"memory": "l1"}})
    moved = [op.op for op in program.functions[0].body]
    assert moved == [op.op for op in plain.functions[0].body]
    for name in (FIRST, SECOND, TANH):
        assert named(program, name)[1] == named(plain, name)[1]
    assert named(program, SECOND)[0].cost.dram_us < named(plain, SECOND)[0].cost.dram_us


def test_a_result_that_level_2_keeps_in_l1_can_be_kept_in_dram():
    assert named(compiled({}, 2), EXP)[1].buffer is BufferType.L1
    program = compiled({EXP: {"memory": "dram"}}, 2)
    assert named(program, EXP)[1].buffer is BufferType.DRAM
    assert named(program, SECOND)[0].cost.dram_us > named(compiled({}, 2), SECOND)[0].cost.dram_us


def test_a_star_stands_for_every_op_of_a_line():
    program = compiled({"matmul@model.py:3:1#*": {"math_fidelity": "lofi", "fp32_dest_acc_en": False}})
    for name in (FIRST, SECOND):
        config = named(program, name)[0].attributes["compute_config"]
        assert (config["math_fidelity"], config["fp32_dest_acc_en"]) == ("lofi", False)
        assert named(program, name)[0].cost.compute_us < named(compiled({}), name)[0].cost.compute_us


def test_a_format_is_that_of_the_result_and_of_the_ops_that_read_it():
    program = compiled({FIRST: {"dtype": "bfp_bf8"}})
    assert named(program, FIRST)[1].dtype is DataType.BFP_BF8
    assert named(program, EXP)[1].dtype is DataType.BF16
    plain, rounded = results(compiled({})), results(program)
    assert not np.array_equal(plain, rounded)
    assert np.corrcoef(plain.ravel(), rounded.ravel())[0, 1] > 0.999


def test_fields_of_a_program_config_are_set():
    place = {"layout": "block_sharded", "grid": [4, 4]}
    config = named(compiled({FIRST: place}), FIRST)[0].attributes["matmul_program_config"]
    assert config["in0_block_w"] != 1
    program = compiled({FIRST: place | {"config": {"in0_block_w": 1}}})
    assert named(program, FIRST)[0].attributes["matmul_program_config"] == {**config, "in0_block_w": 1}
    np.testing.assert_array_equal(results(program), results(compiled({})))


REFUSALS = [
    (
        {FIRST: {"layout": "block_sharded", "grid": [5, 8]}},
        "8 tiles along its height make 4 shards of 2 tiles, not 5 shards",
    ),
    ({FIRST: {"layout": "block_sharded", "grid": [9, 8]}}, "does not fit in the 64 cores"),
    ({FIRST: {"layout": "block_sharded", "grid": [2, 16]}}, "does not fit in the chip's 8x8"),
    ({FIRST: {"layout": "height_sharded", "grid": [4, 2]}}, "have a grid of Nx1"),
    ({FIRST: {"memory": "dram", "layout": "block_sharded", "grid": [2, 2]}}, "a grid of shards needs memory l1"),
    ({FIRST: {"memory": "dram", "layout": "block_sharded"}}, "TT-NN runs it with its result in no such place"),
    ({TANH: {"memory": "l1"}}, "the result is returned or kept between runs, so it stays in DRAM"),
    ({EXP: {"math_fidelity": "lofi"}}, "it has no compute config"),
    ({EXP: {"dtype": "bfp_bf8"}}, "the format of its result is that of its operand"),
    ({EXP: {"config": {"in0_block_w": 2}}}, "it has no program config in this layout"),
    (
        {FIRST: {"layout": "block_sharded", "config": {"in0_block_w": 3}}},
        r"Kt \(8\) must be divisible by in0_block_w \(3\)",
    ),
    (
        {FIRST: {"layout": "block_sharded", "grid": [2, 2], "config": {"out_subblock_h": 4, "out_subblock_w": 4}}},
        "out_subblock_w 4 times out_subblock_h 4 needs to be at most 4 to fit in hardware",
    ),
    ({FIRST: {"layout": "block_sharded", "config": {"in0_block_v": 3}}}, "its config has no field 'in0_block_v'"),
    (
        {FIRST: {"layout": "block_sharded", "config": {"in0_block_w": True}}},
        "is True, and int was expected",
    ),
    ({"matmul@model.py:3:1#7": {"memory": "l1"}}, "names op 'matmul@model.py:3:1#7', which the program lacks"),
]


@pytest.mark.parametrize(("ops", "words"), REFUSALS, ids=[words[:40] for _, words in REFUSALS])
def test_what_ttnn_refuses_is_refused_before_anything_runs(ops: dict[str, Any], words: str):
    with pytest.raises(OptionError, match=words) as refusal:
        compiled(ops)
    name = next(iter(ops))
    assert name in str(refusal.value)
    if "lacks" not in words:
        assert refusal.value.location.startswith("model.py:")


def test_a_choice_without_room_is_refused():
    text = MODULE.replace("256x", "8192x").replace("x256x", "x8192x").replace("512", "8192")
    options = CompileOptions.parse({"overrides": {"ops": {EXP: {"layout": "interleaved", "memory": "l1"}}}})
    with pytest.raises(OptionError, match="no room in L1"):
        compile_module(read_module(text, trusted=True), options, load_target("n150"))


CONVOLUTION = """
func.func @main(%x: tensor<8x64x28x28xbf16>, %w: tensor<128x64x3x3xbf16>) -> tensor<8x128x26x26xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<8x64x28x28xbf16>, tensor<128x64x3x3xbf16>) -> tensor<8x128x26x26xbf16> loc("net.py":3:1)
  %1 = stablehlo.tanh %0 : tensor<8x128x26x26xbf16> loc("net.py":4:1)
  return %1 : tensor<8x128x26x26xbf16>
}
"""
CONV = "conv2d@net.py:3:1#0"


def convolved(choice: dict[str, Any], level: int = 0) -> Program:
    options = CompileOptions.parse({"optimization_level": level, "overrides": {"ops": {CONV: choice}}})
    return compile_module(read_module(CONVOLUTION, trusted=True), options, load_target("n150"))


@pytest.mark.parametrize("level", [0, 2])
def test_the_config_of_a_convolution_changes_its_time_and_not_its_result(level: int):
    plain, blocks = convolved({}, level), convolved({"config": {"act_block_h_override": 32}}, level)
    assert named(blocks, CONV)[0].attributes["conv2d_config"]["act_block_h_override"] == 32
    assert named(blocks, CONV)[0].cost.total_us < named(plain, CONV)[0].cost.total_us
    coarse = convolved({"math_fidelity": "lofi"}, level)
    assert named(coarse, CONV)[0].cost.compute_us < named(plain, CONV)[0].cost.compute_us
    if level == 0:
        np.testing.assert_array_equal(results(blocks), results(plain))


CONVOLUTIONS_REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"act_block_h_override": 33}, r"act_block_h_override \(33\) must be a multiple of 32 \(tile height\)"),
    ({"act_block_h_override": 3200}, "act_block_h_override 100 is not a valid override for padded_output_height"),
    ({"act_block_w_div": 0}, "act_block_w_div must be greater than 0"),
    ({"act_block_w_div": 64}, r"act_block_w_div \(64\) is more than the 2 tiles of channels of its input"),
    ({"override_sharding_config": True}, "Core grid must be provided when overriding sharding config"),
    ({"override_output_sharding_config": True}, "core_grid must have a value"),
    ({"deallocate_activation": True}, "the program releases its input itself"),
    ({"act_block_width": 32}, "its config has no field 'act_block_width'"),
]


@pytest.mark.parametrize(
    ("config", "words"), CONVOLUTIONS_REFUSED, ids=[next(iter(each)) + str(each) for each, _ in CONVOLUTIONS_REFUSED]
)
def test_configs_of_convolutions_that_ttnn_refuses_are_refused(config: dict[str, Any], words: str):
    with pytest.raises(OptionError, match=words) as refusal:
        convolved({"config": config})
    assert refusal.value.location == "net.py:3:1"


def test_shards_of_a_convolution_stay_as_its_config_says():
    place = {"layout": "height_sharded"}
    assert named(convolved(place, 2), CONV)[1].memory is MemoryLayout.HEIGHT_SHARDED
    with pytest.raises(OptionError, match="would give its result other shards than L1 height sharded"):
        convolved(place | {"config": {"reshard_if_not_optimal": True}}, 2)


WRONG = [
    ("ops: {a: {memory: sram}}", "memory: Input should be 'dram' or 'l1'"),
    ("ops: {a: {memroy: l1}}", "memroy: Extra inputs are not permitted"),
    ("ops: {a: {grid: [1]}}", "grid"),
    ("layers: {}", "layers: Extra inputs are not permitted"),
    ("options: {export_path: out}", "export_path"),
    ("options: {optimisation_level: 2}", "optimisation_level"),
    ("- a", "does not map names to values"),
    ("a: [", "is not valid YAML"),
    ("ops: {a: {}, a: {}}", "has 'a' twice"),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=[text for text, _ in WRONG])
def test_files_that_are_wrong_are_refused(tmp_path: Path, text: str, words: str):
    (tmp_path / "wrong.yaml").write_text(text)
    with pytest.raises(OptionError, match=words):
        CompileOptions.parse({"overrides": str(tmp_path / "wrong.yaml")})


def test_options_of_the_file_are_set_unless_the_user_sets_them(tmp_path: Path):
    (tmp_path / "file.yaml").write_text(yaml.safe_dump({"options": {"optimization_level": 2, "enable_trace": True}}))
    path = str(tmp_path / "file.yaml")
    assert CompileOptions.parse({"overrides": path}).optimization_level == 2
    own = CompileOptions.parse({"overrides": path, "optimization_level": 1})
    assert (own.optimization_level, own.enable_trace, own.overrides) == (1, True, "")


def test_the_command_takes_the_file(tmp_path: Path):
    (tmp_path / "model.mlir").write_text(MODULE)
    (tmp_path / "file.yaml").write_text(Overrides(ops={FIRST: {"layout": "block_sharded"}}).model_dump_json())  # type: ignore[dict-item]
    command = ["compile", str(tmp_path / "model.mlir"), "--json"]
    plain = json.loads(CliRunner().invoke(cli, command).output)
    chosen = json.loads(CliRunner().invoke(cli, [*command, "--overrides", str(tmp_path / "file.yaml")]).output)
    assert chosen["predicted_device_us"] < plain["predicted_device_us"]


@pytest.mark.parametrize("level", [0, 2])
def test_the_menu_of_an_op_has_what_the_compiler_takes(level: int):
    menus: dict[str, Any] = {}
    options = CompileOptions.parse({"optimization_level": level})
    plain = compile_module(read_module(MODULE, trusted=True), options, load_target("n150"), menus=menus)
    assert plain == compile_module(read_module(MODULE, trusted=True), options, load_target("n150"))
    assert len(menus[FIRST]) > 3
    for choice in menus[FIRST]:
        _, layout = named(compiled({FIRST: choice["override"]}, level), FIRST)
        assert layout.buffer.value == choice["override"]["memory"]
        assert str(layout.memory) == choice["override"]["layout"]
