"""Calls for matrix products.

TT-NN 0.81 computes the L1 space for a product with bias as if no operand were transposed. It then refuses the product
(``matmul_utilities.cpp:195``) or returns a result of another shape. When the right operand is transposed, an explicit
core grid avoids this; when the left operand is, product and addition become two calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.codegen.calls.elementwise import activation
from tt_xla.codegen.calls.registry import Op, calls, without_none
from tt_xla.codegen.expressions import Call, Expression
from tt_xla.ir.layout import TILE, BufferType
from tt_xla.ir.op_table import MATMUL_CONFIGS


@calls("ttnn.matmul", "ttnn.linear")
def matmul(op: Op) -> Call:
    biased_in_l1 = op["bias"] is not None and _in_l1(op)
    if biased_in_l1 and op.get("transpose_a"):
        return _in_two_calls(op)
    keywords = _product(op) | without_none(activation=activation(op.get("activation")))
    if biased_in_l1 and op.get("transpose_b") and not op.get("matmul_program_config"):
        rows, columns = op.target.grid
        keywords["core_grid"] = Call("ttnn.CoreGrid", (), {"y": rows, "x": columns})
    return Call(op.instruction.op, (op["a"], op["b"]), without_none(bias=op["bias"]) | keywords)


def _product(op: Op) -> dict[str, Expression]:
    """Returns the keywords of a product. The result has the left operand's data type unless ``dtype`` is passed."""
    keywords: dict[str, Expression] = {name: True for name in ("transpose_a", "transpose_b") if op.get(name)}
    return keywords | without_none(
        memory_config=op.memory,
        dtype=op.dtype if op.result.layout.dtype != op.spec("a").layout.dtype else None,
        compute_kernel_config=op.compute,
        program_config=program_config(op.get("matmul_program_config")),
    )


def _in_two_calls(op: Op) -> Call:
    """Returns the addition of the bias to a product without bias."""
    product = Call("ttnn.matmul", (op["a"], op["b"]), _product(op))
    function = activation(op.get("activation"))
    return Call(
        "ttnn.add",
        (product, op["bias"]),
        without_none(memory_config=op.memory, activations=None if function is None else (function,)),
    )


@calls("ttnn.sparse_matmul")
def sparse_matmul(op: Op) -> Call:
    """TT-NN has no config of its own for it: here each core computes one tile of columns at a time."""
    rows, columns = (-(-size // TILE) for size in op.result.shape[-2:])
    down, across = op.target.grid
    cores = min(columns, across)
    grid = (cores, min(-(-columns // cores), down))
    config = {
        "config": "multi_cast_1d",
        "compute_with_storage_grid_size": grid,
        **dict.fromkeys(("in0_block_w", "out_subblock_h", "out_subblock_w"), 1),
        "per_core_m": rows,
        "per_core_n": -(-columns // (grid[0] * grid[1])),
        "fuse_batch": False,
        "mcast_in0": True,
    }
    keywords: dict[str, Expression] = {"sparsity": op["sparsity"], "program_config": program_config(config)}
    flags: dict[str, Expression] = {name: op.get(name) for name in ("is_input_a_sparse", "is_input_b_sparse")}
    options = without_none(memory_config=op.memory, compute_kernel_config=op.compute)
    return Call("ttnn.sparse_matmul", (op["input_tensor_a"], op["input_tensor_b"]), keywords | flags | options)


def _in_l1(op: Op) -> bool:
    """Returns whether an operand or the result of a product lies in L1."""
    tensors = (op.spec("a"), op.spec("b"), op.result)
    return any(spec.layout.buffer is BufferType.L1 for spec in tensors)


def program_config(fields: Mapping[str, Any] | None) -> Expression:
    """Returns the constructor of a program config from its fields; None leaves the choice to TT-NN."""
    if not fields:
        return None
    kind = str(fields["config"])
    keywords: dict[str, Expression] = {}
    for name, value in fields.items():
        if name == "compute_with_storage_grid_size":
            keywords[name] = Call("ttnn.CoreCoord", tuple(value))
        elif name in ("per_core_m", "per_core_n"):
            keywords[name[:-1] + name[-1].upper()] = value
        elif name not in ("config", "hop_cores", "fused_activation"):
            keywords[name] = value
    if kind != "reuse":
        keywords["fused_activation"] = activation((fields.get("fused_activation") or {}).get("op_type"))
    return Call(f"ttnn.{MATMUL_CONFIGS[kind]}", (), keywords)
