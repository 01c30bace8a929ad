"""Ops whose bits depend on a library's order of additions are fused in the form that has these bits."""

from __future__ import annotations

import math
from random import Random

import pytest
import torch

from tests.device.test_fused_kernels import needs_compiler, run, same_bits, samples
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.fused import forms

known_cpu = pytest.mark.skipif(
    not torch.__version__.startswith("2.13.")
    or torch.backends.cpu.get_cpu_capability() != "AVX512"
    or not onednn.available(),
    reason="the forms are those of torch 2.13 on a CPU with AVX-512 that multiplies bfloat16",
)


def softmax(f, shape, dtype):
    x = f.argument(shape, dtype)
    return f.op("ttnn.softmax", shape, dtype, {"dimension": len(shape) - 1}, input=x)


def layer_norm(f, shape, dtype, weight=True, bias=True):
    parameters = {
        name: f.argument(shape[-1:], dtype) for name, exists in {"weight": weight, "bias": bias}.items() if exists
    }
    return f.op("ttnn.layer_norm", shape, dtype, {"epsilon": 1e-5}, input=f.argument(shape, dtype), **parameters)


def reduced(f, op, shape, dims, dtype):
    result = tuple(size for dim, size in enumerate(shape) if dim not in dims)
    return f.op(op, result, dtype, {"dim_arg": [*dims], "keep_dim": False}, input=f.argument(shape, dtype))


def convolution(
    f, image, outputs, kernel, dtype, stride=(1, 1), padding=(0, 0), dilation=(1, 1), relu=False, bias=True
):
    batch, channels, height, width = image
    around = padding if len(padding) == 4 else (padding[0], padding[0], padding[1], padding[1])
    out_height, out_width = (
        (size + sum(pads) - spread * (taps - 1) - 1) // step + 1
        for size, pads, spread, taps, step in zip(
            (height, width), (around[:2], around[2:]), dilation, kernel, stride, strict=True
        )
    )
    window = {
        "kernel_size": [*kernel],
        "stride": [*stride],
        "padding": [*padding],
        "dilation": [*dilation],
        "groups": 1,
    }
    sizes = {"batch_size": batch, "input_height": height, "input_width": width}
    sizes |= {"in_channels": channels, "out_channels": outputs}
    more = {"conv2d_config": {"activation": "relu"}} if relu else {}
    operands = {
        "input": f.argument((1, 1, batch * height * width, channels), dtype),
        "weight": f.argument((outputs, channels, *kernel), dtype),
    }
    operands |= {"bias": f.argument((1, 1, 1, outputs), dtype)} if bias else {}
    shape = (1, 1, batch * out_height * out_width, outputs)
    return f.op("ttnn.conv2d", shape, dtype, sizes | window | more, **operands)


def product(f, batch, rows, inner, columns, dtype):
    a, b = f.argument((batch, rows, inner), dtype), f.argument((batch, inner, columns), dtype)
    return f.op("ttnn.matmul", (batch, rows, columns), dtype, a=a, b=b)


OPS = {
    "softmax": lambda f, dtype: softmax(f, (2, 3, 8), dtype),
    "softmax of a whole vector": lambda f, dtype: softmax(f, (5, 16), dtype),
    "softmax of vectors and more": lambda f, dtype: softmax(f, (5, 75), dtype),
    "layer_norm": lambda f, dtype: layer_norm(f, (2, 8, 32), dtype),
    "layer_norm of few": lambda f, dtype: layer_norm(f, (4, 5), dtype),
    "layer_norm without bias": lambda f, dtype: layer_norm(f, (3, 300), dtype, bias=False),
    "layer_norm without weight": lambda f, dtype: layer_norm(f, (3, 49), dtype, weight=False),
    "layer_norm without both": lambda f, dtype: layer_norm(f, (2, 600), dtype, weight=False, bias=False),
    "mean of an image": lambda f, dtype: reduced(f, "ttnn.mean", (2, 10, 10, 8), (1, 2), dtype),
    "mean of rows": lambda f, dtype: reduced(f, "ttnn.mean", (6, 70), (1,), dtype),
    "sum of rows": lambda f, dtype: reduced(f, "ttnn.sum", (6, 300), (1,), dtype),
    "sum of columns": lambda f, dtype: reduced(f, "ttnn.sum", (3, 40, 70), (1,), dtype),
    "sum of all": lambda f, dtype: reduced(f, "ttnn.sum", (7, 3, 5), (0, 1, 2), dtype),
    "convolution of one channel": lambda f, dtype: convolution(f, (2, 1, 12, 12), 8, (3, 3), dtype, relu=True),
    "convolution of four channels": lambda f, dtype: convolution(f, (2, 4, 8, 8), 16, (3, 3), dtype),
    "product of batches": lambda f, dtype: product(f, 4, 8, 16, 8, dtype),
    "product of batches, few terms": lambda f, dtype: product(f, 4, 8, 8, 16, dtype),
    "gelu": lambda f, dtype: f.op("ttnn.gelu", (4, 33), dtype, input=f.argument((4, 33), dtype)),
    "silu": lambda f, dtype: f.op("ttnn.silu", (4, 33), dtype, input=f.argument((4, 33), dtype)),
    "sigmoid": lambda f, dtype: f.op("ttnn.sigmoid", (4, 33), dtype, input=f.argument((4, 33), dtype)),
}


def compared(load, make):
    """Compares a program's results with those without fused kernels; returns the ops that are calls of their own."""
    compiled, plain = load(make), load(make, "off")
    for seed in range(3):
        run(compiled, samples(compiled, seed))
    for seed, special in ((3, False), (4, True), (5, True)):
        inputs = samples(plain, seed, special)
        same_bits(run(compiled, inputs), run(plain, inputs))
    (plan,) = compiled.fused.plans.values()
    fused = {position for fusion in plan.fusions for position in range(fusion.start, fusion.end)}
    return [step.instruction for position, step in enumerate(plan.steps) if position not in fused]


@known_cpu
@needs_compiler
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_ops_are_fused_with_the_bits_of_their_calls(load, dtype):
    """All at once, so that they are compiled once. No form is known for convolutions by instructions for bfloat16."""
    by_instruction = dtype == "bf16" and torch.cpu._is_avx512_bf16_supported()
    ops = [make for name, make in OPS.items() if not (by_instruction and name.startswith("convolution"))]
    assert compared(load, lambda f: [make(f, dtype) for make in ops]) == []


def drawn(seed, dtype):
    """A program of ops whose sizes are drawn."""

    def make(f):
        random = Random(seed)

        def size(most):
            return random.choice([1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, random.randint(1, most)])

        def image():
            return random.randint(1, 2), random.choice([1, 2, 3, 4, 8, 16]), random.randint(5, 9), random.randint(5, 9)

        results = []
        for _ in range(3):
            results.append(softmax(f, (random.randint(1, 3), size(200)), dtype))
            some = random.random() < 0.5, random.random() < 0.5
            results.append(layer_norm(f, (random.randint(1, 3), size(600)), dtype, *some))
            shape = (random.randint(1, 3), size(40), size(40), random.choice([1, 3, 8, 40]))
            start = random.randint(0, 3)
            dims = range(start, random.randint(start + 1, 4))
            if math.prod(shape) < 1 << 14:
                results.append(reduced(f, random.choice(["ttnn.sum", "ttnn.mean"]), shape, [*dims], dtype))
            window = {"stride": random.choice([(1, 1), (2, 1)]), "dilation": random.choice([(1, 1), (1, 2)])}
            window |= {"padding": random.choice([(0, 0), (1, 1), (2, 0), (0, 1, 1, 0)]), "relu": random.random() < 0.5}
            kernel = random.choice([(1, 1), (3, 3), (2, 3), (3, 2)])
            results.append(convolution(f, image(), random.choice([3, 8, 20]), kernel, dtype, **window))
            results.append(product(f, random.randint(1, 3), *(random.randint(2, 20) for _ in range(3)), dtype))
        return results

    return make


@needs_compiler
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_sizes_have_the_bits_of_the_calls(load, seed, dtype):
    compared(load, drawn(seed, dtype))


@needs_compiler
@pytest.mark.parametrize(
    ("channels", "kernel", "size", "window"),
    [
        (1, (3, 3), (5, 5), {}),
        (1, (2, 3), (7, 5), {"stride": (2, 2), "dilation": (1, 2)}),
        (3, (1, 1), (5, 5), {}),
        (3, (3, 3), (5, 5), {}),
        (5, (1, 1), (5, 6), {"stride": (1, 2)}),
    ],
)
def test_infinities_beside_sums_of_an_odd_number_of_channels(load, channels, kernel, size, window):
    """An instruction for pairs multiplies an element without a partner with what oneDNN reads beside it."""

    def make(f):
        return [convolution(f, (1, channels, *size), 3, kernel, "bf16", **window)]

    compiled, plain = load(make), load(make, "off")
    for seed in range(3):
        run(compiled, samples(compiled, seed))
    terms = channels * math.prod(kernel)
    for seed in range(20):
        image, *parameters = samples(plain, seed)
        chances = torch.rand(image.shape, generator=torch.Generator().manual_seed(seed))
        inputs = [image.masked_fill(chances < 1 / (2 * terms), torch.inf), *parameters]
        same_bits(run(compiled, inputs), run(plain, inputs))


@needs_compiler
def test_an_op_that_has_no_form_stays_a_call(load, monkeypatch):
    """A library that adds in another order than all forms, as another version of torch may."""
    monkeypatch.setattr("tt_xla.runtime.emulator.fused.plan.form_of", lambda *_: None)
    monkeypatch.setattr(forms, "agreement", dict.fromkeys(forms.PROBED_FUNCTIONS, False))

    def make(f):
        return [softmax(f, (2, 8), "bf16"), reduced(f, "ttnn.sum", (4, 8), (1,), "bf16"), OPS["gelu"](f, "bf16")]

    assert [instruction.op for instruction in compared(load, make)] == ["ttnn.softmax", "ttnn.sum", "ttnn.gelu"]
