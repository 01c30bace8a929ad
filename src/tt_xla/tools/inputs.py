"""The kinds of files that commands take and write, and the commands that take each."""

from __future__ import annotations

import enum
from collections.abc import Collection
from pathlib import Path

from tt_xla.errors import MalformedModuleError
from tt_xla.ir.container import MAGIC

_SOURCE_NAMES = ("main.py", "main.cpp")
_HEAD_BYTES = 512


class Kind(enum.Enum):
    """Kinds of files and folders, each with its name in messages."""

    STABLEHLO = "a module of StableHLO"
    TTIR = "a module of TTIR"
    TTNN = "a module of TTNN"
    PROGRAM = "a compiled program (.ttnn)"
    PACKAGE = "a package (.ttpkg)"
    EXPORTED = "an exported program of PyTorch (.pt2)"
    SCRIPT = "a Python script"
    WORKLOAD = "an experiment's YAML file"
    ARRAYS = "a file of arrays (.npz, .npy)"
    PROFILE = "a table of a profile (.csv)"
    PAGE = "an HTML page"
    PICTURE = "a picture"
    SOURCE = "a folder of generated source"
    PROFILES = "a folder with a profile"
    MODULES = "a folder of modules and programs"
    FOLDER = "a folder"


MODULE_KINDS = (Kind.STABLEHLO, Kind.TTIR, Kind.TTNN)

_NEXT_STEPS = {
    Kind.STABLEHLO: "'tt-xla compile {path}' predicts its time and, with -o, writes a program; tt-xla run, codegen, "
    "compare, tune and explore take it too.",
    Kind.TTIR: "tt-xla compile, run, codegen, opt and explore take it.",
    Kind.TTNN: "tt-xla compile, run, codegen, opt, estimate and explore take it.",
    Kind.PROGRAM: "tt-xla show, run, estimate, codegen, check and explore take it. The StableHLO that it was compiled "
    "from is in irs/shlo_*.mlir beside it where 'tt-xla compile -o' or option export_path wrote it.",
    Kind.PACKAGE: "tt_xla.aot.load runs it in Python; 'unzip {path}' unpacks its programs, which tt-xla show takes.",
    Kind.EXPORTED: "tt_xla.aot.package makes a package of it; torch_xla.stablehlo.save_as_stablehlo writes its module, "
    "which tt-xla compile and run take.",
    Kind.SCRIPT: "'tt-xla compile {path}', codegen, compare, reduce and explore take the programs that it compiles; "
    "'tt-xla bench {path}', profile and tune run it.",
    Kind.WORKLOAD: "'tt-xla bench {path}', profile and tune run it.",
    Kind.ARRAYS: "Option --inputs of tt-xla run, compare and reduce takes it as the arguments of a module.",
    Kind.PROFILE: "'tt-xla report {path}' makes a page of it.",
    Kind.PAGE: "A browser shows it.",
    Kind.PICTURE: "A viewer of pictures shows it.",
    Kind.SOURCE: "Run it with: cd {path} && ./run",
    Kind.PROFILES: "'tt-xla report {path}' makes a page of it.",
    Kind.MODULES: "Name a file, such as '{first}'; 'tt-xla explore {path}', compile and codegen take them all.",
    Kind.FOLDER: "Name a file.",
}
"""Next step of the user of each kind, for a message that refuses it."""

_KINDS_OF_SUFFIXES = {
    ".ttnn": Kind.PROGRAM,
    ".ttpkg": Kind.PACKAGE,
    ".pt2": Kind.EXPORTED,
    ".py": Kind.SCRIPT,
    ".yaml": Kind.WORKLOAD,
    ".yml": Kind.WORKLOAD,
    ".npz": Kind.ARRAYS,
    ".npy": Kind.ARRAYS,
    ".csv": Kind.PROFILE,
    ".html": Kind.PAGE,
    ".png": Kind.PICTURE,
    ".svg": Kind.PICTURE,
}


def kind_of_name(name: str) -> Kind | None:
    """The kind that the name of a file, or ``#!`` in its first line, tells; None if neither does."""
    path = Path(name)
    known = _KINDS_OF_SUFFIXES.get(path.suffix.lower())
    if known is not None or not path.is_file():
        return known
    with path.open("rb") as file:
        first = file.readline(_HEAD_BYTES)
    return Kind.SCRIPT if first.startswith(b"#!") and b"python" in first else None


def kinds_of(path: Path) -> tuple[Kind, ...]:
    """The kind of a file, or all kinds of a folder; nothing for a file that is none of them, such as a damaged module.

    Raises:
        OSError: the file cannot be read.
    """
    if path.is_dir():
        return _kinds_of_folder(path)
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(MAGIC):
        return (Kind.PROGRAM,)
    known = kind_of_name(str(path))
    if head.startswith((b"PK\x03\x04", b"\x93NUMPY")):
        packed = {Kind.PROGRAM: Kind.PACKAGE, Kind.PACKAGE: Kind.PACKAGE, Kind.EXPORTED: Kind.EXPORTED}
        return (packed.get(known, Kind.ARRAYS) if known else Kind.ARRAYS,)
    if known in (None, Kind.PROGRAM):
        from tt_xla.compiler.reading import dialect_of

        dialect = dialect_of(path.read_bytes())
        known = known if dialect is None else Kind[dialect.upper()]
    return () if known is None else (known,)


def _kinds_of_folder(folder: Path) -> tuple[Kind, ...]:
    has_source = any((folder / name).is_file() for name in _SOURCE_NAMES) and (folder / "run").is_file()
    found = {
        Kind.SOURCE: has_source,
        Kind.MODULES: bool(_modules_in(folder)),
        Kind.PROFILES: next(folder.rglob("ops_perf_results*.csv"), None) is not None,
        Kind.FOLDER: True,
    }
    return tuple(kind for kind, is_there in found.items() if is_there)


def _modules_in(folder: Path) -> list[Path]:
    return sorted(path for pattern in ("*.mlir", "*.ttnn") for path in folder.rglob(pattern))


def check_input(path: Path, *kinds: Kind) -> None:
    """Checks that a file or folder is of a kind that the command takes. Whether it is damaged is not checked.

    Args:
        path: the file or folder.
        kinds: the kinds that the command takes.

    Raises:
        MalformedModuleError: it is of another kind; the message names the commands that take it.
        OSError: the file cannot be read.
    """
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    if not path.is_file() and not path.is_dir():
        raise MalformedModuleError(f"'{path}' is no file; {_listed(kinds)} was expected.")
    found = kinds_of(path)
    if set(found) & set(kinds):
        return
    if not found:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head and b"\0" not in head:
            return
        content = "has bytes of no known format" if head else "is empty"
        raise MalformedModuleError(f"'{path}' {content}; {_listed(kinds)} was expected.")
    kind = found[0]
    first = next(iter(_modules_in(path)), "") if kind is Kind.MODULES else ""
    raise MalformedModuleError(
        f"'{path}' is {kind.value}, and {_listed(kinds)} was expected.",
        hint=_NEXT_STEPS[kind].format(path=path, first=first),
    )


def _listed(kinds: Collection[Kind]) -> str:
    words = [kind.value for kind in kinds if kind not in MODULE_KINDS or not {*MODULE_KINDS} <= {*kinds}]
    if {*MODULE_KINDS} <= {*kinds}:
        words.insert(0, "a module of StableHLO, TTIR or TTNN")
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def read_input(path: Path, *kinds: Kind) -> bytes:
    """Returns the content of a file of a kind that the command takes; see :func:`check_input`."""
    check_input(path, *kinds)
    return path.read_bytes()


def is_file_name(name: str) -> bool:
    """Whether a name is meant as that of a file or folder, rather than of a model."""
    return Path(name).exists() or kind_of_name(name) is not None or name.endswith((".mlir", ".mlirbc", ".stablehlo"))
