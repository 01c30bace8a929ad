"""Tests of which host programs are compiled together with the program that calls them."""

import subprocess
import sys

import pytest

from tt_xla import host
from tt_xla.errors import UnsupportedOpError


def module(op: str, type_: str = "tensor<4x4xf32>", line: int = 0) -> str:
    """Returns a module with one op. ``line`` makes modules differ, because a known module is not compiled again."""
    head = f"// {line}\nmodule {{ func.func @main(%a: {type_}) -> {type_} {{"
    return f"{head} %0 = {op} : {type_}\n return %0 : {type_} }} }}"


def test_the_client_is_opened_by_the_first_program_that_needs_it() -> None:
    script = (
        "from tt_xla import host; assert host.opened_client() is None; "
        f"host.load({module('stablehlo.sine %a')!r}); assert host.opened_client() is host.client()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize(
    ("op", "type_", "compiled"),
    [
        ("stablehlo.sine %a", "tensor<4x4xf32>", False),
        ("stablehlo.add %a, %a", "tensor<4x4xi64>", False),
        ("stablehlo.add %a, %a", "tensor<4x4xcomplex<f64>>", False),
        ("stablehlo.cholesky %a", "tensor<4x4xf32>", True),
        ("stablehlo.add %a, %a", "tensor<4x4xi4>", True),
        ("stablehlo.add %a, %a", "tensor<4x4xf8E4M3FN>", True),
    ],
)
def test_plain_ops_on_plain_types_are_compiled_when_they_run(op: str, type_: str, compiled: bool) -> None:
    before = host.load.cache_info().misses
    host.check(module(op, type_, line=before))
    assert (host.load.cache_info().misses > before) is compiled


def test_what_xla_refuses_is_an_error_now() -> None:
    call = "stablehlo.custom_call @nobody_knows(%a) {api_version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>"
    text = module("").replace("tensor<4x4xf32>", "tensor<4xf32>").replace("%0 =  : tensor<4xf32>", f"%0 = {call}")
    with pytest.raises(UnsupportedOpError, match="XLA's CPU compiler refuses"):
        host.check(text)
