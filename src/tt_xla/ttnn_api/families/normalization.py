"""Softmax and normalizations."""

from __future__ import annotations

from tt_xla.ttnn_api import chosen_shards
from tt_xla.ttnn_api.configs import Config, compute_config
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.pointwise import required
from tt_xla.ttnn_api.geometry import TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.layouts import volume
from tt_xla.ttnn_api.operation import Functions, Part, Rule, define, operation
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor

_RANK_OF_ROWS = 4
"""Dimensions of a tensor of rows of which TT-NN computes the softmax along the last one."""


@operation("ttnn.softmax")
def softmax(
    input_tensor: Operand,
    dim: int,
    memory_config: MemoryConfig | None,
    compute_kernel_config: Config | None,
    numeric_stable: bool,
) -> Step:
    """Computes the softmax along a dimension."""
    source = required(input_tensor, "ttnn.softmax")
    axis = source.dim(dim, "Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    if source.layout is Layout.ROW_MAJOR and (source.rank != _RANK_OF_ROWS or axis != source.rank - 1):
        raise TTFatal("Inputs to softmax must be tilized", hint="Convert it with ttnn.to_layout.")
    result = source.type.with_(memory=memory_config, layout=Layout.TILE)
    attributes = {
        "dimension": axis,
        "numericStable": numeric_stable,
        "compute_config": compute_config(compute_kernel_config),
    }
    return Step("ttnn.softmax", {"input": source}, [result], attributes)


def _check_parameters(
    source: Operand, weight: Operand | None, bias: Operand | None, memory: MemoryConfig | None
) -> None:
    """Refuses what TT-NN refuses."""
    if source.type.on_device and source.memory.is_sharded() and memory is not None and not memory.is_sharded():
        raise TTFatal(
            "Sharded inputs require sharded outputs.", hint="Leave memory_config out, and move the result afterwards."
        )
    width = -(-source.shape[-1] // TILE_SIZE) * TILE_SIZE
    if source.layout is Layout.ROW_MAJOR and width != source.shape[-1]:
        raise TTFatal(
            f"ROW_MAJOR input requires W ({source.shape[-1]}) to be a multiple of tile width ({TILE_SIZE})",
            hint="Convert it with ttnn.to_layout.",
        )
    for word, operand in (("Gamma", weight), ("Beta", bias)):
        if operand is not None and operand.layout is Layout.TILE and operand.type.on_device:
            _check_width(source.shape[-1], operand.shape[-1], word.lower())
        if operand is None or operand.layout is not Layout.ROW_MAJOR:
            continue
        if operand.shape[-1] != TILE_SIZE or volume(operand.shape) != width:
            name = word.lower()
            raise TTFatal(
                f"{word}'s last padded dim needs to equal tile width and {name}'s volume needs to align with last "
                f"padded dim of input. Error with {name}.value().padded_shape(): {operand.shape}, "
                f"tile_width: {TILE_SIZE}",
                hint=f"Reshape it to [{width // TILE_SIZE}, {TILE_SIZE}], or move it with ttnn.to_layout to tiles.",
            )


def _check_width(width: int, own: int, name: str) -> None:
    """Refuses a parameter in tiles that is wider or narrower than the rows.

    Args:
        width: width of the rows.
        own: width of the parameter.
        name: TT-NN's name of it.

    Raises:
        TTFatal: the widths differ.
    """
    padded, own_padded = (-(-each // TILE_SIZE) * TILE_SIZE for each in (width, own))
    if padded == own_padded and own >= width:
        return
    change = {"gamma": "multiplied", "beta": "offset"}[name]
    raise TTFatal(
        f"Input and {name} padded widths must match and {name} logical width must be >= input logical width (otherwise "
        f"valid input columns would be {change} by {name} padding). Got input: logical[-1]={width} "
        f"padded[-1]={padded} vs {name}: logical[-1]={own} padded[-1]={own_padded}",
        hint=f"Give it {width} columns.",
    )


def _check_residual(source: Operand, residual: Operand | None) -> None:
    """Refuses a residual that TT-NN refuses."""
    if residual is None:
        return
    if residual.layout is not Layout.TILE:
        raise TTFatal(
            f"Residual tensor must have TILE layout, got: {residual.layout}", hint="Convert it with ttnn.to_layout."
        )
    if residual.shape != source.shape:
        raise TTFatal(
            f"Input and residual logical and padded shapes must match, got input: logical={source.shape} vs residual: "
            f"logical={residual.shape}",
            hint="Give it the input's shape.",
        )
    if source.memory.is_sharded() and residual.memory != source.memory:
        raise TTFatal(
            "Both a and b should have the same memory config",
            hint="Move the residual with ttnn.to_memory_config to the input's.",
        )


def _normalization(name: str) -> Rule:
    def rule(
        input_tensor: Operand,
        epsilon: float,
        weight: Operand | None,
        bias: Operand | None,
        residual_input_tensor: Operand | None,
        memory_config: MemoryConfig | None,
        compute_kernel_config: Config | None,
    ) -> Step:
        source = required(input_tensor, f"ttnn.{name}")
        _check_parameters(source, weight, bias, memory_config)
        _check_residual(source, residual_input_tensor)
        operands = {"input": source, "residual": residual_input_tensor, "weight": weight, "bias": bias}
        attributes = {"epsilon": epsilon, "compute_config": compute_config(compute_kernel_config)}
        memory = chosen_shards.inherited(memory_config, source.memory)
        return Step(f"ttnn.{name}", operands, [source.type.with_(memory=memory)], attributes)

    rule.__doc__ = f"Normalizes along the last dimension ({name})."
    return rule


for _name in ("layer_norm", "rms_norm"):
    define(f"ttnn.{_name}", _normalization(_name))


def _statistics(name: str, count: int, residual: str) -> Rule:
    def rule(
        input_tensor: Operand,
        dtype: DataType,
        residual_input_tensor: Operand | None,
        compute_kernel_config: Config | None,
        memory_config: MemoryConfig | None,
        recip_tensor: Operand | None,
    ) -> Step:
        operands = {"input": input_tensor, residual: residual_input_tensor}
        if recip_tensor is not None:
            operands["recip"] = recip_tensor
        shape = (*input_tensor.shape[:-1], count * TILE_SIZE)
        result = input_tensor.type.with_(shape=shape, dtype=dtype, memory=memory_config)
        attributes = {"compute_config": compute_config(compute_kernel_config)}
        return Step(f"ttnn.{name}_pre_all_gather", operands, [result], attributes)

    rule.__doc__ = f"Computes the statistics of rows for {name}, each in the first column of a tile."
    return rule


def _by_statistics(name: str, count: int) -> Rule:
    def rule(
        input_tensor: Operand,
        stats: Operand,
        epsilon: float,
        weight: Operand | None,
        bias: Operand | None,
        memory_config: MemoryConfig | None,
        compute_kernel_config: Config | None,
        dtype: DataType | None,
    ) -> Step:
        if stats.shape[-1] % (count * TILE_SIZE):
            raise TTFatal(
                f"ttnn.{name}_post_all_gather: stats have {stats.shape[-1]} columns, expected a multiple of "
                f"{count * TILE_SIZE}",
                hint=f"Make stats with ttnn.{name}_pre_all_gather, and gather those of all chips.",
            )
        operands = {"input": input_tensor, "stats": stats, "weight": weight, "bias": bias}
        attributes = {"epsilon": epsilon, "compute_config": compute_config(compute_kernel_config)}
        result = input_tensor.type.with_(dtype=dtype, memory=memory_config)
        return Step(f"ttnn.{name}_post_all_gather", operands, [result], attributes)

    rule.__doc__ = f"Normalizes by the statistics of all chips ({name})."
    return rule


for _name, _count, _residual in (("rms_norm", 1, "residual"), ("layer_norm", 2, "residual_input")):
    define(f"ttnn.{_name}_pre_all_gather", _statistics(_name, _count, _residual))
    define(f"ttnn.{_name}_post_all_gather", _by_statistics(_name, _count))


def _normalization_by_channel(
    input: Operand,
    mean: Operand,
    variance: Operand,
    eps: float,
    weight: Operand | None,
    bias: Operand | None,
    output: Operand | None,
    memory_config: MemoryConfig | None,
    compute_kernel_config: Config | None,
) -> Step:
    operands = {"input": input, "running_mean": mean, "running_var": variance, "weight": weight, "bias": bias}
    attributes = {"epsilon": eps, "compute_config": compute_config(compute_kernel_config)}
    result = input.type.with_(memory=memory_config) if output is None else output.type
    return Step("ttnn.batch_norm_inference", operands, [result], attributes, into=output)


_NORMALIZED = Part("ttnn.batch_norm_inference", _normalization_by_channel)
"""Normalizes each channel by given statistics."""


def _running_statistics(
    mean: Operand,
    variance: Operand,
    running_mean: Operand | None,
    running_var: Operand | None,
    momentum: float,
    compute_kernel_config: Config | None,
) -> Step:
    into = [each for each in (running_mean, running_var) if each is not None]
    operands = {"mean": mean, "variance": variance, "running_mean": running_mean, "running_var": running_var}
    attributes = {"momentum": momentum, "compute_config": compute_config(compute_kernel_config)}
    return Step("ttnn.running_statistics", operands, [each.type for each in into], attributes, into=into)


_UPDATED = Part("ttnn.running_statistics", _running_statistics)
"""Moves running statistics towards those of a batch, in their memory."""


def _mean_of_channels(x: Tensor, memory_config: MemoryConfig | None, config: Config | None) -> Tensor:
    """Returns means over matrices and then over batches. Results of TT-NN 0.81 show this order."""
    f = Functions(memory_config)
    of_matrices = f.mean(x, [2, 3], True, compute_kernel_config=config)
    return f.mean(of_matrices, 0, True, compute_kernel_config=config)


@operation("ttnn.batch_norm", composite=True)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    eps: float,
    momentum: float,
    weight: Tensor | None,
    bias: Tensor | None,
    output: Tensor | None,
    memory_config: MemoryConfig | None,
    compute_kernel_config: Config | None,
) -> Tensor:
    """Normalizes each channel, the second dimension; in training by the statistics of the batch."""
    if not training:
        if running_mean is None or running_var is None:
            raise TTFatal(
                "running_mean and running_var must be defined in evaluation mode", hint="Pass both, or training=True."
            )
        mean, variance = running_mean, running_var
    else:
        f = Functions(memory_config)
        mean = _mean_of_channels(input, memory_config, compute_kernel_config)
        squares = f.square(f.subtract(input, mean))
        variance = _mean_of_channels(squares, memory_config, compute_kernel_config)
    result = _NORMALIZED(input, mean, variance, eps, weight, bias, output, memory_config, compute_kernel_config)
    if training and (running_mean is not None or running_var is not None):
        count = input.shape[0] * input.shape[-2] * input.shape[-1]
        if running_var is not None and count > 1:
            variance = Functions(memory_config).multiply(variance, count / (count - 1))
        _UPDATED(mean, variance, running_mean, running_var, momentum, compute_kernel_config)
    return result
