"""The cost model of each TTNN op, and its parameters. An op that is not here follows the data-movement model.

Cycles are of one core for one 32x32 tile unless said otherwise. "profiler" are the kernel times of public profiler
files (reference/perf/op_durations.csv in the project's notes), "issue" a figure published in an issue or pull request
of tenstorrent/tt-metal.
"""

from __future__ import annotations

# Elementwise on the FPU: unpack two tiles, add, pack. Profiler: sharded add of 224 tiles a core, 72 cycles each; a
# multiplication takes 8 cycles more for each further fidelity pass (97 at hifi4).
FPU_TILE_CYCLES = 72.0
FPU_PASS_CYCLES = 8.0

# A row or a column that is broadcast inside a tile is filled by a data-movement core, element by element. Profiler:
# 1.42 us a tile at 1.35 GHz from L1, in units of a tile filled with a scalar, as both are words stored one by one.
BROADCAST_FILLS = 1.7

# Row-major pages ("sticks"), each an address to compute and a request to wait for. Profiler, blackhole, DRAM: tilize
# 137, untilize 165; copies and slices 150; with padding or unpadding 378 to 404, besides the padding.
STICK_CYCLES = 150.0
PADDED_STICK_CYCLES = 400.0

# Padding is stored word by word, a word in 5 cycles [ISA]. Profiler, blackhole: 13 rows of 768 elements and 19 sticks
# 37,300 cycles on one core; 29 of 32 columns 72 cycles for each stick.
WORD_CYCLES = 5.0

# Rows of more tiles than this are cut among cores too, where there are fewer rows than tiles in them
# (tt-metal, tilize and untilize: ``threshold_row_block``).
WIDE_TILES = 32

# Copies of row-major pages: out of an interleaved buffer one by one (430 ns each), out of a shard in bulk (48 ns).
COPY_STICK_CYCLES = 550.0
BULK_STICK_CYCLES = 65.0

# Between shards and an interleaved buffer only one side is streamed, many pages at a time. Profiler: 13 bytes a cycle
# into shards; out of them to DRAM 217 to 263 GB/s by 15 to 20 cores, where reads reach 300.
ONE_SIDED = 0.54
WRITTEN = 1.22

# Tilize and untilize in the compute engine. Profiler: sharded tilize of 224 tiles a core, 69 cycles each.
TILIZE_CYCLES = 69.0

# Untilize starts anew at each row of tiles. Profiler, sharded: 470 cycles for a row of one tile, 960 for one of eight.
UNTILIZE_ROW_CYCLES = 400.0

# Rows with a halo are exchanged with neighbours. Profiler: 4.2 to 5.2 us where untilizing takes 2.1 to 2.8.
HALO_US = 1.5

# Rows gathered from a sliced tiled tensor. Profiler: 32 cycles for one of 16 bytes, 52 for one of 512.
SLICED_STICK_CYCLES = 32.0
SLICED_BYTES_PER_CYCLE = 26.0

# Copies between shards, page by page. Profiler: concat of 192 tiles a core 45 us.
SHARD_PAGE_CYCLES = 318.0

# A prefix sum goes down each column of tiles. Profiler: 1038 to 1080 cycles a tile.
PREFIX_SUM_CYCLES = 1040.0

# A tiled reshape copies pieces of rows that lie in a face of 16 columns. Profiler, cycles for one: 100 on both chips,
# of 12 to 32 rows a tile, beside the wait for each source tile.
RESHAPE_PIECE_CYCLES = 100.0
FACE = 16

# A permutation that writes rows of tiles. Profiler: 1.76 us for each, one that moves columns to other dimensions 2.75.
PERMUTE_ROWS_CYCLES = 2370.0
PERMUTE_COLUMNS_CYCLES = 3700.0

# A row-major permutation reads and writes pieces of 32 elements, many at a time. Profiler: 48 cycles each.
PERMUTE_PIECE_CYCLES = 48.0

# A row-major reshape copies rows that begin at odd addresses by elements. Profiler: 31 and 33 cycles each, beside
# the sticks.
UNALIGNED_ELEMENT_CYCLES = 31.0
ALIGNED_BYTES = 16

# Results of a matmul that go to interleaved memory are written tile by tile. Profiler, Blackhole: 0.33 to 0.35 us for
# each of 8, 30 and 96 bfloat16 tiles a core, by when writing ends after computing.
MATMUL_WRITE_BYTES_PER_CYCLE = 4.5

# A matmul's kernel multiplies subblocks of the result; for each it fetches the left tile, which its columns share.
# Height-sharded sweep: 66, 42 and 36 cycles a product at hifi2 with subblocks of 1, 3 and 6 columns. The efficiency of
# the matrix unit is that of subblocks 4 wide.
SUBBLOCK_CYCLES = 36.0
SUBBLOCK_WIDTH = 4

# The cores that a block of an operand is sent to first say that they have room. GEMM sweep: 7.1 us for 8 blocks of
# little work on n150, 10.5 us for 13 on p150, less the wait for DRAM.
BLOCK_HANDSHAKE_US = 0.3

# The matmul of blocks of 8 tiles reads weights with a part of the bandwidth, and fills 2.5 blocks before and after.
# Profiler: 768x3072 38 us on Blackhole, 1280x5120 187 us on Wormhole.
MINIMAL_DRAM_FACTOR = 2.2
MINIMAL_BLOCKS = 2.5
MINIMAL_BLOCK_TILES = 64

# Convolution: rows of windows are read from L1 one by one, by one core or by two from two rows of tiles on. Profiler:
# 27.7, 35.9 and 38.4 cycles for each of 128, 320 and 384 bytes.
GATHER_READ_CYCLES = 22.0
GATHER_BYTES_PER_CYCLE = 24.0

# The compute core goes from tilizing a block of windows to multiplying it. Profiler: 140 to 200 cycles a block.
CONVOLUTION_BLOCK_CYCLES = 160.0

# Pooling, for each output row of up to 32 channels' tiles. Profiler: 300 cycles with 9 window rows.
POOL_STICK_CYCLES = 120.0
POOL_WINDOW_CYCLES = 20.0

# Ops that run several passes over a row of tiles: cycles a tile, and a fixed number of cycles. Profiler: layer norm of
# 24 and 40 tiles on one core 19.2 and 53 us, softmax of one tile a core 7.8 and 20 us, group norm 6000 cycles a tile.
ROW_OPS: dict[str, tuple[float, float]] = {
    "batch_norm_inference": (450.0, 2000.0),
    "batch_norm_training": (1100.0, 4000.0),
    "group_norm": (6000.0, 8000.0),
    "layer_norm": (1000.0, 1000.0),
    "layer_norm_post_all_gather": (700.0, 4000.0),
    "layer_norm_pre_all_gather": (450.0, 2000.0),
    "distributed_layer_norm": (1200.0, 8000.0),
    "distributed_rms_norm": (1000.0, 8000.0),
    "rms_norm": (900.0, 4000.0),
    "dit_rms_norm_unary_fused": (1200.0, 4000.0),  # as rms_norm, and a function of the vector unit
    "rms_norm_pre_all_gather": (400.0, 2000.0),
    "softmax": (2400.0, 5300.0),
    "rotary_embedding": (500.0, 2000.0),
    "rotary_embedding_llama": (500.0, 2000.0),
}

# Before, they fill tiles with the factors of their reductions. Profiler: softmax of one tile 7.8 us on Blackhole, 20 on
# Wormhole, whose stores are slow.
ROW_OP_FILLS = 3.0

# Group norm: for each group of channels a sum over all cores that share it, and two passes over its tiles. Profiler:
# 4 to 16 channels a group, 3 to 192 rows of tiles a core: 221 to 1108 us.
GROUP_CYCLES = 2000.0
GROUP_CORE_CYCLES = 730.0
GROUP_TILE_CYCLES = 680.0

# A running sum or product goes from tile to tile along its dimension. Profiler: 397 cycles each in L1; from DRAM 693,
# which is the wait for a page.
RUNNING_CYCLES = 400.0

# Reductions: cycles of the FPU for each input tile, pool or matmul by a column of ones.
REDUCTIONS: dict[str, float] = {
    "sum": 80.0,
    "mean": 80.0,
    "max": 80.0,
    "min": 80.0,
    "prod": 400.0,
    "argmax": 12000.0,  # scalar code on a data-movement core, about 12 cycles an element
    "sort": 12000.0,
    "topk": 6000.0,
    "topk_router_gpt": 6000.0,  # as topk
    "sampling": 12000.0,  # as sort
    "indexer_score_dsa": 6000.0,  # as topk
}

# Binary ops on the FPU, by cycles of extra vector work in the same kernel: comparisons subtract, then compare to zero.
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

# What a binary op does before and after, by the vector unit's row where the name of the function is no row itself.
STEPS: dict[str, str] = {
    "add_unary_sfpu": "relu",
    "div_unary_sfpu": "relu",  # a product by the reciprocal
    "mul_unary_sfpu": "relu",
    "power": "pow_scalar",
    "recip": "reciprocal",
    "rsub": "relu",
    "square": "relu",
    "sub_unary_sfpu": "relu",
}
STEPS_BEFORE = ("input_tensor_a_activations", "input_tensor_b_activations")
STEPS_AFTER = "activations"

# Ops that make no device work: bookkeeping, or results that are kept from an earlier run.
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
# Ops whose kernels await each page of the result's data before the next.
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

# Ops that write their second operand into a part of the first, which stays where it is.
CACHE_WRITES = ("fill_cache", "update_cache", "paged_fill_cache", "paged_update_cache")

# Ops that read their operands and write their results once, with no better rule known; on the host too.
PLAIN_MOVES = (
    "aggregate_tensor",
    "all_to_all_combine",
    "all_to_all_dispatch",
    "all_to_all_dispatch_metadata",
    "distribute_tensor",
    "embedding_bw",
    "gather",
    "mesh_partition",
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

COLLECTIVES = ("all_gather", "all_reduce", "all_reduce_async", "reduce_scatter", "point_to_point")
