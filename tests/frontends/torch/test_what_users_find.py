"""What close readings of the front end found: PyTorch's own defaults, ties, masks, orders of memory and names."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from tt_xla.errors import IndexOutOfBoundsError
from tt_xla.frontends.torch import compilation
from tt_xla.frontends.torch.device.buffers import buffer_of
from tt_xla.frontends.torch.graph import composites

pytestmark = pytest.mark.usefixtures("exact")


@pytest.fixture(autouse=True)
def _fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def compiled(function):
    return torch.compile(function, backend="tt")


# Names and defaults of PyTorch.


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.argmax(axis=1),
        lambda x: torch.argmax(x, axis=0, keepdims=True),
        lambda x: torch.argmax(a=x, dim=1),
        lambda x: torch.topk(x, 2, axis=0),
        lambda x: torch.gather(x, axis=1, index=torch.zeros_like(x, dtype=torch.int64)),
        lambda x: x.topk(2)[0],
    ],
)
def test_parameters_may_have_the_names_of_numpy(function):
    x = torch.randn(4, 5)
    torch.testing.assert_close(compiled(function)(x), function(x))


def test_composites_take_the_names_of_numpy():
    graph = torch.fx.Graph()
    graph.output(graph.call_method("argmax", (graph.placeholder("x"),), {"axis": 1, "keepdims": True}))
    module = composites.handle_composite_ops(torch.fx.GraphModule({}, graph))
    (node,) = module.graph.find_nodes(op="call_function", target=composites.composite_argmax)
    assert node.kwargs == {"dim": 1, "keepdim": True}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("scale", [1, 0.01])
def test_a_norm_without_an_epsilon_has_that_of_float32(dtype, scale):
    norm, x = torch.nn.RMSNorm(64).to(dtype), (torch.randn(3, 64) * scale).to(dtype)
    with torch.no_grad():
        torch.testing.assert_close(compiled(norm)(x), norm(x), rtol=0.01, atol=0.01)


def llama(x, weight, dtype=None):
    wide = x.to(torch.float32)
    normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * normed.to(x.dtype if dtype is None else dtype)


@pytest.mark.parametrize("sizes", [(8,), (4, 8), (1, 1, 8), (1,)])
@pytest.mark.parametrize("dtypes", [(torch.float32,) * 2, (torch.bfloat16,) * 2, (torch.bfloat16, torch.float32)])
def test_a_norm_is_fused_where_it_computes_the_same(sizes, dtypes):
    x, weight = torch.randn(2, 4, 8).to(dtypes[0]), torch.randn(sizes).to(dtypes[1])
    got, expected = compiled(llama)(x, weight), llama(x, weight)
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected, rtol=0.02, atol=0.02)


def test_kinds_depend_on_the_default_dtype():
    before = torch.get_default_dtype()
    try:
        for dtype in (torch.float32, torch.bfloat16, torch.float32):
            torch.set_default_dtype(dtype)
            made = [torch.zeros(2, device="tt"), torch.ones(2, device="tt"), torch.arange(3, device="tt") / 3]
            made += [torch.full((2,), 0.5, device="tt"), torch.arange(3, device="tt").sqrt(), torch.eye(2, device="tt")]
            assert {each.dtype for each in made} == {dtype}
    finally:
        torch.set_default_dtype(before)


# Gradients at ties.


@pytest.mark.sample(4)
@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf])
def test_nothing_flows_to_points_without_a_distance(order):
    x, y = torch.randn(4, 3), torch.randn(5, 3)
    y[0] = x[0]
    y[1, 0] = x[1, 0]
    weights = torch.randn(4, 5)

    def gradients(function, device):
        one, other = (each.clone().to(device).requires_grad_() for each in (x, y))
        (function(one, other, p=order) * weights.to(device)).sum().backward()
        return one.grad.cpu(), other.grad.cpu()

    expected = gradients(torch.cdist, "cpu")
    torch.testing.assert_close(gradients(torch.cdist, "tt"), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradients(compiled(torch.cdist), "tt"), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.sample(4)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_nothing_flows_to_positions_on_the_edge(mode, padding, align):
    identity = F.affine_grid(torch.eye(2, 3)[None], (1, 1, 4, 4), align_corners=align)
    grids = torch.cat([identity, identity * 1.3 + 0.01])
    images, weights = torch.randn(2, 2, 4, 4), torch.randn(2, 2, 4, 4)

    def gradients(device):
        x, grid = (each.clone().to(device).requires_grad_() for each in (images, grids))
        sampled = F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)
        (sampled * weights.to(device)).sum().backward()
        return x.grad.cpu(), grid.grad.cpu()

    torch.testing.assert_close(gradients("tt"), gradients("cpu"), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("form", [lambda function: function, compiled], ids=["eager", "compiled"])
def test_the_gradient_of_steps_is_zero(form):
    x = torch.tensor([-2.0, 0.0, 3.0], device="tt", requires_grad=True)
    form(torch.sgn)(x).sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


# Special values.


def test_an_infinite_side_makes_an_infinite_hypotenuse():
    x, y = torch.tensor([math.inf, math.nan, 3.0, -math.inf]), torch.tensor([math.nan, -math.inf, 4.0, 0.0])
    torch.testing.assert_close(torch.hypot(x.to("tt"), y.to("tt")).cpu(), torch.hypot(x, y), equal_nan=True)


def test_a_batch_norm_of_large_means_keeps_the_rest():
    norm = torch.nn.BatchNorm2d(1).eval()
    norm.running_mean.fill_(100)
    norm.running_var.fill_(2)
    norm, x = norm.bfloat16(), torch.tensor([100.5, 101, 99]).bfloat16().reshape(3, 1, 1, 1)
    with torch.no_grad():
        expected = norm(x)
        torch.testing.assert_close(compiled(norm)(x), expected, rtol=0.01, atol=0.01)
        torch.testing.assert_close(norm.to("tt")(x.to("tt")).cpu(), expected, rtol=0.01, atol=0.01)


# Masks and positions.


@pytest.mark.filterwarnings("ignore:.*uint8")
def test_numbers_of_8_bits_are_a_mask():
    mask, values = torch.tensor([0, 1, 1, 0], dtype=torch.uint8), torch.tensor([5.0, 6.0])

    def assign(x, mask, values):
        x = x.clone()
        x[mask] = values
        return x

    expected = assign(torch.zeros(4), mask, values)
    on_device = [each.to("tt") for each in (torch.zeros(4), mask, values)]
    torch.testing.assert_close(assign(*on_device).cpu(), expected)
    torch.testing.assert_close(compiled(assign)(*on_device).cpu(), expected)


def test_positions_that_numpy_changed_are_checked():
    array = torch.tensor([0, 1]).numpy().copy()
    ids, weights = torch.from_numpy(array), torch.randn(4, 3)
    look_up = compiled(lambda ids, weights: weights[ids])
    look_up(ids, weights)
    array[0] = 10**6
    with pytest.raises(IndexOutOfBoundsError):
        look_up(ids, weights).sum().item()


# Random numbers.


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: F.dropout(x, 0.5),
        torch.rand_like,
        torch.randn_like,
        lambda x: torch.bernoulli(torch.full_like(x, 0.5)),
    ],
)
@pytest.mark.parametrize("view", [lambda x: x.t(), lambda x: x.t().contiguous(), lambda x: x])
def test_a_seed_draws_in_the_order_of_memory(draw, view):
    def drawn(function, device):
        x = view(torch.ones(3, 4, device=device))
        torch.manual_seed(3)
        return function(x).cpu()

    expected = drawn(draw, "cpu")
    torch.testing.assert_close(drawn(draw, "tt"), expected)
    torch.testing.assert_close(drawn(compiled(draw), "tt"), expected)


def test_dropout_takes_an_expanded_tensor():
    torch.manual_seed(3)
    expected = F.dropout(torch.ones(4).expand(3, 4), 0.5)
    torch.manual_seed(3)
    torch.testing.assert_close(F.dropout(torch.ones(4, device="tt").expand(3, 4), 0.5).cpu(), expected)


# The device module and torch.accelerator.


def test_streams_and_events_are_there():
    stream, start, end = torch.tt.current_stream(), torch.tt.Event(enable_timing=True), torch.tt.Event()
    with torch.tt.stream(torch.tt.Stream()):
        start.record()
        x = torch.ones(4, device="tt") + 1
        stream.record_event(end)
    end.synchronize()
    stream.wait_event(end)
    stream.wait_stream(torch.tt.default_stream())
    assert not buffer_of(x).pending
    assert start.elapsed_time(end) > 0
    assert end.query()
    assert stream.query()
    assert stream == torch.tt.Stream("tt:0") != torch.tt.Stream("tt:1")
    with pytest.raises(RuntimeError, match="must be recorded"):
        start.elapsed_time(torch.tt.Event())


def test_states_of_all_generators_restore():
    torch.tt.manual_seed_all(3)
    states = torch.tt.get_rng_state_all()
    drawn = torch.rand(4, device="tt").cpu()
    torch.tt.seed_all()
    assert not torch.equal(torch.rand(4, device="tt").cpu(), drawn)
    torch.tt.set_rng_state_all(states)
    torch.testing.assert_close(torch.rand(4, device="tt").cpu(), drawn)


def test_the_accelerator_knows_the_memory():
    before = torch.accelerator.memory_allocated()
    x = torch.ones(1024, device="tt")
    torch.tt.synchronize()
    assert torch.accelerator.memory_allocated() - before == x.nbytes
    assert torch.accelerator.max_memory_allocated() >= torch.accelerator.memory_allocated()
    assert torch.accelerator.max_memory_reserved() >= torch.accelerator.memory_reserved()
    assert torch.accelerator.memory_stats()["allocated_bytes.all.current"] == torch.accelerator.memory_allocated()
    assert "allocated_bytes.all.current" in torch.tt.memory_summary()
    stats = torch.tt.memory_stats()
    assert stats["active_bytes.all.peak"] == stats["reserved_bytes.all.peak"] == torch.tt.max_memory_allocated()
    assert stats["num_alloc_retries"] == 0
    torch.accelerator.reset_peak_memory_stats()
    torch.accelerator.reset_accumulated_memory_stats()
    stats = torch.tt.memory_stats()
    assert (stats["allocation.all.freed"], stats["allocation.all.allocated"]) == (0, stats["allocation.all.current"])
    torch.accelerator.empty_cache()


def test_the_oldest_programs_end(monkeypatch):
    monkeypatch.setattr(compilation, "MOST_PROGRAMS", 3)
    for size in range(1, 8):
        (torch.ones(size, device="tt") + size).cpu()
    assert len(compilation.compiled_programs()) <= 3


# Threads.


def test_a_write_that_was_recorded_meanwhile_stays():
    """Another thread may record a write between the run of what was pending and the claim of its bytes."""
    x = torch.zeros(4, device="tt")
    torch.tt.synchronize()
    x.add_(1)
    buffer_of(x).claim_bytes()
    assert buffer_of(x).pending
    assert x.tolist() == [1.0] * 4


@pytest.mark.parametrize("scale", [0.6, 1.1, 2.0, 2.1, 3.0, 3.1, 4.2])
def test_images_grow_by_a_scale_that_does_not_divide(scale):
    x = torch.arange(9.0).reshape(1, 1, 3, 3)
    grown = []
    for device in ("cpu", "tt"):
        leaf = x.clone().to(device).requires_grad_()
        result = F.interpolate(leaf, scale_factor=scale, mode="nearest")
        result.sum().backward()
        grown.append((result.tolist(), leaf.grad.tolist()))
    assert grown[0] == grown[1]
