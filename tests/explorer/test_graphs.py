"""Graphs of the explorer: nodes of each stage, groups, links between stages, overlays, and their form."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from dacite import from_dict
from model_explorer import graph_builder
from model_explorer.extension_manager import ExtensionManager

import tt_jax
from tt_xla.compiler import compile_module, read_module
from tt_xla.compiler.reading import on_mesh
from tt_xla.errors import MalformedModuleError, OptionError, TTXLAError
from tt_xla.ir.op_names import OpNames
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.explorer import converting, graphs
from tt_xla.tools.explorer.compiling import compiled, converted, known
from tt_xla.tools.explorer.converting_stablehlo import named_scope
from tt_xla.tools.explorer.links import links, reversed_links
from tt_xla.tools.explorer.main import TenstorrentAdapter
from tt_xla.tools.explorer.namespaces import namespaces, shown_source
from tt_xla.tools.explorer.nodes import FunctionNodes
from tt_xla.tools.explorer.overlays import overlays
from tt_xla.tools.explorer.running import run
from tt_xla.tools.explorer.session import Session
from tt_xla.tools.explorer.subjects import Subject, subjects_of

pytestmark = pytest.mark.quick

EXAMPLE = """
func.func @forward(%arg0: tensor<64x128xbf16>, %arg1: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %0 = ttir.empty() : tensor<64x128xbf16>
  %1 = "ttir.add"(%arg0, %arg1, %0)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %2 = ttir.empty() : tensor<64x128xbf16>
  %3 = "ttir.relu"(%1, %2) : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %3 : tensor<64x128xbf16>
}
"""
"""A graph in upstream's older form, where ops name the tensor for their result."""


def layer(number: int, inside: str) -> str:
    return f"""
  %t{number} = stablehlo.dot_general {inside}, %w{number}, contracting_dims = [1] x [1]
    : (tensor<64x128xbf16>, tensor<128x128xbf16>) -> tensor<64x128xbf16> loc("model.py":7:4)
  %x{number + 1} = stablehlo.tanh %t{number} : tensor<64x128xbf16> loc("model.py":8:4)"""


def layers(count: int, *, named: bool) -> str:
    """Returns the StableHLO of ``count`` layers, each a product and a tanh."""
    names = [
        f'{{ttcore.argument_type = "parameter", ttir.name = "layers.{index}.fc.weight"}}' if named else ""
        for index in range(count)
    ]
    weights = "".join(f", %w{index}: tensor<128x128xbf16> {name}" for index, name in enumerate(names))
    body = "".join(layer(index, f"%x{index}") for index in range(count))
    return (
        f"func.func @main(%x0: tensor<64x128xbf16>{weights}) -> tensor<64x128xbf16> {{{body}\n"
        f"  return %x{count} : tensor<64x128xbf16>\n}}"
    )


def program_of(text: str, level: int = 0) -> Program:
    options = CompileOptions.parse({"optimization_level": level})
    return compile_module(read_module(text, "model", trusted=True), options, load_target("n150"))


def spaces(function: FunctionNodes) -> list[tuple[str, str]]:
    by_id = namespaces(function.nodes)
    return [(node.name, by_id[node.id]) for node in function.nodes]


def checked(data: Any) -> graph_builder.Graph:
    """Returns a graph that Model Explorer's own reader takes, after a check of what the web app relies on."""
    graph = from_dict(data_class=graph_builder.Graph, data=json.loads(json.dumps(data)))
    ids = [node.id for node in graph.nodes]
    assert len(ids) == len(set(ids))
    for node in graph.nodes:
        assert node.label
        outputs = {item.id for item in node.outputsMetadata}
        assert len(outputs) == len(node.outputsMetadata)
        assert {edge.sourceNodeId for edge in node.incomingEdges} <= set(ids)
    return graph


def test_nodes_of_each_stage_have_shapes_layouts_and_source_lines():
    text = layers(1, named=True)
    [main] = converted("stablehlo", text, "model")
    assert [node.op for node in main.nodes] == [
        "argument",
        "argument",
        "stablehlo.dot_general",
        "stablehlo.tanh",
        "return",
    ]
    assert main.nodes[2].location == "model.py:7:4"
    assert main.nodes[2].results == [{"tensor_shape": "64x128", "dtype": "bf16"}]
    assert main.nodes[3].operands == [(main.nodes[2].id, 0)]
    entry = converting.of_program(program_of(text, level=2))[0]
    product = next(node for node in entry.nodes if node.op == "ttnn.matmul")
    assert product.instruction is not None
    assert product.results[0]["memory"].startswith("L1")
    assert product.attributes["compute_config.math_fidelity"] == "hifi4"


def test_ttir_in_the_older_form_has_a_graph_and_no_empty_tensors():
    [forward] = converted("ttir", EXAMPLE, "model")
    assert [node.op for node in forward.nodes] == ["argument", "argument", "ttir.add", "ttir.relu", "return"]


def test_groups_are_the_modules_of_the_weights():
    [main] = converted("stablehlo", layers(2, named=True), "model")
    found = dict(spaces(main)[3:5])
    assert found == {"dot_general": "layers/0/fc/model.py:7", "tanh": "layers/0/model.py:8"}


def test_numbered_modules_of_a_sequential_model_are_layers():
    [main] = converted("stablehlo", layers(2, named=True).replace("layers.", ""), "model")
    assert dict(spaces(main)[3:5]) == {"dot_general": "layer 0/fc/model.py:7", "tanh": "layer 0/model.py:8"}


def test_an_op_without_a_source_line_is_named_by_its_position():
    names = OpNames()
    assert [names.name("ttnn.conv2d", "") for _ in range(2)] == ["conv2d#0", "conv2d#1"]
    assert names.name("ttnn.conv2d", "/home/me/model.py:3:4") == "conv2d@model.py:3:4#0"


def test_without_names_of_weights_layers_begin_where_the_source_returns_to_an_earlier_line():
    [main] = converted("stablehlo", layers(3, named=False), "model")
    ops = [space for name, space in spaces(main) if name in ("dot_general", "tanh")]
    assert ops == [f"layers/{index}/model.py:{line}" for index in range(3) for line in (7, 8)]


def lowered(function: Any, *arguments: Any) -> str:
    """Returns the StableHLO with locations that JAX hands to platform tt for a function."""
    traced = jax.jit(function).trace(*arguments)
    return traced.lower(lowering_platforms=("tt",)).as_text(debug_info=True)


def test_groups_and_links_of_a_jax_model_are_the_modules_that_its_arrays_are_marked_with():
    blocks = [{"fc": {"kernel": jnp.ones((32, 32))}} for _ in range(2)]

    def network(blocks: Any, x: jax.Array) -> jax.Array:
        for block in tt_jax.mark_parameters(blocks, "blocks"):
            x = jnp.tanh(x @ block["fc"]["kernel"])
        return x

    text = lowered(network, blocks, jnp.ones((32, 32)))
    [main] = converted("stablehlo", text, "model")
    assert "custom_call" not in [node.name for node in main.nodes]
    groups = [space.rpartition("/")[0] for name, space in spaces(main) if name in ("dot_general", "tanh")]
    assert groups == ["blocks/0/fc", "blocks/0", "blocks/1/fc", "blocks/1"]
    goal = converting.of_program(program_of(text))
    ops = {node.id: node.op for function in goal for node in function.nodes}
    became = [links([main], goal)[node.id] for node in main.nodes if node.name == "dot_general"]
    assert [[ops[each] for each in found] for found in became] == [["ttnn.matmul"], ["ttnn.matmul"]]
    assert became[0] != became[1]


def test_groups_are_the_scopes_that_the_user_named():
    def encoder(w: jax.Array, x: jax.Array) -> jax.Array:
        with jax.named_scope("encoder"):
            for index in range(2):
                with jax.named_scope(f"layer{index}"):
                    x = jnp.tanh(x @ w)
        return x

    def groups(function: Any) -> list[str]:
        [main] = converted("stablehlo", lowered(function, *arguments), "model")
        return [space.rpartition("/")[0] for name, space in spaces(main) if name in ("dot_general", "tanh")]

    arguments = jnp.ones((32, 32)), jnp.ones((32, 32))
    assert groups(encoder) == ["encoder/layer0"] * 2 + ["encoder/layer1"] * 2
    assert set(groups(jax.grad(lambda w, x: encoder(w, x).sum()))) == {"encoder/layer0", "encoder/layer1"}
    text = lowered(encoder, *arguments)
    [main], goal = converted("stablehlo", text, "model"), converting.of_program(program_of(text))
    products = [node.id for node in main.nodes if node.op == "stablehlo.dot_general"]
    matmuls = [node.id for node in goal[0].nodes if node.op == "ttnn.matmul"]
    assert [links([main], goal)[product] for product in products] == [[each] for each in matmuls]


@pytest.mark.parametrize(
    ("location", "scopes"),
    [
        ('loc("jit(f)/transpose(jvp(encoder))/layer0/dot_general"("m.py":1:2))', ("encoder", "layer0")),
        ('loc("jit(f)/jit(main)/jvp()/while/body/mul"("m.py":1:2))', ()),
        ('loc("m.py":1:2)', ()),
        ("loc(unknown)", ()),
    ],
)
def test_named_scopes_are_read_from_locations(location: str, scopes: tuple[str, ...]):
    assert named_scope(location) == scopes


def test_regions_are_groups():
    text = """
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %y = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    [main] = converted("stablehlo", text, "model")
    inner = next(node for node in main.nodes if node.op == "stablehlo.add")
    assert inner.scope == ("reduce 1", "region 0")
    checked(asdict(graphs.graph_of(main, "main", {})))


def test_each_op_is_linked_to_what_it_became_and_back():
    text = layers(2, named=True)
    program = program_of(text, level=2)
    source, goal = converted("stablehlo", text, "model"), converting.of_program(program)
    names = {node.id: node.op for function in goal for node in function.nodes}
    forward = links(source, goal)
    products = [node.id for node in source[0].nodes if node.op == "stablehlo.dot_general"]
    became = [
        [each for each in forward[product] if names[each] in ("ttnn.matmul", "ttnn.linear")] for product in products
    ]
    assert [len(found) for found in became] == [1, 1]
    assert became[0] != became[1]
    assert products[0] in reversed_links(forward)[became[0][0]]
    assert set(forward) == {node.id for node in source[0].nodes}


def test_a_fused_op_is_linked_to_the_op_that_took_it_in():
    source, goal = converted("ttir", EXAMPLE, "model"), converting.of_program(program_of(EXAMPLE, level=2))
    relu = next(node.id for node in source[0].nodes if node.op == "ttir.relu")
    add = next(node.id for node in goal[0].nodes if node.op == "ttnn.add")
    assert links(source, goal)[relu] == [add]


def test_overlays_have_the_costs_and_the_memory_of_the_program():
    program, target = program_of(layers(2, named=True), level=2), load_target("n150")
    functions = converting.of_program(program)
    shown = {overlay.name: overlay for overlay in overlays(functions, program, target)}
    times = shown["predicted time (us)"].values
    body = program.functions[0].body
    expected = {f"main:{index}": round(op.cost.total_us, 3) for index, op in enumerate(body) if op.cost.total_us}
    assert {node: time for node, time in times.items() if node.startswith("main:")} == expected
    assert max(shown["DRAM in use (MiB)"].values.values()) == round(program.memory.dram_peak_bytes / (1 << 20), 3)
    assert max(shown["L1 in use (KiB a core)"].values.values()) == round(
        program.memory.l1_peak_bytes_per_core / (1 << 10), 3
    )
    assert set(shown["bound by"].values.values()) <= {"compute", "dram", "noc", "launch", "link"}
    for overlay in shown.values():
        assert json.loads(overlay.node_data().to_json_string())["results"]


@pytest.mark.parametrize("constants", [False, True])
def test_model_explorer_reads_the_graphs_of_its_adapter(tmp_path: Path, constants: bool):
    path = tmp_path / "model.mlir"
    path.write_text(layers(2, named=True))
    manager = ExtensionManager(["tt_xla.tools.explorer"])
    manager.load_extensions()
    settings = {"constants": constants, "optimization_level": 2}
    command = {"cmdId": "convert", "extensionId": TenstorrentAdapter.metadata.id, "modelPath": str(path)}
    answer = manager.run_cmd({**command, "settings": settings, "deleteAfterConversion": False})
    stages = {collection["label"]: collection["graphs"] for collection in answer["graphCollections"]}
    assert list(stages) == ["model stablehlo", "model ttir", "model ttnn"]
    for made in stages.values():
        for graph in map(checked, made):
            assert bool(graph.nodeLabelsToHide) is not constants
    load = next(node for node in stages["model ttnn"][0]["nodes"] if node["label"] == "load_cached")
    assert load["subgraphIds"][0] in {graph["id"] for graph in stages["model ttnn"]}


def test_the_adapter_runs_no_script(tmp_path: Path):
    script = tmp_path / "model.py"
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(OptionError, match="is a script"):
        TenstorrentAdapter().convert(str(script), {})
    assert not (tmp_path / "ran").exists()


def test_a_folder_of_dumps_has_its_programs_with_all_stages(tmp_path: Path):
    text = layers(1, named=True)
    for index in range(2):
        dumps: dict[str, str] = {}
        compile_module(read_module(text, trusted=True), CompileOptions.parse(), load_target("n150"), dumps=dumps)
        for stage, dump in dumps.items():
            (tmp_path / f"{stage}_net_{1700000000000 + index}.mlir").write_text(dump)
    found = subjects_of(tmp_path)
    assert [(subject.name, list(subject.stages)) for subject in found] == [
        (f"net_{index}", ["stablehlo", "ttir", "ttnn"]) for index in range(2)
    ]
    outcome = known(found[0], "n150")
    assert outcome is not None
    assert [function.name for function in outcome.functions] == [each.name for each in program_of(text).functions]


def test_a_compiled_file_has_its_graphs(tmp_path: Path):
    program = program_of(EXAMPLE)
    (tmp_path / "example.ttnn").write_bytes(program.to_bytes())
    [subject] = subjects_of(tmp_path / "example.ttnn")
    outcome = known(subject, "n150")
    assert outcome is not None
    assert outcome.functions == converting.of_program(program)


def test_a_dump_for_several_chips_has_its_graph_and_times():
    text = """func.func @main(%x: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
      %0 = "ttir.all_reduce"(%x) <{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>}>
        : (tensor<64x128xbf16>) -> tensor<64x128xbf16>
      return %0 : tensor<64x128xbf16>
    }"""
    module, dumps = read_module(text), {}
    on_mesh(module, (1, 2))
    compile_module(module, CompileOptions.parse(), load_target("n300"), dumps=dumps)
    outcome = known(Subject("sum", stages={"ttnn": dumps["ttnn"]}), "")
    assert outcome is not None
    assert outcome.program is not None
    assert outcome.program.mesh is not None
    shown = overlays(outcome.functions, outcome.program, load_target(outcome.program.target))
    assert any(overlay.name == "links (us)" and overlay.values for overlay in shown)
    [chips] = [overlay for overlay in shown if overlay.name == "chips of an exchange"]
    assert {*chips.values.values()} == {2}


def test_a_run_on_several_chips_has_the_accuracy_of_each_op():
    text = """module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
      sdy.mesh @mesh = <["x"=2]>
      func.func public @main(
          %x: tensor<64x128xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
          %w: tensor<128x64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64x64xbf16> {
        %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
          : (tensor<64x128xbf16>, tensor<128x64xbf16>) -> tensor<64x64xbf16>
        %1 = stablehlo.tanh %0 : tensor<64x64xbf16>
        return %1 : tensor<64x64xbf16>
      }
    }"""
    program = compile_module(read_module(text, trusted=True), CompileOptions.parse(), load_target("n300"))
    ran = run(Subject("sharded", text), program, "emulated", lambda line: None)
    assert ran.pcc > 0.999
    ops = {f"main:{index}": op.op for index, op in enumerate(program.functions[0].body)}
    assert [ops[node] for node in ran.nodes] == ["ttnn.matmul", "ttnn.all_reduce", "ttnn.tanh"]
    for alone, running in ran.nodes.values():
        assert alone is not None
        assert running is not None
        assert min(alone, running) > 0.999


def test_a_run_by_tt_nn_says_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TTXLA_TTNN_PYTHON", "/nothing/python")
    monkeypatch.delenv("TTXLA_RUNTIME", raising=False)
    with pytest.raises(TTXLAError, match="/nothing/python"):
        run(Subject("example"), program_of(EXAMPLE), "ttnn", lambda line: None)
    assert "TTXLA_RUNTIME" not in os.environ


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with one input of each kind."""
    folder, text, dumps = tmp_path_factory.mktemp("inputs"), layers(1, named=True), {}
    program = compile_module(read_module(text, trusted=True), CompileOptions.parse(), load_target("n150"), dumps=dumps)
    (folder / "stablehlo.mlir").write_text(text)
    (folder / "ttir.mlir").write_text(dumps["ttir"])
    (folder / "older.mlir").write_text(EXAMPLE)
    (folder / "ttnn.mlir").write_text(dumps["ttnn"])
    (folder / "program.ttnn").write_bytes(program.to_bytes())
    upstream = folder / "upstream" / "irs"
    upstream.mkdir(parents=True)
    for number, (name, stage) in enumerate(
        {"vhlo": "shlo", "shlo": "shlo", "shlo_compiler": "shlo", "ttir": "ttir", "ttnn": "ttnn"}.items()
    ):
        (upstream / f"{name}_net_g0_{1700000000000 + number}.mlir").write_text(dumps[stage])
    (folder / "script.py").write_text("import jax\njax.jit(jax.numpy.tanh)(jax.numpy.ones((32, 32)))\n")
    return folder


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("stablehlo.mlir", ["stablehlo", "ttir", "ttnn"]),
        ("ttir.mlir", ["ttir", "ttnn"]),
        ("older.mlir", ["ttir", "ttnn"]),
        ("ttnn.mlir", ["ttnn"]),
        ("program.ttnn", ["ttnn"]),
        ("upstream", ["stablehlo", "ttir", "ttnn"]),
        ("script.py", ["stablehlo", "ttir", "ttnn"]),
    ],
)
def test_each_kind_of_input_has_its_stages(inputs: Path, name: str, stages: list[str]):
    session = Session([], "n150")
    subject = subjects_of(inputs / name)[-1]
    outcome = known(subject, "n150") or compiled(subject, {}, "n150", lambda line: None)
    assert not outcome.error
    session.subjects.append(subject)
    session.add(0, outcome)
    [version] = session.versions
    assert version.stages == stages
    for stage in stages:
        functions = version.converted.get(stage) or converted(stage, outcome.stages[stage], subject.name)
        checked(asdict(graphs.graph_of(functions[0], stage, {})))


def test_a_damaged_file_in_a_folder_is_a_program_with_an_error(tmp_path: Path):
    (tmp_path / "good.mlir").write_text(EXAMPLE)
    (tmp_path / "cut.ttnn").write_bytes(program_of(EXAMPLE).to_bytes()[:100])
    found = {subject.name: subject for subject in subjects_of(tmp_path)}
    assert list(found) == ["cut", "good"]
    assert "cut.ttnn" in found["cut"].error
    assert not found["good"].error


def test_compiled_files_of_one_name_in_two_folders_are_two_programs(tmp_path: Path):
    for index, text in enumerate([EXAMPLE, layers(1, named=True)]):
        (tmp_path / str(index)).mkdir()
        (tmp_path / str(index) / "net.ttnn").write_bytes(program_of(text).to_bytes())
    programs = [subject.program for subject in subjects_of(tmp_path)]
    lengths = [len(program.arguments) for program in programs if program is not None]
    assert lengths == [2, 2]
    assert programs[0] != programs[1]


def test_a_folder_without_modules_is_refused(tmp_path: Path):
    with pytest.raises(MalformedModuleError, match="has no modules or programs"):
        subjects_of(tmp_path)


def test_an_error_of_the_compiler_is_part_of_the_outcome():
    text = """func.func @main(%x: tensor<1024x1024x1024x64xf32>) -> tensor<1024x1024x1024x64xf32> {
      %0 = stablehlo.tanh %x : tensor<1024x1024x1024x64xf32> loc("model.py":3:1)
      return %0 : tensor<1024x1024x1024x64xf32>
    }"""
    lines: list[str] = []
    outcome = compiled(Subject("large", text), {}, "n150", lines.append)
    assert "does not hold the program" in outcome.error
    assert outcome.program is None
    assert list(outcome.stages) == ["ttir", "ttnn", "stablehlo"]
    assert lines[-1] == "compiled to ttnn"


def test_sources_of_installed_libraries_start_at_the_library() -> None:
    assert shown_source("/home/me/.venv/lib/python3.11/site-packages/transformers/modeling.py:3") == (
        "transformers/modeling.py:3"
    )
    assert shown_source("/home/me/model.py:3:4") == "/home/me/model.py:3:4"
