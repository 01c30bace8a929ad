"""Fourier transforms, gated delta rules, and attention over selected keys, beside torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.ttnn_api.conftest import Card, close, drawn

pytestmark = pytest.mark.quick


def in_rows(card: Card, value: torch.Tensor) -> Any:
    return card.put(value, card.ttnn.ROW_MAJOR_LAYOUT)


@pytest.mark.parametrize("length", [64, 60])
def test_fourier_transforms(card: Card, length: int) -> None:
    real, imaginary = drawn(3, length), drawn(3, length, seed=1)
    expected = torch.fft.fft(torch.complex(real, imaginary))
    spectrum = card.ttnn.experimental.fft(in_rows(card, real), in_rows(card, imaginary))
    close(torch.complex(*card.back(spectrum)), expected)
    close(torch.complex(*card.back(card.ttnn.experimental.ifft(*spectrum))), torch.complex(real, imaginary))
    close(torch.complex(*card("experimental.bluestein_fft", real, N=length)), torch.fft.fft(real))


def test_passes_compose_a_long_transform(card: Card) -> None:
    """Columns are transformed and turned, then rows: Cooley and Tukey's two passes."""
    e, signal, first, second = card.ttnn.experimental, drawn(32, 16), 16, 32
    columns = in_rows(card, signal.mT.contiguous())
    spectrum = torch.complex(*card.back(e.fft_radix_pass(columns, P=second, twiddle_N2=first)))
    parts = [in_rows(card, part.mT.contiguous()) for part in (spectrum.real, spectrum.imag)]
    passed = torch.complex(*card.back(e.fft(*parts)))
    close(passed.mT.reshape(-1), torch.fft.fft(signal.reshape(-1)))
    turned = torch.complex(*card.back(e.apply_twiddles(columns, columns, N1=second, N2=first)))
    turns = torch.arange(first).unsqueeze(1) * torch.arange(second) / (first * second)
    plain = torch.complex(signal.mT, signal.mT)
    close(turned, plain * torch.polar(torch.ones_like(turns), -2 * torch.pi * turns))


def test_transforms_of_three_passes(card: Card) -> None:
    signal = drawn(2048, 1024)
    result = torch.complex(*card("experimental.fft_three_pass", signal, full_N=1 << 21))
    assert result.shape == (1, 1024, 32, 64)
    expected = torch.fft.fft(signal.reshape(-1))
    assert (result.reshape(-1) - expected).abs().max() < 1e-4 * expected.abs().max()


def rule(q: Any, k: Any, v: Any, g: Any, beta: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The gated delta rule of one head, token by token."""
    state, outputs = torch.zeros(k.shape[-1], v.shape[-1]), []
    for token in range(len(q)):
        state = state * g[token].exp()
        state = state + torch.outer(k[token], beta[token] * (v[token] - k[token] @ state))
        outputs.append(q[token] @ state * q.shape[-1] ** -0.5)
    return torch.stack(outputs), state


@pytest.fixture
def tokens() -> list[torch.Tensor]:
    """Queries, keys, values of two heads of values for each head of keys, decay and gate."""
    q, k = (F.normalize(drawn(1, 64, 1, 64, seed=seed), dim=-1).bfloat16().float() for seed in (0, 1))
    v = drawn(1, 64, 2, 64, seed=2).bfloat16().float()
    return [q, k, v, -drawn(1, 64, 2, seed=3).abs(), torch.sigmoid(drawn(1, 64, 2, seed=4))]


@pytest.mark.parametrize("name", ["chunk_gated_delta_rule", "fused_recurrent_gated_delta_rule"])
def test_gated_delta_rules(card: Card, tokens: list[torch.Tensor], name: str) -> None:
    q, k, v, g, beta = tokens
    output, state = card(f"transformer.{name}", *tokens, output_final_state=True)
    for head in range(2):
        parts = q[0, :, 0], k[0, :, 0], v[0, :, head], g[0, :, head], beta[0, :, head]
        expected, last = rule(*parts)
        torch.testing.assert_close(output[0, :, head], expected, rtol=2e-2, atol=2e-3)
        torch.testing.assert_close(state[0, head], last, rtol=2e-2, atol=2e-3)


def test_states_of_each_token_go_to_a_ring(card: Card, tokens: list[torch.Tensor]) -> None:
    short = [each[:, :2] for each in tokens]
    ring = card.put(torch.zeros(4, 64, 64))
    blocks = card.ttnn.from_torch(torch.tensor([[2, 3]], dtype=torch.int32), device=card.device)
    operands = [card.put(each) for each in short]
    options = {"initial_state": ring, "initial_state_block_idx": blocks, "output_per_token_state": True}
    _, states = card.ttnn.transformer.fused_recurrent_gated_delta_rule(*operands, **options)
    assert states is ring
    _, expected = card("transformer.fused_recurrent_gated_delta_rule", *short, output_per_token_state=True)
    close(card.back(ring), expected.reshape(4, 64, 64))


def test_chunks_of_a_delta_rule(card: Card) -> None:
    lower = torch.eye(32) + 0.1 * torch.tril(drawn(2, 3, 32, 32), -1)
    v, k, q = (drawn(2, 3, 32, 128, seed=seed) * 0.1 for seed in (1, 2, 3))
    intra, keys, decay = drawn(2, 3, 32, 32, seed=4), drawn(2, 3, 128, 32, seed=5) * 0.1, torch.full((2, 3, 1, 1), 0.9)
    operands = (lower, v, k, intra, q, keys, decay, torch.zeros(2, 3, 32, 32))
    output, last = card("transformer.gated_delta_attn_seq", *operands)
    state = torch.zeros(2, 128, 128)
    for chunk in range(3):
        new = torch.linalg.inv(lower[:, chunk]) @ (v[:, chunk] - k[:, chunk] @ state)
        close(output[:, chunk], q[:, chunk] @ state + intra[:, chunk] @ new)
        state = 0.9 * state + keys[:, chunk] @ new
    close(last, state)


def test_attention_over_selected_latents(card: Card) -> None:
    ttnn = card.ttnn
    q, latents, sink = drawn(1, 32, 4, 96), drawn(1, 1, 128, 96, seed=1), drawn(1, 1, 1, 32, seed=2)
    chosen = torch.stack([torch.randperm(128)[:16] for _ in range(4)])[None, None]
    chosen[..., 3, 10:] = -1
    indices = ttnn.from_torch(chosen.to(torch.int32), dtype=ttnn.uint32, device=card.device)
    operands = [in_rows(card, each) for each in (q, latents)]
    options = {"kv_format": ttnn.transformer.SparseKVFormat.BF16, "attention_sink": in_rows(card, sink)}
    result = card.back(ttnn.transformer.sparse_sdpa(*operands, indices, 64, **options))
    for row in range(4):
        own = [place for place in chosen[0, 0, row].tolist() if place >= 0]
        scores = torch.cat([q[0, :, row] @ latents[0, 0, own].T, sink.reshape(32, 1)], -1) * 96**-0.5
        weights = torch.softmax(scores, -1)[:, :-1]
        torch.testing.assert_close(result[0, :, row], weights @ latents[0, 0, own, :64], rtol=2e-2, atol=2e-2)


def test_attention_over_selected_blocks(card: Card) -> None:
    ttnn = card.ttnn
    q, k, v = drawn(1, 32, 4, 64), drawn(1, 2, 256, 64, seed=1), drawn(1, 2, 256, 64, seed=2)
    chosen = torch.full((1, 2, 4, 16), -1, dtype=torch.int32)
    chosen[..., 0], chosen[:, 1, :, 1] = 1, 6
    indices = ttnn.from_torch(chosen, dtype=ttnn.uint32, device=card.device)
    operands = [in_rows(card, q), card.put(k), card.put(v)]
    options = {"block_size": 32, "chunk_start_idx": 60}
    result = card.back(ttnn.transformer.sparse_sdpa_msa(*operands, indices, **options))
    for head in (0, 31):
        group, seen = head // 16, torch.zeros(4, 256, dtype=torch.bool)
        seen[:, 32:64] = True
        seen[:, 192:224] = bool(group)
        seen &= torch.arange(256) <= torch.arange(60, 64).unsqueeze(1)
        expected = F.scaled_dot_product_attention(q[0, head], k[0, group], v[0, group], attn_mask=seen)
        torch.testing.assert_close(result[0, head], expected, rtol=2e-2, atol=2e-2)


def test_scores_that_select_keys(card: Card) -> None:
    q, k, weights = drawn(1, 4, 32, 64), drawn(1, 1, 64, 64, seed=1), drawn(1, 1, 32, 4, seed=2)
    hidden = torch.arange(64) > torch.arange(32, 64).unsqueeze(1)
    result = card("experimental.indexer_score_dsa", q, k, weights, chunk_start_idx=32)
    products = (q @ k.mT).relu() * weights.permute(0, 3, 2, 1)
    expected = products.sum(1, keepdim=True).masked_fill(hidden, -torch.inf)
    torch.testing.assert_close(result.float(), expected, rtol=2e-2, atol=2e-1)
    result = card("experimental.indexer_score_msa", q, k, num_groups=2, chunk_start_idx=32, block_size=32)
    pooled = (q @ k.mT).unflatten(1, (2, 2)).sum(2).masked_fill(hidden, -torch.inf).unflatten(-1, (2, 32)).amax(-1)
    torch.testing.assert_close(result.float(), pooled, rtol=2e-2, atol=2e-1)


@pytest.mark.parametrize("wrong", [{"chunk_size": 48}, {"use_qk_l2norm": True}])
def test_delta_rules_refuse(ttnn: Any, card: Card, tokens: list[torch.Tensor], wrong: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="must be"):
        card("transformer.chunk_gated_delta_rule", *tokens, **wrong)
