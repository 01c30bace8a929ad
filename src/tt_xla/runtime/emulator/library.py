"""The C++ of the emulated card that all programs share, in ``cpp/``: products, sums and functions of one number.

It is compiled once on a machine, in a few seconds. :mod:`.sums` and :mod:`.approximations` compute the same bits where
there is no compiler, in more time.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.fused.build import Build, Needs, compiler
from tt_xla.runtime.emulator.fused.calls import BFLOATS, FLOATS, LONGS, NUMBER, Memory
from tt_xla.runtime.emulator.report import report

_FOLDER = Path(__file__).parent / "cpp"


class Library:
    """The functions of the compiled library.

    Args:
        build: the library.
    """

    def __init__(self, build: Build) -> None:
        self.build = build
        any_floats = Memory(FLOATS.dtypes, is_dense=False)
        any_bfloats = Memory(BFLOATS.dtypes, is_dense=False)
        self.pack = build.function("tt_pack", [any_floats, FLOATS, *[NUMBER] * 5])
        self.pack_bfloat16 = build.function("tt_pack_bfloat16", [any_bfloats, BFLOATS, *[NUMBER] * 5])
        self.multiply = build.function("tt_multiply", [FLOATS, FLOATS, FLOATS, *[NUMBER] * 3])
        self.multiply_bfloat16 = build.function("tt_multiply_bfloat16", [FLOATS, BFLOATS, FLOATS, *[NUMBER] * 3])
        self.products = build.function("tt_products", [FLOATS, FLOATS, FLOATS, *[NUMBER] * 4])
        self.sums = build.function("tt_sums", [FLOATS, FLOATS, *[NUMBER] * 3])
        self.depthwise = build.function("tt_depthwise", [FLOATS, FLOATS, FLOATS, LONGS])
        either = Memory((*FLOATS.dtypes, *BFLOATS.dtypes))
        self.attention_weights = build.function("tt_attention_weights", [BFLOATS, BFLOATS, FLOATS, LONGS])
        self.pack_blocks = build.function("tt_pack_blocks", [either, either, LONGS])
        self.matrix_unit = build.function("tt_matrix_unit", [FLOATS, FLOATS, FLOATS, LONGS])
        self.functions = {
            name: build.function(f"tt_{name}", [FLOATS, FLOATS, NUMBER])
            for name in ("cos", "exp", "gelu", "log", "log1p", "sigmoid", "silu", "sin", "tanh")
        }


def needs() -> Needs:
    """Returns where the headers of ``cpp/`` are, for a source that includes them."""
    return Needs(flags=(f"-I{_FOLDER}",), version=_version())


@functools.cache
def _version() -> str:
    """Returns a digest of all sources in ``cpp/``."""
    texts = [path.read_bytes() for path in sorted(_FOLDER.iterdir()) if path.suffix in (".h", ".cpp")]
    return hashlib.blake2b(b"\0".join(texts), digest_size=16).hexdigest()


@functools.cache
def library() -> Library | None:
    """Returns the compiled library; None where the card does not compute on a CPU, or there is no compiler for it."""
    if place.device().type != "cpu" or compiler() is None:
        return None
    try:
        return Library(Build.of((_FOLDER / "library.cpp").read_text(), needs=needs()))
    except Exception as error:
        report(
            error,
            name="library",
            failed="The C++ of the emulated card was not compiled",
            outcome="torch computes the same results in more time",
            details=lambda: [],
        )
        return None
