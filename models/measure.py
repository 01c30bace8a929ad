"""Runs a model in bfloat16 on the emulated card and compares its results with float32 on the CPU."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from models.loader import Inputs, Loader, Size
from tt_xla.testing import ComparisonConfig, compare


@dataclass
class Level:
    """What one optimization level gave.

    Attributes:
        pcc: the least Pearson correlation of an output tensor with the CPU's, float32.
        compile_s: first call less second call, seconds by the wall clock; graph capture is part of it.
        run_s: second call, seconds.
        ops: TTNN instructions of a run, without those of const-eval functions.
        host_ops: what runs on the host in the midst of it, by name.
        graphs: what dynamo captured; more than one where it broke the model in pieces.
        device_us: predicted time on the chip.
    """

    pcc: float
    compile_s: float
    run_s: float
    ops: int
    host_ops: list[str]
    graphs: int
    device_us: float


@dataclass
class Measurement:
    """A model at some levels; ``cpu_pcc`` is what bfloat16 on the CPU itself reaches."""

    name: str
    parameters: int
    cpu_pcc: float
    levels: dict[int, Level] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(loader: Loader, size: Size = "small", levels: Iterable[int] = (0, 1, 2)) -> Measurement:
    """Compiles and runs a model twice at each level."""
    model, inputs = loader.load(size)
    # Copied before it runs: some models keep tensors of their first run, in its type.
    narrow, narrow_inputs = copy.deepcopy(model).to(torch.bfloat16), in_bfloat16(inputs)
    expected = outputs_of(model, inputs)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    cpu_pcc = agreement(outputs_of(narrow, narrow_inputs), expected)
    found = Measurement(loader.name, parameters, cpu_pcc)
    for level in levels:
        found.levels[level] = _run_at(level, narrow, narrow_inputs, expected)
    return found


def _run_at(level: int, model: torch.nn.Module, inputs: Inputs, expected: list[torch.Tensor]) -> Level:
    from torch._dynamo.utils import counters

    from tt_xla.frontends.torch.backend import clear_programs, compiled_programs

    torch.compiler.reset()
    counters.clear()
    clear_programs()
    on_device = copy.deepcopy(model).to("tt")
    compiled = torch.compile(on_device, backend="tt", options={"optimization_level": level})
    placed = {name: tensor.to("tt") for name, tensor in inputs.items()}
    times, outputs = [], []
    for _ in range(2):
        start = time.perf_counter()
        outputs = outputs_of(compiled, placed)
        times.append(time.perf_counter() - start)
    programs = compiled_programs()
    return Level(
        pcc=agreement(outputs, expected),
        compile_s=times[0] - times[1],
        run_s=times[1],
        ops=sum(len(program.functions[0].body) for program in programs),
        host_ops=[op for program in programs for op in program.host_ops],
        graphs=counters["stats"]["unique_graphs"],
        device_us=sum(program.predicted_device_us for program in programs),
    )


def outputs_of(model: Any, inputs: Inputs) -> list[torch.Tensor]:
    """The tensors of floats that a model returns, in order, on the CPU."""
    with torch.no_grad():
        leaves = pytree.tree_leaves(dict(model(**inputs)))
    return [leaf.cpu() for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]


def in_bfloat16(inputs: Inputs) -> Inputs:
    return {name: x.to(torch.bfloat16) if x.is_floating_point() else x for name, x in inputs.items()}


def agreement(actual: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """The least correlation over pairs of tensors, as ``tt_xla.testing`` compares; 0 where it has none."""
    found = compare(actual, expected, ComparisonConfig(assert_on_failure=False)).pcc
    return 0.0 if found is None or math.isnan(found) else found
