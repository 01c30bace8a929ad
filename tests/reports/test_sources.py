"""Generated Python and C++ of small programs as a whole, and the files that a program's folder has."""

from __future__ import annotations

from functools import partial

import pytest

from tests.codegen import mesh_programs, test_python
from tests.golden import Goldens
from tests.reports.programs import EXAMPLES, compiled
from tt_xla import __version__
from tt_xla.codegen.export import contents
from tt_xla.codegen.generator import generate
from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

pytestmark = pytest.mark.quick


def compiled_decoder(layers: int) -> Program:
    """Returns a program of equal blocks, whose source is a loop."""
    return test_python.compiled(test_python.decoder(layers, fed=True), optimization_level=1)


def compiled_for_mesh(name: str) -> Program:
    """Returns a program for eight chips in two rows."""
    text = mesh_programs.PROGRAMS[name]((2, 4))
    options = CompileOptions.parse({"optimization_level": 1})
    return compile_module(parse_module(text), options, load_target("n300-llmbox"), name=name)


PROGRAMS = {name: partial(compiled, name) for name in EXAMPLES} | {
    "mlp at level 0": partial(compiled, "mlp", 0),
    "mlp without const-eval": partial(compiled, "mlp", 1, enable_const_eval=False),
    "mlp with a trace": partial(compiled, "mlp", enable_trace=True),
    "blocks": partial(compiled_decoder, 6),
}
PROGRAMS |= {f"{name} on eight": partial(compiled_for_mesh, name) for name in mesh_programs.PROGRAMS}


CASES = [
    (name, language)
    for name in PROGRAMS
    for language in ("py", "cpp")
    if (name, language) != ("mlp with a trace", "cpp")
]
"""Programs and languages. C++ has no traces."""


def golden_file(name: str, language: str) -> str:
    return f"{language}_{name.replace(' ', '_')}"


@pytest.mark.parametrize(("name", "language"), CASES)
def test_source(name: str, language: str, goldens: Goldens) -> None:
    program = PROGRAMS[name]()
    loads = name != "mlp at level 0"
    source = generate(program, loads, language)
    files = contents(program, source, {})
    texts = {file: content.decode() for file, content in files.items() if isinstance(content, bytes)}
    own = {file: text for file, text in texts.items() if file not in ("utils.py", "utils.hpp", "ttnn.hpp")}
    own = {file: text.replace(f"tt-xla {__version__}", "tt-xla <version>") for file, text in own.items()}
    lines = [f"files: {' '.join(sorted(files))}"]
    lines += [line for file in sorted(own) for line in (f"--- {file}", *own[file].splitlines())]
    goldens.check(f"sources/{golden_file(name, language)}", name, lines)


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    goldens.has_only("sources", {golden_file(name, language): [name] for name, language in CASES})
