"""Tests of ``python -m benchmarks.measured``: files that it reads and refuses, and the meaning of its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.measured import Measurement, Unpriced, price, read, summarise
from benchmarks.measured.__main__ import main
from benchmarks.measured.op_codes import OP_CODES, base_code
from tt_xla.errors import MalformedModuleError

pytestmark = pytest.mark.quick

GEMM = (
    "arch,board,M,K,N,dtype,fidelity,grid,config,trace,in0_sharded,out_sharded,in0_mem,in1_mem,out_mem,host_us,"
    "device_us_derived\n"
)
SDPA = (
    "arch,board,op,phase,label,batch,seq_q,seq_kv_or_pos,heads_q,heads_kv,head_dim_qk,head_dim_v,q_chunk,k_chunk,cores,"
    "causal,q_dtype,kv_dtype,fidelity,extra,measured_us\n"
)
SWEEP = "arch,board,op,shape,dtype,layout,in_mem,kernel_ns_median\n"
HEIGHT = "M,K,N,num_cores,kernel_ns\n"
DURATIONS = (
    "arch,board,op_code,in0_padded,in0_logical,in0_layout,in0_dtype,in0_mem,in1_logical,in1_layout,in1_dtype,in1_mem,"
    "out_logical,out_layout,out_dtype,out_mem,math_fidelity,cores,avail_cores,attrs,kernel_ns_median\n"
)
TENSOR = "1x1x256x256,TILE,BFLOAT16,DRAM_INTERLEAVED"
ADD = (
    f"wormhole_b0,n150,BinaryNgDeviceOperation,1x1x256x256,{TENSOR},{TENSOR},{TENSOR},HiFi4,64,64,"
    "binary_op_type=ADD|dtype=BFLOAT16,4000\n"
)
EXP_ROW = "wormhole_b0,n150,exp,1x1024x1024,BFLOAT16,TILE,DRAM_INTERLEAVED,31000\n"

_BLOCK = [f"{{0}}_{axis}_PAD[LOGICAL]" for axis in "WZYX"] + ["{0}_LAYOUT", "{0}_DATATYPE", "{0}_MEMORY"]
PROFILER_COLUMNS = [
    *("OP CODE", "OP TYPE", "DEVICE ARCH", "ATTRIBUTES", "MATH FIDELITY", "CORE COUNT", "AVAILABLE WORKER CORE COUNT"),
    "DEVICE KERNEL DURATION [ns]",
    *(cell.format(place) for place in ("INPUT_0", "INPUT_1", "OUTPUT_0") for cell in _BLOCK),
]


def profiler_row(code: str, attributes: str, ns: str, *tensors: tuple[int, ...]) -> str:
    cells = [code, "tt_dnn_device", "blackhole", attributes, "HiFi4", "64", "110", ns]
    for shape in tensors:
        sizes = (1,) * (4 - len(shape)) + shape
        cells += [f"{size}[{size}]" for size in sizes] + ["TILE", "BFLOAT16", "DEV_0_DRAM_INTERLEAVED"]
    return ",".join(cells) + "\n"


def table(folder: Path, text: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("text", "family", "op"),
    [
        (
            GEMM + "wormhole_b0,n150,512,1024,1024,BFLOAT8_B,LoFi,8x8,manual,True,True,True,L1,DRAM,L1,22.1,17.7\n",
            "matmul",
            "ttnn.matmul",
        ),
        (
            SDPA
            + "blackhole,p100a,SDPA,prefill,,1,1024,1024,32,8,128,128,128,128,110,1,BFLOAT8_B,BFLOAT8_B,HiFi2,,200\n",
            "attention",
            "ttnn.scaled_dot_product_attention",
        ),
        (
            SDPA
            + "blackhole,p100a,SDPA,decode,,8,1,1024,32,8,128,128,,0,110,1,BFLOAT16,BFLOAT8_B,HiFi2,page_block=32,9\n",
            "attention",
            "ttnn.paged_scaled_dot_product_attention_decode",
        ),
        (SWEEP + EXP_ROW, "elementwise", "ttnn.exp"),
        (HEIGHT + "640,96,96,5,4470\n", "matmul", "ttnn.matmul"),
        (DURATIONS + ADD, "elementwise", "ttnn.add"),
    ],
)
def test_each_format_is_told_by_its_columns(tmp_path: Path, text: str, family: str, op: str) -> None:
    (measurement,) = read(table(tmp_path, text))
    assert isinstance(measurement, Measurement)
    assert (measurement.family, measurement.instruction.op) == (family, op)
    priced, left = price([measurement])
    assert not left
    assert priced[0].predicted_us > 0


def test_a_profilers_report_is_read_with_its_attributes(tmp_path: Path) -> None:
    shape = (1024, 1024)
    rows = [
        profiler_row(
            "BinaryNgDeviceOperation", "{'binary_op_type': 'BinaryOpType::MUL'}", "20000", shape, shape, shape
        ),
        profiler_row("TransposeDeviceOperation", "{'dim': 'TransposeOpDim::WH'}", "20000", shape, (), shape).replace(
            ",1[1],1[1],1[1],1[1],TILE,BFLOAT16,DEV_0_DRAM_INTERLEAVED,1[1],1[1],1024", ",,,,,,,,1[1],1[1],1024", 1
        ),
        profiler_row("MatmulDeviceOperation", "{'program_config': 'x(per_core_M=4;per_core_N=3)'}", "1", *(shape,) * 3),
        "A signpost,signpost\n",
    ]
    measurements = read(table(tmp_path, ",".join(PROFILER_COLUMNS) + "\n" + "".join(rows)))
    kinds = [row.instruction.op for row in measurements if isinstance(row, Measurement)]
    assert kinds == ["ttnn.multiply", "ttnn.permute", "ttnn.matmul"]
    assert len(measurements) == 3
    config = measurements[2].instruction.attributes["matmul_program_config"]  # type: ignore[union-attr]
    assert (config["per_core_m"], config["per_core_n"]) == (4, 3)
    assert measurements[0].target.cores == 110
    assert measurements[0].target.arch == "blackhole"


def test_rows_without_a_price_are_counted_with_the_reason(tmp_path: Path) -> None:
    bad = {
        ADD.replace("BinaryNgDeviceOperation", "FrobnicateDeviceOperation"): "op code",
        ADD.replace("binary_op_type=ADD", "binary_op_type=XYZZY"): "binary op type",
        ADD.replace(",4000", ",nan"): "kernel_ns_median",
        ADD.replace(",4000", ",-3"): "not a positive number",
        ADD.replace("wormhole_b0", "quasar"): "architecture",
        ADD.replace("BFLOAT16,DRAM", "FLOAT77,DRAM", 1): "element type",
        ADD.replace("DRAM_INTERLEAVED", "SRAM", 1): "memory",
        "1,2,3\n": "",
    }
    path = table(tmp_path, DURATIONS + ADD + "".join(bad))
    priced, left = price(read(path))
    assert len(priced) == 1
    assert len(left) == len(bad)
    for unpriced, reason in zip(left, bad.values(), strict=True):
        assert reason in unpriced.reason
    assert left[0].line == 3


def test_the_object_of_json_has_the_figures(tmp_path: Path) -> None:
    path = table(tmp_path, DURATIONS + ADD + ADD.replace("BinaryNg", "Nothing"))
    result = run(str(path), "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert (figures["rows"], figures["priced"]) == (2, 1)
    assert figures["median_abs_rel_error"] == pytest.approx(abs(figures["bias"]))
    assert figures["families"]["elementwise"].keys() == figures.keys() - {"families", "unpriced"}
    assert list(figures["unpriced"].values()) == [1]


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "M,K,N,dtype\n1,1,1,BFLOAT16\n", "\0\0"])
def test_other_files_are_refused_with_what_is_known(tmp_path: Path, text: str) -> None:
    path = table(tmp_path, text)
    with pytest.raises(MalformedModuleError) as caught:
        read(path)
    assert "gemm_flops" in str(caught.value.hint)
    result = run(str(path))
    assert result.exit_code != 0
    assert "Known formats" in result.output.replace("Give a CSV file", "Known formats")
    assert "cannot be read" in run(str(tmp_path / "nowhere.csv")).output


def test_a_file_of_no_priced_row_has_no_figures(tmp_path: Path) -> None:
    result = run(str(table(tmp_path, DURATIONS)), "--json")
    figures = json.loads(result.stdout)
    assert figures["rows"] == figures["priced"] == 0
    assert figures["bias"] is None


def test_host_times_do_not_pass_for_device_times(tmp_path: Path) -> None:
    row = "wormhole_b0,n150,{},BFLOAT16,HiFi2,8x8,manual,False,False,False,DRAM,DRAM,DRAM,{},\n"
    path = table(tmp_path, GEMM + row.format("512,512,512", 360) + row.format("4096,4096,4096", 1990))
    short, long = read(path)
    assert isinstance(short, Unpriced)
    assert "host" in short.reason
    assert isinstance(long, Measurement)
    assert long.wall == "untraced"


@given(st.lists(st.floats(-0.9, 10), min_size=1))
def test_figures_are_those_of_the_errors(errors: list[float]) -> None:
    figures = summarise(errors, len(errors) + 1)
    assert (figures.rows, figures.priced) == (len(errors) + 1, len(errors))
    assert figures.median is not None
    assert figures.p90 is not None
    sizes = sorted(map(abs, errors))
    assert sizes[0] <= figures.median <= figures.p90 <= sizes[-1]
    assert sum(size <= figures.p90 + 1e-12 for size in sizes) >= 0.9 * len(sizes) - 1


@settings(deadline=None)
@given(st.text(max_size=300))
def test_no_text_makes_it_crash(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for header in ("", GEMM, SDPA, SWEEP, HEIGHT, DURATIONS, ",".join(PROFILER_COLUMNS) + "\n"):
            path = Path(folder) / "rows.csv"
            path.write_text(header + text, encoding="utf-8", errors="replace")
            try:
                price(read(path, "n150"))
            except MalformedModuleError:
                assert not header


def test_op_codes_have_no_ending_twice() -> None:
    assert all(base_code(code) == code for code in OP_CODES)
    assert base_code("MinimalMatmulOp") == "MinimalMatmul"
