"""Files of the profiler and of benchmarks: tables of ops, logs, timelines and figures of recorded runs.

Times of the host are not measured: runs, kernel calls and signposts have times that are made by hand.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.golden import Goldens
from tests.reports.programs import EXAMPLES
from tests.reports.recordings import recording_of, short, trained
from tests.reports.texts import lines_of, rounded
from tt_xla.profiling import ops_csv
from tt_xla.profiling.bench import Bench, measure
from tt_xla.profiling.bench_files import CSV_NAME, HTML_NAME, JSON_NAME, summary, write_all
from tt_xla.profiling.chrome_trace import write_trace
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.profile import TRACE_NAME
from tt_xla.profiling.reading import read_table

pytestmark = pytest.mark.quick

NAMES = [*EXAMPLES, "traced"]


def cells_of(path: Path) -> Iterator[str]:
    """Yields the rows of a table as their cells, without those that an earlier row of the op has too.

    Hashes of kernels are replaced by their order.
    """
    before: dict[str, dict[str, str]] = {}
    hashes: dict[str, int] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            known = before.setdefault(row["OP CODE"] + row["ATTRIBUTES"], {})
            if row["PROGRAM HASH"]:
                row["PROGRAM HASH"] = str(hashes.setdefault(row["PROGRAM HASH"], len(hashes)))
            yield row["OP CODE"]
            yield from (f"  {key} = {value}" for key, value in row.items() if known.get(key, "") != value)
            known.update(row)


@pytest.mark.parametrize("name", NAMES)
def test_table_of_ops(name: str, goldens: Goldens, tmp_path: Path) -> None:
    path = tmp_path / "ops.csv"
    recording = short(recording_of(name))
    count = ops_csv.write_ops(path, recording.signposts, {0: kernels(recording)})
    goldens.check(f"profiles/ops_{name}", "ops", [f"{count} kernels", *cells_of(path)])


def test_columns_of_the_table_of_ops(goldens: Goldens) -> None:
    goldens.check("profiles/columns", "columns", ops_csv.columns(2, 1))


@pytest.mark.parametrize("name", NAMES)
def test_log_of_the_device(name: str, goldens: Goldens, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    recording = short(recording_of(name))
    ops_csv.write_device_log(path, {0: kernels(recording)})
    goldens.check(f"profiles/log_{name}", "log", path.read_text())


def events_of(path: Path) -> Iterable[str]:
    """Returns the lines of a timeline, one for each event."""
    timeline = json.loads(path.read_text())
    assert timeline["otherData"].pop("folder") == str(Path.cwd())
    head = lines_of({key: value for key, value in timeline.items() if key != "traceEvents"})
    return [*head, *(json.dumps(rounded(event), separators=(",", ":")) for event in timeline["traceEvents"])]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("synchronised", [True, False])
def test_timeline(name: str, synchronised: bool, goldens: Goldens, tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    recording = short(recording_of(name))
    write_trace(path, recording, kernels(recording), synchronised=synchronised)
    kind = "synchronised" if synchronised else "on the device's clock"
    goldens.check(f"profiles/timeline_{name}", kind, events_of(path))


@pytest.mark.parametrize("name", NAMES)
def test_figures_of_a_benchmark(name: str, goldens: Goldens, tmp_path: Path) -> None:
    recording = replace(recording_of(name), signposts=[])
    recording = trained(recording) if name == "training" else recording
    result: Bench = measure(recording)
    write_all(tmp_path, recording, result)
    figures = json.loads((tmp_path / JSON_NAME).read_text())
    marks = [f"{mark.name} at {mark.at}" for mark in recording.signposts]
    words = [f"{title}: {value}" for title, value in summary(result)]
    table = read_table(tmp_path / CSV_NAME, "step_steady_2_start", "step_steady_2_end")
    rows = [json.dumps(rounded(asdict(row))) for row in table.rows]
    goldens.check(f"profiles/bench_{name}", "figures", lines_of(figures))
    goldens.check(f"profiles/bench_{name}", "signposts", marks)
    goldens.check(f"profiles/bench_{name}", "summary", words)
    goldens.check(f"profiles/bench_{name}", "rows", rows)
    assert (tmp_path / TRACE_NAME).exists()


PAGES = ("training", "tensor_parallel")


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, goldens: Goldens, tmp_path: Path) -> None:
    """The elements of the page, without its style, its script and closing tags."""
    recording = replace(recording_of(name), signposts=[])
    write_all(tmp_path, recording, measure(recording))
    page = re.sub(r"<(style|script)[^>]*>.*?</\1>|</\w+>", "", (tmp_path / HTML_NAME).read_text(), flags=re.DOTALL)
    lines = re.sub(r"(?<=\S)<", "\n<", page).splitlines()
    goldens.check(f"profiles/page_{name}", "page", [line for line in lines if line])


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    kinds = {
        "ops": ["ops"],
        "log": ["log"],
        "timeline": ["synchronised", "on the device's clock"],
        "bench": ["figures", "signposts", "summary", "rows"],
    }
    files = {f"{kind}_{name}": texts for kind, texts in kinds.items() for name in NAMES}
    files |= {f"page_{name}": ["page"] for name in PAGES}
    goldens.has_only("profiles", files | {"columns": ["columns"]})
