"""Compares the emulated card with torch, inductor, JAX on the CPU and bare oneDNN calls: ``make bench-emulator``.

Each implementation has a process of its own, and the processes take turns: each round times a few calls of every one,
so that other load affects all of them equally. Figures are medians over the rounds of the ratio within a round.

The implementations are ``eager``, torch in bfloat16; ``inductor``, torch.compile with freezing; ``jax``, the StableHLO
of our frontend, compiled by XLA for the CPU; ``tt``, the emulated card with silicon numerics, level 1 and a trace; and
``floor``, only the products, convolutions and attentions of our program, as oneDNN calls on prepacked weights.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.emulator_floor import floor_of
from benchmarks.emulator_memory import kept_per_weight
from benchmarks.emulator_models import MODELS
from benchmarks.turns import Call, in_turns
from docs.tables import write_between_marks

LEVEL = 1
WAYS = ("eager", "inductor", "jax", "tt", "floor")
TARGETS = {"eager": 1.3, "inductor": 1.0, "jax": 1.0, "floor": 0.8}
"""Minimum ratio of each implementation's time to ours; 0.8 for the floor allows 1.25 times the floor's time."""
MEMORY_TARGET = 1.2
"""Maximum ratio of the bytes kept between calls to the bytes of the weights."""


def eager(name: str) -> Call:
    model, inputs = MODELS[name]("cpu")
    return lambda: model(*inputs)


def inductor(name: str) -> Call:
    import torch._inductor.config as inductor_config

    inductor_config.freezing = True
    model, inputs = MODELS[name]("cpu")
    compiled = torch.compile(model)
    return lambda: compiled(*inputs)


def tt(name: str) -> Call:
    import tt_torch  # noqa: F401

    os.environ.setdefault("TTXLA_EMULATOR_CHAINS", "now")  # compile fused kernels before timing starts
    model, inputs = MODELS[name]("tt")
    options = {"optimization_level": LEVEL, "enable_trace": True}
    compiled = torch.compile(model, backend="tt", options=options)
    return lambda: compiled(*inputs)


def jax(name: str) -> Call:
    """Compiles the StableHLO of the model with XLA. Arguments, weights included, are JAX buffers.

    A call consumes the arguments that it writes to, such as a cache, so each call passes the buffers that the previous
    call returned.
    """
    from jaxlib import xla_client

    from tt_xla import host

    module, shapes = stablehlo(name)
    program = host.load(module)
    device = host.client().local_devices()[0]
    sharding = xla_client.SingleDeviceSharding(device)
    buffers = []
    from jax.core import ShapedArray

    for shape, element in shapes:
        dtype = host.numpy_dtype(element)
        floats = torch.randn(shape) * 0.05
        array = (floats if dtype.kind not in "iub" else torch.ones(shape)).numpy().astype(dtype)
        with host.wide():
            buffers.append(xla_client.batched_device_put(ShapedArray(shape, dtype), sharding, [array], [device]))

    def call() -> None:
        returned = [result.block_until_ready() for result in program.run(buffers)]
        for index, buffer in enumerate(buffers):
            if buffer.is_deleted():
                same = (i for i, a in enumerate(returned) if (a.shape, a.dtype) == (buffer.shape, buffer.dtype))
                buffers[index] = returned.pop(next(same))

    return call


def stablehlo(name: str) -> tuple[str, list[tuple[tuple[int, ...], str]]]:
    """Returns the model as StableHLO text, and the shape and element type of each argument."""
    from tt_xla.compiler.recording import recorded_compilations

    with recorded_compilations(texts=True) as compilations:
        tt(name)()
    (compilation,) = (each for each in compilations if each.program is not None and len(each.program.arguments) > 2)
    assert compilation.program is not None
    return compilation.modules["shlo"], [(tuple(a.shape), a.dtype) for a in compilation.program.arguments]


def floor(name: str) -> Call:
    from tt_xla.frontends.torch.backend import compiled_programs

    tt(name)()
    return floor_of(max(compiled_programs(), key=lambda program: len(program.arguments)))


MAKERS: dict[str, Callable[[str], Call]] = {
    "eager": eager,
    "inductor": inductor,
    "jax": jax,
    "tt": tt,
    "floor": floor,
}


def timed_call(way: str, name: str) -> Call:
    """Creates the timed call of one implementation in a fresh process."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    return MAKERS[way](name)


def row(name: str, durations: dict[str, list[float]], bytes_kept: float) -> str:
    """Returns a line of the table, with the targets that are missed marked."""
    ours = durations["tt"]
    cells = [f"{statistics.median(ours) * 1e3:.2f}"]
    for way, target in TARGETS.items():
        if way not in durations:
            cells.append("")
            continue
        ratio = statistics.median(theirs / our for theirs, our in zip(durations[way], ours, strict=True))
        cells.append(f"{ratio:.2f}" + ("" if ratio >= target else " (below)"))
    cells.append(f"{bytes_kept:.2f}" + ("" if bytes_kept <= MEMORY_TARGET else " (above)"))
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds (default 15)")
    parser.add_argument("--seconds", type=float, default=0.2, help="duration of a turn, at least one call")
    parser.add_argument("--model", default="", help="only models whose name contains this")
    parser.add_argument("--ways", nargs="+", default=[*WAYS], choices=[*MAKERS])
    parser.add_argument("--cores", type=int, default=0, help="cores per process (default: those of this process)")
    parser.add_argument(
        "--cpu-time", action="store_true", help="measure processor time; with --cores 1 this tolerates other load"
    )
    parser.add_argument("--document", type=Path, help="write the table into this document")
    arguments = parser.parse_args()
    if arguments.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.cores])
    lines = [
        "| model | tt, ms | eager / tt, target 1.3 | inductor / tt, target 1.0 | JAX / tt, target 1.0 "
        "| floor / tt, target 0.8 | bytes kept / weights, target 1.2 |",
        "|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n")
    for name in (name for name in MODELS if arguments.model in name):
        makers = {way: functools.partial(timed_call, way, name) for way in arguments.ways}
        durations = in_turns(makers, arguments.rounds, seconds=arguments.seconds, cpu=arguments.cpu_time)
        lines.append(row(name, durations, kept_per_weight(name, LEVEL)))
        print(lines[-1], flush=True)
    if arguments.document:
        write_between_marks(arguments.document, "emulator", "\n".join(lines))


if __name__ == "__main__":
    main()
