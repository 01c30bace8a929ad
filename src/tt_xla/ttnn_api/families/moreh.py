"""The moreh functions, which have kernels with TT-NN's own parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.inferred import from_kernel
from tt_xla.ttnn_api.operation import OPERATIONS, delivered, operation
from tt_xla.ttnn_api.operation_enums import MorehSoftmaxOp
from tt_xla.ttnn_api.tensor import Tensor

_WITH_ONE_RESULT = {
    "abs_pow": "output",
    "bmm": "output",
    "cumsum": "output",
    "cumsum_backward": "input_grad",
    "dot": "output",
    "fold": "output",
    "getitem": "output",
    "linear": "output",
    "matmul": "output",
    "mean": "output",
    "mean_backward": "input_grad",
    "nll_loss_backward": "input_grad_tensor",
    "nll_loss_unreduced_backward": "input_grad_tensor",
    "norm": "output",
    "norm_backward": "input_grad",
    "sum": "output",
    "sum_backward": "input_grad",
}
"""Functions with one result, and the parameter with the tensor that receives it."""


def _check_dims(values: dict[str, Any]) -> dict[str, Any]:
    """Refuses dimensions that are counted from the end, or that a tensor lacks, and the divisor of a mean."""
    if values.get("divisor") is not None:
        raise TTFatal("divisor not supported yet.", hint="Multiply the sum by the inverse of the divisor.")
    dim, shape = values.get("dim"), values["input"].shape
    rank = len(shape)
    for each in dim if isinstance(dim, (list, tuple)) else [dim]:
        if each is not None and each < 0:
            raise TTFatal(
                f"Invalid dimension value: {each}. Expected a value between 0 and 7.", hint="Count from the front."
            )
        if each is not None and each >= rank:
            raise TTFatal(f"dim must be smaller than input tensor rank {rank}.", hint=f"The tensor has shape {shape}.")
    return {}


for _name, _output in _WITH_ONE_RESULT.items():
    from_kernel(f"ttnn.moreh_{_name}", outputs=(_output,), prepare=_check_dims if _name in ("mean", "sum") else None)
from_kernel("ttnn.moreh_nll_loss", outputs=("output_tensor", "divisor_tensor"), pack=lambda results: results[0])
for _name in ("full", "full_like"):
    from_kernel(f"ttnn.moreh_{_name}")


def _wanted(names: Sequence[str]) -> Callable[..., Callable[[list[Any]], list[Any]]]:
    """Returns the packing of results that the caller asks for or gives a tensor to; the others become None."""

    def make(values: dict[str, Any]) -> Callable[[list[Any]], list[Any]]:
        required = values.get("are_required_outputs")
        required = [False] * len(names) if required is None else list(required)
        kept = [flag or values.get(name) is not None for name, flag in zip(names, required, strict=False)]
        return lambda results: [
            results[index] if kept[index] and index < len(results) else None for index in range(len(names))
        ]

    return make


def _several(name: str, outputs: Sequence[str], memory: Sequence[str], *, first: bool = False) -> None:
    """Registers a function that returns those of its results that the caller asks for.

    Args:
        name: its name behind ``moreh_``.
        outputs: by result, the parameter with the tensor that receives it.
        memory: by result, the parameter with its memory config.
        first: whether the first result is always returned.
    """
    kept = _wanted(outputs)

    def returned(values: dict[str, Any]) -> Callable[[list[Any]], list[Any]]:
        choose = kept(values)
        return lambda results: [results[0], *choose(results)[1:]] if first else choose(results)

    from_kernel(f"ttnn.moreh_{name}", outputs=outputs, memory=memory, pack_for=returned)


_several("layer_norm", ("output", "mean", "rstd"), ("memory_config",), first=True)
_several("layer_norm_backward", ("input_grad", "gamma_grad", "beta_grad"), ("memory_config",))
_several("group_norm", ("output", "mean", "rstd"), ("memory_config", "mean_memory_config", "rstd_memory_config"))
_several(
    "group_norm_backward",
    ("input_grad", "gamma_grad", "beta_grad"),
    ("input_grad_memory_config", "gamma_grad_memory_config", "beta_grad_memory_config"),
)
_several("dot_backward", ("input_grad", "other_grad"), ("memory_config",))
_several("matmul_backward", ("input_a_grad", "input_b_grad"), ("memory_config",))
_several("bmm_backward", ("input_grad", "mat2_grad"), ("input_grad_memory_config", "mat2_grad_memory_config"))
_several(
    "linear_backward",
    ("input_grad", "weight_grad", "bias_grad"),
    ("input_grad_memory_config", "weight_grad_memory_config", "bias_grad_memory_config"),
)


def _of_family(op: MorehSoftmaxOp) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def complete(values: dict[str, Any]) -> dict[str, Any]:
        chosen = values.get("op")
        return {"op": chosen if isinstance(chosen, MorehSoftmaxOp) else op}

    return complete


for _op in MorehSoftmaxOp:
    _name = f"ttnn.moreh_{_op.name.lower()}"
    from_kernel(_name, outputs=("output_tensor",), prepare=_of_family(_op), also_takes=("strategy",))
    from_kernel(f"{_name}_backward", outputs=("input_grad_tensor",), prepare=_of_family(_op), also_takes=("strategy",))


def _all_of(count: int) -> Callable[[dict[str, Any]], Callable[[list[Any]], list[Any]]]:
    return lambda values: lambda results: [*results, *[None] * (count - len(results))]


_MOMENTS = ("param_out", "exp_avg_out", "exp_avg_sq_out", "max_exp_avg_sq_out")
from_kernel("ttnn.moreh_adam", outputs=_MOMENTS, pack_for=_all_of(4))
from_kernel("ttnn.moreh_adamw", outputs=_MOMENTS, pack_for=_all_of(4), prepare=lambda values: {"decoupled": True})
from_kernel(
    "ttnn.moreh_sgd",
    outputs=("param_out", "momentum_buffer_out"),
    memory=("param_out_memory_config", "momentum_buffer_out_memory_config"),
    pack_for=_all_of(2),
)


from_kernel("ttnn.moreh_clip_grad_norm", outputs=("total_norm",), each_output="inputs", pack=lambda results: results[0])


@operation("ttnn.moreh_arange", composite=True)
def moreh_arange(
    start: float,
    end: float,
    step: float,
    device: Any,
    output: Tensor | None,
    untilize_out: bool,
    dtype: DataType,
    memory_config: MemoryConfig | None,
) -> Tensor:
    """Creates a vector of numbers at equal distances, or in tiles a row."""
    layout = Layout.ROW_MAJOR if untilize_out else Layout.TILE
    made = OPERATIONS["ttnn.arange"](
        start, end, step, dtype=dtype, device=device, memory_config=memory_config, layout=layout
    )
    made = made if untilize_out else OPERATIONS["ttnn.reshape"](made, (1, made.shape[-1]))
    return delivered(made, output)
