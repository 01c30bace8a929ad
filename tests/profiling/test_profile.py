"""Profiles of scripts: the recording, the files, and how tt-perf-report reads them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.measured import price, read, record
from tests.libraries import needs_perf_report
from tests.profiling.conftest import INFER, JAX, TRAIN
from tt_xla.errors import OptionError
from tt_xla.profiling.beside import step_of
from tt_xla.profiling.ops_csv import columns
from tt_xla.profiling.profile import TRACE_NAME, profile
from tt_xla.profiling.reading import read_table

Script = Callable[[str], str]


def rows_of(path: Path | None) -> list[dict[str, str]]:
    assert path is not None
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_inference_is_one_row_an_op_with_predicted_time_between_signposts(script: Script, tmp_path: Path) -> None:
    done = profile(script(INFER), [], tmp_path / "out")
    assert (done.folder.parent.name, done.error) == ("reports", "")
    rows = rows_of(done.csv)
    assert list(rows[0]) == columns(3, 1)
    codes = [row["OP CODE"] for row in rows if row["OP TYPE"] == "tt_dnn_device"]
    assert codes[-3:] == ["MatmulDeviceOperation", "UnaryDeviceOperation", "MatmulDeviceOperation"]
    assert [row["OP CODE"] for row in rows if row["OP TYPE"] == "signpost"] == [
        *(f"call_{number}" for number in range(4)),
        "end",
    ]
    last = [row for row in rows if row["OP TYPE"] == "tt_dnn_device"][-1]
    assert (last["MATH FIDELITY"], last["DEVICE ARCH"]) == ("HiFi4", "wormhole_b0")
    assert (last["INPUT_0_Y_PAD[LOGICAL]"], last["INPUT_0_X_PAD[LOGICAL]"]) == ("32[16]", "32[32]")
    assert (last["INPUT_1_Y_PAD[LOGICAL]"], last["INPUT_1_X_PAD[LOGICAL]"]) == ("32[32]", "32[10]")
    assert last["OUTPUT_0_MEMORY"] == "DEV_0_DRAM_INTERLEAVED"
    assert int(last["HOST END TS"]) > int(last["HOST START TS"])
    assert int(last["OP TO OP LATENCY [ns]"]) == 4800
    cycles = int(last["DEVICE FW END CYCLE"]) - int(last["DEVICE FW START CYCLE"])
    assert cycles == pytest.approx(int(last["DEVICE FW DURATION [ns]"]), abs=1)  # at 1 GHz


def test_the_cost_model_predicts_the_durations_of_the_file(script: Script, tmp_path: Path) -> None:
    done = profile(script(INFER), [], tmp_path)
    assert done.csv is not None
    result = record(*price(read(done.csv, "")))
    assert result["priced"] >= 8
    assert result["p90_abs_rel_error"] < 0.01


def test_replayed_ops_have_a_trace_id_and_the_shorter_gap_of_traces(script: Script, tmp_path: Path) -> None:
    rows = rows_of(profile(script(INFER), ["trace"], tmp_path).csv)
    replayed = [row for row in rows if row["METAL TRACE ID"]]
    assert sorted({row["METAL TRACE REPLAY SESSION ID"] for row in replayed}) == ["1", "2"]
    assert int(replayed[-1]["OP TO OP LATENCY [ns]"]) == 2050


def test_the_timeline_opens_in_perfetto(script: Script, tmp_path: Path) -> None:
    done = profile(script(INFER), [], tmp_path, functions=True)
    events = json.loads((done.folder / TRACE_NAME).read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in slices)
    names = {event["name"] for event in slices}
    assert {"script", "ttnn.linear", "MatmulDeviceOperation", "run main"} <= names
    assert {event["name"] for event in events if event["ph"] == "i"} >= {"call_0", "end"}
    assert any(event["ph"] == "C" and event["args"]["bytes"] > 0 for event in events)


def test_a_script_that_crashes_leaves_a_partial_report(script: Script, tmp_path: Path) -> None:
    done = profile(script(TRAIN), ["5", "crash"], tmp_path)
    assert done.error == "ValueError: no more data"
    assert "ValueError: no more data" in (done.folder / "PARTIAL.txt").read_text()
    assert [row["OP CODE"] for row in rows_of(done.csv) if row["OP TYPE"] == "signpost"][-1] == "step_2_end"
    assert profile(script(TRAIN), ["5", "crash"], tmp_path / "strict", keep_partial=False).csv is None


def test_a_script_that_uses_no_device_has_an_empty_table(script: Script, tmp_path: Path) -> None:
    done = profile(script("print('nothing')"), [], tmp_path)
    assert (done.ops, rows_of(done.csv)) == (0, [])


def test_a_script_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"The script 'nowhere\.py' does not exist"):
        profile("nowhere.py", [], tmp_path)


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=os.environ | environment, check=False
    )


@pytest.mark.nightly
def test_tracy_takes_the_flags_of_the_procedure_for_jax(script: Script, tmp_path: Path) -> None:
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    flags = ("-p", "-r", "--sync-host-device", "--tracy-tools-folder", "/none", "-o", str(tmp_path / "out"))
    done = run("-m", "tracy", *flags, script(JAX), JAX_PLATFORMS="tt")
    assert done.returncode == 1
    assert "the script ended early (SystemExit: ran to its end); the partial report is in" in done.stderr
    (table,) = (tmp_path / "out").rglob("reports/*/ops_perf_results_*.csv")
    codes = [row["OP CODE"] for row in rows_of(table)]
    assert codes.count("MatmulDeviceOperation") == 80
    assert (table.parent / "profile_log_device.csv").read_text().startswith("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000")
    step = step_of(read_table(table), windowed=False)
    assert step.name.startswith("last run of program ")
    assert 0 < step.device_us < 1e3
    products = [row for row in read_table(table).rows if row.utilisation is not None]
    assert {row.bound for row in products} == {"dispatch"}
    assert min(row.roofline_us for row in products) > 0


@needs_perf_report
def test_tt_perf_report_reads_one_step(script: Script, tmp_path: Path) -> None:
    done = profile(script(TRAIN), ["4"], tmp_path)
    flags = ["--start-signpost", "step_3_start", "--end-signpost", "step_3_end", "--no-color"]
    main = "from tt_perf_report.perf_report import main; main()"
    shown = run("-c", main, str(done.csv), *flags)
    assert shown.returncode == 0, shown.stderr
    assert "Architecture: wormhole, Worker cores: 64" in shown.stdout
    assert "MatmulDeviceOperation 32 x 64 x 32" in shown.stdout
    assert "Unclassified" not in shown.stdout
    table = tmp_path / "report.csv"
    assert run("-c", main, str(done.csv), *flags, "--no-advice", "--csv", str(table)).returncode == 0
    (stacked,) = tmp_path.glob("report_stacked.csv")
    rows = rows_of(stacked)
    ours = [row for row in rows_of(done.csv) if row["OP TYPE"] == "tt_dnn_device"]
    total = sum(float(row[next(name for name in row if name.startswith("Device Time Sum"))]) for row in rows)
    assert 0 < total < sum(int(row["DEVICE KERNEL DURATION [ns]"]) for row in ours) / 1e3
    assert (tmp_path / "report_stacked.png").stat().st_size > 1000
