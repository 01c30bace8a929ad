"""Runs PyTorch's samples on the device ``tt``, compares with the CPU, and writes docs/conformance-torch.md.

    python -m conformance.run_torch [--judge ops|modules] [--sample N] [--ops NAME ...] [--workers N] [--no-table]

``ops`` runs op_db through torch.compile(backend="tt"). A pair is an op and a dtype that the CPU supports, of float32,
bfloat16, int64 and bool. ``modules`` runs module_db and optim_db. A pair is a module or an optimizer and a case, such
as compiled training. Numerics are ``exact``. Pairs that are declared to fail are run as well, and must fail. Special
values: run_torch_special.py.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import re
import selectors
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TABLE = ROOT / "docs" / "conformance-torch.md"
DTYPES = ("float32", "bfloat16", "int64", "bool")
TIMEOUT = 240
"""Seconds that a pair may take; a new worker replaces one that takes longer."""
SHARE = 120
"""Number of pairs that a worker process runs."""
SPECIAL_HEADING = "## Special values and shapes"
"""Heading of the document's section that run_torch_special.py writes."""
MODULES_HEADING = "## Modules and optimizers"
"""Heading of the document's section that ``--judge modules`` writes."""

Pair = tuple[str, str]
"""The name of an op and a dtype, or of a module or an optimizer and a case."""


@dataclass(frozen=True)
class Judge:
    """What is run and how the document presents it."""

    worker: str
    """Module that lists pairs and judges them."""
    columns: tuple[str, ...]
    """Dtypes, or cases: the second part of pairs."""
    known: str
    """Name of the file that declares failures, beside this module."""
    log: str
    """Name of the file of answers."""
    heading: str | None
    """Heading of the section of the document; None for its beginning."""
    introduction: str
    """Text below the heading, which has a place for the number of samples."""


JUDGES = {
    "ops": Judge(
        worker="conformance.torch_pairs",
        columns=DTYPES,
        known="torch_known_failures.toml",
        log="results.jsonl",
        heading=None,
        introduction="""\
# PyTorch's own samples of its ops through `torch.compile(backend="tt")`

Written by `make conformance-torch`. Each op of `torch.testing._internal`'s `op_db` runs forward with
numerics `exact`, tensors on the device `tt` and {samples} samples a pair.
It is compared with eager PyTorch on the CPU. A pair is an op and a dtype that the CPU supports and has
samples for. Each cell shows how many pairs pass of how many. A run fails if nothing was compiled and no op
is reported to have run on the host.""",
    ),
    "modules": Judge(
        worker="conformance.torch_modules",
        columns=("eager inference", "compiled inference", "eager training", "compiled training", "compiled step"),
        known="torch_known_modules.toml",
        log="modules.jsonl",
        heading=MODULES_HEADING,
        introduction=f"""\
{MODULES_HEADING}

Written by `make conformance-torch-modules`. Modules of `module_db` and optimizers of `optim_db` run in float32
with numerics `exact` and {{samples}} samples a case on the device `tt`, eagerly and compiled. They are compared
with the same on the CPU: outputs, buffers, and in training the gradients of inputs and parameters; for an
optimizer the losses, weights and state of three steps. Its step is compiled alone, or with the forward and the
backward pass in one function. Where an optimizer makes rounding errors larger, losses and weights may differ from
the CPU's if they are about as near to those in float64. Each cell shows how many modules or optimizers pass of how
many.""",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", choices=JUDGES, default="ops", help="op_db, or module_db and optim_db")
    parser.add_argument("--sample", type=int, default=3, help="samples of each pair; 0 for all")
    parser.add_argument("--ops", nargs="*", help="run these ops only; a name that ends with * is a prefix")
    parser.add_argument(
        "--again", action="store_true", help="run the pairs that failed last time, and keep the other results"
    )
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1), help="number of processes")
    parser.add_argument("--work", type=Path, default=Path("build/conformance-torch"), help="folder of the log")
    parser.add_argument("--no-table", action="store_true", help="do not write the document")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    judge = JUDGES[options.judge]
    pairs, families = listed(options.ops, judge.worker)
    log = options.work / judge.log
    earlier = logged(log) if options.again else {}
    earlier = {pair: result for pair, result in earlier.items() if result["outcome"] != "failed"}
    rest = [pair for pair in pairs if pair not in earlier]
    results = earlier | run_all(rest, options.sample, options.workers, log, judge.worker)
    log.write_text("".join(json.dumps(result) + "\n" for result in results.values()))
    declared = known_failures(judge)
    if not options.no_table and not options.ops:
        write_section(judge.heading, render(judge, results, families, declared, options.sample))
    passed = sum(result["outcome"] == "passed" for result in results.values())
    judged = sum(result["outcome"] != "none" for result in results.values())
    print(f"{passed} of {judged} pairs pass ({100 * passed / max(judged, 1):.2f} %)")
    wrong = mistakes(results, declared)
    if wrong:
        sys.exit("\n".join(wrong))


def listed(only: list[str] | None, worker: str = JUDGES["ops"].worker) -> tuple[list[Pair], dict[str, str]]:
    """Returns the pairs of the chosen ops, and the family of each op.

    A process of its own imports torch, which this one does not need otherwise.

    Args:
        only: names of ops, or prefixes that end with ``*``; None chooses all ops.
        worker: the module that lists the pairs.
    """
    code = f"import json; import {worker} as t; print(json.dumps([t.pairs(), t.families()]))"
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, check=True, capture_output=True, env=environment()
    ).stdout
    pairs, families = json.loads(output)
    chosen = [(op, dtype) for op, dtype in pairs if only is None or any(_matches(op, name) for name in only)]
    return chosen, families


def _matches(op: str, name: str) -> bool:
    return op.startswith(name[:-1]) if name.endswith("*") else op == name


def environment() -> dict[str, str]:
    """Returns the environment of worker processes."""
    return os.environ | {"TTXLA_NUMERICS": "exact", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


def run_all(
    pairs: list[Pair], sample: int, workers: int, log: Path, worker: str = JUDGES["ops"].worker
) -> dict[Pair, dict[str, Any]]:
    """Runs pairs in several worker processes and writes each answer to a log at once.

    Args:
        pairs: the pairs to run.
        sample: samples of each pair; 0 for all.
        workers: number of processes that run at the same time.
        log: file that receives one JSON object a line.
        worker: the worker's module.

    Returns:
        The answers by pair.
    """
    shares = [pairs[i : i + SHARE] for i in range(0, len(pairs), SHARE)]
    results: dict[Pair, dict[str, Any]] = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool, log.open("w") as file:
        for answers in pool.map(lambda share: run_share(share, sample, worker), shares):
            for answer in answers:
                results[answer["op"], answer["dtype"]] = answer
                file.write(json.dumps(answer) + "\n")
            file.flush()
    return results


def logged(log: Path) -> dict[Pair, dict[str, Any]]:
    """Returns the answers that an earlier run wrote to its log, by pair."""
    return {(answer["op"], answer["dtype"]): answer for answer in map(json.loads, log.read_text().splitlines())}


def run_share(pairs: list[Pair], sample: int, module: str = JUDGES["ops"].worker) -> list[dict[str, Any]]:
    """Returns one worker's answers in the order of the pairs.

    A worker that dies or hangs fails the pair that it was running; a new worker takes the pairs after it.
    """
    answers: list[dict[str, Any]] = []
    while len(answers) < len(pairs):
        command = [sys.executable, "-m", module, str(sample)]
        with subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        ) as worker:
            assert worker.stdin
            assert worker.stdout
            for op, dtype in pairs[len(answers) :]:
                try:
                    worker.stdin.write(f"{op} {dtype}\n")
                    worker.stdin.flush()
                except BrokenPipeError:
                    break
                answer = _answer(worker, TIMEOUT)
                if isinstance(answer, str):
                    answers.append({"op": op, "dtype": dtype, "outcome": "failed", "reason": answer, "host": []})
                    break
                answers.append(answer)
            worker.kill()
    return answers


def _answer(worker: subprocess.Popen[str], timeout: float) -> dict[str, Any] | str:
    """Returns a worker's next answer, or the reason why there is none."""
    assert worker.stdout
    with selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        if not selector.select(timeout):
            return f"no answer within {timeout} seconds"
    line = worker.stdout.readline()
    return json.loads(line) if line else f"the process died with code {worker.wait()}"


def known_failures(judge: Judge = JUDGES["ops"]) -> dict[Pair, str]:
    """Returns the reasons of a judge's declared failures, by pair."""
    reasons: dict[Pair, str] = {}
    for group in tomllib.loads((HERE / judge.known).read_text()).get("failure", []):
        for pair in group["pairs"]:
            op, _, dtype = pair.rpartition(":")
            reasons[op, dtype] = group["reason"]
    return reasons


def mistakes(results: dict[Pair, dict[str, Any]], declared: dict[Pair, str]) -> list[str]:
    """Returns a line for each result that contradicts the declared failures."""
    wrong: list[str] = []
    for (op, dtype), result in results.items():
        failed = result["outcome"] == "failed"
        if failed and (op, dtype) not in declared:
            wrong.append(f"{op} {dtype} failed: {result['reason'].splitlines()[0][:200]}")
        if not failed and (op, dtype) in declared:
            wrong.append(f"{op} {dtype} passed, and is declared to fail")
    return wrong


def with_section(text: str, heading: str | None, section: str) -> str:
    """Returns the document with a section replaced.

    Args:
        text: the document.
        heading: :data:`SPECIAL_HEADING` or :data:`MODULES_HEADING`, with which the section starts; None for what stands
            before these sections.
        section: the new text of the section.
    """
    before, *rest = re.split(f"^(?={SPECIAL_HEADING}$|{MODULES_HEADING}$)", text, flags=re.MULTILINE)
    sections = {None: before} | {part.partition("\n")[0]: part for part in rest} | {heading: section}
    texts = [sections[name] for name in (None, SPECIAL_HEADING, MODULES_HEADING) if name in sections]
    return "\n".join(part.rstrip("\n") + "\n" for part in texts)


def write_section(heading: str | None, section: str) -> None:
    """Replaces a section of the document; see :func:`with_section`."""
    TABLE.write_text(with_section(TABLE.read_text(), heading, section))


def render(
    judge: Judge,
    results: dict[Pair, dict[str, Any]],
    families: dict[str, str],
    declared: dict[Pair, str],
    sample: int,
) -> str:
    """Returns the section of the document with a judge's results."""
    counts: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    on_host: dict[str, set[str]] = collections.defaultdict(set)
    for (op, dtype), result in results.items():
        for row in (families[op], "all"):
            for column in (dtype, "all"):
                counts[row, column][result["outcome"]] += 1
        for name in result["host"]:
            on_host[name].add(op)
    rows = sorted({row for row, _ in counts} - {"all"})
    level = "##" if judge.heading is None else "###"
    lines = [
        *judge.introduction.format(samples=f"at most {sample}" if sample else "all").splitlines(),
        "",
        f"| family | {' | '.join(judge.columns)} | all | share |",
        "|---" * (len(judge.columns) + 3) + "|",
    ]
    for row in [*rows, "all"]:
        cells = [counts[row, column] for column in (*judge.columns, "all")]
        judged = [cell["passed"] + cell["failed"] for cell in cells]
        texts = [
            f"{cell['passed']} / {total}" if total or judge.heading is None else ""
            for cell, total in zip(cells, judged, strict=True)
        ]
        lines.append(f"| {row} | {' | '.join(texts)} | {100 * cells[-1]['passed'] / max(judged[-1], 1):.1f} % |")
    lines += [
        "",
        f"{level} Declared to fail",
        "",
        f"These pairs are run, and must fail (`conformance/{judge.known}`).",
        "",
    ]
    reasons: dict[str, list[str]] = collections.defaultdict(list)
    for (op, dtype), reason in declared.items():
        reasons[reason].append(f"`{op}` {dtype}")
    lines += [f"- {reason}: {', '.join(names)}." for reason, names in reasons.items()] or ["None."]
    lines += [
        "",
        f"{level} On the host",
        "",
        "These ops have no lowering. They run in PyTorch on the host, between two programs:",
        "",
    ]
    lines += [", ".join(f"`{name}`" for name in sorted(on_host)) + "." if on_host else "None.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
