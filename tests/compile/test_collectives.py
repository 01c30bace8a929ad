"""Local modules with collectives, compiled to a Program with a mesh. Nothing runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.sharding import Localised
from tt_xla.errors import CompileError, MalformedModuleError, UnsupportedOpError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Function, FunctionKind, Instruction, Program
from tt_xla.ir.text import print_module
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.estimate import estimate
from tt_xla.tools.passes import optimise, read_module

pytestmark = [pytest.mark.usefixtures("golden_programs"), pytest.mark.quick]

MESH = Mesh((2, 4), ("x", "y"))
ROWS = (Sharding(((0,), ())), (128, 64))
"""Sharding and global shape of a tensor of which each row of the mesh has 64x64."""
WHOLE = (Sharding(((), ())), (64, 64))


def add(groups: str, attributes: str = "", value: str = "%x", name: str = "all_reduce", result: str = "64x64") -> str:
    return f"""%r = "stablehlo.{name}"({value}) <{{replica_groups = dense<{groups}>{attributes}}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<64x64xf32>) -> tensor<{result}xf32>"""


def local(
    body: str, mesh: Mesh = MESH, argument: str = "", sharding: tuple[Sharding, tuple[int, ...]] = ROWS
) -> Localised:
    source = f"""
func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32> {{{argument}}}) -> tensor<64x64xf32> {{
  {body}
  return %r : tensor<64x64xf32>
}}"""
    return Localised(parse_module(source), mesh, (sharding, WHOLE), (sharding,))


def compiled(
    localised: Localised, system: str = "n300-llmbox", dumps: dict[str, str] | None = None, **options: object
) -> Program:
    return compile_module(localised, CompileOptions.parse(options), load_target(system), dumps=dumps)


def steps(program: Program, *kinds: FunctionKind) -> Iterator[Instruction]:
    for function in program.functions:
        if not kinds or function.kind in kinds:
            yield from function.body


def axes(program: Program, op: str) -> list[int]:
    return [step.attributes["cluster_axis"] for step in steps(program) if step.op == f"ttnn.{op}"]


BY_COLUMN = "[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64"


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("trace", [False, True])
def test_a_program_has_the_mesh_and_the_shardings(level: int, trace: bool) -> None:
    dumps: dict[str, str] = {}
    program = compiled(local(add(BY_COLUMN)), dumps=dumps, optimization_level=level, enable_trace=trace)
    assert program.mesh == MESH
    x, w = program.arguments
    assert (x.shape, x.sharding, x.global_shape) == ((64, 64), *ROWS)
    assert (w.shape, w.sharding, w.global_shape) == ((64, 64), *WHOLE)
    (result,) = program.results
    assert (result.shape, result.sharding, result.global_shape) == ((64, 64), *ROWS)
    assert axes(program, "all_reduce") == [1]
    assert Program.from_bytes(program.to_bytes()) == program
    assert program.predicted_device_us > 0
    for stage in ("ttir", "ttnn"):
        assert dumps[stage].count('ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x4>]>') == 2
        assert "meshShape = 2x4, chipIds = [0, 1, 2, 3, 4, 5, 6, 7]" in dumps[stage]
        assert "ttcore.shard_status = #ttcore.shard_status<presharded>" in dumps[stage]
    kinds = {function.kind for function in program.functions}
    assert (FunctionKind.TRACE in kinds) == trace
    if trace:
        assert any(step.op == "ttnn.all_reduce" for step in steps(program, FunctionKind.TRACE))


def test_a_mesh_of_one_axis_gets_rows() -> None:
    """TT-NN's meshes have rows and columns."""
    line = Mesh((4,), ("devices",))
    groups = "[[0, 1, 2, 3]]> : tensor<1x4xi64"
    program = compiled(local(add(groups), line, sharding=(Sharding(((), (0,))), (64, 256))))
    assert program.mesh == Mesh((1, 4), ("rows", "devices"))
    assert program.arguments[0].sharding == Sharding(((), (1,)))
    assert axes(program, "all_reduce") == [1]


def test_groups_that_are_parts_of_an_axis_split_it() -> None:
    line = Mesh((8,), ("devices",))
    groups = "[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64"
    program = compiled(local(add(groups), line, sharding=(Sharding(((0,), ())), (512, 64))))
    assert program.mesh == Mesh((4, 2), ("devices_0", "devices_1"))
    assert program.arguments[0].sharding == Sharding(((0, 1), ()))
    assert program.results[0].sharding == Sharding(((0, 1), ()))
    assert axes(program, "all_reduce") == [1]


def test_groups_of_a_size_that_no_axes_have_split_an_axis() -> None:
    groups = "[[0, 1, 2, 3, 4, 6], [5, 7, 8, 9, 10, 11]]> : tensor<2x6xi64"
    program = compiled(local(add(groups), Mesh((3, 4), ("x", "y"))), "galaxy-wh-6u")
    assert program.mesh == Mesh((3, 2, 2), ("x", "y_0", "y_1"))
    assert sorted(axes(program, "all_reduce")) == [0, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("[[0, 1, 2, 3]]> : tensor<1x4xi64", "expected groups of one size with each of the 8 chips"),
        ("[[0, 1, 2], [3, 4, 5], [6, 7, 8]]> : tensor<3x3xi64", "expected positions from 0 to 7"),
        ("[[0, 1, 2, 3, 4], [5, 6, 7, -1, -1]]> : tensor<2x5xi64", "expected groups of one size"),
    ],
)
def test_malformed_groups(groups: str, message: str) -> None:
    with pytest.raises(MalformedModuleError, match=message):
        compiled(local(add(groups)))


def test_pairs_beyond_the_mesh() -> None:
    permute = """%r = "stablehlo.collective_permute"(%x) <{
      source_target_pairs = dense<[[0, 1], [8, 2]]> : tensor<2x2xi64>}>
      : (tensor<64x64xf32>) -> tensor<64x64xf32>"""
    with pytest.raises(MalformedModuleError, match="expected positions from 0 to 7"):
        compiled(local(permute))


def test_the_target_has_too_few_chips() -> None:
    with pytest.raises(CompileError, match=r"mesh \(2, 4\) of 8 chips; n300 has 2"):
        compiled(local(add(BY_COLUMN)), "n300")


FFT = """%u = stablehlo.convert %t : (tensor<64x64xf32>) -> tensor<64x64xcomplex<f32>>
      %f = stablehlo.fft %u, type = FFT, length = [64] : (tensor<64x64xcomplex<f32>>) -> tensor<64x64xcomplex<f32>>
      %q = stablehlo.real %f : (tensor<64x64xcomplex<f32>>) -> tensor<64x64xf32>
      """
"""An op for the host alone."""


def loop(result: str, after_sum: str = "") -> str:
    """Returns a loop of three sums over chips, with other ops after each."""
    return f"""
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %c, %r = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<64x64xf32>
    cond {{
      %n = stablehlo.constant dense<3> : tensor<i32>
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      {add(BY_COLUMN, value="%v").replace("%r", "%t")}
      {after_sum}stablehlo.return %next, {result} : tensor<i32>, tensor<64x64xf32>
    }}"""


def test_a_loop_with_a_collective_runs_on_the_chips() -> None:
    program = compiled(local(loop("%t")))
    assert not program.host_ops
    assert axes(program, "all_reduce") == [1]
    assert next(step.op for step in steps(program, FunctionKind.FORWARD)) == "ttcore.while_loop"


def test_the_host_runs_no_collective() -> None:
    """A loop with an op for the host alone would run there."""
    with pytest.raises(UnsupportedOpError, match=r"contains a stablehlo\.all_reduce, which the host cannot run"):
        compiled(local(loop("%q", FFT)))


def function_of(program: Program, op: str) -> Function:
    return next(function for function in program.functions if any(step.op == op for step in function.body))


def test_a_gathered_parameter_is_gathered_once() -> None:
    body = """%g = "stablehlo.all_gather"(%w) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3],
      [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<64x64xf32>) -> tensor<256x64xf32>
    %h = stablehlo.slice %g [0:64, 0:64] : (tensor<256x64xf32>) -> tensor<64x64xf32>
    %r = stablehlo.add %x, %h : tensor<64x64xf32>"""
    parameter = "ttcore.argument_type = #ttcore.argument_type<parameter>"
    program = compiled(local(body, argument=parameter))
    assert function_of(program, "ttnn.all_gather").kind is FunctionKind.CONST_EVAL


def test_numbers_of_chips_are_constants() -> None:
    body = """%id = stablehlo.partition_id : tensor<ui32>
    %f = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %r = stablehlo.add %x, %b : tensor<64x64xf32>"""
    program = compiled(local(body))
    assert sorted(axes(program, "mesh_partition")) == [0, 1]
    assert function_of(program, "ttnn.mesh_partition").kind is FunctionKind.CONST_EVAL


def test_reductions_between_chips_are_precise() -> None:
    """Fidelity and accumulation of options are for the work of one chip."""
    scatter = add(BY_COLUMN, ", scatter_dimension = 0 : i64", name="reduce_scatter", result="16x64").replace(
        "%r =", "%p ="
    )
    body = (
        scatter
        + """
    %r = "stablehlo.all_gather"(%p) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>
      : tensor<2x4xi64>}> : (tensor<16x64xf32>) -> tensor<16x256xf32>"""
    )
    module = local(body.replace("%r", "%g") + "\n%r = stablehlo.reshape %g : (tensor<16x256xf32>) -> tensor<64x64xf32>")
    program = compiled(module, math_fidelity="lofi", fp32_dest_acc_en=False)
    (step,) = [step for step in steps(program) if step.op == "ttnn.reduce_scatter"]
    config = dict(step.attributes["compute_config"])
    assert (config["math_fidelity"], config["fp32_dest_acc_en"]) == ("hifi4", True)


def test_opt_and_estimate_know_the_mesh(tmp_path: Path) -> None:
    """The commands localise a module with shardings, and price collectives by the links of the module's mesh."""
    source = """
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(
      %x: tensor<64x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
      %w: tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64x64xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}"""
    path = tmp_path / "module.mlir"
    path.write_text(source)
    options = CompileOptions.parse()
    ttir = read_module(path, options, "n300")
    text = print_module(optimise(ttir, [], "all", options, "n300", verify=True))
    assert '"ttnn.all_reduce"' in text
    lowered = tmp_path / "lowered.mlir"
    lowered.write_text(text)
    program = compile_module(parse_module(source), options, load_target("n300"))
    assert estimate(lowered, "n300").total_us == pytest.approx(program.predicted_device_us)
    assert estimate(lowered).arch == "n300"  # the smallest system of the architecture that has two chips


@pytest.mark.parametrize(
    ("name", "result", "mesh", "groups", "tiles"),
    [
        ("all_reduce", "512x512", (2, 4), "[[0, 1, 2, 3], [4, 5, 6, 7]]", (256, 2 * 256, 64)),
        ("reduce_scatter", "128x512", (2, 4), "[[0, 1, 2, 3], [4, 5, 6, 7]]", (256, 2 * 256, 64)),
        ("reduce_scatter", "64x512", (1, 8), "[[0, 1, 2, 3, 4, 5, 6, 7]]", (256, 256, 32)),
    ],
)
def test_memory_has_room_for_what_arrives(
    name: str, result: str, mesh: tuple[int, int], groups: str, tiles: tuple[int, ...]
) -> None:
    """TT-NN's reduce_scatter has a buffer of the operand's size on a ring, and of twice that on a line."""
    attribute = "scatter_dimension = 0 : i64, " if name == "reduce_scatter" else ""
    source = f"""
func.func public @main(%x: tensor<512x512xf32>) -> tensor<{result}xf32> {{
  %r = "stablehlo.{name}"(%x) <{{{attribute}replica_groups = dense<{groups}> : tensor<{mesh[0]}x{mesh[1]}xi64>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<512x512xf32>) -> tensor<{result}xf32>
  return %r : tensor<{result}xf32>
}}"""
    everywhere = Sharding(((), ())), (512, 512)
    results = Sharding(((), ())), tuple(map(int, result.split("x")))
    program = compiled(Localised(parse_module(source), Mesh(mesh, ("x", "y")), (everywhere,), (results,)))
    target = load_target("n300-llmbox")
    pages = sum(-(-count // target.dram_banks) for count in tiles)
    assert program.memory.dram_peak_bytes == pages * target.dram_banks * 32 * 32 * 4
