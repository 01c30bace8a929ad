"""The process that runs one model: ``python -m tt_xla.testing.models.worker SPEC``.

SPEC is a pickled :class:`Spec`. The process writes its record and the stage that it has reached to files beside SPEC.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tt_xla.testing.child_processes import limit_this_process
from tt_xla.testing.models.config import Expectation
from tt_xla.testing.models.discovery import Case


@dataclass(frozen=True)
class Spec:
    """The work of one process.

    Attributes:
        root: folder with the loaders.
        case: the test.
        expectation: the expected outcome.
        memory: memory limit in bytes; 0 for none.
        parent: id of the process that starts this one, which ends with it.
    """

    root: Path
    case: Case
    expectation: Expectation
    memory: int
    parent: int


def main(arguments: list[str]) -> None:
    """Runs the process with the arguments of its command line."""
    path = Path(arguments[0])
    spec: Spec = pickle.loads(path.read_bytes())
    limit_this_process(spec.memory, spec.parent)
    stage = path.with_name("stage")
    from tt_xla.testing.models.execution import run

    record = run(spec.root, spec.case, spec.expectation, lambda name: _write(stage, name.encode()))
    _write(path.with_name("record.json"), json.dumps(asdict(record)).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads that a model started would keep the process alive


def _write(path: Path, data: bytes) -> None:
    new_file = path.with_suffix(".new")
    new_file.write_bytes(data)
    new_file.replace(path)


if __name__ == "__main__":
    main(sys.argv[1:])
