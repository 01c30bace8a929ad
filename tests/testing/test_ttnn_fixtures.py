"""Fixtures of tests that call ``ttnn``."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tt_xla.testing.ttnn_fixtures import assert_with_pcc, comp_pcc, torch_random

TESTS = """
import pytest, torch, ttnn
from tt_xla.testing.ttnn_fixtures import assert_with_pcc, skip_for_blackhole, torch_random

@pytest.mark.parametrize("device_params", [{"l1_small_size": 16384, "trace_region_size": 0}], indirect=True)
def test_device(device, reset_seeds, silicon_arch_name):
    assert silicon_arch_name == "wormhole_b0"
    assert ttnn.GetDefaultDevice() is device
    x = torch_random((32, 64), -1, 1, torch.bfloat16)
    y = ttnn.from_torch(x, layout=ttnn.TILE_LAYOUT, device=device)
    assert_with_pcc(x.float().exp(), ttnn.to_torch(ttnn.exp(y)).float(), 0.999)

@pytest.mark.parametrize("device_params", [{"fabric_config": ttnn.FabricConfig.FABRIC_1D}], indirect=True)
@pytest.mark.parametrize("mesh_device", [2, (2, 4), (4, 8)], indirect=True)
def test_mesh(mesh_device, device_params):
    mapper = ttnn.ShardTensorToMesh(mesh_device, dim=0)
    x = ttnn.from_torch(torch.ones(256, 32), layout=ttnn.TILE_LAYOUT, device=mesh_device, mesh_mapper=mapper)
    assert ttnn.all_gather(x, dim=0, cluster_axis=1).shape[0] == x.shape[0] * mesh_device.shape[1]

@skip_for_blackhole()
def test_on_wormhole():
    assert not torch.equal(torch.zeros(1), torch.ones(1))
"""


@pytest.mark.nightly
def test_tests_written_for_tt_nn_run(tmp_path: Path) -> None:
    (tmp_path / "test_written.py").write_text(TESTS)
    code = "import sys, pytest, tt_xla._import_hook; sys.exit(pytest.main(sys.argv[1:]))"
    options = ["-q", "-p", "tt_xla.testing.ttnn_fixtures", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [sys.executable, "-c", code, *options, str(tmp_path)],
        cwd=tmp_path,
        env=os.environ | {"TTXLA_SYSTEM": "n300-llmbox"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "4 passed, 1 skipped" in done.stdout, done.stdout


def test_correlation_of_tensors() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, math.nan])
    assert comp_pcc(x, x) == (True, 1.0)
    assert comp_pcc(x, torch.tensor([1.0, 2.0, 3.0, 4.0])) == (False, 0.0)
    passed, value = comp_pcc(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 2.0]), 0.8)
    assert passed
    assert value == pytest.approx(math.sqrt(3) / 2)
    assert comp_pcc(torch.ones(4), torch.zeros(4)) == (False, 0.0)
    assert comp_pcc(torch.tensor([1.0, math.inf]), torch.tensor([1.0, -math.inf])) == (False, 0.0)
    with pytest.raises(AssertionError, match=r"shape \[2\], got \[3\]"):
        assert_with_pcc(torch.zeros(2), torch.zeros(3))
    with pytest.raises(AssertionError, match="correlation"):
        assert_with_pcc(torch.arange(4.0), -torch.arange(4.0))
    assert torch_random((9,), 0, 2, torch.int32).max() < 2
