"""Rewrites for ops that TT-NN refuses: TT-NN still refuses the original and accepts the replacement."""

from __future__ import annotations

import pytest
import torch

from tt_xla.codegen.judge import judge
from tt_xla.codegen.mock import Mock
from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime.device import Device
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

PAD = """func.func public @main(%x: tensor<64x{type}>) -> tensor<{width}x{type}> {{
  %c = stablehlo.constant dense<{value}> : tensor<{type}>
  %0 = stablehlo.pad %x, %c, low = [0], high = [{high}], interior = [0]
      : (tensor<64x{type}>, tensor<{type}>) -> tensor<{width}x{type}>
  return %0 : tensor<{width}x{type}>
}}"""


def pad(high: int, type_: str = "f32") -> str:
    return PAD.format(high=high, width=64 + high, type=type_, value="7" if type_ == "i32" else "7.0")


CONVOLUTION = """func.func public @main(%x: tensor<{n}x{h}x{w}x32xf32>, %k: tensor<{k}x{k}x32x8xf32>)
    -> tensor<{n}x{oh}x{ow}x8xf32> {{
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {{stride = [{s}, {s}], pad = [[{p}, {p}], [{p}, {p}]]}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
      : (tensor<{n}x{h}x{w}x32xf32>, tensor<{k}x{k}x32x8xf32>) -> tensor<{n}x{oh}x{ow}x8xf32>
  return %0 : tensor<{n}x{oh}x{ow}x8xf32>
}}"""


def convolution(n: int, h: int, w: int, k: int, s: int, p: int) -> str:
    oh, ow = ((size + 2 * p - k) // s + 1 for size in (h, w))
    return CONVOLUTION.format(n=n, h=h, w=w, k=k, s=s, p=p, oh=oh, ow=ow)


NARROW = [(8, 2, 2, 3, 1, 1), (1, 16, 1, 3, 1, 1), (8, 4, 4, 1, 2, 0), (64, 2, 2, 3, 2, 1)]
"""Images, height, width, kernel, stride and padding of convolutions whose results are one or two elements wide."""


def compiled(text: str, **options: object) -> Program:
    return compile_module(parse_module(text), CompileOptions.parse(options), load_target("p150"))


@pytest.mark.parametrize("text", [pad(1), pad(40, "bf16"), pad(64, "i32"), *(convolution(*sizes) for sizes in NARROW)])
def test_ttnn_still_refuses_it_and_takes_what_is_written_instead(ttnn_mock: Mock, text: str) -> None:
    as_it_is, rewritten = judge([compiled(text, enable_workarounds=False), compiled(text)], ttnn_mock)
    assert as_it_is.refusals, "ttnn takes it now: this workaround can go"
    assert not rewritten.refusals


def test_a_padded_vector_has_the_same_values() -> None:
    program = compiled(pad(3))
    shapes = [program.functions[0].values[step.results[0]].shape for step in program.functions[0].body if step.results]
    assert (1, 67) in shapes
    x = torch.arange(64.0)
    (result,) = Device(load_target("p150")).load(program).run([x], [None])
    assert torch.equal(result, torch.nn.functional.pad(x, (0, 3), value=7.0))


def test_a_vector_whose_last_tile_has_room_stays_one() -> None:
    text = PAD.replace("64", "60").format(high=3, width=63, type="f32", value="7.0")
    assert [step.op for step in compiled(text).functions[0].body if step.results] == ["ttnn.pad"]


@pytest.mark.parametrize("sizes", NARROW)
def test_a_widened_convolution_has_the_same_values(sizes: tuple[int, ...]) -> None:
    n, h, w, k, s, p = sizes
    program = compiled(convolution(*sizes), numerics="exact")
    assert any(step.op == "ttnn.slice_static" for step in program.functions[0].body)
    x, kernel = torch.randn(n, h, w, 32), torch.randn(k, k, 32, 8)
    (result,) = Device(load_target("p150")).load(program).run([x, kernel], [None, None])
    expected = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1), stride=s, padding=p)
    torch.testing.assert_close(result, expected.permute(0, 2, 3, 1), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("sizes", [(8, 3, 3, 3, 1, 1), (1, 15, 1, 3, 1, 1), (8, 2, 2, 1, 1, 0)])
def test_a_convolution_that_ttnn_takes_stays(ttnn_mock: Mock, sizes: tuple[int, ...]) -> None:
    program = compiled(convolution(*sizes))
    assert not any(step.op == "ttnn.slice_static" for step in program.functions[0].body)
    (judged,) = judge([program], ttnn_mock)
    assert not judged.refusals


def test_a_kernel_as_large_as_the_image_is_a_product_of_matrices() -> None:
    program = compiled(convolution(96, 16, 16, 16, 1, 0), numerics="exact")
    ops = [step.op for step in program.functions[0].body]
    assert "ttnn.matmul" in ops
    assert "ttnn.conv2d" not in ops
    x, kernel = torch.randn(96, 16, 16, 32), torch.randn(16, 16, 32, 8)
    (result,) = Device(load_target("p150")).load(program).run([x, kernel], [None, None])
    expected = torch.einsum("nhwc,hwco->no", x, kernel)
    torch.testing.assert_close(result[:, 0, 0], expected, rtol=1e-3, atol=1e-2)


BLOCK_FLOATS = {"enable_bfp8_conversion": True, "optimization_level": 1}


BIASED = """func.func public @main(%x: tensor<8x26x26x32xbf16>,
      %k: tensor<3x3x32x64xbf16> {ttcore.argument_type = "parameter"},
      %b: tensor<64xbf16> {ttcore.argument_type = "parameter"}) -> tensor<8x24x24x64xbf16> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<8x26x26x32xbf16>, tensor<3x3x32x64xbf16>) -> tensor<8x24x24x64xbf16>
  %1 = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<64xbf16>) -> tensor<8x24x24x64xbf16>
  %2 = stablehlo.add %0, %1 : tensor<8x24x24x64xbf16>
  return %2 : tensor<8x24x24x64xbf16>
}"""


@pytest.mark.parametrize("level", [1, 2])
def test_block_floats_are_prepared_as_ttnn_takes_them(ttnn_mock: Mock, level: int) -> None:
    options = BLOCK_FLOATS | {"optimization_level": level}
    as_it_is, rewritten = judge(
        [compiled(BIASED, enable_workarounds=False, **options), compiled(BIASED, **options)], ttnn_mock
    )
    assert as_it_is.refusals, "ttnn takes it now: this workaround can go"
    assert not rewritten.refusals


def test_block_floats_are_converted_once_and_have_their_values() -> None:
    program = compiled(BIASED, **BLOCK_FLOATS)
    inside = {function.name: [step.op for step in function.body] for function in program.functions}
    assert "ttnn.typecast" not in inside[program.functions[0].name]
    assert sum(ops.count("ttnn.typecast") for ops in inside.values()) == 2
    torch.manual_seed(0)
    x, kernel, bias = torch.randn(8, 26, 26, 32), torch.randn(3, 3, 32, 64) / 17, torch.randn(64)
    arguments = [tensor.bfloat16() for tensor in (x, kernel, bias)]
    (result,) = Device(load_target("p150")).load(program).run(arguments, [None] * 3)
    expected = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1), bias).permute(0, 2, 3, 1)
    torch.testing.assert_close(result.float(), expected, rtol=0.05, atol=0.1)
