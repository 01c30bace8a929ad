"""Heads, rotary embeddings, attention over pages, and caches, whose kernels have TT-NN's own parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tt_xla.ttnn_api import chosen_shards, conditions
from tt_xla.ttnn_api.enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.core_grids import num_cores_to_corerangeset
from tt_xla.ttnn_api.families.kv_cache import check_width
from tt_xla.ttnn_api.geometry import TILE_SIZE, CoreCoord, MemoryConfig, ShardSpec
from tt_xla.ttnn_api.inferred import from_kernel
from tt_xla.ttnn_api.operation import OPERATIONS, Functions, Rule, define, forward, operation
from tt_xla.ttnn_api.plan import Operand
from tt_xla.ttnn_api.tensor import Tensor


def _of_four_dimensions(values: dict[str, Any]) -> dict[str, Any]:
    """Refuses tensors with fewer than four dimensions."""
    for value in values.values():
        if isinstance(value, Operand):
            conditions.check_rank(value, 4, "one of four dimensions")
    return {}


def _of_one_matrix(values: dict[str, Any]) -> dict[str, Any]:
    """Refuses inputs that are not [batch, 1, sequence, width]."""
    _of_four_dimensions(values)
    source = values["input"]
    if source.shape[1] != 1:
        raise TTFatal(
            f"Unsupported input sequence length {source.shape[1]} is not equal to 1",
            hint=f"The tensor has shape {source.shape}; make it [batch, 1, sequence, width] with ttnn.reshape.",
        )
    return {}


from_kernel("ttnn.experimental.nlp_create_qkv_heads", pack=tuple, prepare=_of_one_matrix)
for _name in (
    *("create_qkv_heads", "create_qkv_heads_from_separate_tensors"),
    *("nlp_create_qkv_heads_falcon7b", "nlp_create_qkv_heads_vit", "nlp_create_q_heads_split"),
):
    from_kernel(f"ttnn.experimental.{_name}", pack=tuple, prepare=_of_four_dimensions)
for _name in ("nlp_create_qkv_heads_segformer", "nlp_create_qkv_heads_boltz"):
    from_kernel(f"ttnn.experimental.{_name}", each_output="output_tensors", pack=tuple)
from_kernel(
    "ttnn.experimental.nlp_concat_heads",
    prepare=lambda values: (
        _of_four_dimensions(values)
        | {"memory_config": chosen_shards.of_joined_heads(values.get("memory_config"), values["input_tensor"])}
    ),
)
for _name in (
    *("concatenate_heads", "nlp_concat_heads_boltz", "nlp_kv_cache_load_slice"),
    *("attn_matmul", "attn_matmul_from_cache"),
):
    from_kernel(f"ttnn.experimental.{_name}", outputs=("output_tensor",))
for _name in ("rotary_embedding_llama", "rotary_embedding_hf"):
    from_kernel(f"ttnn.experimental.{_name}")
from_kernel("ttnn.experimental.rotary_embedding_llama_fused_qk", memory=(), pack=tuple)
from_kernel("ttnn.experimental.group_attn_matmul", outputs=("optional_output_tensor",))
from_kernel("ttnn.experimental.split_query_key_value_and_split_heads", pack=tuple)
for _name in (
    "chunked_scaled_dot_product_attention",
    "chunked_flash_mla_prefill",
    "flash_mla_prefill",
    "flash_multi_latent_attention_decode",
    "paged_flash_multi_latent_attention_decode",
    "paged_scaled_dot_product_attention_decode",
):
    from_kernel(f"ttnn.transformer.{_name}")
from_kernel(
    "ttnn.transformer.joint_scaled_dot_product_attention", memory=(), pack=tuple, also_takes=("joint_strategy",)
)
from_kernel("ttnn.update_cache", outputs=("cache",), prepare=lambda values: check_width(values["input"]) or {})
from_kernel("ttnn.experimental.paged_fill_cache", outputs=("cache_tensor",))
from_kernel("ttnn.scale_mask_softmax", layout=Layout.TILE)


def _on_one_core_each(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the memory config of heads for decoding: the heads of each sequence on a core of their own."""
    config: MemoryConfig | None = values.get("memory_config")
    if config is not None and (config.shard_spec is not None or not config.is_sharded()):
        return {}
    source = values["input_tensor"]
    batch, heads = source.shape[2], values["num_heads"] + 2 * (values["num_kv_heads"] or values["num_heads"])
    width = source.shape[3] // heads
    cores = num_cores_to_corerangeset(batch, CoreCoord(8, 8), True)
    rows = -(-values["num_heads"] // TILE_SIZE) * TILE_SIZE
    spec = ShardSpec(cores, (rows, width), ShardOrientation.ROW_MAJOR)
    return {"memory_config": MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)}


from_kernel(
    "ttnn.experimental.nlp_create_qkv_heads_decode",
    pack=tuple,
    prepare=_on_one_core_each,
    also_takes=("overlap_qk_coregrid",),
)
from_kernel(
    "ttnn.experimental.nlp_concat_heads_decode",
    outputs=("output_tensor",),
    prepare=lambda values: {
        "memory_config": values.get("memory_config") or MemoryConfig(TensorMemoryLayout.INTERLEAVED, BufferType.L1)
    },
)


def _in_place(function: str, fixed: Mapping[str, Any]) -> Rule:
    def rule(input_tensor: Tensor, **values: Any) -> Tensor:
        given = {name: value for name, value in values.items() if value is not None}
        return OPERATIONS["ttnn.copy"](OPERATIONS[function](input_tensor, **given, **fixed), input_tensor)

    rule.__doc__ = f"Replaces a tensor by the result of {function}."
    return rule


_OF_SOFTMAX = ("input_tensor", "dim", "scale", "mask", "is_causal_mask", "compute_kernel_config", "numeric_stable")
for _name, _function, _fixed in (
    ("softmax_in_place", "ttnn.softmax", {}),
    ("scale_mask_softmax_in_place", "ttnn.scale_mask_softmax", {}),
    ("scale_causal_mask_hw_dims_softmax_in_place", "ttnn.scale_mask_softmax", {"is_causal_mask": True}),
):
    define(f"ttnn.{_name}", _in_place(_function, _fixed), _OF_SOFTMAX, composite=True)


def _scale(head_size: int | None) -> float:
    return 1.0 if head_size is None else 1 / math.sqrt(head_size)


@operation("ttnn.transformer.attention_softmax", composite=True)
def attention_softmax(
    tensor: Tensor, head_size: int | None, attention_mask: Tensor | None, causal_mask: bool, memory_config: Any
) -> Tensor:
    """Computes the softmax of attention scores that are divided by the root of the head's size and masked."""
    f = Functions(memory_config)
    if attention_mask is None:
        return f.softmax(f.multiply(tensor, _scale(head_size)), -1, numeric_stable=True)
    return f.scale_mask_softmax(tensor, _scale(head_size), attention_mask, is_causal_mask=causal_mask)


@operation("ttnn.transformer.attention_softmax_", composite=True)
def attention_softmax_(
    tensor: Tensor, head_size: int | None, attention_mask: Tensor | None, causal_mask: bool
) -> Tensor:
    """Replaces attention scores by their softmax.

    Raises:
        TTFatal: there is no mask.
    """
    if attention_mask is None:
        raise TTFatal(
            "Cannot apply divide by sqrt(head_size) using in-place version when attention_mask is not set.",
            hint="Pass attention_mask, or call ttnn.transformer.attention_softmax.",
        )
    return OPERATIONS["ttnn.copy"](attention_softmax(tensor, head_size, attention_mask, causal_mask, None), tensor)


forward("ttnn.kv_cache.update_cache_for_token_", "ttnn.update_cache", update_index="update_idx")


@operation("ttnn.experimental.paged_fused_update_cache", composite=True)
def paged_fused_update_cache(
    cache_tensor1: Tensor,
    input_tensor1: Tensor,
    cache_tensor2: Tensor,
    input_tensor2: Tensor,
    update_idxs_tensor: Tensor | None,
    share_cache: bool | None,
    page_table: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Writes one position of each sequence into two caches."""
    update = OPERATIONS["ttnn.experimental.paged_update_cache"]
    options = {"update_idxs_tensor": update_idxs_tensor, "share_cache": share_cache, "page_table": page_table}
    first = update(cache_tensor1, input_tensor1, **options)
    return first, update(cache_tensor2, input_tensor2, **options)


@operation("ttnn.experimental.complex_mul", composite=True)
def complex_mul(a_real: Tensor, a_imag: Tensor, b_real: Tensor, b_imag: Tensor) -> tuple[Tensor, Tensor]:
    """Multiplies two complex tensors, each in two parts."""
    f = Functions()
    real = f.subtract(f.multiply(a_real, b_real), f.multiply(a_imag, b_imag))
    return real, f.add(f.multiply(a_real, b_imag), f.multiply(a_imag, b_real))
