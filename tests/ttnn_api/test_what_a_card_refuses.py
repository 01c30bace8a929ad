"""Calls that TT-NN 0.81.1 refuses or takes in its mock mode, in its words: what passes here passes on a card."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.quick

INCOMPATIBLE = "incompatible function arguments"
BATCHES = "bmm .non-bcast matmul. expects .* batch dimension {} mismatch: a={} vs b={} "
RANKS = "requires inputs of the same rank, got a_shape rank: {} vs b_shape rank: {}"
FRONT = "When in1 rank greater than in0 rank front dimensions need to be 1"
TERNARY = "Ternary operation requires its shape to match the computed shape"
UNARY = r"Unary: Preallocated output shape must match computed shape. Computed: Shape\(\[32, 32\]\)"


@pytest.fixture
def names(ttnn: Any, device: Any) -> dict[str, Any]:
    """Returns the names of the calls below: ``T`` makes zeros on the device, and ``H`` on the host."""

    def zeros(shape: Any, dtype: str, layout: str, **options: Any) -> Any:
        where = getattr(ttnn, f"{layout}_LAYOUT")
        return ttnn.from_torch(torch.zeros(shape), getattr(ttnn, dtype), layout=where, **options)

    def on_card(*shape: int, dtype: str = "bfloat16", layout: str = "TILE", **options: Any) -> Any:
        return zeros(shape, dtype, layout, device=device, **options)

    def on_host(*shape: int, dtype: str = "bfloat16", layout: str = "TILE") -> Any:
        return zeros(shape, dtype, layout)

    modules = {"ttnn": ttnn, "torch": torch, "np": np, "copy": copy, "device": device}
    return modules | {"T": on_card, "H": on_host, "inf": float("inf"), "nan": float("nan")}


REFUSED = [
    (
        "ttnn.copy(T(32, 32), T(32, 64))",
        r"shape Shape\(\[32, 32\]\) does not match output tensor shape Shape\(\[32, 64",
    ),
    ("ttnn.copy(T(32, 32), T(1, 32, 32))", "does not match output tensor shape"),
    ("ttnn.copy(T(32, 32), T(32, 32, layout='ROW_MAJOR'))", r"layout \(Layout::TILE\) must equal output tensor layout"),
    (
        "ttnn.copy(T(4, 4, layout='ROW_MAJOR'), T(4, 4, layout='ROW_MAJOR', dtype='float32'))",
        "Only tile layout supports dtype",
    ),
    ("ttnn.copy(T(32, 32), H(32, 32))", "Device Operations expect device tensors as inputs"),
    ("ttnn.assign(T(32, 32), T(32, 64))", "does not match output tensor shape"),
    ("ttnn.copy_host_to_device_tensor(H(32, 32, layout='ROW_MAJOR'), T(32, 32))", "different page config"),
    ("ttnn.exp(T(32, 32), output_tensor=T(32, 64))", UNARY),
    ("ttnn.softplus(T(32, 32), output_tensor=T(32, 64))", UNARY),
    ("ttnn.zeros_like(T(32, 32), optional_tensor=T(32, 64))", UNARY),
    ("ttnn.exp(T(32, 32), output_tensor=T(32, 32, layout='ROW_MAJOR'))", "Output: 0, Input: 1"),
    ("ttnn.exp(T(32, 32), output_tensor=T(32, 32, dtype='int32'))", "Integer and float dtypes cannot be mixed"),
    ("ttnn.where(T(32, 32), T(32, 32), T(32, 32), output_tensor=T(32, 64))", TERNARY),
    ("ttnn.typecast(T(32, 32), ttnn.float32, output_tensor=T(32, 32))", "output tensor provided dtype should match"),
    ("ttnn.typecast(T(32, 32), ttnn.bfloat16, output_tensor=T(32, 64))", "logical shapes to match"),
    ("ttnn.matmul(T(32, 32), T(32, 32), optional_output_tensor=T(32, 64))", "Invalid optional output tensor"),
    ("ttnn.concat([T(32, 32)] * 2, 0, output_tensor=T(64, 32))", "optional output tensor currently unsupported!"),
    ("ttnn.slice(T(32, 64), [0, 0], [32, 32], output_tensor=T(32, 64))", "preallocated output tensor needs a padded"),
    (
        "ttnn.argmax(T(32, 32, layout='ROW_MAJOR'), 1, output_tensor=T(32, 32, dtype='uint32', layout='ROW_MAJOR'))",
        "not page-compatible with the reduction result",
    ),
    ("ttnn.matmul(T(32, 64), T(2, 64, 32))", FRONT),
    ("ttnn.matmul(T(64), T(2, 64, 32))", FRONT),
    ("ttnn.matmul(T(2, 1, 32, 64), T(1, 3, 64, 32))", BATCHES.format(0, 2, 1)),
    ("ttnn.matmul(T(2, 3, 32, 64), T(2, 1, 64, 32))", BATCHES.format(1, 3, 1)),
    ("ttnn.matmul(T(3, 32, 64), T(2, 64, 32))", BATCHES.format(0, 3, 2)),
    ("ttnn.matmul(T(2, 3, 32, 64), T(3, 64, 32))", RANKS.format(4, 3)),
    ("ttnn.matmul(T(3, 32, 64), T(1, 3, 64, 32))", RANKS.format(3, 4)),
    ("ttnn.linear(T(32, 64), T(3, 64, 32))", FRONT),
    ("ttnn.argmax(T(32, 32), keepdim=True)", "For inputs with TILE layout, dim parameter must be specified!"),
    ("ttnn.clamp(T(32, 32))", "Only one of 'min' or 'max' can be None"),
    ("ttnn.as_tensor(torch.zeros(2, 2), device=device)", "memory_config must be specified when device is specified"),
    ("ttnn.empty((2, 2))", INCOMPATIBLE),
    ("ttnn.transpose(T(32), 0, -1)", "Can't convert shape rank"),
    *(
        (call, "unsupported operand type")
        for call in ("T(4, 4) ** 2", "T(4, 4) & T(4, 4)", "T(4, 4) | 1", "T(4, 4) ^ 1")
    ),
    ("-T(4, 4)", "bad operand type for unary -"),
    ("T(4, 4).reshape(1, 16)", INCOMPATIBLE),
    ("T(4, 4).reshape(16)", INCOMPATIBLE),
    ("ttnn.from_torch([1, 2, 3])", INCOMPATIBLE),
    ("ttnn.from_torch(1.0)", INCOMPATIBLE),
    ("ttnn.from_torch(torch.zeros(2, 2), device='cpu')", INCOMPATIBLE),
    *((f"ttnn.{name}(T(4, 4), None)", INCOMPATIBLE) for name in ("to_layout", "to_memory_config", "typecast")),
    ("ttnn.gelu(T(4, 4), fast_and_approximate_mode='no')", INCOMPATIBLE),
    ("ttnn.sum(T(4, 4), dim=1, keepdim=1)", INCOMPATIBLE),
    ("ttnn.sum(T(4, 4), dim=1.0)", INCOMPATIBLE),
    ("ttnn.prod(T(4, 4), dim=[])", INCOMPATIBLE),
    ("ttnn.CoreGrid(2, 3)", INCOMPATIBLE),
    ("ttnn.CoreCoord(-1, 0)", INCOMPATIBLE),
    ("ttnn.CoreRange((1, 1), (2, 0))", "Invalid core range for start_coord: 1-1, end_coord: 2-0"),
    ("ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (1, 1)), ttnn.CoreRange((1, 1), (2, 2))])", "overlap!"),
    ("ttnn.CoreRangeSet(ttnn.CoreRange((0, 0), (1, 1)))", INCOMPATIBLE),
    ("ttnn.MemoryConfig(ttnn.BufferType.L1)", INCOMPATIBLE),
    ("ttnn.MemoryConfig(ttnn.TensorMemoryLayout.INTERLEAVED, 'L1')", INCOMPATIBLE),
    ("ttnn.ShardSpec(ttnn.CoreRangeSet([]), [32], ttnn.ShardOrientation.ROW_MAJOR)", INCOMPATIBLE),
    ("int(ttnn.bfloat16)", r"int\(\) argument must be"),
    ("torch.zeros(T(2, 3).shape)", "must be tuple of ints, not Shape"),
    ("ttnn.Shape([2, 3]) + (1,)", "unsupported operand type"),
    ("ttnn.Shape([2, 3]) * 2", "unsupported operand type"),
    ("ttnn.Shape([2, 3]) < ttnn.Shape([2, 4])", "'<' not supported"),
    ("ttnn.Shape([2, 3])[0:2]", INCOMPATIBLE),
    ("ttnn.Shape([2, 3])[5]", r"ShapeBase\[\] index out of range. 5 not in \[-4, 2\)"),
    ("ttnn.Shape([2, 3])[-5]", r"ShapeBase\[\] index out of range. -5 not in \[-4, 2\)"),
    ("ttnn.Shape([2, 3]).to_rank(1)", "Can't convert shape rank"),
    ("ttnn.Shape([-1])", INCOMPATIBLE),
    ("ttnn.Shape(3)", INCOMPATIBLE),
    ("copy.copy(ttnn.Shape([2, 3]))", "cannot pickle 'Shape'"),
    ("len(ttnn.MeshShape(2, 4))", "has no len"),
    ("ttnn.MeshShape(2, 4) == (2, 4)", INCOMPATIBLE),
    ("ttnn.MeshShape(8)", INCOMPATIBLE),
    ("ttnn.MeshShape([])", "MeshShape cannot have 0 dimension"),
    ("ttnn.from_buffer([300], [1], ttnn.uint8, device)", "std::bad_cast"),
    ("T(4, 4).unpad([0, 0], [1, 1])", "Tensor must be on host for unpadding"),
    ("T(4, 4).pad([8, 8], [0, 0], 1.0)", "Tensor must be on host for padding"),
    ("H(2, 2, layout='ROW_MAJOR').pad([1, 4], [0, 0], 1.0)", r"does not fit into \[1, 4\]"),
    ("H(2, 2, layout='ROW_MAJOR').unpad([0], [1])", r"index out of range. 1 not in \[-4, 1\)"),
    ("ttnn.where(*[T(4, 4)] * 3, output_tensor=T(4, 4, layout='ROW_MAJOR'))", "output tensor to be in Tile layout"),
    ("ttnn.arange(0, 10, 0)", "Step must be nonzero"),
    ("ttnn.matmul(T(32, 32), T(32, 32), activation='foo')", "Unknown unary op: foo"),
    ("ttnn.UnaryWithParam('foo')", INCOMPATIBLE),
    ("ttnn.group_norm(T(1, 1, 64, 64), num_groups=0, inplace=False)", "num_groups must be greater than 0, got 0"),
    (
        "ttnn.transformer.split_query_key_value_and_split_heads(T(1, 32, 192), num_heads=0)",
        "num_heads must be greater than 0",
    ),
    ("ttnn.num_cores_to_corerangeset(100, ttnn.CoreCoord(8, 8), True)", "number of available cores 64"),
    *(
        (call, INCOMPATIBLE)
        for call in (
            "ttnn.concat([T(4, 4), None], 0)",
            "ttnn.linear(T(4, 4), T(4, 4), bias=3)",
            "ttnn.deallocate(None)",
            "ttnn.zeros((2, 2), device='a')",
            "ttnn.close_device(None)",
            "ttnn.synchronize_device(None)",
            "ttnn.Conv2dConfig(weights_dtype='a')",
        )
    ),
]


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[call for call, _ in REFUSED])
def test_it_is_refused(names: dict[str, Any], call: str, words: str) -> None:
    with pytest.raises((RuntimeError, TypeError), match=words):
        eval(call, names)


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("ttnn.matmul(T(1, 32, 64), T(2, 64, 32))", [2, 32, 32]),
        ("ttnn.matmul(T(1, 1, 32, 64), T(2, 3, 64, 32))", [2, 3, 32, 32]),
        ("ttnn.matmul(T(3, 32, 64), T(1, 1, 64, 32))", [1, 3, 32, 32]),
        ("ttnn.linear(T(3, 32, 64), T(3, 64, 32), bias=T(1, 32))", [3, 32, 32]),
        ("T(4, 4).reshape(1, 1, 2, 8)", [1, 1, 2, 8]),
        ("T(4, 4).reshape(ttnn.Shape([1, 16]))", [1, 16]),
        ("ttnn.transpose(T(32, layout='ROW_MAJOR'), 0, 0)", [32]),
        ("ttnn.sum(T(4, 4), dim=np.int64(1))", [4]),
        ("ttnn.sum(T(4, 4), dim=True)", [4]),
        ("ttnn.permute(T(4, 8), [True, False])", [8, 4]),
        ("ttnn.repeat(T(4, 4), ttnn.Shape([1, 2]))", [4, 8]),
        ("ttnn.reshape(T(4, 4), torch.Size([2, 8]))", [2, 8]),
        ("ttnn.leaky_relu(T(4, 4), np.float64(0.1))", [4, 4]),
        ("ttnn.exp(T(4, 4), output_tensor=T(4, 4, dtype='float32'))", [4, 4]),
        ("ttnn.add(T(4, 4), T(4, 4), activations=[(ttnn.UnaryOpType.ELU, 1.0)])", [4, 4]),
        ("ttnn.from_torch(np.zeros((2, 3), np.float32))", [2, 3]),
        ("ttnn.nonzero(T(1, 1, 1, 32, layout='ROW_MAJOR'))[1]", [1, 1, 1, 128]),
    ],
)
def test_it_is_taken(names: dict[str, Any], call: str, shape: list[int]) -> None:
    assert eval(call, names).shape == shape


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "std", "var"])
@pytest.mark.parametrize("dims", [[], ()])
def test_no_dimensions_are_all_dimensions(ttnn: Any, device: Any, name: str, dims: Any) -> None:
    x = ttnn.from_torch(torch.rand(2, 3, 32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    result, whole = getattr(ttnn, name)(x, dim=dims), getattr(ttnn, name)(x)
    assert (result.shape, result.layout) == ([], ttnn.TILE_LAYOUT)
    assert torch.equal(ttnn.to_torch(result), ttnn.to_torch(whole))
    assert getattr(ttnn, name)(x, dim=dims, keepdim=True).shape == [1, 1, 1, 1]


def test_calls_with_equal_shapes_are_planned_once(ttnn: Any, device: Any) -> None:
    x = ttnn.ones([32, 32], layout=ttnn.TILE_LAYOUT, device=device)
    ttnn.reshape(x, ttnn.Shape([16, 64]))
    before = len(device.plans)
    ttnn.reshape(x, ttnn.Shape([16, 64]))
    assert len(device.plans) == before


def test_programs_are_counted_after_a_call_that_is_made_of_others(ttnn: Any, device: Any) -> None:
    x = ttnn.ones([32, 32], layout=ttnn.TILE_LAYOUT, device=device)
    ttnn.exp(x)
    before = device.num_program_cache_entries()
    ttnn.div(x, 2, rounding_mode="floor")
    assert device.num_program_cache_entries() > before > 0


def test_a_shape_is_a_sequence_of_numbers_alone(ttnn: Any) -> None:
    shape = ttnn.Shape([2, 3])
    assert (list(shape), len(shape), shape.rank, shape[-1], shape[-3]) == ([2, 3], 2, 2, 3, 1)
    assert shape == (2, 3)
    assert shape != ttnn.Shape([2, 4])
    assert not isinstance(shape, (tuple, list))
    assert {shape: 1}.get(ttnn.Shape([2, 3])) is None  # as in TT-NN, a shape is found by itself alone
    assert torch.zeros(*shape).shape == (2, 3)


NUMBERS = [300.0, -1.5, 1e10, float("inf"), float("nan")]


@pytest.mark.parametrize(
    ("dtype", "few", "many"),
    [
        ("uint8", [44, 255, 0, 0, 0], [255, 0, 0, 0, 0]),
        ("uint16", [300, 0, 0, 0, 65535], [300, 0, 0, 0, 65535]),
        ("uint32", [300, 4294967295, 1410065408, 0, 0], [300, 4294967295, 2147483648, 2147483648, 2147483648]),
        ("int32", [300, -1, -(2**31), -(2**31), -(2**31)], [300, -1, -(2**31), -(2**31), -(2**31)]),
    ],
)
def test_floats_become_whole_numbers_as_the_host_converts_them(
    ttnn: Any, dtype: str, few: list[int], many: list[int]
) -> None:
    numbers = NUMBERS if dtype != "uint16" else [300.0, -1.5, 1e10, float("inf"), 70000.0]
    if dtype == "uint16":
        numbers, few = [*numbers[:4], 70000.0, 1.0, 1.0, 1.0], [*few, 1, 1, 1]
    kind = getattr(ttnn, dtype)
    assert ttnn.from_torch(torch.tensor(numbers), kind).to_list() == few
    assert ttnn.to_dtype(ttnn.from_torch(torch.tensor(numbers)), kind).to_list() == few
    assert ttnn.from_torch(torch.tensor(numbers[:5] + [1.0] * 3), kind).to_list() == [*many, 1, 1, 1]


def test_numbers_that_fill_a_tensor_are_converted_alone(ttnn: Any) -> None:
    assert ttnn.full((9,), 300, dtype=ttnn.uint8).to_list() == [44] * 9
    assert ttnn.full((2,), float("inf"), dtype=ttnn.int32).to_list() == [-(2**31)] * 2
    assert ttnn.from_torch(torch.zeros(2, dtype=torch.float16)).dtype == ttnn.bfloat16


@pytest.fixture
def without_small_memory(ttnn: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    opened = ttnn.open_device(device_id=0)
    yield opened
    ttnn.close_device(opened)


@pytest.mark.parametrize(
    ("call", "banks"),
    [
        ("ttnn.conv2d(weight_tensor=weight, kernel_size=(3, 3), padding=(1, 1), **sizes)", 2),
        ("ttnn.conv2d(weight_tensor=point, kernel_size=(1, 1), padding=(0, 0), **sizes)", None),
        (
            "ttnn.conv2d(weight_tensor=weight, kernel_size=(3, 3), padding=(1, 1), "
            "conv_config=ttnn.Conv2dConfig(config_tensors_in_dram=True), **sizes)",
            None,
        ),
        ("ttnn.max_pool2d(x, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0], [1, 1])", 2),
        ("ttnn.max_pool2d(x, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0], [1, 1], config_tensor_in_dram=True)", None),
        ("ttnn.avg_pool2d(x, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0])", 2),
        ("ttnn.upsample(ttnn.reshape(x, [1, 8, 8, 32]), 2, mode='bilinear')", 64),
        ("ttnn.upsample(ttnn.reshape(x, [1, 8, 8, 32]), 2)", None),
    ],
)
def test_tables_of_windows_need_their_memory(
    ttnn: Any, without_small_memory: Any, call: str, banks: int | None
) -> None:
    device = without_small_memory
    weight, point = (ttnn.from_torch(torch.zeros(32, 32, size, size), ttnn.bfloat16) for size in (3, 1))
    x = ttnn.from_torch(torch.zeros(1, 1, 64, 32), ttnn.bfloat16, device=device)
    sizes = {"input_tensor": x, "device": device, "in_channels": 32, "out_channels": 32, "batch_size": 1}
    sizes |= {"input_height": 8, "input_width": 8}
    given = {"ttnn": ttnn, "x": x, "weight": weight, "point": point, "sizes": sizes}
    if banks is None:
        eval(call, given)
        return
    words = rf"allocate {16 * banks} B L1_SMALL buffer across {banks} banks, .* bank size is 0 B .*l1_small_size=32768"
    with pytest.raises(RuntimeError, match=words):
        eval(call, given)
