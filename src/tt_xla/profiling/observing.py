"""Observes compiler, runtime, optimizers and calls of ``ttnn`` while a recording is in progress."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

from tt_xla.profiling.recording import RECORDINGS, Preparations, Recorder, Recording
from tt_xla.profiling.ttnn_calls import CallRecorder
from tt_xla.stage_times import WATCHERS


@contextlib.contextmanager
def recorded(
    enough: Callable[[Recording], bool] | None = None, *, keep_results: bool = False, keep_arguments: bool = False
) -> Generator[Recording]:
    """Records the programs that are loaded within the context. Only one recording runs at a time.

    Models of torch and programs of JAX that are already compiled are loaded again before and after the recording.

    Args:
        enough: Called after each run and each optimizer step; if it returns true, :class:`.StopScript` ends the script.
        keep_results: Whether to keep the results of each program's first run.
        keep_arguments: Whether to keep the arguments of each program's first run, and the StableHLO of each
            compilation.
    """
    from tt_xla.compiler.recording import recorded_compilations
    from tt_xla.runtime.observation import CALLS, WAITS, observed_kernels

    recorder = Recorder(enough, keep_results=keep_results, keep_arguments=keep_arguments)
    recording = recorder.recording
    calls = CallRecorder(recording, recorder.stop_if_enough)
    with (
        observed_kernels(recorder),
        WAITS.added(recorder.waited),
        CALLS.added(calls),
        recorded_compilations(texts=keep_arguments) as compilations,
        _preparations(recording),
        _optimizers(recorder),
        _backwards(recording),
    ):
        recording.compilations = compilations
        _load_again()
        try:
            with RECORDINGS.added(recording):
                yield recording
        finally:
            calls.end_run()
            _load_again()
            recording.ended = time.perf_counter_ns()


def _load_again() -> None:
    """Makes the frontends that are imported load their compiled programs again, with or without observers."""
    for name in ("tt_xla.frontends.torch.settings", "tt_xla.frontends.jax.pjrt.executable"):
        frontend = sys.modules.get(name)
        if frontend is not None:
            frontend.renew()


@contextlib.contextmanager
def _preparations(recording: Recording) -> Generator[None]:
    """Records the stages of first calls within the context."""
    watch = functools.partial(Preparations, recording)
    WATCHERS.append(watch)
    try:
        yield
    finally:
        WATCHERS.remove(watch)


@contextlib.contextmanager
def _optimizers(recorder: Recorder) -> Generator[None]:
    """Observes torch's optimizers and their steps within the context."""
    from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

    make = Optimizer.__init__

    @functools.wraps(make)
    def recorded_make(self: Optimizer, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **options)
        recorder.recording.optimizers.add(self)

    hook = register_optimizer_step_post_hook(recorder.optimizer_stepped)
    Optimizer.__init__ = recorded_make
    try:
        yield
    finally:
        Optimizer.__init__ = make
        hook.remove()


@contextlib.contextmanager
def _backwards(recording: Recording) -> Generator[None]:
    """Records the backward passes of torch within the context; ``Tensor.backward`` calls the function replaced here.

    A backward pass within another one, as of a checkpointed module, is part of it.
    """
    import torch.autograd

    backward, running = torch.autograd.backward, threading.local()

    @functools.wraps(backward)
    def recorded_backward(*arguments: Any, **options: Any) -> None:
        if getattr(running, "yes", False):
            return backward(*arguments, **options)
        running.yes, start = True, time.perf_counter_ns()
        try:
            backward(*arguments, **options)
        finally:
            running.yes = False
        recording.backwards.append((start, time.perf_counter_ns()))
        return None

    torch.autograd.backward = recorded_backward
    try:
        yield
    finally:
        torch.autograd.backward = backward
