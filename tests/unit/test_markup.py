"""Pages keep the shape that they have with plain names, whatever a model's names, files and errors are."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tt_xla.markup import escape, page_json, script_text
from tt_xla.profiling.precision.report import write_results
from tt_xla.profiling.precision.search import PrecisionSearch, Trial
from tt_xla.profiling.precision.settings import Setting
from tt_xla.profiling.reading import Row, Table
from tt_xla.profiling.report import write_report
from tt_xla.profiling.tune.choice import Choice, Outcome
from tt_xla.profiling.tune.page import write_page
from tt_xla.testing.models import summary
from tt_xla.testing.models.records import Record
from tt_xla.tools.explorer.export import export
from tt_xla.tools.explorer.session import Session

HOSTILE = "</SCRIPT><script>alert(1)</script><img src=x onerror=alert(1)>\" ' onclick=alert(1) <!--"
"""A name that ends scripts, attributes and elements where it is not escaped."""


class Shape(HTMLParser):
    """Collects the elements of a page with the names of their attributes, and the text of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))


def exported(name: str, folder: Path) -> str:
    module = f"""func.func @main(%x: tensor<32x32xf32> {{ttir.name = {json.dumps(name)}}}) -> tensor<32x32xf32> {{
      %0 = stablehlo.tanh %x : tensor<32x32xf32> loc({json.dumps(name.replace("/", "") + ".py")}:3:4)
      return %0 : tensor<32x32xf32>
    }}"""
    path = folder / f"{name.replace('/', '')[:60]}.mlir"
    path.write_text(module)
    session = Session([], "n150")
    try:
        session.open(str(path))
        return export(session, 0)
    finally:
        session.close()


def reported(name: str, folder: Path) -> str:
    row = Row(
        number=1,
        code=name,
        category="Compute",
        start_us=0.0,
        device_us=2.0,
        gap_us=1.0,
        cores=8,
        fidelity=name,
        shapes=name,
        flops=1e6,
        dram_bytes=1e3,
        utilisation=0.5,
        source=f"{name}.py:3",
        bound=name,
        compute_us=1.0,
        bytes_us=1.0,
    )
    timeline = {"otherData": {"error": name, "title": name}, "traceEvents": []}
    table = Table(folder / "ops.csv", "wormhole_b0", [row], [], timeline)
    write_report(folder / "page.html", table, summary=[(name, name)], notes=[name], explorer=f"http://{name}")
    return (folder / "page.html").read_text()


def tuned(name: str, folder: Path) -> str:
    fast = Outcome(Choice(2, True, name, name, 16, name), 4.0, 3.0, 2_500_000, 0.98, {name: 0.5}, ((name, 3),), name)
    outcomes = [Outcome(Choice(reference=True), 8.0, pcc=1.0, inexact=name), fast, Outcome(Choice(), error=name)]
    write_page(folder / "tune.html", name, outcomes, fast, name)
    return (folder / "tune.html").read_text()


def searched(name: str, folder: Path) -> str:
    setting = Setting("bf16", "hifi4", True)
    subject = SimpleNamespace(layers_elsewhere=[name], has_several_programs=True)
    trials = [Trial((), 30.0, 0.9, 0.95), Trial((setting, setting), 10.0, 0.99, 0.99), Trial((setting,), error=name)]
    search = PrecisionSearch(cast("Any", subject), lambda *_: 0.0, cast("Any", None), 0.975)
    search.groups, search.trials = [[name]], {trial.assignment: trial for trial in trials}
    write_results(folder, search, trials[1], {"program": name, "measure": name})
    return next(folder.glob("*.html")).read_text()


def summarised(name: str, folder: Path) -> str:
    before = {name: Record(name, "passed", pcc=0.9)}
    now = {name: Record(name, "failed", name, reason=name, error=f"{name}\n{name}", pcc=math.nan)}
    return summary.write(folder, now, before).read_text()


@pytest.mark.parametrize("written", [exported, reported, tuned, searched, summarised])
def test_no_name_adds_an_element_or_an_attribute(written: Callable[[str, Path], str], tmp_path: Path):
    pages: list[str] = []
    for name in ("plain", HOSTILE):
        folder = tmp_path / str(len(pages))
        folder.mkdir()
        pages.append(written(name, folder))
    assert "alert(1)" in pages[1]
    assert Shape(pages[1]).elements == Shape(pages[0]).elements


def test_text_and_data_in_pages():
    assert escape(HOSTILE).count("<") == escape(HOSTILE).count('"') == escape(HOSTILE).count("'") == 0
    data = {HOSTILE: [math.nan, math.inf, 1.5, None]}
    assert "<" not in page_json(data)
    assert json.loads(page_json(data)) == {HOSTILE: ["NaN", "Infinity", 1.5, None]}
    assert script_text("'</ScRipt>' + '<!--' + (a < b)") == r"'<\/ScRipt>' + '<\!--' + (a < b)"
