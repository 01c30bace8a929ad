"""Shape functions of ops, which verifiers and builders share. A shape is a tuple of element counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

Shape = tuple[int, ...]


def broadcast(*shapes: Shape) -> Shape:
    """Returns the shape that NumPy broadcasts ``shapes`` to.

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
    """Returns dimensions as non-negative, sorted numbers.

    Args:
        dims: dimensions, where -1 is the last one; None for all.
        rank: number of dimensions of the tensor.

    Raises:
        ValueError: a dimension is out of range or appears twice.
    """
    if dims is None:
        return tuple(range(rank))
    normalised = tuple(sorted(dim + rank if dim < 0 else dim for dim in dims))
    if any(not 0 <= dim < rank for dim in normalised) or len(set(normalised)) != len(normalised):
        raise ValueError(f"dimensions {list(dims)} are not distinct dimensions of rank {rank}")
    return normalised


def reduce(shape: Shape, dims: Sequence[int] | None, keep_dim: bool) -> Shape:
    """Returns the shape after a reduction over ``dims``, all dimensions for None; ``keep_dim`` keeps them as 1."""
    reduced = normalise_dims(dims, len(shape))
    if keep_dim:
        return tuple(1 if dim in reduced else size for dim, size in enumerate(shape))
    return tuple(size for dim, size in enumerate(shape) if dim not in reduced)


def permute(shape: Shape, permutation: Sequence[int]) -> Shape:
    """Returns the shape whose dimension ``d`` is dimension ``permutation[d]`` of ``shape``.

    Raises:
        ValueError: ``permutation`` is not a permutation of the dimensions.
    """
    if sorted(permutation) != list(range(len(shape))):
        raise ValueError(f"{list(permutation)} is not a permutation of the {len(shape)} dimensions of {shape}")
    return tuple(shape[dim] for dim in permutation)


def concat(shapes: Sequence[Shape], dim: int) -> Shape:
    """Returns the shape of tensors joined along ``dim``.

    Raises:
        ValueError: the shapes differ in another dimension.
    """
    first = shapes[0]
    dim = normalise_dims((dim,), len(first))[0]
    for shape in shapes[1:]:
        if len(shape) != len(first) or any(
            a != b for position, (a, b) in enumerate(zip(shape, first, strict=True)) if position != dim
        ):
            raise ValueError(f"shapes {', '.join(map(str, shapes))} differ outside dimension {dim}")
    return (*first[:dim], sum(shape[dim] for shape in shapes), *first[dim + 1 :])


def slice_static(shape: Shape, begins: Sequence[int], ends: Sequence[int], step: Sequence[int]) -> Shape:
    """Returns the shape of the slice ``begins:ends:step``.

    Raises:
        ValueError: the slice has another rank, or does not lie in ``shape``.
    """
    if not len(shape) == len(begins) == len(ends) == len(step):
        raise ValueError(f"begins, ends and step need one entry for each of the {len(shape)} dimensions")
    result: list[int] = []
    for size, begin, end, stride in zip(shape, begins, ends, step, strict=True):
        if not (0 <= begin <= end <= size and stride >= 1):
            raise ValueError(f"slice {begin}:{end}:{stride} does not lie in a dimension of size {size}")
        result.append(-(-(end - begin) // stride))
    return tuple(result)


def pad(shape: Shape, padding: Sequence[int]) -> Shape:
    """Returns the shape after padding; ``padding`` is low, high of each dimension in turn.

    Raises:
        ValueError: ``padding`` has another length, or a negative entry.
    """
    if len(padding) != 2 * len(shape) or min(padding, default=0) < 0:
        raise ValueError(f"padding {list(padding)} does not fit shape {shape}: expected two counts for each dimension")
    return tuple(size + padding[2 * dim] + padding[2 * dim + 1] for dim, size in enumerate(shape))


def matmul(a: Shape, b: Shape, transpose_a: bool, transpose_b: bool) -> Shape:
    """Returns the shape of a matrix product with broadcast batch dimensions.

    Operands of rank 1 are treated as in ``torch.matmul``.

    Raises:
        ValueError: the operands do not multiply.
    """
    if not a or not b:
        raise ValueError(f"operands have shapes {a} and {b}, expected rank 1 or more")
    left = (1, *a) if len(a) == 1 else (*a[:-2], a[-1], a[-2]) if transpose_a else a
    right = (*b, 1) if len(b) == 1 else (*b[:-2], b[-1], b[-2]) if transpose_b else b
    if left[-1] != right[-2]:
        raise ValueError(f"inner dimensions differ: {left[-1]} of {a} and {right[-2]} of {b}")
    rows = left[-2:-1] if len(a) > 1 else ()
    columns = right[-1:] if len(b) > 1 else ()
    return (*broadcast(left[:-2], right[:-2]), *rows, *columns)


def check_index(index: Shape, operand: Shape, dim: int) -> None:
    """Checks that a tensor of positions along ``dim`` has the operand's rank and fits its other dimensions.

    Raises:
        ValueError: it does not.
    """
    fits = len(index) == len(operand) and all(
        size <= limit for position, (size, limit) in enumerate(zip(index, operand, strict=True)) if position != dim
    )
    if not fits:
        raise ValueError(f"index of shape {index} does not lie in an operand of shape {operand} along {dim}")


def pair(value: int | Sequence[int], name: str) -> tuple[int, int]:
    """Returns height and width of a property that gives one number for both, or two.

    Raises:
        ValueError: the property has another number of entries.
    """
    if isinstance(value, int):
        return value, value
    if len(value) != 2:
        raise ValueError(f"{name} {tuple(value)} has {len(value)} entries, expected 2")
    return value[0], value[1]


def borders(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Returns top, left, bottom and right of a padding, which gives one number, height and width, or all four.

    Raises:
        ValueError: the padding has another number of entries.
    """
    if isinstance(padding, int):
        return padding, padding, padding, padding
    if len(padding) == 2:
        return padding[0], padding[1], padding[0], padding[1]
    if len(padding) != 4:
        raise ValueError(f"padding {tuple(padding)} has {len(padding)} entries, expected 2 or 4")
    return padding[0], padding[1], padding[2], padding[3]


def transposed_window(size: int, kernel: int, stride: int, low: int, high: int, dilation: int, extra: int) -> int:
    """Returns the output size of one dimension of a transposed convolution.

    Args:
        size: input size.
        kernel: size of the window.
        stride: step of the window.
        low: padding before the first element.
        high: padding after the last element.
        dilation: distance between elements of the window.
        extra: output padding.

    Raises:
        ValueError: a number is out of range, or nothing is left.
    """
    if min(kernel, stride, dilation) < 1 or min(low, high, extra) < 0:
        raise ValueError(
            f"kernel {kernel}, stride {stride}, dilation {dilation} and paddings {low}, {high}, {extra} do not fit: "
            "expected 1 or more, and paddings of 0 or more"
        )
    output_size = (size - 1) * stride - low - high + dilation * (kernel - 1) + extra + 1
    if output_size < 0:
        raise ValueError(f"paddings {low} and {high} leave nothing of size {size}")
    return output_size


def check_window(*, padding: Sequence[int], **pairs: Sequence[int]) -> None:
    """Checks that a window over height and width has four paddings, none negative, and two of everything else.

    Raises:
        ValueError: a property has another number of entries, or a negative padding; the message names it.
    """
    for name, values in {**pairs, "padding": padding}.items():
        count = 4 if name == "padding" else 2
        if len(values) != count:
            raise ValueError(f"{name} {tuple(values)} has {len(values)} entries, expected {count}")
    if min(padding) < 0:
        raise ValueError(f"padding {tuple(padding)} has a negative entry")


def window(size: int, kernel: int, stride: int, low: int, high: int, dilation: int, ceil_mode: bool = False) -> int:
    """Returns the output size of one dimension of a convolution or pooling.

    Args:
        size: input size.
        kernel: size of the window.
        stride: step of the window.
        low: padding before the first element.
        high: padding after the last element.
        dilation: distance between elements of the window.
        ceil_mode: whether a last window that lies partly outside counts.

    Raises:
        ValueError: a number is out of range, or the window does not fit.
    """
    if min(kernel, stride, dilation) < 1:
        raise ValueError(f"kernel {kernel}, stride {stride} and dilation {dilation} must be 1 or more")
    free = size + low + high - dilation * (kernel - 1) - 1
    if free < 0:
        raise ValueError(f"a window of {dilation * (kernel - 1) + 1} does not fit in {size} + {low} + {high}")
    count = (free + stride - 1 if ceil_mode else free) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + low else count


@dataclass(frozen=True)
class Window:
    """One dimension of a window that slides over a tensor."""

    kernel: int
    stride: int
    low: int
    """Padding before the first element."""
    high: int
    """Padding after the last element."""
    dilation: int = 1
    base_dilation: int = 1
    """Distance at which the elements of the tensor lie, with padding between them."""

    @property
    def moves(self) -> bool:
        """Whether the window slides along the dimension, rather than covering one element after the other."""
        return replace(self, dilation=1) != Window(1, 1, 0, 0)

    def is_running(self, size: int, *, backwards: bool = False) -> bool:
        """Whether the window covers all elements of a tensor of this size up to each one, or from each one on."""
        return self == Window(size, 1, *((0, size - 1) if backwards else (size - 1, 0)))

    def within(self, size: int) -> Window:
        """Returns the window without the elements that lie in the padding for every result.

        A window that fills its input has stride 1.

        Args:
            size: number of elements of the tensor.
        """
        size = (size - 1) * self.base_dilation + 1
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
        return replace(self, kernel=kernel, stride=1 if fills else self.stride, low=low, high=high)
