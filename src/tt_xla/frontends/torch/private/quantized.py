"""The ops ``quantized_decomposed``, which quantize tensors. PyTorch defines them when a private module is imported."""

import torch.ao.quantization.fx._decomposed as decomposed

__all__ = ["decomposed"]
