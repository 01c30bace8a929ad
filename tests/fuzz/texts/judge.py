"""Judges programs of TTIR and TTNN text: the whole pipeline beside the lowering alone.

Without its optional stages the compiler lowers op by op. What the other stages make of a program must compute the same:
under exact numerics to the bit, but for the order of sums; else within a bound from runs with drawn rounding errors.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import torch
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.cases import Difference, NotDrawnError
from tests.fuzz.texts import noise
from tests.fuzz.texts.corpus import MESHES
from tt_xla.compiler.pipeline import OPTIONAL, compile_module, run_stages, stage_named
from tt_xla.compiler.stages import TTNN_STAGES
from tt_xla.compiler.tt_modules import program_of
from tt_xla.errors import CompileError, ExecutionError, ResourceExhaustedError, UnsupportedOpError, VerificationError
from tt_xla.ir.program import Argument, Program
from tt_xla.ir.text import parse_module, print_module
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

Values = list[np.ndarray]
"""Tensors of a program; of one for several chips, those of all chips, along a new first dimension."""

BF16 = np.dtype(ml_dtypes.bfloat16)
PLAIN = frozenset(OPTIONAL) | {"ttir-decode-attention", "ttir-fold-rows"}
"""Stages that are left out of the program that others are compared with."""

_SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-30, 0.5, 65504.0], np.float32)
_ENDS = np.array([0, 1, -1, 2**31 - 1, -(2**31), 65536, -32769], np.int64)
_EXACT = {"bf16": 2.0**-8, "f32": 2.0**-21}
_SILICON = {"bf16": 2.0**-8, "f32": 2.0**-10}
"""Relative error of an op by the type of its result: that of the format, and in exact numerics of float32's sums."""
_RUNS = 5


@dataclass(frozen=True)
class Text:
    """A program of TTIR, with the seed of its inputs.

    Attributes:
        source: TTIR of one function that a program can start with.
        seed: Seed of its inputs.
        special: Whether inputs have NaN, infinities and numbers near the ends of their range.
        options: Compile options that stand beside level and numerics.
        error: Largest error that the options add to a value, relative to the largest one of the result.
    """

    source: str
    seed: int
    special: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: float = 0.0

    @property
    def text(self) -> str:
        return f"// inputs: seed {self.seed}{', special' * self.special}; options: {dict(self.options)}\n{self.source}"

    @cached_property
    def module(self) -> ModuleOp:
        return parse_module(self.source)

    def check(self) -> Iterator[Difference]:
        plain = self._compiled(self.module, without=PLAIN, numerics="exact")
        inputs = drawn_inputs(
            plain, self.seed, self.special, indexes="embedding" in self.source or "gather" in self.source
        )
        expected = _reference(plain, inputs)
        kinds = noise.kinds_of(self.module)
        for level in (0, 2):
            program = self._compiled(self.module, numerics="exact", optimization_level=level)
            yield from self._judge_exact(f"exact at level {level}", run(program, inputs), expected, inputs, kinds)
        if self.special:
            return
        bounds = self._bounds(inputs, _SILICON, only_sums=False)
        if bounds is None:
            return
        for level in (0, 2):
            program = self._compiled(self.module, optimization_level=level, **self.options)
            results = run(program, inputs)
            attends = any("scaled_dot_product" in step.op for function in program.functions for step in function.body)
            for index, (result, (centre, spread)) in enumerate(zip(results, bounds, strict=True)):
                if kinds.jumps[index]:
                    continue
                floor = (6e-2 if attends else 1e-3) + self.error
                text = outside(result, centre, spread, floor, expected[index])
                if text:
                    yield Difference(f"default at level {level}, result {index}", text)
        yield from self._judge_rewriting(inputs, kinds, expected)

    def _judge_exact(
        self, check: str, results: Values, expected: Values, inputs: Values, kinds: noise.Kinds
    ) -> Iterator[Difference]:
        bounds: list[tuple[np.ndarray, np.ndarray]] | None = None
        for index, (result, value) in enumerate(zip(results, expected, strict=True)):
            text = unequal(result, value)
            if not text:
                continue
            if kinds.summed[index]:
                if kinds.jumps_by_sums[index] or self.special:
                    continue
                bounds = bounds or self._bounds(inputs, _EXACT, only_sums=True)
                if bounds is None:
                    return
                text = outside(result, value.astype(np.float64), bounds[index][1], 1e-6, value)
            if text:
                yield Difference(f"{check}, result {index}", text)

    def _judge_rewriting(self, inputs: Values, kinds: noise.Kinds, expected: Values) -> Iterator[Difference]:
        """Judges the rewritings of default numerics by exact kernels, which show those of float32 sharper.

        Values in bfloat16 may be joined before a product, and be rounded once more.
        """
        if "bf16" in self.source:
            return
        for level in (0, 2):
            program = in_exact_kernels(self._compiled(self.module, optimization_level=level))
            if is_coarse(program):
                return
            bounds = self._bounds(inputs, _EXACT, only_sums=False)
            if bounds is None:
                return
            for index, (result, (centre, spread)) in enumerate(zip(run(program, inputs), bounds, strict=True)):
                text = "" if kinds.jumps[index] else outside(result, centre, spread, 1e-6, expected[index])
                if text:
                    yield Difference(f"rewritten at level {level}, in exact kernels, result {index}", text)

    def _bounds(
        self, inputs: Values, errors: dict[str, float], *, only_sums: bool
    ) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """Returns for each result the values of a run in float32, and how far runs with rounding errors lie from it."""
        try:
            noisy = noise.with_noise(self.source, errors, only_sums=only_sums)
        except ValueError:
            return None
        program = self._compiled(noisy.module, without=PLAIN, numerics="exact")
        drawn = np.random.default_rng(self.seed)
        wide = [value.astype(np.float32) if value.dtype == BF16 else value for value in inputs]
        chips = 0 if program.mesh is None else program.mesh.size

        def once(factors: Values) -> Values:
            given = [np.broadcast_to(factor, (chips, *factor.shape)) if chips else factor for factor in factors]
            return [value.astype(np.float64) for value in run(program, [*wide, *given])]

        centres = once([np.ones(size, np.float32) for size, _ in noisy.sizes])
        runs = [once(noisy.factors(drawn)) for _ in range(_RUNS)]
        with np.errstate(invalid="ignore"):
            spreads = [
                np.max([np.abs(one[index] - centre) for one in runs], axis=0) for index, centre in enumerate(centres)
            ]
        return list(zip(centres, spreads, strict=True))

    def _compiled(self, module: ModuleOp, without: Collection[str] = (), **options: Any) -> Program:
        return compiled(module, without, **options)


def compiled(module: ModuleOp, without: Collection[str] = (), **options: Any) -> Program:
    """Compiles a module for one chip, or for a box of eight if it states a mesh.

    Raises:
        NotDrawnError: The compiler refuses the module, or the chip has too little memory.
        UnsupportedOpError: The compiler refuses an op.
    """
    target = load_target("n300-llmbox" if MESHES in module.attributes else "n150")
    try:
        return compile_module(module, CompileOptions.parse(options), target, without=without)
    except (UnsupportedOpError, VerificationError):
        raise
    except (CompileError, ResourceExhaustedError) as error:
        raise NotDrawnError(str(error)) from error


def _reference(program: Program, inputs: Values) -> Values:
    """Returns the results of a program that others are compared with.

    Raises:
        NotDrawnError: The emulated card cannot run it: an op has no kernel, or the text is for another mesh.
    """
    try:
        return run(program, inputs)
    except ExecutionError as error:
        raise NotDrawnError(str(error)) from error


COARSE = frozenset(
    f"ttnn.{name}"
    for name in (
        *("gelu", "max_pool2d", "avg_pool2d", "scaled_dot_product_attention", "scaled_dot_product_attention_decode"),
        *("rotary_embedding", "gelu_bw"),
    )
)
"""Ops by which the compiler replaces others that compute something a little different, or in bfloat16."""


def in_exact_kernels(program: Program) -> Program:
    """Returns a program that was compiled for default numerics with the kernels of exact numerics."""
    return msgspec.structs.replace(program, options={**program.options, "numerics": "exact"})


def is_coarse(program: Program) -> bool:
    """Whether a program has an op, or an activation in an op, that computes something a little different."""
    steps = [step for function in program.functions for step in function.body]
    return any(step.op in COARSE or "gelu" in str(step.attributes) for step in steps)


def run(program: Program, inputs: Values) -> Values:
    """Runs a program on the emulated card and returns its results."""
    tensors = [_to_torch(value) for value in inputs]
    if program.mesh is None:
        executable = get_device(program.target).load(program)
        return [_to_numpy(value) for value in executable.run(tensors, [None] * len(tensors))]
    executable = get_device(program.target).load(program)
    shards = [[part.clone() for part in tensor] for tensor in tensors]
    return [np.stack([_to_numpy(part) for part in parts]) for parts in executable.run(shards, [None] * len(shards))]


def drawn_inputs(program: Program, seed: int, special: bool, *, indexes: bool) -> Values:
    """Returns drawn inputs of a program.

    Args:
        program: The program, which declares its arguments.
        seed: Seed of the elements.
        special: Whether they have NaN, infinities and numbers near the ends of their range.
        indexes: Whether integers are positions, so 0 or 1.
    """
    generator = np.random.default_rng(seed)
    mesh = program.mesh
    values: Values = []
    for argument in program.arguments:
        if mesh is None:
            values.append(_elements(generator, argument, special, indexes))
            continue
        axes = _axes(argument)
        parts: dict[tuple[int, ...], np.ndarray] = {}
        for position in range(mesh.size):
            place = tuple(mesh.coordinates(position)[axis] for axis in axes)
            if place not in parts:
                parts[place] = _elements(generator, argument, special, indexes)
        places = [tuple(mesh.coordinates(position)[axis] for axis in axes) for position in range(mesh.size)]
        values.append(np.stack([parts[place] for place in places]))
    return values


def _axes(argument: Argument) -> tuple[int, ...]:
    """Returns the axes of the mesh along which chips have their own parts of an argument."""
    dims = () if argument.sharding is None else argument.sharding.dims
    return tuple(axis for axes in dims for axis in axes)


def _elements(generator: np.random.Generator, argument: Argument, special: bool, indexes: bool) -> np.ndarray:
    size, name = argument.shape, argument.dtype
    if name in ("f32", "bf16", "f16", "f64"):
        values = generator.standard_normal(size).astype(np.float32)
        if special:
            values = np.where(generator.random(size) < 0.3, generator.choice(_SPECIAL, size), values)
        type_ = {"f32": np.dtype(np.float32), "bf16": BF16, "f16": np.dtype(np.float16), "f64": np.dtype(np.float64)}
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(type_[name])
    if name in ("i1", "pred"):
        return generator.integers(0, 2, size).astype(np.bool_)
    if not re.fullmatch(r"u?i(8|16|32|64)", name):
        raise NotDrawnError(f"no elements are drawn of type {name}")
    type_ = np.dtype(("u" if name.startswith("u") else "") + f"int{name.removeprefix('u').removeprefix('i')}")
    limits = np.iinfo(type_)
    values = generator.integers(0 if indexes else max(limits.min, -9), 2 if indexes else 10, size)
    if special and not indexes:
        values = np.where(generator.random(size) < 0.3, generator.choice(_ENDS, size), values)
    return values.astype(type_)


def _to_torch(array: np.ndarray) -> torch.Tensor:
    array = np.array(array)
    return (
        torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if array.dtype == BF16 else torch.from_numpy(array)
    )


def _to_numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(BF16)
    return tensor.numpy()


def unequal(result: np.ndarray, expected: np.ndarray) -> str:
    """Returns how two arrays differ in type, shape or a bit, any two NaN being equal; empty if they do not."""
    if (result.dtype, result.shape) != (expected.dtype, expected.shape):
        return f"got {result.dtype}{result.shape}, expected {expected.dtype}{expected.shape}"
    one, other = (value.astype(np.float32) if value.dtype == BF16 else value for value in (result, expected))
    same = one == other
    if one.dtype.kind == "f":
        same = (same & (np.signbit(one) == np.signbit(other))) | (np.isnan(one) & np.isnan(other))
    return "" if same.all() else _first(one, other, ~same)


def outside(result: np.ndarray, centre: np.ndarray, spread: np.ndarray, floor: float, plain: np.ndarray) -> str:
    """Returns how a result leaves the bound that runs with rounding errors give; empty if it does not.

    Args:
        result: The result.
        centre: Its values without rounding errors.
        spread: How far the runs with errors are from these.
        floor: Error of the kernels relative to the result's root of mean square, or to 1.
        plain: The result in exact numerics without optional stages; elements that are not finite there are not judged.
    """
    got = result.astype(np.float64)
    judged = np.isfinite(centre) & np.isfinite(spread) & np.isfinite(plain.astype(np.float64))
    if not judged.any():
        return ""
    usual = float(np.quantile(spread[judged], 0.9))
    scale = max(1.0, float(np.sqrt(np.mean(centre[judged] ** 2))))
    with np.errstate(invalid="ignore"):
        ulp = 2.0**-7 if result.dtype == BF16 else 2.0**-20
        bad = judged & ~(np.abs(got - centre) <= 6 * spread + 3 * usual + ulp * np.abs(centre) + floor * scale)
    return _first(got, centre, bad) + f", bound {(6 * spread + 3 * usual)[bad].flat[0]:.3g}" if bad.any() else ""


def _first(got: np.ndarray, expected: np.ndarray, bad: np.ndarray) -> str:
    place = tuple(int(index) for index in np.argwhere(bad)[0]) if bad.ndim else ()
    return (
        f"{int(bad.sum())} of {bad.size} elements differ, first at {list(place)}: got {got[place]!r}, "
        f"expected {expected[place]!r}"
    )


@dataclass(frozen=True)
class LaidOut:
    """A program of TTNN text, with a stage that may change it.

    Attributes:
        source: TTNN of one function that a program can start with.
        seed: Seed of its inputs.
        stage: Name of a stage; empty for all of them.
        options: Compile options of the stage.
    """

    source: str
    seed: int
    stage: str
    options: Mapping[str, Any]

    @property
    def text(self) -> str:
        return f"// inputs: seed {self.seed}; {self.stage or 'all stages'}, options {dict(self.options)}\n{self.source}"

    def check(self) -> Iterator[Difference]:
        if not self.stage and "ttcore.load_cached" in self.source:
            raise NotDrawnError("const-eval has worked on the program already")
        options = CompileOptions.parse(self.options)
        before = compiled(parse_module(self.source), numerics="exact")
        indexes = "embedding" in self.source or "gather" in self.source or "cache" in self.source
        inputs = drawn_inputs(before, self.seed, False, indexes=indexes)
        expected = _reference(before, inputs)
        changed = program_of(parse_module(self.source)).module
        stages = [stage_named(self.stage)] if self.stage else list(TTNN_STAGES)
        run_stages(changed, stages, options, load_target("n150"), verify=True)
        results = run(compiled(parse_module(print_module(changed)), numerics="exact"), inputs)
        for index, (result, value) in enumerate(zip(results, expected, strict=True)):
            text = unequal(result, value)
            if text and value.dtype.kind in "fV":
                wide = value.astype(np.float64)
                formats = f"{dict(self.options)} {self.source}"
                error = 2.0**-2 if "bfp_bf4" in formats else 2.0**-5 if "bfp" in formats else 2.0**-7
                scale = np.nanmax(np.where(np.isfinite(wide), np.abs(wide), 0), initial=0)
                floor = 0.2 if "fast_and_approximate_mode" in self.options else 1e-3
                text = outside(result, wide, np.full(wide.shape, error * scale / 6), floor, value)
            if text:
                yield Difference(f"after {self.stage or 'all stages'}, result {index}", text)


def seed_of(random: Any) -> int:
    """Returns a seed of inputs."""
    return zlib.crc32(str(random.getrandbits(64)).encode())
