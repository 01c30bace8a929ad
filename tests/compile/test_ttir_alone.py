"""TTIR ops without a counterpart in StableHLO are lowered, run on the emulated card, and compared with torch."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
import torch

from tt_xla.compiler import emit_program, plan_memory
from tt_xla.compiler.pipeline import lower, run_stages
from tt_xla.compiler.stages import TTIR_STAGES, TTNN_STAGES
from tt_xla.ir.program import Argument, Result, Role
from tt_xla.ir.text import parse_module
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

FLOATS = torch.tensor([[-2.5, -0.0, 0.0, 0.75, 3.25], [1.0, -1.0, -0.25, 7.5, -6.5]])
INTEGERS = torch.tensor([[-8, -1, 0, 7, 2**31 - 1], [5, -(2**31), 100, -100, 1]], dtype=torch.int32)
SHIFTS = torch.tensor([[1, 5, 3, 0, 30], [1, 31, 2, 3, 0]], dtype=torch.int32)

ELEMENT = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int32: "si32"}


def run(op: str, *inputs: torch.Tensor) -> torch.Tensor:
    kinds = [f"tensor<2x5x{ELEMENT[x.dtype]}>" for x in inputs]
    arguments = ", ".join(f"%{n}: {kind}" for n, kind in enumerate(kinds))
    names = ", ".join(f"%{n}" for n in range(len(kinds)))
    text = f"""
func.func @main({arguments}) -> {kinds[0]} {{
  %r = "ttir.{op}"({names}) : ({", ".join(kinds)}) -> {kinds[0]}
  return %r : {kinds[0]}
}}"""
    options, target = CompileOptions.parse({"numerics": "exact"}), load_target("n150")
    module = parse_module(text)
    run_stages(module, TTIR_STAGES, options, target, verify=True)
    module = lower(module, options)
    run_stages(module, TTNN_STAGES, options, target, verify=True)
    declared = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int32: "i32"}
    takes = tuple(Argument(f"x{n}", Role.INPUT, tuple(x.shape), declared[x.dtype]) for n, x in enumerate(inputs))
    gives = (Result(tuple(inputs[0].shape), declared[inputs[0].dtype]),)
    program = emit_program.emit(module, "main", takes, gives, options, target)
    program = msgspec.structs.replace(program, memory=plan_memory.run(program, target))
    (results,) = get_device().load(program).run(list(inputs), [None] * len(inputs))
    return results


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("op", "reference"),
    [
        ("exp2", torch.exp2),
        ("frac", torch.frac),
        ("signbit", torch.signbit),
        ("softsign", torch.nn.functional.softsign),
        ("square", torch.square),
        ("trunc", torch.trunc),
    ],
)
def test_of_floats(op: str, reference: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    x = FLOATS.to(dtype)
    torch.testing.assert_close(run(op, x), reference(x).to(dtype))


def test_of_integers() -> None:
    assert torch.equal(run("trunc", INTEGERS), INTEGERS)
    assert torch.equal(run("signbit", INTEGERS), INTEGERS.lt(0).int())
    assert torch.equal(run("square", SHIFTS), SHIFTS * SHIFTS)


def test_shifts() -> None:
    assert torch.equal(run("right_shift", INTEGERS, SHIFTS), INTEGERS >> SHIFTS)
    unsigned = (INTEGERS.long() & 0xFFFFFFFF) >> SHIFTS
    assert torch.equal(run("logical_right_shift", INTEGERS, SHIFTS).long() & 0xFFFFFFFF, unsigned)
