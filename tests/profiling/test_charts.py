"""Elements of charts and pages as text, at the bounds of their scales and labels."""

from __future__ import annotations

import math

import pytest

from tt_xla.profiling import svg
from tt_xla.profiling.page import Cell, cards, page, section, table

pytestmark = pytest.mark.quick


def test_numbers_have_three_digits_and_a_unit() -> None:
    values = (999.4, 1e3, 2.5e6, 1e9, 1e12, -1500, 0, 1234.5)
    assert [svg.number(value) for value in values] == ["999", "1k", "2.5M", "1G", "1T", "-1.5k", "0", "1.23k"]


def test_scales_are_linear_or_logarithmic() -> None:
    x, y = svg.x_scale(10.0, 20.0), svg.y_scale(1.0, 100.0, 240, log=True)
    assert [x(10.0), x(15.0), x(20.0)] == [64.0, 564.0, 1064.0]
    assert [y(1.0), y(10.0), y(100.0)] == [200.0, 107.0, 14.0]
    assert svg.y_scale(0.0, 1.0)(0.0) == 280.0
    assert svg.x_scale(5.0, 5.0)(6.0) == 1064.0
    assert math.isfinite(svg.x_scale(1.0, 10.0, log=True)(0.0))


@pytest.mark.parametrize(
    ("low", "high", "log", "ticks"),
    [
        (0.0, 10.0, False, [0, 2, 4, 6, 8, 10]),
        (0.0, 8.0, False, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (1.0, 45.0, False, [10, 20, 30, 40]),
        (0.05, 0.31, False, [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]),
        (3.0, 3.0, False, [3.0]),
        (0.5, 2000.0, True, [1, 10, 100, 1000]),
        (1.0, 10.0, True, [1, 10]),
    ],
)
def test_ticks_are_round(low: float, high: float, log: bool, ticks: list[float]) -> None:
    assert svg.Scale(low, high, 0.0, 1.0, log).ticks() == pytest.approx(ticks)


def test_elements_of_charts() -> None:
    assert svg.frame(["<a/>", "<b/>"], 96, "zoom") == (
        '<svg class="chart zoom" viewBox="0 0 1080 96" preserveAspectRatio="none" style="height:96px" role="img">'
        "<a/><b/></svg>"
    )
    assert 'viewBox="0 0 1080 320"' in svg.frame([])
    x, y = svg.x_scale(0.0, 2.0), svg.y_scale(0.0, 2.0, 140)
    assert svg.axes(svg.x_scale(0.0, 1.9), svg.y_scale(0.0, 1.9, 140), "a<b", "c>d", 140)[0] == (
        '<path class="axis" d="M64 14V100H1064"/>'
    )
    parts = svg.axes(svg.Scale(9.0, 10.1, 64, 1064, log=True), svg.Scale(9.0, 10.1, 100, 14, log=True), "a<b", "c", 140)
    assert parts[1:] == [
        '<path class="grid" d="M977.7 14V100"/><text x="977.7" y="115" text-anchor="middle">10</text>',
        '<path class="grid" d="M64 21.4H1064"/><text x="58" y="25.4" text-anchor="end">10</text>',
        '<text x="572.0" y="134" text-anchor="middle">a&lt;b</text>',
        '<text transform="translate(13 70.0) rotate(-90)" text-anchor="middle">c</text>',
    ]
    points = [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]
    assert svg.line(x, y, points, "#123", 'a"b', steps=False) == (
        '<path d="M64.0 100.0L564.0 57.0L1064.0 14.0" fill="none" stroke="#123" stroke-width="1.6">'
        "<title>a&quot;b</title></path>"
    )
    assert 'd="M64.0 100.0H564.0V57.0H1064.0V14.0"' in svg.line(x, y, points, "#123", "", steps=True)
    assert svg.line(x, y, [], "#123", "", steps=True) == ""
    circle = (
        '<circle cx="1.0" cy="2.0" r="3.0" fill="#123" fill-opacity="0.75" stroke="#fff">'
        "<title>a&amp;b</title></circle>"
    )
    assert svg.dot(1, 2, 3, "#123", "a&b") == circle
    assert svg.dot(1, 2, 3, "#123", "a&b", '#"') == f'<a href="#&quot;">{circle}</a>'
    spans = [(0.0, 1.0, "#123", "a<"), (1.0, 1.0, "#456", "b")]
    assert svg.rectangles(spans, x, 14, 52) == [
        '<rect x="64.00" y="14" width="500.00" height="52" fill="#123"><title>a&lt;</title></rect>',
        '<rect x="564.00" y="14" width="0.25" height="52" fill="#456"><title>b</title></rect>',
    ]
    assert svg.legend([("a<", "#123"), ("b", "#456")]) == (
        '<p class="legend"><span><i style="background:#123"></i>a&lt;</span><span><i style="background:#456"></i>b'
        "</span></p>"
    )


def test_bars_name_the_parts_that_have_room() -> None:
    shown = svg.bar(
        "a<b", [("one", 3000.0, svg.COLOURS["Compute"]), ("two", 1000.0, svg.COLOURS["gap"]), ("z", 0, "#1")]
    )
    assert shown == svg.frame(
        [
            '<text x="0" y="12">a&lt;b</text>',
            '<rect x="0.00" y="18" width="810.00" height="30" fill="#2f7ed8"><title>one: 3k us, 75.0 %</title></rect>',
            '<text class="on" x="6.0" y="37">one 75 %</text>',
            '<rect x="810.00" y="18" width="270.00" height="30" fill="#d5d8dc">'
            "<title>two: 1k us, 25.0 %</title></rect>",
            '<text class="" x="816.0" y="37">two 25 %</text>',
            '<rect x="1080.00" y="18" width="0.30" height="30" fill="#1"><title>z: 0 us, 0.0 %</title></rect>',
        ],
        54,
        "bar",
    )
    assert "0.0 %" in svg.bar("none", [("a", 0.0, "#1")])
    for width, named in ((61.0, False), (61.5, True)):  # 7 pixels a letter and 40 around them
        assert ("<text class" in svg.bar("", [("abc", width, "#1"), ("x" * 200, 1080 - width, "#2")])) is named


def test_parts_of_pages() -> None:
    text = page("a<b", "c>d", ["<p>1</p>", "<p>2</p>"], "w&w")
    assert "<title>a&lt;b</title>" in text
    assert '<h1>a&lt;b</h1><p class="soft">c&gt;d</p><p class="warn">w&amp;w</p><p>1</p><p>2</p></main>' in text
    assert 'class="warn"' not in page("a", "b", [])
    assert section("a<", "<p>", "<q>", note="n<") == (
        '<section><h2>a&lt;</h2><p class="soft">n&lt;</p><p><q></section>'
    )
    assert section("a") == "<section><h2>a</h2></section>"
    assert cards([("n<", "v<")]) == ('<div class="cards"><div class="card"><b>v&lt;</b><span>n&lt;</span></div></div>')
    rows = [[Cell("a<"), Cell("1", 1.0)], [Cell("b", None, "#x&"), Cell("", 0.1234567891)]]
    assert table(("n<", "v"), rows) == (
        '<table><thead><tr><th>n&lt;</th><th class="n">v</th></tr></thead><tbody><tr><td>a&lt;</td>'
        '<td class="n" data-v="1">1</td></tr><tr><td><a href="#x&amp;">b</a></td>'
        '<td class="n" data-v="0.123456789"></td></tr></tbody></table>'
    )
