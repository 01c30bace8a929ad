"""What is not well-formed is an error that says so: options, executables, programs."""

from __future__ import annotations

import random

import jax
import numpy as np
import pytest
from jaxlib.mlir.dialects import stablehlo

from tt_xla.errors import TTXLAError
from tt_xla.frontends.jax.pjrt import errors, executable, wire


class Client:
    """What compiling needs of a client."""

    from tt_xla.target import load_target

    target = load_target("n150")


def artifact() -> bytes:
    with jax.default_device(jax.devices("cpu")[0]):
        module = jax.jit(lambda x: jax.nn.relu(x @ x)).lower(np.ones((4, 4), np.float32)).compiler_ir("stablehlo")
    return stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())


OPTIONS = bytes.fromhex("1a0420012801") + b"\x3a\x1b\x0a\x12optimization_level\x12\x05\x0a\x031.5"


def mutants(data: bytes, count: int):
    rng = random.Random(0)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 5)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        yield bytes(changed[: rng.randrange(1, len(changed) + 1)])


def test_options_mutated_ten_thousand_times():
    assert wire.read_compile_options(OPTIONS).options == {"optimization_level": "1.5"}
    refused = 0
    for data in mutants(OPTIONS, 10_000):
        try:
            wire.read_compile_options(data)
        except errors.PluginError:
            refused += 1
    assert refused > 1000


def test_program_cut_off_anywhere(tt):
    data = artifact()
    executable.compile_bytes(Client, data, b"")
    for size in range(0, len(data), 7):
        with pytest.raises(TTXLAError):
            executable.compile_bytes(Client, data[:size], b"")


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
        executable.compile_bytes(Client, text.encode(), b"")


def test_two_partitions_are_refused():
    with pytest.raises(errors.PluginError, match="2 partitions"):
        executable.compile_bytes(Client, artifact(), bytes.fromhex("1a0420012802"))
