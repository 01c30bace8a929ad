"""Tests of what compares results of drawn calls: processes that make calls, and distances between results."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance import ttnn_values
from conformance.ttnn_run_calls import array, tensor_on
from conformance.ttnn_values import Runs, compared, comparison, elements, with_special

RECORDED = np.load(Path(__file__).parents[1] / "data" / "calls.npz")
"""Calls and what TT-NN 0.81.1 gave for them on the simulator, from a folder that ``ttnn_values.py --keep`` filled.

``call{n}`` is a call. ``bits{n}`` holds the bits of its result in float32, or the upper 16 of them where the others are
zero. ``bits{n}_1`` holds the second result: the positions of a sort.
"""
ADDED = 'ttnn.add(ttnn_tensor((3, 40), "bfloat16", "tile", "dram"), ttnn_tensor((3, 40), "bfloat16", "tile", "dram"))'
TYPE = "[2] DataType.BFLOAT16 Layout.TILE DRAM"
STAND_IN = """
import json, os, pathlib, sys, time
for call in json.loads(pathlib.Path(sys.argv[1]).read_text()):
    if call == "end":
        os._exit(3)
    if call == "hang":
        time.sleep(60)
    with open(sys.argv[2], "a") as file:
        file.write(json.dumps({"call": call, "result": call, "words": ""}) + "\\n")
"""
"""A script that makes no calls, but records them; it ends or hangs if it is told to."""


@pytest.mark.nightly
def test_a_call_that_ends_the_process_or_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.py"
    script.write_text(STAND_IN)
    monkeypatch.setattr(ttnn_values, "SCRIPT", script)
    monkeypatch.setattr(ttnn_values, "SILENCE", 2.0)
    runs = Runs(tmp_path / "results", sys.executable, os.environ)
    assert len(list(runs.make(["one", "end", "refused", "hang", "two", "one"]))) == 6
    results = {call: record["result"] for call, record in runs.records().items()}
    assert results == {"one": "one", "end": "stopped", "refused": "refused", "hang": "stopped", "two": "two"}
    before = runs.records_file.read_text()
    list(runs.make(["two"]))
    assert runs.records_file.read_text() == before


def test_results_are_compared_by_their_elements(tmp_path: Path) -> None:
    runs = Runs(tmp_path, sys.executable, {**os.environ, "TTXLA_SYSTEM": "p150"})
    calls = [ADDED, ADDED.replace("add", "subtract"), with_special(ADDED), ADDED.replace("(3, 40)", "(4, 40)", 1)]
    list(runs.make(calls))
    records = [runs.records()[call] for call in calls]
    assert [each["result"] for each in records] == ["[3, 40] DataType.BFLOAT16 Layout.TILE DRAM"] * 3 + ["refused"]
    assert comparison(ADDED, records[0], records[0], runs, runs).kind == "same bits"
    assert comparison(ADDED, records[0], records[3], runs, runs).kind == "refused by TT-NN"
    assert comparison(ADDED, records[3], records[0], runs, runs).kind == "refused by ours alone"
    difference, special = (elements(runs, call)[0] for call in calls[1:3])
    assert (difference != 0).mean() > 0.9  # the operands of a call differ
    assert np.isnan(special).any()


@pytest.mark.parametrize(
    ("ours", "kind"),
    [
        ([1.0, -2.0], "same bits"),
        ([1.0, np.nan], "beyond 1 ULP"),
        ([1.0078125, -2.0], "within 1 ULP"),
        ([1.015625, -2.0], "beyond 1 ULP"),
    ],
)
def test_distances_are_of_the_result_type(ours: list[float], kind: str) -> None:
    real = np.array([1.0, -2.0], np.float32)
    found = compared(TYPE, [np.array(ours, np.float32)], [real])
    assert found.kind == kind
    assert bool(found.words) == (kind != "same bits")


def test_block_floats_are_counted_in_steps_of_their_block() -> None:
    real = np.array([[1.0, 0.0625, -0.5] + [0.0] * 15 + [0.25]], np.float32)
    step = 2.0**-6  # of the first sixteen elements, whose largest is 1
    dtype = "[1, 19] DataType.BFLOAT8_B Layout.TILE DRAM"
    other = real.copy()
    other[0, 1] += step
    assert "largest 1" in compared(dtype, [other], [real]).words
    other[0, 1] += step
    assert "largest 2" in compared(dtype, [other], [real]).words


def test_all_nans_are_one_value_and_signs_of_zeros_are_told() -> None:
    real = np.array([np.nan, 0.0], np.float32)
    other = np.array([np.uint32(0xFFC00001), np.uint32(0x80000000)]).astype(np.uint32).view(np.float32)
    assert compared(TYPE, [real], [real]).kind == "same bits"
    assert compared(TYPE, [other], [real]).kind == "same but for the sign of zeros"


@pytest.mark.parametrize("number", [name.removeprefix("call") for name in RECORDED.files if name.startswith("call")])
def test_recorded_calls_have_the_bits_of_the_simulator(
    number: str, ttnn: Any, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTXLA_NUMERICS", "bit_exact")
    call = str(RECORDED[f"call{number}"])
    result = eval(call, {"ttnn": ttnn, "device": device, "ttnn_tensor": tensor_on(device, call)})
    results = result if isinstance(result, list | tuple) else [result]
    recorded = [RECORDED[name] for name in (f"bits{number}", f"bits{number}_1") if name in RECORDED.files]
    for each, expected in zip(results, recorded, strict=False):  # convolutions give back their weights too
        found = array(each)
        if found.dtype == np.float32:
            found = found.view(np.uint32) >> (0 if expected.dtype == np.uint32 else 16)
        assert np.array_equal(found, expected)
