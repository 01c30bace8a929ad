"""The process that runs one model: ``python -m tt_xla.testing.models.worker SPEC``.

SPEC is a pickle of what to run; the record and the stage reached are files beside it. ``--variants ROOT FOLDER`` prints
the variants of a loader instead.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import resource
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tt_xla.testing.models.config import Expectation
from tt_xla.testing.models.discovery import Case


@dataclass(frozen=True)
class Spec:
    """What one process runs; ``memory`` in bytes, 0 for no limit; ``parent`` is who starts it, without whom it ends."""

    root: Path
    case: Case
    expectation: Expectation
    memory: int
    parent: int


def main(arguments: list[str]) -> None:
    if arguments[0] == "--variants":
        _print_variants(Path(arguments[1]), Path(arguments[2]))
        return
    path = Path(arguments[0])
    spec: Spec = pickle.loads(path.read_bytes())
    _end_with(spec.parent)
    if spec.memory:
        # The data of the process, not its addresses: torch reserves many more of those than it uses.
        resource.setrlimit(resource.RLIMIT_DATA, (spec.memory, spec.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stage = path.with_name("stage")
    from tt_xla.testing.models.execution import run

    record = run(spec.root, spec.case, spec.expectation, lambda name: _write(stage, name.encode()))
    _write(path.with_name("record.json"), json.dumps(asdict(record)).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # what a model started, threads above all, must not keep the process


_PR_SET_PDEATHSIG = 1
"""Of Linux's prctl(2): which signal a process gets when the one that started it ends."""


def _end_with(parent: int) -> None:
    """A runner that is killed takes its model with it, which may hang, and whose packages the next run removes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before
            os._exit(1)


def _write(path: Path, data: bytes) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(path)


def _print_variants(root: Path, folder: Path) -> None:
    from tt_xla.testing.models import loading

    module = loading.import_loader(root, folder.relative_to(root).as_posix())
    variants = [loading.text(key) for key in module.ModelLoader.query_available_variants() or {}]
    print(json.dumps(variants), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
