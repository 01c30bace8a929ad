"""Calls of the ops that have a lowering rule, one at a time, judged by PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tests.fuzz.cases import Difference, Generator, NotDrawnError
from tests.fuzz.torch_programs import tensors
from tests.fuzz.torch_programs.calls import Call, Op, compiled, graph_of, lowered, on_device, variants
from tests.fuzz.torch_programs.noise import DEFAULT, EITHER_ZERO, EXACT, MOVES, ROUNDED, SERIES, Judge, base_name, names
from tests.fuzz.torch_programs.recipes import OTHERS, op_of
from tests.fuzz.torch_programs.samples import draw_call
from tests.fuzz.torch_programs.schemas import CHOOSING
from tests.fuzz.unreached import UNREACHED

UNDEFINED = names(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided rrelu_with_noise_functional"
)
"""Ops that leave elements of their results undefined, or draw them."""

SUMS = names("add sub rsub")
"""Ops with a factor of one operand, a product with which may overflow on the way."""

_NARROW = (torch.float16, torch.bfloat16)

STRIDED = names("_reshape_alias as_strided view")
"""Ops whose results depend on how their inputs lie in memory, or that refuse some."""

OPTIONS: dict[str, Mapping[str, Any]] = {
    "exact at level 0": {"numerics": "exact", "optimization_level": 0},
    "exact at level 2": {"numerics": "exact", "optimization_level": 2},
    "default at level 0": {"numerics": "silicon", "optimization_level": 0},
    "default at level 2": {"numerics": "silicon", "optimization_level": 2},
}
"""Compile options by the name of the check."""


def ops() -> list[Op]:
    """Returns the ops that are drawn, in the order of the registries."""
    from tt_xla.frontends.torch import backend  # noqa: F401  defines ops
    from tt_xla.frontends.torch.aten.registry import LOWERINGS

    known = [op for op in LOWERINGS if str(op) not in UNREACHED["aten rules"]]
    return known + [op_of(name) for name in OTHERS]


@dataclass
class AtenCall:
    """A drawn call, and the ways in which it runs.

    Attributes:
        call: the call.
        way: ``rule``, ``compile``, ``symbols`` (compiled for all sizes up to a capacity), or the overload that runs on
            the device outside of a graph.
        checks: keys of :data:`OPTIONS`.
    """

    call: Call
    way: str | Op
    checks: list[str]

    @property
    def text(self) -> str:
        return f"{self.call.text}\n# as {self.way}, {', '.join(self.checks)}"

    def check(self) -> Iterator[Difference]:
        try:
            judge = self._judge()
        except RuntimeError as error:
            raise NotDrawnError(f"PyTorch refuses {self.way}: {error}") from error
        if not judge.fits() or not _converts_within_range(self.call, judge.expected):
            raise NotDrawnError("integers that 32 bits do not hold")
        if base_name(self.call.op) == "histc" and any(bool((each.abs() > 1e30).any()) for each in self.call.inputs):
            raise NotDrawnError("a range of numbers that overflows in PyTorch")
        if base_name(self.call.op).endswith("2d_aa") and judge.expected[0].shape[-1] == 1:
            raise NotDrawnError("images one pixel wide, in which PyTorch repeats one row")
        if "batch_norm" in self.call.name and any(each.dtype in _NARROW for each in self.call.inputs):
            raise NotDrawnError("statistics whose type depends on the device in PyTorch")
        if _meets_float16_beyond_its_range(self.call):
            raise NotDrawnError("integers that are infinite in float16, which is float32 on the chip")
        run = lowered(self.call) if self.way == "rule" else None
        if run is None:
            graph_of(self.call)  # PyTorch's fake tensors have to agree with the CPU here too
        for name in self.checks:
            options = OPTIONS[name]
            if run is not None:
                got = run(options)
            elif isinstance(self.way, str):
                got = compiled(self.call, options, symbols=self.way == "symbols")
            else:
                got = _eagerly(self.call, self.way, options)
            size = EXACT if options["numerics"] == "exact" else DEFAULT
            yield from judge.differences(name, got, size)

    def _judge(self) -> Judge:
        call = self.call
        base, inputs = base_name(call.op), call.inputs
        function = call if isinstance(self.way, str) else _on_cpu(call, self.way)
        types = {tensor.dtype for tensor in (*inputs, *call(*map(tensors.copied, inputs)))}
        floats = {dtype for dtype in types if dtype.is_floating_point or dtype.is_complex}
        rounded = base in ROUNDED and floats == {torch.float32} and _factor(call) == 1 and _numbers_are_float32(call)
        moves = base in MOVES and floats <= {torch.float32, torch.bfloat16, torch.float16}
        judge = Judge(
            function,
            inputs,
            bits=moves or rounded,
            least=4.0 if base in SERIES else 0.0,
            zeros=base not in EITHER_ZERO,
            pointwise=torch.Tag.pointwise in call.op.tags and (base not in SUMS or _factor(call) == 1),
            undefined=base in UNDEFINED,
            strided=base in STRIDED or not isinstance(self.way, str),
            chained=base in ("cumprod", "prod"),
            any_choice=base in CHOOSING and any(each.unique().numel() < each.numel() for each in inputs),
        )
        if rounded:
            judge.expected = [_rounded(call, result) for result in judge.expected]
        return judge


def _factor(call: Call) -> Any:
    """Returns the factor of a sum's second operand, by which that is multiplied first."""
    return call.kwargs.get("alpha", call.args[2] if len(call.args) > 2 else 1)


def _numbers_are_float32(call: Call) -> bool:
    """Whether float32 holds the numbers among the arguments, to which PyTorch rounds them first."""
    numbers = [value for value in call.args if isinstance(value, int | float) and value == value]
    return all(value == float(np.float32(value)) for value in numbers)


def _rounded(call: Call, result: torch.Tensor) -> torch.Tensor:
    """Returns the result of one operation, correctly rounded: float64 has more than twice the digits of float32."""
    wide = [tensor.double() if tensor.is_floating_point() else tensor for tensor in call.inputs]
    return call(*wide)[0].to(result.dtype)


def _on_cpu(call: Call, op: Op) -> Any:
    def function(*inputs: torch.Tensor) -> list[torch.Tensor]:
        return on_device(call.with_inputs(inputs), op, tensors.copied)

    return function


def _eagerly(call: Call, op: Op, options: Mapping[str, Any]) -> list[torch.Tensor]:
    """Runs a call on the device outside of a graph, under options of the process."""
    from tt_xla.frontends.torch import settings

    settings.set_compile_options(options)
    try:
        return on_device(call, op, tensors.on_device)
    finally:
        settings.reset()


def _meets_float16_beyond_its_range(call: Call) -> bool:
    """Whether integers meet float16, in which PyTorch makes large ones infinite."""
    whole = [each for each in call.inputs if not (each.is_floating_point() or each.is_complex()) and each.numel()]
    largest = max((int(each.long().abs().max()) for each in whole), default=0)
    return largest > 65504 and any(each.dtype is torch.float16 for each in call.inputs)


def _converts_within_range(call: Call, expected: list[torch.Tensor]) -> bool:
    """Whether floats that an op converts to integers lie in their range; outside of it, C++ defines no result."""
    floats = [tensor for tensor in call.inputs if tensor.is_floating_point() or tensor.is_complex()]
    asked = {value for value in (*call.args, *call.kwargs.values()) if isinstance(value, torch.dtype)}
    whole = [result.dtype for result in expected if not (result.is_floating_point() or result.is_complex())]
    fills = base_name(call.op) == "fill"
    if (
        not floats
        or not (asked & set(whole) or (fills and whole))
        or torch.bool in whole
        or call.name.endswith("::view")
    ):
        return True
    limits = torch.iinfo(whole[0])
    parts = [torch.view_as_real(each.resolve_conj()) if each.is_complex() else each for each in floats]
    low, high = max(limits.min, -tensors.LONG), min(limits.max, tensors.LONG)
    return all(bool(((part >= low) & (part <= high)).all()) for part in parts)


def draw(random: Generator) -> AtenCall:
    """Draws an op with a rule, a call of it, and how it runs."""
    op = random.in_turn(ops())
    call = draw_call(random, op)
    chance = random.random()
    way: str | Op = "rule"
    if chance < 0.05:
        way = "compile"
    elif chance < 0.15:
        way = "symbols"
    elif chance < 0.3:
        way = random.choice(list(variants(op)))
    checks = ["exact at level 0"]
    if not call.special:
        checks.append(random.choice(("exact at level 2", "default at level 0", "default at level 2")))
    elif way == "rule":
        checks.append("exact at level 2")
    return AtenCall(call, way, checks)


__all__ = ["AtenCall", "draw", "ops"]
