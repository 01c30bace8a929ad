"""Compares results of the device with expected results. This project has no other comparison.

Arrays are compared as float64. Every metric is computed, and the enabled ones decide. Rules and messages equal those of
upstream's test infrastructure, so that thresholds mean the same in both.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tt_xla.environment import is_compile_only

Array = NDArray[Any]

_log = logging.getLogger("tt_xla.testing")


@dataclass
class _Switch:
    """A metric that can be enabled and disabled."""

    enabled: bool = False

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False


@dataclass
class EqualConfig(_Switch):
    """Requires that all elements are equal."""


@dataclass
class AtolConfig(_Switch):
    """Limits the largest absolute difference of two elements."""

    required_atol: float = 0.16


@dataclass
class AllcloseConfig(_Switch):
    """Requires that each difference is at most ``atol + rtol * |expected|``."""

    rtol: float = 1e-2
    atol: float = 1e-2


@dataclass
class PccConfig(_Switch):
    """Requires a Pearson correlation. Arrays that are close by ``allclose`` have correlation 1."""

    enabled: bool = True
    required_pcc: float = 0.99
    allclose: AllcloseConfig = field(default_factory=AllcloseConfig)


@dataclass
class RelL2Config(_Switch):
    """Limits the L2 norm of the difference divided by the L2 norm of the expected result."""

    required_rel_l2: float = 1.0


@dataclass
class ComparisonConfig:
    """The enabled metrics and their thresholds; by default only the correlation is enabled.

    Attributes:
        assert_on_failure: whether a comparison that fails raises ``AssertionError``.
    """

    equal: EqualConfig = field(default_factory=EqualConfig)
    atol: AtolConfig = field(default_factory=AtolConfig)
    pcc: PccConfig = field(default_factory=PccConfig)
    allclose: AllcloseConfig = field(default_factory=AllcloseConfig)
    rel_l2: RelL2Config = field(default_factory=RelL2Config)
    assert_on_failure: bool = True

    def __post_init__(self) -> None:
        if is_compile_only():
            _log.warning("TT_COMPILE_ONLY_SYSTEM_DESC is set: programs do not run, so no results are compared")
            self.disable_all()

    def _switches(self) -> list[_Switch]:
        return [self.equal, self.atol, self.pcc, self.allclose, self.rel_l2]

    def enable_all(self) -> None:
        for switch in self._switches():
            switch.enable()

    def disable_all(self) -> None:
        for switch in self._switches():
            switch.disable()

    def all_disabled(self) -> bool:
        return not any(switch.enabled for switch in self._switches())


@dataclass
class ComparisonResult:
    """The metrics of one comparison: the worst value over all arrays, or None where there are no arrays."""

    passed: bool
    pcc: float | None
    atol: float | None
    allclose: bool | None
    equal: bool | None
    rel_l2: float | None
    error_message: str | None = None


def compare(actual: Any, expected: Any, config: ComparisonConfig | None = None) -> ComparisonResult:
    """Compares two trees of arrays.

    Args:
        actual: the device's result: tensors, arrays, and containers of them; see :func:`leaves`.
        expected: the expected result, with the same structure.
        config: metrics and thresholds.

    Returns:
        The metrics, and whether all enabled ones meet their thresholds.

    Raises:
        AssertionError: an enabled metric misses its threshold, or there is nothing to compare, and
            ``config.assert_on_failure`` is set.
    """
    config = config or ComparisonConfig()
    try:
        actual_leaves, expected_leaves = list(leaves(actual)), list(leaves(expected))
        problem = _structure_problem(actual_leaves, expected_leaves)
    except NotComparableError as error:
        actual_leaves, expected_leaves, problem = [], [], f"Comparison failed. {error}"
    if problem:
        result = ComparisonResult(config.all_disabled(), math.nan, math.nan, False, False, math.nan, problem)
    else:
        pairs = [(x, y) for (_, x), (_, y) in zip(actual_leaves, expected_leaves, strict=True)]
        result = _compare_arrays(pairs, config)
    if not result.passed and config.assert_on_failure:
        raise AssertionError(result.error_message)
    return result


def _compare_arrays(pairs: Sequence[tuple[Array, Array]], config: ComparisonConfig) -> ComparisonResult:
    """Compares pairs of an actual and an expected array of the same shape."""

    def over(metric: Callable[[Array, Array], Any], worst: Callable[[list[Any]], Any]) -> Any:
        values = [metric(x, y) for x, y in pairs]
        if any(isinstance(value, float) and math.isnan(value) for value in values):
            return math.nan  # min and max may skip it
        return worst(values) if values else None

    near, inner = config.allclose, config.pcc.allclose
    result = ComparisonResult(
        True,
        pcc=over(lambda x, y: pcc(x, y, rtol=inner.rtol, atol=inner.atol), min),
        atol=over(largest_difference, max),
        allclose=over(lambda x, y: _close(x, y, near.rtol, near.atol), all),
        equal=over(lambda x, y: bool(np.array_equal(x, y)), all),
        rel_l2=over(relative_error, max),
    )
    single = len(pairs) == 1 and pairs[0][1].size == 1
    messages = list(_failures(result, config, single))
    result.passed = not messages
    result.error_message = "\n".join(messages) or None
    return result


def _failures(result: ComparisonResult, config: ComparisonConfig, single: bool) -> Iterator[str]:
    """Yields a message for each enabled metric that misses its threshold.

    Args:
        single: whether the result is one element. A correlation says nothing about one element, so ``allclose`` decides
            as well.
    """
    if config.equal.enabled and result.equal is False:
        yield "Equal comparison failed."
    if config.atol.enabled and _misses(result.atol, most=config.atol.required_atol):
        yield (
            f"Atol comparison failed. Calculated: atol={_text(result.atol)}. "
            f"Required: atol={config.atol.required_atol}."
        )
    if config.pcc.enabled and _misses(result.pcc, least=config.pcc.required_pcc):
        yield f"PCC comparison failed. Calculated: pcc={_text(result.pcc)}. Required: pcc={config.pcc.required_pcc}."
    if (config.allclose.enabled or (single and config.pcc.enabled)) and result.allclose is False:
        yield (
            f"Allclose comparison failed. Calculated: atol={_text(result.atol)}. "
            f"Required: atol={config.allclose.atol}, rtol={config.allclose.rtol}."
        )
    if config.rel_l2.enabled and _misses(result.rel_l2, most=config.rel_l2.required_rel_l2):
        yield (
            f"RelL2 comparison failed. Calculated: rel_l2={_text(result.rel_l2)}. "
            f"Required: rel_l2<={config.rel_l2.required_rel_l2}."
        )


def _misses(value: float | None, *, least: float = -math.inf, most: float = math.inf) -> bool:
    return value is not None and not (math.isfinite(value) and least <= value <= most)


def _text(value: float | None) -> str:
    return f"{value}" if value is not None and math.isfinite(value) else f"{value} (invalid value)"


def pcc(actual: Any, expected: Any, *, rtol: float = 1e-2, atol: float = 1e-2) -> float:
    """Returns Pearson's correlation of the elements of two arrays of one shape.

    Elements that are the same infinity in both arrays, as in masked scores, are ignored.

    Returns:
        1 for arrays that are close by ``rtol`` and ``atol``. Otherwise 0 for a single element, NaN if an array is
        constant or has an element that is not finite, and the correlation in all other cases.
    """
    x, y = _numbers(actual).ravel(), _numbers(expected).ravel()
    if x.shape != y.shape:
        return math.nan
    infinite = np.isinf(y) & (x == y)
    x, y = x[~infinite], y[~infinite]
    if _close(x, y, rtol, atol):
        return 1.0
    if x.size == 1:
        return 0.0
    x, y = _as_real(x), _as_real(y)
    with np.errstate(all="ignore"):
        x, y = x - x.mean(), y - y.mean()
        scale = float(np.linalg.norm(x) * np.linalg.norm(y))
        return float(x @ y) / scale if scale else math.nan


def largest_difference(actual: Array, expected: Array) -> float:
    """Returns the largest absolute difference. Equal infinities differ by 0; a NaN in either array gives NaN."""
    if not actual.size:
        return 0.0
    with np.errstate(all="ignore"):
        return float(np.max(np.where(actual == expected, 0.0, np.abs(actual - expected))))


def relative_error(actual: Array, expected: Array) -> float:
    """Returns the L2 norm of the difference divided by that of ``expected``. Equal infinities are ignored."""
    with np.errstate(all="ignore"):
        difference = np.where(actual == expected, 0.0, actual - expected).ravel()
        scale = float(np.linalg.norm(np.where(np.isinf(expected), 0.0, expected).ravel()))
        error = float(np.linalg.norm(difference))
    return error / scale if scale else (0.0 if error == 0 else math.inf)


def _close(x: Array, y: Array, rtol: float, atol: float) -> bool:
    return x.shape == y.shape and bool(np.allclose(x, y, rtol=rtol, atol=atol))


def _as_real(x: Array) -> Array:
    """Returns the real parts followed by the imaginary parts of a complex array; other arrays unchanged."""
    return np.concatenate([x.real, x.imag]) if np.iscomplexobj(x) else x


def _structure_problem(actual: list[tuple[str, Array]], expected: list[tuple[str, Array]]) -> str:
    """Returns how number or shapes of the arrays differ, or that there are none; empty if they can be compared."""
    if not actual and not expected:
        return "Comparison failed. The results have no numbers, so there is nothing to compare."
    if len(actual) != len(expected):
        return f"Comparison failed. The device returned {len(actual)} arrays; expected {len(expected)}."
    for (path, x), (_, y) in zip(actual, expected, strict=True):
        if x.shape != y.shape:
            return f"Comparison failed. Result{path} has shape {list(x.shape)}; expected {list(y.shape)}."
    return ""


class NotComparableError(TypeError):
    """A result has a part that is neither numbers nor a known container."""


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Array]]:
    """Yields the numeric arrays in a tree as float64 or complex128, each with its path, such as ``[0].logits``.

    The tree may consist of mappings, sequences, dataclasses (outputs of transformers are dataclasses), caches of
    transformers, and nodes that PyTorch or JAX know. None, text and arrays of other things than numbers are skipped.

    Raises:
        NotComparableError: the tree has another object, whose numbers would not be compared.
    """
    if tree is None or isinstance(tree, (str, bytes)):
        return
    if (hasattr(tree, "shape") and hasattr(tree, "dtype")) or isinstance(tree, (bool, int, float, complex)):
        if _is_numeric(tree):
            yield path, _numbers(tree)
        return
    for name, part in _parts(tree, path):
        yield from leaves(part, f"{path}{name}")


def _parts(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yields the parts of a container, each with the end of its path; see :func:`leaves`."""
    if isinstance(tree, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in tree.items())
    elif isinstance(tree, (list, tuple)):
        yield from ((f"[{index}]", value) for index, value in enumerate(tree))
    elif is_dataclass(tree) and not isinstance(tree, type):
        yield from ((f".{item.name}", getattr(tree, item.name)) for item in fields(tree))
    elif hasattr(tree, "self_attention_cache"):  # the two caches of an encoder and a decoder
        yield from ((f".{name}", getattr(tree, name)) for name in ("self_attention_cache", "cross_attention_cache"))
    elif hasattr(tree, "layers") and hasattr(tree, "get_seq_length"):  # a Cache of transformers
        names = "keys", "values", "conv_states", "recurrent_states"  # of attention, or of a recurrence
        for index, layer in enumerate(tree.layers):
            yield f".layers[{index}]", [getattr(layer, name, None) for name in names]
    else:
        parts = _nodes(tree)
        if parts is None:
            raise NotComparableError(
                f"Result{path} is of type {type(tree).__name__}, whose numbers cannot be found, so there is nothing to "
                "compare. Return tensors, or mappings, sequences or dataclasses of them."
            )
        yield from (("", part) for part in parts)


def _nodes(tree: Any) -> list[Any] | None:
    """Returns the leaves of a node that JAX or PyTorch know, such as a state of Flax; None for other objects."""
    if "jax" in sys.modules:
        import jax

        if not jax.tree_util.all_leaves([tree]):
            return jax.tree.leaves(tree)
    if "torch" in sys.modules:
        from tt_xla.frontends.torch.trees import tree_leaves

        parts = tree_leaves(tree)
        if len(parts) != 1 or parts[0] is not tree:
            return parts
    return None


def _is_numeric(value: Any) -> bool:
    dtype = getattr(value, "dtype", "float")
    is_text = getattr(dtype, "kind", "") in ("S", "T", "U")
    return not is_text and not any(word in str(dtype) for word in ("object", "key<", "qint"))


def _numbers(value: Any) -> Array:
    """Returns an array or tensor as float64, or as complex128 if it is complex, in host memory."""
    if "torch" in sys.modules:
        import torch

        if isinstance(value, torch.Tensor):
            wide = torch.complex128 if value.is_complex() else torch.float64
            return value.detach().cpu().to(wide).resolve_conj().numpy()
    array = np.asarray(value)
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)
