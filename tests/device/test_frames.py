"""Frames of generated functions: where CPython's stack is full, no call maps a block of memory for itself."""

from __future__ import annotations

import pytest

from tt_xla.ir.program import Instruction
from tt_xla.runtime.binding import Code, Step

resource = pytest.importorskip("resource", reason="this system does not count page faults")

STEPS = 200
DEPTHS = 170
"""Depths of the stack that are tried: more frames than fit in one of its blocks."""


def faults_at(depth, function):
    """Returns the page faults of a call below this number of frames."""
    if depth:
        return faults_at(depth - 1, function)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    function(0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_no_call_of_a_long_function_maps_memory_at_any_depth():
    def call(value, depth=4):
        return call(value, depth - 1) if depth else value

    instructions = [Instruction("ttnn.exp", {"input": index}, (index + 1,), {}) for index in range(STEPS)]
    steps = [Step(instruction, (*instruction.operand_values(),), []) for instruction in instructions]
    function = Code("main", steps, [0], [STEPS]).link([call] * STEPS)
    assert max(faults_at(depth, function) for depth in range(DEPTHS)) < STEPS // 2
