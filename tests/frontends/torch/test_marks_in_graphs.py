"""``xs.mark_sharding`` inside functions that ``torch.compile`` compiles."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch_xla
import torch_xla.distributed.spmd as xs
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.closeness import relative_error
from tt_xla.errors import CompileError
from tt_xla.frontends.torch import compilation
from tt_xla.frontends.torch.device import placements
from tt_xla.log import logger

pytestmark = pytest.mark.usefixtures("chips_as_one_device")


@pytest.fixture
def mesh() -> xs.Mesh:
    return xs.Mesh(np.arange(8), (2, 4), ("batch", "model"))


def compiled(function):
    return torch.compile(function, backend="tt", fullgraph=True)


def dims_of(tensor: torch.Tensor):
    placement = placements.placement_of(tensor)
    return None if placement is None else placement.sharding.dims


def test_marks_of_arguments_parameters_and_results_of_layers(mesh):
    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 8)

        def forward(self, x):
            xs.mark_sharding(x, mesh, ("batch", None))
            xs.mark_sharding(self.up.weight, mesh, ("model", None))
            h = torch.relu(self.up(x))
            xs.mark_sharding(h, mesh, ("batch", "model"))
            return self.down(h)

    model, x = Mlp(), torch.randn(8, 16)
    reference = nn.Sequential(model.up, nn.ReLU(), model.down)
    expected = reference(x)
    expected.sum().backward()
    gradient = model.up.weight.grad
    model.zero_grad()
    model, x = model.to("tt"), x.to("tt")
    result = compiled(model)(x)
    torch.testing.assert_close(result.detach().cpu(), expected, rtol=0.02, atol=0.02)
    assert len(compilation.compiled_programs()) == 1  # not first a program without marks
    program = compilation.compiled_programs()[-1]
    shapes = {argument.global_shape: argument.shape for argument in program.arguments}
    assert (shapes[8, 16], shapes[64, 16]) == ((4, 16), (16, 16))
    assert (dims_of(x), dims_of(model.up.weight)) == (((0,), ()), ((1,), ()))
    result.sum().backward()
    torch.testing.assert_close(model.up.weight.grad.cpu(), gradient, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("name", ["mark_sharding", "dynamo_mark_sharding"])
def test_a_mark_of_an_intermediate_tensor_alone_brings_the_mesh(mesh, name):
    def function(x):
        h = x * 2
        if name == "mark_sharding":
            xs.mark_sharding(h, mesh, (("batch", "model"), None))
        else:
            spec = "(('batch', 'model'), None)"
            torch.ops.xla.dynamo_mark_sharding(h, list(range(8)), [2, 4], "('batch', 'model')", spec)
        return h + 1

    x = torch.randn(8, 16)
    result = compiled(function)(x.to("tt"))
    assert torch.equal(result.cpu(), x * 2 + 1)
    assert compilation.compiled_programs()[-1].mesh.shape == (2, 4)
    assert dims_of(result) == ((0, 1), ())


def test_the_op_of_torch_xla_marks_tensors_outside_graphs_too():
    x, host = torch.randn(8, 16).to("tt"), torch.randn(8, 16)
    for tensor in (x, host):
        marked = torch.ops.xla.dynamo_mark_sharding(tensor, list(range(8)), [8], "('x',)", "(None, 'x')")
        assert torch.equal(marked.cpu(), tensor.cpu())
    assert dims_of(x) == ((), (0,))


def test_a_marked_tensor_on_the_host_is_a_copy():
    """An op of PyTorch may not return its operand: who writes to the one would change the other."""
    host = torch.ones(2, 2)
    marked = torch.ops.tt.mark_sharding(host, [0, 1], [2], ["x"], ["0", ""], False)
    marked.zero_()
    assert torch.equal(host, torch.ones(2, 2))


@pytest.mark.parametrize("device", ["cpu", "tt"])
@pytest.mark.parametrize(("shape", "names"), [((1,), "('x',)"), ((8,), "None")], ids=["one chip", "axes without names"])
def test_the_op_of_torch_xla_in_graphs_takes_what_it_takes_outside(device, shape, names):
    def function(x):
        marked = torch.ops.xla.dynamo_mark_sharding(x, list(range(shape[0])), list(shape), names, "(0, None)")
        return torch.ops.xla.dynamo_mark_sharding(marked * 2, list(range(shape[0])), list(shape), names, "(None, 0)")

    x = torch.arange(64.0).reshape(8, 8).to(device)
    torch.testing.assert_close(compiled(function)(x).cpu(), x.cpu() * 2)
    assert dims_of(x) == (((0,), ()) if device == "tt" and shape == (8,) else None)


@pytest.mark.parametrize("run", [compiled, lambda function: function], ids=["compiled", "recorded"])
def test_marks_with_gradients(mesh, run):
    def function(x):
        return xs.mark_sharding_with_gradients(x * 2, mesh, (None, "model")) * 3

    x = torch.randn(8, 16).to("tt").requires_grad_()
    result = run(function)(x)
    result.sum().backward()
    assert torch.equal(result.detach().cpu(), x.detach().cpu() * 6)
    assert torch.equal(x.grad.cpu(), torch.full((8, 16), 6.0))
    assert [dims_of(result), dims_of(x.grad)] == [((), (1,)), ((), (1,))]


def test_marks_inside_checkpointed_regions(mesh):
    def layer(x, weight):
        h = torch.tanh(x @ weight)
        xs.mark_sharding(h, mesh, ("batch", "model"))
        return h * h

    x, weight = torch.randn(8, 16), torch.randn(16, 16, requires_grad=True)
    (torch.tanh(x @ weight) ** 2).sum().backward()
    on_device = weight.detach().to("tt").requires_grad_()
    compiled(lambda x, w: checkpoint(layer, x, w, use_reentrant=False).sum())(x.to("tt"), on_device).backward()
    assert relative_error(on_device.grad, weight.grad) < 2**-7
    forward, backward = compilation.compiled_programs()[:2]
    assert (forward.mesh.shape, backward.mesh.shape) == ((2, 4), (2, 4))


def test_an_op_that_writes_to_a_marked_tensor_later_reaches_its_views(mesh, monkeypatch):
    messages: list[str] = []
    monkeypatch.setattr(logger(), "warning", lambda text, *values: messages.append(text % values))

    def function(x):
        h = x * 2
        view = h[0]
        xs.mark_sharding(h, mesh, ("batch", None))
        h.add_(1)
        return view, h

    x = torch.randn(8, 16)
    view, whole = compiled(function)(x.to("tt"))
    assert torch.equal(view.cpu(), x[0] * 2 + 1)
    assert torch.equal(whole.cpu(), x * 2 + 1)
    assert [message.partition(":")[0] for message in messages] == ["mark_sharding has no effect on h"]
    assert messages[0].endswith("Mark it before taking views of it, or mark a copy.")


def test_views_of_a_marked_tensor_are_read_after_the_mark(mesh, monkeypatch):
    """The mark splits the tensor although views from before it live on, and although ops without views write to it."""
    messages: list[str] = []
    monkeypatch.setattr(logger(), "warning", lambda text, *values: messages.append(text % values))

    def function(x):
        h = x * 2
        rows, argument = h[:4], x.view(128)
        xs.mark_sharding(h, mesh, ("batch", None))
        xs.mark_sharding(argument, mesh, ("batch",))
        total = rows.sum() + argument.sum()
        written = x + 1
        xs.mark_sharding(written, mesh, (None, "model"))
        written.mul_(3)
        return h * total, written

    x = torch.randn(8, 16)
    product, written = compiled(function)(x.to("tt"))
    expected = [x * 2 * ((x * 2)[:4].sum() + x.sum()), (x + 1) * 3]
    assert [relative_error(one, other) < 2**-9 for one, other in zip((product, written), expected, strict=True)] == [
        True
    ] * 2
    assert [dims_of(product), dims_of(written)] == [((0,), ()), ((), (1,))]
    assert messages == []


def test_a_marked_argument_is_updated_in_place(mesh):
    def function(cache, x):
        xs.mark_sharding(cache, mesh, ("batch", None))
        cache.add_(x)
        return cache * 2

    cache, x = torch.randn(8, 16), torch.randn(8, 16)
    on_device = cache.to("tt")
    result = compiled(function)(on_device, x.to("tt"))
    torch.testing.assert_close(on_device.cpu(), cache + x)
    torch.testing.assert_close(result.cpu(), (cache + x) * 2)
    assert dims_of(on_device) == ((0,), ())


# Tensors that recorded ops have yet to compute ------------------------------------------------------------------------


@pytest.mark.parametrize("synced", [True, False])
def test_a_mark_of_a_result_holds_after_the_next_run(mesh, synced):
    layer, x = nn.Linear(16, 16), torch.randn(8, 16)
    expected = layer(x)
    layer, x = layer.to("tt"), x.to("tt")
    xs.mark_sharding(layer.weight, mesh, ("model", None))
    h = layer(x)
    if synced:
        torch_xla.sync()
    marked = xs.mark_sharding(h, mesh, ("batch", None))
    later = h * 2
    assert xs.sharding_of(h) == xs.sharding_of(marked)
    assert dims_of(h) == ((0,), ())
    torch_xla.sync()
    assert (dims_of(h), dims_of(later), dims_of(marked)) == (((0,), ()),) * 3
    assert relative_error(later, expected * 2) < 2**-7
    h.sum().backward()
    assert layer.weight.grad is not None


def test_a_mark_that_is_taken_back_before_the_run_has_no_effect(mesh):
    x = torch.randn(8, 16)
    h = x.to("tt") + 1
    xs.mark_sharding(h, mesh, ("batch", None))
    xs.mark_sharding(h, mesh, (None, "model"))
    assert xs.sharding_of(xs.clear_sharding(h)) == ""
    assert torch.equal(h.cpu(), x + 1)
    assert compilation.compiled_programs()[-1].mesh is None


def test_results_that_are_not_computed_have_the_sharding_of_their_mark_or_of_what_they_copy(mesh):
    x = torch.randn(8, 16).to("tt").requires_grad_()
    y = xs.mark_sharding_with_gradients(x, mesh, ("batch", None))
    y.sum().backward()
    split = "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"
    assert [xs.sharding_of(tensor) for tensor in (y, x.grad, y.clone(), y + 1)] == [split, split, split, ""]
    row = xs.mark_sharding(torch.randn(8, 16).to("tt"), mesh, ("batch", None))
    assert xs.sharding_of(row.clone()) == split
    assert xs.sharding_of(row.clone().t()) == ""


def test_results_in_spmd_mode_are_replicated_once_they_are_computed():
    x = torch.ones(4, 4).to("tt")
    y = x @ x
    assert [xs.sharding_of(x), xs.sharding_of(y)] == ["", ""]
    torch_xla.sync()
    assert [xs.sharding_of(x), xs.sharding_of(y)] == ["", "{replicated}"]


@pytest.mark.parametrize("run", [compiled, lambda function: function], ids=["compiled", "recorded"])
@pytest.mark.parametrize("marks", [True, False])
def test_tensors_that_are_split_alike(mesh, run, marks):
    def function(x, y):
        first = xs.mark_sharding_with_gradients(x * 2, mesh, ("batch", "model")) if marks else x * 2
        (first, _), (second, _) = xs.shard_as((first, None), (y + 1, None))
        return first, second

    x, y = (torch.randn(8, 16) for _ in range(2))
    first, second = run(function)(x.to("tt"), y.to("tt"))
    torch_xla.sync()
    assert (first.tolist(), second.tolist()) == ((x * 2).tolist(), (y + 1).tolist())
    assert (dims_of(first), dims_of(second)) == ((((0,), (1,)),) * 2 if marks else (None, None))


def test_structures_that_shard_as_refuses():
    with pytest.raises(AssertionError, match="takes equal structures"):
        xs.shard_as([torch.ones(2)], (torch.ones(2),))
    with pytest.raises(AssertionError, match="got a tensor for None"):
        xs.shard_as([torch.ones(2)], [None])


# Several meshes ------------------------------------------------------------------------------------------------------


def test_another_mesh_compiles_again_and_two_orders_of_chips_are_refused(mesh):
    @compiled
    def function(x, mesh):
        h = x + 1
        xs.mark_sharding(h, mesh, ("batch", None))
        return h

    x = torch.randn(8, 16).to("tt")
    row = xs.Mesh(range(8), (8,), ("batch",))
    assert [dims_of(function(x, each)) for each in (mesh, row)] == [((0,), ()), ((0,), ())]
    assert compilation.compiled_programs()[-1].arguments[0].global_shape == (8, 16)
    xs.mark_sharding(x, mesh, ("batch", None))
    assert torch.equal(function(x, row).cpu(), x.cpu() + 1)
    with pytest.raises(CompileError, match=r"argument 0 on a mesh \(batch=2, model=4\).*an intermediate tensor on"):
        function(x, xs.Mesh(range(7, -1, -1), (8,), ("batch",)))


def test_the_error_of_two_orders_of_chips_in_a_recording_says_how_to_use_both(mesh):
    row = xs.Mesh(range(7, -1, -1), (8,), ("row",))
    x = torch.randn(8, 16).to("tt")
    first = xs.mark_sharding_with_gradients(x * 2, mesh, ("batch", "model"))
    with pytest.raises(CompileError, match=r"meshes of the same chips.*torch_xla.sync\(\).*xs.clear_sharding"):
        xs.mark_sharding_with_gradients(first + 1, row, ("row", None)).cpu()

    first = xs.mark_sharding_with_gradients(x * 2, mesh, ("batch", "model"))
    torch_xla.sync()
    second = xs.mark_sharding_with_gradients(xs.clear_sharding(first) + 1, row, ("row", None))
    torch.testing.assert_close(second.cpu(), x.cpu() * 2 + 1)
    assert dims_of(second) == ((0,), ())
    first = xs.mark_sharding_with_gradients(x * 2, mesh, ("batch", "model"))
    second = xs.mark_sharding_with_gradients(first + 1, mesh, (("batch", "model"), None))
    torch.testing.assert_close(second.cpu(), x.cpu() * 2 + 1)


def test_marks_that_do_not_fit_are_refused(mesh):
    x = torch.randn(8, 16).to("tt")
    for spec, message in (((None,), "has 1 entries"), (("rows", None), "names 'rows'")):
        with pytest.raises(ValueError, match=message):
            torch.compile(lambda x, spec=spec: xs.mark_sharding(x, mesh, spec), backend="tt")(x)


def test_a_mark_leaves_views_of_the_tensor_views(mesh):
    """What is written to the tensor after the mark, in the graph or by the caller, reaches its views."""

    @compiled
    def in_the_graph(x):
        y = x * 2
        view = y.view(128)
        xs.mark_sharding(y, mesh, ("batch", None))
        torch.nn.functional.relu(y, inplace=True)
        return view + 0

    @compiled
    def by_the_caller(x):
        y = x * 2
        view = y[:4]
        xs.mark_sharding(y, mesh, ("batch", None))
        return y, view

    @compiled
    def of_an_argument(x):
        y = x.view(128)
        xs.mark_sharding(y, mesh, ("batch",))
        return y

    x = torch.randn(8, 16)
    assert torch.equal(in_the_graph(x.to("tt")).cpu(), torch.relu(x * 2).view(128))
    y, view = by_the_caller(x.to("tt"))
    y.add_(100)
    assert torch.equal(view.cpu(), y[:4].cpu())
    argument = x.to("tt")
    of_an_argument(argument).add_(100)
    assert torch.equal(argument.cpu(), x + 100)
