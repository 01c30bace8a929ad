"""Composite ops: functions of PyTorch that reach the compiler whole, under a name that it knows.

:data:`replacements` lists them. Scripts may add entries for composites of their own.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx import GraphModule, Node

from tt_xla.frontends.torch.graph.marks import StableHLOCompositeBuilder
from tt_xla.frontends.torch.graph.rewrites import attention


def composite_gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Computes ``F.gelu`` as the composite ``tenstorrent.gelu`` or ``tenstorrent.gelu_tanh``."""
    tanh = approximate == "tanh"
    builder = StableHLOCompositeBuilder(
        "tenstorrent.gelu_tanh" if tanh else "tenstorrent.gelu", {"approximate": "tanh"} if tanh else None
    )
    return builder.mark_outputs(F.gelu(builder.mark_inputs(input), approximate=approximate))


def composite_rms_norm(
    input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Computes ``F.rms_norm`` as ``tenstorrent.rms_norm`` of the input and, if present, the weight."""
    normalized_shape = _sizes(normalized_shape)
    epsilon = default_epsilon(input.dtype) if eps is None else eps
    builder = StableHLOCompositeBuilder(
        "tenstorrent.rms_norm", {"normalized_shape": list(normalized_shape), "epsilon": float(epsilon)}
    )
    input, weight = _marked(builder, input, weight)
    return builder.mark_outputs(F.rms_norm(input, normalized_shape, weight, epsilon))


def default_epsilon(dtype: torch.dtype) -> float:
    """Returns the epsilon of a root mean square norm without one: that of the type in which PyTorch computes it."""
    return torch.finfo(torch.float32 if dtype.itemsize < torch.float32.itemsize else dtype).eps


def _sizes(normalized_shape: int | Sequence[int]) -> list[int]:
    """Returns the normalised sizes as a list. As in ``nn.LayerNorm``, a number means the last dimension."""
    return [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)


def composite_layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Computes ``F.layer_norm`` as ``tenstorrent.layer_norm`` of the input and, if present, weight and bias."""
    normalized_shape = _sizes(normalized_shape)
    if weight is None and bias is not None:
        return F.layer_norm(input, normalized_shape, weight, bias, eps)  # the bias would be taken for a weight
    builder = StableHLOCompositeBuilder(
        "tenstorrent.layer_norm", {"normalized_shape": list(normalized_shape), "epsilon": float(eps)}
    )
    weight, bias = (None if affine is None else affine.to(input.dtype) for affine in (weight, bias))
    input, weight, bias = _marked(builder, input, weight, bias)
    return builder.mark_outputs(F.layer_norm(input, normalized_shape, weight, bias, eps))


def composite_group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Computes ``F.group_norm`` as ``tenstorrent.group_norm``. Channels are dimension 1."""
    if weight is None and bias is not None:
        return F.group_norm(input, num_groups, weight, bias, eps)
    builder = StableHLOCompositeBuilder(
        "tenstorrent.group_norm", {"num_groups": num_groups, "epsilon": float(eps), "channel_dim": 1}
    )
    input, weight, bias = _marked(builder, input, weight, bias)
    return builder.mark_outputs(F.group_norm(input, num_groups, weight, bias, eps))


def composite_topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Computes values and indices of ``torch.topk`` as ``tenstorrent.topk``."""
    if input.dim() == 0:
        return torch.topk(input, k, dim, largest, sorted)
    builder = StableHLOCompositeBuilder(
        "tenstorrent.topk", {"k": k, "dim": dim % input.dim(), "largest": largest, "sorted": sorted}
    )
    values, indices = torch.topk(builder.mark_inputs(input), k, dim, largest, sorted)
    return torch.return_types.topk(builder.mark_outputs(values, indices))


def composite_topk_values(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Tensor:
    """Computes the values of ``torch.topk`` as ``tenstorrent.topk_values``."""
    return _one_of_topk(0, input, k, dim, largest, sorted)


def composite_topk_indices(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Tensor:
    """Computes the indices of ``torch.topk`` as ``tenstorrent.topk_indices``."""
    return _one_of_topk(1, input, k, dim, largest, sorted)


def _one_of_topk(which: int, input: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> Tensor:
    """Computes result ``which`` of ``torch.topk``: 0 for the values, 1 for the indices."""
    if input.dim() == 0:
        return torch.topk(input, k, dim, largest, sorted)[which]
    builder = StableHLOCompositeBuilder(
        ("tenstorrent.topk_values", "tenstorrent.topk_indices")[which],
        {"k": k, "dim": dim % input.dim(), "largest": largest, "sorted": sorted},
    )
    return builder.mark_outputs(torch.topk(builder.mark_inputs(input), k, dim, largest, sorted)[which])


def composite_gather(
    input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None
) -> Tensor:
    """Computes ``torch.gather`` as ``tenstorrent.gather``, and copies the result to ``out`` if that is given."""
    builder = StableHLOCompositeBuilder("tenstorrent.gather", {"dim": dim, "sparse_grad": sparse_grad})
    input, index = builder.mark_inputs(input, index)
    result = builder.mark_outputs(torch.gather(input, dim, index, sparse_grad=sparse_grad))
    return result if out is None else out.copy_(result)


def composite_argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Computes ``torch.argmax`` along one dimension as ``tenstorrent.argmax``; without ``dim`` it stays a plain op."""
    if dim is None or input.dim() == 0:
        return torch.argmax(input, dim, keepdim)
    builder = StableHLOCompositeBuilder("tenstorrent.argmax", {"dim": dim % input.dim(), "keepdim": keepdim})
    return builder.mark_outputs(torch.argmax(builder.mark_inputs(input), dim, keepdim))


def composite_scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Computes ``F.scaled_dot_product_attention`` as ``tenstorrent.scaled_dot_product_attention`` where the chip has
    it.

    The chip has it for bfloat16 tensors [batch, heads, length, width] without dropout and gradients, with no mask or a
    bfloat16 mask. Everything else becomes plain ops.
    """
    tensors = (query, key, value) if attn_mask is None else (query, key, value, attn_mask)
    has_kernel = all(tensor.dtype == torch.bfloat16 and tensor.dim() == 4 for tensor in tensors)
    if not has_kernel or dropout_p or any(tensor.requires_grad for tensor in tensors):
        return attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    factor = query.size(-1) ** -0.5 if scale is None else scale
    builder = StableHLOCompositeBuilder(
        "tenstorrent.scaled_dot_product_attention", {"is_causal": is_causal, "scale": float(factor)}
    )
    query, key, value, attn_mask = _marked(builder, query, key, value, attn_mask)
    result = attention(query, key, value, attn_mask, 0.0, is_causal, factor, enable_gqa)
    return builder.mark_outputs(result)


def _marked(builder: StableHLOCompositeBuilder, *tensors: Tensor | None) -> list[Any]:
    """Marks tensors as inputs and returns them in order. None stays None and has no position among the inputs."""
    present = [tensor for tensor in tensors if tensor is not None]
    marked = builder.mark_inputs(*present)
    remaining = iter(marked if len(present) > 1 else (marked,))
    return [None if tensor is None else next(remaining) for tensor in tensors]


def replace_layer_norm_module(graph_module: GraphModule, node: Node, module: nn.LayerNorm) -> None:
    """Replaces a call of an ``nn.LayerNorm`` in a graph by a call of :func:`composite_layer_norm`."""
    weight, bias = (module_parameter(graph_module, node, name) for name in ("weight", "bias"))
    _replace(graph_module, node, composite_layer_norm, (list(module.normalized_shape), weight, bias, module.eps))


def replace_rms_norm_module(graph_module: GraphModule, node: Node, module: nn.RMSNorm) -> None:
    """Replaces a call of an ``nn.RMSNorm`` in a graph by a call of :func:`composite_rms_norm`."""
    weight = module_parameter(graph_module, node, "weight")
    _replace(graph_module, node, composite_rms_norm, (list(module.normalized_shape), weight, module.eps))


def replace_group_norm_module(graph_module: GraphModule, node: Node, module: nn.GroupNorm) -> None:
    """Replaces a call of an ``nn.GroupNorm`` in a graph by a call of :func:`composite_group_norm`."""
    weight, bias = (module_parameter(graph_module, node, name) for name in ("weight", "bias"))
    _replace(graph_module, node, composite_group_norm, (module.num_groups, weight, bias, module.eps))


def replace_gelu_module(graph_module: GraphModule, node: Node, module: nn.GELU) -> None:
    """Replaces a call of an ``nn.GELU`` in a graph by a call of :func:`composite_gelu`."""
    _replace(graph_module, node, composite_gelu, (module.approximate,))


def module_parameter(graph_module: GraphModule, node: Node, name: str) -> Node | None:
    """Inserts a ``get_attr`` node for a parameter of the module that ``node`` calls; returns None if there is none."""
    if getattr(graph_module.get_submodule(str(node.target)), name) is None:
        return None
    with graph_module.graph.inserting_before(node):
        return graph_module.graph.get_attr(f"{node.target}.{name}")


def _replace(graph_module: GraphModule, node: Node, function: Callable[..., Any], rest: tuple[Any, ...]) -> None:
    with graph_module.graph.inserting_after(node):
        call = graph_module.graph.call_function(function, (*node.args, *rest))
    call.meta = dict(node.meta)
    node.replace_all_uses_with(call)
    graph_module.graph.erase_node(node)


replacements: dict[Any, Any] = {
    F.gelu: composite_gelu,
    torch.rms_norm: composite_rms_norm,
    F.rms_norm: composite_rms_norm,
    torch.layer_norm: composite_layer_norm,
    F.layer_norm: composite_layer_norm,
    F.group_norm: composite_group_norm,
    torch.topk: {
        frozenset({0, 1}): composite_topk,
        frozenset({0}): composite_topk_values,
        frozenset({1}): composite_topk_indices,
    },
    torch.argmax: composite_argmax,
    torch.gather: composite_gather,
    F.scaled_dot_product_attention: composite_scaled_dot_product_attention,
    nn.LayerNorm: replace_layer_norm_module,
    nn.RMSNorm: replace_rms_norm_module,
    nn.GroupNorm: replace_group_norm_module,
    nn.GELU: replace_gelu_module,
}
"""Replacements by function or module type.

- A function maps to a function of the same arguments that is called instead.
- A function with several results maps to one function for each set of results that are used. The one that returns all
  results serves every other set.
- A module type maps to a function of graph module, node and module that replaces the ``call_module`` node."""

METHODS: dict[str, Any] = {"topk": torch.topk, "argmax": torch.argmax, "gather": torch.gather}
"""Function in :data:`replacements` by the tensor method that computes the same."""


def handle_composite_ops(gm: GraphModule) -> GraphModule:
    """Replaces functions, methods and modules of a graph as :data:`replacements` says, and returns the graph."""
    changed = False
    for node in list(gm.graph.nodes):
        if node.op in ("call_function", "call_method"):
            function = METHODS.get(node.target) if node.op == "call_method" else node.target
            changed |= function in replacements and _retarget(node, replacements[function])
        elif node.op == "call_module":
            module = gm.get_submodule(str(node.target))
            if type(module) in replacements:
                replacements[type(module)](gm, node, module)
                changed = True
    if changed:
        gm.graph.lint()
        gm.recompile()
    return gm


_NAMES_OF_NUMPY = {"a": "input", "axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}
"""Names of NumPy's parameters that PyTorch's functions take, and PyTorch's own."""


def _retarget(node: Node, replacement: Any) -> bool:
    """Makes a node call a replacement. Returns whether it takes the node's arguments; if not, the node stays."""
    one = replacement[max(replacement, key=len)] if isinstance(replacement, dict) else replacement
    keywords = {_NAMES_OF_NUMPY.get(name, name): value for name, value in node.kwargs.items()}
    try:
        inspect.signature(one).bind(*node.args, **keywords)
    except TypeError:
        return False
    node.op, node.kwargs = "call_function", keywords
    if isinstance(replacement, dict):
        replace_multi_output_op(node, replacement)
    else:
        node.target = replacement
    return True


def replace_multi_output_op(node: Node, variants: dict[frozenset[int], Callable[..., Any]]) -> None:
    """Makes a node call the variant that returns just the results that are used. A single result is no tuple."""
    items = [user for user in node.users if user.target is operator.getitem]
    used = frozenset(item.args[1] for item in items if item.users and isinstance(item.args[1], int))
    if len(items) < len(node.users) or used not in variants:
        node.target = variants[max(variants, key=len)]
        return
    node.target = variants[used]
    if len(used) > 1:
        return
    for item in items:
        if item.users:
            item.replace_all_uses_with(node)
        node.graph.erase_node(item)
