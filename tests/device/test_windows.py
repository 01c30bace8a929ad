"""Convolutions and poolings agree with loops that follow their definition, and make no unnecessary copies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from tests.closeness import relative_error
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.formats import quantize
from tt_xla.runtime.emulator.windows import image, prepare, unprepare

pytestmark = pytest.mark.quick

BF16 = torch.bfloat16


def samples(*shape, dtype=torch.float32, seed=0):
    # The values have few significant bits: 19-bit sources drop none, so that float64 is the reference.
    values = torch.randint(-40, 40, shape, generator=torch.Generator().manual_seed(seed)) / 8
    return values.to(dtype)


def windows(x: np.ndarray, kernel, stride, padding, dilation, ceil=False, fill=0.0):
    """Yields (row, column, patch [N, kh, kw, C]) of NHWC ``x``; padding is top, bottom, left, right."""
    top, bottom, left, right = padding
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    spans = [dilation[d] * (kernel[d] - 1) + 1 for d in (0, 1)]
    counts = []
    for d in (0, 1):
        room = x.shape[1 + d] - spans[d]
        count = (-(-room // stride[d]) if ceil else room // stride[d]) + 1
        # A window may not start in the padding after the end.
        end = x.shape[1 + d] - (bottom, right)[d]
        counts.append(count - 1 if ceil and (count - 1) * stride[d] >= end else count)
    for row, column in itertools.product(range(counts[0]), range(counts[1])):
        rows = slice(row * stride[0], row * stride[0] + spans[0], dilation[0])
        columns = slice(column * stride[1], column * stride[1] + spans[1], dilation[1])
        yield row, column, x[:, rows, columns, :]


def convolve(x, weight, stride, padding, dilation, groups):
    """Convolves an image NHWC with weights OIHW in float64; returns NHWC."""
    outputs, per_group, *kernel = weight.shape
    by_position = {}
    for row, column, patch in windows(x, kernel, stride, padding, dilation):
        parts = []
        for group in range(groups):
            of_group = weight[group * outputs // groups : (group + 1) * outputs // groups]
            channels = patch[..., group * per_group : (group + 1) * per_group]
            parts.append(np.einsum("nhwc,ochw->no", channels, of_group))
        by_position[row, column] = np.concatenate(parts, -1)
    height, width = (max(place[d] for place in by_position) + 1 for d in (0, 1))
    return np.stack([np.stack([by_position[r, c] for c in range(width)], 1) for r in range(height)], 1)


CASES = [
    # channels, outputs, kernel, stride, padding, dilation, groups
    (3, 5, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (4, 6, (3, 2), (2, 1), (0, 1), (1, 2), 1),
    (4, 6, (3, 3), (2, 2), (0, 1, 2, 0), (1, 1), 2),
    (4, 4, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 4),
    (6, 5, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    # The kernel is larger than the result, as for the gradient of a weight; in the second case, one row is left over.
    (4, 6, (6, 7), (1, 1), (0, 1), (1, 1), 1),
    (4, 6, (3, 3), (2, 2), (0, 0), (2, 2), 1),
    (3, 5, (3, 2), (2, 3), (1, 0), (2, 4), 1),
]


def conv_attributes(case, batch, height, width):
    channels, outputs, kernel, stride, padding, dilation, groups = case
    return {
        "in_channels": channels,
        "out_channels": outputs,
        "batch_size": batch,
        "input_height": height,
        "input_width": width,
        "kernel_size": kernel,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
    }


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("config", [{}, {"math_fidelity": "hifi3"}, {"fp32_dest_acc_en": False}], ids=str)
def test_conv2d(run_op, case, prepared, bias, config):
    channels, outputs, kernel, stride, padding, dilation, groups = case
    x, weight = samples(2, 7, 8, channels), samples(outputs, channels // groups, *kernel, seed=1)
    shift = samples(1, 1, 1, outputs, seed=2)
    sides = padding if len(padding) == 4 else (padding[0], padding[0], padding[1], padding[1])
    exact = convolve(x.double().numpy(), weight.double().numpy(), stride, sides, dilation, groups)
    exact = exact.reshape(1, 1, -1, outputs) + bias * shift.double().numpy()
    attributes = conv_attributes(case, 2, 7, 8)
    if prepared:
        rows = channels * kernel[0] * kernel[1]
        more = attributes | {"weights_format": "OIHW", "has_bias": bias, "input_tensor_layout": "tile"}
        weight = run_op("ttnn.prepare_conv2d_weights", {"weight_tensor": weight}, (1, 1, rows, outputs), "f32", **more)
    operands = {"input": x.reshape(1, 1, -1, channels), "weight": weight} | ({"bias": shift} if bias else {})
    result = run_op("ttnn.conv2d", operands, exact.shape, "f32", **attributes, compute_config=config)
    rounding = 2.0**-7 if config.get("fp32_dest_acc_en") is False else 1e-6
    np.testing.assert_allclose(result.double().numpy(), exact, rtol=rounding, atol=rounding * np.abs(exact).max())


def test_a_float32_convolution_of_bfloat16_operands_is_not_rounded_to_bfloat16(run_op):
    x, weight = samples(1, 4, 4, 64).to(BF16), samples(8, 64, 3, 3, seed=1).to(BF16)
    attributes = conv_attributes((64, 8, (3, 3), (1, 1), (1, 1), (1, 1), 1), 1, 4, 4)
    result = run_op(
        "ttnn.conv2d", {"input": x.reshape(1, 1, 16, 64), "weight": weight}, (1, 1, 16, 8), "f32", **attributes
    )
    exact = convolve(x.double().numpy(), weight.double().numpy(), (1, 1), (1, 1, 1, 1), (1, 1), 1)
    np.testing.assert_allclose(result.double().numpy(), exact.reshape(1, 1, 16, 8), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("config", [{}, {"math_fidelity": "hifi3"}], ids=str)
def test_a_convolution_that_onednn_does_not_end_is_computed_in_float32(run_op, monkeypatch, config):
    def wide_only(*args, **options):
        assert args[0].dtype is torch.float32
        return convolution(*args, **options)

    convolution = F.conv2d
    monkeypatch.setattr(F, "conv2d", wide_only)
    monkeypatch.setattr(onednn.Convolution, "__call__", wide_only)
    x, weight = samples(1, 1, 512, 16).to(BF16), samples(16, 1, 1, 15, seed=1).to(BF16)
    attributes = conv_attributes((16, 16, (1, 15), (1, 1), (0, 7), (1, 1), 16), 1, 1, 512)
    result = run_op("ttnn.conv2d", {"input": x, "weight": weight}, x.shape, **attributes, compute_config=config)
    exact = convolve(x.double().numpy(), weight.double().numpy(), (1, 1), (0, 0, 7, 7), (1, 1), 16)
    np.testing.assert_allclose(result.double().numpy(), exact, rtol=2.0**-8, atol=2.0**-8)


@pytest.mark.parametrize(("numerics", "fidelity"), [("silicon", "hifi4"), ("exact", "hifi4"), ("silicon", "hifi3")])
@pytest.mark.parametrize("activation", [None, "relu", "silu"])
def test_where_the_cpu_does_not_multiply_bfloat16_convolutions_are_in_float32(
    run_op, monkeypatch, activation, numerics, fidelity
):
    """Torch's own convolution of bfloat16 takes ten times as long there."""
    monkeypatch.setattr(onednn, "available", lambda dtype=BF16: dtype is torch.float32)
    dtypes = set()

    class Dtypes(TorchDispatchMode):
        """Records the dtypes of convolutions."""

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if "_convolution_pointwise" in str(func) or func is torch.ops.aten.convolution.default:
                dtypes.add(args[0].dtype)
            return func(*args, **(kwargs or {}))

    x, weight = samples(1, 6, 6, 16).to(BF16), samples(8, 16, 3, 3, seed=1).to(BF16)
    attributes = conv_attributes((16, 8, (3, 3), (1, 1), (1, 1), (1, 1), 1), 1, 6, 6)
    config = {"activation": activation} if activation else {}
    with Dtypes():
        result = run_op(
            "ttnn.conv2d",
            {"input": x, "weight": weight},
            (1, 6, 6, 8),
            **attributes,
            conv2d_config=config,
            compute_config={"math_fidelity": fidelity},
            numerics=numerics,
        )
    exact = torch.from_numpy(convolve(x.double().numpy(), weight.double().numpy(), (1, 1), (1, 1, 1, 1), (1, 1), 1))
    exact = {None: lambda y: y, "relu": torch.relu, "silu": F.silu}[activation](exact)
    torch.testing.assert_close(result.double(), exact, rtol=2.0**-7, atol=2.0**-6)
    assert dtypes == {torch.float32}


@pytest.mark.parametrize("multiplies_bfloat16", [True, False])
def test_a_gradient_by_the_weight_takes_torchs_own_way(run_op, monkeypatch, multiplies_bfloat16):
    """The gradient takes a tenth of the time of a convolution with a kernel of that size, and has a float32 sum."""
    if not multiplies_bfloat16:
        monkeypatch.setattr(onednn, "available", lambda dtype=BF16: dtype is torch.float32)
    elif not onednn.available():
        pytest.skip("this CPU's oneDNN does not multiply bfloat16")

    def direct(*args, **options):
        pytest.fail("it was computed as a convolution")

    monkeypatch.setattr(F, "conv2d", direct)
    monkeypatch.setattr(onednn.Convolution, "__call__", direct)
    dtypes = set()

    class Dtypes(TorchDispatchMode):
        """Records the dtypes in which torch computes gradients of convolutions."""

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.convolution_backward.default:
                dtypes.add(args[0].dtype)
            return func(*args, **(kwargs or {}))

    x, weight = samples(2, 14, 14, 16).to(BF16), samples(8, 16, 12, 12, seed=1).to(BF16)
    attributes = conv_attributes((16, 8, (12, 12), (1, 1), (0, 0), (1, 1), 1), 2, 14, 14)
    operands = {"input": x.reshape(1, 1, -1, 16), "weight": weight}
    with Dtypes():
        result = run_op("ttnn.conv2d", operands, (1, 1, 18, 8), **attributes)
    exact = convolve(x.double().numpy(), weight.double().numpy(), (1, 1), (0, 0, 0, 0), (1, 1), 1)
    np.testing.assert_allclose(result.double().numpy(), exact.reshape(1, 1, 18, 8), rtol=2.0**-8, atol=2.0**-6)
    assert dtypes == {BF16 if multiplies_bfloat16 else torch.float32}


def test_conv2d_in_steps_rounds(run_op):
    x, weight = samples(1, 4, 4, 64), samples(8, 64, 3, 3, seed=1)
    attributes = conv_attributes((64, 8, (3, 3), (1, 1), (1, 1), (1, 1), 1), 1, 4, 4)
    operands = {"input": x.reshape(1, 1, 16, 64).to(BF16), "weight": weight.to(BF16)}
    wide = run_op("ttnn.conv2d", operands, (1, 1, 16, 8), **attributes)
    narrow = run_op("ttnn.conv2d", operands, (1, 1, 16, 8), **attributes, compute_config={"fp32_dest_acc_en": False})
    # A window's 9 rows have 2 tiles each, and each of the 18 sums is rounded to 8 significant bits.
    assert 2**-9 < relative_error(narrow, wide) < 2**-7


def test_conv2d_fuses_its_activation(run_op):
    attributes = conv_attributes(CASES[0], 2, 7, 8)
    operands = {"input": samples(1, 1, 112, 3), "weight": samples(5, 3, 3, 3, seed=1)}
    plain = run_op("ttnn.conv2d", operands, (1, 1, 112, 5), "f32", **attributes)
    for config in ({"activation": "relu"}, {"activation": {"op_type": "relu"}}):
        fused = run_op("ttnn.conv2d", operands, (1, 1, 112, 5), "f32", **attributes, conv2d_config=config)
        assert torch.equal(fused, torch.relu(plain))


def test_conv2d_stores_raw_weights_as_its_config_says(run_op):
    attributes = conv_attributes(CASES[0], 2, 7, 8)
    x = samples(1, 1, 112, 3, dtype=BF16)
    weight = torch.randn(5, 3, 3, 3, generator=torch.Generator().manual_seed(1)).to(BF16)
    packed = quantize(prepare(weight, 1), "bfp_bf8").to(BF16)
    result = run_op(
        "ttnn.conv2d",
        {"input": x, "weight": weight},
        (1, 1, 112, 5),
        **attributes,
        conv2d_config={"weights_dtype": "bfp_bf8"},
    )
    expected = run_op("ttnn.conv2d", {"input": x, "weight": packed}, (1, 1, 112, 5), **attributes)
    plain = run_op("ttnn.conv2d", {"input": x, "weight": weight}, (1, 1, 112, 5), **attributes)
    assert torch.equal(result, expected)
    assert not torch.equal(result, plain)


def test_prepared_weights_are_the_documented_matrix_and_a_channels_last_view():
    weight = samples(6, 4, 3, 2)
    matrix = prepare(weight, 1)
    expected = weight.permute(2, 3, 1, 0).reshape(1, 1, 24, 6)
    assert torch.equal(matrix, expected)
    view = unprepare(matrix, 4, (3, 2), 1)
    assert torch.equal(view, weight)
    assert view.is_contiguous(memory_format=torch.channels_last)
    assert view.data_ptr() == matrix.data_ptr()


@pytest.mark.parametrize("dtype", ["bf16", "f32", "bfp_bf8"])
def test_prepared_weights_keep_their_memory_order_in_each_format(run_op, dtype):
    weight = samples(32, 16, 3, 3, dtype=torch.float32 if dtype == "f32" else BF16)
    attributes = conv_attributes((16, 32, (3, 3), (1, 1), (1, 1), (1, 1), 1), 1, 4, 4)
    matrix = run_op("ttnn.prepare_conv2d_weights", {"weight_tensor": weight}, (1, 1, 144, 32), dtype, **attributes)
    assert unprepare(matrix, 16, (3, 3), 1).data_ptr() == matrix.data_ptr()


@pytest.mark.parametrize(("groups", "per_group"), [(2, 3), (6, 1)])
def test_prepared_weights_of_groups_are_those_of_one_convolution(groups: int, per_group: int) -> None:
    """Each output has the weights of its own group, and zeros for the channels of other groups."""
    weight = torch.randn(6, per_group, 3, 2)
    matrix = prepare(weight, groups)
    assert matrix.shape == (1, 1, 3 * 2 * 6, 6)
    x = torch.randn(1, 6, 7, 7)
    ungrouped = unprepare(matrix, 6, (3, 2), 1)
    torch.testing.assert_close(F.conv2d(x, ungrouped), F.conv2d(x, weight, groups=groups))
    assert torch.equal(unprepare(matrix, 6, (3, 2), groups), weight)


def test_activations_are_views():
    x = samples(1, 1, 2 * 7 * 8, 16)
    view = image(x, 2, 7, 8, 16)
    assert view.data_ptr() == x.data_ptr()
    assert view.is_contiguous(memory_format=torch.channels_last)


def test_results_come_in_rows_without_a_copy(run_op):
    attributes = conv_attributes((16, 32, (3, 3), (1, 1), (1, 1), (1, 1), 1), 2, 7, 8)
    operands = {"input": samples(1, 1, 112, 16), "weight": samples(32, 16, 3, 3)}
    result = run_op("ttnn.conv2d", operands, (1, 1, 112, 32), "f32", **attributes)
    assert result.is_contiguous()
    assert result._base is not None  # a view of the convolution's result


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("stride", "padding", "output_padding", "dilation"),
    [((1, 1), (0, 0), (0, 0), (1, 1)), ((2, 3), (1, 0), (1, 2), (1, 1)), ((2, 2), (1, 0, 0, 1), (0, 0), (2, 1))],
)
def test_conv_transpose2d(run_op, stride, padding, output_padding, dilation, groups):
    channels, outputs, kernel = 4, 6, (3, 2)
    x, weight = samples(2, 3, 4, channels), samples(channels, outputs // groups, *kernel, seed=1)
    bias = samples(1, 1, 1, outputs, seed=2)
    top, bottom, left, right = padding if len(padding) == 4 else (padding[0],) * 2 + (padding[1],) * 2
    height = (3 - 1) * stride[0] + dilation[0] * (kernel[0] - 1) + 1 + output_padding[0]
    width = (4 - 1) * stride[1] + dilation[1] * (kernel[1] - 1) + 1 + output_padding[1]
    exact = np.zeros((2, height, width, outputs))
    for r, c, i, j, ci in itertools.product(range(3), range(4), range(kernel[0]), range(kernel[1]), range(channels)):
        group = ci // (channels // groups)
        to = slice(group * outputs // groups, (group + 1) * outputs // groups)
        row, column = r * stride[0] + i * dilation[0], c * stride[1] + j * dilation[1]
        exact[:, row, column, to] += np.outer(x[:, r, c, ci].double(), weight[ci, :, i, j].double())
    exact = exact[:, top : height - bottom, left : width - right] + bias.double().numpy()
    attributes = conv_attributes((channels, outputs, kernel, stride, padding, dilation, groups), 2, 3, 4)
    operands = {"input": x.reshape(1, 1, 24, channels), "weight": weight, "bias": bias}
    flat = exact.reshape(1, 1, -1, outputs)
    result = run_op("ttnn.conv_transpose2d", operands, flat.shape, "f32", **attributes, output_padding=output_padding)
    np.testing.assert_allclose(result.double().numpy(), flat, rtol=1e-6, atol=1e-5)


POOLS = [
    # kernel, stride, padding, dilation
    ((2, 2), (2, 2), (0, 0, 0, 0), (1, 1)),
    ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
    ((3, 2), (2, 1), (0, 1, 1, 0), (1, 1)),
    ((3, 3), (1, 2), (1, 1, 0, 0), (2, 1)),
]


@pytest.mark.parametrize("pool", POOLS, ids=str)
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("kind", ["max", "avg", "avg_inside"])
def test_pooling(run_op, pool, ceil, kind):
    kernel, stride, padding, dilation = pool
    if kind != "max" and dilation != (1, 1):
        pytest.skip("average pooling has no dilation")
    x = samples(2, 7, 8, 5)
    fill = -np.inf if kind == "max" else 0.0
    inside = np.ones((1, 7, 8, 1))
    by_position = {}
    counts = windows(inside, kernel, stride, padding, dilation, ceil)
    for (row, column, patch), (_, _, share) in zip(
        windows(x.double().numpy(), kernel, stride, padding, dilation, ceil, fill), counts, strict=True
    ):
        divisor = share.sum() if kind == "avg_inside" else patch.shape[1] * patch.shape[2]
        by_position[row, column] = patch.max((1, 2)) if kind == "max" else patch.sum((1, 2)) / divisor
    exact = np.stack([by_position[place] for place in sorted(by_position)], 1).reshape(1, 1, -1, 5)
    attributes = {
        "batch_size": 2,
        "input_height": 7,
        "input_width": 8,
        "channels": 5,
        "kernel_size": kernel,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "ceil_mode": ceil,
    }
    if kind != "max":
        attributes["count_include_pad"] = kind == "avg"
    op = "ttnn.max_pool2d" if kind == "max" else "ttnn.avg_pool2d"
    result = run_op(op, {"input": x.reshape(1, 1, 112, 5)}, exact.shape, "f32", **attributes)
    np.testing.assert_allclose(result.double().numpy(), exact, rtol=1e-6, atol=1e-6)


def test_global_avg_pool2d(run_op):
    x = samples(2, 3, 4, 5)
    result = run_op("ttnn.global_avg_pool2d", {"input": x}, (2, 1, 1, 5), "f32")
    np.testing.assert_allclose(result.numpy(), x.numpy().mean((1, 2), keepdims=True), rtol=1e-6)
