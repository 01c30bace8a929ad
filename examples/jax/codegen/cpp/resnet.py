"""Writes a ResNet-50 of Flax, with random weights, as C++ source that calls TT-NN."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from flax_resnet import forward, resnet50

from tt_jax import codegen_cpp

if __name__ == "__main__":
    codegen_cpp(forward, *resnet50(), export_path="resnet50_codegen")
