"""Finds the repeated blocks of a model by the names of the weights that its ops read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from tt_xla.codegen.naming import block_of, identifier, module_path
from tt_xla.ir.program import DEALLOCATE, Function, Instruction

FEWEST_OPS = 6
"""Minimum number of ops of a block; a shorter one is written where it is used."""


@dataclass(frozen=True)
class Block:
    """Consecutive instructions that belong to one module of the model."""

    prefix: str
    """Prefix of the names of its weights, ``model.layers.0.``."""
    first: int
    """Index of the first instruction."""
    last: int
    """Index of the last instruction."""
    inputs: tuple[int, ...]
    """Values from before the block that are neither its weights nor constants, in the order of their use."""
    constants: tuple[int, ...]
    """Constants of the whole program that the block reads."""
    outputs: tuple[int, ...]
    """Values of the block that later instructions or the function's results read."""

    @property
    def function(self) -> str:
        """Name of the function for the block: ``layer`` for ``model.layers.0.``."""
        words = [part for part in module_path(self.prefix + "x") if not part.isdigit()]
        word = identifier(words[-1]) if words else "block"
        return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word


def find_blocks(
    function: Function, instructions: Sequence[Instruction], names: Mapping[int, str], constants: Container[int] = ()
) -> list[Block]:
    """Returns the blocks in order; no block is inside another.

    A block starts at the first instruction that reads one of its weights and ends before the next instruction that
    reads a weight of another module. Modules whose instructions are interleaved become no blocks.

    Args:
        function: the function that the instructions are in.
        instructions: the instructions to divide.
        names: names of the values that are weights or depend on weights alone.
        constants: the values among them that depend on no argument.
    """
    spans: list[tuple[str, int, int]] = []
    reads = Counter(value for step in instructions if step.op != DEALLOCATE for value in step.operand_values())
    for index, instruction in enumerate(instructions):
        if instruction.op == DEALLOCATE:
            continue
        # Constants belong to no module, and neither does a weight that all layers read.
        weights = [
            names[value]
            for value in instruction.operand_values()
            if value in names and module_path(names[value]) and (reads[value] == 1 or block_of(names[value]))
        ]
        prefixes_read = {block_of(name) for name in weights}
        for prefix in sorted(prefixes_read):
            if spans and spans[-1][0] == prefix:
                spans[-1] = (prefix, spans[-1][1], index)
            else:
                spans.append((prefix, index, index))
    prefixes = [prefix for prefix, _, _ in spans]
    blocks: list[Block] = []
    for position, (prefix, first, _) in enumerate(spans):
        end = spans[position + 1][1] if position + 1 < len(spans) else len(instructions)
        if not prefix or prefixes.count(prefix) > 1 or end - first < FEWEST_OPS:
            continue
        blocks.append(_block(function, instructions, names, constants, prefix, first, end - 1))
    ends = _common_ends(blocks, instructions, names)
    return [
        _block(function, instructions, names, constants, block.prefix, block.first, end)
        for block, end in zip(blocks, ends, strict=True)
    ]


def _common_ends(blocks: Sequence[Block], instructions: Sequence[Instruction], names: Mapping[int, str]) -> list[int]:
    """Returns the last instruction of each block after cutting off ops that prepare the next block.

    Blocks of one name often begin with the same sequence of ops. The most common sequence becomes the whole block,
    unless an op behind it reads a weight of the block.
    """
    steps = [
        [index for index in range(block.first, block.last + 1) if instructions[index].op != DEALLOCATE]
        for block in blocks
    ]
    ops = [tuple(instructions[index].op for index in inside) for inside in steps]
    ends: list[int] = []
    for number, block in enumerate(blocks):
        alike = [ops[other] for other in range(len(blocks)) if blocks[other].function == block.function]
        counts = {sequence: sum(other[: len(sequence)] == sequence for other in alike) for sequence in alike}
        prefixes = [ops_ for ops_ in counts if ops[number][: len(ops_)] == ops_ and counts[ops_] > 1]
        common = max(prefixes, key=lambda sequence: (counts[sequence], len(sequence)), default=ops[number])
        after = steps[number][len(common) :]
        reads_own_weight = any(
            names.get(value, "").startswith(block.prefix)
            for index in after
            for value in instructions[index].operand_values()
        )
        ends.append(after[0] - 1 if after and not reads_own_weight else block.last)
    return ends


def _block(
    function: Function,
    instructions: Sequence[Instruction],
    names: Mapping[int, str],
    constants: Container[int],
    prefix: str,
    first: int,
    last: int,
) -> Block:
    """Returns the block from instruction ``first`` to ``last``."""
    inside = instructions[first : last + 1]
    computed = {value for instruction in inside for value in instruction.results}
    after = {value for instruction in instructions[last + 1 :] for value in instruction.operand_values()}
    read = dict.fromkeys(value for instruction in inside for value in instruction.operand_values())
    before = [value for value in read if value not in computed]
    inputs = tuple(
        value for value in before if value not in constants and not (value in names and names[value].startswith(prefix))
    )
    known = tuple(value for value in before if value in constants)
    outputs = tuple(value for value in sorted(computed) if value in after or value in function.results)
    return Block(prefix, first, last, inputs, known, outputs)
