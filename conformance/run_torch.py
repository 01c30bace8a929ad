"""Runs PyTorch's op_db through torch.compile(backend="tt"), compares with eager, and writes docs/conformance-torch.md.

    python conformance/run_torch.py [--sample N] [--ops NAME ...] [--workers N] [--no-table]

The pairs are ops and dtypes that the CPU supports, for float32, bfloat16, int64 and bool; numerics are ``exact``. Those
in torch_known_failures.toml are run as well, and must fail.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import selectors
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLE = HERE.parent / "docs" / "conformance-torch.md"
KNOWN = HERE / "torch_known_failures.toml"
DTYPES = ("float32", "bfloat16", "int64", "bool")
TIMEOUT = 240
"""Seconds a pair may take; the worker starts anew after one that takes longer."""
SHARE = 120
"""Pairs that a worker takes at a time."""

Pair = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=3, help="samples a pair; 0 for all")
    parser.add_argument("--ops", nargs="*", help="these ops alone; prefixes end with *")
    parser.add_argument("--again", action="store_true", help="run what failed last time, keep the other results")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--work", type=Path, default=Path("build/conformance-torch"))
    parser.add_argument("--no-table", action="store_true", help="write no document")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    pairs, families = listed(given.ops)
    log = given.work / "results.jsonl"
    kept = (
        {pair: result for pair, result in logged(log).items() if result["outcome"] != "failed"} if given.again else {}
    )
    results = kept | run_all([pair for pair in pairs if pair not in kept], given.sample, given.workers, log)
    log.write_text("".join(json.dumps(result) + "\n" for result in results.values()))
    declared = known_failures()
    if not given.no_table and not given.ops:
        TABLE.write_text(render(results, families, declared, given.sample))
    passed = sum(result["outcome"] == "passed" for result in results.values())
    judged = sum(result["outcome"] != "none" for result in results.values())
    print(f"{passed} of {judged} pairs pass ({100 * passed / max(judged, 1):.2f} %)")
    wrong = mistakes(results, declared)
    if wrong:
        sys.exit("\n".join(wrong))


def listed(only: list[str] | None) -> tuple[list[Pair], dict[str, str]]:
    """The pairs, and the family of each op; asked of a process, as torch is slow to import here for nothing else."""
    code = (
        "import json, torch_pairs as t; print(json.dumps([t.pairs(), {t.full_name(o): t.family(o) for o in t.op_db}]))"
    )
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=HERE, check=True, capture_output=True, env=environment()
    ).stdout
    pairs, families = json.loads(output)
    chosen = [(op, dtype) for op, dtype in pairs if only is None or any(_matches(op, name) for name in only)]
    return chosen, families


def _matches(op: str, name: str) -> bool:
    return op.startswith(name[:-1]) if name.endswith("*") else op == name


def environment() -> dict[str, str]:
    return os.environ | {"TTXLA_NUMERICS": "exact", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


def run_all(pairs: list[Pair], sample: int, workers: int, log: Path) -> dict[Pair, dict[str, Any]]:
    """Results by pair, from several worker processes; each is in the log as soon as it is there."""
    shares = [pairs[i : i + SHARE] for i in range(0, len(pairs), SHARE)]
    results: dict[Pair, dict[str, Any]] = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool, log.open("w") as file:
        for answers in pool.map(lambda share: run_share(share, sample), shares):
            for answer in answers:
                results[answer["op"], answer["dtype"]] = answer
                file.write(json.dumps(answer) + "\n")
            file.flush()
    return results


def logged(log: Path) -> dict[Pair, dict[str, Any]]:
    """The results that a run has left."""
    return {(answer["op"], answer["dtype"]): answer for answer in map(json.loads, log.read_text().splitlines())}


def run_share(pairs: list[Pair], sample: int) -> list[dict[str, Any]]:
    """The answers of one worker; one that dies or hangs costs the pair it was at, and a new worker takes the rest."""
    answers: list[dict[str, Any]] = []
    while len(answers) < len(pairs):
        command = [sys.executable, str(HERE / "torch_pairs.py"), str(sample)]
        with subprocess.Popen(
            command,
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
    """One line of a worker, or why there is none."""
    assert worker.stdout
    with selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        if not selector.select(timeout):
            return f"no answer within {timeout} seconds"
    line = worker.stdout.readline()
    return json.loads(line) if line else f"the process died with code {worker.wait()}"


def known_failures() -> dict[Pair, str]:
    """Reasons by pair."""
    found: dict[Pair, str] = {}
    for group in tomllib.loads(KNOWN.read_text()).get("failure", []):
        for pair in group["pairs"]:
            op, _, dtype = pair.rpartition(":")
            found[op, dtype] = group["reason"]
    return found


def mistakes(results: dict[Pair, dict[str, Any]], declared: dict[Pair, str]) -> list[str]:
    """What contradicts the declared failures."""
    wrong: list[str] = []
    for (op, dtype), result in results.items():
        failed = result["outcome"] == "failed"
        if failed and (op, dtype) not in declared:
            wrong.append(f"{op} {dtype} failed: {result['reason'].splitlines()[0][:200]}")
        if not failed and (op, dtype) in declared:
            wrong.append(f"{op} {dtype} passed, and is declared to fail")
    return wrong


def render(
    results: dict[Pair, dict[str, Any]], families: dict[str, str], declared: dict[Pair, str], sample: int
) -> str:
    counts: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    on_host: dict[str, set[str]] = collections.defaultdict(set)
    for (op, dtype), result in results.items():
        for row in (families[op], "all"):
            for column in (dtype, "all"):
                counts[row, column][result["outcome"]] += 1
        for name in result["host"]:
            on_host[name].add(op)
    rows = sorted({row for row, _ in counts} - {"all"})
    lines = [
        '# PyTorch\'s own samples of its ops through `torch.compile(backend="tt")`',
        "",
        "Written by `make conformance-torch`: `torch.testing._internal`'s `op_db`, forward, numerics `exact`, tensors",
        f"on the device `tt`, {f'at most {sample} samples a pair' if sample else 'all samples'}, beside eager PyTorch",
        "on the CPU. A pair is an op and a dtype that the CPU supports and has samples for; a cell says how many pairs",
        "pass of how many. A run in which nothing was compiled, and no op is reported to have run on the host, fails.",
        "",
        f"| family | {' | '.join(DTYPES)} | all | share |",
        "|---" * (len(DTYPES) + 3) + "|",
    ]
    for row in [*rows, "all"]:
        cells = [counts[row, column] for column in (*DTYPES, "all")]
        judged = [cell["passed"] + cell["failed"] for cell in cells]
        texts = [f"{cell['passed']} / {total}" for cell, total in zip(cells, judged, strict=True)]
        lines.append(f"| {row} | {' | '.join(texts)} | {100 * cells[-1]['passed'] / max(judged[-1], 1):.1f} % |")
    lines += [
        "",
        "## Declared to fail",
        "",
        "These are run, and have to fail (`conformance/torch_known_failures.toml`).",
        "",
    ]
    reasons: dict[str, list[str]] = collections.defaultdict(list)
    for (op, dtype), reason in declared.items():
        reasons[reason].append(f"`{op}` {dtype}")
    lines += [f"- {reason}: {', '.join(found)}." for reason, found in reasons.items()] or ["None."]
    lines += [
        "",
        "## On the host",
        "",
        "Ops without a lowering, which run in PyTorch on the host between two programs:",
        "",
    ]
    lines += [", ".join(f"`{name}`" for name in sorted(on_host)) + "." if on_host else "None.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
