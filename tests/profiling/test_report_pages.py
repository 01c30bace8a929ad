"""Tables of ops and the pages about them as text: rows, windows, charts, links, and what is left out."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tt_xla.errors import EmptyRecordingError, OptionError
from tt_xla.profiling import svg
from tt_xla.profiling.page import Cell, cards, table
from tt_xla.profiling.reading import Row, Table, newest_report, read_table, system_of
from tt_xla.profiling.report import short, write_report

pytestmark = pytest.mark.quick


def cells(code: str, ns: float, gap: float = 0.0, **more: str) -> dict[str, str]:
    return {
        "OP CODE": code,
        "OP TYPE": "tt_dnn_device",
        "DEVICE ARCH": "wormhole_b0",
        "DEVICE KERNEL DURATION [ns]": str(ns),
        "OP TO OP LATENCY [ns]": str(gap),
        **more,
    }


def sized(name: str, sizes: str, memory: str = "DEV_0_DRAM_INTERLEAVED", dtype: str = "BFLOAT16") -> dict[str, str]:
    sides = {f"{name}_{side}_PAD[LOGICAL]": text for side, text in zip("WZYX", sizes.split(), strict=True)}
    return sides | {f"{name}_MEMORY": memory, f"{name}_DATATYPE": dtype}


PRODUCT = cells(
    "MatmulDeviceOperation",
    2000,
    700,
    **sized("INPUT_0", "1[1] 2[2] 64[50] 96[96]"),
    **sized("INPUT_1", "1[1] 1[1] 96[96] 32[32]", dtype="BFLOAT8_B"),
    **sized("INPUT_2", "1[1] 1[1] 32[1] 32[32]", memory="DEV_0_L1_INTERLEAVED"),
    **sized("OUTPUT_0", "1[1] 2[2] 64[50] 32[32]", dtype="FLOAT32"),
    **{"CORE COUNT": "12", "MATH FIDELITY": "HiFi2", "GLOBAL CALL COUNT": "1024", "HOST START TS": "20"},
    **{"ATTRIBUTES": "{'bound': 'DRAM'; 'source': 'model.py:3:8'}", "PM COMPUTE [ns]": "1500"},
    **{"PM BANDWIDTH [ns]": "1800"},
)
GATHER = cells(
    "AllGatherDeviceOperation",
    4000,
    500,
    **sized("INPUT_0", "1 1 32 64"),
    **sized("OUTPUT_0", "1 1 32 256"),
    **{"HOST START TS": "30", "CORE COUNT": "1", "PM COMPUTE [ns]": "1", "PM BANDWIDTH [ns]": "1.5"},
    **{"ATTRIBUTES": "{'ring_size': '4'; 'num_links': '2'; 'topology': 'Topology::Ring'; 'cluster_axis': '1'}"},
)
POSTS = [
    {"OP CODE": name, "OP TYPE": "signpost", "HOST START TS": str(at)}
    for name, at in (("start", 10), ("end", 15), ("start", 18), ("end", 25), ("end", 40))
]


def write(folder: Path, *rows: dict[str, str], name: str = "ops_perf_results_x.csv") -> Path:
    path = folder / name
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_row_of_a_profilers_file(tmp_path: Path) -> None:
    ops = read_table(write(tmp_path, GATHER, PRODUCT, *POSTS))
    assert (ops.arch, ops.signposts, ops.timeline) == ("wormhole_b0", ["start", "end", "start", "end", "end"], {})
    peak = 2 * 1024 * 1e9 * 12  # HiFi2 takes two passes
    flops = 2 * (2 * 64 * 32) * 96
    product, gather = ops.rows
    assert replace(product, utilisation=None) == Row(
        number=1024,
        code="Matmul",
        category="Compute",
        start_us=0.0,
        device_us=2.0,
        gap_us=0.0,
        cores=12,
        fidelity="HiFi2",
        shapes="1x2x64x96, 1x1x96x32",
        flops=flops,
        dram_bytes=2 * 64 * 96 * 2 + 96 * 32 * 1088 / 1024 + 2 * 64 * 32 * 4,
        utilisation=None,
        source="model.py:3:8",
        bound="DRAM",
        compute_us=1.5,
        bytes_us=1.8,
        host_start=20.0,
    )
    assert product.utilisation == pytest.approx(flops / 2e-6 / peak)
    assert (product.utilisation is None, product.roofline_us, gather.utilisation is None) == (False, 1.8, True)
    assert (gather.start_us, gather.gap_us, gather.flops, gather.bytes_us, gather.compute_us) == (
        2.5,
        0.5,
        32 * 256,
        0.0015,
        0.0,
    )
    assert (gather.links, gather.category) == ("axis 1, ring of 4 chips, 2 channels", "CCL")


@pytest.mark.parametrize(
    ("attributes", "links"),
    [
        ("", ""),
        ("{'ring_size': '2'; 'num_links': '1'; 'topology': 'Topology::Linear'}", "line of 2 chips, 1 channel"),
        ("{'ring_size': '2'}", "group of 2 chips"),
        ("{'cluster_axis': 'None'; 'num_links': '3'}", "3 channels"),
    ],
)
def test_links_in_words(tmp_path: Path, attributes: str, links: str) -> None:
    assert read_table(write(tmp_path, cells("AllGather", 1.0, ATTRIBUTES=attributes))).rows[0].links == links


def test_a_window_is_between_the_last_start_and_the_next_end(tmp_path: Path) -> None:
    path = write(tmp_path, GATHER, PRODUCT, *POSTS)
    assert [row.code for row in read_table(path, "start", "end").rows] == ["Matmul"]
    assert [row.code for row in read_table(path, "start").rows] == ["Matmul", "AllGather"]
    with pytest.raises(EmptyRecordingError, match="has no op between signposts '' and 'end', because nothing ran"):
        read_table(path, "", "end")
    with pytest.raises(OptionError, match=r"has no signpost 'x'\. Its signposts are: start, end\.$"):
        read_table(path, "start", "x")
    bare = write(tmp_path, PRODUCT, name="bare.csv")
    with pytest.raises(OptionError, match=r"Its signposts are: none\.$"):
        read_table(bare, "x")
    with pytest.raises(OptionError, match=r"'end' after 'end'\. Check the order of the two signposts\.$"):
        read_table(write(tmp_path, PRODUCT, POSTS[1], name="once.csv"), "end", "end")


def test_cells_that_are_no_numbers_count_as_0(tmp_path: Path) -> None:
    row = cells("Matmul", 1.0, **sized("INPUT_0", "1 1 32 64"), **{"CORE COUNT": "-", "MATH FIDELITY": "odd"})
    (read,) = read_table(write(tmp_path, row | sized("OUTPUT_0", "1 1 32 x"))).rows
    assert (read.cores, read.flops, read.utilisation, read.dram_bytes) == (0, 0.0, 0.0, 32 * 64 * 2)
    (read,) = read_table(write(tmp_path, cells("Matmul", 1.0))).rows
    assert (read.utilisation, read.shapes, read.source, read.bound) == (None, "", "", "")
    (read,) = read_table(write(tmp_path, cells("Add", 1.0, **sized("INPUT_0", "1 1 2 3", dtype="ODD")))).rows
    assert read.dram_bytes == 24.0
    assert [system_of(arch) for arch in ("blackhole", "wormhole_b0", "")] == ["p150", "n150", "n150"]


def test_the_timeline_beside_a_file_and_the_newest_file(tmp_path: Path) -> None:
    from tt_xla.profiling.profile import TRACE_NAME

    path = write(tmp_path, PRODUCT)
    (tmp_path / TRACE_NAME).write_text('{"a": 1}')
    assert read_table(path).timeline == {"a": 1}
    (tmp_path / TRACE_NAME).write_text('{"a"')
    assert read_table(path).timeline == {}
    (tmp_path / "below").mkdir()
    other = write(tmp_path / "below", PRODUCT, name="ops_perf_results_y.csv")
    import os

    for newest, oldest in ((path, other), (other, path)):
        os.utime(oldest, (1, 1))
        os.utime(newest, (2, 2))
        assert newest_report(tmp_path) == newest
    assert newest_report(other) == other


def made(code: str, us: float, category: str = "Compute", **more: Any) -> Row:
    values: dict[str, Any] = {
        **{"number": 1, "start_us": 0.0, "gap_us": 0.0, "cores": 8, "fidelity": "HiFi4", "shapes": "1x1x32x64"},
        **{"flops": 0.0, "dram_bytes": 0.0, "utilisation": None, "source": ""},
    }
    return Row(code=code, category=category, device_us=us, **(values | more))


def report(folder: Path, rows: list[Row], timeline: dict[str, Any] | None = None, **options: Any) -> str:
    path = folder / "page.html"
    write_report(path, Table(folder / "ops.csv", "wormhole_b0", rows, [], timeline or {}), **options)
    return path.read_text()


ROWS = [
    made("Matmul", 6.0, utilisation=0.5, flops=1e6, compute_us=2.0, bytes_us=3.0, bound="DRAM", gap_us=1.0),
    made("Matmul", 2.0, utilisation=0.1, start_us=7.0, flops=1e6, compute_us=1.0),
    made("AllGather", 2.0, "CCL", start_us=9.0, links="ring of 4 chips", gap_us=3.0),
    made("AllGather", 1.0, "CCL", start_us=9.0, links="line of 2 chips"),
]


def test_the_summary_of_a_report(tmp_path: Path) -> None:
    text = report(tmp_path, ROWS, notes=["a<b"], sections=["<p>more</p>"])
    assert '<h1>ops on n150</h1><p class="soft">4 ops, wormhole_b0, ops.csv</p><div' in text
    assert (
        cards(
            [
                ("time of the ops on the chip", "0.011 ms"),
                ("roofline of all ops", "0.004 ms, 36.4 % reached"),
                ("gaps between ops", "0.004 ms"),
                ("ops", "4"),
                ("communication", "0.003 ms, 27.3 %"),
                ("matrix products", "40.0 % of peak FLOPs"),
            ]
        )
        + "<p>a&lt;b</p><p>more</p><section>"
        in text
    )
    assert cards([("x", "1")]) in report(tmp_path, ROWS, summary=[("x", "1")])
    alone = report(tmp_path, [made("Add", 1.0)])
    assert "communication" not in alone.split("<section>")[0]
    assert "peak FLOPs" not in alone
    assert "Exchanges between chips</h2>" not in alone
    partial = report(tmp_path, ROWS, {"otherData": {"error": "ValueError: x", "system": "p150", "script": "a/b.py"}})
    assert "The script ended early, so this page is partial: ValueError: x" in partial
    assert "<h1>b.py on p150</h1>" in partial


def test_the_bars_of_a_report(tmp_path: Path) -> None:
    text = report(tmp_path, ROWS)
    compute, ccl = svg.COLOURS["Compute"], svg.COLOURS["CCL"]
    assert svg.bar("device and gaps", [("device", 11.0, compute), ("gaps", 4.0, svg.COLOURS["gap"])]) in text
    assert svg.bar("by category", [("Compute", 8.0, compute), ("CCL", 3.0, ccl)]) in text
    assert svg.bar("by op", [("Matmul", 8.0, svg.PALETTE[0]), ("AllGather", 3.0, svg.PALETTE[1])]) in text
    assert svg.bar("computing and exchanges", [("computing", 8.0, compute), ("links", 3.0, ccl)]) in text
    assert (
        table(
            ("op", "links", "count", "us", "%"),
            [
                [Cell("AllGather"), Cell("ring of 4 chips"), Cell("1", 1), Cell("2.00", 2.0), Cell("18.2", 2.0)],
                [Cell("AllGather"), Cell("line of 2 chips"), Cell("1", 1), Cell("1.00", 1.0), Cell("9.1", 1.0)],
            ],
        )
        in text
    )
    many = report(tmp_path, [made(f"Op{number}", 20.0 - number) for number in range(11)])
    assert "Op8: 12 us" in many
    assert "Op9: " not in many.split("Roofline")[0].split("by op")[1]
    assert "others: 21 us" in many
    assert "others" not in report(tmp_path, [made(f"Op{number}", 20.0 - number) for number in range(9)])


def test_the_timeline_of_a_report(tmp_path: Path) -> None:
    x = svg.x_scale(0.0, 11.0)
    text = report(tmp_path, ROWS)
    spans = [
        (0.0, 6.0, svg.COLOURS["Compute"], "Matmul 1x1x32x64\n6.00 us on 8 cores, 1.00 us after the op before\n"),
        (9.0, 11.0, svg.COLOURS["CCL"], "AllGather 1x1x32x64\n2.00 us on 8 cores, 3.00 us after the op before\n"),
    ]
    for span in svg.rectangles(spans, x, 14, 52):
        assert span in text
    assert f'<path class="grid" d="M{x(2.0):.1f} 8V72"/><text x="{x(2.0):.1f}" y="88">2 us</text>' in text
    rows = [made("Add", 1.0 + (number == 0), start_us=float(number)) for number in range(6002)]
    rows[7] = replace(rows[7], device_us=0.5)
    timeline = report(tmp_path, rows).split("Where device time goes")[0]
    assert timeline.count("<rect") == 6000
    assert "0.50 us" not in timeline
    assert report(tmp_path, rows[:6000]).split("Where device time goes")[0].count("<rect") == 6000


def test_the_roofline_of_a_report(tmp_path: Path) -> None:
    text = report(tmp_path, ROWS).split("<h2>Roofline</h2>")[1].split("</section>")[0]
    assert text.count("<circle") == 1  # the calls of one op with one shape; exchanges have none
    # 3 us at the peak of HiFi4, 65.536 T/s, in 8 us of device time.
    assert (
        "Matmul 1x1x32x64\n24.6T operations/s, 8.00 us in 2\nroofline 4.00 us, 50.0 % reached, bound by DRAM\n" in text
    )
    assert 'r="12.0"' in text
    assert "DRAM: 288 GB/s" in text
    plain = [made("Add", 4.0, flops=4e6, dram_bytes=1e6), made("Mul", 1.0, flops=1e3, source="a.py:1")]
    text = report(tmp_path, plain).split("<h2>Roofline</h2>")[1].split("</section>")[0]
    assert "Add 1x1x32x64\n1T operations/s, 4.00 us in 1\n" in text
    assert "reached" not in text
    assert ('r="12.0"' in text, 'r="7.5"' in text) == (True, True)
    assert 'cx="1064.0"' in text  # an op without bytes in DRAM is at the right edge
    assert report(tmp_path, [made("Add", 0.0, flops=1.0), made("Add", 1.0)]).count("<circle") == 0


def test_the_memory_of_a_report(tmp_path: Path) -> None:
    missing = "The folder has no timeline with the memory in use."
    assert missing in report(tmp_path, ROWS)

    def counter(name: str, bytes_: float, kind: str = "C") -> dict[str, Any]:
        return {"ph": kind, "name": name, "args": {"bytes": bytes_}}

    events = [
        counter("DRAM bytes", 1e6),
        counter("L1 bytes a core", 1e3),
        counter("DRAM bytes", 2e6),
        counter("L1 bytes a core", 5e2),
        counter("DRAM bytes", 9e9, "X"),
        counter("other", 9e9),
    ]
    text = report(tmp_path, ROWS, {"traceEvents": events})
    assert missing not in text
    assert '<p class="soft">DRAM bytes: at most 2M of ' in text
    assert '<p class="soft">L1 bytes a core: at most 1k of ' in text
    x, y = svg.x_scale(0.0, 2), svg.y_scale(0.0, 2.2e6, 180)
    drawn = svg.line(x, y, [(0, 1e6), (1, 2e6)], svg.PALETTE[0], "", steps=True).split(" fill")[0]
    assert drawn in text


def test_the_table_and_the_sources_of_a_report(tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text("a = 1\nb = a < 2\n")
    rows = [
        replace(ROWS[0], source=f"{source}:2:5"),
        replace(ROWS[1], source=f"{source}:2:5"),
        made("Add", 1.0, "TM", fidelity="", source="gone.py:7"),
        made("Sub", 1.0, source="a\nb"),
    ]
    text = report(tmp_path, rows, explorer="x.html")
    number = Cell
    line = [
        [Cell("Matmul"), Cell("Compute"), Cell("1x1x32x64"), Cell("HiFi4"), number("2", 2), number("8.00", 8.0)],
        [number("80.0", 0.8), number("1.00", 1.0), number("8", 8), number("50.0", 0.5), Cell("DRAM")],
        [number("4.00", 4.0), number("50.0", 0.5), Cell("model.py:2", None, "#s0-2")],
    ]
    from urllib.parse import quote

    expected = [cell for part in line for cell in part]
    expected.append(Cell("node", None, f"x.html#source={quote(f'{source}:2')}"))
    assert table((), [expected]).split("<tbody>")[1].removesuffix("</tbody></table>") in text
    assert '<td>gone.py:7</td><td><a href="x.html#source=gone.py%3A7">node</a></td>' in text
    assert "<td>a\nb</td><td>node</td>" in text
    assert '<td class="n" data-v="0"></td><td class="n" data-v="0"></td><td>gone.py' in text
    assert ">graph</th>" in text
    assert ">graph</th>" not in report(tmp_path, rows)
    assert 'href="http://h/?source=gone.py%3A7"' in report(tmp_path, rows, explorer="http://h/")
    shown = text.split("<h2>Source</h2>")[1]
    assert '<span id="s0-1"><i>1</i>a = 1</span><span id="s0-2" class=hot><i>2</i>b = a &lt; 2</span>' in shown
    assert "gone.py" not in shown
    text = report(tmp_path, rows, {"otherData": {"folder": str(tmp_path)}})
    (tmp_path / "gone.py").write_text("x")
    assert "<h2>Source</h2><p>" in text
    assert "gone.py</p>" in report(tmp_path, rows, {"otherData": {"folder": str(tmp_path)}})
    assert "<h2>Source</h2>" not in report(tmp_path, ROWS)
    assert (short("/a/b/train.py:19:3"), short("somewhere")) == ("train.py:19", "somewhere")
