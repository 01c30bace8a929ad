"""A compiled graph writes to a cache only in the memory of the user's tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tt_xla.frontends.torch.backend import compiled_programs
from tt_xla.frontends.torch.device import buffer_of
from tt_xla.runtime.emulator.formats import quantize

CACHE = torch.randn(2, 2, 64, 32, generator=torch.Generator().manual_seed(0))


def new(count: int) -> torch.Tensor:
    return torch.randn(2, 2, count, 32, generator=torch.Generator().manual_seed(count))


def index_copy(cache: torch.Tensor, rows: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    cache.index_copy_(2, position, rows)
    return cache.sum(2)


def index_put(cache: torch.Tensor, rows: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    cache[:, :, position] = rows
    return cache.sum(2)


def assign(cache: torch.Tensor, rows: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    cache[:, :, 5:6] = rows
    return cache.sum(2)


def prefill(cache: torch.Tensor, rows: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    cache.index_copy_(2, torch.arange(rows.shape[2], device=cache.device), rows)
    return cache.sum(2)


def prefill_by_slice(cache: torch.Tensor, rows: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    cache[:, :, : rows.shape[2]] = rows
    return cache.sum(2)


def compiled(function: Callable[..., Any], traced: bool) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(function, backend="tt", options={"enable_trace": traced})


def writes() -> int:
    program = compiled_programs()[-1]
    steps = [step.op for function in program.functions for step in function.body]
    return sum(op in ("ttnn.paged_update_cache", "ttnn.fill_cache") for op in steps)


@pytest.mark.parametrize("traced", [False, True], ids=["plain", "traced"])
@pytest.mark.parametrize(
    ("function", "count", "expected_writes"),
    [(index_copy, 1, 1), (index_put, 1, 1), (assign, 1, 1), (prefill, 32, 2), (prefill_by_slice, 32, 2)],
)
def test_a_cache_stays_where_it_is(
    function: Callable[..., Any], count: int, expected_writes: int, traced: bool
) -> None:
    call = compiled(function, traced)
    cache, expected = CACHE.to("tt"), CACHE.clone()
    address, alias = buffer_of(cache).host.data_ptr(), cache[0]
    for position in range(4):
        place = torch.tensor([position])
        result = call(cache, new(count).to("tt"), place.to("tt"))
        torch.testing.assert_close(result.cpu(), function(expected, new(count), place), atol=1e-3, rtol=1e-3)
        assert buffer_of(cache).host.data_ptr() == address
        assert torch.equal(cache.cpu(), expected)
        assert torch.equal(alias.cpu(), expected[0])
    assert writes() == expected_writes


@pytest.mark.parametrize("traced", [False, True], ids=["plain", "traced"])
def test_what_was_taken_of_a_cache_before_stays(traced: bool) -> None:
    """Copies of the cache, recorded ops that have not run, and a source on the CPU keep the old contents."""
    call = compiled(index_copy, traced)
    source = CACHE.clone()
    for _ in range(3):
        cache = source.to("tt")
        copy, pending = cache.clone(), cache + 1
        call(cache, new(1).to("tt"), torch.tensor([3]).to("tt"))
        assert torch.equal(copy.cpu(), CACHE)
        assert torch.equal(pending.cpu(), CACHE + 1)
        assert torch.equal(source, CACHE)
        assert not torch.equal(cache.cpu(), CACHE)


def test_a_graph_that_needs_the_old_cache_copies_it() -> None:
    def both(cache: torch.Tensor, rows: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        old = cache * 2
        cache.index_copy_(2, position, rows)
        return old

    call = compiled(both, False)
    cache = CACHE.to("tt")
    old = call(cache, new(1).to("tt"), torch.tensor([3]).to("tt"))
    assert writes() == 0
    assert torch.equal(old.cpu(), CACHE * 2)
    assert torch.equal(cache.cpu()[:, :, 3], new(1)[:, :, 0])


def test_a_graph_that_returns_a_new_cache_leaves_the_old_one() -> None:
    call = compiled(lambda cache, rows, position: cache.index_copy(2, position, rows), False)
    cache = CACHE.to("tt")
    for _ in range(2):
        result = call(cache, new(1).to("tt"), torch.tensor([3]).to("tt"))
        assert torch.equal(cache.cpu(), CACHE)
        assert torch.equal(result.cpu()[:, :, 3], new(1)[:, :, 0])


def test_the_recording_device_leaves_what_others_hold() -> None:
    cache = CACHE.to("tt")
    copy = cache.clone()
    result = cache.index_copy(2, torch.tensor([3]).to("tt"), new(1).to("tt"))
    result.cpu()
    assert torch.equal(cache.cpu(), CACHE)
    cache.index_copy_(2, torch.tensor([3]).to("tt"), new(1).to("tt"))
    assert torch.equal(cache.cpu(), result.cpu())
    assert torch.equal(copy.cpu(), CACHE)


@pytest.mark.sample(1)
@pytest.mark.parametrize("level", ["0", "2"])
def test_a_decoder_of_transformers_decodes_all_users_together(level: str) -> None:
    """Its cache is written in place, its rows lie in one tile, and it attends by the op for decoding."""
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=256,
        num_hidden_layers=1,
        num_attention_heads=8,
        num_key_value_heads=2,
        intermediate_size=512,
        vocab_size=512,
    )
    model = transformers.LlamaForCausalLM(config).eval().to(torch.bfloat16)
    tokens, position = torch.randint(0, 512, (32, 1)), torch.tensor([7])

    def decoded(run: Callable[..., Any]) -> tuple[torch.Tensor, torch.Tensor]:
        cache = transformers.StaticCache(config=config, max_cache_len=512)
        cache.early_initialization(batch_size=32, num_heads=2, head_dim=32, dtype=torch.bfloat16, device="cpu")
        with torch.no_grad():
            result = run(input_ids=tokens, past_key_values=cache, cache_position=position, use_cache=True)
        return result.logits.float(), cache.layers[0].keys.float()

    expected = decoded(model)
    torch._dynamo.reset()
    results = decoded(torch.compile(model, backend="tt", options={"optimization_level": level}))
    program = compiled_programs()[-1]
    steps = [(function, step) for function in program.functions for step in function.body]
    products = [function.values[step.results[0]].shape for function, step in steps if step.op == "ttnn.matmul"]
    (attention,) = (step for _, step in steps if step.op == "ttnn.scaled_dot_product_attention_decode")
    assert "cur_pos_tensor" in attention.operands
    assert "attention_mask" not in attention.operands
    assert writes() == 2
    assert [shape[-2] for shape in products if shape[-1] >= 64] == [32] * 8
    for result, reference in zip(results, expected, strict=True):
        assert (result - reference).abs().max() <= 2**-5 * reference.abs().max()


@pytest.mark.parametrize("function", [index_copy, prefill])
def test_a_cache_in_block_floats_is_still_the_users_tensor(function: Callable[..., Any]) -> None:
    """Its rows are rounded to bfloat8_b; the user's tensor is bfloat16 and stays where it is."""
    torch._dynamo.reset()
    call = torch.compile(function, backend="tt", options={"experimental-kv-cache-dtype": "bfp_bf8"})
    count = 1 if function is index_copy else 32
    source = CACHE.to(torch.bfloat16)
    cache, expected = source.to("tt"), source.clone()
    alias = cache[0]
    for position in range(3):
        rows, place = new(count).to(torch.bfloat16), torch.tensor([position])
        result = call(cache, rows.to("tt"), place.to("tt"))
        reference = function(expected, rows, place)
        assert (result.cpu() - reference).abs().max() < 0.1 * reference.abs().max()
        written = cache.cpu()
        assert written.dtype is torch.bfloat16
        assert torch.equal(quantize(written, "bfp_bf8"), written.float())
        assert (written - expected).abs().max() <= 2**-6 * expected.abs().max()
        assert torch.equal(alias.cpu(), written[0])
    program = compiled_programs()[-1]
    types = {str(program.functions[0].values[number].layout.dtype) for number in program.functions[0].arguments}
    assert "bfp_bf8" in types
