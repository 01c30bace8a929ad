"""Tests of ops on every chip's part of a tensor (``xs.enable_manual_sharding``)."""

from __future__ import annotations

import pytest
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.spmd as xs
from torch_xla import _XLAC

from tt_xla.errors import CompileError
from tt_xla.frontends.torch import compilation
from tt_xla.frontends.torch.device import placements

pytestmark = pytest.mark.usefixtures("chips_as_one_device")


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_ops_on_parts(compiled):
    """The largest element of a part is that of the chip, not of the whole tensor."""
    xs.set_global_mesh(xs.Mesh(range(8), (2, 4), ("data", "model")))

    def compute(x, y):
        part = xs.enable_manual_sharding(x, ("data", "model"))
        assert part.shape == (4, 2)
        other = xs.enable_manual_sharding(y, (None, "model"))
        moved = part - part.amax() + other[:4] * 2
        return xs.disable_manual_sharding(moved, ("data", "model"), x.shape) + 1

    x, y = torch.arange(64.0).view(8, 8), torch.randint(0, 9, (8, 8)).float()
    parts = x.view(2, 4, 4, 2)
    expected = (parts - parts.amax((1, 3), keepdim=True)).view(8, 8) + y[:4].repeat(2, 1) * 2 + 1
    call = torch.compile(compute, backend="tt", fullgraph=True) if compiled else compute
    result = call(x.to("tt"), y.to("tt"))
    assert torch.equal(result.cpu(), expected)
    assert compilation.compiled_programs()[-1].mesh.shape == (2, 4)
    assert placements.placement_of(result).sharding.dims == ((0,), (1,))


def test_collectives_of_parts():
    mesh = xs.get_1d_mesh("data")

    def compute(x):
        part = xs.enable_manual_sharding(x, ("data", None), mesh=mesh)
        total = xm.all_reduce(xm.REDUCE_SUM, part)
        return xs.disable_manual_sharding(total, (None, None), (1, 4), mesh=mesh)

    x = torch.arange(32.0).view(8, 4)
    assert torch.equal(compute(x.to("tt")).cpu(), x.sum(0, keepdim=True))


def test_parts_are_not_computed_with_other_tensors_but_with_what_they_make_up():
    mesh = xs.get_1d_mesh("data")
    x = torch.arange(32.0).view(8, 4)
    part = xs.enable_manual_sharding(x.to("tt"), ("data", None), mesh=mesh) * 2
    torch_xla.sync()
    for number in (1, 2):
        whole = xs.disable_manual_sharding(part + number, ("data", None), (8, 4), mesh=mesh)
        assert torch.equal(whole.cpu(), x * 2 + number)
    with pytest.raises(CompileError, match=r"read outside manual sharding.*xs.disable_manual_sharding"):
        part.cpu()


def test_the_functions_of_the_extension():
    mesh, x = xs.Mesh(range(8), (2, 4)), torch.arange(64.0).view(8, 8)
    split = mesh.get_op_sharding((0, 1))
    whole = x.to("tt")
    with pytest.raises(RuntimeError, match="marked with a sharding, got one without"):
        _XLAC._spmd_full_to_shard_shape(whole)
    with pytest.raises(RuntimeError, match="got a whole tensor"):
        _XLAC._spmd_shard_to_full_shape(whole, split, x.shape, x.dtype)
    with pytest.raises(RuntimeError, match="got a whole tensor"):
        xs._mark_manual_sharding(whole)
    xs.mark_sharding(whole, mesh, (0, 1))
    part = _XLAC._spmd_full_to_shard_shape(whole) + 1
    marked = xs._mark_manual_sharding(part)
    assert (marked.shape, marked.sharding_spec, marked.sharding_type) == ((4, 2), "{manual}", xs.ShardingType.MANUAL)
    result = _XLAC._spmd_shard_to_full_shape(part, split, x.shape, x.dtype)
    assert xs.sharding_of(result) == ""
    assert torch.equal(result.cpu(), x + 1)
    assert xs.sharding_of(result) == str(split)


def test_uses_of_manual_sharding_that_are_refused():
    x, mesh = torch.ones(8, 6).to("tt"), xs.get_1d_mesh("data")
    with pytest.raises(ValueError, match="enable_manual_sharding needs a mesh"):
        xs.enable_manual_sharding(x, ("data", None))
    with pytest.raises(AssertionError, match=r"needs equal parts: a tensor of shape \[8, 6\] is cut into \[1, 8\]"):
        xs.enable_manual_sharding(x, (None, "data"), mesh=mesh)
    part = xs.enable_manual_sharding(x, ("data", None), mesh=mesh)
    with pytest.raises(AssertionError, match=r"got parts of shape \[1, 6\]; those of .* have shape \[2, 6\]"):
        xs.disable_manual_sharding(part, ("data", None), (16, 6), mesh=mesh)
    with pytest.raises(CompileError, match=r"takes a result of ops on tensors of xs\.enable_manual_sharding"):
        xs.disable_manual_sharding(x[:1] + 1, ("data", None), (8, 6), mesh=mesh).cpu()
    row = xs.Mesh(range(8), (2, 4), ("data", "model"))
    with pytest.raises(CompileError, match=r"a tensor on a mesh of shape \(2, 4\) of parts on one of shape \(8,\)"):
        xs.disable_manual_sharding(part + 1, (("data", "model"), None), (8, 6), mesh=row).cpu()


def test_one_chip_has_all_of_a_tensor():
    x, mesh = torch.ones(8, 6).to("tt"), xs.Mesh([0], (1,), ("data",))
    part = xs.enable_manual_sharding(x, ("data", None), mesh=mesh)
    assert torch.equal(xs.disable_manual_sharding(part + 1, ("data", None), (8, 6), mesh=mesh).cpu(), x.cpu() + 1)
