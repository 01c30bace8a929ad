"""The device time of attention. Blocks of scores stay in L1 while keys and values stream from DRAM.

All figures are measurements of Tenstorrent's attention kernels on p100a (tenstorrent/polaris, 60 cases). No figures for
Wormhole are published. Its vector unit needs the same cycles, and the passes of a softmax through unpackers, FPU and
packer are assumed to take as much longer as unpacking a tile, 1.5 times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt_xla.cost.rates import DRAM, Rates, Work
from tt_xla.cost.shares import cost_of, fidelity_of, inputs_of
from tt_xla.ir.layout import TILE
from tt_xla.ir.program import Cost, Instruction, TensorSpec

# Softmax of a block of scores: cycles a tile, and cycles a row of tiles for the running maximum and sum. Measured:
# 93.7 k cycles for 512x512 blocks, 13.8 k for 256x128.
SCORE_TILE_CYCLES = 75.0
SCORE_ROW_CYCLES = 244.0

# Bytes that the unpackers of the measured chip take in a cycle.
MEASURED_UNPACK_BYTES = 120.0

# Factor under a causal mask if the chunks of a head do not divide evenly among its cores. Measured: 8 chunks on 3 cores
# 1358 us, 16 chunks on 3 cores 1352 us.
CAUSAL_UNEVEN = 1.35

# Cycles a tile of a softmax with the exact exponential. Measured: 58.6 k cycles for 256x256 blocks.
EXACT_TILE_CYCLES = 330.0

# Keys and values: bytes a cycle if each core reads its own, and if cores forward them to each other, which kernels
# without a causal mask do. ``DRAM_FACTOR`` is the bandwidth of these long reads, relative to plain interleaved kernels.
CORE_BYTES_PER_CYCLE = 3.4
FORWARDED_BYTES_PER_CYCLE = 4.2
DRAM_FACTOR = 1.04
# Relative bandwidth of a prefill through a page table: 240 GB/s where other prefills reach 310 to 340.
PAGED_FACTOR = 0.74

# Decoding: a fixed time, and with a page table a time for each part of a head on a core. Measured: 73.8 us for 128
# positions with 4 parts a core; 18.6 us more than the reads take for 1024 positions with 1 part a core.
DECODE_US = 10.0
DECODE_PART_US = 8.5

# Cycles in which a DRAM bank answers one request. Measured, for keys and values of bfloat4_b: 231 GB/s, where those of
# bfloat8_b and bfloat16 reach 344 and 359.
PAGE_CYCLES = 23.5

DEFAULT_CHUNK = 128


def attention(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of attention over many queries (prefill).

    The cores of a head share its chunks of queries. Each chunk goes through the chunks of keys that its mask admits.
    """
    inputs = inputs_of(instruction, values)
    query, key, value = (inputs[0], inputs[1], inputs[min(2, len(inputs) - 1)])
    attributes = instruction.attributes
    config = attributes.get("program_config") or {}
    heads = max(math.prod(query.shape[:-2]), 1)
    rows, length = query.shape[-2], key.shape[-2]
    q_chunk = min(int(config.get("q_chunk_size") or DEFAULT_CHUNK), -(-rows // TILE) * TILE)
    k_chunk = min(int(config.get("k_chunk_size") or DEFAULT_CHUNK), -(-length // TILE) * TILE)
    chunks = -(-rows // q_chunk)
    if heads >= rates.cores:
        each_head, shared = -(-heads // rates.cores), 1
    else:
        each_head, shared = 1, min(rates.cores // heads, chunks)
    own = -(-chunks // max(shared, 1)) * each_head
    causal = bool(attributes.get("is_causal"))
    blocks = _blocks(attributes, rows, length, q_chunk, k_chunk)
    tall, wide = q_chunk // TILE or 1, k_chunk // TILE or 1
    depth, depth_v = -(-query.shape[-1] // TILE), -(-value.shape[-1] // TILE)
    softmax = tall * wide * _score_cycles(attributes, rates) + tall * SCORE_ROW_CYCLES * _passes(rates)
    product = max(rates.tile_product[fidelity_of(instruction)], Work(key.layout).page * rates.unpack)
    uneven = CAUSAL_UNEVEN if causal and chunks % shared else 1.0
    compute = uneven * own * blocks * (tall * wide * (depth + depth_v) * product + softmax * rates.cycle_us)
    page = Work(key.layout).page
    read = blocks * wide * (depth * page + depth_v * Work(value.layout).page)
    forwarded = not causal and rows == length and rows % q_chunk == 0
    cores = max(min(heads * shared, rates.cores), 1)
    if attributes.get("gathered"):  # each query reads its own selection of keys
        read = rows * length * query.shape[-1] / TILE / TILE * page / (own * cores)
        forwarded = False
    rate = FORWARDED_BYTES_PER_CYCLE if forwarded else CORE_BYTES_PER_CYCLE
    noc = own * read / rate * rates.cycle_us
    dram = (Work(query.layout).bytes + Work(key.layout).bytes + Work(value.layout).bytes) * rates.dram
    if not forwarded:
        dram = heads * chunks * read * rates.dram / DRAM_FACTOR
        if attributes.get("gathered"):
            dram = own * cores * read * rates.dram / DRAM_FACTOR
    if len(inputs) > 3:
        dram += heads * chunks * blocks * tall * wide * Work(inputs[3].layout).page * rates.dram / DRAM_FACTOR
    if attributes.get("paged") or "chunked" in instruction.op:
        dram /= PAGED_FACTOR
    return cost_of(rates, compute, dram, noc, cores)


def _blocks(attributes: Any, rows: int, length: int, q_chunk: int, k_chunk: int) -> float:
    """Returns the mean number of key chunks that a query chunk reads. Queries are the last ``rows`` positions."""
    key_chunks = -(-length // k_chunk)
    if not attributes.get("is_causal"):
        return key_chunks
    window = int(attributes.get("sliding_window_size") or 0)
    start = max(length - rows, 0)
    total = 0
    chunks = max(-(-rows // q_chunk), 1)
    for chunk in range(chunks):
        last = min(start + (chunk + 1) * q_chunk, length)
        first = max(start + chunk * q_chunk - window, 0) if window else 0
        total += -(-last // k_chunk) - first // k_chunk
    return total / chunks


def _passes(rates: Rates) -> float:
    """Returns the time that passes through the unpackers take, in units of those on the measured chip."""
    return rates.unpack / rates.cycle_us * MEASURED_UNPACK_BYTES


def _score_cycles(attributes: Any, rates: Rates) -> float:
    """Returns the cycles of a softmax for each tile of scores: passes, and what an exact exponential takes longer."""
    exact = (attributes.get("program_config") or {}).get("exp_approx_mode") is False
    return SCORE_TILE_CYCLES * _passes(rates) + (EXACT_TILE_CYCLES - SCORE_TILE_CYCLES if exact else 0.0)


def decode(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of attention with one query per head (decoding), which reads all keys and values once."""
    inputs = inputs_of(instruction, values)
    query, key, value = (inputs[0], inputs[1], inputs[min(2, len(inputs) - 1)])
    keys, valued = Work(key.layout), Work(value.layout)
    heads = query.shape[-2]
    groups = max(math.prod(key.shape[:-2]), 1)
    cores = rates.cores
    paged = "paged" in instruction.op
    read: float = sum(work.bytes for work in (keys, valued) if work.place == DRAM)
    length, depth = -(-key.shape[-2] // TILE), -(-query.shape[-1] // TILE) + -(-value.shape[-1] // TILE)
    rows = max(-(-heads * query.shape[-3] // groups // TILE), 1) if len(query.shape) > 2 else 1
    # Each tile of heads that share a key reads the key again, but not the values that are a part of the key.
    again = rows / 2 if rows > 1 else 1.0
    read *= again
    rate = CORE_BYTES_PER_CYCLE if paged else FORWARDED_BYTES_PER_CYCLE
    noc = again * (keys.bytes + valued.bytes) / cores / rate * rates.cycle_us
    parts = -(-groups // cores) if paged else 0
    product = max(rates.tile_product[fidelity_of(instruction)], keys.page * rates.unpack)
    each = groups * length / cores
    softmax = (SCORE_TILE_CYCLES + SCORE_ROW_CYCLES) * _passes(rates)
    compute = each * rows * (depth * product + softmax * rates.cycle_us)
    if "attention_mask" in instruction.operands:  # Each head of keys reads the mask of its sequence.
        read += Work(inputs[3].layout).bytes * key.shape[1]
    started = DECODE_US + parts * DECODE_PART_US
    pages = sum(work.pages for work in (keys, valued) if work.place == DRAM) * again
    dram = max(read * rates.dram / DRAM_FACTOR, pages / rates.banks * PAGE_CYCLES * rates.cycle_us)
    cost = cost_of(rates, compute, dram, noc, cores)
    return Cost(
        cost.total_us + started,
        cost.compute_us,
        cost.dram_us,
        cost.noc_us,
        cost.launch_us + started,
        cores,
    )
