"""Tests of the cost of exchanges between chips: bytes, hops, topologies, meshes, and what overlaps with computing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.measured import Measurement, Unpriced, price, read, summarise
from tt_xla.cost import collective, instruction_cost, predicted_device_us
from tt_xla.cost.rates import rates_of
from tt_xla.errors import MeshError
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Cost, Function, FunctionKind, Instruction, TensorSpec
from tt_xla.ir.ranks import row_of_ranks
from tt_xla.target import MeshAxis, Target, load_target

pytestmark = pytest.mark.quick

MEASURED = Path(__file__).parents[1] / "data" / "measured" / "ccl.csv"
BOX = load_target("n300-llmbox")
COLLECTIVES = ("all_gather", "all_reduce", "reduce_scatter", "all_to_all")


def mesh(*shape: int) -> Mesh:
    return Mesh(shape, tuple(f"x{axis}" for axis in range(len(shape))))


def spec(rows: int, columns: int = 1024, dtype: DataType = DataType.BF16) -> TensorSpec:
    return TensorSpec((rows, columns), TensorLayout.of((rows, columns), dtype))


def cost(
    op: str, rows: int, shape: tuple[int, ...] | None, target: Target = BOX, axis: int = 0, **attributes: Any
) -> Cost:
    """Returns the cost of a collective on a tensor of this many rows before it is split or after it is joined."""
    count = shape[axis] if shape else 4
    before = rows // count if op == "all_gather" else rows
    after = rows // count if op == "reduce_scatter" else rows
    instruction = Instruction(f"ttnn.{op}", {"input": 0}, (1,), {"cluster_axis": axis} | attributes)
    return instruction_cost(instruction, [spec(before), spec(after)], target, mesh(*shape) if shape else None)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("op", COLLECTIVES)
def test_predictions_are_near_times_measured_on_silicon(op: str, arch: str) -> None:
    rows = [row for row in read(MEASURED) if isinstance(row, Measurement)]
    held = [row for row in rows if row.target.arch == arch and row.label.split()[0] == op]
    errors = [each.error for each in price(held)[0]]
    summary = summarise(errors, len(held))
    assert summary.priced == len(held) > 60
    assert summary.median is not None
    assert summary.median < 0.1


def test_predictions_are_near_the_times_of_a_model_that_no_constant_comes_from() -> None:
    rows = read(MEASURED.with_name("ccl_deepseek.csv"))
    priced, unpriced = price(rows)
    assert not unpriced
    summary = summarise([each.error for each in priced], len(rows))
    assert summary.median is not None
    assert summary.median < 0.16
    assert max(abs(each.error) for each in priced) < 0.25


PROFILER = "OP CODE,OP TYPE,DEVICE ARCH,ATTRIBUTES,CORE COUNT,DEVICE KERNEL DURATION [ns]"
TENSOR = (
    "{0}_W_PAD[LOGICAL],{0}_Z_PAD[LOGICAL],{0}_Y_PAD[LOGICAL],{0}_X_PAD[LOGICAL],{0}_LAYOUT,{0}_DATATYPE,{0}_MEMORY"
)


def profiled(folder: Path, code: str, attributes: str, *shapes: tuple[int, int]) -> Measurement | Unpriced:
    """Returns the row of an exchange in a profiler's table; the first shape is that of the input."""
    names = ["INPUT_0", *(f"OUTPUT_{number}" for number in range(len(shapes) - 1))]
    cells = [code, "tt_dnn_device", "blackhole", attributes, "8", "200000"]
    for rows, columns in shapes:
        cells += ["1[1]", "1[1]", f"{rows}[{rows}]", f"{columns}[{columns}]", "TILE", "BFLOAT16"]
        cells.append("DEV_0_DRAM_INTERLEAVED")
    path = folder / "rows.csv"
    path.write_text(",".join([PROFILER, *map(TENSOR.format, names)]) + "\n" + ",".join(cells) + "\n")
    (row,) = read(path)
    return row


def test_a_profilers_row_has_the_links_of_its_attributes(tmp_path: Path) -> None:
    attributes = "{{'cluster_axis': '1'; 'num_links': '{}'; 'ring_size': '4'; 'topology': 'Topology::{}'}}"
    shapes = (3200, 1536), (6400, 1536), (3200, 384)  # The first output is a buffer.
    times: dict[tuple[str, int], float] = {}
    for topology, links in (("Linear", 2), ("Ring", 2), ("Linear", 1)):
        row = profiled(
            tmp_path, "ReduceScatterMinimalAsyncDeviceOperation", attributes.format(links, topology), *shapes
        )
        assert isinstance(row, Measurement)
        assert row.mesh == Mesh((4,), ("x",))
        times[topology, links] = price([row])[0][0].predicted_us
    line = cost("reduce_scatter", 3200, (4,), load_target("p150x8"))
    assert times["Linear", 2] > 1.5 * times["Ring", 2]
    assert times["Linear", 1] > 1.8 * times["Linear", 2]
    assert times["Ring", 2] == pytest.approx(line.launch_us + line.link_us * 1.5, rel=0.1)  # 1536 columns, not 1024


def test_a_profilers_row_without_a_number_of_chips_has_no_price(tmp_path: Path) -> None:
    row = profiled(tmp_path, "AllGatherAsyncDeviceOperation", "{'num_links': '2'}", (32, 32), (32, 128))
    assert isinstance(row, Unpriced)
    assert row.reason == "the attributes lack ring_size, the number of chips"


def test_an_all_reduce_is_a_reduce_scatter_and_an_all_gather() -> None:
    parts = [cost(op, 4096, (8,)) for op in ("reduce_scatter", "all_gather")]
    whole = cost("all_reduce", 4096, (8,))
    assert whole.link_us == pytest.approx(sum(part.link_us for part in parts))
    assert whole.launch_us == pytest.approx(sum(part.launch_us for part in parts))
    assert whole.bound == "link"
    assert whole.total_us == pytest.approx(whole.launch_us + whole.link_us)


@pytest.mark.parametrize("op", COLLECTIVES)
def test_large_tensors_take_as_long_as_their_bytes_on_the_narrowest_link(op: str) -> None:
    small, large = (cost(op, rows, (8,)).link_us for rows in (1 << 15, 1 << 16))
    slope = (large - small) / ((1 << 15) * 1024 * 2)
    bytes_on_a_link = {"all_reduce": 2 * 7 / 8, "all_to_all": 2.0}.get(op, 7 / 8) / 2  # two directions of a ring
    assert 0.6 < bytes_on_a_link / (12500 * slope) < 0.9


@given(st.sampled_from(COLLECTIVES), st.integers(1, 64), st.sampled_from([(2, 4), (4, 2), (8,), (2, 2), (1, 4)]))
def test_a_larger_tensor_takes_longer(op: str, tiles: int, shape: tuple[int, ...]) -> None:
    one, two = (cost(op, 32 * 8 * count, shape).total_us for count in (tiles, tiles + 1))
    assert 0 < one < two


def test_the_mesh_says_which_chips_take_part() -> None:
    long, short = (cost("reduce_scatter", 1 << 16, (2, 4), axis=axis) for axis in (1, 0))
    assert long.link_us > 1.3 * short.link_us  # 3/4 of the tensor on one link, instead of 1/2
    ring = cost("reduce_scatter", 1 << 16, (1, 4), axis=1)  # a ring of two channels
    assert ring.link_us < 0.4 * long.link_us
    assert cost("all_gather", 1 << 16, (1, 4), axis=0).link_us == 0.0


def test_more_channels_are_faster() -> None:
    one, four = (cost("all_reduce", 1 << 16, (1, 4), load_target(name), 1) for name in ("p300x2", "p150x4"))
    assert four.link_us < 0.6 * one.link_us


def test_chips_that_are_several_hops_apart_share_links() -> None:
    galaxy = load_target("galaxy-bh")
    near, far = (cost("all_gather", 1 << 16, shape, galaxy) for shape in ((2, 4), (2, 4, 4)))
    assert far.link_us > 3 * near.link_us  # Neighbours along the first of three axes are four chips apart.


def test_a_chip_feeds_a_link_no_faster_than_its_workers_can() -> None:
    two, four = cost("all_gather", 1 << 16, (2,)), cost("all_gather", 1 << 16, (2, 4), axis=1)
    fast = dataclasses.replace(BOX, ethernet_sender_bytes_per_second=25e9)
    assert cost("all_gather", 1 << 16, (2,), fast).link_us < 0.6 * two.link_us
    assert cost("all_gather", 1 << 16, (2, 4), fast, 1).link_us == four.link_us  # Links are the limit.


def test_attributes_of_the_op_take_precedence() -> None:
    plain = cost("all_gather", 1 << 16, (8,))
    assert cost("all_gather", 1 << 16, (8,), topology="linear").link_us > plain.link_us
    assert cost("all_gather", 1 << 16, (8,), num_links=2).link_us < plain.link_us


@pytest.mark.parametrize(("ring", "links", "sharing"), [(False, 1, 1), (False, 3, 2), (True, 2, 1)])
@pytest.mark.parametrize(
    ("kind", "crossing"), [("all_gather", 4 / 5), ("reduce_scatter", 4 / 5), ("all_to_all", 6 / 5), ("broadcast", 1.0)]
)
def test_the_time_of_an_exchange(kind: str, crossing: float, ring: bool, links: int, sharing: int) -> None:
    """5 chips: 4 hops on a line, 2.5 on a ring; the narrowest link carries a part of the tensor, both ways on a ring.

    In an all_to_all it lies between 2 and 3 chips, of which each sends 3/5 or 2/5 of its tensor across.
    """
    rates, figures = rates_of(BOX), collective.EXCHANGES[kind]
    axis = MeshAxis(5, ring=ring, links=links, stride=2, routes=sharing if sharing > 1 else 1)
    path, hops = (figures.ring, 2.5) if ring else (figures.line, 4)
    rate = rates.link_bandwidth * links * (2 if ring else 1) / axis.sharing * path.efficiency
    start, link = collective.exchange(kind, axis, 1e9, rates)
    assert start == pytest.approx(figures.start_cycles * rates.cycle_us)
    travel = hops * (2 * rates.hop + path.hop_cycles * rates.cycle_us)
    time = crossing * 1e9 / rate
    if kind == "all_gather":
        time = max(time, 1e9 / 5 / (rates.sender_bandwidth * links))
    assert link == pytest.approx(travel + time)


def test_the_time_of_sending_a_tensor() -> None:
    """Two hops along an axis and one along the other, by one worker."""
    places = {"sender_coord": (0, 0), "receiver_coord": (1, 2)}
    sent = Instruction("ttnn.point_to_point", {"input": 0}, (1,), places)
    rates, figures = rates_of(BOX, mesh(2, 4)), collective.EXCHANGES["all_to_all"]
    found = instruction_cost(sent, [spec(1024), spec(1024)], BOX, mesh(2, 4))
    rate = min(rates.link_bandwidth * figures.line.efficiency, rates.sender_bandwidth)
    distances = [min(way, axis.size - way if axis.ring else way) for way, axis in zip((1, 2), rates.axes, strict=True)]
    hops = sum(axis.stride * way for axis, way in zip(rates.axes, distances, strict=True))
    travel = hops * rates.hop + figures.line.hop_cycles * rates.cycle_us
    assert found.link_us == pytest.approx(travel + 1024 * 1024 * 2 / rate)
    assert found.launch_us == pytest.approx(figures.start_cycles * rates.cycle_us)
    least = collective.least_link_us(sent, [spec(1024), spec(1024)], rates)
    assert least == pytest.approx(1024 * 1024 * 2 / rates.link_bandwidth / rates.links)


def test_the_columns_of_sums_that_a_norm_exchanges() -> None:
    values = [spec(4096), spec(4096)]
    split, plain = (
        instruction_cost(Instruction(f"ttnn.{op}", {"input": 0}, (1,), {"cluster_axis": 0}), values, BOX, mesh(8))
        for op in ("distributed_rms_norm", "rms_norm")
    )
    rates = rates_of(BOX, mesh(8))
    start, link = collective.exchange("all_gather", rates.axes[0], 4096 * 32 * 2 * 8, rates)  # a column of tiles
    assert split.link_us == pytest.approx(link)
    assert split.launch_us - plain.launch_us == pytest.approx(start)


@pytest.mark.parametrize(
    ("op", "shape", "chips", "arriving", "part"),
    [
        ("reduce_scatter", (6, 96), (2, 4), (2, 6, 96), None),  # the second axis is a line
        ("all_reduce", (6, 96), (2, 4), (2, 6, 96), (6, 24)),  # the first dimension that 4 chips can divide
        ("all_reduce", (8, 96), (2, 4), (2, 8, 96), (2, 96)),
        ("all_reduce", (6, 5), (2, 4), (2, 6, 5), None),
        ("all_reduce", (8, 96), (1, 4), (8, 96), (2, 96)),  # a ring
    ],
)
def test_buffers_for_what_other_chips_send(
    op: str, shape: tuple[int, int], chips: tuple[int, int], arriving: tuple[int, ...], part: tuple[int, ...] | None
) -> None:
    instruction = Instruction(f"ttnn.{op}", {"input": 0}, (1,), {"cluster_axis": 1})
    first, second = collective.scatter_buffers(instruction, [spec(*shape)] * 2, BOX, mesh(*chips))
    assert first is not None
    assert (first.shape, None if second is None else second.shape) == (arriving, part)
    alone = collective.scatter_buffers(instruction, [spec(*shape)] * 2, BOX, mesh(8, 1))
    assert alone == (None, None)


def test_an_op_of_a_program_without_a_mesh_is_priced_by_its_shapes() -> None:
    assert cost("all_gather", 1 << 16, None, load_target("n300")).link_us > 100


def test_a_mesh_that_the_system_cannot_form_is_an_error() -> None:
    with pytest.raises(MeshError, match="A mesh of 2x4 needs 8 chips; n300 has 2 chips"):
        cost("all_reduce", 4096, (2, 4), load_target("n300"))


def test_sending_to_a_far_chip_takes_more_hops() -> None:
    values = [spec(1024), spec(1024)]

    def send(receiver: tuple[int, int]) -> Cost:
        places = {"sender_coord": (0, 0), "receiver_coord": receiver}
        return instruction_cost(Instruction("ttnn.point_to_point", {"input": 0}, (1,), places), values, BOX, mesh(2, 4))

    near, far = send((0, 1)), send((1, 3))
    assert far.link_us - near.link_us == pytest.approx(3 * BOX.ethernet_hop_us)
    assert send((0, 0)).link_us == 0.0
    assert near.bound == "link"


def test_a_part_of_a_replicated_tensor_costs_no_link() -> None:
    part = cost("mesh_partition", 4096, (8,), dim=0)
    assert part.link_us == 0.0
    assert part.total_us > 0


def test_a_norm_of_split_rows_exchanges_their_sums() -> None:
    values = [spec(4096), spec(4096)]
    instruction = Instruction("ttnn.distributed_rms_norm", {"input": 0}, (1,), {"cluster_axis": 0})
    split = instruction_cost(instruction, values, BOX, mesh(8))
    plain = instruction_cost(msgspec.structs.replace(instruction, op="ttnn.rms_norm"), values, BOX)
    gathered = cost("all_gather", 4096, (8,))
    assert split.total_us > plain.total_us
    assert 0 < split.link_us < gathered.link_us


def function(*ops: tuple[str, tuple[int, ...], Cost]) -> Function:
    """Returns a function whose instructions have costs; each makes the next value from others."""
    body = [
        Instruction(
            f"ttnn.{op}", {f"operand{number}": value for number, value in enumerate(inputs)}, (index,), {}, "", us
        )
        for index, (op, inputs, us) in enumerate(ops, 1)
    ]
    values = (spec(32),) * (len(ops) + 1)
    return Function("f", FunctionKind.FORWARD, (0,), (len(ops),), values, tuple(body))


def test_links_work_for_an_asynchronous_collective_while_the_chip_computes() -> None:
    free = dataclasses.replace(BOX, gap_us_untraced=0.0)
    sent, matmul, used = Cost(110.0, launch_us=10.0, link_us=100.0), Cost(60.0, compute_us=60.0), Cost(5.0)

    def total(op: str, *steps: tuple[str, tuple[int, ...], Cost]) -> float:
        return predicted_device_us(function((op, (0,), sent), *steps), free)

    steps = (("matmul", (0,), matmul), ("add", (1, 2), used))
    assert total("all_reduce", *steps) == 175.0
    assert total("all_reduce_async", *steps) == 115.0  # the sum waits for the links
    assert total("all_reduce_async", ("matmul", (1,), matmul), ("add", (1, 2), used)) == 175.0
    assert total("all_reduce_async", ("matmul", (0,), matmul)) == 110.0  # so does the end of the function
    assert total("all_reduce_async", ("all_reduce_async", (0,), sent)) == 210.0  # links do one thing at a time
    assert total("all_reduce_async", ("all_reduce", (0,), sent)) == 220.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"op": "all_sum"}, "op 'all_sum' is unknown; expected one of all_gather"),
        ({"topology": "star"}, "topology 'star' is unknown; expected line or ring"),
        ({"chips": "1"}, "a collective of 1 chips; expected 2 to 256"),
        ({"chips": "100000"}, "a collective of 100000 chips"),
        ({"links": "0"}, "links is '0', not a positive number"),
        ({"size_bytes": "x"}, "size_bytes is 'x', not a number"),
        ({"arch": "quasar"}, "architecture 'quasar' is neither wormhole_b0 nor blackhole"),
    ],
)
def test_rows_without_a_price_say_why(change: dict[str, str], reason: str, tmp_path: Path) -> None:
    row = {"op": "all_gather", "arch": "blackhole", "topology": "line", "links": "1", "chips": "2"}
    row |= {"size_bytes": "4096", "dtype": "BFLOAT16", "kernel_us": "5"} | change
    path = tmp_path / "ccl.csv"
    path.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    (found,) = read(path)
    assert isinstance(found, Unpriced)
    assert reason in found.reason


def test_two_chips_exchange_what_a_chip_feeds_into_its_link() -> None:
    priced = price(read(MEASURED))[0]
    errors = [
        abs(row.error)
        for row in priced
        if row.measurement.label.startswith("all_to_all") and row.measurement.label.endswith("line of 2")
    ]
    assert len(errors) > 30
    assert max(errors) < 0.12


@pytest.mark.parametrize("op", [*COLLECTIVES, "broadcast"])
def test_ranks_pay_what_a_row_of_their_chips_does(op: str) -> None:
    of_ranks = {"axis": 1, "process_group": "0", "ranks": 4}
    there, back = Mesh((1, 4), ("", "x"), (0, 1, 2, 3)), Mesh((1, 4), ("", "x"), (0, 5, 2, 7))
    for chips in (there, back):
        instruction = Instruction(f"ttnn.{op}", {"input": 0}, (1,), {"cluster_axis": 1})
        sizes = [spec(512), spec(2048)] if op == "all_gather" else [spec(2048), spec(2048)]
        sizes = [spec(2048), spec(512)] if op == "reduce_scatter" else sizes
        expected = instruction_cost(instruction, sizes, BOX, chips)
        assert cost(op, 2048, None, **of_ranks, chips=chips.devices) == expected
        assert cost(op, 2048, (2, 4), **of_ranks, chips=chips.devices) == expected
    assert cost(op, 2048, None, **of_ranks, chips=()) == cost(op, 2048, (1, 4), axis=1)


@pytest.mark.parametrize(("kind", "dtype"), [("max", DataType.BF16), ("sum", DataType.SI32)])
def test_ranks_gather_what_no_sum_of_floats_reduces(kind: str, dtype: DataType) -> None:
    attributes = {"cluster_axis": 1, "process_group": "0", "ranks": 4, "chips": (0, 1, 2, 3)}
    reduction = Instruction("ttnn.all_reduce", {"input": 0}, (1,), {**attributes, "reduce_type": kind})
    gather = Instruction("ttnn.all_gather", {"input": 0}, (1,), {**attributes, "all_gather_dim": 0})
    values = [spec(512, dtype=dtype), spec(512, dtype=dtype)]
    gathered = instruction_cost(gather, [spec(512, dtype=dtype), spec(2048, dtype=dtype)], BOX)
    assert instruction_cost(reduction, values, BOX).link_us == gathered.link_us
    assert instruction_cost(reduction, values, BOX).dram_us > gathered.dram_us
    floats = Instruction("ttnn.all_reduce", {"input": 0}, (1,), {**attributes, "reduce_type": "mean"})
    assert instruction_cost(floats, [spec(512), spec(512)], BOX).launch_us > gathered.launch_us
    assert collective.scatter_buffers(reduction, values, BOX, None) == (None, None)


def test_parts_of_different_sizes_pay_the_larger_tensor() -> None:
    attributes = {"cluster_axis": 1, "process_group": "0", "ranks": 4, "chips": (0, 1, 2, 3)}
    even = Instruction("ttnn.all_to_all", {"input": 0}, (1,), attributes)
    uneven = Instruction("ttnn.all_to_all", {"input": 0}, (1,), attributes | {"sent": (1,) * 4, "received": (2,) * 4})
    link_us = instruction_cost(even, [spec(2048), spec(2048)], BOX).link_us
    for sizes in ((2048, 512), (512, 2048)):
        values = [spec(size) for size in sizes]
        assert instruction_cost(uneven, values, BOX).link_us == link_us
        assert collective.least_link_us(uneven, values, rates_of(BOX, row_of_ranks(attributes))) > 0


def test_ranks_on_several_hosts_are_a_line() -> None:
    on_hosts = {"process_group": "0", "reduce_type": "sum"}
    few, many = (cost("all_reduce", 2048, None, axis=1, ranks=ranks, **on_hosts) for ranks in (2, 16))
    assert many.link_us > few.link_us > 0


def test_a_sum_of_ranks_has_the_buffers_of_one_along_a_row() -> None:
    values = [spec(512), spec(512)]
    plain = Instruction("ttnn.all_reduce", {"input": 0}, (1,), {"cluster_axis": 1, "reduce_type": "sum"})
    of_ranks = dict(plain.attributes) | {"process_group": "0", "ranks": 4, "chips": (0, 1, 2, 3)}
    expected = collective.scatter_buffers(plain, values, BOX, Mesh((1, 4), ("", "x"), (0, 1, 2, 3)))
    assert None not in expected
    assert (
        collective.scatter_buffers(msgspec.structs.replace(plain, attributes=of_ranks), values, BOX, None) == expected
    )
