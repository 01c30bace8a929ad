"""Runs PyTorch's op_db with special values and shapes, and writes a section of docs/conformance-torch.md.

    python -m conformance.run_torch_special [--sample N] [--dtypes float32 ...] [--ops NAME ...] [--workers N]

The cases and what has to agree: special_values.py. Differences that torch_known_special.toml declares are run as well,
and must still be there.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

from conformance.run_torch import DTYPES, HERE, SPECIAL_HEADING, Pair, listed, run_all, write_section

KNOWN = HERE / "torch_known_special.toml"
WORKER = "conformance.special_values"
CASES = ("nan", "infinity", "zero", "ties", "empty", "empty last", "0-dim")
DESCRIPTIONS = {
    "nan": "NaN in every fifth element of each float tensor",
    "infinity": "infinities of both signs",
    "zero": "zeros of both signs, and denormal numbers",
    "ties": "few values, each many times",
    "empty": "every tensor with no elements along its first dimension",
    "empty last": "the same along its last dimension",
    "0-dim": "every tensor reduced to a 0-dim tensor of its first element",
}

Case = tuple[str, str, str]
"""The name of an op, a dtype and a case."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=2, help="samples of each pair whose values are changed")
    parser.add_argument("--dtypes", nargs="*", default=["float32"], choices=DTYPES, help="dtypes of the samples")
    parser.add_argument("--ops", nargs="*", help="run these ops only; a name that ends with * is a prefix")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1), help="number of processes")
    parser.add_argument("--work", type=Path, default=Path("build/conformance-torch"), help="folder of the log")
    parser.add_argument("--no-table", action="store_true", help="do not write the document")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    pairs, _ = listed(options.ops)
    pairs = [pair for pair in pairs if pair[1] in options.dtypes]
    answers = run_all(pairs, options.sample, options.workers, options.work / "special.jsonl", WORKER)
    results = by_case(answers)
    declared = {case: reason for case, reason in known_differences().items() if case[1] in options.dtypes}
    if not options.no_table and not options.ops:
        write_section(SPECIAL_HEADING, render(results, declared, options.dtypes))
    counts = collections.Counter(result["outcome"] for result in results.values())
    judged = counts["passed"] + counts["failed"]
    print(f"{counts['passed']} of {judged} cases pass ({100 * counts['passed'] / max(judged, 1):.2f} %)")
    wrong = mistakes(results, declared, set(pairs))
    if wrong:
        sys.exit("\n".join(wrong))


def by_case(answers: dict[Pair, dict[str, Any]]) -> dict[Case, dict[str, str]]:
    """Returns outcome, reason and sample by case; a process that ended fails each of its cases."""
    results: dict[Case, dict[str, str]] = {}
    for (op, dtype), answer in answers.items():
        for case in CASES:
            results[op, dtype, case] = answer["cases"][case] if "cases" in answer else answer
    return results


def known_differences() -> dict[Case, str]:
    """Returns the reasons of declared differences."""
    reasons: dict[Case, str] = {}
    for group in tomllib.loads(KNOWN.read_text()).get("difference", []):
        for text in group["cases"]:
            op, dtype, case = text.split(":")
            for name in case.split("+"):
                if (op, dtype, name) in reasons:
                    raise ValueError(f"{KNOWN.name} declares {op}:{dtype}:{name} twice")
                reasons[op, dtype, name] = group["reason"]
    return reasons


def mistakes(results: dict[Case, dict[str, str]], declared: dict[Case, str], ran: set[Pair]) -> list[str]:
    """Returns a line for each case that contradicts the declared differences."""
    wrong = [
        f"{':'.join(case)} differs: {result['reason'].splitlines()[0][:200]}"
        for case, result in results.items()
        if result["outcome"] == "failed" and case not in declared
    ]
    for case in declared:
        if case[:2] in ran and results[case]["outcome"] != "failed":
            wrong.append(f"{':'.join(case)} agrees with PyTorch, and is declared to differ")
    return wrong


def render(results: dict[Case, dict[str, str]], declared: dict[Case, str], dtypes: list[str]) -> str:
    """Returns the document's section: a table of cases by dtype, and the declared differences."""
    counts: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for (_, dtype, case), result in results.items():
        counts[case, dtype][result["outcome"]] += 1
    lines = [
        SPECIAL_HEADING,
        "",
        "Written by `make conformance-torch-special`. Samples of `op_db` run with special values in their float",
        "tensors, or with other shapes. The compiled op must have eager PyTorch's NaN positions, infinities, shapes",
        "and dtypes, the sign of a zero where IEEE 754 or PyTorch defines it, values within the usual tolerance, and",
        "an error where eager PyTorch raises one. Each cell shows how many ops pass of those that can be judged.",
        "",
        f"| case | inputs | {' | '.join(dtypes)} |",
        "|---" * (len(dtypes) + 2) + "|",
    ]
    for case in CASES:
        cells = [counts[case, dtype] for dtype in dtypes]
        texts = [f"{cell['passed']} / {cell['passed'] + cell['failed']}" for cell in cells]
        lines.append(f"| {case} | {DESCRIPTIONS[case]} | {' | '.join(texts)} |")
    lines += [
        "",
        "### Declared differences",
        "",
        f"These cases are run, and must still differ (`conformance/{KNOWN.name}`).",
        "",
    ]
    names: dict[str, dict[str, list[str]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for (op, dtype, case), reason in declared.items():
        names[reason][f"{op}` {dtype}"].append(case)
    for reason, cases in names.items():
        text = ", ".join(f"`{op} ({', '.join(cases_of_op)})" for op, cases_of_op in cases.items())
        lines.append(f"- {reason}: {text}.")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
