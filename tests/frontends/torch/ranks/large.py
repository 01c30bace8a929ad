"""Three ranks that exchange large tensors: in shared memory, over gloo, and as ranks of different machines would.

Each reports what is wrong with the results of each way, and how often contents crossed in shared memory.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from launch import begin, report

from tt_xla.frontends.torch.distributed import shared_memory, transport

ROWS, COLUMNS = 301, 128
begin("tt")
RANK, SIZE = dist.get_rank(), dist.get_world_size()


def of(rank, rows=ROWS, dtype=torch.float32):
    return (torch.arange(rows * COLUMNS).reshape(rows, COLUMNS) % 11 + rank).to(dtype)


def reduced(op, dtype=torch.float32, rows=ROWS, place="cpu"):
    tensor = of(RANK, rows, dtype).to(place)
    dist.all_reduce(tensor, op)
    return tensor.cpu()


def gathered():
    output = torch.empty(ROWS * SIZE, COLUMNS)
    dist.all_gather_single(output, of(RANK))
    return output


def scattered():
    output = torch.empty(ROWS, COLUMNS, device="tt")
    dist.reduce_scatter(output, [(of(RANK) * (place + 1)).to("tt") for place in range(SIZE)])
    return output.cpu()


def rows(source, target):
    return 100 * (1 + source) + 50 * target


def crossed():
    given = torch.cat([of(RANK, rows(RANK, target)) for target in range(SIZE)])
    sent, received = ([rows(*pair) for pair in pairs] for pairs in (
        [(RANK, target) for target in range(SIZE)],
        [(source, RANK) for source in range(SIZE)],
    ))  # fmt: skip
    output = torch.empty(sum(received), COLUMNS)
    dist.all_to_all_single(output, given, received, sent)
    return output


def sent_to_all():
    tensor = of(RANK).to("tt")
    dist.broadcast(tensor, 2)
    return tensor.cpu()


def dealt():
    output = torch.empty(ROWS, COLUMNS)
    dist.scatter(output, [of(place) for place in range(SIZE)] if RANK == 1 else None, src=1)
    return output


ALL = [of(rank) for rank in range(SIZE)]
CASES = {
    "sum": (lambda: reduced(dist.ReduceOp.SUM), sum(ALL)),
    "sum on the device": (lambda: reduced(dist.ReduceOp.SUM, place="tt"), sum(ALL)),
    "maximum of 64 bits": (lambda: reduced(dist.ReduceOp.MAX, torch.int64, place="tt"), of(SIZE - 1).long()),
    "mean of integers": (lambda: reduced(dist.ReduceOp.AVG, torch.int32, 400), of(1, 400, torch.int32)),
    "more": (lambda: reduced(dist.ReduceOp.SUM, rows=4 * ROWS), sum(of(rank, 4 * ROWS) for rank in range(SIZE))),
    "gathered": (gathered, torch.cat(ALL)),
    "scattered": (scattered, sum(ALL) * (RANK + 1)),
    "crossed": (crossed, torch.cat([of(source, rows(source, RANK)) for source in range(SIZE)])),
    "broadcast": (sent_to_all, of(2)),
    "dealt": (dealt, of(RANK)),
}


def wrong_and_exchanges():
    count = 0
    exchange = shared_memory.SharedMemory.exchange

    def counted(self, parts):
        nonlocal count
        count += 1
        return exchange(self, parts)

    shared_memory.SharedMemory.exchange = counted
    wrong = [name for name, (run, expected) in CASES.items() if not torch.equal(run(), expected)]
    shared_memory.SharedMemory.exchange = exchange
    return [wrong, count]


found = [wrong_and_exchanges()]
transport.LEAST_BYTES = 1 << 40
found.append(wrong_and_exchanges())
transport.LEAST_BYTES = shared_memory.LEAST_BYTES
if RANK == 1:
    shared_memory.machine = lambda: bytes(32)
dist.destroy_process_group()
os.environ["STORE"] += ".other"
begin("tt")
found.append(wrong_and_exchanges())
report(found)
dist.destroy_process_group()
