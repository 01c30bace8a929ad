"""The emulated card's order of sums and its functions: C++, torch and a reference in NumPy agree in every bit."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from tt_xla.runtime.emulator import approximations, depthwise, library, sums
from tt_xla.runtime.emulator.fused import build

needs_compiler = pytest.mark.skipif(build.compiler() is None, reason="no C++ compiler")

LANES, CHUNK = 16, 256


def reference_sum(terms):
    """Adds float32 numbers: lines of 16 in pairs of neighbours, then the halves of the last line."""
    lines = [*np.pad(terms, (0, -len(terms) % LANES)).reshape(-1, LANES)]
    while len(lines) > 1:
        pairs = [first + second for first, second in zip(lines[::2], lines[1::2], strict=False)]
        lines = pairs + lines[len(pairs) * 2 :]
    line = lines[0]
    while len(line) > 1:
        half = len(line) // 2
        line = line[:half] + line[half:]
    return line[0]


def fused_multiply_add(x, y, z):
    """Returns x * y + z of float32 rounded once: the sum has more bits in long double than it needs."""
    return np.float32(np.longdouble(x) * np.longdouble(y) + np.longdouble(z))


def reference_product(row, column):
    """Adds the products of two vectors one after another, in chunks of 256 that begin with 0."""
    chunks = []
    for start in range(0, len(row), CHUNK):
        total = np.float32(0)
        for x, y in zip(row[start : start + CHUNK], column[start : start + CHUNK], strict=True):
            total = fused_multiply_add(x, y, total)
        chunks.append(total)
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    return total


@pytest.fixture(params=["C++", "torch"])
def way(request, monkeypatch):
    """Computes in C++, and without a compiler."""
    if request.param == "torch":
        for module in (sums, approximations, depthwise):
            monkeypatch.setattr(module, "library", lambda: None)
    elif build.compiler() is None:
        pytest.skip("no C++ compiler")
    return request.param


def wide(*shape, seed=0):
    """Draws numbers of many magnitudes, so that every order of additions has other bits."""
    generator = torch.Generator().manual_seed(seed)
    exponents = torch.randint(-12, 12, shape, generator=generator)
    return torch.ldexp(torch.randn(shape, generator=generator), exponents)


def bits(tensor):
    return tensor.contiguous().view(torch.int32)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("count", [1, 5, 16, 17, 33, 80, 100, 257, 1000])
def test_a_sum_adds_lines_in_pairs(count):
    x = wide(3, count)
    expected = torch.tensor(np.array([reference_sum(row) for row in x.numpy()]))
    assert torch.equal(bits(sums.total(x, [1])), bits(expected))
    assert torch.equal(bits(sums.total(x.t(), [0], keep_dim=True)), bits(expected[None]))
    columns = x.t().reshape(1, count, 3).expand(2, count, 3)
    assert torch.equal(bits(sums.total(columns, [-2])), bits(expected.expand(2, 3)))


@pytest.mark.usefixtures("way")
def test_a_sum_of_several_dimensions_has_their_elements_in_order():
    x = wide(4, 5, 6, 7)
    for dims in ([1, 2], [0, 3], [2], [0, 1, 2, 3], [3, 1]):
        kept = [dim for dim in range(4) if dim not in dims]
        rows = x.permute(*kept, *sorted(dims)).reshape(-1, np.prod([x.shape[dim] for dim in dims]))
        expected = torch.tensor(np.array([reference_sum(row) for row in rows.numpy()]))
        assert torch.equal(bits(sums.total(x, dims).flatten()), bits(expected))
    assert sums.total(torch.zeros(3, 0), [1]).tolist() == [0, 0, 0]
    assert sums.total(torch.zeros(0, 3), [1]).shape == (0,)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("inner", [1, 7, 256, 257, 600])
@pytest.mark.parametrize("columns", [1, 16, 35])
def test_a_product_adds_chunks_of_fused_multiply_adds(inner, columns):
    a, b = wide(2, inner), wide(inner, columns, seed=1)
    expected = torch.tensor(np.array([[reference_product(row, column) for column in b.numpy().T] for row in a.numpy()]))
    assert torch.equal(bits(sums.product(a, b)), bits(expected))
    assert torch.equal(bits(sums.product(a.unsqueeze(1), b.expand(2, inner, columns)).squeeze(1)), bits(expected))


@needs_compiler
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e18])
@pytest.mark.parametrize("shape", [(1, 40, 64), (2, 300, 20), (5, 16, 128), (7, 64, 48), (13, 513, 33), (33, 20, 17)])
def test_torch_and_cpp_multiply_alike(shape, scale):
    """Products that are too large or too small for a float are part of it."""
    rows, inner, columns = shape
    a, b = wide(rows, inner) * scale, wide(inner, columns, seed=1) * scale
    assert torch.equal(bits(sums.product(a, b)), bits(sums.chunked(a, b)))
    narrow = sums.product(a.bfloat16(), b.bfloat16())
    assert torch.equal(bits(narrow), bits(sums.chunked(a.bfloat16().float(), b.bfloat16().float())))


@pytest.mark.usefixtures("way")
def test_weights_in_panels_are_weights_again():
    for dtype in (torch.float32, torch.bfloat16):
        b = wide(40, 35).to(dtype)
        assert torch.equal(sums.unpacked(sums.packed(b), 35), b)
        assert torch.equal(sums.unpacked(sums.packed(b.t().contiguous().t()), 35), b)
        cut = sums.unpacked(sums.packed(b, 0xFFFE0000), 35)
        pattern = b.float().view(torch.int32) & -(1 << 17)
        assert torch.equal(cut.float().view(torch.int32), pattern)


def reference_convolution(image, kernel, stride, padding, dilation):
    """Convolves [C, H, W] with [C, kh, kw]: each channel's terms one after another, row by row of its kernel."""
    channels, high, wide = kernel.shape
    image = np.pad(image, ((0, 0), (padding[0],) * 2, (padding[1],) * 2))
    height = (image.shape[1] - dilation[0] * (high - 1) - 1) // stride[0] + 1
    width = (image.shape[2] - dilation[1] * (wide - 1) - 1) // stride[1] + 1
    result = np.zeros((channels, height, width), np.float32)
    for c, i, j in np.ndindex(*result.shape):
        for k, m in np.ndindex(high, wide):
            x = image[c, i * stride[0] + k * dilation[0], j * stride[1] + m * dilation[1]]
            result[c, i, j] = fused_multiply_add(x, kernel[c, k, m], result[c, i, j])
    return result


WINDOWS = [((1, 1), (0, 3), (1, 1), (1, 4)), ((2, 1), (1, 2), (1, 3), (3, 2)), ((1, 3), (0, 0), (2, 1), (5, 5))]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("channels", [3, 16, 70])
@pytest.mark.parametrize(("stride", "padding", "dilation", "taps"), WINDOWS)
def test_a_depthwise_convolution_adds_taps_in_order(channels, stride, padding, dilation, taps):
    image, kernel = wide(2, channels, 9, 11), wide(channels, 1, *taps, seed=1)
    window = (stride, padding, dilation, channels)
    assert depthwise.takes(image.shape, kernel.shape, window)
    images, kernels = image.numpy(), kernel[:, 0].numpy()
    expected = np.stack([reference_convolution(each, kernels, stride, padding, dilation) for each in images])
    ours = depthwise.convolution(image, kernel, window)
    assert torch.equal(bits(ours), bits(torch.tensor(expected)))
    exact = torch.nn.functional.conv2d(image.double(), kernel.double(), None, *window)
    torch.testing.assert_close(ours.double(), exact, rtol=1e-4, atol=1e-2)


def test_convolutions_with_several_inputs_an_output_or_many_elements_are_a_librarys():
    plain = ((1, 1), (0, 0), (1, 1), 8)
    assert depthwise.takes((1, 8, 4, 4), (8, 1, 3, 3), plain)
    assert not depthwise.takes((1, 8, 4, 4), (16, 1, 3, 3), plain)
    assert not depthwise.takes((1, 16, 4, 4), (8, 2, 3, 3), plain)
    assert not depthwise.takes((1, 1, 4, 4), (1, 1, 3, 3), (*plain[:3], 1))
    assert not depthwise.takes((1, 8, 2, 4), (8, 1, 3, 3), plain)
    assert depthwise.takes((1, 8, 62, 58), (8, 1, 3, 3), plain)
    assert not depthwise.takes((1, 8, 130, 34), (8, 1, 3, 3), plain)
    assert not depthwise.takes((1, 8, 1024, 1024), (8, 1, 1, 1), ((8, 8), *plain[1:]))


def test_large_products_are_a_librarys():
    assert not sums.is_large(32, 4096, 1 << 16)
    assert not sums.is_large(64, 256, 256)
    assert sums.is_large(64, 256, 257)


def test_empty_products():
    assert sums.product(torch.zeros(2, 0), torch.zeros(0, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert sums.product(torch.zeros(4, 2, 3), torch.zeros(3, 0)).shape == (4, 2, 0)
    assert sums.product(torch.zeros(0, 3), torch.zeros(3, 5)).shape == (0, 5)


EXACT = {
    "cos": torch.cos,
    "exp": torch.exp,
    "gelu": torch.nn.functional.gelu,
    "log": torch.log,
    "log1p": torch.log1p,
    "sigmoid": torch.sigmoid,
    "silu": torch.nn.functional.silu,
    "sin": torch.sin,
    "tanh": torch.tanh,
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_are_near_a_zero_and_far_away(name):
    turns = torch.arange(-700_000, 700_000, 997).double() * (torch.pi / 2)
    x = torch.cat([turns.float(), torch.tensor([1048576.0, 1048578.0, -3e7, 3e38, torch.inf, -torch.inf, -0.0])])
    ours, exact = approximations.APPROXIMATIONS[name](x), EXACT[name](x.double()).float()
    torch.testing.assert_close(ours, exact, rtol=2e-7, atol=0, equal_nan=True)
    assert ours[-1].signbit() == exact[-1].signbit()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["log", "log1p"])
def test_logarithms_are_precise_from_the_least_to_the_greatest_number(name):
    patterns = torch.arange(1, 0x7F800000, 9973, dtype=torch.int64).to(torch.int32)
    x = torch.cat([patterns.view(torch.float32), torch.linspace(-1, 3, 100_001), torch.tensor([-0.0, -2.0, torch.inf])])
    ours, exact = approximations.APPROXIMATIONS[name](x), EXACT[name](x.double()).float()
    torch.testing.assert_close(ours, exact, rtol=1.2e-7, atol=0, equal_nan=True)
    zero = approximations.APPROXIMATIONS[name](torch.tensor([-0.0, 0.0]))
    assert torch.equal(bits(zero), bits(EXACT[name](torch.tensor([-0.0, 0.0]))))


@needs_compiler
@pytest.mark.parametrize("name", EXACT)
def test_functions_have_the_same_bits_in_torch_and_in_cpp(name):
    patterns = torch.arange(-(1 << 31), 1 << 31, 65521, dtype=torch.int64).to(torch.int32)
    x = patterns.view(torch.float32)
    ours, definition = approximations.APPROXIMATIONS[name](x), approximations.DEFINITIONS[name](x)
    known = ~definition.isnan()
    assert torch.equal(ours.isnan(), ~known)
    assert torch.equal(bits(ours[known]), bits(definition[known]))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", EXACT)
def test_functions_are_near(name):
    x = torch.cat([torch.linspace(-20, 20, 20001), torch.tensor([-0.0, 0.0, torch.inf, 1e-30, -200.0, 150.0])])
    exact, ours = EXACT[name](x.double()).float(), approximations.APPROXIMATIONS[name](x)
    torch.testing.assert_close(ours, exact, rtol=4e-7, atol=1e-7, equal_nan=True)
    narrow = approximations.APPROXIMATIONS[name](x.bfloat16())
    assert narrow.dtype is torch.bfloat16
    exact = EXACT[name](x.bfloat16().double()).float()
    torch.testing.assert_close(narrow.float(), exact, rtol=2**-8, atol=1e-7, equal_nan=True)


@needs_compiler
@pytest.mark.parametrize("instructions", [["-mno-avx512f"], ["-mno-avx2", "-mno-fma", "-mno-avx512f"]])
def test_instruction_sets_change_no_bit(tmp_path, instructions):
    """A CPU without AVX-512, and one without AVX2, for which the compiler calls the C library's fma."""
    sources = Path(library.__file__).parent / "cpp"
    other = tmp_path / "library.so"
    flags = [
        "-std=c++17",
        "-O2",
        "-march=native",
        "-fPIC",
        "-shared",
        "-fopenmp",
        "-ffp-contract=off",
        "-fno-math-errno",
    ]
    command = [build.compiler(), *flags, *instructions, str(sources / "library.cpp"), "-o", str(other)]
    subprocess.run(command, check=True)
    plain = library.Library(build.Build("", ctypes.CDLL(str(other))))
    mine = library.library()
    a, b = wide(7, 300), sums.packed(wide(300, 40, seed=1))
    results = [torch.empty(7, 48) for _ in range(2)]
    for each, result in zip((mine, plain), results, strict=True):
        each.multiply(a, b, result, 7, 300, 40)
    assert torch.equal(bits(results[0]), bits(results[1]))
    x = wide(3, 1000, 5)
    totals = [torch.empty(3, 5) for _ in range(2)]
    for each, total in zip((mine, plain), totals, strict=True):
        each.sums(x, total, 3, 1000, 5)
    assert torch.equal(bits(totals[0]), bits(totals[1]))
    image, kernel = wide(2, 6, 7, 37), wide(3, 2, 37, seed=1)
    sizes = torch.tensor([2, 6, 7, 37, 3, 2, 4, 6, 1, 1, 1, 1])
    convolved = [torch.empty(2, 4, 6, 37) for _ in range(2)]
    for each, result in zip((mine, plain), convolved, strict=True):
        each.depthwise(image, kernel, result, sizes)
    assert torch.equal(bits(convolved[0]), bits(convolved[1]))
    for name, function in mine.functions.items():
        outcomes = [torch.empty_like(a) for _ in range(2)]
        function(a, outcomes[0], a.numel())
        plain.functions[name](a, outcomes[1], a.numel())
        assert torch.equal(bits(outcomes[0]), bits(outcomes[1])), name
