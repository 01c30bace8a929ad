"""Lists the functions of TT-NN whose calls are drawn, by family, with what draws their arguments."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from conformance.ttnn_draws import (
    Draw,
    Drawer,
    along,
    arange,
    attention,
    attention_decode,
    avg_pool,
    axis_only,
    batch_norm,
    binary,
    binary_tensors,
    binary_typed,
    chunk,
    clamp,
    clamp_gradient,
    concat,
    convolution,
    create_heads,
    creation,
    embedding,
    empty,
    expand,
    fill_cache,
    full,
    full_like,
    gather,
    gradient,
    gradient_of_two,
    group_norm,
    heads,
    images,
    integer_tensors,
    integers,
    layout,
    like,
    linear,
    loss,
    max_pool,
    moreh_axis,
    moreh_softmax,
    moved,
    normalized,
    pad,
    permute,
    product,
    reduction,
    reduction_of_one,
    repeat,
    repeat_interleave,
    reshape,
    roll,
    rotary,
    scaled,
    scan,
    scatter,
    slice_,
    split,
    split_heads,
    stack,
    ternary,
    tilize,
    to_rows,
    topk,
    transpose,
    typecast,
    unary,
    unary_number,
    unpadding,
    update_cache,
    upsample,
    val_padding,
    view,
    where,
)
from tt_xla.ttnn_api import signatures

TABLE: Mapping[str, Mapping[str, Drawer]] = {
    "reduction": {
        **dict.fromkeys(("sum", "mean", "max", "min", "std", "var"), reduction),
        **dict.fromkeys(("argmax", "prod"), reduction_of_one),
        **dict.fromkeys(("cumsum", "cumprod"), scan),
        "topk": topk,
        "moreh_sum": moreh_axis,
        "moreh_mean": moreh_axis,
        "moreh_cumsum": moreh_axis,
        "ema": lambda draw: f"{draw.tensor((1, *draw.shape(4, 4)[-3:]))}, 0.5",
    },
    "products": {"matmul": product, "linear": linear},
    "data movement": {
        "reshape": reshape,
        "view": view,
        "permute": permute,
        "transpose": transpose,
        "concat": concat,
        "slice": slice_,
        "pad": pad,
        "repeat": repeat,
        "repeat_interleave": repeat_interleave,
        "split": split,
        "chunk": chunk,
        "stack": stack,
        "squeeze": axis_only,
        "unsqueeze": axis_only,
        "expand": expand,
        "roll": roll,
        "gather": gather,
        "scatter": scatter,
        "sort": along,
        "tril": unary,
        "triu": unary,
        "to_layout": layout,
        "typecast": typecast,
        "to_memory_config": moved,
        "tilize": tilize,
        "tilize_with_zero_padding": tilize,
        "tilize_with_val_padding": val_padding,
        "untilize": to_rows,
        "untilize_with_unpadding": unpadding,
        "clone": unary,
        "nonzero": unary,
        "fill_implicit_tile_padding": unary_number,
    },
    "normalization": {
        "softmax": along,
        "layer_norm": normalized,
        "rms_norm": normalized,
        "batch_norm": batch_norm,
        "group_norm": group_norm,
        "moreh_softmax": moreh_softmax,
        "moreh_logsoftmax": moreh_softmax,
    },
    "transformer": {
        "transformer.scaled_dot_product_attention": attention,
        "transformer.scaled_dot_product_attention_decode": attention_decode,
        "transformer.concatenate_heads": heads,
        "transformer.split_query_key_value_and_split_heads": split_heads,
        "transformer.attention_softmax": lambda draw: f"{heads(draw)}, head_size=64",
        "experimental.nlp_concat_heads": heads,
        "experimental.nlp_create_qkv_heads": create_heads,
        "experimental.rotary_embedding": rotary,
        "experimental.rotary_embedding_hf": rotary,
    },
    "pooling": {
        "max_pool2d": max_pool,
        "avg_pool2d": avg_pool,
        "upsample": upsample,
        "global_avg_pool2d": images,
    },
    "convolution": {"conv2d": convolution, "conv_transpose2d": functools.partial(convolution, transposed=True)},
    "embedding": {"embedding": embedding},
    "kv cache": {"fill_cache": fill_cache, "update_cache": update_cache},
    "creation": {
        **dict.fromkeys(("zeros", "ones"), creation),
        "empty": empty,
        "full": full,
        "arange": arange,
        **dict.fromkeys(("zeros_like", "ones_like", "empty_like"), like),
        "full_like": full_like,
    },
    "losses": {"l1_loss": loss, "mse_loss": loss},
}
"""How the arguments of each function are drawn, by family; the signatures say which functions are pointwise."""

_BINARY_TENSORS = ("atan2", "hypot", "nextafter", "outer", "xlogy", "isclose", "logaddexp2_")
_NOT_POINTWISE = (
    *(
        "reallocate",
        "move",
        "deallocate",
        "to_torch",
        "from_device",
        "plus_one",
        "complex_tensor",
        "get_",
        "is_",
        "has_",
    ),
    *(
        "dump_",
        "copy",
        "real",
        "imag",
        "angle",
        "conj",
        "polar",
        "unary_chain",
        "uniform",
        "to_dtype",
        "sharded_to",
        "fill_",
    ),
    *(
        "view",
        "alt_complex",
        "moreh_",
        "rotate",
        "glu",
        "geglu",
        "reglu",
        "swiglu",
        "composite_example",
        "adaptive",
        "experimental",
    ),
    *(
        "from_host",
        "squeeze",
        "visualize",
        "aggregate",
        "unsqueeze",
        "std_hw",
        "var_hw",
        "normalize_",
        "manual",
        "event",
        "index",
    ),
    *(
        "transformer",
        "distributed",
        "graph",
        "kv_cache",
        "operations",
        "softmax",
        "scale_",
        "all_",
        "pearson",
        "snake",
        "situ",
    ),
    *("fold", "outer", "reduce_scatter", "reshard", "sparse_matmul", "tosa_", "matmul_", "polyval"),
    *(
        "clamped_silu",
        "assign",
        "bitcast",
        "sampling",
        "argmax",
        "digamma_",
        "layer",
        "rms",
        "rand",
        "bernoulli",
        "broadcast",
    ),
)


def families() -> Mapping[str, Mapping[str, Drawer]]:
    """Returns how the arguments of each function are drawn, by family."""
    listed = {name for members in TABLE.values() for name in members}
    pointwise: dict[str, Drawer] = {}
    gradients: dict[str, Drawer] = {}
    for full_name in signatures.lines():
        name = full_name.removeprefix("ttnn.")
        if name in listed or not name.islower() or name.startswith(_NOT_POINTWISE):
            continue
        first = signatures.overloads(full_name)[0]
        required = first.required
        if name.endswith("_bw"):
            if required == ["grad_tensor", "input_tensor"]:
                gradients[name] = gradient
            elif required[:1] == ["grad_tensor"] and len(required) == 3 and all("tensor" in each for each in required):
                gradients[name] = gradient_of_two
        elif required == ["input_tensor"] and "output_tensor" in first.names:
            pointwise[name] = unary
        elif required[:1] in (["input_tensor_a"], ["input_a"]) and len(required) == 2:
            if name in ("gcd", "lcm"):
                pointwise[name] = integer_tensors
            elif "bitwise" in name or "shift" in name:
                pointwise[name] = integers
            elif name in _BINARY_TENSORS:
                pointwise[name] = binary_tensors
            else:
                pointwise[name] = binary_typed if "dtype" in first.names else binary
        elif len(required) == 3 and required[0] in ("input_a", "input_tensor_a", "input"):
            pointwise[name] = ternary
        elif required[:1] == ["input_tensor"] and len(required) == 2 and "output_tensor" in first.names:
            pointwise[name] = unary_number
    pointwise |= {"where": where, "clamp": clamp, "clip": clamp, "prelu": unary_number}
    pointwise |= dict.fromkeys(("addalpha", "subalpha"), scaled)
    gradients |= dict.fromkeys(("clamp_bw", "clip_bw"), clamp_gradient)
    return {"pointwise": pointwise, "gradients": gradients, **TABLE}


def calls(each: int, seed: int) -> Mapping[str, Sequence[str]]:
    """Returns calls by family.

    Args:
        each: calls of each function; functions of small families get more.
        seed: what decides the draws.
    """
    drawn: dict[str, list[str]] = {}
    for family, members in families().items():
        count = max(each, -(-each * 12 // len(members)))
        drawn[family] = [
            f"ttnn.{name}({drawer(Draw(f'{seed} {name} {number}'))})"
            for name, drawer in sorted(members.items())
            for number in range(count)
        ]
    return drawn
