"""Functions for host ops of a generated program: StableHLO semantics where torch's own differ.

Torch has no arithmetic for some unsigned types. Values of ``ui16`` are held in int32, ``ui32`` in int64, and ``ui64``
as bits in int64.
"""

import numpy
import torch
import utils

DTYPES = {
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "ui8": torch.uint8,
    "ui16": torch.int32,
    "ui32": torch.int64,
    "ui64": torch.int64,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128,
}
"""Torch dtype that holds each StableHLO element type."""


def run(function, inputs, input_types, output_types, output_dtypes):
    """Runs a function of torch tensors on row-major TT-NN tensors on the host.

    Args:
        function: takes and returns torch tensors.
        inputs: the TT-NN tensors.
        input_types: StableHLO element types of the function's arguments.
        output_types: StableHLO element types of its results.
        output_dtypes: TT-NN data types of the returned tensors; None for a result that stays an array.
    """
    arguments = [_torch_tensor(utils.array_of(tensor), kind) for tensor, kind in zip(inputs, input_types, strict=True)]
    return [
        utils.held(_narrowed(result, kind, dtype, function.__name__), dtype)
        for result, kind, dtype in zip(function(*arguments), output_types, output_dtypes, strict=True)
    ]


def _torch_tensor(array, kind):
    """Returns an array as a torch tensor of the dtype that holds its element type."""
    array = array.view(numpy.int64) if array.dtype == numpy.uint64 else numpy.array(array)
    return torch.from_numpy(array).to(DTYPES[kind])


def _narrowed(result, kind, dtype, name):
    """Returns a result as an array.

    Raises:
        OverflowError: an integer does not fit the data type that the device has for it.
    """
    array = result.float().numpy() if result.dtype is torch.bfloat16 else result.resolve_conj().resolve_neg().numpy()
    if kind == "ui64":
        array = array.view(numpy.uint64)
    limits = numpy.iinfo(utils.NUMPY[dtype]) if dtype in utils.NUMPY else None
    if limits and kind in ("i64", "ui64") and array.size and not limits.min <= array.min() <= array.max() <= limits.max:
        raise OverflowError(f"{name} returned {array.min()} to {array.max()}, which does not fit {dtype}")
    return array


def convert(x, source, target):
    """Converts the element type.

    Floats are rounded toward zero and clamped to the limits of an integer type; NaN becomes 0. Integers keep their low
    bits.
    """
    dtype = DTYPES[target]
    if x.is_complex() and not dtype.is_complex:
        x = x.real
    if target == "i1":
        return x != 0
    if source == "ui64" and (dtype.is_floating_point or dtype.is_complex):
        x = torch.from_numpy(x.numpy().view(numpy.uint64).astype(numpy.float64))
    if not (target.startswith(("i", "ui")) and x.is_floating_point()):
        return wrap(x.to(dtype), target)
    info = numpy.iinfo(target.replace("ui", "uint") if target.startswith("ui") else target.replace("i", "int"))
    held = numpy.trunc(numpy.nan_to_num(x.double().numpy(), nan=0.0, posinf=numpy.inf, neginf=-numpy.inf))
    clipped = numpy.clip(held, float(info.min), numpy.nextafter(float(info.max), 0) if info.bits == 64 else info.max)
    cast = numpy.where(held >= float(info.max), info.max, clipped.astype(info.dtype)).astype(info.dtype)
    return torch.from_numpy(cast.view(numpy.int64) if target == "ui64" else cast).to(dtype)


def wrap(x, kind):
    """Wraps integers that are held in a wider dtype at the width of their own type."""
    return x & {"ui16": 0xFFFF, "ui32": 0xFFFFFFFF}[kind] if kind in ("ui16", "ui32") else x


def unsigned(name, *arrays):
    """Applies a NumPy function, by name, to ``ui64`` values."""
    result = getattr(numpy, name)(*(numpy.asarray(array).astype(numpy.int64).view(numpy.uint64) for array in arrays))
    return torch.from_numpy(numpy.ascontiguousarray(result.view(numpy.int64) if result.dtype.kind == "u" else result))


def divide(x, y, kind):
    """Divides integers, rounding toward zero. Division by zero returns all ones."""
    if kind == "ui64":
        return torch.where(y == 0, -1, unsigned("floor_divide", x, torch.where(y == 0, 1, y)))
    opposite = _opposite(y, kind)
    odd = (y == 0) | opposite
    result = torch.where(opposite, -x, torch.div(x, torch.where(odd, 1, y), rounding_mode="trunc"))
    return torch.where(y == 0, wrap(torch.full_like(x, -1 if kind != "ui8" else 255), kind), result)


def remainder(x, y, kind):
    """Returns the remainder of integers with the dividend's sign; division by zero returns the dividend."""
    if kind == "ui64":
        return torch.where(y == 0, x, unsigned("remainder", x, torch.where(y == 0, 1, y)))
    opposite = _opposite(y, kind)
    odd = (y == 0) | opposite
    return torch.where(y == 0, x, torch.where(opposite, 0, torch.fmod(x, torch.where(odd, 1, y))))


def _opposite(y, kind):
    """Returns where a divisor is -1. Dividing the least integer by -1 would raise a processor exception."""
    return (y == -1) & kind.startswith("i")


def power(x, y):
    """Returns an integer power. A negative exponent gives 0 unless the base is 1 or -1."""
    result, base, exponent = torch.ones_like(x), x, y.clamp(min=0)
    for _ in range(int(exponent.max()).bit_length() if exponent.numel() else 0):
        result = torch.where((exponent & 1) == 1, result * base, result)
        base, exponent = base * base, exponent >> 1
    fraction = torch.where(x == 1, 1, torch.where(x == -1, 1 - 2 * (y & 1), 0)).to(x.dtype)
    return torch.where(y < 0, fraction, result)


def shift_left(x, y, kind):
    """Shifts left. Bits beyond the width are lost; a shift by the width or more returns 0."""
    bits = _bits(kind)
    return torch.where(_beyond(y, bits), 0, wrap(x << y.clamp(0, bits - 1), kind))


def shift_right_logical(x, y, kind):
    """Shifts right and fills with zeros; a shift by the width or more returns 0."""
    bits = _bits(kind)
    by = y.clamp(0, bits - 1)
    moved = unsigned("right_shift", x, by) if bits == 64 else ((x.long() & ((1 << bits) - 1)) >> by).to(x.dtype)
    return torch.where(_beyond(y, bits), 0, moved)


def shift_right_arithmetic(x, y, kind):
    """Shifts right and fills with the sign, also for a shift by the width or more."""
    bits = _bits(kind)
    signed = x
    if kind in ("ui8", "ui16", "ui32"):
        signed = (x.long() << (64 - bits)) >> (64 - bits)
    moved = signed >> torch.where(_beyond(y, bits), bits - 1, y)
    return wrap(moved, kind).to(x.dtype)


def _bits(kind):
    """Returns the width of an integer type."""
    return int(kind.removeprefix("u").removeprefix("i"))


def _beyond(y, bits):
    """Returns where a shift is by the width or more; shift counts are unsigned."""
    return (y < 0) | (y >= bits)


def population_count(x, kind):
    """Returns the number of one bits."""
    return sum((x >> bit) & 1 for bit in range(_bits(kind))).to(x.dtype)


def leading_zeros(x, kind):
    """Returns the number of zero bits before the first one bit."""
    bits = _bits(kind)
    seen, count = torch.zeros_like(x, dtype=torch.bool), torch.zeros_like(x)
    for bit in reversed(range(bits)):
        seen |= (x >> bit) & 1 == 1
        count += ~seen
    return count


def cbrt(x):
    """Returns the real cube root."""
    return x.sign() * x.abs() ** (1 / 3)


def round_away(x):
    """Rounds to the nearest integer, halves away from zero."""
    truncated = x.trunc()
    return truncated + ((x - truncated).abs() >= 0.5) * x.sign()


def sign(x):
    """Returns -1, 0 or 1; NaN for NaN; for a complex number, the number of length 1 in its direction."""
    return torch.where(x.isnan(), x, x.sgn()) if x.is_floating_point() else x.sgn()


def all_of(x, dims):
    """Reduces booleans over dimensions with ``and``."""
    for dim in sorted(dims, reverse=True):
        x = x.all(dim)
    return x


def any_of(x, dims):
    """Reduces booleans over dimensions with ``or``."""
    for dim in sorted(dims, reverse=True):
        x = x.any(dim)
    return x


def product(x, dims):
    """Multiplies elements over dimensions."""
    for dim in sorted(dims, reverse=True):
        x = x.prod(dim, dtype=x.dtype)
    return x


def pad(x, value, low, high, interior):
    """Inserts ``value`` before, after and between elements; a negative count removes elements."""
    spread = [max(0, size + max(0, size - 1) * gap) for size, gap in zip(x.shape, interior, strict=True)]
    wide = [size + max(0, before) + max(0, after) for size, before, after in zip(spread, low, high, strict=True)]
    result = torch.full(wide, value.item(), dtype=x.dtype, device="cpu")
    result[tuple(slice(max(0, b), max(0, b) + n, g + 1) for b, n, g in zip(low, spread, interior, strict=True))] = x
    return result[tuple(slice(max(0, -b), n - max(0, -a)) for b, n, a in zip(low, wide, high, strict=True))]


def window(x, starts, sizes):
    """Returns the slices of a window of ``sizes``, moved so that it lies within ``x``."""
    begins = [min(max(int(start), 0), n - size) for start, n, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True))


def update(x, part, starts):
    """Returns a copy of ``x`` with ``part`` written at ``starts``."""
    result = x.clone()
    result[window(x, starts, part.shape)] = part
    return result


def sort(tensors, key, dim, descending, kind):
    """Sorts tensors together by one of them. Equal elements keep their order; NaN counts as the largest number."""
    by = tensors[key] ^ (-1 << 63) if kind == "ui64" else tensors[key]
    order = torch.sort(by, dim=dim, descending=descending, stable=True).indices
    return [tensor.gather(dim, order) for tensor in tensors]


def cholesky(x, lower):
    """Returns the lower or upper Cholesky factor of symmetric matrices; NaN for a matrix that has none."""
    triangle = x.tril() if lower else x.triu().mH
    factor, info = torch.linalg.cholesky_ex(triangle)
    factor = torch.where(info[..., None, None] == 0, factor, torch.nan)
    return factor if lower else factor.mH


def triangular_solve(a, b, left, upper, unit, transpose):
    """Solves ``op(a) x = b``, or ``x op(a) = b``; ``transpose`` is NO_TRANSPOSE, TRANSPOSE or ADJOINT."""
    if transpose != "NO_TRANSPOSE":
        a, upper = (a.mT if transpose == "TRANSPOSE" else a.mH), not upper
    return torch.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)


def lu(x):
    """Returns the results of LAPACK's ``getrf``: factors, pivots counted from 1, and a status."""
    return torch.linalg.lu_factor_ex(x)


def eigh(x, lower):
    """Returns the results of LAPACK's ``syevd``: eigenvectors, eigenvalues, and a status."""
    values, vectors = torch.linalg.eigh(x, UPLO="L" if lower else "U")
    return vectors, values, torch.zeros(x.shape[:-2], dtype=torch.int32, device="cpu")


def svd(x, full):
    """Returns the results of LAPACK's ``gesdd``: the input, singular values, vectors of both sides, a status."""
    u, s, vh = torch.linalg.svd(x, full_matrices=full)
    return x, s, u, vh, torch.zeros(x.shape[:-2], dtype=torch.int32, device="cpu")
