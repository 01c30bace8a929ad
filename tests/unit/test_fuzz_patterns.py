"""Drawn programs reach every pattern of the compiler, are the same in each process, and notice a broken guard."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tests.fuzz.cases import Case, NotDrawnError
from tests.fuzz.idioms import IDIOMS, built
from tests.fuzz.kinds import load
from tests.fuzz.kinds.idioms import Rewritten
from tests.fuzz.patterns import ALONE, TEXTS, counted, patterns
from tests.fuzz.texts.judge import compiled
from tt_xla.compiler.pipeline import run_stages, stage_named
from tt_xla.compiler.tt_modules import program_of
from tt_xla.ir.ttir.creation import splat
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

TTIR = "tt_xla.compiler.ttir"
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"optimization_level": 2},
    {"optimization_level": 2, "experimental_weight_dtype": "bfp_bf8"},
)
"""Options under which a text is compiled until its pattern fires."""

FAULTS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "limits": (f"{TTIR}.fuse.activation", "is_splat", lambda value, expected: splat(value) is not None),
    "gelu": (f"{TTIR}.fuse.activation", "is_close", lambda number, expected, like: True),
    "sigmoids": (f"{TTIR}.fuse.activation", "equal_up_to_casts", lambda one, other: True),
}
"""By idiom, a module, the name of a function that its patterns ask, and one that lets too much pass."""


def test_every_pattern_has_an_idiom_or_a_text() -> None:
    named = {name for one in IDIOMS.values() for name in one.patterns}
    assert sorted(named | set(TEXTS)) == sorted(patterns())


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_pattern_fires_it(name: str) -> None:
    fires: Counter[str] = Counter()
    module = TEXTS[name].module()
    for options in OPTIONS:
        with counted(fires):
            if TEXTS[name].in_ttnn or name in ALONE:
                whole = program_of(module).module if TEXTS[name].in_ttnn else module
                run_stages(whole, [stage_named(TEXTS[name].stage)], CompileOptions.parse(options), load_target("n150"))
            else:
                compiled(module, **options)
        if fires[name]:
            return
    pytest.fail(f"{name} does not fire in {TEXTS[name].file}, function {TEXTS[name].function}")


@pytest.mark.parametrize("kind", ["idioms", "texts", "formats"])
def test_the_same_state_draws_the_same_program(kind: str) -> None:
    def text(number: int) -> str:
        try:
            return load(kind)(Case(kind, "same", number).generator()).text
        except NotDrawnError as error:
            return str(error)

    texts = [text(number) for number in range(4)]
    assert [text(number) for number in range(4)] == texts
    assert len(set(texts)) > 1


@pytest.mark.parametrize("name", FAULTS)
def test_a_guard_that_lets_everything_pass_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fault is planted, and programs of its idiom are drawn until one of them differs."""
    module, function, fault = FAULTS[name]
    monkeypatch.setattr(import_module(module), function, fault)
    for number in range(60):
        source, inputs = built(random.Random(f"{name}:{number}"), IDIOMS[name])
        if any(Rewritten(source, inputs).check()):
            return
    pytest.fail(f"60 programs of {name} do not notice the fault")
