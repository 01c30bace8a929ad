"""Arguments that TT-NN 0.81.1 refuses or takes in its mock mode: numbers of NumPy and PyTorch, slices, activations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.quick

INCOMPATIBLE = "incompatible function arguments"
NO_PARAMETER = "operator should support at least one parameter but op_type UnaryOpType::RELU does not"
NOT_IMPORTED = "parse_py_tensor: ndarray_import failed"
UNHANDLED = "got INVALID or unhandled DataType"


@pytest.fixture
def names(ttnn: Any, device: Any) -> dict[str, Any]:
    """Returns the names of the calls below: ``T`` makes a tensor of zeros on the device."""

    def tensor(*shape: int, dtype: str = "bfloat16", layout: str = "TILE") -> Any:
        where = getattr(ttnn, f"{layout}_LAYOUT")
        return ttnn.from_torch(torch.zeros(shape), getattr(ttnn, dtype), layout=where, device=device)

    kinds = {"RELU": ttnn.UnaryOpType.RELU, "ELU": ttnn.UnaryOpType.ELU, "P": ttnn.UnaryWithParam}
    return {"ttnn": ttnn, "torch": torch, "np": np, "device": device, "T": tensor, **kinds}


REFUSED = [
    ("ttnn.Tensor(np.zeros((2, 2), np.float16))", NOT_IMPORTED),
    ("ttnn.Tensor(np.zeros((2, 2), np.float16), ttnn.bfloat8_b)", NOT_IMPORTED),
    ("ttnn.Tensor(np.zeros((2, 2)), ttnn.bfloat16)", NOT_IMPORTED),
    ("ttnn.Tensor(np.zeros((2, 2)))", UNHANDLED),
    ("ttnn.from_torch(torch.zeros(2, 2, dtype=torch.float64))", UNHANDLED),
    ("ttnn.Tensor(np.zeros((2, 2), np.uint64))", UNHANDLED),
    ("ttnn.slice(T(64, 64), starts=[0, 0], ends=[32, 32], steps=[1, 1])", INCOMPATIBLE),
    ("ttnn.slice(T(64, 64), [0, 0], [32, 32], steps=[1, 1])", INCOMPATIBLE),
    (
        "ttnn.slice(T(64, 64), [0, 0], [30, 30], output_tensor=T(32, 32))",
        r"Input tensor shape Shape\(\[30, 30\]\) does not match output tensor shape Shape\(\[32, 32\]\)",
    ),
    (
        "ttnn.slice(T(64, 64), [0, 0], [30, 30], output_tensor=T(32, 64))",
        r"needs a padded shape of Shape\(\[32, 32\]\), however it is Shape\(\[32, 64\]\)",
    ),
    (
        "ttnn.slice(T(64, 64), [0, 0], [32, 32], output_tensor=T(32, 32, dtype='float32'))",
        "needs a layout of TensorLayout.*BFLOAT16.* however it is .*FLOAT32",
    ),
    (
        "ttnn.slice(T(64, 64), [0, 0], [32, 32], output_tensor=T(32, 32, layout='ROW_MAJOR'))",
        r"Input tensor layout \(Layout::TILE\) must equal output tensor layout \(Layout::ROW_MAJOR\)",
    ),
    ("ttnn.unary_chain(T(4, 4), [P(RELU, 1.0)])", NO_PARAMETER),
    ("ttnn.linear(T(32, 32), T(32, 32), activation=(RELU, 1.0))", NO_PARAMETER),
    ("ttnn.add(T(4, 4), T(4, 4), activations=[P(ttnn.UnaryOpType.SIN, 1.0)])", "UnaryOpType::SIN does not"),
    ("ttnn.add(T(4, 4), T(4, 4), activations=[P(ELU)])", "Undefined non-parametrized op type UnaryOpType::ELU"),
    *(
        (call, INCOMPATIBLE)
        for call in (
            "ttnn.Conv2dConfig(activation=(RELU,))",
            "ttnn.add(T(4, 4), T(4, 4), activations=[(RELU,)])",
            "ttnn.add(T(4, 4), T(4, 4), activations=[(RELU, 1.0, 2.0)])",
            "P((RELU,))",
            "P(RELU, '1')",
            "P(RELU, [1, 2])",
            "ttnn.add(T(4, 4), torch.tensor([2.0, 3.0]))",
            "ttnn.add(T(4, 4), '2')",
            "ttnn.exp(torch.zeros(4, 4))",
            "ttnn.softmax(T(4, 4), dim=np.array([1]))",
            "ttnn.softmax(T(4, 4), dim=np.float32(1.0))",
            "ttnn.softmax(T(4, 4), dim=torch.tensor(0.5))",
            "ttnn.softmax(T(4, 4), dim='1')",
            "ttnn.sum(T(4, 4), dim=1, keepdim=np.bool_(True))",
            "ttnn.sum(T(4, 4), dim=np.array([[1]]))",
            "ttnn.reshape(T(4, 4), torch.tensor([1, 16]))",
            "ttnn.permute(T(4, 4), {0, 1})",
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
        ("ttnn.slice(T(1, 1, 64, 64), starts=[0] * 4, ends=[1, 1, 32, 32], steps=[1] * 4)", [1, 1, 32, 32]),
        ("ttnn.slice(T(64, 64), [0, 0], [30, 30], [1, 1], output_tensor=T(30, 30))", [30, 30]),
        ("ttnn.add(T(4, 4), T(4, 4), activations=[(RELU, 1.0)])", [4, 4]),
        ("ttnn.linear(T(32), T(32, 64), bias=T(64))", [64]),
        ("ttnn.linear(T(32), T(32, 64), bias=T(1, 64))", [1, 64]),
        ("ttnn.linear(T(32), T(32), bias=T(1))", [1]),
        ("ttnn.linear(T(64, 32), T(32), bias=T(64), activation='relu')", [64]),
        ("ttnn.linear(T(32, 32), T(32, 32), bias=T(1, 1, 32))", [1, 32, 32]),
        ("ttnn.multiply(torch.tensor(2.0), T(4, 4))", [4, 4]),
        ("torch.tensor(2) + T(4, 4)", [4, 4]),
        ("ttnn.elu(T(4, 4), alpha=np.array([[1.0]]))", [4, 4]),
        ("ttnn.where(T(4, 4), torch.tensor(1.0), torch.tensor(0.0))", [4, 4]),
        ("ttnn.sum(T(4, 4), dim=np.array(1))", [4]),
        ("ttnn.sum(T(4, 4), dim=np.array([0, 1]))", []),
        ("ttnn.sum(T(4, 4), dim=np.bool_(True))", [4]),
        ("ttnn.sum(T(4, 4), dim=torch.tensor([1]))", [4]),
        ("ttnn.sum(T(4, 4), dim=range(1))", [4]),
        ("ttnn.reshape(T(4, 4), np.array([1, 16]))", [1, 16]),
        ("ttnn.reshape(T(4, 4), [np.array(1), torch.tensor(16)])", [1, 16]),
        ("ttnn.concat([T(4, 4)], dim=5)", [4, 4]),
        ("ttnn.concat([T(33, 32)], dim=0, groups=2)", [33, 32]),
        ("ttnn.to_torch(T(2, 2), device=device)", [2, 2]),
    ],
)
def test_it_is_taken(names: dict[str, Any], call: str, shape: list[int]) -> None:
    assert list(eval(call, names).shape) == shape


def test_numbers_of_arrays_are_read_at_each_call(ttnn: Any, device: Any) -> None:
    x, number = ttnn.ones([2, 2], layout=ttnn.TILE_LAYOUT, device=device), torch.tensor(2.0)
    before = ttnn.to_torch(ttnn.add(x, number))
    number += 1
    after = ttnn.to_torch(ttnn.add(x, number))
    assert [before[0, 0].item(), after[0, 0].item()] == [3.0, 4.0]


def test_a_whole_and_a_broken_number_of_numpy_are_told_apart(ttnn: Any, device: Any) -> None:
    x = ttnn.full([2, 2], 4, dtype=ttnn.int32, layout=ttnn.TILE_LAYOUT, device=device)
    products = [ttnn.multiply(x, number) for number in (2, np.float64(2.0))]
    assert [each.dtype for each in products] == [ttnn.int32, ttnn.float32]


def test_a_bias_is_added_to_the_product_of_a_vector(ttnn: Any, device: Any) -> None:
    def put(values: torch.Tensor) -> Any:
        return ttnn.from_torch(values, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)

    vector, matrix, bias = torch.arange(32.0) / 32, torch.eye(32), -torch.ones(1, 32)
    result = ttnn.linear(put(vector), put(matrix), bias=put(bias), activation="relu")
    assert torch.allclose(ttnn.to_torch(result), torch.relu(vector + bias), atol=1e-2)


def test_a_lone_tensor_of_block_floats_keeps_its_type_when_it_is_joined(ttnn: Any, device: Any) -> None:
    x = ttnn.from_torch(torch.ones(30, 30), ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT, device=device)
    assert ttnn.concat([x], 0).dtype is ttnn.bfloat8_b


def test_a_tensor_is_filled_in_its_own_shape_and_type(ttnn: Any, device: Any) -> None:
    target = ttnn.zeros([3, 2], dtype=ttnn.int32, layout=ttnn.TILE_LAYOUT, device=device)
    result = ttnn.full([2, 2], 7.9, dtype=ttnn.bfloat16, optional_tensor=target)
    assert (result.shape, result.dtype) == ([3, 2], ttnn.int32)
    assert torch.equal(ttnn.to_torch(target), torch.full((3, 2), 7, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="need to be on the device"):
        ttnn.full([2, 2], 1.0, optional_tensor=ttnn.zeros([2, 2]))


def test_activations_are_functions_with_parameters(ttnn: Any) -> None:
    kind = ttnn.UnaryOpType.RELU
    for given in (kind, (kind, 1.0), ttnn.UnaryWithParam(kind)):
        assert isinstance(ttnn.Conv2dConfig(activation=given).activation, ttnn.UnaryWithParam)
    assert repr(ttnn.UnaryWithParam((kind, 1))) == "UnaryWithParam(op_type=UnaryOpType::RELU, params=[1])"
    assert repr(ttnn.UnaryWithParam(kind)) == "UnaryWithParam(op_type=UnaryOpType::RELU)"
    assert ttnn.UnaryWithParam(kind).params == []


def test_bytes_with_a_sign_lie_on_the_host(ttnn: Any, device: Any) -> None:
    numbers = torch.tensor([[-3, 5]], dtype=torch.int8)
    made = ttnn.from_torch(numbers)
    assert (made.dtype, made.element_size(), made.to_list()) == (ttnn.int8, 1, [[-3, 5]])
    assert torch.equal(ttnn.to_torch(made), numbers)
    wide = torch.tensor([[-3.0, 500.0, -130.0, 5.0, 127.9, 1e10, float("nan"), float("inf"), -3.7]])
    together = [-3, 127, -128, 5, 127, -128, -128, -128, -3]
    assert ttnn.from_torch(wide, ttnn.int8).to_list() == [together]
    assert ttnn.from_torch(wide[:, :3], ttnn.int8).to_list() == [[-3, -12, 126]]
    assert ttnn.to_dtype(made, ttnn.bfloat16).to_list() == [[-3.0, 5.0]]
    assert ttnn.full([2], 3, dtype=ttnn.int8).to_list() == [3, 3]
    with pytest.raises(RuntimeError, match=r"The emulated card has no tensors of DataType\.INT8"):
        ttnn.to_device(made, device)
