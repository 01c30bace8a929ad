"""Tests of the table of element types against the libraries whose names it lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from jaxlib.mlir import ir

from tt_xla import codegen
from tt_xla.frontends.jax.pjrt.structs import BUFFER_TYPES
from tt_xla.ir.base import DATA_TYPES, ELEMENT_TYPES
from tt_xla.ir.element_types import DataType, ElementType

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("element", ElementType)
def test_names_exist(element: ElementType) -> None:
    dtype = element.numpy_dtype()
    assert dtype.name == element.numpy
    assert getattr(torch, element.torch).itemsize == dtype.itemsize
    assert element.pjrt in BUFFER_TYPES
    with ir.Context():
        assert str(ir.Type.parse(element)) == element


@pytest.mark.parametrize("element", [element for element in ElementType if element.on_host])
def test_the_host_holds_what_was_declared(element: ElementType) -> None:
    assert element.on_host is not None
    assert element.on_host.is_host_only
    assert (element.on_host.numpy, element.on_host.torch) == (element.numpy, element.torch)


@pytest.mark.parametrize("dtype", DataType)
def test_data_types(dtype: DataType) -> None:
    assert ELEMENT_TYPES[dtype] in DATA_TYPES
    assert isinstance(getattr(torch, dtype.torch), torch.dtype)
    if dtype.is_host_only:
        assert dtype.ttnn_code == -1
        with pytest.raises(ValueError, match="stays on the host"):
            _ = dtype.little_endian
    elif not dtype.is_block_float:
        assert dtype.numpy_dtype().itemsize == dtype.element_bytes == int(dtype.little_endian[-1])


def test_codes_of_ttnn_differ() -> None:
    codes = [dtype.ttnn_code for dtype in DataType if not dtype.is_host_only]
    assert sorted(codes) == list(range(8))


def test_exported_code_has_the_same_table() -> None:
    """Exported folders hold a copy of ``host_ops.py``, which imports nothing of this package."""
    table = re.findall(r'"(\S+)": torch\.(\w+),', (Path(codegen.__file__).parent / "host_ops.py").read_text())
    assert len(table) == 15
    for name, carrier in table:
        assert ElementType(name).torch_arithmetic == carrier
