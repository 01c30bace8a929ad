"""The bits of a result depend on the program and its inputs: not on sizes, threads, strides, runs or a compiler."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys

import pytest
import torch

from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import library, threads
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context, Weighted
from tt_xla.runtime.emulator.fast import attention as fast_attention
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.emulator.fused.build import compiler
from tt_xla.runtime.emulator.kernels import attention

INTEGERS_ONLY = ("bitwise_not", "logical_not", "isfinite")
UNARY = sorted(name for name, function in FUNCTIONS.items() if function.is_op and name not in INTEGERS_ONLY)
BINARY = ("atan2", "divide", "maximum", "minimum", "multiply", "pow_tensor", "remainder")
ROW = 37
"""Elements of a row: no multiple of any vector's length."""


def same_bits(actual, expected):
    """Whether two tensors agree in shape, dtype and every bit; a NaN agrees with any NaN."""
    if actual.shape != expected.shape or actual.dtype is not expected.dtype:
        return False
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[expected.element_size()]
    differing = actual.contiguous().view(bits) != expected.contiguous().view(bits)
    return not bool((differing & ~(actual.isnan() & expected.isnan())).any())


def spec(shape, dtype):
    return TensorSpec(tuple(shape), TensorLayout.of(tuple(shape), DataType(dtype)))


IMAGE = {"in_channels": 8, "out_channels": 6, "batch_size": 2, "input_height": 9, "input_width": 7, "groups": 1}
IMAGE |= {"kernel_size": [3, 3], "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1]}


def computed(op, dtype, operands, fast=True, shape=None, numerics="silicon", **attributes):
    """Returns the result of one bound op; operands are passed by name."""
    specs = {name: spec(tensor.shape, dtype) for name, tensor in operands.items()}
    result = spec(shape or next(iter(operands.values())).shape, dtype)
    call = bind(Context(op, numerics, specs, (result,)), attributes, fast=fast)
    return (call.call if isinstance(call, Weighted) else call)(*operands.values())


def rows_of(dtype, count=4096, seed=0):
    """Returns rows with numbers of many magnitudes, zeros of both signs, infinities and NaN."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(count, ROW, generator=generator) * torch.logspace(-3, 2, ROW)
    rows[::7, 3], rows[::11, 5], rows[::13, 7], rows[::17, 9], rows[::19, 11] = (
        -0.0,
        0.0,
        torch.inf,
        -torch.inf,
        torch.nan,
    )
    return rows.to(CONTAINERS[DataType(dtype)])


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_a_row_has_the_bits_that_it_has_in_a_large_batch(name, dtype):
    names = ("lhs", "rhs") if name in BINARY else ("input",)
    operands = {each: rows_of(dtype, seed=seed) for seed, each in enumerate(names)}
    batch = computed(f"ttnn.{name}", dtype, operands)
    for count in (1, 2, 5):
        few = computed(f"ttnn.{name}", dtype, {each: tensor[:count] for each, tensor in operands.items()})
        assert same_bits(few, batch[:count])
    one = computed(f"ttnn.{name}", dtype, {each: tensor[10:11, 4:5] for each, tensor in operands.items()})
    assert same_bits(one, batch[10:11, 4:5])


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("name", UNARY)
def test_strides_and_threads_change_no_bit(name, dtype):
    x = rows_of(dtype)
    expected = computed(f"ttnn.{name}", dtype, {"input": x})
    transposed = x.t().contiguous().t()
    spread = torch.stack([x, x], -1)[..., 0]
    for tensor in (transposed, spread):
        assert same_bits(computed(f"ttnn.{name}", dtype, {"input": tensor}), expected)
    count_before = torch.get_num_threads()
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            assert same_bits(computed(f"ttnn.{name}", dtype, {"input": x}), expected)
    finally:
        torch.set_num_threads(count_before)


def apart(tensor):
    """Returns an equal tensor whose elements lie two numbers apart, with others between them."""
    return torch.stack([tensor, torch.full_like(tensor, 7)], -1)[..., 0]


@pytest.mark.parametrize("numerics", ["silicon", "exact"])
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("op", ["linear of 1", "linear of 4", "linear of 300", "conv2d"])
def test_strides_of_all_operands_change_no_result(op, dtype, numerics):
    generator = torch.Generator().manual_seed(0)
    name, _, rows = op.partition(" of ")
    attributes = IMAGE if name == "conv2d" else {}
    shapes = {"a": (int(rows or 1), 64), "b": (64, 48), "bias": (48,)}
    if name == "conv2d":
        shapes = {"input": (1, 1, 126, 8), "weight": (6, 8, 3, 3), "bias": (1, 1, 1, 6)}
    container = CONTAINERS[DataType(dtype)]
    operands = {each: torch.randn(shape, generator=generator).to(container) for each, shape in shapes.items()}
    shape = (1, 1, 126, 6) if name == "conv2d" else (int(rows), 48)
    expected = computed(f"ttnn.{name}", dtype, operands, shape=shape, numerics=numerics, **attributes)
    for each in operands:
        moved = {**operands, each: apart(operands[each])}
        result = computed(f"ttnn.{name}", dtype, moved, shape=shape, numerics=numerics, **attributes)
        torch.testing.assert_close(result, expected)


def test_a_permuted_tensor_keeps_its_memory_order():
    x = torch.randn(2, 5, 7, 16).permute(0, 3, 1, 2)
    assert FUNCTIONS["silu"].compute(x).stride() == x.stride()


def test_sqrt_of_float32_rounds_correctly():
    x = rows_of("f32").abs()
    assert same_bits(computed("ttnn.sqrt", "f32", {"input": x}), x.double().sqrt().float())


def test_a_remainder_of_a_huge_quotient_is_exact():
    x, y = torch.full((100,), 3e38), torch.full((100,), 0.1)
    exact = torch.full((100,), math.fmod(float(x[0]), float(y[0])))
    assert same_bits(computed("ttnn.remainder", "f32", {"lhs": x, "rhs": y}), exact)


@pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("keys", [1, 33, 64, 1000])
def test_weights_of_attention_in_cpp_have_the_bits_of_torch(keys):
    compiled = library.library()
    generator = torch.Generator().manual_seed(keys)
    for scale in (1, 30, 1e30):
        scores = (torch.randn(2, 37, keys, generator=generator) * scale).bfloat16()
        scores[0, 0], scores[0, 1, : keys // 2], scores[0, 2, -1] = -torch.inf, -torch.inf, torch.nan
        scores[0, 3, 0], scores[0, 4] = torch.inf, torch.finfo(torch.bfloat16).min
        weights, inverses = attention.softmax(scores, 0.125, 7)
        finite = inverses.isfinite()[..., 0]
        assert finite.sum() == 2 * 37 - 3
        found, by_sums = fast_attention.softmax(compiled, scores.clone(), 0.125, 7)
        assert same_bits(by_sums, inverses)
        assert same_bits(found[finite], weights[finite])


def test_attention_in_pieces_has_the_same_bits(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, heads, 33, 32, generator=generator).bfloat16() for heads in (8, 4, 4))
    mask = torch.randn(2, 8, 33, 33, generator=generator).bfloat16()
    operands = {"query": query, "key": key, "value": value, "attention_mask": mask}
    at_once = computed("ttnn.scaled_dot_product_attention", "bf16", operands, is_causal=False)
    monkeypatch.setattr(attention, "SCORES", 1)
    assert same_bits(computed("ttnn.scaled_dot_product_attention", "bf16", operands, is_causal=False), at_once)


@pytest.mark.parametrize("activation", [None, "relu", "gelu", "silu"])
@pytest.mark.parametrize("rows", [1, 4, 300, 1500])
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_the_faster_product_is_the_kernels_but_for_the_order_of_its_sum(rows, activation, dtype):
    generator = torch.Generator().manual_seed(rows)
    container = CONTAINERS[DataType(dtype)]
    a, b, bias = (torch.randn(shape, generator=generator).to(container) for shape in ((rows, 64), (64, 48), (48,)))
    operands = {"a": a, "b": b, "bias": bias}
    fast, kernel = (
        computed("ttnn.linear", dtype, operands, fast=way, shape=(rows, 48), activation=activation)
        for way in (True, False)
    )
    ulp = 2.0**-7 if dtype == "bf16" else 2.0**-20
    torch.testing.assert_close(fast, kernel, rtol=ulp, atol=64 * 2.0**-21)


@pytest.mark.parametrize("numerics", ["silicon", "exact"])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("rows", [1, 2, 33, 200])
def test_prepared_weights_give_a_product_the_bits_of_plain_ones(rows, dtype, transpose_b, numerics):
    generator = torch.Generator().manual_seed(0)
    for inner, columns in ((16, 33), (100, 128), (512, 10), (300, 700), (96, 1024)):
        a, b = (
            torch.randn(shape, generator=generator).to(CONTAINERS[DataType(dtype)])
            for shape in ((rows, inner), (columns, inner) if transpose_b else (inner, columns))
        )
        operands = {"a": spec(a.shape, dtype), "b": spec(b.shape, dtype)}
        context = Context("ttnn.matmul", numerics, operands, (spec((rows, columns), dtype),))
        product = bind(context, {"transpose_a": False, "transpose_b": transpose_b})
        assert isinstance(product, Weighted)
        prepared = product.prepare(b)
        assert same_bits(product.with_prepared(a, prepared), product.call(a, b))
        if numerics == "exact":
            assert same_bits(product.restore(prepared), b)


@pytest.mark.parametrize("transpose_b", [False, True])
def test_addresses_and_threads_change_no_bit_of_a_product_of_one_row(transpose_b):
    generator = torch.Generator().manual_seed(0)
    count_before = torch.get_num_threads()
    for inner, columns in ((768, 256), (4096, 8), (100, 33), (1000, 101), (576, 4096), (1100, 4096)):
        shapes = {"a": (1, inner), "b": (columns, inner) if transpose_b else (inner, columns)}
        operands = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
        attributes = {"transpose_a": False, "transpose_b": transpose_b}
        expected = computed("ttnn.matmul", "f32", operands, shape=(1, columns), **attributes)
        moved = {
            name: torch.empty(tensor.numel() + 3)[3:].view(tensor.shape).copy_(tensor)
            for name, tensor in operands.items()
        }
        try:
            for count in (1, 3):
                torch.set_num_threads(count)
                assert same_bits(computed("ttnn.matmul", "f32", moved, shape=(1, columns), **attributes), expected)
        finally:
            torch.set_num_threads(count_before)


def with_threads(compute):
    """Returns the results of ``compute`` with several numbers of threads."""
    count_before = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3, 8):
            torch.set_num_threads(count)
            results.append(compute())
    finally:
        torch.set_num_threads(count_before)
    return results


PRODUCTS = {
    "one matrix": ((1, 4, 8192), (1, 8192, 256)),
    "many rows": ((500, 4096), (1, 4096, 64)),
    "columns left over": ((1, 2, 8, 2048), (1, 1, 2048, 161)),
    "two matrices": ((2, 64, 1024), (2, 1024, 128)),
    "spread rows": ((3, 1, 40, 512), (1, 3, 512, 64)),
    "few columns": ((1, 128, 8192), (1, 8192, 8)),
    "heads": ((2, 6, 33, 1024), (2, 6, 1024, 33)),
    "five large matrices": ((5, 1100, 128), (5, 128, 1100)),
    "vector and matrix": ((8192,), (8192, 256)),
    "matrices and vector": ((3, 500, 4096), (4096,)),
    "two vectors": ((4096,), (4096,)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_threads_change_no_bit_of_a_product_of_float32(name):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=generator) for shape in PRODUCTS[name])
    exact = a.double() @ b.double()
    for transposed in (False, True):
        right = b.mT.contiguous().mT if transposed and b.dim() > 1 else b
        results = with_threads(lambda right=right: threads.product(a, right))
        assert all(same_bits(result, results[0]) for result in results)
        torch.testing.assert_close(results[0].double(), exact, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("op", "shape", "attributes"),
    [
        ("sum", (300, 1, 333), {"dim_arg": [0, 2]}),
        ("mean", (300, 1, 333), {"dim_arg": [0, 2]}),
        ("prod", (1, 1 << 16), {"dim_arg": 1}),
        ("softmax", (1 << 10, 64), {"dimension": 0}),
    ],
)
def test_threads_change_no_bit_of_a_reduction(op, shape, attributes):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    x = x * 1e-3 + 1 if op == "prod" else x
    keep = {} if op == "softmax" else {"keep_dim": True}
    result = shape if op == "softmax" else (1,) * len(shape)
    results = with_threads(lambda: computed(f"ttnn.{op}", "f32", {"input": x}, shape=result, **attributes, **keep))
    assert all(same_bits(each, results[0]) for each in results)
    dims = attributes.get("dim_arg", 0)
    exact = torch.softmax(x.double(), 0) if op == "softmax" else getattr(torch, op)(x.double(), dims, keepdim=True)
    torch.testing.assert_close(results[0].double(), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("heads", [1, 2])
def test_threads_change_no_bit_of_attention_of_one_row(heads):
    generator = torch.Generator().manual_seed(0)
    shapes = {"query": (1, heads, 1, 128), "key": (1, 1, 8192, 128), "value": (1, 1, 8192, 128)}
    operands = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    operands["attention_mask"] = torch.randn(1, 1, 1, 8192, generator=generator)
    results = with_threads(lambda: computed("ttnn.scaled_dot_product_attention", "f32", operands, is_causal=False))
    assert all(same_bits(each, results[0]) for each in results)
    query, key, value, mask = operands.values()
    whole = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
    torch.testing.assert_close(results[0], whole)


@pytest.mark.skipif(not onednn.available(), reason="this CPU's oneDNN does not multiply bfloat16")
def test_the_faster_convolution_is_the_kernels_but_for_the_order_of_its_sum():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 1, 2 * 9 * 7, 8, generator=generator).bfloat16()
    weight, bias = (torch.randn(shape, generator=generator).bfloat16() for shape in ((6, 8, 3, 3), (1, 1, 1, 6)))
    operands = {"input": x, "weight": weight, "bias": bias}
    fast, kernel = (
        computed("ttnn.conv2d", "bf16", operands, fast=way, shape=(1, 1, 126, 6), **IMAGE) for way in (True, False)
    )
    torch.testing.assert_close(fast, kernel, rtol=2.0**-7, atol=72 * 2.0**-21)


PROGRAM = """
import hashlib, torch, tt_torch
torch.manual_seed(0)
x, linear, norm = torch.randn(24, 40), torch.nn.Linear(40, 40), torch.nn.LayerNorm(40)
functions = {
    "gelu": torch.nn.functional.gelu, "sin": torch.sin, "matmul": lambda a: a @ a.T, "sum": lambda a: a.sum(-1),
    "block": lambda a: torch.softmax(norm(torch.relu(linear(a))) * 2 + a, -1) * 3 - a,
}
for dtype in (torch.float32, torch.bfloat16):
    linear, norm = linear.to(dtype), norm.to(dtype)
    for name, function in functions.items():
        compiled = torch.compile(function, backend="tt", options={"numerics": NUMERICS})
        with torch.no_grad():
            results = [compiled(x.to(dtype)) for _ in range(40)]
        assert all(torch.equal(result, results[0]) for result in results), name
        print(dtype, name, hashlib.md5(results[0].float().contiguous().numpy().tobytes()).hexdigest())
"""


@pytest.mark.nightly
@pytest.mark.parametrize("numerics", ["silicon", "exact"])
def test_modes_compilers_and_runs_change_no_bit(tmp_path, numerics):
    """40 runs give the same bits with fused kernels at once, later or never, and without a C++ compiler."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.replace("NUMERICS", repr(numerics)))
    environments = [{"TTXLA_EMULATOR_CHAINS": mode} for mode in ("auto", "now", "off")]
    environments += [{"TTXLA_EMULATOR_CHAINS": "now", "CXX": "/no/compiler"}]
    outputs = [
        subprocess.run(
            [sys.executable, str(script)], env={**os.environ, **more}, capture_output=True, text=True, check=True
        ).stdout
        for more in environments
    ]
    assert len(outputs[0].splitlines()) == 10
    assert len({hashlib.md5(output.encode()).hexdigest() for output in outputs}) == 1


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize(
    ("channels", "outputs", "size", "taps", "stride", "groups"),
    [(3, 64, 224, 7, 2, 1), (64, 64, 56, 3, 1, 1), (64, 128, 56, 1, 2, 1), (64, 64, 112, 3, 1, 64), (8, 6, 9, 3, 1, 1)],
)
def test_a_convolution_has_the_same_bits_before_and_after_its_weights_are_prepared(
    dtype, channels, outputs, size, taps, stride, groups
):
    padding, sizes = taps // 2, (size + 2 * (taps // 2) - taps) // stride + 1
    attributes = {"in_channels": channels, "out_channels": outputs, "batch_size": 1, "groups": groups}
    attributes |= {"input_height": size, "input_width": size, "kernel_size": [taps, taps], "stride": [stride, stride]}
    attributes |= {"padding": [padding, padding], "dilation": [1, 1]}
    container, generator = CONTAINERS[DataType(dtype)], torch.Generator().manual_seed(0)
    image = torch.randn(1, channels, size * size, generator=generator).to(container)  # one channel after another
    input = image.transpose(1, 2)[None]
    weight = torch.randn(outputs, channels // groups, taps, taps, generator=generator).to(container)
    specs = {"input": spec(input.shape, dtype), "weight": spec(weight.shape, dtype)}
    way = bind(Context("ttnn.conv2d", "silicon", specs, (spec((1, 1, sizes**2, outputs), dtype),)), attributes)
    assert isinstance(way, Weighted)
    assert same_bits(way.call(input, weight), way.with_prepared(input, way.prepare(weight)))
