"""The ops ``quantized_decomposed``, which quantize tensors. PyTorch defines them when a private module is imported."""

from tt_xla.frontends.torch.private.names import names_of

with names_of("quantized"):
    import torch.ao.quantization.fx._decomposed as decomposed

__all__ = ["decomposed"]
