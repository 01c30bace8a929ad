"""Ten programs of 500 and more ops that fail because of a planted fault, and what ``tt-xla reduce`` leaves of them.

``python -m tests.testing.planted [NAME...]`` prints a row for each: ops before and after, seconds, and whether the rest
fails because of the fault, that is, does not fail without it. ``make test`` does not run it, for it takes minutes.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.testing.planting import plant

KERNELS, CONVERTERS = "tt_xla.runtime.emulator.kernels", "tt_xla.compiler.stablehlo"


def transformer(layers: int = 4, width: int = 32) -> Any:
    """Loss and gradients of a network of attention and gated layers."""
    import jax
    import jax.numpy as jnp

    def layer(weights: Any, x: Any) -> Any:
        q, k, v = (x @ weights[name] for name in "qkv")
        x = x + jax.nn.softmax(q @ k.T / 8) @ v @ weights["o"]
        normal = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x + jax.nn.gelu(normal @ weights["u"]) @ weights["d"]

    def loss(weights: Any, x: Any) -> Any:
        for each in weights:
            x = layer(each, x)
        return (x**2).sum()

    weights = [{name: jnp.ones((width, width)) for name in "qkvoud"} for _ in range(layers)]
    return jax.jit(jax.value_and_grad(loss)).lower(weights, jnp.ones((16, width)))


def convolutional() -> Any:
    """A step of training a network of convolutions, norms over the batch and pooling, with Adam."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss(weights: Any, x: Any, labels: Any) -> Any:
        for number, kernel in enumerate(weights["kernels"]):
            stride = (2, 2) if number == 2 else (1, 1)
            x = lax.conv_general_dilated(x, kernel, stride, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = (x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-5)
            x = jax.nn.relu(x)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = x.reshape(x.shape[0], -1) @ weights["dense"]
        return -(jax.nn.log_softmax(logits) * labels).sum()

    def step(weights: Any, first: Any, second: Any, x: Any, labels: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, x, labels)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
        weights = jax.tree.map(lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(jnp.abs(v)) + 1e-3), weights, first, second)
        return value, weights, first, second

    kernels = [jnp.ones((3, 3, 3 if number == 0 else 8, 8)) for number in range(8)]
    weights = {"kernels": kernels, "dense": jnp.ones((8 * 16, 4))}
    return jax.jit(step).lower(weights, weights, weights, jnp.ones((2, 16, 16, 3)), jnp.ones((2, 4)))


def mixing(rounds: int = 64) -> Any:
    """A loop whose body mixes the bits of integers many times."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def body(state: Any, word: Any) -> Any:
        a, b = state
        for number in range(rounds):
            a = (a + b + word) ^ jnp.uint32(0x9E3779B9 + number)
            b = (b << (number % 13 + 1)) | lax.shift_right_logical(b, jnp.uint32(32 - (number % 13 + 1)))
            b = b ^ a
        return (a, b), a

    words = jnp.ones((5, 32), jnp.uint32)
    return jax.jit(lambda a, b, words: lax.scan(body, (a, b), words)).lower(words[0], words[0], words)


def orders(rounds: int = 40) -> Any:
    """Sorts, gathers, scatters and sums of tables."""
    import jax
    import jax.numpy as jnp

    def run(table: Any, keys: Any) -> Any:
        for number in range(rounds):
            order = jnp.argsort(keys if number != 20 else keys[::-1])
            table = table[order] + jnp.cumsum(table, 0) * 1e-2
            keys = jnp.sort(keys * 3 % 101) + number
            table = table.at[order[:4]].add(1.0) / 2
        return table, keys

    return jax.jit(run).lower(jnp.ones((24, 8)), jnp.ones((24,), jnp.int32))


def bodies(steps: int = 24) -> Any:
    """The paths of bodies that attract each other."""
    import jax
    import jax.numpy as jnp

    def run(places: Any, speeds: Any, masses: Any) -> Any:
        for _ in range(steps):
            between = places[:, None] - places[None]
            square = (between**2).sum(-1) + 1.0
            forces = -(between * (masses / jnp.sqrt(square) ** 3)[..., None]).sum(1)
            angle = jnp.arctan2(speeds[:, 0], speeds[:, 1])
            speeds = speeds + 0.01 * forces + 0.001 * jnp.sin(angle)[:, None]
            places = jnp.concatenate([places[1:], places[:1]]) + 0.01 * speeds
        return places, speeds

    places = jnp.ones((12, 3))
    return jax.jit(run).lower(places, places, jnp.ones((12,)))


def waves(steps: int = 100) -> Any:
    """A loop whose body is a long chain of functions, on several states."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def body(number: Any, states: Any) -> Any:
        x, y, z = states
        for step in range(steps):
            x = x * 0.9 + jnp.tanh(y) * 0.1
            y = y - x * 0.05 if step != 60 else y - jnp.sin(x) * 0.05
            z = jnp.maximum(z, x * y)
        return x, y, z

    x = jnp.ones((16, 16))
    return jax.jit(lambda x, y, z, n: lax.fori_loop(0, n, body, (x, y, z))).lower(x, x, x, jnp.int32(7))


@dataclass(frozen=True)
class Case:
    """A program with a fault.

    Attributes:
        program: lowers the program.
        fails: the failure.
        module: module of the fault.
        old: text that the module has once.
        new: the text in its place.
        level: optimization level.
        numerics: the option of that name; ``exact`` where a small program could differ by the chip's roundings instead.
    """

    program: Callable[[], Any]
    fails: str
    module: str
    old: str
    new: str
    level: int = 0
    numerics: str = "silicon"


CASES = {
    "converter of a product raises": Case(
        *(transformer, "crash", f"{CONVERTERS}.contraction"),
        "    numbers = stablehlo.DotDimensionNumbers",
        '    if str(op.operands[0].type).startswith("tensor<16x16x"):\n'
        '        raise ValueError(f"no product of {op.operands[0].type}")\n'
        "    numbers = stablehlo.DotDimensionNumbers",
    ),
    "kernel of a sum is wrong for wide rows": Case(
        *(transformer, "differs>0.05", f"{KERNELS}.reduction"),
        "            return chosen(input, dims, keep_dim)\n\n        def call_converted",
        "            return chosen(input, dims, keep_dim) * (1.25 if input.shape[-1] > 20 else 1.0)\n\n"
        "        def call_converted",
    ),
    "gelu is fused to silu": Case(
        *(transformer, "differs>0.05", "tt_xla.compiler.ttir.fuse.activation"),
        '_replace(rewriter, op, "gelu", inner)',
        '_replace(rewriter, op, "silu", inner)',
        level=2,
    ),
    "a maximum is converted to a sum": Case(
        *(convolutional, "differs>0.05", f"{CONVERTERS}.elementwise"),
        '    type_ = context.result_type(op)\n    if name == "stablehlo.power"',
        '    kind = ttir.ELEMENTWISE_OPS["add"] if name == "stablehlo.maximum" else kind\n'
        '    type_ = context.result_type(op)\n    if name == "stablehlo.power"',
        numerics="exact",
    ),
    "converter of a spread convolution hangs": Case(
        *(convolutional, "hang", f"{CONVERTERS}.window"),
        '@converts("stablehlo.convolution")\ndef convolution(context: ImportContext, op: Any) -> SSAValue:\n',
        '@converts("stablehlo.convolution")\ndef convolution(context: ImportContext, op: Any) -> SSAValue:\n'
        '    while "lhs_dilation" in op.attributes and list(op.attributes["lhs_dilation"]) == [2, 2]:\n        pass\n',
    ),
    "kernel of a shift is wrong for high bits": Case(
        *(mixing, "differs>1e-6", f"{KERNELS}.elementwise"),
        "0, unsigned >> rhs.to(torch.int64).clamp(0, bits))",
        "0, (unsigned >> rhs.to(torch.int64).clamp(0, bits)) ^ (unsigned >> 31))",
    ),
    "converter of a reversal ends the process": Case(
        *(orders, "crash", f"{CONVERTERS}.structure"),
        '@converts("stablehlo.reverse")\ndef reverse(context: ImportContext, op: Any) -> SSAValue:\n',
        '@converts("stablehlo.reverse")\ndef reverse(context: ImportContext, op: Any) -> SSAValue:\n'
        "    __import__('os').kill(__import__('os').getpid(), 11)\n",
    ),
    "atan2 runs on the host": Case(
        *(bodies, "host op", f"{CONVERTERS}.elementwise"),
        '    type_ = context.result_type(op)\n    if name == "stablehlo.power"',
        '    if name == "stablehlo.atan2":\n        raise context.reject(op, "it is planted")\n'
        '    type_ = context.result_type(op)\n    if name == "stablehlo.power"',
    ),
    "converter of a concatenation is slow": Case(
        *(bodies, "compiles slower than 6 s", f"{CONVERTERS}.structure"),
        '@converts("stablehlo.concatenate")\ndef concatenate(context: ImportContext, op: Any) -> SSAValue:\n',
        '@converts("stablehlo.concatenate")\ndef concatenate(context: ImportContext, op: Any) -> SSAValue:\n'
        '    __import__("time").sleep(7 if "tensor<11x3x" in str(op.operands[0].type) else 0)\n',
    ),
    "converter of a loop raises at a sine": Case(
        *(waves, "crash", f"{CONVERTERS}.control"),
        "    counter = counter_of(op, context.values.by_source)\n    trip_count",
        '    if any(inner.name == "stablehlo.sine" for inner in walk(op.operation)):\n'
        '        raise ValueError("no loop over a sine")\n'
        "    counter = counter_of(op, context.values.by_source)\n    trip_count",
    ),
}


def run(name: str, case: Case) -> str:
    """Reduces a case, and returns its row of the table."""
    from tt_xla.errors import ExecutionError
    from tt_xla.testing.reduction import check, reduce

    text = case.program().as_text()
    options = {"optimization_level": case.level, "numerics": case.numerics}
    with tempfile.TemporaryDirectory() as folder:
        fault = plant(Path(folder), case.module, case.old, case.new)
        started, used = time.monotonic(), _cpu_seconds()
        try:
            reduction = reduce(text, None, options, case.fails, imports=[fault], budget=1500.0)
        except ExecutionError as error:
            return f"| {name} | | | | | | {error} |"
        seconds, cpu_seconds = time.monotonic() - started, _cpu_seconds() - used
    try:
        check(reduction.program.text, reduction.program.inputs, options, case.fails)
        cause = "the fault"
    except AssertionError:
        cause = "something else"
    if "-v" in sys.argv:
        print(reduction.program.text, file=sys.stderr)
    fails = case.fails.replace("|", " or ")
    sizes = f"{reduction.ops_before} | {reduction.ops} | {reduction.trials}"
    return f"| {name} | {fails} | {sizes} | {seconds:.0f} s | {cpu_seconds:.0f} s | {cause} |"


def _cpu_seconds() -> float:
    """Returns the processor time of this process and of those that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(names: list[str]) -> None:
    """Prints the table."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    print("| fault | fails | ops before | ops after | tries | time | processor time | fails because of |")
    print("|---|---|---:|---:|---:|---:|---:|---|", flush=True)
    for name, case in CASES.items():
        if not names or any(part in name for part in names):
            print(run(name, case), flush=True)


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "-v"])
