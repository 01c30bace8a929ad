"""The table of torch code for StableHLO ops. An op without a row has no torch code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.codegen.formatting import Group, Node, call
from tt_xla.codegen.host.op import HostOp, NoTorchCodeError, array, dtype, is_unsigned
from tt_xla.registry import Registry

Rule = Callable[[HostOp], "Node | None"]
"""Returns the source of an op's result, or of a tuple of several; None if the results equal the operands."""

RULES: Registry[str, Rule] = Registry("torch code")


torch_code = RULES.register

# Elementwise --------------------------------------------------------------------------------------------------------

UNARY = {
    "stablehlo.abs": "{}.abs()",
    "stablehlo.cbrt": "host_ops.cbrt({})",
    "stablehlo.ceil": "{}.ceil()",
    "stablehlo.cosine": "{}.cos()",
    "stablehlo.exponential": "{}.exp()",
    "stablehlo.exponential_minus_one": "{}.expm1()",
    "stablehlo.floor": "{}.floor()",
    "stablehlo.is_finite": "{}.isfinite()",
    "stablehlo.log": "{}.log()",
    "stablehlo.log_plus_one": "{}.log1p()",
    "stablehlo.logistic": "{}.sigmoid()",
    "stablehlo.negate": "-{}",
    "stablehlo.not": "~{}",
    "stablehlo.round_nearest_afz": "host_ops.round_away({})",
    "stablehlo.round_nearest_even": "{}.round()",
    "stablehlo.rsqrt": "{}.rsqrt()",
    "stablehlo.sign": "host_ops.sign({})",
    "stablehlo.sine": "{}.sin()",
    "stablehlo.sqrt": "{}.sqrt()",
    "stablehlo.tan": "{}.tan()",
    "stablehlo.tanh": "{}.tanh()",
    "chlo.acos": "{}.acos()",
    "chlo.acosh": "{}.acosh()",
    "chlo.asin": "{}.asin()",
    "chlo.asinh": "{}.asinh()",
    "chlo.atan": "{}.atan()",
    "chlo.atanh": "{}.atanh()",
    "chlo.conj": "{}.conj().resolve_conj()",
    "chlo.cosh": "{}.cosh()",
    "chlo.digamma": "{}.digamma()",
    "chlo.erf": "{}.erf()",
    "chlo.erf_inv": "{}.erfinv()",
    "chlo.erfc": "{}.erfc()",
    "chlo.lgamma": "{}.lgamma()",
    "chlo.sinh": "{}.sinh()",
    "chlo.square": "{}.square()",
}


@torch_code(*UNARY)
def _unary(op: HostOp) -> Node:
    return op.wrapped(UNARY[op.name].format(op.tensor(0)))


_WITH_TYPE = {
    "stablehlo.count_leading_zeros": "leading_zeros",
    "stablehlo.popcnt": "population_count",
    "stablehlo.shift_left": "shift_left",
    "stablehlo.shift_right_arithmetic": "shift_right_arithmetic",
    "stablehlo.shift_right_logical": "shift_right_logical",
}
"""Functions of ``host_ops`` that take the element type, too."""


@torch_code(*_WITH_TYPE)
def _with_type(op: HostOp) -> Node:
    return f'host_ops.{_WITH_TYPE[op.name]}({", ".join(op.tensors())}, "{op.element(0)}")'


@torch_code("stablehlo.real", "stablehlo.imag")
def _part(op: HostOp) -> Node:
    if not op.element(0).startswith("complex"):
        return op.tensor(0) if op.name == "stablehlo.real" else f"torch.zeros_like({op.tensor(0)})"
    return f"{op.tensor(0)}.{op.name.partition('.')[2]}"


_BINARY = {
    "stablehlo.add": "+",
    "stablehlo.and": "&",
    "stablehlo.multiply": "*",
    "stablehlo.or": "|",
    "stablehlo.subtract": "-",
    "stablehlo.xor": "^",
}


@torch_code(*_BINARY)
def _binary(op: HostOp) -> Node:
    sign = _BINARY[op.name]
    if op.element(0) == "i1":
        sign = {"+": "|", "*": "&", "-": "^"}.get(sign, sign)
    left, right = op.sides()
    return op.wrapped(f"{left} {sign} {right}")


@torch_code("stablehlo.divide", "stablehlo.remainder")
def _division(op: HostOp) -> Node:
    name = op.name.partition(".")[2]
    if op.is_integer(0):
        return f'host_ops.{name}({op.tensor(0)}, {op.tensor(1)}, "{op.element(0)}")'
    if name == "divide":
        return f"{op.tensor(0)} / {op.scalar_or_tensor(1)}"
    return f"torch.fmod({op.tensor(0)}, {op.scalar_or_tensor(1)})"


@torch_code("stablehlo.atan2", "stablehlo.complex", "stablehlo.maximum", "stablehlo.minimum")
def _of_real_numbers(op: HostOp) -> Node:
    name = op.name.partition(".")[2]
    if op.element(0).startswith("complex"):
        raise NoTorchCodeError
    if op.element(0) == "ui64":
        return f'host_ops.unsigned("{name}", {op.tensor(0)}, {op.tensor(1)})'
    return f"torch.{name}({op.tensor(0)}, {op.tensor(1)})"


@torch_code("stablehlo.power")
def _power(op: HostOp) -> Node:
    if not op.is_integer(0):
        return f"{op.tensor(0)} ** {op.scalar_or_tensor(1)}"
    if op.element(0).startswith("u"):
        raise NoTorchCodeError
    return f"host_ops.power({op.tensor(0)}, {op.tensor(1)})"


_COMPARISONS = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}
_NUMPY_COMPARISONS = {"GE": "greater_equal", "GT": "greater", "LE": "less_equal", "LT": "less"}


@torch_code("stablehlo.compare")
def _compare(op: HostOp) -> Node:
    direction = op.enum("comparison_direction")
    if op.enum("compare_type") == "TOTALORDER":
        raise NoTorchCodeError
    if op.element(0) == "ui64" and direction in _NUMPY_COMPARISONS:
        return f'host_ops.unsigned("{_NUMPY_COMPARISONS[direction]}", {op.tensor(0)}, {op.tensor(1)})'
    return f"{op.tensor(0)} {_COMPARISONS[direction]} {op.scalar_or_tensor(1)}"


@torch_code("stablehlo.select")
def _select(op: HostOp) -> Node:
    return call("torch.where", op.tensors())


@torch_code("stablehlo.clamp")
def _clamp(op: HostOp) -> Node:
    if op.element(1) == "ui64":
        raise NoTorchCodeError
    low, value, high = op.tensors()
    return f"torch.minimum(torch.maximum({value}, {low}), {high})"


@torch_code("stablehlo.convert")
def _convert(op: HostOp) -> Node:
    source, target = op.element(0), op.result_element()
    if _exact(source, target):
        return f"{op.tensor(0)}.to({dtype(target)})"
    return f'host_ops.convert({op.tensor(0)}, "{source}", "{target}")'


def _exact(source: str, target: str) -> bool:
    """Returns whether torch converts as StableHLO does, because no integer is clamped or narrowed."""
    if source == "i1":
        return True
    if source.startswith("complex") or target == "i1":
        return target.startswith("complex")
    if target.startswith(("i", "ui")):
        return not is_unsigned(target) and source.startswith(("i", "ui"))
    return source != "ui64"


@torch_code("stablehlo.bitcast_convert")
def _bitcast(op: HostOp) -> Node:
    kinds = op.element(0), op.result_element()
    if any((is_unsigned(kind) and kind not in ("ui8", "ui64")) or "complex" in kind or kind == "i1" for kind in kinds):
        raise NoTorchCodeError
    if op.shape(0) != op.result_shape():
        raise NoTorchCodeError
    return f"{op.tensor(0)}.view({dtype(kinds[1])})"


# Shapes -------------------------------------------------------------------------------------------------------------


@torch_code("stablehlo.constant")
def _constant(op: HostOp) -> Node:
    return array(op.op, op.result_element(), op.result_shape())


@torch_code("stablehlo.iota")
def _iota(op: HostOp) -> Node:
    shape, axis, kind = op.result_shape(), op.integer("iota_dimension"), dtype(op.result_element())
    counted = f'torch.arange({shape[axis]}, dtype={kind}, device="cpu")'
    if len(shape) == 1:
        return counted
    form = [size if position == axis else 1 for position, size in enumerate(shape)]
    return call(f"{counted}.reshape({_listed(form)}).expand", [str(size) for size in shape])


@torch_code("stablehlo.reshape")
def _reshape(op: HostOp) -> Node:
    return f"{op.tensor(0)}.reshape({_shape(op.result_shape())})"


@torch_code("stablehlo.broadcast_in_dim")
def _broadcast(op: HostOp) -> Node:
    shape, dims = op.result_shape(), op.integers("broadcast_dimensions")
    form = [1] * len(shape)
    for size, dim in zip(op.shape(0), dims, strict=True):
        form[dim] = size
    if list(dims) != sorted(dims):
        raise NoTorchCodeError
    moved = op.tensor(0)
    if dims and list(dims) != list(range(len(shape) - len(dims), len(shape))):
        moved = f"{moved}.reshape({_listed(form)})"
    return f"{moved}.expand({_shape(shape)})"


@torch_code("stablehlo.transpose")
def _transpose(op: HostOp) -> Node:
    return f"{op.tensor(0)}.permute({_shape(op.integers('permutation'))})"


@torch_code("stablehlo.slice")
def _slice(op: HostOp) -> Node:
    starts, limits, strides = (op.integers(name) for name in ("start_indices", "limit_indices", "strides"))
    parts = [
        ":" if (start, limit, step) == (0, size, 1) else f"{start}:{limit}" + (f":{step}" if step != 1 else "")
        for start, limit, step, size in zip(starts, limits, strides, op.shape(0), strict=True)
    ]
    return f"{op.tensor(0)}[{', '.join(parts)}]" if parts else op.tensor(0)


@torch_code("stablehlo.concatenate")
def _concatenate(op: HostOp) -> Node:
    parts = Group("[", tuple(op.tensors()), "]")
    return call("torch.cat", [parts, f"{op.integer('dimension')}"])


@torch_code("stablehlo.reverse")
def _reverse(op: HostOp) -> Node:
    return f"{op.tensor(0)}.flip({list(op.integers('dimensions'))})"


@torch_code("stablehlo.pad")
def _pad(op: HostOp) -> Node:
    sizes = [str(list(op.integers(name))) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    return call("host_ops.pad", [op.tensor(0), op.tensor(1), *sizes])


@torch_code("stablehlo.dynamic_slice")
def _dynamic_slice(op: HostOp) -> Node:
    source, *starts = op.tensors()
    return f"{source}[host_ops.window({source}, [{', '.join(starts)}], {list(op.integers('slice_sizes'))})]"


@torch_code("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(op: HostOp) -> Node:
    source, part, *starts = op.tensors()
    return call("host_ops.update", [source, part, Group("[", tuple(starts), "]")])


@torch_code("stablehlo.optimization_barrier")
def _identity(op: HostOp) -> None:
    return None


# Reductions, products, orders ----------------------------------------------------------------------------------------

_REDUCTIONS = {
    "stablehlo.add": ("{0}.sum({1}, dtype={2})", "{} + {}", 0, "stablehlo.or"),
    "stablehlo.and": ("host_ops.all_of({0}, {1})", "{} & {}", 1, "stablehlo.and"),
    "stablehlo.maximum": ("{0}.amax({1})", "torch.maximum({}, {})", None, "stablehlo.or"),
    "stablehlo.minimum": ("{0}.amin({1})", "torch.minimum({}, {})", None, "stablehlo.and"),
    "stablehlo.multiply": ("host_ops.product({0}, {1})", "{} * {}", 1, "stablehlo.and"),
    "stablehlo.or": ("host_ops.any_of({0}, {1})", "{} | {}", 0, "stablehlo.or"),
}
"""Reduction, its combination with an initial value, the value that changes nothing, and the op of booleans."""


@torch_code("stablehlo.reduce")
def _reduce(op: HostOp) -> Node:
    """Returns a reduction of one tensor by a single op; the initial value is combined with the result."""
    block = op.op.regions[0].blocks[0]
    steps = list(block.operations)
    kind = op.element(0)
    if op.operands != 2 or len(steps) != 2 or set(steps[0].operands) != set(block.arguments):
        raise NoTorchCodeError
    name = steps[0].operation.name
    if kind == "i1" and name in _REDUCTIONS:
        name = _REDUCTIONS[name][3]
    needs_booleans = name in ("stablehlo.and", "stablehlo.or") and kind != "i1"
    dims = op.integers("dimensions")
    if name not in _REDUCTIONS or needs_booleans or 0 in [op.shape(0)[dim] for dim in dims]:
        raise NoTorchCodeError
    if kind == "ui64" and name in ("stablehlo.maximum", "stablehlo.minimum"):
        raise NoTorchCodeError
    reduction, joined, neutral, _ = _REDUCTIONS[name]
    reduced = reduction.format(op.tensor(0), _listed(dims, brackets=True), dtype(kind)) if dims else op.tensor(0)
    if neutral is not None and op.scalar(1) == neutral:
        return op.wrapped(reduced)
    return op.wrapped(joined.format(reduced, op.tensor(1)))


@torch_code("stablehlo.dot_general")
def _dot_general(op: HostOp) -> Node:
    from jaxlib.mlir.dialects import stablehlo

    numbers: Any = stablehlo.DotDimensionNumbers(op.op.attributes["dot_dimension_numbers"])
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(letters) for _ in op.shape(0)]
    right = [next(letters) for _ in op.shape(1)]
    batch, rows = list(numbers.lhs_batching_dimensions), list(numbers.lhs_contracting_dimensions)
    for mine, other in zip(
        [*batch, *rows], [*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions], strict=True
    ):
        right[other] = left[mine]
    result_letters = [left[dim] for dim in batch]
    result_letters += [letter for dim, letter in enumerate(left) if dim not in (*batch, *rows)]
    result_letters += [letter for letter in right if letter not in left]
    result = op.result_element()
    operands = [op.tensor(i) if op.element(i) == result else f"{op.tensor(i)}.to({dtype(result)})" for i in (0, 1)]
    return op.wrapped(
        f'torch.einsum("{"".join(left)},{"".join(right)}->{"".join(result_letters)}", {", ".join(operands)})'
    )


@torch_code("stablehlo.sort")
def _sort(op: HostOp) -> Node:
    key, direction = _ordered_by(op)
    tensors = Group("[", tuple(op.tensors()), "]")
    kind = op.element(key)
    return call(
        "host_ops.sort", [tensors, str(key), str(op.integer("dimension")), str(direction in ("GT", "GE")), f'"{kind}"']
    )


def _ordered_by(op: HostOp) -> tuple[int, str]:
    """Returns the index of the operand that a comparator compares, and the direction.

    The comparator may first replace zeros and NaN by one value each, as JAX does.
    """
    block = op.op.regions[0].blocks[0]
    compare = list(block.operations)[-1].operands[0].owner.operation
    if compare.name != "stablehlo.compare":
        raise NoTorchCodeError
    sides = [_unified(value) for value in compare.operands]
    arguments = list(block.arguments)
    if any(side not in arguments for side in sides):
        raise NoTorchCodeError
    first, second = (arguments.index(side) for side in sides)
    plain = all(value in arguments for value in compare.operands)
    direction = HostOp.enum_of(compare, "comparison_direction")
    total = HostOp.enum_of(compare, "compare_type") == "TOTALORDER"
    if first % 2 or second != first + 1 or direction in ("EQ", "NE") or (total and plain):
        raise NoTorchCodeError
    if op.element(first // 2).startswith("complex"):
        raise NoTorchCodeError
    return first // 2, direction


def _unified(value: Any) -> Any:
    """Returns x for ``select(x == 0, 0, x)`` and ``select(x != x, NaN, x)``; otherwise the value itself."""
    op = getattr(value.owner, "operation", None)
    if op is None or op.name != "stablehlo.select":
        return value
    inner = _unified(op.operands[2])
    test = getattr(op.operands[0].owner, "operation", None)
    replaced = getattr(op.operands[1].owner, "operation", None)
    if test is None or replaced is None or test.name != "stablehlo.compare" or replaced.name != "stablehlo.constant":
        return value
    number = HostOp.splat(replaced)
    direction = HostOp.enum_of(test, "comparison_direction")
    zero = direction == "EQ" and number == 0 and test.operands[0] == inner
    nan = direction == "NE" and isinstance(number, float) and math.isnan(number) and set(test.operands) == {inner}
    return inner if zero or nan else value


@torch_code("chlo.top_k")
def _top_k(op: HostOp) -> Node:
    if is_unsigned(op.element(0)):
        raise NoTorchCodeError
    k = op.integer("k")
    counted = f'torch.arange({op.shape(0)[-1]}, dtype=torch.int32, device="cpu")'
    indices = f"host_ops.sort([{op.tensor(0)}, {counted}"
    indices += f'.expand_as({op.tensor(0)})], 0, -1, True, "{op.element(0)}")'
    return f"(part[..., :{k}] for part in {indices})"


# Spectra and linear algebra ------------------------------------------------------------------------------------------


@torch_code("stablehlo.fft")
def _fft(op: HostOp) -> Node:
    lengths = op.integers("fft_length")
    name = {"FFT": "fftn", "IFFT": "ifftn", "RFFT": "rfftn", "IRFFT": "irfftn"}[op.enum("fft_type")]
    dims = list(range(-len(lengths), 0))
    return f"torch.fft.{name}({op.tensor(0)}, {list(lengths)}, {dims})"


@torch_code("stablehlo.cholesky")
def _cholesky(op: HostOp) -> Node:
    lower = "lower" in op.op.attributes and bool(op.op.attributes["lower"].value)
    return f"host_ops.cholesky({op.tensor(0)}, lower={lower})"


@torch_code("stablehlo.triangular_solve")
def _triangular_solve(op: HostOp) -> Node:
    attributes = op.op.attributes
    left, lower, unit = (bool(attributes[name].value) for name in ("left_side", "lower", "unit_diagonal"))
    settings = [f"left={left}", f"upper={not lower}", f"unit={unit}", f'transpose="{op.enum("transpose_a")}"']
    return call("host_ops.triangular_solve", [op.tensor(0), op.tensor(1), *settings])


@torch_code("stablehlo.custom_call")
def _custom_call(op: HostOp) -> Node:
    name = op.op.attributes["call_target_name"].value
    rule = _LAPACK.get(name[len("lapack_s") :]) if name[:-1].startswith("lapack_") else None
    if rule is None:
        raise NoTorchCodeError
    config = op.op.attributes["mhlo.backend_config"]
    flags: dict[str, str] = {item.name: chr(item.attr.value) for item in config}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownMemberType]
    return rule(op.tensors(), flags)


def _svd(operands: Sequence[str], flags: dict[str, str]) -> Node:
    if flags["mode"] not in "AS":
        raise NoTorchCodeError
    return f"host_ops.svd({operands[0]}, full={flags['mode'] == 'A'})"


def _eigh(operands: Sequence[str], flags: dict[str, str]) -> Node:
    if flags["mode"] != "V":
        raise NoTorchCodeError
    return f"host_ops.eigh({operands[0]}, lower={flags['uplo'] == 'L'})"


def _solve(operands: Sequence[str], flags: dict[str, str]) -> Node:
    transpose = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[flags["trans_x"]]
    settings = [f"left={flags['side'] == 'L'}", f"upper={flags['uplo'] == 'U'}", f"unit={flags['diag'] == 'U'}"]
    return call("host_ops.triangular_solve", [*operands, *settings, f'transpose="{transpose}"'])


_LAPACK: dict[str, Callable[[Sequence[str], dict[str, str]], Node]] = {
    "geqrf_ffi": lambda operands, flags: f"torch.geqrf({operands[0]})",
    "gesdd_ffi": _svd,
    "getrf_ffi": lambda operands, flags: f"host_ops.lu({operands[0]})",
    "orgqr_ffi": lambda operands, flags: f"torch.linalg.householder_product({', '.join(operands)})",
    "potrf_ffi": lambda operands, flags: f"torch.linalg.cholesky_ex({operands[0]}, upper={flags['uplo'] == 'U'})",
    "syevd_ffi": _eigh,
    "trsm_ffi": _solve,
    "ungqr_ffi": lambda operands, flags: f"torch.linalg.householder_product({', '.join(operands)})",
}
"""Rules by LAPACK's name without the letter of the element type."""


def _listed(items: Sequence[int], *, brackets: bool = False) -> str:
    text = ", ".join(map(str, items))
    return f"[{text}]" if brackets else text


def _shape(items: Sequence[int]) -> str:
    """Returns a shape as arguments of a method; an empty shape as a tuple."""
    return _listed(items) if items else "()"
