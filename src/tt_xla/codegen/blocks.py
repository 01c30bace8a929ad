"""Repeated parts of a model, found by the names of the weights that its ops read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tt_xla.codegen.naming import block_of, identifier, module_path
from tt_xla.ir.program import Function, Instruction, Operand

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
    """Values made before it that are not its weights, in the order of their use."""
    outputs: tuple[int, ...]

    @property
    def function(self) -> str:
        """``layers`` of ``model.layers.0.`` names the function ``layer``."""
        words = [part for part in module_path(self.prefix + "x") if not part.isdigit()]
        word = identifier(words[-1]) if words else "block"
        return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word


def flat(operands: Mapping[str, Operand]) -> list[int]:
    found: list[int] = []
    for operand in operands.values():
        found.extend([operand] if isinstance(operand, int) else operand)
    return found


def find_blocks(function: Function, instructions: Sequence[Instruction], names: Mapping[int, str]) -> list[Block]:
    """Blocks in order, none within another.

    A block reaches from the first instruction that reads one of its weights up to the next that reads a weight of
    another part. Parts whose instructions lie among each other are left in one piece.

    Args:
        names: names of the values that are weights or made of them alone.
    """
    spans: list[tuple[str, int, int]] = []
    for index, instruction in enumerate(instructions):
        if instruction.op == "ttnn.deallocate":
            continue
        weights = [names[value] for value in flat(instruction.operands) if value in names]
        found = {block_of(name) for name in weights if module_path(name)}  # constants of no module may lie anywhere
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
        blocks.append(_block(function, instructions, names, prefix, first, end - 1))
    return blocks


def _block(
    function: Function,
    instructions: Sequence[Instruction],
    names: Mapping[int, str],
    prefix: str,
    first: int,
    last: int,
) -> Block:
    inside = instructions[first : last + 1]
    made = {value for instruction in inside for value in instruction.results}
    after = {value for instruction in instructions[last + 1 :] for value in flat(instruction.operands)}
    read = dict.fromkeys(value for instruction in inside for value in flat(instruction.operands))
    inputs = tuple(
        value for value in read if value not in made and not (value in names and names[value].startswith(prefix))
    )
    outputs = tuple(value for value in sorted(made) if value in after or value in function.results)
    return Block(prefix, first, last, inputs, outputs)
