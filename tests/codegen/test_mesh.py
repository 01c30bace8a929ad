"""Programs for several chips as source: the mesh device, placements of tensors, and TT-NN's answers in mock mode."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.codegen.mesh_programs import HOST_PROGRAMS, MESHES, PROGRAMS, loop_of_each_chip
from tests.codegen.test_cpp import check, headers, run  # noqa: F401  a fixture
from tt_xla.codegen import UTILS, clusters
from tt_xla.codegen.calls import call_of
from tt_xla.codegen.export import contents, write
from tt_xla.codegen.formatting import flat, node_of
from tt_xla.codegen.generator import generate
from tt_xla.codegen.judge import judge
from tt_xla.codegen.meshes import DeviceMesh, device_mesh
from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.compiler import compile_module, parse_module
from tt_xla.environment import variable
from tt_xla.errors import MeshError, UnsupportedOpError
from tt_xla.ir.layout import BufferType, DataType, TensorLayout
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import (
    Argument,
    Function,
    FunctionKind,
    Instruction,
    MemoryPlan,
    Operand,
    Program,
    Result,
    Role,
    TensorSpec,
)
from tt_xla.options import CompileOptions
from tt_xla.runtime.mesh.shards import split
from tt_xla.target import load_target


def python(expression: Any) -> str:
    """Returns the Python source of an expression without constants."""
    return flat(node_of(expression, lambda number: f"v{number}", lambda data: None))


ON_MESHES = [(system, mesh) for system, meshes in MESHES.items() for mesh in meshes]


def compiled(name: str, system: str, mesh: tuple[int, int], level: int = 1, devices: Sequence[int] = ()) -> Program:
    options = CompileOptions.parse({"optimization_level": level})
    text = (PROGRAMS | HOST_PROGRAMS | {"loop_of_each_chip": loop_of_each_chip})[name](mesh)
    return compile_module(parse_module(text), options, load_target(system), name=name, devices=devices)


def mesh_of(*shape: int) -> Mesh:
    return Mesh(shape, tuple("abcdef"[: len(shape)]))


def by_hand(
    mesh: Mesh,
    *body: Instruction,
    shape: tuple[int, ...] = (64, 64),
    sharding: Sharding | None = None,
    global_shape: tuple[int, ...] | None = None,
    system: str = "n300-llmbox",
) -> Program:
    """Returns a Program whose argument is value 0, and whose result is the last value."""
    spec = TensorSpec(shape, TensorLayout.of(shape, DataType.F32))
    values = (spec,) * (len(body) + 1)
    entry = Function("main", FunctionKind.FORWARD, (0,), (len(body),), values, body)
    sharding = sharding or Sharding(((),) * len(shape))
    whole = global_shape or tuple(np.multiply(shape, sharding.counts(mesh)).tolist())
    argument = Argument("x", Role.INPUT, shape, "f32", False, sharding, whole)
    results = (Result(shape, "f32", sharding, whole),)
    return Program("by hand", system, {}, (argument,), results, (entry,), MemoryPlan(), 0.0, mesh=mesh)


def gather(axis: int) -> Instruction:
    return Instruction("ttnn.all_gather", {"input": 0}, (1,), {"all_gather_dim": 0, "cluster_axis": axis})


# The mesh device


@pytest.mark.parametrize(
    ("shape", "axis", "rows_and_columns", "dimension"),
    [
        ((8,), 0, (1, 8), 1),
        ((2, 4), 0, (2, 4), 0),
        ((2, 4), 1, (2, 4), 1),
        ((1, 8), 1, (1, 8), 1),
        ((8, 1), 0, (1, 8), 1),
        ((2, 1, 4), 2, (2, 4), 1),
        ((2, 2, 2), 0, (2, 4), 0),
        ((2, 2, 2), 2, (4, 2), 1),
    ],
)
def test_meshes_become_rows_and_columns(
    shape: tuple[int, ...], axis: int, rows_and_columns: tuple[int, int], dimension: int
) -> None:
    device = device_mesh(by_hand(mesh_of(*shape), gather(axis)))
    assert device is not None
    assert (device.shape, device.axis(axis)) == (rows_and_columns, dimension)


def test_a_chip_keeps_its_position() -> None:
    mesh = mesh_of(2, 2, 2)
    device = device_mesh(by_hand(mesh, gather(2)))
    assert device is not None
    places = [device.coordinates(mesh.coordinates(position)) for position in range(8)]
    assert places == list(itertools.product(range(4), range(2)))


def test_exchanges_along_three_axes_are_refused() -> None:
    steps = [Instruction("ttnn.all_gather", {"input": axis}, (axis + 1,), {"cluster_axis": axis}) for axis in range(3)]
    with pytest.raises(UnsupportedOpError, match="exchanges tensors along axes 0, 1, 2 of its mesh 2x2x2"):
        device_mesh(by_hand(mesh_of(2, 2, 2), *steps))


def test_a_mesh_that_the_links_do_not_allow_is_refused() -> None:
    with pytest.raises(MeshError, match="needs 16 chips"):
        device_mesh(by_hand(mesh_of(4, 4)))


def test_links_that_form_a_ring_get_the_fabric_of_a_ring() -> None:
    fabrics = [
        device.fabric
        for shape in ((1, 4), (2, 2))
        if (device := device_mesh(by_hand(mesh_of(*shape), system="p150x4"))) is not None
    ]
    assert fabrics == ["FABRIC_1D_RING", "FABRIC_1D"]


# Placements


SHARDINGS = [
    ((8, 12), Sharding(((0,), ()))),
    ((8, 12), Sharding(((), (0,)))),
    ((8, 12), Sharding(((1,), (0,)))),
    ((8, 12), Sharding(((0, 1), ()))),
    ((8, 12), Sharding(((), (1,)))),
    ((8,), Sharding(((1,),))),
    ((8,), Sharding(((0,),))),
    ((7, 12), Sharding(((0, 1), ()))),
    ((3, 5), Sharding(((0,), (1,)))),
    ((8, 2, 3), Sharding(((0,), (), ()))),
]


def placed(array: np.ndarray[Any, Any], device: DeviceMesh, sharding: Sharding) -> list[np.ndarray[Any, Any]]:
    """Returns what TT-NN's mapper gives each chip: each axis of the placement splits one dimension."""
    placement = device.placement(sharding)
    assert placement is not None
    shards: list[np.ndarray[Any, Any]] = []
    for coordinates in itertools.product(*map(range, placement.shape)):
        part = array
        for size, dim, place in zip(placement.shape, placement.dims, coordinates, strict=True):
            part = part if dim is None else np.split(part, size, dim)[place]
        shards.append(part)
    return shards


def test_partial_sums_are_refused() -> None:
    device = device_mesh(by_hand(mesh_of(2, 4)))
    assert device is not None
    sharding = Sharding(((0,), ()), (1,))
    for config in (device.mapper, device.composer):
        with pytest.raises(UnsupportedOpError, match="is partial sums along the mesh axes"):
            config(sharding)


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (4, 2), (1, 8), (2, 2, 2), (2, 1, 4)])
def test_mappers_split_like_the_runtime(shape: tuple[int, ...]) -> None:
    mesh = mesh_of(*shape)
    device = device_mesh(by_hand(mesh))
    assert device is not None
    array = np.arange(16 * 24).reshape(16, 24)
    checked = 0
    axes = range(len(shape))
    for rows, columns in itertools.product([*itertools.permutations(axes, 1), tuple(axes), ()], repeat=2):
        if set(rows) & set(columns):
            continue
        sharding = Sharding((rows, columns))
        got = placed(array, device, sharding)
        assert len(got) == mesh.size
        for shard, expected in zip(got, split(torch.from_numpy(array), sharding, mesh), strict=True):
            assert np.array_equal(shard, expected.numpy())
        checked += 1
    assert checked > len(shape)


@pytest.mark.parametrize("dims", [((1, 0), ()), ((0, 2), ())])
def test_axes_that_are_not_neighbours_in_order_are_refused(dims: tuple[tuple[int, ...], ...]) -> None:
    mesh = mesh_of(2, 2, 2)
    program = by_hand(mesh, sharding=Sharding(dims))
    with pytest.raises(UnsupportedOpError, match="must be neighbours, the major one first"):
        generate(program)
    assert "utils.load" in generate(program, places_shards=False).main


# Calls


def source(op: str, mesh: tuple[int, ...] = (2, 4), /, operands: dict[str, Operand] | None = None, **rest: Any) -> str:
    """Returns the call of an op on tensors in DRAM, of 64x64 elements or of ``shape``.

    The result is of the shape ``result`` in the memory ``to``.
    """
    shape = rest.pop("shape", (64, 64))
    buffer, result_shape = rest.pop("to", BufferType.DRAM), rest.pop("result", shape)
    operand = TensorSpec(shape, TensorLayout.of(shape, DataType.BF16))
    result = TensorSpec(result_shape, TensorLayout.of(result_shape, DataType.BF16, buffer=buffer))
    device = device_mesh(by_hand(mesh_of(*mesh)))
    step = Instruction(op, operands or {"input": 0}, (2,), rest)
    return python(call_of(step, (operand, operand, result), load_target("n300-llmbox"), device))


DRAM = "memory_config=ttnn.DRAM_MEMORY_CONFIG"


def test_collectives_name_their_dimension_of_the_mesh_device() -> None:
    assert source("ttnn.all_gather", all_gather_dim=1, cluster_axis=1) == (
        f"ttnn.all_gather(v0, 1, cluster_axis=1, {DRAM})"
    )
    assert source("ttnn.all_reduce", (8,), reduce_type="sum", cluster_axis=0) == (
        f"ttnn.all_reduce(v0, cluster_axis=1, {DRAM})"
    )
    assert source("ttnn.mesh_partition", dim=0, cluster_axis=0) == f"ttnn.mesh_partition(v0, 0, cluster_axis=0, {DRAM})"


def test_results_in_l1_are_moved_there() -> None:
    """Some forms of all_gather return the result in DRAM although they are asked for L1."""
    text = source("ttnn.all_gather", all_gather_dim=1, cluster_axis=1, to=BufferType.L1)
    call = "ttnn.all_gather(v0, 1, cluster_axis=1, memory_config=ttnn.L1_MEMORY_CONFIG)"
    assert text == f"ttnn.to_memory_config({call}, ttnn.L1_MEMORY_CONFIG)"


def test_reduce_scatter_says_its_precision() -> None:
    text = source(
        "ttnn.reduce_scatter",
        reduce_type="sum",
        scatter_dim=1,
        cluster_axis=0,
        compute_config={"math_fidelity": "hifi4", "fp32_dest_acc_en": True},
    )
    assert text.startswith(f"ttnn.reduce_scatter(v0, 1, cluster_axis=0, {DRAM}, compute_kernel_config=")


def test_reduce_scatter_of_a_vector_is_that_of_a_row() -> None:
    """TT-NN 0.81.1 refuses tensors of rank 1."""
    text = source("ttnn.reduce_scatter", shape=(64,), result=(32,), reduce_type="sum", scatter_dim=0, cluster_axis=0)
    row = "ttnn.reduce_scatter(ttnn.reshape(v0, [1, 64]), 1, cluster_axis=0)"
    assert text == f"ttnn.reshape({row}, [32], {DRAM})"


def test_an_axis_of_one_chip_is_a_copy() -> None:
    assert source("ttnn.all_gather", (1, 8), all_gather_dim=1, cluster_axis=0) == f"ttnn.clone(v0, {DRAM})"
    assert source("ttnn.all_reduce", (2, 1, 4), reduce_type="sum", cluster_axis=1) == f"ttnn.clone(v0, {DRAM})"


@pytest.mark.parametrize("op", ["ttnn.all_reduce", "ttnn.reduce_scatter"])
def test_reductions_that_do_not_add_are_refused(op: str) -> None:
    with pytest.raises(UnsupportedOpError, match="adds; this one has reduce_type max"):
        source(op, reduce_type="max", scatter_dim=0, cluster_axis=1)


def test_a_collective_in_a_program_for_one_chip_is_refused() -> None:
    spec = TensorSpec((64, 64), TensorLayout.of((64, 64), DataType.BF16))
    with pytest.raises(UnsupportedOpError, match="the program is for one chip"):
        call_of(gather(0), (spec, spec), load_target("p150"))


def test_point_to_point_names_places_and_moves_operands_to_the_memory_of_the_result() -> None:
    places = {"sender_coord": [3], "receiver_coord": [4]}
    coordinates = "ttnn.MeshCoordinate(0, 3), ttnn.MeshCoordinate(0, 4)"
    assert source("ttnn.point_to_point", (8,), **places) == f"ttnn.point_to_point(v0, {coordinates})"
    text = source("ttnn.point_to_point", (8,), {"input": 0, "optional_output_tensor": 1}, to=BufferType.L1, **places)
    moved = [f"ttnn.to_memory_config(v{value}, ttnn.L1_MEMORY_CONFIG)" for value in (0, 1)]
    assert text == f"ttnn.point_to_point({moved[0]}, {coordinates}, output_tensor={moved[1]})"


def test_point_to_point_to_another_row_and_column_turns_a_corner() -> None:
    """TT-NN 0.81.1 refuses such coordinates for a fabric of one dimension."""
    text = source("ttnn.point_to_point", (2, 2), sender_coord=[1, 0], receiver_coord=[0, 1])
    first = "ttnn.point_to_point(v0, ttnn.MeshCoordinate(1, 0), ttnn.MeshCoordinate(1, 1))"
    assert text == f"ttnn.point_to_point({first}, ttnn.MeshCoordinate(1, 1), ttnn.MeshCoordinate(0, 1))"


def test_all_to_all_joins_in_dim_and_splits_out_dim() -> None:
    text = source("ttnn.all_to_all", split_dim=1, concat_dim=0, cluster_axis=0, result=(128, 32))
    assert text == f"ttnn.experimental.all_to_all_async_generic(v0, in_dim=0, out_dim=1, cluster_axis=0, {DRAM})"


def test_all_to_all_of_parts_of_tiles_gathers() -> None:
    text = source("ttnn.all_to_all", split_dim=1, concat_dim=0, cluster_axis=1, result=(256, 16))
    rows = "ttnn.to_layout(v0, ttnn.ROW_MAJOR_LAYOUT)"
    part = f"ttnn.mesh_partition(ttnn.all_gather({rows}, 0, cluster_axis=1), 1, cluster_axis=1)"
    assert text == f"ttnn.to_layout({part}, ttnn.TILE_LAYOUT, {DRAM})"


def test_all_to_all_along_one_dimension_splits_a_dimension_of_its_own() -> None:
    text = source("ttnn.all_to_all", split_dim=0, concat_dim=0, cluster_axis=0)
    assert "ttnn.reshape(v0, [2, 32, 64])" in text
    assert "ttnn.all_gather(" in text
    assert "1, cluster_axis=0), 0, cluster_axis=0), [64, 64])" in text


# Source


def test_python_opens_splits_joins_and_closes() -> None:
    text = generate(compiled("sequence_parallel", "p150x4", (2, 2))).main
    for part in (
        "ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)\n"
        "    device = ttnn.open_mesh_device(ttnn.MeshShape(2, 2), l1_small_size=32768)",
        "SPLIT_0_ALL = ttnn.MeshMapperConfig([ttnn.PlacementShard(0), ttnn.PlacementReplicate()])",
        "SPLIT_ALL_1 = ttnn.MeshMapperConfig([ttnn.PlacementReplicate(), ttnn.PlacementShard(1)])",
        "JOIN_0_1 = ttnn.MeshComposerConfig([0, 1])",
        'utils.load("arg1", ttnn.bfloat16, ttnn.TILE_LAYOUT, device, DRAM, SPLIT_ALL_1)',
        "ttnn.reduce_scatter(",
        "utils.show([utils.composed(results[0], device, JOIN_0_1, 0, [64, 128])], count == 1)",
        "ttnn.close_mesh_device(device)\n        ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)",
    ):
        assert part in text


def test_chosen_chips_are_opened_by_number() -> None:
    """Devices 1 and 2 of p150x4 are chips 2 and 3, which lack a link: packets turn on chip 0."""
    program = compiled("tensor_parallel", "p150x4", (1, 2), devices=[1, 2])
    assert program.mesh is not None
    assert program.mesh.devices == (1, 2)
    assert (
        "ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_2D)\n    device = ttnn.open_mesh_device("
        "ttnn.MeshShape(1, 2), l1_small_size=32768, physical_device_ids=[2, 3])"
    ) in generate(program).main
    cpp = generate(program, language="cpp").main
    assert "FabricConfig::FABRIC_2D" in cpp
    assert "utils::open_mesh_device(1, 2, 32768, {2, 3});" in cpp
    linked = generate(compiled("tensor_parallel", "p150x4", (1, 2), devices=[1, 0])).main
    assert "FabricConfig.FABRIC_1D)" in linked
    assert "physical_device_ids=[2, 0])" in linked


def test_tensors_that_do_not_divide_are_padded(tmp_path: Path, headers: Path) -> None:  # noqa: F811
    program = by_hand(mesh_of(8), shape=(2, 4), sharding=Sharding(((0,), ())), global_shape=(11, 4))
    assert "SPLIT_0, [16, 4])" in generate(program).main
    cpp = generate(program, language="cpp").main
    assert "SPLIT_0, ttnn::Shape({16, 4}))" in " ".join(cpp.split())
    assert "0, ttnn::Shape({11, 4}))" in " ".join(cpp.split())
    check(tmp_path, headers, cpp)


def test_cpp_fills_up_and_cuts_each_dimension(tmp_path: Path, headers: Path) -> None:  # noqa: F811
    statements = """for (double x : utils::resized({1, 2, 3, 4, 5, 6}, {2, 3}, {3, 4})) std::cout << x << ' ';
    for (double x : utils::resized({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}, {2, 1, 2})) std::cout << x << ' ';"""
    assert run(tmp_path, headers, statements) == ["1 2 3 0 4 5 6 0 0 0 0 0 1 2 5 6 "]


def test_the_host_computes_once_for_chips_that_hold_the_same_shards() -> None:
    main = " ".join(generate(compiled("host_op", "p150x4", (2, 2))).main.split())
    assert "utils.on_chips( device, [0, 0, 2, 2], host_ops.run, host_fft_1, " in main
    assert "(host_call,) = host_ops.run(host_fft, [weight], " in main  # all chips hold the weight


def test_host_ops_of_a_program_for_several_chips_are_refused_in_cpp() -> None:
    with pytest.raises(UnsupportedOpError, match=r"ops that the host runs: stablehlo\.fft"):
        generate(compiled("host_op", "p150x4", (2, 2)), language="cpp")


def test_a_loop_whose_condition_differs_between_chips_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match=r"condition of a ttcore\.while_loop .* along the mesh axis 'data'"):
        generate(compiled("loop_of_each_chip", "p150x4", (2, 2)))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiler_takes_the_programs(name: str, tmp_path: Path, headers: Path) -> None:  # noqa: F811
    check(tmp_path, headers, generate(compiled(name, "p150x4", (2, 2)), language="cpp").main)


# TT-NN in mock mode


def ttnn_or_skip() -> Path:
    if not variable("TTXLA_TTNN_PYTHON"):
        pytest.skip("TTXLA_TTNN_PYTHON does not name an interpreter with ttnn")
    return ttnn_python()


@pytest.mark.parametrize("system", MESHES)
def test_ttnn_takes_every_call(system: str) -> None:
    interpreter = mock(ttnn_or_skip(), system)
    programs = [
        compiled(name, system, mesh, level)
        for mesh in MESHES[system]
        for name in PROGRAMS | HOST_PROGRAMS
        for level in (0, 1, 2)
    ]
    for judgement in judge(programs, interpreter):
        assert not judgement.refusals, (judgement.program.name, judgement.refusals[0])


@pytest.mark.parametrize(("system", "mesh"), ON_MESHES)
def test_generated_programs_run(system: str, mesh: tuple[int, int], tmp_path: Path) -> None:
    interpreter = mock(ttnn_or_skip(), system)
    for name in PROGRAMS:
        program = compiled(name, system, mesh)
        write(tmp_path / name, contents(program, generate(program, export_tensors=False), {}))
        done = subprocess.run(
            [interpreter.python, "main.py"],
            cwd=tmp_path / name,
            env=interpreter.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        shapes = [list(result.global_shape or result.shape) for result in program.results]
        assert [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("result ")] == [
            f"{shape} float32" for shape in shapes
        ]


ROUND_TRIP = """
import json, sys
import numpy, ttnn
sys.path.insert(0, sys.argv[1])
import utils
device = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
for case in json.load(open(sys.argv[2])):
    array = numpy.arange(numpy.prod(case["shape"]), dtype=numpy.float32).reshape(case["shape"])
    mapper, composer = eval(case["mapper"]), eval(case["composer"])
    tensor = utils.tensor(array, ttnn.float32, ttnn.TILE_LAYOUT, device, None, mapper, case["padded"])
    shards = [utils.array_of(shard).tolist() for shard in ttnn.get_device_tensors(tensor)]
    joined = utils.composed(tensor, device, composer, case["replicas"], case["shape"])
    print(json.dumps({"shards": shards, "same": bool(numpy.array_equal(joined, array))}))
ttnn.close_mesh_device(device)
"""


def test_ttnn_splits_and_joins_like_the_runtime(tmp_path: Path) -> None:
    """Splitting and joining happen on the host, which computes in mock mode too."""
    interpreter = mock(ttnn_or_skip(), "p150x4")
    mesh = mesh_of(2, 2)
    device = device_mesh(by_hand(mesh, system="p150x4"))
    assert device is not None
    cases = [
        {
            "shape": shape,
            "mapper": python(device.mapper(sharding)),
            "composer": python(device.composer(sharding)),
            "replicas": device.replicated_axes(sharding),
            "padded": np.multiply(sharding.local_shape(mesh, shape), sharding.counts(mesh)).tolist(),
        }
        for shape, sharding in SHARDINGS
    ]
    job = tmp_path / "cases.json"
    job.write_text(json.dumps(cases))
    done = subprocess.run(
        [interpreter.python, "-c", ROUND_TRIP, UTILS.parent, job],
        env=interpreter.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for (shape, sharding), line in zip(SHARDINGS, done.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        whole = torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape)
        assert answer["shards"] == [shard.tolist() for shard in split(whole, sharding, mesh)]
        assert answer["same"]


def test_descriptions_have_the_links_of_the_systems() -> None:
    """The links between chips are those of ``target/links.py``, which counts channels that programs can use."""
    assert set(MESHES) < set(clusters.SYSTEMS)
    for system in clusters.SYSTEMS:
        text = clusters.description(system)
        target = load_target(system)
        assert text.count("blackhole") == target.chips
        assert text.count("chan:") == 2 * sum(link.channels for link in target.links)
