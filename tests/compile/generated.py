"""Generated source as golden text."""

from __future__ import annotations

from tt_xla.codegen.generator import generate
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.program import Program


def statements(program: Program, language: str) -> list[str]:
    """Returns what generated source does between its imports and the function that loads weights, without comments.

    For a program that the language has no calls for it is the message that says so.
    """
    try:
        lines = generate(program, language=language).main.splitlines()
    except UnsupportedOpError as error:
        return [str(error)]
    first = next(place for place, line in enumerate(lines) if line in ("import utils", '#include "utils.hpp"')) + 1
    last = next(place for place, line in enumerate(lines) if "load_weights(" in line)
    return [line for line in lines[first:last] if line and not line.lstrip().startswith(("#", "//"))]
