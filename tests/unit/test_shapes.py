"""Tests of shape functions against the functions of NumPy and torch with the same names."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tt_xla.ir import shapes

pytestmark = pytest.mark.quick

SHAPES = st.lists(st.integers(1, 5), max_size=4).map(tuple)


@given(SHAPES, SHAPES)
def test_broadcast_is_numpys(a: shapes.Shape, b: shapes.Shape) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="do not broadcast together"):
            shapes.broadcast(a, b)
    else:
        assert shapes.broadcast(a, b) == expected


def test_broadcast_of_nothing_and_of_empty() -> None:
    assert shapes.broadcast() == ()
    assert shapes.broadcast((0, 3), (1, 3)) == (0, 3)


@given(SHAPES, st.lists(st.integers(-5, 4), max_size=4), st.booleans())
def test_reduce_is_numpys(shape: shapes.Shape, dims: list[int], keep: bool) -> None:
    try:
        expected = np.zeros(shape).sum(axis=tuple(dims), keepdims=keep).shape
    except ValueError:
        with pytest.raises(ValueError, match="are not distinct dimensions of rank"):
            shapes.reduce(shape, dims, keep)
    else:
        assert shapes.reduce(shape, dims, keep) == expected


def test_reduce_of_all() -> None:
    assert shapes.reduce((2, 3), None, True) == (1, 1)
    assert shapes.reduce((2, 3), None, False) == ()
    assert shapes.reduce((2, 3), (), False) == (2, 3)


@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), st.permutations(range(len(shape))))))
def test_permute_is_numpys(case: tuple[shapes.Shape, list[int]]) -> None:
    shape, permutation = case
    assert shapes.permute(shape, permutation) == np.zeros(shape).transpose(permutation).shape


@pytest.mark.parametrize("permutation", [(0,), (0, 0), (0, 2), (0, 1, 2), (-1, 0)])
def test_what_is_no_permutation(permutation: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="is not a permutation of the 2 dimensions"):
        shapes.permute((2, 3), permutation)


def test_concat() -> None:
    assert shapes.concat([(2, 3), (2, 0), (2, 4)], 1) == (2, 7)
    assert shapes.concat([(2, 3), (5, 3)], -2) == (7, 3)
    with pytest.raises(ValueError, match="differ outside dimension 1"):
        shapes.concat([(2, 3), (3, 3)], 1)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(1, 4))
def test_slice_is_numpys(size: int, begin: int, end: int, step: int) -> None:
    if begin <= end <= size:
        assert shapes.slice_static((size,), (begin,), (end,), (step,)) == np.zeros(size)[begin:end:step].shape
    else:
        with pytest.raises(ValueError, match="does not lie in a dimension of size"):
            shapes.slice_static((size,), (begin,), (end,), (step,))


def test_pad() -> None:
    assert shapes.pad((2, 3), (0, 1, 2, 3)) == (3, 8)
    assert shapes.pad((), ()) == ()


MATRICES = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)


@given(MATRICES, MATRICES)
def test_matmul_is_torchs(a: shapes.Shape, b: shapes.Shape) -> None:
    try:
        expected = tuple(torch.matmul(torch.zeros(a), torch.zeros(b)).shape)
    except RuntimeError:
        with pytest.raises(ValueError, match=r"inner dimensions differ|do not broadcast"):
            shapes.matmul(a, b, False, False)
    else:
        assert shapes.matmul(a, b, False, False) == expected


def test_matmul_with_transposed_operands() -> None:
    assert shapes.matmul((7, 5, 4), (6, 5), True, True) == (7, 4, 6)
    assert shapes.matmul((5,), (6, 5), True, True) == (6,)


WINDOWS = st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.booleans())


@given(WINDOWS, st.integers(0, 2))
def test_window_is_torchs(case: tuple[int, int, int, int, bool], padding: int) -> None:
    size, kernel, stride, dilation, ceil_mode = case
    padding = min(padding, kernel // 2)
    assume(dilation * (kernel - 1) < size + 2 * padding)
    pool = torch.nn.MaxPool1d(kernel, stride, padding, dilation, ceil_mode=ceil_mode)
    expected = pool(torch.zeros(1, 1, size)).shape[-1]
    assert shapes.window(size, kernel, stride, padding, padding, dilation, ceil_mode) == expected


PLACES = st.integers(0, 9)


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 4), PLACES, PLACES, st.integers(1, 3))
def test_window_within_reads_the_same_elements(
    size: int, kernel: int, stride: int, low: int, high: int, dilation: int
) -> None:
    assume(size + low + high > (kernel - 1) * dilation)

    def read(window: shapes.Window) -> list[list[int]]:
        count = shapes.window(size, window.kernel, window.stride, window.low, window.high, window.dilation)
        windows = [
            [first * window.stride - window.low + place * window.dilation for place in range(window.kernel)]
            for first in range(count)
        ]
        return [[place for place in places if 0 <= place < size] for places in windows]

    full = shapes.Window(kernel, stride, low, high, dilation)
    clipped = full.within(size)
    assert read(clipped) == read(full)
    assert clipped.within(size) == clipped
    assert min(clipped.low, clipped.high) >= 0
    if dilation == 1 and len(read(full)) == 1 and any(read(full)):
        assert (clipped.low, clipped.kernel) == (0, len(read(full)[0]))


def test_window_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"a window of 5 does not fit in 3 \+ 1 \+ 0"):
        shapes.window(3, 3, 1, 1, 0, 2)
    with pytest.raises(ValueError, match="must be 1 or more"):
        shapes.window(3, 0, 1, 0, 0, 1)
