"""Functions that move elements or draw random ones, whose kernels have TT-NN's own parameters, and composed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.ttnn_api import conditions
from tt_xla.ttnn_api.configs import step
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.reduction import check_fill
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.inferred import from_kernel
from tt_xla.ttnn_api.operation import OPERATIONS, Functions, define, delivered, forward, operation
from tt_xla.ttnn_api.operation_enums import BcastOpDim, BcastOpMath
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor

for _name in ("indexed_fill", "index_fill", "index_fill_new", "scatter_add", "tosa_gather", "tosa_scatter"):
    from_kernel(f"ttnn.{_name}")
for _name in ("transpose_rm", "rotate_half", "intimg", "hc_sum_reduce"):
    from_kernel(f"ttnn.experimental.{_name}")
from_kernel("ttnn.experimental.repeat_and_interleave_eltwise_mul")
from_kernel("ttnn.experimental.prefix_scan", outputs=("", "h_prev"), pack=lambda results: results[0])


def _rolled_type(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the data type of a rolled tensor: TT-NN cuts it in two, and a block float that is not cut between tiles
    becomes a bfloat16.

    Raises:
        TTFatal: one part becomes a bfloat16 and the other does not.
    """
    source, dims = values["input_tensor"], values.get("dim")
    if not source.dtype.element.is_block_float or dims is None:
        return {}
    shifts = values["shifts"]
    steps = zip([shifts] if isinstance(shifts, int) else shifts, [dims] if isinstance(dims, int) else dims, strict=True)
    dtype = source.dtype
    for shift, dim in steps:
        place = source.dim(dim)
        cut = -shift % source.shape[place]
        if not cut:
            continue
        in_rows = source.rank == 1 or place == source.rank - 2
        if place >= source.rank - 2 and (source.shape[place] % TILE_SIZE or (in_rows and cut % TILE_SIZE)):
            dtype = DataType.BFLOAT16
        elif place == source.rank - 1 and cut % TILE_SIZE:
            raise TTFatal("All Tensors should have same dtypes.", hint="Convert input_tensor with ttnn.typecast.")
    return {"dtype": dtype}


from_kernel("ttnn.roll", prepare=_rolled_type)


def _check_sizes(values: dict[str, Any]) -> dict[str, Any]:
    """Refuses negative numbers, and an empty range."""
    low, high = values["low"], values["high"]
    conditions.check_unsigned("ttnn.rand", "shape", list(values["shape"]))
    conditions.check_unsigned("ttnn.rand", "seed", values["seed"])
    if low >= high:
        raise TTFatal(
            f"Uniform range lower bound must be less than upper bound, got [{low}, {high})",
            hint="Use ttnn.full for a tensor of one number.",
        )
    return {}


from_kernel("ttnn.rand", prepare=_check_sizes)
for _name in ("randn", "fill_rm", "fill_ones_rm"):
    from_kernel(f"ttnn.{_name}")
from_kernel(
    "ttnn.nonzero",
    dtype=DataType.UINT32,
    layout=Layout.ROW_MAJOR,
    prepare=lambda values: {"memory_config": values.get("memory_config") or DRAM_MEMORY_CONFIG},
)
from_kernel("ttnn.plus_one", outputs=("input_tensor",))
from_kernel("ttnn.sharded_to_interleaved_partial", outputs=("cache_tensor",))
from_kernel("ttnn.experimental.slice_write", outputs=("output_tensor",))
from_kernel("ttnn.experimental.padded_slice", outputs=("output_tensor",), also_takes=("pad_value",))
from_kernel(
    "ttnn.experimental.topk_large_indices",
    dtype=DataType.UINT32,
    layout=Layout.ROW_MAJOR,
    prepare=lambda values: _check_large_topk(values["input_tensor"], values["k"]) or {},
)
from_kernel("ttnn.experimental.isin", outputs=("out",), dtype=DataType.UINT32)
from_kernel("ttnn.experimental.fast_reduce_nc", outputs=("output",))
from_kernel("ttnn.experimental.dropout", outputs=("output_tensor",))
from_kernel("ttnn.bernoulli", outputs=("output",))
from_kernel("ttnn.sampling", outputs=("output_tensor",), dtype=DataType.UINT32, layout=Layout.ROW_MAJOR)

for _name, _dtype in {
    "quantize": DataType.INT32,
    "dequantize": DataType.BFLOAT16,
    "requantize": DataType.INT32,
}.items():
    from_kernel(f"ttnn.{_name}", outputs=("output_tensor",), dtype=_dtype)


def _check_large_topk(source: Operand, k: int) -> None:
    """Refuses what TT-NN's kernel refuses."""
    if source.layout is not Layout.ROW_MAJOR or source.dtype is not DataType.BFLOAT16:
        raise TTFatal(
            "topk_large_indices: input must be ROW_MAJOR BFLOAT16",
            hint="Convert it with ttnn.to_layout and ttnn.typecast.",
        )
    if not 16 <= k <= 2048 or k % 16 or k > source.shape[-1]:
        raise TTFatal(
            f"topk_large_indices: k must be a multiple of 16 from 16 to 2048 within the row, got {k}",
            hint="Take more elements, and slice the result.",
        )


def _bounds(values: dict[str, Any]) -> dict[str, Any]:
    return {"low": float(values["from"]), "high": float(values["to"])}


from_kernel("ttnn.uniform", outputs=("input",), prepare=_bounds, also_takes=("from", "to"))


@operation("ttnn.manual_seed", composite=True)
def manual_seed(seeds: Any) -> None:
    """Sets the seed of the numbers that are drawn without one.

    Raises:
        RuntimeError: ``seeds`` is a tensor, which sets the seed of each core.
    """
    import torch

    if not isinstance(seeds, int):
        raise RuntimeError(
            "ttnn.manual_seed: the emulated card has one generator for all cores; pass a number as seeds."
        )
    torch.manual_seed(seeds)


@operation("ttnn.reshape_on_device", composite=True)
def reshape_on_device(input_tensor: Tensor, W: int, Z: int, Y: int, X: int, memory_config: Any) -> Tensor:
    """Gives a tensor four dimensions; -1 stands for what is left."""
    return Functions(memory_config).reshape(input_tensor, [W, Z, Y, X])


@operation("ttnn.experimental.view", composite=True)
def view(input_tensor: Tensor, N: Any, C: int | None, H: int | None, W: int | None, shape: Any) -> Tensor:
    """Gives a tensor another shape, without moving elements."""
    sizes = shape if shape is not None else N if C is None else [N, C, H, W]
    return OPERATIONS["ttnn.reshape"](input_tensor, list(sizes))


@operation("ttnn.experimental.broadcast_to", composite=True)
def broadcast_to(input: Tensor, output_shape: Sequence[int], memory_config: Any, output: Tensor | None) -> Tensor:
    """Repeats a tensor along its dimensions of size 1 up to a shape."""
    result = Functions(memory_config).expand(input, list(output_shape))
    return delivered(result, output)


@operation("ttnn.tilize_with_val_padding", composite=True)
def tilize_with_val_padding(
    input_tensor: Tensor,
    output_tensor_shape: Sequence[int],
    pad_value: float,
    memory_config: Any,
    dtype: DataType | None,
) -> Tensor:
    """Turns rows into tiles. The shape that users see stays."""
    return OPERATIONS["ttnn.to_layout"](input_tensor, Layout.TILE, dtype, memory_config)


@operation("ttnn.untilize_with_unpadding", composite=True)
def untilize_with_unpadding(input_tensor: Tensor, output_tensor_end: Sequence[int], memory_config: Any) -> Tensor:
    """Turns tiles into rows, up to and with the position ``output_tensor_end``."""
    rows = OPERATIONS["ttnn.to_layout"](input_tensor, Layout.ROW_MAJOR, None, memory_config)
    ends = [min(end + 1, size) for end, size in zip(output_tensor_end, rows.shape, strict=True)]
    return rows if ends == list(rows.shape) else OPERATIONS["ttnn.slice"](rows, [0] * len(ends), ends)


@operation("ttnn.fill_implicit_tile_padding")
def fill_implicit_tile_padding(input_tensor: Operand, fill_value: float, memory_config: MemoryConfig | None) -> Step:
    """Fills the padding of tiles, which is not materialized here: the result remembers the value. The op is a pad by
    nothing."""
    sizes = input_tensor.shape[-2:]
    if input_tensor.layout is not Layout.TILE and any(size % TILE_SIZE for size in sizes):
        raise TTFatal("FillPad should only be used for tile layout", hint="Move the tensor with ttnn.to_layout.")
    check_fill(input_tensor)

    def with_padding(results: list[Tensor]) -> Tensor:
        (result,) = results
        result.contents.padding = fill_value
        return result

    attributes = {"padding": [0, 0] * input_tensor.rank, "value": float(fill_value)}
    result = input_tensor.type  # in the operand's memory, whatever the memory config says
    return Step("ttnn.pad", {"input": input_tensor}, [result], attributes, returns=with_padding)


forward("ttnn.experimental.typecast", "ttnn.typecast", optional_output_tensor="output_tensor")
forward("ttnn.reshard", "ttnn.to_memory_config", input_tensor="tensor", output_memory_config="memory_config")


@operation("ttnn.interleaved_to_sharded_partial", composite=True)
def interleaved_to_sharded_partial(
    input_tensor: Tensor,
    grid: Any,
    shard_shape: Sequence[int],
    num_slices: int,
    slice_index: int,
    shard_scheme: Any,
    shard_orientation: Any,
    output_dtype: DataType | None,
) -> Tensor:
    """Divides one of ``num_slices`` equal parts of the rows among cores."""
    f, width = Functions(), input_tensor.shape[-1]
    rows = f.reshape(input_tensor, [1, 1, -1, width])
    size = rows.shape[2] // num_slices
    part = f.slice(rows, [0, 0, slice_index * size, 0], [1, 1, (slice_index + 1) * size, width])
    return f.interleaved_to_sharded(part, grid, list(shard_shape), shard_scheme, shard_orientation, output_dtype)


def _centered(x: Tensor) -> Tensor:
    mean = Functions().mean(x, dim=[-2, -1], keepdim=True)
    return Functions().bcast(x, mean, BcastOpMath.SUB, BcastOpDim.HW)


def _variance_of(f: Functions, centered: Tensor) -> Tensor:
    """Returns the mean of squares of matrices, in whose number TT-NN counts the padding of tiles."""
    rows, columns = (-(-size // TILE_SIZE) * TILE_SIZE for size in centered.type.shape[-2:])
    return Functions().sum(f.square(centered), dim=[-2, -1], keepdim=True, scalar=1 / (rows * columns))


def _variance(f: Functions, x: Tensor) -> Tensor:
    return _variance_of(f, _centered(x))


def _deviation(f: Functions, x: Tensor) -> Tensor:
    return Functions().sqrt(_variance(f, x))


def _normalized(f: Functions, x: Tensor) -> Tensor:
    centered = _centered(x)
    return f.multiply(centered, _variance_of(f, centered), input_tensor_b_activations=[step("rsqrt")])


def _normalized_as_one(f: Functions, x: Tensor) -> Tensor:
    batch, channels, rows, columns = x.shape
    flat = f.reshape(x, [1, 1, rows, columns * channels * batch])
    return f.reshape(_normalized(f, flat), list(x.shape))


def _over_matrices(compute: Callable[[Functions, Tensor], Tensor]) -> Callable[..., Tensor]:
    def rule(input_tensor: Tensor, memory_config: Any) -> Tensor:
        return compute(Functions(memory_config), input_tensor)

    return rule


for _name, _compute in {
    "var_hw": _variance,
    "std_hw": _deviation,
    "normalize_hw": _normalized,
    "normalize_global": _normalized_as_one,
}.items():
    define(f"ttnn.{_name}", _over_matrices(_compute), composite=True)
