"""Counters and timings of the device, under the names that ``torch_xla.debug.metrics`` reports."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from types import TracebackType

from tt_xla.frontends.torch import host_ops, session

COMPILE_TIME = "CompileTime"
EXECUTE_TIME = "ExecuteTime"
EAGER_COMPILE_TIME = "EagerOpCompileTime"
EAGER_EXECUTE_TIME = "EagerOpExecuteTime"
TO_DEVICE_TIME = "TransferToDeviceTime"
FROM_DEVICE_TIME = "TransferFromDeviceTime"
TENSOR_DATA_TIME = "TensorToData"
TO_DEVICE_BYTES = "OutboundData"
FROM_DEVICE_BYTES = "InboundData"
ALIASES = "InputOutputAliasCount"
DONATIONS = "XlaSetBufferDonation"
COMPILED = "UncachedCompile"
COMPILE_CALLS = "CreateCompileHandles"
STABLEHLO = "StableHloCompile"
REUSED = "CachedCompile"
STEPS = "MarkStep"
TENSORS = "CreateXlaTensor"
ENDED_TENSORS = "DestroyXlaTensor"
HANDLES = "CreateDataHandles"
REGISTRATIONS = "RegisterXLAFunctions"
SPMD_TENSORS = "VirtualDeviceUsage"
SPMD_READS = "ReplicateShardedData"
SEVERAL_CHIPS = "ExecuteReplicated"
SEVERAL_CHIPS_TIME = "ExecuteReplicatedTime"
DYNAMO_GRAPHS = "DynamoExtractCompiledGraph"
DYNAMO_PENDING_INPUTS = "DynamoSyncInputExecuteTime"
DYNAMO_INPUTS_TIME = "RunCachedGraphInputData"
DYNAMO_OUTPUTS_TIME = "RunCachedGraphOutputData"

NAMES: dict[str, str] = {
    COMPILE_TIME: "compilations of recorded ops",
    EXECUTE_TIME: "runs of recorded ops",
    EAGER_COMPILE_TIME: "compilations of single ops in eager mode",
    EAGER_EXECUTE_TIME: "runs of single ops in eager mode",
    TO_DEVICE_TIME: "copies of tensors from the CPU to the device",
    FROM_DEVICE_TIME: "copies of tensors from the device to the CPU",
    TENSOR_DATA_TIME: "copies of tensors from the CPU to the device",
    TO_DEVICE_BYTES: "bytes of copies to the device",
    FROM_DEVICE_BYTES: "bytes of copies from the device",
    ALIASES: "graphs that are new or took other donations than before, and how many inputs they overwrite or release",
    DONATIONS: "donations of tensors, also in graphs when dynamo compiles them",
    COMPILED: "programs that were compiled",
    COMPILE_CALLS: "calls of the compiler for recorded ops",
    STABLEHLO: "programs of recorded ops that were compiled from StableHLO, which all are",
    REUSED: "runs of programs that had been compiled before",
    STEPS: "calls of torch_xla.sync",
    TENSORS: "tensors of the device that were made, and those that were overwritten",
    ENDED_TENSORS: "tensors of the device that were freed, and those that were overwritten",
    HANDLES: "tensors copied to the device, and results of programs of recorded ops",
    REGISTRATIONS: "registrations of the device type xla",
    SPMD_TENSORS: "tensors that were given a sharding",
    SPMD_READS: "copies to the CPU, in SPMD mode, of tensors that chips have parts or copies of",
    SEVERAL_CHIPS: "runs of recorded ops for several chips, and in SPMD mode",
    SEVERAL_CHIPS_TIME: "the same runs, and how long they took",
    DYNAMO_GRAPHS: "graphs that dynamo's backend openxla compiled",
    DYNAMO_PENDING_INPUTS: "runs of these graphs before which recorded ops ran, whose results they take",
    DYNAMO_INPUTS_TIME: "runs of these graphs, and how long until their inputs were there",
    DYNAMO_OUTPUTS_TIME: "runs of these graphs, and how long it took to return their outputs",
}
"""Meanings of the metrics and counters by name.

Beside them there are ``aten::op`` for ops that ran on the host because they have no lowering to the device, and
``xla::op`` for ops that were recorded, and for those of graphs that dynamo's backend openxla compiled.
"""


def count(name: str, times: int = 1) -> None:
    """Adds ``times`` to a counter."""
    session.current.counters[name] += times


def all_counters() -> dict[str, int]:
    """Returns all counters, including those of ops that ran on the host, which are named without their overload."""
    merged = Counter(session.current.counters)
    for name, times in host_ops.counts().items():
        namespace, op, *_ = name.split(".")
        merged[f"{namespace}::{op}"] += times
    return dict(merged)


def sample(name: str, amount: float) -> None:
    """Adds an occurrence to a metric: nanoseconds, or a number of things."""
    own = session.current
    totals = own.totals
    occurrences, total = totals[name]
    totals[name] = (occurrences + 1, total + amount)
    own.samples[name].append((time.time(), amount))


class timed:
    """Context manager that adds the duration of a block to a metric, unless the block raises."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self._start = time.perf_counter_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            sample(self.name, float(time.perf_counter_ns() - self._start))


@contextlib.contextmanager
def transferring(nbytes: int, *, to_device: bool) -> Iterator[None]:
    """Context manager that counts a copy between the CPU and the device, unless the block raises."""
    began = time.perf_counter_ns()
    yield
    taken = float(time.perf_counter_ns() - began)
    for name in (TO_DEVICE_TIME, TENSOR_DATA_TIME) if to_device else (FROM_DEVICE_TIME,):
        sample(name, taken)
    sample(TO_DEVICE_BYTES if to_device else FROM_DEVICE_BYTES, float(nbytes))
    if to_device:
        count(HANDLES)


def data(name: str) -> tuple[int, float, tuple[tuple[float, float], ...]] | None:
    """Returns the number of occurrences of a metric, their total nanoseconds, and the last of them with time stamps.

    The result is None when the metric never occurred.
    """
    own = session.current
    return (*own.totals[name], tuple(own.samples[name])) if name in own.totals else None


def clear_counters() -> None:
    """Resets all counters."""
    session.current.counters.clear()
    host_ops.reset()


def clear_metrics() -> None:
    """Resets all metrics."""
    session.current.samples.clear()
    session.current.totals.clear()


def clear() -> None:
    """Resets all counters and metrics."""
    clear_counters()
    clear_metrics()


def report(counter_names: Collection[str] | None = None, metric_names: Collection[str] | None = None) -> str:
    """Returns metrics and counters as text, in torch_xla's form.

    Args:
        counter_names: counters to report; None reports all.
        metric_names: metrics to report; None reports all.
    """
    own = session.current
    lines: list[str] = []
    for name, (occurrences, total) in sorted(own.totals.items()):
        if metric_names is not None and name not in metric_names:
            continue
        amounts = sorted(amount for _, amount in own.samples[name])
        shown = _SHOWN.get(name, _duration)
        percentiles = [
            f"{percent}%={shown(amounts[min(len(amounts) - 1, len(amounts) * percent // 100)])}"
            for percent in (1, 5, 10, 20, 50, 80, 90, 95, 99)
        ]
        lines += [
            f"Metric: {name}",
            f"  TotalSamples: {occurrences}",
            f"  Accumulator: {shown(total)}",
            f"  Percentiles: {'; '.join(percentiles)}",
        ]
    for name, times in sorted(all_counters().items()):
        if counter_names is None or name in counter_names:
            lines += [f"Counter: {name}", f"  Value: {times}"]
    return "".join(f"{line}\n" for line in lines)


def _duration(nanoseconds: float) -> str:
    """Returns a duration as text with a unit: us, ms or s."""
    if nanoseconds < 1e6:
        return f"{nanoseconds / 1e3:.1f}us"
    return f"{nanoseconds / 1e6:.3f}ms" if nanoseconds < 1e9 else f"{nanoseconds / 1e9:.3f}s"


_SHOWN: dict[str, Callable[[float], str]] = {
    TO_DEVICE_BYTES: "{:.0f}B".format,
    FROM_DEVICE_BYTES: "{:.0f}B".format,
    ALIASES: "{:.0f}".format,
}
"""How the amounts of metrics that are no durations are written."""
