"""Compares Ray workers with one process on models for eight chips, in docs/benchmarks.md: ``make bench-mesh-workers``.

All numbers of workers take turns in one process, so that other load on the machine affects all of them equally. Times
are minima over the rounds: of the wall clock, and of the processor time of all processes together. Every result is
compared with that of one process, bit by bit.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["TTXLA_SYSTEM"] = "n300-llmbox"

import numpy as np
import torch
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

from docs.tables import write_between_marks
from tt_xla.ir.program import Program, Role
from tt_xla.runtime import get_device, recorded_runs
from tt_xla.runtime.mesh.shards import split
from tt_xla.runtime.mesh.workers import workers_at

WORKERS = ("", "1", "2", "4")
"""Values of ``TTXLA_MESH_WORKERS``; the first is one process without workers."""


def data_parallel() -> None:
    """Runs four layers of BERT-base on 16 texts of 128 tokens, two on each chip."""
    config = BertConfig(num_hidden_layers=4)
    model = BertModel(config, add_pooling_layer=False).eval().to(torch.bfloat16).to("tt")
    tokens = torch.randint(config.vocab_size, (16, 128)).to("tt")
    xs.mark_sharding(tokens, xs.Mesh(np.arange(8), (8,), ("batch",)), ("batch", None))
    torch.compile(model, backend="tt")(tokens)


def tensor_parallel() -> None:
    """Runs four layers of a Llama of width 1024 on 256 tokens, with heads and MLPs split over all chips."""
    config = LlamaConfig(
        vocab_size=8192, hidden_size=1024, intermediate_size=4096, num_hidden_layers=4, num_attention_heads=16
    )
    model = LlamaForCausalLM(config).eval().to(torch.bfloat16).to("tt")
    mesh = xs.Mesh(np.arange(8), (8,), ("model",))
    for layer in model.model.layers:
        attention, mlp = layer.self_attn, layer.mlp
        for linear in (attention.q_proj, attention.k_proj, attention.v_proj, mlp.gate_proj, mlp.up_proj):
            xs.mark_sharding(linear.weight, mesh, ("model", None))
        for linear in (attention.o_proj, mlp.down_proj):
            xs.mark_sharding(linear.weight, mesh, (None, "model"))
    tokens = torch.randint(config.vocab_size, (1, 256)).to("tt")
    torch.compile(model, backend="tt")(tokens, use_cache=False)


MODELS: dict[str, Callable[[], None]] = {
    "BERT-base, 4 layers, data parallel": data_parallel,
    "Llama, 4 layers of width 1024, tensor parallel": tensor_parallel,
}


def recorded(model: Callable[[], None]) -> tuple[Program, Sequence[torch.Tensor]]:
    """Returns the program of a model and the arguments of its run."""
    torch.manual_seed(0)
    with torch.no_grad(), recorded_runs() as runs:
        model()
    return next(run for run in reversed(runs) if run[0].mesh is not None)


def processor_seconds() -> float:
    """Returns the processor time that this process and all workers took so far."""
    pids = [os.getpid(), *(identity.pid for identity in workers_at(None).identities)]
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    ticks = sum(int(ticks) for field in fields for ticks in field[11:13])  # in user and in system mode
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(
    program: Program, tensors: Sequence[torch.Tensor], rounds: int
) -> tuple[dict[str, tuple[float, float]], int]:
    """Returns the wall-clock and processor seconds of a call for each number of workers, and its exchanges."""
    pairs = zip(tensors, program.arguments, strict=True)
    shards = [split(tensor, argument.sharding, program.mesh) for tensor, argument in pairs]
    versions = [None if argument.role is Role.INPUT else 10**9 + n for n, argument in enumerate(program.arguments)]
    executables: dict[str, Any] = {}
    for workers in WORKERS:
        os.environ["TTXLA_MESH_WORKERS"] = workers
        executables[workers] = get_device().load(program)
    expected, times = None, dict.fromkeys(WORKERS, (float("inf"), float("inf")))
    for number in range(rounds + 4):  # the first runs prepare weights and fused kernels
        for workers, executable in executables.items():
            start, processor = time.perf_counter(), processor_seconds()
            results = executable.run(shards, versions)
            seconds, processor = time.perf_counter() - start, processor_seconds() - processor
            expected = expected or results
            for result, other in zip(results, expected, strict=True):
                assert all(map(torch.equal, result, other)), f"{workers or 'no'} workers compute other bits"
            if number >= 4:
                times[workers] = min(times[workers][0], seconds), min(times[workers][1], processor)
    names = ("all_gather", "all_reduce", "all_to_all", "point_to_point", "reduce_scatter")
    ops = [instruction.op for function in program.functions for instruction in function.body]
    return times, sum(op.removeprefix("ttnn.") in names for op in ops)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--document", type=Path, help="document to write the table to")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    xr.use_spmd()
    rows = [
        "| model on 8 chips | exchanges | one process | 1 worker | 2 workers | 4 workers |",
        "|---|---|---|---|---|---|",
    ]
    for name, model in MODELS.items():
        os.environ["TTXLA_MESH_WORKERS"] = ""
        times, exchanges = measure(*recorded(model), arguments.rounds)
        alone, *others = times.values()
        cells = [f"{alone[0] * 1e3:.0f}, {alone[1] * 1e3:.0f} ms"]
        cells += [f"{wall / alone[0]:.2f} x, {processor / alone[1]:.2f} x" for wall, processor in others]
        rows.append(f"| {name} | {exchanges} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    if arguments.document:
        write_between_marks(arguments.document, "mesh workers", "\n".join(rows))


if __name__ == "__main__":
    main()
