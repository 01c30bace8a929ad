"""Shape functions, one an op, used by verifiers and builders both. Shapes are tuples of element counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]


def broadcast(*shapes: Shape) -> Shape:
    """NumPy broadcasting.

    Raises:
        ValueError: two sizes of one dimension differ and neither is 1.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[int] = []
    for position in range(-rank, 0):
        sizes = {shape[position] for shape in shapes if len(shape) >= -position} - {1}
        if len(sizes) > 1:
            raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast together")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def normalise_dims(dims: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Dimensions as non-negative, sorted numbers; None means all.

    Raises:
        ValueError: one is out of range or appears twice.
    """
    if dims is None:
        return tuple(range(rank))
    found = tuple(sorted(dim + rank if dim < 0 else dim for dim in dims))
    if any(not 0 <= dim < rank for dim in found) or len(set(found)) != len(found):
        raise ValueError(f"dimensions {list(dims)} are not distinct dimensions of rank {rank}")
    return found


def reduce(shape: Shape, dims: Sequence[int] | None, keep_dim: bool) -> Shape:
    reduced = normalise_dims(dims, len(shape))
    if keep_dim:
        return tuple(1 if dim in reduced else size for dim, size in enumerate(shape))
    return tuple(size for dim, size in enumerate(shape) if dim not in reduced)


def permute(shape: Shape, permutation: Sequence[int]) -> Shape:
    if sorted(permutation) != list(range(len(shape))):
        raise ValueError(f"{list(permutation)} is not a permutation of the {len(shape)} dimensions of {shape}")
    return tuple(shape[dim] for dim in permutation)


def concat(shapes: Sequence[Shape], dim: int) -> Shape:
    first = shapes[0]
    dim = normalise_dims((dim,), len(first))[0]
    for shape in shapes[1:]:
        if len(shape) != len(first) or any(
            a != b for position, (a, b) in enumerate(zip(shape, first, strict=True)) if position != dim
        ):
            raise ValueError(f"shapes {', '.join(map(str, shapes))} differ outside dimension {dim}")
    return (*first[:dim], sum(shape[dim] for shape in shapes), *first[dim + 1 :])


def slice_static(shape: Shape, begins: Sequence[int], ends: Sequence[int], step: Sequence[int]) -> Shape:
    if not len(shape) == len(begins) == len(ends) == len(step):
        raise ValueError(f"begins, ends and step need one entry for each of the {len(shape)} dimensions")
    result: list[int] = []
    for size, begin, end, stride in zip(shape, begins, ends, step, strict=True):
        if not (0 <= begin <= end <= size and stride >= 1):
            raise ValueError(f"slice {begin}:{end}:{stride} does not lie in a dimension of size {size}")
        result.append(-(-(end - begin) // stride))
    return tuple(result)


def pad(shape: Shape, padding: Sequence[int]) -> Shape:
    """``padding`` is low, high of each dimension in turn."""
    if len(padding) != 2 * len(shape) or min(padding, default=0) < 0:
        raise ValueError(f"padding {list(padding)} is not two counts for each of {len(shape)} dimensions")
    return tuple(size + padding[2 * dim] + padding[2 * dim + 1] for dim, size in enumerate(shape))


def matmul(a: Shape, b: Shape, transpose_a: bool, transpose_b: bool) -> Shape:
    """Batched matrix product with broadcast batch dimensions; rank 1 operands as in ``torch.matmul``."""
    if not a or not b:
        raise ValueError(f"matmul needs operands of rank 1 or more, got {a} and {b}")
    left = (1, *a) if len(a) == 1 else (*a[:-2], a[-1], a[-2]) if transpose_a else a
    right = (*b, 1) if len(b) == 1 else (*b[:-2], b[-1], b[-2]) if transpose_b else b
    if left[-1] != right[-2]:
        raise ValueError(f"inner dimensions differ: {left[-1]} of {a} and {right[-2]} of {b}")
    rows = left[-2:-1] if len(a) > 1 else ()
    columns = right[-1:] if len(b) > 1 else ()
    return (*broadcast(left[:-2], right[:-2]), *rows, *columns)


def pair(value: int | Sequence[int], name: str) -> tuple[int, int]:
    """Height and width of a property that gives one number for both, or two.

    Raises:
        ValueError: it gives another count.
    """
    if isinstance(value, int):
        return value, value
    if len(value) != 2:
        raise ValueError(f"{name} {tuple(value)} needs 2 entries")
    return value[0], value[1]


def borders(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Top, left, bottom and right of a padding that gives one number for all, height and width, or all four.

    Raises:
        ValueError: it gives another count.
    """
    if isinstance(padding, int):
        return padding, padding, padding, padding
    if len(padding) == 2:
        return padding[0], padding[1], padding[0], padding[1]
    if len(padding) != 4:
        raise ValueError(f"padding {tuple(padding)} needs 4 entries")
    return padding[0], padding[1], padding[2], padding[3]


def transposed_window(size: int, kernel: int, stride: int, low: int, high: int, dilation: int, extra: int) -> int:
    """Output size of one dimension of a transposed convolution."""
    if min(kernel, stride, dilation) < 1 or min(low, high, extra) < 0:
        raise ValueError(f"kernel {kernel}, stride {stride}, dilation {dilation} or paddings are out of range")
    found = (size - 1) * stride - low - high + dilation * (kernel - 1) + extra + 1
    if found < 0:
        raise ValueError(f"paddings {low} and {high} leave nothing of {size}")
    return found


def check_window(*, padding: Sequence[int], **pairs: Sequence[int]) -> None:
    """That a window over height and width has four paddings, none negative, and two of everything else.

    Raises:
        ValueError: it has not; the message names the property.
    """
    for name, values in {**pairs, "padding": padding}.items():
        count = 4 if name == "padding" else 2
        if len(values) != count:
            raise ValueError(f"{name} {tuple(values)} needs {count} entries")
    if min(padding) < 0:
        raise ValueError(f"padding {tuple(padding)} has a negative entry")


def window(size: int, kernel: int, stride: int, low: int, high: int, dilation: int, ceil_mode: bool = False) -> int:
    """Output size of one dimension of a convolution or pooling window."""
    if min(kernel, stride, dilation) < 1:
        raise ValueError(f"kernel {kernel}, stride {stride} and dilation {dilation} must be 1 or more")
    free = size + low + high - dilation * (kernel - 1) - 1
    if free < 0:
        raise ValueError(f"a window of {dilation * (kernel - 1) + 1} does not fit in {size} + {low} + {high}")
    count = (free + stride - 1 if ceil_mode else free) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + low else count


@dataclass(frozen=True)
class Window:
    """One dimension of a pooling window."""

    kernel: int
    stride: int
    low: int
    high: int
    """Padding before and after."""
    dilation: int = 1

    def within(self, size: int) -> Window:
        """Without the places that lie in the padding for every result; without a stride where it goes nowhere."""
        count = window(size, self.kernel, self.stride, self.low, self.high, self.dilation)
        reach = (count - 1) * self.stride
        first = max(0, min(-((reach - self.low) // self.dilation), self.low // self.dilation, self.kernel - 1))
        last = self.kernel + -(size + self.low) // self.dilation
        last = max(0, min(last, self.high // self.dilation, self.kernel - 1 - first))
        kernel, low, high = (
            self.kernel - first - last,
            self.low - first * self.dilation,
            self.high - last * self.dilation,
        )
        fills = size + low + high == (kernel - 1) * self.dilation + 1
        return Window(kernel, 1 if fills else self.stride, low, high, self.dilation)
