"""Times a user's first calls beside inductor and eager torch, in docs/benchmarks.md: ``make bench-first-call``.

Every figure comes from fresh processes: a cold one, whose caches on disk are empty, and a second one, which finds what
the first one left. The ways take turns, and each round has caches of its own. Figures are medians over the rounds.
The package has its bytecode, as an installed one and torch have.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.tables import write_between_marks

ROOT = Path(__file__).resolve().parents[1]
MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {}
"""Functions by name of the model, which return it in float32, with random weights, and its input."""


def _model(name: str) -> Callable[[Callable[[], tuple[Any, Any]]], Callable[[], tuple[Any, Any]]]:
    return lambda make: MODELS.setdefault(name, make)


@_model("Llama, 30 layers, 1 x 64")
def _llama() -> tuple[Any, Any]:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from benchmarks.emulator_models import Only

    sizes = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "vocab_size": 1024}
    config = LlamaConfig(**sizes, num_attention_heads=9, num_key_value_heads=3)
    return Only(LlamaForCausalLM(config), "logits", use_cache=False), torch.arange(64)[None]


@_model("BERT, 12 layers, 1 x 64")
def _bert() -> tuple[Any, Any]:
    import torch
    from transformers import BertConfig, BertModel

    from benchmarks.emulator_models import Only

    return Only(BertModel(BertConfig()), "last_hidden_state"), torch.arange(64)[None]


@_model("ResNet-50, 1")
def _resnet() -> tuple[Any, Any]:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    from benchmarks.emulator_models import Only

    return Only(ResNetForImageClassification(ResNetConfig()), "logits"), torch.randn(1, 3, 224, 224)


WAYS = ("tt", "inductor", "eager")
CALLS = 8
STEADY = slice(3, CALLS)
"""The calls whose median is the time of a later call."""


def serve(model: str, way: str) -> dict[str, Any]:
    """Makes the first calls of a model in this process; returns seconds of wall clock and of processor time."""
    begin = _now()
    import torch

    if way == "tt":
        import tt_torch  # noqa: F401
    if way == "inductor":
        import torch._inductor.compile_fx
    imported = _now()
    torch.manual_seed(0)
    device = "tt" if way == "tt" else "cpu"
    module, x = MODELS[model]()
    function, x = module.eval().to(device), x.to(device)
    function = function if way == "eager" else torch.compile(function, backend=way)
    calls = []
    with torch.no_grad():
        for _ in range(CALLS):
            start = _now()
            function(x).cpu()
            calls.append(_since(start))
    stages = {}
    if way == "tt":
        from tt_xla.stage_times import spent

        stages = {name: [times.wall_s, times.processor_s] for name, times in spent().items()}
    return {
        "import": [after - before for before, after in zip(begin, imported, strict=True)],
        "calls": calls,
        "stages": stages,
    }


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(start: tuple[float, float]) -> list[float]:
    return [now - before for now, before in zip(_now(), start, strict=True)]


def run(model: str, way: str, folder: Path) -> dict[str, Any]:
    """Runs :func:`serve` in a fresh process whose caches on disk are in a folder."""
    environment = os.environ | {
        "TTXLA_CACHE": str(folder / "tt"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, "-m", "benchmarks.first_call", "--serve", model, way]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{model} with {way} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(model: str, rounds: int, ways: Sequence[str]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Returns what :func:`serve` returned, by way and by ``cold`` and ``second``, one entry per round."""
    results: dict[str, dict[str, list[dict[str, Any]]]] = {way: {"cold": [], "second": []} for way in ways}
    for turn in range(rounds):
        with tempfile.TemporaryDirectory(prefix="first-call-") as folder:
            first = turn % len(ways)
            for process in ("cold", "second"):
                for way in (*ways[first:], *ways[:first]):
                    results[way][process].append(run(model, way, Path(folder)))
    return results


def _median(rounds: Sequence[Mapping[str, Any]], *path: Any) -> list[float]:
    """Returns the medians of wall clock and processor time at a place of each round's result."""
    pairs = []
    for entry in rounds:
        value: Any = entry
        for step in path:
            value = value.get(step, [0.0, 0.0]) if isinstance(value, dict) else value[step]
        pairs.append(
            [statistics.median(column) for column in zip(*value, strict=True)] if path[-1:] == (STEADY,) else value
        )
    return [statistics.median(column) for column in zip(*pairs, strict=True)]


def table(results: Mapping[str, dict[str, dict[str, list[dict[str, Any]]]]]) -> list[str]:
    """Returns the table of first calls and later ones."""
    lines = [
        "| model | process | way | import | first call | calls 4 to 8 | tt / this: first call | calls 4 to 8 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for model, of_model in results.items():
        for process in ("cold", "second"):
            cells = {
                way: [_median(of_way[process], *path) for path in (("import",), ("calls", 0), ("calls", STEADY))]
                for way, of_way in of_model.items()
            }
            for way, (imported, first, steady) in cells.items():
                ours = cells.get("tt", cells[way])
                ratios = [
                    " / ".join(f"{a / b:.2f}" for a, b in zip(mine, theirs, strict=True))
                    for mine, theirs in ((ours[1], first), (ours[2], steady))
                ]
                times = f"{_seconds(imported)} | {_seconds(first)} | {_milliseconds(steady)}"
                lines.append(f"| {model} | {process} | {way} | {times} | {' | '.join(ratios)} |")
    return lines


def stage_table(results: Mapping[str, dict[str, dict[str, list[dict[str, Any]]]]]) -> list[str]:
    """Returns the table of the stages of the first calls of ``tt``."""
    from tt_xla.stage_times import STAGES

    lines = [f"| model | process | {' | '.join(STAGES)} | others |", f"|---|---|{'---|' * (len(STAGES) + 1)}"]
    for model, of_model in results.items():
        for process in ("cold", "second") if "tt" in of_model else ():
            rounds = of_model["tt"][process]
            stages = [_median(rounds, "stages", name) for name in STAGES]
            whole = _median(rounds, "calls", 0)
            rest = [total - sum(column) for total, column in zip(whole, zip(*stages, strict=True), strict=True)]
            lines.append(f"| {model} | {process} | {' | '.join(map(_seconds, [*stages, rest]))} |")
    return lines


def _seconds(times: Sequence[float]) -> str:
    return ", ".join(f"{time:.1f} s" for time in times)


def _milliseconds(times: Sequence[float]) -> str:
    return ", ".join(f"{time * 1e3:.0f} ms" for time in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with empty caches (default 3)")
    parser.add_argument("--model", default="", help="only models whose name contains this")
    parser.add_argument("--ways", nargs="+", default=[*WAYS], choices=WAYS)
    parser.add_argument("--document", type=Path, help="write the tables into this document")
    parser.add_argument("--serve", nargs=2, metavar=("MODEL", "WAY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        print(json.dumps(serve(*arguments.serve)))
        return
    if "tt" in arguments.ways:
        compileall.compile_dir(ROOT / "src", quiet=1)
    results = {}
    for model in (model for model in MODELS if arguments.model in model):
        results[model] = measured(model, arguments.rounds, arguments.ways)
        print(*table({model: results[model]}), "", *stage_table({model: results[model]}), sep="\n", flush=True)
    if arguments.document:
        text = "\n".join([*table(results), "", *stage_table(results)])
        write_between_marks(arguments.document, "first-call", text)


if __name__ == "__main__":
    main()
