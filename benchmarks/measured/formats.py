"""Reads CSV files of measured times. Their columns tell the formats apart.

Known formats are public collections (``gemm_flops``, ``op_durations``, ``sdpa_*``, sweeps) and the three generations of
the profiler's ``ops_perf_results_*.csv``. A row that cannot be priced is kept with the reason. A file of another format
is an error.
"""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measured import collectives
from benchmarks.measured.measurement import (
    Measurement,
    Row,
    RowError,
    Unpriced,
    block,
    board_target,
    ceil_div,
    integer,
    number,
    shape_of,
    step,
    tensor,
)
from benchmarks.measured.op_codes import ATTENTION, COLLECTIVE, ELEMENTWISE, MATMUL, OpRow, translate, unary_name
from tt_xla.cost.product_blocks import Product, chosen, subblock
from tt_xla.cost.rates import Work, rates_of
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.layout import TILE, DataType
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import TensorSpec
from tt_xla.target import Target

MeasuredRow = Measurement | Unpriced


@dataclass(frozen=True)
class Format:
    """One format of files.

    Attributes:
        name: name for messages.
        required: columns that a file of the format has.
        label: returns a row's label.
        measure: returns the measurement of a row, from the row, its line, the name of the file, and the architecture of
            rows that name none.
    """

    name: str
    required: frozenset[str]
    label: Callable[[Row], str]
    measure: Callable[[Row, int, str, str], Measurement]


def read(path: Path, arch: str = "") -> list[MeasuredRow]:
    """Reads the measurements of a file, in order.

    Args:
        path: the CSV file.
        arch: the system of rows that name none.

    Raises:
        MalformedModuleError: the file is empty, is not text, or has none of the known formats.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise MalformedModuleError(f"'{path}' is not text.", hint=f"Give a CSV file: {_known()}.") from None
    reader = csv.DictReader(text.replace("\0", "").splitlines())
    columns = set(reader.fieldnames or ())
    if not columns:
        raise MalformedModuleError(f"'{path}' is empty.", hint=f"Give a CSV file: {_known()}.")
    file_format = next((each for each in FORMATS if each.required <= columns), None)
    if file_format is None:
        nearest = min(FORMATS, key=lambda each: len(each.required - columns))
        missing = ", ".join(sorted(nearest.required - columns))
        raise MalformedModuleError(
            f"'{path}' has the columns of no known format. The nearest format is {nearest.name}, which also has "
            f"{missing}.",
            hint=f"Known formats: {_known()}.",
        )
    return _without_host_times(list(_rows(file_format, reader, path.name, arch)))


_HOST_TIME_FACTOR = 1.5
"""Ratio to the shortest untraced call of a file below which a time is the host's instead of the device's."""


def _without_host_times(rows: list[MeasuredRow]) -> list[MeasuredRow]:
    """Removes the times of untraced calls where the host's own time hides the device's."""
    shortest: dict[str, float] = {}
    for row in rows:
        if isinstance(row, Measurement) and row.wall == "untraced":
            shortest[row.target.arch] = min(row.measured_us, shortest.get(row.target.arch, row.measured_us))

    def checked(row: MeasuredRow) -> MeasuredRow:
        if isinstance(row, Unpriced) or row.wall != "untraced":
            return row
        if row.measured_us >= _HOST_TIME_FACTOR * shortest[row.target.arch]:
            return row
        return Unpriced(row.line, row.label, "an untraced call as short as the host's own time for any call")

    return [checked(row) for row in rows]


def _known() -> str:
    return ", ".join(each.name for each in FORMATS)


def _rows(file_format: Format, reader: csv.DictReader[str], name: str, arch: str) -> Iterator[MeasuredRow]:
    while True:
        try:
            raw: dict[Any, Any] = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Unpriced(reader.line_num, "", f"not CSV: {error}")
            continue
        row = {str(key): value if isinstance(value, str) else "" for key, value in raw.items() if key is not None}
        if row.get("OP TYPE", "") == "signpost":
            continue
        try:
            yield file_format.measure(row, reader.line_num, name, arch)
        except RowError as error:
            yield Unpriced(reader.line_num, file_format.label(row)[:60], str(error))


def _gemm(row: Row, line: int, name: str, arch: str) -> Measurement:
    m, k, n = (integer(row, column) for column in "MKN")
    columns, rows = _grid(row["grid"])
    target = board_target(row.get("arch") or arch, row.get("board", ""), grid=(rows, columns))
    dtype, cores = row["dtype"], rows * columns
    a_memory = _memory(row.get("in0_mem", ""), row.get("in0_sharded", ""))
    out_memory = _memory(row.get("out_mem", ""), row.get("out_sharded", ""))
    a = tensor((m, k), dtype, "TILE", a_memory, cores, target.grid)
    b = tensor((k, n), dtype, "TILE", _memory(row.get("in1_mem", ""), ""), cores, target.grid)
    out = tensor((m, n), dtype, "TILE", out_memory, cores, target.grid)
    compute = {"math_fidelity": row["fidelity"].lower(), "fp32_dest_acc_en": False, "packer_l1_acc": True}
    attributes: dict[str, Any] = {"compute_config": compute}
    size = (ceil_div(m, TILE), ceil_div(k, TILE), ceil_div(n, TILE))
    config = row.get("config", "manual")
    if config == "manual":
        attributes["matmul_program_config"] = _manual_blocks(size, (rows, columns), sharded=out.layout.is_sharded)
    elif config == "oob":  # the collection's calls are of 2025
        product = Product(size, (1, 1), [Work(spec.layout) for spec in (a, b, out)], wide=False)
        blocks = chosen(product, rates_of(target), in_2025=True)
        attributes["matmul_program_config"] = {} if blocks is None else blocks.config
    traced = row.get("trace", "").lower() == "true"
    wall = "traced" if traced else "untraced"
    measured = number(row, "host_us")
    # The notes of the collection advise to take the math thread's time for short calls and the host's for long ones.
    if traced and row.get("device_us_derived", "").strip() and measured < 1000:
        measured, wall = number(row, "device_us_derived"), "math"
    instruction, values = step("matmul", [a, b], [out], attributes)
    label = f"{m}x{k}x{n} {dtype} {row['fidelity']} {row.get('board', '')}"
    return Measurement(line, label, MATMUL, instruction, values, target, measured, wall)


def _manual_blocks(size: tuple[int, int, int], grid: tuple[int, int], *, sharded: bool) -> dict[str, int]:
    """Returns the blocks of tt-metal's benchmark (``test_matmul_2d_host_perf``), in tiles, without its division of the
    largest ones: a core packs a sharded result row by row."""
    rows, columns = ceil_div(size[0], grid[0]), ceil_div(size[2], grid[1])
    high, wide = subblock(1 if sharded else rows, columns)
    return {"per_core_m": rows, "per_core_n": columns, "out_subblock_h": high, "out_subblock_w": wide}


def _grid(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)x(\d+)", text.strip())
    if match is None or not int(match[1]) * int(match[2]):
        raise RowError(f"grid {text!r} is not columns x rows")
    return int(match[1]), int(match[2])


def _memory(place: str, sharded: str) -> str:
    if sharded.lower() == "true":
        return "L1_BLOCK_SHARDED"
    return f"{place.strip().upper() or 'DRAM'}_INTERLEAVED"


def _duration(row: Row, line: int, name: str, arch: str) -> Measurement:
    """Returns the measurement of a row of ``op_durations``, a profiler's row in fewer columns."""
    pairs = (text.partition("=") for text in row.get("attrs", "").split("|"))
    attributes = {name: value for name, separator, value in pairs if separator}
    available = _count(row.get("avail_cores", ""))
    target = board_target(row.get("arch") or arch, row.get("board", ""), available)
    cores = _count(row.get("cores", "")) or target.cores
    tensors: dict[str, TensorSpec] = {}
    for operand in ("in0", "in1", "in2", "in3", "out"):
        shape = row.get(f"{operand}_logical", "") or row.get(f"{operand}_padded", "")
        if shape:
            dtype, layout, memory = (row.get(f"{operand}_{column}", "") for column in ("dtype", "layout", "mem"))
            sizes = shape_of(shape)
            tensors[operand] = _profiled_tensor(sizes, dtype, layout, memory, cores, target.grid, attributes)
    inputs = [spec for operand, spec in tensors.items() if operand != "out"]
    outputs = [tensors["out"]] if "out" in tensors else []
    weight = re.fullmatch(r".*x(\d+)x\d+", row.get("in1_padded", "").strip())
    rows = int(weight[1]) if weight else 0
    op_row = OpRow(row["op_code"], attributes, inputs, outputs, row.get("math_fidelity", ""), cores, rows)
    return _profiled(op_row, line, target, number(row, "kernel_ns_median") / 1e3)


def _profiled_tensor(
    shape: tuple[int, ...],
    dtype: str,
    layout: str,
    memory: str,
    cores: int,
    grid: tuple[int, int],
    attributes: Row,
) -> TensorSpec:
    """Returns a tensor. A sharded one has the shard shape of the attributes if that fits, else one shard per core."""
    spec = tensor(shape, dtype, layout, memory, cores, grid)
    if not spec.layout.is_sharded:
        return spec
    match = re.search(r"shard=(\d+)x(\d+)|shape=\{(\d+)[;,] ?(\d+)\}", " ".join(attributes.values()))
    if match is None:
        return spec
    shard_rows, shard_columns = (int(size) for size in match.groups() if size)
    rows, columns = 1, shape[-1]
    for size in shape[:-2]:
        rows *= size
    if len(shape) > 1:
        rows *= -(-shape[-2] // 32) * 32 if layout.startswith("TILE") else shape[-2]
    kind = memory.rpartition("L1_")[2]
    row_parts, column_parts = -(-rows // max(shard_rows, 1)), -(-columns // max(shard_columns, 1))
    fits = {
        "HEIGHT_SHARDED": column_parts == 1,
        "WIDTH_SHARDED": row_parts == 1,
        "BLOCK_SHARDED": row_parts <= max(grid) and column_parts <= max(grid),
    }.get(kind, False)
    if not fits or row_parts * column_parts > grid[0] * grid[1]:
        return spec
    unit = 32 if layout.startswith("TILE") else 1
    shard = (max(-(-shard_rows // unit), 1), max(-(-shard_columns // unit), 1))
    return TensorSpec(shape, dataclasses.replace(spec.layout, grid=(row_parts, column_parts), shard=shard))


def _count(text: str) -> int:
    """Returns the number in a cell; 0 if it is empty or not a number."""
    try:
        return max(int(float(text)), 0) if text else 0
    except (ValueError, OverflowError):
        return 0


def _profiled(row: OpRow, line: int, target: Any, measured: float) -> Measurement:
    """Returns the measurement of a profiler's row.

    Args:
        row: the row.
        line: its line in the file.
        target: the chip.
        measured: measured time in microseconds.
    """
    family, (op, inputs, outputs, attributes) = translate(row)
    if not outputs:
        raise RowError("the row has no output tensor")
    attributes.setdefault("core_count", row.cores)
    instruction, values = step(op, inputs, outputs, attributes)
    shapes = ", ".join("x".join(map(str, spec.shape)) for spec in inputs[:2])
    label = f"{row.code.removesuffix('DeviceOperation')} {shapes}"
    if family != COLLECTIVE:
        return Measurement(line, label, family, instruction, values, target, measured)
    target, chips = _linked(row, target)
    return Measurement(line, label, family, instruction, values, target, measured, mesh=Mesh((chips,), ("x",)))


def _linked(row: OpRow, target: Target) -> tuple[Target, int]:
    """Returns the chips along the axis of a collective as a system, and their number.

    Raises:
        RowError: the row does not name them.
    """
    numbers = {name: _count(row.text(name)) for name in ("ring_size", "num_links")}
    chips = numbers["ring_size"]
    if not chips:
        raise RowError("the attributes lack ring_size, the number of chips")
    topology = "ring" if row.text("topology") == "Ring" else "line"
    return collectives.system(target, topology, chips, max(numbers["num_links"], 1)), chips


_ATTRIBUTE = re.compile(r"'([^']+)': '([^']*)'")
_INPUTS = tuple(f"INPUT_{index}" for index in range(12))
_OUTPUTS = tuple(f"OUTPUT_{index}" for index in range(12))
_CELL = re.compile(r"(\d+)(?:\[(\d+)\])?")


def _profiler(row: Row, line: int, name: str, arch: str) -> Measurement:
    """Returns the measurement of a row of ``ops_perf_results_*.csv``.

    Version 1 of the format has no logical sizes, and only version 2.1 names the architecture.
    """
    code = row["OP CODE"]
    if "(torch)" in code:
        raise RowError("the op ran on the host")
    attributes = {key: value.replace("; ", ";") for key, value in _ATTRIBUTE.findall(row.get("ATTRIBUTES", ""))}
    attributes |= {"dims": attributes["dims"].replace(";", "; ")} if "dims" in attributes else {}
    cores = _count(row.get("CORE COUNT", ""))
    available = _count(row.get("AVAILABLE WORKER CORE COUNT", ""))
    arch_name = row.get("DEVICE ARCH") or arch or ("blackhole" if "bh" in name.lower().split("_")[0] else "")
    if not arch_name:
        raise RowError("the file does not name the architecture; name it with --system")
    board = "bh20" if "bh20" in name.lower() else ""
    target = board_target(arch_name, board, available)
    cores = cores or target.cores
    inputs, outputs = (
        [spec for prefix in prefixes if (spec := _cells(row, prefix, cores, target.grid, attributes)) is not None]
        for prefixes in (_INPUTS, _OUTPUTS)
    )
    weight = _CELL.match(row.get("INPUT_1_Y_PAD[LOGICAL]") or row.get("INPUT_1_Y") or "")
    rows = int(weight[1]) if weight else 0
    op_row = OpRow(code, attributes, inputs, outputs, row.get("MATH FIDELITY", ""), cores, rows)
    return _profiled(op_row, line, target, number(row, "DEVICE KERNEL DURATION [ns]") / 1e3)


def _cells(row: Row, prefix: str, cores: int, grid: tuple[int, int], attributes: Row) -> TensorSpec | None:
    """Returns the tensor in the seven cells whose columns start with ``prefix``; None if they are empty."""
    sizes: list[int] = []
    for axis in "WZYX":
        text = (row.get(f"{prefix}_{axis}_PAD[LOGICAL]") or row.get(f"{prefix}_{axis}") or "").strip()
        match = _CELL.fullmatch(text.removesuffix(".0"))
        if match is None:
            if text:
                raise RowError(f"{prefix}_{axis} is {text!r}, not a size")
            continue
        sizes.append(int(match[2] or match[1]))
    memory = row.get(f"{prefix}_MEMORY", "")
    if not sizes or not memory:
        return None
    if not all(sizes):
        raise RowError(f"{prefix} has no elements")
    layout, dtype = row.get(f"{prefix}_LAYOUT", "") or "TILE", row.get(f"{prefix}_DATATYPE", "")
    return _profiled_tensor(tuple(sizes), dtype, layout, memory, cores, grid, attributes)


def _attention(row: Row, line: int, name: str, arch: str) -> Measurement:
    batch, rows, length = (integer(row, column) for column in ("batch", "seq_q", "seq_kv_or_pos"))
    heads, groups, depth = (integer(row, column) for column in ("heads_q", "heads_kv", "head_dim_qk"))
    wide = integer(row, "head_dim_v")
    cores = _count(row.get("cores", ""))
    target = board_target(row.get("arch") or arch, row.get("board", ""), cores)
    q_type, kv_type = row["q_dtype"], row["kv_dtype"]

    def spec(shape: tuple[int, ...], dtype: str) -> TensorSpec:
        return tensor(shape, dtype, "TILE", "DRAM_INTERLEAVED", 1, target.grid)

    decode = row["phase"] == "decode"
    query = (1, batch, heads, depth) if decode else (batch, heads, rows, depth)
    inputs = [
        spec(query, q_type),
        spec((batch, groups, length, depth), kv_type),
        spec((batch, groups, length, wide), kv_type),
    ]
    out = spec((*query[:-1], wide), q_type)
    extra = row.get("extra", "")
    config: dict[str, Any] = {
        name: int(row[column])
        for name, column in (("q_chunk_size", "q_chunk"), ("k_chunk_size", "k_chunk"))
        if re.fullmatch(r"[1-9]\d*", row.get(column, ""))
    }
    if row.get("exp_approx", "") in ("0", "1"):
        config["exp_approx_mode"] = row["exp_approx"] == "1"
    attributes: dict[str, Any] = {
        "is_causal": row.get("causal", "") == "1",
        "compute_config": {
            "math_fidelity": row["fidelity"].lower(),
            "fp32_dest_acc_en": "fp32_dest_acc" in extra,
        },
        "program_config": config,
    }
    window = re.search(r"sliding_window=(\d+)", extra)
    if window is not None:
        attributes["sliding_window_size"] = int(window[1])
    if "attn_mask" in extra:
        inputs.append(spec((batch, 1, rows, length), q_type))
    if "paged" in extra:
        attributes["paged"] = True
    if "topk" in extra:
        attributes["gathered"] = True
    op = "scaled_dot_product_attention"
    if decode:
        op = "paged_scaled_dot_product_attention_decode" if "page" in extra else "scaled_dot_product_attention_decode"
        block_rows = re.search(r"page_block=(\d+)", extra)
        if block_rows is not None:
            attributes["block_size"] = int(block_rows[1])
    instruction, values = step(op, inputs, [out], attributes)
    return Measurement(line, row.get("label", ""), ATTENTION, instruction, values, target, number(row, "measured_us"))


def _unary_sweep(row: Row, line: int, name: str, arch: str) -> Measurement:
    """Returns the measurement of a row of a sweep over one unary op on all cores."""
    target = board_target(row.get("arch") or arch, row.get("board", ""))
    shape = shape_of(row["shape"])
    spec = tensor(shape, row["dtype"], row.get("layout", "TILE"), row["in_mem"], target.cores, target.grid)
    instruction, values = step(unary_name(row["op"]), [spec], [spec])
    label = f"{row['op']} {row['shape']} {row['dtype']} {row['in_mem']}"
    return Measurement(line, label, ELEMENTWISE, instruction, values, target, number(row, "kernel_ns_median") / 1e3)


def _matmul_sweep(row: Row, line: int, name: str, arch: str) -> Measurement:
    """Returns the measurement of a row of a sweep over matmuls with a sharded result and left operand.

    Files that do not name chip, element type and fidelity are taken as Wormhole, bfloat16 and hifi2.
    """
    m, k, n, cores = (integer(row, column) for column in ("M", "K", "N", "num_cores"))
    target = board_target(row.get("arch") or arch or "wormhole_b0", row.get("board", ""))
    if cores > target.cores:
        raise RowError(f"{cores} cores are more than the chip's {target.cores}")
    dtype = row.get("dtype") or "BFLOAT16"
    kind = "WIDTH" if "_ws" in name else "BLOCK" if "_bs" in name else "HEIGHT"
    a = tensor((m, k), dtype, "TILE", f"L1_{kind}_SHARDED", cores, target.grid)
    out = tensor((m, n), dtype, "TILE", f"L1_{kind}_SHARDED", cores, target.grid)
    b = tensor((k, n), dtype, "TILE", "DRAM_INTERLEAVED", 1, target.grid)
    rows, columns = {"WIDTH": (1, cores), "BLOCK": block(cores, target.grid)}.get(kind, (cores, 1))
    config: dict[str, Any] = {
        "config": "multi_cast_1d",
        "per_core_m": ceil_div(ceil_div(m, TILE), rows),
        "per_core_n": ceil_div(ceil_div(n, TILE), columns),
        "in0_block_w": a.layout.shard[1],
    }
    if kind == "HEIGHT":
        config |= _blocks(config["per_core_m"], -(-k // 32), config["per_core_n"], target)
    fidelity = (row.get("fidelity") or "HiFi2").lower()
    attributes = {"matmul_program_config": config, "compute_config": {"math_fidelity": fidelity}, "core_count": cores}
    instruction, values = step("matmul", [a, b], [out], attributes)
    label = f"{m}x{k}x{n} on {cores} cores"
    return Measurement(line, label, MATMUL, instruction, values, target, number(row, "kernel_ns") / 1e3)


def _blocks(rows: int, inner: int, columns: int, target: Target) -> dict[str, int]:
    """Returns the blocks that TT-NN chooses for a height-sharded product of bfloat16.

    The height of a block is the largest divisor of the rows that fits in L1 beside the shards of operand and result.

    Args:
        rows: tile rows of a core.
        inner: tiles of the contracted dimension.
        columns: tile columns of a core.
        target: the chip.
    """
    free_tiles = (
        target.l1_usable_bytes // DataType.BF16.tile_bytes - rows * inner - rows * columns - 2 * inner * columns
    )
    fitting = [part for part in range(1, rows + 1) if rows % part == 0 and 2 * part * inner <= free_tiles]
    return {"out_block_h": max(fitting, default=1), "out_subblock_w": columns if columns <= 8 else 1}


def _joined(*columns: str) -> Callable[[Row], str]:
    return lambda row: " ".join(row.get(column, "") for column in columns).strip()


FORMATS = (
    Format(
        "ops_perf_results (a profiler's report)",
        frozenset({"OP CODE", "OP TYPE", "ATTRIBUTES", "DEVICE KERNEL DURATION [ns]"}),
        _joined("OP CODE"),
        _profiler,
    ),
    Format(
        "op_durations",
        frozenset({"op_code", "in0_logical", "out_logical", "cores", "kernel_ns_median"}),
        _joined("op_code", "in0_logical"),
        _duration,
    ),
    Format(
        "gemm_flops",
        frozenset({"M", "K", "N", "dtype", "fidelity", "grid", "host_us"}),
        _joined("M", "K", "N", "dtype", "fidelity"),
        _gemm,
    ),
    Format(
        "sdpa",
        frozenset(
            {
                *("phase", "batch", "seq_q", "seq_kv_or_pos", "heads_q", "heads_kv", "head_dim_qk", "head_dim_v"),
                *("q_dtype", "kv_dtype", "fidelity", "measured_us"),
            }
        ),
        _joined("label"),
        _attention,
    ),
    Format(
        "op_sweep of a unary op",
        frozenset({"op", "shape", "dtype", "in_mem", "kernel_ns_median"}),
        _joined("op", "shape", "dtype"),
        _unary_sweep,
    ),
    Format(
        "op_sweep_matmul",
        frozenset({"M", "K", "N", "num_cores", "kernel_ns"}),
        _joined("M", "K", "N"),
        _matmul_sweep,
    ),
    Format("ccl", collectives.COLUMNS, _joined("op", "topology", "chips", "size_bytes"), collectives.collective),
)
