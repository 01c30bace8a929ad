"""The text of generated Python: its structure, its names, and that ruff accepts it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tt_xla.codegen.expressions import Call, Name, shortest
from tt_xla.codegen.generator import Source, generate
from tt_xla.codegen.naming import block_of, config_name, filled_name, identifier, module_path, number_name, unique
from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import Argument, Function, FunctionKind, Instruction, MemoryPlan, Program, Role, TensorSpec
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

LAYERS = 30

POOL = {
    "batch_size": 1,
    "input_height": 8,
    "input_width": 8,
    "channels": 32,
    "kernel_size": [2, 2],
    "stride": [2, 2],
    "padding": [0, 0, 0, 0],
    "dilation": [1, 1],
    "ceil_mode": False,
}


def decoder(layers: int = LAYERS, fed: bool = False) -> str:
    """Returns a model of blocks with two products and a residual, whose arguments have names as frontends give them.

    Args:
        layers: number of blocks.
        fed: whether each block also reads an argument of its own, such as a cache, and a value that all blocks read.
    """
    arguments = ['%x: tensor<32x64xbf16> {ttir.name = "args_0"}']
    body = ["%x0 = stablehlo.negate %x : tensor<32x64xbf16>", "%z = stablehlo.cosine %x : tensor<32x64xbf16>"]
    previous = "%x0"
    for n in range(layers):
        for name in ("up", "down"):
            attributes = f'ttcore.argument_type = "parameter", ttir.name = "model.layers.{n}.mlp.{name}.weight"'
            arguments.append(f"%{name}{n}: tensor<64x64xbf16> {{{attributes}}}")
        dims = "contracting_dims = [1] x [0]"
        kind = "(tensor<32x64xbf16>, tensor<64x64xbf16>) -> tensor<32x64xbf16>"
        body += [
            f"%a{n} = stablehlo.dot_general {previous}, %up{n}, {dims} : {kind}",
            f"%b{n} = stablehlo.tanh %a{n} : tensor<32x64xbf16>",
            f"%c{n} = stablehlo.multiply %b{n}, %a{n} : tensor<32x64xbf16>",
            f"%d{n} = stablehlo.dot_general %c{n}, %down{n}, {dims} : {kind}",
            f"%e{n} = stablehlo.exponential %d{n} : tensor<32x64xbf16>",
            f"%f{n} = stablehlo.add {previous}, %{'h' if fed else 'e'}{n} : tensor<32x64xbf16>",
        ]
        if fed:
            arguments.append(f'%own{n}: tensor<32x64xbf16> {{ttir.name = "args_{n + 1}"}}')
            body.insert(-1, f"%g{n} = stablehlo.subtract %e{n}, %own{n} : tensor<32x64xbf16>")
            body.insert(-1, f"%h{n} = stablehlo.multiply %g{n}, %z : tensor<32x64xbf16>")
        previous = f"%f{n}"
    lines = "\n".join(body)
    return (
        f"func.func public @main({', '.join(arguments)}) -> tensor<32x64xbf16> {{\n{lines}\n"
        f"return {previous} : tensor<32x64xbf16>\n}}"
    )


def compiled(text: str, **options: object) -> Program:
    return compile_module(parse_module(text, "model.mlir"), CompileOptions.parse(options), load_target("p150"))


def functions(source: Source) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(source.main).body if isinstance(node, ast.FunctionDef)}


def check_with_ruff(folder: Path, text: str) -> None:
    (folder / "main.py").write_text(text)
    (folder / "utils.py").touch()  # ruff sorts local modules after installed ones
    (folder / "ruff.toml").write_text("line-length = 120\n")
    for command in (["check", "--no-cache"], ["format", "--check", "--diff", "--no-cache"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "main.py"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("level", [0, 2])
def test_ruff_has_nothing_to_say(tmp_path: Path, level: int) -> None:
    """The formatter would not change a line either."""
    check_with_ruff(tmp_path, generate(compiled(decoder(3), optimization_level=level)).main)


def test_a_decoder_of_thirty_layers_has_one_function_for_them_and_few_lines() -> None:
    program = compiled(decoder())
    source = generate(program)
    ops = sum(len(function.body) for function in program.functions)
    assert len(source.main.splitlines()) <= 1.5 * ops
    assert [name for name in functions(source) if name.startswith("layer")] == ["layer"]
    calls = [line for line in source.main.splitlines() if "= layer(" in line]
    assert len(calls) == LAYERS
    assert calls[7].strip() == 'hidden = layer(device, utils.under(w, "model.layers.7."), hidden)'


def test_layers_that_are_fed_differently_are_one_function() -> None:
    """Each layer's input has another name in the caller; only the last layer frees the value that all layers read."""
    main = generate(compiled(decoder(4, fed=True))).main
    assert main.count("def layer") == 1
    (signature,) = [line for line in main.splitlines() if line.startswith("def layer")]
    assert signature == "def layer(device, w, hidden, args, cos):"
    calls = [line.strip() for line in main.splitlines() if "= layer(" in line]
    assert calls[2] == 'hidden = layer(device, utils.under(w, "model.layers.2."), hidden, args_3, cos)'
    assert main.count("ttnn.deallocate(cos, False)") == 1
    assert main.index("ttnn.deallocate(cos, False)") > main.index(calls[3])


def test_what_follows_the_last_layer_is_no_part_of_it() -> None:
    text = decoder(3).replace("return %f2", "%t = stablehlo.transpose %f2, dims = [1, 0] : (tensor<32x64xbf16>) ->")
    text = text.replace("-> : tensor<32x64xbf16>", "-> tensor<64x32xbf16>\nreturn %t : tensor<64x32xbf16>")
    text = text.replace(") -> tensor<32x64xbf16> {", ") -> tensor<64x32xbf16> {", 1)
    generated = functions(generate(compiled(text)))
    assert "ttnn.permute" in ast.unparse(generated["forward"])
    assert [name for name in generated if name.startswith("layer")] == ["layer"]


def test_constants_are_looked_up_in_layers_too() -> None:
    text = decoder(3).replace("%x0 = ", "%half = stablehlo.constant dense<0.75> : tensor<32x64xbf16>\n%x0 = ")
    for n in range(3):
        text = text.replace(f"%e{n} = stablehlo.exponential %d{n}", f"%e{n} = stablehlo.power %d{n}, %half")
    main = generate(compiled(text)).main
    assert 'w["full_0_75"] = ttnn.full([1], 0.75,' in main.replace("\n        ", "")
    assert 'ttnn.pow(down, w["full_0_75"]' in main
    assert "def layer(device, w, hidden):" in main


def test_numbered_modules_are_loaded_and_prepared_by_a_loop(tmp_path: Path) -> None:
    converted = decoder(4).replace("%down", "%stored_down")
    for n in range(4):
        kinds = "(tensor<64x64xf32>) -> tensor<64x64xbf16>"
        converted = converted.replace(f"%stored_down{n}: tensor<64x64xbf16>", f"%stored_down{n}: tensor<64x64xf32>")
        converted = converted.replace(f", %stored_down{n},", f", %down{n},").replace(
            f"%a{n} = ", f"%down{n} = stablehlo.convert %stored_down{n} : {kinds}\n%a{n} = "
        )
    main = generate(compiled(converted)).main
    check_with_ruff(tmp_path, main)
    loaded = main.partition("def load_weights")[2]
    assert 'w[f"model.layers.{n}.mlp.up.weight"] = utils.load(\n            f"arg{2 * n + 1}", ' in loaded
    assert loaded.count("for n in range(4):") == 1
    assert main.count('w[f"model.layers.{n}.mlp.down.weight.prepared"] = prepare_') == 1
    namespace: dict[str, object] = {"DRAM": None, "utils": Loads, "ttnn": Loads}
    exec(ast.unparse(functions(generate(compiled(converted)))["load_weights"]), namespace)
    weights = namespace["load_weights"](None)  # type: ignore[operator]
    expected = {
        f"model.layers.{n}.mlp.{name}.weight": f"arg{2 * n + place}"
        for n in range(4)
        for place, name in ((1, "up"), (2, "down"))
    }
    assert weights == expected


class Loads:
    """Replaces ``utils`` and ``ttnn`` in tests that look only at names of files."""

    bfloat16 = float32 = TILE_LAYOUT = ROW_MAJOR_LAYOUT = None

    @staticmethod
    def load(name: str, *rest: object) -> str:
        return name


def test_no_tensor_hides_a_function_that_is_called_later() -> None:
    """A module outside of the blocks has the name of their function: ``layer`` beside ``layers.0``."""
    named = (
        decoder(3)
        .replace("model.layers.0.mlp.up", "model.layer")
        .replace("model.layers.0.mlp.down", "model.layer.down")
    )
    main = ast.parse(generate(compiled(named)).main)
    called = {node.func.id for node in ast.walk(main) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    bound = {node.id for node in ast.walk(main) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert any(name.startswith("layer") for name in called)
    assert any(name.startswith("up") for name in bound)
    assert not called & bound


def test_values_and_weights_have_the_names_of_their_modules() -> None:
    layer = ast.unparse(functions(generate(compiled(decoder(2))))["layer"])
    assert "up = ttnn.matmul(hidden, w['mlp.up.weight']" in layer
    assert "down = ttnn.matmul(" in layer


CONSTANT = """func.func public @main(%x: tensor<32x64xbf16>, %w: tensor<64x32xf32> {ttcore.argument_type = "parameter"})
    -> tensor<32x32xbf16> {
  %0 = stablehlo.convert %w : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0]
      : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xbf16>
  return %1 : tensor<32x32xbf16>
}"""


def test_const_eval_is_a_function_of_its_own_that_main_runs_once() -> None:
    source = generate(compiled(CONSTANT))
    generated = functions(source)
    assert 'w["arg1.prepared"] = prepare_' in source.main
    assert ast.unparse(generated["main"]).count("const_eval(device, w)") == 1
    assert "const_eval" not in ast.unparse(generated["forward"])


def test_configs_are_named_once() -> None:
    main = generate(compiled(decoder(3))).main
    assert main.count("ttnn.DRAM_MEMORY_CONFIG") == 1
    assert main.count("ttnn.WormholeComputeKernelConfig(") == 1


def test_arguments_are_loaded_or_made_of_ones() -> None:
    program = compiled(CONSTANT)
    assert 'utils.load("arg0", ttnn.bfloat16' in generate(program).main
    assert 'utils.ones("arg0", [32, 64], ttnn.bfloat16' in generate(program, export_tensors=False).main


def test_what_the_caller_gives_is_not_freed() -> None:
    forward = ast.unparse(functions(generate(compiled(CONSTANT)))["forward"])
    assert "ttnn.deallocate" not in forward


TABLE = """func.func public @main(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %c = stablehlo.constant dense<{values}> : tensor<{n}xf32>
  %0 = stablehlo.add %x, %c : tensor<{n}xf32>
  return %0 : tensor<{n}xf32>
}}"""


def test_weights_that_are_prepared_alike_have_one_function_whichever_line_asks_for_it(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("a = f(u)\nb = f(v)\n")
    kinds = "(tensor<64x32xf32>) -> tensor<32x64xf32>"
    parameter = 'tensor<64x32xf32> {ttcore.argument_type = "parameter", '
    text = f"""func.func public @main(%x: tensor<32x64xf32>, %u: {parameter}ttir.name = "a.u"}},
        %v: {parameter}ttir.name = "a.v"}}) -> tensor<32x64xf32> {{
      %0 = stablehlo.transpose %u, dims = [1, 0] : {kinds} loc("{file}":1:1)
      %1 = stablehlo.transpose %v, dims = [1, 0] : {kinds} loc("{file}":2:1)
      %2 = stablehlo.add %x, %0 : tensor<32x64xf32> loc("{file}":1:1)
      %3 = stablehlo.multiply %2, %1 : tensor<32x64xf32> loc("{file}":2:1)
      return %3 : tensor<32x64xf32>
    }}"""
    main = generate(compiled(text)).main
    prepare = main.partition("def prepare_permuted(device, weight):")[2].partition("def ")[0]
    assert main.count("def prepare") == 1
    assert "    weight = ttnn.permute(weight, [1, 0], memory_config=DRAM)\n    return weight" in prepare
    assert "#" not in prepare  # several weights share the function, so no source line fits


def test_short_constants_stand_in_the_source_and_long_ones_in_files() -> None:
    short = generate(compiled(TABLE.format(n=3, values="[1.5, 2.0, -3.0]"), enable_const_eval=False))
    assert "utils.tensor([1.5, 2.0, -3.0]" in short.main
    assert not short.constants
    values = [float(i) for i in range(100)]
    long = generate(compiled(TABLE.format(n=100, values=values), enable_const_eval=False))
    assert 'utils.load("constant0"' in long.main
    ((elements, spec),) = long.constants.values()
    assert len(elements) == 400
    assert spec.shape == (100,)


def test_the_users_line_stands_above_what_came_of_it(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("first = 1\ny = x + x\n")
    text = f"""func.func public @main(%x: tensor<32xbf16>) -> tensor<32xbf16> {{
      %0 = stablehlo.add %x, %x : tensor<32xbf16> loc("{file}":2:5)
      return %0 : tensor<32xbf16>
    }}"""
    assert "    # model.py:2  y = x + x\n" in generate(compiled(text)).main


def test_a_trace_is_recorded_by_functions_of_its_own() -> None:
    source = generate(compiled(CONSTANT, enable_trace=True))
    functions_of_it = "allocate_slots_trace_0_main, run_and_capture_trace_0_main, execute_trace_0_main"
    assert f"TRACE = utils.Trace({functions_of_it}, 1)" in " ".join(source.main.split())
    assert "= TRACE(device, [" in source.main
    assert "trace_region_size=" in source.main


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fc1", "fc1"),
        ("class", "class_"),
        ("2nd", "x_2nd"),
        ("a-b.c", "a_b_c"),
        ("größe", "gr_e"),
        ("", "x"),
        ("w", "w_"),
    ],
)
def test_any_name_becomes_an_identifier(name: str, expected: str) -> None:
    assert identifier(name) == expected
    assert expected.isidentifier()


def test_modules_are_read_from_the_names_of_both_frameworks() -> None:
    assert module_path("layers.0.fc.weight") == ("layers", "0", "fc")
    assert module_path("state['layers'][0]['fc']['kernel'].value") == ("state", "layers", "0", "fc")
    assert block_of("model.layers.12.fc.weight") == "model.layers.12."
    assert block_of("embed.weight") == ""
    assert unique("a", {"a", "a_1"}) == "a_2"


GRID = Call("ttnn.CoreCoord", (8, 1))


def test_numbers_are_the_shortest_that_mean_the_same_to_the_chip() -> None:
    assert shortest(9.999999747378752e-06) == 1e-05
    assert shortest(-3.3895313892515355e38) == -3.3895314e38
    assert shortest(0.1) == 0.1  # is no float32
    assert shortest(float("inf")) == float("inf")
    assert (number_name(-1e-06), filled_name(0.0), filled_name(2.5)) == ("minus_1e_06", "zero", "full_2_5")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (Call("ttnn.Conv2dConfig"), "CONV_2D_CONFIG"),
        (Call("ttnn.CoreGrid", (), {"y": 10, "x": 11}), "CORES_10X11"),
        (Call("ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig"), "MATMUL_1D"),
        (Call("ttnn.MatmulMultiCoreReuseProgramConfig", (), {"compute_with_storage_grid_size": GRID}), "MATMUL_8X1"),
        (Call("ttnn.UnaryWithParam", (Name("ttnn.UnaryOpType.MUL_UNARY_SFPU"), -0.5)), "MUL_MINUS_0_5"),
        (Call("ttnn.UnaryWithParam", (Name("ttnn.UnaryOpType.GELU"), True)), "GELU"),
        (Call("ttnn.SDPAProgramConfig"), "SDPA"),
        (Call("ttnn.WormholeComputeKernelConfig", (), {"math_fidelity": Name("ttnn.MathFidelity.LoFi")}), "LOFI"),
    ],
)
def test_configs_are_named_for_what_they_say(config: Call, expected: str) -> None:
    assert config_name(config) == expected


def test_configs_of_arguments_alone_are_named_too(tmp_path: Path) -> None:
    text = "func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {\n  return %x : tensor<4x4xf32>\n}"
    source = generate(compiled(text))
    check_with_ruff(tmp_path, source.main)
    assert "DRAM = ttnn.DRAM_MEMORY_CONFIG" in source.main


# What the host runs ------------------------------------------------------------------------------------------------

CALLS_BACK = """func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.add %x, %x : tensor<8x8xf32>
  %1 = stablehlo.custom_call @tt.python_callback(%0) {backend_config = "a"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.custom_call @tt.python_callback(%1) {backend_config = "a"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.add %2, %2 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}"""


def test_a_python_function_that_is_called_back_has_a_place_to_be_written_in(tmp_path: Path) -> None:
    source = generate(compiled(CALLS_BACK))
    check_with_ruff(tmp_path, source.main)
    assert source.main.count("def host_function_0(*arrays):") == 1
    assert source.main.count("= utils.host_callback(host_function_0, [") == 2
    assert "# A Python function of the model's own process runs here, on the host." in source.main
    namespace: dict[str, object] = {}
    exec(ast.unparse(functions(source)["host_function_0"]), namespace)
    with pytest.raises(NotImplementedError, match="host_function_0 lives in the model's own process: write it here"):
        namespace["host_function_0"](1)  # type: ignore[operator]


def test_a_result_that_nothing_reads_is_freed_at_once() -> None:
    """Pooling returns values and indices, and the program reads only the indices."""
    values = tuple(
        TensorSpec(shape, TensorLayout.of(shape, DataType.BF16)) for shape in ((1, 1, 64, 32), (1, 1, 16, 32))
    )
    pool = Instruction("ttnn.max_pool2d_with_indices", {"input": 0}, (1, 2), POOL)
    free = Instruction("ttnn.deallocate", {"input": 1}, (), {"force": False})
    function = Function("main", FunctionKind.FORWARD, (0,), (2,), (*values, values[1]), (pool, free))
    arguments = (Argument("x", Role.INPUT, (1, 1, 64, 32), "bf16"),)
    program = Program("by_hand", "p150", {}, arguments, (), (function,), MemoryPlan(), 0.0)
    text = generate(program).main
    assert "max_pool2d_with_indices, max_pool2d_with_indices_1 = ttnn.max_pool2d(" in text
    assert "    ttnn.deallocate(max_pool2d_with_indices, False)\n    return [max_pool2d_with_indices_1]\n" in text
