"""Rows of each format of measured times: the op, the tensors and the chip that their cells stand for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measured import Measurement, Unpriced, read
from benchmarks.measured.collectives import collective, system
from benchmarks.measured.measurement import (
    DTYPES,
    RowError,
    block,
    board_target,
    ceil_div,
    dtype_of,
    integer,
    number,
    shape_of,
    step,
    tensor,
)
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.mesh import Mesh
from tt_xla.target import Link, load_target

pytestmark = pytest.mark.quick

GEMM = {
    **{"arch": "wormhole_b0", "board": "n150", "M": "512", "K": "1024", "N": "768", "dtype": "BFLOAT8_B"},
    **{"fidelity": "LoFi", "grid": "8x4", "host_us": "20", "trace": "True", "device_us_derived": "18"},
    **{"in0_mem": "l1", "in1_mem": "", "out_mem": "DRAM", "in0_sharded": "False", "out_sharded": "True"},
}
SDPA = {
    **{"arch": "blackhole", "board": "p150", "phase": "prefill", "label": "case", "batch": "2", "seq_q": "64"},
    **{"seq_kv_or_pos": "128", "heads_q": "8", "heads_kv": "4", "head_dim_qk": "96", "head_dim_v": "32"},
    **{"q_dtype": "BFLOAT16", "kv_dtype": "BFLOAT8_B", "fidelity": "HiFi2", "measured_us": "200", "cores": "110"},
}
SWEEP = {
    **{"arch": "wormhole_b0", "op": "RECIP", "shape": "2x64x96", "dtype": "FLOAT32", "in_mem": "L1_INTERLEAVED"},
    "kernel_ns_median": "31000",
}
SHARDED = {"M": "640", "K": "96", "N": "64", "num_cores": "5", "kernel_ns": "4470"}
DURATION = {
    **{"arch": "wormhole_b0", "op_code": "TypecastDeviceOperation", "in0_logical": "1x1x250x256", "cores": "56"},
    **{"in0_padded": "1x1x256x256", "in0_dtype": "BFLOAT16", "in0_layout": "TILE", "in0_mem": "DRAM_INTERLEAVED"},
    **{"out_logical": "1x1x250x256", "out_dtype": "FLOAT32", "out_layout": "ROW_MAJOR", "out_mem": "L1_INTERLEAVED"},
    **{"avail_cores": "64", "math_fidelity": "HiFi3", "attrs": "ckc=fp32_acc=1|nothing", "kernel_ns_median": "4000"},
}
CCL = {
    **{"arch": "wormhole_b0", "op": "all_gather", "topology": "ring", "links": "2", "chips": "4", "dtype": "BFLOAT16"},
    **{"size_bytes": "262144", "kernel_us": "30"},
}


def profiled(**tensors: tuple[str, str, str, str]) -> dict[str, str]:
    """Returns a profiler's row with tensors as sizes, layout, element type and memory."""
    row = {
        **{"OP CODE": "TypecastDeviceOperation", "OP TYPE": "tt_dnn_device", "ATTRIBUTES": "{}"},
        **{"DEVICE KERNEL DURATION [ns]": "5000", "DEVICE ARCH": "wormhole_b0", "MATH FIDELITY": "HiFi2"},
        **{"CORE COUNT": "12", "AVAILABLE WORKER CORE COUNT": "56"},
    }
    for name, (sizes, layout, dtype, memory) in tensors.items():
        row |= {f"{name}_{side}_PAD[LOGICAL]": size for side, size in zip("WZYX", sizes.split(), strict=True)}
        row |= {f"{name}_LAYOUT": layout, f"{name}_DATATYPE": dtype, f"{name}_MEMORY": memory}
    return row


DRAM = ("1[1] 2[2] 64[50] 96[96]", "TILE", "BFLOAT16", "DEV_0_DRAM_INTERLEAVED")
PROFILED = profiled(INPUT_0=DRAM, OUTPUT_0=DRAM)


@pytest.fixture
def rows_of(tmp_path: Path) -> Any:
    def rows_of(*rows: dict[str, str], name: str = "rows.csv", arch: str = "") -> list[Measurement | Unpriced]:
        import csv

        path = tmp_path / name
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), restval="")
            writer.writeheader()
            writer.writerows(rows)
        return read(path, arch)

    return rows_of


@pytest.fixture
def row_of(rows_of: Any) -> Any:
    def row_of(row: dict[str, str], name: str = "rows.csv", arch: str = "", **changes: str) -> Measurement:
        (measurement,) = rows_of(row | changes, name=name, arch=arch)
        assert isinstance(measurement, Measurement), measurement.reason
        return measurement

    return row_of


def places(row: Measurement) -> list[str]:
    """Returns shape, element type, memory and grid of each value."""
    layouts = [(value.shape, value.layout) for value in row.values]
    return [
        f"{'x'.join(map(str, shape))} {'' if layout.tiled else 'rows '}{layout.dtype.value} {layout.buffer.value} "
        f"{layout.memory.value if layout.memory else 'host'} {layout.grid[0]}x{layout.grid[1]}"
        for shape, layout in layouts
    ]


def test_a_row_of_gemm_flops(row_of: Any) -> None:
    row = row_of(GEMM)
    assert (row.line, row.label, row.family) == (2, "512x1024x768 BFLOAT8_B LoFi n150", "matmul")
    assert row.target.grid == (4, 8)
    assert places(row) == [
        "512x1024 bfp_bf8 l1 interleaved 1x1",
        "1024x768 bfp_bf8 dram interleaved 1x1",
        "512x768 bfp_bf8 l1 block_sharded 4x8",
    ]
    assert row.instruction.attributes == {
        "compute_config": {"math_fidelity": "lofi", "fp32_dest_acc_en": False, "packer_l1_acc": True},
        "matmul_program_config": {"per_core_m": 4, "per_core_n": 3, "out_subblock_h": 1, "out_subblock_w": 3},
    }
    assert (row.measured_us, row.wall) == (18.0, "math")
    sharded = row_of(GEMM, in0_sharded="true", out_sharded="")
    assert [text.split()[-2] for text in places(sharded)] == ["block_sharded", "interleaved", "interleaved"]
    assert "matmul_program_config" not in row_of(GEMM, config="auto").instruction.attributes
    assert "matmul_program_config" in row_of(GEMM, config="manual").instruction.attributes
    in_dram = row_of(GEMM, out_sharded="", out_mem="DRAM").instruction.attributes["matmul_program_config"]
    assert (in_dram["out_subblock_h"], in_dram["out_subblock_w"]) == (2, 3)


def test_a_row_of_gemm_flops_by_the_defaults_of_2025(row_of: Any) -> None:
    """512 rows are one row of squares, so cores divided the columns alone."""
    row = row_of(GEMM, config="oob", in0_mem="DRAM", out_sharded="", out_mem="DRAM")
    config = row.instruction.attributes["matmul_program_config"]
    assert (config["per_core_m"], config["per_core_n"], config["in0_block_w"]) == (16, 1, 2)


@pytest.mark.parametrize(
    ("changes", "time"),
    [
        ({"host_us": "999.5"}, (18.0, "math")),
        ({"host_us": "1000"}, (1000.0, "traced")),
        ({"device_us_derived": " "}, (20.0, "traced")),
        ({"trace": "False"}, (20.0, "untraced")),
        ({"trace": ""}, (20.0, "untraced")),
    ],
)
def test_the_clock_of_a_row_of_gemm_flops(rows_of: Any, changes: dict[str, str], time: tuple[float, str]) -> None:
    short = GEMM | {"trace": "False", "host_us": "1"}
    row, _ = rows_of(GEMM | changes, short)
    assert (row.measured_us, row.wall) == time


def test_an_untraced_call_is_a_half_longer_than_the_shortest_one_of_its_chip(rows_of: Any) -> None:
    def call(us: str, arch: str = "wormhole_b0") -> dict[str, str]:
        return GEMM | {"trace": "False", "host_us": us, "arch": arch}

    rows = rows_of(call("100"), call("149"), call("150"), call("90", "blackhole"), call("135", "blackhole"))
    assert [isinstance(row, Measurement) for row in rows] == [False, False, True, False, True]
    assert rows[0] == Unpriced(
        2, "512x1024x768 BFLOAT8_B LoFi n150", "an untraced call as short as the host's own time for any call"
    )


def test_a_row_of_attention(row_of: Any) -> None:
    row = row_of(SDPA)
    assert (row.label, row.family, row.measured_us) == ("case", "attention", 200.0)
    assert row.instruction.op == "ttnn.scaled_dot_product_attention"
    assert [text.rsplit(maxsplit=3)[0] for text in places(row)] == [
        "2x8x64x96 bf16",
        "2x4x128x96 bfp_bf8",
        "2x4x128x32 bfp_bf8",
        "2x8x64x32 bf16",
    ]
    config = {"math_fidelity": "hifi2", "fp32_dest_acc_en": False}
    assert row.instruction.attributes == {"is_causal": False, "compute_config": config, "program_config": {}}
    assert row.target.grid == (10, 11)
    full = row_of(
        SDPA,
        causal="1",
        q_chunk="32",
        k_chunk="64",
        exp_approx="0",
        extra="fp32_dest_acc sliding_window=96 attn_mask paged topk",
    )
    assert full.instruction.attributes == {
        "is_causal": True,
        "compute_config": {"math_fidelity": "hifi2", "fp32_dest_acc_en": True},
        "program_config": {"q_chunk_size": 32, "k_chunk_size": 64, "exp_approx_mode": False},
        "sliding_window_size": 96,
        "paged": True,
        "gathered": True,
    }
    assert places(full)[3] == "2x1x64x128 bf16 dram interleaved 1x1"
    assert row_of(SDPA, exp_approx="1").instruction.attributes["program_config"] == {"exp_approx_mode": True}
    assert row_of(SDPA, q_chunk="0", k_chunk="-").instruction.attributes["program_config"] == {}


@pytest.mark.parametrize(
    ("extra", "op", "attributes"),
    [
        ("", "scaled_dot_product_attention_decode", {}),
        ("page_block=64", "paged_scaled_dot_product_attention_decode", {"block_size": 64}),
        ("paged", "paged_scaled_dot_product_attention_decode", {"paged": True}),
    ],
)
def test_a_row_of_decoding(row_of: Any, extra: str, op: str, attributes: dict[str, Any]) -> None:
    row = row_of(SDPA, phase="decode", extra=extra)
    assert row.instruction.op == f"ttnn.{op}"
    assert [value.shape for value in row.values] == [(1, 2, 8, 96), (2, 4, 128, 96), (2, 4, 128, 32), (1, 2, 8, 32)]
    found = row.instruction.attributes
    assert {name: found[name] for name in ("paged", "block_size") if name in found} == attributes


def test_a_row_of_a_sweep_over_a_unary_op(row_of: Any) -> None:
    row = row_of(SWEEP)
    assert (row.label, row.family, row.measured_us) == (
        "RECIP 2x64x96 FLOAT32 L1_INTERLEAVED",
        "elementwise",
        pytest.approx(31.0),
    )
    assert row.instruction.op == "ttnn.reciprocal"
    assert places(row) == ["2x64x96 f32 l1 interleaved 1x1"] * 2
    assert places(row_of(SWEEP, layout="ROW_MAJOR"))[0] == "2x64x96 rows f32 l1 interleaved 1x1"
    assert places(row_of(SWEEP, in_mem="L1_HEIGHT_SHARDED"))[0].endswith("l1 height_sharded 64x1")


@pytest.mark.parametrize(
    ("name", "grids", "config"),
    [
        (
            "x_hs.csv",
            ("height_sharded 5x1", "height_sharded 5x1"),
            {"per_core_m": 4, "per_core_n": 2, "in0_block_w": 3, "out_block_h": 4, "out_subblock_w": 2},
        ),
        (
            "x_ws.csv",
            ("width_sharded 1x5", "width_sharded 1x5"),
            {"per_core_m": 20, "per_core_n": 1, "in0_block_w": 1},
        ),
        (
            "x_bs.csv",
            ("block_sharded 5x1", "block_sharded 5x1"),
            {"per_core_m": 4, "per_core_n": 2, "in0_block_w": 3},
        ),
    ],
)
def test_a_row_of_a_sweep_over_products(row_of: Any, name: str, grids: Any, config: Any) -> None:
    row = row_of(SHARDED, name=name)
    assert (row.label, row.family, row.measured_us) == ("640x96x64 on 5 cores", "matmul", pytest.approx(4.47))
    first, weight, result = places(row)
    assert (first, result) == (f"640x96 bf16 l1 {grids[0]}", f"640x64 bf16 l1 {grids[1]}")
    assert weight == "96x64 bf16 dram interleaved 1x1"
    assert row.target.name == "n150"
    assert row.instruction.attributes == {
        "matmul_program_config": {"config": "multi_cast_1d"} | config,
        "compute_config": {"math_fidelity": "hifi2"},
        "core_count": 5,
    }


def test_what_a_sweep_over_products_may_name(row_of: Any, rows_of: Any) -> None:
    row = row_of(SHARDED, arch="blackhole", dtype="BFLOAT8_B", fidelity="LoFi", name="x_hs.csv")
    assert (row.target.arch, row.values[1].layout.dtype.value) == ("blackhole", "bfp_bf8")
    assert row.instruction.attributes["compute_config"] == {"math_fidelity": "lofi"}
    assert row_of(SHARDED, name="x_hs.csv", arch="p150").target.arch == "blackhole"
    assert isinstance(row_of(SHARDED, num_cores="64"), Measurement)
    (refused,) = rows_of(SHARDED | {"num_cores": "65"})
    assert refused == Unpriced(2, "640 96 64", "65 cores are more than the chip's 64")
    wide = row_of(SHARDED, N="256").instruction.attributes["matmul_program_config"]
    assert wide["out_subblock_w"] == 8
    assert row_of(SHARDED, N="288").instruction.attributes["matmul_program_config"]["out_subblock_w"] == 1
    # 32 rows by 20 tiles do not fit twice beside the shards: the largest divisor that does is 8.
    tall = row_of(SHARDED, M="5120", K="640", N="64").instruction.attributes["matmul_program_config"]
    free = load_target("n150").l1_usable_bytes // 2048 - 32 * 20 - 32 * 2 - 2 * 20 * 2
    fitting = max([part for part in (1, 2, 4, 8, 16, 32) if 2 * part * 20 <= free], default=1)
    assert tall["out_block_h"] == fitting < 32


def test_a_row_of_op_durations(row_of: Any) -> None:
    row = row_of(DURATION)
    assert (row.label, row.family, row.measured_us) == ("Typecast 1x1x250x256", "elementwise", 4.0)
    assert places(row) == ["1x1x250x256 bf16 dram interleaved 1x1", "1x1x250x256 rows f32 l1 interleaved 1x1"]
    assert row.instruction.attributes == {
        "compute_config": {"math_fidelity": "hifi3", "fp32_dest_acc_en": True},
        "core_count": 56,
    }
    assert row.target.cores == 64
    assert row_of(DURATION, cores="").instruction.attributes["core_count"] == 64
    assert row_of(DURATION, cores="nonsense").instruction.attributes["core_count"] == 64
    assert row_of(DURATION, cores="inf").instruction.attributes["core_count"] == 64
    assert row_of(DURATION, cores="-3").instruction.attributes["core_count"] == 64
    assert row_of(DURATION, cores="12.0").instruction.attributes["core_count"] == 12
    assert row_of(DURATION, avail_cores="56").target.grid == (7, 8)
    assert row_of(DURATION, in0_logical="").values[0].shape == (1, 1, 256, 256)


def test_a_row_of_op_durations_tells_the_rows_of_a_prepared_weight(row_of: Any) -> None:
    weight = {
        **{"in1_logical": "1x1x64x32", "in1_padded": "1x1x576x32", "in1_dtype": "BFLOAT16", "in1_layout": "TILE"},
        **{"in1_mem": "DRAM_INTERLEAVED", "op_code": "Conv2dDeviceOperation"},
    }
    row = row_of(DURATION | weight, attrs="block_config=act_block_w_ntiles=2")
    assert row.instruction.attributes["kernel_size"] == [9, 1]
    assert row_of(DURATION | weight, in1_padded="", attrs="x=1").instruction.attributes["kernel_size"] == [1, 1]


@pytest.mark.parametrize(
    ("memory", "attributes", "grid", "shard"),
    [
        ("L1_HEIGHT_SHARDED", "", (12, 1), None),
        ("L1_HEIGHT_SHARDED", "shard=64x256", (4, 1), (2, 8)),
        ("L1_HEIGHT_SHARDED", "shard=64x128", (12, 1), None),  # a height has every column
        ("L1_WIDTH_SHARDED", "shape={256, 32}", (1, 8), (8, 1)),
        ("L1_WIDTH_SHARDED", "shape={128;32}", (1, 12), None),  # a width has every row
        ("L1_BLOCK_SHARDED", "shape={64;32}", (4, 8), (2, 1)),
        ("L1_BLOCK_SHARDED", "shape={32,128}", (8, 2), (1, 4)),
        ("L1_BLOCK_SHARDED", "shape={16;256}", (6, 2), None),  # more rows than the chip has
        ("DRAM_INTERLEAVED", "shard=64x256", (1, 1), None),
    ],
)
def test_shards_have_the_shape_of_the_attributes_if_it_fits(
    row_of: Any, memory: str, attributes: str, grid: tuple[int, int], shard: tuple[int, int] | None
) -> None:
    row = row_of(DURATION, out_layout="TILE", out_mem=memory, cores="12", attrs=f"memory={attributes}")
    layout = row.values[1].layout
    assert layout.grid == grid
    if shard is not None:
        assert layout.shard == shard


def test_a_row_of_a_profiler(row_of: Any) -> None:
    row = row_of(PROFILED)
    assert (row.label, row.family, row.measured_us, row.mesh) == ("Typecast 1x2x50x96", "elementwise", 5.0, None)
    assert places(row) == ["1x2x50x96 bf16 dram interleaved 1x1"] * 2
    assert row.instruction.attributes == {"compute_config": {"math_fidelity": "hifi2"}, "core_count": 12}
    assert row.target.grid == (7, 8)
    assert row_of(PROFILED, **{"CORE COUNT": ""}).instruction.attributes["core_count"] == 56
    old = {name.replace("_PAD[LOGICAL]", ""): value.partition("[")[0] + ".0" for name, value in PROFILED.items()}
    old |= {name: value for name, value in PROFILED.items() if "_PAD" not in name}
    assert row_of(old).values[0].shape == (1, 2, 64, 96)
    assert row_of(PROFILED, **{"INPUT_0_W_PAD[LOGICAL]": ""}).values[0].shape == (2, 50, 96)
    assert row_of(PROFILED, INPUT_0_LAYOUT="").values[0].layout.tiled
    assert not row_of(PROFILED, INPUT_0_LAYOUT="ROW_MAJOR").values[0].layout.tiled


@pytest.mark.parametrize(
    ("name", "arch", "column", "expected"),
    [
        ("rows.csv", "", "wormhole_b0", "wormhole_b0"),
        ("rows.csv", "blackhole", "", "blackhole"),
        ("bh_rows.csv", "", "", "blackhole"),
        ("bh_rows.csv", "n150", "", "wormhole_b0"),
        ("bh20_rows.csv", "", "", "blackhole"),
    ],
)
def test_the_architecture_of_a_profilers_row(row_of: Any, name: str, arch: str, column: str, expected: str) -> None:
    changes = {"DEVICE ARCH": column, "AVAILABLE WORKER CORE COUNT": ""}
    target = row_of(PROFILED, name=name, arch=arch, **changes).target
    assert target.arch == expected
    assert (target.cores == 20) is ("bh20" in name)


def test_attributes_of_a_profilers_row_keep_the_spaces_of_dims(row_of: Any) -> None:
    changes = {"OP CODE": "PermuteDeviceOperation", "ATTRIBUTES": "{'dims': 'SmallVector([0; 1; 3; 2])'}"}
    assert row_of(PROFILED, **changes).instruction.attributes["permutation"] == [0, 1, 3, 2]
    window = {"OP CODE": "Pool2D", "ATTRIBUTES": "{'sliding': 'window_hw=(3; 2)'}"}
    assert row_of(PROFILED, **window).instruction.attributes["kernel_size"] == [3, 2]


def test_an_exchange_of_a_profilers_row_is_of_several_chips(row_of: Any) -> None:
    attributes = "{'ring_size': '4'; 'num_links': '2'; 'topology': 'Topology::Ring'}"
    row = row_of(PROFILED, **{"OP CODE": "AllGatherDeviceOperation", "ATTRIBUTES": attributes})
    assert (row.family, row.mesh) == ("collective", Mesh((4,), ("x",)))
    assert row.target.links == (Link((0, 1), 2), Link((0, 3), 2), Link((1, 2), 2), Link((2, 3), 2))
    line = attributes.replace("Ring", "Linear").replace("'2'", "'0'")
    row = row_of(PROFILED, **{"OP CODE": "AllGatherDeviceOperation", "ATTRIBUTES": line})
    assert row.target.links == (Link((0, 1), 1), Link((1, 2), 1), Link((2, 3), 1))


@pytest.mark.parametrize(
    ("row", "changes", "label", "reason"),
    [
        (GEMM, {"grid": "8"}, "512 1024 768 BFLOAT8_B LoFi", "grid '8' is not columns x rows"),
        (GEMM, {"grid": "8x0"}, "512 1024 768 BFLOAT8_B LoFi", "grid '8x0' is not columns x rows"),
        (PROFILED, {"OP CODE": "(torch) add"}, "(torch) add", "the op ran on the host"),
        (
            PROFILED,
            {"DEVICE ARCH": ""},
            "TypecastDeviceOperation",
            "the file does not name the architecture; name it with --system",
        ),
        (
            PROFILED,
            {"INPUT_0_X_PAD[LOGICAL]": "many"},
            "TypecastDeviceOperation",
            "INPUT_0_X is 'many', not a size",
        ),
        (PROFILED, {"INPUT_0_X_PAD[LOGICAL]": "32[0]"}, "TypecastDeviceOperation", "INPUT_0 has no elements"),
        (PROFILED, {"OUTPUT_0_MEMORY": ""}, "TypecastDeviceOperation", "the row has no output tensor"),
        (
            PROFILED,
            {"OP CODE": "AllGather"},
            "AllGather",
            "the attributes lack ring_size, the number of chips",
        ),
        (SDPA, {"batch": "1.5"}, "case", "batch is '1.5', not an integer"),
        (SWEEP, {"shape": "2x"}, "RECIP 2x FLOAT32", "shape '2x' does not consist of sizes joined by x"),
        (DURATION, {"out_logical": ""}, "TypecastDeviceOperation 1x1x250x256", "the row has no output tensor"),
        (
            CCL,
            {"op": "broadcast"},
            "broadcast ring 4 262144",
            "op 'broadcast' is unknown; expected one of all_gather, all_reduce, all_to_all, reduce_scatter",
        ),
    ],
)
def test_rows_that_cannot_be_priced_keep_the_reason(
    rows_of: Any, row: Any, changes: Any, label: str, reason: str
) -> None:
    assert rows_of(row | changes) == [Unpriced(2, label, reason)]


def test_signposts_and_long_labels_and_files_that_are_no_text(rows_of: Any, tmp_path: Path) -> None:
    post = PROFILED | {"OP TYPE": "signpost", "OP CODE": "start"}
    unknown, known = rows_of(post, PROFILED | {"OP CODE": "N" * 70}, PROFILED)
    assert (unknown.line, unknown.label, known.line) == (3, "N" * 60, 4)
    path = tmp_path / "picture.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MalformedModuleError, match=r"picture\.csv' is not text\. Give a CSV file: ops_perf_results"):
        read(path)
    path.write_text("\n")
    with pytest.raises(MalformedModuleError, match="is empty"):
        read(path)
    path.write_text("M,K,N,num_cores\n")
    known_formats = (
        "Known formats: ops_perf_results (a profiler's report), op_durations, gemm_flops, sdpa, "
        "op_sweep of a unary op, op_sweep_matmul, ccl."
    )
    with pytest.raises(MalformedModuleError) as raised:
        read(path)
    assert str(raised.value) == (
        f"'{path}' has the columns of no known format. The nearest format is op_sweep_matmul, "
        f"which also has kernel_ns. {known_formats}"
    )


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        ("all_gather", ((32, 1024), (32, 4096))),
        ("reduce_scatter", ((32, 4096), (32, 1024))),
        ("all_reduce", ((32, 4096), (32, 4096))),
        ("all_to_all", ((32, 4096), (32, 4096))),
    ],
)
def test_a_row_of_collectives(op: str, shapes: Any) -> None:
    row = collective(CCL | {"op": op}, 7, "", "")
    assert (row.line, row.label, row.family) == (7, f"{op} 262144 B, ring of 4", "collective")
    assert (row.measured_us, row.mesh) == (30.0, Mesh((4,), ("x",)))
    assert tuple(value.shape for value in row.values) == shapes
    assert places(row)[0].endswith("bf16 dram interleaved 1x1")
    assert row.instruction.attributes == {"cluster_axis": 0}
    tiny = collective(CCL | {"op": op, "size_bytes": "16", "memory": "L1"}, 7, "", "")
    assert {value.shape for value in tiny.values} == {(32, 1)}
    assert places(tiny)[0].endswith("l1 interleaved 1x1")
    assert collective(CCL | {"arch": ""}, 7, "", "blackhole").target.arch == "blackhole"


def test_chips_in_a_line_or_a_ring() -> None:
    chip = load_target("n150")
    assert system(chip, "line", 3, 2).links == (Link((0, 1), 2), Link((1, 2), 2))
    assert system(chip, "ring", 3, 2).links == (Link((0, 1), 2), Link((0, 2), 2), Link((1, 2), 2))
    assert system(chip, "ring", 2, 1).links == (Link((0, 1), 1),)
    built = system(chip, "line", 256, 1)
    assert (built.chips, built.chip_numbers, built.host_chips) == (256, tuple(range(256)), tuple(range(256)))
    for chips in (1, 257):
        with pytest.raises(RowError, match=f"^a collective of {chips} chips; expected 2 to 256$"):
            system(chip, "line", chips, 1)
    with pytest.raises(RowError, match=r"^topology 'star' is unknown; expected line or ring$"):
        system(chip, "star", 2, 1)


def test_cells_with_numbers() -> None:
    assert (number({"a": " 2.5 "}, "a"), integer({"a": "3.0"}, "a"), integer({"a": str(2**40)}, "a")) == (2.5, 3, 2**40)
    for read_cell, text, message in (
        (number, "", "a is '', not a number"),
        (number, "x", "a is 'x', not a number"),
        (number, "0", "a is '0', not a positive number"),
        (number, "inf", "a is 'inf', not a positive number"),
        (number, "-1", "a is '-1', not a positive number"),
        (integer, "2.5", "a is '2.5', not an integer"),
        (integer, str(2**40 + 1), f"a is '{2**40 + 1}', not an integer"),
        (lambda row, column: shape_of(row[column]), "0x2", "shape '0x2' has no elements or too many"),
        (
            lambda row, column: shape_of(row[column]),
            f"{2**40}x2",
            f"shape '{2**40}x2' has no elements or too many",
        ),
        (lambda row, column: shape_of(row[column]), "x2", "shape 'x2' does not consist of sizes joined by x"),
    ):
        with pytest.raises(RowError) as raised:
            read_cell({"a": text}, "a")
        assert str(raised.value) == message
    assert shape_of(" 1x384x3") == (1, 384, 3)
    assert shape_of(str(2**40)) == (2**40,)


def test_names_of_element_types_and_memories() -> None:
    assert {name: dtype.value for name, dtype in DTYPES.items()} == {
        **{"BFLOAT16": "bf16", "FLOAT32": "f32", "BFLOAT8_B": "bfp_bf8", "BFLOAT4_B": "bfp_bf4", "UINT32": "u32"},
        **{"INT32": "si32", "UINT16": "u16", "UINT8": "u8"},
    }
    for text in ("DataType::BFLOAT16", "DataType.BFLOAT16", " bfloat16 "):
        assert dtype_of(text).value == "bf16"
    with pytest.raises(
        RowError, match=r"^element type 'HALF' is unknown; expected one of BFLOAT16, FLOAT32, BFLOAT8_B"
    ):
        dtype_of("HALF")
    with pytest.raises(RowError, match=r"^memory 'SRAM' is unknown$"):
        tensor((1, 1), "BFLOAT16", "TILE", "SRAM", 1, (1, 1))
    grids = {
        "L1_HEIGHT_SHARDED": (6, 1),
        "DEV_10_L1_WIDTH_SHARDED": (1, 6),
        "L1_BLOCK_SHARDED": (3, 2),
        "L1_INTERLEAVED": (1, 1),
        "DRAM_WIDTH_SHARDED": (1, 1),
    }
    for memory, grid in grids.items():
        assert tensor((192, 192), "BFLOAT16", " tile ", memory, 6, (3, 4)).layout.grid == grid
    assert not tensor((192, 192), "BFLOAT16", "ROW_MAJOR", "L1_INTERLEAVED", 6, (3, 4)).layout.tiled


@pytest.mark.parametrize(
    ("cores", "grid", "expected"),
    [(6, (3, 4), (3, 2)), (8, (3, 4), (2, 4)), (5, (8, 8), (5, 1)), (7, (3, 4), (1, 7)), (4, (3, 4), (2, 2))],
)
def test_blocks_of_cores(cores: int, grid: tuple[int, int], expected: tuple[int, int]) -> None:
    assert block(cores, grid) == expected


def test_quotients_and_instructions() -> None:
    assert [ceil_div(count, 4) for count in (0, 1, 4, 5)] == [0, 1, 1, 2]
    value = tensor((32, 32), "BFLOAT16", "TILE", "DRAM_INTERLEAVED", 1, (1, 1))
    other = tensor((32, 64), "BFLOAT16", "TILE", "DRAM_INTERLEAVED", 1, (1, 1))
    instruction, values = step("x", [value, value], [other], {"a": 1})
    assert (instruction.op, instruction.operands, instruction.results) == (
        "ttnn.x",
        {"operand0": 0, "operand1": 1},
        (2,),
    )
    assert (instruction.attributes, values) == ({"a": 1}, (value, value, other))
    assert step("x", [], [])[0].attributes == {}


@pytest.mark.parametrize(
    ("arch", "board", "cores", "grid", "expected"),
    [
        ("Wormhole_B0", "", 0, None, ("n150", (8, 8))),
        ("n300", "", 56, None, ("n150", (7, 8))),
        ("n150", "", 20, None, ("n150", (4, 5))),
        ("n150", "", 72, None, ("n150", (8, 9))),
        ("n150", "", 12, None, ("n150", (6, 2))),
        ("n150", "", 56, (2, 3), ("n150", (2, 3))),
        ("blackhole", "", 110, None, ("p150", (10, 11))),
        ("p150", "", 120, None, ("p150", (10, 12))),
        ("p300", "", 130, None, ("p150", (10, 13))),
        ("p100", "", 140, None, ("p150", (10, 14))),
        ("p150", "", 64, None, ("p150", (8, 8))),
        ("p150", "bh20", 110, None, ("p150", (4, 5))),
    ],
)
def test_the_cores_of_a_board(arch: str, board: str, cores: int, grid: Any, expected: Any) -> None:
    target = board_target(arch, board, cores, grid)
    assert (target.name, target.grid) == expected


def test_the_memory_of_a_board() -> None:
    whole, part, small = (board_target("p150", board) for board in ("", "p100a", "bh20"))
    for name in ("dram_peak_bytes_per_second", "dram_achieved_bytes_per_second", "dram_sharded_bytes_per_second"):
        assert getattr(part, name) == getattr(whole, name) * 7 / 8
    assert small == dataclasses.replace(whole, grid=(4, 5), dram_achieved_bytes_per_second=300e9)
    with pytest.raises(RowError, match=r"^architecture 'quasar' is neither wormhole_b0 nor blackhole$"):
        board_target("quasar")
