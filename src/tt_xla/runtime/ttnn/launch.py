"""Finds TT-NN, chooses its mode, and keeps the worker of this process."""

from __future__ import annotations

import functools
from pathlib import Path

from tt_xla import environment
from tt_xla.codegen import clusters
from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.errors import RuntimeUnavailableError
from tt_xla.locks import Lock
from tt_xla.runtime.ttnn import board
from tt_xla.runtime.ttnn.process import Launch, Worker

CARDS = Path("/dev/tenstorrent")
"""Folder of the card's device files; it exists on machines with a Tenstorrent card."""

_PROFILER = ("TT_METAL_DEVICE_PROFILER", "TT_METAL_PROFILER_MID_RUN_DUMP", "TT_METAL_PROFILER_CPP_POST_PROCESS")
"""Environment variables that TT-Metal reads when a device opens. Measured times need all three."""

_workers: dict[str, Worker] = {}
"""The worker for each value of ``TTXLA_RUNTIME``; in mock mode, for each system."""

_starting = Lock()


def launch() -> Launch:
    """Returns how to start a worker, as the environment selects it.

    Raises:
        RuntimeUnavailableError: no Python interpreter has ``ttnn``, there is neither a card nor a simulator, or the
            simulator's file is missing.
        OptionError: an environment variable has an invalid value.
    """
    limits = environment.ttnn_timeout_seconds(), environment.ttnn_compile_timeout_seconds()
    if environment.selected_runtime() == "ttnn-mock":
        system = environment.selected_system().partition(":")[0]
        mock_mode = mock(ttnn_python(), system if system in clusters.SYSTEMS else "p150")
        return Launch(mock_mode.python, mock_mode.environment, "mock", *limits)
    python = ttnn_python()
    variables = {"TT_METAL_LOGGER_LEVEL": "error", "LOGURU_LEVEL": "WARNING"} | environment.child_environment()
    simulator = environment.variable("TT_METAL_SIMULATOR")
    if simulator and not Path(simulator).exists():
        raise RuntimeUnavailableError(
            f"The simulator TT_METAL_SIMULATOR={simulator} does not exist.", hint="Correct it, or unset it."
        )
    if not CARDS.exists() and not simulator:
        raise RuntimeUnavailableError(
            f"TTXLA_RUNTIME=ttnn needs a Tenstorrent card, but {CARDS} does not exist and TT_METAL_SIMULATOR is not "
            "set.",
            hint="Unset TTXLA_RUNTIME for the emulated card, or set it to ttnn-mock to have TT-NN check the calls.",
        )
    if environment.ttnn_profile():
        variables |= dict.fromkeys(_PROFILER, "1")
    if simulator:
        return Launch(python, variables, "device", *limits)
    reset = functools.partial(board.reset_command, python, CARDS)
    return Launch(python, variables, "device", *limits, reset, functools.partial(board.users, CARDS))


def worker() -> Worker:
    """Returns the worker of this process; it is made on first use."""
    with _starting:
        key = environment.selected_runtime()
        if key == "ttnn-mock":  # which acts as one system
            key += f" {environment.selected_system()}"
        if key not in _workers:
            _workers[key] = Worker(launch())
        return _workers[key]


def wait() -> None:
    """Waits until the workers of this process have run everything."""
    with _starting:
        running = [*_workers.values()]
    for each in running:
        with each.lock:
            each.wait()


def close_workers() -> None:
    """Ends the workers of this process. Programs that are loaded later get one as the environment then selects."""
    with _starting:
        for each in _workers.values():
            each.close()
        _workers.clear()
