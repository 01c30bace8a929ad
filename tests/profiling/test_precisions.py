"""Settings, measures and times of the search of precisions, worked out by hand."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tt_xla.errors import OptionError
from tt_xla.ir.program import LOAD_CACHED, Cost, FunctionKind, Instruction, Role
from tt_xla.options import CompileOptions
from tt_xla.precision import LayerPrecision, Precision
from tt_xla.profiling.precision.layer_times import layer_times
from tt_xla.profiling.precision.measures import correlation, measure_of, top1
from tt_xla.profiling.precision.search import TRIALS_NAME, LogRecord, PrecisionSearch
from tt_xla.profiling.precision.settings import Candidate, Setting, precision_of, settings, upgrades
from tt_xla.profiling.tune.trial_log import TrialLog

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 8)).astype(np.float32)


def test_every_setting_the_most_precise_first() -> None:
    every = settings(("bf16", "bfp_bf4"), coarse=True)
    assert [setting.label for setting in every[:5]] == [
        "bf16-hifi4-32",
        "bf16-hifi4-32-coarse",
        "bf16-hifi4-16",
        "bf16-hifi4-16-coarse",
        "bf16-hifi2-32",
    ]
    assert [setting.label for setting in settings(("",), coarse=False)] == [
        f"{fidelity}-{bits}" for fidelity in ("hifi4", "hifi2", "lofi") for bits in (32, 16)
    ]
    assert len(every) == 2 * 3 * 2 * 2


def test_the_file_of_an_assignment() -> None:
    narrow, other, rest = (
        Setting("bfp_bf4", "lofi", False, True),
        Setting("", "hifi2", True),
        Setting("", "hifi4", False),
    )
    assert precision_of((narrow, other, rest), [["a", "b"], ["c"]]) == Precision(
        options={"math_fidelity": "hifi4", "fp32_dest_acc_en": False},
        layers={
            **dict.fromkeys(
                ("a", "b"),
                LayerPrecision(
                    weights="bfp_bf4", math_fidelity="lofi", fp32_dest_acc_en=False, fast_and_approximate_mode=True
                ),
            ),
            "c": LayerPrecision(math_fidelity="hifi2", fp32_dest_acc_en=True),
        },
    )
    assert precision_of((rest,), [], {"a": 1}).made_from == {"a": 1}


def names(*steps: tuple[float, float]) -> list[Candidate]:
    return [Candidate(Setting(str(number), "", False), us, error) for number, (us, error) in enumerate(steps)]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([names((10, 0))], []),
        ([names((10, 0), (10, -1))], []),  # no faster
        ([names((10, 0), (8, 0.1), (5, 0.2))], ["0:2"]),  # half way to the last one costs more than its share
        ([names((10, 0), (6, 0.1), (5, 0.2))], ["0:1", "0:2"]),
        ([names((10, 0), (8, 0), (6, 0))], ["0:2"]),  # nothing is lost: the fastest at once
        ([names((10, 0), (9, 0.1)), names((10, 0), (8, 0.1))], ["1:1", "0:1"]),
        ([names((10, 0), (9, 0.1)), names((10, 0), (9, 0.1))], ["0:1", "1:1"]),
        ([names((10, 0), (6, 0.1), (5, 0.2)), names((10, 0), (8, 0.1))], ["0:1", "1:1", "0:2"]),
    ],
)
def test_steps_by_gain_for_an_error(groups: Any, expected: list[str]) -> None:
    assert [f"{group}:{setting.weights}" for group, setting in upgrades(groups)] == expected


def test_correlation_is_of_the_worst_large_float() -> None:
    one, numbers = np.array([2.0], np.float32), np.arange(3)
    assert correlation([X, -X, numbers], [X, X, numbers[::-1]]) == pytest.approx(-1)
    assert correlation([one, X], [2 * one, X]) == pytest.approx(1)
    assert correlation([one], [2 * one]) == 0
    assert math.isnan(correlation([numbers], [numbers]))
    assert correlation([X + 0.001], [X]) < 1  # no tolerance


def test_top1_is_of_the_first_result_with_classes() -> None:
    logits = np.array([[1.0, 2.0, 0.0], [3.0, 0.0, 1.0]], np.float32)
    other = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0]], np.float32)
    flat, single, whole = X[0], X[:, :1], np.arange(6).reshape(2, 3)
    assert top1([-flat, -single, -whole, other, -logits], [flat, single, whole, logits, logits]) == 0.5
    assert top1([logits], [logits]) == 1.0
    with pytest.raises(OptionError) as raised:
        top1([flat], [flat])
    assert str(raised.value) == (
        "The program has no result with classes along its last axis, of which top1 could compare the largest. Measure "
        "by --measure pcc, or by a function of yours, --measure module:function."
    )


def test_measures_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "measures_of_mine.py").write_text(
        "value = 3\ndef count(results, expected): return len(results) + len(expected)\n"
        "def text(results, expected): return 'x'\n"
    )
    assert (measure_of("pcc", tmp_path), measure_of("top1", tmp_path)) == (correlation, top1)
    measured = measure_of("measures_of_mine:count", tmp_path)((1, 2), (3,))
    assert (measured, type(measured)) == (3.0, float)
    for name, message in {
        "mae": "--measure was given 'mae'; it takes pcc, top1 or module:function.",
        ":f": "--measure was given ':f'; it takes pcc, top1 or module:function.",
        "m:": "--measure was given 'm:'; it takes pcc, top1 or module:function.",
        "no_such_measures:f": "--measure 'no_such_measures:f': No module named 'no_such_measures'. Put "
        "no_such_measures.py into the current folder.",
        "measures_of_mine:f": "--measure 'measures_of_mine:f': module 'measures_of_mine' has no function 'f'.",
        "measures_of_mine:value": "--measure 'measures_of_mine:value': module 'measures_of_mine' has no function "
        "'value'.",
    }.items():
        with pytest.raises(OptionError) as raised:
            measure_of(name, tmp_path)
        assert str(raised.value) == message
    with pytest.raises(
        OptionError, match=r"^--measure 'measures_of_mine:text' returned 'x'; it must return a number\.$"
    ):
        measure_of("measures_of_mine:text", tmp_path)([], [])


def step(op: str, result: int, us: float = 0.0, **operands: Any) -> Instruction:
    return Instruction(op if "." in op else f"ttnn.{op}", operands, (result,), {}, "", Cost(total_us=us))


def test_times_of_layers() -> None:
    roles = [Role.INPUT, Role.PARAMETER, Role.PARAMETER, Role.CONSTANT, Role.PARAMETER]
    arguments = [SimpleNamespace(name=name, role=role) for name, role in zip("xqkcv", roles, strict=True)]
    body = [
        step("permute", 10, 50.0, a=1),
        step("matmul", 11, 1.0, a=0, b=10),
        step("concat", 12, 50.0, tensors=(1, 2)),  # two operands: neither weight's own
        step("matmul", 13, 2.0, a=0, b=12),
        step(LOAD_CACHED, 14, 50.0, tensors=(1, 2)),
        step("linear", 15, 4.0, a=0, b=14),
        step("conv2d", 16, 8.0, input=0, weight=3),
        step("conv2d", 17, 16.0, input=3, weight=0),
        step("linear", 18, 32.0, a=0, b=1),
        step("matmul", 19, 64.0, a=1, b=99),  # defined nowhere
        step("add", 20, 128.0, a=0, b=1),
        step("matmul", 21, 256.0, a=4, b=11),
    ]
    evaluated = SimpleNamespace(kind=FunctionKind.CONST_EVAL, arguments=(0, 1, 2, 3, 4), body=[])
    forward = SimpleNamespace(kind=FunctionKind.FORWARD, arguments=(0, 1, 2, 3, 4), body=body)
    for functions in ([forward, evaluated], [evaluated, forward]):
        program = cast("Any", SimpleNamespace(functions=functions, arguments=arguments))
        assert layer_times(program) == {
            frozenset("q"): 33.0,
            frozenset("qk"): 4.0,
            frozenset("c"): 8.0,
        }
    only = cast("Any", SimpleNamespace(functions=[evaluated], arguments=arguments))
    assert layer_times(only) == {}


def test_compile_options_of_an_assignment(tmp_path: Path) -> None:
    own = {
        "enable_trace": True,
        "backend": "codegen_py",
        "export_path": "x",
        "enable_bfp8_conversion": True,
        "experimental_weight_dtype": "bfp_bf8",
        "experimental_weight_dtype_overrides": "a=bf16",
        "optimization_level": 2,
    }
    tried: list[CompileOptions] = []

    def compiled(options: CompileOptions) -> Any:
        tried.append(options)
        memory = SimpleNamespace(dram_peak_bytes=7)
        return SimpleNamespace(predicted_device_us=5.0, memory=memory)

    import torch

    subject = SimpleNamespace(
        options=own, compiled=compiled, results=lambda _: [torch.tensor(X).bfloat16()], expected=[torch.tensor(X)]
    )
    calls: list[tuple[int, str]] = []
    log = TrialLog(tmp_path / TRIALS_NAME, LogRecord, "program", ())
    search = PrecisionSearch(cast("Any", subject), lambda *_: 0.25, log, 0.9, progress=lambda *call: calls.append(call))
    search.groups = [["a"]]
    trial = search.trial(())
    assert (trial.us, trial.accuracy, trial.dram_bytes, trial.error) == (5.0, 0.25, 7, "")
    assert 0.999 < trial.pcc < 1
    assert (tried[0].enable_trace, tried[0].backend, tried[0].export_path) == (False, "default", "")
    assert tried[0].experimental_weight_dtype == "bfp_bf8"
    narrow, rest = Setting("bfp_bf4", "lofi", True), Setting("", "hifi2", False, True)
    search.trial((narrow, rest))
    options = tried[1]
    assert (options.optimization_level, options.math_fidelity, options.fp32_dest_acc_en) == (2, "hifi2", False)
    assert options.fast_and_approximate_mode
    assert (options.enable_bfp8_conversion, options.experimental_weight_dtype) == (False, "")
    assert options.experimental_weight_dtype_overrides == ""
    assert options.precision == precision_of((narrow, rest), [["a"]]).text()
    assert search.trial((narrow, rest)) is search.trials[narrow, rest]
    assert (len(tried), calls) == (2, [(0, "")] * 3)
