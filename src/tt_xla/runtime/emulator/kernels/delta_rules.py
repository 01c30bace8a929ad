"""Gated delta rules: linear attention whose state forgets, and corrects what it holds for a key.

For each token, with decay g, gate beta, and state S of a head [key, value]:
``S = exp(g) * S; S = S + k (beta * (v - k S)); o = scale * q S``. The parameters are TT-NN's.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def _by_head(tensor: Tensor, heads: int) -> Tensor:
    """Turns [batch, tokens, heads, width] into float32 [batch, heads, tokens, width], heads repeated to a number."""
    turned = tensor.float().transpose(1, 2)
    return turned.repeat_interleave(heads // turned.shape[1], 1)


def _recurred(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, gate: Tensor, state: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Returns the outputs [batch, heads, tokens, value], and the state after each token.

    The operands are [batch, heads, tokens, width], decay and gate [batch, heads, tokens].
    """
    batch, heads, tokens, width = key.shape
    held = query.new_zeros(batch, heads, width, value.shape[-1]) if state is None else state.float()
    outputs, states = [], []
    for token in range(tokens):
        k, v = key[:, :, token], value[:, :, token]
        held = held * decay[:, :, token, None, None].exp()
        wanted = (v - torch.einsum("bhk,bhkv->bhv", k, held)) * gate[:, :, token, None]
        held = held + k.unsqueeze(-1) * wanted.unsqueeze(-2)
        outputs.append(torch.einsum("bhk,bhkv->bhv", query[:, :, token], held))
        states.append(held)
    return torch.stack(outputs, 2), torch.stack(states, 2)


@kernel("ttnn.transformer.fused_recurrent_gated_delta_rule")
def fused_recurrent_gated_delta_rule(
    ctx: Any,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    initial_state_block_idx: Tensor | None = None,
    output_final_state: bool = False,
    output_per_token_state: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """Computes the rule token by token: queries and keys [B, T, H, K], values [B, T, HV, V], g and beta [B, T, HV].

    With ``initial_state_block_idx``, the state is a ring of blocks [T * B * HV, K, V]: each head starts from its block,
    and its states after each token go to the blocks ``token * B * HV + head``.
    """
    batch, _, heads = v.shape[:3]
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    state = initial_state
    if initial_state is not None and initial_state_block_idx is not None:
        ring = initial_state.reshape(-1, *initial_state.shape[-2:])
        blocks = initial_state_block_idx.flatten().long()
        taken = ring.new_empty(batch * heads, *ring.shape[1:]) if ring.is_meta else ring[blocks]
        state = taken.reshape(batch, heads, *ring.shape[1:])
    outputs, states = _recurred(
        _by_head(q, heads) * factor,
        _by_head(k, heads),
        _by_head(v, heads),
        g.float().transpose(1, 2),
        beta.float().transpose(1, 2),
        state,
    )
    result = outputs.transpose(1, 2)
    if initial_state is not None and initial_state_block_idx is not None:
        return result, states.permute(2, 0, 1, 3, 4).reshape(initial_state.shape)
    if output_per_token_state:
        return result, states.transpose(1, 2)
    return (result, states[:, :, -1]) if output_final_state else result


@kernel("ttnn.transformer.chunk_gated_delta_rule")
def chunk_gated_delta_rule(
    ctx: Any,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    output_head_major: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """Computes the rule over a sequence.

    Tensors of three dimensions hold the heads of each token one after the other, queries and keys not normalised.
    """
    heads = g.shape[-1]
    if q.dim() == 3:
        width = v.shape[-1] // heads
        q, k = (F.normalize(each.float().unflatten(-1, (-1, width)), dim=-1, eps=1e-6) for each in (q, k))
        v = v.unflatten(-1, (heads, width))
    query, key, value = (each.bfloat16() for each in (q, k, v))
    outputs, states = _recurred(
        _by_head(query, heads) * (q.shape[-1] ** -0.5 if scale is None else scale),
        _by_head(key, heads),
        _by_head(value, heads),
        g.float().transpose(1, 2),
        beta.float().transpose(1, 2),
        initial_state,
    )
    result = outputs.flatten(0, 1) if output_head_major else outputs.transpose(1, 2)
    return (result, states[:, :, -1]) if output_final_state else result


@kernel("ttnn.transformer.gated_delta_attn_seq")
def gated_delta_attn_seq(
    ctx: Any,
    L_unit: Tensor,
    v_beta_sc: Tensor,
    k_bd_sc: Tensor,
    intra_attn: Tensor,
    q_decay: Tensor,
    k_decay_t: Tensor,
    dl_exp: Tensor,
    initial_state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Passes the state through chunks [heads, chunks, rows, width].

    Each chunk's new values solve ``L_unit u = v_beta_sc - k_bd_sc S``.
    """
    state = v_beta_sc.new_zeros(len(v_beta_sc), k_bd_sc.shape[-1], v_beta_sc.shape[-1], dtype=torch.float32)
    state = state if initial_state is None else initial_state.float()
    outputs = []
    for chunk in range(L_unit.shape[1]):
        right = v_beta_sc[:, chunk].float() - k_bd_sc[:, chunk].float() @ state
        new = torch.linalg.solve_triangular(L_unit[:, chunk].float(), right, upper=False, unitriangular=True)
        outputs.append(q_decay[:, chunk].float() @ state + intra_attn[:, chunk].float() @ new)
        state = state * dl_exp[:, chunk].float() + k_decay_t[:, chunk].float() @ new
    return torch.stack(outputs, 1), state
