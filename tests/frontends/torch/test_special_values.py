"""NaN, infinities, signed zeros, ties and empty inputs: what torch.compile returns beside eager PyTorch on the CPU."""

import math

import pytest
import torch

NAN, INF = math.nan, math.inf
MIXED = torch.tensor([1.0, NAN, -INF, 0.0, -0.0, INF, NAN, 1.0, -2.0, 3.0])
COLUMNS = MIXED[:, None].repeat(1, 3).roll((0, 1), (1, 0))
TIES = torch.tensor([[2, 1, 2, 1, 0, 2], [0, 0, 0, 1, 1, 1]])
EDGES = torch.tensor([-1.0, 0.0, 0.0, 2.0, NAN, NAN])


def compiled(function):
    torch.compiler.reset()
    return torch.compile(function, backend="tt", options={"numerics": "exact"}, dynamic=False)


def assert_same(function, *arguments):
    """Compares values, NaN positions and, where a result is zero, signs."""
    expected = torch.utils._pytree.tree_leaves(function(*arguments))
    got = torch.utils._pytree.tree_leaves(compiled(function)(*arguments))
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)
        if other.is_floating_point():
            zero = other == 0
            assert torch.equal(one.signbit()[zero], other.signbit()[zero])


SORTS = {
    "sort": lambda x: torch.sort(x, dim=0, stable=True),
    "sort descending": lambda x: torch.sort(x, dim=0, stable=True, descending=True),
    "sort last": lambda x: torch.sort(x, dim=-1, stable=True, descending=True),
    "argsort descending": lambda x: torch.argsort(x, dim=0, stable=True, descending=True),
    "topk": lambda x: torch.topk(x, 3, dim=0)[0].abs(),
    "topk smallest": lambda x: torch.topk(x, 3, dim=0, largest=False)[0].abs(),
    "kthvalue": lambda x: torch.kthvalue(x, 2, dim=0)[0].abs(),
    "max": lambda x: torch.max(x, dim=0),
    "min": lambda x: torch.min(x, dim=0),
    "argmax": lambda x: torch.argmax(x, dim=0),
    "argmin": lambda x: torch.argmin(x, dim=0),
    "median": lambda x: torch.median(x, dim=0),
}


@pytest.mark.sample(24)
@pytest.mark.parametrize("name", SORTS)
@pytest.mark.parametrize(
    "x", [COLUMNS, TIES, TIES.bfloat16(), TIES.to(torch.int8)], ids=["nan", "ties", "bf16", "int8"]
)
def test_order_of_nan_and_equals(name, x):
    x = x if x.shape[0] >= 3 else x.t().contiguous()
    assert_same(SORTS[name], x)


def test_booleans_sort_in_descending_order():
    assert_same(lambda x: torch.sort(x, stable=True, descending=True), TIES.bool())


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("edges", [EDGES, EDGES[:4], EDGES[:0]], ids=["nan edges", "edges", "no edges"])
def test_nan_lies_after_every_edge(right, edges):
    assert_same(lambda x, edges: torch.bucketize(x, edges, right=right), MIXED, edges)
    assert_same(lambda x, edges: torch.searchsorted(edges, x, right=right), MIXED, edges)


DIVIDENDS = torch.tensor([1.0, -1.0, 0.0, -0.0, INF, -INF, NAN, 9.0, 0.3, -7.5])
DIVISORS = torch.tensor([1.0, -1.0, 0.0, -0.0, INF, -INF, NAN, 0.1, 0.1, 2.0])

POINTWISE = {
    "sign": lambda x, y: torch.sign(x),
    "floor_divide": torch.floor_divide,
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "remainder": torch.remainder,
    "fmod": torch.fmod,
}


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name):
    assert_same(POINTWISE[name], DIVIDENDS[:, None], DIVISORS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_floor_of_a_quotient_that_rounds_up_to_an_integer(dtype):
    x, y = torch.arange(1, 200).to(dtype) / 10, torch.tensor(0.1, dtype=dtype)
    assert_same(torch.floor_divide, x, y)


def test_median_of_a_dimension_without_elements_is_refused():
    with pytest.raises(IndexError, match="non-zero size"):
        compiled(lambda x: torch.median(x, dim=0))(torch.empty(0, 3))


ZERO_DIM = {
    "index_select": lambda x, index: x.index_select(0, index),
    "scatter": lambda x, index: x.scatter(0, index[0], torch.tensor(2.0)),
    "scatter_add": lambda x, index: x.scatter_add(0, index[0], torch.tensor(2.0)),
    "scatter_reduce": lambda x, index: x.scatter_reduce(0, index[0], torch.tensor(2.0), "sum"),
}


@pytest.mark.parametrize("name", ZERO_DIM)
def test_index_beyond_a_tensor_without_dimensions_is_refused(name):
    function = compiled(ZERO_DIM[name])
    x, inside = torch.tensor(1.0), torch.tensor([0])
    torch.testing.assert_close(function(x, inside), ZERO_DIM[name](x, inside))
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        function(x, torch.tensor([1]))


def test_no_positions_may_have_more_dimensions_than_what_they_point_into():
    positions = torch.empty(2, 0, dtype=torch.long)
    assert_same(lambda x, positions: x.gather(0, positions), torch.ones(5), positions)
    assert_same(lambda x, positions: x.scatter(0, positions, 2.0), torch.ones(5), positions)


def test_distance_of_order_0_counts_no_nan():
    x, y = torch.tensor([[1.0, NAN], [INF, 2.0]]), torch.tensor([[1.0, 1.5], [INF, 2.0], [1.0, 3.0]])
    assert_same(lambda x, y: torch.cdist(x, y, 0.0), x, y)
