"""Each fusion in the spellings that frameworks use, and programs that look like it but must not fuse.

A positive case must compile to the ops that it names and no others; a negative one must not have the op that it names.
All programs run on the emulated card and are compared with XLA's CPU client.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from schedules import nightly_but
from spellings import FUSED, NOT_FUSED, UNCOUNTED
from test_against_stablehlo import assert_identical, compiled, lowered, on_card, on_cpu, over, run, with_edges

from tests.golden import Goldens
from tt_xla.compiler.pipeline import OPTIONAL
from tt_xla.compiler.ttir import fuse
from tt_xla.compiler.ttnn import fuse_rotary, fuse_unary
from tt_xla.ir.program import Program
from tt_xla.ir.program_text import program_lines

PRODUCTS = {"matmul", "linear", "conv2d", "conv_transpose2d"}
"""Ops whose order of sums depends on the operands' layout."""

ATTENTION_ATOL = 6e-2
"""Tolerance of attention in bfloat16: the exponential of the chip's kernel deviates by up to 6 % (docs/numerics.md)."""


class Subject:
    """A spelling with what its tests share: each program is compiled once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.case = (FUSED | NOT_FUSED)[name]

    @cached_property
    def module(self) -> Any:
        return lowered(self.case.program, self.case.inputs)

    @cached_property
    def program(self) -> Program:
        """The program at level 2 with the chip's numerics."""
        return compiled(self.module, optimization_level=2)

    @cached_property
    def references(self) -> list[np.ndarray]:
        """XLA's results."""
        return on_cpu(self.module, self.case.inputs)

    @cached_property
    def inputs_with_edges(self) -> tuple[np.ndarray, ...]:
        return tuple(with_edges(value) for value in self.case.inputs)


@pytest.fixture(scope="module")
def subject(request: pytest.FixtureRequest) -> Subject:
    """The spelling of the tests that run now: pytest groups them by spelling."""
    return Subject(request.param)


SAMPLE = (next(iter(FUSED)), next(iter(NOT_FUSED)))
"""Spellings whose programs of levels 0 and 1 are judged for each change."""


def counted(program: Program) -> Counter[str]:
    names = [step.op.partition(".")[2] for function in program.functions for step in function.body]
    return Counter(name for name in names if name not in UNCOUNTED)


@over(FUSED)
def test_fuses(subject: Subject) -> None:
    assert counted(subject.program) == Counter(subject.case.ops)


@over(NOT_FUSED)
def test_does_not_fuse(subject: Subject) -> None:
    assert subject.case.ops[0] not in counted(subject.program)


@over([*FUSED, *NOT_FUSED])
def test_program(subject: Subject, goldens: Goldens) -> None:
    kind = "fused" if subject.name in FUSED else "not_fused"
    goldens.check(f"spellings/{kind}", subject.name, program_lines(subject.program, locations=False))


def test_every_golden_program_has_a_spelling(goldens: Goldens) -> None:
    goldens.has_only("spellings", {"fused": FUSED, "not_fused": NOT_FUSED})


@over([*FUSED, *NOT_FUSED])
def test_equals_its_parts(subject: Subject) -> None:
    """The results differ from XLA's by no more than the chip's numerics and the tanh form of gelu allow."""
    assert_close(run(subject.program, subject.case.inputs), subject)


@over(nightly_but(SAMPLE, [*FUSED, *NOT_FUSED]))
def test_equals_its_parts_at_level_0(subject: Subject) -> None:
    assert_close(on_card(subject.module, subject.case.inputs, optimization_level=0), subject)


def assert_close(results: list[np.ndarray], subject: Subject) -> None:
    atol = subject.case.atol
    if "scaled_dot_product_attention" in subject.case.ops:
        atol = max(atol, ATTENTION_ATOL)
    for one, other in zip(results, subject.references, strict=True):
        np.testing.assert_allclose(one.astype(np.float32), other.astype(np.float32), atol=atol, rtol=2e-2)


@pytest.mark.sample(40)
@over([*FUSED, *NOT_FUSED])
def test_exact_numerics_change_no_bit(subject: Subject) -> None:
    """Under exact numerics a program computes what it computes without folds and fusions, bit by bit."""
    assert_same_without_fusions(subject, 2)


@over(nightly_but(SAMPLE, [*FUSED, *NOT_FUSED]))
@pytest.mark.parametrize("level", [0, 1])
def test_exact_numerics_change_no_bit_at_lower_levels(subject: Subject, level: int) -> None:
    assert_same_without_fusions(subject, level)


def assert_same_without_fusions(subject: Subject, level: int) -> None:
    """Compares results with those of the program without optional stages.

    Programs with products are compared within the last digits, as the order of sums depends on the operands' layout.
    """
    options = {"numerics": "exact", "optimization_level": level}
    program = compiled(subject.module, **options)
    plain = on_card(subject.module, subject.inputs_with_edges, **options, without=OPTIONAL)
    for result, value in zip(run(program, subject.inputs_with_edges), plain, strict=True):
        if PRODUCTS & set(counted(program)):
            atol = subject.case.atol
            np.testing.assert_allclose(result.astype(np.float32), value.astype(np.float32), rtol=2e-2, atol=atol)
        else:
            assert_identical(result, value)


def test_every_pattern_is_described() -> None:
    described = (Path(__file__).parents[2] / "docs" / "fusions.md").read_text()
    patterns = (
        *fuse.PATTERNS,
        *fuse_rotary.PATTERNS,
        *fuse_unary.PATTERNS,
        *fuse.linear.TRANSPOSES,
    )
    assert [pattern.name for pattern in patterns if f"`{pattern.name}`" not in described] == []
