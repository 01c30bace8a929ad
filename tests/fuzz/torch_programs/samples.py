"""Draws a call of an op: from its schema, by a recipe, or from PyTorch's own samples of its functions."""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from tests.fuzz.cases import NotDrawnError
from tests.fuzz.torch_programs import schemas, tensors
from tests.fuzz.torch_programs.calls import Call, Op, Recording, tensors_of
from tests.fuzz.torch_programs.chance import Chance
from tests.fuzz.torch_programs.recipes import OTHERS, RECIPES

TRIES = 12
"""A call that PyTorch refuses is drawn anew so many times."""

SAMPLES = 40
"""So many of a function's samples may be chosen."""


ORDINARY = frozenset(OTHERS) | frozenset(
    f"aten::{name}"
    for name in (
        *("_upsample_bicubic2d_aa", "_upsample_bicubic2d_aa_backward", "_upsample_bilinear2d_aa", "_trilinear"),
        *("_upsample_bilinear2d_aa_backward", "upsample_bicubic2d_backward", "upsample_bilinear2d", "_fft_c2c"),
        *("upsample_bilinear2d_backward", "upsample_linear1d_backward", "upsample_trilinear3d_backward"),
        *("_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", "_fft_r2c", "_fft_c2r", "_grouped_mm"),
        *("_adaptive_avg_pool3d", "_adaptive_avg_pool3d_backward"),
        *("convolution", "convolution_backward", "linalg_solve_triangular"),
        *(
            "hardshrink_backward",
            "softshrink_backward",
            "upsample_nearest2d",
            "upsample_nearest2d_backward",
            "grid_sampler_2d_backward",
        ),
        *("_native_batch_norm_legit", "_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training"),
        *("native_batch_norm_backward", "native_group_norm", "native_layer_norm", "_fused_rms_norm"),
    )
)
"""Ops without special values.

Their rules, or PyTorch's kernels, multiply by zeros that the op does not name, such as those of a padding, with which
an infinity makes NaN; or PyTorch treats NaN otherwise in vectors than in single elements; or it depends on
the order of sums what overflows."""


def draw_call(random: random.Random, op: Op) -> Call:
    """Draws a call that PyTorch's CPU takes.

    Raises:
        NotDrawnError: PyTorch refused each drawn call.
    """
    last: Exception | None = None
    for _ in range(TRIES):
        try:
            call = _drawn(random, op)
            if call is not None and not any(tensor.layout is not torch.strided for tensor in call.inputs):
                call(*map(tensors.copied, call.inputs))
                return call
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AssertionError) as error:
            last = error
    raise NotDrawnError(f"{op}: PyTorch refused {TRIES} calls, the last one with {last}")


def _drawn(random: random.Random, op: Op) -> Call | None:
    name, special = op._schema.name, random.random() < 0.3
    recipe = RECIPES.get(f"{name}.{op._overloadname}") or RECIPES.get(name)
    special = special and name not in ORDINARY
    if (known := _functions(name.partition("::")[2])) and random.random() < 0.25:
        return _from_function(random, op, random.choice(known), special)
    if recipe is None:
        return schemas.draw_call(random, op, special=special)
    dtype = random.choice((torch.float32, torch.float32, *tensors.FLOATS))
    return _recorded(random, op, lambda: recipe(Chance(random, dtype, special)), special)


def _recorded(random: random.Random, op: Op, run: Any, special: bool) -> Call | None:
    """Runs a function and its backward pass, and returns one of the calls of the op; None if there is none."""
    with _seeded(random.getrandbits(32)), Recording(op) as recording:
        result = run()
        if isinstance(result, Call):
            return replace(result, special=special)
        results = tensors_of(result)
        wanted = [result for result in results if result.requires_grad]
        if wanted:
            cotangents = [torch.randn(result.shape, dtype=torch.float64).to(result.dtype) for result in wanted]
            torch.autograd.backward(wanted, cotangents)
    if not recording.calls:
        return None
    return replace(random.choice(recording.calls), special=special)


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seeds the generators that PyTorch's samples draw from, and restores them."""
    python, numbers = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numbers)


@functools.cache
def _database() -> dict[str, list[Any]]:
    """Returns PyTorch's functions with samples, by the names that ops have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tables of tests warn at import
        from torch.testing._internal.common_methods_invocations import op_db
    found: dict[str, list[Any]] = {}
    for info in op_db:
        for name in {info.name.replace(".", "_"), info.name.rpartition(".")[2], info.aten_name or ""}:
            found.setdefault(name, []).append(info)
    return found


def _functions(name: str) -> list[Any]:
    """Returns the functions with samples that lead to an op."""
    plain = re.sub(r"^_|_backward(_data)?$", "", name)
    return _database().get(name) or _database().get(plain) or []


def _from_function(random: random.Random, op: Op, info: Any, special: bool) -> Call | None:
    """Runs one of a function's samples and returns the call of the op in it."""
    from tt_xla.frontends.torch.aten.registry import DTYPES

    dtypes = [dtype for dtype in DTYPES if info.supports_dtype(dtype, "cpu")]
    if not dtypes:
        return None
    dtype, number = random.choice(dtypes), random.randrange(SAMPLES)
    grad = dtype.is_floating_point and info.supports_autograd
    with _seeded(random.getrandbits(32)):
        samples = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=grad), SAMPLES))
    if not samples:
        return None
    sample = samples[number % len(samples)]
    return _recorded(random, op, lambda: info.op(sample.input, *sample.args, **sample.kwargs), special)


__all__ = ["draw_call"]
