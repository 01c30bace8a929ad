"""Compares the cost model with times measured on silicon: ``make calibrate`` writes docs/cost_model.md and its plots.

Measurements are public CSV files in the formats that :mod:`benchmarks.measured` reads. ``tests/data/measured`` has
most of them, of two long sweeps only some rows; another folder (``--folder``) may hold all. A file that it lacks is
taken from ``tests/data/measured``, and one that both lack has no figures in the table.

Only the constants of collectives are fitted by a program (``fit_collectives.py``). Each of the others was read off one
sweep, which is named beside the constant (``tt_xla.cost.families``, ``tt_xla.cost.attention``, ``tt_xla.target``). The
table says for each file which constants came from it, and so which rows the model had not seen.
"""

from __future__ import annotations

import math
from pathlib import Path

import click
from rich.console import Console

from benchmarks.measured import Priced, Summary, by_family, price, read, summarise
from docs.tables import write_between_marks

FILES = {
    "gemm_flops.csv": ("", "matrix efficiency, unpacking, handshake and reading of blocks"),
    "gemm_flops_out_of_box.csv": ("", "writing of results"),
    "op_sweep_matmul_hs.csv": ("", "subblocks, multicast in turns"),
    "op_sweep_exp_n150.csv": ("", "exp, launch of Wormhole"),
    "op_durations.csv": ("", "page waits, sticks, norms, movement"),
    "sdpa_bh_p100a.csv": ("", "attention"),
    "ccl.csv": ("", "collectives"),
    "samples/bh20_oft_integral_image_trace.csv": ("p150", "permutations of rows"),
    "samples/wh_clip_encoder_2_first60.csv": ("", "none of its own; op_durations has some of its ops"),
    "op_durations_dlv3_p100.csv": ("", "DRAM, operands and results of products in DRAM, partial sums, halo, moves"),
    "op_durations_segformer_wh.csv": ("", "halo, moves, copies across L1, norms of bfloat8_b, softmax"),
    "op_durations_llama_decode_p150.csv": ("", "DRAM-sharded products, exchange of norms, rotary embedding"),
    "op_durations_deepseek_p150.csv": ("", "DRAM"),
    "op_durations_oft_2025_bh20.csv": ("", "none"),
    "op_durations_conv2d_targets.csv": ("", "none"),
    "op_durations_pool2d_targets.csv": ("", "pooling"),
    "sdpa_decode_bh.csv": ("", "requests of bfloat4_b pages"),
}

UNSEEN: dict[str, dict[str, tuple[str, ...]]] = {
    "convolution": {
        "op_durations_dlv3_p100.csv": (),
        "op_durations_segformer_wh.csv": (),
        "op_durations_oft_2025_bh20.csv": (),
        "op_durations_conv2d_targets.csv": (),
    },
    "matmul": {
        "op_durations_segformer_wh.csv": (),
        "op_durations_deepseek_p150.csv": (),
        "op_durations_oft_2025_bh20.csv": (),
        "samples/wh_clip_encoder_2_first60.csv": (),
    },
    "data_movement": {"op_durations_oft_2025_bh20.csv": (), "samples/wh_clip_encoder_2_first60.csv": ()},
    "normalization": {
        "op_durations_deepseek_p150.csv": (),
        "op_durations_oft_2025_bh20.csv": (),
        "samples/wh_clip_encoder_2_first60.csv": (),
    },
    "attention": {"sdpa_decode_bh.csv": ("BFLOAT4_B",)},
}
"""Files that no constant of a family came from, by family, and words in the labels of rows that one did come from."""

COMMITTED = Path(__file__).parents[1] / "tests" / "data" / "measured"


def path_of(folder: Path, name: str) -> Path:
    """Returns the path of a file of measurements: in the folder, or else in this repository."""
    path = folder / name
    return path if path.exists() else COMMITTED / name


def _unseen(folder: Path) -> str:
    """Returns the table of errors on rows that no constant of their family came from."""
    table = "| family | files | rows | median error | 90th percentile | bias |\n|---|---|---:|---:|---:|---:|\n"
    for family, files in UNSEEN.items():
        everyone: list[float] = []
        lines = ""
        for name, words in files.items():
            if not path_of(folder, name).exists():
                continue
            rows = price(read(path_of(folder, name), FILES[name][0]))[0]
            errors = [
                row.error
                for row in rows
                if row.measurement.family == family and not any(word in row.measurement.label for word in words)
            ]
            everyone += errors
            lines += _unseen_line("", Path(name).name, errors)
        table += _unseen_line(family, "all", everyone) + (lines if len(files) > 1 else "")
    return table


def _unseen_line(family: str, name: str, errors: list[float]) -> str:
    summary = summarise(errors, len(errors))
    cells = ("" if f is None else f"{100 * f:.1f} %" for f in (summary.median, summary.p90, summary.bias))
    return f"| {family} | {name} | {len(errors)} | {' | '.join(cells)} |\n"


def _line(name: str, constants: str, summary: Summary) -> str:
    figures = (summary.median, summary.p90, summary.bias)
    cells = ("" if figure is None else f"{100 * figure:.1f} %" for figure in figures)
    return f"| {name} | {constants} | {summary.rows} | {summary.priced} | {' | '.join(cells)} |\n"


SIZE, MARGIN, DOTS = 360, 40, 400
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf")


def _plot(title: str, priced: list[Priced], path: Path) -> None:
    """Plots predicted over measured microseconds as SVG, both axes logarithmic; shows at most ``DOTS`` rows."""
    chosen = priced[:: -(-len(priced) // DOTS)]
    times = [time for each in chosen for time in (each.measurement.measured_us, each.predicted_us)]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    room = SIZE - 2 * MARGIN

    def place(time: float) -> float:
        return MARGIN + room * (math.log10(time) - low) / (high - low)

    def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
        return f'<line x1="{x1:.1f}" y1="{SIZE - y1:.1f}" x2="{x2:.1f}" y2="{SIZE - y2:.1f}" {style}/>'

    def text(x: float, y: float, words: str, more: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'

    box = f'width="{SIZE}" height="{SIZE}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-size="10" font-family="sans-serif">']
    parts.append(f'<rect width="{SIZE}" height="{SIZE}" fill="white"/>')
    for power in range(low, high + 1):
        at = place(10.0**power)
        parts.append(
            line(at, MARGIN, at, SIZE - MARGIN, 'stroke="#ddd"') + line(MARGIN, at, SIZE - MARGIN, at, 'stroke="#ddd"')
        )
        parts.append(text(at - 6, SIZE - MARGIN + 14, f"1e{power}") + text(8, SIZE - at + 3, f"1e{power}"))
    for factor, style in ((1, "#000"), (1.15, "#aaa"), (1 / 1.15, "#aaa")):
        shift = room * math.log10(factor) / (high - low)
        parts.append(line(MARGIN, MARGIN + shift, SIZE - MARGIN, SIZE - MARGIN + shift, f'stroke="{style}"'))
    for number, family in enumerate(sorted({each.measurement.family for each in chosen})):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(text(MARGIN + 8, MARGIN + 14 + 12 * number, family, f'fill="{colour}"'))
        for each in chosen:
            if each.measurement.family == family:
                x, y = place(each.measurement.measured_us), place(each.predicted_us)
                parts.append(f'<circle cx="{x:.1f}" cy="{SIZE - y:.1f}" r="1.8" fill="{colour}" fill-opacity="0.6"/>')
    parts.append(text(MARGIN, 20, f"{title}: predicted over measured, us") + "</svg>")
    path.write_text("\n".join(parts) + "\n")


@click.command(help=__doc__)
@click.option("--folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=COMMITTED)
@click.option("--document", type=click.Path(path_type=Path, dir_okay=False))
def main(folder: Path, document: Path | None) -> None:
    table = "| file | constants from it | rows | priced | median error | 90th percentile | bias |\n"
    table += "|---|---|---:|---:|---:|---:|---:|\n"
    plots = ""
    for name, (arch, constants) in FILES.items():
        path = path_of(folder, name)
        if not path.exists():
            table += f"| {name} | {constants} | not measured here | | | | |\n"
            continue
        priced, left = price(read(path, arch))
        table += _line(name, constants, summarise([each.error for each in priced], len(priced) + len(left)))
        families = by_family(priced)
        if len(families) > 1:
            table += "".join(_line("", family, summary) for family, summary in families.items())
        if document is not None:
            image = document.parent / "images" / f"cost_{Path(name).stem}.svg"
            image.parent.mkdir(exist_ok=True)
            _plot(Path(name).stem, priced, image)
            plots += f"![{Path(name).stem}](images/{image.name})\n"
    unseen = _unseen(folder)
    if document is None:
        Console().print(table, unseen, markup=False)
        return
    write_between_marks(document, "figures", f"{table}\n{plots}")
    write_between_marks(document, "unseen", unseen)


if __name__ == "__main__":
    main()
