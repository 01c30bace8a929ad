"""Golden modules of one chip, which the localiser makes of programs with shardings.

The other tests here judge what the modules compute, in processes with eight CPU devices; lowering needs none.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from tests.compile.sharding import lowered
from tests.compile.sharding.partial_sums import CASES, module_of
from tests.compile.sharding.programs import PROGRAMS, with_shardings
from tests.golden import Goldens
from tt_xla.compiler.sharding import localise
from tt_xla.compiler.stablehlo import parse_module

pytestmark = pytest.mark.quick

PARTITIONERS = ("shardy", "gspmd")


def localised(module: Any) -> str:
    """Returns the module of one chip of eight."""
    result = localise(module, 8)
    assert result is not None
    return str(result.module)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, goldens: Goldens) -> None:
    program = PROGRAMS[name]
    text = jax.jit(program.function, keep_unused=True).lower(*program.arrays(name)).as_text()
    for number, (mesh, arguments, results) in enumerate(program.shardings):
        module = localised(with_shardings(text, mesh, arguments, results))
        goldens.check("sharding/programs", f"{name} {number}", module, lowered_by_jax=True)


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@pytest.mark.parametrize("name", lowered.PROGRAMS)
def test_program_that_jax_lowers(name: str, partitioner: str, goldens: Goldens, request: pytest.FixtureRequest) -> None:
    before = jax.config.jax_use_shardy_partitioner
    request.addfinalizer(lambda: jax.config.update("jax_use_shardy_partitioner", before))
    jax.config.update("jax_use_shardy_partitioner", partitioner == "shardy")
    function, shapes, arguments, results = lowered.PROGRAMS[name]()
    inputs = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    traced = jax.jit(function, in_shardings=arguments, out_shardings=results).trace(*inputs)
    text = traced.lower(lowering_platforms=("cpu",)).as_text()
    goldens.check(f"sharding/{partitioner}", name, localised(parse_module(text)), lowered_by_jax=True)


@pytest.mark.parametrize("name", CASES)
def test_partial_sums(name: str, goldens: Goldens) -> None:
    goldens.check("sharding/partial_sums", name, localised(module_of(CASES[name])))


def test_every_golden_module_has_a_program(goldens: Goldens) -> None:
    numbered = [f"{name} {number}" for name in PROGRAMS for number in range(len(PROGRAMS[name].shardings))]
    names = {partitioner: list(lowered.PROGRAMS) for partitioner in PARTITIONERS}
    names |= {"programs": numbered, "partial_sums": list(CASES), "round_trip": ["hidden form"]}
    goldens.has_only("sharding", names)
