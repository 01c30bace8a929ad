"""Tensor files follow their schema, and TT-NN reads them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.tensor_files import read
from tt_xla.codegen.mock import Mock
from tt_xla.codegen.tensorbin import header, save
from tt_xla.ir.layout import DataType

TYPES = {
    DataType.F32: "<f4",
    DataType.SI32: "<i4",
    DataType.U32: "<u4",
    DataType.U16: "<u2",
    DataType.U8: "u1",
    DataType.BF16: "<u2",
}
SHAPES = ((), (1,), (3, 5), (2, 3, 4, 5), (0, 3))


def written(folder: Path) -> dict[str, np.ndarray]:
    """Writes files of every element type and of several ranks, and returns the expected elements."""
    arrays: dict[str, np.ndarray] = {}
    for dtype, kind in TYPES.items():
        for shape in SHAPES:
            path = folder / f"{dtype.value}_{len(shape)}.tensorbin"
            array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
            if dtype is DataType.BF16:
                stored = (array.astype("<f4").view("<u4") >> 16).astype("<u2")
            else:
                stored = array.astype(kind)
            save(path, stored, dtype)
            arrays[path.name] = array
    return arrays


def test_elements_come_back(tmp_path: Path) -> None:
    for name, array in written(tmp_path).items():
        stored = read(tmp_path / name)
        assert stored.shape == array.shape
        assert np.array_equal(stored, array), name


@pytest.mark.parametrize("rank", range(6))
def test_elements_are_aligned(rank: int) -> None:
    assert len(header((2,) * rank, DataType.F32, [(0, 4)])) % 64 == 0


def test_tt_nn_reads_them(tmp_path: Path, ttnn_mock: Mock) -> None:
    arrays = written(tmp_path)
    script = f"""
import json, pathlib, ttnn
loaded = {{}}
for path in sorted(pathlib.Path({str(tmp_path)!r}).glob("*.tensorbin")):
    tensor = ttnn.load_tensor(str(path))
    plain = ttnn.to_dtype(tensor, ttnn.float32) if tensor.dtype == ttnn.bfloat16 else tensor
    loaded[path.name] = [str(tensor.dtype), list(tensor.shape), plain.to_numpy().tolist()]
print(json.dumps(loaded))
"""
    environment = ttnn_mock.environment
    done = subprocess.run([ttnn_mock.python, "-c", script], env=environment, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert loaded.keys() == arrays.keys()
    for name, (_, shape, elements) in loaded.items():
        assert tuple(shape) == arrays[name].shape
        assert elements == arrays[name].tolist(), name
    assert {dtype for dtype, _, _ in loaded.values()} == {
        f"DataType.{kind}" for kind in ("BFLOAT16", "FLOAT32", "INT32", "UINT8", "UINT16", "UINT32")
    }
