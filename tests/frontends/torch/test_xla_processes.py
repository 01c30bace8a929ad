"""Processes of torchrun as replicas: each has a chip, and they exchange tensors."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch_xla")

SCRIPT = """
import json, sys
import torch
import torch.distributed as dist
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from torch.nn.parallel import DistributedDataParallel

def main(index, folder):
    dist.init_process_group("xla", init_method="xla://")
    rank = dist.get_rank()
    own = torch.tensor([rank + 1.0], device="xla")
    gathered = [torch.zeros_like(own) for _ in range(2)]
    dist.all_gather(gathered, own)
    halves = torch.zeros(2, device="xla")
    dist.reduce_scatter(halves, [torch.arange(4.0, device="xla")])
    alone = dist.new_group([0])
    kept = own.clone()
    if rank == 0:
        dist.all_reduce(kept, group=alone)
    torch.manual_seed(rank)
    model = torch.nn.Linear(1, 1, device="xla")
    trained = DistributedDataParallel(model)
    trained(own.view(1, 1)).sum().backward()
    report = {
        "index": index,
        "ordinals": [xr.global_ordinal(), xr.local_ordinal(), xr.process_index()],
        "counts": [xr.world_size(), xr.process_count(), xr.local_process_count()],
        "devices": [xr.global_device_count(), xr.local_device_count(), xr.addressable_device_count()],
        "gathered": torch.cat(gathered).tolist(),
        "sum": xm.all_reduce(xm.REDUCE_SUM, own).tolist(),
        "halves": halves.tolist(),
        "kept": kept.tolist(),
        "payloads": [payload.decode() for payload in xm.rendezvous("end", str(rank).encode())],
        "weight": model.weight.tolist(),
        "gradient": model.weight.grad.tolist(),
    }
    with open(f"{folder}/{rank}.json", "w") as file:
        json.dump(report, file)
    dist.destroy_process_group()

torch_xla.launch(main, args=(sys.argv[1],))
"""


def torchrun(tmp_path, system, processes):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    options = ["--standalone", f"--nproc-per-node={processes}"]
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *options, str(script), str(tmp_path)],
        env=os.environ | {"TTXLA_SYSTEM": system, "TTXLA_NUMERICS": "exact"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_processes_exchange_tensors(tmp_path):
    done = torchrun(tmp_path, "n300", 2)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    for rank, report in enumerate((first, second)):
        assert report["index"] == rank
        assert report["ordinals"] == [rank] * 3
        assert report["counts"] == [2, 2, 2]
        assert report["devices"] == [2, 2, 1]
        assert report["gathered"] == [1, 2]
        assert report["sum"] == [3]
        assert report["halves"] == [4 * rank, 4 * rank + 2]
        assert report["kept"] == [rank + 1]
        assert report["payloads"] == ["0", "1"]
        assert report["gradient"] == [[1.5]]
    assert first["weight"] == second["weight"]


def test_more_processes_than_chips_are_an_error(tmp_path):
    done = torchrun(tmp_path, "n150", 2)
    assert done.returncode != 0
    assert "torchrun started 2 processes, each of which needs a chip, and the system has 1" in done.stderr
