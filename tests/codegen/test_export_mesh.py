"""Source of programs for several chips that PyTorch and JAX export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tests.codegen.mesh_programs import PROGRAMS
from tests.codegen.tensor_files import read
from tt_xla.codegen.export import exporting
from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.mesh import replicated
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.mesh.shards import join, split
from tt_xla.target import load_target


def test_files_hold_whole_tensors(tmp_path: Path) -> None:
    options = CompileOptions.parse({"backend": "codegen_py", "export_path": str(tmp_path / "out")})
    program = compile_module(parse_module(PROGRAMS["tensor_parallel"]((2, 2))), options, load_target("p150x4"))
    run = exporting(program, {"ttnn": "ttnn"}, get_device("p150x4").load(program).run, join=join)
    assert program.mesh is not None
    tensors = [(torch.rand(argument.global_shape) / 8).bfloat16() for argument in program.arguments]
    shards = [
        split(tensor, argument.sharding or replicated(2), program.mesh)
        for tensor, argument in zip(tensors, program.arguments, strict=True)
    ]
    results = run(shards, [None] * 3)
    assert len(results[0]) == 4
    for index, tensor in enumerate(tensors):
        assert np.array_equal(read(tmp_path / "out" / "tensors" / f"arg{index}.tensorbin"), tensor.float().numpy())
    expected = torch.tanh(tensors[0].float() @ tensors[1].float()) @ tensors[2].float()
    stored = read(tmp_path / "out" / "tensors" / "expected0.tensorbin")
    np.testing.assert_allclose(stored, expected.numpy(), atol=0.05, rtol=0.05)
    assert "ttnn.open_mesh_device(ttnn.MeshShape(2, 2)" in (tmp_path / "out" / "main.py").read_text()
