"""Runs StableHLO's own self-checking programs on the emulated card and writes a table of the outcomes.

    make conformance-stablehlo STABLEHLO=path/to/openxla/stablehlo

``stablehlo/testdata/*.mlir`` contains programs from JAX with functions ``@inputs`` and ``@expected``.
``tests/interpret/*.mlir`` contains one function a case, with ``check`` ops. The runner turns the inputs into arguments,
so the compiler knows no more about them than about a user's. Integers must be equal. Floats must agree within the
precision of their type, or of float32 for wider types. This repository contains none of the programs.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from tt_xla import host
from tt_xla.compiler.pipeline import compile_module
from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.emulator.kernels.host import from_numpy, to_numpy
from tt_xla.target import load_target

TOLERANCES = {"f64": 1e-5, "f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2, "complex<f32>": 1e-4, "complex<f64>": 1e-4}
"""Tolerance relative to each value, and a tenth of it relative to the largest value. f64 is f32 on the card."""

_TYPE = r"(tensor<[^\n]*>)"
CHECK_CONSTANT = re.compile(rf"(check\.expect_\w+_const) (%[\w#]+),\s*(dense<.*?>)\s*: {_TYPE}", re.S)
CHECK = re.compile(rf"(check\.expect_\w+) (%[\w#]+),\s*(%[\w#]+)\s*: {_TYPE}")
"""Ops of the ``check`` dialect, which jaxlib lacks; they are rewritten to the generic form."""


_SEVERAL = "the program needs several devices, or a host that sends and receives; programs run on one chip here"
_QUANTISED = "jaxlib's Python bindings lack the quant dialect, so the program cannot be read"
_INTERPRETER = "the program tests ops of the reference interpreter itself"
_F64 = "the card computes float64 as float32: arguments round across a step or near a pole, and large results overflow"
_BITS = "the card holds float64 as float32, so the original bits are lost and the program is refused"
_XLA = "neither the chip nor XLA's CPU compiler has the op, so the program is refused"
_SIX_BITS = "XLA has no 6-bit floats, so the program is refused"
_COMPLEX_ORDER = "XLA orders complex numbers differently from StableHLO, so the program is refused"
_NAN_ORDER = "TT-NN does not define where NaN is sorted; here NaN is greater than every number, whatever its sign"

DECLARED = {
    r"^testdata/quantized/|^interpret/quantized_ops/": _QUANTISED,
    r"^interpret/(all_gather|all_reduce|all_to_all|collective_\w+|infeed|outfeed|partition_id)/": _SEVERAL,
    r"^interpret/(reduce_scatter|replica_id|send_recv)/": _SEVERAL,
    r"^interpret/(check/[2-9]|printing/|probe/|sort/1$)": _INTERPRETER,
    r"^testdata/(digamma|tan)_float64|^interpret/(ceil|floor|power|tan)/\d+:\w+_f64$": _F64,
    r"^testdata/bitcast_convert_type_float64|^interpret/bitcast_convert/2:bitcast_convert_op_test_f64": _BITS,
    r"^interpret/(ragged_dot/|cbrt/\d+:cbrt_op_test_c128|bitcast_convert/\d+:\w+_i1_to_i64)": _XLA,
    r"^interpret/constant/1[34]$": _SIX_BITS,
    r"^interpret/(maximum|minimum)/\d+:\w+_c(64|128)$": _COMPLEX_ORDER,
    r"^testdata/top_k_float32_5_chlo$": _NAN_ORDER,
}
"""Reasons of expected failures, by a pattern of names. A program that passes although it is listed is an error, too."""


@dataclass
class Outcome:
    name: str
    op: str
    status: str
    """``card``, ``host`` (passes with ops on the host), ``refused`` (an error says why), ``wrong`` or ``unread``."""
    detail: str = ""
    host_ops: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass
class Case:
    """A program whose results must equal ``expected``."""

    module: Any
    inputs: list[Any]
    expected: list[Any]
    types: list[str]


def from_testdata(text: str) -> Case:
    """Returns ``@main`` with the results of ``@inputs`` as arguments, and the checked values as results."""
    module: Any = ir.Module.parse(text)
    functions = {op.name.value: op for op in module.body.operations}
    main = functions["main"]
    block = main.entry_block
    calls = {op.attributes["callee"].value: op for op in block.operations if op.operation.name == "func.call"}
    expected = run_on_cpu(module, "expected")
    inputs = run_on_cpu(module, "inputs") if "inputs" in functions else []
    if "inputs" in calls:
        for result in calls["inputs"].results:
            result.replace_all_uses_with(block.add_argument(result.type, ir.Location.unknown()))
        calls["inputs"].operation.erase()
    else:
        inputs = []
    checked_values, _ = _checked(block)
    _returns(main, checked_values)
    for name in ("inputs", "expected"):
        if name in calls and name == "expected":
            calls[name].operation.erase()
        if name in functions:
            functions[name].operation.erase()
    types = [str(value.type.element_type) for value in checked_values]
    return Case(module, inputs, expected, types)


def from_interpret(text: str) -> Iterator[tuple[str, Case]]:
    """Yields name and case of each function that has no arguments and contains a check."""
    text = CHECK_CONSTANT.sub(
        lambda m: (
            f"%expected{m.start()} = stablehlo.constant {m[3]} : {m[4]}\n"
            f'"{m[1]}"({m[2]}, %expected{m.start()}) : ({m[4]}, {m[4]}) -> ()'
        ),
        text,
    )
    text = CHECK.sub(r'"\1"(\2, \3) : (\4, \4) -> ()', text)
    names = [f.name.value for f in ir.Module.parse(text).body.operations if f.operation.name == "func.func"]
    for name in names:
        module: Any = ir.Module.parse(text)
        functions = {op.name.value: op for op in module.body.operations if op.operation.name == "func.func"}
        function = functions[name]
        checked, constants = _checked(function.entry_block)
        if not checked or len(function.entry_block.arguments):
            continue
        types = [str(value.type.element_type) for value in checked]
        _returns(function, checked)
        for other in functions.values():
            other.attributes["sym_visibility"] = ir.StringAttr.get("private")
        function.attributes["sym_visibility"] = ir.StringAttr.get("public")
        if name != "main":
            for other, operation in functions.items():
                if other == "main":
                    operation.operation.erase()
            ir.SymbolTable.set_symbol_name(function, "main")
        yield name, Case(module, [], [_constant(attribute) for attribute in constants], types)


def _checked(block: Any) -> tuple[list[Any], list[Any]]:
    """Erases the checks of a block. Returns the checked values and the expected ones."""
    checked: list[Any] = []
    expected: list[Any] = []
    for op in list(block.operations):
        name = op.operation.name
        if name == "stablehlo.custom_call":
            name = str(op.attributes["call_target_name"]).strip('"')
        if not name.startswith("check.expect"):
            continue
        checked.append(op.operands[0])
        expected.append(op.operands[1])
        op.operation.erase()
    return checked, expected


def _returns(function: Any, values: list[Any]) -> None:
    block = function.entry_block
    list(block.operations)[-1].operation.erase()
    with ir.InsertionPoint(block), ir.Location.unknown():
        func.ReturnOp(values)
    types = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [v.type for v in values]))
    for name in ("res_attrs", "arg_attrs"):
        if name in function.attributes:
            del function.attributes[name]


def run_on_cpu(module: Any, name: str) -> list[Any]:
    """Returns the results of a function without arguments, computed by XLA on the CPU."""
    copy: Any = ir.Module.parse(module.operation.get_asm())
    for function in list(copy.body.operations):
        if function.name.value == name:
            ir.SymbolTable.set_symbol_name(function, "main")
            function.attributes["sym_visibility"] = ir.StringAttr.get("public")
        else:
            function.operation.erase()
    return host.load(copy.operation.get_asm())([])


def _constant(value: Any) -> Any:
    text = str(value.owner).partition("stablehlo.constant ")[2]
    type_ = text.rpartition(" : ")[2]
    return host.load(f"func.func @main() -> {type_} {{ %0 = stablehlo.constant {text} return %0 : {type_} }}")([])[0]


def judge(case: Case) -> tuple[str, str, tuple[str, ...]]:
    """Runs one program and returns its status, a detail and its host ops."""
    program = compile_module(case.module, CompileOptions.parse({"numerics": "exact"}), load_target("n150"))
    executable = get_device().load(program)
    inputs = [from_numpy(value, a.dtype) for value, a in zip(case.inputs, program.arguments, strict=True)]
    results = executable.run(inputs, [None] * len(inputs))
    status = "host" if program.host_ops else "card"
    for result, reference, type_ in zip(results, case.expected, case.types, strict=True):
        message = difference(to_numpy(result, type_), reference, type_)
        if message:
            return "wrong", message, program.host_ops
    return status, "", program.host_ops


def difference(got: Any, reference: Any, type_: str) -> str:
    """Returns a description of how a result differs from the expected one; empty if they agree."""
    if got.shape != reference.shape:
        return f"shape {got.shape}, expected {reference.shape}"
    if type_ in TOLERANCES or type_.startswith("f"):
        tolerance = TOLERANCES.get(type_, 0.13)
        kind = np.complex128 if type_.startswith("complex") else np.float64
        left, right = got.astype(kind), reference.astype(kind)
        finite = np.abs(right[np.isfinite(right)])
        scale = float(finite.max()) if finite.size else 0.0
        with np.errstate(all="ignore"):
            close = np.isclose(left, right, rtol=tolerance, atol=tolerance * 0.1 * scale, equal_nan=True)
    else:
        close = np.asarray(got == reference)
    if close.all():
        return ""
    where = tuple(int(i[0]) for i in np.nonzero(~close)) if close.shape else ()
    return (
        f"{int((~close).sum())} of {close.size} differ, first at {where}: {got[where]!r}, expected {reference[where]!r}"
    )


def programs(root: Path) -> Iterator[tuple[str, str, str, Path]]:
    """Yields name, kind, op and path of each program."""
    for path in sorted((root / "stablehlo/testdata").rglob("*.mlir")):
        if "check." not in path.read_text():
            continue  # the shapes are dynamic and nothing is checked
        folder = path.parent.name
        op = re.split(r"_(?:bfloat|float|u?int|complex|bool|dtype|shape|\d)", path.stem)[0]
        yield (
            f"testdata/{path.stem}" if folder == "testdata" else f"testdata/{folder}/{path.stem}",
            "testdata",
            op,
            path,
        )
    for path in sorted((root / "stablehlo/tests/interpret").rglob("*.mlir")):
        yield f"interpret/{path.stem}", "interpret", path.stem, path


def run(root: Path, only: str = "", done: Collection[str] = ()) -> Iterator[Outcome]:
    """Yields the outcomes of programs whose name matches the expression ``only`` and is not in ``done``."""
    for name, kind, op, path in programs(root):
        if not re.search(only, name) or name in done or any(known.startswith(f"{name}/") for known in done):
            continue
        if kind == "testdata":
            yield attempt(name, op, lambda path=path: from_testdata(path.read_text()))
            continue
        for index, part in enumerate(re.split(r"^// -----.*$", path.read_text(), flags=re.M)):
            yield from _interpret_cases(f"{name}/{index}", op, part)


def _interpret_cases(name: str, op: str, text: str) -> Iterator[Outcome]:
    with host.new_mlir_context(), ir.Location.unknown():
        try:
            cases = list(from_interpret(text))
        except Exception as error:
            yield Outcome(name, op, "unread", f"{type(error).__name__}: {str(error)[:160]}")
            return
        for function, case in cases:
            yield attempt(f"{name}:{function}", op, lambda case=case: case)


def attempt(name: str, op: str, read: Any) -> Outcome:
    started = time.perf_counter()
    with host.new_mlir_context() if ir.Context.current is None else ir.Context.current, ir.Location.unknown():
        try:
            case = read()
        except Exception as error:
            return Outcome(name, op, "unread", f"{type(error).__name__}: {str(error)[:160]}")
        try:
            status, detail, host_ops = judge(case)
        except TTXLAError as error:
            status, detail, host_ops = "refused", str(error)[:300], ()
        except Exception as error:
            status, detail, host_ops = "wrong", f"crash, {type(error).__name__}: {str(error)[:200]}", ()
    return Outcome(name, op, status, detail, host_ops, time.perf_counter() - started)


def declared(name: str) -> str:
    """Returns the reason why a program is expected to fail; empty if it should pass."""
    return next((reason for pattern, reason in DECLARED.items() if re.search(pattern, name)), "")


def surprises(outcomes: list[Outcome]) -> list[str]:
    """Returns a line for each program that fails without a declaration, or passes with one."""
    messages: list[str] = []
    for outcome in outcomes:
        passed = outcome.status in ("card", "host")
        if passed and declared(outcome.name):
            messages.append(f"{outcome.name} passes; remove its declaration")
        elif not passed and not declared(outcome.name):
            messages.append(f"{outcome.status:8} {outcome.name}: {outcome.detail}")
    return messages


def report(outcomes: list[Outcome]) -> str:
    """Returns Markdown: a table of outcomes by op, then the failing programs by reason."""
    by_op: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for outcome in outcomes:
        by_op[outcome.op][outcome.status] += 1
    total = collections.Counter(outcome.status for outcome in outcomes)
    columns = ("card", "host", "refused", "wrong", "unread")
    rows = [
        f"| {op} | {' | '.join(str(count[name] or '') for name in columns)} |" for op, count in sorted(by_op.items())
    ]
    reasons = collections.defaultdict(list)
    for outcome in outcomes:
        if outcome.status not in ("card", "host"):
            reasons[declared(outcome.name) or "not declared"].append(outcome.name)
    return "\n".join(
        [
            "# StableHLO's own tests",
            "",
            "Written by `make conformance-stablehlo STABLEHLO=path/to/openxla/stablehlo`. Each self-checking program",
            "of `stablehlo/testdata` and `stablehlo/tests/interpret` is compiled at level 0 with `numerics=exact` and",
            "runs on the emulated card. The columns count programs by outcome. *card*: the program passes with every",
            "op on the chip. *host*: it passes with some ops on the host. *refused*: an error says why it cannot be",
            "compiled. *wrong*: it runs and returns another result. *unread*: jaxlib cannot read it.",
            "",
            "| op | " + " | ".join(columns) + " |",
            "|---|" + "---:|" * len(columns),
            *rows,
            f"| **all {len(outcomes)}** | " + " | ".join(str(total[name]) for name in columns) + " |",
            "",
            "## What does not pass",
            "",
            *(f"- {reason} ({len(names)}): {_listed(names)}" for reason, names in sorted(reasons.items())),
            "",
        ]
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in sorted(names)[:30])
    return shown if len(names) <= 30 else f"{shown} and {len(names) - 30} more"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a checkout of openxla/stablehlo")
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument(
        "--results", type=Path, help="file with one JSON object per program; programs in it are not run again"
    )
    parser.add_argument("--report", type=Path, help="file for the table")
    arguments = parser.parse_args()
    outcomes: list[Outcome] = []
    if arguments.results and arguments.results.exists():
        outcomes = [Outcome(**json.loads(line)) for line in arguments.results.read_text().splitlines()]
    for outcome in run(arguments.checkout, arguments.only, {outcome.name for outcome in outcomes}):
        outcomes.append(outcome)
        if arguments.results:
            with arguments.results.open("a") as file:
                file.write(json.dumps(outcome.__dict__) + "\n")
    if arguments.report:
        arguments.report.write_text(report(outcomes))
    messages = surprises(outcomes)
    print("\n".join(messages))
    print(dict(collections.Counter(outcome.status for outcome in outcomes)))
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
