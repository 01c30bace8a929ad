"""Entries of the registries that no drawn program reaches, each with the reason."""

from __future__ import annotations

_FOR_OTHER_DEVICES = "a name under which other devices compute a convolution, so that PyTorch's CPU cannot judge it"
_FOR_TRACING = "takes a module, and torch.compile shows none: dynamo inlines all modules"
_FOR_MESHES = "needs a mesh, on which programs of PyTorch are not drawn"
_FOR_RANKS = "exchanges with other ranks; tests/frontends/torch/ranks/ has programs for them"

UNREACHED: dict[str, dict[str, str]] = {
    "converters": {
        "chlo.conj": "takes complex numbers alone, which the importer gives to the host before it asks a converter",
    },
    "aten rules": {
        "tt_xla.mark_tensor.default": "marks a region for a composite, and means nothing by itself",
        "aten.convolution_overrideable.default": _FOR_OTHER_DEVICES,
        "aten.convolution_backward_overrideable.default": _FOR_OTHER_DEVICES,
        "tt::sharding_constraint": _FOR_MESHES,
        "tt::mark_sharding": _FOR_MESHES,
        "tt::shard_alike": _FOR_MESHES,
        "tt::full_to_shard": _FOR_MESHES,
        "tt::shard_to_full": _FOR_MESHES,
        "xla::dynamo_set_buffer_donor_": "donates the bytes of a tensor, and computes nothing",
        "tt::collective": _FOR_MESHES,
        "_c10d_functional::all_gather_into_tensor": _FOR_RANKS,
        "_c10d_functional::all_gather_into_tensor_coalesced": _FOR_RANKS,
        "_c10d_functional::all_reduce": _FOR_RANKS,
        "_c10d_functional::all_reduce_coalesced": _FOR_RANKS,
        "_c10d_functional::all_to_all_single": _FOR_RANKS,
        "_c10d_functional::broadcast": _FOR_RANKS,
        "_c10d_functional::reduce_scatter_tensor": _FOR_RANKS,
        "_c10d_functional::reduce_scatter_tensor_coalesced": _FOR_RANKS,
        "_c10d_functional::wait_tensor": _FOR_RANKS,
        "_dtensor::shard_dim_alltoall": _FOR_RANKS,
        "tt::custom_call": "calls a function that only its caller knows",
    },
    "sharding rules": {
        "stablehlo.uniform_quantize": "XLA's CPU client has no quantized types, so nothing says what is right",
        "stablehlo.uniform_dequantize": "takes a quantized tensor, see stablehlo.uniform_quantize",
    },
    "patterns": {
        "ttir.join_collectives.drop_for_one_chip": "the importer emits none over one chip; TTIR text may have one",
    },
    "fx patterns": {
        "composite:GELU:replace_gelu_module": _FOR_TRACING,
        "composite:GroupNorm:replace_group_norm_module": _FOR_TRACING,
        "composite:LayerNorm:replace_layer_norm_module": _FOR_TRACING,
        "composite:RMSNorm:replace_rms_norm_module": _FOR_TRACING,
    },
}
"""By table of :mod:`tests.fuzz.reached` and entry."""

OF_TORCH_XLA = {
    "tt::call_jax": "calls a function of JAX; programs of JAX are drawn as such",
    "xla::place_to_host": "marks a tensor for the host's memory, and computes nothing",
    "xla::place_to_device": "marks a tensor for the device's memory, and computes nothing",
    "xla::write_mlir_debuginfo": "names the op that computes its operand, and computes nothing",
}
"""Rules for ops that modules of torch_xla define when they are imported, with the reason why none is drawn."""
