"""Finds repeated parts of a model without argument names, by comparing ops and the way they are wired."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tt_xla.ir.program import DEALLOCATE, Instruction

FEWEST_STEPS = 4
"""Minimum number of steps of a part."""

FEWEST_LISTED = 3
"""Minimum number of tensors that are passed as one list; fewer tensors are separate parameters."""

MOST_PARTS = 16
"""Maximum number of different parts in one function. Parts with the largest savings come first."""

_LENGTHS = 24
"""Number of part lengths to try."""

_BASE, _MODULUS = 1_000_003, (1 << 61) - 1
"""Parameters of the rolling hash over steps."""

Describe = Callable[[Instruction], "tuple[str, Sequence[int]] | None"]
"""Returns the text of an instruction without value names, and its values in the order of the text.

Returns None for an instruction that cannot be part of a function.
"""


@dataclass(frozen=True)
class Step:
    """An instruction and the deallocations that follow it."""

    first: int
    """Index of the instruction."""
    last: int
    """Index of the last deallocation after it, or of the instruction itself."""
    text: str | None
    """Text without value names; None if the step cannot be part of a function."""
    reads: tuple[int, ...]
    """Values that the instruction reads."""
    makes: tuple[int, ...]
    """Values that it computes."""
    frees: tuple[int, ...]
    """Values that are deallocated after it."""


@dataclass(frozen=True)
class Repeat:
    """One occurrence of a repeated part. Values at the same position of ``inputs`` and ``outputs`` correspond."""

    part: int
    """Number of the part; all its occurrences have the same number."""
    first: int
    """Index of the first instruction."""
    last: int
    """Index of the last instruction."""
    inputs: tuple[int, ...]
    """Values from before the occurrence, in the order of their use."""
    outputs: tuple[int, ...]
    """Values that outlive the occurrence."""
    freed: frozenset[int]
    """Positions of the inputs that every occurrence frees."""
    left: tuple[int, ...]
    """Inputs that only this occurrence frees; its caller frees them after the call."""


@dataclass(frozen=True)
class Part:
    """The signature of the function for a repeated part, in positions of its inputs."""

    weights: tuple[int, ...]
    """Inputs that are weights in every occurrence."""
    parameters: tuple[int, ...]
    """Inputs that are a parameter each, or the first input of a list parameter."""
    lists: Mapping[int, Mapping[int, int]]
    """For the first input of each list parameter, the index in the list of each input that the list contains."""


def find_parts(
    instructions: Sequence[Instruction],
    describe: Describe,
    retained: Container[int],
    weights: Container[int],
    most: int,
) -> list[tuple[Repeat, Part]]:
    """Returns the occurrences of repeated parts in order, each with the signature of its part.

    Args:
        instructions: the instructions to search.
        describe: returns the text and values of an instruction.
        retained: values that nobody frees.
        weights: values that are weights.
        most: maximum number of separate results of a part; more results are one list, which other parts can take.
    """
    repeats = find_repeats(instructions, describe, retained)
    listed = {
        value: (call, index)
        for call, repeat in enumerate(repeats)
        if len(repeat.outputs) > most
        for index, value in enumerate(repeat.outputs)
    }
    alike: dict[int, list[Repeat]] = defaultdict(list)
    for repeat in repeats:
        alike[repeat.part].append(repeat)
    parts = {part: _part([repeat.inputs for repeat in group], weights, listed) for part, group in alike.items()}
    return [(repeat, parts[repeat.part]) for repeat in repeats]


def _part(calls: Sequence[tuple[int, ...]], weights: Container[int], listed: Mapping[int, tuple[int, int]]) -> Part:
    """Returns the signature of a part.

    Args:
        calls: the inputs of each occurrence.
        weights: values that are weights.
        listed: occurrence and index in its list of results, for each value that has no name of its own.
    """
    columns = list(zip(*calls, strict=True))
    weight_positions = tuple(
        position for position, values in enumerate(columns) if all(value in weights for value in values)
    )
    lists: dict[tuple[int, ...], dict[int, int]] = defaultdict(dict)
    for position, values in enumerate(columns):
        origins = [listed[value] for value in values if value in listed]
        if len(origins) == len(calls) and len({index for _, index in origins}) == 1:
            lists[tuple(call for call, _ in origins)][position] = origins[0][1]
    list_parameters = {min(indices): indices for indices in lists.values() if len(indices) >= FEWEST_LISTED}
    inside = {position for indices in list_parameters.values() for position in indices}
    parameters = (
        position
        for position in range(len(columns))
        if position not in weight_positions and (position in list_parameters or position not in inside)
    )
    return Part(weight_positions, tuple(parameters), list_parameters)


def find_repeats(instructions: Sequence[Instruction], describe: Describe, retained: Container[int]) -> list[Repeat]:
    """Returns the occurrences of repeated parts in order; none is inside another.

    The part that saves the most lines is chosen first, then the next among the remaining instructions. The arguments
    are those of :func:`find_parts`.
    """
    steps = list(_steps(instructions, describe))
    free = [step.text is not None for step in steps]
    repeats: list[Repeat] = []
    refused: set[tuple[int, int]] = set()
    for part in range(MOST_PARTS):
        group = _best(steps, free, refused)
        if not group:
            break
        starts, length = group
        for start in starts:
            free[start : start + length] = [False] * length
        repeats += _occurrences(part, [steps[start : start + length] for start in starts], retained)
    return sorted(repeats, key=lambda repeat: repeat.first)


def _steps(instructions: Sequence[Instruction], describe: Describe) -> Iterator[Step]:
    """Yields the steps of instructions."""
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
    """Returns the starts and the length of the occurrences of the part that saves the most lines, or None."""
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
        starts_by_hash: dict[int, list[int]] = defaultdict(list)
        for start in range(len(keys) - length + 1):
            hashed = (hashes[start + length] - hashes[start] * powers[length]) % _MODULUS
            known = starts_by_hash[hashed]
            if not known or start >= known[-1] + length:
                known.append(start)
        for starts in starts_by_hash.values():
            if len(starts) > 1 and (starts[0], length) not in refused:
                candidates.append((_saved(len(starts), length), starts, length))
    for saved, starts, length in sorted(candidates, key=lambda candidate: -candidate[0])[:200]:
        if saved <= 0:
            break
        alike = _alike(steps, starts, length)
        if _saved(len(alike), length) >= saved * 0.6:
            return alike, length
        refused.add((starts[0], length))
    return None


def _saved(count: int, length: int) -> int:
    """Returns the lines that a function of ``length`` steps saves when it is called ``count`` times."""
    return (count - 1) * length - 2 * count - 4


def _lengths(keys: Sequence[int]) -> list[int]:
    """Returns part lengths to try: the most frequent distances between equal steps, and half of them."""
    last: dict[int, int] = {}
    gaps: dict[int, int] = defaultdict(int)
    for index, key in enumerate(keys):
        if key > 0 and key in last:
            gaps[index - last[key]] += 1
        last[key] = index
    often = sorted((gap for gap in gaps if gap >= FEWEST_STEPS), key=lambda gap: -gaps[gap] * gap)[:_LENGTHS]
    return sorted({length for gap in often for length in (gap, gap - 1, gap // 2) if length >= FEWEST_STEPS})


def _alike(steps: Sequence[Step], starts: Sequence[int], length: int) -> list[int]:
    """Returns the starts of the largest group of occurrences that are wired in the same way."""
    groups: dict[object, list[int]] = defaultdict(list)
    for start in starts:
        groups[_wiring(steps[start : start + length])].append(start)
    return max(groups.values(), key=len)


def _wiring(steps: Sequence[Step]) -> tuple[object, ...]:
    """Returns how steps use values of each other and values from before, which are numbered in the order of use."""
    names: dict[int, tuple[str, int]] = {}
    count = 0
    wiring: list[object] = []
    for step in steps:
        for value in step.reads:
            names.setdefault(value, ("input", len(names)))
        for value in step.makes:
            names[value] = ("computed", count)
            count += 1
        frees = sorted(names[value] for value in step.frees if value in names and names[value][0] == "computed")
        wiring.append((step.text, tuple(names[value] for value in step.reads), tuple(frees)))
    return tuple(wiring)


def _occurrences(part: int, groups: Sequence[Sequence[Step]], retained: Container[int]) -> Iterator[Repeat]:
    """Yields the occurrences of a part.

    Args:
        part: number of the part.
        groups: steps of each occurrence.
        retained: values that nobody frees.
    """
    inputs: list[tuple[int, ...]] = []
    for steps in groups:
        computed = {value for step in steps for value in step.makes}
        inputs.append(tuple(dict.fromkeys(value for step in steps for value in step.reads if value not in computed)))
    freed_by = [{value for step in steps for value in step.frees if value not in retained} for steps in groups]
    shared = frozenset(
        position
        for position in range(len(inputs[0]))
        if all(values[position] in freed for values, freed in zip(inputs, freed_by, strict=True))
    )
    for steps, values, freed in zip(groups, inputs, freed_by, strict=True):
        deallocated = {value for step in steps for value in step.frees}
        outputs = tuple(value for step in steps for value in step.makes if value not in deallocated)
        inside = {values[position] for position in shared} | {value for step in steps for value in step.makes}
        left = tuple(value for step in steps for value in step.frees if value in freed and value not in inside)
        yield Repeat(part, steps[0].first, steps[-1].last, values, outputs, shared, left)
