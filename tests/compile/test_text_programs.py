"""Golden programs of the functions in ``tests/filecheck``: the ops of both dialects, and the cases of each TTIR stage.

Each function is compiled alone at level 2. What a function cannot become is its error message.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from tests.golden import Goldens
from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.rewriting import functions, is_entry
from tt_xla.cost.circular_buffers import circular_buffer_bytes
from tt_xla.cost.roofline import operations, roofline
from tt_xla.errors import TTXLAError
from tt_xla.ir.program import Program
from tt_xla.ir.program_text import number, program_lines
from tt_xla.ir.text import parse_module
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

FOLDER = Path(__file__).parents[1] / "filecheck"
FILES = {
    path.relative_to(FOLDER).with_suffix("").as_posix(): path
    for pattern in ("dialects/tt*/*.mlir", "passes/ttir-*.mlir")
    for path in sorted(FOLDER.glob(pattern))
    if not path.stem.endswith("_invalid") and path.parent.name != "ttcore" and path.stem != "trace"
}
"""Files with functions, by their names; that of traces names functions that it does not have."""

MESHES = "ttcore.meshes"
MESH = parse_module(f'module attributes {{{MESHES} = #{MESHES}<[<"mesh" = 2x4>]>}} {{}}').attributes[MESHES]
ON_MESH = ("dialects/ttir/collective", "dialects/ttir/normalization")
"""Files whose functions work between chips and state no mesh."""


def golden_file(name: str) -> str:
    return name.replace("/", "_")


def alone(module: ModuleOp) -> Iterator[tuple[str, ModuleOp]]:
    """Yields each function that a program can start with, and a module in which it is the only such function."""
    for name in [function.sym_name.data for function in functions(module) if is_entry(function)]:
        copy = module.clone()
        for function in functions(copy):
            if function.sym_name.data != name:
                function.properties["sym_visibility"] = StringAttr("private")
        yield name, copy


def compiled(module: ModuleOp) -> str:
    """Returns the text of a module's program, or the message of the error that it has none."""
    target = load_target("n300-llmbox" if MESHES in module.attributes else "n150")
    try:
        program = compile_module(module, CompileOptions.parse({"optimization_level": 2}), target)
    except TTXLAError as error:
        return f"{type(error).__name__}: {error}"
    return "\n".join([*program_lines(program, locations=False), *needs(program)])


def needs(program: Program) -> Iterator[str]:
    """Yields the roofline of each op with results, and the buffers that the choice of layouts assumes for it."""
    target = load_target(program.target)
    for function in program.functions:
        for step in function.body:
            roof = roofline(step, function.values, target, program.mesh)
            if step.results and roof.us:
                asked = step.op != "ttnn.conv1d"  # no program for which layouts are chosen has one
                buffers = f", buffers {circular_buffer_bytes(step, function.values, target)} B" if asked else ""
                work = f"{number(operations(step, function.values))} operations{buffers}"
                yield f"{step.op} %{step.results[0]}: roofline {number(roof.us)} us of {roof.roof}, {work}"


@pytest.mark.parametrize("name", FILES)
def test_program(name: str, goldens: Goldens) -> None:
    module = parse_module(FILES[name].read_text())
    if name in ON_MESH:
        module.attributes[MESHES] = MESH
    texts = {function: compiled(single) for function, single in alone(module)}
    goldens.check_all(f"text_programs/{golden_file(name)}", texts)


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    goldens.has_files("text_programs", map(golden_file, FILES))
