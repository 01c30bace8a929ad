"""Repeated parts of a model, found by the names of the weights that its ops read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from tt_xla.codegen.naming import block_of, identifier, module_path
from tt_xla.ir.program import DEALLOCATE, Function, Instruction

FEWEST_OPS = 6
"""A shorter part stays where it is used."""


@dataclass(frozen=True)
class Block:
    """A run of instructions that belong to one part."""

    prefix: str
    """What its weights' names begin with, ``model.layers.0.``."""
    first: int
    last: int
    inputs: tuple[int, ...]
    """Values made before it that are neither its weights nor constants, in the order of their use."""
    constants: tuple[int, ...]
    """Constants of the whole program that it reads."""
    outputs: tuple[int, ...]

    @property
    def function(self) -> str:
        """``layers`` of ``model.layers.0.`` names the function ``layer``."""
        words = [part for part in module_path(self.prefix + "x") if not part.isdigit()]
        word = identifier(words[-1]) if words else "block"
        return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word


def find_blocks(
    function: Function, instructions: Sequence[Instruction], names: Mapping[int, str], constants: Container[int] = ()
) -> list[Block]:
    """Blocks in order, none within another.

    A block reaches from the first instruction that reads one of its weights up to the next that reads a weight of
    another part. Parts whose instructions lie among each other are left in one piece.

    Args:
        names: names of the values that are weights or made of them alone.
        constants: those of them that depend on no argument.
    """
    spans: list[tuple[str, int, int]] = []
    reads = Counter(value for step in instructions if step.op != DEALLOCATE for value in step.operand_values())
    for index, instruction in enumerate(instructions):
        if instruction.op == DEALLOCATE:
            continue
        # Constants of no module may lie anywhere, and so may a weight that all layers read.
        weights = [
            names[value]
            for value in instruction.operand_values()
            if value in names and module_path(names[value]) and (reads[value] == 1 or block_of(names[value]))
        ]
        found = {block_of(name) for name in weights}
        for prefix in sorted(found):
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
    """Where blocks of one name end if what most of them begin with is all of them: the rest prepares what follows.

    No end comes before an op that reads a weight of the block.
    """
    steps = [[at for at in range(block.first, block.last + 1) if instructions[at].op != DEALLOCATE] for block in blocks]
    ops = [tuple(instructions[at].op for at in inside) for inside in steps]
    ends: list[int] = []
    for number, block in enumerate(blocks):
        alike = [ops[other] for other in range(len(blocks)) if blocks[other].function == block.function]
        counts = {whole: sum(other[: len(whole)] == whole for other in alike) for whole in alike}
        begins = [whole for whole in counts if ops[number][: len(whole)] == whole and counts[whole] > 1]
        most = max(begins, key=lambda whole: (counts[whole], len(whole)), default=ops[number])
        after = steps[number][len(most) :]
        own = any(
            names.get(value, "").startswith(block.prefix) for at in after for value in instructions[at].operand_values()
        )
        ends.append(after[0] - 1 if after and not own else block.last)
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
    inside = instructions[first : last + 1]
    made = {value for instruction in inside for value in instruction.results}
    after = {value for instruction in instructions[last + 1 :] for value in instruction.operand_values()}
    read = dict.fromkeys(value for instruction in inside for value in instruction.operand_values())
    before = [value for value in read if value not in made]
    inputs = tuple(
        value for value in before if value not in constants and not (value in names and names[value].startswith(prefix))
    )
    known = tuple(value for value in before if value in constants)
    outputs = tuple(value for value in sorted(made) if value in after or value in function.results)
    return Block(prefix, first, last, inputs, known, outputs)
