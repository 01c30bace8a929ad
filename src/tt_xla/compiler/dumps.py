"""The text of a module at each stage: logged, collected for the caller, and written to files."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from tt_xla.options import CompileOptions
from tt_xla.stage_times import PRINTING
from tt_xla.stage_times import stage as timed_stage


def dumper(
    options: CompileOptions, dumps: dict[str, str] | None, log: logging.Logger
) -> Callable[[str, Callable[[], str]], None]:
    """Returns a function that logs the text of a stage, adds it to ``dumps`` and writes it below ``export_path``.

    The function's arguments are the name of the stage and a function that prints the module. The module is printed only
    if the log level, ``dumps`` or the options request the text.
    """
    # Generated source brings its modules itself, and the folder of loaded source is only read.
    exports = options.export_path and not (options.generates_source or options.loads_source)
    folder = Path(options.export_path) / "irs" if exports else None
    if dumps is None and folder is None and not log.isEnabledFor(logging.DEBUG):
        return lambda stage, text: None

    def record(stage: str, text: Callable[[], str]) -> None:
        with timed_stage(PRINTING):
            module_text = text()
        log.debug("MLIR Module %s:\n%s\n------------------ END OF MLIR MODULE ------------------", stage, module_text)
        if dumps is not None:
            dumps[stage] = module_text
        if folder is not None:
            export_ir(folder, stage, options.export_model_name, module_text)

    return record


def export_ir(folder: Path, stage: str, model: str, text: str) -> Path:
    """Writes the text of a stage to ``<stage>[_<model>]_<unix ms>.mlir``, upstream's name for a dump.

    Returns:
        The path of the file.
    """
    infix = f"_{model.replace('/', '_')}" if model else ""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stage}{infix}_{time.time_ns() // 1_000_000}.mlir"
    path.write_text(text)
    return path
