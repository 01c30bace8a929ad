"""The child process of :mod:`.recording`: it runs a script and writes the programs that it compiles.

``python -m tt_xla.testing.reduction.recorder FOLDER PARENT FILES SCRIPT ARGUMENT...``: PARENT is the process with which
it ends, FILES are Python files to run first. They may change the compiler, so it is imported after them.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tt_xla.testing.child_processes import default_memory, limit_this_process

MODEL = "--model"
"""Stands for a script whose arguments are a folder with loaders, the id of a model's test, and a level."""


class _Written(list[Any]):
    """A list of compilations that writes each one to a folder when it is added."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def append(self, compilation: Any) -> None:
        path = self._folder / f"{len(self):04}"
        options = {} if compilation.options is None else compilation.options.as_dict()
        path.with_suffix(".json").write_text(json.dumps([compilation.name, options]))
        path.with_suffix(".mlir").write_text(compilation.source)
        super().append(compilation)


def _main(arguments: Sequence[str]) -> None:
    """Runs the script in this process."""
    folder, parent, imports, script, *rest = arguments
    limit_this_process(default_memory(1), int(parent))
    for path in filter(None, imports.split(os.pathsep)):
        runpy.run_path(path)
    import numpy as np

    from tt_xla.compiler.recording import RECORDERS, Recorder
    from tt_xla.runtime.observation import RUNS
    from tt_xla.testing.divergence.runs import to_array
    from tt_xla.testing.divergence.subjects import model_named
    from tt_xla.testing.scripts import as_main

    compilations = _Written(Path(folder))
    kept: set[int] = set()

    def keep(program: Any, tensors: Sequence[Any]) -> None:
        for number, compilation in enumerate(compilations):
            if number not in kept and (compilation.program is program or compilation.program == program):
                kept.add(number)
                arrays = [to_array(tensor.detach().cpu()) for tensor in tensors]
                np.savez(Path(folder) / f"{number:04}.npz", *arrays)
                return

    with RECORDERS.added(Recorder(True, compilations)), RUNS.added(keep), as_main(script, rest):
        if script == MODEL:
            root, name, level = rest
            model_named(Path(root), name, int(level))[1]()
        else:
            runpy.run_path(script, None, "__main__")


if __name__ == "__main__":
    _main(sys.argv[1:])
