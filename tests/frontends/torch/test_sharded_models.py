"""Tests of whole models on a mesh: what they compute, and where parameters, gradients and states are."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.spmd as xs
from torch import nn

from tests.closeness import relative_error
from tt_xla.frontends.torch import compilation

pytestmark = pytest.mark.usefixtures("chips_as_one_device")


def mesh_of() -> xs.Mesh:
    return xs.Mesh(np.arange(8), (2, 4), ("batch", "model"))


class Net(nn.Module):
    """An embedding, a residual block with dropout, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.up, self.down = nn.Embedding(32, 16), nn.Linear(16, 64), nn.Linear(64, 16)
        self.head, self.dropout = nn.Linear(16, 32), nn.Dropout(0.3)

    def forward(self, ids):
        h = self.embedding(ids)
        return self.head(h + self.down(self.dropout(torch.relu(self.up(h)))))


SPECS = {
    "embedding.weight": ("model", None),
    "up.weight": ("model", None),
    "up.bias": ("model",),
    "down.weight": (None, "model"),
    "head.weight": ("model", None),
}


def placed(model: nn.Module, specs=SPECS) -> nn.Module:
    for name, parameter in model.named_parameters():
        if name in specs:
            xs.mark_sharding(parameter, mesh_of(), specs[name])
    return model


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids, targets = (torch.randint(0, 32, (8, 6), generator=generator).to("tt") for _ in range(2))
    return ids, targets


def trained(model: nn.Module, call, ids, targets) -> tuple[list[float], torch.optim.Optimizer]:
    """Takes two steps of two accumulated gradients each; returns the losses and the optimizer."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    torch.manual_seed(3)
    for step in range(4):
        loss = nn.functional.cross_entropy(call(ids).flatten(0, 1), targets.flatten())
        (loss / 2).backward()
        losses.append(loss.item())
        if step % 2:
            optimizer.step()
            optimizer.zero_grad()
            xm.mark_step()
    return losses, optimizer


@pytest.mark.sample(1)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_training_on_a_mesh_is_training_on_one_chip(compiled):
    """Dropout draws the same numbers; states of the optimizer are split as their parameters are."""
    reference = Net()
    losses = []
    for is_placed in (False, True):
        model, (ids, targets) = copy.deepcopy(reference).to("tt"), batch()
        if is_placed:
            placed(model)
            for tensor in (ids, targets):
                xs.mark_sharding(tensor, mesh_of(), ("batch", None))
        call = torch.compile(model, backend="tt") if compiled else model
        result, optimizer = trained(model, call, ids, targets)
        losses.append(result)
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for parameter in model.parameters():
        state = optimizer.state[parameter]
        shardings = {xs.sharding_of(tensor) for tensor in (parameter, state["exp_avg"], state["exp_avg_sq"])}
        assert len(shardings) == 1
        assert shardings != {""}


def test_state_dicts_of_placed_models_are_whole(tmp_path):
    model = placed(Net().to("tt"))
    torch.save(model.state_dict(), tmp_path / "model.pt")
    states = torch.load(tmp_path / "model.pt", map_location="cpu")
    assert states["up.weight"].shape == (64, 16)
    other = placed(Net().to("tt"))
    other.load_state_dict(states)
    assert xs.sharding_of(other.up.weight).startswith("{devices=[4,1,2]")
    assert torch.equal(other.up.weight.cpu(), model.up.weight.cpu())


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_parameters_may_move_to_other_chips(compiled):
    model, (ids, _) = placed(Net().to("tt")).eval(), batch()
    call = torch.compile(model, backend="tt") if compiled else model
    with torch.no_grad():
        first = call(ids).cpu()
        for parameter in (model.up.weight, model.head.weight):
            xs.clear_sharding(parameter)
        xs.mark_sharding(model.up.weight, mesh_of(), (None, "model"))
        second = call(ids).cpu()
        for parameter in model.parameters():
            xs.clear_sharding(parameter)
        third = call(ids).cpu()
    assert compilation.compiled_programs()[-1].mesh is None
    torch.testing.assert_close(second, first, rtol=0.01, atol=0.01)
    torch.testing.assert_close(third, first, rtol=0.01, atol=0.01)


def test_a_copy_of_a_placed_model_is_placed():
    model, (ids, _) = placed(Net().to("tt")).eval(), batch()
    copied = copy.deepcopy(model)
    torch_xla.sync()
    assert xs.sharding_of(copied.up.weight) == xs.sharding_of(model.up.weight)
    plain = xs.mark_sharding(torch.ones(8, 8).to("tt"), mesh_of(), ("batch", None))
    assert xs.sharding_of(copy.deepcopy(plain)) == xs.sharding_of(plain)
    with torch.no_grad():
        copied.up.weight.zero_()
        assert model.up.weight.abs().sum().item() > 0
        model.load_state_dict(copied.state_dict())
        torch.testing.assert_close(copied(ids).cpu(), model(ids).cpu())


def test_a_placed_model_in_bfloat16():
    model, (ids, _) = placed(Net().to("tt")).eval(), batch()
    with torch.no_grad():
        expected = model(ids).cpu()
        model.bfloat16()
        torch_xla.sync()
        assert xs.sharding_of(model.up.weight).startswith("{devices=[4,1,2]")
        result = torch.compile(model, backend="tt")(ids)
    assert result.dtype is torch.bfloat16
    # The parameters and the results of three layers are rounded to 8 significant bits.
    assert relative_error(result, expected) < 2**-7


def test_results_say_how_chips_share_them():
    """Also those that a program returns as a view of another shape, and those that every chip has in full."""
    model, (ids, _) = placed(Net().to("tt")).eval(), batch()
    xs.mark_sharding(ids, mesh_of(), ("batch", None))
    with torch.no_grad():
        logits, total = torch.compile(lambda ids: ((y := model(ids)), y.sum()), backend="tt")(ids)
    assert logits.shape == (8, 6, 32)
    assert xs.sharding_of(logits).startswith("{devices=[2,")
    assert xs.sharding_of(total) == "{replicated}"
    (total + 1).item()
    assert compilation.compiled_programs()[-1].mesh is None  # a replicated result needs no mesh


def test_a_graph_break_in_a_placed_model():
    model, (ids, _) = placed(Net().to("tt")).eval(), batch()

    def broken(ids):
        h = model.embedding(ids)
        torch._dynamo.graph_break()
        return model.head(model.down(torch.relu(model.up(h))))

    with torch.no_grad():
        expected = broken(ids).cpu()
        torch.testing.assert_close(torch.compile(broken, backend="tt")(ids).cpu(), expected, rtol=0.01, atol=0.01)
    assert sum(program.mesh is not None for program in compilation.compiled_programs()) >= 2


def test_torch_xla_compile_of_a_placed_model():
    model, (ids, _) = placed(Net().to("tt")).eval(), batch()
    with torch.no_grad():
        expected = model(ids).cpu()
        torch.testing.assert_close(torch_xla.compile(model)(ids).cpu(), expected, rtol=0.01, atol=0.01)
        with torch_xla.compile():
            result = model(ids)
        torch.testing.assert_close(result.cpu(), expected, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_a_cache_on_a_mesh_is_written_in_place(compiled):
    cache = torch.zeros(2, 8, 16, 4)
    own = cache.to("tt")
    xs.mark_sharding(own, mesh_of(), ("batch", "model", None, None))

    def step(cache, keys, position):
        cache.index_copy_(2, position, keys)
        return (cache * 2).sum(2)

    call = torch.compile(step, backend="tt") if compiled else step
    for position in range(3):
        keys, index = torch.randn(2, 8, 1, 4), torch.tensor([position])
        expected = step(cache, keys, index)
        torch.testing.assert_close(call(own, keys.to("tt"), index.to("tt")).cpu(), expected, rtol=0.01, atol=0.05)
    torch.testing.assert_close(own.cpu(), cache, rtol=0.01, atol=0.01)
    assert xs.sharding_of(own) == "{devices=[2,4,1,1]0,1,2,3,4,5,6,7}"


@pytest.mark.nightly
def test_a_tensor_parallel_llama_generates_the_same_tokens():
    transformers = pytest.importorskip("transformers", reason="the extra torch-examples is not installed")
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=64,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    prompt = torch.tensor([[3, 9, 27, 17]])
    options = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(prompt, **options)
    model = model.to("tt")
    for layer in model.model.layers:
        attention, mlp = layer.self_attn, layer.mlp
        for linear in (attention.q_proj, attention.k_proj, attention.v_proj, mlp.gate_proj, mlp.up_proj):
            xs.mark_sharding(linear.weight, mesh_of(), ("model", None))
        for linear in (attention.o_proj, mlp.down_proj):
            xs.mark_sharding(linear.weight, mesh_of(), (None, "model"))
    generated = model.generate(prompt.to("tt"), **options).cpu()
    assert generated.tolist() == expected.tolist()
    assert any(program.mesh is not None for program in compilation.compiled_programs())
