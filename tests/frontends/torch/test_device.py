"""The device ``tt`` outside ``torch.compile``. Ops on its tensors run when a result is read."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
import torch.nn as nn

import tt_xla.frontends.torch
from tt_xla.frontends.torch.device import buffer_of, host_alias, lift, register


@pytest.fixture(autouse=True)
def _exact(exact):
    """Compares results with the CPU's."""


def version(tensor):
    return buffer_of(tensor).version


def test_registering_again_changes_nothing():
    register()
    tt_xla.frontends.torch.register()
    assert torch.device("tt").type == "tt"
    assert torch.tt.device_count() == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_there_and_back(dtype):
    x = torch.randn(3, 4).to(dtype)
    there = x.to("tt")
    assert there.device == torch.device("tt", 0)
    assert there.is_tt
    assert torch.equal(there.cpu(), x)
    assert torch.equal(there.to("cpu", torch.float64), x.double())


def test_copies_are_copies():
    x = torch.zeros(3)
    there = x.to("tt")
    x.add_(1)
    assert there.cpu().tolist() == [0, 0, 0]
    back = there.to("cpu")
    there.add_(5)
    assert back.tolist() == [0, 0, 0]


@pytest.mark.parametrize("source", ["tt", "cpu"])
def test_copies_of_other_shapes_are_errors(source):
    x = torch.zeros(2, 4, device="tt")
    for shape, message in (
        ((2,), r"tensor a \(4\) must match.*tensor b \(2\)"),
        ((1, 2, 4), r"output with shape \[2, 4\]"),
    ):
        with pytest.raises(RuntimeError, match=message):
            x.copy_(torch.ones(shape, device=source))
    assert x.copy_(torch.ones(4, device=source)).sum().item() == 8


def test_non_contiguous_tensors_keep_their_strides():
    x = torch.randn(3, 4).t()
    there = x.to("tt")
    assert there.stride() == x.stride()
    assert torch.equal(there.cpu(), x)


def test_lift_takes_the_memory_over():
    host = torch.zeros(4)
    there = lift(host)
    host.add_(2)
    assert there.cpu().tolist() == [2, 2, 2, 2]


def test_printing_and_python_numbers():
    x = torch.tensor([1.5, 2.0]).to("tt")
    assert repr(x) == "tensor([1.5000, 2.0000], device='tt:0')"
    assert x.tolist() == [1.5, 2.0]
    assert x[1].item() == 2.0
    assert bool(x.sum() > 3)


def test_writes_renew_the_version_and_reads_do_not():
    x = torch.zeros(3, 4, device="tt")
    before = version(x)
    assert (x + 1).sum().item() == 12
    assert version(x) == before
    for write in (
        lambda: x.add_(1),
        lambda: x[1:].mul_(2),
        lambda: x.copy_(torch.ones(3, 4)),
        lambda: x.__setitem__(0, 7.0),
        lambda: torch.add(x, x, out=x),
        lambda: x.data.zero_(),
        lambda: torch._foreach_add_([x], 1.0),
    ):
        before = version(x)
        write()
        assert version(x) > before


def test_versions_are_never_shared():
    tensors = [torch.zeros(1).to("tt") for _ in range(4)]
    assert len({version(tensor) for tensor in tensors}) == 4


def test_views_share_memory():
    x = torch.zeros(2, 6, device="tt")
    view = x.view(3, 4)[1:].t()
    view.fill_(1)
    assert x.cpu().tolist() == [[0, 0, 0, 0, 1, 1], [1] * 6]
    assert buffer_of(view) is buffer_of(x)
    assert x.detach().untyped_storage() is x.untyped_storage()
    x.view(torch.int32).zero_()
    assert not x.any()


def test_data_outlives_the_tensor_that_made_it():
    view = torch.arange(4.0).to("tt")[2:]
    assert view.tolist() == [2, 3]


def test_out_and_resize():
    out = torch.empty(0, device="tt")
    torch.add(torch.ones(3).to("tt"), 1, out=out)
    assert out.tolist() == [2, 2, 2]
    out.resize_(5)
    out[3:] = 9
    assert out.tolist() == [2, 2, 2, 9, 9]
    out.resize_(2)
    assert out.tolist() == [2, 2]


def test_python_numbers_in_the_places_of_tensors():
    """PyTorch calls the op for tensors, and passes the number itself to kernels in Python."""
    x, numbers = torch.tensor([[-5.5, 7.0], [3.25, 0.5]]), torch.tensor([[5, 7], [9, 2]])

    def written(numbers):
        numbers %= 4
        numbers |= 8
        return numbers

    for call in (
        lambda x, n: x % 3,
        lambda x, n: n % 4,
        lambda x, n: n.int()[0, 0] % 4,
        lambda x, n: n & 3,
        lambda x, n: torch.bitwise_and(3, n),
        lambda x, n: torch.fmod(x, 2),
        lambda x, n: torch.copysign(x, -1.0),
        lambda x, n: torch.special.zeta(n, 2.0),  # runs on the host
        lambda x, n: written(n.clone()),
    ):
        got, expected = call(x.to("tt"), numbers.to("tt")).cpu(), call(x, numbers)
        torch.testing.assert_close(got, expected)


def test_factories_and_random_numbers():
    with torch.device("tt"):
        assert torch.zeros(2).is_tt
    torch.manual_seed(1)
    there = torch.randn(3, device="tt")
    torch.manual_seed(1)
    assert torch.equal(there.cpu(), torch.randn(3))
    assert torch.randperm(4, device="tt").sort().values.tolist() == [0, 1, 2, 3]
    assert torch.tt.get_rng_state().device.type == "cpu"


def test_masks_sorting_and_numbers_of_the_cpu():
    x = torch.tensor([3.0, -1.0, 2.0]).to("tt")
    assert x[x > 0].tolist() == [3, 2]
    assert x.sort().indices.tolist() == [1, 2, 0]
    assert (x * torch.tensor(2.0)).tolist() == [6, -2, 4]


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2))


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_eager_training(optimizer):
    ours, theirs = network(), network()
    optimizers = [optimizer(ours.parameters(), 0.1), optimizer(theirs.parameters(), 0.1)]
    ours.to("tt")  # the optimizer already holds the parameters
    x = torch.randn(4, 1, 4, 4)
    for _ in range(3):
        for model, step, batch in ((ours, optimizers[0], x.to("tt")), (theirs, optimizers[1], x)):
            step.zero_grad()
            model(batch).square().sum().backward()
            step.step()
    for one, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        assert one.is_tt
        torch.testing.assert_close(one.cpu(), other)


def test_moving_keeps_parameters_and_ties():
    model = nn.ModuleDict({"embed": nn.Embedding(4, 3), "head": nn.Linear(3, 4, bias=False)})
    model["head"].weight = model["embed"].weight
    weight = model["embed"].weight
    model.to("tt")
    assert weight is model["embed"].weight is model["head"].weight
    assert weight.is_tt
    model.cpu()
    assert weight is model["embed"].weight is model["head"].weight
    assert weight.device.type == "cpu"


def test_moving_while_an_autograd_graph_holds_the_weights_keeps_them():
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    model[1].weight = weight = model[0].weight
    on_cpu = model(torch.ones(2, 3, requires_grad=True))
    held = on_cpu.grad_fn
    model.to(torch.device("tt"))
    assert weight is model[0].weight is model[1].weight
    assert weight.is_tt
    torch.testing.assert_close(model(torch.ones(2, 3).to("tt")).cpu(), on_cpu)
    assert held is on_cpu.grad_fn


def test_gradients_move_with_a_module():
    model = nn.Linear(3, 2)
    model(torch.ones(1, 3)).sum().backward()
    for device in ("tt", "cpu"):
        model.to(device)
        assert [p.grad.device.type for p in model.parameters()] == [device, device]
        assert model.weight.grad.tolist() == [[1.0] * 3] * 2


def test_deepcopy_save_load_and_pickle():
    model = network().to("tt")
    copied = copy.deepcopy(model)
    copied[4].weight.data.zero_()
    assert model[4].weight.any()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    loaded = torch.load(file)
    assert all(tensor.is_tt for tensor in loaded.values())
    copied.load_state_dict(loaded)
    assert torch.equal(copied[4].weight.cpu(), model[4].weight.cpu())
    file.seek(0)
    assert torch.load(file, map_location="cpu")["4.weight"].device.type == "cpu"
    assert pickle.loads(pickle.dumps(torch.arange(3).to("tt"))).tolist() == [0, 1, 2]


def test_inference_mode_and_autocast():
    x = torch.randn(2, 2).to("tt")
    with torch.inference_mode():
        assert (x * 2).is_tt
    with torch.autocast("tt", torch.bfloat16):
        assert (x + x).is_tt


def test_host_alias_is_kept_for_the_next_call():
    x = torch.randn(3, 4).to("tt")
    assert host_alias(x) is host_alias(x)
    assert host_alias(x.t()).shape == (4, 3)
    assert host_alias(x).shape == (3, 4)


def test_ops_that_change_sizes_in_place():
    x = torch.arange(3.0).view(1, 3).to("tt")
    x.squeeze_(0)
    assert (x + 1).tolist() == [1, 2, 3]
    x.unsqueeze_(1).t_().add_(1)
    assert x.tolist() == [[1, 2, 3]]
    quantile = torch.compile(lambda x: torch.quantile(x, 0.5), backend="tt")  # quantile squeezes a tensor in place
    assert quantile(x[0]).item() == 2


def test_a_random_op_that_writes_another_argument():
    x, noise = torch.tensor([-2.0, 3.0], device="tt"), torch.zeros(2, device="tt")
    got = torch.ops.aten.rrelu_with_noise(x, noise, 0.5, 0.5, True)
    assert got.tolist() == [-1, 3]
    assert noise.tolist() == [0.5, 1]


def test_eager_ops_of_a_function_that_dynamo_gave_up_on():
    def function(x):
        torch._dynamo.graph_break()
        return x.clone().resize_(4, 5)  # resize_ breaks the graph

    got = torch.compile(function, backend="tt")(torch.arange(20.0, device="tt").view(5, 4))
    assert got.flatten().tolist() == list(range(20))


def test_storages_made_for_the_device():
    storage = torch.UntypedStorage(8, device="tt")
    assert (storage.device.type, storage.nbytes()) == ("tt", 8)
    tensor = torch.empty(0, device="tt").set_(storage).fill_(3)
    assert tensor.tolist() == [3, 3]
    assert torch.UntypedStorage(8).device.type == torch.UntypedStorage(8, device="cpu").device.type == "cpu"
    assert torch.UntypedStorage([1, 2]).tolist() == [1, 2]
