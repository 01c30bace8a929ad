"""Reads ``ops_perf_results_*.csv`` files, ours and those of a card's profiler."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tt_xla.errors import EmptyRecordingError, OptionError
from tt_xla.ir.element_types import TILE, DataType
from tt_xla.ir.op_table import FIDELITY_LABELS, category_of
from tt_xla.profiling.profile import TRACE_NAME

REQUIRED = ("OP CODE", "OP TYPE", "DEVICE KERNEL DURATION [ns]")
"""Columns that a file must have; all others may be missing."""

_ATTRIBUTE = re.compile(r"'([^']*)': '([^']*)'")
_BYTES = {dtype.ttnn.upper(): dtype.tile_bytes / TILE**2 for dtype in DataType if not dtype.is_host_only}
"""Bytes of an element, shared exponents included, by the type's name in the files."""

FIDELITIES = {label: name for name, label in FIDELITY_LABELS.items()}
"""Names of fidelities in targets, by their names in the files."""


@dataclass(frozen=True)
class Row:
    """One op of the table. ``start_us`` is a time of the device's clock."""

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
    """Operations of a matrix product on padded tiles; for other ops, the number of elements of the result."""
    dram_bytes: float
    """Bytes of the op's tensors that are in DRAM."""
    utilisation: float | None
    """Fraction of the peak FLOPs of the cores in use; None for ops other than matrix products."""
    source: str
    """The user's line, ``file:line``; empty if unknown."""
    links: str = ""
    """Chips, topology and channels of an exchange between chips, in words; empty for other ops."""
    bound: str = ""
    """The largest part of the predicted time, such as ``DRAM`` or ``dispatch``; empty in files of a card."""
    compute_us: float = 0.0
    """Least time of the op's arithmetic (``PM COMPUTE``); 0 if the file does not tell."""
    bytes_us: float = 0.0
    """Least time of the op's bytes in DRAM or on links (``PM BANDWIDTH``); 0 if the file does not tell."""
    host_start: float = 0.0
    """Nanoseconds of the host's clock when the host started the op."""

    @property
    def roofline_us(self) -> float:
        """The least time in which the chip could run the op; 0 if the file does not tell."""
        return max(self.compute_us, self.bytes_us)


@dataclass(frozen=True)
class Table:
    """The ops of a file, or of a window of it, in order of time."""

    path: Path
    arch: str
    rows: list[Row]
    signposts: list[str]
    timeline: Mapping[str, Any] = field(default_factory=dict)
    """The Chrome trace in the file's folder; empty if there is none."""


def newest_report(path: Path) -> Path:
    """Returns the CSV file at a path, or the newest one in a folder and its subfolders.

    Raises:
        OptionError: The folder has no such file.
    """
    if path.is_file():
        return path
    files = sorted(path.rglob("ops_perf_results*.csv"), key=lambda file: (file.stat().st_mtime, str(file)))
    if not files:
        raise OptionError(
            f"There is no ops_perf_results_*.csv in '{path}'.",
            hint="Give a folder that `tt-xla profile` or `python -m tracy -r` wrote, or a CSV file.",
        )
    return files[-1]


def read_table(path: Path, start: str = "", end: str = "") -> Table:
    """Reads the ops of a file between two signposts; of several devices, those of the one with the least number.

    Args:
        path: The CSV file.
        start: Name of a signpost; the ops after the last signpost of this name are read. Empty for the file's start.
        end: Name of a signpost; the ops before the next signpost of this name are read. Empty for the file's end.

    Raises:
        OptionError: Columns are missing, or a signpost is not in the file.
        EmptyRecordingError: There is no op between the signposts.
    """
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.DictReader(file)
        missing = [name for name in REQUIRED if name not in (reader.fieldnames or ())]
        if missing:
            raise OptionError(
                f"'{path}' lacks the columns {', '.join(missing)}.",
                hint="Give a file that tt-metal's profiler, `tt-xla profile` or `python -m tracy -r` wrote.",
            )
        cells = _of_one_device(list(reader))
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
        raise EmptyRecordingError(f"'{path}' has no op{where}, because nothing ran on the device then.")
    arch = next((row["DEVICE ARCH"] for row in cells if row.get("DEVICE ARCH")), "wormhole_b0")
    return Table(path, arch, rows, signposts, _timeline(path))


def _of_one_device(cells: list[dict[str, str]]) -> list[dict[str, str]]:
    """Returns the signposts and the rows of the device with the least number; files may lack the numbers."""
    devices = {int(number) for row in cells if (number := row.get("DEVICE ID") or "").isdigit()}
    others = {str(number) for number in devices - {min(devices, default=0)}}
    return [row for row in cells if row.get("DEVICE ID") not in others]


def _window(
    cells: Sequence[dict[str, str]], start: str, end: str, signposts: Sequence[str], path: Path
) -> Sequence[dict[str, str]]:
    for name in filter(None, (start, end)):
        if name not in signposts:
            known = ", ".join(dict.fromkeys(signposts)) or "none"
            raise OptionError(f"'{path}' has no signpost '{name}'.", hint=f"Its signposts are: {known}.")
    first, last = 0, len(cells)
    if start:
        first = max(index for index, row in enumerate(cells) if _is_signpost(row, start)) + 1
    if end:
        ends = [index for index, row in enumerate(cells) if _is_signpost(row, end) and index >= first]
        if not ends:
            raise OptionError(
                f"'{path}' has no signpost '{end}' after '{start}'.", hint="Check the order of the two signposts."
            )
        last = ends[0]
    return cells[first:last]


def _is_signpost(row: Mapping[str, str], signpost: str) -> bool:
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
    attributes = dict(_ATTRIBUTE.findall(row.get("ATTRIBUTES") or ""))
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
        dram_bytes=sum(_dram_bytes(row, name) for name in ("INPUT_0", "INPUT_1", "INPUT_2", "OUTPUT_0")),
        utilisation=_utilisation(row, flops, device_us, cores, fidelity) if product else None,
        source=attributes.get("source", ""),
        links=_links(attributes),
        bound=attributes.get("bound", ""),
        compute_us=_ideal_us(row, "PM COMPUTE [ns]"),
        bytes_us=_ideal_us(row, "PM BANDWIDTH [ns]"),
        host_start=_number(row, "HOST START TS"),
    )


def _ideal_us(row: Mapping[str, str], column: str) -> float:
    """Returns a time of the performance model's columns. Profilers write 1 ns where they have no model."""
    nanoseconds = _number(row, column)
    return nanoseconds / 1e3 if nanoseconds > 1 else 0.0


def _links(values: Mapping[str, str]) -> str:
    """Returns chips, topology and channels of an exchange in words, from its attributes."""
    parts = [f"axis {values['cluster_axis']}"] if values.get("cluster_axis", "").isdigit() else []
    if "ring_size" in values:
        kind = values.get("topology", "").rpartition("::")[2].lower() or "group"
        parts.append(f"{'line' if kind == 'linear' else kind} of {values['ring_size']} chips")
    if "num_links" in values:
        parts.append(f"{values['num_links']} channels" if values["num_links"] != "1" else "1 channel")
    return ", ".join(parts)


def _sizes(row: Mapping[str, str], name: str) -> list[int]:
    """Returns the padded sizes W, Z, Y and X of a tensor; no sizes if the op has no such tensor."""
    sizes: list[int] = []
    for side in "WZYX":
        text = row.get(f"{name}_{side}_PAD[LOGICAL]") or row.get(f"{name}_{side}") or ""
        match = re.match(r"\d+", text)
        if match is None:
            return []
        sizes.append(int(match[0]))
    return sizes


def _dram_bytes(row: Mapping[str, str], name: str) -> float:
    sizes = _sizes(row, name)
    if not sizes or "_DRAM_" not in (row.get(f"{name}_MEMORY") or ""):
        return 0.0
    return sizes[0] * sizes[1] * sizes[2] * sizes[3] * _BYTES.get(row.get(f"{name}_DATATYPE") or "", 4.0)


def _utilisation(row: Mapping[str, str], flops: float, device_us: float, cores: int, fidelity: str) -> float:
    from tt_xla.target import load_target

    target = load_target(system_of(row.get("DEVICE ARCH") or ""))
    rate = 2 * target.macs_per_cycle[FIDELITIES.get(fidelity, "hifi4")] * target.clock_hz * cores
    return flops / (device_us * 1e-6) / rate if device_us and rate else 0.0


def system_of(arch: str) -> str:
    """Returns the name of a system with one chip of an architecture."""
    return "p150" if arch.startswith("blackhole") else "n150"


def _timeline(path: Path) -> Mapping[str, Any]:
    """Returns the Chrome trace in the folder of a CSV file; empty if it is missing or damaged."""
    trace = path.parent / TRACE_NAME
    try:
        return json.loads(trace.read_text()) if trace.is_file() else {}
    except ValueError:
        return {}
