"""What a test leaves behind: the IR and the Program of each graph that was compiled for ``tt``.

``output_artifact/<test name>/<graph>_{ttir,ttnn}.mlir`` and ``<graph>.ttnn``, and the same flat, as
``output_artifact/<test name>_{ttir,ttnn}.mlir`` and ``<test name>.ttnn``, where all graphs are one after the other.
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
    from tt_xla.compiler.pipeline import Compilation

ROOT = Path("output_artifact")
STAGES = "ttir", "ttnn"


def sanitized(name: str) -> str:
    """A test's name as a name of files: ``test_add[(32, 32)]`` is ``test_add_32_32``."""
    return re.sub(r"[\[\](),\-\s/:]+", "_", name).rstrip("_")


def wants_artifacts(request: Any) -> bool:
    """Whether the test of this ``request`` fixture is to leave its IR: ``--serialize``, or a filecheck marker."""
    if request is None:
        return False
    return (
        bool(request.config.getoption("--serialize", False)) or request.node.get_closest_marker("filecheck") is not None
    )


@contextmanager
def recording(request: Any) -> Generator[list[Compilation]]:
    """The compilations in here, each with the text of its modules when the test wants them."""
    from tt_xla.compiler.pipeline import recorded_compilations
    from tt_xla.frontends.torch.backend import clear_programs

    texts = wants_artifacts(request)
    if texts:
        clear_programs()  # what was compiled before would not be compiled again
    with recorded_compilations(texts=texts) as found:
        yield found


def write(name: str, compilations: Sequence[Compilation], root: Path | None = None) -> dict[str, Path]:
    """Writes what a test compiled.

    Args:
        name: of the test, sanitized.

    Returns:
        The flat file of each stage, by ``ttir`` and ``ttnn``.

    Raises:
        OutputError: nothing was compiled, or the disk does not take it.
    """
    root = root or Path.cwd() / ROOT
    done = [compilation for compilation in compilations if compilation.program is not None]
    if not done:
        raise OutputError(
            f"Nothing was compiled for 'tt' in {name}, so there is no IR to write.",
            hint="The op may be constant, or the test ran no workload with this request.",
        )
    used: dict[str, int] = {}
    files: dict[str, Content] = {}
    flat: dict[str, Content] = {}
    for compilation in done:
        graph = sanitized(compilation.name) or "main"
        used[graph] = number = used.get(graph, -1) + 1
        stem = f"{graph}_{number}" if number else graph
        for stage in STAGES:
            files[f"{stem}_{stage}.mlir"] = compilation.modules[stage].encode()
        assert compilation.program is not None
        files[f"{stem}.ttnn"] = compilation.program.to_bytes()
    for stage in STAGES:
        flat[f"{name}_{stage}.mlir"] = "\n".join(compilation.modules[stage] for compilation in done).encode()
    assert done[-1].program is not None
    flat[f"{name}.ttnn"] = done[-1].program.to_bytes()
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
    """Writes a test's artifacts and holds its filecheck patterns against them, where it asks for that."""
    if not wants_artifacts(request):
        return
    from tt_xla.testing import filechecks

    name = sanitized(request.node.name)
    written = write(name, compilations)
    marker = request.node.get_closest_marker("filecheck")
    if marker is not None:
        filechecks.run(filechecks.patterns_of(marker), written, filechecks.pattern_folders(request))
