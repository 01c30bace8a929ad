"""A rank that calls every collective, and reports what it received."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from launch import begin, report

from tt_xla.runtime.observation import ENDED

begin("tt")
rank, size = dist.get_rank(), dist.get_world_size()
on = torch.device("tt")
results = {"in programs": []}


def note(executable, began):
    """Notes the exchanges of a program that have a predicted time."""
    steps = [step for function in executable.program.functions for step in function.body if step.cost.link_us > 0]
    results["in programs"] += [step.op.removeprefix("ttnn.") for step in steps]


observed = ExitStack()
observed.enter_context(ENDED.added(note))


def own(*shape, dtype=torch.float32):
    numbers = torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape) * (rank + 1)
    return numbers.to(dtype).to(on)


for name in ("SUM", "AVG", "PRODUCT", "MAX", "MIN", "BAND", "BOR", "BXOR"):
    tensor = own(3, dtype=torch.int32 if name[0] == "B" else torch.float32)
    dist.all_reduce(tensor, getattr(dist.ReduceOp, name))
    results[name] = tensor.tolist()
scaled = own(2)
dist.all_reduce(scaled, dist._make_nccl_premul_sum(0.5))
results["premultiplied"] = scaled.tolist()
wide = torch.tensor([1e-9 * (rank + 1)], dtype=torch.float64) + 1
dist.all_reduce(wide)
results["cpu"] = wide.item()
half = own(2, dtype=torch.bfloat16)
dist.reduce(half, 1)
results["reduce"] = half.tolist()
sent = own(2)
dist.broadcast(sent, 1)
results["broadcast"] = sent.tolist()
uneven = [torch.zeros(1 + other, device=on) for other in range(size)]
dist.all_gather(uneven, own(1 + rank))
results["all_gather"] = [tensor.tolist() for tensor in uneven]
whole = torch.zeros(size * 2, device=on)
dist.all_gather_single(whole, own(2))
results["all_gather_single"] = whole.tolist()
received = [torch.zeros(2, device=on) for _ in range(size)] if rank == 0 else None
dist.gather(own(2), received, 0)
results["gather"] = [tensor.tolist() for tensor in received or []]
part = torch.zeros(2, device=on)
dist.scatter(part, [own(2) + other for other in range(size)] if rank == 1 else None, 1)
results["scatter"] = part.tolist()
dist.reduce_scatter(part, [own(2) * 10**other for other in range(size)])
results["reduce_scatter"] = part.tolist()
dist.reduce_scatter_single(part, own(size * 2), dist.ReduceOp.MAX)
results["reduce_scatter_single"] = part.tolist()
turned = torch.zeros(3, device=on)
sizes = [1, 2] if rank == 0 else [2, 1]
given = torch.arange(float(sum(sizes)), device=on) + 10 * rank
dist.all_to_all_single(turned, given, [sizes[0], sizes[1]] if rank == 0 else [2, 1], sizes)
results["all_to_all"] = turned.tolist()
turns = torch.tensor([1 + 2j * (rank + 1)], dtype=torch.complex64)
dist.all_reduce(turns)
results["complex"] = [turns.real.item(), turns.imag.item()]
flags = [torch.zeros(1, dtype=torch.bool, device=on) for _ in range(size)]
dist.all_gather(flags, torch.tensor([rank == 1], device=on))
results["flags"] = [flag.item() for flag in flags]
nothing = torch.zeros(0, 3, device=on)
dist.all_reduce(nothing)
results["nothing"] = list(nothing.shape)
strided = torch.zeros(2, 2, device=on).t()
dist.broadcast(own(2, 2).t() if rank == 0 else strided, 0)
results["strided"] = strided.tolist()
messages = torch.zeros(2, device=on), torch.zeros(2, device=on)
work = dist.batch_isend_irecv([dist.P2POp(dist.isend, own(2), 1 - rank), dist.P2POp(dist.irecv, messages[0], 1 - rank)])
for each in work:
    each.wait()
if rank == 0:
    dist.send(own(2) + 5, 1)
else:
    results["source"] = dist.recv(messages[1])
results["messages"] = [message.tolist() for message in messages]
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank})
results["objects"] = objects
alone = dist.new_group([1])
if rank == 1:
    dist.all_reduce(sent, group=alone)
later = dist.all_reduce(own(1), async_op=True)
later.get_future().wait()
results["async"] = [later.is_completed(), later.wait()]
world = dist.group.WORLD
results["functional"] = [
    functional.all_reduce(own(2), "sum", world).tolist(),
    functional.all_gather_single(own(2), 0, world).tolist(),
    functional.reduce_scatter_single(own(4), "sum", 0, world).tolist(),
]


@torch.compile(backend="tt")
def compiled(x):
    return functional.all_reduce(x * 2, "sum", world) + 1


results["compiled"] = compiled(own(2)).tolist()
sums = []


def add_on_cpu():
    for number in range(20):
        tensor = torch.tensor([float(number + rank)])
        dist.all_reduce(tensor)
        sums.append(tensor.item())


thread = threading.Thread(target=add_on_cpu)
thread.start()
many = own(2)
for _ in range(20):
    dist.all_reduce(many, dist.ReduceOp.MAX)
thread.join()
results["threads"] = [many.tolist(), sums == [2.0 * number + 1 for number in range(20)]]
dist.barrier()
results["backend"] = dist.get_backend()
observed.close()
dist.destroy_process_group()
report(results)
