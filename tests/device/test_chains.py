"""Chains of elementwise ops, compiled: the bits that the kernels give one by one."""

from __future__ import annotations

import subprocess

import pytest
import torch

from tt_xla import options
from tt_xla.errors import OptionError
from tt_xla.ir.program import Role
from tt_xla.runtime.emulator.chains import build, engine

needs_compiler = pytest.mark.skipif(build.compiler() is None, reason="no C++ compiler")

WIDE, ROW = (2, 3, 40, 64), (64,)
RELU = {"activations": [{"op_type": "relu", "params": []}]}
SPECIAL = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-39, -1e-39, 3.0e38, -3.0e38, 1.00390625]


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
    found = f.op("ttnn.slice_static", (1, 3, 1, 64), "bf16", cut, input=padded)
    f.deallocate(padded)
    return [found]


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
    """Functions of operands and result, not rounded between."""
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
    """Channels first beside channels last: rows of the first lie across memory."""
    x, y = f.argument((4, 16, 12, 12), "bf16"), f.argument((4, 12, 12, 16), "bf16")
    last = f.op("ttnn.permute", (4, 12, 12, 16), "bf16", {"permutation": [0, 2, 3, 1]}, input=x)
    total = f.op("ttnn.add", (4, 12, 12, 16), "bf16", RELU, lhs=last, rhs=y)
    doubled = f.op("ttnn.add", (4, 12, 12, 16), "bf16", RELU, lhs=last, rhs=last)  # lies as its operand does
    return [f.op("ttnn.multiply", (4, 12, 12, 16), "bf16", lhs=total, rhs=last), doubled]


COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def comparisons(dtype):
    def make(f):
        x, y = f.argument((40, 96), dtype), f.argument((40, 96), dtype)
        return [f.op(f"ttnn.{name}", (40, 96), dtype, lhs=x, rhs=y) for name in COMPARISONS]

    return make


def position(f):
    """Of a write to a cache: a count from the end where it is negative, and -1 where it is outside."""
    count, step, length = f.argument((), "si32"), f.argument((1,), "si32"), f.argument((1,), "si32")
    at = f.op("ttnn.add", (1,), "si32", lhs=f.op("ttnn.reshape", (1,), "si32", {"shape": [1]}, input=count), rhs=step)
    wrapped = f.op("ttnn.add", (1,), "si32", lhs=at, rhs=length)
    negative = f.op("ttnn.lt", (1,), "si32", lhs=at, rhs=step)
    at = f.op("ttnn.where", (1,), "si32", first=negative, second=wrapped, third=at)
    inside = f.op("ttnn.clamp_scalar", (1,), "si32", {"min": 0, "max": 255}, input=at)
    product = f.op("ttnn.multiply", (1,), "si32", lhs=f.op("ttnn.subtract", (1,), "si32", lhs=at, rhs=length), rhs=at)
    return [f.op("ttnn.eq", (1,), "si32", lhs=inside, rhs=at), inside, product]


def reshaped_before(f):
    """A result that is nothing but an argument in another shape is left to its kernel."""
    x, y = f.argument((1, 40, 96), "bf16"), f.argument((40, 96), "bf16")
    plain = f.op("ttnn.reshape", (40, 96), "bf16", {"shape": [40, 96]}, input=x)
    total = f.op("ttnn.add", (40, 96), "bf16", RELU, lhs=plain, rhs=y)
    return [plain, f.op("ttnn.reshape", (1, 1, 40, 96), "bf16", {"shape": [1, 1, 40, 96]}, input=total)]


CASES = {
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
DECLARED = {"si32": "i32"}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(options, "cache_directory", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def load(device, function_builder, make_program, monkeypatch, cache):
    """A program of one chain, with the second engine in this mode."""

    def load(make, mode="now"):
        monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", mode)
        f = function_builder("main")
        results = make(f)
        specs = [f.values[value] for value in [*f.arguments, *results]]
        described = [(spec.shape, DECLARED.get(spec.layout.dtype.value, spec.layout.dtype.value)) for spec in specs]
        declared = [(f"a{at}", Role.INPUT, *each) for at, each in enumerate(described[: len(f.arguments)])]
        program = make_program(
            [f.done(*results)], declared, described[len(f.arguments) :], options={"numerics": "silicon"}
        )
        return device.load(program)

    return load


def samples(executable, seed, special=False):
    generator = torch.Generator().manual_seed(seed)
    found = []
    for argument in executable.program.arguments:
        if argument.dtype == "i32":
            limit = 2**31 if special else 4  # many that are equal, or some that wrap
            found.append(torch.randint(-limit, limit, argument.shape, generator=generator, dtype=torch.int32))
            continue
        values = torch.randn(argument.shape, generator=generator)
        if special:
            flat = values.view(-1)
            places = torch.randperm(flat.numel(), generator=generator)[: flat.numel() // 4]
            flat[places] = torch.tensor(SPECIAL).repeat(len(places))[: len(places)]
        found.append(values.to(DTYPES[argument.dtype]))
    return found


def run(executable, inputs):
    return executable.run(inputs, [None] * len(inputs))


def same_bits(given, expected):
    as_bits = {2: torch.int16, 4: torch.int32}
    for ours, theirs in zip(given, expected, strict=True):
        nan = theirs.isnan()
        assert torch.equal(ours.isnan(), nan)
        bits = as_bits[ours.element_size()]
        assert torch.equal(ours.view(bits)[~nan], theirs.view(bits)[~nan])


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_the_bits_of_the_kernels(load, name):
    compiled, plain = load(CASES[name]), load(CASES[name], "off")
    for seed in range(3):
        run(compiled, samples(compiled, seed))
    assert (compiled.chains.chains, plain.chains.chains) == (1, 0)
    for seed, special in ((3, False), (4, True), (5, True)):
        inputs = samples(plain, seed, special)
        same_bits(run(compiled, inputs), run(plain, inputs))


@needs_compiler
def test_one_call_for_a_chain(load, monkeypatch):
    executable = load(add_and_norm)
    for seed in range(3):
        run(executable, samples(executable, seed))
    for bound in executable._bound.values():
        bound.calls = []  # of kernels, which nothing asks for any more
    monkeypatch.setattr(torch.linalg, "vector_norm", lambda *_, **__: pytest.fail("the kernel was called"))
    run(executable, samples(executable, 3))


@needs_compiler
def test_other_strides_take_the_kernels(load):
    """Contiguous heads where the chain was written for permuted ones."""
    inner = engine.SecondEngine
    executable, plain = load(rotary), load(rotary, "off")
    for seed in range(3):
        run(executable, samples(executable, seed))
    inputs = samples(plain, 3)
    strange = [inputs[0].transpose(1, 2).contiguous().transpose(1, 2), *inputs[1:]]
    same_bits(run(executable, strange), run(plain, inputs))
    assert isinstance(executable.chains, inner)


@needs_compiler
def test_compiled_once_for_all_processes(load, monkeypatch, cache):
    first = load(residual)
    for seed in range(3):
        run(first, samples(first, seed))
    assert [path.suffix for path in (cache / "chains").iterdir()] == [".so"]
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("compiled again"))
    second = load(residual)
    for seed in range(3):
        run(second, samples(second, seed))
    assert second.chains.chains == 1


@needs_compiler
def test_a_disk_that_keeps_nothing_costs_the_cache(load, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(options, "cache_directory", lambda: tmp_path / "file")
    executable = load(residual)
    for seed in range(3):
        run(executable, samples(executable, seed))
    assert executable.chains.chains == 1


@needs_compiler
def test_a_broken_library_is_made_again(load, cache):
    for _ in range(2):
        executable = load(residual)
        for seed in range(3):
            run(executable, samples(executable, seed))
        assert executable.chains.chains == 1
        (library,) = (cache / "chains").glob("*.so")
        library.unlink()  # not written over: it is in use
        library.write_bytes(b"half")


def test_without_a_compiler(load, monkeypatch):
    monkeypatch.setattr(engine, "compiler", lambda: None)
    executable, plain = load(add_and_norm), load(add_and_norm, "off")
    for seed in range(4):
        inputs = samples(plain, seed)
        same_bits(run(executable, inputs), run(plain, inputs))
    assert executable.chains.chains == 0
    assert not executable.chains.waits


@needs_compiler
def test_a_compiler_that_fails(load, monkeypatch):
    monkeypatch.setattr(build, "compiler", lambda: "false")
    executable, plain = load(residual), load(residual, "off")
    for seed in range(4):
        inputs = samples(plain, seed)
        same_bits(run(executable, inputs), run(plain, inputs))
    assert executable.chains.chains == 0
    assert not executable.chains.waits


@needs_compiler
def test_short_programs_do_not_wait_for_it(load, monkeypatch):
    executable = load(residual, "auto")
    monkeypatch.setattr(engine, "_LONG_S", 1e9)
    for seed in range(4):
        run(executable, samples(executable, seed))
    assert executable.chains.waits
    monkeypatch.setattr(engine, "_LONG_S", 0.0)
    run(executable, samples(executable, 4))
    run(executable, samples(executable, 5))
    executable.chains._build and executable.chains._build.wait()
    inputs = samples(executable, 6)
    run(executable, inputs)
    assert executable.chains.chains == 1
    same_bits(run(executable, inputs), run(load(residual, "off"), inputs))


def test_a_mode_that_does_not_exist(load):
    with pytest.raises(OptionError, match="TTXLA_EMULATOR_CHAINS was given 'sometimes'; it takes auto, now, off"):
        load(residual, "sometimes")
