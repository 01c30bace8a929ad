"""Products of float32 with lasting weights in C++, where it adds in the order in which oneDNN adds on this CPU.

oneDNN adds the terms of an element in chunks of the inner dimension. The C++ does the same with the same bits, and
takes less time for few rows: it fetches the next weights from memory while it multiplies, and cuts activations to the
bits that the matrix unit reads while it brings them together. The length of a chunk depends on the product's shape and
on the CPU, so it is found by trying, once for all processes, in a thread. Programs that are loaded later multiply in
C++.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch

from tt_xla import disk_cache
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import CONTAINERS, fills_container
from tt_xla.runtime.emulator.context import Weighted
from tt_xla.runtime.emulator.fast.fence import Fence
from tt_xla.runtime.emulator.fast.products import Linear, is_one_product
from tt_xla.runtime.emulator.fused import stored
from tt_xla.runtime.emulator.fused.background import COMPUTING
from tt_xla.runtime.emulator.fused.build import Build
from tt_xla.runtime.emulator.fused.calls import FLOATS, NUMBER
from tt_xla.runtime.emulator.fused.cpp import Operand, contiguous
from tt_xla.runtime.emulator.fused.verify import operands_of, same_bits

Tensor = torch.Tensor

_COLUMNS = 32
"""Columns of weights that lie together: those of a tile of the result."""

_ACTIVATIONS = 1 << 17
"""Elements of activations, at most: a core's cache has to hold them, as each tile of columns goes through all."""

_CHUNKS = (512, 1024, 256, 2048)
"""Lengths of a chunk that are tried, besides the whole inner dimension."""

_SOURCE = """
#include <algorithm>
#include <cstdint>
#include <cstring>
#ifdef __AVX512F__
#include <immintrin.h>
static inline float cut(float x, uint32_t mask) {
  uint32_t u; std::memcpy(&u, &x, 4); u &= mask; std::memcpy(&x, &u, 4);
  return x;
}
// A tile of R rows and 32 columns, c + a x b: a [K][R], b [K][32]. Fetches 32 bytes at next for each k.
template <int R> static void tile(
    const float* a, const float* b, const char* next, float* c, long K, long N, bool first, const float* bias) {
  __m512 s[R][2];
  for (int r = 0; r < R; ++r) s[r][0] = s[r][1] = _mm512_setzero_ps();
  const auto step = [&](long k) __attribute__((always_inline)) {
    const __m512 left = _mm512_loadu_ps(b + k * 32), right = _mm512_loadu_ps(b + k * 32 + 16);
    for (int r = 0; r < R; ++r) {
      const __m512 x = _mm512_set1_ps(a[k * R + r]);
      s[r][0] = _mm512_fmadd_ps(x, left, s[r][0]);
      s[r][1] = _mm512_fmadd_ps(x, right, s[r][1]);
    }
  };
  long k = 0;
  for (; k + 4 <= K; k += 4, next += 128) {
    _mm_prefetch(next, _MM_HINT_T1);
    _mm_prefetch(next + 64, _MM_HINT_T1);
    step(k), step(k + 1), step(k + 2), step(k + 3);
  }
  for (; k < K; ++k) step(k);
  for (int r = 0; r < R; ++r)
    for (int h = 0; h < 2; ++h) {
      float* const to = c + r * N + h * 16;
      __m512 total = first ? s[r][h] : _mm512_add_ps(_mm512_loadu_ps(to), s[r][h]);
      if (bias) total = _mm512_add_ps(total, _mm512_loadu_ps(bias + h * 16));
      _mm512_storeu_ps(to, total);
    }
}
using Tile = void (*)(const float*, const float*, const char*, float*, long, long, bool, const float*);
static const Tile tiles[] = {
  tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>, tile<7>, tile<8>, tile<9>, tile<10>, tile<11>, tile<12>};
// Weights w [N, K], whose elements lie n_step and k_step apart, to [N / 32][K][32].
extern "C" void pack(const float* w, float* to, long N, long K, long n_step, long k_step, long mask) {
  #pragma omp parallel for
  for (long n = 0; n < N; n += 32)
    for (long k = 0; k < K; ++k)
      for (long i = 0; i < 32; ++i) to[n * K + k * 32 + i] = cut(w[(n + i) * n_step + k * k_step], (uint32_t)mask);
}
// c [M, N] = a [M, K] x packed weights + bias; room has M * K floats.
extern "C" void multiply(const float* a, const float* packed, const float* bias, float* c, float* room,
                         long M, long K, long N, long chunk, long mask) {
  const long count = (M + 11) / 12, rows = (M + count - 1) / count;
  float* t = room;
  for (long from = 0; from < K; from += chunk)
    for (long m = 0; m < M; m += rows) {
      const long length = std::min(chunk, K - from), R = std::min(rows, M - m);
      for (long r = 0; r < R; ++r)
        for (long k = 0; k < length; ++k) t[k * R + r] = cut(a[(m + r) * K + from + k], (uint32_t)mask);
      t += R * length;
    }
  #pragma omp parallel for
  for (long n = 0; n < N; n += 32) {
    const float *x = room, *w = packed + n * K;
    for (long from = 0; from < K; from += chunk) {
      const long length = std::min(chunk, K - from);
      const char *const after = (const char*)(w + length * 32), *next = after;
      for (long m = 0; m < M; m += rows) {
        const long R = std::min(rows, M - m);
        const float* const added = bias && from + length == K ? bias + n : nullptr;
        tiles[R - 1](x, w, next, c + m * N + n, length, N, from == 0, added);
        x += R * length;
        next = m + rows < 4 * rows ? next + length * 32 : after;  // four tiles fetch all of the next weights
      }
      w += length * 32;
    }
  }
}
#endif
"""


def _find(step: Step) -> Linear | None:
    """Returns the product of a step that oneDNN computes and C++ could; None for other steps."""
    context, attributes = step.context, step.instruction.attributes
    if context is None or context.op not in ("ttnn.linear", "ttnn.matmul") or context.bit_exact:
        return None
    if list(context.operands) not in (["a", "b"], ["a", "b", "bias"]) or not is_one_product(context, attributes):
        return None
    specs = context.specs
    if any(CONTAINERS[spec.layout.dtype] is not torch.float32 for spec in specs) or not fills_container(context.dtype):
        return None
    linear = Linear(context, attributes)
    plain = not (linear.is_small or linear.transpose_a or linear.activation)
    few = linear.rows > 1 and math.prod(context.spec("a").shape) <= _ACTIVATIONS
    whole = context.result.shape[-1] % _COLUMNS == 0
    return linear if linear.by_onednn and plain and few and whole else None


@functools.cache
def compile_library() -> Build:
    """Compiles the products, or loads them from the cache on disk."""
    return Build.of(_SOURCE)


_chunks: dict[str, int] = {}
"""Lengths of chunks by the key of a product: those of this process, and those that it read."""


def forget_chunks() -> None:
    """Drops the lengths of chunks that this process knows, so that it reads them from disk or finds them again."""
    _chunks.clear()


def _key(step: Step) -> str:
    return disk_cache.key_of([stored.machine_and_libraries(), "product", step.key])


def _chunk(key: str) -> int | None:
    """Returns the length of a product's chunks, 0 if none has oneDNN's bits; None if that is not known yet."""
    if key not in _chunks:
        cache = disk_cache.current()
        contents = None if cache is None else cache.get(stored.KIND, key)
        if contents is None:
            return None
        _chunks[key] = int(contents)
    return _chunks[key]


def instead_of(kernel: Weighted, step: Step) -> Weighted:
    """Returns a product in C++ with the bits of ``kernel``, if it is known to have them; otherwise the kernel."""
    linear = _find(step)
    chunk = _chunk(_key(step)) if linear is not None else None
    if linear is None or not chunk:
        return kernel
    try:
        return _in_cpp(kernel, linear, step, chunk)
    except Exception as error:  # the library is gone
        _fence(kernel, step).report(error)
        return kernel


def find_chunks(steps: Iterable[Step]) -> None:
    """Finds the chunks of all products that are not known yet, and stores them for later programs and processes."""
    for step in steps:
        linear = _find(step)
        if linear is None or _chunk(key := _key(step)) is not None:
            continue
        try:
            _chunks[key] = _tried(step, linear) if hasattr(compile_library().library, "multiply") else 0
        except Exception as error:
            _fence(_bound(step), step).report(error)
            return
        cache = disk_cache.current()
        if cache is not None:
            cache.put(stored.KIND, key, str(_chunks[key]).encode())


def _tried(step: Step, linear: Linear) -> int:
    """Returns the length of chunks with which C++ has oneDNN's bits on drawn operands; 0 if there is none."""
    assert step.context is not None
    specs = [step.context.spec(name) for name in step.context.operands]
    drawn = operands_of([Operand(spec.shape, contiguous(spec.shape), torch.float32) for spec in specs])
    inner = specs[0].shape[-1]
    with COMPUTING:
        kernel = _bound(step)
        candidates = [*(chunk for chunk in _CHUNKS if chunk < inner), inner]
        products = {chunk: _in_cpp(kernel, linear, step, chunk) for chunk in candidates}
    while products:
        with COMPUTING:
            tensors = next(drawn, None)
            if tensors is None:
                break
            expected = kernel.call(*tensors)
            products = {
                chunk: each for chunk, each in products.items() if same_bits(_computed(each, tensors), expected)
            }
    return next(iter(products), 0)


def _computed(product: Weighted, tensors: Sequence[Tensor]) -> Tensor:
    a, b, *rest = tensors
    packed = product.prepare(b)
    assert packed is not None
    return product.with_prepared(a, packed, *rest)


def _in_cpp(kernel: Weighted, linear: Linear, step: Step, chunk: int) -> Weighted:
    context, transposed = step.context, linear.transpose_b
    assert context is not None
    columns, inner = context.result.shape[-1], context.spec("a").shape[-1]
    library = compile_library()
    pack = library.function("pack", [replace(FLOATS, is_dense=False), FLOATS, *[NUMBER] * 5])
    multiply = library.function("multiply", [FLOATS] * 5 + [NUMBER] * 5)
    a_mask, b_mask = (matrix_unit.mask_of(bits) for bits in (linear.a_bits, linear.b_bits))

    def prepare(b: Tensor) -> Tensor:
        k_step, n_step = reversed(b.stride()) if transposed else b.stride()
        packed = torch.empty(columns // _COLUMNS, inner, _COLUMNS, device="cpu", dtype=torch.float32)
        pack(b, packed, columns, inner, n_step, k_step, b_mask)
        return packed

    def restore(packed: Tensor) -> Tensor:
        rows = packed.transpose(1, 2).reshape(columns, inner)
        return rows if transposed else rows.t().contiguous()

    def with_prepared(a: Tensor, packed: Tensor, bias: Tensor | None = None) -> Tensor:
        a = a.contiguous()
        rows = a.numel() // inner
        result = torch.empty(*a.shape[:-1], columns, device="cpu", dtype=torch.float32)
        room = torch.empty(rows * inner, device="cpu", dtype=torch.float32)
        added = None if bias is None else bias.contiguous()
        multiply(a, packed, added, result, room, rows, inner, columns, chunk, a_mask)
        return result

    fence = _fence(kernel, step)
    return Weighted(
        kernel.call,
        fence.preparing(prepare),
        _fenced(with_prepared, fence.with_restored(restore)),
        restore,
        kernel.keeps_bits,
        kernel.keeps_weights,
    )


def _bound(step: Step) -> Weighted:
    assert step.context is not None
    kernel = bind(step.context, step.instruction.attributes)
    assert isinstance(kernel, Weighted)
    return kernel


def _fence(kernel: Weighted, step: Step) -> Fence:
    assert step.context is not None
    return Fence(step.context, step.instruction.attributes, kernel.call)


def _fenced(call: Callable[..., Any], instead: Callable[[Exception, Any], Any]) -> Callable[..., Any]:
    def fenced(*tensors: Tensor) -> Any:
        try:
            return call(*tensors)
        except Exception as error:
            return instead(error, tensors)

    return fenced


__all__ = ["compile_library", "find_chunks", "forget_chunks", "instead_of"]
