"""Products of matrices."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.ir.op_table import MATMUL_CONFIGS
from tt_xla.ttnn_api import chosen_programs, chosen_shards
from tt_xla.ttnn_api.configs import Config, compute_config, function_of
from tt_xla.ttnn_api.enums import DataType, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.pointwise import Function, required
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, TILE_SIZE, CoreGrid, MemoryConfig
from tt_xla.ttnn_api.operation import OPERATIONS, operation, unrefused
from tt_xla.ttnn_api.plan import Calls, Operand, Step
from tt_xla.ttnn_api.shapes import Sizes


@operation("ttnn.matmul", "ttnn.linear")
def linear(
    input_tensor_a: Operand,
    input_tensor_b: Operand,
    bias: Operand | None,
    transpose_a: bool,
    transpose_b: bool,
    memory_config: MemoryConfig | None,
    dtype: DataType | None,
    program_config: Config | None,
    activation: Function | None,
    compute_kernel_config: Config | None,
    core_grid: CoreGrid | None,
    optional_output_tensor: Operand | None,
) -> Step | Calls:
    """Multiplies matrices, adds a bias and applies a function."""
    a, b = required(input_tensor_a, "ttnn.matmul"), required(input_tensor_b, "ttnn.matmul")
    if program_config is None:
        _check_shards(a, b, activation)
    turned = (_turned(a.shape, turn=transpose_a), _turned(b.shape, turn=transpose_b))
    shape = product_shape(*turned)
    if bias is not None and min(a.rank, b.rank) < 2:
        options = {"transpose_a": transpose_a, "transpose_b": transpose_b, "memory_config": memory_config}
        options |= {"dtype": dtype, "program_config": program_config, "compute_kernel_config": compute_kernel_config}
        return Calls(functools.partial(_with_bias, (a, b, bias, optional_output_tensor), options, activation))
    if bias is not None:
        _check_bias(bias.shape, shape)
        shape = shape.to_rank(max(len(shape), bias.rank))
    if transpose_a and bias is not None and a.shape[-2] > a.shape[-1] and program_config is None:
        raise TTFatal(
            "MeshBuffer must be large enough to hold the tensor.",
            hint="TT-NN adds the bias in the shape of the untransposed operand; use ttnn.transpose before.",
        )
    _check_blocks(turned[0][-1], program_config)
    attributes: dict[str, Any] = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    configured = program_config is not None or core_grid is not None
    chosen = {"math_fidelity": chosen_programs.fidelity(a.dtype, b.dtype, configured=configured)}
    attributes["compute_config"] = compute_config(compute_kernel_config) or chosen
    function = None if activation is None else dict(function_of(activation))
    config = _program_config(program_config)
    if program_config is None and core_grid is not None and a.type.on_device and chosen_programs.divides(turned):
        config, function = chosen_programs.of_grid(core_grid, a, b, turned, function), None
    attributes["matmul_program_config"] = config
    attributes["activation"] = None if function is None else function["op_type"]
    memory = chosen_shards.of_product(memory_config, shape, a, b, program_config) or DRAM_MEMORY_CONFIG
    result = a.type.with_(shape=shape, dtype=dtype, memory=memory)
    operands = {"a": a, "b": b} | ({} if bias is None else {"bias": bias})
    is_plain = bias is None and function is None and "fused_activation" not in (config or {})
    op = "ttnn.matmul" if is_plain else "ttnn.linear"
    return Step(op, operands, [result], attributes, into=optional_output_tensor)


def _with_bias(
    operands: Sequence[Operand | None], options: Mapping[str, Any], activation: Function | None, tensors: Sequence[Any]
) -> Any:
    """Returns the product of a vector, to which TT-NN adds a bias by itself."""
    a, b, bias, into = (None if each is None else tensors[each.index] for each in operands)
    with unrefused():
        product = OPERATIONS["ttnn.matmul"](a, b, **options)
        functions = [] if activation is None else [activation]
        return OPERATIONS["ttnn.add"](product, bias, activations=functions, output_tensor=into)


def _check_bias(bias: Sizes, product: Sizes) -> None:
    """Refuses a bias whose columns do not fill the same tiles as those of the product.

    Raises:
        TTFatal: they do not.
    """
    own, columns = (-(-shape[-1] // TILE_SIZE) * TILE_SIZE for shape in (bias, product))
    if own != columns:
        raise TTFatal(
            f"Unsupported bias shape: padded last dimension of bias, {own}, not equal to second input's padded last "
            f"dimension, {columns}.",
            hint=f"The bias has shape {bias}, and the product {product}; give the bias as many columns.",
        )


def _check_shards(a: Operand, b: Operand, activation: Function | None) -> None:
    """Refuses sharded operands for which TT-NN has no program of its own.

    Raises:
        TTFatal: the second operand is sharded, or a function follows a product of shards.
    """
    is_sharded = [each.type.on_device and each.memory.is_sharded() for each in (a, b)]
    if activation is not None and any(is_sharded):
        name = dict(function_of(activation))["op_type"].upper()
        raise TTFatal(
            f"Sharded matmul run with UnaryOpType::{name} activation: this should be placed in the program config's "
            "fused_activation field",
            hint="Pass a program_config with fused_activation, or apply the function afterwards.",
        )
    batched = math.prod(b.shape[:-2]) > 1
    if is_sharded[0] and batched and a.memory.memory_layout is TensorMemoryLayout.WIDTH_SHARDED:
        raise TTFatal(
            "Input A memory layout must not be WIDTH_SHARDED, got: TensorMemoryLayout::WIDTH_SHARDED",
            hint="Move the first operand with ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG).",
        )
    if is_sharded[1] and not (is_sharded[0] and batched):
        words = "Input tensor B must have INTERLEAVED memory layout"
        if not is_sharded[0]:
            words = "MatmulMultiCoreProgramConfig: Input B memory layout must be INTERLEAVED"
        raise TTFatal(
            f"{words}, got: TensorMemoryLayout::{b.memory.memory_layout.name}",
            hint="Move the second operand with ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG).",
        )


_CONFIGS = {name: kind for kind, name in MATMUL_CONFIGS.items()}
"""Kind of a ``#ttnn.matmul_program_config`` by TT-NN's class."""


def _check_blocks(inner: int, config: Config | None) -> None:
    """Refuses a program config whose blocks do not divide the inner dimension.

    Raises:
        TTFatal: the number of tiles is no multiple of ``in0_block_w``.
    """
    name = type(config).__name__
    if _CONFIGS.get(name) not in ("reuse", "multi_cast", "multi_cast_1d") or getattr(config, "gather_in0", False):
        return
    tiles, block = -(-inner // TILE_SIZE), getattr(config, "in0_block_w", None)
    if block and tiles % block:
        raise TTFatal(
            f"{name}: Kt ({tiles}) must be divisible by in0_block_w ({block})",
            hint="Choose an in0_block_w that divides the number of tiles of the inner dimension.",
        )


def _program_config(config: Config | None) -> dict[str, Any] | None:
    """Returns the fields of a program config that the cost model reads; None where TT-NN chooses."""
    kind = _CONFIGS.get(type(config).__name__)
    if config is None or kind is None:
        return None
    fields = {name[:-1] + name[-1].lower(): value for name, value in config.fields() if value is not None}
    function, grid = fields.get("fused_activation"), fields.get("compute_with_storage_grid_size")
    if function is not None:
        fields["fused_activation"] = dict(function_of(function))
    if grid is not None:
        fields["compute_with_storage_grid_size"] = [*grid] if isinstance(grid, (list, tuple)) else [grid.x, grid.y]
    return {"config": kind, **fields}


def _turned(shape: Sizes, *, turn: bool) -> Sizes:
    return Sizes((*shape[:-2], shape[-1], shape[-2])) if turn and len(shape) > 1 else shape


def _check_batches(a: Sizes, b: Sizes) -> None:
    """Refuses batches of the second operand that TT-NN does not repeat for the first one.

    Raises:
        TTFatal: the second operand has several matrices, and not as many in each dimension as the first one.
    """
    words = None
    if any(size != 1 for size in b[: max(0, len(b) - len(a))]):
        words = "When in1 rank greater than in0 rank front dimensions need to be 1"
    elif math.prod(b[:-2]) > 1 and len(a) != len(b):
        words = (
            "Batched (non-bcast) matmul requires inputs of the same rank, got a_shape rank: "
            f"{len(a)} vs b_shape rank: {len(b)}"
        )
    elif math.prod(b[:-2]) > 1 and math.prod(a[:-2]) > 1 and a[:-2] != b[:-2]:
        axis = next(axis for axis, sizes in enumerate(zip(a, b, strict=True)) if sizes[0] != sizes[1])
        words = (
            "bmm (non-bcast matmul) expects input tensors of shapes BCMK*BCKN=BCMN or batch dimension "
            f"{axis} mismatch: a={a[axis]} vs b={b[axis]} (dimension mismatch only allowed when all batch dimensions "
            "of a are size 1 and using MatmulMultiCoreReuseMultiCast1DProgramConfig with fuse_batch=false, "
            "fused_activation=none, mcast_in0=false, and non-sharded inputs for in0 reuse optimization)"
        )
    if words is not None:
        raise TTFatal(
            words, hint=f"The operands have shapes {a} and {b}; repeat the second one with ttnn.repeat or ttnn.reshape."
        )


def product_shape(a: Sizes, b: Sizes) -> Sizes:
    """Returns the shape of a product.

    Raises:
        TTFatal: the inner dimensions differ, or the batches do not broadcast.
    """
    left, right = (a if len(a) > 1 else Sizes((1, *a))), (b if len(b) > 1 else Sizes((*b, 1)))
    if left[-1] != right[-2]:
        raise TTFatal(
            "The width of the first tensor must be equal to the height of the second tensor. Mismatch: "
            f"width={left[-1]} height={right[-2]}",
            hint=f"The shapes are {a} and {b}; transpose_a and transpose_b turn an operand.",
        )
    _check_batches(left, right)
    rank = max(len(left), len(right)) - 2
    batches = [Sizes(each[:-2]).to_rank(rank) for each in (left, right)]
    batch = [other if one == 1 else one for one, other in zip(*batches, strict=True)]
    matrix = ([left[-2]] if len(a) > 1 else []) + ([right[-1]] if len(b) > 1 else [])
    return Sizes((*batch, *matrix))
