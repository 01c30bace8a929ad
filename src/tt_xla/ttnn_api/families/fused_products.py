"""Products that TT-NN fuses with exchanges, norms and functions, composed of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api.configs import Config, function_of
from tt_xla.ttnn_api.enums import DataType, Topology
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.operation import Functions, operation
from tt_xla.ttnn_api.tensor import Tensor


def _product(
    f: Functions,
    source: Tensor,
    weight: Tensor,
    chunks: int,
    *,
    fuse_swiglu: bool,
    bias: Tensor | None,
    activation: Any,
    dtype: DataType | None,
    config: Config | None,
) -> list[Tensor]:
    """Returns equal parts of the columns of a product.

    With ``fuse_swiglu`` each part is silu of its tiles at even places times its tiles at odd ones.

    Raises:
        TTFatal: the parts do not consist of whole tiles.
    """
    width, unit = weight.shape[-1], TILE_SIZE * (2 if fuse_swiglu else 1)
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
    product = f.linear(source, weight, bias=bias, dtype=dtype, activation=activation, compute_kernel_config=config)
    parts = [product] if chunks == 1 else list(f.split(product, width // chunks, -1))
    return [_gated(f, part) for part in parts] if fuse_swiglu else parts


def _gated(f: Functions, part: Tensor) -> Tensor:
    tiles = f.split(part, TILE_SIZE, -1)
    even, odd = (list(tiles[place::2]) for place in (0, 1))
    gate, value = (each[0] if len(each) == 1 else f.concat(each, -1) for each in (even, odd))
    return f.multiply(f.silu(gate), value)


@operation("ttnn.experimental.minimal_matmul", composite=True)
def minimal_matmul(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    bias_tensor: Tensor | None,
    fused_activation: Any,
    config: Any,
    memory_config: MemoryConfig | None,
    dtype: DataType | None,
    compute_kernel_config: Config | None,
    fuse_swiglu: bool,
) -> Tensor:
    """Multiplies matrices, adds a bias and applies a function."""
    return minimal_matmul_split(
        input_tensor,
        weight_tensor,
        1,
        -1,
        bias_tensor,
        fused_activation,
        config,
        memory_config,
        dtype,
        compute_kernel_config,
        fuse_swiglu,
    )[0]


@operation("ttnn.experimental.minimal_matmul_split", composite=True)
def minimal_matmul_split(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    chunks: int,
    dim: int,
    bias_tensor: Tensor | None,
    fused_activation: Any,
    config: Any,
    memory_config: MemoryConfig | None,
    dtype: DataType | None,
    compute_kernel_config: Config | None,
    fuse_swiglu: bool,
) -> list[Tensor]:
    """Multiplies matrices as ``minimal_matmul`` does, and returns parts of equal width."""
    if dim != -1:
        raise TTFatal(f"minimal_matmul_split currently only supports dim=-1, got dim={dim}", hint="Pass dim=-1.")
    return _product(
        Functions(memory_config),
        input_tensor,
        weight_tensor,
        chunks,
        fuse_swiglu=fuse_swiglu,
        bias=bias_tensor,
        activation=fused_activation,
        dtype=dtype,
        config=compute_kernel_config,
    )


@operation("ttnn.experimental.dit_minimal_matmul_addcmul_fused", composite=True)
def dit_minimal_matmul_addcmul_fused(
    matmul_input_tensor: Tensor,
    matmul_weight_tensor: Tensor,
    scalar: float,
    addcmul_input_tensor1: Tensor,
    addcmul_input_tensor2: Tensor,
    bias_tensor: Tensor | None,
    config: Any,
    memory_config: MemoryConfig | None,
    dtype: DataType | None,
    compute_kernel_config: Config | None,
) -> Tensor:
    """Computes ``input1 + scalar * (a @ b + bias) * input2``."""
    f = Functions(memory_config)
    product = f.linear(
        matmul_input_tensor,
        matmul_weight_tensor,
        bias=bias_tensor,
        dtype=dtype,
        compute_kernel_config=compute_kernel_config,
    )
    return f.addcmul(addcmul_input_tensor1, product, addcmul_input_tensor2, value=scalar)


@operation("ttnn.experimental.dit_rms_norm_unary_fused", composite=True)
def dit_rms_norm_unary_fused(
    input_tensor: Tensor,
    epsilon: float,
    weight: Tensor | None,
    bias: Tensor | None,
    residual_input_tensor: Tensor | None,
    memory_config: MemoryConfig | None,
    program_config: Config | None,
    compute_kernel_config: Config | None,
    activation: Any,
) -> Tensor:
    """Computes an RMS norm, and applies a function."""
    options = {"weight": weight, "bias": bias, "residual_input_tensor": residual_input_tensor}
    f = Functions(memory_config)
    normalized = f.rms_norm(
        input_tensor,
        epsilon=epsilon,
        program_config=program_config,
        compute_kernel_config=compute_kernel_config,
        **options,
    )
    if activation is None:
        return normalized
    function = dict(function_of(activation))
    return getattr(f, function["op_type"])(normalized, *function.get("params", ()))


@operation("ttnn.experimental.quantize_weights_via_host", composite=True)
def quantize_weights_via_host(device_tensor: Tensor, dtype: DataType, memory_config: MemoryConfig) -> Tensor:
    """Converts a tensor on the host, and moves it back."""
    f = Functions()
    return f.to_device(f.to_dtype(f.from_device(device_tensor), dtype), device_tensor.device(), memory_config)


@operation("ttnn.experimental.all_gather_matmul_async", composite=True)
def all_gather_matmul_async(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    persistent_output_buffer: Tensor | None,
    dim: int,
    all_gather_core_grid_offset: Any,
    bias: Tensor | None,
    memory_config_ag: MemoryConfig | None,
    topology: Topology,
    memory_config_mm: MemoryConfig | None,
    transpose_a: bool,
    transpose_b: bool,
    dtype: DataType | None,
    program_config: Config | None,
    activation: Any,
    compute_kernel_config: Config | None,
) -> list[Tensor]:
    """Joins the tensors of all chips along a dimension, and multiplies them by a weight; returns both tensors."""
    options: dict[str, Any] = {"topology": topology, "output_tensor": persistent_output_buffer}
    gathered = Functions(memory_config_ag).all_gather(input_tensor, dim, **options)
    product = Functions(memory_config_mm).linear(
        gathered,
        weight_tensor,
        bias=bias,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        dtype=dtype,
        program_config=program_config,
        activation=activation,
        compute_kernel_config=compute_kernel_config,
    )
    return [gathered, product]


@operation("ttnn.experimental.matmul_reduce_scatter_async", composite=True)
def matmul_reduce_scatter_async(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    persistent_intermediate_buffer: Tensor,
    persistent_output_buffer: Tensor,
    dim: int,
    reduce_scatter_core_grid_offset: Any,
    bias: Tensor | None,
    memory_config_rs: MemoryConfig | None,
    intermediate_memory_config_rs: MemoryConfig | None,
    topology: Topology,
    memory_config_mm: MemoryConfig | None,
    transpose_a: bool,
    transpose_b: bool,
    dtype: DataType | None,
    program_config: Config | None,
    activation: Any,
    compute_kernel_config: Config | None,
) -> list[Tensor]:
    """Multiplies by a weight, and leaves to each chip its part of the sum of all products; returns both tensors."""
    product = Functions(memory_config_mm).linear(
        input_tensor,
        weight_tensor,
        bias=bias,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        dtype=dtype,
        program_config=program_config,
        activation=activation,
        compute_kernel_config=compute_kernel_config,
    )
    options: dict[str, Any] = {"topology": topology, "output_tensor": persistent_output_buffer}
    return [product, Functions(memory_config_rs).reduce_scatter(product, dim, **options)]


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
