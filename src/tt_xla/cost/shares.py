"""Helpers of the cost models: an instruction's tensors, the division of work among cores, the time to move tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tt_xla.cost.rates import DRAM, FIDELITIES, L1, SHARDED, Rates, Work
from tt_xla.ir.program import Cost, Instruction, TensorSpec

FREE = Cost()


def inputs_of(instruction: Instruction, values: Sequence[TensorSpec]) -> list[TensorSpec]:
    specs: list[TensorSpec] = []
    for operand in instruction.operands.values():
        if isinstance(operand, tuple):
            specs.extend([values[number] for number in operand])
        else:
            specs.append(values[operand])
    return specs


def cost_of(rates: Rates, compute: float, dram: float, noc: float, cores: int, launches: int = 1) -> Cost:
    launch = (rates.launch + rates.launch_core * cores) * launches
    longest = compute if compute > dram else dram
    if noc > longest:
        longest = noc
    return Cost(launch + longest, compute, dram, noc, launch, cores)


def local_cost(rates: Rates, busy: float, cores: int, dram: float = 0.0) -> Cost:
    """Returns the cost of a program without computing, whose cores copy from or to their own shards."""
    return Cost(rates.launch_local + max(busy, dram), 0.0, dram, busy, rates.launch_local, cores)


def fidelity_of(instruction: Instruction) -> str:
    config = instruction.attributes.get("compute_config")
    if not config:
        return "hifi4"
    name = str(config.get("math_fidelity", "hifi4")).lower()
    return name if name in FIDELITIES else "hifi4"


def split(work: Work, rates: Rates) -> tuple[int, float]:
    """Returns the number of cores that make a tensor, and the part of it that the busiest core makes."""
    if work.cores:
        return min(work.cores, rates.cores), 1.0 / work.cores
    pages = work.pages
    if pages <= rates.cores:
        return max(pages, 1), 1.0 / max(pages, 1)
    each = -(-pages // rates.cores)
    return -(-pages // each), each / pages


def traffic(works: Sequence[Work], rates: Rates, share: float) -> tuple[float, float]:
    """Returns the DRAM time of the chip, and the time in which the busiest core moves its share of the pages."""
    dram = shared = local = 0
    for work in works:
        if work.place == DRAM:
            dram += work.bytes
        elif work.place == L1:
            shared += work.bytes
        elif work.place == SHARDED:
            local += work.bytes
    return dram * rates.dram, share * ((dram + shared) * rates.stream + local * rates.local)


def moved(works: list[Work], out: Work, rates: Rates, share: float) -> tuple[float, float]:
    """Returns the same times as :func:`traffic` for a kernel that waits for its input pages at each tile.

    Kernels read and write their own shards in place. Writes overlap with reads.
    """
    dram = 0
    fetched = stored = 0.0
    for work in works:
        if work.place == DRAM:
            dram += work.bytes
            fetched += work.bytes
        elif work.place == L1 or (work.place == SHARDED and (work.shards != out.shards or work.uneven)):
            fetched += work.bytes
    if out.place == DRAM:
        dram += out.bytes
        stored = out.bytes
    elif out.place == L1 or out.uneven:
        stored = out.bytes
    if not fetched and not stored:
        return dram * rates.dram, 0.0
    return dram * rates.dram, share * (out.pages * rates.wait + max(fetched, stored) * rates.arrival)


def one_after_the_other(cost: Cost, copied: Cost) -> Cost:
    """Returns the cost of two steps that run one after the other, as the cost of one instruction."""
    return Cost(
        cost.total_us + copied.total_us,
        cost.compute_us + copied.compute_us,
        cost.dram_us + copied.dram_us,
        cost.noc_us + copied.noc_us,
        cost.launch_us + copied.launch_us,
        cost.cores,
        cost.link_us + copied.link_us,
    )
