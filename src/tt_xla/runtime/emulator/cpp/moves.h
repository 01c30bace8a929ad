// Moves of elements between tensors, and memory of threads.
#pragma once
#include <vector>

#include "emulator.h"

// Memory of the calling thread of at least so many bytes, for one unit at a time.
static inline char* thread_memory(long bytes) {
  static thread_local std::vector<double> memory;
  if ((long)memory.size() * 8 < bytes) memory.resize((bytes + 7) / 8);
  return (char*)memory.data();
}

// y[r * y_row + c] = x[r + c * x_column], in blocks that stay in the cache.
template <class T> static inline void transposed(const T* x, T* y, long rows, long columns, long x_column, long y_row) {
  enum { BLOCK = 16 };
  for (long r0 = 0; r0 < rows; r0 += BLOCK)
    for (long c0 = 0; c0 < columns; c0 += BLOCK)
      for (long r = r0; r < std::min(r0 + BLOCK, rows); ++r)
        for (long c = c0; c < std::min(c0 + BLOCK, columns); ++c) y[r * y_row + c] = x[r + c * x_column];
}
