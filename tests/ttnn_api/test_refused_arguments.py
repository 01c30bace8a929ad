"""Arguments that lie on the wrong side of a border, beside those that lie on the right one: both sides of a guard."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytestmark = pytest.mark.quick


@pytest.fixture
def names(ttnn: Any, device: Any) -> dict[str, Any]:
    """Returns what the calls below name: a function that puts zeros onto the device or the host, and a core grid."""

    def put(*shape: int, dtype: str = "bfloat16", layout: str = "TILE", host: bool = False, **options: Any) -> Any:
        options["device"] = None if host else device
        return ttnn.from_torch(
            torch.zeros(shape), getattr(ttnn, dtype), layout=getattr(ttnn, f"{layout}_LAYOUT"), **options
        )

    def sharded(rows: int, columns: int, cores: int) -> Any:
        grid, strategy = ttnn.CoreGrid(y=1, x=cores), ttnn.ShardStrategy.HEIGHT
        return ttnn.create_sharded_memory_config((1, 1, rows, columns), grid, strategy)

    sizes = {"in0_block_w": 1, "out_subblock_h": 1, "out_subblock_w": 1, "per_core_M": 1, "per_core_N": 1}
    config = ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=ttnn.CoreCoord(1, 1), fuse_batch=False, mcast_in0=True, **sizes
    )
    return {"ttnn": ttnn, "torch": torch, "device": device, "put": put, "sharded": sharded, "config": config}


GROUP_NORM = "ttnn.group_norm(put(1, 1, 64, 64{}), inplace=False, {})"
PARAMETERS = "ttnn.dram_group_norm_params_from_torch(torch.ones({}), {}, {}, None, core_grid=ttnn.CoreGrid(x=8, y=8){})"
GRID = "ttnn.determine_expected_group_norm_dram_grid_size(device=device, num_channels={}, num_groups=4, input_nhw=96)"
SHARDED_GRID = (
    "ttnn.determine_expected_group_norm_sharded_config_and_grid_size(device=device, num_channels={}, num_groups=4, "
    "input_nhw=96, is_height_sharded=True)"
)
MOE = "ttnn.moe(put({}), put(1, 1, 1, {}), put({}), {})"
SPARSE = (
    "ttnn.sparse_matmul(put(1, 2, 32, 32), put(1, 4, 32, 32), sparsity=put(1, 2, 1, 4, layout='ROW_MAJOR'), "
    "program_config=config, {})"
)
CUMSUM = "ttnn.{}(put(2, 32, 64), {})"
UPSAMPLE = "ttnn.upsample(put({}, layout='ROW_MAJOR'), {})"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (GROUP_NORM.format("", "num_groups=2"), None),
        (GROUP_NORM.format("", "num_groups=3"), "channel must be divisible by num_groups! Got 64 and 3"),
        (PARAMETERS.format(96, 96, 3, ""), None),
        (PARAMETERS.format(95, 96, 3, ""), "channels per device: 95 not equal .* 96"),
        (PARAMETERS.format(97, 96, 3, ""), "channels per device: 97 not equal .* 96"),
        (PARAMETERS.format(96, 96, 5, ""), "divisible by num_groups and 32, got 96 and 5"),
        (PARAMETERS.format(80, 80, 5, ""), "divisible by num_groups and 32, got 80 and 5"),
        (PARAMETERS.format(96, 96, 3, ", mesh_axis=0"), "takes no mesh_axis, got 0"),
        (GRID.format(64), None),
        (GRID.format(48), "divisible by num_groups and 32, got 48 and 4"),
        (SHARDED_GRID.format(64), None),
        (SHARDED_GRID.format(48), "divisible by num_groups and 32, got 48 and 4"),
        (MOE.format("1, 1, 32, 64", 64, "1, 1, 1, 32", 32), None),
        (MOE.format("1, 1, 32, 32", 32, "1, 1, 1, 32", 32), "inner dim 32 must be a multiple of 64"),
        (MOE.format("1, 1, 32, 96", 96, "1, 1, 1, 32", 32), "inner dim 96 must be a power of 2"),
        (MOE.format("1, 1, 32, 64", 64, "1, 1, 32, 32", 32), "Topk mask must be row-broadcastable"),
        (MOE.format("1, 1, 32, 64", 64, "1, 1, 1, 64", 32), "Topk mask must be row-broadcastable"),
        (MOE.format("1, 1, 32, 64", 64, "1, 1, 1, 31", 31), "K must be equal to 32"),
        (MOE.format("1, 1, 32, 64", 64, "1, 1, 1, 33", 33), "K must be equal to 32"),
        (SPARSE.format("is_input_b_sparse=False"), "at least one of the inputs must be sparse"),
        (SPARSE.format("nnz=3, indices=put(1, 2, dtype='uint16')"), "indices requires is_input_b_sparse and no nnz"),
        (
            SPARSE.format("is_input_a_sparse=True, is_input_b_sparse=False, indices=put(1, 2, dtype='uint16')"),
            "indices requires is_input_b_sparse and no nnz",
        ),
        *(
            case
            for name in ("cumsum", "cumprod")
            for case in (
                (CUMSUM.format(name, "2"), None),
                (CUMSUM.format(name, "-3"), None),
                (CUMSUM.format(name, "3"), "accumulation axis is 3, while the input tensor has rank 3"),
                (CUMSUM.format(name, "-4"), "accumulation axis is -4, while the input tensor has rank 3"),
                (CUMSUM.format(name, "0, out=put(2, 32, 64)"), None),
                (CUMSUM.format(name, "0, out=put(2, 64, 32)"), "Shape mismatch"),
                (CUMSUM.format(name, "0, out=put(2, 32, 64, host=True)"), "output tensor must be on device"),
                (f"ttnn.{name}(put(64, 32, memory_config=sharded(64, 32, 2)), 0)", "do not support sharded input"),
            )
        ),
        ("ttnn.prod(put(64, 32, memory_config=sharded(64, 32, 2)), 0)", "must be INTERLEAVED"),
        ("ttnn.argmax(put(64, 32, memory_config=sharded(64, 32, 2)), 0)", "Only INTERLEAVED memory layout"),
        ("ttnn.argmax(put(64, 32, host=True), 0)", "Input tensor must be on device"),
        ("ttnn.ema(put(1, 2, 32, 64), 0.5)", None),
        ("ttnn.ema(put(2, 1, 32, 64), 0.5)", "leading dimension to be 1, got 2"),
        ("ttnn.ema(put(1, 32, 64), 0.5)", "got rank 3"),
        (UPSAMPLE.format("1, 4, 4, 64", "[2, 2, 2]"), "scale_factor must have two numbers"),
        (UPSAMPLE.format("1, 4, 4, 64", "[0.5, 0]"), "scale_factor_w must be positive, got 0"),
        (UPSAMPLE.format("1, 4, 4, 64", "2, mode='cubic'"), "mode must be 'nearest' or 'bilinear'"),
        (UPSAMPLE.format("1, 4, 4, 64", "[2, 1.5], mode='bilinear'"), "requires integer scale factors, got .2, 1.5"),
        (UPSAMPLE.format("1, 4, 4, 48", "2, mode='bilinear'"), "input channels should be divisible by 32"),
        ("ttnn.upsample(put(1, 4, 4, 64), 2)", "must be tile-aligned"),
        ("ttnn.upsample(put(1, 4, 4, 64, layout='ROW_MAJOR', host=True), 2)", "expects an allocated device tensor"),
        ("ttnn.polyval(put(32, 32), [])", "coeffs should be 1 or more coefficients"),
        ("ttnn.complex_tensor(put(32, 32), put(32, 64))", "shapes of real and imag should be identical"),
        ("ttnn.clamp_bw(put(32, 32), put(32, 32))", "Only one of 'min' or 'max' can be None"),
        ("ttnn.pow_bw(put(32, 32), put(32, 32), -1.0)", "negative exponents are not supported"),
        ("ttnn.rdiv_bw(put(32, 32), put(32, 32), 2.0, rounding_mode='up')", "Incorrect rounding mode"),
        ("ttnn.batch_norm(put(2, 3, 32, 32))", "running_mean and running_var must be defined in evaluation mode"),
    ],
)
def test_both_sides_of_a_guard(names: dict[str, Any], call: str, words: str | None) -> None:
    if words is None:
        eval(call, names)
    else:
        with pytest.raises((RuntimeError, TypeError), match=words):
            eval(call, names)
