"""Golden programs for several chips; ``make check-programs`` compares the results of all of them."""

from __future__ import annotations

import pytest

from benchmarks.programs.meshes import MESH_PROGRAMS
from tests.golden import Goldens
from tt_xla.compiler.pipeline import compile_module
from tt_xla.ir.program_text import program_lines
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

ALIKE = (
    *("dp_tp_gpt_train_2x4", "fsdp_gpt_train_1x8", "dp_mlp_train_1x2", "fsdp_mlp_train_1x2", "tp_alexnet_1x8"),
    *("tp_llama_prefill_1x2", "dp_tp_llama_prefill_2x4", "tp_llama_decode_1x2", "dp_tp_llama_decode_2x4"),
)
"""Programs that resemble others here; the first two take more than a second."""
NAMES = [name for name in MESH_PROGRAMS if name not in ALIKE]


@pytest.mark.parametrize("name", NAMES)
def test_program(name: str, goldens: Goldens) -> None:
    mesh_program = MESH_PROGRAMS[name]()
    module = mesh_program.lowered().compiler_ir("stablehlo")
    options = CompileOptions.parse({"optimization_level": 2})
    program = compile_module(module, options, load_target(mesh_program.arch))
    lines = program_lines(program, locations=False)
    goldens.check(f"mesh_programs/{name}", name, lines, lowered_by_jax=True)


def test_every_golden_program_is_a_program(goldens: Goldens) -> None:
    goldens.has_only("mesh_programs", {name: [name] for name in NAMES})
