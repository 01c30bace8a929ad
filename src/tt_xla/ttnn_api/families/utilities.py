"""Functions about operations and queues, and the sizes of convolutions."""

from __future__ import annotations

import contextlib
import csv
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

from tt_xla.ttnn_api import printing
from tt_xla.ttnn_api.operation import GOLDENS, OPERATIONS, Functions, Operation, operation
from tt_xla.ttnn_api.tensor import Tensor


class _Queues(threading.local):
    """The command queues of the contexts that a thread is in."""

    def __init__(self) -> None:
        self.numbers: list[int] = []


_queues = _Queues()


@operation("ttnn.get_conv_output_dim", composite=True)
def get_conv_output_dim(input: int, window: int, stride: int, pad: int, dilation: int) -> int:
    """Returns the size of a convolution's result along a dimension."""
    return (input + 2 * pad - dilation * (window - 1) - 1) // stride + 1


@operation("ttnn.command_queue", composite=True)
def command_queue(cq_id: int) -> contextlib.AbstractContextManager[None]:
    """Names the command queue of the calls in a context. The emulated card executes each call at once."""

    @contextlib.contextmanager
    def queue() -> Generator[None]:
        _queues.numbers.append(cq_id)
        try:
            yield
        finally:
            _queues.numbers.pop()

    return queue()


@operation("ttnn.get_current_command_queue_id_for_thread", composite=True)
def get_current_command_queue_id_for_thread() -> int | None:
    """Returns the command queue of the innermost context that the thread is in; None outside of all."""
    return _queues.numbers[-1] if _queues.numbers else None


@operation("ttnn.query_registered_operations", composite=True)
def query_registered_operations(include_experimental: bool) -> list[Operation]:
    """Returns the operations by name, those of ``ttnn.experimental`` last."""
    experimental = [name for name in sorted(OPERATIONS) if name.startswith("ttnn.experimental.")]
    plain = [name for name in sorted(OPERATIONS) if name not in experimental]
    return [OPERATIONS[name] for name in (*plain, *(experimental if include_experimental else ()))]


@operation("ttnn.dump_operations", composite=True)
def dump_operations(csv_file: str | Path, include_experimental: bool) -> None:
    """Writes the names of the operations into a file, with whether each has a golden function of a user's own."""
    columns = ("python_fully_qualified_name", "is_cpp_operation", "has_golden_function", "is_experimental")
    with open(csv_file, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        for each in query_registered_operations(include_experimental):
            name = each.__name__
            rows.writerow((name, not each.composite, name in GOLDENS, name.startswith("ttnn.experimental.")))


@operation("ttnn.set_printoptions", composite=True)
def set_printoptions(profile: str, sci_mode: Any, precision: Any) -> None:
    """Sets how tensors print: see :data:`tt_xla.ttnn_api.printing.OPTIONS`.

    Raises:
        RuntimeError: TT-NN has no such profile.
    """
    name = profile.lower()
    if name not in printing.PROFILES:
        raise RuntimeError(
            f"bad optional access: the profile is one of {', '.join(printing.PROFILES)}, not {profile!r}"
        )
    printing.OPTIONS["profile"] = name
    if sci_mode is not ...:
        printing.OPTIONS["sci_mode"] = "default" if sci_mode is None else sci_mode
    if precision not in (None, ...):
        printing.OPTIONS["precision"] = precision


@operation("ttnn.composite_example", composite=True)
def composite_example(input_tensor: Tensor) -> Tensor:
    """Returns a copy of a copy, as an example of an operation that is made of others."""
    f = Functions()
    return f.clone(f.clone(input_tensor))


@operation("ttnn.composite_example_multiple_return", composite=True)
def composite_example_multiple_return(
    input_tensor: Tensor, return_output1: bool, return_output2: bool
) -> list[Tensor | None]:
    """Returns two copies, each if it is asked for."""
    f = Functions()
    return [f.clone(input_tensor) if wanted else None for wanted in (return_output1, return_output2)]
