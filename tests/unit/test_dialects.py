"""Every op class of a dialect is one of its ops."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

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
