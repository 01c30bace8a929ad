"""Contents of tensors that a TT-NN worker has: arguments that were sent once, and results that stay on the card."""

from __future__ import annotations

import collections
import contextlib
import itertools
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime import lifetimes
from tt_xla.runtime.transfer import Declared, Token

if TYPE_CHECKING:
    from tt_xla.runtime.ttnn.executable import TTNNExecutable
    from tt_xla.runtime.ttnn.here import InProcess
    from tt_xla.runtime.ttnn.process import Array, Worker


_MOST_FAILURES = 4096
"""Number of results of failed runs whose errors are known to runs that read them."""


class Handle:
    """A result that stays on the card. It comes to the host when it is read, in its own type, and only then.

    A program on the same card takes it in place of a tensor, and nothing crosses. It leaves the card with this object.

    Attributes:
        dtype: element type as the program's caller declared it.
        shape: shape as declared.
        spec: element type and shape on the device.
        number: number of the contents in the worker.
        argument: position of the argument that the program has written to and returned as this result; None for a
            result with memory of its own.
        error: why the elements cannot be read; None as long as nobody knows of a reason.
    """

    __slots__ = (
        "__weakref__",
        "_contents",
        "_generation",
        "_host",
        "_program",
        "argument",
        "dtype",
        "error",
        "number",
        "shape",
        "spec",
    )

    def __init__(
        self, contents: WorkerContents, program: str, declared: Declared, spec: TensorSpec, argument: int | None
    ) -> None:
        self._contents = contents
        self._program = program
        self._generation = contents.generation
        self.error: ExecutionError | None = None
        self._host: torch.Tensor | None = None
        self.dtype, self.shape = declared
        self.spec = spec
        self.number = number = contents.new_number()
        contents.handles[number] = weakref.ref(self)
        self.argument = argument

    @property
    def nbytes(self) -> int:
        """Size of the elements on the host, in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __del__(self) -> None:
        if hasattr(self, "number"):
            self._contents.dropped.append(self.number)
            self._contents.handles.pop(self.number, None)

    def fits(self, contents: WorkerContents, declared: Declared, spec: TensorSpec) -> bool:
        """Returns whether a program of a worker can take this result for an argument."""
        is_same = (self.dtype, self.shape) == declared and self.spec.shape == spec.shape
        return is_same and self.is_in(contents)

    def is_in(self, contents: WorkerContents) -> bool:
        """Returns whether the elements are among the contents of a worker's present process, and nowhere else."""
        is_there = self._generation == contents.generation and self.error is None and self._host is None
        return is_there and self._contents is contents

    def lose(self, reason: str) -> None:
        """Marks the result as gone from the card."""
        self.error = self.error or ExecutionError(
            f"A result of program '{self._program}' was on the card and is gone. {reason}",
            hint="Compute it again. Tensors that are needed after a failure are read, or copied, before it.",
        )

    def bring_home(self) -> None:
        """Reads a result that is still on the card, whose process is about to end."""
        if self.error is None and self._host is None and self._generation == self._contents.generation:
            with contextlib.suppress(ExecutionError):  # which whoever reads it gets
                (self._host,) = self._contents.fetch([self])

    def check(self) -> None:
        """Raises an error if the result is gone, or was never there."""
        if self._host is None and self._generation != self._contents.generation:
            self.lose("TT-NN's process has ended since.")
        if self._host is None and self.error is not None:
            raise self.error.with_traceback(None)

    def read(self) -> torch.Tensor:
        """Waits for the run and returns a CPU tensor with the result's elements, of the declared dtype and shape.

        Raises:
            ExecutionError: the run failed, TT-NN's process ended, or a program has written to the result's memory.
        """
        (tensor,) = self.read_together([self])
        return tensor

    def wait(self) -> None:
        """Waits for the run.

        Raises:
            ExecutionError: the errors of :meth:`read`.
        """
        self.check()
        self._contents.wait()
        self.check()

    @staticmethod
    def read_together(handles: Sequence[Handle]) -> list[torch.Tensor]:
        """Reads several results of one card, which come to the host together.

        Raises:
            ExecutionError: the errors of :meth:`read`.
        """
        for handle in handles:
            handle.check()
        away = [handle for handle in handles if handle._host is None]
        fetched = iter(away[0]._contents.fetch(away) if away else ())
        return [next(fetched) if handle._host is None else handle._host.clone() for handle in handles]


class Run:
    """A run that the worker may not have answered yet.

    Args:
        executable: the executable.
        contents: the contents of its worker.
        results: what stays on the card.

    Attributes:
        error: why it failed; None otherwise, and before the answer.
    """

    def __init__(self, executable: TTNNExecutable, contents: WorkerContents, results: Sequence[Handle]) -> None:
        self._executable, self._contents = executable, contents
        self._numbers = [handle.number for handle in results]
        self.error: ExecutionError | None = None

    def end(self, answer: Mapping[str, Any] | ExecutionError) -> None:
        """Takes the worker's answer, or the error that took its place. Results of a run that failed have its error."""
        if isinstance(answer, ExecutionError):
            self.error = answer
        elif "lacked" in answer:  # whose run failed
            failure = self._executable.failure(answer)
            self.error = self._contents.failures.get(answer["lacked"], failure)
        elif "error" in answer:
            self.error = self._executable.failure(answer)
        else:
            self._executable.ran(answer)
        if self.error is None:
            return
        failures = self._contents.failures
        for number in self._numbers:
            failures[number] = self.error
            while len(failures) > _MOST_FAILURES:
                del failures[next(iter(failures))]
            if (handle := self._contents.handle(number)) is not None:
                handle.error = self.error


class Request:
    """The part of a request that is about arguments.

    Attributes:
        message: its fields: ``bind`` has the number of the contents of arguments, where it differs from the last run's;
            ``consumed`` names arguments whose contents end with the run, which may write to them, ``copied`` those that
            the run may write to in a copy, and ``passing`` those that are bound for this run alone; ``prepare`` says
            that const-eval functions must run again. A field is absent where there is nothing to say.
        arrays: elements of arguments that the worker lacks, by name, or by number if it shall keep them.
        lost: donated results, which the run writes to.
    """

    __slots__ = ("arrays", "lost", "message")

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.arrays: dict[str, Array] = {}
        self.lost: list[Handle] = []

    def bind(self, name: str, number: int) -> None:
        """Binds an argument to other contents."""
        self.message.setdefault("bind", {})[name] = number

    def add(self, field: str, name: str) -> None:
        """Adds an argument to a field."""
        self.message.setdefault(field, []).append(name)

    def prepares(self, prepares: bool) -> None:
        """Has const-eval functions run again, if an argument says so."""
        if prepares:
            self.message["prepare"] = True


class WorkerContents:
    """The contents of tensors that one worker has, by number.

    Args:
        worker: the worker.
        fetch: returns the elements of results, as CPU tensors of the declared dtypes and shapes.
    """

    def __init__(self, worker: Worker | InProcess, fetch: Callable[[Sequence[Handle]], list[torch.Tensor]]) -> None:
        self._worker = weakref.ref(worker)
        self.fetch = fetch
        self.dropped: collections.deque[int] = collections.deque()
        """Numbers that nobody needs any more; the worker learns of them with the next run."""
        self.handles: dict[int, weakref.ref[Handle]] = {}
        """Results that may be on the card, by number."""
        self.failures: dict[int, ExecutionError] = {}
        """Errors of failed runs by the numbers of their results, for the runs that read these and are not answered."""
        self._numbers = itertools.count(1)
        self._sent: dict[int, dict[tuple[Token, DataType, tuple[int, ...], object], int]] = {}
        """Numbers of the arguments that were sent, by version, then by token, element type, shape and part."""
        self._sent_to = 0
        self._reference: weakref.ref[lifetimes.Keeper] = weakref.ref(self)

    @property
    def generation(self) -> int:
        """Number of the process that has the contents; a later one has none of them."""
        worker = self._worker()
        return 0 if worker is None else worker.generation

    def handle(self, number: int) -> Handle | None:
        """Returns the result of a number; None if nobody has it any more."""
        reference = self.handles.get(number)
        return None if reference is None else reference()

    def wait(self) -> None:
        """Waits until the worker has answered all requests."""
        worker = self._worker()
        if worker is not None:
            with worker.lock:
                worker.wait()

    def new_number(self) -> int:
        """Returns a number that no contents have had."""
        return next(self._numbers)

    def number_of(self, token: Token, spec: TensorSpec, part: object = None) -> tuple[int, bool]:
        """Returns the number of an argument's contents on the device, and whether they must be sent.

        Args:
            token: the token of the contents, or of those of the whole tensor that the argument is a shard of.
            spec: element type and shape.
            part: the part of the tensor that the argument is; None for all of it.
        """
        if self._sent_to != self.generation:
            self._sent_to = self.generation
            self._sent.clear()
        assert token is not None
        version = token[0]
        assert isinstance(version, int)
        if version not in self._sent:
            lifetimes.keep(version, self._reference)
        numbers = self._sent.setdefault(version, {})
        key = token, spec.layout.dtype, spec.shape, part
        if key in numbers:
            return numbers[key], False
        return numbers.setdefault(key, self.new_number()), True

    def forget(self, version: int) -> None:
        """Drops arguments whose contents no longer exist."""
        self.dropped.extend(self._sent.pop(version, {}).values())

    def bring_home(self) -> None:
        """Reads all results that are on the card, whose process is about to end."""
        for number in [*self.handles]:
            if (handle := self.handle(number)) is not None:
                handle.bring_home()

    def take_dropped(self) -> list[int]:
        """Returns and clears the numbers that nobody needs any more."""
        return [self.dropped.popleft() for _ in range(len(self.dropped))] if self.dropped else []


__all__ = ["Handle", "Request", "Run", "WorkerContents"]
