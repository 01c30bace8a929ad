"""Writes ``ops_perf_results_*.csv`` and ``profile_log_device.csv`` as tt-metal's profiler does (header "v2.1").

Cells without a recorded or predicted value stay empty. ``tests/profiling/test_profile.py`` reads the files with
``tt-perf-report``.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tt_xla.ir.layout import BufferType
from tt_xla.ir.op_table import HOST
from tt_xla.ir.program import TensorSpec
from tt_xla.profiling.communication import is_exchange, link_attributes
from tt_xla.profiling.device_time import (
    MATMULS,
    Kernel,
    cost_model_bound,
    dram_bytes,
    dram_utilisation,
    fidelity,
    four_sizes,
    padded_sizes,
    roofline_of,
    utilisation,
)
from tt_xla.profiling.op_codes import attributes_of, cell, mnemonic
from tt_xla.profiling.recording import Op, Signpost

FIRMWARE_NS = 800
"""Nanoseconds of firmware before and after a kernel; profilers of cards show 700 to 900."""

_CALL_COUNT_STEP = 1024
"""Increment of ``GLOBAL CALL COUNT`` from op to op, as in tt-metal's files."""

_COLUMNS_BEFORE_TENSORS = (
    "OP CODE",
    "OP TYPE",
    "GLOBAL CALL COUNT",
    "DEVICE ID",
    "DEVICE ARCH",
    "ATTRIBUTES",
    "MATH FIDELITY",
    "CORE COUNT",
    "AVAILABLE WORKER CORE COUNT",
    "PARALLELIZATION STRATEGY",
    "HOST START TS",
    "HOST END TS",
    "HOST DURATION [ns]",
    "DEVICE FW START CYCLE",
    "DEVICE FW END CYCLE",
    "OP TO OP LATENCY [ns]",
    "OP TO OP LATENCY BR/NRISC START [ns]",
    "DEVICE FW DURATION [ns]",
    "DEVICE KERNEL DURATION [ns]",
    "DEVICE KERNEL DURATION DM START [ns]",
    "DEVICE KERNEL DURATION PER CORE MIN [ns]",
    "DEVICE KERNEL DURATION PER CORE MAX [ns]",
    "DEVICE KERNEL DURATION PER CORE AVG [ns]",
    "DEVICE KERNEL FIRST TO LAST START [ns]",
    "DEVICE BRISC KERNEL DURATION [ns]",
    "DEVICE NCRISC KERNEL DURATION [ns]",
    "DEVICE TRISC0 KERNEL DURATION [ns]",
    "DEVICE TRISC1 KERNEL DURATION [ns]",
    "DEVICE TRISC2 KERNEL DURATION [ns]",
    "DEVICE ERISC KERNEL DURATION [ns]",
    "DEVICE COMPUTE CB WAIT FRONT [ns]",
    "DEVICE COMPUTE CB RESERVE BACK [ns]",
    "DISPATCH TOTAL CQ CMD OP TIME [ns]",
    "DISPATCH GO SEND WAIT TIME [ns]",
)

_COLUMNS_AFTER_TENSORS = (
    "METAL TRACE ID",
    "METAL TRACE REPLAY SESSION ID",
    "COMPUTE KERNEL SOURCE",
    "COMPUTE KERNEL HASH",
    "DATA MOVEMENT KERNEL SOURCE",
    "DATA MOVEMENT KERNEL HASH",
    "PROGRAM HASH",
    "PROGRAM CACHE HIT",
    "TENSIX DM 0 MAX KERNEL SIZE [B]",
    "TENSIX DM 1 MAX KERNEL SIZE [B]",
    "TENSIX COMPUTE 0 MAX KERNEL SIZE [B]",
    "TENSIX COMPUTE 1 MAX KERNEL SIZE [B]",
    "TENSIX COMPUTE 2 MAX KERNEL SIZE [B]",
    "ACTIVE ETH DM 0 MAX KERNEL SIZE [B]",
    "ACTIVE ETH DM 1 MAX KERNEL SIZE [B]",
    "IDLE ETH DM 0 MAX KERNEL SIZE [B]",
    "IDLE ETH DM 1 MAX KERNEL SIZE [B]",
    "PM IDEAL [ns]",
    "PM COMPUTE [ns]",
    "PM BANDWIDTH [ns]",
    "PM REQ I BW",
    "PM REQ O BW",
    "PM FPU UTIL (%)",
    "NOC UTIL (%)",
    "DRAM BW UTIL (%)",
    "NPE CONG IMPACT (%)",
)

_DEVICE_LOG_COLUMNS = (
    "PCIe slot",
    "core_x",
    "core_y",
    "RISC processor type",
    "timer_id",
    "time[cycles since reset]",
    "data",
    "run host ID",
    "trace id",
    "trace id counter",
    "zone name",
    "type",
    "source line",
    "source file",
    "meta data",
)

_DIMENSIONS = ("W", "Z", "Y", "X")

DEVICE_LOG_NAME = "profile_log_device.csv"


def columns(inputs: int, outputs: int) -> list[str]:
    """Returns the header of a file whose ops have at most so many inputs and outputs."""
    tensors = [f"INPUT_{n}" for n in range(inputs)] + [f"OUTPUT_{n}" for n in range(outputs)]
    ends = [*(f"{side}_PAD[LOGICAL]" for side in _DIMENSIONS), "LAYOUT", "DATATYPE", "MEMORY"]
    cells = [f"{tensor}_{end}" for tensor in tensors for end in ends]
    return [*_COLUMNS_BEFORE_TENSORS, *cells, *_COLUMNS_AFTER_TENSORS]


def write_ops(path: Path, signposts: Sequence[Signpost], kernel_calls: Mapping[int, Sequence[Kernel]]) -> int:
    """Writes one row for each kernel that a device runs, each host fallback and each signpost, in order of time.

    Args:
        path: The file.
        signposts: The signposts of the script.
        kernel_calls: The kernel calls of each device, by its number.

    Returns:
        The number of rows of kernels and host fallbacks.
    """
    devices = {device: [call for call in calls if _has_row(call)] for device, calls in kernel_calls.items()}
    ops = [call.op for calls in devices.values() for call in calls]
    header = columns(
        max([2, *(len(_tensors(op.inputs)) for op in ops)]), max([1, *(len(_tensors(op.outputs)) for op in ops)])
    )
    rows = [row for device, calls in devices.items() for row in _rows(calls, device)]
    count = len(rows)
    rows += _signposts(signposts)
    rows.sort(key=lambda row: row["HOST START TS"])
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, header, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return count


def _has_row(kernel: Kernel) -> bool:
    return kernel.on_device or kernel.category == HOST


def _signposts(signposts: Sequence[Signpost]) -> Iterable[dict[str, Any]]:
    for signpost in signposts:
        yield {"OP CODE": signpost.name, "OP TYPE": "signpost", "HOST START TS": signpost.at}


def _rows(kernel_calls: Sequence[Kernel], device: int) -> Iterable[dict[str, Any]]:
    """Yields the rows of a device's kernel calls. Cells that are the same in each call of an op are computed once."""
    fixed: dict[int, dict[str, Any]] = {}
    seen: set[bytes] = set()
    sessions: dict[int, list[int]] = {}
    for number, kernel in enumerate(kernel_calls, 1):
        op = kernel.op
        if op.number not in fixed:
            fixed[op.number] = _cells_of_op(kernel, device)
        row = fixed[op.number] | _cells_of_call(kernel)
        row["GLOBAL CALL COUNT"] = number * _CALL_COUNT_STEP + device
        row["PROGRAM CACHE HIT"] = op.identity in seen
        seen.add(op.identity)
        if kernel.replayed:
            runs = sessions.setdefault(op.program.number, [])
            if not runs or runs[-1] != kernel.run:
                runs.append(kernel.run)
            row["METAL TRACE ID"] = op.program.number
            row["METAL TRACE REPLAY SESSION ID"] = len(runs)
        yield row


def _cells_of_call(kernel: Kernel) -> dict[str, Any]:
    """Returns the cells of a call that hold times."""
    cells: dict[str, Any] = {
        "HOST START TS": kernel.host_start,
        "HOST END TS": kernel.host_end,
        "HOST DURATION [ns]": kernel.host_end - kernel.host_start,
    }
    if not kernel.on_device:
        return cells
    cycle_ns = 1e9 / kernel.op.program.target.clock_hz
    start, end = kernel.start_ns, kernel.start_ns + kernel.duration_ns
    cells |= {
        "DEVICE FW START CYCLE": round((start - FIRMWARE_NS / 2) / cycle_ns),
        "DEVICE FW END CYCLE": round((end + FIRMWARE_NS / 2) / cycle_ns),
        "OP TO OP LATENCY [ns]": round(kernel.gap_ns),
        "OP TO OP LATENCY BR/NRISC START [ns]": round(kernel.gap_ns),
    }
    return cells


def _cells_of_op(kernel: Kernel, device: int) -> dict[str, Any]:
    """Returns the cells that are the same in each call of an op."""
    op, cost, target = kernel.op, kernel.op.instruction.cost, kernel.op.program.target
    row: dict[str, Any] = {
        "OP CODE": kernel.code,
        "OP TYPE": "tt_dnn_device" if kernel.on_device else "python_fallback",
        "DEVICE ID": device,
        "DEVICE ARCH": target.arch,
        "ATTRIBUTES": cell(attributes_of(op) | _links(op) | _bound(kernel) | _source(op.instruction.location)),
        "MATH FIDELITY": fidelity(op),
        "AVAILABLE WORKER CORE COUNT": target.cores,
    }
    for prefix, specs in (("INPUT", _as_read(op)), ("OUTPUT", list(op.outputs))):
        for number, spec in enumerate(_tensors(specs)):
            row |= _tensor(f"{prefix}_{number}", spec, device)
    if not kernel.on_device:
        return row
    duration = round(kernel.duration_ns)
    least = roofline_of(op)
    compute, moved = round(least.compute_us * 1e3), round(max(least.dram_us, least.link_us) * 1e3)
    row |= {
        "CORE COUNT": cost.cores,
        "DEVICE FW DURATION [ns]": duration + FIRMWARE_NS,
        "DEVICE KERNEL DURATION [ns]": duration,
        "DEVICE KERNEL DURATION DM START [ns]": duration,
        "PROGRAM HASH": zlib.crc32(op.identity),
        "PM IDEAL [ns]": max(compute, moved, 1),
        "PM COMPUTE [ns]": max(compute, 1),
        "PM BANDWIDTH [ns]": max(moved, 1),
        "PM REQ I BW": _bandwidths(op.inputs, kernel.duration_ns),
        "PM REQ O BW": _bandwidths(op.outputs, kernel.duration_ns),
        "DRAM BW UTIL (%)": round(100 * dram_utilisation(op), 2),
    }
    if mnemonic(op) in MATMULS:
        row["PM FPU UTIL (%)"] = round(100 * utilisation(op), 2)
    return row


def _as_read(op: Op) -> list[TensorSpec]:
    """Returns the inputs in the shapes that the kernel reads: TT-NN transposes operands of a product before it."""
    inputs = list(op.inputs)
    for number, flag in enumerate(("transpose_a", "transpose_b")):
        if mnemonic(op) in MATMULS and op.instruction.attributes.get(flag):
            shape = inputs[number].shape
            transposed = (*shape[:-2], shape[-1], shape[-2])
            inputs[number] = TensorSpec(transposed, inputs[number].layout.with_(transposed))
    return inputs


def _links(op: Op) -> dict[str, Any]:
    return link_attributes(op) if is_exchange(op) else {}


def _bound(kernel: Kernel) -> dict[str, str]:
    return {"bound": cost_model_bound(kernel.op)} if kernel.on_device else {}


def _source(location: str) -> dict[str, str]:
    return {"source": location} if location else {}


def _tensors(specs: Sequence[TensorSpec]) -> list[TensorSpec]:
    """Returns the tensors whose types a chip holds."""
    return [spec for spec in specs if not spec.layout.dtype.is_host_only]


def _bandwidths(specs: Sequence[TensorSpec], duration_ns: float) -> str:
    """Returns the DRAM bandwidth that each tensor needs, in GB/s."""
    return "[" + "; ".join(f"{dram_bytes([spec]) / duration_ns:.4g}" for spec in specs) + "]"


def _tensor(name: str, spec: TensorSpec, device: int) -> dict[str, Any]:
    """Returns the cells of a tensor, whose columns begin with ``name``."""
    layout = spec.layout
    sizes = zip(_DIMENSIONS, padded_sizes(spec), four_sizes(spec.shape), strict=True)
    cells: dict[str, Any] = {f"{name}_{side}_PAD[LOGICAL]": f"{full}[{logical}]" for side, full, logical in sizes}
    cells[f"{name}_LAYOUT"] = "TILE" if layout.tiled else "ROW_MAJOR"
    cells[f"{name}_DATATYPE"] = layout.dtype.ttnn.upper()
    on_host = layout.memory is None
    buffer = "DRAM" if layout.buffer is BufferType.DRAM else "L1"
    cells[f"{name}_MEMORY"] = "HOST" if on_host else f"DEV_{device}_{buffer}_{str(layout.memory.value).upper()}"
    return cells


def write_device_log(path: Path, kernel_calls: Mapping[int, Sequence[Kernel]]) -> None:
    """Writes the devices' log: start and end of each kernel on its first core, in cycles of the chip's clock.

    Args:
        path: The file.
        kernel_calls: The kernel calls of each device, by its number.
    """
    calls = [(device, call) for device, own in kernel_calls.items() for call in own if call.on_device]
    target = calls[0][1].op.program.target if calls else None
    arch, megahertz = (target.arch, round(target.clock_hz / 1e6)) if target else ("", 0)
    with path.open("w", newline="") as file:
        file.write(f"ARCH: {arch}, CHIP_FREQ[MHz]: {megahertz}, Max Compute Cores: {target.cores if target else 0}\n")
        writer = csv.writer(file)
        writer.writerow(_DEVICE_LOG_COLUMNS)
        for number, (device, kernel) in enumerate(calls, 1):
            trace = kernel.op.program.number if kernel.replayed else ""
            for kind, time_ns in (("ZONE_START", kernel.start_ns), ("ZONE_END", kernel.start_ns + kernel.duration_ns)):
                cycles = round(time_ns * megahertz / 1e3)
                name = f"{kernel.code}-KERNEL"
                call = number * _CALL_COUNT_STEP
                writer.writerow([device, 1, 1, "BRISC", 0, cycles, 0, call, trace, "", name, kind, 0, "", "predicted"])
