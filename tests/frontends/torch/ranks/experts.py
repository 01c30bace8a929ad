"""A rank that trains a mixture of experts, whose experts the ranks share, and reports losses.

The first argument is the device, ``tt`` or ``cpu``. Tokens go to the ranks of their experts and come back by
all-to-all exchanges between parts of different sizes, as in TorchTitan's ``ExpertParallel``.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import ExitStack

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from launch import begin, report
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

warnings.simplefilter("ignore")
DEVICE = sys.argv[1]
begin("tt" if DEVICE == "tt" else "gloo")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
BACKEND = "tt" if DEVICE == "tt" else "eager"
MESH = init_device_mesh(DEVICE, (SIZE,), mesh_dim_names=("ep",))
EXPERTS, WIDTH, HIDDEN, TOP = 2 * SIZE, 16, 32, 2


def grouped(x, weights, ends):
    return nn.functional.grouped_mm(x.bfloat16(), weights.bfloat16(), offs=ends).to(x.dtype)


class Experts(nn.Module):
    """The experts of this rank, of which it has the rows of the weights' first dimension."""

    def __init__(self):
        super().__init__()
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, HIDDEN) / 4)
        self.down = nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) / 6)

    def forward(self, x, ends):
        up, down = (each.to_local() if isinstance(each, DTensor) else each for each in (self.up, self.down))
        return grouped(torch.nn.functional.silu(grouped(x, up, ends)), down, ends)


class Mixture(nn.Module):
    def __init__(self, exchange):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = Experts()
        self.exchange = exchange

    def share(self):
        """Gives each rank its experts."""
        for name, parameter in self.experts.named_parameters(recurse=False):
            setattr(self.experts, name, nn.Parameter(distribute_tensor(parameter, MESH, [Shard(0)])))

    def forward(self, x):
        scores, chosen = torch.topk(self.router(x).softmax(-1), TOP)
        counts = torch.bincount(chosen.flatten().cpu(), minlength=EXPERTS)
        order = torch.argsort(chosen.flatten(), stable=True)
        received = torch.empty_like(counts)
        dist.all_to_all_single(received, counts)
        own, others = (each.view(SIZE, -1).sum(1).tolist() for each in (counts, received))
        tokens = self.exchange(x[order // TOP], others, own)
        by_rank = received.view(SIZE, -1)
        expert = torch.arange(EXPERTS // SIZE).repeat(SIZE).repeat_interleave(by_rank.flatten())
        place = torch.argsort(expert, stable=True).to(DEVICE)
        ends = by_rank.sum(0).cumsum(0).int().to(DEVICE)
        results = torch.empty_like(tokens).index_copy(0, place, self.experts(tokens[place], ends))
        returned = self.exchange(results, own, others)
        returned = torch.empty_like(returned).index_copy(0, order, returned)
        return (returned.view(-1, TOP, WIDTH) * scores.unsqueeze(-1)).sum(1)


def functional_exchange(x, output_sizes, input_sizes):
    return functional.all_to_all_single_autograd(x, output_sizes, input_sizes, dist.group.WORLD)


class Exchanged(torch.autograd.Function):
    """The exchange by c10d's own call, which has no gradient."""

    @staticmethod
    def forward(ctx, x, output_sizes, input_sizes):
        ctx.sizes = input_sizes, output_sizes
        output = x.new_empty(sum(output_sizes), *x.shape[1:])
        dist.all_to_all_single(output, x.contiguous(), output_sizes, input_sizes)
        return output

    @staticmethod
    def backward(ctx, gradient):
        return Exchanged.apply(gradient, *ctx.sizes), None, None


def losses(exchange, compiled=False):
    torch.manual_seed(0)
    model = Mixture(exchange).to(DEVICE)
    model.share()
    if compiled:
        model.experts.compile(backend=BACKEND)
        model.exchange = torch.compile(exchange, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=False)
    generator = torch.Generator().manual_seed(1 + RANK)
    found = []
    for _ in range(3):
        x = torch.randn(12, WIDTH, generator=generator).to(DEVICE)
        loss = (model(x) - x).square().mean()
        loss.backward()
        dist.all_reduce(model.router.weight.grad)
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


exchanges = []


def note(executable, began):
    """Notes the exchanges between different parts in programs."""
    steps = [step for function in executable.program.functions for step in function.body]
    exchanges.extend(step for step in steps if "sent" in step.attributes)


if DEVICE == "tt":
    from tt_xla.runtime.observation import ENDED

    observed = ExitStack()
    observed.enter_context(ENDED.added(note))
results = {
    "functional": losses(functional_exchange),
    "c10d": losses(Exchanged.apply),
    "compiled": losses(functional_exchange, compiled=True),
}
results["exchanges"] = len(exchanges)
results["priced"] = all(step.cost.link_us > 0 for step in exchanges)
report(results)
dist.destroy_process_group()
