"""A rank that does something else than the other one, and reports the error that it gets."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from launch import begin, report

rank, case = int(os.environ["RANK"]), sys.argv[1]
begin("tt", timeout=timedelta(seconds=600 if case == "late for a new timeout" else 6))
x = torch.ones(2, 2, device="tt")
dist.barrier()
if case == "late for a new timeout":
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=2))
began = time.monotonic()
if case in ("killed", "killed before a message") and rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    match case:
        case "other op" if rank == 0:
            dist.broadcast(x, 0)
        case "other shape" if rank == 0:
            dist.all_reduce(x[0])
        case "other part":
            dist.all_to_all_single(
                torch.empty(4, device="tt"), torch.ones(4, device="tt"), [1, 3], [3 - rank, 1 + rank]
            )
        case "unfit output":
            dist.all_gather([torch.empty(2, 2, device="tt"), torch.empty(3, device="tt")], x)
        case "unfit part":
            dist.scatter(x[0], [torch.ones(2), torch.ones(3)] if rank == 1 else None, 1)
        case "other dtype":
            dist.reduce_scatter_single(torch.zeros(1, 2, dtype=torch.int32, device="tt"), x)
        case "late" if rank == 1:
            time.sleep(9)
        case "late for a new timeout":
            time.sleep(9 * rank)
            dist.barrier()
        case "killed before a message":
            dist.recv(x, 1)
        case _:
            dist.all_reduce(x)
except Exception as error:
    report([type(error).__name__, str(error), isinstance(error, RuntimeError), time.monotonic() - began])
