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
def nothing_known(monkeypatch, cache):
    monkeypatch.setattr(packed, "_chunks", {})
    monkeypatch.setattr(report, "_logged", set())


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


def find(executable):
    """Finds the chunks of the program's products, as the thread that makes fused kernels does."""
    packed.find_chunks(step for bound in executable._bound.values() for step in bound.code.steps)


def uses_cpp(executable):
    (call,) = executable._weights._calls
    return call._prepared is not None and call._prepared.ndim == 3


def assert_same_bits(actual, expected):
    nan = expected.isnan()
    assert torch.equal(actual.isnan(), nan)
    assert torch.equal(actual.view(torch.int32)[~nan], expected.view(torch.int32)[~nan])


@pytest.mark.parametrize(("bias", "transposed"), [(False, False), (True, True)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_have_the_bits_of_onednn(load_product, shape, bias, transposed):
    plain = load_product(*shape, bias=bias, transposed=transposed, mode="off")
    find(plain)
    executable = load_product(*shape, bias=bias, transposed=transposed)
    for special in (False, True):
        tensors = drawn(plain, special)
        expected = results(plain, tensors)[0]
        for result in results(executable, tensors):
            assert_same_bits(result, expected)
    assert uses_cpp(executable)
    assert not uses_cpp(plain)


def test_a_later_process_reads_the_chunks(load_product, monkeypatch):
    find(load_product(64, 576, 96))
    monkeypatch.setattr(packed, "_chunks", {})
    monkeypatch.setattr(packed, "_tried", lambda *_: pytest.fail("tried again"))
    executable = load_product(64, 576, 96)
    results(executable, drawn(executable, special=False))
    assert uses_cpp(executable)


def test_a_program_long_in_the_making_has_them_in_its_second_run(load_product, monkeypatch):
    monkeypatch.setattr(engine.AHEAD, "end", lambda: 1e9)
    monkeypatch.setattr(engine, "_LONGEST_WAIT_S", 600)
    executable, plain = load_product(64, 576, 96), load_product(64, 576, 96, mode="off")
    tensors = drawn(plain, special=False)
    expected = results(plain, tensors)[0]
    for result in results(executable, tensors):
        assert_same_bits(result, expected)
    assert uses_cpp(executable)


def test_a_product_of_many_rows_stays_onednn(load_product):
    find(load_product(512, 512, 32))
    assert packed._chunks == {}


def test_a_product_with_other_bits_stays_onednn(load_product, monkeypatch):
    """The C++ adds products in chunks of 64, which oneDNN does not."""
    monkeypatch.setattr(packed, "_CHUNKS", (64,))
    executable = load_product(64, 1536, 96)
    find(executable)
    again = load_product(64, 1536, 96)
    results(again, drawn(again, special=False))
    assert [*packed._chunks.values()] == [0]
    assert not uses_cpp(again)


def test_a_fault_is_reported_and_onednn_goes_on(load_product, monkeypatch, cache):
    plain = load_product(64, 576, 96, mode="off")
    find(plain)
    function = packed.function

    def failing(library, name, pointers, sizes):
        def fail(*_):
            raise RuntimeError("an injected fault")

        return fail if name == "multiply" else function(library, name, pointers, sizes)

    monkeypatch.setattr(packed, "function", failing)
    executable, tensors = load_product(64, 576, 96), drawn(plain, special=False)
    expected = results(plain, tensors)[0]
    for result in results(executable, tensors):
        assert_same_bits(result, expected)
    (path,) = (cache / "tt-xla" / "reports").iterdir()
    assert "an injected fault" in path.read_text()
