// Moves of elements between tensors.
#pragma once

// y[r * y_row + c] = x[r + c * x_column], in blocks that stay in the cache.
template <class T> static inline void transposed(const T* x, T* y, long rows, long columns, long x_column, long y_row) {
  enum { BLOCK = 16 };
  for (long r0 = 0; r0 < rows; r0 += BLOCK)
    for (long c0 = 0; c0 < columns; c0 += BLOCK)
      for (long r = r0; r < std::min(r0 + BLOCK, rows); ++r)
        for (long c = c0; c < std::min(c0 + BLOCK, columns); ++c) y[r * y_row + c] = x[r + c * x_column];
}
