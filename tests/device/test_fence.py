"""A fault in a faster way ends no call: the kernel computes the result, and one report says what happened."""

from __future__ import annotations

import pytest
import torch

from tt_xla import environment
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import report, threads
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.windows import prepare
from tt_xla.runtime.weights import WeightedCall

pytestmark = [
    pytest.mark.skipif(not onednn.available(), reason="this CPU's oneDNN does not multiply bfloat16"),
    pytest.mark.quick,
]

BF16, F32 = torch.bfloat16, torch.float32
CONV = {
    "in_channels": 8,
    "out_channels": 6,
    "batch_size": 2,
    "input_height": 7,
    "input_width": 5,
    "kernel_size": [3, 3],
    "stride": [1, 1],
    "padding": [1, 1],
    "dilation": [1, 1],
    "groups": 1,
}
IMAGE, LIKE_IMAGE = (1, 1, 70, 8), (1, 1, 70, 6)


def drawn(shape, dtype=BF16, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def linear(dtype=BF16, label="bf16", rows=64, **attributes):
    """A product that is large enough to be oneDNN's."""
    a, b, bias = drawn((rows, 512), dtype) / 32, drawn((512, 256), dtype, 1), drawn((256,), dtype, 2)
    if attributes.get("transpose_b"):
        b = b.t().contiguous()
    return "ttnn.linear", {"a": a, "b": b, "bias": bias}, (rows, 256), label, attributes


def convolution(weight, **attributes):
    operands = {"input": drawn(IMAGE), "weight": weight, "bias": drawn((1, 1, 1, 6), seed=2)}
    return "ttnn.conv2d", operands, LIKE_IMAGE, "bf16", CONV | attributes


CASES = {
    "linear": lambda: linear(activation="gelu"),
    "transposed weights": lambda: linear(transpose_b=True),
    "cut weights": lambda: linear(compute_config={"math_fidelity": "lofi"}),
    "cut float32": lambda: linear(F32, "f32"),
    "convolution": lambda: convolution(drawn((6, 8, 3, 3), seed=1), conv2d_config={"activation": "relu"}),
    "convolution, cut weights": lambda: convolution(
        drawn((6, 8, 3, 3), seed=1), compute_config={"math_fidelity": "lofi"}
    ),
    "convolution of a matrix": lambda: convolution(prepare(drawn((6, 8, 3, 3), seed=1), 1)),
    "convolution of groups": lambda: convolution(drawn((6, 4, 3, 3), seed=1), groups=2),
}


def fail(*_, **__):
    raise RuntimeError("could not create a primitive")


STAGES = {
    "computing": lambda patch: [
        patch.setattr(owner, name, fail) for owner, name in ((onednn, "linear"), (onednn.Convolution, "__call__"))
    ],
    "preparing": lambda patch: [patch.setattr(owner, "ordered", fail) for owner in (onednn, onednn.Convolution)],
    "binding": lambda patch: patch.setattr(onednn, "takes", fail),
}


@pytest.fixture
def reports(tmp_path, monkeypatch, project_log):
    """Returns a function that returns the warnings and the report files."""
    monkeypatch.setattr(environment, "cache_directory", lambda: tmp_path)
    report.forget()

    def read():
        folder = tmp_path / "reports"
        warnings = [record.message for record in project_log.records if "A faster way to compute" in record.message]
        return warnings, [*folder.iterdir()] if folder.exists() else []

    return read


def context(op, operands, shape, label, numerics="silicon"):
    def spec(tensor_shape):
        return TensorSpec(tuple(tensor_shape), TensorLayout.of(tuple(tensor_shape), DataType(label)))

    return Context(op, numerics, {name: spec(each.shape) for name, each in operands.items()}, (spec(shape),))


def both(case):
    """Returns the bound call and the kernel of a case, and its operands."""
    op, operands, shape, label, attributes = case
    bound = bind(context(op, operands, shape, label), attributes)
    kernel = bind(context(op, operands, shape, label), attributes, fast=False)
    call = bound if callable(bound) else WeightedCall(bound)
    return call, kernel, list(operands.values())


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", CASES)
def test_the_kernel_computes_after_a_fault(name, stage, monkeypatch, reports):
    STAGES[stage](monkeypatch)
    call, kernel, operands = both(CASES[name]())
    expected = kernel(*operands)
    for _ in range(3):
        torch.testing.assert_close(call(*operands), expected, rtol=2**-7, atol=2**-7)
    warnings, files = reports()
    assert len(warnings) == len(files) == 1
    assert str(files[0]) in warnings[0]
    text = files[0].read_text()
    for part in ("could not create a primitive", "Traceback", torch.__version__, "its kernel"):
        assert part in text + warnings[0]


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_computes_on_weights_whose_own_bytes_were_released(name, monkeypatch, reports):
    call, kernel, operands = both(CASES[name]())
    expected = kernel(*operands)
    for _ in range(2):
        call(*operands)
    assert call.has_prepared(operands[1])
    operands[1].untyped_storage().resize_(0)
    STAGES["computing"](monkeypatch)
    for _ in range(2):
        torch.testing.assert_close(call(*operands), expected, rtol=0, atol=0)
    warnings, files = reports()
    assert len(warnings) == len(files) == 1


def test_operands_that_the_kernel_refuses_too_raise_its_error(reports):
    call, kernel, operands = both(CASES["linear"]())
    operands[0] = operands[0][:, :3]
    with pytest.raises(RuntimeError) as expected:
        kernel(*operands)
    with pytest.raises(RuntimeError) as caught:
        call(*operands)
    assert str(caught.value) == str(expected.value)
    assert caught.value.__suppress_context__
    assert reports() == ([], [])


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        MemoryError("no"),
        torch.OutOfMemoryError("no"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: 8 bytes."),
    ],
)
@pytest.mark.parametrize("stage", ["linear", "ordered"])
def test_an_interrupt_and_a_lack_of_memory_are_no_faults(stage, error, monkeypatch, reports):
    call, _, operands = both(CASES["linear"]())

    def interrupt(*_):
        raise error

    call(*operands)
    monkeypatch.setattr(onednn, stage, interrupt)
    with pytest.raises(type(error)) as caught:
        call(*operands)
    assert caught.value is error
    assert reports() == ([], [])


def test_a_fault_of_torchs_own_product_is_fenced_too(monkeypatch, reports):
    call, kernel, operands = both(linear(activation="mish"))
    product, first = threads.product, iter([fail])
    monkeypatch.setattr(threads, "product", lambda *given: next(first, product)(*given))  # the kernel's is the second
    torch.testing.assert_close(call(*operands), kernel(*operands), rtol=0, atol=0)
    assert len(reports()[0]) == 1
