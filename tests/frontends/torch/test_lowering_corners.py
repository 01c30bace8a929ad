"""Corner cases of lowering rules: 0-dim tensors, sums of booleans, rounding of integers and the like."""

from __future__ import annotations

import math

import pytest
import torch

from tt_xla.errors import UnsupportedOpError

aten = torch.ops.aten


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_scatter_to_a_diagonal(check, offset):
    x = torch.randn(2, 4, 3)
    source = torch.diagonal(x, offset, 2, 1) * 10
    check(lambda x, source: torch.diagonal_scatter(x, source, offset, 2, 1), x, source)


def test_rounding_integers(check):
    check(lambda x: (x.ceil(), x.floor(), x.trunc(), x.round()), torch.arange(-3, 3))


def test_copies_of_parts(check):
    check(lambda x: aten.split_copy.Tensor(x, 2, 1), torch.randn(2, 5))


def test_copysign(check):
    x = torch.tensor([1.0, -2.0, 3.0, -0.0])
    check(lambda x, y: (torch.copysign(x, y), torch.copysign(x, -1)), x, torch.tensor([-0.0, 0.0, -5.0, -1.0]))


def test_digamma_at_its_poles(check):
    check(torch.digamma, torch.tensor([0.0, -0.0, 1.0, 2.5]))


@pytest.mark.parametrize("right", [False, True])
def test_bucketize(check, right):
    x, edges = torch.tensor([[1.0, 2.0], [9.0, -1.0]]), torch.tensor([1.0, 2.0, 4.0])
    check(lambda x, edges: torch.bucketize(x, edges, right=right), x, edges)


def test_complex_numbers_from_parts(check):
    x, y = torch.randn(3), torch.randn(2, 1)
    check(lambda x, y: (torch.view_as_real(torch.complex(x, y.expand(2, 3))), torch.polar(x, y).real), x, y)


def test_sums_of_booleans(check):
    x, positions = torch.tensor([True, False, False]), torch.tensor([1, 1, 0])
    source = torch.tensor([False, True, False])
    check(lambda x, i, s: (x.scatter_add(0, i, s), x.index_put((i,), s, accumulate=True)), x, positions, source)


@pytest.mark.parametrize("size", [0, 1])
def test_windows_of_a_0_dim_tensor(check, size):
    check(lambda x: x.unfold(0, size, 1), torch.tensor(math.pi))


@pytest.mark.parametrize("keepdim", [False, True])
def test_medians_and_kth_values(check, keepdim):
    x = torch.tensor([[3.0, math.nan, 1.0, math.nan], [4.0, 2.0, 9.0, 7.0]])
    check(lambda x: (*torch.median(x, 1, keepdim), *torch.kthvalue(x, 3, 1, keepdim)), x[1:])
    check(lambda x: torch.median(x, 1, keepdim).values, x)


@pytest.mark.parametrize("order", [0, 1, 2, 3.0, math.inf])
def test_distances(check, order):
    check(lambda x, y: torch.cdist(x, y, order), torch.randn(2, 3, 5), torch.randn(4, 5))
    check(lambda x: torch.nn.functional.pdist(x, order), torch.randn(4, 5))


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
def test_scatters_that_combine(check, reduce, include_self):
    positions = torch.tensor([[0, 0, 2], [1, 1, 1]])
    for x in (torch.randn(2, 3), torch.arange(-3, 3).view(2, 3)):
        source = x.flip(1) * 3 - 1
        options = {"reduce": reduce, "include_self": include_self}
        check(lambda x, i, s: x.scatter_reduce(1, i, s, **options), x, positions, source)  # noqa: B023


def test_take_from_the_flattened_tensor(check):
    check(torch.take, torch.arange(6.0).view(2, 3), torch.tensor([[5, -1], [0, -6]]))


def test_negative_powers_of_integers(check):
    base = torch.tensor([-2, -1, 0, 1, 2, 9])[:, None]
    exponents = torch.tensor([-3, -2, -1, 0, 1, 8])
    base = base.expand(6, 6)[torch.tensor([0, 1, 3, 4, 5])]  # torch does not define negative powers of 0
    check(torch.pow, base, exponents)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32])
def test_powers_of_integers_wrap_around(check, dtype):
    """No power of 3 vanishes, however large its exponent, and those of 2 vanish from the type's width on."""
    base = torch.tensor([0, 1, 2, 3, 6, 7], dtype=dtype)[:, None]
    largest = torch.iinfo(dtype).max
    exponents = torch.tensor([31, 64, 65, 100, largest - 1, largest], dtype=torch.int32).to(dtype)
    check(torch.pow, base.expand(6, 6), exponents.expand(6, 6))
    check(lambda y: torch.pow(3, y), exponents)
    check(lambda x: torch.pow(x, 100), base)


def test_gradients_of_softmax_in_bfloat16_are_rounded_once(check):
    torch.manual_seed(0)
    grad, output = torch.randn(5, 40).bfloat16() * 8, torch.randn(5, 40).softmax(1).bfloat16()
    for op in (torch.ops.aten._softmax_backward_data, torch.ops.aten._log_softmax_backward_data):
        check(lambda g, o, op=op: op(g, o, 1, torch.bfloat16), grad, output, rtol=8e-3, atol=1e-4)


def test_arithmetic_of_booleans(check):
    x, y = torch.tensor([True, False, True]), torch.tensor([True, True, False])
    check(lambda x, y: (torch.add(x, y), torch.add(x, y, alpha=False), torch.prod(x, dtype=torch.bool)), x, y)


def test_searches(check):
    edges = torch.tensor([[1.0, 2.0, 4.0], [0.0, 0.0, 1.0]])
    check(lambda e, x: torch.searchsorted(e, x, side="right"), edges, torch.tensor([[2.0, 9.0], [0.0, -1.0]]))


def test_extremes_that_skip_nan_and_sides_of_triangles(check):
    x, y = torch.tensor([1.0, math.nan, math.nan, 3e38]), torch.tensor([2.0, 5.0, math.nan, 1e38])
    check(lambda x, y: (torch.fmax(x, y), torch.fmin(x, y), torch.hypot(x, y), torch.angle(-x)), x, y)


STRIDED = {
    "windows": ((3, 8, 2), (8, 2, 1), 0),
    "windows_within": ((2, 3, 6), (12, 4, 1), 2),
    "reversed": ((2, 4), (1, 2), 5),
    "repeated": ((3, 2, 2), (0, 5, 1), 1),
    "crossing": ((3, 3), (2, 3), 1),
    "none": ((0, 2), (2, 1), 3),
}


@pytest.mark.parametrize("name", STRIDED)
def test_as_strided(name, check):
    size, stride, offset = STRIDED[name]
    check(lambda x: x.as_strided(size, stride, offset), torch.randn(4, 8))
    check(lambda x: x.as_strided(size, stride, offset), torch.randn(8, 4).t())


def test_overlapping_windows_are_slices(lowered):
    module = lowered(lambda x: x.as_strided((2, 3, 8, 4), (64, 16, 4, 1)), torch.randn(2, 16, 4)).module
    assert "gather" not in str(module)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unitriangular", [False, True])
def test_triangular_systems(check, upper, left, unitriangular):
    a = torch.randn(2, 1, 5, 5, generator=torch.Generator().manual_seed(0)) + 4 * torch.eye(5)
    b = torch.randn(3, 5, 5, generator=torch.Generator().manual_seed(1))[..., : 2 if left else 5]
    options = {"upper": upper, "left": left, "unitriangular": unitriangular}
    check(lambda a, b: torch.linalg.solve_triangular(a, b, **options), a, b, rtol=1e-3, atol=1e-3)


def test_a_triangular_system_of_ones(check):
    """The powers of this triangle have numbers of ten digits; its inverse has only 1, -1 and 0."""
    a, b = torch.ones(1, 64, 64), torch.arange(64.0).view(64, 1)
    check(lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), a, b)


def extremes(x, dim):
    return *torch.cummax(x, dim), *torch.cummin(x, dim)


@pytest.mark.parametrize("dim", [0, 1])
def test_running_extremes(check, dim):
    ties = torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0], [5.0, 7.0, 1.0, 0.0, 9.0], [5.0, -math.inf, 4.0, 0.0, 9.0]])
    for x in (ties, torch.randint(-3, 3, (7, 9)), torch.tensor([[True, False], [False, True]])):
        check(lambda x: extremes(x, dim), x)
    check(lambda x: (*torch.cummax(x, 0), *torch.cummin(x[None][:, :0], 1)), torch.tensor([4]))


@pytest.mark.usefixtures("exact")
def test_nan_is_the_running_extreme_from_its_position_on():
    x = torch.tensor([[5.0, math.nan, 1.0, math.nan, 9.0], [5.0, -math.inf, 4.0, 0.0, 9.0]])
    for got, expected in zip(extremes(x.to("tt"), 1), extremes(x, 1), strict=True):
        torch.testing.assert_close(got.cpu(), expected, equal_nan=True)


@pytest.mark.parametrize("number", [2.5, 3, True])
def test_numbers_under_vmap(check, number):
    check(lambda x: torch.vmap(lambda row: row * number)(x), torch.arange(6.0).reshape(2, 3))


def test_factors_of_numbers(check):
    """The overloads with a number take the factor by position; the others take it by name."""
    x = torch.tensor([1.0, -2.5])
    check(lambda x: (aten.add.Scalar(x, 2, 3), aten.sub.Scalar(x, 2, 3), aten.rsub.Scalar(x, 2, 3)), x)


def test_shifts_of_unsigned_integers_bring_in_zeros(check):
    x, by = torch.tensor([255, 128, 9], dtype=torch.uint8), torch.tensor([6, 200, 1], dtype=torch.uint8)
    check(lambda x, by: (x >> by, x >> 4, x << by), x, by)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_of_bfloat16_has_its_digits_below_zero(check, approximate):
    x = torch.linspace(-3.5, -1, 40).bfloat16()
    check(lambda x: aten.gelu(x, approximate=approximate), x)


@pytest.mark.parametrize(("one", "other"), [((3,), (2, 3, 4)), ((2, 5, 3), (3,)), ((3,), (2, 1, 3, 4))])
def test_vectors_by_batches_of_matrices(check, one, other):
    check(aten.matmul, torch.randn(one), torch.randn(other))


def test_powers_of_complex_numbers(check):
    x = torch.tensor([0, 0, 0, 1 + 2j, -1j])
    check(lambda x, y: (x**y, x**2, x ** (0.5 + 1j)), x, torch.tensor([0.5 - 1.5j, 2, 0.1, 1j, -2 + 0.5j]))


def test_a_slice_without_elements_is_written_to_nothing(check):
    check(lambda x, y: torch.slice_scatter(x, y, 1, 6, None, 2), torch.randn(2, 3), torch.randn(2, 0))


def test_truths_along_no_dimensions_are_those_of_the_elements(check):
    check(
        lambda x: (aten.any.dims(x, []), aten.all.dims(x, []), aten.any.dims(x, None)), torch.tensor([[0, 2], [3, 0]])
    )


def test_images_of_integers_are_resized_with_pytorch_s_weights(check, lowered):
    def resized(x, antialias):
        return torch.nn.functional.interpolate(x, size=(2, 5), mode="bilinear", antialias=antialias)

    image = torch.arange(0, 240, 10, dtype=torch.uint8).reshape(1, 1, 4, 6)
    check(lambda x: resized(x, antialias=False), image)  # PyTorch's decomposition
    with pytest.raises(UnsupportedOpError, match="not supported for integers"):
        lowered(lambda x: resized(x, antialias=True), image)


def test_sums_of_complex_exponentials_run_on_the_host(lowered):
    with pytest.raises(UnsupportedOpError, match="not supported of complex numbers"):
        lowered(lambda x: aten.logsumexp(x, [0]), torch.tensor([1 + 2j, 0.5]))


@pytest.mark.parametrize("pool", [torch.nn.functional.adaptive_avg_pool2d, torch.nn.functional.adaptive_max_pool2d])
def test_an_adaptive_pool_to_no_element_is_empty(pool):
    x = torch.randn(2, 3, 5, 7)
    compiled = torch.compile(lambda x: pool(x, (0, 3)), backend="tt")
    assert compiled(x).shape == (2, 3, 0, 3)
