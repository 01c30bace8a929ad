"""Reading of modules of any dialect that the compiler takes: StableHLO, TTIR and TTNN."""

from __future__ import annotations

import re
from typing import TypeAlias

from jaxlib.mlir import ir
from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler import stablehlo
from tt_xla.compiler.meshes import mesh_attributes, mesh_shape
from tt_xla.compiler.stablehlo.untrusted import checked
from tt_xla.errors import MalformedModuleError, OptionError
from tt_xla.ir import text
from tt_xla.ir.mesh import Shape
from tt_xla.ir.ttcore import device_module

Module: TypeAlias = ir.Module | ModuleOp
"""A module of StableHLO, or of TTIR or TTNN."""

_BYTECODE = b"ML\xefR"
_OP = rb'^\s*(?:%[^=\n]*=\s*)?"?(?:DIALECTS)\.[a-z_0-9]+'
_TTNN_OP = re.compile(_OP.replace(b"DIALECTS", b"ttnn"), re.MULTILINE)
_TT_OP = re.compile(_OP.replace(b"DIALECTS", b"ttir|ttnn|ttcore|tt"), re.MULTILINE)
_OTHER_OP = re.compile(_OP.replace(b"DIALECTS", b"stablehlo|chlo|vhlo|mhlo|sdy"), re.MULTILINE)
_LAYOUT = re.compile(rb"#ttnn\.ttnn_layout<")


def dialect_of(data: bytes) -> str | None:
    """The dialect of a module, ``stablehlo``, ``ttir`` or ``ttnn``, by its ops; None for data without any."""
    if data.startswith(_BYTECODE):
        return "stablehlo"
    ops = {"ttnn": _TTNN_OP, "ttir": _TT_OP, "stablehlo": _OTHER_OP}
    return next((dialect for dialect, op in ops.items() if op.search(data)), None)


def is_stablehlo(data: bytes, *, default: bool = True) -> bool:
    """Whether a module is StableHLO, by its ops.

    Args:
        data: the module.
        default: the answer for a module without ops whose tensors have no layouts.
    """
    if data.startswith(_BYTECODE):
        return True
    if _TT_OP.search(data) is not None:
        return False
    return _OTHER_OP.search(data) is not None or (default and _LAYOUT.search(data) is None)


def read_module(data: bytes | str, name: str = "<module>", *, trusted: bool = False) -> Module:
    """Reads a module: StableHLO as text or bytecode, or TTIR or TTNN as text. Its ops tell which of them it is.

    Args:
        data: the module.
        name: name of the module in errors, such as a path.
        trusted: whether StableHLO may be read in this process, which a damaged module can end.

    Raises:
        MalformedModuleError: the module does not parse; the message has line and column.
    """
    raw = data.encode() if isinstance(data, str) else data
    if is_stablehlo(raw):
        return stablehlo.parse_module(raw if trusted else checked(raw, name), name)
    return text.parse_module(decoded(raw, name), name)


def on_mesh(module: Module, shape: Shape) -> None:
    """Makes a module of TTIR text that names no mesh one for the chips of a mesh.

    Raises:
        OptionError: the module is StableHLO, or names another mesh.
    """
    sizes = "x".join(map(str, shape))
    if not isinstance(module, ModuleOp):
        raise OptionError(
            f"The mesh {sizes} was given for a module of StableHLO, which says itself how tensors are split.",
            hint=f"Leave --mesh out, or choose shardings for the mesh with --option auto_sharding={sizes}.",
        )
    inner = device_module(module)
    known = mesh_shape(inner)
    if known not in (None, shape):
        raise OptionError(
            f"The mesh {sizes} was given for a module that is for a mesh {'x'.join(map(str, known or ()))}.",
            hint="Leave --mesh out.",
        )
    inner.attributes.update(mesh_attributes(shape))


def decoded(data: bytes, name: str) -> str:
    """Returns the text of a module of TTIR or TTNN.

    Raises:
        MalformedModuleError: the bytes are not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise MalformedModuleError(
            f"'{name}' is not a well-formed TTIR or TTNN module: line {line}, column {column}: the byte is not UTF-8.",
            hint="Write the module again.",
        ) from error
