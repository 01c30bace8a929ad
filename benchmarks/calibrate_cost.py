"""How near the cost model is to kernel times measured on silicon: ``python benchmarks/calibrate_cost.py FOLDER``.

FOLDER has sweeps and profiler rows collected from public repositories as CSV: ``op_sweep_exp_n150.csv``,
``op_sweep_matmul_hs.csv`` and ``op_durations.csv``. A figure is predicted over measured; 1.0 is exact.
"""

from __future__ import annotations

import csv
import dataclasses
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from tt_xla.cost import instruction_cost
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.target import Target, load_target

Row = dict[str, str]
Point = tuple[str, float]
"""Family, and predicted over measured."""

_DTYPES = {
    "BFLOAT16": DataType.BF16,
    "FLOAT32": DataType.F32,
    "BFLOAT8_B": DataType.BFP_BF8,
    "BFLOAT4_B": DataType.BFP_BF4,
    "UINT32": DataType.U32,
    "INT32": DataType.SI32,
}
_BINARY = {"ADD": "add", "SUB": "subtract", "MUL": "multiply", "DIV": "divide", "GT": "gt", "EQ": "eq"}
_MOVES = {
    "InterleavedToShardedDeviceOperation": "to_memory_config",
    "ShardedToInterleavedDeviceOperation": "to_memory_config",
    "ReshardDeviceOperation": "to_memory_config",
    "TilizeDeviceOperation": "to_layout",
    "UntilizeDeviceOperation": "to_layout",
    "SoftmaxDeviceOperation": "softmax",
    "LayerNormDeviceOperation": "layer_norm",
    "Matmul": "matmul",
    "TypecastDeviceOperation": "typecast",
}


def _rows(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _predicted(op: str, specs: list[TensorSpec], target: Target, **attributes: Any) -> float:
    operands = {f"operand{number}": number for number in range(len(specs) - 1)}
    instruction = Instruction(f"ttnn.{op}", operands, (len(specs) - 1,), attributes)
    return instruction_cost(instruction, specs, target).total_us


def _exp(folder: Path) -> Iterator[Point]:
    target = load_target("n150")
    for row in _rows(folder / "op_sweep_exp_n150.csv"):
        layout = _layout(row["shape"], row["dtype"], row["layout"], row["in_mem"], target.cores, target)
        if layout is not None and not layout.layout.is_sharded:
            measured = float(row["kernel_ns_median"]) / 1e3
            yield f"exp, {layout.layout.buffer}", _predicted("exp", [layout, layout], target) / measured


def _height_sharded_matmul(folder: Path) -> Iterator[Point]:
    """Result and left operand height-sharded; element type taken as bfloat16 at hifi2, as neither is recorded."""
    target = load_target("n150")
    for row in _rows(folder / "op_sweep_matmul_hs.csv"):
        m, k, n, cores = (int(row[name]) for name in ("M", "K", "N", "num_cores"))
        a = _sharded((m, k), cores)
        specs = [a, TensorSpec((k, n), TensorLayout.of((k, n), DataType.BF16)), _sharded((m, n), cores)]
        rows, columns = specs[-1].layout.shard
        config = {
            "config": "multi_cast_1d",
            "per_core_m": rows,
            "per_core_n": columns,
            "in0_block_w": a.layout.shard[1],
        }
        time = _predicted(
            "matmul", specs, target, matmul_program_config=config, compute_config={"math_fidelity": "hifi2"}
        )
        size = "small" if m * k * n < 2**24 else "large"
        yield f"matmul, height sharded, {size}", time / (float(row["kernel_ns"]) / 1e3)


def _sharded(shape: tuple[int, int], cores: int) -> TensorSpec:
    memory = MemoryLayout.HEIGHT_SHARDED
    layout = TensorLayout.of(shape, DataType.BF16, buffer=BufferType.L1, memory=memory, grid=(cores, 1))
    return TensorSpec(shape, layout)


def _layout(shape: str, dtype: str, layout: str, memory: str, cores: int, target: Target) -> TensorSpec | None:
    """A tensor of a profiler row; None where something is not recorded or has no name here."""
    found = _DTYPES.get(dtype.replace("DataType.", ""))
    place = re.fullmatch(r"(DRAM|L1)_(INTERLEAVED|HEIGHT_SHARDED)", memory)
    if found is None or place is None or not re.fullmatch(r"\d+(x\d+)*", shape):
        return None
    sizes = tuple(map(int, shape.split("x")))
    tiled = layout == "TILE"
    kind = MemoryLayout(place[2].lower())
    grid = (cores, 1) if kind is MemoryLayout.HEIGHT_SHARDED else target.grid if place[1] == "L1" else (1, 1)
    buffer = BufferType(place[1].lower())
    return TensorSpec(sizes, TensorLayout.of(sizes, found, tiled=tiled, buffer=buffer, memory=kind, grid=grid))


def _target_of(row: Row) -> Target:
    target = load_target("n150" if row["arch"].startswith("wormhole") else "p150")
    grid = (5, 4) if row["board"].startswith("bh20") else (8, 8)
    return dataclasses.replace(target, grid=grid)


def _op_of(row: Row) -> str | None:
    if row["op_code"] == "BinaryNgDeviceOperation":
        kind = re.search(r"binary_op_type=(\w+)", row["attrs"])
        return _BINARY.get(kind[1]) if kind else None
    if row["op_code"] == "UnaryDeviceOperation":
        kind = re.search(r"op_chain=\{(\w+)", row["attrs"])
        return kind[1].lower() if kind else None
    return _MOVES.get(row["op_code"])


def _profiled(folder: Path) -> Iterator[Point]:
    for row in _rows(folder / "op_durations.csv"):
        target, op = _target_of(row), _op_of(row)
        names = [name for name in ("in0", "in1", "in2", "in3", "out") if row[f"{name}_logical"]]
        cores = int(float(row["cores"] or 0)) or target.cores
        specs = [
            _layout(*(row[f"{name}_{part}"] for part in ("logical", "dtype", "layout", "mem")), cores, target)
            for name in names
        ]
        complete = [spec for spec in specs if spec is not None]
        if op is None or len(complete) != len(specs) or len(specs) < 2 or names[-1] != "out":
            continue
        fidelity = {"math_fidelity": row["math_fidelity"].lower() or "hifi4"}
        ratio = _predicted(op, complete, target, compute_config=fidelity) / (float(row["kernel_ns_median"]) / 1e3)
        family = row["op_code"].removesuffix("DeviceOperation")
        yield f"{family}, {complete[0].layout.buffer} {complete[0].layout.memory}", ratio


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
def main(folder: Path) -> None:
    found: dict[str, list[float]] = defaultdict(list)
    for family, ratio in (*_exp(folder), *_height_sharded_matmul(folder), *_profiled(folder)):
        found[family].append(ratio)
    table = Table("op, first operand", "rows", "10 %", "median", "90 %", box=None, title="predicted / measured")
    for column in table.columns[1:]:
        column.justify = "right"
    for family, ratios in sorted(found.items()):
        low, *_, high = statistics.quantiles(ratios, n=10) if len(ratios) > 1 else (ratios[0], ratios[0])
        table.add_row(family, str(len(ratios)), *(f"{x:.2f}" for x in (low, statistics.median(ratios), high)))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
