"""What commands print and write: each option of ``tt-xla``, and the texts about three small programs."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from tests.golden import Goldens
from tests.reports.programs import EXACT, EXAMPLES, compiled, exact_inputs
from tests.reports.recordings import recording_of
from tests.reports.texts import lines_of
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.ops_csv import write_ops
from tt_xla.tools.cli import cli, main

pytestmark = pytest.mark.quick

MEASURED = re.compile(r"(compiled in |device time [\d.]+ us, )[\d.e-]+(?= m?s)")
"""Times of the host, after the words before them."""

COMMANDS = {
    "compile": (
        "compile mlp.mlir --level 2 --explain",
        "compile training.mlir tensor_parallel.mlir --arch n300 --json --out made",
        "compile exact.mlir --level 1 --option enable_bfp8_conversion=true",
        "compile exact.mlir --mesh 1x2 --arch n300",
        "compile exact.mlir --mesh 0x2",
        "compile exact.mlir --explain --json",
        "compile none.mlir exact.mlir",
        "compile exact.mlir --option no_such=1",
        "compile exact.mlir --option no_value",
    ),
    "estimate": (
        "estimate mlp.ttnn tensor_parallel.ttnn",
        "estimate training.ttnn --json",
        "estimate mlp.mlir",
        "estimate tensor_parallel.ttnn --target p150",
    ),
    "show": ("show mlp.ttnn", "show tensor_parallel.ttnn", "show mlp.mlir"),
    "opt": (
        "opt training.mlir --pipeline ttir --locations",
        "opt training.mlir --pipeline all --level 2 --target p150",
        "opt exact.mlir --pass ttir-fuse,ttir-cse --verify",
        "opt exact.mlir --pass no-such-pass",
        "opt exact.mlir --generic",
        "opt --list",
    ),
    "run": (
        "run exact.mlir --inputs exact.npz",
        "run exact.mlir --inputs exact.npz --json --level 2 --out results.npz",
        "run exact.mlir training.mlir --out results.npz",
        "run mlp.mlir --inputs exact.npz",
    ),
    "compare": (
        "compare exact.mlir --inputs exact.npz",
        "compare exact.mlir --inputs exact.npz --by line --json",
        "compare exact.mlir --inputs exact.npz --by layer --top 1 --pcc 0.9999999",
        "compare exact.mlir --inputs exact.npz --by instruction --level 2",
        "compare exact.mlir --inputs exact.npz --bisect format",
        "compare exact.mlir --inputs exact.npz --range 1:3 --reproduce part",
        "compare exact.mlir --inputs exact.npz --range 7 --reproduce part",
        "compare exact.mlir --program 1",
        "compare exact.mlir --ulp 1",
        "compare exact.mlir --against ttnn --bisect format",
        "compare exact.mlir --by instruction --range 1",
        "compare script.py --level 1",
        "compare no_model",
    ),
    "report": (
        "report ops_perf_results_training.csv --json",
        "report . -o page.html --beside vit-b-16 --batch 8",
        "report ops_perf_results_training.csv --beside vit-b-16 --json",
        "report ops_perf_results_training.csv --start-signpost no_such",
        "report ops_perf_results_training.csv --beside no_model",
        "report empty",
        "report --models",
    ),
    "codegen": (
        "codegen mlp.mlir training.ttnn --out sources",
        "codegen mlp.mlir --language cpp --out cpp",
        "codegen none.mlir --out none",
    ),
}
"""Commands that are run one after the other in one folder, by golden file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the examples as modules and as compiled files."""
    path = tmp_path_factory.mktemp("commands")
    for name, example in EXAMPLES.items():
        (path / f"{name}.mlir").write_text(example.text)
        (path / f"{name}.ttnn").write_bytes(compiled(name).to_bytes())
    (path / "exact.mlir").write_text(EXACT)
    np.savez(path / "exact.npz", *exact_inputs())
    recording = recording_of("training")
    write_ops(path / "ops_perf_results_training.csv", recording.signposts, {0: kernels(recording)})
    (path / "empty").mkdir()
    return path


def files_in(folder: Path) -> dict[str, float]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in files}


def without_times(record: dict[str, Any]) -> Iterator[str]:
    """Yields the lines of a record, without times that are measured."""
    measured = [record.pop(name) for name in ("compile_seconds", "seconds") if name in record]
    assert all(seconds > 0 for seconds in measured)
    yield from lines_of(record)


def output_of(command: str, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """Yields what a command prints, its exit status if it fails, and the files that it writes."""
    before = files_in(Path())
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    printed = capsys.readouterr()
    for line in (printed.out + printed.err).splitlines():
        shown = MEASURED.sub(r"\1<time>", line).rstrip()
        yield from without_times(json.loads(line)) if line.startswith("{") else [shown]
    if ended.value.code:
        yield f"exit status {ended.value.code}"
    written = (name for name, at in sorted(files_in(Path()).items()) if before.get(name) != at)
    yield from (f"wrote {re.sub(r'_[0-9]{13}', '_<time>', name)}" for name in written)


@pytest.mark.parametrize(("file", "command"), [(file, each) for file in COMMANDS for each in COMMANDS[file]])
def test_command(
    file: str,
    command: str,
    folder: Path,
    goldens: Goldens,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    for name in ("TTXLA_SYSTEM", "TTXLA_LOGGER_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    goldens.check(f"commands/{file}", command, output_of(command, capsys))


def parameters(command: click.Command) -> Iterator[str]:
    """Yields the parameters of a command with their types, limits, defaults and helps."""
    yield inspect.cleandoc(command.help or "")
    for each in command.params:
        limits = [f"{name} {getattr(each.type, name, None)}" for name in ("choices", "min", "max")]
        flags = [name for name in ("required", "multiple", "is_flag") if getattr(each, name, False)]
        words = [*(limit for limit in limits if not limit.endswith(" None")), *flags]
        words += [f"default {each.default}"] if isinstance(each.default, (int, float, str)) and each.default else []
        words += [f"{each.nargs} values"] if each.nargs != 1 else []
        yield f"{' '.join([*each.opts, *each.secondary_opts])} as {each.name}: {', '.join([each.type.name, *words])}"
        yield from ([f"  {each.help}"] if isinstance(each, click.Option) else [])


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_options(name: str, goldens: Goldens) -> None:
    goldens.check("commands/options", name, parameters(cli.commands[name]))


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    goldens.has_only("commands", COMMANDS | {"options": tuple(cli.commands)})
