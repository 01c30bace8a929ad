"""``torch_xla.test.test_utils``: what the examples print, and what they write for TensorBoard."""

from __future__ import annotations

import functools
import multiprocessing
import time
import unittest
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import torch_xla.debug.metrics as _metrics
import torch_xla.debug.metrics_compare_utils as _reports
import torch_xla.runtime as _runtime


def mp_test(func: Callable[..., Any]) -> Callable[..., int | None]:
    """Decorator that runs a test method in a process of its own."""

    @functools.wraps(func)
    def in_process(*args: Any, **kwargs: Any) -> int | None:
        process = multiprocessing.Process(target=func, args=args, kwargs=kwargs)
        process.start()
        process.join()
        if isinstance(args[0], unittest.TestCase) and process.exitcode:
            args[0].fail(f"The process of the test ended with code {process.exitcode}.")
        return process.exitcode

    return in_process


def get_summary_writer(logdir: str | None) -> Any:
    """Returns a writer of files for TensorBoard; None without a folder.

    Raises:
        ModuleNotFoundError: neither tensorboardX nor tensorboard is installed.
    """
    if not logdir:
        return None
    try:
        from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        from torch.utils.tensorboard import SummaryWriter
    writer = SummaryWriter(logdir)
    write_to_summary(writer, 0, {"TensorboardStartTimestamp": time.time()})
    return writer


def write_to_summary(
    summary_writer: Any,
    global_step: int | None = None,
    dict_to_write: Mapping[str, float] | None = None,
    write_xla_metrics: bool = False,
) -> None:
    """Writes numbers, and metrics of ``torch_xla.debug.metrics`` if asked for. A writer of None writes nothing."""
    if summary_writer is None:
        return
    numbers = dict(dict_to_write or {})
    if write_xla_metrics:
        numbers |= _reports.parse_metrics_report(_metrics.metrics_report())
        numbers["aten_ops_sum"] = sum(value for name, value in numbers.items() if name.startswith("aten::"))
    for name, value in numbers.items():
        summary_writer.add_scalar(name, value, global_step)


def close_summary_writer(summary_writer: Any) -> None:
    """Closes a writer; None is none."""
    if summary_writer is not None:
        summary_writer.flush()
        summary_writer.close()


def now(format: str = "%H:%M:%S") -> str:
    """Returns the time of day."""
    return datetime.now().strftime(format)


def print_training_update(
    device: Any,
    step: int,
    loss: float,
    rate: float,
    global_rate: float,
    epoch: int | None = None,
    summary_writer: Any = None,
) -> None:
    """Prints a line about a training step.

    Args:
        device: the device.
        step: number of the step.
        loss: its loss.
        rate: samples per second at present.
        global_rate: samples per second since the start.
        epoch: number of the epoch.
        summary_writer: writer that gets the rates, or None.
    """
    _print_line(
        "Training",
        device,
        ("Epoch", epoch),
        ("Step", step),
        ("Loss", f"{loss:.5f}"),
        ("Rate", f"{rate:.2f}"),
        ("GlobalRate", f"{global_rate:.2f}"),
    )
    write_to_summary(summary_writer, None, {"examples/sec": rate, "average_examples/sec": global_rate})


def print_test_update(device: Any, accuracy: float | None, epoch: int | None = None, step: int | None = None) -> None:
    """Prints a line about a test.

    Args:
        device: the device.
        accuracy: the accuracy in percent.
        epoch: number of the epoch.
        step: number of the step.
    """
    shown = None if accuracy is None else f"{accuracy:.2f}"
    _print_line("Test", device, ("Step", step), ("Epoch", epoch), ("Accuracy", shown))


def _print_line(kind: str, device: Any, *facts: tuple[str, Any]) -> None:
    given = [f"{name}={value}" for name, value in facts if value is not None]
    print("|", kind, f"Device={device}/{_runtime.global_ordinal()}", *given, f"Time={now()}", flush=True)
