"""Products that TT-NN fuses with exchanges, norms and functions, composed of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api.configs import function_of
from tt_xla.ttnn_api.enums import DataType, Topology
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.operation import Functions, operation
from tt_xla.ttnn_api.tensor import Tensor

_OF_SPLITS = (
    *("bias_tensor", "fused_activation", "config", "memory_config", "dtype", "compute_kernel_config"),
    "fuse_swiglu",
)
"""Parameters of products whose columns are split."""

_OF_EXCHANGES = ("bias", "transpose_a", "transpose_b", "dtype", "program_config", "activation", "compute_kernel_config")
"""Parameters that a product before or after an exchange hands to ``ttnn.linear``."""


@operation("ttnn.experimental.minimal_matmul", composite=True, also=_OF_SPLITS)
def minimal_matmul(input_tensor: Tensor, weight_tensor: Tensor, **options: Any) -> Tensor:
    """Multiplies matrices, adds a bias and applies a function."""
    return minimal_matmul_split(input_tensor, weight_tensor, 1, -1, **options)[0]


@operation("ttnn.experimental.minimal_matmul_split", composite=True, also=_OF_SPLITS)
def minimal_matmul_split(
    input_tensor: Tensor, weight_tensor: Tensor, chunks: int, dim: int, **options: Any
) -> list[Tensor]:
    """Multiplies matrices as ``minimal_matmul`` does, and returns parts of equal width.

    With ``fuse_swiglu`` each part is silu of its tiles at even places times its tiles at odd ones.

    Raises:
        TTFatal: the parts do not consist of whole tiles, or are no columns.
    """
    if dim != -1:
        raise TTFatal(f"minimal_matmul_split currently only supports dim=-1, got dim={dim}", hint="Pass dim=-1.")
    fuse_swiglu = options["fuse_swiglu"]
    width, unit = weight_tensor.shape[-1], TILE_SIZE * (2 if fuse_swiglu else 1)
    if chunks < 1:
        raise TTFatal(f"minimal_matmul_split requires chunks >= 1, got chunks={chunks}", hint="Pass a larger number.")
    if width % chunks:
        raise TTFatal(
            f"Output width N={width} must be divisible by chunks={chunks}", hint="Pad the weight with ttnn.pad."
        )
    if (chunks > 1 or fuse_swiglu) and width // chunks % unit:
        raise TTFatal(
            f"Each chunk size N/chunks={width // chunks} must be a multiple of TILE_WIDTH={unit}",
            hint="Pad each part of the weight with ttnn.pad.",
        )
    f = Functions(options["memory_config"])
    handed = {name: options[name] for name in ("dtype", "compute_kernel_config")}
    handed |= {"bias": options["bias_tensor"], "activation": options["fused_activation"]}
    product = f.linear(input_tensor, weight_tensor, **handed)
    parts = [product] if chunks == 1 else list(f.split(product, width // chunks, -1))
    return [_gated(f, part) for part in parts] if fuse_swiglu else parts


def _gated(f: Functions, part: Tensor) -> Tensor:
    tiles = f.split(part, TILE_SIZE, -1)
    even, odd = (list(tiles[place::2]) for place in (0, 1))
    gate, value = (each[0] if len(each) == 1 else f.concat(each, -1) for each in (even, odd))
    return f.multiply(f.silu(gate), value)


@operation(
    "ttnn.experimental.dit_minimal_matmul_addcmul_fused", composite=True, also=("dtype", "compute_kernel_config")
)
def dit_minimal_matmul_addcmul_fused(
    matmul_input_tensor: Tensor,
    matmul_weight_tensor: Tensor,
    scalar: float,
    addcmul_input_tensor1: Tensor,
    addcmul_input_tensor2: Tensor,
    bias_tensor: Tensor | None,
    config: Any,
    memory_config: MemoryConfig | None,
    **options: Any,
) -> Tensor:
    """Computes ``input1 + scalar * (a @ b + bias) * input2``."""
    f = Functions(memory_config)
    product = f.linear(matmul_input_tensor, matmul_weight_tensor, bias=bias_tensor, **options)
    return f.addcmul(addcmul_input_tensor1, product, addcmul_input_tensor2, value=scalar)


_OF_NORMS = ("epsilon", "weight", "bias", "residual_input_tensor", "program_config", "compute_kernel_config")
"""Parameters that a fused norm hands to ``ttnn.rms_norm``."""


@operation("ttnn.experimental.dit_rms_norm_unary_fused", composite=True, also=_OF_NORMS)
def dit_rms_norm_unary_fused(
    input_tensor: Tensor, memory_config: MemoryConfig | None, activation: Any, **options: Any
) -> Tensor:
    """Computes an RMS norm, and applies a function."""
    f = Functions(memory_config)
    normalized = f.rms_norm(input_tensor, **options)
    if activation is None:
        return normalized
    function = dict(function_of(activation))
    return getattr(f, function["op_type"])(normalized, *function.get("params", ()))


@operation("ttnn.experimental.quantize_weights_via_host", composite=True)
def quantize_weights_via_host(device_tensor: Tensor, dtype: DataType, memory_config: MemoryConfig) -> Tensor:
    """Converts a tensor on the host, and moves it back."""
    f = Functions()
    return f.to_device(f.to_dtype(f.from_device(device_tensor), dtype), device_tensor.device(), memory_config)


@operation("ttnn.experimental.all_gather_matmul_async", composite=True, also=_OF_EXCHANGES)
def all_gather_matmul_async(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    persistent_output_buffer: Tensor | None,
    dim: int,
    memory_config_ag: MemoryConfig | None,
    topology: Topology,
    memory_config_mm: MemoryConfig | None,
    **options: Any,
) -> list[Tensor]:
    """Joins the tensors of all chips along a dimension, and multiplies them by a weight; returns both tensors."""
    gather = Functions(memory_config_ag).all_gather
    gathered = gather(input_tensor, dim, topology=topology, output_tensor=persistent_output_buffer)
    return [gathered, Functions(memory_config_mm).linear(gathered, weight_tensor, **options)]


@operation("ttnn.experimental.matmul_reduce_scatter_async", composite=True, also=_OF_EXCHANGES)
def matmul_reduce_scatter_async(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    persistent_output_buffer: Tensor,
    dim: int,
    memory_config_rs: MemoryConfig | None,
    topology: Topology,
    memory_config_mm: MemoryConfig | None,
    **options: Any,
) -> list[Tensor]:
    """Multiplies by a weight, and leaves to each chip its part of the sum of all products; returns both tensors."""
    product = Functions(memory_config_mm).linear(input_tensor, weight_tensor, **options)
    scatter = Functions(memory_config_rs).reduce_scatter
    return [product, scatter(product, dim, topology=topology, output_tensor=persistent_output_buffer)]


@operation("ttnn.experimental.deepseek_moe_reduce_scatter", composite=True)
def deepseek_moe_reduce_scatter(
    input_tensors: Sequence[Tensor],
    output_memory_config: MemoryConfig,
    dim: int,
    topology: Topology,
    cluster_axis: int | None,
) -> Tensor:
    """Joins parts of a tensor along a dimension, and leaves to each chip its part of the sum of those of all chips."""
    joined = Functions().concat(list(input_tensors), dim)
    scatter = Functions(output_memory_config).reduce_scatter
    return scatter(joined, dim, cluster_axis=cluster_axis, topology=topology)
