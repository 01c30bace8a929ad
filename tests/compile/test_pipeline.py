"""Programs compile with every kind of option; none is run."""

from __future__ import annotations

import itertools
import re
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.recording import recorded_compilations
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.errors import OptionError, ResourceExhaustedError
from tt_xla.ir import text
from tt_xla.ir.layout import BufferType, DataType
from tt_xla.ir.program import FunctionKind, Program, Role
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

BF16 = np.dtype(ml_dtypes.bfloat16)


def array(*shape: int) -> np.ndarray:
    return np.ones(shape, BF16)


def mlp(x: Any, w: Any, b: Any, v: Any) -> Any:
    return jax.nn.softmax(jax.nn.relu(x @ w + b) @ v)


def convolutions(x: Any, w: Any, b: Any, v: Any) -> Any:
    def conv(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))

    y = jax.nn.relu(conv(x, w) + b[:, None, None])
    return conv(y, v).mean((2, 3))


def attention(x: Any, w: Any, table: Any, i: Any) -> Any:
    h = table[i]
    q, k, v = jnp.split(h @ w, 3, axis=-1)
    return x + jax.nn.softmax(q @ k.T) @ v


MODELS = {
    "mlp": (mlp, [array(32, 64), array(64, 96), array(96), array(96, 10)], (1, 2, 3)),
    "convolutions": (convolutions, [array(1, 3, 16, 16), array(8, 3, 3, 3), array(8), array(4, 8, 3, 3)], (1, 2, 3)),
    "attention": (attention, [array(6, 8), array(8, 24), array(10, 8), np.zeros(6, np.int32)], (1, 2)),
    "nothing": (lambda x, y: (y, x, x), [array(2), array(3)], (1,)),
    "constant": (lambda: jnp.ones((2, 3), jnp.bfloat16), [], ()),
}


def stablehlo_text(name: str, parameters: bool = True) -> str:
    function, inputs, roles = MODELS[name]
    text = jax.jit(function, keep_unused=True).lower(*inputs).as_text()
    for index in roles if parameters else ():
        text = re.sub(rf"(%arg{index}: tensor<[^>]*>)", r'\1 {ttcore.argument_type = "parameter"}', text, count=1)
    return text


OPTIONS = [
    {"optimization_level": level, "enable_trace": trace, "enable_bfp8_conversion": bfp8}
    for level, trace, bfp8 in itertools.product((0, 1, 2), (False, True), (False, True))
]


@pytest.mark.sample(20)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(str(value) for value in options.values()))
@pytest.mark.parametrize("name", MODELS)
def test_compiles_under_every_option(name: str, options: dict[str, Any]) -> None:
    dumps: dict[str, str] = {}
    module = parse_module(stablehlo_text(name))
    program = compile_module(module, CompileOptions.parse(options), load_target("n150"), name=name, dumps=dumps)
    assert Program.from_bytes(program.to_bytes()).to_bytes() == program.to_bytes()
    assert set(dumps) == {"vhlo", "shlo", "ttir", "ttnn"}
    parse_module(dumps["shlo"])
    for stage in ("ttir", "ttnn"):
        plain = re.sub(r" loc\(.*?\)(?=[,)]| \{|$)", "", dumps[stage], flags=re.MULTILINE)
        assert text.print_module(text.parse_module(plain), locations=False) == text.print_module(
            text.parse_module(plain)
        )
    assert program.functions[0].kind is FunctionKind.FORWARD
    kinds = {function.kind for function in program.functions}
    assert (FunctionKind.TRACE in kinds) <= options["enable_trace"]
    check_values(program)


def check_values(program: Program) -> None:
    """Checks that every value is defined before its uses and not used after it is freed."""
    for function in program.functions:
        alive = set(function.arguments)
        for instruction in function.body:
            operands = [
                number
                for value in instruction.operands.values()
                for number in (value if isinstance(value, tuple) else (value,))
            ]
            assert alive.issuperset(operands), instruction
            if instruction.op == "ttnn.deallocate":
                alive -= set(operands)
            alive |= set(instruction.results)
        assert alive.issuperset(function.results)


@pytest.mark.parametrize("system", ["n150", "n300", "p150"])
@pytest.mark.parametrize("name", MODELS)
def test_compiles_for_every_system(name: str, system: str) -> None:
    module = parse_module(stablehlo_text(name))
    target = load_target(system)
    program = compile_module(module, CompileOptions.parse({"optimization_level": 2}), target)
    assert program.target == system
    assert program.memory.dram_peak_bytes < target.dram_usable_bytes
    assert program.memory.l1_peak_bytes_per_core < target.l1_usable_bytes
    grids = {
        spec.layout.grid
        for function in program.functions
        for spec in function.values
        if spec.layout.buffer is BufferType.L1
    }
    assert grids <= {target.grid}


def test_equal_input_gives_equal_bytes() -> None:
    texts = {
        compile_module(
            parse_module(stablehlo_text("mlp")), CompileOptions.parse({"optimization_level": 2}), load_target("n150")
        ).to_bytes()
        for _ in range(2)
    }
    assert len(texts) == 1


def test_the_module_is_left_as_it_was() -> None:
    module = parse_module(stablehlo_text("convolutions"))
    before = str(module)
    compile_module(module, CompileOptions.parse({"enable_trace": True}), load_target("n150"), dumps={})
    assert str(module) == before


def test_declared_arguments_and_results() -> None:
    program = compile_module(parse_module(stablehlo_text("attention")), CompileOptions.parse(), load_target("n150"))
    assert [(a.role, a.shape, a.dtype) for a in program.arguments] == [
        (Role.INPUT, (6, 8), "bf16"),
        (Role.PARAMETER, (8, 24), "bf16"),
        (Role.PARAMETER, (10, 8), "bf16"),
        (Role.INPUT, (6,), "i32"),
    ]
    assert [(r.shape, r.dtype) for r in program.results] == [((6, 8), "bf16")]


def test_const_eval_leaves_the_weights_work_out_of_the_program() -> None:
    module = parse_module(stablehlo_text("convolutions"))
    program = compile_module(module, CompileOptions.parse({"optimization_level": 1}), load_target("n150"))
    cached = [function for function in program.functions if function.kind is FunctionKind.CONST_EVAL]
    assert cached
    forward = [instruction.op for instruction in program.functions[0].body]
    assert not any(op.startswith("ttnn.prepare") for op in forward)
    assert "ttcore.load_cached" in forward
    plain = compile_module(
        module, CompileOptions.parse({"optimization_level": 1, "enable_const_eval": False}), load_target("n150")
    )
    assert any(instruction.op.startswith("ttnn.prepare") for instruction in plain.functions[0].body)
    assert len(plain.functions) == 1


def test_block_float_weights_are_smaller() -> None:
    module = parse_module(stablehlo_text("mlp"))
    program = compile_module(module, CompileOptions.parse({"enable_bfp8_conversion": True}), load_target("n150"))
    dtypes = {spec.layout.dtype for function in program.functions for spec in function.values}
    assert DataType.BFP_BF8 in dtypes


def test_block_floats_need_a_bfloat16_model() -> None:
    module = jax.jit(lambda x, w: x @ w).lower(np.ones((4, 4), np.float32), np.ones((4, 4), np.float32)).as_text()
    module = re.sub(r"(%arg1: tensor<[^>]*>)", r'\1 {ttcore.argument_type = "parameter"}', module, count=1)
    options = CompileOptions.parse({"enable_bfp8_conversion": True})
    with pytest.raises(
        OptionError, match=r"Weights of 'ttnn\.matmul' are f32; conversion to bfp_bf8 needs a bfloat16 model"
    ):
        compile_module(parse_module(module), options, load_target("n150"))


def test_block_floats_without_a_declared_weight_are_said_to_have_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    text = "func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {\n"
    text += "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
    text += "    : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>\n  return %0 : tensor<32x32xf32>\n}"
    declared = text.replace("%x: tensor<32x32xf32>", '%x: tensor<32x32xf32> {ttcore.argument_type = "input"}')
    for module, dtype, warns in ((text, "bfp_bf8", True), (text, "", False), (declared, "bfp_bf8", False)):
        caplog.clear()
        options = CompileOptions.parse({"experimental_weight_dtype": dtype})
        compile_module(parse_module(module), options, load_target("n150"))
        assert ("changes no weight: the module declares none of its arguments as one" in caplog.text) == warns


def test_too_much_for_the_memory_says_how_much_and_what() -> None:
    source = """
func.func @main(%x: tensor<131072x65536xbf16>) -> tensor<131072x65536xbf16> {
  %0 = stablehlo.exponential %x : tensor<131072x65536xbf16>
  return %0 : tensor<131072x65536xbf16>
}"""
    with pytest.raises(ResourceExhaustedError, match=r"DRAM does not hold the program: .*131072x65536 bf16") as caught:
        compile_module(parse_module(source), CompileOptions.parse(), load_target("n150"))
    assert re.search(r"needs [\d,]+ B in each bank", str(caught.value))


def test_a_trace_works_on_the_device_alone() -> None:
    module = parse_module(stablehlo_text("convolutions"))
    program = compile_module(module, CompileOptions.parse({"enable_trace": True}), load_target("n150"))
    trace = next(function for function in program.functions if function.kind is FunctionKind.TRACE)
    assert all(spec.layout.on_device for spec in trace.values)
    assert program.memory.trace_bytes > 0


def test_exported_files(tmp_path: Any) -> None:
    options = CompileOptions.parse({"export_path": str(tmp_path), "export_model_name": "a/b"})
    compile_module(parse_module(stablehlo_text("mlp")), options, load_target("n150"))
    names = sorted(re.sub(r"\d+", "#", path.name) for path in (tmp_path / "irs").iterdir())
    assert names == ["shlo_a_b_#.mlir", "ttir_a_b_#.mlir", "ttnn_a_b_#.mlir", "vhlo_a_b_#.mlir"]


OF_WEIGHTS = {
    "sort": jnp.sort,
    "top_k": lambda w: lax.top_k(w, 3)[1],
    "pooling": lambda w: lax.reduce_window(w, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"),
}


@pytest.mark.parametrize("name", OF_WEIGHTS)
def test_what_parameters_alone_give_is_computed_once(name: str) -> None:
    """The ops include one with several results, and windows."""

    def model(x: Any, w: Any) -> Any:
        return x.sum() + OF_WEIGHTS[name](w)

    module = jax.jit(model).lower(array(4, 4), array(4, 4)).compiler_ir("stablehlo")
    source = str(module).replace(
        "%arg1: tensor<4x4xbf16>", '%arg1: tensor<4x4xbf16> {ttcore.argument_type = "parameter"}'
    )
    program = compile_module(parse_module(source), CompileOptions.parse({}), load_target("n150"))
    op_names = {function.kind: {step.op for step in function.body} for function in program.functions}
    heavy = {"ttnn.sort", "ttnn.topk", "ttnn.max_pool2d"}
    assert op_names[FunctionKind.CONST_EVAL] & heavy
    assert not op_names[FunctionKind.FORWARD] & heavy


def test_who_hears_of_compilations_hears_of_all_of_them():
    module = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"
    with recorded_compilations(texts=False) as outer:
        with recorded_compilations(texts=False) as inner:
            compile_module(parse_module(module), CompileOptions(), load_target("n150"))
        compile_module(parse_module(module), CompileOptions(), load_target("n150"))
    assert (len(outer), len(inner)) == (2, 1)
