"""Traces whose sizes change from run to run: from the second sizes on, one program serves all sizes up to a capacity.

A trace has the sizes of one run. Where a trace comes back with others, such as one that appends a token to a sequence,
both are compared: a size of an input that has changed is a symbol, and a number among the arguments of an op that has
changed is an expression of symbols that fits both runs. PyTorch then computes the sizes of all results from these, with
symbols, and :class:`~..capacities.CapacityExecutor` compiles the graph. A later run takes the program only if all its
numbers are what the expressions say for its sizes; otherwise its trace is compared anew.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch

from tt_xla.frontends.torch import session, settings
from tt_xla.frontends.torch.device import kinds
from tt_xla.frontends.torch.device.traces import Sample, Trace, graph_module_of, scalar_types
from tt_xla.frontends.torch.device.values import Kind
from tt_xla.frontends.torch.private.fake import new_symbol, symbolic_mode
from tt_xla.frontends.torch.symbolic import hint as symbolic_hint
from tt_xla.log import logger

_MAX_FORMS = 1024
_MIN_CONSTANT = 1024
"""Elements from which a leaf that was the same in two runs is a constant of the program."""
_MAX_OFFSET = 4
"""The greatest number that is added to one symbol for another size, as a mask has one position more than a cache."""
_MAX_TRIES = 4
"""Number of times that a form of traces is generalised. One whose numbers fit no expression compiles for each size."""


@dataclass
class _Form:
    """The traces that differ in nothing but sizes.

    Attributes:
        settings: the settings that these were compiled with. With others all compile anew.
        last: the last run.
        tries: number of comparisons so far.
        general: the program for all sizes; None if there is none yet.
    """

    settings: Any
    last: Sample
    tries: int = 0
    general: General | None = None


class _Forms(dict[tuple[Any, ...], _Form]):
    """The session's forms by their ops and how these are connected."""


class UnlikeError(Exception):
    """Two traces have no common form."""


def general_program(trace: Trace, *, is_known: bool = False) -> General | None:
    """Returns the program of a trace for all sizes; None if this is the first one of its form, or there is none.

    Args:
        trace: the trace.
        is_known: whether the trace has a program of its own, so that none is made for all sizes.
    """
    forms = session.current.part(_Forms)
    current = settings.current()
    if len(forms) >= _MAX_FORMS:
        forms.clear()
    key, sample = _form_of(trace), Sample.of(trace)
    form = forms.get(key)
    if form is None or form.settings is not current:
        forms[key] = _Form(current, sample)
        return None
    former, form.last = form.last, sample
    if form.general is not None and form.general.accepts(sample):
        return form.general
    if (
        is_known
        or former.shapes == sample.shapes
        or form.tries >= _MAX_TRIES
        or current.with_own({}).capacity_steps == "off"
    ):
        return None
    form.tries += 1
    try:
        form.general = General(trace, former, sample)
    except Exception as error:  # PyTorch's functions of shapes raise any, and the trace runs without this program
        logger().info("Recorded ops whose sizes change are compiled for each of them: %s", error)
        form.general = None
    return form.general


def _form_of(trace: Trace) -> tuple[Any, ...]:
    numbers = {node: number for number, node in enumerate(trace.nodes)}
    leaves = {leaf: number for number, leaf in enumerate(trace.leaves)}
    key: list[Any] = [trace.chip]
    for node in trace.nodes:
        key += (node.kind.op, *map(type, node.scalars))
        for value in node.inputs:
            if value.node is not None:
                key += (numbers[value.node], value.index)
            else:
                key += (~leaves[value], value.dtype, *(min(size, 2) for size in value.shape))
    for value in trace.outputs:
        assert value.node is not None
        key += (numbers[value.node], value.index)
    return tuple(key)


class _Symbols:
    """Symbols, and expressions of them, by the two numbers that each stands for.

    Args:
        mode: fake mode whose symbols these are.

    Attributes:
        readers: leaf and axis whose size each symbol is, by its name.
    """

    def __init__(self, mode: Any) -> None:
        self._mode = mode
        self._found: dict[tuple[int, int], Any] = {}
        self.readers: dict[str, tuple[int, int]] = {}

    def of_shapes(
        self, before: Sequence[tuple[int, ...]], after: Sequence[tuple[int, ...]]
    ) -> list[list[int | Expression]]:
        """Makes symbols for the sizes of leaves that differ between two runs.

        Returns:
            What each leaf's sizes are.

        Raises:
            UnlikeError: a size was or is 0 or 1, for which PyTorch computes other things.
        """
        places: dict[tuple[int, int], tuple[int, int]] = {}
        for leaf, (old, new) in enumerate(zip(before, after, strict=True)):
            for axis, pair in enumerate(zip(old, new, strict=True)):
                if pair[0] != pair[1]:
                    places.setdefault(pair, (leaf, axis))
        for pair, place in sorted(places.items()):
            if min(pair) < 2:
                raise UnlikeError("a size was or is 1")
            near = [known for known in self._found if 0 < pair[0] - known[0] == pair[1] - known[1] <= _MAX_OFFSET]
            if near:
                self._found[pair] = self._found[near[0]] + (pair[0] - near[0][0])
            else:
                self._found[pair] = symbol = new_symbol(self._mode, pair[1])
                self.readers[str(symbol.node.expr)] = place
        return [
            [self.checked(*pair) for pair in zip(old, new, strict=True)] for old, new in zip(before, after, strict=True)
        ]

    def expression(self, before: int, after: int) -> Any:
        """Returns the expression for a number that was ``before`` in the earlier run and is ``after`` in the later.

        Raises:
            UnlikeError: no known expression fits.
        """
        if before == after:
            return after
        known = self._found.get((before, after))
        if known is None:
            known = self._found[before, after] = self._fitting(before, after)
        return known

    def _fitting(self, before: int, after: int) -> Any:
        pairs = list(self._found.items())
        for (first, second), known in pairs:
            if after - before == second - first:
                return known + (after - second)
        factors = [pair for pair in pairs if all(number > 0 for number in pair[0])]
        for factor in (1, 2):
            for chosen in itertools.combinations_with_replacement(factors, factor):
                old, new = math.prod(pair[0] for pair, _ in chosen), math.prod(pair[1] for pair, _ in chosen)
                if not before % old and not after % new and before // old == after // new:
                    return math.prod(known for _, known in chosen) * (after // new)
        raise UnlikeError(f"a number among the arguments of an op was {before} and is {after}")

    def checked(self, before: int, after: int) -> int | Expression:
        """Returns the number, or how to compute it from the values of the symbols."""
        return after if before == after else Expression(str(self.expression(before, after).node.expr))

    def fake(self, sizes: Sequence[Any], dtype: torch.dtype) -> torch.Tensor:
        """Returns a contiguous fake tensor of the device."""
        return kinds.fake(sizes, dtype, mode=self._mode)


@dataclass(frozen=True)
class Expression:
    """A number that depends on the values of symbols.

    Attributes:
        text: the expression, as PyTorch's symbolic shapes print it.
    """

    text: str

    def __call__(self, values: Mapping[str, int]) -> Any:
        """Returns the value for some values of the symbols."""
        return eval(_code_of(self.text), _FUNCTIONS, dict(values))


@functools.lru_cache(maxsize=4096)
def _code_of(text: str) -> CodeType:
    return compile(text, "<size>", "eval")


_FUNCTIONS: dict[str, Any] = {
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "FloorDiv": operator.floordiv,
    "Max": max,
    "Min": min,
    "Eq": operator.eq,
    "Ne": operator.ne,
    "Gt": operator.gt,
    "Ge": operator.ge,
    "Lt": operator.lt,
    "Le": operator.le,
}
"""Functions in the text of sizes and of conditions on them."""


def mode_condition(mode: Any) -> Callable[[Mapping[str, int]], bool]:
    """Returns a function that tells whether PyTorch would compute the same with some values of the symbols.

    Raises:
        UnlikeError: a condition cannot be computed.
    """
    guards = [Expression(str(guard.expr)) for guard in mode.shape_env.guards]
    if any("~" in guard.text for guard in guards):  # which Python computes bit by bit
        raise UnlikeError("a condition on sizes is a negation")

    def holds(values: Mapping[str, int]) -> bool:
        return all(guard(values) for guard in guards)

    return holds


class General:
    """The program of a form of traces for all sizes.

    Args:
        trace: a trace.
        before: an earlier run of its form.
        after: the run of ``trace``.

    Raises:
        UnlikeError: the runs differ in more than sizes.
        TTXLAError: an op cannot be compiled for all sizes.
    """

    def __init__(self, trace: Trace, before: Sample, after: Sample) -> None:
        from tt_xla.frontends.torch.capacities import CapacityExecutor
        from tt_xla.frontends.torch.lowering import Argument
        from tt_xla.ir.program import Role

        pairs = zip(before.scalars, after.scalars, strict=True)
        self._inputs = frozenset(number for number, pair in enumerate(pairs) if pair[0] != pair[1])
        self._scalars = after.scalars
        earlier = graph_module_of(trace, self._inputs, before)
        graph_module = graph_module_of(trace, self._inputs)
        with kinds.computing_shapes(mode := symbolic_mode()):
            symbols = _Symbols(mode)
            self._shapes = symbols.of_shapes(before.shapes, after.shapes)
            _generalize(earlier, graph_module, symbols, len(trace.leaves))
            self._templates, self._classes = _templates(before.kinds, after.kinds, symbols)
        self._values = symbols.readers
        self._checked: dict[tuple[int, ...], dict[tuple[int, int], bool]] = {}
        constant = [
            first == second and math.prod(shape) > _MIN_CONSTANT
            for first, second, shape in zip(before.versions, after.versions, after.shapes, strict=True)
        ]
        arguments = [
            Argument(f"input_{number}", Role.CONSTANT if is_constant else Role.INPUT)
            for number, is_constant in enumerate(constant)
        ]
        arguments += [Argument(f"scalar_{number}") for number in sorted(self._inputs)]
        self._executor = CapacityExecutor(graph_module, arguments, {}, chip=trace.chip)
        self._condition = mode_condition(mode)  # the executor may have added conditions
        if not self._condition({name: after.shapes[leaf][axis] for name, (leaf, axis) in self._values.items()}):
            raise UnlikeError("a condition on sizes does not hold for the sizes that were traced")

    def accepts(self, sample: Sample) -> bool:
        """Returns whether a run differs from the one that was compiled in what the symbols say, and nothing else."""
        if any(
            scalar != first and number not in self._inputs
            for number, (scalar, first) in enumerate(zip(sample.scalars, self._scalars, strict=True))
        ):
            return False
        values = {name: sample.shapes[leaf][axis] for name, (leaf, axis) in self._values.items()}
        key = tuple(values.values())
        if min(key, default=2) < 2:
            return False
        checked = self._checked.get(key)
        if checked is None:
            if not self._condition(values) or not all(
                map(_fits, self._shapes, sample.shapes, itertools.repeat(values))
            ):
                return False
            if len(self._checked) >= _MAX_FORMS:
                self._checked.clear()
            checked = self._checked[key] = {}
        elif not all(map(_fits, self._shapes, sample.shapes, itertools.repeat(values))):
            return False
        for number, kind in zip(self._classes, sample.kinds, strict=True):
            fits = checked.get((number, kind.serial))
            if fits is None:
                fits = checked[number, kind.serial] = _fits(self._templates[number], _entries(kind), values)
            if not fits:
                return False
        return True

    def compiles(self, trace: Trace) -> bool:
        """Returns whether no program has the capacities for a trace yet."""
        return not self._executor.has_program(trace.leaves)

    def compile(self, trace: Trace) -> None:
        """Compiles the program for the capacities of a trace."""
        self._executor.prepare(trace.leaves)

    def run(self, trace: Trace) -> None:
        """Computes the values of a trace whose sample :meth:`accepts` took."""
        from tt_xla.frontends.torch.capacities import PaddedContents

        types = scalar_types(trace, self._inputs)
        arguments: list[Any] = [
            leaf.kept if isinstance(leaf.kept, PaddedContents) else leaf.data for leaf in trace.leaves
        ]
        versions: list[int | None] = [leaf.version for leaf in trace.leaves]
        for number in sorted(self._inputs):
            arguments.append(torch.tensor(trace.scalars[number], dtype=types[number], device="cpu"))
            versions.append(None)
        for value, contents in zip(trace.outputs, self._executor.run_values(arguments, versions), strict=True):
            if isinstance(contents, PaddedContents):
                value.set_kept(contents)
            else:
                value.set_computed(contents.reshape(value.shape))


def _fits(expected: Sequence[Any], entries: Sequence[Any], values: Mapping[str, int]) -> bool:
    """Returns whether numbers are those that expressions say, and other entries are equal."""
    if len(expected) != len(entries):
        return False
    for wanted, entry in zip(expected, entries, strict=True):
        wanted = wanted(values) if isinstance(wanted, Expression) else wanted
        if wanted is not entry and not (type(wanted) is type(entry) and wanted == entry):
            return False
    return True


def _entries(kind: Kind) -> list[Any]:
    """Returns the arguments of a kind one after another, with the lengths of lists."""
    found: list[Any] = []

    def visit(entry: Any) -> None:
        if isinstance(entry, list | tuple):
            found.append((list, len(entry)))
            for item in entry:
                visit(item)
        else:
            found.append(entry)

    args, kwargs = kind.template
    visit(args)
    for name, value in kwargs.items():
        found.append(name)
        visit(value)
    return found


def _is_size(entry: Any) -> bool:
    """Returns whether an argument is a plain integer, and no placeholder of the template."""
    return type(entry) is int


def _templates(before: Sequence[Kind], after: Sequence[Kind], symbols: _Symbols) -> tuple[list[list[Any]], list[int]]:
    """Returns what the arguments of ops must be, for each pair of kinds, and the number of the pair of each op.

    Raises:
        UnlikeError: arguments other than integers differ, or no expression fits.
    """
    numbers: dict[tuple[int, int], int] = {}
    templates: list[list[Any]] = []
    classes: list[int] = []
    for first, second in zip(before, after, strict=True):
        pair = first.serial, second.serial
        if pair not in numbers:
            numbers[pair] = len(templates)
            templates.append(_template(_entries(first), _entries(second), symbols))
        classes.append(numbers[pair])
    return templates, classes


def _template(before: Sequence[Any], after: Sequence[Any], symbols: _Symbols) -> list[Any]:
    if len(before) != len(after):
        raise UnlikeError("an op has other arguments")
    entries: list[Any] = []
    for first, second in zip(before, after, strict=True):
        if _is_size(first) and _is_size(second):
            entries.append(symbols.checked(first, second))
        elif type(first) is type(second) and (first is second or first == second or first != first):
            entries.append(second)
        else:
            raise UnlikeError(f"an argument of an op was {first!r} and is {second!r}")
    return entries


def _generalize(earlier: torch.fx.GraphModule, later: torch.fx.GraphModule, symbols: _Symbols, leaves: int) -> None:
    """Gives a graph symbolic sizes.

    Args:
        earlier: the graph of the earlier run.
        later: the graph of the later run, which changes.
        symbols: the symbols.
        leaves: number of placeholders that have them; the others are numbers.

    Raises:
        UnlikeError: the graphs differ in more than sizes.
    """
    before, after = list(earlier.graph.nodes), list(later.graph.nodes)
    if len(before) != len(after):
        raise UnlikeError("the ops decompose to others")
    position = itertools.count()
    for first, second in zip(before, after, strict=True):
        if first.op != second.op or (first.op == "call_function" and first.target is not second.target):
            raise UnlikeError(f"the op {first.target} has become {second.target}")
        if second.op == "placeholder":
            old, new = first.meta["val"], second.meta["val"]
            if next(position) < leaves:
                sizes = [symbols.expression(*pair) for pair in zip(old.shape, new.shape, strict=True)]
                second.meta["val"] = symbols.fake(sizes, new.dtype)
            else:
                second.meta["val"] = symbols.fake([], new.dtype)
        elif second.op == "get_attr":
            old, new = getattr(earlier, str(first.target)), getattr(later, str(second.target))
            if old.shape != new.shape or not torch.equal(old, new):
                raise UnlikeError("a constant of an op has changed")
            second.meta["val"] = symbols.fake([*new.shape], new.dtype)
        elif second.op == "call_function":
            _compute(first, second, symbols)


def _compute(first: torch.fx.Node, second: torch.fx.Node, symbols: _Symbols) -> None:
    """Gives a call symbolic arguments, and lets PyTorch compute the sizes of its results."""
    is_index = second.target is operator.getitem

    def general(old: Any, new: Any) -> Any:
        if isinstance(new, list | tuple):
            if len(old) != len(new):
                raise UnlikeError(f"an argument of {second.target} has another length")
            return type(new)(general(*pair) for pair in zip(old, new, strict=True))
        if _is_size(new) and _is_size(old) and not is_index:
            return symbols.expression(old, new)
        if not isinstance(new, torch.fx.Node) and old is not new and old != new:
            raise UnlikeError(f"an argument of {second.target} was {old!r} and is {new!r}")
        return new

    args = general(first.args, second.args)
    kwargs = {name: general(first.kwargs[name], value) for name, value in second.kwargs.items()}
    fakes = torch.fx.node.map_arg((args, kwargs), lambda node: node.meta["val"])
    result = second.target(*fakes[0], **fakes[1])  # type: ignore[operator]
    for made, old in zip(_tensors(result), _tensors(second.meta.get("val")), strict=True):
        if [symbolic_hint(size) for size in made.shape] != [*old.shape]:
            raise UnlikeError(f"{second.target} has other sizes")
    second.args, second.kwargs = args, kwargs
    second.meta["val"] = result


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return [value] if isinstance(value, torch.Tensor) else []


__all__ = ["General", "general_program"]
