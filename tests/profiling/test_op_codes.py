"""Names, categories, attributes and times of recorded ops as profiler files show them."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.libraries import needs_perf_report
from tests.unit.pricing import sharded, spec
from tt_xla.ir.layout import BufferType, DataType
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.op_table import (
    FIDELITY_LABELS,
    MATMUL_CONFIGS,
    PROGRAMS,
    SCATTER_REDUCTIONS,
    category_of,
    has_program,
    program_of,
)
from tt_xla.ir.program import HOST_OPS, Cost, Instruction, TensorSpec
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttnn import configs, dialect
from tt_xla.ir.ttnn.configs import MathFidelity
from tt_xla.profiling.communication import AxisLine, by_axis, communication_ns, link_attributes
from tt_xla.profiling.device_time import (
    cost_model_bound,
    dram_bytes,
    dram_utilisation,
    duration_ns,
    fidelity,
    flops,
    four_sizes,
    kernels,
    padded_sizes,
    peak_flops,
    perf_report_bound,
    utilisation,
)
from tt_xla.profiling.op_codes import attributes_of, cell, op_code
from tt_xla.profiling.recording import LoadedProgram, Op, Recording, Run
from tt_xla.runtime.emulator import registry
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

N150 = load_target("n150")
FREE = Cost()
A = spec((50, 96))
ROWS = spec((50, 96), tiled=False)
L1 = spec((50, 96), buffer=BufferType.L1)


def op(
    name: str,
    inputs: Sequence[TensorSpec] = (A,),
    outputs: Sequence[TensorSpec] = (A,),
    *,
    cost: Cost = FREE,
    traced: bool = False,
    chip: int = 0,
    number: int = 0,
    mesh: Mesh | None = None,
    system: str = "n150",
    **attributes: Any,
) -> Op:
    full = name if "." in name else f"ttnn.{name}"
    instruction = Instruction(full, {}, (), attributes, "model.py:3", cost)
    program = LoadedProgram(0, cast("Any", SimpleNamespace()), load_target(system), mesh)
    return Op(number, program, "main", traced, False, instruction, tuple(inputs), tuple(outputs), b"", chip)


UNARY = """
abs acos asin asinh atan bitcast_convert bitwise_not cbrt ceil clamp_scalar cos erf erfc exp expm1 floor gelu
hardsigmoid isfinite leaky_relu log log1p logical_not mish neg pow_scalar reciprocal relu relu6 round rsqrt sigmoid sign
silu sin
sqrt tan tanh
"""

BINARY = {
    **{"add": "ADD", "atan2": "ATAN2", "bitwise_and": "BITWISE_AND", "bitwise_or": "BITWISE_OR", "divide": "DIV"},
    **{"bitwise_xor": "BITWISE_XOR", "eq": "EQ", "ge": "GTE", "gt": "GT", "le": "LTE", "logical_and": "LOGICAL_AND"},
    **{"logical_left_shift": "LEFT_SHIFT", "logical_or": "LOGICAL_OR", "logical_right_shift": "RIGHT_SHIFT"},
    **{"logical_xor": "LOGICAL_XOR", "lt": "LT", "maximum": "MAXIMUM", "minimum": "MINIMUM", "multiply": "MUL"},
    **{"ne": "NE", "pow_tensor": "POWER", "remainder": "FMOD", "subtract": "SUB"},
}

NAMED = """
Matmul Compute: matmul linear
Conv2d Compute: conv2d conv1d conv_transpose2d
Pool2D Compute: max_pool2d max_pool2d_with_indices avg_pool2d global_avg_pool2d
UpSample Compute: upsample
ScaledDotProductAttention Compute: scaled_dot_product_attention
ScaledDotProductAttentionDecode Compute: scaled_dot_product_attention_decode
LayerNorm Compute: layer_norm rms_norm
LayerNormPreAllGather Compute: layer_norm_pre_all_gather rms_norm_pre_all_gather
LayerNormPostAllGather Compute: layer_norm_post_all_gather rms_norm_post_all_gather
GroupNorm Compute: group_norm
Softmax Compute: softmax
RotaryEmbedding Compute: rotary_embedding
RotaryEmbeddingLlama Compute: rotary_embedding_llama
Reduce Compute: sum mean max min prod
ArgMax Compute: argmax
Accumulation Compute: cumsum cumprod
Embeddings Compute: embedding
Ternary TM: where
Typecast TM: typecast
ReshapeView TM: reshape
Slice TM: slice_static slice_dynamic
Concat TM: concat
Repeat TM: repeat repeat_interleave
Pad TM: pad
NLPConcatHeads TM: concatenate_heads nlp_concat_heads
NLPConcatHeadsDecode TM: nlp_concat_heads_decode
NlpCreateHeads TM: split_query_key_value_and_split_heads
NLPCreateQKVHeadsDecode TM: nlp_create_qkv_heads_decode
PagedUpdateCache DM: paged_update_cache update_cache fill_cache
Copy DM: copy assign
TopK Other: topk
Sort Other: sort
AllGather CCL: all_gather
AllReduceAsync CCL: all_reduce all_reduce_async
AllToAllAsyncGeneric CCL: all_to_all
AllToAllCombine CCL: all_to_all_combine
AllToAllDispatch CCL: all_to_all_dispatch
AllToAllDispatchMetadata CCL: all_to_all_dispatch_metadata
PointToPoint CCL: point_to_point
ReduceScatter CCL: reduce_scatter
Permute TM: permute
Transpose TM: transpose
Arange Other: arange
MeshPartition Other: mesh_partition
"""

CARD_CODES = """
Compute: Unary UnaryNg Binary BinaryNg OptimizedConvNew UpSample GridSample IntImg FastReduceNC SdpaDecode BatchNorm
Compute: SparseMatmul MinimalMatmul
TM: Tilize TilizeWithValPadding Untilize UntilizeWithUnpadding Split Fold Transpose Permute Reshape PaddedSlice
TM: SliceWrite FillPad CreateQKVHeads
DM: InterleavedToSharded ShardedToInterleaved Reshard Halo Move Clone Where InterleavedToShardedPartial
DM: ShardedToInterleavedPartial
CCL: AllGatherAsync ReduceScatterMinimalAsync AllBroadcast Broadcast
Other: SomethingNew
"""


def test_names_and_categories() -> None:
    for name in UNARY.split():
        assert op_code(op(name)) == ("UnaryDeviceOperation", "Compute"), name
    for name in BINARY:
        assert op_code(op(name)) == ("BinaryNgDeviceOperation", "Compute"), name
    for line in NAMED.strip().splitlines():
        head, _, names = line.partition(": ")
        code, category = head.split()
        for name in names.split():
            assert op_code(op(name)) == (f"{code}DeviceOperation", category), name
        assert category_of(f"{code}DeviceOperation") == category_of(code) == category
    for line in CARD_CODES.strip().splitlines():
        category, _, codes = line.partition(": ")
        for code in codes.split():
            assert category_of(f"{code}DeviceOperation") == category, code
    for name in HOST_OPS:
        assert op_code(op(name)) == (f"(torch) {name.rpartition('.')[2]}", "Host")
    assert category_of("(torch) add") == "Host"


def test_every_op_has_a_program_or_is_listed_among_those_without() -> None:
    names = {op.name for op in dialect().operations} | set(registry.kernels())
    assert [name for name in sorted(names) if not has_program(name.rpartition(".")[2])] == []
    listed = [op for program in PROGRAMS for op in program.ops.split()]
    assert sorted(listed) == sorted(set(listed))
    assert sorted(set(listed) - {name.rpartition(".")[2] for name in names}) == []
    assert not has_program("unheard_of")
    assert program_of("unheard_of") == ("UnheardOf", "Other")


def test_functions_of_import_ttnn_have_the_programs_of_a_card() -> None:
    for name in ("gelu_approx", "square", "softplus", "hardswish", "exp_approx"):
        assert op_code(op(name)) == ("UnaryDeviceOperation", "Compute"), name
    assert op_code(op("std")) == ("ReduceDeviceOperation", "Compute")
    assert "UnaryOpType::GELU;" in attributes_of(op("gelu_approx"))["op_chain"]
    assert "UnaryOpType::EXP;" in attributes_of(op("exp_approx"))["op_chain"]
    chain = attributes_of(op("unary_chain", functions=[{"op_type": "neg"}, {"op_type": "exp"}]))["op_chain"]
    assert (
        chain == "{UnaryWithParam(op_type=UnaryOpType::NEG;param={});UnaryWithParam(op_type=UnaryOpType::EXP;param={})}"
    )
    assert "binary_op_type" not in attributes_of(op("clamp_tensor"))


def test_choices_of_ops_have_names_of_ttnn() -> None:
    assert {attribute.TAG for attribute in configs.MATMUL_CONFIGS} == MATMUL_CONFIGS.keys()
    assert set(FIDELITY_LABELS) == {str(fidelity) for fidelity in MathFidelity}
    assert SCATTER_REDUCTIONS.keys() <= {str(kind) for kind in ReduceType}


@needs_perf_report
def test_categories_are_those_of_tt_perf_report() -> None:
    perf_report = importlib.import_module("tt_perf_report.perf_report")
    found = {code: category_of(code) for codes in perf_report.OPERATION_CATEGORIES.values() for code in codes}
    expected = {code: name for name, codes in perf_report.OPERATION_CATEGORIES.items() for code in codes}
    assert found == expected


@pytest.mark.parametrize(
    ("name", "before", "after", "code", "category"),
    [
        ("to_layout", ROWS, A, "TilizeWithValPadding", "TM"),
        ("to_layout", spec((64, 96), tiled=False), spec((64, 96)), "Tilize", "TM"),
        ("to_layout", spec((64, 90), tiled=False), spec((64, 90)), "TilizeWithValPadding", "TM"),
        ("to_layout", spec((64,), tiled=False), spec((64,)), "TilizeWithValPadding", "TM"),
        ("to_layout", A, ROWS, "UntilizeWithUnpadding", "TM"),
        ("to_layout", spec((64, 96)), spec((64, 96), tiled=False), "Untilize", "TM"),
        ("to_layout", A, spec((50, 96), DataType.F32), "Typecast", "DM"),
        ("to_layout", A, A, "Copy", "DM"),
        ("to_memory_config", A, L1, "Copy", "DM"),
        ("to_memory_config", A, sharded((64, 96), (2, 1)), "InterleavedToSharded", "DM"),
        ("to_memory_config", sharded((64, 96), (2, 1)), A, "ShardedToInterleaved", "DM"),
        ("to_memory_config", sharded((64, 96), (2, 1)), sharded((64, 96), (1, 3)), "Reshard", "DM"),
    ],
)
def test_names_that_depend_on_layouts(name: str, before: Any, after: Any, code: str, category: str) -> None:
    assert op_code(op(name, [before], [after])) == (f"{code}DeviceOperation", category)


def test_an_op_without_tensors_has_its_own_name() -> None:
    assert op_code(op("to_layout", [], [A])) == ("ToLayoutDeviceOperation", "Other")
    assert op_code(op("to_layout", [A], [])) == ("ToLayoutDeviceOperation", "Other")


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("reciprocal", {}, {"op_chain": "{UnaryWithParam(op_type=UnaryOpType::RECIP;param={})}"}),
        ("pow_scalar", {}, {"op_chain": "{UnaryWithParam(op_type=UnaryOpType::POWER;param={})}"}),
        ("logical_not", {}, {"op_chain": "{UnaryWithParam(op_type=UnaryOpType::LOGICAL_NOT_UNARY;param={})}"}),
        ("gelu", {"a": 1}, {"op_chain": "{UnaryWithParam(op_type=UnaryOpType::GELU;param={})}", "a": 1}),
        *((name, {}, {"binary_op_type": f"BinaryOpType::{kind}"}) for name, kind in BINARY.items()),
        (
            "max_pool2d",
            {"kernel_size": [3, 2]},
            {"sliding_window_config": "window_hw=(3;2); ", "kernel_size": [3, 2]},
        ),
        ("conv1d", {"kernel_size": (3,)}, {"sliding_window_config": "window_hw=(3;1); ", "kernel_size": (3,)}),
        ("avg_pool2d", {"kernel_size": 4}, {"sliding_window_config": "window_hw=(4;4); ", "kernel_size": 4}),
        ("permute", {"permutation": [1, 0]}, {"dims": "SmallVector([1; 0])", "permutation": [1, 0]}),
        ("permute", {}, {"dims": "SmallVector([])"}),
        *((name, {}, {"math_op": f"ReduceOpMath::{name.upper()}"}) for name in ("sum", "mean", "max", "min")),
        ("prod", {}, {}),
        ("rms_norm", {}, {"norm_type": "LayerNormType::RMSNORM"}),
        ("rms_norm_pre_all_gather", {}, {"norm_type": "LayerNormType::RMSNORM"}),
        ("layer_norm", {}, {}),
        ("matmul", {"transpose_a": True, "transpose_b": True, "x": 1}, {"x": 1}),
        ("linear", {"transpose_a": True, "transpose_b": True}, {}),
        ("other", {"transpose_a": True}, {"transpose_a": True}),
        (
            "matmul",
            {"matmul_program_config": {"config": "multi_cast_1d", "per_core_m": 3, "per_core_n": 4, "mcast": True}},
            {
                "program_config": "MatmulMultiCoreReuseMultiCast1DProgramConfig(per_core_M=3;per_core_N=4;mcast=true)",
            },
        ),
        (
            "matmul",
            {"matmul_program_config": {"config": "dram_sharded", "in0_block_w": 3}},
            {"program_config": "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=3)"},
        ),
        (
            "matmul",
            {"matmul_program_config": {"config": "multi_cast", "in0_block_w": 3}},
            {"program_config": "MatmulMultiCoreReuseMultiCastProgramConfig(in0_block_w=3)"},
        ),
        (
            "matmul",
            {"matmul_program_config": {"in0_block_w": 3}},
            {"program_config": "MatmulMultiCoreReuseProgramConfig(in0_block_w=3)"},
        ),
        ("matmul", {"matmul_program_config": {}}, {}),
    ],
)
def test_attributes_have_those_that_tools_expect(name: str, attributes: Any, expected: Any) -> None:
    assert list(attributes_of(op(name, **attributes)).items()) == [*expected.items(), ("output_dtype", "bf16")]
    assert attributes_of(op(name, [A], [], **attributes)) == expected


def test_attributes_in_one_cell() -> None:
    attributes = {"a": True, "b": [1, (2, 3)], "c": {"d": False, "e": "f,g'"}, "h": b"data", "i": None}
    assert cell(attributes) == "{'a': 'true'; 'b': '[1; [2; 3]]'; 'c': '{d=false;e=f;g}'; 'i': 'None'}"


def test_shapes_of_four_sizes() -> None:
    assert [four_sizes(shape) for shape in ((), (5,), (2, 5), (7, 3, 2, 5), (2, 7, 3, 2, 5))] == [
        [1, 1, 1, 1],
        [1, 1, 1, 5],
        [1, 1, 2, 5],
        [7, 3, 2, 5],
        [14, 3, 2, 5],
    ]
    assert (padded_sizes(spec((3, 33, 65))), padded_sizes(ROWS)) == ([1, 3, 64, 96], [1, 1, 50, 96])


PRODUCT_COST = Cost(total_us=2.0, dram_us=2.0, cores=12)
B, OUT = spec((96, 40)), spec((50, 40))


def test_operations_and_utilisation_of_a_product() -> None:
    product = op("matmul", [A, B], [OUT], cost=PRODUCT_COST, compute_config={"math_fidelity": "hifi2"})
    assert flops(product) == 2 * 64 * 64 * 96
    assert flops(op("linear", [spec((96, 50)), B], [OUT], transpose_a=True)) == 2 * 64 * 64 * 96
    assert flops(op("matmul", [A], [OUT])) == flops(op("add", [A, B], [OUT])) == 0.0
    peak = 2 * N150.macs_per_cycle["hifi2"] * N150.clock_hz * 12
    assert peak_flops(product) == peak
    assert utilisation(product) == pytest.approx(2 * 64 * 64 * 96 / 2e-6 / peak)
    assert utilisation(op("matmul", [A, B], [OUT])) == 0.0
    assert utilisation(op("matmul", [A, B], [OUT], cost=Cost(total_us=2.0))) == 0.0
    assert dram_bytes([A, L1, spec((64, 96))]) == 2 * 64 * 96 * 2
    moved = 2 * (64 * 96 + 96 * 64 + 64 * 64)
    assert dram_utilisation(product) == pytest.approx(moved / 2e-6 / N150.dram_peak_bytes_per_second)
    assert dram_utilisation(op("add")) == 0.0


def test_fidelities() -> None:
    names = {"lofi": "LoFi", "hifi2": "HiFi2", "hifi3": "HiFi3", "hifi4": "HiFi4"}
    for name, shown in names.items():
        for kind in ("matmul", "conv2d", "softmax"):
            assert fidelity(op(kind, compute_config={"math_fidelity": name})) == shown
    assert (fidelity(op("matmul")), fidelity(op("softmax"))) == ("HiFi4", "")


@pytest.mark.parametrize(
    ("near_compute", "near_dram", "expected"),
    [(0.65, 0.65, "BOTH"), (0.65, 0.6, "FLOP"), (0.6, 0.65, "DRAM"), (0.6, 0.6, "SLOW")],
)
def test_what_bounds_a_product(
    near_compute: float, near_dram: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tt_xla.profiling.device_time.utilisation", lambda _: near_compute)
    monkeypatch.setattr("tt_xla.profiling.device_time.dram_utilisation", lambda _: near_dram)
    assert perf_report_bound(op("matmul", cost=PRODUCT_COST)) == expected


def test_what_bounds_other_ops() -> None:
    assert perf_report_bound(op(next(iter(HOST_OPS)), cost=Cost(link_us=1.0))) == "HOST"
    assert perf_report_bound(op("matmul", cost=Cost(link_us=3.0, dram_us=2.0))) == "LINK"
    assert perf_report_bound(op("softmax", cost=Cost(dram_us=2.0))) == ""
    assert cost_model_bound(op("add", cost=Cost(total_us=3.0, dram_us=3.0), traced=True)) == "DRAM"
    assert cost_model_bound(op("add", cost=Cost(total_us=3.0, dram_us=3.0))) == "dispatch"


def test_kernels_have_places_on_the_devices_clock() -> None:
    cost, host = Cost(total_us=2.0, dram_us=2.0, cores=4), next(iter(HOST_OPS))
    ops = [
        op("add", number=0, cost=cost),
        op("reshape", number=1),
        op(host, number=2),
        op("multiply", number=3, cost=cost, chip=1),
        op("multiply", number=4, cost=cost, traced=True),
    ]
    recording = Recording(
        started=1000,
        ops=ops,
        events=[(0, 9000, 9100), (1, 9100, 9200), (2, 9200, 9700), (3, 9700, 9800), (4, 9800, 9900), (4, 21000, 21500)],
        runs=[Run(0, "warm", 8000, 10000, 0, 5), Run(0, "captured", 20000, 22000, 5, 6)],
    )
    gap, traced = 1e3 * N150.gap_us_untraced, 1e3 * N150.gap_us_traced
    assert (gap, traced) == (4800.0, pytest.approx(2050.0))
    shown = [
        (call.op.number, call.run, call.replayed, call.host_start, call.host_end, call.start_ns, call.duration_ns)
        for call in kernels(recording)
    ]
    assert shown == [
        (0, 0, False, 9000, 9100, 8000.0, 2000.0),
        (2, 0, False, 9200, 9700, 14800.0, 500.0),
        (4, 0, False, 9800, 9900, 20100.0, 2000.0),
        (4, 1, True, 21000, 21500, 33100.0, 2000.0),
    ]
    assert [(call.gap_ns, call.idle_ns) for call in kernels(recording)] == [
        (8000, 8000),
        (4800.0, 0),
        (4800.0, 0),
        (11000, 11000),
    ]
    assert [call.on_device for call in kernels(recording)] == [True, False, True, True]
    late = dataclasses.replace(recording, runs=[recording.runs[0], Run(0, "captured", 9900, 9950, 5, 6)])
    late.events[5] = (4, 9950, 9960)
    assert kernels(late)[3].gap_ns == pytest.approx(2050.0)
    assert kernels(late)[3].idle_ns == 0  # the run before ended later
    for name in ("to_device", "from_device", "write_tensor"):
        call = dataclasses.replace(kernels(recording)[0], op=op(name))
        assert not call.on_device
    assert (duration_ns(ops[0], 7), duration_ns(ops[2], 7)) == (2000.0, 7.0)


MESH = Mesh((2, 4), ("batch", "model"))


def exchange(us: float, **attributes: Any) -> Any:
    made = op("all_gather", cost=Cost(total_us=us, link_us=us), mesh=MESH, system="p150x8", **attributes)
    return SimpleNamespace(op=made, duration_ns=1e3 * us)


def test_exchanges_by_axis() -> None:
    calls = [exchange(1.0, cluster_axis=0), exchange(5.0, cluster_axis=1), exchange(2.0), exchange(1.5, cluster_axis=0)]
    calls.append(SimpleNamespace(op=op("add", cost=Cost(total_us=9.0)), duration_ns=9e3))
    assert communication_ns(calls) == 9500.0
    lines = by_axis(calls)
    assert [(line.axis, line.count, line.device_us) for line in lines] == [
        ("model", 1, 5.0),
        ("batch", 2, 2.5),
        ("all", 1, 2.0),
    ]
    assert lines[2] == AxisLine("all", "8 chips", None, 1, 2.0)
    assert (lines[0].links.split(" with")[0], lines[1].links.split(" with")[0]) == (
        "ring of 4 chips",
        "line of 2 chips",
    )
    assert lines[1].narrowest is not None
    assert len(lines[1].narrowest) == 2
    alone = SimpleNamespace(op=op("all_gather", cost=Cost(link_us=1.0), cluster_axis=0), duration_ns=1.0)
    assert by_axis([alone])[0] == AxisLine("all", "", None, 1, 1e-3)
    assert by_axis([exchange(1.0, cluster_axis=2)])[0].axis == "all"


def test_exchanges_of_ranks() -> None:
    ranks = {"process_group": "rows", "ranks": 2, "cluster_axis": 1, "scatter_dim": 0}
    own = {"cost": Cost(total_us=3.0, link_us=2.0), "system": "p150x8"}
    near = op("reduce_scatter", chips=(0, 1), **own, **ranks)
    (line,) = by_axis([SimpleNamespace(op=near, duration_ns=3e3)])
    assert (line.axis, line.links.split(" with")[0], line.count) == ("process group rows", "line of 2 chips", 1)
    assert line.narrowest is not None
    expected = {"dim": 0, "ring_size": 2, "num_links": 2, "topology": "Topology::Linear"}
    assert link_attributes(near) == expected
    on_hosts = op("reduce_scatter", **own, **ranks)
    (line,) = by_axis([SimpleNamespace(op=on_hosts, duration_ns=3e3)])
    assert line == AxisLine("process group rows", "2 ranks", None, 1, 3.0)
    assert link_attributes(on_hosts) == expected | {"num_links": 1}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            {"cluster_axis": 1, "all_gather_dim": 3},
            {"dim": 3, "ring_size": 4, "num_links": 2, "topology": "Topology::Ring"},
        ),
        (
            {"cluster_axis": 0, "scatter_dim": 1, "num_links": 5},
            {"dim": 1, "ring_size": 2, "num_links": 5, "topology": "Topology::Linear"},
        ),
        ({}, {"ring_size": 8, "num_links": 2, "topology": "Topology::Linear"}),
        ({"cluster_axis": 2, "scatter_dim": 0}, {"dim": 0}),
    ],
)
def test_attributes_of_links(attributes: dict[str, Any], expected: dict[str, Any]) -> None:
    assert link_attributes(exchange(1.0, **attributes).op) == expected
    assert link_attributes(op("all_gather", all_gather_dim=2)) == {"dim": 2}
