"""Convolutional programs that XLA's CPU client computes too, and the moves between their convolutions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from test_against_stablehlo import on_card

from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.layout import MemoryLayout
from tt_xla.ir.program import FunctionKind
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

pytestmark = pytest.mark.usefixtures("golden_programs")


def lowered(function: Callable[..., Any], *inputs: np.ndarray) -> Any:
    return jax.jit(function).lower(*inputs).compiler_ir("stablehlo")


def forward_ops(module: Any, level: int) -> Counter[str]:
    """Returns the number of each op that runs in every call."""
    program = compile_module(module, CompileOptions.parse({"optimization_level": level}), load_target("n150"))
    functions = (function for function in program.functions if function.kind is FunctionKind.FORWARD)
    return Counter(step.op for function in functions for step in function.body)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def convolution(x: Any, w: Any, stride: int = 1, groups: int = 1) -> Any:
    return lax.conv_general_dilated(
        x, w, (stride, stride), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"), feature_group_count=groups
    )


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("names", [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NHWC")])
def test_patches(names: tuple[str, str, str], level: int) -> None:
    """An embedding of patches is a matrix product from level 1 on, whatever the order of dimensions."""
    sizes = {"N": 2, "C": 3, "H": 32, "W": 64}
    kernel = {"O": 8, "I": 3, "H": 8, "W": 16}
    x, w = (normal(*(known[name] for name in text)) for known, text in ((sizes, names[0]), (kernel, names[1])))

    def embed(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (8, 16), "VALID", dimension_numbers=names)

    module = lowered(embed, x, w)
    ops = forward_ops(module, level)
    assert (ops["ttnn.conv2d"], ops["ttnn.matmul"]) == ((1, 0) if level == 0 else (0, 1))
    (result,) = on_card(module, (x, w), optimization_level=level)
    np.testing.assert_allclose(result, np.asarray(embed(x, w)), atol=0.2, rtol=2e-2)


def excited(x: Any, squeeze: Any, excite: Any) -> Any:
    """Squeeze and excitation of [N, C, H, W]."""
    mean = x.mean((2, 3), keepdims=True)
    return x * jax.nn.sigmoid(convolution(jax.nn.relu(convolution(mean, squeeze)), excite))


def inverted_residual(x: Any, wide: Any, deep: Any, squeeze: Any, excite: Any, narrow: Any) -> Any:
    """A block of EfficientNet: pads that differ by side, a depthwise convolution, squeeze and excitation, a sum."""
    inner = jax.nn.silu(convolution(x, wide))
    inner = jnp.pad(inner, ((0, 0), (0, 0), (1, 1), (0, 2)))
    inner = jax.nn.silu(convolution(inner, deep, groups=deep.shape[0]))
    return convolution(excited(inner, squeeze, excite), narrow) + x


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_block_stays_channels_last(level: int) -> None:
    """Only the input and the result are permuted; no pad is left."""
    shapes = ((2, 8, 8, 8), (16, 8, 1, 1), (16, 1, 3, 3), (4, 16, 1, 1), (16, 4, 1, 1), (8, 16, 1, 1))
    inputs = tuple(normal(*sizes) for sizes in shapes)
    module = lowered(inverted_residual, *inputs)
    ops = forward_ops(module, level)
    assert (ops["ttnn.permute"], ops["ttnn.pad"], ops["ttnn.concat"]) == (2, 0, 0)
    (result,) = on_card(module, inputs, optimization_level=level)
    expected = np.asarray(inverted_residual(*inputs))
    assert np.corrcoef(result.ravel(), expected.ravel())[0, 1] > 0.999


@pytest.mark.parametrize("size", [7, 8])
def test_squeeze_and_excitation_at_level_2(size: int) -> None:
    shapes = ((3, 32, size, size), (32, 32, 1, 1), (4, 32, 1, 1), (32, 4, 1, 1), (32, 32, 1, 1))
    inputs = tuple(normal(*sizes) for sizes in shapes)

    def block(x: Any, first: Any, squeeze: Any, excite: Any, last: Any) -> Any:
        return convolution(excited(convolution(x, first), squeeze, excite), last)

    module = lowered(block, *inputs)
    (result,) = on_card(module, inputs, optimization_level=2)
    expected = np.asarray(block(*inputs))
    assert np.corrcoef(result.ravel(), expected.ravel())[0, 1] > 0.999


@pytest.mark.parametrize("size", [7, 8])
def test_images_do_not_mix_at_level_2(size: int) -> None:
    """An infinite image, or a mask of one image, changes no other image."""
    x, w, mask = normal(2, 8, size, size), normal(32, 8, 1, 1), np.zeros((2, 32, 1, 1), np.float32)
    x[0], mask[0, 3] = np.inf, -np.inf

    def means(x: Any, w: Any, mask: Any) -> Any:
        y = convolution(x, w)
        return jax.nn.relu(y).mean((2, 3)), jax.nn.softmax(y + mask, axis=1)

    results = on_card(lowered(means, x, w, mask), (x, w, mask), optimization_level=2)
    for result, expected in zip(results, means(x, w, mask), strict=True):
        np.testing.assert_allclose(result[1], np.asarray(expected)[1], rtol=0.02, atol=0.02)


def test_excitation_does_not_mix_images_at_level_2() -> None:
    """Each image is multiplied by its own numbers, also where another image has none that are finite."""
    x, w, scale = (jnp.asarray(normal(*sizes), jnp.bfloat16) for sizes in ((3, 8, 9, 9), (32, 8, 1, 1), (3, 32, 1, 1)))
    scale = scale.at[0].set(jnp.nan)

    def excite(x: Any, w: Any, scale: Any) -> Any:
        return convolution(convolution(x, w) * scale, w.transpose(1, 0, 2, 3))

    module = lowered(excite, x, w, scale)
    assert forward_ops(module, 2)["ttnn.embedding"] == 1
    (result,) = on_card(module, tuple(np.asarray(each) for each in (x, w, scale)), optimization_level=2)
    expected = np.asarray(excite(x, w, scale), np.float32)
    assert np.isnan(np.asarray(result, np.float32)[0]).all()
    np.testing.assert_allclose(np.asarray(result, np.float32)[1:], expected[1:], rtol=0.05, atol=0.2)


def first_layers(x: Any) -> Any:
    """Returns a pooling of a convolution of images with 3 channels, whose weights are constant."""
    w = jnp.asarray(normal(32, 3, 7, 7) / 12, jnp.bfloat16)
    y = lax.conv_general_dilated(x, w, (2, 2), ((3, 3), (3, 3)), dimension_numbers=("NCHW", "OIHW", "NCHW"))
    return lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1)))


def test_images_become_shards_of_rows_at_level_2() -> None:
    """Images become rows of channels in L1, where convolution and pooling keep them in shards."""
    x = np.asarray(jnp.asarray(normal(4, 3, 128, 128), jnp.bfloat16))
    module = lowered(first_layers, x)
    program = compile_module(module, CompileOptions.parse({"optimization_level": 2}), load_target("n150"))
    (forward,) = (function for function in program.functions if function.kind is FunctionKind.FORWARD)
    placed = {step.op: forward.values[step.results[0]].layout for step in forward.body if step.results}
    for op in ("ttnn.convert_to_hwc", "ttnn.conv2d", "ttnn.max_pool2d"):
        assert placed[op].memory is MemoryLayout.HEIGHT_SHARDED, op
    (prepared,) = (step for each in program.functions for step in each.body if "conv2d_weights" in step.op)
    assert prepared.attributes["input_tensor_layout"] == "row_major"  # TT-NN pads channels otherwise for tiles
    assert forward_ops(module, 1)["ttnn.convert_to_hwc"] == 0
    (result,) = on_card(module, (x,), optimization_level=2)
    expected = np.asarray(first_layers(jnp.asarray(x)), np.float32)
    np.testing.assert_allclose(np.asarray(result, np.float32), expected, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("level", [1, 2])
def test_weights_are_prepared_for_the_input_and_the_config_of_their_convolution(level: int) -> None:
    """TT-NN's blocks of weights depend on whether rows or tiles come in, and on the compute config."""

    def convolve(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "OIHW", "NHWC"))

    arguments = (normal(*sizes).astype(jnp.bfloat16) for sizes in ((2, 16, 16, 24), (32, 24, 3, 3)))
    module = lowered(convolve, *arguments)
    program = compile_module(module, CompileOptions.parse({"optimization_level": level}), load_target("n150"))
    steps = {step.op: (step, function) for function in program.functions for step in function.body}
    (prepared, _), (convolution, function) = steps["ttnn.prepare_conv2d_weights"], steps["ttnn.conv2d"]
    source = convolution.operands["input"]
    assert isinstance(source, int)
    assert not function.values[source].layout.tiled
    assert prepared.attributes["input_tensor_layout"] == "row_major"
    assert prepared.attributes["compute_config"] == convolution.attributes["compute_config"]


def test_weights_are_prepared_for_the_shards_of_their_convolution() -> None:
    """The rows of weights have another order for block shards: the channels of each core together."""
    layers = [jnp.asarray(normal(256, 256, 3, 3), jnp.bfloat16) for _ in range(4)]
    names = ("NHWC", "OIHW", "NHWC")

    def convolve(x: Any) -> Any:
        for layer in layers:
            x = jax.nn.relu(lax.conv_general_dilated(x, layer, (1, 1), "SAME", dimension_numbers=names))
        return x

    module = lowered(convolve, normal(16, 14, 14, 256).astype(jnp.bfloat16))
    program = compile_module(module, CompileOptions.parse({"optimization_level": 2}), load_target("n150"))
    shards: Counter[Any] = Counter()
    prepared: Counter[Any] = Counter()
    for function in program.functions:
        for step in function.body:
            if step.op == "ttnn.conv2d" and "shard_layout" in (step.attributes.get("conv2d_config") or {}):
                source = step.operands["input"]
                assert isinstance(source, int)
                layout = function.values[source].layout
                assert step.attributes["conv2d_config"]["shard_layout"] == layout.memory
                shards[str(layout.memory), *(32 * size for size in layout.shard)] += 1
            elif step.op == "ttnn.prepare_conv2d_weights" and step.attributes["input_memory_config"][2]:
                _, memory, (_, sizes, _) = step.attributes["input_memory_config"]
                assert step.attributes["conv2d_config"]["shard_layout"] == memory
                prepared[memory, *sizes] += 1
    assert sum(shards.values()) == 3
    assert any(memory == "block_sharded" for memory, *_ in shards)
    assert prepared == shards


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "folds"),
    [
        ((16, 20), (7, 7), 2, ((3, 3), (3, 3)), True),
        ((16, 16), (3, 3), 2, ((0, 1), (0, 1)), True),
        ((12, 14), (7, 3), 3, ((1, 2), (0, 1)), True),
        ((15, 16), (3, 3), 2, ((1, 1), (1, 1)), False),  # rows left over
        ((16, 16), (3, 3), 1, ((1, 1), (1, 1)), False),
    ],
)
def test_rows_that_a_stride_skips_are_folded_into_few_channels(
    size: tuple[int, int], kernel: tuple[int, int], stride: int, padding: Any, folds: bool
) -> None:
    x, layer = normal(2, 3, *size), jnp.asarray(normal(8, 3, *kernel))

    def convolve(x: Any) -> Any:
        return lax.conv_general_dilated(x, layer, (stride, stride), padding, dimension_numbers=("NCHW", "OIHW", "NCHW"))

    module = lowered(convolve, x)
    program = compile_module(module, CompileOptions.parse({"optimization_level": 2}), load_target("n150"))
    (step,) = (step for function in program.functions for step in function.body if step.op == "ttnn.conv2d")
    assert step.attributes["in_channels"] == (3 * stride if folds else 3)
    (result,) = on_card(module, (x,), optimization_level=2)
    np.testing.assert_allclose(result, np.asarray(convolve(x)), atol=0.2, rtol=2e-2)


@pytest.mark.parametrize(("size", "read"), [(16, "tiles"), (15, "rows")])
def test_a_pooling_reads_the_full_tiles_of_a_convolution(size: int, read: str) -> None:
    """At level 2 the halo exchange of a pooling untilizes, where no tile has padding; the values are the same."""
    x, w = (each.astype(jnp.bfloat16) for each in (normal(2, 32, size, size), normal(32, 32, 3, 3) / 17))

    def pooled(x: Any, w: Any) -> Any:
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    module = lowered(pooled, x, w)
    untilized = [forward_ops(module, level)["ttnn.to_layout"] for level in (1, 2)]
    assert untilized[0] - untilized[1] == (read == "tiles")
    results = [on_card(module, (x, w), optimization_level=level)[0] for level in (1, 2)]
    np.testing.assert_array_equal(*results)
    expected = np.asarray(pooled(x, w), np.float32)
    np.testing.assert_allclose(np.asarray(results[1], np.float32), expected, atol=0.05, rtol=2e-2)


@pytest.mark.parametrize(
    ("channels", "level", "weights", "columns"),
    [
        (512, 1, "bfp_bf8", None),  # 16 tiles, which 8 columns of cores divide
        (960, 1, "bf16", None),  # 30 tiles, which TT-NN pads to 32
        (960, 2, "bf16", None),  # channels first: images of 7 x 7 come in rows, and tiles are not split between cores
    ],
)
def test_block_floats_are_for_weights_that_are_not_padded(
    channels: int, level: int, weights: str, columns: int | None
) -> None:
    function = jax.jit(lambda x, w: jax.nn.relu(convolution(jax.nn.relu(x), w, groups=channels)))
    arguments = [jax.ShapeDtypeStruct(shape, "bfloat16") for shape in ((8, channels, 7, 7), (channels, 1, 3, 3))]
    weight_type = f"%arg1: tensor<{channels}x1x3x3xbf16>"
    module = function.lower(*arguments).as_text()
    module = module.replace(weight_type, f'{weight_type} {{ttcore.argument_type = "parameter"}}', 1)
    formats = {"experimental_weight_dtype": "bfp_bf8", "experimental_activation_dtype": "bfp_bf8"}
    options = CompileOptions.parse({"optimization_level": level, "math_fidelity": "lofi"} | formats)
    program = compile_module(parse_module(module), options, load_target("n150"))
    step, values = next(
        (step, function.values) for function in program.functions for step in function.body if step.op == "ttnn.conv2d"
    )
    config = step.attributes["conv2d_config"]
    weight = step.operands["weight"]
    assert isinstance(weight, int)
    assert (config["weights_dtype"], str(values[weight].layout.dtype)) == (weights, weights)
    grid = config.get("core_grid")
    assert (grid[0][1][0] + 1 if grid else None) == columns


@pytest.mark.parametrize("level", [0, 2])
def test_transposed_columns_of_one_channel(level: int) -> None:
    """Prepared weights of one channel and one column have the shape of those that are not prepared."""

    def transposed(x: Any, w: Any) -> Any:
        names = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (1, 1), [(1, 1), (0, 1)], lhs_dilation=(2, 2), dimension_numbers=names)

    x, w = np.arange(1, 7, dtype=np.float32).reshape(1, 3, 2, 1), np.array([3, 5], np.float32).reshape(2, 1, 1, 1)
    module = lowered(transposed, x, w)
    (result,) = on_card(module, (x, w), numerics="exact", optimization_level=level)
    np.testing.assert_array_equal(result, transposed(x, w))
