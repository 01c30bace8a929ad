"""``torch_xla.utils.closures``: functions that run after a step, in the step's thread or in another one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

Closure = Callable[[], object]


class ClosureHandler:
    """Runs closures at once."""

    def run(self, closure: Closure) -> None:
        """Runs a closure."""
        closure()

    def run_all(self, closures: Iterable[Closure]) -> None:
        """Runs closures in their order."""
        for closure in closures:
            self.run(closure)


class AsyncClosureHandler(ClosureHandler):
    """Runs closures one after another in a thread of its own.

    Args:
        max_queue_size: number of closures that may wait; :meth:`run` waits until there is room.
    """

    def __init__(self, max_queue_size: int = 100) -> None:
        self._room = threading.BoundedSemaphore(max_queue_size)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="step closures")
        self._failure: Exception | None = None

    def run(self, closure: Closure) -> None:
        """Hands a closure to the thread.

        Raises:
            RuntimeError: an earlier closure raised an error, which is the cause. Those after it did not run.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise RuntimeError(
                "An earlier asynchronous step closure raised an error, so this one was not run."
            ) from failure
        self._room.acquire()
        self._thread.submit(self._run, closure)

    def _run(self, closure: Closure) -> None:
        try:
            if self._failure is None:
                closure()
        except Exception as error:  # of the user's closure, raised again by the next call of run
            self._failure = error
        finally:
            self._room.release()


class StepClosures:
    """The closures of ``xm.add_step_closure``, which wait for the end of the session's current step."""

    def __init__(self) -> None:
        self._here: list[Closure] = []
        self._elsewhere: list[Closure] = []
        self._handler: AsyncClosureHandler | None = None

    def add(self, closure: Closure, *, run_async: bool) -> None:
        """Queues a closure, for a thread of its own if ``run_async`` says so."""
        (self._elsewhere if run_async else self._here).append(closure)

    def run(self) -> None:
        """Runs the queued closures, which may queue others for the next step.

        Raises:
            RuntimeError: an earlier closure raised an error in the other thread.
        """
        elsewhere, self._elsewhere = self._elsewhere, []
        if elsewhere:
            self._handler = self._handler or AsyncClosureHandler()
            self._handler.run_all(elsewhere)
        here, self._here = self._here, []
        ClosureHandler().run_all(here)
