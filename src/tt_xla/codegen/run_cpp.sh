#!/usr/bin/env bash
# Builds main.cpp against TT-NN and runs it. CMake looks for TT-NN below TT_METAL_HOME and in CMAKE_PREFIX_PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v cmake >/dev/null; then
  echo "run: cmake is not installed; it is needed to build main.cpp." >&2
  exit 1
fi
if ! command -v "${CXX:-c++}" >/dev/null; then
  echo "run: ${CXX:-c++} is not installed; a C++20 compiler is needed to build main.cpp." >&2
  exit 1
fi
if ! cmake -S . -B build -DCMAKE_BUILD_TYPE=Release ${TT_METAL_HOME:+-DCMAKE_PREFIX_PATH="$TT_METAL_HOME/build"}; then
  echo "run: TT-NN's CMake package was not found, or the compiler lacks C++20; CMake says which above." >&2
  echo "run: set TT_METAL_HOME to a built tt-metal. main.py of codegen_py runs without one." >&2
  exit 1
fi
cmake --build build
echo "Running main..."
exec build/main "$@"
