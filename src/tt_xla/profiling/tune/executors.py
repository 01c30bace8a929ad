"""Runs several trials at a time, in processes of this machine or on the machines of a Ray cluster."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import msgspec

from tt_xla.environment import RAY_TOKEN_HINT, child_environment
from tt_xla.errors import OptionError
from tt_xla.profiling.tune.choice import Outcome
from tt_xla.profiling.tune.trial import RESULT_NAME, SPEC_NAME, Spec

RunAll = Callable[[Sequence[Spec]], Iterator[Outcome]]
"""A function that runs trials and yields their outcomes in the order in which they end."""

_LAST_LINES = 5
"""Number of lines of a failed trial's standard error that its outcome holds."""


def run_in_process(data: dict[str, Any], started: list[subprocess.Popen[str]] | None = None) -> dict[str, Any]:
    """Runs one trial in a process of its own. Argument and result are plain data, so that Ray can run it anywhere.

    Args:
        data: The trial's :class:`Spec` as plain data.
        started: List that receives the process.

    Returns:
        The trial's :class:`Outcome` as plain data.
    """
    spec = msgspec.convert(data, Spec)
    with tempfile.TemporaryDirectory(prefix="tt-xla-trial-") as folder:
        result = Path(folder) / RESULT_NAME
        (Path(folder) / SPEC_NAME).write_text(json.dumps(data))
        # With -P a module of the user's that has the name of one of Python's is not imported in its place.
        command = [sys.executable, "-P", "-m", "tt_xla.profiling.tune.trial", folder]
        paths = os.pathsep.join(filter(None, sys.path))
        process = subprocess.Popen(
            command,
            cwd=spec.folder if Path(spec.folder).is_dir() else folder,  # another machine may lack the user's folder
            env=child_environment(spec.variables | {"PYTHONPATH": paths}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        if started is not None:
            started.append(process)
        _, errors = process.communicate()
        if result.is_file():
            return json.loads(result.read_text())
        last = " | ".join(errors.strip().splitlines()[-_LAST_LINES:])
        error = f"the process ended with code {process.returncode}: {last}"
        return msgspec.to_builtins(Outcome(spec.choice, error=error))


class LocalExecutor:
    """Runs a number of processes at a time on this machine."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._started: list[subprocess.Popen[str]] = []

    def __call__(self, specs: Sequence[Spec]) -> Iterator[Outcome]:
        with ThreadPoolExecutor(self._jobs) as pool:
            futures = [pool.submit(run_in_process, msgspec.to_builtins(spec), self._started) for spec in specs]
            try:
                for future in as_completed(futures):
                    yield msgspec.convert(future.result(), Outcome)
            finally:  # nothing is left to end unless the caller stops early
                for future in futures:
                    future.cancel()
                self.stop()

    def stop(self) -> None:
        """Ends the processes that are still running."""
        for process in self._started:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()


class RayExecutor:
    """Runs one trial on each core of a Ray cluster, whose machines must have the script at the same path.

    Raises:
        OptionError: Ray is not installed, or there is no cluster at the address.
    """

    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise OptionError(
                "--ray needs Ray, which is not installed.", hint="Install it with `pip install ray`."
            ) from None
        try:
            ray.init(address=address, ignore_reinit_error=True, log_to_driver=False)
        except (OSError, RuntimeError, ValueError) as error:  # no connection, no answer, no address
            raise OptionError(
                f"There is no Ray cluster at '{address}': {error}.",
                hint=f"Start one with `ray start --head`. {RAY_TOKEN_HINT}",
            ) from error
        self._ray = ray
        self._run = ray.remote(num_cpus=1)(run_in_process)

    def __call__(self, specs: Sequence[Spec]) -> Iterator[Outcome]:
        waiting = [self._run.remote(msgspec.to_builtins(spec)) for spec in specs]
        try:
            while waiting:
                done, waiting = self._ray.wait(waiting, num_returns=1)
                for outcome in self._ray.get(done):
                    yield msgspec.convert(outcome, Outcome)
        finally:  # nothing is left to end unless the caller stops early
            for task in waiting:
                self._ray.cancel(task, force=True)

    def stop(self) -> None:
        """Disconnects from the cluster."""
        self._ray.shutdown()
