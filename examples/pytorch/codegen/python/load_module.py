"""Runs the source that ``custom_module.py`` wrote in place of the module, and compares the results.

An edit of ``model/main.py`` changes the second figure.
"""

from __future__ import annotations

import torch
from custom_module import Model

from tt_torch import load_codegen_py

if __name__ == "__main__":
    torch.manual_seed(0)
    model, x = Model(), torch.randn(32, 32)
    with torch.no_grad():
        print(f"the module on the CPU: {model(x):.4f}")
    print(f"model/main.py: {load_codegen_py(model, x, load_path='model'):.4f}")
