"""The process that reads programs of unknown origin. :mod:`tt_xla.compiler.stablehlo.untrusted` runs it as a script.

MLIR's readers and the conversion from VHLO trust their input: a damaged program may make them loop, ask for all memory,
or write past what they allocated. In this process such damage ends no other process. Requests and answers are a length
followed by that many bytes. An answer is ``+`` and the module as bytecode, or ``-`` and the reason.
"""

from __future__ import annotations

import os
import re
import resource
import struct
import sys
import threading
from typing import Any, BinaryIO

BYTECODE = b"ML\xefR"
HEADER = struct.Struct("<Q")
_VHLO_OP = re.compile(r'^\s*(?:%[^=\n]*=\s*)?"?vhlo\.[a-z_0-9]+', re.MULTILINE)
MEMORY = 8 << 30
"""Limit of the process's address space in bytes. A program that needs more is damaged."""
STACK = 3 << 20
"""Stack of the reader in bytes: less than a main thread or a thread of pthreads has (8 MiB), where the module is read
again. The depth of nested regions, attributes and locations that fits here fits there."""


def main() -> None:
    """Answers requests on standard input until it closes."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # MLIR prints diagnostics there
    threading.stack_size(STACK)
    answering = threading.Thread(target=_answer, args=(requests, answers))
    answering.start()
    answering.join()


def _answer(requests: BinaryIO, answers: BinaryIO) -> None:
    read = _reader()
    while (header := requests.read(HEADER.size)) and len(header) == HEADER.size:
        _send(answers, read(requests.read(*HEADER.unpack(header))))


def _reader() -> Any:
    """Returns the function that turns a request into an answer."""
    from io import BytesIO

    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

    upstream = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(upstream)

    def read(data: bytes) -> bytes:
        context = ir.Context()
        context.enable_multithreading(False)
        context.allow_unregistered_dialects = True
        context.append_dialect_registry(upstream)
        context.load_all_available_dialects()
        sdy.register_dialect(context)
        mhlo.register_mhlo_dialect(context)
        chlo.register_dialect(context)
        stablehlo.register_dialect(context)
        reasons: list[str] = []

        def collect(diagnostic: Any) -> bool:
            reasons.append(_describe(diagnostic))
            return True  # MLIR then prints nothing itself

        context.attach_diagnostic_handler(collect)
        try:
            if data.startswith(BYTECODE):
                module: Any = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = _parsed(data.decode("utf-8"), context)
            module.operation.verify()
            module.operation.walk(_read_names)
            out = BytesIO()
            module.operation.write_bytecode(out)
        except (ir.MLIRError, ValueError, RuntimeError, MemoryError) as error:
            reasons += map(_describe, getattr(error, "error_diagnostics", ()))
            return b"-" + (reasons or [str(error) or type(error).__name__])[0].encode("utf-8", "replace")
        return b"+" + out.getvalue()

    return read


def _parsed(text: str, context: Any) -> Any:
    """Returns the module of a text of StableHLO, or of VHLO, which is converted to StableHLO."""
    from io import BytesIO

    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    if not _VHLO_OP.search(text):
        return ir.Module.parse(text, context)
    empty = ir.Module.parse("module {}", context)
    version = stablehlo.get_current_version()
    loading = stablehlo.serialize_portable_artifact(empty, version)
    stablehlo.deserialize_portable_artifact(context, loading)  # loads the VHLO dialect, which has no registration
    bytecode = BytesIO()
    ir.Module.parse(text, context).operation.write_bytecode(bytecode)
    return stablehlo.deserialize_portable_artifact(context, bytecode.getvalue())


def _describe(diagnostic: Any) -> str:
    """Returns the place and message of a diagnostic."""
    place = str(diagnostic.location).removeprefix("loc(").removesuffix(")")
    place = re.sub(r'"-":(\d+):(\d+)', r"line \1, column \2", place)
    return diagnostic.message if place == "line 0, column 0" else f"{place}: {diagnostic.message}"


def _read_names(op: Any) -> Any:
    """Reads the names in an op, so that one that is not UTF-8 raises here."""
    from jaxlib.mlir import ir

    for name in ("sym_name", "callee", "call_target_name"):
        if name in op.attributes:
            _ = getattr(op.attributes[name], "value", None)
    return ir.WalkResult.ADVANCE


def _send(answers: BinaryIO, data: bytes) -> None:
    answers.write(HEADER.pack(len(data)) + data)
    answers.flush()


if __name__ == "__main__":
    sys.exit(main())
