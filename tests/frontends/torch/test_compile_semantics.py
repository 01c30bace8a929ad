"""``torch.compile`` on tt: graph breaks, mutation, aliases, modes, and sizes and numbers that change."""

from __future__ import annotations

import io

import pytest
import torch
import torch.nn as nn
from schedules import nightly_but

from tt_xla.errors import OptionError, ResourceExhaustedError
from tt_xla.frontends.torch import frame_settings
from tt_xla.frontends.torch.device import placements
from tt_xla.frontends.torch.outputs import OutputView


@pytest.fixture(autouse=True)
def _fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def compiled(function, **options):
    return torch.compile(function, backend="tt", **options)


def test_a_graph_break_makes_two_graphs(on_jax):
    def function(x):
        x = x * 2
        torch._dynamo.graph_break()
        return x + 1

    assert compiled(function)(torch.ones(2).to("tt")).tolist() == [3, 3]
    assert len(on_jax) == 2


@pytest.mark.usefixtures("on_jax")
def test_dynamo_compiles_nothing_of_ours():
    def function(x):
        torch._dynamo.graph_break()
        for start in range(2):
            print(float(x[start::2, ::3].sum()), file=io.StringIO())  # runs eagerly in a frame that dynamo traces
        return x

    torch._dynamo.utils.counters.clear()
    compiled(function)(torch.randn(5, 19).to("tt"))
    breaks = torch._dynamo.utils.counters["graph_break"]
    assert breaks
    assert not [why for why in breaks if "tt_xla" in why]


@pytest.mark.usefixtures("on_jax")
def test_branches_on_values_are_taken():
    def function(x):
        return x * 2 if x.sum() > 0 else x * 3

    assert compiled(function)(torch.ones(2, device="tt")).tolist() == [2, 2]
    assert compiled(function)(-torch.ones(2, device="tt")).tolist() == [-3, -3]


@pytest.mark.usefixtures("on_jax")
def test_full_graphs_refuse_breaks():
    def function(x):
        torch._dynamo.graph_break()
        return x + 1

    with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
        compiled(function, fullgraph=True)(torch.ones(2, device="tt"))


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(6, 2))

    def forward(self, x, position):
        self.cache.index_copy_(0, position, x)
        return self.cache.sum(0)


def test_a_cache_is_updated_by_one_program(on_jax):
    ours, theirs = Cache().to("tt"), Cache()
    step = compiled(ours)
    for index in range(3):
        x, position = torch.full((1, 2), index + 1.0), torch.tensor([index])
        assert torch.equal(step(x.to("tt"), position.to("tt")).cpu(), theirs(x, position))
    assert torch.equal(ours.cache.cpu(), theirs.cache)
    assert len(on_jax) == 1


@pytest.mark.usefixtures("on_jax")
def test_inputs_that_share_memory():
    base = torch.arange(4.0, device="tt")

    def function(x, y):
        x.add_(1)
        return y * 2

    assert compiled(function)(base, base[:2]).tolist() == [2, 4]
    assert base.tolist() == [1, 2, 3, 4]


@pytest.mark.usefixtures("on_jax")
def test_an_output_that_is_a_view_of_an_input():
    x = torch.arange(3.0, device="tt")
    compiled(lambda x: x[1:])(x).zero_()
    assert x.tolist() == [0, 0, 0]


@pytest.mark.usefixtures("on_jax")
def test_nested_arguments_and_results():
    def function(x, *, scale=1.0, more=None):
        return {"scaled": x * scale, "list": [x + more["bias"], (x, None)], "number": 3}

    x = torch.ones(2, device="tt")
    result = compiled(function)(x, scale=2.0, more={"bias": x})
    assert result["scaled"].tolist() == [2, 2]
    assert result["list"][0].tolist() == [2, 2]
    assert result["list"][1][1] is None
    assert result["number"] == 3


@pytest.mark.usefixtures("on_jax")
def test_modes_of_autograd():
    layer = nn.Linear(2, 2).to("tt")
    call, x = compiled(layer), torch.ones(1, 2, device="tt")
    with torch.inference_mode():
        assert call(x).is_inference()
    with torch.no_grad():
        assert not call(x).requires_grad
    call(x).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_modes(on_jax, mode):
    assert compiled(torch.tanh, mode=mode)(torch.zeros(2)).tolist() == [0, 0]
    options = on_jax[0][1]
    assert options.enable_trace
    assert options.optimization_level == (2 if mode == "max-autotune" else 0)


def test_an_unknown_mode_is_an_error():
    with pytest.raises(OptionError, match="reduce-overhead"):
        compiled(torch.tanh, mode="fastest")(torch.ones(2))


def test_sizes_that_change_have_one_program_for_all_up_to_a_capacity(on_jax):
    call = compiled(lambda x: x.sum(0))
    for size in (*range(1, 12), 5, 6):
        assert call(torch.ones(size, 2)).tolist() == [size, size]
    assert len(on_jax) == 5  # sizes 1 and 2; then all up to 4, 8 and 16


def test_the_limit_of_compilations_is_reported(on_jax, monkeypatch, project_log):
    monkeypatch.setattr(frame_settings, "RECOMPILE_LIMIT", 10)
    call = compiled(lambda x, n: x.sum(0) * n, dynamic=False)
    for number in range(1, 12):
        assert call(torch.ones(number, 2), 1).tolist() == [number, number]
    assert len(on_jax) == 10
    (message,) = [each.getMessage() for each in project_log.records if each.name == "tt_xla"]
    assert "compiled 10 times" in message
    assert "[10, 2]" in message


@pytest.mark.usefixtures("on_jax")
@pytest.mark.parametrize("mark", [torch._dynamo.mark_dynamic, torch._dynamo.maybe_mark_dynamic])
def test_sizes_marked_dynamic_are_fixed_per_program(mark):
    call = compiled(lambda x: x.sum(0) * x.shape[0], dynamic=True)
    for size in (3, 4):
        x = torch.ones(size, 2)
        mark(x, 0)
        assert call(x).tolist() == [size * size] * 2


OPTIMIZERS = {
    "ASGD": {},
    "Adadelta": {},
    "Adagrad": {},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adamax": {},
    "Muon": {},
    "NAdam": {},
    "RAdam": {},
    "RMSprop": {"momentum": 0.5},
    "Rprop": {},
    "SGD": {"momentum": 0.9, "nesterov": True, "lr": 0.1},
}


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", nightly_but({"Adam"}, OPTIMIZERS))
def test_compiled_optimizers_step_as_eager_ones(on_jax, name, foreach):
    """Uses a scheduler: the first change of the learning rate compiles again, later changes do not."""
    if name == "NAdam" and not foreach:
        pytest.skip("torch traces its host-side product of momenta with foreach alone")
    options = dict(OPTIMIZERS[name]) | ({} if name == "Muon" else {"foreach": foreach})
    torch.manual_seed(0)
    start, gradients = torch.randn(3, 4), torch.randn(4, 3, 4)
    values, counts = [], []
    for device in ("cpu", "tt"):
        weight = nn.Parameter(start.clone().to(device))
        optimizer = getattr(torch.optim, name)([weight], **options)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
        step = optimizer.step if device == "cpu" else compiled(optimizer.step)
        for gradient in gradients:
            weight.grad = gradient.clone().to(device)
            step()
            scheduler.step()
            counts.append(len(on_jax))
        values.append(weight.detach().cpu())
    torch.testing.assert_close(values[1], values[0], rtol=1e-2 if name == "Muon" else 1e-5, atol=1e-6)
    assert counts[4] > 0, "nothing was compiled"
    assert counts[5] == counts[7]


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.usefixtures("on_jax")
def test_a_compiled_optimizer_with_a_schedule_compiles_twice():
    torch._dynamo.utils.counters.clear()
    models = [nn.Linear(3, 2), nn.Linear(3, 2)]
    models[1].load_state_dict(models[0].state_dict())
    models[0].to("tt")
    optimizers = [torch.optim.AdamW(model.parameters(), lr=0.1) for model in models]
    schedules = [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8) for optimizer in optimizers]
    steps = [compiled(optimizers[0].step), optimizers[1].step]
    x = torch.randn(5, 3)
    for _ in range(12):
        for model, optimizer, schedule, step in zip(models, optimizers, schedules, steps, strict=True):
            model(x.to(model.weight.device)).square().mean().backward()
            step()
            schedule.step()
            optimizer.zero_grad()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2
    assert torch.allclose(models[0].weight.cpu(), models[1].weight, atol=1e-4)


@pytest.mark.parametrize("splits_tensors", [False, True])
def test_running_out_of_memory_is_torchs_error_and_leaves_the_rest_usable(splits_tensors):
    """A process that splits tensors over chips compiles in the first call, which knows the placements."""
    if splits_tensors:
        placements.announce()
    layer = nn.Linear(4, 4).to("tt")
    call = compiled(lambda x, size: layer(x).expand(size, 4, 4).contiguous() * 2)
    x = torch.ones(4, 4, device="tt")
    with pytest.raises(torch.OutOfMemoryError, match="DRAM") as caught:
        call(x, 1 << 32)
    assert isinstance(caught.value, ResourceExhaustedError)
    assert "test_compile_semantics.py" in str(caught.value)
    call(x, 2).sum().backward()
    assert layer.weight.grad.cpu()[0, 0] == 16


@pytest.mark.usefixtures("on_jax")
@pytest.mark.parametrize("grad", [False, True])
def test_outputs_that_share_memory(grad):
    def function(x):
        y = x * 2
        return y, y[0], y.t()

    x = torch.ones(2, 3, device="tt", requires_grad=grad)
    product, row, turned = compiled(function)(x)
    assert turned.stride() == (1, 3)
    product.detach().zero_()
    assert row.tolist() == [0, 0, 0]
    assert turned.tolist() == [[0, 0]] * 3


@pytest.mark.usefixtures("on_jax")
def test_results_have_the_strides_of_eager_mode():
    x = torch.arange(24.0, device="tt").view(1, 2, 3, 4).to(memory_format=torch.channels_last)
    for function in (lambda x: x * 2, lambda x: (x + 1).transpose(1, 2), lambda x: x.flatten(1) + 1):
        got, expected = compiled(function)(x), function(x)
        assert got.stride() == expected.stride()
        assert torch.equal(got.cpu(), expected.cpu())


def test_a_part_of_a_large_result_does_not_hold_the_whole(on_jax):
    part = compiled(lambda x: (x * 2)[:, -1])(torch.ones(4, 64, device="tt"))
    assert part.untyped_storage().nbytes() == 16
    assert "tensor<4xf32>" in str(on_jax[0][0]).splitlines()[1]


def test_weights_kept_for_the_backward_are_not_copied(on_jax):
    layer = nn.Linear(3, 2, bias=False).to("tt")
    compiled(layer)(torch.ones(1, 3, device="tt", requires_grad=True)).sum().backward()
    signature = str(on_jax[0][0]).splitlines()[1]
    assert "-> (tensor<1x2xf32>" in signature
    assert "tensor<3x2xf32>" not in signature


def test_outputs_that_share_memory_are_no_views_to_autograd():
    """Users may write to such views. Autograd forbids writes to views that a custom function returns."""
    base = torch.arange(4.0).to("tt")
    part = OutputView(of_input=False, index=0, size=(2,), stride=(1,), offset=1).of(base)
    assert not part._is_view()
    part.fill_(7)
    assert base.tolist() == [0, 7, 7, 3]


def test_generators_break_the_graph_as_torchs_own_do(on_jax):
    held = {device: torch.Generator(device=device).manual_seed(1) for device in ("cpu", "tt")}

    def function(x, passed):
        created = torch.Generator(device=x.device).manual_seed(5)
        for generator in (passed, created, held[x.device.type]):
            x = x * 2 + torch.rand(x.shape, generator=generator, device=x.device)
        return torch.empty_like(x).normal_(generator=passed) - x

    def twice(function, device):
        x, passed = torch.arange(3.0, device=device), torch.Generator(device=device).manual_seed(3)
        return [function(x, passed).cpu() for _ in range(2)]

    assert torch.equal(torch.stack(twice(compiled(function), "tt")), torch.stack(twice(function, "cpu")))
    assert on_jax


@pytest.mark.usefixtures("on_jax")
def test_what_was_given_last_is_known_by_its_memory_and_its_contents():
    layer = nn.Linear(3, 3, bias=False).to("tt")
    call, x = compiled(layer), torch.randn(2, 3).to("tt")

    def check():
        torch.testing.assert_close(call(x).cpu(), x.cpu() @ layer.weight.cpu().T)

    with torch.no_grad():
        for _ in range(2):
            check()
        layer.weight.data = torch.randn(3, 3).to("tt")
        check()
        layer.weight.copy_(torch.randn(3, 3))
        check()
        layer.weight[1] = 5
        check()
        layer.weight.t_()
        check()
