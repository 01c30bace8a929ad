"""Files that a test writes: the IR and the program of each graph that it compiled for ``tt``.

Each graph has ``output_artifact/<test name>/<graph>_{ttir,ttnn}.mlir`` and ``<graph>.ttnn``. The test has
``output_artifact/<test name>_{ttir,ttnn}.mlir`` with all graphs in order, and ``<test name>.ttnn`` of the last graph.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.errors import OutputError
from tt_xla.publish import Content, publish

if TYPE_CHECKING:
    from tt_xla.compiler.recording import Compilation

ROOT = Path("output_artifact")
STAGES = "ttir", "ttnn"


def sanitized(name: str) -> str:
    """Returns a test's name as a file name: ``test_add[(32, 32)]`` becomes ``test_add_32_32``."""
    return re.sub(r"[\[\](),\-\s/:]+", "_", name).rstrip("_")


def wants_artifacts(request: Any) -> bool:
    """Returns whether a test writes its IR, because of ``--serialize`` or of a filecheck marker.

    Args:
        request: pytest's fixture, or None.
    """
    if request is None:
        return False
    return (
        bool(request.config.getoption("--serialize", False)) or request.node.get_closest_marker("filecheck") is not None
    )


@contextmanager
def recording(request: Any) -> Generator[list[Compilation]]:
    """Collects the compilations inside the ``with`` block.

    Args:
        request: pytest's fixture, or None.

    Yields:
        The list of compilations; each has the text of its modules if the test writes its IR.
    """
    from tt_xla.compiler.recording import recorded_compilations
    from tt_xla.frontends.torch.backend import clear_programs

    texts = wants_artifacts(request)
    if texts:
        clear_programs()  # a cached program would not be compiled again
    with recorded_compilations(texts=texts) as compilations:
        yield compilations


def write(name: str, compilations: Sequence[Compilation], root: Path | None = None) -> dict[str, Path]:
    """Writes the IR and the programs of a test.

    Args:
        name: name of the test, as :func:`sanitized` returns it.
        compilations: the test's compilations.
        root: folder to write to; ``output_artifact`` in the working directory by default.

    Returns:
        The file with all graphs of each stage, by stage: ``ttir`` and ``ttnn``.

    Raises:
        OutputError: nothing was compiled, or the files cannot be written.
    """
    root = root or Path.cwd() / ROOT
    completed = [compilation for compilation in compilations if compilation.program is not None]
    if not completed:
        raise OutputError(
            f"{name} compiled nothing for 'tt', so there is no IR to write.",
            hint="The op may be constant, or the test ran no workload with its `request` fixture.",
        )
    last_numbers: dict[str, int] = {}
    files: dict[str, Content] = {}
    flat: dict[str, Content] = {}
    for compilation in completed:
        graph = sanitized(compilation.name) or "main"
        last_numbers[graph] = number = last_numbers.get(graph, -1) + 1
        stem = f"{graph}_{number}" if number else graph
        for stage in STAGES:
            files[f"{stem}_{stage}.mlir"] = compilation.modules[stage].encode()
        assert compilation.program is not None
        files[f"{stem}.ttnn"] = compilation.program.to_bytes()
    for stage in STAGES:
        flat[f"{name}_{stage}.mlir"] = "\n".join(compilation.modules[stage] for compilation in completed).encode()
    assert completed[-1].program is not None
    flat[f"{name}.ttnn"] = completed[-1].program.to_bytes()
    try:
        publish(root / name, files)
        publish(root, flat)
    except OSError as error:
        raise OutputError(
            f"The artifacts of {name} cannot be written under {root}: {os.strerror(error.errno or 0)}.",
            hint="Free some space there, or run the tests from another folder.",
        ) from error
    return {stage: root / f"{name}_{stage}.mlir" for stage in STAGES}


def finish(request: Any, compilations: Sequence[Compilation]) -> None:
    """Writes a test's artifacts and checks its filecheck patterns, if the test asks for either.

    Raises:
        OutputError: the artifacts cannot be written.
        AssertionError: a pattern does not match.
    """
    if not wants_artifacts(request):
        return
    from tt_xla.testing import filechecks

    name = sanitized(request.node.name)
    ir_files = write(name, compilations)
    marker = request.node.get_closest_marker("filecheck")
    if marker is not None:
        filechecks.CHECKED.add(request.node)
        filechecks.run(filechecks.patterns_of(marker), ir_files, filechecks.pattern_folders(request))
