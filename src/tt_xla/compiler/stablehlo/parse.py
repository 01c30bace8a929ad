"""Parsing of StableHLO modules from text, MLIR bytecode or portable artifacts, and printing as VHLO."""

from __future__ import annotations

import re
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from tt_xla.compiler.mlir_context import context, copy_of, module_text
from tt_xla.errors import MalformedModuleError

_PORTABLE_ARTIFACT = b"ML\xefRStableHLO"
_BYTECODE = b"ML\xefR"


def parse_module(data: bytes | str, name: str = "<module>") -> ir.Module:
    """Parses a StableHLO module from text or bytecode.

    Args:
        data: text, or MLIR bytecode with or without the header of a portable artifact.
        name: name of the module in errors.

    Raises:
        MalformedModuleError: the module does not parse or verify; the message has line and column.
    """
    raw = data.encode() if isinstance(data, str) else data
    try:
        if raw.startswith(_BYTECODE):
            return stablehlo.deserialize_portable_artifact(context(len(raw)), raw)
        return ir.Module.parse(raw.decode("utf-8"), context(len(raw)))
    except UnicodeDecodeError as error:
        raise MalformedModuleError(
            f"'{name}' is neither StableHLO text nor MLIR bytecode: byte {error.start} is not UTF-8.",
            hint="Give a file that `jax.jit(f).lower(...).as_text()` or `jax.export` wrote.",
        ) from error
    except ir.MLIRError as error:
        raise MalformedModuleError(
            f"'{name}' is not a well-formed StableHLO module: {_first_diagnostic(error)}.",
            hint="Write it again; it may be cut off or of a newer StableHLO version.",
        ) from error
    except ValueError as error:
        raise MalformedModuleError(f"'{name}' is not a well-formed StableHLO module: {error}.") from error


def _first_diagnostic(error: Any) -> str:
    """Returns the place and message of MLIR's first diagnostic."""
    for diagnostic in error.error_diagnostics:
        place = str(diagnostic.location).removeprefix("loc(").removesuffix(")")
        place = re.sub(r'"-":(\d+):(\d+)', r"line \1, column \2", place)
        return f"{place}: {diagnostic.message}".rstrip(".")
    return str(error)


def print_vhlo(module: Any) -> str:
    """Returns a module as text of VHLO, StableHLO's versioned form. Attributes of other dialects become strings there.

    A module that VHLO cannot express, for example because of a ``ui8`` attribute of a LAPACK call, is returned as
    StableHLO, after a comment with the reason.
    """
    with module.context, ir.Location.unknown():
        copy = copy_of(module)
        for function in copy.body.operations:
            if "arg_attrs" in function.attributes:
                function.attributes["arg_attrs"] = ir.ArrayAttr.get([_plain(attrs) for attrs in function.arg_attrs])
    reasons: list[str] = []

    def note(diagnostic: Any) -> bool:
        reasons.append(diagnostic.message)
        return True

    handler = module.context.attach_diagnostic_handler(note)
    try:
        artifact = portable_artifact(copy)
    except (ValueError, RuntimeError):
        reason = reasons[0].partition(":")[0] if reasons else "unknown"
        return f"// VHLO has no form for this module: {reason}.\n{module}"
    finally:
        handler.detach()
    stablehlo.deserialize_portable_artifact(module.context, artifact)  # loads the VHLO dialect in the context
    return str(ir.Module.parse(artifact, module.context))


def portable_artifact(module: Any) -> bytes:
    """Returns a module as a portable artifact.

    CHLO ops become StableHLO ops on the way. The function of the same purpose in jaxlib's bindings does not do that.
    """
    from jaxlib import _jax  # pyright: ignore[reportAttributeAccessIssue]

    try:
        return _jax.mlir.serialize_portable_artifact(module, stablehlo.get_current_version())
    except TypeError:  # jaxlib 0.7 takes text or bytecode
        text = module_text(module, locations=True)
        return _jax.mlir.serialize_portable_artifact(text, stablehlo.get_current_version())


def _plain(attributes: Any) -> Any:
    """Returns the attributes of an argument with those of unknown dialects as strings."""
    values = {item.name: item.attr for item in attributes}
    return ir.DictAttr.get(
        {
            name: ir.StringAttr.get(str(attr)) if isinstance(attr, ir.OpaqueAttr) else attr
            for name, attr in values.items()
        }
    )
