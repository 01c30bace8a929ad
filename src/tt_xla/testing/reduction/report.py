"""The files about a reduced program: module, inputs, a test of some ten lines, a report, and a zip file of them all."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from tt_xla.options import CompileOptions
from tt_xla.testing.divergence.reproducer import archive_of, in_docstring
from tt_xla.testing.reduction.graphs import plain
from tt_xla.testing.reduction.reducer import Reduction

FILE_NAMES = ("reduced.mlir", "inputs.npz", "test_reduced.py", "report.txt", "report.zip")

_INLINE_LINES = 40
"""Number of lines up to which the test has the text of the module."""

_INLINE_ELEMENTS = 16
"""Number of elements up to which the test has those of an argument."""

_TEST = '''"""{title}"""

{imports}
from tt_xla.testing.reduction import check

{module}

def test_reduced():
    check(MODULE, {inputs}{options}, fails={fails!r}{more})
'''


def files(reduction: Reduction, name: str, command: str, about: str, imports: Sequence[str] = ()) -> dict[str, bytes]:
    """Returns the files by name, which are :data:`FILE_NAMES`.

    Args:
        reduction: the reduced program.
        name: name of the first program.
        command: the command that reduced it.
        about: versions and settings, for the report.
        imports: absolute paths of Python files without which the program does not fail.
    """
    text = plain(reduction.program.text)
    contents = [
        text.encode(),
        archive_of(reduction.program.inputs),
        source_of_test(reduction, name, imports).encode(),
        _report(reduction, name, command, about, text).encode(),
    ]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path, content in zip(FILE_NAMES, contents, strict=False):
            file.writestr(path, content)
    return dict(zip(FILE_NAMES, [*contents, archive.getvalue()], strict=True))


def changed_options(options: CompileOptions) -> dict[str, Any]:
    """Returns the compile options that differ from the defaults."""
    defaults = CompileOptions().as_dict()
    return {name: value for name, value in options.as_dict().items() if value != defaults[name]}


def source_of_test(reduction: Reduction, name: str, imports: Sequence[str] = ()) -> str:
    """Returns the source of a test that fails as long as the program does."""
    text, inputs = plain(reduction.program.text), reduction.program.inputs
    is_inline = len(text.splitlines()) <= _INLINE_LINES and '"""' not in text and "\\" not in text
    arrays = [_literal(array) for array in inputs]
    has_literals = all(arrays)
    needs_path = not (is_inline and has_literals) or bool(imports)
    lines = ["from pathlib import Path\n"] if needs_path else []
    lines += ["import numpy as np\n"] if has_literals and inputs else []
    module = f'MODULE = """\n{text.strip()}\n"""\n'
    if not is_inline:
        module = 'MODULE = Path(__file__).with_name("reduced.mlir").read_text()\n'
    limit = "" if reduction.outcome.ending != "hang" else f", limit={reduction.limit:.0f}"
    paths = ", ".join(f"Path({path!r})" for path in imports)
    changed = changed_options(reduction.options)
    return _TEST.format(
        title=in_docstring(f"Reduced from {name}: {reduction.outcome.text}."),
        imports="\n".join(lines),
        module=module,
        inputs=f"[{', '.join(arrays)}]" if has_literals else 'Path(__file__).with_name("inputs.npz")',
        options=f", {changed!r}" if changed else "",
        fails=reduction.failure.text,
        more=limit + (f", imports=[{paths}]" if imports else ""),
    )


def _literal(array: Any) -> str:
    """Returns an expression whose value is the array, if it is a short one; else an empty text."""
    dtype = f"np.{array.dtype}" if array.dtype != bool else "bool"
    if array.dtype.kind not in "iufb" or not np.isfinite(array).all():
        return ""
    if array.size and (array == array.flat[0]).all():
        return f"np.full({array.shape}, {array.flat[0].item()!r}, {dtype})"
    return f"np.array({array.tolist()!r}, {dtype})" if array.size <= _INLINE_ELEMENTS else ""


def _report(reduction: Reduction, name: str, command: str, about: str, text: str) -> str:
    lines = [
        f"{name} fails: {reduction.first.text}.",
        f"Reduced from {reduction.ops_before} to {reduction.ops} ops, with {reduction.trials} programs tried in "
        f"{reduction.seconds:.0f} s: {reduction.outcome.text}.",
        *([f"Ended early: {reduction.ended}."] if reduction.ended else []),
        f"Options: {changed_options(reduction.options) or 'the defaults'}",
        *([f"Source lines of its ops: {', '.join(reduction.lines)}"] if reduction.lines else []),
        f"Command: {command}",
    ]
    sections = {"First failure": reduction.first.details or reduction.first.text, "Reduced program": text}
    sections |= {"Its failure": reduction.outcome.details or reduction.outcome.text, "Versions and settings": about}
    return "\n".join([*lines, *(f"\n{title}\n{'-' * len(title)}\n{body.strip()}" for title, body in sections.items())])
