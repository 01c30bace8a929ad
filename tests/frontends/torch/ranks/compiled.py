"""A rank whose compiled graphs exchange tensors: whether results have the bits of eager ops, and what ran where."""

from __future__ import annotations

import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from launch import begin, report
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from tt_xla import stage_times
from tt_xla.frontends.torch.compilation import compiled_programs

warnings.simplefilter("ignore")
begin("tt")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
WORLD, ALONE = dist.group.WORLD, [dist.new_group([rank]) for rank in range(SIZE)][RANK]
results = {}


def own(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + RANK)).mul(8).to(dtype).to("tt")


def flat(values):
    return [value.full_tensor() if isinstance(value, DTensor) else value for value in values]


def has_eager_bits(function, *args):
    """Returns whether each result has the same bits compiled, and the ops that the host ran then."""
    torch.compiler.reset()
    expected = flat(function(*args))
    before = torch.tt.host_ops()
    found = flat(torch.compile(function, backend="tt", fullgraph=True)(*args))
    on_host = sorted(name for name, count in torch.tt.host_ops().items() if count > before.get(name, 0))
    return [torch.equal(one.cpu(), other.cpu()) for one, other in zip(expected, found, strict=True)], on_host


def every_kind(x, narrow, whole):
    functional.all_reduce(x, "max", WORLD)
    reduced = functional.all_reduce(x * 2, "sum", WORLD)
    return (
        *(functional.all_reduce(each, kind, WORLD) for each in (narrow, x.sum()) for kind in ("avg", "product")),
        functional.all_reduce(whole, "sum", WORLD) + functional.all_reduce(whole, "min", WORLD),
        functional.all_gather_single(narrow > 0, 0, WORLD),
        functional.reduce_scatter_single(reduced, "sum", 1, WORLD),
        functional.all_to_all_single(reduced, None, None, WORLD),
        functional.broadcast(x, SIZE - 1, WORLD),
        functional.all_reduce(x, "sum", ALONE),
        *functional.all_gather_into_tensor_coalesced([x, narrow], WORLD),
        *functional.reduce_scatter_tensor_coalesced([x, narrow], "sum", [0, 0], WORLD),
        *functional.all_reduce_coalesced([x, narrow], "sum", WORLD),
    )


x, narrow, whole = own(64, 32), own(4, 6, dtype=torch.bfloat16), own(2, 3, dtype=torch.int64)
results["every kind"] = has_eager_bits(every_kind, x, narrow, whole)
programs = [[step for function in each.functions for step in function.body] for each in compiled_programs()]
exchanges = [[step for step in steps if "process_group" in step.attributes] for steps in programs]
in_one_program = max(exchanges, key=len)
results["exchanges"] = [step.op.removeprefix("ttnn.") for step in in_one_program]
results["ranks without a price"] = [step.attributes["ranks"] for step in in_one_program if not step.cost.link_us > 0]


def partly_on_host(x):
    """Has a collective that waits for an op on the host of the first rank alone, and ones between different parts."""
    first = functional.all_reduce(torch.linalg.qr(x)[0] if RANK == 0 else x, "sum", WORLD)
    sizes = [1, 3] if RANK == 0 else [3, 1]
    second = functional.all_to_all_single(x, sizes, sizes, WORLD)
    third = functional.all_to_all_single(second, [4, 4] if RANK else [0, 0], [0, 4], WORLD)  # the first gets nothing
    return first, second, third, functional.all_reduce(x, "max", WORLD)


results["partly on the host"] = has_eager_bits(partly_on_host, own(4, 4))


def bits(x):
    return [functional.all_reduce(x.to(torch.int32), "bor", WORLD), functional.all_reduce(x[:0], "sum", WORLD)]


results["neither on the chip"] = has_eager_bits(bits, x)


def redistributed(one, other):
    product = (one @ other).redistribute(placements=[Shard(1)])
    return [product.redistribute(placements=[Shard(0)]), product.redistribute(placements=[Replicate()])]


mesh = init_device_mesh("tt", (SIZE,))
torch.manual_seed(0)
tensors = [distribute_tensor(torch.randn(8, 8), mesh, [placement]) for placement in (Shard(0), Replicate())]
results["DTensor"] = has_eager_bits(redistributed, *tensors)


def gradients(compiled):
    torch.manual_seed(0)
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    trained = parallelize_module(nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)).to("tt"), mesh, plan)
    x = torch.randn(4, 16).to("tt").requires_grad_()
    (torch.compile(trained, backend="tt") if compiled else trained)(x).square().mean().backward()
    weights = [parameter.grad.to_local() for parameter in trained.parameters()]
    return [gradient.cpu() for gradient in (x.grad, *weights)]


before = torch.tt.host_ops()
pairs = zip(gradients(False), gradients(True), strict=True)
results["backward"] = [torch.equal(one, other) for one, other in pairs], torch.tt.host_ops() == before


def plain(x):
    return functional.all_reduce(x, "sum", WORLD)


torch.compiler.reset()
mixed = (torch.compile(plain, backend="tt") if RANK else plain)(x)
results["eager on one rank"] = torch.equal(mixed.cpu(), plain(x).cpu())
try:
    torch.compile(plain, backend="tt")(x) if RANK else functional.all_reduce(x, "max", WORLD).cpu()
except RuntimeError as error:
    results["refused"] = [type(error).__name__, str(error)]
results["compilations"] = stage_times.spent()["compiling"].count if "compiling" in stage_times.spent() else 0
report(results)
dist.destroy_process_group()
