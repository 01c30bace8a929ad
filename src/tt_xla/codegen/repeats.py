"""Repeated parts of a model whose arguments have no names, found by what its ops are and how they are wired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tt_xla.ir.program import DEALLOCATE, Instruction

FEWEST_STEPS = 4
"""A shorter part stays where it is used."""

FEWEST_LISTED = 3
"""Fewer tensors of a list than these are given one by one."""

MOST_PARTS = 16
"""Parts of one function that are looked for, largest saving first."""

_LENGTHS = 24
"""Lengths that are tried for each part."""

_BASE, _MODULUS = 1_000_003, (1 << 61) - 1

Describe = Callable[[Instruction], "tuple[str, Sequence[int]] | None"]
"""Text of an instruction without the names of its values, and the values in the text's order; None for what is to stay
where it is."""


@dataclass(frozen=True)
class Step:
    """An instruction and the deallocations that follow it."""

    first: int
    last: int
    text: str | None
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    frees: tuple[int, ...]


@dataclass(frozen=True)
class Repeat:
    """One of several parts that are alike; values at the same position of ``inputs`` and ``outputs`` correspond."""

    part: int
    """Which part it is; the same for those that are alike."""
    first: int
    last: int
    inputs: tuple[int, ...]
    """Values made before it, in the order of their use."""
    outputs: tuple[int, ...]
    freed: frozenset[int]
    """Positions of the inputs that all of them free."""
    left: tuple[int, ...]
    """Inputs that this one frees and others do not: they are freed after it."""


@dataclass(frozen=True)
class Part:
    """How a function takes the inputs of the parts that are alike, by their positions."""

    weights: tuple[int, ...]
    """Those that are weights for all of them."""
    parameters: tuple[int, ...]
    """Those that each are a parameter, or the first of what one list holds."""
    lists: Mapping[int, Mapping[int, int]]
    """By the first position: place in the list of each position that the list holds."""


def find_parts(
    instructions: Sequence[Instruction], describe: Describe, kept: Container[int], weights: Container[int], most: int
) -> list[tuple[Repeat, Part]]:
    """Repeated parts, and how each takes its inputs.

    Args:
        most: results of a part that have names; more are a list, which others take whole.
    """
    repeats = find_repeats(instructions, describe, kept)
    listed = {
        value: (call, place)
        for call, repeat in enumerate(repeats)
        if len(repeat.outputs) > most
        for place, value in enumerate(repeat.outputs)
    }
    alike: dict[int, list[Repeat]] = defaultdict(list)
    for repeat in repeats:
        alike[repeat.part].append(repeat)
    parts = {part: _part([repeat.inputs for repeat in group], weights, listed) for part, group in alike.items()}
    return [(repeat, parts[repeat.part]) for repeat in repeats]


def _part(calls: Sequence[tuple[int, ...]], weights: Container[int], listed: Mapping[int, tuple[int, int]]) -> Part:
    columns = list(zip(*calls, strict=True))
    of_weights = tuple(at for at, values in enumerate(columns) if all(value in weights for value in values))
    lists: dict[tuple[int, ...], dict[int, int]] = defaultdict(dict)
    for at, values in enumerate(columns):
        origins = [listed[value] for value in values if value in listed]
        if len(origins) == len(calls) and len({place for _, place in origins}) == 1:
            lists[tuple(call for call, _ in origins)][at] = origins[0][1]
    whole = {min(places): places for places in lists.values() if len(places) >= FEWEST_LISTED}
    inside = {at for places in whole.values() for at in places}
    parameters = (at for at in range(len(columns)) if at not in of_weights and (at in whole or at not in inside))
    return Part(of_weights, tuple(parameters), whole)


def find_repeats(instructions: Sequence[Instruction], describe: Describe, kept: Container[int]) -> list[Repeat]:
    """Repeated parts in order, none within another.

    The part that saves most lines is taken first, then the next in what is left of the program.

    Args:
        kept: values that are freed by nobody.
    """
    steps = list(_steps(instructions, describe))
    free = [step.text is not None for step in steps]
    found: list[Repeat] = []
    refused: set[tuple[int, int]] = set()
    for part in range(MOST_PARTS):
        group = _best(steps, free, refused)
        if not group:
            break
        starts, length = group
        for start in starts:
            free[start : start + length] = [False] * length
        found += _parts(part, [steps[start : start + length] for start in starts], kept)
    return sorted(found, key=lambda repeat: repeat.first)


def _steps(instructions: Sequence[Instruction], describe: Describe) -> Iterator[Step]:
    index = 0
    while index < len(instructions):
        first, frees = index, list[int]()
        index += 1
        while index < len(instructions) and instructions[index].op == DEALLOCATE:
            frees += instructions[index].operand_values()
            index += 1
        instruction = instructions[first]
        described = None if instruction.op == DEALLOCATE else describe(instruction)
        text, reads = described or (None, ())
        yield Step(first, index - 1, text, tuple(reads), tuple(instruction.results), tuple(frees))


def _best(steps: Sequence[Step], free: Sequence[bool], refused: set[tuple[int, int]]) -> tuple[list[int], int] | None:
    """Where the parts that save most begin, and their length."""
    numbers: dict[str, int] = {}
    keys = [
        numbers.setdefault(str(step.text), len(numbers) + 1) if free[index] else -1 - index
        for index, step in enumerate(steps)
    ]
    hashes, powers = [0], [1]
    for key in keys:
        hashes.append((hashes[-1] * _BASE + key) % _MODULUS)
        powers.append(powers[-1] * _BASE % _MODULUS)
    candidates: list[tuple[int, list[int], int]] = []
    for length in _lengths(keys):
        places: dict[int, list[int]] = defaultdict(list)
        for start in range(len(keys) - length + 1):
            hashed = (hashes[start + length] - hashes[start] * powers[length]) % _MODULUS
            known = places[hashed]
            if not known or start >= known[-1] + length:
                known.append(start)
        for starts in places.values():
            if len(starts) > 1 and (starts[0], length) not in refused:
                candidates.append((_saved(len(starts), length), starts, length))
    for saved, starts, length in sorted(candidates, key=lambda found: -found[0])[:200]:
        if saved <= 0:
            break
        alike = _alike(steps, starts, length)
        if _saved(len(alike), length) >= saved * 0.6:
            return alike, length
        refused.add((starts[0], length))
    return None


def _saved(count: int, length: int) -> int:
    """Lines that a function of ``length`` steps saves that is called ``count`` times."""
    return (count - 1) * length - 2 * count - 4


def _lengths(keys: Sequence[int]) -> list[int]:
    """Distances at which the same steps come again, most frequent ones, and their halves for parts between others."""
    last: dict[int, int] = {}
    gaps: dict[int, int] = defaultdict(int)
    for index, key in enumerate(keys):
        if key > 0 and key in last:
            gaps[index - last[key]] += 1
        last[key] = index
    often = sorted((gap for gap in gaps if gap >= FEWEST_STEPS), key=lambda gap: -gaps[gap] * gap)[:_LENGTHS]
    return sorted({length for gap in often for length in (gap, gap - 1, gap // 2) if length >= FEWEST_STEPS})


def _alike(steps: Sequence[Step], starts: Sequence[int], length: int) -> list[int]:
    """Those of the parts that are wired alike, where most are."""
    groups: dict[object, list[int]] = defaultdict(list)
    for start in starts:
        groups[_wiring(steps[start : start + length])].append(start)
    return max(groups.values(), key=len)


def _wiring(steps: Sequence[Step]) -> tuple[object, ...]:
    """How steps use what others of them made, and what was made before, by its order of use."""
    names: dict[int, tuple[str, int]] = {}
    made = 0
    wiring: list[object] = []
    for step in steps:
        for value in step.reads:
            names.setdefault(value, ("input", len(names)))
        for value in step.makes:
            names[value] = ("made", made)
            made += 1
        frees = sorted(names[value] for value in step.frees if value in names and names[value][0] == "made")
        wiring.append((step.text, tuple(names[value] for value in step.reads), tuple(frees)))
    return tuple(wiring)


def _parts(part: int, groups: Sequence[Sequence[Step]], kept: Container[int]) -> Iterator[Repeat]:
    inputs: list[tuple[int, ...]] = []
    for steps in groups:
        made = {value for step in steps for value in step.makes}
        inputs.append(tuple(dict.fromkeys(value for step in steps for value in step.reads if value not in made)))
    freed_by = [{value for step in steps for value in step.frees if value not in kept} for steps in groups]
    shared = frozenset(
        position
        for position in range(len(inputs[0]))
        if all(given[position] in freed for given, freed in zip(inputs, freed_by, strict=True))
    )
    for steps, given, freed in zip(groups, inputs, freed_by, strict=True):
        gone = {value for step in steps for value in step.frees}
        outputs = tuple(value for step in steps for value in step.makes if value not in gone)
        inside = {given[position] for position in shared} | {value for step in steps for value in step.makes}
        left = tuple(value for step in steps for value in step.frees if value in freed and value not in inside)
        yield Repeat(part, steps[0].first, steps[-1].last, given, outputs, shared, left)
