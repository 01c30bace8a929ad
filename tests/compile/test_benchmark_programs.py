"""Each program of ``benchmarks/programs`` compiles; ``make check-programs`` compares the results of all of them."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import jax
import pytest
from generated import statements
from schedules import nightly_but

from benchmarks.programs import PROGRAMS
from tests.golden import Goldens
from tt_xla.compiler.pipeline import Menus, compile_module
from tt_xla.compiler.ttnn.layouts.explain import Choice
from tt_xla.ir.program import Program
from tt_xla.ir.program_text import attribute_text, program_lines
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

LARGE = ("convnext", "gpt_12", "gpt_6_train", "gpt_train", "llama_decode_24", "mixer_train", "resnet")
"""Programs that take a second or more and resemble others here; only ``make check-programs`` compiles them."""


def module_of(name: str) -> jax.stages.Lowered:
    program = PROGRAMS[name]()
    return jax.jit(program.function).lower(*program.shapes)


SMALL = [name for name in PROGRAMS if name not in LARGE]


@cache
def compiled(name: str, level: int) -> Program:
    module = module_of(name).compiler_ir("stablehlo")
    return compile_module(module, CompileOptions.parse({"optimization_level": level}), load_target("n150"))


@pytest.mark.parametrize("name", SMALL)
def test_compiles(name: str) -> None:
    assert_on_chip(compiled(name, 2))


@pytest.mark.parametrize("name", SMALL)
def test_program(name: str, goldens: Goldens) -> None:
    goldens.check(f"benchmark_programs/{name}", name, program_lines(compiled(name, 2), locations=False))


WITH_SOURCES = ("gpt", "llama_decode")


@pytest.mark.parametrize("language", ["py", "cpp"])
@pytest.mark.parametrize("name", WITH_SOURCES)
def test_generated_source(name: str, language: str, goldens: Goldens) -> None:
    """The programs have the ops of attention and caches, which small ones have not."""
    goldens.check(f"benchmark_programs/{name}", language, statements(compiled(name, 2), language))


OPTIONS: dict[str, dict[str, Any]] = {
    "level_0": {"optimization_level": 0},
    "level_1_traced": {"optimization_level": 1, "enable_trace": True},
    "traced_block_floats": {"optimization_level": 2, "enable_trace": True, "enable_bfp8_conversion": True},
    "fast": {"optimization_level": 2, "fast_and_approximate_mode": True, "math_fidelity": "lofi"},
    "plain": {"optimization_level": 2, "enable_const_eval": False, "enable_workarounds": False},
}
"""Compile options with golden programs, by name."""
WITH_OPTIONS = ("mlp", "digits_cnn", "llama_decode")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_program_with_options(name: str, options: str, goldens: Goldens) -> None:
    module = module_of(name).compiler_ir("stablehlo")
    program = compile_module(module, CompileOptions.parse(OPTIONS[options]), load_target("n150"))
    goldens.check(f"benchmark_programs/{name}_with_options", options, program_lines(program, locations=False))


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_choices_of_layouts(name: str, goldens: Goldens) -> None:
    """The form of each op with its reasons, and the forms that an override may choose."""
    choices: list[Choice] = []
    menus: Menus = {}
    options = CompileOptions.parse({"optimization_level": 2})
    compile_module(module_of(name).compiler_ir("stablehlo"), options, load_target("n150"), choices=choices, menus=menus)
    lines = [attribute_text(dataclasses.asdict(choice) | {"location": ""}) for choice in choices]
    lines += [f"{op.partition('@')[0]}: {attribute_text(form)}" for op, menu in menus.items() for form in menu]
    goldens.check(f"benchmark_programs/{name}_with_options", "choices", lines)


def test_every_golden_program_is_a_benchmark(goldens: Goldens) -> None:
    with_options = {f"{name}_with_options": [*OPTIONS, "choices"] for name in WITH_OPTIONS}
    plain = {name: [name, *(("py", "cpp") if name in WITH_SOURCES else ())] for name in SMALL}
    goldens.has_only("benchmark_programs", plain | with_options)


@pytest.mark.parametrize("name", nightly_but({"mlp", "bert"}, SMALL))
def test_compiles_at_level_0(name: str) -> None:
    assert_on_chip(compiled(name, 0))


def assert_on_chip(program: Program) -> None:
    """Checks that a program uses the chip's memory and nothing of the host."""
    assert not program.host_ops
    assert program.memory.dram_peak_bytes > 0


def test_attention_over_grouped_heads_is_one_op_a_layer() -> None:
    """Llama repeats keys and values for the heads of a group; the op does that itself."""
    ops = [step.op for function in compiled("llama_prefill", 2).functions for step in function.body]
    assert ops.count("ttnn.scaled_dot_product_attention") == 2
    assert "ttnn.softmax" not in ops
