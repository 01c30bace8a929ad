"""Writes ResNet-50 of transformers, with random weights, as C++ source that calls TT-NN."""

from __future__ import annotations

import torch
from transformers import ResNetConfig, ResNetForImageClassification

from tt_torch import codegen_cpp

if __name__ == "__main__":
    torch.manual_seed(0)
    model = ResNetForImageClassification(ResNetConfig()).eval()
    codegen_cpp(model, torch.randn(1, 3, 224, 224), export_path="resnet50_codegen")
