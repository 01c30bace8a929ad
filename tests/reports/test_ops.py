"""Tables by op: prices, rooflines, names in profiler files, and calls in Python and C++."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchmarks.accepted_types import SAMPLES, program
from tests.golden import Goldens
from tests.unit.pricing import sharded, spec
from tt_xla.codegen.body import Constants
from tt_xla.codegen.calls import CALLS, call_of
from tt_xla.codegen.formatting import flat
from tt_xla.codegen.languages.base import Language
from tt_xla.codegen.languages.cpp import Cpp
from tt_xla.codegen.languages.python import Python
from tt_xla.cost import instruction_cost
from tt_xla.cost.circular_buffers import circular_buffer_bytes
from tt_xla.cost.roofline import dram_bytes, operations, roofline
from tt_xla.ir.layout import BufferType, DataType
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Cost, Instruction, TensorSpec
from tt_xla.ir.program_text import number
from tt_xla.profiling.op_codes import attributes_of, cell, op_code
from tt_xla.profiling.recording import LoadedProgram, Op
from tt_xla.runtime.emulator.registry import kernels
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

P150, N150 = load_target("p150"), load_target("n150")
MATRIX = (96, 160)
PLACES: dict[str, Callable[[], TensorSpec]] = {
    "dram": lambda: spec(MATRIX),
    "float32": lambda: spec(MATRIX, DataType.F32),
    "l1": lambda: spec(MATRIX, buffer=BufferType.L1),
    "blocks": lambda: sharded(MATRIX, (3, 5)),
    "rows": lambda: spec(MATRIX, tiled=False),
    "large": lambda: spec((4096, 2048)),
}
"""Tensors whose ops are priced."""


def cost_words(cost: Cost) -> str:
    parts = (cost.total_us, cost.compute_us, cost.dram_us, cost.noc_us, cost.launch_us)
    return f"{' '.join(map(number, parts))} on {cost.cores}"


def priced(op: str, place: TensorSpec) -> Cost:
    """Returns the price of an op of two operands and a result of one kind."""
    instruction = Instruction(op, {"lhs": 0, "rhs": 1}, (2,), {})
    return instruction_cost(instruction, [place] * 3, N150)


def has_price_of_any_shape(op: str) -> bool:
    """Returns whether an op without attributes and with matrices as operands has a price."""
    try:
        priced(op, PLACES["dram"]())
    except (IndexError, KeyError, TypeError, ValueError, AttributeError):
        return False
    return True


def names_of_ops() -> list[str]:
    return [op for op in sorted(kernels()) if has_price_of_any_shape(op)]


@pytest.mark.parametrize("place", PLACES)
def test_prices(place: str, goldens: Goldens) -> None:
    """Total, computing, DRAM, NoC and launch in microseconds, and cores. Ops of one price are in one line."""
    by_price: dict[str, list[str]] = {}
    for op in names_of_ops():
        by_price.setdefault(cost_words(priced(op, PLACES[place]())), []).append(op.removeprefix("ttnn."))
    goldens.check("ops/prices", place, [f"{words}: {' '.join(ops)}" for words, ops in sorted(by_price.items())])


ODD = (2, 50, 90)
CHANGES: dict[str, Callable[[], TensorSpec]] = {
    "tiles": lambda: spec(ODD),
    "rows": lambda: spec(ODD, tiled=False),
    "float32": lambda: spec(ODD, DataType.F32),
    "bfp8": lambda: spec(ODD, DataType.BFP_BF8),
    "rows of integers": lambda: spec(ODD, DataType.U32, tiled=False),
    "l1": lambda: spec(ODD, buffer=BufferType.L1),
    "height": lambda: sharded(ODD, (4, 1)),
    "blocks": lambda: sharded(ODD, (2, 3)),
    "rows in shards": lambda: sharded(ODD, (4, 1), tiled=False),
    "host": lambda: spec(ODD, buffer=BufferType.SYSTEM_MEMORY),
}
"""Tensors of one shape in the places that conversions change."""


CONVERSIONS = ("to_layout", "to_memory_config", "typecast", "reshape", "to_device")


@pytest.mark.parametrize("op", CONVERSIONS)
def test_prices_of_conversions(op: str, goldens: Goldens) -> None:
    instruction = Instruction(f"ttnn.{op}", {"input": 0}, (1,), {})
    pairs = [(before, after) for before in CHANGES for after in CHANGES]
    lines = [
        f"{before} to {after}: {cost_words(instruction_cost(instruction, [CHANGES[before](), CHANGES[after]()], N150))}"
        for before, after in pairs
    ]
    goldens.check("ops/conversions", op, lines)


A, B = spec((2, 96, 160)), spec((2, 160, 64))
ROW, COLUMN = spec((2, 1, 160)), spec((2, 96, 1))
HEADS, KEYS = spec((1, 8, 96, 64)), spec((1, 2, 160, 64))
RELU, GELU = ({"op_type": name} for name in ("relu", "gelu"))
WIDE = {"compute_config": {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}}
CONFIG = {
    **{"config": "multi_cast", "compute_with_storage_grid_size": [4, 4], "in0_block_w": 1, "out_subblock_h": 1},
    **{"out_subblock_w": 1, "out_block_h": 2, "out_block_w": 3, "per_core_m": 2, "per_core_n": 3},
    **{"transpose_mcast": False, "fuse_batch": True},
}
LOFI = {"compute_config": {"math_fidelity": "lofi"}}
IMAGES = spec((1, 1, 784, 64), tiled=False)
PATCHES = spec((1, 1, 196, 64), tiled=False)
KERNEL = spec((1, 1, 576, 64))
IN_HEIGHT, OUT_HEIGHT = (sharded((1, 1, rows, 64), (7, 1)) for rows in (896, 224))
IN_BLOCKS, OUT_BLOCKS = (sharded((1, 1, rows, 64), (7, 2)) for rows in (896, 224))
WINDOW: dict[str, Any] = {
    **{"kernel_size": [3, 3], "stride": [2, 2], "padding": [1, 1], "dilation": [1, 1]},
    **{"in_channels": 64, "input_height": 28, "input_width": 28, "batch_size": 1},
}
BATCH = WINDOW | {"batch_size": 4}
IN_BATCH, OUT_BATCH = (sharded((1, 1, rows, 64), (7, 1)) for rows in (3136, 784))
VARIANTS: tuple[tuple[str, Sequence[TensorSpec], TensorSpec, dict[str, Any]], ...] = (
    ("add", [A, A], A, {}),
    ("add", [A, ROW], A, {}),
    ("add", [A, COLUMN], A, {}),
    ("add", [A], A, {"scalar": 2.0}),
    ("add", [A, A], A, {"activations": [RELU]}),
    ("add", [A, A], A, {"activations": [GELU]}),
    ("add", [A, A], A, {"input_tensor_a_activations": [RELU]}),
    ("add", [A, A], A, {"input_tensor_b_activations": [GELU, RELU]}),
    ("multiply", [A, A], A, LOFI),
    ("unary_chain", [A], A, {"functions": [GELU, RELU]}),
    ("unary_chain", [A], A, {"chain": ["relu", "exp"]}),
    ("where", [A, ROW, A], A, {}),
    ("sum", [A], COLUMN, {"dim_arg": [2], "keep_dim": True}),
    ("sum", [A], ROW, {"dim_arg": [1], "keep_dim": True}),
    ("sum", [A], spec((96, 160)), {"dim_arg": [0], "keep_dim": False}),
    ("argmax", [A], spec((2, 96), DataType.U32, tiled=False), {"dim": 2}),
    ("softmax", [A], A, {"dimension": 2}),
    ("layer_norm", [A, ROW], A, {"epsilon": 1e-5}),
    ("matmul", [A, B], spec((2, 96, 64)), {}),
    ("matmul", [A, B], spec((2, 96, 64)), LOFI),
    ("matmul", [spec((2, 160, 96)), B], spec((2, 96, 64)), {"transpose_a": True}),
    ("matmul", [A, spec((2, 64, 160))], spec((2, 96, 64)), {"transpose_b": True}),
    ("linear", [A, spec((160, 64)), spec((1, 64))], spec((2, 96, 64)), {"activation": "gelu"}),
    ("matmul", [A, spec((160, 64), DataType.BFP_BF8)], spec((2, 96, 64)), {}),
    ("permute", [A], spec((2, 160, 96)), {"permutation": [0, 2, 1]}),
    ("permute", [A], spec((96, 2, 160)), {"permutation": [1, 0, 2]}),
    ("permute", [A], spec((160, 96, 2)), {"permutation": [2, 1, 0]}),
    ("reshape", [A], spec((192, 160)), {"shape": [192, 160]}),
    ("reshape", [A], spec((2, 160, 96)), {"shape": [2, 160, 96]}),
    ("slice_static", [A], spec((2, 32, 160)), {"begins": [0, 32, 0], "ends": [2, 64, 160], "step": [1, 1, 1]}),
    ("slice_static", [A], spec((2, 3, 5)), {"begins": [0, 1, 2], "ends": [2, 4, 12], "step": [1, 1, 2]}),
    ("concat", [A, A], spec((2, 96, 320)), {"dim": 2}),
    ("concat", [A, spec((2, 7, 160))], spec((2, 103, 160)), {"dim": 1}),
    ("pad", [A], spec((2, 100, 170)), {"padding": [0, 0, 0, 4, 0, 10], "value": 0.0}),
    ("repeat", [A], spec((6, 96, 160)), {"repeat_dims": [3, 1, 1]}),
    ("embedding", [spec((2, 32), DataType.U32, tiled=False), spec((500, 160), tiled=False)], spec((2, 32, 160)), {}),
    ("gather", [A, spec((2, 7, 160), DataType.U32)], spec((2, 7, 160)), {"dim": 1}),
    ("cumsum", [A], A, {"dim": 1}),
    ("topk", [A], spec((2, 96, 32)), {"k": 32, "dim": 2}),
    ("scaled_dot_product_attention", [HEADS, KEYS, KEYS], HEADS, {"is_causal": False}),
    ("scaled_dot_product_attention", [HEADS, HEADS, HEADS], HEADS, {"is_causal": True}),
    ("scaled_dot_product_attention", [HEADS, KEYS, KEYS, spec((1, 1, 96, 160))], HEADS, {"is_causal": False}),
    ("scaled_dot_product_attention_decode", [spec((1, 1, 8, 64)), KEYS, KEYS], spec((1, 1, 8, 64)), {}),
    ("conv2d", [IMAGES, KERNEL], PATCHES, WINDOW),
    ("conv2d", [IMAGES, KERNEL, spec((1, 1, 1, 64))], PATCHES, WINDOW),
    ("conv2d", [IMAGES, KERNEL], PATCHES, WINDOW | {"conv2d_config": {"act_block_h_override": 32}}),
    ("conv2d", [IMAGES, KERNEL], PATCHES, WINDOW | {"padding": [0, 0, 0, 0], "dilation": [2, 2]}),
    ("conv2d", [IMAGES, spec((64, 64, 3, 3), buffer=BufferType.SYSTEM_MEMORY, tiled=False)], PATCHES, WINDOW),
    ("max_pool2d", [IMAGES], PATCHES, WINDOW),
    ("avg_pool2d", [IMAGES], PATCHES, WINDOW | {"kernel_size": [5, 5]}),
    ("global_avg_pool2d", [IMAGES], spec((1, 1, 1, 64)), {}),
    ("conv2d", [IN_HEIGHT, KERNEL], OUT_HEIGHT, WINDOW),
    ("conv2d", [IN_HEIGHT, KERNEL], OUT_HEIGHT, WINDOW | {"conv2d_config": {"act_block_h_override": 32}}),
    ("conv2d", [IN_HEIGHT, KERNEL], OUT_HEIGHT, WINDOW | {"conv2d_config": {"reallocate_halo_output": False}}),
    ("conv2d", [IN_BLOCKS, KERNEL], OUT_BLOCKS, WINDOW),
    ("conv2d", [IN_BATCH, KERNEL], OUT_BATCH, BATCH),
    ("conv2d", [IN_BATCH, KERNEL], OUT_BATCH, BATCH | {"stride": [2, 1], "input_height": 56, "input_width": 14}),
    ("max_pool2d", [IN_BATCH], OUT_BATCH, BATCH),
    ("max_pool2d", [IN_HEIGHT], OUT_HEIGHT, WINDOW),
    ("avg_pool2d", [IN_BLOCKS], OUT_BLOCKS, WINDOW | {"kernel_size": [5, 5]}),
    ("layer_norm", [sharded((64, 160), (2, 5))], sharded((64, 160), (2, 5)), {"epsilon": 1e-5}),
    ("matmul", [sharded((128, 160), (4, 5)), spec((160, 128))], sharded((128, 128), (4, 4)), {}),
    ("matmul", [sharded((256, 160), (4, 5)), spec((160, 256))], sharded((256, 256), (4, 4)), WIDE),
    ("matmul", [sharded((256, 160), (4, 1)), spec((160, 256))], sharded((256, 256), (4, 1)), WIDE),
    ("matmul", [spec((256, 160)), spec((160, 256))], spec((256, 256), DataType.F32), WIDE),
    ("matmul", [spec((256, 160)), spec((160, 384))], spec((256, 384)), WIDE | {"matmul_program_config": CONFIG}),
    ("softmax", [sharded((128, 160), (4, 1))], sharded((128, 160), (4, 1)), {"dimension": 1}),
    ("fill_cache", [spec((2, 8, 128, 64)), spec((1, 8, 32, 64))], spec((2, 8, 128, 64)), {"batch_offset": 0}),
    ("update_cache", [spec((2, 8, 128, 64)), spec((1, 8, 2, 64))], spec((2, 8, 128, 64)), {}),
)
"""Ops with attributes and shapes that have a formula of their own: op, operands, result, attributes."""


def test_prices_of_variants(goldens: Goldens) -> None:
    lines: list[str] = []
    for op, inputs, result, attributes in VARIANTS:
        operands = {f"operand{index}": index for index in range(len(inputs))}
        instruction, values = Instruction(f"ttnn.{op}", operands, (len(inputs),), attributes), [*inputs, result]
        shapes = ", ".join("x".join(map(str, value.shape)) for value in values)
        lines.append(f"{op} {shapes} {attributes or ''}".rstrip())
        for target in (N150, P150):
            least = roofline(instruction, values, target, None)
            cost = cost_words(instruction_cost(instruction, values, target))
            lines.append(f"  {target.name}: {cost}, roofline {number(least.us)} of {least.roof}")
        work = f"{number(operations(instruction, values))} operations, {int(dram_bytes(instruction, values))} bytes"
        lines.append(f"  {work}, buffers of {circular_buffer_bytes(instruction, values, N150)} bytes")
    goldens.check("ops/variants", "variants", lines)


MESH = Mesh((2, 4), ("batch", "model"))
COLLECTIVES: tuple[tuple[str, tuple[int, int], tuple[int, int], dict[str, Any]], ...] = (
    ("all_gather", (64, 256), (64, 1024), {"all_gather_dim": 1}),
    ("reduce_scatter", (64, 1024), (64, 256), {"scatter_dim": 1, "reduce_type": "sum"}),
    ("all_reduce", (64, 256), (64, 256), {"reduce_type": "sum"}),
    ("all_to_all", (64, 256), (64, 256), {"split_dim": 0, "concat_dim": 1}),
    ("collective_permute", (64, 256), (64, 256), {"source_target_pairs": [[0, 1], [1, 0]]}),
    ("point_to_point", (64, 256), (64, 256), {"sender": [0, 0], "receiver": [1, 3]}),
    ("distributed_rms_norm", (64, 256), (64, 256), {"epsilon": 1e-5}),
    ("distributed_layer_norm", (64, 256), (64, 256), {"epsilon": 1e-5}),
    ("mesh_partition", (64, 1024), (64, 256), {"dim": 1}),
)
"""Exchanges of a mesh: op, shapes of operand and result, attributes."""


@pytest.mark.parametrize("system", ["n300-llmbox", "p150x8"])
def test_prices_of_exchanges(system: str, goldens: Goldens) -> None:
    target, lines = load_target(system), list[str]()
    for op, before, after, attributes in COLLECTIVES:
        for axis in (0, 1, None):
            for scale in (1, 64):
                shapes = [(scale * rows, columns) for rows, columns in (before, after)]
                instruction = Instruction(f"ttnn.{op}", {"input": 0}, (1,), attributes | {"cluster_axis": axis})
                cost = instruction_cost(instruction, [spec(shape) for shape in shapes], target, MESH)
                link = f"{number(cost.link_us)} on links"
                lines.append(f"{op} of {shapes[0]} along {axis}: {cost_words(cost)}, {link}")
    goldens.check("ops/exchanges", system, lines)


def sources(instruction: Instruction, values: Sequence[TensorSpec]) -> Iterator[str]:
    """Yields the call of an instruction in both languages."""
    languages: tuple[Language, ...] = (Python(), Cpp())
    for language in languages:
        constants = Constants()
        call = constants.named(call_of(instruction, values, P150))
        yield f"  {flat(language.node(call, lambda value: f'v{value}', constants.data))}"


def sample_lines(op: str) -> Iterator[str]:
    """Yields what is known of the sample of an op."""
    made = program(op, SAMPLES[op], DataType.BF16)
    function = made.functions[0]
    (instruction,) = function.body
    values = function.values
    yield f"{op}: {', '.join('x'.join(map(str, value.shape)) + ' ' + value.layout.dtype.value for value in values)}"
    for target in (P150, N150):
        least = roofline(instruction, values, target, None)
        cost = instruction_cost(instruction, values, target)
        yield f"  {target.name}: {cost_words(cost)}, roofline {number(least.us)} of {least.roof}"
    yield f"  {number(operations(instruction, values))} operations"
    inputs = tuple(values[value] for value in instruction.operand_values())
    loaded = LoadedProgram(0, cast("Any", SimpleNamespace()), P150)
    recorded = Op(0, loaded, "main", False, False, instruction, inputs, (values[-1],), b"")
    yield f"  {' '.join(op_code(recorded))} {cell(attributes_of(recorded))}"
    yield from sources(instruction, values) if op in CALLS else ()


def test_samples(goldens: Goldens) -> None:
    goldens.check("ops/samples", "samples", [line for op in sorted(SAMPLES) for line in sample_lines(op)])


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    texts = {"conversions": CONVERSIONS, "samples": ["samples"], "variants": ["variants"]}
    texts["exchanges"] = ["n300-llmbox", "p150x8"]
    goldens.has_only("ops", {"prices": PLACES} | texts)
