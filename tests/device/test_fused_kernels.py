"""Fused kernels have the bits of the calls they replace, and no fault of theirs ends a program."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest
import torch

from tt_xla.errors import ExecutionError, OptionError
from tt_xla.ir.program import Instruction
from tt_xla.runtime.emulator import report
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.emulator.fused import build, engine, function, plan

needs_compiler = pytest.mark.skipif(build.compiler() is None, reason="no C++ compiler")

WIDE, ROW = (2, 3, 40, 64), (64,)
RELU = {"activations": [{"op_type": "relu", "params": []}]}
SPECIAL = [
    float("nan"),
    -float("nan"),
    float("inf"),
    -float("inf"),
    -0.0,
    0.0,
    1e-39,
    -1e-39,
    3.0e38,
    -3.0e38,
    1.00390625,
]


def residual(f):
    x, y = f.argument((1, 40, 96), "bf16"), f.argument((40, 96), "bf16")
    return [f.op("ttnn.add", (1, 40, 96), "bf16", RELU, lhs=x, rhs=y)]


def add_and_norm(f):
    x, y = f.argument((1, 40, 96), "bf16"), f.argument((40, 96), "bf16")
    weight, bias = f.argument((96,), "bf16"), f.argument((96,), "bf16")
    total = f.op("ttnn.add", (1, 40, 96), "bf16", lhs=x, rhs=y)
    norm = f.op("ttnn.rms_norm", (1, 40, 96), "bf16", {"epsilon": 1e-5}, input=total, weight=weight, bias=bias)
    return [total, f.op("ttnn.multiply", (1, 40, 96), "bf16", lhs=norm, rhs=total)]


def norm_of_float32(f):
    x, weight = f.argument((40, 96), "f32"), f.argument((1, 96), "f32")
    return [f.op("ttnn.rms_norm", (40, 96), "f32", {"epsilon": 1e-6}, input=x, weight=weight)]


def rotary(f):
    x, cos, sin = f.argument((2, 40, 3, 64), "bf16"), *(f.argument((1, 1, 40, 64), "bf16") for _ in range(2))
    heads = f.op("ttnn.permute", WIDE, "bf16", {"permutation": [0, 2, 1, 3]}, input=x)
    turned = f.op("ttnn.rotary_embedding", WIDE, "bf16", input=heads, cos_cache=cos, sin_cache=sin)
    return [f.op("ttnn.add", WIDE, "bf16", lhs=turned, rhs=heads)]


def rotary_of_sums(f):
    x, cos, sin = f.argument((1, 3, 1, 64), "bf16"), *(f.argument((1, 1, 1, 64), "bf16") for _ in range(2))
    doubled = f.op("ttnn.add", (1, 3, 1, 64), "bf16", lhs=x, rhs=x)
    padded = f.op("ttnn.rotary_embedding", (1, 3, 32, 64), "bf16", input=doubled, cos_cache=cos, sin_cache=sin)
    f.deallocate(doubled)
    cut = {"begins": [0] * 4, "ends": [1, 3, 1, 64], "step": [1] * 4}
    rows = f.op("ttnn.slice_static", (1, 3, 1, 64), "bf16", cut, input=padded)
    f.deallocate(padded)
    return [rows]


def choice(f):
    condition, x, other = f.argument((1, 1, 40, 1), "bf16"), f.argument(WIDE, "bf16"), f.argument((1,), "bf16")
    return [f.op("ttnn.where", WIDE, "bf16", first=condition, second=x, third=other)]


def arithmetic(dtype):
    def make(f):
        x, y, column = f.argument((40, 96), dtype), f.argument((40, 96), dtype), f.argument((40, 1), dtype)
        quotient = f.op("ttnn.divide", (40, 96), dtype, lhs=x, rhs=y)
        less = f.op("ttnn.subtract", (40, 96), dtype, lhs=quotient, rhs=column)
        root = f.op("ttnn.sqrt", (40, 96), dtype, input=f.op("ttnn.abs", (40, 96), dtype, input=less))
        inverse = f.op("ttnn.reciprocal", (40, 96), dtype, input=f.op("ttnn.neg", (40, 96), dtype, input=root))
        relu = f.op("ttnn.relu", (40, 96), dtype, input=inverse)
        other = {"f32": "bf16", "bf16": "f32"}[dtype]
        return [f.op("ttnn.typecast", (40, 96), other, input=less), relu]

    return make


def momentum(f):
    """Returns additions with functions of operands and result, without rounding in between."""
    x, y = f.argument((40, 96), "bf16"), f.argument((40, 96), "bf16")

    def function(name, *params):
        return {"op_type": name, "params": [*params]}

    step = {
        "input_tensor_a_activations": [function("mul_unary_sfpu", 0.9), function("sub_unary_sfpu", 0.1)],
        "input_tensor_b_activations": [function("rsub", 0.3), function("add_unary_sfpu", 1e-3)],
        "activations": [function("mul_unary_sfpu", -0.7), function("neg")],
    }
    total = f.op("ttnn.add", (40, 96), "bf16", step, lhs=x, rhs=y)
    scaled = {"input_tensor_b_activations": [function("mul_unary_sfpu", 0.01)]}
    return [total, f.op("ttnn.subtract", (40, 96), "bf16", scaled, lhs=y, rhs=total)]


def across(f):
    """Combines a channels-first with a channels-last tensor: the rows of the first are strided in memory."""
    x, y = f.argument((4, 16, 12, 12), "bf16"), f.argument((4, 12, 12, 16), "bf16")
    last = f.op("ttnn.permute", (4, 12, 12, 16), "bf16", {"permutation": [0, 2, 3, 1]}, input=x)
    total = f.op("ttnn.add", (4, 12, 12, 16), "bf16", RELU, lhs=last, rhs=y)
    doubled = f.op("ttnn.add", (4, 12, 12, 16), "bf16", RELU, lhs=last, rhs=last)  # has the strides of its operand
    return [f.op("ttnn.multiply", (4, 12, 12, 16), "bf16", lhs=total, rhs=last), doubled]


COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def comparisons(dtype):
    def make(f):
        x, y = f.argument((40, 96), dtype), f.argument((40, 96), dtype)
        return [f.op(f"ttnn.{name}", (40, 96), dtype, lhs=x, rhs=y) for name in COMPARISONS]

    return make


def position(f):
    """Computes the position of a write to a cache: from the end where it is negative, -1 where it is outside."""
    count, step, length = f.argument((), "si32"), f.argument((1,), "si32"), f.argument((1,), "si32")
    at = f.op("ttnn.add", (1,), "si32", lhs=f.op("ttnn.reshape", (1,), "si32", {"shape": [1]}, input=count), rhs=step)
    wrapped = f.op("ttnn.add", (1,), "si32", lhs=at, rhs=length)
    negative = f.op("ttnn.lt", (1,), "si32", lhs=at, rhs=step)
    at = f.op("ttnn.where", (1,), "si32", first=negative, second=wrapped, third=at)
    inside = f.op("ttnn.clamp_scalar", (1,), "si32", {"min": 0, "max": 255}, input=at)
    product = f.op("ttnn.multiply", (1,), "si32", lhs=f.op("ttnn.subtract", (1,), "si32", lhs=at, rhs=length), rhs=at)
    return [f.op("ttnn.eq", (1,), "si32", lhs=inside, rhs=at), inside, product]


def reshaped_before(f):
    """Returns an argument in another shape, which is left to its kernel."""
    x, y = f.argument((1, 40, 96), "bf16"), f.argument((40, 96), "bf16")
    plain = f.op("ttnn.reshape", (40, 96), "bf16", {"shape": [40, 96]}, input=x)
    total = f.op("ttnn.add", (40, 96), "bf16", RELU, lhs=plain, rhs=y)
    return [plain, f.op("ttnn.reshape", (1, 1, 40, 96), "bf16", {"shape": [1, 1, 40, 96]}, input=total)]


def attributes(**values):
    return values


def layer(f):
    """Returns a transformer layer on small tensors."""
    x, scale, shift = f.argument((2, 8, 32), "bf16"), f.argument((32,), "bf16"), f.argument((1, 32), "bf16")
    weight, bias, out = f.argument((96, 32), "bf16"), f.argument((96,), "bf16"), f.argument((16, 2, 32), "bf16")
    norm = f.op("ttnn.layer_norm", (2, 8, 32), "bf16", {"epsilon": 1e-5}, input=x, weight=scale, bias=shift)
    joined = f.op("ttnn.linear", (2, 8, 96), "bf16", {"transpose_b": True}, a=norm, b=weight, bias=bias)
    parts = f.op("ttnn.reshape", (2, 8, 3, 2, 16), "bf16", {"shape": [2, 8, 3, 2, 16]}, input=joined)
    heads = f.op("ttnn.permute", (3, 2, 2, 8, 16), "bf16", {"permutation": [2, 0, 3, 1, 4]}, input=parts)
    q, k, v = (
        f.op(
            "ttnn.reshape",
            (4, 8, 16),
            "bf16",
            {"shape": [4, 8, 16]},
            input=f.op(
                "ttnn.slice_static",
                (1, 2, 2, 8, 16),
                "bf16",
                attributes(begins=[at, 0, 0, 0, 0], ends=[at + 1, 2, 2, 8, 16], step=[1] * 5),
                input=heads,
            ),
        )
        for at in range(3)
    )
    scores = f.op("ttnn.matmul", (4, 8, 8), "bf16", {"transpose_b": True}, a=q, b=k)
    shares = f.op("ttnn.softmax", (4, 8, 8), "bf16", {"dimension": 2}, input=scores)
    mixed = f.op("ttnn.matmul", (4, 8, 16), "bf16", a=shares, b=v)
    split = f.op("ttnn.reshape", (2, 2, 8, 16), "bf16", {"shape": [2, 2, 8, 16]}, input=mixed)
    merged = f.op("ttnn.concatenate_heads", (2, 8, 32), "bf16", input=split)
    third = f.op("ttnn.slice_static", (16, 1, 32), "bf16", SECOND_OF_TWO, input=out)
    more = f.op("ttnn.reshape", (2, 8, 32), "bf16", {"shape": [2, 8, 32]}, input=third)
    return [f.op("ttnn.add", (2, 8, 32), "bf16", lhs=merged, rhs=more), heads]


SECOND_OF_TWO = attributes(begins=[0, 1, 0], ends=[16, 2, 32], step=[1, 1, 1])


def products(dtype):
    """Returns products of matrices and of batches, with activations, in each fidelity."""

    def make(f):
        a, b, shared = f.argument((3, 1, 5, 7), dtype), f.argument((2, 7, 19), dtype), f.argument((7, 9), dtype)
        column, number, row = f.argument((5, 1), dtype), f.argument((), dtype), f.argument((1, 9), dtype)
        activated = {"activation": "gelu", "compute_config": {"math_fidelity": "hifi2"}}
        other = {"f32": "bf16", "bf16": "f32"}[dtype]
        lofi = {"transpose_a": True, "activation": "relu", "compute_config": {"math_fidelity": "lofi"}}
        turned = f.op("ttnn.transpose", (3, 1, 7, 5), dtype, {"dim0": -1, "dim1": -2}, input=a)
        return [
            f.op("ttnn.linear", (3, 2, 5, 19), dtype, activated, a=a, b=b, bias=column),
            f.op("ttnn.linear", (3, 2, 5, 19), other, lofi, a=turned, b=b, bias=number),
            f.op("ttnn.linear", (3, 1, 5, 9), dtype, {"activation": "silu"}, a=a, b=shared, bias=row),
            f.op("ttnn.matmul", (1, 80), dtype, a=f.argument((1, 6), dtype), b=f.argument((6, 80), dtype)),
        ]

    return make


def sums(dtype):
    def make(f):
        x, y = f.argument((3, 4, 5, 6), dtype), f.argument((3, 4, 2, 6), dtype)
        joined = f.op("ttnn.concat", (3, 4, 7, 6), dtype, {"dim": -2}, inputs=(x, y))
        mean = f.op("ttnn.mean", (3, 1, 1, 6), dtype, {"dim_arg": [1, 2], "keep_dim": True}, input=x)
        return [
            f.op("ttnn.sum", (3, 7), dtype, {"dim_arg": [-1, 1], "keep_dim": False}, input=joined),
            f.op("ttnn.multiply", (3, 4, 5, 6), dtype, lhs=mean, rhs=x),
            f.op("ttnn.mean", (), dtype, {"keep_dim": False}, input=x),
            f.op("ttnn.softmax", (3, 4, 2, 6), dtype, {"dimension": -1}, input=y),
        ]

    return make


def functions(dtype):
    def make(f):
        x = f.argument((20, 30), dtype)
        names = [name for name, function in FUNCTIONS.items() if function.is_op and function.cpp]
        results = [f.op(f"ttnn.{name}", (20, 30), dtype, input=x) for name in names]
        return results + [f.op("ttnn.pow_scalar", (20, 30), dtype, {"rhs": power}, lhs=x) for power in (2.0, 3.0)]

    return make


def drawn(seed):
    """Returns a program on small tensors with random ops, shapes and types."""

    def make(f):
        random = Random(seed)
        dtype = random.choice(["bf16", "f32"])
        values = [(f.argument(shape, dtype), shape) for shape in ((2, 3, 4, 6), (5, 8), (1, 7, 3))]

        def unary(value, shape):
            name = random.choice(["gelu", "exp", "sigmoid", "relu", "neg", "abs"])
            return f.op(f"ttnn.{name}", shape, dtype, input=value), shape

        def binary(value, shape):
            other = [each for each, like in values if like == shape]
            name = random.choice(["add", "subtract", "multiply", "divide"])
            return f.op(f"ttnn.{name}", shape, dtype, lhs=value, rhs=random.choice(other)), shape

        def permuted(value, shape):
            order = random.sample(range(len(shape)), len(shape))
            shape = tuple(shape[dim] for dim in order)
            return f.op("ttnn.permute", shape, dtype, {"permutation": order}, input=value), shape

        def reshaped(value, shape):
            at = random.randint(1, len(shape) - 1)
            shape = (*shape[:at], math.prod(shape[at:])) if random.random() < 0.5 or len(shape) > 4 else (1, *shape)
            return f.op("ttnn.reshape", shape, dtype, {"shape": [*shape]}, input=value), shape

        def sliced(value, shape):
            begins = [random.randrange(size) for size in shape]
            ends = [random.randint(begin + 1, size) for begin, size in zip(begins, shape, strict=True)]
            steps = [random.choice([1, 2]) for _ in shape]
            cut = attributes(begins=begins, ends=ends, step=steps)
            shape = tuple(len(range(*span)) for span in zip(begins, ends, steps, strict=True))
            return f.op("ttnn.slice_static", shape, dtype, cut, input=value), shape

        def multiplied(value, shape):
            columns, transpose = random.choice([1, 8, 9]), random.random() < 0.5
            weight = f.argument((columns, shape[-1]) if transpose else (shape[-1], columns), dtype)
            shape = (*shape[:-1], columns)
            more = {"transpose_b": transpose, "activation": random.choice([None, "relu", "tanh"])}
            return f.op("ttnn.linear", shape, dtype, more, a=value, b=weight, bias=f.argument((columns,), dtype)), shape

        def squared(value, shape):
            shape_of_it = (*shape[:-1], shape[-2])
            return f.op("ttnn.matmul", shape_of_it, dtype, {"transpose_b": True}, a=value, b=value), shape_of_it

        def normed(value, shape):
            weight = f.argument((shape[-1],), dtype)
            return f.op("ttnn.layer_norm", shape, dtype, {"epsilon": 1e-5}, input=value, weight=weight), shape

        def shared(value, shape):
            return f.op("ttnn.softmax", shape, dtype, {"dimension": len(shape) - 1}, input=value), shape

        def reduced(value, shape):
            dims = random.sample(range(len(shape)), random.randint(1, len(shape)))
            shape = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
            name = random.choice(["sum", "mean"])
            return f.op(f"ttnn.{name}", shape, dtype, {"dim_arg": dims, "keep_dim": True}, input=value), shape

        def joined(value, shape):
            other = random.choice([each for each, like in values if like == shape])
            dim = random.randrange(len(shape))
            shape = tuple(2 * size if at == dim else size for at, size in enumerate(shape))
            return f.op("ttnn.concat", shape, dtype, {"dim": dim}, inputs=(value, other)), shape

        ops = [unary, binary, permuted, reshaped, sliced, multiplied, squared, normed, shared, reduced, joined]
        for _ in range(24):
            values.append(random.choice(ops)(*random.choice(values)))
            if math.prod(values[-1][1]) > 4096:
                values.pop()
        return [value for value, _ in values[-4:]]

    return make


def maxima(dtype):
    """Returns positions of maxima, and maxima and minima of rows, of numbers and of pairs."""

    def make(f):
        x, y = f.argument((3, 4, 37), dtype), f.argument((3, 4, 37), dtype)
        row = {"dim_arg": [2], "keep_dim": True}
        larger = f.op("ttnn.maximum", (3, 4, 37), dtype, lhs=x, rhs=y)
        return [
            f.op("ttnn.argmax", (3, 4), "si32", {"dim_arg": [2], "keep_dim": False}, input=x),
            f.op("ttnn.argmax", (3, 1, 37), "si32", {"dim_arg": [1], "keep_dim": True}, input=larger),
            f.op("ttnn.argmax", (), "si32", {"keep_dim": False}, input=x),
            f.op("ttnn.max", (3, 4, 1), dtype, row, input=larger),
            f.op("ttnn.min", (3, 4, 1), dtype, row, input=f.op("ttnn.minimum", (3, 4, 37), dtype, lhs=x, rhs=y)),
            f.op("ttnn.max", (3, 4), dtype, {"dim_arg": [2], "keep_dim": False}, input=x),
            f.op("ttnn.min", (37,), dtype, {"dim_arg": [1, 0], "keep_dim": False}, input=larger),
            f.op("ttnn.max", (1, 1, 1), dtype, {"keep_dim": True}, input=y),
            f.op("ttnn.clamp_scalar", (3, 4, 37), dtype, {"min": -0.7, "max": 1.3}, input=x),
        ]

    return make


def moves(f):
    """Returns elements that were repeated, filled up, looked up and converted."""
    x, table, index = f.argument((2, 3, 20), "bf16"), f.argument((6, 40), "bf16"), f.argument((2, 5), "si32")
    within = f.op("ttnn.clamp_scalar", (2, 5), "si32", {"min": 0, "max": 5}, input=index)
    repeated = f.op("ttnn.repeat", (4, 3, 20), "bf16", {"repeat_dims": [2, 1, 1]}, input=x)
    rows = f.op("ttnn.embedding", (2, 5, 40), "bf16", input=within, weight=table)
    wide = f.op("ttnn.repeat", (2, 5, 3), "si32", {"repeat_dims": [1, 1, 3]}, input=reshape(f, within, (2, 5, 1)))
    picked = f.op("ttnn.gather", (2, 5, 3), "bf16", {"dim": 1}, input=rows_of_three(f, rows), index=wide)
    unsigned = f.op("ttnn.typecast", (2, 5), "u32", input=index)
    return [
        f.op("ttnn.pad", (2, 5, 21), "bf16", {"padding": [0, 0, 1, 1, 0, 1], "value": 1.5}, input=x),
        f.op("ttnn.repeat_interleave", (2, 6, 20), "bf16", {"repeats": 2, "dim": 1}, input=x),
        f.op("ttnn.add", (4, 3, 20), "bf16", RELU, lhs=repeated, rhs=repeated),
        picked,
        f.op("ttnn.typecast", (2, 5), "f32", input=unsigned),
        f.op("ttnn.typecast", (2, 3, 20), "si32", input=x),
        f.op("ttnn.typecast", (2, 5), "bf16", input=index),
        f.op("ttnn.lt", (2, 5), "f32", lhs=index, rhs=within),
    ]


def large_moves(f):
    """Returns joined, filled up and looked up elements that threads share."""
    x, y = f.argument((2, 40, 30, 50), "f32"), f.argument((2, 10, 40, 30), "f32")
    matrix, index = f.argument((300, 200), "f32"), f.argument((300, 150), "si32")
    turned = f.op("ttnn.permute", (2, 50, 40, 30), "f32", {"permutation": [0, 3, 1, 2]}, input=x)
    across = f.op("ttnn.permute", (200, 300), "f32", {"permutation": [1, 0]}, input=matrix)
    within = f.op("ttnn.clamp_scalar", (300, 150), "si32", {"min": 0, "max": 199}, input=index)
    joined = f.op("ttnn.concat", (2, 60, 40, 30), "f32", {"dim": 1}, inputs=(turned, y))
    return [
        f.op("ttnn.abs", (2, 60, 40, 30), "f32", input=joined),
        f.op("ttnn.concat", (400, 300), "f32", {"dim": 0}, inputs=(across, across)),
        f.op("ttnn.pad", (2, 41, 30, 52), "f32", {"padding": [0, 0, 1, 0, 0, 0, 1, 1], "value": 2.0}, input=x),
        f.op("ttnn.gather", (300, 150), "f32", {"dim": 1}, input=matrix, index=within),
    ]


def reshape(f, value, shape):
    return f.op("ttnn.reshape", shape, "si32", {"shape": [*shape]}, input=value)


def rows_of_three(f, rows):
    """Returns 6 rows of 3 columns of [2, 5, 40]."""
    cut = attributes(begins=[0, 0, 0], ends=[2, 5, 36], step=[1, 1, 2])
    part = f.op("ttnn.slice_static", (2, 5, 18), "bf16", cut, input=rows)
    first = attributes(begins=[0, 0, 0], ends=[2, 1, 18], step=[1, 1, 1])
    row = f.op("ttnn.slice_static", (2, 1, 18), "bf16", first, input=part)
    return f.op("ttnn.reshape", (2, 6, 3), "bf16", {"shape": [2, 6, 3]}, input=row)


def caches(f):
    """Writes rows to a cache, and reads it before and after."""
    cache, x = f.argument((2, 3, 8, 16), "bf16"), f.argument((1, 2, 3, 16), "f32")
    at = f.op("ttnn.clamp_scalar", (2,), "si32", {"min": -1, "max": 7}, input=f.argument((2,), "si32"))
    before = f.op("ttnn.add", (2, 3, 8, 16), "bf16", RELU, lhs=cache, rhs=cache)
    f.body.append(Instruction("ttnn.paged_update_cache", {"cache": cache, "input": x, "update_index": at}, (), {}))
    return [before, f.op("ttnn.multiply", (2, 3, 8, 16), "bf16", RELU, lhs=cache, rhs=cache)]


def transposed_rows(f):
    """Adds to a large tensor whose rows lie across memory, and normalises it along what was its first dimension."""
    x = f.argument((64, 100), "f32")
    turned = f.op("ttnn.permute", (100, 64), "f32", {"permutation": [1, 0]}, input=x)
    doubled = f.op("ttnn.add", (100, 64), "f32", RELU, lhs=turned, rhs=turned)
    return [f.op("ttnn.softmax", (100, 64), "f32", {"dimension": 1}, input=doubled)]


def long_rows(f):
    """Sums and shares out rows that are too long for a thread's buffers, and a row that is not."""
    x, y = f.argument((2, (1 << 17) + 5), "f32"), f.argument((1, 1 << 16), "f32")
    doubled = f.op("ttnn.add", (2, (1 << 17) + 5), "f32", RELU, lhs=x, rhs=x)
    return [
        f.op("ttnn.sum", (2,), "f32", {"dim_arg": [1], "keep_dim": False}, input=doubled),
        f.op("ttnn.softmax", (1, 1 << 16), "f32", {"dimension": 1}, input=y),
    ]


def kept_and_lost_dims(f):
    """Returns reductions of rows whose dimension stays, or not, read beside the rows and as rows."""
    x, y = f.argument((1, 8, 1, 8), "f32"), f.argument((8, 8), "f32")
    square = f.op("ttnn.add", (8, 8), "f32", RELU, lhs=y, rhs=y)
    lost = f.op("ttnn.sum", (8,), "f32", {"dim_arg": [1], "keep_dim": False}, input=square)
    kept = f.op("ttnn.sum", (8, 1), "f32", {"dim_arg": [1], "keep_dim": True}, input=square)
    condition = f.op("ttnn.lt", (8, 8), "f32", lhs=y, rhs=kept)
    return [
        f.op("ttnn.multiply", (8, 8), "f32", lhs=square, rhs=lost),
        f.op("ttnn.where", (8, 8), "f32", first=condition, second=square, third=kept),
        f.op("ttnn.mean", (1, 8, 1), "f32", {"dim_arg": [3], "keep_dim": False}, input=x),
        f.op("ttnn.max", (1, 8, 1), "f32", {"dim_arg": [-1], "keep_dim": False}, input=x),
    ]


def widened(f):
    """Returns numbers of bfloat16 in float32: those of an argument, and those that were computed."""
    x = f.argument((3, 37), "bf16")
    doubled = f.op("ttnn.add", (3, 37), "bf16", RELU, lhs=x, rhs=x)
    return [f.op("ttnn.typecast", (3, 37), "f32", input=each) for each in (x, doubled)]


def filled_up(f):
    """Returns a rotary embedding with the rows that fill up its tile, and integers that are limited."""
    x, cos, sin = f.argument((1, 3, 1, 64), "bf16"), *(f.argument((1, 1, 1, 64), "bf16") for _ in range(2))
    doubled = f.op("ttnn.add", (1, 3, 1, 64), "bf16", RELU, lhs=x, rhs=x)
    i = f.argument((40,), "si32")
    limited = f.op("ttnn.clamp_scalar", (40,), "si32", {"min": -2e9, "max": math.inf}, input=i)
    return [
        f.op("ttnn.rotary_embedding", (1, 3, 32, 64), "bf16", input=doubled, cos_cache=cos, sin_cache=sin),
        f.op("ttnn.add", (40,), "si32", lhs=limited, rhs=i),
    ]


def one_matrix_of_many(f):
    """Multiplies so many rows by one matrix with a dimension before it that a library does."""
    a, b = f.argument((8, 64, 512), "f32"), f.argument((1, 512, 64), "f32")
    doubled = f.op("ttnn.add", (8, 64, 512), "f32", RELU, lhs=a, rhs=a)
    return [f.op("ttnn.matmul", (8, 64, 64), "f32", a=doubled, b=b)]


def view_that_is_written(f):
    cache, x = f.argument((2, 96, 64), "bf16"), f.argument((2, 3, 32, 64), "bf16")
    doubled = f.op("ttnn.add", (2, 3, 32, 64), "bf16", RELU, lhs=x, rhs=x)
    viewed = f.op("ttnn.reshape", (2, 3, 32, 64), "bf16", {"shape": [2, 3, 32, 64]}, input=cache)
    more = f.op("ttnn.multiply", (2, 3, 32, 64), "bf16", RELU, lhs=doubled, rhs=x)
    f.body.append(Instruction("ttnn.fill_cache", {"cache": viewed, "input": x}, (), {"batch_offset": 0}))
    tripled = f.op("ttnn.add", (2, 3, 32, 64), "bf16", RELU, lhs=x, rhs=doubled)
    return [more, tripled]


def rows_that_are_written(f):
    """Writes a view of computed rows to a cache by an op that is not fused."""
    cache, x = f.argument((2, 3, 32, 64), "bf16"), f.argument((2, 96, 64), "bf16")
    doubled = f.op("ttnn.add", (2, 96, 64), "bf16", RELU, lhs=x, rhs=x)
    rows = f.op("ttnn.reshape", (2, 3, 32, 64), "bf16", {"shape": [2, 3, 32, 64]}, input=doubled)
    more = f.op("ttnn.multiply", (2, 96, 64), "bf16", RELU, lhs=doubled, rhs=x)
    f.body.append(Instruction("ttnn.fill_cache", {"cache": cache, "input": rows}, (), {"batch_offset": 0}))
    return [more]


def nan(f):
    """Returns NaN that were computed, changed, chosen and read as bits, and integers that travel as NaN."""
    x, y, i = f.argument((3, 37), "bf16"), f.argument((3, 37), "f32"), f.argument((3, 37), "si32")
    narrow = f.op("ttnn.subtract", (3, 37), "bf16", lhs=f.op("ttnn.divide", (3, 37), "bf16", lhs=x, rhs=x), rhs=x)
    wide = f.op("ttnn.add", (3, 37), "f32", lhs=f.op("ttnn.divide", (3, 37), "f32", lhs=y, rhs=y), rhs=y)
    opposite = f.op("ttnn.neg", (3, 37), "f32", input=wide)
    same = f.op("ttnn.eq", (3, 37), "f32", lhs=y, rhs=y)
    chosen = f.op("ttnn.where", (3, 37), "f32", first=same, second=y, third=opposite)
    integers = f.op("ttnn.bitcast_convert", (3, 37), "f32", input=i)
    travelled = f.op("ttnn.where", (3, 37), "f32", first=same, second=integers, third=wide)
    bits = f.op("ttnn.bitcast_convert", (3, 37), "si32", input=opposite)
    widened = f.op("ttnn.typecast", (3, 37), "f32", input=x)
    seen = [f.op("ttnn.bitcast_convert", (3, 37), "si32", input=each) for each in (travelled, widened)]
    return [narrow, wide, chosen, *seen, bits, x]


def before_a_library(f):
    """Returns large products of what was computed row by row, and one such value itself."""
    x, weight = f.argument((64, 256), "f32"), f.argument((256, 512), "f32")
    values = [f.op(f"ttnn.{name}", (64, 256), "f32", input=x) for name in ("exp", "neg", "abs", "sigmoid")]
    first, second, third, fourth = (f.op("ttnn.add", (64, 256), "f32", lhs=each, rhs=x) for each in values)
    hifi2 = {"compute_config": {"math_fidelity": "hifi2"}}

    def product(a, **attributes):
        return f.op("ttnn.matmul", (64, 512), "f32", attributes, a=a, b=weight)

    exact = product(second, **hifi2)
    return [product(first), exact, product(third), product(third, **hifi2), product(fourth), fourth]


def softplus(f):
    """Returns log(1 + exp(x)) of a sum, and a logarithm that is capped as logits are."""
    x, cap = f.argument((3, 37), "f32"), f.argument((1,), "f32")
    doubled = f.op("ttnn.add", (3, 37), "f32", lhs=x, rhs=x)
    soft = f.op("ttnn.log1p", (3, 37), "f32", input=f.op("ttnn.exp", (3, 37), "f32", input=doubled))
    steps = [{"op_type": "div_unary_sfpu", "params": [30.0]}, {"op_type": "tanh", "params": []}]
    capped = f.op("ttnn.multiply", (3, 37), "f32", {"input_tensor_a_activations": steps}, lhs=soft, rhs=cap)
    return [soft, capped, f.op("ttnn.log", (3, 37), "f32", input=soft)]


def depthwise_convolution(f, x, size, channels, more, weights, result, bias=None):
    """Adds a convolution of two images, with a bias of this type if there is one."""
    height, width = size
    kernel, (top, bottom, left, right) = more["kernel_size"], more["padding"]
    taps = [step * (count - 1) + 1 for step, count in zip(more["dilation"], kernel, strict=True)]
    reach = height + top + bottom - taps[0], width + left + right - taps[1]
    high, wide = (each // step + 1 for each, step in zip(reach, more["stride"], strict=True))
    operands = {"input": x, "weight": f.argument((channels, 1, *kernel), weights)}
    operands |= {"bias": f.argument((1, 1, 1, channels), bias)} if bias else {}
    sizes = {"in_channels": channels, "out_channels": channels, "groups": channels, "batch_size": 2}
    sizes |= {"input_height": height, "input_width": width}
    return f.op("ttnn.conv2d", (1, 1, 2 * high * wide, channels), result, sizes | more, **operands)


def depthwise(dtype):
    """Returns convolutions with a kernel for each channel: along a row, over images, and of an image that lies across
    memory."""

    def make(f):
        x, y = f.argument((1, 1, 10, 70), dtype), f.argument((1, 1, 2 * 9 * 8, 5), dtype)
        row = {"kernel_size": [1, 4], "stride": [1, 1], "padding": [0, 0, 3, 0], "dilation": [1, 1]}
        window = {"kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 1, 2, 2], "dilation": [1, 3]}
        lofi = {"conv2d_config": {"activation": "silu"}, "compute_config": {"math_fidelity": "lofi"}}
        other = {"f32": "bf16", "bf16": "f32"}[dtype]
        doubled = f.op("ttnn.add", (1, 1, 10, 70), dtype, lhs=x, rhs=x)
        columns = f.op("ttnn.permute", (1, 1, 70, 10), dtype, {"permutation": [0, 1, 3, 2]}, input=doubled)
        inside = {"padding": [0, 0, 0, 0]}
        return [
            depthwise_convolution(f, doubled, (1, 5), 70, row, dtype, dtype, bias=dtype),
            depthwise_convolution(f, columns, (7, 5), 10, window | inside, dtype, other),
            depthwise_convolution(f, y, (9, 8), 5, window | lofi, dtype, dtype, bias=dtype),
            depthwise_convolution(f, y, (9, 8), 5, window, other, dtype),
        ]

    return make


def left_to_kernels(f):
    """Returns depthwise convolutions that are no fused kernel's: of a bias in another type than the weights, of several
    products, and of weights that are stored in blocks."""
    x, y = f.argument((1, 1, 10, 70), "f32"), f.argument((1, 1, 10, 70), "f32")
    row = {"kernel_size": [1, 4], "stride": [1, 1], "padding": [0, 0, 3, 0], "dilation": [1, 1]}
    doubled = f.op("ttnn.add", (1, 1, 10, 70), "f32", RELU, lhs=x, rhs=y)
    hifi3, blocks = {"compute_config": {"math_fidelity": "hifi3"}}, {"conv2d_config": {"weights_dtype": "bfp_bf8"}}
    return [
        depthwise_convolution(f, doubled, (1, 5), 70, row, "bf16", "f32", bias="f32"),
        depthwise_convolution(f, doubled, (1, 5), 70, row | hifi3, "f32", "f32"),
        depthwise_convolution(f, doubled, (1, 5), 70, row | blocks, "f32", "f32"),
        f.op("ttnn.multiply", (1, 1, 10, 70), "f32", RELU, lhs=doubled, rhs=y),
    ]


def running_sums(dtype):
    def make(f):
        x = f.argument((3, 50, 7), dtype)
        doubled = f.op("ttnn.add", (3, 50, 7), dtype, lhs=x, rhs=x)
        turned = f.op("ttnn.permute", (7, 50, 3), dtype, {"permutation": [2, 1, 0]}, input=doubled)
        return [
            f.op("ttnn.cumsum", (3, 50, 7), dtype, {"dim": 1}, input=doubled),
            f.op("ttnn.cumsum", (7, 50, 3), dtype, {"dim": -1}, input=turned),
            f.op("ttnn.cumsum", (3, 50, 7), dtype, {"dim": 0, "reverse_order": True}, input=doubled),
        ]

    return make


def scattered(f):
    """Returns tensors with elements that were written at computed places, several of them at the same place."""
    x, values, index = f.argument((6, 9), "bf16"), f.argument((4, 9), "bf16"), f.argument((4, 8), "si32")
    within = f.op("ttnn.clamp_scalar", (4, 8), "si32", {"min": 0, "max": 5}, input=index)
    turned = f.op("ttnn.permute", (9, 6), "bf16", {"permutation": [1, 0]}, input=x)
    across = f.op("ttnn.permute", (8, 4), "si32", {"permutation": [1, 0]}, input=within)
    other = f.op("ttnn.permute", (9, 4), "bf16", {"permutation": [1, 0]}, input=values)
    return [
        f.op("ttnn.scatter", (6, 9), "bf16", {"dim": 0}, input=x, index=within, source=values),
        f.op("ttnn.scatter", (9, 6), "bf16", {"dim": -1}, input=turned, index=across, source=other),
        f.op("ttnn.scatter", (6, 9), "bf16", {"dim": 1}, input=x, index=within, source=values),
    ]


def quotients(f):
    """Returns quotients and remainders of integers, some of them by 0, and remainders of floats."""
    x, y, z, w = (f.argument((40, 6), dtype) for dtype in ("si32", "si32", "f32", "f32"))
    total = f.op("ttnn.add", (40, 6), "si32", lhs=x, rhs=y)
    return [
        f.op("ttnn.divide", (40, 6), "si32", lhs=total, rhs=y),
        f.op("ttnn.remainder", (40, 6), "si32", lhs=total, rhs=y),
        f.op("ttnn.remainder", (40, 6), "f32", lhs=z, rhs=w),
        f.op("ttnn.divide", (40, 6), "f32", lhs=z, rhs=w),
    ]


CASES = {
    "running sums bf16": running_sums("bf16"),
    "running sums f32": running_sums("f32"),
    "running sums si32": running_sums("si32"),
    "scattered": scattered,
    "quotients": quotients,
    "depthwise bf16": depthwise("bf16"),
    "depthwise f32": depthwise("f32"),
    "left to kernels": left_to_kernels,
    "softplus": softplus,
    "before a library": before_a_library,
    "nan": nan,
    "maxima bf16": maxima("bf16"),
    "maxima f32": maxima("f32"),
    "moves": moves,
    "large moves": large_moves,
    "caches": caches,
    "transposed rows": transposed_rows,
    "kept and lost dims": kept_and_lost_dims,
    "widened": widened,
    "filled up": filled_up,
    "one matrix of many": one_matrix_of_many,
    "view that is written": view_that_is_written,
    "long rows": long_rows,
    **{f"drawn {seed}": drawn(seed) for seed in range(3)},
    "layer": layer,
    "products bf16": products("bf16"),
    "products f32": products("f32"),
    "sums bf16": sums("bf16"),
    "sums f32": sums("f32"),
    "functions bf16": functions("bf16"),
    "functions f32": functions("f32"),
    "residual": residual,
    "add and norm": add_and_norm,
    "norm of float32": norm_of_float32,
    "rotary": rotary,
    "rotary of sums": rotary_of_sums,
    "choice": choice,
    "arithmetic bf16": arithmetic("bf16"),
    "arithmetic f32": arithmetic("f32"),
    "comparisons bf16": comparisons("bf16"),
    "comparisons f32": comparisons("f32"),
    "comparisons si32": comparisons("si32"),
    "across": across,
    "momentum": momentum,
    "position": position,
    "reshaped before": reshaped_before,
}

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32}


def samples(executable, seed, special=False):
    generator = torch.Generator().manual_seed(seed)
    tensors = []
    for argument in executable.program.arguments:
        if argument.dtype == "i32":
            limit = 2**31 if special else 4  # many equal numbers, or some whose sums wrap
            tensors.append(torch.randint(-limit, limit, argument.shape, generator=generator, dtype=torch.int32))
            continue
        values = torch.randn(argument.shape, generator=generator)
        if special:
            flat = values.view(-1)
            places = torch.randperm(flat.numel(), generator=generator)[: flat.numel() // 4]
            flat[places] = torch.tensor(SPECIAL).repeat(len(places))[: len(places)]
        tensors.append(values.to(DTYPES[argument.dtype]))
        if special and argument.dtype == "bf16":  # a NaN with a sign, and one with another mantissa
            bits = torch.tensor([0xFFC0 - 0x10000, 0x7F81], dtype=torch.int16)
            tensors[-1].view(-1)[:2] = bits.view(torch.bfloat16)[: tensors[-1].numel()]
    return tensors


def run(executable, inputs):
    return executable.run(inputs, [None] * len(inputs))


def same_bits(actual, expected):
    as_bits = {2: torch.int16, 4: torch.int32}
    for ours, theirs in zip(actual, expected, strict=True):
        bits = as_bits[ours.element_size()]
        assert torch.equal(ours.view(bits), theirs.view(bits))


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_fused_kernels_have_the_bits_of_the_calls(load, name):
    compiled, plain = load(CASES[name]), load(CASES[name], "auto")
    for seed in range(3):
        run(compiled, samples(compiled, seed))
    assert compiled.fused.count >= 1
    assert plain.fused.count == 0
    for seed, special in ((3, False), (4, True), (5, True)):
        inputs = samples(plain, seed, special)
        copies = [tensor.clone() for tensor in inputs]
        same_bits(run(compiled, inputs), run(plain, copies))
        same_bits(inputs, copies)


@needs_compiler
@pytest.mark.parametrize(
    "name",
    [
        *(
            "maxima bf16",
            "maxima f32",
            "kept and lost dims",
            "functions f32",
            "functions bf16",
            "softplus",
            "quotients",
        ),
        *("depthwise bf16", "depthwise f32", "running sums bf16", "running sums f32", "running sums si32", "scattered"),
    ],
)
def test_one_fused_kernel_computes_all(load, name):
    compiled = load(CASES[name])
    for seed in range(2):
        run(compiled, samples(compiled, seed))
    (plan,) = compiled.fused.plans.values()
    assert [(fusion.start, fusion.end) for fusion in plan.fusions] == [(0, len(plan.steps))]


@needs_compiler
def test_what_a_library_multiplies_is_cut_where_it_is_computed(load):
    compiled = load(CASES["before a library"])
    for seed in range(3):
        run(compiled, samples(compiled, seed))
    (made,) = compiled.fused.plans.values()
    (fusion,) = made.fusions
    assert [*fusion.cut.values()] == [11, 7, 11]
    assert set(fusion.cut) < set(fusion.outputs)


def test_every_nan_that_is_seen_has_the_same_bits_and_integers_keep_theirs(load):
    executable = load(nan, "off")
    x, y = torch.zeros(3, 37).bfloat16(), torch.zeros(3, 37)
    y[:, ::2] = 1.0
    i = torch.full((3, 37), -1, dtype=torch.int32)
    x[0, :2] = torch.tensor([0x7FC0, 0xFFC0 - 0x10000], dtype=torch.int16).view(torch.bfloat16)
    narrow, wide, chosen, travelled, widened, bits, returned = run(executable, [x, y, i])
    assert set(narrow.view(torch.int16).flatten().tolist()) == {0x7FC0}
    assert set(wide[wide.isnan()].view(torch.int32).tolist()) == {0x7FC00000}
    assert set(bits[wide.isnan()].tolist()) == {0x7FC00000}
    assert torch.equal(chosen, y)
    assert torch.equal(travelled, i)
    assert widened[0, :2].tolist() == [0x7FC00000, 0xFFC00000 - (1 << 32)]  # a wider float has the same bits in front
    odd = torch.full((3, 37), -1, dtype=torch.int16).view(torch.bfloat16)
    returned = run(executable, [odd, y, i])[-1]
    assert torch.equal(returned.view(torch.int16), odd.view(torch.int16))


LARGE = (2, 8, 32, 64)


def apart(f):
    """Returns ops on one shape, with an unrelated op between them."""
    x, y, unread = (f.argument(LARGE, "bf16") for _ in range(3))
    total = f.op("ttnn.add", LARGE, "bf16", RELU, lhs=x, rhs=y)
    f.deallocate(unread)
    sums = f.op("ttnn.sum", (2, 8, 1, 64), "bf16", {"dim_arg": [2], "keep_dim": True}, input=total)
    product = f.op("ttnn.multiply", LARGE, "bf16", RELU, lhs=x, rhs=y)
    f.deallocate(y)
    return [total, sums, f.op("ttnn.subtract", LARGE, "bf16", lhs=product, rhs=sums)]


def around_a_write(f):
    cache, x = f.argument(LARGE, "bf16"), f.argument((2, 8, 16, 64), "bf16")
    before = f.op("ttnn.add", LARGE, "bf16", RELU, lhs=cache, rhs=cache)
    f.body.append(Instruction("ttnn.fill_cache", {"cache": cache, "input": x}, (), {"batch_offset": 0}))
    return [before, f.op("ttnn.multiply", LARGE, "bf16", RELU, lhs=cache, rhs=cache)]


@needs_compiler
@pytest.mark.parametrize(("make", "count"), [(apart, 1), (around_a_write, 2), (rows_that_are_written, 1)])
def test_independent_steps_are_fused_across_others(load, make, count):
    compiled, plain = load(make), load(make, "auto")
    for seed in range(4):
        inputs = samples(plain, seed)
        copies = [tensor.clone() for tensor in inputs]
        same_bits(run(compiled, inputs), run(plain, copies))
        same_bits(inputs, copies)
    assert compiled.fused.count == count


@needs_compiler
def test_other_strides_take_the_kernels(load):
    """Heads are contiguous here, and the fused kernel was written for permuted ones."""
    inner = engine.FusedKernels
    executable, plain = load(rotary), load(rotary, "auto")
    for seed in range(3):
        run(executable, samples(executable, seed))
    inputs = samples(plain, 3)
    strange = [inputs[0].transpose(1, 2).contiguous().transpose(1, 2), *inputs[1:]]
    same_bits(run(executable, strange), run(plain, inputs))
    assert isinstance(executable.fused, inner)


@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_compiled_once_for_all_processes(load, monkeypatch, cache):
    first = load(residual)
    for seed in range(3):
        run(first, samples(first, seed))
    assert len([*(cache / "fused").iterdir()]) == 1
    monkeypatch.setattr(build, "run_command", lambda *_: pytest.fail("compiled again"))
    second = load(residual)
    for seed in range(3):
        run(second, samples(second, seed))
    assert second.fused.count == 1


@needs_compiler
def test_a_disk_that_keeps_nothing_costs_the_cache(load, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "file"))
    executable = load(residual)
    for seed in range(3):
        run(executable, samples(executable, seed))
    assert executable.fused.count == 1


@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_a_broken_library_is_made_again(load, cache):
    for _ in range(2):
        executable = load(residual)
        for seed in range(3):
            run(executable, samples(executable, seed))
        assert executable.fused.count == 1
        (library,) = (cache / "fused").iterdir()
        library.unlink()  # not overwritten, because it is in use
        library.write_bytes(b"half")


def test_without_a_compiler(load, monkeypatch):
    monkeypatch.setattr(engine, "compiler", lambda: None)
    executable, plain = load(add_and_norm), load(add_and_norm, "off")
    for seed in range(4):
        inputs = samples(plain, seed)
        same_bits(run(executable, inputs), run(plain, inputs))
    assert executable.fused.count == 0
    assert not executable.fused.waits


@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_a_compiler_that_fails(load, monkeypatch):
    monkeypatch.setattr(build, "compiler", lambda: "false")
    executable, plain = load(residual), load(residual, "off")
    for seed in range(4):
        inputs = samples(plain, seed)
        same_bits(run(executable, inputs), run(plain, inputs))
    assert executable.fused.count == 0
    assert not executable.fused.waits


@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_a_thread_calls_torch_in_turns_alone(load, monkeypatch, score):
    """At its exit Python ends a daemon thread where torch takes the interpreter's lock, which aborts the process."""
    depth, outside, made = threading.local(), [], []

    class Turns:
        def __enter__(self):
            depth.value = getattr(depth, "value", 0) + 1

        def __exit__(self, *_):
            depth.value -= 1

    def watched(function):
        def call(*args, **kwargs):
            if threading.current_thread() is not threading.main_thread():
                made.append(function)
                outside.extend([function] if not getattr(depth, "value", 0) else [])
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(engine, "COMPUTING", Turns())
    for name in ("empty", "empty_strided"):
        monkeypatch.setattr(torch, name, watched(getattr(torch, name)))
    executable = load(layer, "auto")
    score["value"] = True
    run(executable, samples(executable, 0))
    finish(executable)
    assert executable.fused.count > 0
    assert len(set(made)) == 2
    assert outside == []


def test_a_thread_of_ours_computes_no_more_once_the_process_ends():
    """The process ends while a thread computes, and does not wait for the turns that would follow."""
    script = """
import threading, time, torch
from tt_xla.runtime.emulator.fused.background import COMPUTING, start

begun = threading.Event()

def job():
    while True:
        with COMPUTING:
            begun.set()
            torch.ones(1 << 20).exp()

start(job)
begun.wait()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_mode_that_does_not_exist(load):
    with pytest.raises(OptionError, match="TTXLA_EMULATOR_CHAINS was given 'sometimes'; it takes auto, now, off"):
        load(residual, "sometimes")


@pytest.fixture
def score(monkeypatch):
    """Sets whether programs are worth the compiler."""
    worth = {"value": False}
    monkeypatch.setattr(engine, "worth_compiling", lambda *_: worth["value"])
    return worth


@needs_compiler
def test_a_fused_kernel_replaces_the_calls(load):
    executable = load(add_and_norm)
    run(executable, samples(executable, 0))
    (fusion,) = executable.fused.plans["main"].fusions
    assert (fusion.end - fusion.start, len(fusion.inputs), len(fusion.outputs)) == (3, 4, 2)


@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_a_program_runs_on_while_its_cpp_is_compiled(load, monkeypatch, score):
    executable, plain = load(residual, "auto"), load(residual, "off")
    compiler_waits, threads = threading.Event(), []

    def slowly(source, **rest):
        threads.append(threading.current_thread())
        assert compiler_waits.wait(60)
        return compile_source(source, **rest)

    monkeypatch.setattr(build.Build, "of", slowly)
    run(executable, samples(executable, 0))
    assert threads == []
    score["value"] = True
    for seed in range(3):
        inputs = samples(plain, seed)
        same_bits(run(executable, inputs), run(plain, inputs))
        assert executable.fused.count == 0
    compiler_waits.set()
    finish(executable)
    inputs = samples(plain, 3)
    same_bits(run(executable, inputs), run(plain, inputs))
    assert executable.fused.count == 1
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    ("making_s", "running_s", "runs", "worth"),
    [(4.1, 0.0, 1, True), (3.0, 0.0, 4, False), (0.0, 1.1, 2, True), (0.0, 0.1, 19, True), (0.0, 0.0, 19, False)],
)
def test_what_takes_long_or_runs_often_is_compiled(making_s, running_s, runs, worth):
    assert engine.worth_compiling(making_s, running_s, runs) is worth


@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_a_later_process_takes_the_library_after_its_first_run(load, monkeypatch, score):
    first = load(residual)
    run(first, samples(first, 0))
    monkeypatch.setattr(build, "run_command", lambda *_: pytest.fail("compiled again"))
    for make, expected in ((residual, 1), (add_and_norm, 0)):
        later = load(make, "auto")
        run(later, samples(later, 1))
        assert later.fused.count == expected


@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_one_compiler_at_a_time(monkeypatch):
    """Threads stand for processes: each opens the lock anew. The later ones find the library of the first."""
    running, most, calls, run_command = [], [], [], build.run_command

    def watched(command, seconds):
        running.append(command)
        most.append(len(running))
        calls.append(command)
        run_command(command, seconds)
        running.pop()

    monkeypatch.setattr(build, "run_command", watched)
    sources = ['extern "C" int one() { return 1; }', 'extern "C" int two() { return 2; }']
    threads = [threading.Thread(target=build.Build.of, args=(source,)) for source in (*sources, *sources)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(calls) == 4  # to compile and to link each


@needs_compiler
def test_an_index_outside_of_its_tensor_is_the_error_of_the_kernel(load):
    def make(f):
        index, table, x = f.argument((1, 3), "si32"), f.argument((5, 32), "f32"), f.argument((1, 3, 32), "f32")
        rows = f.op("ttnn.embedding", (1, 3, 32), "f32", input=index, weight=table)
        return [f.op("ttnn.add", (1, 3, 32), "f32", RELU, lhs=rows, rhs=x)]

    executable, plain = load(make), load(make, "off")
    index, table, x = torch.tensor([[0, 4, 2]], dtype=torch.int32), torch.randn(5, 32), torch.randn(1, 3, 32)
    for _ in range(2):
        same_bits(run(executable, [index, table, x]), run(plain, [index, table, x]))
    assert executable.fused.count == 1
    for wrong in (5, -1):
        index[0, 1] = wrong
        with pytest.raises(ExecutionError, match=f"embedding index {wrong} is outside the table of 5 rows"):
            run(executable, [index, table, x])


@needs_compiler
def test_a_write_outside_of_its_tensor_is_the_error_of_the_kernel(load):
    def make(f):
        x, index, source = f.argument((5, 9), "f32"), f.argument((3, 9), "si32"), f.argument((3, 9), "f32")
        written = f.op("ttnn.scatter", (5, 9), "f32", {"dim": 0}, input=x, index=index, source=source)
        return [f.op("ttnn.add", (5, 9), "f32", RELU, lhs=written, rhs=x)]

    executable = load(make)
    x, index, source = torch.randn(5, 9), torch.zeros(3, 9, dtype=torch.int32), torch.randn(3, 9)
    for _ in range(2):
        run(executable, [x, index, source])
    assert executable.fused.count == 1
    for wrong in (5, -1):
        index[2, 8] = wrong
        with pytest.raises(ExecutionError, match=f"index {wrong} is out of bounds"):
            run(executable, [x, index, source])


@needs_compiler
def test_an_index_outside_that_a_thread_finds_is_the_error_of_the_kernel(load):
    def make(f):
        x, index = f.argument((300, 150), "f32"), f.argument((300, 150), "si32")
        picked = f.op("ttnn.gather", (300, 150), "f32", {"dim": 0}, input=x, index=index)
        return [f.op("ttnn.add", (300, 150), "f32", RELU, lhs=picked, rhs=x)]

    executable, plain = load(make), load(make, "off")
    x, index = torch.randn(300, 150), torch.randint(0, 300, (300, 150), dtype=torch.int32)
    for _ in range(2):
        same_bits(run(executable, [x, index]), run(plain, [x, index]))
    assert executable.fused.count == 1
    index[299, 149] = 300
    with pytest.raises(ExecutionError, match="index 300"):
        run(executable, [x, index])


@needs_compiler
def test_a_fault_in_the_first_recorded_run_leaves_the_calls(load, monkeypatch, project_log):
    report.forget()
    monkeypatch.setattr(engine.Plan, "has_candidates", property(lambda _: 1 / 0))
    executable, plain = load(residual), load(residual, "off")
    for seed in (0, 1):
        inputs = samples(plain, seed)
        same_bits(run(executable, inputs), run(plain, inputs))
    assert not executable.fused.waits
    (warning,) = [record for record in project_log.records if "Fused kernels failed" in record.message]
    assert "division by zero" in warning.message


def finish(executable):
    """Runs a program until the thread that makes its fused kernels is done."""
    for _ in range(6000):
        run(executable, samples(executable, 0))
        if not executable.fused.waits:
            return
        time.sleep(0.01)
    pytest.fail("fused kernels take longer than a minute to make")


def raise_a_fault(*_, **__):
    raise RuntimeError("an injected fault")


compile_source = build.Build.of


def fail_to_compile(source, *, optimize=True, needs=None):
    """Fails to compile fused kernels, but not the library that all programs share."""
    return raise_a_fault() if function.PROLOGUE in source else compile_source(source, optimize=optimize, needs=needs)


STAGES = {
    "recording": lambda patch: patch.setattr(plan, "Operand", raise_a_fault),
    "planning": lambda patch: patch.setattr(plan, "brought_together", raise_a_fault),
    "writing": lambda patch: patch.setattr(function.FunctionWriter, "lines", raise_a_fault),
    "compiling": lambda patch: patch.setattr(build.Build, "of", fail_to_compile),
    "loading": lambda patch: patch.setattr(build.Build, "fused_kernel", raise_a_fault),
    "calling": lambda patch: patch.setattr(build.Build, "fused_kernel", lambda *_: raise_a_fault),
}


@pytest.mark.sample(3)
@pytest.mark.usefixtures("no_libraries")
@needs_compiler
@pytest.mark.parametrize("stage", STAGES)
def test_a_fault_is_reported_once_and_the_kernels_go_on(load, monkeypatch, project_log, cache, stage):
    report.forget()
    executable, plain = load(layer), load(layer, "off")
    STAGES[stage](monkeypatch)
    for seed in range(6):
        inputs = samples(plain, seed)
        same_bits(run(executable, inputs), run(plain, inputs))
    (warning,) = [record for record in project_log.records if "Fused kernels failed" in record.message]
    assert "an injected fault" in warning.message
    (path,) = (cache / "tt-xla" / "reports").iterdir()
    assert str(path) in warning.message
    text = path.read_text()
    for part in ("Traceback", "raise_a_fault", torch.__version__, "ttnn.layer_norm"):
        assert part in text
    assert ('extern "C"' in text) == (stage in ("compiling", "loading", "calling"))


@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_what_the_compiler_says_is_in_the_report(load, monkeypatch, cache, tmp_path):
    report.forget()
    command = tmp_path / "compiler"
    command.write_text("#!/bin/sh\necho 'error: no such instruction' >&2\nexit 1\n")
    command.chmod(0o755)
    monkeypatch.setattr(build, "compiler", lambda: str(command))
    executable, plain = load(residual), load(residual, "off")
    for seed in range(4):
        inputs = samples(plain, seed)
        same_bits(run(executable, inputs), run(plain, inputs))
    (path,) = (cache / "tt-xla" / "reports").iterdir()
    assert "error: no such instruction" in path.read_text().split("Output of the compiler")[1].split("Instructions")[0]


def test_a_compiler_that_takes_too_long_ends_with_the_processes_that_it_started(tmp_path):
    started = tmp_path / "pid"
    with pytest.raises(subprocess.TimeoutExpired):
        build.run_command(["sh", "-c", f"sleep 100 & echo $! > {started}; wait"], 0.3)
    status = Path(f"/proc/{int(started.read_text())}/stat")
    for _ in range(1000):  # it ends soon after the signal
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            break
        time.sleep(0.01)
    else:
        pytest.fail("the process that the compiler started goes on")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        build.run_command(["sh", "-c", "echo said >&2; exit 3"], 10)
    assert (caught.value.returncode, caught.value.stderr) == (3, b"said\n")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not list a process's libraries")
@pytest.mark.usefixtures("no_libraries")
@needs_compiler
def test_the_library_of_a_program_that_is_gone_is_unloaded(load):
    def loaded():
        lines = Path("/proc/self/maps").read_text().splitlines()
        return {line.split(maxsplit=5)[5] for line in lines if "tt-xla-fused" in line}

    before = loaded()
    executable = load(residual)
    for seed in range(4):
        run(executable, samples(executable, seed))
    compiled = executable.fused.library
    gc.collect()
    assert len(loaded() - before) == 1
    del executable
    gc.collect()
    assert len(loaded() - before) == 1  # somebody may be calling it
    del compiled
    gc.collect()
    assert loaded() <= before
