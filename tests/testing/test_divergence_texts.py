"""Errors, verdicts and tables of ``tt-xla compare``, on comparisons that are made by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from tt_xla.errors import CompileError, OptionError
from tt_xla.options import CompileOptions
from tt_xla.testing.comparison import (
    AllcloseConfig,
    AtolConfig,
    ComparisonConfig,
    EqualConfig,
    NotComparableError,
    PccConfig,
    RelL2Config,
    compare,
    largest_difference,
    leaves,
    relative_error,
)
from tt_xla.testing.divergence import bisect
from tt_xla.testing.divergence.bisect import Bisection, Culprit, Trial
from tt_xla.testing.divergence.distances import Deviation, deviation
from tt_xla.testing.divergence.parts import Comparison, Error, Line, Row
from tt_xla.testing.divergence.scripts import ComparedScript
from tt_xla.tools import compare as tool

GOOD, BAD, WORST = Error(0.9999, 0.01, 0.5), Error(0.5, 0.75, 2.0), Error(math.nan, math.inf, math.inf)


def row(index: int, alone: Error | None, running: Error | None = GOOD, failure: str = "", location: str = "") -> Row:
    return Row(Line(index, f"op[{index}]", "2x3xbf16", location), alone, running, failure)


def test_errors_of_results() -> None:
    x = np.array([1.0, -2.0, 3.0])
    assert Error.of([x], [x]) == Error(1.0, 0.0, 0.0)
    error = Error.of([x, x + np.array([0, 0, 6.0]), x], [x, x, np.array([1.0, -2.0, 3.5])])
    assert error.absolute == 6.0
    assert error.relative == pytest.approx(6.0 / math.sqrt(14))
    assert error.pcc == pytest.approx(np.corrcoef(x, x + np.array([0, 0, 6.0]))[0, 1])
    infinite = np.array([math.inf, 1.0, 2.0])
    assert Error.of([infinite], [infinite]) == Error()
    assert math.isnan(Error.of([x * math.nan, -x], [x, x]).pcc)
    # The tolerance below which arrays agree is a hundredth of the root mean square.
    tiny = 1e-6 * x
    assert Error.of([tiny[::-1]], [tiny]).pcc < 0.9
    assert (Error(0.99).within(0.99), Error(0.98).within(0.99), WORST.within(-2.0)) == (True, False, False)
    assert (BAD.weight, WORST.weight, Error(relative=math.nan).weight) == (0.75, math.inf, math.inf)


def test_the_first_and_the_worst_part() -> None:
    rows = [row(0, GOOD), row(1, GOOD, BAD), row(2, BAD), row(3, None, None, "no room"), row(4, GOOD, None)]
    comparison = Comparison(rows, GOOD, 0.99)
    assert (comparison.first, comparison.worst, comparison.passed) == (rows[1], rows[2], True)
    assert [each.diverges(0.99) for each in rows] == [False, True, True, True, False]
    assert Comparison([rows[0], rows[3]], None, 0.99).first is rows[3]
    assert not Comparison(rows, None, 0.99).passed
    assert not Comparison(rows, BAD, 0.99).passed
    nothing = Comparison([rows[3]], None, 0.99)
    assert (nothing.worst, Comparison([], GOOD, 0.99).first) == (None, None)


def test_distances_in_values_of_the_type() -> None:
    one = torch.tensor([1.0, -1.0, 0.0, 2.0], dtype=torch.bfloat16)
    other = torch.tensor([1.0078125, -1.015625, -0.0, 2.0], dtype=torch.bfloat16)
    found = deviation(one, other)
    assert (found.largest, found.mean, found.beyond_one) == (2, 0.75, 0.25)
    assert found.pcc == pytest.approx(np.corrcoef(one.float(), other.float())[0, 1])
    small = torch.tensor([torch.finfo(torch.float32).smallest_normal * 2**-23])
    assert deviation(small, -small) == Deviation(2, 2.0, 1.0, 0.0)
    assert deviation(torch.tensor([3, 5]), torch.tensor([3, 9])).largest == 4
    assert deviation(one, one) == Deviation(0, 0.0, 0.0, 1.0)
    assert deviation(one[:0], one[:0]) == Deviation(0, 0.0, 0.0, 1.0)
    assert deviation(one[:2], torch.ones(2, dtype=torch.bfloat16)).pcc == 0.0
    assert deviation(torch.ones(2), torch.tensor([1.0, 2.0])).pcc == 0.0
    assert deviation(torch.ones(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64) * 2).largest == 1 << 52


COMPILER = "It differs in float32 with exact arithmetic too, so the compiler is the cause. Try --bisect fusion."
FORMATS = "The number formats are the cause. Each of these is enough to agree: "


@pytest.mark.parametrize(
    ("trials", "text"),
    [
        ([GOOD, BAD, BAD], "The program agrees with float32 on the CPU."),
        ([BAD, GOOD, BAD], COMPILER),
        ([BAD, GOOD, None], COMPILER),
        ([None, BAD, None, GOOD, GOOD], f"{FORMATS}trial 3."),
        ([BAD, GOOD, GOOD, BAD, GOOD], f"{FORMATS}trial 1; trial 2."),
        ([BAD, BAD, GOOD], f"{FORMATS}trial 2."),
    ],
)
def test_verdicts(trials: list[Error | None], text: str) -> None:
    named = [Trial(f"trial {number}", error) for number, error in enumerate(trials)]
    assert bisect.verdict(named, 0.99) == text


def test_trials_of_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[Any, CompileOptions]] = []

    def ran(module: Any, inputs: Any, options: CompileOptions, **_: Any) -> list[Any]:
        tried.append((module, options))
        return []

    monkeypatch.setattr(bisect, "on_card", ran)
    monkeypatch.setattr(bisect, "widened", lambda module: f"wide {module}")

    def changes(**options: Any) -> dict[str, tuple[Any, dict[str, Any]]]:
        tried.clear()
        own = CompileOptions(**options)
        trials = Bisection("m", [], [], own).by_format()
        plain = own.as_dict()
        return {
            trial.label: (module, {name: value for name, value in used.as_dict().items() if value != plain[name]})
            for trial, (module, used) in zip(trials, tried, strict=True)
        }

    assert changes() == {
        "as it is": ("m", {}),
        "weights in bfp8": ("m", {"experimental_weight_dtype": "bfp_bf8"}),
        "accumulation in 16 bits": ("m", {"fp32_dest_acc_en": False}),
        "fidelity lofi": ("m", {"math_fidelity": "lofi"}),
        "exact arithmetic, types as given": ("m", {"numerics": "exact"}),
        "float32 throughout, the chip's arithmetic": ("wide m", {}),
        "float32 throughout, exact arithmetic": ("wide m", {"numerics": "exact"}),
    }
    other = changes(
        experimental_weight_dtype="bfp_bf4", fp32_dest_acc_en=False, math_fidelity="lofi", optimization_level=1
    )
    plain = {"experimental_weight_dtype": ""}
    assert other == {
        "as it is": ("m", {}),
        "weights as given": ("m", plain),
        "accumulation in 32 bits": ("m", {"fp32_dest_acc_en": True}),
        "fidelity hifi4": ("m", {"math_fidelity": "hifi4"}),
        "exact arithmetic, types as given": ("m", plain | {"numerics": "exact"}),
        "float32 throughout, the chip's arithmetic": ("wide m", plain),
        "float32 throughout, exact arithmetic": ("wide m", plain | {"numerics": "exact"}),
    }
    assert "fidelity hifi4" in changes(optimization_level=1)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({0: 0.01, 6: 0.5, 1: 0.01, 2: 0.01, 3: 0.4, 4: 0.5, 5: 0.5}, (3, 3)),
        ({0: 0.01, 6: 0.5, 1: 0.4, 2: 0.4, 3: 0.4, 4: 0.5, 5: 0.5}, (1, 1)),
        ({0: 0.01, 6: 0.5, 1: 0.01, 2: 0.01, 3: 0.01, 4: 0.01, 5: 0.01}, (6, 6)),
        ({0: 0.01, 6: 0.5, 1: 0.01, 2: 0.01, 3: None, 4: None, 5: 0.5}, (3, 5)),  # compiles with none between
        ({0: 0.25, 6: 0.5}, None),  # twice the error is no more than that
        ({0: None, 6: 0.5}, None),
        ({0: 0.1, 6: None}, None),
        ({0: 0.0, 6: 0.5, 1: 1e-7, 2: 0.01, 3: 0.01, 4: 0.01, 5: 0.01}, (2, 2)),
    ],
)
def test_the_first_change_that_raises_the_error(
    errors: dict[int, float | None], expected: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ran(*_: Any, changes: Any, **__: Any) -> Error:
        if changes.limit is None:
            changes.applied += [cast("Any", f"change {number}") for number in range(1, 7)]
        error = errors[6 if changes.limit is None else changes.limit]
        if error is None:
            raise CompileError("it does not compile")
        return Error(relative=error)

    monkeypatch.setattr(bisect, "on_card", ran)
    monkeypatch.setattr(bisect, "Error", SimpleNamespace(of=lambda error, golden: error))
    culprit = Bisection(None, [], [], CompileOptions()).first_change()
    if expected is None:
        assert culprit is None
        return
    assert culprit is not None
    first, last = expected
    assert culprit.changes == tuple(f"change {number}" for number in range(first, last + 1))
    assert (culprit.position, culprit.total) == (last, 6)
    assert (culprit.before.relative, culprit.after.relative) == (errors[first - 1], errors[last])


def test_the_text_about_a_bisection(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    source = SimpleNamespace(module_returning=lambda values: ("m", []), returned=[], arguments=[])
    subject = cast("Any", SimpleNamespace(source=source, inputs=[], name="model"))
    culprit: Culprit | None = None
    trials = [Trial("as it is", BAD), Trial("without a", None, "no [room]")]
    for name in ("by_fusion", "by_format"):
        monkeypatch.setattr(Bisection, name, lambda *_: trials)
    monkeypatch.setattr(Bisection, "first_change", lambda *_: culprit)
    monkeypatch.setattr(
        Bisection, "by_weight", lambda *_: [Trial("w [0]", GOOD), Trial("x", None, "y"), Trial("z", BAD)]
    )

    def text(how: str) -> list[str]:
        tool.show_bisection(subject, CompileOptions(), how, None, tool.View(shown=2))
        return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    table = [
        "trial PCC relative error largest difference",
        "as it is 0.50000 7.50e-01 2",
        "without a no [room]",
    ]
    fusion = text("fusion")
    assert fusion == ["model by fusion", *table, "No rewrite of these stages raises the error."]
    culprit = Culprit(cast("Any", ("a [x]", "b")), Error(relative=0.001), Error(relative=0.25), 3, 7)
    assert text("fusion")[-1] == (
        "The error comes with change 3 of 7, a [x]; or b: relative error 1.00e-03 before it, 2.50e-01 with it."
    )
    assert text("format") == [
        "model by format",
        *table,
        COMPILER,
        "w [0]: PCC 0.99990, relative error 1.00e-02, largest difference 0.5",
        "x: y",
    ]


Shown = Callable[..., str]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shown:
    """Returns a function that returns what the command prints about a comparison."""

    def shown(comparison: Comparison, count: int, as_json: bool = False) -> str:
        monkeypatch.setattr(tool, "run_script", lambda *_, required: ComparedScript(comparison, [], ""))
        done = tool.compare_script(Path("folder/model"), (), tool.View(shown=count, as_json=as_json))
        assert done.calls is comparison
        return capsys.readouterr().out

    return shown


ROWS = [
    row(0, GOOD, location="/a/b/model.py:3"),
    row(1, Error(0.98, 0.2, 1.0), BAD),
    row(2, BAD, BAD),
    row(3, None, None, "no [room]", "x.py:1"),
    row(4, Error(1.0, 0.001, 0.0)),
]


def test_the_table_of_a_comparison(shown: Shown) -> None:
    comparison = Comparison(ROWS, Error(0.9, 0.25, 3.14159), 0.99)
    lines = [line.split() for line in shown(comparison, 1).splitlines()]
    assert " ".join(lines[0]) == "model: the parts of 5 with the largest errors"
    assert " ".join(lines[1]) == "# part result alone: PCC error so far: PCC error source"
    # A part that fails has the largest error; the first and the worst part are shown besides.
    assert lines[2:5] == [
        ["1", "op[1]", "2x3xbf16", "0.98000", "2.00e-01", "0.50000", "7.50e-01"],
        ["2", "op[2]", "2x3xbf16", "0.50000", "7.50e-01", "0.50000", "7.50e-01"],
        ["3", "op[3]", "2x3xbf16", "fails", "x.py:1"],
    ]
    assert [" ".join(line) for line in lines[5:]] == [
        "Results of the program: PCC 0.90000, relative error 2.50e-01, largest difference 3.14.",
        "First below 0.99: #1 op[1] to 2x3xbf16",
        "Worst by itself: #2 op[2] to 2x3xbf16",
    ]
    text = shown(Comparison([ROWS[0], ROWS[4]], GOOD, 0.99, in_float32=GOOD), 5)
    assert "b/model.py:3" in text
    assert "/a/b/" not in text.splitlines()[2]
    assert (
        "With each instruction in float32: PCC 0.99990, relative error 1.00e-02, largest difference 0.5. The compiler "
        "causes this part of the error."
    ) in text
    assert "No part is below 0.99." in text
    assert "Worst by itself: #0 op[0] to 2x3xbf16 at /a/b/model.py:3" in text
    text = shown(Comparison([ROWS[3]], None, 0.99, "why [x]"), 5)
    assert "The whole program fails: why [x]" in text
    assert "First below 0.99: #3 op[3] to 2x3xbf16 at x.py:1: no [room]" in text
    assert "Worst by itself" not in text
    assert "Results of the program: none." in shown(Comparison([], None, 0.99), 5)


def test_a_comparison_as_json(shown: Shown) -> None:
    comparison = Comparison(ROWS[2:4], BAD, 0.99, "why", GOOD)
    bad, good = ({"pcc": e.pcc, "relative": e.relative, "absolute": e.absolute} for e in (BAD, GOOD))
    first = {
        **{"index": 2, "part": "op[2]", "made": "2x3xbf16", "source": "", "alone": bad, "running": bad, "failure": ""},
    }
    failed = {
        **{"index": 3, "part": "op[3]", "made": "2x3xbf16", "source": "x.py:1", "alone": None, "running": None},
        "failure": "no [room]",
    }
    assert json.loads(shown(comparison, 1, as_json=True)) == {
        "interrupted": False,
        **{"program": "model", "passed": False, "results": bad, "in_float32": good, "failure": "why"},
        **{"first": first, "worst": first, "parts": [first, failed]},
    }
    empty = json.loads(shown(Comparison([], None, 0.99), 1, as_json=True))
    assert (empty["results"], empty["first"], empty["worst"], empty["parts"]) == (None, None, None, [])


def test_ranges_and_programs_by_index() -> None:
    assert tool.span_of("12") == (12, 12)
    assert tool.span_of("12:20") == (12, 20)
    for text in ("", "a", "1:b", ":3", "1:2:3", "3:"):
        with pytest.raises(OptionError) as raised:
            tool.span_of(text)
        assert str(raised.value) == f"--range got {text!r}; expected parts such as 12 or 12:20."
    subjects = cast("Any", ["a", "b"])
    assert (tool.selected(subjects, None), tool.selected(subjects, 0), tool.selected(subjects, 1)) == (
        ["a", "b"],
        ["a"],
        ["b"],
    )
    for index in (-1, 2):
        with pytest.raises(OptionError, match=rf"^--program got {index}; the model has 2 programs, counted from 0\.$"):
            tool.selected(subjects, index)
    with pytest.raises(OptionError, match=r"^model has no part to write\.$"):
        tool.reproduce(cast("Any", SimpleNamespace(name="model")), Comparison([], GOOD, 0.9), Path(), None, "op", {})


def config(**metrics: Any) -> ComparisonConfig:
    return ComparisonConfig(**({"pcc": PccConfig(enabled=False)} | metrics), assert_on_failure=False)


@pytest.mark.parametrize(
    ("metric", "passes", "message"),
    [
        ({"atol": AtolConfig(True, 0.5)}, True, ""),
        (
            {"atol": AtolConfig(True, 0.49)},
            False,
            "Atol comparison failed. Calculated: atol=0.5. Required: atol=0.49.",
        ),
        ({"equal": EqualConfig(True)}, False, "Equal comparison failed."),
        ({"allclose": AllcloseConfig(True, 0.0, 0.5)}, True, ""),
        ({"allclose": AllcloseConfig(True, 0.25, 0.0)}, True, ""),
        (
            {"allclose": AllcloseConfig(True, 0.24, 0.0)},
            False,
            "Allclose comparison failed. Calculated: atol=0.5. Required: atol=0.0, rtol=0.24.",
        ),
        ({"rel_l2": RelL2Config(True, 0.1)}, True, ""),
        (
            {"rel_l2": RelL2Config(True, 0.09)},
            False,
            "RelL2 comparison failed. Calculated: rel_l2=0.1. Required: rel_l2<=0.09.",
        ),
    ],
)
def test_each_metric_by_itself(metric: dict[str, Any], passes: bool, message: str) -> None:
    result = compare([3.0, 0.0, 2.5, math.sqrt(12.0)], [3.0, 0.0, 2.0, math.sqrt(12.0)], config(**metric))
    array = compare(
        np.array([3.0, 0.0, 2.5, math.sqrt(12.0)]), np.array([3.0, 0.0, 2.0, math.sqrt(12.0)]), config(**metric)
    )
    assert array.passed is passes
    assert array.error_message == (message if message else None)
    assert result.atol == 0.5


def test_differences_of_infinities_and_of_nothing() -> None:
    inf, nan = math.inf, math.nan
    assert largest_difference(np.array([inf, 1.0]), np.array([inf, 3.0])) == 2.0
    assert largest_difference(np.array([inf]), np.array([-inf])) == inf
    assert math.isnan(largest_difference(np.array([nan, 1.0]), np.array([1.0, 9.0])))
    assert largest_difference(np.zeros(0), np.zeros(0)) == 0.0
    assert relative_error(np.array([inf, 5.0]), np.array([inf, 4.0])) == 0.25
    assert relative_error(np.zeros(2), np.zeros(2)) == 0.0
    assert relative_error(np.ones(2), np.zeros(2)) == inf


def test_leaves_of_trees() -> None:
    cache = SimpleNamespace(layers=[SimpleNamespace(keys=1.0, values=2.0)], get_seq_length=int)
    tree = {"a": (1, [True]), "b": PccConfig(required_pcc=0.5), "c": cache, "e": None, "f": b"x", "g": "y"}
    assert {path: value.item() for path, value in leaves(tree)} == {
        "['a'][0]": 1.0,
        "['a'][1][0]": 1.0,
        "['b'].enabled": 1.0,
        "['b'].required_pcc": 0.5,
        "['b'].allclose.enabled": 0.0,
        "['b'].allclose.rtol": 0.01,
        "['b'].allclose.atol": 0.01,
        "['c'].layers[0][0]": 1.0,
        "['c'].layers[0][1]": 2.0,
    }
    for ignored in (["a"], [b"a"], [None]):
        assert list(leaves(np.array(ignored))) == []
    with pytest.raises(NotComparableError, match="of type type"):
        list(leaves(PccConfig))
    ((path, value),) = leaves(torch.tensor([1 + 2j]).conj())
    assert (path, value.dtype, value[0]) == ("", np.complex128, 1 - 2j)
    assert next(leaves(np.array([1, 2], np.int8)))[1].dtype == np.float64
