"""C++ of products of small matrices, in one of a few orders of additions.

The orders are tried on drawn operands whose sums cancel, so that every element shows the order.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch

from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fast.products import SMALL_PRODUCT
from tt_xla.runtime.emulator.functions import FUNCTIONS, fused_activation
from tt_xla.runtime.emulator.fused.cpp import LANES, Operand, Place, loops
from tt_xla.runtime.emulator.fused.forms import Attributes, Family, function

_ACTIVATIONS = (None, "relu")
"""Activations that C++ computes with the bits of torch and of oneDNN."""

ORDERS = {
    "pairs": "multiply_pairs",
    "fused": "multiply<fused_add>",
    "fused_to_zero": "multiply<fused_add_to_zero>",
    "rounded": "multiply<rounded_add>",
    "four_sums": "multiply_in_four_sums",
}
"""Orders of additions over the inner dimension, and the C++ functions that follow them: in pairs by the CPU's
instruction for bfloat16, with fused multiply-adds from and to zero, with rounded products, and in four sums of fused
multiply-adds."""

_WIDEST = 8
"""Drawn numbers lie between 2**-8 and 2**8 in magnitude, so that sums of products of bfloat16 are rounded."""

_EXPONENTS = (0, 0, 0, 60, 60, -66, -66)
"""Powers of two that drawn operands are multiplied by: products of bfloat16 are exact in float32, and so the same in
fused and in rounded additions, unless they are too large or too small."""

_SIGNATURE = "(const float* a, const float* b, float* c, long M, long K, long N)"

_PROBE = f"""
extern "C" void product_fused{_SIGNATURE} {{ multiply<fused_add>(a, b, c, M, K, N); }}
extern "C" void product_fused_to_zero{_SIGNATURE} {{ multiply<fused_add_to_zero>(a, b, c, M, K, N); }}
extern "C" void product_rounded{_SIGNATURE} {{ multiply<rounded_add>(a, b, c, M, K, N); }}
extern "C" void product_four_sums{_SIGNATURE} {{ multiply_in_four_sums(a, b, c, M, K, N); }}
#ifdef __AVX512BF16__
extern "C" void product_pairs{_SIGNATURE} {{
  multiply_pairs((const uint32_t*)a, (const uint32_t*)b, c, M, K, N);
}}
#endif
"""


def _takes(context: Context, attributes: Attributes) -> bool:
    if list(context.operands)[:3] not in (["a", "b"], ["a", "b", "bias"]):
        return False
    shapes = [context.spec(name).shape for name in ("a", "b")]
    if min(map(len, shapes)) < 2:
        return False
    if any(CONTAINERS[spec.layout.dtype] not in (torch.bfloat16, torch.float32) for spec in context.specs):
        return False
    one_product = matrix_unit.is_one_product(attributes.get("compute_config"), silicon=context.silicon)
    multiplications = math.prod(context.result.shape) * _sizes(context, attributes)[1]
    return one_product and 0 < multiplications <= SMALL_PRODUCT and _activation(attributes) in _ACTIVATIONS


def _activation(attributes: Attributes) -> str | None:
    return fused_activation(attributes.get("activation"), attributes.get("matmul_program_config"))


def _sizes(context: Context, attributes: Attributes) -> tuple[int, int, int]:
    """Rows, inner dimension and columns of each product of matrices."""
    rows, columns = context.result.shape[-2:]
    return rows, context.spec("a").shape[-2 if attributes.get("transpose_a") else -1], columns


def _forms(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Mapping[str, str]:
    return orders(operand.dtype for operand in operands[:2])


def orders(dtypes: Iterable[torch.dtype]) -> dict[str, str]:
    """Returns the orders that a product of operands of these dtypes may have, each with its function of the probe."""
    bfloat16 = all(dtype is torch.bfloat16 for dtype in dtypes)
    return {order: f"product_{order}" for order in ORDERS if bfloat16 or order != "pairs"}


def _drawn(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Iterator[list[torch.Tensor]]:
    yield from (_cancelling(context, attributes, operands, seed, exponent) for seed, exponent in enumerate(_EXPONENTS))


def _cancelling(
    context: Context, attributes: Attributes, operands: Sequence[Operand], seed: int, exponent: int
) -> list[torch.Tensor]:
    """Draws operands whose sums consist of rounding errors: each term comes a second time with the other sign.

    Args:
        exponent: power of two that both operands are multiplied by.
    """
    generator = torch.Generator(device="cpu").manual_seed(seed)
    inner = _sizes(context, attributes)[1]
    order = torch.randperm(inner, generator=generator, device="cpu")
    first, second = order[: inner // 2], order[inner // 2 : inner // 2 * 2]
    tensors: list[torch.Tensor] = []
    for position, operand in enumerate(operands):
        span = 1 + sum((size - 1) * step for size, step in zip(operand.shape, operand.stride, strict=True))
        exponents = torch.randint(-_WIDEST, _WIDEST, (span,), generator=generator, device="cpu") + exponent
        memory = torch.ldexp(torch.randn(span, generator=generator, device="cpu", dtype=torch.float32), exponents).to(
            operand.dtype
        )
        tensor = memory.as_strided(operand.shape, operand.stride)
        if 0 in operand.stride:  # expanded: each element needs a place of its own
            tensor = tensor.contiguous()
        if position < 2:
            transposed = bool(attributes.get("transpose_a" if position == 0 else "transpose_b"))
            dim = -2 if (position == 0) == transposed else -1
            terms = tensor.index_select(dim, first)
            tensor.index_copy_(dim, second, -terms if position == 0 else terms)
        else:
            tensor.zero_()
        tensors.append(tensor)
    return tensors


def _computed(
    library: ctypes.CDLL, order: str, context: Context, attributes: Attributes, tensors: Sequence[torch.Tensor]
) -> torch.Tensor:
    """Computes a product by the compiled probe, and what comes after the sum by torch."""
    a, b, *bias = tensors
    a_bits, b_bits = matrix_unit.source_bits(attributes.get("compute_config"), silicon=context.silicon)
    a = matrix_unit.significant(a.to(torch.float32), a_bits)
    b = matrix_unit.significant(b.to(torch.float32), b_bits)
    a = a.transpose(-2, -1) if attributes.get("transpose_a") else a
    b = b.transpose(-2, -1) if attributes.get("transpose_b") else b
    batch = context.result.shape[:-2]
    rows, inner, columns = _sizes(context, attributes)
    a = a.expand(*batch, rows, inner).reshape(-1, rows, inner)
    b = b.expand(*batch, inner, columns).reshape(-1, inner, columns)
    total = multiplied(library, order, a, b).reshape(context.result.shape)
    if bias:
        total = total + bias[0].to(torch.float32)
    activation = _activation(attributes)
    return hold(FUNCTIONS[activation].compute(total) if activation else total, context.dtype)


def multiplied(library: ctypes.CDLL, order: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns the products of float32 matrices [batch, M, K] and [batch, K, N], added by the compiled probe."""
    batch, rows, _ = a.shape
    columns = b.shape[-1]
    b = torch.nn.functional.pad(b, (0, -columns % LANES))
    if order == "pairs":
        a, b = _paired(a), _paired(b.transpose(1, 2)).transpose(1, 2)
    result = torch.empty(batch, rows, b.shape[-1], dtype=torch.float32, device="cpu")
    multiply = function(library, f"product_{order}", 3, 3)
    for left, right, to in zip(a.contiguous(), b.contiguous(), result, strict=True):
        multiply(left, right, to, rows, left.shape[-1], b.shape[-1])
    return result[..., :columns]


def _paired(tensor: torch.Tensor) -> torch.Tensor:
    """Packs pairs of bfloat16 along the last dimension, given as float32, into one 32-bit number each."""
    padded = torch.nn.functional.pad(tensor, (0, tensor.shape[-1] % 2)).to(torch.bfloat16)
    return padded.contiguous().view(torch.float32)


def _room(context: Context, attributes: Attributes) -> int:
    """Returns the number of floats of scratch memory that :func:`_emitted` uses."""
    rows, inner, columns = _sizes(context, attributes)
    rows *= math.prod(context.result.shape[:-2])
    inner += inner % 2
    return rows * inner + (inner + rows) * whole_vectors(columns)


def whole_vectors(columns: int) -> int:
    """Returns the number of columns that a matrix has where it is filled up to whole vectors."""
    return -(-columns // LANES) * LANES


def _emitted(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place, order: str
) -> Iterator[str]:
    """Writes a product in the given order, with its operands packed in the scratch memory that ``room`` points to."""
    a, b, *bias = places
    batch = {f"i{dim}": size for dim, size in enumerate(context.result.shape[:-2])}
    rows, inner, columns = _sizes(context, attributes)
    outer, counted = batch, {"m": rows}
    if len(b.operand.shape) == 2:  # one second operand for all matrices
        outer, counted = {}, batch | counted
    count, wide = math.prod(counted.values()), whole_vectors(columns)

    def element(place: Place, *pair: str) -> str:
        indices = [*batch, *pair]
        return f"load({place.at(*indices[len(indices) - len(place.operand.shape) :])})"

    first, second = cuts(context, attributes)
    transpose_a, transpose_b = (bool(attributes.get(name)) for name in ("transpose_a", "transpose_b"))

    def left(k: str) -> str:
        return first(element(a, *((k, "m") if transpose_a else ("m", k))))

    def right(k: str) -> str:
        return second(element(b, *(("n", k) if transpose_b else (k, "n"))))

    value = "s[n]" + (f" + {element(bias[0], 'm', 'n')}" if bias else "")
    value = "relu(" + value + ")" if _activation(attributes) else value
    value = f"rounded({value})" if context.container is torch.bfloat16 else value
    yield f"{loops([*outer], outer.values())} {{" if outer else "{"
    if order == "pairs":
        pairs = (inner + 1) // 2
        tail = f"k * 2 + 1 < {inner} ? " if inner % 2 else ""
        other = " : 0.0f" if inner % 2 else ""
        yield f"uint32_t *const p = (uint32_t*)room, *const q = p + {count * pairs}, *t = p;"
        yield f"float *const r = (float*)(q + {pairs * wide}), *s = r;"
        packed = f"pair({left('k * 2')}, {tail}{left('(k * 2 + 1)')}{other})"
        yield f"{loops([*counted, 'k'], (*counted.values(), pairs))} *t++ = {packed};"
        packed = f"pair({right('k * 2')}, {tail}{right('(k * 2 + 1)')}{other})"
        yield f"{loops('kn', (pairs, columns))} q[k * {wide} + n] = {packed};"
        yield f"multiply_pairs(p, q, r, {count}, {pairs}, {wide});"
    else:
        yield f"float *const p = room, *const q = p + {count * inner}, *const r = q + {inner * wide}, *t = p, *s = r;"
        yield f"{loops([*counted, 'k'], (*counted.values(), inner))} *t++ = {left('k')};"
        yield f"{loops('kn', (inner, columns))} q[k * {wide} + n] = {right('k')};"
        yield f"{ORDERS[order]}(p, q, r, {count}, {inner}, {wide});"
    to = result.at(*batch, "m", "n")
    yield f"{loops([*counted], counted.values())} {{ {loops('n', (columns,))} store({to}, {value}); s += {wide}; }}"
    yield "}"


def cuts(context: Context, attributes: Attributes) -> list[Callable[[str], str]]:
    """Returns, for each operand, what turns the C++ of a float into that of the bits that the register keeps."""
    bits = matrix_unit.source_bits(attributes.get("compute_config"), silicon=context.silicon)
    masks = [matrix_unit.mask_of(count) for count in bits]
    return [
        (lambda value: value) if mask == 0xFFFFFFFF else (lambda value, mask=mask: f"cut({value}, 0x{mask:08x}u)")
        for mask in masks
    ]


PRODUCTS = Family(
    ops=("ttnn.linear", "ttnn.matmul"),
    takes=_takes,
    forms=_forms,
    drawn=_drawn,
    computed=_computed,
    room=_room,
    emit=_emitted,
    probe=_PROBE,
    calls=4,
)
