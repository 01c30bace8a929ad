# pyright: basic
"""Products in C++ by lasting weights have the bits of oneDNN's, and no fault of theirs ends a program."""

from __future__ import annotations

import itertools

import pytest
import torch

from tt_xla.ir.program import Role
from tt_xla.runtime.emulator import report
from tt_xla.runtime.emulator.fused import build, engine, packed

pytestmark = pytest.mark.skipif(
    build.compiler() is None or torch.backends.cpu.get_cpu_capability() != "AVX512", reason="no AVX-512, or no compiler"
)

SHAPES = [(64, 576, 96), (13, 1536, 64), (25, 512, 32), (2, 600, 256), (100, 33, 128)]
SPECIAL = torch.tensor([float("nan"), float("inf"), -0.0, 1e-39, 3e38])


@pytest.fixture(autouse=True)
def nothing_known(cache):
    packed.forget_chunks()
    report.forget()
    yield
    packed.forget_chunks()


@pytest.fixture
def load_product(device, function_builder, make_program, monkeypatch):
    """Loads a program that is one product with weights, and a bias if asked for."""

    def load(rows, inner, columns, *, bias=False, transposed=False, mode="auto"):
        monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", mode)
        shapes = {"a": (1, rows, inner), "b": (columns, inner) if transposed else (inner, columns)}
        shapes |= {"bias": (columns,)} if bias else {}
        f = function_builder("main")
        operands = {name: f.argument(shape, "f32") for name, shape in shapes.items()}
        result = f.op("ttnn.linear", (1, rows, columns), "f32", {"transpose_b": transposed}, **operands)
        roles = [Role.INPUT, Role.PARAMETER, Role.PARAMETER]
        arguments = [(name, role, shape, "f32") for role, (name, shape) in zip(roles, shapes.items(), strict=False)]
        return device.load(make_program([f.done(result)], arguments, [((1, rows, columns), "f32")]))

    return load


def drawn(executable, special):
    generator = torch.Generator().manual_seed(1)
    tensors = [torch.randn(argument.shape, generator=generator) for argument in executable.program.arguments]
    if special:
        flat = tensors[0].view(-1)[::7]
        flat.copy_(SPECIAL.repeat(-(-len(flat) // len(SPECIAL)))[: len(flat)])
    return tensors


versions = itertools.count(1 << 40)


def results(executable, tensors):
    """Runs a program three times with the same weights, which are prepared in the second run."""
    tokens = [None, *(next(versions) for _ in tensors[1:])]
    return [executable.run(tensors, tokens)[0] for _ in range(3)]


@pytest.fixture
def find(load_product, monkeypatch):
    """Finds the chunks of a product, as the first run of a program does that was long in the making."""

    def find(*shape, **options):
        with monkeypatch.context() as patch:
            patch.setattr(engine.AHEAD, "end", lambda: 1e9)
            executable = load_product(*shape, **options)
            executable.run(drawn(executable, special=False), [None] * len(executable.program.arguments))

    return find


@pytest.fixture
def uses_cpp(monkeypatch):
    """Returns a function that runs a program, and returns whether its product was computed in C++."""
    calls, function = [], build.Build.function

    def counting(library, name, parameters):
        compiled = function(library, name, parameters)
        return (lambda *arguments: calls.append(name) or compiled(*arguments)) if name == "multiply" else compiled

    monkeypatch.setattr(build.Build, "function", counting)

    def uses_cpp(executable):
        calls.clear()
        results(executable, drawn(executable, special=False))
        return bool(calls)

    return uses_cpp


def assert_same_bits(actual, expected):
    nan = expected.isnan()
    assert torch.equal(actual.isnan(), nan)
    assert torch.equal(actual.view(torch.int32)[~nan], expected.view(torch.int32)[~nan])


@pytest.mark.parametrize(("bias", "transposed"), [(False, False), (True, True)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_have_the_bits_of_onednn(load_product, find, uses_cpp, shape, bias, transposed):
    plain = load_product(*shape, bias=bias, transposed=transposed, mode="off")
    find(*shape, bias=bias, transposed=transposed)
    executable = load_product(*shape, bias=bias, transposed=transposed)
    for special in (False, True):
        tensors = drawn(plain, special)
        expected = results(plain, tensors)[0]
        for result in results(executable, tensors):
            assert_same_bits(result, expected)
    assert uses_cpp(executable)
    assert not uses_cpp(plain)


def test_a_later_process_reads_the_chunks(load_product, find, uses_cpp, monkeypatch):
    find(64, 576, 96)
    packed.forget_chunks()
    monkeypatch.setattr(packed, "operands_of", lambda *_: pytest.fail("tried again"))
    find(64, 576, 96)
    assert uses_cpp(load_product(64, 576, 96))


def test_a_program_long_in_the_making_has_them_in_its_second_run(load_product, uses_cpp, monkeypatch):
    monkeypatch.setattr(engine.AHEAD, "end", lambda: 1e9)
    monkeypatch.setattr(engine.THRESHOLDS, "early_wait_s", 600)
    executable, plain = load_product(64, 576, 96), load_product(64, 576, 96, mode="off")
    tensors = drawn(plain, special=False)
    expected = results(plain, tensors)[0]
    for result in results(executable, tensors):
        assert_same_bits(result, expected)
    assert uses_cpp(executable)


def test_a_product_of_many_rows_stays_onednn(load_product, find, uses_cpp, monkeypatch):
    monkeypatch.setattr(packed, "operands_of", lambda *_: pytest.fail("tried"))
    find(512, 512, 32)
    assert not uses_cpp(load_product(512, 512, 32))


def test_a_product_with_other_bits_stays_onednn(load_product, find, uses_cpp, monkeypatch):
    """The C++ adds products in chunks of 64, which oneDNN does not."""
    function = build.Build.function

    def in_chunks_of_64(library, name, parameters):
        compiled = function(library, name, parameters)
        return (lambda *given: compiled(*given[:-2], 64, given[-1])) if name == "multiply" else compiled

    monkeypatch.setattr(build.Build, "function", in_chunks_of_64)
    find(64, 1536, 96)
    assert not uses_cpp(load_product(64, 1536, 96))
    monkeypatch.setattr(packed, "operands_of", lambda *_: pytest.fail("tried again"))
    find(64, 1536, 96)


def test_a_fault_is_reported_and_onednn_goes_on(load_product, find, monkeypatch, cache):
    plain = load_product(64, 576, 96, mode="off")
    find(64, 576, 96)
    function = build.Build.function

    def failing(library, name, parameters):
        def fail(*_):
            raise RuntimeError("an injected fault")

        return fail if name == "multiply" else function(library, name, parameters)

    monkeypatch.setattr(build.Build, "function", failing)
    executable, tensors = load_product(64, 576, 96), drawn(plain, special=False)
    expected = results(plain, tensors)[0]
    for result in results(executable, tensors):
        assert_same_bits(result, expected)
    (path,) = (cache / "tt-xla" / "reports").iterdir()
    assert "an injected fault" in path.read_text()
