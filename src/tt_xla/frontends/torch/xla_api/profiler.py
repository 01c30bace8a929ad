"""``torch_xla.debug.profiler``: names of ranges, and traces by the profilers of PyTorch and JAX.

PyTorch's has its ops and is for Perfetto; JAX's has the names of ranges and the host's part of a compilation, in XLA's
format for TensorBoard.

``tt-xla profile SCRIPT`` shows what the chips do, op by op.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import WeakValueDictionary

import torch
import torch_xla

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device import analysis as _analysis
from tt_xla.frontends.torch.private.functions import profiling_all_threads as _profiling_all_threads
from tt_xla.locks import Lock as _Lock


class _State:
    """State of the session.

    Attributes:
        is_in_step: whether a :class:`StepTrace` ends the step, so that a data loader does not.
        profile: the trace that goes on, or None.
        folder: the folder of that trace.
        servers: servers by port.
        lock: held while a trace begins or ends.
    """

    def __init__(self) -> None:
        self.is_in_step = False
        self.profile: torch.profiler.profile | None = None
        self.folder = Path()
        self.servers: WeakValueDictionary[int, ProfilerServer] = WeakValueDictionary()
        self.lock = _Lock()


def _state() -> _State:
    return _session.current.part(_State)


def set_tracer_marked_step(value: bool) -> None:
    _state().is_in_step = value


def get_tracer_marked_step() -> bool:
    return _state().is_in_step


class ProfilerServer:
    """Holds a port as long as it lives. :func:`trace` of the same process takes its address.

    Args:
        port: the port.

    Raises:
        RuntimeError: the port is invalid or busy.
    """

    def __init__(self, port: int) -> None:
        try:
            self._socket = socket.create_server(("", port))
        except (OSError, OverflowError) as error:
            raise RuntimeError(f"start_server({port}): the port cannot be used: {error}.") from error
        self.port = self._socket.getsockname()[1]
        _state().servers[self.port] = self

    def __del__(self) -> None:
        if hasattr(self, "_socket"):
            self._socket.close()


def start_server(port: int, only_on_master: bool = True) -> ProfilerServer | None:
    """Starts a server that :func:`trace` of this process finds.

    Args:
        port: its port.
        only_on_master: whether to start it in the first process alone.

    Returns:
        The server, which ends when it is deleted; if the process has one on this port, that one. None in other
        processes.

    Raises:
        RuntimeError: the port is invalid or busy.
    """
    import torch_xla.core.xla_model as xm

    if only_on_master and not xm.is_master_ordinal():
        return None
    return _state().servers.get(port) or ProfilerServer(port)


def trace(service_addr: str, logdir: str, duration_ms: int = 1000, **options: Any) -> None:
    """Traces this process for a while; :func:`trace_detached` does so beside a script.

    Args:
        service_addr: address of a server of this process, such as ``localhost:9012``.
        logdir: folder of the trace.
        duration_ms: milliseconds.
        options: options of the real function about attempts and levels. They change nothing here.

    Raises:
        RuntimeError: no server of this process has the address.
    """
    if int(service_addr.rpartition(":")[2] or 0) not in _state().servers:
        raise RuntimeError(
            f"No server of this process has the address {service_addr!r}. Another process is profiled by start_trace "
            "and stop_trace in its script, or by 'tt-xla profile SCRIPT'."
        )
    start_trace(logdir)
    time.sleep(duration_ms / 1000)
    stop_trace()


def trace_detached(*args: Any, **kwargs: Any) -> None:
    """Calls :func:`trace` in another thread."""
    threading.Thread(target=trace, args=args, kwargs=kwargs).start()


class Trace:
    """Context manager that names a range of a trace, in which no step may end.

    Args:
        name: the name.
        kwargs: facts about the range, which are written behind the name.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.name = name
        self._facts = kwargs
        self._range = contextlib.ExitStack()

    def __enter__(self) -> Trace:
        facts = ",".join(f"{key}={value}" for key, value in self._facts.items())
        self._range.enter_context(torch.profiler.record_function(f"{self.name}#{facts}#" if facts else self.name))
        self._range.enter_context(_session.current.mode.scope(self.name))
        if _state().profile is not None:
            import jax

            self._range.enter_context(jax.profiler.TraceAnnotation(self.name, **self._facts))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._range.__exit__(kind, error, traceback)


class StepTrace(Trace):
    """Context manager that names a range which is a step: recorded ops run at its end."""

    def __enter__(self) -> StepTrace:
        set_tracer_marked_step(True)
        super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _session.current.mode.running_because(_analysis.STEP_TRACE):
            torch_xla.sync(reset_scope=False)
        super().__exit__(kind, error, traceback)


def trace_me(scope: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that makes each call of a function a range."""

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def traced(*args: Any, **kwargs: Any) -> Any:
            with Trace(scope):
                return function(*args, **kwargs)

        return traced

    return decorated


def start_trace(log_dir: os.PathLike[str] | str) -> None:
    """Starts a trace of all threads. One of JAX's goes on beside it, so that a script starts none itself.

    Args:
        log_dir: folder of the trace.

    Raises:
        RuntimeError: a trace goes on, or one of JAX's.
    """
    import jax

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # the calls of all Python functions would fill the trace
    with _state().lock:
        if _state().profile is not None:
            raise RuntimeError("Only one profile may be run at a time. End the one that runs by stop_trace first.")
        jax.profiler.start_trace(log_dir, profiler_options=options)
        profile = torch.profiler.profile(experimental_config=_profiling_all_threads())
        profile.start()
        _state().profile, _state().folder = profile, Path(log_dir)


def stop_trace() -> None:
    """Ends the trace and writes it to the folder: ``.xplane.pb`` for TensorBoard, and ``.pt.trace.json`` for Perfetto.

    Raises:
        RuntimeError: no trace was started.
    """
    import jax

    state = _state()
    with state.lock:
        profile, state.profile = state.profile, None
        if profile is None:
            raise RuntimeError("No profile started. Start one by start_trace.")
        profile.stop()
        jax.profiler.stop_trace()
        state.folder.mkdir(parents=True, exist_ok=True)
        name = f"{socket.gethostname()}_{os.getpid()}.{time.time_ns()}.pt.trace.json"
        profile.export_chrome_trace(str(state.folder / name))
