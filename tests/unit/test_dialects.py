"""Every op class of a dialect is one of its ops, with the operands and properties that programs are written with."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import pytest

from tt_xla.ir import ttir, ttnn
from tt_xla.ir.base import TTOp

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("package", [ttir, ttnn], ids=["ttir", "ttnn"])
def test_every_op_class_is_registered(package):
    modules = [
        importlib.import_module(f"{package.__name__}.{each.name}") for each in pkgutil.iter_modules(package.__path__)
    ]
    prefix = package.__name__.rpartition(".")[2] + "."
    defined = {
        value.name
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, TTOp) and getattr(value, "name", "").startswith(prefix)
    }
    assert defined <= {op.name for op in package.dialect().operations}


def definition_of(op: type[TTOp]) -> str:
    """Returns an op's operands, properties with their kinds and defaults, results and traits in a line."""
    definition = op.get_irdl_definition()
    operands = [f"{name}{CARDINALITY[type(each).__name__]}" for name, each in definition.operands]
    properties = [property_of(name, each) for name, each in sorted(definition.properties.items())]
    results = [f"{name}{CARDINALITY[type(each).__name__]}" for name, each in definition.results]
    traits = sorted(type(each).__name__ for each in definition.traits.traits)
    words = [op.name, f"({', '.join(operands)})", f"<{', '.join(properties)}>", f"-> ({', '.join(results)})", *traits]
    return " ".join(words)


CARDINALITY = {
    **{"OperandDef": "", "OptOperandDef": "?", "VarOperandDef": "*"},
    **{"ResultDef": "", "OptResultDef": "?", "VarResultDef": "*"},
}


def property_of(name: str, each: Any) -> str:
    kind = each.constr
    text = getattr(kind, "text", str(kind))
    default = getattr(kind, "default", None)
    absent = "?" if type(each).__name__.startswith("Opt") else ""
    return f"{name}{absent}: {text}" + ("" if default is None else f" = {default}")


@pytest.mark.parametrize("package", [ttir, ttnn], ids=["ttir", "ttnn"])
def test_definitions(package, goldens):
    name = package.__name__.rpartition(".")[2]
    texts = {op.name: definition_of(op) for op in package.dialect().operations}
    attributes = sorted(each.name for each in package.dialect().attributes)
    goldens.check_all(
        f"dialects/{name}", {"operations": [texts[op] for op in sorted(texts)], "attributes and types": attributes}
    )


def test_both_dialects_have_golden_definitions(goldens):
    goldens.has_files("dialects", ["ttir", "ttnn"])
