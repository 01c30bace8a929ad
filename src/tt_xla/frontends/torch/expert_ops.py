"""``torch.ops.tt``: mixtures of experts, with upstream's names and shapes.

Tokens are sent to the chips of their experts, multiplied by the weights of these, and brought back. Each op is composed
of torch's own ops, so it runs on every device, eagerly and compiled, and has gradients.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tt_xla.frontends.torch.custom_ops import check, composite_op
from tt_xla.frontends.torch.graph.marks import StableHLOCompositeBuilder

SPARSE_MATMUL = "tenstorrent.sparse_matmul"
"""The composite of a product with the weights of experts in use; ``is_input_a_sparse`` is its attribute."""


@composite_op
def sparse_matmul(
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    sparsity: Tensor,
    nnz: int | None = None,
    is_input_a_sparse: bool = False,
    is_input_b_sparse: bool = True,
) -> Tensor:
    """Returns products of blocks of rows with the weights of the experts that each block uses, 0 for other experts.

    Args:
        input_tensor_a: blocks of M rows, [A, B, M, K]; with ``is_input_a_sparse`` rows of each expert, [A, E, M, K].
            Tokens [1, D, S, K] that were dispatched are cut into the blocks of ``sparsity``, and so are rows of each
            expert [D, S, E, K].
        input_tensor_b: weights, [1, E, K, N].
        sparsity: what is not 0 is used: [A, B, 1, E]; [1, 1, A, E] with ``is_input_a_sparse``, and for tokens.
        nnz: how many products are not 0; it changes nothing.
        is_input_a_sparse: whether the rows belong to experts.
        is_input_b_sparse: whether only the weights that are used are multiplied.

    Returns:
        [A, B, 1, E, M, N]; [A, E, M, N] with ``is_input_a_sparse``; [A, B, E, M, N] for tokens that were dispatched,
        where A * B blocks of M tokens are theirs in order, and [D, S, E, N] for rows [D, S, E, K].

    Raises:
        ValueError: the shapes do not fit together, or neither operand is sparse.
    """
    name, a, b = "sparse_matmul", input_tensor_a, input_tensor_b
    shapes = {"input_tensor_a": a, "input_tensor_b": b, "sparsity": sparsity}
    check(a.dim() == b.dim() == sparsity.dim() == 4, name, "expected 4 dimensions", **shapes)
    check(b.shape[0] == 1 and a.shape[3] == b.shape[2], name, "input_tensor_b must be [1, experts, K, N]", **shapes)
    check(sparsity.shape[3] == b.shape[1], name, "sparsity must have a column for each expert", **shapes)
    if not (is_input_a_sparse or is_input_b_sparse):
        raise ValueError(f"tt.{name}: is_input_a_sparse and is_input_b_sparse are both False; expected one to be True")
    experts = b.shape[1]
    if not is_input_a_sparse:
        if a.shape[0] != 1 or sparsity.shape[:2] != (1, 1):
            check(sparsity.shape[:3] == (*a.shape[:2], 1), name, "sparsity must be [A, B, 1, experts]", **shapes)
            return _product(a, b, sparsity, False)
        outer, inner, rows = _blocks(name, a.shape[1], a.shape[2], sparsity.shape[2], **shapes)
        blocks = a.reshape(outer, inner, rows, a.shape[3])
        return _product(blocks, b, sparsity.reshape(outer, inner, 1, experts), False).squeeze(2)
    if a.shape[1] == experts and sparsity.shape[2] == a.shape[0]:
        return _product(a, b, sparsity, True)
    check(a.shape[2] == experts, name, "input_tensor_a must be [A, experts, M, K] or [D, S, experts, K]", **shapes)
    outer, inner, rows = _blocks(name, a.shape[0], a.shape[1], sparsity.shape[2], **shapes)
    blocks = a.reshape(outer * inner, rows, experts, a.shape[3]).transpose(1, 2)
    return _product(blocks, b, sparsity, True).transpose(1, 2).reshape(*a.shape[:3], b.shape[3])


def _blocks(name: str, batch: int, tokens: int, blocks: int, **shapes: Tensor) -> tuple[int, int, int]:
    """Returns into how many blocks tokens [batch, tokens] are cut, along both dimensions, and the tokens of a block."""
    count = batch * tokens
    check(blocks > 0 and count % blocks == 0, name, f"{count} tokens are not cut into {blocks} equal blocks", **shapes)
    rows = count // blocks
    if tokens % rows == 0:
        return batch, tokens // rows, rows
    if tokens == 1:
        return batch // rows, 1, rows
    return 1, blocks, rows


def _product(a: Tensor, b: Tensor, sparsity: Tensor, is_input_a_sparse: bool) -> Tensor:
    builder = StableHLOCompositeBuilder(SPARSE_MATMUL, {"is_input_a_sparse": is_input_a_sparse})
    a, b, sparsity = builder.mark_inputs(a, b, sparsity)
    products = torch.matmul(a, b) if is_input_a_sparse else torch.matmul(a[:, :, None, None], b[:, None, None])
    used = (sparsity != 0).reshape(products.shape[:-2])
    return builder.mark_outputs(products.masked_fill(~used[..., None, None], 0))


@composite_op
def all_to_all_dispatch(
    input_tensor: Tensor, expert_indices: Tensor, expert_mapping: Tensor, num_devices: int = 1, cluster_axis: int = 0
) -> tuple[Tensor, Tensor]:
    """Sends tokens to the chips of their experts: all chips of an axis get the tokens of all.

    Args:
        input_tensor: tokens, [B, S, H] or [B, 1, S, H].
        expert_indices: the experts of each token, [B * S, K], [B, S, K] or [B, 1, S, K].
        expert_mapping: 1 where an expert lies on a chip, [1, 1, E, chips].
        num_devices: chips along the axis.
        cluster_axis: the axis.

    Returns:
        The tokens, [1, B * num_devices, S, H], and their experts, [1, B * num_devices, S, K].

    Raises:
        ValueError: the shapes do not fit together.
    """
    name = "all_to_all_dispatch"
    shapes = {"input_tensor": input_tensor, "expert_indices": expert_indices}
    is_token = input_tensor.dim() == 3 or (input_tensor.dim() == 4 and input_tensor.shape[1] == 1)
    check(is_token, name, "input_tensor must be [B, S, H] or [B, 1, S, H]", **shapes)
    batch, length = input_tensor.shape[0], input_tensor.shape[-2]
    fits = expert_indices.numel() == batch * length * expert_indices.shape[-1]
    check(fits, name, "expert_indices must have a row for each token", **shapes)
    tokens = input_tensor.reshape(1, batch, length, -1).repeat(1, num_devices, 1, 1)
    chosen = expert_indices.reshape(1, batch, length, -1).repeat(1, num_devices, 1, 1)
    return tokens, chosen


@composite_op
def moe_expert_token_remap(
    topk_tensor: Tensor, expert_mapping: Tensor, expert_metadata: Tensor, num_devices: int = 1, reduction_size: int = 32
) -> tuple[Tensor, Tensor]:
    """Returns the scores of each token's experts, and which experts each block of tokens uses.

    Args:
        topk_tensor: the scores of all experts for the tokens T of one chip, [T, E], or of all chips of the axis,
            [1, 1, tokens, E].
        expert_mapping: 1 where an expert lies on a chip, [1, 1, E, chips].
        expert_metadata: the experts of each token, [1, 1, tokens, K].
        num_devices: chips along the axis.
        reduction_size: tokens of a block.

    Returns:
        The scores, 0 for other experts, [1, 1, tokens, E], and 1 for each expert in use, [1, 1, blocks, E].

    Raises:
        ValueError: the shapes do not fit together.
    """
    name = "moe_expert_token_remap"
    scores = topk_tensor if topk_tensor.dim() == 4 else topk_tensor.reshape(-1, topk_tensor.shape[-1])
    scores = scores if topk_tensor.dim() == 4 else scores.repeat(num_devices, 1)[None, None]
    shapes = {"topk_tensor": topk_tensor, "expert_metadata": expert_metadata}
    fits = expert_metadata.dim() == 4 and scores.shape[:3] == expert_metadata.shape[:3]
    check(fits, name, "expert_metadata must be [1, 1, tokens, K]", **shapes)
    experts = torch.arange(scores.shape[3], device=scores.device)
    chosen = (expert_metadata.unsqueeze(-1) == experts).any(-2)
    blocks = -(-chosen.shape[2] // reduction_size)
    rows = torch.nn.functional.pad(chosen, (0, 0, 0, blocks * reduction_size - chosen.shape[2]))
    used = rows.reshape(1, 1, blocks, reduction_size, -1).any(3)
    return scores.masked_fill(~chosen, 0), used.to(scores.dtype)


@composite_op
def all_to_all_combine(
    input_tensor: Tensor,
    expert_metadata: Tensor,
    expert_mapping: Tensor,
    num_devices: int = 1,
    cluster_axis: int = 0,
    num_experts_per_tok: int = 2,
    output_shard_dim: int = 1,
) -> Tensor:
    """Brings what experts made of tokens back to the chips of these.

    Args:
        input_tensor: results of each expert, [E, 1, tokens, H], or with the tokens in two dimensions.
        expert_metadata: the experts of each token, [1, 1, tokens, K].
        expert_mapping: 1 where an expert lies on a chip, [1, 1, E, chips].
        num_devices: chips along the axis.
        cluster_axis: the axis.
        num_experts_per_tok: K.
        output_shard_dim: the dimension of the result in which the tokens lie, 1 or 2.

    Returns:
        The results of each token's experts, in the order of ``expert_metadata``: [K, tokens / num_devices, 1, H], or
        [K, 1, tokens / num_devices, H].

    Raises:
        ValueError: the shapes do not fit together, or ``output_shard_dim`` is neither 1 nor 2.
    """
    name = "all_to_all_combine"
    shapes = {"input_tensor": input_tensor, "expert_metadata": expert_metadata}
    if output_shard_dim not in (1, 2):
        raise ValueError(f"tt.{name}: output_shard_dim is {output_shard_dim}; expected 1 or 2")
    tokens, chosen = expert_metadata.shape[-2], expert_metadata.shape[-1]
    fits = input_tensor.dim() == 4 and input_tensor.shape[1] * input_tensor.shape[2] == tokens
    check(fits, name, "input_tensor must be [experts, 1, tokens, H]", **shapes)
    check(chosen == num_experts_per_tok, name, f"num_experts_per_tok is {num_experts_per_tok}", **shapes)
    own = tokens // num_devices
    results = input_tensor.reshape(input_tensor.shape[0], tokens, -1)[:, :own]
    indices = expert_metadata.reshape(tokens, chosen)[:own].long().transpose(0, 1)
    combined = results.gather(0, indices.unsqueeze(-1).expand(chosen, own, results.shape[-1]))
    return combined.unsqueeze(2 if output_shard_dim == 1 else 1)
