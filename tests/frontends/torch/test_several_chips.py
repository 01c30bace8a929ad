"""Tests of tensors that are split over the chips of an emulated board."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch import nn

import tt_torch
from tests.closeness import relative_error
from tt_xla.errors import CompileError, MeshError, OptionError
from tt_xla.frontends.torch import compilation
from tt_xla.frontends.torch.device import placements
from tt_xla.log import logger

pytestmark = pytest.mark.usefixtures("chips_as_one_device")


def mesh_of(*shape: int) -> xs.Mesh:
    return xs.Mesh(np.arange(int(np.prod(shape))), shape, ("batch", "model")[: len(shape)])


def mesh_of_all(*shape: int) -> tuple[range, tuple[int, ...]]:
    """Returns the arguments of a mesh of all chips, which a test can make in SPMD mode alone."""
    return range(8), shape


def last_program():
    return compilation.compiled_programs()[-1]


def collectives(program) -> list[str]:
    names = ("all_gather", "all_reduce", "reduce_scatter", "point_to_point")
    ops = [step.op.removeprefix("ttnn.") for function in program.functions for step in function.body]
    return [op for op in ops if op in names]


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 8)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def test_the_system_has_its_chips():
    assert xr.global_runtime_device_count() == 8
    assert len(xr.global_runtime_device_attributes()) == 8


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_data_parallel(compiled):
    model = Mlp().eval()
    x = torch.randn(16, 16)
    with torch.no_grad():
        expected = model(x)
        model, x = model.to("tt"), x.to("tt")
        xs.mark_sharding(x, mesh_of(2, 4), (("batch", "model"), None))
        result = (torch.compile(model, backend="tt") if compiled else model)(x)
        torch.testing.assert_close(result.cpu(), expected, rtol=0.02, atol=0.02)
    program = last_program()
    assert program.mesh.shape == (2, 4)
    assert program.arguments[[argument.global_shape for argument in program.arguments].index((16, 16))].shape == (2, 16)
    assert collectives(program) == []


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_tensor_parallel(compiled):
    model = Mlp().eval()
    x = torch.randn(4, 16)
    mesh = mesh_of(1, 8)
    with torch.no_grad():
        expected = model(x)
        model, x = model.to("tt"), x.to("tt")
        xs.mark_sharding(model.up.weight, mesh, ("model", None))
        xs.mark_sharding(model.up.bias, mesh, ("model",))
        xs.mark_sharding(model.down.weight, mesh, (None, "model"))
        result = (torch.compile(model, backend="tt") if compiled else model)(x)
        torch.testing.assert_close(result.cpu(), expected, rtol=0.02, atol=0.02)
    assert collectives(last_program()) in (["all_reduce"], ["reduce_scatter", "all_gather"])


def test_a_batch_that_does_not_divide_evenly():
    x = torch.randn(5, 16)
    model = Mlp().eval()
    with torch.no_grad():
        expected = model(x)
        on_device = x.to("tt")
        xs.mark_sharding(on_device, mesh_of(8), ("batch", None))
        result = torch.compile(model.to("tt"), backend="tt")(on_device)
        torch.testing.assert_close(result.cpu(), expected, rtol=0.02, atol=0.02)
        total = torch.compile(lambda x: x.sum(0), backend="tt")(on_device)
    torch.testing.assert_close(total.cpu(), x.sum(0), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_a_training_step_with_sharded_parameters(compiled):
    """Fully sharded data parallel: parameters and batch are split over the same axis."""
    model = Mlp()
    reference = copy.deepcopy(model)
    x, target = torch.randn(8, 16), torch.randn(8, 8)
    loss = nn.functional.mse_loss(reference(x), target)
    loss.backward()
    torch.optim.SGD(reference.parameters(), lr=0.1).step()

    mesh = mesh_of(8)
    model = model.to("tt")
    x, target = x.to("tt"), target.to("tt")
    for parameter in model.parameters():
        xs.mark_sharding(parameter, mesh, ("batch", *[None] * (parameter.dim() - 1)))
    for tensor in (x, target):
        xs.mark_sharding(tensor, mesh, ("batch", None))
    forward = torch.compile(model, backend="tt") if compiled else model
    loss_tt = nn.functional.mse_loss(forward(x), target)
    loss_tt.backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    torch.testing.assert_close(loss_tt.cpu(), loss, rtol=0.02, atol=0.02)
    for parameter, expected in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(parameter.cpu(), expected, rtol=0.02, atol=0.02)


def test_results_stay_split():
    x = torch.randn(16, 16).to("tt")
    xs.mark_sharding(x, mesh_of(8), ("batch", None))
    y = torch.compile(lambda x: x * 2, backend="tt")(x)
    assert placements.placement_of(y).sharding.dims == ((0,), ())
    assert xs.sharding_of(y) == "{devices=[8,1]0,1,2,3,4,5,6,7}"
    torch.compile(lambda y: y + 1, backend="tt")(y)
    assert last_program().mesh is not None


def test_marking_after_a_call_compiles_again():
    function = torch.compile(lambda x: x + 1, backend="tt")
    x = torch.randn(8, 16).to("tt")
    expected = x.cpu() + 1
    assert torch.equal(function(x).cpu(), expected)
    assert last_program().mesh is None
    xs.mark_sharding(x, mesh_of(8), ("batch", None))
    assert torch.equal(function(x).cpu(), expected)
    assert last_program().mesh is not None
    xs.clear_sharding(x)
    assert torch.equal(function(x).cpu(), expected)


@pytest.mark.parametrize("devices", [[4, 5], [3, 1, 0, 2, 7, 6, 5, 4]])
def test_meshes_of_some_devices_and_in_another_order(devices):
    x = torch.randn(8, 16)
    on_device = x.to("tt")
    xs.mark_sharding(on_device, xs.Mesh(devices, (len(devices),), ("batch",)), ("batch", None))
    result = torch.compile(lambda x: x + x.sum(0), backend="tt")(on_device)
    torch.testing.assert_close(result.cpu(), x + x.sum(0))
    assert placements.placement_of(result).chips == tuple(devices)


def test_axes_have_any_names():
    x = torch.randn(8, 16)
    mesh = xs.Mesh(range(8), (2, 4), ("mesh_idx_1", 'a "quoted" name'))
    on_device = xs.mark_sharding(x.to("tt"), mesh, ("mesh_idx_1", None))

    def compute(x):
        return tt_torch.sharding_constraint_tensor(x * 2, mesh, (None, 'a "quoted" name')) + 1

    result = torch.compile(compute, backend="tt", fullgraph=True)(on_device)
    assert torch.equal(result.cpu(), x * 2 + 1)
    assert placements.placement_of(result).sharding.dims == ((), (1,))


def test_constraints_to_partial_sums():
    """Chips keep their part of a product until the sum is needed."""
    mesh = mesh_of(2, 4)
    x, w = (torch.randint(-5, 5, shape).float() for shape in ((8, 16), (16, 12)))
    a = xs.mark_sharding(x.to("tt"), mesh, ("batch", "model"))
    b = xs.mark_sharding(w.to("tt"), mesh, ("model", None))

    def compute(a, b):
        partial = tt_torch.sharding_constraint_tensor(a @ b, mesh, ("batch", None), unreduced=("model",))
        doubled = tt_torch.sharding_constraint_tensor(partial + partial, mesh, ("batch", None), unreduced=("model",))
        return torch.relu(doubled), partial

    result, product = torch.compile(compute, backend="tt", fullgraph=True)(a, b)
    assert torch.equal(result.cpu(), torch.relu(2 * (x @ w)))
    assert torch.equal(product.cpu(), x @ w)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
def test_sharding_constraints():
    mesh = mesh_of(2, 4)
    model = Mlp().eval()
    x = torch.randn(8, 16)
    with torch.no_grad():
        expected = model(x)
    model.up.register_forward_hook(tt_torch.sharding_constraint_hook(model.up, mesh, (None, "model")))
    x = x.to("tt")
    xs.mark_sharding(x, mesh, ("batch", None))
    model = model.to("tt")
    result = torch.compile(model, backend="tt", fullgraph=True)(x)
    torch.testing.assert_close(result.detach().cpu(), expected, rtol=0.02, atol=0.02)
    result.sum().backward()
    assert model.up.weight.grad is not None


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_collectives_of_a_whole_tensor(compiled):
    def compute(t):
        return (
            xm.all_reduce(xm.REDUCE_SUM, t),
            xm.all_reduce(xm.REDUCE_MAX, t, groups=[[0, 1, 2, 3], [4, 5, 6, 7]]),
            xm.all_gather(t, 0),
            xm.all_gather(t, 1, groups=[[0, 4], [1, 5], [2, 6], [3, 7]]),
            xm.reduce_scatter(xm.REDUCE_SUM, t, 0.5, 1, 8),
        )

    t = torch.randn(4, 16)
    xs.set_global_mesh(mesh_of(2, 4))
    results = (torch.compile(compute, backend="tt") if compiled else compute)(t.to("tt"))
    total, largest, rows, columns, part = (result.cpu() for result in results)
    torch.testing.assert_close(total, t * 8)
    assert torch.equal(largest, t)
    assert torch.equal(rows, t.repeat(8, 1))
    assert torch.equal(columns, t.repeat(1, 2))
    torch.testing.assert_close(part, t[:, :2] * 4)


def test_wrong_uses():
    x = torch.randn(8, 16)
    with pytest.raises(ValueError, match=r"names devices \[8, 9\]; the system has 8"):
        xs.Mesh(range(10), (10,))
    for arguments, message in (
        (([0, 0], (2,)), r"Device IDs must be unique, got: \[0, 0\]"),
        ((range(8), (2, 8)), r"Number of device IDs \(8\) must match mesh size \(16\)"),
        ((range(8), (2, 4), ("x",)), r"Number of axis names \(1\) must match mesh dimensions \(2\)"),
        ((range(8), (2, 4), ("x", "x")), "Axis names must be unique"),
    ):
        for kind in (AssertionError, ValueError):
            with pytest.raises(kind, match=message):
                xs.Mesh(*arguments)
    with pytest.raises(AssertionError, match=r"has 1 entries, the tensor has shape \[8, 16\]"):
        xs.mark_sharding(x.to("tt"), mesh_of(8), ("batch",))
    with pytest.raises(ValueError, match="takes a tensor on device 'tt'"):
        xs.mark_sharding(x, mesh_of(8), ("batch", None))
    with pytest.raises(ValueError, match="The system has 8"):
        xm.all_reduce(xm.REDUCE_SUM, x.to("tt"), groups=[[0, 8]])
    with pytest.raises(IndexError, match=r"Dimension 7 of a tensor of shape \[8, 16\]: expected -2 to 1"):
        xm.all_gather(x.to("tt"), dim=7)
    with pytest.raises(TypeError, match="takes a tensor and a Mesh, got Tensor and NoneType"):
        xs.mark_sharding(x.to("tt"), None, ("batch", None))
    for spec, message in ((("rows", None), "names 'rows'"), (("batch", "batch"), "uses axis 'batch' twice")):
        with pytest.raises(ValueError, match=message):
            tt_torch.sharding_constraint_tensor(x, mesh_of(8), spec)
    a, b = x.to("tt"), x.to("tt")
    xs.mark_sharding(a, mesh_of(8), ("batch", None))
    add = torch.compile(lambda a, b: a + b, backend="tt")
    assert torch.equal(add(a, b).cpu(), x + x)
    xs.mark_sharding(b, xs.Mesh(range(4), (4,), ("batch",)), ("batch", None))
    for _ in range(2):  # the second call is refused like the first
        with pytest.raises(CompileError, match="different meshes"):
            add(a, b)
    xs.clear_sharding(b)
    assert torch.equal(add(a, b).cpu(), x + x)


@pytest.mark.parametrize(
    ("other", "spec", "split"),
    [
        (mesh_of_all(2, 4), (0, 1), "{devices=[2,4]0,1,2,3,4,5,6,7}"),
        (mesh_of_all(2, 2, 2), (2, (0, 1)), "{devices=[2,4]0,2,4,6,1,3,5,7}"),
        (([0, 4, 1, 5, 2, 6, 3, 7], (4, 2)), (0, 1), "{devices=[4,2]0,4,1,5,2,6,3,7}"),
    ],
    ids=["grid", "cube", "transposed grid"],
)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_a_program_may_have_tensors_on_several_meshes(other, spec, split, compiled):
    def compute(a, b):
        return a + 1, b * 2, a @ b

    x, y = (torch.randint(-5, 5, (8, 8)).float() for _ in range(2))
    a, b = x.to("tt"), y.to("tt")
    xs.mark_sharding(a, mesh_of(4, 2), ("batch", "model"))
    xs.mark_sharding(b, xs.Mesh(*other), spec)
    results = (torch.compile(compute, backend="tt") if compiled else compute)(a, b)
    torch_xla.sync()
    assert [result.cpu().tolist() for result in results] == [result.tolist() for result in compute(x, y)]
    assert last_program().mesh.size == 8
    shardings = [xs.sharding_of(result) for result in results]
    assert shardings[:2] == ["{devices=[4,2]0,1,2,3,4,5,6,7}", split]
    assert shardings[2] != ""


def test_sharding_constraints_name_the_axes_of_the_only_mesh():
    a, b = torch.ones(8, 8).to("tt"), torch.ones(8, 8).to("tt")
    xs.mark_sharding(a, mesh_of(2, 4), ("batch", None))
    xs.mark_sharding(b, mesh_of(8), ("batch", None))
    constrained = tt_torch.sharding_constraint_tensor(a + b, mesh_of(8), ("batch", None))
    with pytest.raises(CompileError, match=r"are on 2 meshes.*Mark the tensor with xs.mark_sharding"):
        constrained.cpu()


def test_recorded_ops_on_other_chips_run_as_a_program_each(monkeypatch):
    messages: list[str] = []
    monkeypatch.setattr(logger(), "warning", lambda text, *values: messages.append(text % values))
    x, y, z = (torch.randn(8, 8) for _ in range(3))
    a, b, c = x.to("tt"), y.to("tt"), z.to("tt")
    xs.mark_sharding(a, mesh_of(2, 4), ("batch", "model"))
    xs.mark_sharding(b, xs.Mesh(range(4), (4,), ("batch",)), ("batch", None))
    results = [a + 1, b * 2, c - 1, a.sum(0), b.t() @ b]
    expected = [x + 1, y * 2, z - 1, x.sum(0), y.t() @ y]
    for result, right in zip(results, expected, strict=True):
        assert relative_error(result, right) < 2**-8  # factors have 11 significant bits
    shapes = [program.mesh.shape if program.mesh else () for program in compilation.compiled_programs()]
    assert sorted(shapes) == [(), (1, 4), (2, 4)]
    assert messages == []
    mixed = a + b
    with pytest.raises(CompileError, match="different meshes"):
        mixed.cpu()


def test_notation_of_shardings():
    x = torch.randn(8, 16).to("tt")
    mesh = mesh_of(2, 4)
    for spec, expected in (
        ((None, None), "{replicated}"),
        (("batch", "model"), "{devices=[2,4]0,1,2,3,4,5,6,7}"),
        (("model", None), "{devices=[4,1,2]0,4,1,5,2,6,3,7 last_tile_dim_replicate}"),
        ((("model", "batch"), None), "{devices=[8,1]0,4,1,5,2,6,3,7}"),
    ):
        assert xs.sharding_of(xs.mark_sharding(x, mesh, spec)) == expected


# ---- Shardings that the compiler chooses


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(512, 2048), nn.Linear(2048, 512)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def compiled_automatically(model, **options):
    return torch.compile(model, backend="tt", options={"auto_sharding": True, **options})


def test_chosen_placements_give_the_values_of_one_chip():
    model, x = Wide().eval(), torch.randn(1, 512)
    with torch.no_grad():
        expected = model(x)
        xs.set_global_mesh(mesh_of(2, 4))
        model = model.to("tt")
        compiled = compiled_automatically(model)
        torch.testing.assert_close(compiled(x.to("tt")).cpu(), expected, rtol=0.02, atol=0.02)
        program = last_program()
        assert program.mesh.axes == ("batch", "model")
        assert any("devices" in xs.sharding_of(layer.weight) for layer in (model.up, model.down))
        count = len(compilation.compiled_programs())
        torch.testing.assert_close(compiled(x.to("tt")).cpu(), expected, rtol=0.02, atol=0.02)
        assert len(compilation.compiled_programs()) == count, "the chosen placements do not compile the model again"


@pytest.mark.parametrize(("option", "shape"), [(True, (1, 8)), ("2x4", (2, 4))])
def test_a_large_batch_is_split_over_all_chips(option, shape):
    """Without a global mesh, the mesh is that of all chips in a row, which SPMD mode sets, or of the option."""
    model, x = Wide().eval(), torch.randn(2048, 512)
    with torch.no_grad():
        expected = model(x)
        x = x.to("tt")
        result = compiled_automatically(model.to("tt"), auto_sharding=option)(x)
    torch.testing.assert_close(result.cpu(), expected, rtol=0.02, atol=0.02)
    assert last_program().mesh.shape == shape
    assert xs.sharding_of(x) == xs.sharding_of(result) == "{devices=[8,1]0,1,2,3,4,5,6,7}"


def test_marked_tensors_keep_their_placement():
    model, x = Wide().eval(), torch.randn(1024, 512)
    with torch.no_grad():
        expected = model(x)
        model, x = model.to("tt"), x.to("tt")
        xs.mark_sharding(x, mesh_of(2, 4), ("batch", None))
        before = xs.sharding_of(x)
        torch.testing.assert_close(compiled_automatically(model)(x).cpu(), expected, rtol=0.02, atol=0.02)
    assert xs.sharding_of(x) == before
    split = [argument for argument in last_program().arguments if argument.global_shape == (1024, 512)]
    assert split[0].shape == (512, 512)


def test_training_with_chosen_placements():
    model, x = Wide(), torch.randn(256, 512)
    reference = copy.deepcopy(model)
    reference(x).square().mean().backward()
    model = model.to("tt")
    compiled_automatically(model)(x.to("tt")).square().mean().backward()
    assert any(program.mesh is not None for program in compilation.compiled_programs())
    for actual, expected in zip(model.parameters(), reference.parameters(), strict=True):
        assert (actual.grad.cpu() - expected.grad).norm() < 0.03 * expected.grad.norm()


def test_ops_that_are_not_compiled_are_not_searched():
    torch_xla.set_custom_compile_options({"auto_sharding": True})
    try:
        result = torch.ones(64, 64).to("tt") @ torch.ones(64, 64).to("tt")
        assert result.cpu()[0, 0] == 64
        assert last_program().mesh is None
    finally:
        torch_xla.set_custom_compile_options({})


def test_a_mesh_other_than_that_of_marked_tensors_is_refused():
    x = torch.randn(8, 512).to("tt")
    xs.mark_sharding(x, mesh_of(2, 4), ("batch", None))
    with pytest.raises(OptionError, match="asks for a mesh of 4x2; the module has a mesh of 2x4"):
        compiled_automatically(Wide().eval().to("tt"), auto_sharding="4x2")(x)


def test_a_mesh_that_the_links_do_not_form_is_refused():
    with pytest.raises(MeshError, match="A mesh of 4x4 needs 16 chips; n300-llmbox has 8 chips"):
        compiled_automatically(Wide().eval().to("tt"), auto_sharding="4x4")(torch.randn(8, 512).to("tt"))


def test_chosen_chips_are_priced_by_the_links_between_them():
    figures = []
    for chips in ([0, 1], [1, 2], [0, 3]):
        x = torch.randn(2, 256, 256).to("tt")
        xs.mark_sharding(x, xs.Mesh(np.array(chips), (2,), ("x",)), ("x", None, None))
        result = torch.compile(lambda a: a.sum(0), backend="tt")(x)
        torch.testing.assert_close(result.cpu(), x.cpu().sum(0), rtol=1e-2, atol=1e-2)
        figures.append((last_program().mesh.devices, last_program().predicted_device_us))
    assert [devices for devices, _ in figures] == [(), (1, 2), (0, 3)]
    assert figures[0][1] == figures[1][1] < figures[2][1]
