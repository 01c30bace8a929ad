"""Names and categories of TTNN ops in profiler files: the device operations of tt-metal that the ops run.

One TTNN op is one row, even if TT-NN runs several programs for it; the row names that of :mod:`tt_xla.ir.op_table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.ir.device_operations import device_operation
from tt_xla.ir.op_table import MATMUL_CONFIGS, op_type_of, program_of
from tt_xla.profiling.recording import Op


def mnemonic(op: Op) -> str:
    """Returns an op's name without dialect, ``matmul`` for ``ttnn.matmul``."""
    return op.instruction.op.rpartition(".")[2]


def op_code(op: Op) -> tuple[str, str]:
    """Returns an op's name in profiler files, and its category."""
    return device_operation(op.instruction, op.inputs, op.outputs)


def attributes_of(op: Op) -> dict[str, Any]:
    """Returns the contents of the ``ATTRIBUTES`` cell: the op's attributes, and others that tools read."""
    name, attributes = mnemonic(op), dict(op.instruction.attributes)
    op_type, functions = op_type_of(name), attributes.get("functions", ())
    if op_type and program_of(name)[0] == "BinaryNg":
        attributes = {"binary_op_type": f"BinaryOpType::{op_type}"} | attributes
    elif op_type:
        steps = [str(dict(function)["op_type"]).upper() for function in functions] or [op_type]
        chain = ";".join(f"UnaryWithParam(op_type=UnaryOpType::{step};param={{}})" for step in steps)
        attributes = {"op_chain": f"{{{chain}}}"} | attributes
    elif "kernel_size" in attributes:
        rows, columns = _pair(attributes["kernel_size"])
        attributes = {"sliding_window_config": f"window_hw=({rows};{columns}); "} | attributes
    elif name == "permute":
        attributes = {"dims": f"SmallVector({_text(attributes.get('permutation', ()))})"} | attributes
    elif name in ("sum", "mean", "max", "min"):
        attributes = {"math_op": f"ReduceOpMath::{name.upper()}"} | attributes
    elif name.startswith("rms_norm"):
        attributes = {"norm_type": "LayerNormType::RMSNORM"} | attributes
    if name in ("matmul", "linear"):  # the row shows the inputs after transposing
        attributes.pop("transpose_a", None)
        attributes.pop("transpose_b", None)
    config: Any = attributes.pop("matmul_program_config", None)
    if config:
        attributes = {"program_config": _program_config(dict(config))} | attributes
    if op.outputs:
        attributes["output_dtype"] = op.outputs[0].layout.dtype.value
    return attributes


def _pair(sizes: Any) -> tuple[int, int]:
    numbers = [int(size) for size in sizes] if isinstance(sizes, list | tuple) else [int(sizes)] * 2
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (numbers[0], 1)


_TT_METAL_NAMES = {"per_core_m": "per_core_M", "per_core_n": "per_core_N"}


def _program_config(config: Mapping[str, Any]) -> str:
    name = MATMUL_CONFIGS.get(str(config.get("config")), MATMUL_CONFIGS["reuse"])
    fields = (f"{_TT_METAL_NAMES.get(key, key)}={_text(value)}" for key, value in config.items() if key != "config")
    return f"{name}({';'.join(fields)})"


def cell(attributes: Mapping[str, Any]) -> str:
    """Returns attributes as the text of one cell, with ``;`` instead of the ``,`` of a dictionary."""
    pairs = (f"'{key}': '{_text(value)}'" for key, value in attributes.items() if not isinstance(value, bytes))
    return "{" + "; ".join(pairs) + "}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ";".join(f"{key}={_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + "; ".join(map(_text, value)) + "]"
    return str(value).replace(",", ";").replace("'", "")
