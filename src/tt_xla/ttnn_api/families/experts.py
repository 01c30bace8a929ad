"""Functions of mixtures of experts."""

from __future__ import annotations

from typing import Any

from tt_xla.ttnn_api.configs import compute_config
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG, MemoryConfig
from tt_xla.ttnn_api.inferred import from_kernel
from tt_xla.ttnn_api.operation import Functions, delivered, operation
from tt_xla.ttnn_api.tensor import Tensor

from_kernel(
    "ttnn.experimental.topk_router_gpt",
    dtype=(DataType.UINT16, DataType.BFLOAT16),
    layout=Layout.ROW_MAJOR,
    pack=tuple,
    prepare=lambda _: {"memory_config": L1_MEMORY_CONFIG},
)
from_kernel("ttnn.experimental.deepseek_grouped_gate", dtype=(DataType.BFLOAT16, DataType.UINT16), pack=tuple)
for _name, _memory in (
    ("fast_reduce_nc_split", "memory_config"),
    ("deepseek_moe_fast_reduce_nc", "output_memory_config"),
):
    from_kernel(f"ttnn.experimental.{_name}", memory=(_memory,), pack=list)


def _check_sparse(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of the kernel.

    Raises:
        TTFatal: TT-NN refuses the combination.
    """
    a_sparse, b_sparse = values["is_input_a_sparse"], values["is_input_b_sparse"]
    indices, nnz, output = values["indices"], values["nnz"], values["optional_output_tensor"]
    if not (a_sparse or b_sparse):
        raise TTFatal("sparse_matmul: at least one of the inputs must be sparse", hint="Pass is_input_b_sparse=True.")
    if indices is not None and (nnz is not None or not b_sparse):
        raise TTFatal(
            "sparse_matmul: indices requires is_input_b_sparse and no nnz", hint="Leave nnz out, which indices tell."
        )
    a, experts = values["input_tensor_a"].shape, values["input_tensor_b"].shape[1]
    batch = a[:2] if a_sparse else (*a[:2], 1, experts)
    return {
        "packed": output is not None and nnz is not None and tuple(output.shape[:-2]) != tuple(batch),
        "compute_config": compute_config(values["compute_kernel_config"]),
        "memory_config": values["memory_config"] or DRAM_MEMORY_CONFIG,
    }


from_kernel(
    "ttnn.sparse_matmul",
    outputs=("optional_output_tensor",),
    prepare=_check_sparse,
    also_takes=("compute_kernel_config",),
)

_KEPT = 32
"""Greatest elements that TT-NN's kernel keeps."""


@operation("ttnn.moe", composite=True)
def moe(
    input_tensor: Tensor,
    expert_mask_tensor: Tensor,
    topk_mask_tensor: Tensor,
    k: int,
    memory_config: MemoryConfig | None,
    output_tensor: Tensor | None,
) -> Tensor:
    """Returns the weight of the first expert for each row, [N, C, H, 1]; 0 where it is not among the greatest.

    TT-NN has one kernel for it. The emulated card composes it of ``topk``, ``softmax`` and ``sum``, with their time.
    """
    _check_moe(input_tensor, topk_mask_tensor, k)
    f = Functions(memory_config)
    values, positions = f.topk(f.add(input_tensor, expert_mask_tensor), k, -1)
    weights = f.softmax(f.add(values, topk_mask_tensor), -1)
    first = f.eqz(f.typecast(positions, DataType.BFLOAT16))
    result = f.sum(f.multiply(weights, first), -1, True)
    return delivered(result, output_tensor)


def _check_moe(source: Tensor, mask: Tensor, k: int) -> None:
    """Refuses what TT-NN's kernel refuses."""
    shape, mask_shape = tuple(source.shape), tuple(mask.shape)
    if len(shape) != 4:
        raise TTFatal(f"Input shape must be 4D, got {len(shape)}", hint="Reshape it with ttnn.reshape.")
    columns, pad = shape[-1], "Pad it with ttnn.pad and a value of -inf."
    if k != _KEPT:
        raise TTFatal(
            f"K must be equal to {_KEPT}, pad with -infinity if necessary to get {_KEPT}, got {k}",
            hint=f"Pass k={_KEPT} and a topk_mask_tensor with -inf behind the elements that count.",
        )
    if columns < 2 * _KEPT:
        raise TTFatal(
            f"Input shape inner dim {columns} must be a multiple of 64, pad with -infinity if necessary", hint=pad
        )
    if columns & (columns - 1):
        raise TTFatal(
            f"Input shape inner dim {columns} must be a power of 2, pad with -infinity if necessary", hint=pad
        )
    if source.layout is not Layout.TILE:
        raise TTFatal(
            "The input must be in tiled format", hint="Move it with ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)."
        )
    if mask_shape[-1] != k or any(size != 1 for size in mask_shape[:-1]):
        raise TTFatal(
            f"Topk mask must be row-broadcastable with last dim == k. Got rank={len(mask_shape)} and "
            f"shape={mask.shape} for k={k}",
            hint=f"Pass a mask of the shape [1, 1, 1, {k}].",
        )
