"""``place.py`` alone decides on which device the emulated card computes."""

from __future__ import annotations

import pytest
import torch

from tt_xla import environment
from tt_xla.errors import OptionError
from tt_xla.ir.program import Role
from tt_xla.runtime.emulator import place

pytestmark = pytest.mark.quick

X = torch.tensor([[3.0, -1.0, 2.0, 2.0], [0.5, 7.0, 7.0, -4.0]]).to(torch.bfloat16)
HEADS = torch.randn(1, 2, 8, 16, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
ROWS = torch.tensor([[0, 1, 1]])

OPS = {
    "arange": ("ttnn.arange", {}, (1, 4), "si32", {"start": 0, "end": 8, "step": 2}),
    "argmax": ("ttnn.argmax", {"input": X}, (2,), "u32", {"dim": 1}),
    "causal attention": (
        "ttnn.scaled_dot_product_attention",
        dict.fromkeys(("query", "key", "value"), HEADS),
        HEADS.shape,
        "bf16",
        {"is_causal": True},
    ),
    "constant": ("ttnn.constant", {}, (2, 2), "f32", {"value": b"\0\0\x80\x3f" * 4}),
    "comparison": ("ttnn.gt", {"lhs": X, "rhs": X.flip(0)}, X.shape, "bf16", {}),
    "embedding_bw": (
        "ttnn.embedding_bw",
        {"input": ROWS, "weight": X, "in_gradient": torch.ones(1, 1, 3, 4, dtype=torch.bfloat16)},
        X.shape,
        "bf16",
        {},
    ),
    "full": ("ttnn.full", {}, (2, 3), "bf16", {"fill_value": 2.0}),
    "quantized": ("ttnn.typecast", {"input": X}, X.shape, "bfp_bf8", {}),
    "sliding window": (
        "ttnn.scaled_dot_product_attention",
        dict.fromkeys(("query", "key", "value"), HEADS),
        HEADS.shape,
        "bf16",
        {"is_causal": True, "sliding_window_size": 3},
    ),
    "source bits": ("ttnn.matmul", {"a": X.float(), "b": X.float().t()}, (2, 2), "f32", {}),
    "where": ("ttnn.where", {"first": X, "second": X, "third": X.neg()}, X.shape, "bf16", {}),
}


@pytest.fixture
def named(monkeypatch):
    def name(text):
        monkeypatch.setenv("TTXLA_EMULATOR_DEVICE", text)
        place.device.cache_clear()
        return place.device()

    yield name
    monkeypatch.undo()
    place.device.cache_clear()


def test_is_the_cpu_unless_said_otherwise(monkeypatch):
    monkeypatch.delenv("TTXLA_EMULATOR_DEVICE", raising=False)
    assert environment.emulator_device() == "cpu"


@pytest.mark.parametrize("text", ["gpu", "cuda:", "cuda:x", "tt"])
def test_other_names_are_refused(named, text):
    with pytest.raises(OptionError, match="it takes cpu, cuda or cuda:N"):
        named(text)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
@pytest.mark.parametrize("text", ["cuda", "cuda:1"])
def test_a_gpu_that_is_not_there_is_refused(named, text):
    with pytest.raises(OptionError, match=f"'{text}', and torch .* finds no CUDA device here"):
        named(text)


@pytest.mark.parametrize("name", OPS)
def test_kernels_make_no_tensor_where_torch_would_by_itself(run_op, name):
    """Kernels name the device of every new tensor; the default device here is ``meta``, whose tensors have no data."""
    op, operands, shape, dtype, attributes = OPS[name]
    expected = run_op(op, operands, shape, dtype, **attributes)
    with torch.device("meta"):
        result = run_op(op, operands, shape, dtype, **attributes)
    assert result.device.type == "cpu"
    assert torch.equal(result, expected)


def test_arguments_are_brought_there_and_results_back(monkeypatch, device, function_builder, make_program):
    """Parameters are copied once and inputs in each run; a replacement for the copy counts them."""
    moved = []

    def brought(tensor):
        moved.append(tuple(tensor.shape))
        return tensor.clone()

    monkeypatch.setattr(place, "device", lambda: torch.device("cuda"))
    monkeypatch.setattr(place, "brought", brought)
    f = function_builder("main")
    x, w = f.argument((2, 4), "bf16"), f.argument((4,), "bf16")
    program = make_program(
        [f.done(f.op("ttnn.add", (2, 4), "bf16", lhs=x, rhs=w))],
        [("x", Role.INPUT, (2, 4), "bf16"), ("w", Role.PARAMETER, (4,), "bf16")],
        [((2, 4), "bf16")],
    )
    executable = device.load(program)
    for _ in range(3):
        (result,) = executable.run([X, X[0]], [None, 1])
        assert torch.equal(result, X + X[0])
    assert moved.count((2, 4)) == 3
    assert moved.count((4,)) == 1
