"""Functions of images and volumes whose kernels have TT-NN's own parameters, and products that TT-NN composes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import conditions, shards, signatures
from tt_xla.ttnn_api.configs import Config, WormholeComputeKernelConfig
from tt_xla.ttnn_api.enums import Arch, DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.inferred import from_kernel
from tt_xla.ttnn_api.operation import OPERATIONS, Functions, delivered, operation
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor


def _in_rows(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the data type of pooled images, whose rows hold no block floats."""
    return {"dtype": DataType.BFLOAT16} if values["input_tensor"].dtype.element.is_block_float else {}


for _name in ("adaptive_avg_pool2d", "adaptive_max_pool2d"):
    from_kernel(f"ttnn.{_name}", layout=Layout.ROW_MAJOR, prepare=_in_rows)
from_kernel("ttnn.grid_sample")
from_kernel(
    "ttnn.prepare_grid_sample_grid",
    dtype=DataType.BFLOAT16,
    prepare=lambda values: _check_grid(**values) or {},
    also_takes=("padding_mode", "output_dtype"),
)
from_kernel("ttnn.rotate")
from_kernel("ttnn.experimental.conv3d", also_takes=("config",), layout=Layout.ROW_MAJOR)


def _check_grid(
    grid: Operand, input_shape: Sequence[int], padding_mode: str, output_dtype: DataType | None, **_: Any
) -> None:
    """Refuses what TT-NN refuses."""
    if grid.type.on_device:
        raise TTFatal("Grid tensor must be on host", hint="Move it there with ttnn.from_device.")
    if grid.layout is not Layout.ROW_MAJOR:
        raise TTFatal("Grid tensor must be in row major layout", hint="Move it with ttnn.to_layout.")
    if grid.rank != 4 or grid.shape[-1] != 2:
        raise TTFatal("Grid tensor must be 4D, and its last dimension 2", hint=f"The shape is {grid.shape}.")
    if grid.dtype is not DataType.FLOAT32:
        raise TTFatal("Currently only float32 input grid is supported", hint="Convert it with ttnn.typecast.")
    if padding_mode != "zeros" or output_dtype not in (None, DataType.BFLOAT16):
        raise TTFatal(
            "Currently only 'zeros' padding mode and BFLOAT16 are supported", hint="Leave both parameters out."
        )
    if len(input_shape) != 4:
        raise TTFatal("Input shape must have 4 dimensions [N, H, W, C]", hint=f"It is {list(input_shape)}.")


def _check_factors(factors: Sequence[float], mode: str) -> None:
    """Refuses factors by which images cannot be scaled."""
    if len(factors) != 2:
        raise signatures.unfit("ttnn.upsample", f"scale_factor must have two numbers, got {list(factors)}")
    for name, factor in zip("hw", factors, strict=True):
        if factor <= 0:
            raise TTFatal(f"scale_factor_{name} must be positive, got {factor}", hint="Pass factors above 0.")
    if mode not in ("nearest", "bilinear"):
        raise TTFatal("mode must be 'nearest' or 'bilinear'", hint=f"Got {mode!r}.")
    if mode == "bilinear" and any(factor != int(factor) for factor in factors):
        raise TTFatal(
            f"bilinear mode requires integer scale factors, got ({factors[0]}, {factors[1]})",
            hint="Pass mode='nearest', or whole numbers.",
        )


@operation("ttnn.upsample")
def upsample(input_tensor: Operand, scale_factor: Any, mode: str, memory_config: MemoryConfig | None) -> Step:
    """Scales height and width of images [N, H, W, C]."""
    factors = [scale_factor] * 2 if isinstance(scale_factor, (int, float)) else list(scale_factor)
    conditions.check_rank(input_tensor, 4, "[N, H, W, C]")
    _check_factors(factors, mode)
    batch, rows, columns, channels = input_tensor.shape
    conditions.check_on_device("upsample expects an allocated device tensor as input", input_tensor)
    if mode == "bilinear" and input_tensor.dtype is not DataType.BFLOAT16:
        raise TTFatal("Bilinear upsample requires BFLOAT16 input", hint="Convert it with ttnn.typecast.")
    if mode == "bilinear" and channels % TILE_SIZE:
        raise TTFatal(
            "input channels should be divisible by 32",
            hint=f"The tensor has {channels} channels; pad them with ttnn.pad.",
        )
    if input_tensor.layout is Layout.TILE and (columns % TILE_SIZE or channels % TILE_SIZE):
        raise TTFatal(
            "Tiled input must be tile-aligned (no padding difference)",
            hint="Move it with ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT).",
        )
    shape = (batch, int(rows * factors[0]), int(columns * factors[1]), channels)
    memory = memory_config or shards.resized(input_tensor.memory, input_tensor.shape, shape, input_tensor.layout)
    result = input_tensor.type.with_(shape=shape, memory=memory)
    spec, device = input_tensor.memory.shard_spec, input_tensor.device
    banks = 0 if spec is None else spec.num_cores()
    if mode == "bilinear" and spec is None and device is not None:
        banks = min(batch * rows * columns, device.target.cores)
    attributes = {"scale_factor": factors, "mode": mode}
    return Step("ttnn.upsample", {"input": input_tensor}, [result], attributes, table_banks=banks)


@operation("ttnn.experimental.prepare_conv3d_weights", composite=True)
def prepare_conv3d_weights(weight_tensor: Tensor, groups: int, device: Any) -> Tensor:
    """Turns weights [outputs, inputs, kD, kH, kW] into [kD * kH * kW * inputs, outputs]."""
    f, outputs = Functions(), weight_tensor.shape[0]
    matrix = f.reshape(f.permute(weight_tensor, [2, 3, 4, 1, 0]), [-1, outputs])
    matrix = f.to_layout(matrix, Layout.TILE)
    return matrix if device is None else f.to_device(matrix, device)


_OF_CONVOLUTIONS = (
    *("device", "in_channels", "out_channels", "batch_size", "groups", "dtype", "bias_tensor", "conv_config"),
    *("compute_config", "memory_config", "return_output_dim", "return_weights_and_bias"),
)
"""Parameters that a convolution over one dimension hands on to one over two."""


@operation("ttnn.conv1d", composite=True, also=_OF_CONVOLUTIONS)
def conv1d(
    input_tensor: Tensor,
    weight_tensor: Tensor,
    input_length: int,
    kernel_size: int,
    stride: int,
    padding: Any,
    dilation: int,
    **values: Any,
) -> Any:
    """Computes a convolution over one dimension: a convolution of images of width 1."""
    f = Functions()
    if len(input_tensor.shape) != 4:
        input_tensor = f.reshape(input_tensor, [values["batch_size"], input_length, 1, values["in_channels"]])
    if len(weight_tensor.shape) == 3:
        weight_tensor = f.reshape(weight_tensor, [*weight_tensor.shape, 1])
    sides = [padding, 0] if isinstance(padding, int) else [*padding, 0, 0]
    tensors = {"input_tensor": input_tensor, "weight_tensor": weight_tensor}
    sizes = {"input_height": input_length, "input_width": 1, "kernel_size": (kernel_size, 1)}
    window = {"stride": (stride, 1), "padding": sides, "dilation": (dilation, 1)}
    result = f.conv2d(**tensors, **sizes, **window, **values)
    if not values["return_output_dim"]:
        return result
    made, (length, _one), *rest = result
    return (made, length, *rest)


@operation("ttnn.addmm", composite=True, also=("dtype", "program_config", "compute_kernel_config"))
def addmm(
    input_tensor: Tensor,
    mat1_tensor: Tensor,
    mat2_tensor: Tensor,
    alpha: float,
    beta: float,
    memory_config: MemoryConfig | None,
    optional_output_tensor: Tensor | None,
    **options: Any,
) -> Tensor:
    """Computes ``beta * input + alpha * mat1 @ mat2``."""
    wanted = [*mat1_tensor.type.shape[:-1], mat2_tensor.shape[-1]]
    if list(input_tensor.shape) != wanted:
        raise TTFatal(
            "input_tensor must have shape matching one of result of mat1_tensor @ mat2_tensor",
            hint=f"The product has shape {wanted}, the tensor {input_tensor.shape}.",
        )
    f = Functions(memory_config)
    product = f.matmul(mat1_tensor, mat2_tensor, **options)
    if alpha != 1:
        product = f.multiply(product, alpha)
    if beta:
        product = f.add(product, input_tensor if beta == 1 else f.multiply(input_tensor, beta))
    return delivered(product, optional_output_tensor)


_OF_PRODUCTS = ("transpose_a", "transpose_b", "memory_config", "dtype", "activation", "compute_kernel_config")


@operation("ttnn.matmul_batched_weights", composite=True, also=_OF_PRODUCTS)
def matmul_batched_weights(input_tensor_a: Tensor, input_tensors_b: Sequence[Tensor], **options: Any) -> list[Tensor]:
    """Multiplies a tensor by each of several weights."""
    return [OPERATIONS["ttnn.matmul"](input_tensor_a, weight, **options) for weight in input_tensors_b]


_FIELDS = (
    *("math_fidelity", "math_approx_mode", "fp32_dest_acc_en", "packer_l1_acc"),
    *("dst_full_sync_en", "throttle_level"),
)
"""Fields of a compute config."""


@operation("ttnn.init_device_compute_kernel_config", composite=True, also=_FIELDS)
def init_device_compute_kernel_config(arch: Arch | str, device_kernel_config: Config | None, **fields: Any) -> Config:
    """Returns a compute config: the one that is passed, or one of these fields."""
    return device_kernel_config or WormholeComputeKernelConfig(**fields)
