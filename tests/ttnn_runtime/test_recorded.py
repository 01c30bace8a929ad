"""Recorded ops of PyTorch leave their results on the card, and read there what compiled functions left."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
import torch

from tests.ttnn_runtime.conftest import watch_requests

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import Crossing

pytestmark = pytest.mark.usefixtures("emulated_ttnn")

Optimizer = Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer]
CLOSE = {"atol": 1e-2, "rtol": 1e-2}


def written(value: torch.Tensor) -> None:
    value.mul_(0.5)
    torch.tt.synchronize()


def test_results_of_recorded_ops_stay(crossing: Crossing) -> None:
    host = torch.rand(32, 64)
    value = host.to("tt")
    for _ in range(3):
        value = value + value
        written(value)
    assert crossing.take() == (host.nbytes, 0)
    torch.testing.assert_close(value.cpu(), host, **CLOSE)
    assert crossing.take() == (0, host.nbytes)
    before = torch.tt.memory_allocated()
    double = value + value
    torch.tt.synchronize()
    assert torch.tt.memory_allocated() == before + double.nbytes
    (double * 2).cpu()
    assert torch.tt.memory_allocated() == before + double.nbytes


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "recorded"])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9),
        lambda parameters: torch.optim.AdamW(parameters, lr=0.001),
    ],
    ids=["sgd", "adamw"],
)
def test_the_batch_and_the_loss_of_a_training_step_cross(
    crossing: Crossing, optimizer: Optimizer, compiles: bool
) -> None:
    torch.manual_seed(0)
    expected = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 32))
    net = copy.deepcopy(expected).to("tt")
    run = torch.compile(net, backend="tt", dynamic=False) if compiles else net
    updates, expected_updates = optimizer(net.parameters()), optimizer(expected.parameters())

    def step(model: Any, update: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        update.step()
        update.zero_grad()
        return loss.detach()

    batches = torch.rand(5, 2, 32, 32)
    for number, (x, y) in enumerate(batches):
        crossing.take()
        loss = step(run, updates, x.to("tt"), y.to("tt")).item()
        sent, received = crossing.take()
        assert loss == pytest.approx(step(expected, expected_updates, x, y).item(), rel=2e-2)
        if number > 1:  # the parameters are sent by the first step, and for its updates
            assert x.nbytes + y.nbytes <= sent < x.nbytes + y.nbytes + 128  # with numbers that depend on the step
            assert received == 4
    for own, other in zip(net.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(own.detach().cpu(), other.detach(), atol=2e-2, rtol=2e-2)


def test_a_view_of_a_result_is_copied_on_the_card(crossing: Crossing) -> None:
    halve = torch.compile(lambda x: x * 0.5, backend="tt", dynamic=False)
    host = torch.rand(32, 64)
    value = halve(host.to("tt"))
    results = [halve(value.t()), halve(value[:, 32:])]
    assert crossing.take() == (host.nbytes, 0)
    torch.testing.assert_close(results[0].cpu(), host.t() / 4, **CLOSE)
    torch.testing.assert_close(results[1].cpu(), host[:, 32:] / 4, **CLOSE)


def test_parts_of_a_tensor_with_equal_strides_are_different_arguments() -> None:
    total = torch.compile(lambda x: x.sum(0), backend="tt", dynamic=False)
    host = torch.rand(64, 32)
    whole = host.to("tt")
    for size in (16, 64, 32, 16):
        torch.testing.assert_close(total(whole[:size]).cpu(), host[:size].sum(0), **CLOSE)


class Cache(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, 64, 32))

    def forward(self, new: torch.Tensor) -> torch.Tensor:
        self.keys[:, :, :32] = torch.tanh(new)
        return new + new


def test_a_compiled_function_may_write_to_what_recorded_ops_read(crossing: Crossing) -> None:
    model = Cache().to("tt")
    update = torch.compile(model, backend="tt", dynamic=False)
    new = torch.rand(3, 1, 2, 32, 32)
    with torch.no_grad():
        update(new[0].to("tt"))
        model.keys.add_(1)
        before, more = model.keys.clone(), model.keys + 1  # neither has run
        update(new[1].to("tt"))
        after = model.keys + 0
        crossing.take()
        update(new[2].to("tt"))
        assert crossing.take() == (new[2].nbytes, 0)
    expected = torch.ones(1, 2, 64, 32)
    expected[:, :, :32] += new[0].tanh()
    torch.testing.assert_close(before.cpu(), expected, **CLOSE)
    torch.testing.assert_close(more.cpu(), expected + 1, **CLOSE)
    expected[:, :, :32] = new[1].tanh()
    torch.testing.assert_close(after.cpu(), expected, **CLOSE)


def test_an_input_that_two_programs_read_is_sent_once(crossing: Crossing) -> None:
    halve = torch.compile(lambda x: x * 0.5, backend="tt", dynamic=False)
    double = torch.compile(lambda x: x * 2, backend="tt", dynamic=False)
    host = torch.rand(32, 64)
    value = host.to("tt")
    halve(value), double(value), halve(value)
    assert crossing.take() == (host.nbytes, 0)
    value.copy_(torch.rand(32, 64))
    torch.testing.assert_close(halve(value).cpu() * 2, value.cpu(), **CLOSE)


def test_other_results_of_a_program_do_not_come_with_one(crossing: Crossing) -> None:
    host = torch.rand(32, 64)
    value = host.to("tt")
    double, half = value * 2, value * 0.5
    torch.testing.assert_close(double.cpu(), host * 2, **CLOSE)
    assert crossing.take() == (host.nbytes, host.nbytes)
    torch.testing.assert_close(half.sum(0).cpu(), host.sum(0) / 2, **CLOSE)
    assert crossing.take() == (0, 32 * 4 * 2)


def test_what_recorded_ops_have_overwritten_leaves_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    held: set[str] = set()
    counts: list[int] = []

    def watch(message: dict[str, Any], arrays: Mapping[str, Any]) -> None:
        held.update([name for name in arrays if name.isdigit()], map(str, message.get("keep", ())))
        held.difference_update(map(str, message.get("dropped", ())))

    watch_requests(monkeypatch, watch)
    for number in range(6):
        value = torch.rand(32, 32).to("tt")
        value.sub_(number)
        value = value + torch.tensor(1.0)
        torch.tt.synchronize()
        counts.append(len(held))
    assert counts[2:] == counts[1:-1]


@pytest.fixture(scope="module")
def llama() -> Any:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "vocab_size": 96, "max_position_embeddings": 256}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads)).eval()


def decoded(model: Any, length: int, crossing: Crossing | None = None) -> list[tuple[int, int, int]]:
    """Generates tokens with a static cache on the card.

    Returns:
        For each token: its number, and the bytes that were sent and received for it.
    """
    from transformers import StaticCache

    tokens = []
    cache = StaticCache(model.config, max_batch_size=1, max_cache_len=length, device="tt", dtype=torch.float32)
    step = torch.compile(model, backend="tt", dynamic=False)

    def new_token(ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        result = step(ids, past_key_values=cache, cache_position=positions.to("tt"), use_cache=True)
        return result.logits[:, -1].argmax(-1, keepdim=True)

    with torch.no_grad():
        token = new_token(torch.arange(8).unsqueeze(0).to("tt"), torch.arange(8))
        for position in range(8, 14):
            token = new_token(token, torch.tensor([position]))
            number = int(token.item())
            tokens.append((number, *(crossing.take() if crossing else (0, 0))))
    return tokens


def test_the_bytes_of_a_decoded_token_do_not_depend_on_the_cache(crossing: Crossing, llama: Any) -> None:
    model = copy.deepcopy(llama).to("tt")
    short, long = decoded(model, 32, crossing), decoded(model, 128, crossing)
    assert short[2:] == long[2:]
    counters = 2 * 4  # those of the cache's layers; indices are checked on the host
    assert {(sent, received) for _, sent, received in short[2:]} == {(4 + counters, 4 + counters)}


def test_decoded_tokens_are_those_of_the_emulated_card(monkeypatch: pytest.MonkeyPatch, llama: Any) -> None:
    monkeypatch.setenv("TTXLA_NUMERICS", "bit_exact")
    tokens = decoded(copy.deepcopy(llama).to("tt"), 32)
    monkeypatch.delenv("TTXLA_RUNTIME")
    torch.compiler.reset()
    assert tokens == decoded(copy.deepcopy(llama).to("tt"), 32)


def test_recorded_ops_have_the_bits_of_the_emulated_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_NUMERICS", "bit_exact")
    first, second = torch.randn(2, 64, 64).bfloat16()

    def computed() -> torch.Tensor:
        x, y = first.to("tt"), second.to("tt")
        product = (x @ y).softmax(-1)
        product.add_(y.t() * 0.25)
        return (product / (1 + x.exp())).cpu()

    result = computed()
    monkeypatch.delenv("TTXLA_RUNTIME")
    assert torch.equal(result, computed())


def test_what_is_copied_to_a_tensor_again_and_again_is_read_each_time() -> None:
    increased = torch.compile(lambda x: x + 1, backend="tt", dynamic=False)
    counter, other = torch.zeros(2, 3, device="tt"), torch.zeros(2, 3, device="tt")
    torch.tt.synchronize()
    before = torch.tt.memory_allocated()
    for number in range(1, 4):
        counter.copy_(increased(counter))
        other.copy_(counter)
        assert counter.tolist() == other.tolist() == [[number] * 3] * 2
    assert torch.tt.memory_allocated() == before


def test_an_index_is_checked_on_the_host_and_nothing_else_comes_there(crossing: Crossing) -> None:
    host = torch.rand(32, 64)
    value = host.to("tt") * 2
    torch.tt.synchronize()
    crossing.take()
    rows = value[torch.tensor([3, 5]).to("tt")]
    torch.tt.synchronize()
    sent, received = crossing.take()
    assert sent <= 16
    assert received == 0
    torch.testing.assert_close(rows.cpu(), host[[3, 5]] * 2, **CLOSE)
    with pytest.raises(IndexError):
        value[torch.tensor([40]).to("tt")].cpu()


class ChannelsLast(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.rand(1, 4, 4, 4).to(memory_format=torch.channels_last))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.add_(x)
        return self.state.sum((2, 3))


def test_a_buffer_in_another_order_of_dimensions_is_written_to_in_its_own() -> None:
    expected = ChannelsLast()
    model = copy.deepcopy(expected).to("tt")
    update = torch.compile(model, backend="tt", dynamic=False)
    with torch.no_grad():
        for x in torch.rand(4, 1, 4, 4, 4):
            model.state.mul_(1.5)
            expected.state.mul_(1.5)
            torch.testing.assert_close(update(x.to("tt")).cpu(), expected(x), **CLOSE)
    torch.testing.assert_close(model.state.cpu(), expected.state, **CLOSE)
