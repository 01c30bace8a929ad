"""Writes a page about a recording: timeline, roofline, stacked bars, memory, and a table of ops with source lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from tt_xla.cost.roofline import peak_operations
from tt_xla.ir.op_table import CCL
from tt_xla.markup import escape
from tt_xla.profiling import svg
from tt_xla.profiling.page import Cell, cards, page, section, table
from tt_xla.profiling.reading import FIDELITIES, Row, Table, system_of
from tt_xla.target import Target, load_target

_MAX_TIMELINE_KERNELS = 6000
"""Number of kernels that the timeline shows at most; the longest ones if there are more."""

_MAX_ROWS = 2000
"""Number of rows of the table of ops at most."""

_LOCATION = re.compile(r"([^\s:]+):(\d+)(?::\d+)?")


def write_report(
    path: Path,
    ops: Table,
    summary: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    sections: Sequence[str] = (),
    explorer: str = "",
) -> None:
    """Writes the page.

    Args:
        path: File to write.
        ops: The ops of a recording.
        summary: Names and values at the top of the page; computed from the ops if empty.
        notes: Sentences below the summary.
        sections: Further sections as HTML, before the timeline.
        explorer: Address of a page that `tt-xla explore` wrote or serves; each op then has a link to its node there.
    """
    data = ops.timeline.get("otherData", {})
    target = load_target(str(data.get("system") or system_of(ops.arch)))
    error = str(data.get("error") or "")
    sources = _Sources(ops.rows, [Path(str(data.get("folder") or ".")), Path.cwd()])
    parts = [
        cards(summary or _summary(ops.rows)),
        *(f"<p>{escape(note)}</p>" for note in notes),
        *sections,
        section("Timeline", _timeline(ops.rows), svg.legend(_category_colours(ops.rows)), note=_TIMELINE_NOTE),
        section("Where device time goes", *_bars(ops.rows)),
        *_communication(ops.rows),
        section("Roofline", _roofline(ops.rows, target, sources), note=_ROOFLINE_NOTE),
        section("Memory over time", *_memory(ops, target)),
        section("Ops", _table(ops.rows, sources, explorer), note="Longest first; click a title to sort."),
        sources.section(),
    ]
    warning = f"The script ended early, so this page is partial: {error}" if error else ""
    title = f"{Path(str(data.get('script') or ops.path.stem)).name} on {target.name}"
    subtitle = ", ".join(filter(None, (data.get("date"), f"{len(ops.rows)} ops", ops.arch, ops.path.name)))
    path.write_text(page(title, subtitle, parts, warning), encoding="utf-8")


_TIMELINE_NOTE = (
    "Times of the device's clock. The mouse wheel zooms, dragging moves. Gaps are host time or time between ops."
)
_ROOFLINE_NOTE = (
    "Each dot is an op with its shapes; its size shows the time that the op takes, and its distance below the lines "
    "how much faster the chip could be. The lines are the chip's DRAM bandwidth and the peaks of its matrix unit at "
    "each fidelity. Operations and bytes in DRAM are those of the logical shapes; ops without a tensor in DRAM are "
    "at the right edge. Exchanges between chips are left out, because links limit them."
)


def _summary(rows: Sequence[Row]) -> list[tuple[str, str]]:
    device, gaps = sum(row.device_us for row in rows), sum(row.gap_us for row in rows)
    products = [row for row in rows if row.utilisation is not None]
    least = sum(row.roofline_us for row in rows)
    figures = [
        ("time of the ops on the chip", f"{device / 1e3:.3f} ms"),
        ("roofline of all ops", f"{least / 1e3:.3f} ms, {100 * least / (device or 1.0):.1f} % reached"),
        ("gaps between ops", f"{gaps / 1e3:.3f} ms"),
        ("ops", str(len(rows))),
    ]
    exchanges = sum(row.device_us for row in rows if row.category == CCL)
    if exchanges:
        figures.append(("communication", f"{exchanges / 1e3:.3f} ms, {100 * exchanges / (device or 1.0):.1f} %"))
    if products:
        time = sum(row.device_us for row in products) or 1.0
        percent = 100 * sum((row.utilisation or 0) * row.device_us for row in products) / time
        figures.append(("matrix products", f"{percent:.1f} % of peak FLOPs"))
    return figures


def _category_colours(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(name, svg.COLOURS[name]) for name in sorted({row.category for row in rows})]


def _timeline(rows: Sequence[Row]) -> str:
    shown = rows
    if len(rows) > _MAX_TIMELINE_KERNELS:
        shown = sorted(rows, key=lambda row: -row.device_us)[:_MAX_TIMELINE_KERNELS]
    end = max(row.start_us + row.device_us for row in rows)
    x = svg.x_scale(0.0, end or 1.0)
    ticks = (
        f'<path class="grid" d="M{x(tick):.1f} 8V72"/><text x="{x(tick):.1f}" y="88">{svg.number(tick)} us</text>'
        for tick in x.ticks()
    )
    spans = (
        (
            row.start_us,
            row.start_us + row.device_us,
            svg.COLOURS[row.category],
            f"{row.code} {row.shapes}\n{row.device_us:.2f} us on {row.cores} cores, "
            f"{row.gap_us:.2f} us after the op before\n{row.source}",
        )
        for row in shown
    )
    return svg.frame([*ticks, *svg.rectangles(spans, x, 14, 52)], 96, "zoom")


def _bars(rows: Sequence[Row]) -> list[str]:
    categories: defaultdict[str, float] = defaultdict(float)
    codes: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        categories[row.category] += row.device_us
        codes[row.code] += row.device_us
    device, gaps = sum(categories.values()), sum(row.gap_us for row in rows)
    ranked = sorted(codes.items(), key=lambda item: -item[1])
    shown, others = ranked[:9], sum(value for _, value in ranked[9:])
    parts = [(name, value, svg.PALETTE[index]) for index, (name, value) in enumerate(shown)]
    if others:
        parts.append(("others", others, svg.PALETTE[9]))
    kinds = sorted(categories.items(), key=lambda item: -item[1])
    return [
        svg.bar("device and gaps", [("device", device, svg.COLOURS["Compute"]), ("gaps", gaps, svg.COLOURS["gap"])]),
        svg.bar("by category", [(name, value, svg.COLOURS[name]) for name, value in kinds]),
        svg.bar("by op", parts),
        svg.legend((name, colour) for name, _, colour in parts),
    ]


def _communication(rows: Sequence[Row]) -> list[str]:
    """Returns a section about exchanges between chips, by op and links; none without exchanges."""
    groups: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row.category == CCL:
            groups[row.code, row.links].append(row)
    if not groups:
        return []
    total = sum(row.device_us for row in rows) or 1.0
    lines: list[list[Cell]] = []
    for (code, links), group in sorted(groups.items(), key=lambda item: -sum(row.device_us for row in item[1])):
        us = sum(row.device_us for row in group)
        count = Cell(str(len(group)), len(group))
        lines.append([Cell(code), Cell(links), count, Cell(f"{us:.2f}", us), Cell(f"{100 * us / total:.1f}", us)])
    exchanges = sum(row.device_us for group in groups.values() for row in group)
    parts = [("computing", total - exchanges, svg.COLOURS["Compute"]), ("links", exchanges, svg.COLOURS[CCL])]
    return [
        section(
            "Exchanges between chips",
            svg.bar("computing and exchanges", parts),
            table(("op", "links", "count", "us", "%"), lines),
            note="Longest first: the links of the first line bound the exchanges.",
        )
    ]


def _roofline(rows: Sequence[Row], target: Target, sources: _Sources) -> str:
    groups: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row.flops and row.device_us and row.category != CCL:
            groups[row.code, row.shapes, row.fidelity].append(row)
    bandwidth = target.dram_peak_bytes_per_second
    peaks = {name: peak_operations(target, name) for name in target.macs_per_cycle}
    top = max(peaks.values())
    x = svg.x_scale(0.01, 10 * top / bandwidth, log=True)
    y = svg.y_scale(1e8, 2 * top, log=True)
    parts = svg.axes(x, y, "operations per byte of DRAM", "operations per second")
    for number, (name, peak) in enumerate(peaks.items()):
        knee = peak / bandwidth
        parts.append(svg.line(x, y, [(knee, peak), (x.high, peak)], "#98a3af", f"{name}: {peak:.3g}/s", steps=False))
        parts.append(f'<text x="{svg.WIDTH - 60 - 44 * number}" y="{y(peak) - 3:.1f}">{name}</text>')
    slope = [(x.low, x.low * bandwidth), (top / bandwidth, top)]
    parts.append(svg.line(x, y, slope, "#98a3af", f"DRAM: {bandwidth / 1e9:.0f} GB/s", steps=False))
    longest = max((sum(row.device_us for row in group) for group in groups.values()), default=1.0)
    for (code, shapes, _), group in groups.items():
        first, total = group[0], sum(row.device_us for row in group)
        rate = sum(_operations(row, peaks) for row in group) / (total * 1e-6)
        moved = first.bytes_us * 1e-6 * bandwidth or first.dram_bytes
        intensity = min(max(_operations(first, peaks) / moved if moved else x.high, x.low), x.high)
        title = f"{code} {shapes}\n{svg.number(rate)} operations/s, {total:.2f} us in {len(group)}{_distance(group)}"
        title += f"\n{first.source}"
        radius = 3 + 9 * (total / longest) ** 0.5
        colour = svg.COLOURS[first.category]
        parts.append(svg.dot(x(intensity), y(max(rate, y.low)), radius, colour, title, sources.link(first.source)))
    return svg.frame(parts)


def _operations(row: Row, peaks: Mapping[str, float]) -> float:
    """Returns the operations of a row by its roofline; by its padded shapes if the file has no roofline."""
    return row.compute_us * 1e-6 * peaks[FIDELITIES.get(row.fidelity, "hifi4")] or row.flops


def _distance(group: Sequence[Row]) -> str:
    """Returns the roofline of ops and their bounds in words; empty if the file does not tell."""
    least, total = sum(row.roofline_us for row in group), sum(row.device_us for row in group)
    if not least or not total:
        return ""
    bound = f", bound by {group[0].bound}" if group[0].bound else ""
    return f"\nroofline {least:.2f} us, {100 * least / total:.1f} % reached{bound}"


def _memory(ops: Table, target: Target) -> list[str]:
    series: dict[str, list[tuple[int, float]]] = {"DRAM bytes": [], "L1 bytes a core": []}
    for event in ops.timeline.get("traceEvents", ()):
        if event.get("ph") == "C" and event.get("name") in series:
            points = series[event["name"]]
            points.append((len(points), float(event["args"]["bytes"])))
    if not series["DRAM bytes"]:
        return ['<p class="soft">The folder has no timeline with the memory in use.</p>']
    limits = {"DRAM bytes": target.dram_usable_bytes, "L1 bytes a core": target.l1_usable_bytes}
    parts: list[str] = []
    for (name, points), colour in zip(series.items(), svg.PALETTE, strict=False):
        x = svg.x_scale(0.0, len(points))
        highest = max(value for _, value in points)
        y = svg.y_scale(0.0, 1.1 * highest or 1.0, 180)
        title = f"{name}: at most {svg.number(highest)} of {svg.number(limits[name])}"
        drawn = svg.line(x, y, points, colour, title, steps=True)
        parts.append(svg.frame([*svg.axes(x, y, "kernel calls of the whole recording", name, 180), drawn], 180))
        parts.append(f'<p class="soft">{escape(title)}</p>')
    return parts


def _table(rows: Sequence[Row], sources: _Sources, explorer: str = "") -> str:
    groups: defaultdict[tuple[str, str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.code, row.shapes, row.fidelity, row.source].append(row)
    total = sum(row.device_us for row in rows) or 1.0
    ranked = sorted(groups.values(), key=lambda group: -sum(row.device_us for row in group))[:_MAX_ROWS]
    lines: list[list[Cell]] = []
    for group in ranked:
        row, us, gaps = group[0], sum(call.device_us for call in group), sum(call.gap_us for call in group)
        least = sum(call.roofline_us for call in group)
        reached = least / us if us else 0.0
        lines.append(
            [
                Cell(row.code),
                Cell(row.category),
                Cell(row.shapes),
                Cell(row.fidelity),
                Cell(str(len(group)), len(group)),
                Cell(f"{us:.2f}", us),
                Cell(f"{100 * us / total:.1f}", us / total),
                Cell(f"{gaps:.2f}", gaps),
                Cell(str(row.cores), row.cores),
                Cell("" if row.utilisation is None else f"{100 * row.utilisation:.1f}", row.utilisation or 0.0),
                Cell(row.bound),
                Cell(f"{least:.2f}" if least else "", least),
                Cell(f"{100 * reached:.1f}" if least else "", reached),
                Cell(short(row.source), None, sources.link(row.source)),
                *([Cell("node", None, _node_link(explorer, row.source))] if explorer else []),
            ]
        )
    header = ("op", "kind", "inputs", "fidelity", "count", "us", "%", "gap us", "cores", "FLOPs %")
    return table((*header, "bound", "roofline us", "reached %", "source", *(["graph"] if explorer else [])), lines)


def _node_link(explorer: str, location: str) -> str:
    """Returns the address of the op at a source line in the explorer; empty for an unknown line."""
    match = _LOCATION.search(location)
    if match is None:
        return ""
    line = quote(f"{match[1]}:{match[2]}")
    return f"{explorer}?source={line}" if explorer.startswith("http") else f"{explorer}#source={line}"


def short(location: str) -> str:
    """Returns file name and line of a location, such as ``train.py:19``, without folders and column."""
    match = _LOCATION.search(location)
    return f"{Path(match[1]).name}:{match[2]}" if match else location


class _Sources:
    """The user's source files, which the page contains with an anchor at each line."""

    def __init__(self, rows: Iterable[Row], folders: Sequence[Path]) -> None:
        self._files: dict[str, tuple[int, list[str]]] = {}
        self._hot: defaultdict[str, set[int]] = defaultdict(set)
        for location in {row.source for row in rows}:
            match = _LOCATION.search(location)
            if match is None:
                continue
            self._hot[match[1]].add(int(match[2]))
            if match[1] not in self._files:
                text = _read(match[1], folders)
                if text is not None:
                    self._files[match[1]] = (len(self._files), text)

    def link(self, location: str) -> str:
        """Returns the anchor of a source line in the page; empty if the file cannot be read."""
        match = _LOCATION.search(location)
        known = self._files.get(match[1]) if match else None
        return f"#s{known[0]}-{match[2]}" if match and known else ""

    def section(self) -> str:
        """Returns the section with the files; empty if there are none."""
        parts: list[str] = []
        for name, (number, lines) in self._files.items():
            hot = self._hot[name]
            body = "".join(
                f'<span id="s{number}-{row}"{" class=hot" if row in hot else ""}><i>{row}</i>{escape(text)}</span>'
                for row, text in enumerate(lines, 1)
            )
            parts.append(f"<p>{escape(name)}</p><pre>{body}</pre>")
        return section("Source", *parts) if parts else ""


def _read(name: str, folders: Sequence[Path]) -> list[str] | None:
    """Returns the lines of a Python file, looked up in folders too; None if it cannot be read."""
    for path in (Path(name), *(folder / name for folder in folders)):
        try:
            if path.suffix == ".py":
                return path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
    return None
