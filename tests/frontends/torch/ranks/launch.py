"""Starts a script as the ranks of one process group, without torchrun, and reads what each of them reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent


class Ended(NamedTuple):
    """A rank that has ended."""

    code: int
    report: Any
    errors: str


def start(name: str, folder: Path, *arguments: str, size: int = 2, **environment: str) -> list[subprocess.Popen[str]]:
    """Starts a script of this folder as ranks, which find each other by a file and write reports into a folder."""
    processes = []
    for rank in range(size):
        own = {"RANK": rank, "WORLD_SIZE": size, "STORE": folder / "store", "REPORT": folder / f"{rank}.json"}
        variables = {"OMP_NUM_THREADS": "1", "TTXLA_SYSTEM": "n300", **environment, **own}
        processes.append(
            subprocess.Popen(
                [sys.executable, str(FOLDER / name), *arguments],
                env=os.environ | {key: str(value) for key, value in variables.items()},
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    return processes


def ended(processes: list[subprocess.Popen[str]], folder: Path, timeout: float = 300) -> list[Ended]:
    """Waits for ranks, and returns how each ended."""
    results = []
    for rank, process in enumerate(processes):
        errors = process.communicate(timeout=timeout)[1]
        path = folder / f"{rank}.json"
        results.append(Ended(process.returncode, json.loads(path.read_text()) if path.exists() else None, errors))
    return results


def run(name: str, folder: Path, *arguments: str, size: int = 2, **environment: str) -> list[Any]:
    """Runs a script as ranks, and returns their reports."""
    folder.mkdir(exist_ok=True)
    results = ended(start(name, folder, *arguments, size=size, **environment), folder)
    for result in results:
        assert result.code == 0, result.errors
    return [result.report for result in results]


def begin(backend: str, **options: Any) -> None:
    """Makes the process group of a script, in one of its ranks."""
    import torch.distributed as dist

    environment = os.environ
    rank, size = int(environment["RANK"]), int(environment["WORLD_SIZE"])
    dist.init_process_group(
        backend, init_method=f"file://{environment['STORE']}", rank=rank, world_size=size, **options
    )


def report(value: Any) -> None:
    """Writes what this rank reports."""
    Path(os.environ["REPORT"]).write_text(json.dumps(value))
