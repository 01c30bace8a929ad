"""The programs that a file, a folder of dumps or a script holds, as the explorer takes them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tt_xla.errors import EmptyRecordingError, MalformedModuleError, TTXLAError
from tt_xla.ir.program import Program
from tt_xla.tools.inputs import MODULE_KINDS, Kind, check_input, kind_of_name, kinds_of, read_input
from tt_xla.tools.programs import is_program, program_name, read_program

STAGES = ("stablehlo", "ttir", "ttnn")
"""The stages of a compilation that have graphs, in order."""

_DUMP = re.compile(r"(vhlo|shlo|shlo_[a-z_]*?|ttir|ttnn|ttnn_runtime)(?:_(.*))?_(\d{10,})\.mlir")
"""Name of a dump, of this compiler or of upstream's: stage, model, and milliseconds."""

_STAGE_OF = {"shlo": "stablehlo", "ttir": "ttir", "ttnn": "ttnn"}


@dataclass
class Subject:
    """A program to explore, and what is known of it.

    Attributes:
        name: name of the program.
        source: the module to compile, text or bytecode; None if only the compiled program is known.
        stages: text of the module at stages that are known already.
        program: the compiled program, if it is known already.
        inputs: arguments of a run; None for random ones.
        options: compile options by name that the program was compiled with, where a script set them.
        error: message of the error that ended its compilation in a script.
        error_location: the user's source line of that error.
        warning: the error that ended the script after it had compiled the program; empty without one.
    """

    name: str
    source: bytes | str | None = None
    stages: dict[str, str] = field(default_factory=dict)
    program: Program | None = None
    inputs: list[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    error_location: str = ""
    warning: str = ""


def is_script(path: Path) -> bool:
    """Returns whether a path names a Python script, which is run when it is opened."""
    return kind_of_name(str(path)) is Kind.SCRIPT


def subjects_of(path: Path, arguments: Sequence[str] = ()) -> list[Subject]:
    """Returns the programs of a module, a ``.ttnn`` file, a folder of dumps or a Python script, which is run.

    Args:
        path: the file or folder.
        arguments: command-line arguments of a script.

    Raises:
        TTXLAError: the path holds no program.
        OSError: the file cannot be read.
    """
    if path.is_dir():
        return _of_folder(path)
    if is_script(path):
        return _of_script(path, arguments)
    return [_of_file(path)]


def _of_file(path: Path) -> Subject:
    data = read_input(path, *MODULE_KINDS, Kind.PROGRAM, Kind.SCRIPT, Kind.MODULES)
    if is_program(data, path):
        program = read_program(data, path)
        return Subject(program.name, program=program)
    return Subject(program_name(path), source=data)


def _of_folder(folder: Path) -> list[Subject]:
    """Returns the programs of a folder: its dumps by folder, model and time, and its other modules and programs.

    A file that cannot be read is a program with an error.
    """
    dumps: defaultdict[tuple[Path, str], list[tuple[int, int, Path]]] = defaultdict(list)
    subjects: list[Subject] = []
    compiled: dict[str, Program] = {}
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".mlir", ".ttnn") and path.is_file()):
        match = _DUMP.fullmatch(path.name)
        if match is not None and match[1] in _STAGE_OF:
            stage = STAGES.index(_STAGE_OF[match[1]])
            dumps[path.parent, match[2] or ""].append((int(match[3]), stage, path))
        elif match is None:
            try:
                subject = _of_file(path)
            except (TTXLAError, OSError) as error:
                subject = Subject(program_name(path), error=f"'{path}': {' '.join(str(error).split())}")
            if subject.program is not None and path.stem not in compiled:
                compiled[path.stem] = subject.program
            else:
                subjects.append(subject)
    for (parent, model), found in dumps.items():
        named = parent.parent if parent.name == "irs" else parent
        subjects += _of_dumps(model or named.name, sorted(found), compiled)
    subjects += [Subject(program.name, program=program) for program in compiled.values()]
    if not subjects:
        if Kind.PROFILES in kinds_of(folder):
            check_input(folder, Kind.MODULES)
        raise MalformedModuleError(
            f"'{folder}' has no modules or programs (.mlir, .ttnn).",
            hint="Set compile option export_path to a folder, run the model, and name that folder.",
        )
    return subjects


def _of_dumps(model: str, dumps: Sequence[tuple[int, int, Path]], compiled: dict[str, Program]) -> list[Subject]:
    """Returns the programs of one model. Of its dumps in the order of their times, a new program begins where a stage
    does not follow the one before."""
    programs: list[dict[str, str]] = []
    last = len(STAGES)
    for _, stage, path in dumps:
        if stage <= last:
            programs.append({})
        programs[-1][STAGES[stage]] = path.read_text(encoding="utf-8", errors="replace")
        last = stage
    subjects: list[Subject] = []
    for index, texts in enumerate(programs):
        name = model if len(programs) == 1 else f"{model}_{index}"
        subjects.append(Subject(name, next(iter(texts.values())), texts, compiled.pop(name, None)))
    return subjects


def _of_script(path: Path, arguments: Sequence[str]) -> list[Subject]:
    """Runs a script and returns the programs that it compiles, with the arguments of their first runs."""
    from tt_xla.profiling.scripts import run_recorded

    errors: list[str] = []

    def run() -> None:
        errors.append(run_recorded(str(path), arguments).error)

    subjects = captured(run)
    ending = "".join(errors)
    if not subjects:
        raise EmptyRecordingError(
            f"The script '{path}' compiled no program" + (f" before it ended with {ending}." if ending else "."),
            hint="It needs a call of a model compiled with torch.compile(backend='tt'), or a jitted function on tt.",
        )
    if ending:
        subjects[-1].warning = f"The script '{path}' ended with {ending}; the programs before it are shown."
    return subjects


def captured(run: Callable[[], object]) -> list[Subject]:
    """Returns the programs that are compiled while a function runs, with the arguments of their first runs."""
    from tt_xla.testing.recorded import recorded_programs

    recorded = recorded_programs(run)
    subjects: list[Subject] = []
    for number, each in enumerate(recorded):
        compilation = each.compilation
        name = f"{compilation.name}_{number}" if len(recorded) > 1 else compilation.name
        stages = {stage: text for key, text in compilation.modules.items() if (stage := _STAGE_OF.get(key))}
        subject = Subject(name, compilation.source, stages | {"stablehlo": compilation.source}, compilation.program)
        if compilation.error is not None:
            subject.error = " ".join(str(compilation.error).split())
            subject.error_location = getattr(compilation.error, "location", "")
        subject.inputs, subject.options = each.inputs, each.options
        subjects.append(subject)
    return subjects
