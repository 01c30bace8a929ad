"""Reads ``ops_perf_results_*.csv`` again: ours, and those of a real card's profiler."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tt_xla.errors import EmptyRecordingError, OptionError
from tt_xla.profiling.op_codes import category_of
from tt_xla.profiling.profile import TRACE_NAME

REQUIRED = ("OP CODE", "OP TYPE", "DEVICE KERNEL DURATION [ns]")
"""Columns without which a file says nothing about time; all others may be missing."""

_SOURCE = re.compile(r"'source': '([^']*)'")
_BYTES = {"BFLOAT16": 2.0, "FLOAT32": 4.0, "BFLOAT8_B": 1.0625, "BFLOAT4_B": 0.5625, "UINT16": 2.0, "UINT8": 1.0}
_FIDELITY = {"LoFi": "lofi", "HiFi2": "hifi2", "HiFi3": "hifi3", "HiFi4": "hifi4"}


@dataclass(frozen=True)
class Row:
    """One op of the table. Times are microseconds; ``start_us`` is on the device's clock."""

    number: int
    code: str
    category: str
    start_us: float
    device_us: float
    gap_us: float
    cores: int
    fidelity: str
    shapes: str
    flops: float
    """Of matrix products on padded tiles; of other ops the number of elements of their result."""
    dram_bytes: float
    utilisation: float | None
    """Part of the peak FLOPs of the cores in use; None but for matrix products."""
    source: str

    @property
    def is_product(self) -> bool:
        return self.utilisation is not None


@dataclass(frozen=True)
class Table:
    path: Path
    arch: str
    rows: list[Row]
    signposts: list[str]
    timeline: Mapping[str, Any] = field(default_factory=dict)
    """The Chrome trace beside the file, if there is one."""


def newest_report(path: Path) -> Path:
    """The CSV that a path means: itself, the one in a folder, or that of the newest report below it.

    Raises:
        OptionError: there is none.
    """
    if path.is_file():
        return path
    found = sorted(path.rglob("ops_perf_results*.csv"), key=lambda each: (each.stat().st_mtime, str(each)))
    if not found:
        raise OptionError(
            f"There is no ops_perf_results_*.csv in '{path}'.",
            hint="Give a folder that `tt-xla profile` or `python -m tracy -r` wrote, or a CSV file.",
        )
    return found[-1]


def read_table(path: Path, start: str = "", end: str = "") -> Table:
    """The ops of a file between two signposts.

    Args:
        start: the rows after the last signpost of this name; all rows when empty.
        end: the rows before the first signpost of this name after that.

    Raises:
        OptionError: columns are missing, or a signpost is not in the file.
        EmptyRecordingError: there is no op in the window.
    """
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.DictReader(file)
        missing = [name for name in REQUIRED if name not in (reader.fieldnames or ())]
        if missing:
            raise OptionError(
                f"'{path}' lacks the columns {', '.join(missing)}.",
                hint="Give a file of tt-metal's profiler, of `tt-xla profile` or of `python -m tracy -r`.",
            )
        cells = list(reader)
    if cells and "HOST START TS" in cells[0]:
        cells.sort(key=lambda row: _number(row, "HOST START TS"))
    signposts = [row["OP CODE"] for row in cells if row["OP TYPE"] == "signpost"]
    chosen = _window(cells, start, end, signposts, path)
    rows: list[Row] = []
    for row in chosen:
        if row["OP TYPE"] != "signpost":
            rows.append(_row(row, rows[-1] if rows else None))
    if not rows:
        where = f" between signposts {start!r} and {end!r}" if start or end else ""
        raise EmptyRecordingError(f"'{path}' has no op{where}: nothing ran on the device then.")
    arch = next((row["DEVICE ARCH"] for row in cells if row.get("DEVICE ARCH")), "wormhole_b0")
    return Table(path, arch, rows, signposts, _timeline(path))


def _window(
    cells: Sequence[dict[str, str]], start: str, end: str, signposts: Sequence[str], path: Path
) -> Sequence[dict[str, str]]:
    for name in filter(None, (start, end)):
        if name not in signposts:
            known = ", ".join(dict.fromkeys(signposts)) or "none"
            raise OptionError(f"Signpost '{name}' never came in '{path}'.", hint=f"Its signposts are: {known}.")
    first, last = 0, len(cells)
    if start:
        first = max(at for at, row in enumerate(cells) if _is(row, start)) + 1
    if end:
        after = [at for at, row in enumerate(cells) if _is(row, end) and at >= first]
        if not after:
            raise OptionError(f"Signpost '{end}' never came after '{start}'.", hint="Swap them?")
        last = after[0]
    return cells[first:last]


def _is(row: Mapping[str, str], signpost: str) -> bool:
    return row["OP TYPE"] == "signpost" and row["OP CODE"] == signpost


def _number(row: Mapping[str, str], column: str) -> float:
    try:
        return float(row.get(column) or 0)
    except ValueError:
        return 0.0


def _row(row: Mapping[str, str], before: Row | None) -> Row:
    code = row["OP CODE"]
    device_us = _number(row, "DEVICE KERNEL DURATION [ns]") / 1e3
    gap_us = _number(row, "OP TO OP LATENCY [ns]") / 1e3 if before else 0.0
    output = _sizes(row, "OUTPUT_0")
    inputs = [sizes for name in ("INPUT_0", "INPUT_1") if (sizes := _sizes(row, name))]
    elements = float(output[0] * output[1] * output[2] * output[3]) if output else 0.0
    product = "Matmul" in code and bool(inputs)
    flops = 2 * elements * inputs[0][3] if product else elements
    cores = int(_number(row, "CORE COUNT"))
    fidelity = row.get("MATH FIDELITY") or ""
    return Row(
        number=int(_number(row, "GLOBAL CALL COUNT")),
        code=code.removesuffix("DeviceOperation"),
        category=category_of(code),
        start_us=(before.start_us + before.device_us if before else 0.0) + gap_us,
        device_us=device_us,
        gap_us=gap_us,
        cores=cores,
        fidelity=fidelity,
        shapes=", ".join("x".join(map(str, sizes)) for sizes in inputs),
        flops=flops,
        dram_bytes=sum(_dram(row, name) for name in ("INPUT_0", "INPUT_1", "INPUT_2", "OUTPUT_0")),
        utilisation=_utilisation(row, flops, device_us, cores, fidelity) if product else None,
        source=found[1] if (found := _SOURCE.search(row.get("ATTRIBUTES") or "")) else "",
    )


def _sizes(row: Mapping[str, str], name: str) -> list[int]:
    """W, Z, Y and X with padding; empty where there is no such tensor."""
    found: list[int] = []
    for side in "WZYX":
        text = row.get(f"{name}_{side}_PAD[LOGICAL]") or row.get(f"{name}_{side}") or ""
        match = re.match(r"\d+", text)
        if match is None:
            return []
        found.append(int(match[0]))
    return found


def _dram(row: Mapping[str, str], name: str) -> float:
    sizes = _sizes(row, name)
    if not sizes or "_DRAM_" not in (row.get(f"{name}_MEMORY") or ""):
        return 0.0
    return sizes[0] * sizes[1] * sizes[2] * sizes[3] * _BYTES.get(row.get(f"{name}_DATATYPE") or "", 4.0)


def _utilisation(row: Mapping[str, str], flops: float, device_us: float, cores: int, fidelity: str) -> float:
    from tt_xla.target import load_target

    target = load_target(system_of(row.get("DEVICE ARCH") or ""))
    rate = 2 * target.macs_per_cycle[_FIDELITY.get(fidelity, "hifi4")] * target.clock_hz * cores
    return flops / (device_us * 1e-6) / rate if device_us and rate else 0.0


def system_of(arch: str) -> str:
    """A system with chips of an architecture."""
    return "p150" if arch.startswith("blackhole") else "n150"


def _timeline(path: Path) -> Mapping[str, Any]:
    beside = path.parent / TRACE_NAME
    try:
        return json.loads(beside.read_text()) if beside.is_file() else {}
    except ValueError:
        return {}
