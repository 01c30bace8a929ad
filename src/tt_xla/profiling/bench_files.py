"""Files of a benchmark: the table of ops with signposts at each step, timeline, figures, bar chart and page."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

from tt_xla.errors import EmptyRecordingError
from tt_xla.log import logger
from tt_xla.profiling.bench import Bench, OpLine, Spread
from tt_xla.profiling.chrome_trace import write_trace
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.micro_steps import find_micro_steps
from tt_xla.profiling.ops_csv import write_ops
from tt_xla.profiling.profile import TRACE_NAME
from tt_xla.profiling.reading import read_table
from tt_xla.profiling.recording import Recording, Signpost
from tt_xla.profiling.report import write_report
from tt_xla.profiling.steps import Step, find_steps, steady
from tt_xla.profiling.svg import PALETTE

CSV_NAME = "ops_perf_results.csv"
JSON_NAME = "bench.json"
HTML_NAME = "bench.html"
CHART_NAME = "stacked.png"

_MEASURED = {
    "emulated": "measured here, with emulation",
    "ttnn": "measured here, on TT-NN",
    "ttnn-mock": "measured here, in TT-NN's mock mode",
}
"""The name of the time by this machine's clock, for each value of ``TTXLA_RUNTIME``."""


def write_all(folder: Path, recording: Recording, result: Bench) -> None:
    """Writes all files of a benchmark into an existing folder."""
    steps = find_steps(recording)
    mark_steps(recording, steps)
    kernel_calls = kernels(recording)
    write_ops(folder / CSV_NAME, recording.signposts, {0: kernel_calls})
    write_trace(folder / TRACE_NAME, recording, kernel_calls)
    (folder / JSON_NAME).write_text(json.dumps(result.as_dict(), indent=1) + "\n")
    last = steady(steps)[-1]
    table = read_table(folder / CSV_NAME, f"{last.name}_start", f"{last.name}_end")
    write_report(folder / HTML_NAME, table, summary(result), [f"{result.verdict}: {'; '.join(result.reasons)}."])
    if importlib.util.find_spec("matplotlib") is None:
        logger().warning(
            "%s is not written, because matplotlib is missing. `pip install matplotlib` installs it.", CHART_NAME
        )
    else:
        write_chart(folder / CHART_NAME, result.ops)


def write_partial(folder: Path, recording: Recording) -> bool:
    """Writes the table of ops and a page for a recording without steady steps.

    Returns:
        Whether the recording has kernel calls; otherwise nothing is written.
    """
    kernel_calls = kernels(recording)
    if not kernel_calls:
        return False
    with contextlib.suppress(EmptyRecordingError):
        mark_steps(recording, find_steps(recording))
    write_ops(folder / CSV_NAME, recording.signposts, {0: kernel_calls})
    write_trace(folder / TRACE_NAME, recording, kernel_calls)
    with contextlib.suppress(EmptyRecordingError):
        write_report(folder / HTML_NAME, read_table(folder / CSV_NAME))
    return True


def mark_steps(recording: Recording, steps: Sequence[Step]) -> None:
    """Adds signposts at the start and end of each step and micro-step, where the procedure puts them in the script."""
    for step in [*steps, *find_micro_steps(recording, steps)]:
        recording.signposts += [
            Signpost(f"{step.name}_start", "", step.start),
            Signpost(f"{step.name}_end", "", step.end - 1),  # the next step may start at the end of this one
        ]


def summary(result: Bench) -> list[tuple[str, str]]:
    """Returns names and values of the main figures, most important first: the chip's time before the host's."""
    kinds = " / ".join(f"{result.categories[name]:.0f}" for name in ("Compute", "TM", "CCL", "Other"))
    percent_of_peak = result.matmul_utilisation
    reached = "none in the step" if percent_of_peak is None else f"{percent_of_peak:.1f} % of peak FLOPs"
    return [
        ("time of a step on the chip, predicted", f"{result.card_ms:.3f} ms"),
        ("ops / gaps between them, predicted", f"{result.device_ms:.3f} / {result.gaps_ms:.3f} ms"),
        ("chip and this machine's host work", _spread(result.wall_ms)),
        *_passes(result),
        ("overhead: all but ops", f"{result.overhead_percent:.1f} %"),
        ("overhead an op", f"{result.dispatch_us:.1f} us"),
        ("ops a step", str(result.op_count)),
        ("compute / TM / CCL / other", f"{kinds} % of the ops' time"),
        *_communication(result),
        ("matrix products", reached),
        ("verdict", result.verdict),
        (_MEASURED.get(result.runtime, "measured here"), _spread(result.measured_ms)),
        ("steady / compile steps", f"{result.steps} / {result.compile_steps}"),
    ]


def _spread(times: Spread) -> str:
    return f"{times.median:.3f} ms (mean {times.mean:.3f}, {times.min:.3f} to {times.max:.3f})"


def _passes(result: Bench) -> list[tuple[str, str]]:
    """Returns names and values of figures about forward and backward passes; none for a script without them."""
    times = result.micro_steps
    if times is None:
        return []
    figures = [("micro-steps a step", f"{times.per_step:g}")] if times.per_step != 1 else []
    figures.append(("forward and backward, chip and host", f"{times.wall_ms.median:.3f} ms"))
    if times.forward_ms and times.backward_ms:
        figures.append(("forward / backward", f"{times.forward_ms.median:.3f} / {times.backward_ms.median:.3f} ms"))
    return figures


def _communication(result: Bench) -> list[tuple[str, str]]:
    """Returns names and values of figures about exchanges between chips; none without exchanges."""
    if not result.links:
        return []
    share = 100 * result.communication_ms / result.device_ms if result.device_ms else 0.0
    figures = [("communication, predicted", f"{result.communication_ms:.3f} ms, {share:.1f} % of the ops' time")]
    for line in result.links:
        narrowest = f", narrowest {'-'.join(map(str, line.narrowest))}" if line.narrowest else ""
        figures.append((f"axis {line.axis}", f"{line.device_us / 1e3:.3f} ms, {line.links}{narrowest}"))
    return figures


def write_chart(path: Path, ops: Sequence[OpLine]) -> None:
    """Writes a stacked bar of device time by op as a PNG; ops below 2 % form one part."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    by_code: dict[str, float] = {}
    for line in ops:
        name = line.code.split()[0]
        by_code[name] = by_code.get(name, 0.0) + line.device_us
    total = sum(by_code.values()) or 1.0
    large = {name: us for name, us in by_code.items() if us >= 0.02 * total}
    if len(large) < len(by_code):
        large["others"] = total - sum(large.values())
    figure = Figure(figsize=(6, 7))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    bottom = 0.0
    for number, (name, us) in enumerate(sorted(large.items(), key=lambda item: -item[1])):
        axes.bar(0, us, 0.5, bottom, color=PALETTE[number % len(PALETTE)], label=f"{name}: {100 * us / total:.1f} %")
        bottom += us
    axes.set_xlim(-0.4, 1.4)
    axes.set_xticks([])
    axes.set_ylabel("predicted device time of a step, us")
    axes.set_title(f"{total:.0f} us in {sum(line.count for line in ops)} ops")
    axes.legend(loc="center right", frameon=False)
    figure.savefig(path, dpi=120)
