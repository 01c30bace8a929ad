"""Each program of ``benchmarks/programs`` compiles; ``make check-programs`` compares the results of all of them."""

from __future__ import annotations

import jax
import pytest
from programs import PROGRAMS

from tt_xla.compiler.pipeline import compile_module
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

LARGE = ("convnext", "gpt_12", "gpt_6_train", "gpt_train", "llama_decode_24", "mixer_train", "resnet")
"""Programs that take a second or more and resemble others here; only ``make check-programs`` compiles them."""


def module_of(name: str) -> jax.stages.Lowered:
    program = PROGRAMS[name]()
    return jax.jit(program.function).lower(*program.shapes)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LARGE])
def test_compiles_at_both_ends_of_the_levels(name: str) -> None:
    module = module_of(name).compiler_ir("stablehlo")
    for level in (0, 2):
        options = CompileOptions.parse({"optimization_level": level})
        program = compile_module(module, options, load_target("n150"))
        assert not program.host_ops
        assert program.memory.dram_peak_bytes > 0


def test_attention_over_grouped_heads_is_one_op_a_layer() -> None:
    """Llama repeats keys and values for the heads of a group; the op does that itself."""
    program = compile_module(
        module_of("llama_prefill").compiler_ir("stablehlo"), CompileOptions.parse({}), load_target("n150")
    )
    ops = [step.op for function in program.functions for step in function.body]
    assert ops.count("ttnn.scaled_dot_product_attention") == 2
    assert "ttnn.softmax" not in ops
