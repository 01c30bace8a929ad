"""Runs generated source in this process, on the ``ttnn`` that it imports: an installed one, or ours.

It answers the requests that :class:`~tt_xla.runtime.ttnn.process.Worker` sends to a process, so that one executable
serves both.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tt_xla import environment
from tt_xla.codegen import UTILS
from tt_xla.codegen.judge import L1_SMALL_BYTES
from tt_xla.errors import RuntimeUnavailableError

if TYPE_CHECKING:
    from tt_xla.runtime.ttnn.process import Array, Message, OpenMesh
from tt_xla.locks import Lock


class InProcess:
    """A worker in this process. It has one device, which stays open."""

    def __init__(self) -> None:
        self.generation = 0
        """Number of devices opened so far. A new one has none of the programs and tensors of the last one."""
        self.mesh: OpenMesh | None = None
        self.hello: Message = {}
        self.before_replacement: Callable[[], None] | None = None
        self.lock = Lock()
        self._system = ""
        self._region = 0
        self._server: Any = None

    @property
    def _is_open(self) -> bool:
        return self._server is not None and getattr(self._server.device, "is_open", True)

    @property
    def is_running(self) -> bool:
        """Whether a device of the selected system is open."""
        return self._is_open and self._system == environment.selected_system()

    def rest(self) -> None:
        """Does nothing: arrays are passed as they are."""

    def start(self, trace_region_bytes: int = 0, mesh: OpenMesh | None = None) -> None:
        """Opens the device, unless one of the selected system with these chips and this trace region is open.

        Raises:
            RuntimeUnavailableError: ``ttnn`` cannot be imported.
        """
        is_open = self._is_open
        fits = mesh is None or mesh == self.mesh
        if self.is_running and fits and trace_region_bytes <= self._region:
            return
        try:
            script: Any = importlib.import_module("tt_xla.runtime.ttnn.worker")
        except ImportError as error:
            raise RuntimeUnavailableError(
                f"Generated source runs on ttnn, which cannot be imported: {error}.",
                hint="Unset TTXLA_TTNN, with which `import ttnn` is served by the emulated card.",
            ) from error
        if self._server is not None and is_open:
            if self.before_replacement is not None:
                self.before_replacement()
            self._server.close()
        system = environment.selected_system()
        self.mesh = mesh or (self.mesh if system == self._system else None)
        self._system, self._region = system, max(trace_region_bytes, self._region)
        self._server = _server_class(script)(self._region, self.mesh)
        self.hello = self._server.hello
        self.generation += 1

    def request(
        self,
        message: Message,
        arrays: Mapping[str, Array],
        on_host: Callable[[str, list[Array]], Sequence[Array]] | None = None,
    ) -> Message:
        """Answers a request; the arguments are those of :meth:`~tt_xla.runtime.ttnn.process.Worker.request`."""
        self._server.serve(message | {"tensors": dict(arrays)})
        return self._server.answer

    def post(self, message: Message, arrays: Mapping[str, Array], ended: Callable[[Message], None]) -> None:
        """Answers a request at once."""
        ended(self.request(message, arrays))

    def wait(self) -> None:
        """Does nothing: every request is answered."""

    def read(self, segment: Array) -> Array:
        """Returns an array of an answer."""
        return segment


@functools.cache
def _server_class(script: Any) -> Any:
    """Returns the class that answers requests like the script of the worker process, without messages."""

    class Server(script.Worker):
        def __init__(self, region: int, mesh: OpenMesh | None) -> None:
            described = None if mesh is None else {"shape": mesh.shape, "fabric": mesh.fabric, "chips": mesh.chips}
            super().__init__(None, None, UTILS, region, L1_SMALL_BYTES, "device", described)
            self.memory = _Memory(script)
            self.answer: Message = {}
            self.hello = self.properties()

        def send(self, message: Message) -> None:
            self.answer = message

        def failed(self, error: Exception) -> Message:
            return super().failed(error) | {"cause": error}

    return Server


class _Memory:
    """Stands for the memory that a worker process shares: arrays are passed as they are."""

    def __init__(self, script: Any) -> None:
        self._widened = script.widened

    def read(self, segment: Array) -> Array:
        return self._widened(segment) if segment.dtype == "int16" else segment

    def write(self, arrays: Sequence[Array]) -> list[Array]:
        return [*arrays]


@functools.cache
def here() -> InProcess:
    """Returns the one worker in this process; it is made on first use."""
    return InProcess()
