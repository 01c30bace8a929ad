"""Collects ``*.mlir`` below the folders here as tests; the files beside this one are patterns (filecheck.md).

The first line selects the test, ``// RUN: <verb> [name=value ...]``:

roundtrip      prints a TTIR or TTNN module, parses and prints it again: the texts are equal, and jaxlib's MLIR parses
               the generic form.
invalid        parses the modules between ``// -----`` lines: each is refused with the error of its
               ``// expected-error:`` line.
pass=<stage>   runs one stage of the pipeline, by its name, on a TTIR or TTNN module.
import         imports StableHLO into TTIR; ``mesh=2x4`` gives the mesh of a module for several chips.
compile        compiles StableHLO to TTNN by the entire pipeline.

CHECK lines check the printed text. Options are compile options; ``level``, ``arch`` and ``dtype`` are short forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import GOLDENS
from tt_xla.testing.filechecks import failed_check

SEPARATOR = re.compile(r"^// -----$", re.MULTILINE)
EXPECTED = re.compile(r"// expected-error: (.*)$", re.MULTILINE)
SHORT = {"level": "optimization_level", "dtype": "experimental_weight_dtype"}


class Failure(Exception):
    """A check of a file failed; the message alone describes the failure."""


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    if file_path.suffix == ".mlir" and file_path.parent != Path(__file__).parent:
        file = MlirFile.from_parent(parent, path=file_path)
        file.add_marker("quick")
        return file
    return None


class MlirFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        text = self.path.read_text()
        first, _, _ = text.partition("\n")
        if not first.startswith("// RUN: "):
            raise self.CollectError(f"{self.path}: the first line is not '// RUN: <verb>'")
        verb, *words = first.removeprefix("// RUN: ").split()
        options = dict(word.split("=", 1) for word in words)
        if verb == "invalid":
            for number, (line, part) in enumerate(parts(text)):
                expected = EXPECTED.search(part)
                name = re.sub(r"\W+", "-", expected[1])[:60].strip("-") if expected else str(number)
                yield InvalidItem.from_parent(self, name=f"{number}-{name}", text=part, line=line)
        else:
            yield CheckItem.from_parent(self, name=verb, text=text, options=options)


def golden_file(path: Path) -> str | None:
    """Returns the name of the golden file for the output of a stage, of an import or of a compilation, else None."""
    files = {"passes": path.stem.partition("-")[0], "import": "import", "compile": "compile"}
    file = files.get(path.parent.name)
    return None if file is None else f"stages/{file}"


def parts(text: str) -> Iterator[tuple[int, str]]:
    """Yields the modules between separators with their first lines; those of comments only are left out."""
    line = 1
    for part in SEPARATOR.split(text):
        if any(row.strip() and not row.lstrip().startswith("//") for row in part.splitlines()):
            yield line, part
        line += part.count("\n")


class Item(pytest.Item):
    def __init__(self, *, text: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.text = text

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Failure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class InvalidItem(Item):
    def __init__(self, *, line: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.line = line

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, self.name

    def runtest(self) -> None:
        from tt_xla.errors import MalformedModuleError
        from tt_xla.ir.text import parse_module

        where = f"{self.path}:{self.line}"
        expected = EXPECTED.search(self.text)
        if expected is None:
            raise Failure(f"{where}: this module has no '// expected-error: ...' line:\n{self.text}")
        try:
            parse_module(self.text)
        except MalformedModuleError as error:
            if expected[1] not in str(error):
                raise Failure(f"{where}: expected the error '{expected[1]}', got:\n{error}\n{self.text}") from error
        else:
            raise Failure(f"{where}: expected the error '{expected[1]}', the module was accepted:\n{self.text}")


class CheckItem(Item):
    def __init__(self, *, options: dict[str, str], **rest: Any) -> None:
        super().__init__(**rest)
        self.options = options
        self.has_golden = golden_file(self.path) is not None
        """Whether ``--update-goldens`` runs the test."""

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name

    def runtest(self) -> None:
        verb, _, argument = self.name.partition("=")
        if verb not in VERBS:
            raise Failure(f"{self.path}:1: unknown verb '{verb}'; known are invalid, {', '.join(VERBS)}")
        output = VERBS[verb](self.text, argument, dict(self.options))
        if problem := failed_check(self.path, self.text, output):
            raise Failure(f"{problem}\nThe text that was checked:\n{output}")
        if file := golden_file(self.path):
            self.config.stash[GOLDENS].check(file, self.path.stem, output)


def roundtrip(text: str, _: str, options: dict[str, str]) -> str:
    from jaxlib.mlir import ir

    from tt_xla.ir.text import parse_module, print_module

    module = parse_module(text)
    pretty = print_module(module)
    again = print_module(parse_module(pretty))
    if again != pretty:
        raise Failure(f"The module prints differently after parsing its text. First:\n{pretty}\nThen:\n{again}")
    generic = print_module(module, generic=True)
    if print_module(parse_module(generic)) != pretty:
        raise Failure(f"The generic form parses to another module:\n{generic}")
    context = ir.Context()
    context.allow_unregistered_dialects = True
    ir.Module.parse(generic, context)
    return pretty


def run_stage(text: str, name: str, options: dict[str, str]) -> str:
    """Returns the text after the last stage of a name, with these options, after verifying the module."""
    from tt_xla.compiler import pipeline, ttir_to_ttnn
    from tt_xla.ir.text import parse_module, print_module
    from tt_xla.options import CompileOptions
    from tt_xla.target import load_target

    target = load_target(options.pop("arch", "n150"))
    prepare = options.pop("prepare_weights", "false") == "true"
    exact = options.pop("exact", "false") == "true"
    compile_options = CompileOptions.parse(full_names(options))
    module = parse_module(text)
    if name == pipeline.LOWERING:
        module = ttir_to_ttnn.run(module, prepare_weights=prepare, exact=exact)
    else:
        pipeline.stage_named(name).run(module, compile_options, target)
    module.verify()
    return print_module(module)


def import_stablehlo(text: str, _: str, options: dict[str, str]) -> str:
    from tt_xla.compiler import stablehlo
    from tt_xla.ir.mesh import Mesh
    from tt_xla.ir.text import print_module

    sizes = tuple(map(int, options["mesh"].split("x"))) if "mesh" in options else None
    mesh = None if sizes is None else Mesh(sizes, tuple(f"axis{axis}" for axis in range(len(sizes))))
    module, _, _ = stablehlo.import_module(stablehlo.parse_module(text), mesh=mesh)
    module.verify()
    return print_module(module)


def compile_stablehlo(text: str, _: str, options: dict[str, str]) -> str:
    from tt_xla.compiler import pipeline, stablehlo
    from tt_xla.ir.text import parse_module, print_module
    from tt_xla.options import CompileOptions
    from tt_xla.target import load_target

    target = load_target(options.pop("arch", "n150"))
    dumps: dict[str, str] = {}
    module = stablehlo.parse_module(text)
    pipeline.compile_module(module, CompileOptions.parse(full_names(options)), target, dumps=dumps)
    return print_module(parse_module(dumps["ttnn"]))


def full_names(options: dict[str, str]) -> dict[str, str]:
    return {SHORT.get(name, name): value for name, value in options.items()}


VERBS: dict[str, Callable[[str, str, dict[str, str]], str]] = {
    "compile": compile_stablehlo,
    "import": import_stablehlo,
    "pass": run_stage,
    "roundtrip": roundtrip,
}
