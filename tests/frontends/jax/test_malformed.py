"""Malformed options, executables and programs raise errors that say what is wrong."""

from __future__ import annotations

import random
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tt_xla.compiler.stablehlo import untrusted
from tt_xla.compiler.stablehlo.parse import portable_artifact
from tt_xla.errors import TTXLAError
from tt_xla.frontends.jax.pjrt import errors, wire
from tt_xla.frontends.jax.pjrt.compiled import compile_bytes


class Client:
    """Stands for a client; compiling needs only its target."""

    from tt_xla.target import load_target

    target = load_target("n150")


def example_modules():
    """Returns modules from JAX with products, regions, windows, sorts, scatters, decompositions and random numbers."""

    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda i, a: jnp.where(i > 1, a @ x, a + 1), x)

    def network(x, k):
        y = jax.lax.conv_general_dilated(x, k, (1, 1), "SAME")
        y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return jax.nn.softmax(y.reshape(2, -1))

    def picks(x, i):
        return jnp.sort(x)[i].at[i].add(2.0), jnp.argmax(x), jax.lax.top_k(x, 2)

    def randoms(key):
        return jax.random.normal(key, (4, 4)), jnp.linalg.cholesky(jnp.eye(4))

    square, vector = np.ones((4, 4), np.float32), np.arange(16, dtype=np.float32)
    calls = [
        (lambda x: jax.nn.relu(x @ x), square),
        (loop, square),
        (network, np.ones((2, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)),
        (picks, vector, np.arange(3)),
        (jax.grad(lambda w: jnp.tanh(w @ w).sum()), square),
        (randoms, np.array([1, 2], np.uint32)),
    ]
    with jax.default_device(jax.devices("cpu")[0]):
        return [jax.jit(function).lower(*arguments).compiler_ir("stablehlo") for function, *arguments in calls]


def artifact() -> bytes:
    return portable_artifact(example_modules()[0])


OPTIONS = bytes.fromhex("1a0420012801") + b"\x3a\x1b\x0a\x12optimization_level\x12\x05\x0a\x031.5"


def mutant(rng: random.Random, data: bytes) -> bytes:
    """Returns a mutation of bytes: flipped bits, and bytes replaced, removed, inserted, copied or cut off."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        at, other, count = rng.randrange(len(changed)), rng.randrange(len(changed)), rng.randrange(1, 9)
        way = rng.randrange(5)
        if way == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            changed[at] = rng.choice([0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif way == 2 and len(changed) > 16:
            del changed[at : at + count]
        elif way == 3:
            changed[at:at] = rng.randbytes(count)
        else:
            changed[at : at + count] = changed[other : other + count]
    return bytes(changed[: rng.randrange(1, len(changed))] if rng.random() < 0.1 else changed)


NUMBERS = ["0", "1", "2", "7", "99", "4096", "-1", str(1 << 31), str((1 << 63) - 1), str(1 << 63), "1" + 30 * "0"]


def text_mutant(rng: random.Random, text: str) -> str:
    """Returns a mutation of text: absurd numbers, exchanged words, lines removed or doubled, or text cut off."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        way = rng.randrange(5)
        words = re.findall(r"[\w.]+", text)
        if way == 0:
            number = rng.choice(list(re.finditer(r"\d+", text)) or [re.match("", text)])
            text = text[: number.start()] + rng.choice(NUMBERS) + text[number.end() :]
        elif way == 1:  # replaced everywhere, which keeps more mutants well-formed
            text = re.sub(rf"\b{re.escape(rng.choice(words))}\b", rng.choice([*words, *NUMBERS]), text)
        elif way == 2:
            lines = text.split("\n")
            line = lines.pop(rng.randrange(len(lines)))
            lines[rng.randrange(len(lines) + 1) : 0] = [line] * rng.randrange(3)
            text = "\n".join(lines)
        else:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice([*'<>(){}[]%#!,:=?x-0"', "?x", "tensor<"]) + text[at + rng.randrange(6) :]
    return text[: rng.randrange(1, len(text))] if rng.random() < 0.1 else text


def compile_mutants(seed: int, count: int) -> tuple[int, int]:
    """Compiles ``count`` mutants of bytecode and of text each, and returns how many of both were refused."""
    rng = random.Random(seed)
    modules = example_modules()
    forms = [
        [mutant(rng, portable_artifact(modules[i % len(modules)])) for i in range(count)],
        [text_mutant(rng, str(modules[i % len(modules)])).encode() for i in range(count)],
    ]
    refused = []
    for form in forms:
        refused.append(0)
        for data in form:
            try:
                compile_bytes(Client, data, b"")
            except TTXLAError:
                refused[-1] += 1
    return refused[0], refused[1]


@pytest.fixture
def _impatient(monkeypatch):
    monkeypatch.setattr(untrusted, "TIME_LIMIT", 3.0)


@pytest.mark.usefixtures("tt", "_impatient")
def test_programs_mutated():
    for refused in compile_mutants(0, 150):
        assert 75 < refused <= 150


@pytest.mark.stress
@pytest.mark.usefixtures("tt", "_impatient")
@pytest.mark.parametrize("seed", range(1, 11))
def test_programs_mutated_twenty_thousand_times(seed):
    for refused in compile_mutants(seed, 1000):
        assert 500 < refused <= 1000


def test_options_mutated_ten_thousand_times():
    assert wire.read_compile_options(OPTIONS).options == {"optimization_level": "1.5"}
    refused = 0
    rng = random.Random(0)
    for _ in range(10_000):
        try:
            wire.read_compile_options(mutant(rng, OPTIONS))
        except errors.PluginError:
            refused += 1
    assert refused > 1000


def test_program_cut_off_anywhere(tt):
    data = artifact()
    compile_bytes(Client, data, b"")
    for size in range(0, len(data), 7):
        with pytest.raises(TTXLAError):
            compile_bytes(Client, data[:size], b"")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "module { func.func @main(%a: tensor<99999999x99999999x9999xf32>) -> tensor<99999999x99999999x9999xf32> "
        "{ %0 = stablehlo.abs %a : tensor<99999999x99999999x9999xf32> return %0 : "
        "tensor<99999999x99999999x9999xf32> } }",
        "module { func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> } }",
        "module { func.func private @f() { return } }",
        'module { func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> { %0 = "stablehlo.abs"(%a) : (tensor<2xf32>) -> '
        "tensor<3xf32> return %0 : tensor<3xf32> } }",
    ],
    ids=["empty", "nonsense", "absurd shape", "dynamic shape", "no entry", "wrong types"],
)
def test_program_that_makes_no_sense(text):
    with pytest.raises(TTXLAError):
        compile_bytes(Client, text.encode(), b"")


def test_program_of_a_version_to_come():
    with pytest.raises(TTXLAError, match="not a well-formed"):
        compile_bytes(Client, artifact().replace(b"maximum_v1", b"maximum_v9"), b"")


def test_op_of_no_dialect():
    text = """module { func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "stablehlo.abs"(%a) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = "mine.op"(%0) ({ ^bb0(%b: tensor<f32>): "mine.yield"(%b) : (tensor<f32>) -> () }) :
        (tensor<2xf32>) -> tensor<2xf32>
      return %1 : tensor<2xf32> } }"""
    with pytest.raises(TTXLAError, match="'mine"):
        compile_bytes(Client, text.encode(), b"")


def test_reading_ends_where_mlir_would_ask_for_all_memory():
    text = """module { func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.abs %a : tensor<2xf32>
      return %0#4294967290 : tensor<2xf32> } }"""
    with pytest.raises(TTXLAError, match="not a well-formed"):
        compile_bytes(Client, text.encode(), b"")


def test_what_jax_compiles_is_read_in_this_process(run_python):
    result = run_python("""
import subprocess
import jax.numpy as jnp
from tt_xla.compiler.stablehlo import untrusted
from tt_xla.frontends.jax import trust
started, start = [], subprocess.Popen
subprocess.Popen = lambda command, **rest: started.append(str(command[-1])) or start(command, **rest)
readers = lambda: [path for path in started if path.endswith("reader_process.py")]
assert float(jax.jit(lambda x: x + 1)(jnp.ones(()))) == 2
assert not readers() and not trust.is_own()
text = str(jax.jit(lambda x: x + 1).lower(jnp.ones(())).compiler_ir("stablehlo"))
untrusted.checked(text.encode(), "a program")
assert len(readers()) == 1
print("done")
""")
    assert "done" in result.stdout, result.stderr[-2000:]


@pytest.mark.parametrize(
    ("attributes", "location"),
    [
        ("", "callsite(" * 24000 + "unknown" + " at unknown)" * 24000),
        (" attributes {a = " + "[" * 6000 + "]" * 6000 + "}", "unknown"),
    ],
    ids=["locations", "attributes"],
)
def test_programs_nested_too_deeply_for_a_thread_are_refused_before_this_process_reads_them(attributes, location):
    text = (
        f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>{attributes} {{\n"
        f"  %0 = stablehlo.tanh %x : tensor<4xf32> loc({location})\n  return %0 : tensor<4xf32>\n}}"
    )
    with pytest.raises(TTXLAError, match="reader crashes on it"):
        untrusted.checked(text.encode(), "deep")


def test_more_partitions_than_chips_are_refused():
    with pytest.raises(errors.PluginError, match="for 2 devices; system n150 has 1 chip"):
        compile_bytes(Client, artifact(), bytes.fromhex("1a0420012802"))
