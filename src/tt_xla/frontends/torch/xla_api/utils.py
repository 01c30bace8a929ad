"""``torch_xla.utils.utils``, which scripts import as ``xu``: synthetic data, nested data, variables, timings."""

from __future__ import annotations

import contextlib
import copy
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from tt_xla.environment import is_flag as _is_flag
from tt_xla.environment import variable_of_script as _variable

# Synthetic data ------------------------------------------------------------------------------------------------------


class SampleGenerator:
    """Gives the same data several times, in place of a data loader.

    Args:
        data: the data.
        sample_count: how often an iteration gives it.
    """

    def __init__(self, data: Any, sample_count: int) -> None:
        self._data, self._sample_count = data, sample_count
        self._count = 0

    def __iter__(self) -> SampleGenerator:
        return SampleGenerator(self._data, self._sample_count)

    def __len__(self) -> int:
        return self._sample_count

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """Returns the data.

        Raises:
            StopIteration: it was given as often as asked for.
        """
        if self._count >= self._sample_count:
            raise StopIteration
        self._count += 1
        return self._data


class FnDataGenerator:
    """Gives random inputs and a function's values of them.

    Args:
        func: the function.
        batch_size: first size of the inputs.
        gen_tensor: makes an input from its sizes, as ``torch.randn`` does.
        dims: further sizes of the inputs; by default one of 1.
        count: number of batches of an iteration.
    """

    def __init__(
        self,
        func: Callable[[Any], Any],
        batch_size: int,
        gen_tensor: Callable[..., Any],
        dims: Sequence[int] | None = None,
        count: int = 1,
    ) -> None:
        self._func, self._batch_size, self._gen_tensor = func, batch_size, gen_tensor
        self._dims, self._count = list(dims or [1]), count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for _ in range(self._count):
            data = self._gen_tensor(self._batch_size, *self._dims)
            yield data, self._func(data)


# Nested data ---------------------------------------------------------------------------------------------------------


class DataWrapper:
    """Base class of data whose tensors :func:`for_each_instance_rewrite` replaces by the methods of a subclass."""

    def get_tensors(self) -> Sequence[Any]:
        """Returns the tensors of the object.

        Raises:
            NotImplementedError: the subclass has no such method.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method get_tensors.")

    def from_tensors(self, tensors: Sequence[Any]) -> Any:
        """Returns an object like this one with other tensors, in the order of :meth:`get_tensors`.

        Raises:
            NotImplementedError: the subclass has no such method.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method from_tensors.")


def for_each_instance(value: Any, select_fn: Callable[[Any], bool], fn: Callable[[Any], Any]) -> None:
    """Calls ``fn`` with each object in nested containers and attributes that ``select_fn`` selects, once each."""

    def visit(item: Any) -> Any:
        fn(item)
        return item

    for_each_instance_rewrite(value, select_fn, visit)


def for_each_instance_rewrite(value: Any, select_fn: Callable[[Any], bool], fn: Callable[[Any], Any]) -> Any:
    """Replaces each object in nested containers and attributes that ``select_fn`` selects by what ``fn`` returns.

    Returns:
        A copy of the data with the replaced objects. Objects that occur twice do so in the copy.
    """
    return _rewrite(value, select_fn, fn, {})


def _rewrite(value: Any, select_fn: Callable[[Any], bool], fn: Callable[[Any], Any], done: dict[int, Any]) -> Any:
    if id(value) in done:
        return done[id(value)]

    def inner(item: Any) -> Any:
        return _rewrite(item, select_fn, fn, done)

    result: Any = value
    if select_fn(value):
        result = fn(value)
    elif isinstance(value, dict):
        result = done[id(value)] = {}
        result.update((inner(key), inner(item)) for key, item in value.items())
    elif isinstance(value, set):
        result = {inner(item) for item in value}
    elif isinstance(value, list):
        result = done[id(value)] = []
        result.extend(map(inner, value))
    elif isinstance(value, tuple):
        items = list(map(inner, value))
        result = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    elif isinstance(value, DataWrapper):
        result = value.from_tensors([inner(item) for item in value.get_tensors()])
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        result = done[id(value)] = copy.copy(value)
        for name, item in vars(value).items():
            vars(result)[name] = inner(item)
    done[id(value)] = result
    return result


def as_list(t: Any) -> Any:
    """Returns lists and tuples as they are, and a list of anything else."""
    return t if isinstance(t, tuple | list) else [t]


def list_copy_append(ilist: Iterable[Any], item: Any) -> list[Any]:
    """Returns a new list with one more item."""
    return [*ilist, item]


def flatten_nested_tuple(inputs: Any) -> tuple[Any, ...]:
    """Returns the leaves of nested lists and tuples."""
    if not isinstance(inputs, list | tuple):
        return (inputs,)
    return tuple(leaf for item in inputs for leaf in flatten_nested_tuple(item))


def shape(inputs: Any) -> list[int]:
    """Returns the sizes of nested lists and tuples.

    Raises:
        ValueError: lists at the same depth differ in size.
    """
    if not isinstance(inputs, list | tuple):
        return []
    inner = [shape(item) for item in inputs]
    if any(sizes != inner[0] for sizes in inner):
        raise ValueError(f"The lists have no common shape: their items have the shapes {inner}.")
    return [len(inputs), *(inner[0] if inner else [])]


# The environment -----------------------------------------------------------------------------------------------------


def getenv_as(name: str, type: Callable[[str], Any], defval: Any = None) -> Any:
    """Returns an environment variable in a type.

    Args:
        name: name of the variable.
        type: the type; ``bool`` reads a number.
        defval: what to return for a variable that is not set.

    Raises:
        ValueError: the type cannot read the text.
    """
    text = _variable(name)
    if text is None:
        return defval
    return bool(int(text)) if type is bool else type(text)


def check_env_flag(name: str, default: str = "") -> bool:
    """Returns whether an environment variable, or ``default`` where it is not set, is a positive number or ``true``."""
    text = _variable(name)
    return _is_flag(default if text is None else text)


class TmpFolder:
    """A new folder, which is removed together with the object.

    Attributes:
        name: its path.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.name = self._folder.name


def get_free_tcp_ports(n: int = 1) -> list[int]:
    """Returns ports that are free at present."""
    with contextlib.ExitStack() as sockets:
        opened = [sockets.enter_context(socket.create_server(("", 0))) for _ in range(n)]
        return [each.getsockname()[1] for each in opened]


# Work and timings ----------------------------------------------------------------------------------------------------


def parallel_work(num_workers: int, fn: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """Returns the results of a function, computed in threads. ``args`` are those of ``map``."""
    with ThreadPoolExecutor(max_workers=num_workers) as threads:
        return list(threads.map(fn, *args))


def null_print(*args: Any, **kwargs: Any) -> None:
    """Prints nothing."""


def eprint(*args: Any, **kwargs: Any) -> None:
    """Prints to standard error."""
    print(*args, file=sys.stderr, **kwargs)


def get_print_fn(debug: int | None = None) -> Callable[..., None]:
    """Returns :func:`eprint` if ``debug``, or by default the variable ``DEBUG``, is not 0, else :func:`null_print`."""
    return eprint if (getenv_as("DEBUG", int, 0) if debug is None else debug) else null_print


class TimedScope:
    """Context manager that prints how long a block takes.

    Args:
        msg: text before the milliseconds.
        printfn: prints it; None for :func:`get_print_fn`.
    """

    def __init__(self, msg: str = "", printfn: Callable[..., None] | None = eprint) -> None:
        self._msg, self._print = msg, printfn or get_print_fn()
        self._error: Any = None

    def __enter__(self) -> TimedScope:
        self._start = time.time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._error is None:
            self._print(f"{self._msg}{1000 * (time.time() - self._start):.3f}ms")

    def set_error(self, error: Any) -> None:
        """Makes the end of the block print nothing."""
        self._error = error


def timed(fn: Callable[[], Any], msg: str = "", printfn: Callable[..., None] | None = eprint) -> Any:
    """Returns what a function returns, and prints how long it took."""
    with TimedScope(msg, printfn):
        return fn()
