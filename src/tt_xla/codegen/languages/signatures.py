"""The C++ declarations of TT-NN's functions: C++ name and ordered parameters, by Python name.

The declarations are those of ttnn 0.81.1: a test compares the parameter types with the symbols that ``_ttnncpp.so``
exports, where it is installed. A parameter has the name that the table of calls uses, so that one table serves both
languages, and a code for its type (:data:`TYPES`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tt_xla.ir.op_table import BINARY, UNARY

OPTIONAL, EMPTY = "std::nullopt", "{}"

_TENSOR = "ttnn::Tensor"
_CONFIG = "ttnn::ComputeKernelConfig"
_MEMORY = "tt::tt_metal::MemoryConfig"
_DTYPE = "tt::tt_metal::DataType"
_UNARY = "ttnn::operations::unary::UnaryWithParam"
_SLICE = "ttnn::operations::op_slicing::Op2DSliceConfig"
_DEVICE = "tt::tt_metal::distributed::MeshDevice"
_MATMUL = "ttnn::operations::matmul::MatmulProgramConfig"

TYPES: dict[str, tuple[str, str]] = {
    "T": (f"const {_TENSOR}&", ""),
    "T&": (f"{_TENSOR}&", ""),
    "T?": (f"const std::optional<{_TENSOR}>&", OPTIONAL),
    "Tv?": (f"std::optional<{_TENSOR}>", OPTIONAL),
    "cT?": (f"const std::optional<const {_TENSOR}>&", OPTIONAL),
    "Tn": (f"const std::vector<{_TENSOR}>&", ""),
    "TorNumber": (f"const std::variant<float, int, {_TENSOR}>&", ""),
    "Tpair?": (f"std::optional<std::tuple<{_TENSOR}&, {_TENSOR}&>>", OPTIONAL),
    "b": ("bool", "false"),
    "cb": ("const bool&", "false"),
    "b?": ("std::optional<bool>", OPTIONAL),
    "cb?": ("const std::optional<bool>&", OPTIONAL),
    "i": ("int", ""),
    "ci": ("const int&", ""),
    "i?": ("const std::optional<int>&", OPTIONAL),
    "iv?": ("std::optional<int>", OPTIONAL),
    "i8": ("int8_t", ""),
    "l": ("int64_t", ""),
    "l?": ("std::optional<int64_t>", OPTIONAL),
    "u": ("uint32_t", "0"),
    "u?": ("std::optional<uint32_t>", OPTIONAL),
    "f": ("float", "0.0f"),
    "f1": ("float", "1.0f"),
    "f?": ("std::optional<float>", OPTIONAL),
    "number": ("float", ""),
    "fill": ("std::variant<unsigned int, float>", ""),
    "number?": ("std::optional<std::variant<float, int>>", OPTIONAL),
    "string": ("const std::string&", ""),
    "string?": ("const std::optional<std::string>&", OPTIONAL),
    "shape": ("const tt::tt_metal::Shape&", ""),
    "i32s": ("std::span<const int32_t>", ""),
    "i64s": ("const ttsl::SmallVector<int64_t>&", ""),
    "u32s": ("const ttsl::SmallVector<uint32_t>&", ""),
    "u32v": ("const std::vector<uint32_t>&", EMPTY),
    "pairs": ("const ttsl::SmallVector<std::array<uint32_t, 2>>&", ""),
    "two": ("std::array<uint32_t, 2>", ""),
    "padding": ("std::variant<std::array<uint32_t, 2>, std::array<uint32_t, 4>>", ""),
    "dims?": ("const std::optional<std::variant<int, int64_t, ttsl::SmallVector<int>>>&", OPTIONAL),
    "dtype": (_DTYPE, f"{_DTYPE}::BFLOAT16"),
    "cdtype": (f"const {_DTYPE}&", ""),
    "dtype?": (f"const std::optional<{_DTYPE}>&", OPTIONAL),
    "cdtype?": (f"const std::optional<const {_DTYPE}>&", OPTIONAL),
    "dtypev?": (f"std::optional<{_DTYPE}>", OPTIONAL),
    "cdtypev?": (f"std::optional<const {_DTYPE}>", OPTIONAL),
    "layout": ("tt::tt_metal::Layout", "tt::tt_metal::Layout::ROW_MAJOR"),
    "layout?": ("const std::optional<tt::tt_metal::Layout>&", OPTIONAL),
    "memory": (f"const {_MEMORY}&", f"{_MEMORY}{{}}"),
    "memoryv": (_MEMORY, ""),
    "memory?": (f"const std::optional<{_MEMORY}>&", OPTIONAL),
    "cmemory?": (f"const std::optional<const {_MEMORY}>&", OPTIONAL),
    "device": (f"{_DEVICE}*", "nullptr"),
    "device?": (f"std::optional<std::reference_wrapper<{_DEVICE}>>", OPTIONAL),
    "queue?": ("std::optional<ttnn::QueueId>", OPTIONAL),
    "cores?": ("const std::optional<tt::tt_metal::CoreRangeSet>&", OPTIONAL),
    "grid?": ("std::optional<const ttnn::CoreGrid>", OPTIONAL),
    "subdevice?": ("const std::optional<tt::tt_metal::SubDeviceId>&", OPTIONAL),
    "subdevicev?": ("std::optional<tt::tt_metal::SubDeviceId>", OPTIONAL),
    "functions": ("std::span<const ttnn::operations::unary::EltwiseUnaryWithParam>", EMPTY),
    "function?": (f"const std::optional<const std::variant<std::string, {_UNARY}>>&", OPTIONAL),
    "compute?": (f"const std::optional<{_CONFIG}>&", OPTIONAL),
    "ccompute?": (f"const std::optional<const {_CONFIG}>&", OPTIONAL),
    "computev?": (f"std::optional<{_CONFIG}>", OPTIONAL),
    "ccomputev?": (f"std::optional<const {_CONFIG}>", OPTIONAL),
    "matmul?": (f"const std::optional<const {_MATMUL}>&", OPTIONAL),
    "norm?": ("const std::optional<const ttnn::prim::LayerNormProgramConfig>&", OPTIONAL),
    "conv?": ("const std::optional<const ttnn::prim::Conv2dConfig>&", OPTIONAL),
    "slice?": (f"const std::optional<{_SLICE}>&", OPTIONAL),
    "cslice?": (f"const std::optional<const {_SLICE}>&", OPTIONAL),
    "kind?": ("std::optional<const tt::tt_metal::TensorMemoryLayout>", OPTIONAL),
    "sdpa?": ("std::optional<ttnn::operations::transformer::SDPAProgramConfig>", OPTIONAL),
    "value?": ("const std::optional<std::variant<uint32_t, float>>&", OPTIONAL),
    "embeddings": ("ttnn::prim::EmbeddingsType", "ttnn::prim::EmbeddingsType::GENERIC"),
    "sigmoid": ("ttnn::operations::unary::SigmoidMode", "ttnn::operations::unary::SigmoidMode::ACCURATE"),
    "vector": ("int", "4"),
    "topology": ("tt::tt_fabric::Topology", "tt::tt_fabric::Topology::Linear"),
    "topology?": ("std::optional<tt::tt_fabric::Topology>", OPTIONAL),
    "place": ("const tt::tt_metal::distributed::MeshCoordinate&", ""),
    "mapper?": ("const std::optional<tt::tt_metal::distributed::MeshMapperConfig>&", OPTIONAL),
    "composer?": ("const std::optional<tt::tt_metal::distributed::MeshComposerConfig>&", OPTIONAL),
    "shape?": ("const std::optional<tt::tt_metal::Shape>&", OPTIONAL),
    "elements": ("const std::vector<double>&", ""),
    "double": ("double", ""),
    "tile?": ("const std::optional<const tt::tt_metal::Tile>&", OPTIONAL),
}
"""C++ type and default value of a parameter, by code; a parameter without a default is always passed."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function: its name in the table of calls, and the code of its type."""

    name: str
    code: str

    @property
    def default(self) -> str:
        """Default value as C++ source; empty for none."""
        return TYPES[self.code][1]


@dataclass(frozen=True)
class Function:
    """A function of TT-NN, or of ``utils.hpp``."""

    name: str
    """``ttnn::relu``, as it is called."""
    parameters: tuple[Parameter, ...]
    returns: str = "one"
    """Form of the result: ``one`` tensor, ``several`` in a vector, a ``tuple`` of tensors, a ``variant`` whose first
    alternative is a tensor, or ``none``."""
    home: str = ""
    """Namespace of the definition, if it differs from the one in ``name``."""
    template: str = ""
    """``int32_t`` for a template that is called with this argument, ``inline`` for one that is only in a header."""


def _function(name: str, parameters: str, returns: str = "one", home: str = "", template: str = "") -> Function:
    pairs = (word.split(":") for word in parameters.split())
    return Function(name, tuple(Parameter(*pair) for pair in pairs), returns, home, template)


_PLAIN = "input:T memory_config:memory? output:T? cores:cores?"
_ROUGH = "input:T fast_and_approximate_mode:b memory_config:memory? output:T? cores:cores?"
_UNARY_FORMS = {
    **dict.fromkeys(("erf", "exp", "gelu", "log", "log1p", "mish", "rsqrt", "sqrt"), _ROUGH),
    "round": "input:T decimals:i? memory_config:memory? output:T? cores:cores?",
    "sigmoid": "input:T vector_mode:vector mode:sigmoid memory_config:memory? output:T? cores:cores?",
    "tanh": "input:T memory_config:memory? output:T? fast_and_approximate_mode:b cores:cores?",
}

_SIDES = "activations:functions input_tensor_a_activations:functions input_tensor_b_activations:functions"
_WITH_DTYPE = f"a:T b:T dtype:cdtype? memory_config:memory? output:T? {_SIDES}"
_WITHOUT_DTYPE = f"a:T b:T memory_config:memory? output:T? {_SIDES}"
_CORES = "cores:cores? sub_device:subdevice?"
_ARITHMETIC = f"{_WITH_DTYPE} fast_and_approximate_mode:cb? {_CORES}"
_BINARY_FORMS = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), _ARITHMETIC),
    **dict.fromkeys(("pow", "maximum", "minimum"), _WITH_DTYPE),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "logical_left_shift"), f"{_WITHOUT_DTYPE} {_CORES}"),
    "atan2": "a:T b:T memory_config:memory?",
    "fmod": f"a:T b:T memory_config:memory? {_CORES}",
}

_PRODUCT = (
    "transpose_a:b transpose_b:b memory_config:cmemory? dtype:cdtypev? program_config:matmul? activation:function? "
    "compute_kernel_config:ccomputev? core_grid:grid? output_tile:tile? output:Tv?"
)
_REDUCTION = "input:T dim:dims? keepdim:b memory_config:memory? compute_kernel_config:compute? scalar:f1"
_NORM = (
    "input:T epsilon:f weight:cT? bias:cT? residual:cT? memory_config:memory? program_config:norm? "
    "compute_kernel_config:ccomputev?"
)
_STATISTICS = (
    "input:T dtype:dtype residual:cT? compute_kernel_config:ccomputev? program_config:norm? memory_config:memory?"
)
_BY_STATISTICS = (
    "input:T stats:T epsilon:f weight:cT? bias:cT? memory_config:memory? compute_kernel_config:ccomputev? "
    "program_config:norm? dtype:cdtype?"
)
_SIZES = "in_channels:u out_channels:u batch_size:u input_height:u input_width:u kernel_size:two stride:two"
_CONV_END = "conv_config:conv? compute_config:ccompute? memory_config:cmemory? slice_config:cslice?"
_PREPARED = "device:device input_dtype:dtype output_dtype:cdtype? conv_config:conv? compute_config:ccompute?"
_INPUT = "input_memory_config:memory input_layout:layout"
_POOL = "input:T batch_size:u input_h:u input_w:u channels:u kernel_size:two stride:two padding:padding"
_POOL_END = "deallocate_input:b reallocate_halo_output:b"
_CONV2D = "ttnn::operations::conv::conv2d"
_TRANSPOSED = "ttnn::operations::conv::conv_transpose2d"

_DECLARATIONS = f"""
ttnn.bitcast(input:T dtype:cdtype memory_config:memory?)
ttnn.where(condition:T first:TorNumber second:TorNumber memory_config:memory?)
ttnn.clamp(input:T min:number? max:number? memory_config:memory? output:T?)
ttnn.leaky_relu(input:T negative_slope:number memory_config:memory?)
ttnn.div(a:T b:T fast_and_approximate_mode:b rounding_mode:string? dtype:cdtype? memory_config:memory? output:T?
    {_SIDES})
ttnn.matmul(a:T b:T {_PRODUCT}) in ttnn::operations::matmul
ttnn.linear(a:T b:T bias:cT? {_PRODUCT}) in ttnn::operations::matmul
ttnn.reshape(input:T shape:shape memory_config:memory? pad_value:value?)
ttnn.permute(input:T permutation:i64s memory_config:memory? pad_value:f)
ttnn.repeat(input:T repeats:u32s memory_config:memory?)
ttnn.concat(inputs:Tn dim:i memory_config:memory?)
ttnn.slice<int32_t>(input:T begins:i32s ends:i32s step:i32s memory_config:memory?)
ttnn.fill_implicit_tile_padding(input:T fill_value:fill memory_config:memory?)
ttnn.pad(input:T padding:pairs value:f use_multicore:b memory_config:memory?)
ttnn.embedding(input:T weight:T pad_token:i? layout:layout? type:embeddings dtype:cdtypev? memory_config:memory?)
ttnn.gather(input:T dim:i8 index:T sparse_grad:b memory_config:memory?)
ttnn.scatter(input:T dim:ci index:T source:T memory_config:memory? reduce:string?)
ttnn.sort(input:T dim:i8 descending:b stable:b memory_config:memory?) -> several
ttnn.topk(input:T k:u dim:i8 largest:b sorted:b memory_config:memory? cores:cores? indices:T? output:Tpair? stable:b)
    -> several
ttnn.to_layout(input:T layout:layout dtype:dtype? memory_config:memory?)
ttnn.to_memory_config(input:T memory_config:memory dtype:dtypev?)
ttnn.to_dtype(input:T dtype:cdtype)
ttnn.typecast(input:T dtype:cdtype memory_config:memory?)
ttnn.to_device(input:T device:device memory_config:memory? queue:queue?) in ttnn::operations::core
ttnn.from_device(input:T blocking:b queue:queue?) in ttnn::operations::core
ttnn.deallocate(input:T& force:b) -> none in ttnn::operations::core
ttnn.clone(input:T dtype:dtype? memory_config:memory?)
ttnn.copy(source:T target:T)
ttnn.full<inline>(shape:shape value:number dtype:dtype? layout:layout? device:device? memory_config:memory?)
ttnn.ones(shape:shape dtype:dtype? layout:layout? device:device? memory_config:memory?)
ttnn.arange(start:l end:l step:l dtype:dtype device:device? memory_config:memory layout:layout)
ttnn.sum({_REDUCTION})
ttnn.mean({_REDUCTION})
ttnn.max({_REDUCTION})
ttnn.min({_REDUCTION})
ttnn.prod(input:T dim:l? keepdim:b memory_config:memory?)
ttnn.argmax(input:T dim:i? keepdim:b cores:cores? memory_config:memory?)
ttnn.cumsum(input:T dim:ci dtype:dtypev? reverse:cb output:Tv? memory_config:memory?)
ttnn.softmax(input:T dim:i memory_config:memory? compute_kernel_config:ccomputev? numeric_stable:b)
ttnn.layer_norm({_NORM})
ttnn.rms_norm({_NORM})
ttnn.layer_norm_pre_all_gather({_STATISTICS} recip:cT? fast:b)
ttnn.rms_norm_pre_all_gather({_STATISTICS} rows:cb? fast:b)
ttnn.layer_norm_post_all_gather({_BY_STATISTICS})
ttnn.rms_norm_post_all_gather({_BY_STATISTICS} rows:cb?)
ttnn.conv2d(input_tensor:T weight_tensor:T device:device {_SIZES} padding:padding dilation:two groups:u dtype:cdtype?
    bias_tensor:cT? {_CONV_END}) -> variant
ttnn.conv_transpose2d(input_tensor:T weight_tensor:T device:device {_SIZES} padding:padding output_padding:two
    dilation:two groups:u dtype:cdtype? bias_tensor:cT? {_CONV_END}) -> variant
ttnn.prepare_conv_weights(weight_tensor:T {_INPUT} weights_format:string {_SIZES} padding:padding dilation:two
    has_bias:b groups:u {_PREPARED}) in {_CONV2D}
ttnn.prepare_conv_bias(bias_tensor:T {_INPUT} {_SIZES} padding:padding dilation:two groups:u {_PREPARED}) in {_CONV2D}
ttnn.prepare_conv_transpose2d_weights(weight_tensor:T input_memory_config:memoryv input_layout:layout
    weights_format:string {_SIZES} padding:padding output_padding:two dilation:two has_bias:b groups:u {_PREPARED}) in
    {_TRANSPOSED}
ttnn.prepare_conv_transpose2d_bias(bias_tensor:T {_INPUT} {_SIZES} padding:padding dilation:two groups:u {_PREPARED})
    in {_TRANSPOSED}
ttnn.max_pool2d({_POOL} dilation:two ceil_mode:b memory_config:cmemory? slice_config:slice? applied_shard_scheme:kind?
    {_POOL_END} return_indices:b dtype:dtype output_layout:layout) -> several in ttnn::operations::pool
ttnn.avg_pool2d({_POOL} ceil_mode:b count_include_pad:b divisor_override:iv? memory_config:cmemory?
    slice_config:slice? applied_shard_scheme:kind? compute_kernel_config:compute? {_POOL_END} dtype:dtype
    output_layout:layout) in ttnn::operations::pool
ttnn.all_gather(input:T dim:i cluster_axis:u? memory_config:memory? output:T? sub_device:subdevice? cores:cores?
    num_links:u? topology:topology? chunks_per_sync:u? workers_per_link:u? buffers_per_channel:u? l1_small:b)
ttnn.all_reduce(input:T cluster_axis:u? sub_device:subdevice? memory_config:memory? num_links:u? topology:topology?)
ttnn.reduce_scatter(input:T dim:i cluster_axis:u? sub_device:subdevice? memory_config:memory? intermediate:memory?
    output:T? num_links:u? topology:topology? chunks_per_sync:u? workers_per_link:u? buffers_per_channel:u?
    compute_kernel_config:compute? l1_small:b)
ttnn.experimental.all_to_all_async_generic(input:T in_dim:i out_dim:i output:T? num_links:u? memory_config:memory?
    topology:topology? sub_device:subdevicev? cluster_axis:u?)
ttnn.mesh_partition(input:T dim:i cluster_axis:u? memory_config:memory?)
ttnn.point_to_point(input:T sender:place receiver:place topology:topology output_tensor:T? intermediate:T?)
ttnn.fill_cache(cache:T input:T batch:u update:u)
ttnn.experimental.paged_update_cache(cache:T input:T update_idxs:u32v update_idxs_tensor:cT? share_cache:b?
    page_table:cT? batch_offset:u)
ttnn.experimental.rotary_embedding(input:T cos:T sin:T token_index:u? memory_config:memory?
    compute_kernel_config:ccomputev?)
ttnn.transformer.scaled_dot_product_attention(query:T key:T value:T attn_mask:T? is_causal:b scale:f?
    sliding_window_size:u? memory_config:memory? program_config:sdpa? compute_kernel_config:computev?
    attention_sink:T?)
ttnn.transformer.scaled_dot_product_attention_decode(query:T key:T value:T is_causal:b attn_mask:cT? cur_pos:u32v
    cur_pos_tensor:cT? attention_sink:cT? scale:f? sliding_window_size:u? memory_config:memory? program_config:sdpa?
    compute_kernel_config:computev? share_kv:b?)
ttnn.transformer.concatenate_heads(input:T memory_config:memory?)
ttnn.transformer.split_query_key_value_and_split_heads(input:T kv_input_tensor:T? num_heads:u num_kv_heads:u?
    transpose_key:b memory_config:memory?) -> tuple
utils.load(name:string dtype:dtype layout:layout device:device memory_config:memory? mapper:mapper? padded:shape?)
utils.ones(name:string shape:shape dtype:dtype layout:layout device:device memory_config:memory?)
utils.full(value:double shape:shape dtype:dtype layout:layout)
utils.composed(tensor:T device:device composer:composer? replicas:u shape:shape?)
utils.tensor(elements:elements dtype:dtype layout:layout)
"""
"""Functions as ``name<template>(parameters) -> form of the result in namespace``. C++ has ``::`` for a dot."""

_DECLARATION = re.compile(r"^(\S+?)(?:<(\w+)>)?\(([^)]*)\)(?:\s+-> (\w+))?(?:\s+in\s+(\S+))?$", re.MULTILINE)

FUNCTIONS: dict[str, Function] = {
    **{
        f"ttnn.{row.ttnn}": _function(f"ttnn::{row.ttnn}", _UNARY_FORMS.get(row.ttnn, _PLAIN))
        for row in UNARY
        if row.ttnn and row.python == row.ttnn
    },
    **{
        f"ttnn.{name}": _function(f"ttnn::{name}", _BINARY_FORMS.get(name, f"{_WITH_DTYPE} {_CORES}"))
        for name in (row.python for row in BINARY if row.ttnn)
    },
    "ttnn.clamp (tensors)": _function("ttnn::clamp", "input:T min:Tv? max:Tv? memory_config:memory? output:T?"),
    **{
        name: _function(name.replace(".", "::"), parameters, returns or "one", home or "", template or "")
        for name, template, parameters, returns, home in _DECLARATION.findall(_DECLARATIONS)
    },
}
