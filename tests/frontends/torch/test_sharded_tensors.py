"""Tests of ``XLAShardedTensor``: tensors that show how chips share them, and the shards of the chips."""

from __future__ import annotations

import copy
import re

import pytest
import torch
import torch_xla
import torch_xla.debug.metrics as met
import torch_xla.distributed.spmd as xs
import torch_xla.distributed.xla_backend
from torch.distributed import tensor as distributed
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch_xla import _XLAC
from torch_xla.distributed.spmd.debugging import visualize_sharding, visualize_tensor_sharding
from torch_xla.distributed.spmd.xla_sharded_tensor import XLAShardedTensor
from torch_xla.experimental.assume_pure import assume_pure

pytestmark = pytest.mark.usefixtures("chips_as_one_device")


@pytest.fixture
def mesh():
    return DeviceMesh("xla", torch.arange(8).reshape(2, 4), mesh_dim_names=("batch", "model"))


def numbers() -> torch.Tensor:
    return torch.arange(64.0).view(8, 8)


def test_shards_show_what_chips_have(mesh):
    x = distribute_tensor(numbers(), mesh, [Replicate(), Shard(0)])
    shards = x.local_shards
    assert [(shard.indices[0].start, shard.shard_device, shard.replica_id) for shard in shards] == [
        (start, f"TT:{chip}", replica)
        for chip, (start, replica) in enumerate([(0, 0), (2, 0), (4, 0), (6, 0), (0, 1), (2, 1), (4, 1), (6, 1)])
    ]
    assert all(torch.equal(shard.unpadded_data, numbers()[tuple(shard.indices)]) for shard in shards)
    for shard in shards:
        shard.unpadded_data = shard.data + 1
    assert torch.equal(x.global_tensor.cpu(), numbers())  # shards are copies
    x.load_local_shards_(shards)
    assert torch.equal(x.global_tensor.cpu(), numbers() + 1)
    with pytest.raises(RuntimeError, match=r"expects parts of the shapes \[\[2, 8\]"):
        x.load_local_shards_(shards[:3])
    whole = distribute_tensor(numbers(), mesh, [Replicate(), Replicate()])
    assert [(shard.indices, shard.replica_id) for shard in whole.local_shards] == [(..., chip) for chip in range(8)]
    with pytest.raises(RuntimeError, match="use copy_ for this one"):
        whole.load_local_shards_(whole.local_shards)


def test_pytorchs_makers_of_tensors_make_whole_ones():
    mesh = init_device_mesh("tt", (2, 4), mesh_dim_names=("batch", "model"))
    placed = [Shard(0), Shard(1)]
    options = {"device_mesh": mesh, "placements": placed, "dtype": torch.float32}
    made = [distributed.zeros(4, 8, **options), distributed.full((4, 8), 3.0, requires_grad=True, **options)]
    torch.manual_seed(0)
    made.append(distributed.randn(4, 8, **options))
    torch.manual_seed(0)
    drawn = torch.randn(4, 8, device="tt").cpu()
    for tensor, expected in zip(made, (torch.zeros(4, 8), torch.full((4, 8), 3.0), drawn), strict=True):
        assert tensor.placements == (*placed,)
        assert torch.equal(tensor.full_tensor().detach().cpu(), expected)
    assert [tensor.requires_grad for tensor in made] == [False, True, False]
    assert distributed.ones(4, device_mesh=mesh).placements == (Replicate(), Replicate())
    whole = DTensor.from_local(numbers(), mesh, [Replicate(), Replicate()])
    assert (whole.placements, torch.equal(whole.full_tensor().cpu(), numbers())) == ((Replicate(), Replicate()), True)
    for placement in (Shard(0), Partial()):
        with pytest.raises(ValueError, match="a part of one chip does not tell those of the others"):
            DTensor.from_local(numbers(), mesh, [placement, Replicate()])


def test_products_on_a_mesh_of_one_process_have_the_placements_of_ranks():
    """Along an axis by which the summed dimension is split, ranks have partial sums, and here the sum is whole."""
    mesh = init_device_mesh("tt", (2, 4), mesh_dim_names=("batch", "model"))
    x, w = numbers() % 8, numbers() % 3
    for left, right, expected in (
        ([Shard(0), Replicate()], [Replicate(), Shard(1)], (Shard(0), Shard(1))),
        ([Shard(0), Shard(1)], [Replicate(), Shard(0)], (Shard(0), Replicate())),
    ):
        one, other = distribute_tensor(x, mesh, left), distribute_tensor(w, mesh, right)
        for function in (torch.matmul, torch.compile(torch.matmul, backend="tt")):
            result = function(one, other)
            assert result.placements == expected
            assert torch.equal(result.full_tensor().cpu(), x @ w)
            again = result.redistribute(placements=[Replicate(), Shard(0)])
            assert again.placements == (Replicate(), Shard(0))


def test_shards_of_an_uneven_split_are_padded(mesh):
    x = distribute_tensor(torch.arange(6.0), mesh, [Replicate(), Shard(0)])
    last = x.local_shards[3]
    assert last.data.tolist() == [0, 0]
    assert last.unpadded_data.tolist() == []
    assert x.local_shards[2].unpadded_data.tolist() == [4, 5]


def test_wrapped_tensors_share_memory_and_sharding():
    x = numbers().to("tt")
    assert xs.wrap_if_sharded(x) is x
    xs.mark_sharding(x, xs.get_1d_mesh("data"), ("data", None))
    wrapped = xs.wrap_if_sharded(x)
    assert isinstance(wrapped, XLAShardedTensor)
    assert xs.wrap_as_sharded_tensor(wrapped) is wrapped
    wrapped.add_(1)
    assert torch.equal(x.cpu(), numbers() + 1)
    plain = xs.unwrap_sharded_tensor(wrapped)
    assert type(plain) is torch.Tensor
    assert xs.sharding_of(plain) == xs.sharding_of(x) != ""


def test_marking_returns_a_tensor_that_shows_its_sharding():
    x = torch.randn(8, 8).to("tt").requires_grad_()
    marked = xs.mark_sharding(x, xs.Mesh(range(8), (2, 4), ("data", "model")), ("model", None))
    assert isinstance(marked, DTensor)
    assert (marked.partition_spec, marked.mesh_shape) == ((1, None), (2, 4))
    assert (marked.placements, marked.device_mesh.shape) == ((Replicate(), Shard(0)), (2, 4))
    assert marked.global_tensor.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    (marked * 3).sum().backward()
    assert torch.equal(x.grad.cpu(), torch.full((8, 8), 3.0))
    assert not (marked + 1).global_tensor.requires_grad
    (marked.full_tensor() + marked.global_tensor).sum().backward()
    assert torch.equal(x.grad.cpu(), torch.full((8, 8), 5.0))
    assert repr(marked + 1).startswith("XLAShardedTensor(tensor(")


def test_a_result_is_computed_when_its_placements_are_asked_for(mesh):
    x = distribute_tensor(numbers(), mesh, [Shard(0), Replicate()])
    result = x + 1
    assert result.mesh_shape is None
    assert result.placements == (Shard(0), Replicate())
    assert (x * 2).device_mesh.shape == (2, 4)


def test_a_tensor_without_a_sharding_has_no_placements():
    plain = XLAShardedTensor(numbers().to("tt"))
    with pytest.raises(ValueError, match="mesh_shape and partition_spec must be specified"):
        _ = plain.device_mesh
    with pytest.raises(ValueError, match="Placements not available"):
        _ = plain.placements


def test_a_tensor_on_a_mesh_of_one_chip_has_placements():
    one = DeviceMesh("xla", torch.arange(1), mesh_dim_names=("data",))
    x = distribute_tensor(numbers(), one, [Shard(1)])
    assert (x.placements, x.partition_spec) == ((Shard(1),), (None, 0))
    marked = xs.mark_sharding(numbers().to("tt"), xs.Mesh([0], (1, 1), ("data", "model")), (("data", "model"), None))
    assert (marked.placements, marked.partition_spec) == ((Shard(0), Shard(0)), ((0, 1), None))


def test_a_function_that_is_assumed_pure_marks_tensors():
    row = xs.get_1d_mesh("data")
    marked = assume_pure(lambda x: xs.mark_sharding(x + 1, row, ("data", None)))(numbers().to("tt"))
    torch_xla.sync()
    assert xs.sharding_of(marked) == "{devices=[8,1]0,1,2,3,4,5,6,7}"
    assert torch.equal(marked.cpu(), numbers() + 1)


def test_functions_are_compiled_again_for_other_shapes_and_dtypes(mesh):
    double = torch.compile(lambda x: x * 2, backend="tt")
    for whole in (numbers(), numbers().to(torch.bfloat16), torch.arange(32.0).view(4, 8)):
        x = distribute_tensor(whole, mesh, [Shard(0), Replicate()])
        assert torch.equal(double(x).full_tensor().cpu(), whole * 2)


def test_metrics_of_sharded_tensors(mesh):
    met.clear_all()
    x = distribute_tensor(numbers(), mesh, [Shard(0), Replicate()]) + 1
    torch_xla.sync()
    assert met.counter_value("VirtualDeviceUsage") == 1
    assert met.counter_value("ExecuteReplicated") == met.metric_data("ExecuteReplicatedTime")[0] == 1
    assert met.counter_value("ReplicateShardedData") is None
    assert torch.equal(x.cpu(), numbers() + 1)
    assert met.counter_value("ReplicateShardedData") == 1


def test_a_process_group_has_no_members_when_chips_are_one_device():
    with pytest.raises(AssertionError, match="the backend 'xla' has no members"):
        torch.distributed.init_process_group("xla", init_method="xla://")


def test_a_sharded_tensor_that_requires_gradients_is_a_leaf(mesh):
    x = XLAShardedTensor(numbers().to("tt"), requires_grad=True)
    x.sum().backward()
    assert torch.equal(x.grad.cpu(), torch.ones(8, 8))
    leaf = distribute_tensor(numbers().requires_grad_(), mesh, [Shard(0), Replicate()])
    assert (leaf.is_leaf, leaf.requires_grad) == (True, True)
    assert not distribute_tensor(numbers(), mesh, [Shard(0), Replicate()]).requires_grad


def test_wrapped_tensors_show_the_mesh_and_spec_that_they_are_given():
    wrapped = xs.wrap_as_sharded_tensor(numbers().to("tt"), mesh_shape=(8,), partition_spec=(0, None))
    assert (wrapped.placements, wrapped.partition_spec, wrapped.sharding_spec) == ((Shard(0),), (0, None), "")
    assert wrapped.placements is wrapped.placements
    assert xs.wrap_as_sharded_tensor(wrapped, mesh_shape=(2, 4), partition_spec=(1, 0)) is wrapped
    assert wrapped.placements == (Shard(1), Shard(0))
    assert XLAShardedTensor(wrapped).mesh_shape == (2, 4)
    assert copy.deepcopy(wrapped).placements == (Shard(1), Shard(0))


@pytest.mark.parametrize(
    ("placed", "spec"),
    [([Replicate(), Shard(0)], (1, None)), ([Shard(1), Shard(1)], (None, (0, 1))), (None, (None, None))],
)
@pytest.mark.parametrize("copied", [True, False])
def test_redistribute(mesh, placed, spec, copied):
    x = distribute_tensor(numbers(), mesh, [Shard(0), Replicate()])
    own = mesh if copied else xs.Mesh(range(8), (2, 4))
    moved = x.redistribute(own, placed, async_op=copied)
    assert moved.partition_spec == spec
    torch_xla.sync()
    assert moved.partition_spec == spec
    assert torch.equal(moved.cpu(), numbers())
    assert x.partition_spec == ((0, None) if copied else spec)


@pytest.mark.parametrize(
    ("placed", "error", "message"),
    [
        ([Shard(0)], ValueError, r"Number of placements \(1\) must match mesh dimensions \(2\)"),
        ([Shard(2), Replicate()], IndexError, "Shard dimension 2 is out of bounds for a tensor with 2 dimensions"),
        ([Partial(), Replicate()], NotImplementedError, "takes Shard and Replicate, got Partial"),
    ],
)
def test_placements_that_redistribute_refuses(mesh, placed, error, message):
    x = distribute_tensor(numbers(), mesh, [Shard(0), Replicate()])
    with pytest.raises(error, match=message):
        x.redistribute(mesh, placed)


@pytest.mark.parametrize(
    ("sharding", "rows"),
    [
        ("{devices=[2,4]0,1,2,3,4,5,6,7}", [["0", "1", "2", "3"], ["4", "5", "6", "7"]]),
        ("{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}", [["[0, 1, 2, 3]"], ["[4, 5, 6, 7]"]]),
        ("{devices=[8]7,6,5,4,3,2,1,0}", [[str(chip)] for chip in range(7, -1, -1)]),
        ("{devices=[2,2,2]0,1,2,3,4,5,6,7}", [["[0, 1]", "[2, 3]"], ["[4, 5]", "[6, 7]"]]),
        ("{replicated}", [["[0, 1, 2, 3, 4, 5, 6, 7]"]]),
        ("{devices=[2,4,1]0,1,2,3,4,5,6,7 last_tile_dim_replicate}", [[f"[{chip}]" for chip in range(8)]]),
    ],
)
def test_tables_of_shardings(sharding, rows, capsys):
    visualize_sharding(sharding, use_color=False)
    printed = re.findall(r"TT (\[[^]]*\]|\d)", capsys.readouterr().out)
    assert printed == [chips for row in rows for chips in row]


def test_tables_of_the_shardings_of_tensors(capsys):
    x = distribute_tensor(numbers(), init_device_mesh("tt", (8,)), [Shard(1)])
    table = visualize_tensor_sharding(x, use_color=False)
    assert (table.row_count, len(table.columns)) == (1, 8)
    assert capsys.readouterr().out.startswith("Visualizing {devices=[1,8]0,1,2,3,4,5,6,7}")
    for text, message in (("{manual}", "expected one such as"), ("{devices=[4]0,1,2}", "names 3 chips for 4 tiles")):
        with pytest.raises(ValueError, match=message):
            visualize_sharding(text)


@pytest.mark.parametrize(
    ("spec", "shape", "parts"),
    [
        (("data", "model"), None, [[[number]] for number in range(8)]),
        ((None, "model"), None, [[[number % 4]] for number in range(8)]),
        (("data", None), (3, 1), [[[0], [1]]] * 4 + [[[2], [3]]] * 4),
    ],
)
def test_tensors_from_the_parts_of_chips(spec, shape, parts):
    sharding = xs.Mesh(range(8), (2, 4), ("data", "model")).get_op_sharding(spec)
    shards = [torch.tensor(part) for part in parts]
    tensor = xs.wrap_as_sharded_tensor(_XLAC._global_tensor_from_cpu_shards(shards, sharding, shape))
    assert tensor.sharding_spec == str(sharding)
    assert (
        tensor.cpu().tolist()
        == {
            (2, 4): [[0, 1, 2, 3], [4, 5, 6, 7]],
            (1, 4): [[0, 1, 2, 3]],
            (3, 1): [[0], [1], [2]],
        }[tuple(tensor.shape)]
    )
    with pytest.raises(RuntimeError, match="are not those of a tensor of shape"):
        _XLAC._global_tensor_from_cpu_shards(shards, sharding, torch.Size((16, 16)))
    with pytest.raises(RuntimeError, match=r"^7 parts of the shapes"):
        _XLAC._global_tensor_from_cpu_shards(shards[:7], sharding)


def test_a_tensor_from_copies_of_chips_has_any_number_of_dimensions():
    everywhere = xs.Mesh(range(8), (2, 4)).get_op_sharding((None, None))
    tensor = _XLAC._global_tensor_from_cpu_shards([torch.arange(3)] * 8, everywhere)
    assert (tensor.tolist(), xs.sharding_of(tensor)) == ([0, 1, 2], "{replicated}")
