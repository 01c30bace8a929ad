"""TT-NN's tensor files: what is written is read again, by ours and by the real package."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.environment import variable
from tt_xla.ir.element_types import DataType
from tt_xla.ttnn_api.tile_bytes import pack, unpack

FORMS = [
    *(("bfloat16", "TILE", (2, 40, 33)), ("bfloat16", "ROW_MAJOR", (3, 5)), ("float32", "TILE", (64, 64))),
    *(("bfloat8_b", "TILE", (40, 64)), ("bfloat4_b", "TILE", (64, 33)), ("uint32", "ROW_MAJOR", (7,))),
    *(("uint16", "TILE", (32, 32)), ("int32", "TILE", (2, 2, 2, 2)), ("uint8", "ROW_MAJOR", (4, 4))),
]

WRITE_AGAIN = """
import sys, ttnn
for path in sys.argv[1:]:
    ttnn.dump_tensor(path + ".again.tensorbin", ttnn.load_tensor(path))
"""


def tensor(ttnn: Any, dtype: str, layout: str, shape: tuple[int, ...]) -> Any:
    generator = torch.Generator().manual_seed(len(shape))
    values = torch.randn(shape, generator=generator) * 3
    if "int" in dtype:
        values = values.abs().to(torch.int32)
    return ttnn.from_torch(values, getattr(ttnn, dtype), layout=getattr(ttnn.Layout, layout))


def stored(path: Path) -> bytes:
    """Returns the elements of a file, without its header."""
    content = path.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


@pytest.mark.parametrize(("dtype", "layout", "shape"), FORMS)
def test_a_tensor_is_read_again(dtype: str, layout: str, shape: tuple[int, ...], ttnn: Any, tmp_path: Path) -> None:
    written = tensor(ttnn, dtype, layout, shape)
    ttnn.dump_tensor(str(tmp_path / "t.tensorbin"), written)
    read = ttnn.load_tensor(str(tmp_path / "t.tensorbin"))
    assert (read.shape, read.dtype, read.layout) == (written.shape, written.dtype, written.layout)
    assert torch.equal(ttnn.to_torch(read).double(), ttnn.to_torch(written).double())


def test_shards_of_a_mesh_are_read_again(ttnn: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    path = tmp_path / "t.tensorbin"
    x = torch.randn(64, 64)
    with ttnn.create_mesh_device(ttnn.MeshShape(2, 4)) as mesh:
        mapper = ttnn.ShardTensor2dMesh(mesh, mesh_shape=(2, 4), dims=(None, 1))
        written = ttnn.from_torch(x, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=mapper)
        ttnn.dump_tensor(str(path), written)
        assert len(stored(path)) == 4 * 64 * 32 * 4  # rows of chips share their shards; a shard fills tiles
        read = ttnn.load_tensor(str(path), device=mesh)
        assert read.tensor_topology() == written.tensor_topology()
        composer = ttnn.ConcatMesh2dToTensor(mesh, mesh_shape=(2, 4), dims=(0, 1))
        assert torch.equal(ttnn.to_torch(read, mesh_composer=composer), torch.cat([x, x]))


def test_other_files_are_refused(ttnn: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.tensorbin"
    with pytest.raises(RuntimeError, match="Cannot open"):
        ttnn.load_tensor(str(path))
    ttnn.dump_tensor(str(path), tensor(ttnn, "float32", "TILE", (32, 32)))
    content = path.read_bytes()
    for broken in (b"", b"abc", content[:100], content[:-1], b"\xff" * 400):
        path.write_bytes(broken)
        with pytest.raises(RuntimeError, match="no tensor file"):
            ttnn.load_tensor(str(path))


def test_block_floats_share_the_exponent_of_sixteen() -> None:
    row = np.zeros((1, 32), np.float32)
    row[0, :3], row[0, 16] = (1.0, -0.5, 1.984375), 4.0
    data = pack(row, DataType.BFP_BF8)
    assert len(data) == 1088
    assert (data[0], data[16]) == (127, 129)  # the first rows of the two upper faces
    assert list(data[64:67]) == [64, 128 | 32, 127]
    assert np.array_equal(unpack(data, DataType.BFP_BF8, (1, 32)), row)


@pytest.mark.skipif(not variable("TTXLA_TTNN_PYTHON"), reason="TTXLA_TTNN_PYTHON names no interpreter with ttnn")
def test_the_real_package_reads_and_writes_the_same_elements(ttnn: Any, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.tensorbin" for number, _ in enumerate(FORMS)]
    for path, form in zip(paths, FORMS, strict=True):
        ttnn.dump_tensor(str(path), tensor(ttnn, *form))
    real = mock(ttnn_python(), "p150")
    names = [str(path) for path in paths]
    done = subprocess.run([real.python, "-c", WRITE_AGAIN, *names], env=real.environment, cwd=tmp_path, check=False)
    assert done.returncode == 0
    for path in paths:
        again = path.with_name(f"{path.name}.again.tensorbin")
        assert stored(again) == stored(path)
        assert torch.equal(*(ttnn.to_torch(ttnn.load_tensor(str(each))).double() for each in (again, path)))
