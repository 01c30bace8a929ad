"""Tests of the names of ``torch_xla`` and ``torch.distributed.tensor`` for tensors that chips share."""

from __future__ import annotations

import copy
import importlib
import io

import numpy as np
import pytest
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.metrics as metrics
import torch_xla.distributed.spmd as xs
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch_xla.distributed.fsdp.utils import apply_xla_patch_to_nn_linear
from torch_xla.distributed.spmd.xla_sharded_tensor import XLAShardedTensor
from torch_xla.experimental.spmd_fully_sharded_data_parallel import SpmdFullyShardedDataParallel

from tests.closeness import relative_error
from tt_xla.frontends.torch import compilation, session
from tt_xla.frontends.torch.device import placements

ROUNDING = 2**-7
"""Relative error of a few layers and their gradients, whose factors the matrix unit cuts to 11 significant bits."""

pytestmark = pytest.mark.usefixtures("chips_as_one_device")


@pytest.fixture
def mesh():
    return DeviceMesh("xla", torch.arange(8).reshape(2, 4), mesh_dim_names=("batch", "model"))


def numbers() -> torch.Tensor:
    return torch.arange(64.0).view(8, 8)


def fsdp_mesh() -> xs.Mesh:
    return xs.Mesh(np.arange(8), (8,), ("fsdp",))


# distribute_tensor, distribute_module --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "spec", "kind", "part"),
    [
        ([Replicate(), Shard(0)], (1, None), xs.ShardingType.PARTIAL, [2, 8]),
        ([Shard(0), Shard(1)], (0, 1), xs.ShardingType.TILED, [4, 2]),
        ([Shard(0), Shard(0)], ((0, 1), None), xs.ShardingType.TILED, [1, 8]),
        ([Shard(-1), Replicate()], (None, 0), xs.ShardingType.PARTIAL, [8, 4]),
        (None, (None, None), xs.ShardingType.REPLICATED, [8, 8]),
    ],
)
def test_distribute_tensor(mesh, wanted, spec, kind, part):
    x = distribute_tensor(numbers(), mesh, wanted)
    assert isinstance(x, XLAShardedTensor)
    assert (x.partition_spec, x.sharding_type, x.mesh_shape) == (spec, kind, (2, 4))
    assert [list(shard.data.shape) for shard in x.local_shards] == [part] * 8
    placed = wanted or [Replicate(), Replicate()]
    assert x.placements == tuple(Shard(1) if placement == Shard(-1) else placement for placement in placed)
    product = x @ x
    assert isinstance(product, XLAShardedTensor)
    assert torch.equal(product.cpu(), numbers() @ numbers())
    assert compilation.compiled_programs()[-1].mesh.shape == (2, 4)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([Shard(0)], "1 placements for a mesh of 2 axes"),
        ([Partial(), Shard(0)], "Unsupported placement"),
        ([Shard(2), Replicate()], r"names a dimension that a tensor of shape \[8, 8\] lacks"),
    ],
)
def test_placements_that_do_not_fit_are_refused(mesh, wanted, message):
    with pytest.raises(ValueError, match=message):
        distribute_tensor(numbers(), mesh, wanted)


def test_a_mesh_of_processes_is_refused(mesh):
    other = copy.copy(mesh)
    other._device_type = "tt"
    with pytest.raises(ValueError, match=r"stands for several processes.*DeviceMesh\('xla'"):
        xs.xla_distribute_tensor(numbers(), other, [Shard(0), Replicate()])


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_distribute_module(mesh, compiled):
    """A module with split parameters trains as the one on the CPU does."""
    reference = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    hooks = []

    def split(name, module, mesh):
        if isinstance(module, nn.Linear):
            dim = 0 if name == "0" else 1
            module.weight = nn.Parameter(distribute_tensor(module.weight, mesh, [Replicate(), Shard(dim)]))
            module.bias = nn.Parameter(distribute_tensor(module.bias, mesh, [Replicate(), Replicate()]))

    def inputs(_module, args, mesh):
        hooks.append("input")
        return (distribute_tensor(args[0], mesh, [Shard(0), Replicate()]),)

    module = distribute_module(copy.deepcopy(reference), mesh, split, inputs, lambda _module, output, _mesh: output * 2)
    assert all(isinstance(parameter, nn.Parameter) for parameter in module.parameters())
    x = torch.randn(4, 8)
    if compiled:
        module._forward_pre_hooks.clear()
        result = torch.compile(module, backend="tt")(distribute_tensor(x, mesh, [Shard(0), Replicate()]))
    else:
        result = module(x)
        assert hooks == ["input"]
    expected = reference(x) * 2
    torch.testing.assert_close(result.full_tensor().cpu(), expected, rtol=0.02, atol=0.02)
    expected.square().sum().backward()
    result.square().sum().backward()
    assert relative_error(module[0].weight.grad, reference[0].weight.grad) < ROUNDING


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(32, 16), nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, tokens):
        x = self.norm(self.embed(tokens))
        return x + self.down(torch.relu(self.up(x)))


PLAN = {
    "embed": RowwiseParallel(input_layouts=Replicate()),
    "norm": SequenceParallel(),
    "up": ColwiseParallel(),
    "down": RowwiseParallel(),
}


@pytest.mark.parametrize("kind", ["tt", "xla"])
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_parallelize_module(kind, compiled):
    block, tokens = Block(), torch.randint(0, 32, (4, 8))
    reference = copy.deepcopy(block)
    expected = reference(tokens)
    expected.square().mean().backward()
    mesh = init_device_mesh(kind, (8,), mesh_dim_names=("model",))
    block = parallelize_module(block, mesh, PLAN).to("tt")
    specs = {name: xs.sharding_of(parameter) for name, parameter in block.named_parameters()}
    assert specs["up.weight"] == specs["down.weight"].replace("[1,8]", "[8,1]") == "{devices=[8,1]0,1,2,3,4,5,6,7}"
    assert specs["embed.weight"] == specs["up.weight"]
    result = (torch.compile(block, backend="tt", fullgraph=True) if compiled else block)(tokens.to("tt"))
    result.square().mean().backward()
    assert relative_error(result, expected) < ROUNDING
    for parameter, right in zip(block.parameters(), reference.parameters(), strict=True):
        assert relative_error(parameter.grad, right.grad) < ROUNDING
    assert compilation.compiled_programs()[0].mesh.shape == (1, 8)


def test_slices_of_a_mesh_split_along_their_own_axes():
    mesh = init_device_mesh("tt", (2, 4), mesh_dim_names=("data", "model"))
    block, tokens = Block(), torch.randint(0, 32, (4, 8))
    expected = block(tokens).detach()
    parallelize_module(block, mesh["model"], PLAN)
    split = distribute_tensor(tokens, mesh["data"], [Shard(0)])
    assert (block.up.weight.shape, xs.sharding_of(block.up.weight)[:18]) == ((64, 16), "{devices=[4,1,2]0,")
    result = torch.compile(block.to("tt"), backend="tt")(split)
    program = compilation.compiled_programs()[-1]
    shapes = {argument.global_shape: argument.shape for argument in program.arguments}
    assert (program.mesh.shape, shapes[64, 16], shapes[4, 8]) == ((2, 4), (16, 16), (2, 8))
    assert relative_error(result, expected) < ROUNDING


def test_the_process_has_the_place_of_the_first_chip():
    mesh = init_device_mesh("tt", (2, 4), mesh_dim_names=("data", "model"))
    assert (mesh.get_rank(), mesh.get_coordinate(), mesh["model"].get_coordinate()) == (0, (0, 0), (0,))
    ranks = [mesh.get_local_rank("model"), mesh.get_local_rank(0), mesh["data"].get_local_rank()]
    assert ranks == [0, 0, 0]
    with pytest.raises(RuntimeError, match="mesh_dim"):
        mesh.get_local_rank()


INPUT = {"input_layouts": Shard(0), "desired_input_layouts": Replicate()}
OUTPUT = {"output_layouts": Replicate(), "desired_output_layouts": Shard(0)}


@pytest.mark.parametrize(
    "style",
    [
        PrepareModuleInput(**INPUT),
        PrepareModuleInput(input_kwarg_layouts={"x": Shard(0)}, desired_input_kwarg_layouts={"x": Replicate()}),
        PrepareModuleOutput(**OUTPUT),
        PrepareModuleInputOutput(**INPUT, **OUTPUT),
    ],
    ids=["input", "keyword", "output", "input and output"],
)
def test_styles_that_prepare_inputs_and_outputs_leave_whole_tensors_whole(style):
    mesh = init_device_mesh("tt", (8,), mesh_dim_names=("model",))
    block, x = nn.Sequential(nn.Linear(16, 8)), torch.randn(8, 16)
    expected = block(x).detach()
    block = parallelize_module(block, mesh, {"0": style}).to("tt")
    assert relative_error(block(x.to("tt")), expected) < ROUNDING


def test_copies_of_a_split_module_are_split_and_files_have_whole_tensors():
    mesh = init_device_mesh("tt", (8,), mesh_dim_names=("model",))
    block = parallelize_module(Block(), mesh, PLAN).to("tt")
    block.down.tied = block.up.weight
    copied = copy.deepcopy(block)
    weight, own = copied.up.weight, block.up.weight
    assert (type(weight), weight.requires_grad, copied.down.tied is weight) == (XLAShardedTensor, True, True)
    assert isinstance(weight, nn.Parameter)
    assert xs.sharding_of(weight) == xs.sharding_of(own) == "{devices=[8,1]0,1,2,3,4,5,6,7}"
    with torch.no_grad():
        weight.zero_()
    assert own.cpu().abs().sum() > 0

    file = io.BytesIO()
    torch.save(block.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True, map_location="cpu")
    assert {type(value) for value in state.values()} == {torch.Tensor}
    copied.load_state_dict(state)
    assert torch.equal(weight.cpu(), own.cpu())
    assert xs.sharding_of(weight) == xs.sharding_of(own)


def test_an_axis_that_joins_axes_is_refused():
    mesh = init_device_mesh("tt", (2, 4), mesh_dim_names=("data", "model"))
    with pytest.raises(ValueError, match=r"axes \['data_model'\] are not axes of the whole mesh"):
        distribute_tensor(numbers(), mesh["data", "model"]._flatten(), [Shard(0)])


@pytest.mark.parametrize(
    "ask", [lambda mesh: mesh.get_group("model"), lambda mesh: mesh["data"].get_group(), DeviceMesh.get_all_groups]
)
def test_a_mesh_of_chips_has_no_process_groups(ask):
    mesh = init_device_mesh("tt", (2, 4), mesh_dim_names=("data", "model"))
    with pytest.raises(RuntimeError, match="mesh of chips, which are all in this one process, so it has no process gr"):
        ask(mesh)


def test_functions_of_distribute_module_take_three_arguments(mesh):
    with pytest.raises(ValueError, match="input_fn takes three arguments"):
        distribute_module(nn.Linear(8, 8), mesh, None, lambda inputs, mesh: inputs)


# FSDP ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_fully_sharded_data_parallel(compiled):
    reference = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    mesh = fsdp_mesh()
    module = SpmdFullyShardedDataParallel(copy.deepcopy(reference).to("tt"), mesh=mesh)
    assert xs.sharding_of(module[0].weight) == "{devices=[8,1]0,1,2,3,4,5,6,7}"
    assert xs.sharding_of(module.module[2].weight) == "{devices=[1,8]0,1,2,3,4,5,6,7}"
    x = torch.randn(16, 8)
    data = xs.mark_sharding(x.to("tt"), mesh, ("fsdp", None))
    call = torch.compile(module, backend="tt", fullgraph=True) if compiled else module
    with torch.no_grad():
        result = call(data)
        torch.testing.assert_close(result.full_tensor().cpu(), reference(x), rtol=0.02, atol=0.02)
        assert xs.sharding_of(result) == "{devices=[8,1]0,1,2,3,4,5,6,7}"
    call(data).square().sum().backward()
    reference(x).square().sum().backward()
    assert relative_error(module[0].weight.grad, reference[0].weight.grad) < ROUNDING


@pytest.mark.parametrize("count", ["unwrapped_params", "nonwrapped_numel"])
def test_fsdp_wraps_what_a_policy_selects_and_uses_the_global_mesh(count):
    """A policy gets the number of parameters that are not wrapped yet, under torch_xla's or PyTorch's name."""
    xs.set_global_mesh(fsdp_mesh())
    seen = []

    def policy(module, recurse, **counts):
        assert list(counts) == [count]
        if recurse:
            return not isinstance(module, nn.ReLU)
        seen.append((type(module), counts[count]))
        return isinstance(module, nn.Linear) and counts[count] > 100

    named = {
        "unwrapped_params": lambda module, recurse, unwrapped_params: policy(
            module, recurse, unwrapped_params=unwrapped_params
        ),
        "nonwrapped_numel": lambda module, recurse, nonwrapped_numel: policy(
            module, recurse, nonwrapped_numel=nonwrapped_numel
        ),
    }
    module = SpmdFullyShardedDataParallel(
        nn.Sequential(nn.Linear(8, 16), nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(4, 4))),
        auto_wrap_policy=named[count],
    )
    assert isinstance(module[0], SpmdFullyShardedDataParallel)
    assert isinstance(module[1][0], SpmdFullyShardedDataParallel)
    assert isinstance(module[1][2], nn.Linear)
    assert seen == [(nn.Linear, 144), (nn.Linear, 136), (nn.Linear, 20), (nn.Sequential, 20)]
    assert {str(parameter.device) for parameter in module.parameters()} == {"tt:0"}


def test_fsdp_wraps_by_a_function():
    wrapped = []

    def wrap(child, **options):
        wrapped.append((type(child), sorted(options)))
        return child

    module = SpmdFullyShardedDataParallel(
        nn.Sequential(nn.Linear(8, 8)), mesh=fsdp_mesh(), auto_wrap_policy=lambda **_: True, auto_wrapper_callable=wrap
    )
    assert wrapped == [(nn.Linear, ["extra_data_axis", "mesh", "shard_output"])]
    assert isinstance(module[0], nn.Linear)


def test_fsdp_calls_shard_output():
    module = SpmdFullyShardedDataParallel(
        nn.Linear(8, 8).to("tt"), mesh=fsdp_mesh(), shard_output=lambda output, mesh: {"result": output, "mesh": mesh}
    )
    assert set(module(torch.ones(8, 8, device="tt"))) == {"result", "mesh"}


class ReturnsDictionary(nn.Module):
    def forward(self):
        return {}


def test_fsdp_refuses_what_it_cannot_split():
    layer = nn.Linear(8, 8).to("tt")
    with pytest.raises(ValueError, match=r"needs the axes \['fsdp'\]; there is no mesh"):
        SpmdFullyShardedDataParallel(layer)
    with pytest.raises(ValueError, match=r"needs the axes \['fsdp'\]; the mesh has the axes \['data'\]"):
        SpmdFullyShardedDataParallel(layer, mesh=xs.get_1d_mesh("data"))
    wrapped = SpmdFullyShardedDataParallel(layer, mesh=fsdp_mesh())
    with pytest.raises(RuntimeError, match="wrapped already"):
        SpmdFullyShardedDataParallel(wrapped, mesh=fsdp_mesh())
    with pytest.raises(ValueError, match=r"\[.0.\] are wrapped already"):
        SpmdFullyShardedDataParallel(nn.Sequential(wrapped), mesh=fsdp_mesh(), auto_wrap_policy=lambda **_: True)
    with pytest.raises(RuntimeError, match="ModuleList has no forward method"):
        SpmdFullyShardedDataParallel(nn.ModuleList([nn.Linear(2, 2)]), mesh=fsdp_mesh())
    with pytest.raises(ValueError, match="The provided ddp axis is not in the mesh"):
        SpmdFullyShardedDataParallel(nn.Linear(8, 8), mesh=fsdp_mesh(), extra_data_axis="ddp")
    returns_a_dictionary = SpmdFullyShardedDataParallel(ReturnsDictionary(), mesh=fsdp_mesh())
    with pytest.raises(RuntimeError, match="The output type is not supported: dict"):
        returns_a_dictionary()


# Further names -------------------------------------------------------------------------------------------------------


def test_meshes_as_text_and_for_jax():
    mesh = xs.Mesh(range(8), (2, 4), ("data", "model"))
    assert str(xs.Mesh.from_str(str(mesh))) == str(mesh)
    assert (
        str(mesh) == "{'device_ids': [0, 1, 2, 3, 4, 5, 6, 7], 'mesh_shape': (2, 4), 'axis_names': ('data', 'model')}"
    )
    assert xs.Mesh.from_str("no mesh") is None
    assert xs.get_1d_mesh().shape() == {0: 8}
    sharding = mesh.get_op_sharding((("model", "data"), None))
    assert (str(sharding), sharding.type) == ("{devices=[8,1]0,4,1,5,2,6,3,7}", xs.ShardingType.TILED)


def test_the_global_mesh_can_be_taken_back():
    mesh = xs.get_1d_mesh("data")
    xs.set_global_mesh(mesh)
    assert xs.get_global_mesh() is mesh
    xs.set_global_mesh(None)
    assert xs.get_global_mesh() is None
    assert torch.equal(xm.all_reduce(xm.REDUCE_SUM, torch.ones(2).to("tt")).cpu(), torch.full((2,), 8.0))


def test_sharding_specs():
    spec = xs.ShardingSpec(xs.get_1d_mesh("data"), ("data", None))
    x = numbers().to("tt")
    assert [spec.can_apply(tensor) for tensor in (x, x[0])] == [True, False]
    assert (str(spec.xla_spec(x)), spec.xla_spec(x[0])) == ("{devices=[8,1]0,1,2,3,4,5,6,7}", None)
    spec.apply(x)
    assert xs.sharding_of(x) == "{devices=[8,1]0,1,2,3,4,5,6,7}"
    with pytest.raises(AssertionError, match="applies to tensors on the device, got one on cpu"):
        spec.apply(numbers())
    with pytest.raises(ValueError, match="names 'model'"):
        xs.ShardingSpec(xs.get_1d_mesh("data"), ("model", None))
    part = xs.ShardingSpec(xs.get_1d_mesh("data"), ("data", None), minibatch=True)
    part.apply(x)
    with pytest.raises(RuntimeError, match="the per-host batch size must be divisible by local runtime device count"):
        part.apply(x[:7])


def test_hybrid_mesh():
    mesh = xs.HybridMesh(ici_mesh_shape=(2, 4), axis_names=("data", "model"))
    assert mesh.shape() == {"data": 2, "model": 4}
    with pytest.raises(ValueError, match="A system is one slice"):
        xs.HybridMesh(ici_mesh_shape=(1, 4), dcn_mesh_shape=(2, 1))


def test_patched_linear_layers_compute_the_same():
    layer = nn.Sequential(nn.Linear(8, 16, bias=False), nn.Linear(16, 4))
    x = torch.randn(2, 3, 8)
    expected = layer(x)
    patched = apply_xla_patch_to_nn_linear(copy.deepcopy(layer))
    torch.testing.assert_close(patched(x), expected)
    torch.testing.assert_close(patched.to("tt")(x.to("tt")).cpu(), expected, rtol=0.02, atol=0.02)


def test_einsum_layers_take_the_place_of_linear_layers():
    model = nn.Sequential(nn.Linear(8, 16, bias=False), nn.Sequential(nn.Linear(16, 4)))
    parameters, x = list(model.parameters()), torch.randn(2, 3, 8)
    expected = model(x)
    patched = xs.apply_xla_patch_to_nn_linear(model)
    assert {type(module) for module in patched.modules()} == {nn.Sequential, xs.EinsumLinear}
    assert all(own is before for own, before in zip(patched.parameters(), parameters, strict=True))
    first = patched[0]
    assert xs.apply_xla_patch_to_nn_linear(patched)[0] is first
    torch.testing.assert_close(patched(x), expected)
    layer = patched[1][0]
    torch.testing.assert_close(xs.XLAPatchedLinear.apply(first(x), layer.weight, layer.bias), expected)


def test_older_module_names_have_the_same_names():
    import torch_xla.distributed.spmd.xla_sharding as newer
    import torch_xla.experimental.xla_sharding as older

    assert newer.Mesh is older.Mesh is xs.Mesh
    assert xs.xla_sharding.mark_sharding is xs.mark_sharding
    assert xs.XLAShardedTensor is XLAShardedTensor


def test_shardings_that_the_compiler_chooses(monkeypatch, mesh):
    monkeypatch.setattr(session.current.chips, "chooses_shardings", False)
    metrics.clear_all()
    reference, x = nn.Linear(512, 512), torch.randn(2048, 512)
    model = distribute_module(copy.deepcopy(reference), mesh, xs.auto_policy)
    assert model.weight.device.type == "tt"
    assert torch_xla._XLAC._xla_get_auto_sharding()
    results = []
    for on, data in ((model, x.to("xla")), (reference, x)):
        results.append(on(data))
        results[-1].square().mean().backward()
        torch.optim.SGD(on.parameters(), lr=0.1).step()
        torch_xla.sync()
    torch.testing.assert_close(model.weight.cpu(), reference.weight, rtol=0.02, atol=0.02)
    assert metrics.counter_value("CompileWithAutoSharding") == 1
    assert "devices" in xs.sharding_of(results[0])


# Placements of views -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "shape", "expected"),
    [
        (("batch", "model"), (8, 6, 32), ((0,), (), (1,))),
        (("batch", "model"), (48, 4, 8), ((0,), (1,), ())),
        (("batch", None), (1536,), ((0,),)),
        (("batch", None), (1, 48, 32, 1), ((), (0,), (), ())),
        ((None, "model"), (1536,), None),
        (("model", None), (6, 8, 32), None),
        ((("batch", "model"), None), (8, 192), ((0, 1), ())),
    ],
)
def test_a_reshaped_view_has_the_same_parts(spec, shape, expected):
    x = torch.arange(1536.0).view(48, 32).to("tt")
    mesh = xs.Mesh(np.arange(8), (2, 4), ("batch", "model"))
    xs.mark_sharding(x, mesh, spec)
    placement = placements.placement_of(x.view(shape))
    assert (None if placement is None else placement.sharding.dims) == expected
    assert placements.placement_of(x.t()) is None
    assert torch.equal((x.view(shape) + 1).cpu(), torch.arange(1536.0).view(shape) + 1)


def test_a_program_reads_each_chips_part_of_a_transposed_view():
    x = torch.arange(1024.0).view(32, 32).to("tt")
    xs.mark_sharding(x, xs.Mesh(np.arange(8), (2, 4), ("batch", "model")), ("batch", None))
    assert placements.placement_of_argument(x).sharding.dims == ((0,), ())
    assert placements.placement_of_argument(x.t()).sharding.dims == ((), (0,))
    assert placements.placement_of_argument(x.view(2, 16, 32).permute(2, 0, 1)).sharding.dims == ((), (0,), ())
    assert placements.placement_of_argument(x[:, ::2]) is None
    run = torch.compile(lambda a, b: a @ b, backend="tt", dynamic=False)
    assert torch.equal(run(x, x.t()).cpu(), x.cpu() @ x.cpu().t())


@pytest.mark.parametrize(
    ("submodule", "names"),
    [
        ("xla_sharded_tensor", ["XLAShard", "XLAShardedTensor"]),
        ("api", ["auto_policy", "convert_to_xla_mesh", "convert_to_xla_partition_spec"]),
        ("api", ["xla_distribute_module", "xla_distribute_tensor"]),
    ],
)
def test_the_package_has_the_names_of_its_submodules(submodule, names):
    module = importlib.import_module(f"torch_xla.distributed.spmd.{submodule}")
    assert [getattr(xs, name) for name in names] == [getattr(module, name) for name in names]
