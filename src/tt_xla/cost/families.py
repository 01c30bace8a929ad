"""Parameters of the cost model, by family of TTNN ops. Ops without parameters follow the data-movement model.

Unless a comment says otherwise, cycles are those of one core for one 32x32 tile. "Profiler" stands for kernel times in
public files of the profiler (op_durations.csv, see docs/cost_model.md), "[ISA]" for tenstorrent/tt-isa-documentation.
"""

from __future__ import annotations

# Elementwise ops on the FPU: unpacking two tiles, adding them and packing the result. Profiler: sharded add of 224
# tiles a core, 72 cycles a tile; a multiplication takes 8 cycles more for each further fidelity pass (97 at hifi4).
FPU_TILE_CYCLES = 72.0
FPU_PASS_CYCLES = 8.0

# Time to fill a tile from a row or column that is broadcast inside it, in units of the time to fill a tile with a
# scalar: a data-movement core stores both word by word. Profiler: 1.42 us a tile at 1.35 GHz from L1.
BROADCAST_FILLS = 1.7

# Time for one row-major page (a "stick"): its address is computed and its request waited for. Profiler, Blackhole,
# DRAM: tilize 137, untilize 165, copies and slices 150; with padding or unpadding 378 to 404, without the time to store
# the padding.
STICK_CYCLES = 150.0
PADDED_STICK_CYCLES = 400.0

# Time to store one word of padding [ISA]. Profiler, Blackhole: 37,300 cycles on one core for 13 rows of 768 elements
# and 19 sticks; 72 cycles a stick for 29 of 32 columns.
WORD_CYCLES = 5.0

# Number of tiles in a row above which tilize and untilize also divide each row among cores, if there are fewer rows
# than tiles in a row (tt-metal, ``threshold_row_block``).
WIDE_TILES = 32

# Copies of row-major pages. An interleaved buffer is read page by page (430 ns each), a shard in bulk (48 ns).
COPY_STICK_CYCLES = 550.0
BULK_STICK_CYCLES = 65.0

# Copies between shards and an interleaved buffer stream only one side, many pages at a time. Profiler: 13 bytes a cycle
# into shards; 217 to 263 GB/s out of shards into DRAM by 15 to 20 cores, where reads reach 300.
ONE_SIDED = 0.54
WRITTEN = 1.22

# The same between shards and a buffer interleaved over L1: the part of the NoC's speed that a core reaches, and the
# number of cores at full speed that all cores together are worth. Profiler, Wormhole, 64 tiles of bfloat8_b a core:
# read 9 us on 20 cores and 20 us on 64; written 19 us on 8 cores and 32 us on 64.
FROM_L1 = 0.27
INTO_L1 = 0.13
FROM_L1_CORES = 8.2
INTO_L1_CORES = 5.4

# Rows of a buffer interleaved over L1 that go into shards, without a wait for each. Profiler, Wormhole: 50 cycles for
# 64 bytes, 140 for 256, 240 for 512.
L1_STICK_CYCLES = 25.0
L1_STICK_BYTES_PER_CYCLE = 2.4

# Tilize and untilize in the compute engine. Profiler: sharded tilize of 224 tiles a core, 69 cycles each.
TILIZE_CYCLES = 69.0

# Time that untilize needs to start each row of tiles. Profiler, sharded: 470 cycles for a row of one tile, 960 for a
# row of eight tiles.
UNTILIZE_ROW_CYCLES = 400.0

# Halo: a fixed time, and the number of cores whose worth of bytes the NoC carries at once if all send rows to others;
# three times as many if channels are sharded too, because then rows go along columns of cores alone. Profiler, rows
# that cores get from others, on all cores together: 240 to 560 GB/s on 20 cores and 400 to 1000 on 64 to 110 cores of
# a Blackhole, 300 on 64 cores of a Wormhole; 1100 to 1700 for blocks.
HALO_US = 1.3
HALO_STREAMS = 8.0
HALO_BLOCK_FACTOR = 3.0

# Time to gather one row of a slice of a tiled tensor. Profiler: 32 cycles for a row of 16 bytes, 52 for a row of 512
# bytes.
SLICED_STICK_CYCLES = 32.0
SLICED_BYTES_PER_CYCLE = 26.0

# Copies between shards move one page at a time. Profiler: concat of 192 tiles a core 45 us.
SHARD_PAGE_CYCLES = 318.0

# Prefix sum along each column of tiles. Profiler: 1038 to 1080 cycles a tile.
PREFIX_SUM_CYCLES = 1040.0

# A tiled reshape copies pieces of rows; a piece ends at the border of a face of 16 columns. Profiler: 100 cycles a
# piece on both chips with 12 to 32 rows a tile, without the wait for each source tile.
RESHAPE_PIECE_CYCLES = 100.0
FACE = 16

# A permutation that writes the rows of tiles. Profiler: 1.76 us a row of tiles, or 2.75 us if the permutation moves the
# columns to another dimension.
PERMUTE_ROWS_CYCLES = 2370.0
PERMUTE_COLUMNS_CYCLES = 3700.0

# A row-major permutation reads and writes pieces of 32 elements, many at a time. Profiler: 48 cycles a piece.
PERMUTE_PIECE_CYCLES = 48.0

# A row-major reshape copies rows at unaligned addresses element by element. Profiler: 31 and 33 cycles an element,
# without the time for the sticks.
UNALIGNED_ELEMENT_CYCLES = 31.0
ALIGNED_BYTES = 16

# A matmul writes its result to interleaved memory tile by tile. Profiler, Blackhole: writing ends 0.33 to 0.35 us a
# tile after computing, for 8, 30 and 96 bfloat16 tiles a core.
MATMUL_WRITE_BYTES_PER_CYCLE = 4.5

# Time until a block of an operand that a core reads from memory begins to arrive, without the handshake, and cycles in
# which the core requests a page of it. GEMM sweep, small products: 0.5 to 0.6 us a block with the handshake; 38 cycles
# more a tile of bfloat4_b, bfloat8_b and bfloat16 than sending it takes on p150.
MATMUL_READ_US = 0.2
MATMUL_READ_PAGE_CYCLES = 38.0

# Time in which the chip reads the left operand if each core reads its own rows, and in which it writes results that are
# divided along one side, in units of a plain copy's time: writers then use one NoC. Profiler, p100, products of
# bfloat8_b with 1 to 8 columns of tiles on 86 and 103 cores: 224 GB/s read, then 132 GB/s written.
MATMUL_READ = 1.4
MATMUL_WRITTEN = 2.4

# Part of the time to pack and unpack partial sums that a core spends on them if it fetches them again for each block;
# it packs while it multiplies the next subblock. Profiler, 2025, p100 and bh20: 70 cycles a tile at lofi and 50 at
# hifi4 beside the products. (A sweep of late 2026, matmul_oob in tt-metal's benchmarks, shows 170 at hifi4.)
RELOAD_FACTOR = 0.75

# A matmul kernel multiplies the result subblock by subblock, and keeps a tile of one operand while it goes along the
# subblock's longer side: cycles to fetch that tile, of bfloat16. Height-sharded sweep: 66, 42 and 36 cycles a tile
# product at hifi2 with subblocks of 1, 3 and 6 columns. Convolutions count from subblocks that are 4 tiles wide.
SUBBLOCK_CYCLES = 36.0
SUBBLOCK_WIDTH = 4

# Before a block of an operand is sent to cores, each of them reports that it has room. GEMM sweep, without the wait for
# DRAM: 7.1 us for 8 blocks of little work on n150, 10.5 us for 13 on p150.
BLOCK_HANDSHAKE_US = 0.3

# The minimal matmul, which works on blocks of 8x8 tiles, reaches only a part of the DRAM bandwidth, and spends the time
# of 2.5 blocks before its first and after its last product. Profiler: 768x3072 38 us on Blackhole, 1280x5120 187 us on
# Wormhole.
MINIMAL_DRAM_FACTOR = 2.3
MINIMAL_BLOCKS = 2.5
MINIMAL_BLOCK_TILES = 64

# Convolution: a core reads the rows of windows from L1 one by one. From two rows of tiles on, two cores share the rows.
# Profiler: 27.7, 35.9 and 38.4 cycles for rows of 128, 320 and 384 bytes.
GATHER_READ_CYCLES = 22.0
GATHER_BYTES_PER_CYCLE = 24.0

# Time for the compute core to change from tilizing a block of windows to multiplying it. Profiler: 140 to 200 cycles a
# block.
CONVOLUTION_BLOCK_CYCLES = 160.0

# Pooling, for each output position and two tiles of channels: cycles for a window of up to 32 positions, which one
# pass reduces, cycles for each pass of a larger window, and more if the result is tiled. tt-metal's tests on Wormhole:
# 150 to 162 cycles for windows of 4, 9 and 16 positions, 650 for 49. Profiler, Blackhole: 153 cycles for a window of 9,
# and 300 with a tiled result.
POOL_STICK_CYCLES = 155.0
POOL_PASS_POSITIONS = 32
POOL_PASS_CYCLES = 325.0
POOL_TILED_CYCLES = 145.0

# Ops that pass several times over a row of tiles: cycles a tile, cycles a row of tiles, and cycles per op. Profiler:
# layer norm of a row of 24 tiles on Blackhole 19.2 us and of 40 on Wormhole 53 us; of bfloat8_b on Wormhole 6 us for a
# row of one tile, 10.4 for one of 8, 29.5 for eight rows of one. Softmax of one tile a core 7.8 us on Blackhole and 20
# on Wormhole; of eight rows of 8 tiles of bfloat8_b 46 us there. Rotary embedding of 4 tiles 2.7 us on Blackhole. Group
# norm 6000 cycles a tile.
ROW_OPS: dict[str, tuple[float, float, float]] = {
    "batch_norm_inference": (450.0, 0.0, 2000.0),
    "batch_norm_training": (1100.0, 0.0, 4000.0),
    "group_norm": (6000.0, 0.0, 8000.0),
    "layer_norm": (250.0, 2500.0, 0.0),
    "layer_norm_post_all_gather": (700.0, 0.0, 4000.0),
    "layer_norm_pre_all_gather": (450.0, 0.0, 2000.0),
    "distributed_layer_norm": (1200.0, 0.0, 8000.0),
    "distributed_rms_norm": (1000.0, 0.0, 8000.0),
    "rms_norm": (150.0, 2500.0, 0.0),
    "dit_rms_norm_unary_fused": (450.0, 2500.0, 0.0),  # rms_norm, and one vector function
    "rms_norm_post_all_gather": (600.0, 0.0, 4000.0),  # layer_norm_post_all_gather without the mean
    "rms_norm_pre_all_gather": (400.0, 0.0, 2000.0),
    "softmax": (600.0, 0.0, 7100.0),
    "rotary_embedding": (825.0, 0.0, 0.0),
    "rotary_embedding_llama": (825.0, 0.0, 0.0),
}

# Norms spend the rest of their time as if they unpacked each tile so many times: their time a tile is 1.35 times as
# long on Wormhole, and half as long for bfloat8_b.
NORM_UNPACKS = 38.0
NORMS = ("layer_norm", "rms_norm", "dit_rms_norm_unary_fused")

# Time in which cores that share rows exchange the sums of their parts. Profiler, Blackhole: 6.9 us for a norm of 4
# tiles on each of 32 cores.
NORM_EXCHANGE_US = 2.0

# Number of tiles that such an op first fills with the factors of its reductions, and that a norm does. Profiler:
# softmax of one tile 7.8 us on Blackhole, 20 us on Wormhole, whose stores are slow.
ROW_OP_FILLS = 3.0
NORM_FILLS = 0.5
UNFILLED = ("rotary_embedding", "rotary_embedding_llama")

# Group norm: each group of channels needs a sum over all cores that share it, and two passes over its tiles. Profiler:
# 221 to 1108 us for 4 to 16 channels a group and 3 to 192 rows of tiles a core.
GROUP_CYCLES = 2000.0
GROUP_CORE_CYCLES = 730.0
GROUP_TILE_CYCLES = 680.0

# A running sum or product goes from tile to tile along its dimension. Profiler: 397 cycles a tile in L1; 693 from DRAM,
# which is the wait for a page.
RUNNING_CYCLES = 400.0

# Reductions: FPU cycles for each input tile, with the pooling instruction or as a product with a column of ones.
REDUCTIONS: dict[str, float] = {
    "sum": 80.0,
    "mean": 80.0,
    "max": 80.0,
    "min": 80.0,
    "prod": 400.0,
    "argmax": 12000.0,  # scalar code on a data-movement core, about 12 cycles an element
    "sort": 12000.0,
    "topk": 6000.0,
    "topk_router_gpt": 6000.0,  # same as topk
    "sampling": 12000.0,  # same as sort
    "indexer_score_dsa": 6000.0,  # same as topk
}

# Binary ops on the FPU, with the vector function that the same kernel computes after them. Comparisons subtract and
# compare the difference with zero.
_COMPARE = "eqz"
BINARY: dict[str, str] = {
    "add": "",
    "subtract": "",
    "multiply": "",
    "divide": "reciprocal",
    "eq": _COMPARE,
    "ne": _COMPARE,
    "ge": _COMPARE,
    "gt": _COMPARE,
    "le": _COMPARE,
    "lt": _COMPARE,
    "logical_and": _COMPARE,
    "logical_or": _COMPARE,
    "logical_xor": _COMPARE,
    "logical_left_shift": "bitwise_and",
    "logical_right_shift": "bitwise_and",
    "quantize": "round",
    "dequantize": "",
    "requantize": "round",
}

SIMILAR: dict[str, str] = {
    **dict.fromkeys(("deg2rad", "fill", "heaviside", "rad2deg", "relu_max", "relu_min", "square", "threshold"), "relu"),
    **dict.fromkeys(("hardshrink", "softshrink", "hardtanh", "hardmish"), "relu6"),
    **dict.fromkeys(("gtz", "lez", "ltz", "nez"), "eqz"),
    **dict.fromkeys(("isinf", "isnan", "isneginf", "isposinf"), "isfinite"),
    **dict.fromkeys(("celu", "selu"), "elu"),
    **dict.fromkeys(("cosh", "sinh", "rpow"), "exp"),
    **dict.fromkeys(("digamma", "lgamma", "logit", "polygamma"), "log"),
    **dict.fromkeys(("gcd", "lcm", "nextafter", "bitwise_right_shift"), "bitwise_and"),
    **dict.fromkeys(("addcmul", "lerp", "mac", "prelu", "squared_difference", "isclose"), "where"),
    **dict.fromkeys(("addcdiv", "div_no_nan", "floor_div", "rdiv"), "div"),
    **dict.fromkeys(("ldexp", "logaddexp", "logaddexp2"), "exp"),
    **{
        f"{name}_approx": name
        for name in ("erf", "exp", "log", "log10", "log2", "mish", "rsqrt", "sigmoid", "sqrt", "tanh")
    },
    **{"hypot": "sqrt", "i1": "i0", "log_sigmoid": "sigmoid", "modulo": "remainder", "round_decimals": "round"},
    **{"softcap": "tanh", "xielu": "expm1", "xlogy": "log"},
    **{"sigmoid_bw": "sigmoid", "tanh_bw": "exp"},
}
"""Elementwise functions that were not measured, by the row of the vector unit's table whose cycles stand in."""

# Vector functions that a binary op applies before and after, where the function's name is not a row of the vector
# unit's table: the row whose cycles stand in.
STEPS: dict[str, str] = {
    "add_unary_sfpu": "relu",
    "div_unary_sfpu": "relu",  # a product with the reciprocal
    "mul_unary_sfpu": "relu",
    "power": "pow_scalar",
    "recip": "reciprocal",
    "rsub": "relu",
    "square": "relu",
    "sub_unary_sfpu": "relu",
}
STEPS_BEFORE = ("input_tensor_a_activations", "input_tensor_b_activations")
STEPS_AFTER = "activations"

# Ops without work on the device: bookkeeping, and results that an earlier run cached.
FREE = (
    "deallocate",
    "get_device",
    "load_cached",
    "begin_trace_capture",
    "end_trace_capture",
    "dump_tensor",
    "load_tensor",
    "assign",
    "bitcast_convert",
    "host_call",
    "host_callback",
    "while_loop",
    "case",
)

CREATION = ("zeros", "ones", "full", "empty", "arange", "rand", "constant")

MATMULS = ("matmul", "linear", "sparse_matmul")
CONVOLUTIONS = ("conv2d", "conv1d", "conv3d", "conv_transpose2d")
POOLINGS = ("max_pool2d", "avg_pool2d", "max_pool2d_with_indices", "global_avg_pool2d")
ATTENTIONS = (
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_decode",
    "paged_scaled_dot_product_attention_decode",
    "chunked_scaled_dot_product_attention",
    "flash_mla_prefill",
    "paged_flash_multi_latent_attention_decode",
    "sdpa_bw",
    "sdpa_fw",
)
# Ops whose kernels wait for each page of data before they request the next.
PAGED_MOVES = (
    "concat",
    "concatenate_heads",
    "nlp_concat_heads",
    "nlp_concat_heads_decode",
    "nlp_create_qkv_heads_decode",
    "pad",
    "repeat",
    "repeat_interleave",
    "split_query_key_value_and_split_heads",
    "upsample",
)

# Ops that write their second operand into a part of the first, in place.
CACHE_WRITES = ("fill_cache", "update_cache", "paged_fill_cache", "paged_update_cache")

# Ops, also of the host, whose cost is estimated as one read of all operands and one write of all results.
PLAIN_MOVES = (
    "aggregate_tensor",
    "distribute_tensor",
    "embedding_bw",
    "gather",
    "moe_compute",
    "moe_expert_token_remap",
    "prepare_conv2d_bias",
    "prepare_conv2d_weights",
    "prepare_conv3d_weights",
    "prepare_conv_transpose2d_bias",
    "prepare_conv_transpose2d_weights",
    "rows_gather",
    "rows_scatter",
    "scatter",
    "write_tensor",
)
