"""The table of ops: their names in TTIR, TTNN and Python, and the programs of tt-metal that run them.

An elementwise op has a row of its own, which gives the op class of each dialect, its lowering, its call in Python and
C++, and its file check. Ops of these rows have no properties. Other ops stand beside the program that runs them
(:data:`PROGRAMS`); their classes are in :mod:`tt_xla.ir.abstract` and in the dialects.
"""

from __future__ import annotations

from typing import NamedTuple

COMPUTE, TM, DM, CCL, HOST, OTHER = "Compute", "TM", "DM", "CCL", "Host", "Other"
"""Categories of ops in profiler files, as in ``tt-perf-report`` 1.4.1 (``OPERATION_CATEGORIES``): computing, tensor
manipulation, data movement, exchange between chips, work of the host, and all else."""


class Elementwise(NamedTuple):
    """One elementwise op."""

    ttir: str
    """Mnemonic in TTIR; empty where TTIR has no such op."""
    ttnn: str
    """Mnemonic in TTNN; empty where TT-NN has no such op."""
    meaning: str
    """Formula, which becomes the docstring of the op classes."""
    function: str = ""
    """Function of TT-NN in Python and C++; empty if it is called as the op."""
    kind: str = ""
    """``UnaryOpType`` or ``BinaryOpType`` of tt-metal; empty if it is the function's name in capitals."""

    @property
    def python(self) -> str:
        """Name of the function in Python, without ``ttnn``."""
        return self.function or self.ttnn

    @property
    def op_type(self) -> str:
        """Member of ``UnaryOpType`` or ``BinaryOpType``."""
        return self.kind or self.python.upper()


UNARY = (
    Elementwise("abs", "abs", "|x|"),
    Elementwise("acos", "acos", "arc cosine in radians"),
    Elementwise("asin", "asin", "arc sine in radians"),
    Elementwise("asinh", "asinh", "inverse hyperbolic sine"),
    Elementwise("atan", "atan", "arc tangent in radians"),
    Elementwise("bitcast_convert", "bitcast_convert", "the same bits under another element type", function="bitcast"),
    Elementwise("bitwise_not", "bitwise_not", "every bit inverted"),
    Elementwise("cbrt", "cbrt", "cube root"),
    Elementwise("ceil", "ceil", "least integer not below x"),
    Elementwise("cos", "cos", "cosine of radians"),
    Elementwise("erf", "erf", "error function"),
    Elementwise("erfc", "erfc", "1 - erf(x)"),
    Elementwise("exp", "exp", "e to the x"),
    Elementwise("exp2", "", "2 to the x"),
    Elementwise("expm1", "expm1", "e to the x, minus 1"),
    Elementwise("floor", "floor", "greatest integer not above x"),
    Elementwise("frac", "", "x - trunc(x)"),
    Elementwise("gelu", "gelu", "x * normal_cdf(x)"),
    Elementwise("", "gelu_approx", "gelu, as x / 2 plus a function of |x| that consists of six lines", function="gelu"),
    Elementwise("hardsigmoid", "hardsigmoid", "min(max(x + 3, 0), 6) / 6"),
    Elementwise("isfinite", "isfinite", "1 where x is finite, else 0"),
    Elementwise("log", "log", "natural logarithm"),
    Elementwise("log1p", "log1p", "log(1 + x)"),
    Elementwise("logical_not", "logical_not", "1 where x is 0, else 0", kind="LOGICAL_NOT_UNARY"),
    Elementwise("mish", "mish", "x * tanh(softplus(x))"),
    Elementwise("neg", "neg", "-x"),
    Elementwise("reciprocal", "reciprocal", "1 / x", kind="RECIP"),
    Elementwise("relu", "relu", "max(x, 0)"),
    Elementwise("relu6", "relu6", "min(max(x, 0), 6)"),
    Elementwise("round", "round", "nearest integer to x, the even one of two"),
    Elementwise("rsqrt", "rsqrt", "1 / sqrt(x)"),
    Elementwise("sigmoid", "sigmoid", "1 / (1 + exp(-x))"),
    Elementwise("sign", "sign", "-1, 0 or 1 as the sign of x"),
    Elementwise("signbit", "", "1 where the sign bit is set, else 0"),
    Elementwise("silu", "silu", "x * sigmoid(x)"),
    Elementwise("sin", "sin", "sine of radians"),
    Elementwise("softsign", "", "x / (1 + |x|)"),
    Elementwise("sqrt", "sqrt", "square root"),
    Elementwise("square", "", "x * x"),
    Elementwise("tan", "tan", "tangent of radians"),
    Elementwise("tanh", "tanh", "hyperbolic tangent"),
    Elementwise("trunc", "", "x without its fraction"),
)

BINARY = (
    Elementwise("add", "add", "lhs + rhs"),
    Elementwise("atan2", "atan2", "angle of the point (rhs, lhs)"),
    Elementwise("bitwise_and", "bitwise_and", "lhs & rhs"),
    Elementwise("bitwise_or", "bitwise_or", "lhs | rhs"),
    Elementwise("bitwise_xor", "bitwise_xor", "lhs ^ rhs"),
    Elementwise("div", "divide", "lhs / rhs", kind="DIV"),
    Elementwise("eq", "eq", "1 where lhs == rhs, else 0"),
    Elementwise("ge", "ge", "1 where lhs >= rhs, else 0", kind="GTE"),
    Elementwise("gt", "gt", "1 where lhs > rhs, else 0"),
    Elementwise("le", "le", "1 where lhs <= rhs, else 0", kind="LTE"),
    Elementwise("logical_and", "logical_and", "1 where both are not 0, else 0"),
    Elementwise("logical_left_shift", "logical_left_shift", "lhs << rhs", kind="LEFT_SHIFT"),
    Elementwise("logical_or", "logical_or", "1 where one is not 0, else 0"),
    Elementwise("logical_right_shift", "logical_right_shift", "lhs >> rhs without sign", kind="RIGHT_SHIFT"),
    Elementwise("logical_xor", "logical_xor", "1 where just one is not 0, else 0"),
    Elementwise("lt", "lt", "1 where lhs < rhs, else 0"),
    Elementwise("maximum", "maximum", "the greater one"),
    Elementwise("minimum", "minimum", "the lesser one"),
    Elementwise("multiply", "multiply", "lhs * rhs", kind="MUL"),
    Elementwise("ne", "ne", "1 where lhs != rhs, else 0"),
    Elementwise("pow", "pow_tensor", "lhs to the rhs", function="pow", kind="POWER"),
    # TT-NN's function remainder has the sign of the divisor; its fmod has that of the dividend, as this op has.
    Elementwise("remainder", "remainder", "lhs - rhs * trunc(lhs / rhs)", function="fmod"),
    Elementwise("right_shift", "", "lhs >> rhs, the sign kept"),
    Elementwise("subtract", "subtract", "lhs - rhs", kind="SUB"),
)


class DeviceProgram(NamedTuple):
    """A program of tt-metal, and the ops that it runs."""

    category: str
    code: str
    """Name in profiler files without ``DeviceOperation``; empty where each op has a program of its own name."""
    ops: str
    """Names of TTNN ops, and of ops that only ``import ttnn`` has, without dialect."""


PROGRAMS = (
    DeviceProgram(COMPUTE, "Unary", " ".join(row.ttnn for row in UNARY if row.ttnn)),
    DeviceProgram(
        COMPUTE,
        "Unary",
        "acosh atanh celu clamp_scalar cosh deg2rad digamma elu eqz erf_approx erfinv exp2 exp_approx fill frac "
        "gelu_tanh gez gtz hardmish hardshrink hardswish hardtanh heaviside i0 i1 isinf isnan isneginf isposinf "
        "leaky_relu lez lgamma log10 log10_approx log2 log2_approx log_approx log_sigmoid logit ltz mish_approx nez "
        "polygamma pow_scalar rad2deg rdiv relu_max relu_min round_decimals rpow rsqrt_approx selu sigmoid_approx "
        "signbit sinh softcap softplus softshrink softsign sqrt_approx square tanh_approx tanhshrink threshold trunc "
        "unary_chain xielu",
    ),
    DeviceProgram(COMPUTE, "BinaryNg", " ".join(row.ttnn for row in BINARY if row.ttnn)),
    DeviceProgram(
        COMPUTE,
        "BinaryNg",
        "bcast bitwise_right_shift clamp_tensor dequantize div_no_nan floor_div gcd hypot isclose lcm ldexp logaddexp "
        "logaddexp2 modulo nextafter prelu quantize requantize squared_difference xlogy",
    ),
    DeviceProgram(TM, "Ternary", "addcdiv addcmul lerp mac where"),
    DeviceProgram(
        COMPUTE,
        "",
        "alt_complex_rotate90 clamped_silu_glu gelu_bw sigmoid_bw situ_glu snake_beta tanh_bw "
        "repeat_and_interleave_eltwise_mul plus_one dropout",
    ),
    # Products and convolutions
    DeviceProgram(COMPUTE, "Matmul", "matmul linear"),
    DeviceProgram(COMPUTE, "SparseMatmul", "sparse_matmul"),
    DeviceProgram(
        COMPUTE,
        "",
        "attn_matmul attn_matmul_from_cache group_attn_matmul conv3d moreh_bmm moreh_bmm_backward moreh_dot "
        "moreh_dot_backward moreh_linear moreh_linear_backward moreh_matmul moreh_matmul_backward",
    ),
    DeviceProgram(COMPUTE, "Conv2d", "conv2d conv1d conv_transpose2d"),
    DeviceProgram(
        COMPUTE,
        "Pool2D",
        "max_pool2d max_pool2d_with_indices avg_pool2d global_avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d",
    ),
    DeviceProgram(COMPUTE, "UpSample", "upsample"),
    DeviceProgram(COMPUTE, "GridSample", "grid_sample"),
    DeviceProgram(
        COMPUTE,
        "",
        "apply_twiddles apply_twiddles_xl bluestein_fft fft fft_radix_pass fft_three_pass ifft rgb_to_yuv rotate "
        "fused_msda fused_msda_from_offsets multi_scale_deformable_attn",
    ),
    # Attention
    DeviceProgram(
        COMPUTE,
        "ScaledDotProductAttention",
        "scaled_dot_product_attention chunked_scaled_dot_product_attention flash_mla_prefill "
        "chunked_flash_mla_prefill sdpa_fw",
    ),
    DeviceProgram(
        COMPUTE,
        "ScaledDotProductAttentionDecode",
        "scaled_dot_product_attention_decode paged_scaled_dot_product_attention_decode "
        "flash_multi_latent_attention_decode paged_flash_multi_latent_attention_decode",
    ),
    DeviceProgram(
        COMPUTE,
        "",
        "joint_scaled_dot_product_attention ring_distributed_scaled_dot_product_attention "
        "ring_joint_scaled_dot_product_attention ring_mla sparse_sdpa sparse_sdpa_msa sdpa_bw indexer_score_dsa "
        "indexer_score_msa chunk_gated_delta_rule fused_recurrent_gated_delta_rule gated_delta_attn_seq",
    ),
    DeviceProgram(COMPUTE, "RotaryEmbedding", "rotary_embedding"),
    DeviceProgram(COMPUTE, "RotaryEmbeddingLlama", "rotary_embedding_llama"),
    DeviceProgram(COMPUTE, "", "rotary_embedding_hf rotary_embedding_llama_fused_qk rotate_half"),
    # Norms
    DeviceProgram(COMPUTE, "LayerNorm", "layer_norm rms_norm dit_rms_norm_unary_fused"),
    DeviceProgram(COMPUTE, "LayerNormPreAllGather", "layer_norm_pre_all_gather rms_norm_pre_all_gather"),
    DeviceProgram(COMPUTE, "LayerNormPostAllGather", "layer_norm_post_all_gather rms_norm_post_all_gather"),
    DeviceProgram(COMPUTE, "GroupNorm", "group_norm"),
    DeviceProgram(COMPUTE, "BatchNorm", "batch_norm_inference batch_norm_training"),
    DeviceProgram(COMPUTE, "Softmax", "softmax scale_mask_softmax"),
    DeviceProgram(
        COMPUTE,
        "",
        "distributed_layer_norm distributed_rms_norm fused_rms_minimal running_statistics moreh_group_norm "
        "moreh_group_norm_backward moreh_layer_norm moreh_layer_norm_backward moreh_logsoftmax "
        "moreh_logsoftmax_backward moreh_norm moreh_norm_backward moreh_softmax moreh_softmax_backward moreh_softmin "
        "moreh_softmin_backward",
    ),
    # Reductions
    DeviceProgram(COMPUTE, "Reduce", "sum mean max min prod std var"),
    DeviceProgram(COMPUTE, "FastReduceNC", "fast_reduce_nc"),
    DeviceProgram(COMPUTE, "ArgMax", "argmax"),
    DeviceProgram(COMPUTE, "Accumulation", "cumsum cumprod ema"),
    DeviceProgram(COMPUTE, "IntImg", "intimg"),
    DeviceProgram(COMPUTE, "Embeddings", "embedding"),
    DeviceProgram(
        COMPUTE,
        "",
        "deepseek_moe_fast_reduce_nc fast_reduce_nc_split hc_sum_reduce prefix_scan embedding_bw moreh_abs_pow "
        "moreh_cumsum moreh_cumsum_backward moreh_mean moreh_mean_backward moreh_sum moreh_sum_backward "
        "moreh_nll_loss moreh_nll_loss_backward moreh_nll_loss_unreduced_backward moreh_clip_grad_norm",
    ),
    DeviceProgram(COMPUTE, "", "adamw moreh_adam moreh_adamw moreh_sgd"),
    DeviceProgram(COMPUTE, "", "deepseek_grouped_gate moe_compute topk_router_gpt"),
    # Tensor manipulation
    DeviceProgram(TM, "Typecast", "typecast"),
    DeviceProgram(TM, "ReshapeView", "reshape"),
    DeviceProgram(TM, "Permute", "permute"),
    DeviceProgram(TM, "Transpose", "transpose"),
    DeviceProgram(TM, "Slice", "slice_static slice_dynamic"),
    DeviceProgram(TM, "PaddedSlice", "padded_slice"),
    DeviceProgram(TM, "SliceWrite", "slice_write"),
    DeviceProgram(TM, "Concat", "concat"),
    DeviceProgram(TM, "Repeat", "repeat repeat_interleave"),
    DeviceProgram(TM, "Pad", "pad"),
    DeviceProgram(TM, "Fold", "fold"),
    DeviceProgram(TM, "NLPConcatHeads", "concatenate_heads nlp_concat_heads"),
    DeviceProgram(TM, "NLPConcatHeadsDecode", "nlp_concat_heads_decode"),
    DeviceProgram(TM, "NlpCreateHeads", "split_query_key_value_and_split_heads nlp_create_qkv_heads"),
    DeviceProgram(TM, "NLPCreateQKVHeadsDecode", "nlp_create_qkv_heads_decode"),
    DeviceProgram(TM, "CreateQKVHeads", "create_qkv_heads"),
    DeviceProgram(
        TM,
        "",
        "convert_to_chw convert_to_hwc create_qkv_heads_from_separate_tensors moreh_fold nlp_concat_heads_boltz "
        "nlp_create_q_heads_split nlp_create_qkv_heads_boltz nlp_create_qkv_heads_falcon7b "
        "nlp_create_qkv_heads_segformer nlp_create_qkv_heads_vit nlp_kv_cache_load_slice roll transpose_rm tril triu "
        "prepare_conv2d_bias prepare_conv2d_weights prepare_conv3d_weights prepare_conv_transpose2d_bias "
        "prepare_conv_transpose2d_weights prepare_grid_sample_grid",
    ),
    # Data movement
    DeviceProgram(DM, "Copy", "copy assign"),
    DeviceProgram(DM, "PagedUpdateCache", "paged_update_cache update_cache fill_cache paged_fill_cache"),
    DeviceProgram(DM, "ShardedToInterleavedPartial", "sharded_to_interleaved_partial"),
    # Exchanges between chips
    DeviceProgram(CCL, "AllGather", "all_gather"),
    DeviceProgram(CCL, "AllReduceAsync", "all_reduce all_reduce_async"),
    DeviceProgram(CCL, "AllToAllAsyncGeneric", "all_to_all"),
    DeviceProgram(CCL, "Broadcast", "broadcast"),
    DeviceProgram(CCL, "ReduceScatter", "reduce_scatter"),
    DeviceProgram(
        CCL, "", "all_to_all_combine all_to_all_dispatch all_to_all_dispatch_metadata point_to_point reduce_to_root"
    ),
    # All else. tt-perf-report puts selections, sorts and the making of tensors into no category.
    DeviceProgram(OTHER, "TopK", "topk"),
    DeviceProgram(
        OTHER,
        "",
        "sort topk_large_indices sampling gather scatter scatter_add tosa_gather tosa_scatter rows_gather rows_scatter "
        "index_fill index_fill_new indexed_fill isin nonzero moreh_getitem moe_expert_token_remap moe_routing_remap "
        "mesh_partition",
    ),
    DeviceProgram(
        OTHER,
        "",
        "arange bernoulli constant empty fill_ones_rm fill_rm full moreh_arange moreh_full moreh_full_like ones rand "
        "randn uniform zeros",
    ),
    # These run a program that depends on their tensors' layouts, or none.
    DeviceProgram(OTHER, "", "to_layout to_memory_config to_tensor_spec"),
    DeviceProgram(
        OTHER,
        "",
        "aggregate_tensor begin_trace_capture capture_or_execute_trace deallocate distribute_tensor dump_tensor "
        "end_trace_capture execute_trace from_device get_device load_tensor to_device write_tensor transfer",
    ),
    DeviceProgram(HOST, "", "host_call host_callback"),
)
"""The programs, each of them with its ops."""


_OTHER_CODES = {
    COMPUTE: "AllGatherMatmul Binary FastReduceNC MaskedBincount MinimalMatmul MoeGroupedTopk OffsetCumsum "
    "OptimizedConvNew PostCombineReduce RMSAllGather SDPA SdpaDecode UnaryNg UnifiedRoutedExpertFfn Upsample",
    TM: "ConcatenateHeads FillPad NLPCreateHeadsDecode Reshape Split Tilize TilizeWithValPadding Untilize "
    "UntilizeWithUnpadding",
    DM: "Clone Halo InterleavedToSharded InterleavedToShardedPartial Move Reshard ShardedToInterleaved Where",
    CCL: "AllBroadcast AllGatherAsync AllGatherConcat AllToAllAsync Combine DeepseekMoEReduceScatter Dispatch "
    "LlamaReduceScatter RecvAsync RecvDirectAsync ReduceScatterMinimalAsync ReduceScatterMinimalDirect "
    "ReduceToRoot SelectiveReduceCombine SendAsync SendDirectAsync SliceReshardAsync StridedAllGatherAsync "
    "StridedReduceScatterAsync",
}
"""Further programs by category: of a card's profiler, and those that an op runs for some layouts of its tensors."""


def _own_code(op: str) -> str:
    return "".join(part.capitalize() for part in op.split("_"))


_PROGRAM_OF = {
    op: (program.code or _own_code(op), program.category) for program in PROGRAMS for op in program.ops.split()
}
_CATEGORY_OF = dict(_PROGRAM_OF.values()) | {
    code: category for category, codes in _OTHER_CODES.items() for code in codes.split()
}

_OP_TYPES = (
    {op: op.removesuffix("_approx").upper() for op, (code, _) in _PROGRAM_OF.items() if code == "Unary"}
    | {"clamp_scalar": "CLAMP_TSS", "pow_scalar": "POWER"}
    | {row.ttnn: row.op_type for row in (*UNARY, *BINARY) if row.ttnn}
)


def has_program(op: str) -> bool:
    """Returns whether the table has an op, which is given without its dialect."""
    return op in _PROGRAM_OF


def program_of(op: str) -> tuple[str, str]:
    """Returns the program that runs an op, and its category; the op's own name and Other if the table lacks it.

    Args:
        op: Name of the op without dialect, ``matmul`` for ``ttnn.matmul``.
    """
    return _PROGRAM_OF.get(op) or (_own_code(op), OTHER)


def category_of(code: str) -> str:
    """Returns the category of a program by its name in a profiler file, ours or a card's."""
    if "(torch)" in code:
        return HOST
    names = (code.removesuffix(ending) for ending in ("DeviceOperation", "Operation", "Op", ""))
    return next((_CATEGORY_OF[name] for name in names if name in _CATEGORY_OF), OTHER)


def op_type_of(op: str) -> str:
    """Returns the member of ``UnaryOpType`` or ``BinaryOpType`` of an op; empty for an op of other programs."""
    return _OP_TYPES.get(op, "")


MATMUL_CONFIGS = {
    "reuse": "MatmulMultiCoreReuseProgramConfig",
    "multi_cast": "MatmulMultiCoreReuseMultiCastProgramConfig",
    "multi_cast_1d": "MatmulMultiCoreReuseMultiCast1DProgramConfig",
    "dram_sharded": "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig",
}
"""Class of TT-NN by kind of a ``#ttnn.matmul_program_config``."""

FIDELITY_LABELS = {"lofi": "LoFi", "hifi2": "HiFi2", "hifi3": "HiFi3", "hifi4": "HiFi4"}
"""Name of a math fidelity in TT-NN and in profiler files, by its name in TTNN."""

SCATTER_REDUCTIONS = {"invalid": None, "sum": "add", "prod": "multiply", "max": "amax", "min": "amin"}
"""Argument ``reduce`` of TT-NN's scatter by ``scatter_reduce_type``; None to overwrite."""
