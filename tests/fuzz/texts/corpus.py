"""The functions of the file checks in ``tests/filecheck``: TTIR and TTNN in which patterns of the compiler fire."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tt_xla.compiler.rewriting import functions
from tt_xla.compiler.tt_modules.entry import isolate
from tt_xla.ir.text import parse_module

FOLDER = Path(__file__).parents[2] / "filecheck"

_FUNCTION = re.compile(r"^\s*func\.func (?:public )?@(\w+)\(", re.MULTILINE)
_SHORT = {"level": "optimization_level", "dtype": "experimental_weight_dtype"}
MESHES = "ttcore.meshes"
_MESH = f'module attributes {{{MESHES} = #{MESHES}<[<"mesh" = 2x4>]>}} {{}}'
_ON_MESH = ("dialects/ttir/collective.mlir", "dialects/ttir/normalization.mlir")
"""Files whose functions work between chips and state no mesh."""


@dataclass(frozen=True)
class Seed:
    """A function of a file check.

    Attributes:
        file: The file's path in ``tests/filecheck``.
        function: The function's name.
    """

    file: str
    function: str

    @property
    def in_ttnn(self) -> bool:
        """Whether the function is TTNN."""
        return self.file.startswith(("passes/ttnn-", "dialects/ttnn/"))

    @property
    def stage(self) -> str:
        """Name of the stage that the file checks; empty for a file of a dialect."""
        found = re.search(r"pass=(\S+)", _first_line(self.file))
        return found[1] if found and self.file.startswith("passes/") else ""

    @property
    def options(self) -> dict[str, str]:
        """Compile options of the file check."""
        words = [word.split("=", 1) for word in _first_line(self.file).split() if "=" in word]
        return {_SHORT.get(name, name): value for name, value in words if name not in ("pass", "arch")}

    def module(self) -> ModuleOp:
        """Returns a module of the function and those that it needs."""
        module = _parsed(self.file).clone()
        for function in functions(module):
            if function.sym_name.data != self.function:
                function.properties["sym_visibility"] = StringAttr("private")
        isolate(module, keep_calls=self.in_ttnn)
        return module


@cache
def seeds() -> tuple[Seed, ...]:
    """Returns the functions that programs can start with, in the order of files and lines."""
    return tuple(
        Seed(path.relative_to(FOLDER).as_posix(), name)
        for folder in ("passes/tt*-*.mlir", "dialects/ttir/*.mlir", "dialects/ttnn/*.mlir")
        for path in sorted(FOLDER.glob(folder))
        if not path.stem.endswith("_invalid") and path.stem != "trace"
        for name in dict.fromkeys(_FUNCTION.findall(path.read_text()))
    )


@cache
def _first_line(file: str) -> str:
    return (FOLDER / file).read_text().partition("\n")[0]


@cache
def _parsed(file: str) -> ModuleOp:
    module = parse_module((FOLDER / file).read_text())
    if file in _ON_MESH:
        module.attributes[MESHES] = parse_module(_MESH).attributes[MESHES]
    return module
