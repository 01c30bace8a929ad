"""Where TT-NN is, and in which mode it runs; the one worker of this process."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path

from tt_xla import options
from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.errors import RuntimeUnavailableError
from tt_xla.runtime.ttnn.process import Launch, Worker

CARDS = Path("/dev/tenstorrent")

_PROFILER = ("TT_METAL_DEVICE_PROFILER", "TT_METAL_PROFILER_MID_RUN_DUMP", "TT_METAL_PROFILER_CPP_POST_PROCESS")
"""What TT-Metal reads when a device opens. All three are needed for the times of programs to reach the process."""

_starting = threading.Lock()


def launch() -> Launch:
    """How the environment says that a worker is started.

    Raises:
        RuntimeUnavailableError: no Python has ``ttnn``, or there is neither card nor simulator for it.
        OptionError: a variable has a bad value.
    """
    seconds = options.ttnn_timeout_seconds()
    if options.selected_runtime() == "ttnn-mock":
        found = mock(ttnn_python(), "p150")
        return Launch(found.python, found.environment, "mock", seconds)
    python = ttnn_python()
    environment = {"TT_METAL_LOGGER_LEVEL": "error", "LOGURU_LEVEL": "WARNING"} | options.child_environment()
    if not CARDS.exists() and not options.environment("TT_METAL_SIMULATOR"):
        raise RuntimeUnavailableError(
            f"TTXLA_RUNTIME=ttnn needs a Tenstorrent card; {CARDS} does not exist, and TT_METAL_SIMULATOR names none.",
            hint="Unset TTXLA_RUNTIME for the emulated card, or set it to ttnn-mock to have TT-NN check the calls.",
        )
    if options.ttnn_profile():
        environment |= dict.fromkeys(_PROFILER, "1")
    return Launch(python, environment, "device", seconds)


@cache
def _worker(runtime: str) -> Worker:
    return Worker(launch())


def worker() -> Worker:
    """The worker of this process."""
    with _starting:
        return _worker(options.selected_runtime())
