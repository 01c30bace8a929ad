"""Source of programs for several chips that PyTorch and JAX export."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.codegen.mesh_programs import PROGRAMS
from tests.codegen.tensor_files import read
from tt_xla.codegen.export import exporting
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import ExecutionError
from tt_xla.ir.mesh import replicated
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.mesh.shards import join, split
from tt_xla.target import load_target

pytestmark = pytest.mark.quick


def compiled(backend: str, folder: Path) -> Program:
    options = CompileOptions.parse({"backend": backend, "export_path": str(folder)})
    return compile_module(parse_module(PROGRAMS["tensor_parallel"]((2, 2))), options, load_target("p150x4"))


def written(folder: Path) -> tuple[list[torch.Tensor], list[list[torch.Tensor]], list[list[torch.Tensor]]]:
    """Writes the source of a program for four chips; returns its arguments, their shards, and those of its results."""
    program = compiled("codegen_py", folder)
    run = exporting(program, {"ttnn": "ttnn"}, get_device("p150x4").load(program).run, join=join)
    assert program.mesh is not None
    tensors = [(torch.rand(argument.global_shape) / 8).bfloat16() for argument in program.arguments]
    shards = [
        split(tensor, argument.sharding or replicated(2), program.mesh)
        for tensor, argument in zip(tensors, program.arguments, strict=True)
    ]
    return tensors, shards, run(shards, [None] * 3)


def test_files_hold_whole_tensors(tmp_path: Path) -> None:
    tensors, _, results = written(tmp_path / "out")
    assert len(results[0]) == 4
    for index, tensor in enumerate(tensors):
        assert np.array_equal(read(tmp_path / "out" / "tensors" / f"arg{index}.tensorbin"), tensor.float().numpy())
    expected = torch.tanh(tensors[0].float() @ tensors[1].float()) @ tensors[2].float()
    stored = read(tmp_path / "out" / "tensors" / "expected0.tensorbin")
    np.testing.assert_allclose(stored, expected.numpy(), atol=0.05, rtol=0.05)
    assert "ttnn.open_mesh_device(ttnn.MeshShape(2, 2)" in (tmp_path / "out" / "main.py").read_text()


def test_edited_source_of_several_chips_is_loaded_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150x4")
    _, shards, results = written(tmp_path)

    def loaded() -> list[torch.Tensor]:
        executable = get_device("p150x4").load(compiled("codegen_load_py", tmp_path))
        return executable.run(shards, [None] * 3)[0]

    assert all(map(torch.equal, loaded(), results[0]))
    assert f" -> {tmp_path}\n" in capsys.readouterr().out  # upstream's words start with the hash
    main = tmp_path / "main.py"
    main.write_text(re.sub(r"    return \[(\w+)\]\n", r"    return [ttnn.neg(\1)]\n", main.read_text()))
    assert all(map(torch.equal, loaded(), [-shard for shard in results[0]]))
    main.write_text(main.read_text().replace("return [ttnn.neg(", "return [device, ttnn.neg("))
    with pytest.raises(ExecutionError, match="forward returned"):
        loaded()
