"""Packages: exported PyTorch models with their weights and compiled programs, each in one file.

    exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch", max=64)},))
    tt_xla.aot.package(exported, "model.ttpkg")

Another process loads the file and calls the model. It needs neither the model's class nor dynamo, traces nothing, and
compiles nothing for the sizes that were packaged:

    model = tt_xla.aot.load("model.ttpkg")
    model(x)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from tt_xla.aot.model import Model


def package(
    exported: ExportedProgram,
    path: str | os.PathLike[str],
    *,
    options: Mapping[str, Any] | None = None,
    sizes: Sequence[Sequence[Any]] = (),
) -> Path:
    """Compiles an exported program for the selected system, and writes it with its weights to a file.

    Args:
        exported: what ``torch.export.export`` returned, or ``torch.export.load`` read from a ``.pt2`` file.
        path: the file, by custom with the suffix ``.ttpkg``.
        options: compile options, on top of the process's.
        sizes: arguments of further calls, one sequence each, for whose sizes programs are packaged besides that for the
            example inputs of the export. Only shapes and dtypes matter.

    Returns:
        The path of the file.

    Raises:
        UnsupportedOpError: an op has no lowering, the model draws random numbers, or an input or output is of a kind
            that a package cannot hold.
        CompileError: the program cannot be compiled.
        TypeError, ValueError: one of ``sizes`` does not fit the exported program.
        OutputError: the file cannot be written.
    """
    from tt_xla.aot.packaging import package_of

    written = Path(path)
    package_of(exported, written.stem, options or {}, sizes).write(written)
    return written


def load(path: str | os.PathLike[str], *, chip: int = 0) -> Model:
    """Returns the model in a file that :func:`package` wrote. Its class is not needed.

    Args:
        path: the file.
        chip: number of the chip that runs it.

    Raises:
        ProgramFormatError: the file is no package, damaged, or of another version.
        ExecutionError: the system has no such chip.
        OSError: the file cannot be read.
    """
    from tt_xla.aot.format import Package
    from tt_xla.aot.model import Model

    return Model(Package.read(Path(path)), chip)


__all__ = ["load", "package"]
