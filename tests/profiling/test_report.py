"""Pages about profiles: their contents, their errors, and how they look in a browser."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.profiling.conftest import INFER
from tt_xla.errors import EmptyRecordingError, OptionError
from tt_xla.profiling.profile import profile
from tt_xla.profiling.reading import newest_report, read_table
from tt_xla.profiling.report import write_report

Script = Callable[[str], str]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture
def table(script: Script, tmp_path: Path) -> Path:
    done = profile(script(INFER), [], tmp_path / "out")
    assert done.csv is not None
    return done.csv


def test_a_page_has_every_section_and_loads_no_other_file(table: Path, tmp_path: Path) -> None:
    assert newest_report(tmp_path / "out") == table
    page = tmp_path / "page.html"
    write_report(page, read_table(table, "call_2", "call_3"))
    text = page.read_text()
    for title in ("Timeline", "Where device time goes", "Roofline", "Memory over time", "Ops"):
        assert f"<h2>{title}</h2>" in text
    assert "<h1>script.py on n150</h1>" in text
    assert ", 3 ops, wormhole_b0, ops_perf_results" in text
    assert "DRAM bytes: at most" in text
    assert "src=" not in text
    assert "@import" not in text


def test_ops_have_their_bound_and_their_distance_to_the_roofline(table: Path, tmp_path: Path) -> None:
    """The first product has 32 x 64 x 32 elements with padding, 16 x 64 x 32 without; its bytes limit it."""
    rows = read_table(table, "call_2", "call_3").rows
    moved = 2 * (16 * 64 + 64 * 32 + 32 + 16 * 32)
    assert rows[0].bytes_us == pytest.approx(moved / 288e9 * 1e6, abs=1e-3)
    assert rows[0].compute_us == pytest.approx(2 * 16 * 64 * 32 / 65.536e12 * 1e6, abs=1e-3)
    assert rows[0].roofline_us == rows[0].bytes_us
    assert {row.bound for row in rows} == {"dispatch"}
    write_report(tmp_path / "page.html", read_table(table, "call_2", "call_3"))
    page = (tmp_path / "page.html").read_text()
    for title in ("bound", "roofline us", "reached %"):
        assert f">{title}</th>" in page
    reached = 100 * rows[0].roofline_us / rows[0].device_us
    assert f"\nroofline {rows[0].roofline_us:.2f} us, {reached:.1f} % reached, bound by dispatch" in page
    assert "<td>dispatch</td>" in page
    assert "roofline of all ops" in page


def test_a_cards_file_without_a_performance_model_has_no_roofline(table: Path, tmp_path: Path) -> None:
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    path = tmp_path / "card.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"PM IDEAL [ns]": "1", "PM COMPUTE [ns]": "1", "PM BANDWIDTH [ns]": "1"})
    assert {row.roofline_us for row in read_table(path).rows} == {0.0}
    write_report(tmp_path / "page.html", read_table(path))
    assert "% reached, bound" not in (tmp_path / "page.html").read_text()


def test_ops_link_to_the_users_lines(script: Script, tmp_path: Path) -> None:
    text = "import torch\nvalue = torch.ones(64, 64).to('tt')\nfor _ in range(2):\n    print((value @ value).cpu())\n"
    done = profile(script(text), [], tmp_path / "out")
    assert done.csv is not None
    write_report(tmp_path / "page.html", read_table(done.csv))
    page = (tmp_path / "page.html").read_text()
    assert '<a href="#s0-4">script.py:4</a>' in page
    assert '<span id="s0-4" class=hot>' in page
    for explorer, link in (
        ("model.html", "model.html#"),
        ("http://127.0.0.1:80/explore", "http://127.0.0.1:80/explore?"),
    ):
        write_report(tmp_path / "page.html", read_table(done.csv), explorer=explorer)
        place = rf'<a href="{re.escape(link)}source=\S*script\.py%3A4">node</a>'
        assert re.search(place, (tmp_path / "page.html").read_text())


def test_optional_columns_may_be_missing_and_required_ones_may_not(table: Path, tmp_path: Path) -> None:
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    path = tmp_path / "cut.csv"

    def write(columns: list[str]) -> None:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)

    write(["OP CODE", "OP TYPE", "DEVICE KERNEL DURATION [ns]"])  # the required columns
    assert len(read_table(path).rows) == len(read_table(table).rows)
    write_report(tmp_path / "page.html", read_table(path))
    write(["OP CODE", "MATH FIDELITY"])
    with pytest.raises(OptionError, match=r"lacks the columns OP TYPE, DEVICE KERNEL DURATION \[ns\]"):
        read_table(path)


def test_unknown_signposts_are_refused(table: Path) -> None:
    with pytest.raises(OptionError, match=r"has no signpost 'step_9'.*Its signposts are: call_0, call_1"):
        read_table(table, "step_9")
    with pytest.raises(OptionError, match="has no signpost 'call_0' after 'end'"):
        read_table(table, "end", "call_0")
    with pytest.raises(EmptyRecordingError, match="has no op between signposts 'end'"):
        read_table(table, "end")


def test_an_empty_table_and_an_empty_folder_are_refused(script: Script, tmp_path: Path) -> None:
    done = profile(script("pass"), [], tmp_path / "out")
    assert done.csv is not None
    with pytest.raises(EmptyRecordingError, match="has no op, because nothing ran on the device"):
        read_table(done.csv)
    (tmp_path / "none").mkdir()
    with pytest.raises(OptionError, match="There is no ops_perf_results"):
        newest_report(tmp_path / "none")


def test_a_browser_draws_the_page(table: Path, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)}")
    numpy = pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    page, shot = tmp_path / "page.html", tmp_path / "shot.png"
    write_report(page, read_table(table))
    flags = ["--headless", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,2200", f"--screenshot={shot}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    subprocess.run([browser, *flags, page.as_uri()], capture_output=True, timeout=120, check=True)
    pixels = numpy.asarray(image.open(shot).convert("RGB")).astype(int)
    blue = (abs(pixels - [0x2F, 0x7E, 0xD8]).sum(axis=2) < 12).sum(axis=1)
    assert (blue > 500).any(), "no bar of device time spans the page"
    rows = (blue > 0).nonzero()[0]
    assert rows.max() - rows.min() > 600, "the charts are not below each other"
