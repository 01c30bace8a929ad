"""Ops of TTIR text that are short for other ops are compiled, run on the emulated card, and compared with torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tt_xla.compiler import compile_module, read_module
from tt_xla.errors import CompileError, UnsupportedOpError
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

pytestmark = [pytest.mark.usefixtures("golden_programs"), pytest.mark.quick]


def run(op: str, result: tuple[int, ...], *inputs: torch.Tensor) -> torch.Tensor:
    """Runs a program of one op, with bfloat16 operands and the result's shape."""
    kind, *kinds = (
        f"tensor<{''.join(f'{size}x' for size in sizes)}bf16>" for sizes in (result, *(x.shape for x in inputs))
    )
    names = ", ".join(f"%{n}" for n in range(len(kinds)))
    name, _, properties = op.partition(" ")
    text = f"""
func.func @main({", ".join(f"%{n}: {kind}" for n, kind in enumerate(kinds))}) -> {kind} {{
  %r = "ttir.{name}"({names}) <{{{properties}}}> : ({", ".join(kinds)}) -> {kind}
  return %r : {kind}
}}"""
    program = compile_module(read_module(text, trusted=True), CompileOptions.parse(), load_target("n150"))
    (value,) = get_device().load(program).run(list(inputs), [None] * len(inputs))
    return value


def counted(*shape: int) -> torch.Tensor:
    """Returns integers that bfloat16 holds, all different within a shape of at most 256 elements."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape).bfloat16()


@pytest.mark.parametrize(
    ("op", "shape", "reference"),
    [
        ("squeeze dim = 1 : si32", (3, 1, 5), lambda x: x.squeeze(1)),
        ("squeeze dim = -2 : si32", (3, 1, 5), lambda x: x.squeeze(-2)),
        ("unsqueeze dim = -1 : si32", (3, 5), lambda x: x.unsqueeze(-1)),
        ("unsqueeze dim = 0 : si32", (3, 5), lambda x: x.unsqueeze(0)),
        ("transpose dim0 = 0 : si32, dim1 = -1 : si32", (2, 3, 5), lambda x: x.transpose(0, -1)),
        ("repeat repeat_dimensions = array<i64: 2, 1, 3>", (2, 3, 5), lambda x: x.repeat(2, 1, 3)),
        ("repeat repeat_dimensions = array<i64: 1, 4>", (3, 1), lambda x: x.repeat(1, 4)),
        ("repeat_interleave repeats = 3 : ui32, dim = 0 : si32", (2, 5), lambda x: x.repeat_interleave(3, 0)),
        ("repeat_interleave repeats = 2 : ui32, dim = -1 : si32", (2, 5), lambda x: x.repeat_interleave(2, -1)),
        (
            'upsample2d scale_factor = array<i32: 2, 3>, mode = "nearest"',
            (1, 3, 4, 2),
            lambda x: x.repeat_interleave(2, 1).repeat_interleave(3, 2),
        ),
        ("global_avg_pool2d ", (2, 4, 4, 3), lambda x: x.float().mean((1, 2), keepdim=True).bfloat16()),
        (
            "index dim = 1 : i32, begin = 1 : i32, end = 8 : i32, step = 3 : i32",
            (2, 9),
            lambda x: x[:, 1:8:3],
        ),
        (
            "index_select dim = -1 : si32, begin = 1 : si32, length = 2 : si32, stride = 4 : si32",
            (3, 11),
            lambda x: torch.stack((x[:, 1], x[:, 2], x[:, 5], x[:, 6], x[:, 9], x[:, 10]), 1),
        ),
        (
            "index_select dim = 0 : si32, begin = 2 : si32, length = 3 : si32, stride = 3 : si32",
            (6, 2),
            lambda x: x[2:5],
        ),
        ("reduce_or dim_arg = [1 : i32], keep_dim = false", (2, 3, 4), lambda x: x.any(1).bfloat16()),
        ("reduce_and dim_arg = [2 : i32], keep_dim = true", (2, 3, 4), lambda x: x.all(2, keepdim=True).bfloat16()),
        ("reduce_and keep_dim = false", (2, 3), lambda x: x.all().bfloat16()),
    ],
)
def test_moves_and_reductions(op: str, shape: tuple[int, ...], reference: Callable[..., torch.Tensor]) -> None:
    x = counted(*shape) - (0 if "reduce" not in op else 2)
    expected = reference(x)
    assert torch.equal(run(op, tuple(expected.shape), x), expected)


def test_tensors_of_one_value() -> None:
    assert torch.equal(run("zeros shape = array<i32: 2, 3>", (2, 3)), torch.zeros(2, 3).bfloat16())
    assert torch.equal(run("ones shape = array<i32: 2, 3>", (2, 3)), torch.ones(2, 3).bfloat16())
    text = "func.func @main() -> tensor<3xbf16> {\n %0 = ttir.empty() : tensor<3xbf16>\n return %0 : tensor<3xbf16>\n}"
    program = compile_module(read_module(text, trusted=True), CompileOptions.parse(), load_target("n150"))
    assert torch.equal(get_device().load(program).run([], [])[0], torch.zeros(3).bfloat16())


@pytest.mark.parametrize("dim", [1, -1])
def test_batch_norm(dim: int) -> None:
    x = torch.randn(2, 4, 3, 4, generator=torch.Generator().manual_seed(0)).bfloat16()
    scale, offset, mean, variance = (counted(4) / 4 + 1 for _ in range(4))
    op = f"batch_norm_inference epsilon = 1.0e-05 : f32, dimension = {dim} : i32"
    result = run(op, tuple(x.shape), x, scale, offset, mean, variance)
    moved = x.float().transpose(1, dim)
    expected = torch.nn.functional.batch_norm(moved, mean.float(), variance.float(), scale.float(), offset.float())
    torch.testing.assert_close(result.float(), expected.transpose(1, dim), rtol=0.03, atol=0.05)


def test_bilinear_enlargements_are_refused() -> None:
    with pytest.raises(UnsupportedOpError, match=r"ttir\.upsample2d"):
        run('upsample2d scale_factor = array<i32: 2, 2>, mode = "bilinear"', (1, 4, 4, 2), counted(1, 2, 2, 2))


def refused(text: str) -> pytest.ExceptionInfo[CompileError]:
    with pytest.raises(CompileError) as raised:
        compile_module(read_module(text, trusted=True), CompileOptions.parse(), load_target("n150"))
    return raised


def test_ones_of_complex_numbers_are_refused() -> None:
    text = """
func.func @main() -> tensor<2xcomplex<f32>> {
  %0 = "ttir.ones"() <{shape = array<i32: 2>}> : () -> tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}"""
    assert "ttir.ones" in str(refused(text).value)


def test_a_reverse_of_the_last_dimension() -> None:
    x = counted(3, 5)
    assert torch.equal(run("reverse dimensions = array<i64: -1>", (3, 5), x), x.flip(-1))


def test_a_concatenation_with_an_empty_tensor() -> None:
    x = counted(2, 3)
    assert torch.equal(run("concat dim = 1 : si32", (2, 3), x, counted(2, 0)), x)


def test_a_trace_as_a_result_of_ttnn_text_is_refused() -> None:
    text = "func.func @main(%x: tensor<ui32, #ttnn.trace_id>) -> tensor<ui32, #ttnn.trace_id> {\n"
    text += '  %0 = "ttnn.get_device"() <{mesh_shape = #ttnn<mesh_shape 1x1>}> : () -> !ttnn.device\n'
    text += "  return %x : tensor<ui32, #ttnn.trace_id>\n}"
    assert "expected a tensor with a #ttnn.ttnn_layout" in str(refused(text).value)
