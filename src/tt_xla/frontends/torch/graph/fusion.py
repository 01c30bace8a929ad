"""Fusion: replaces groups of ops that users wrote out by the one PyTorch function that they compute.

A :class:`FusionProvider` declares a pattern and its replacement; defining the class registers it.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx import Graph, GraphModule, symbolic_trace
from torch.fx.subgraph_rewriter import ReplacedPatterns, replace_pattern_with_filters

from tt_xla.frontends.torch.graph.canonical import canonicalise
from tt_xla.log import logger


class FusionProvider(ABC):
    """A fusion. :func:`run_fusion_passes` runs every subclass, in the order of definition.

    Arguments of a pattern match anything, numbers and dtypes too. Patterns and graphs are compared in one spelling:
    operators, functions of PyTorch and methods of tensors are the same.
    """

    _registered_providers: ClassVar[list[type[FusionProvider]]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        FusionProvider._registered_providers.append(cls)

    @classmethod
    def get_registered_providers(cls) -> list[type[FusionProvider]]:
        """Returns all providers in the order in which they run."""
        return list(FusionProvider._registered_providers)

    @classmethod
    def unregister(cls) -> None:
        """Takes this provider out: graphs that are compiled later keep what it would replace."""
        FusionProvider._registered_providers.remove(cls)

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the fusion in log messages."""

    @staticmethod
    @abstractmethod
    def pattern(*args: Any, **kwargs: Any) -> Tensor:
        """Computes the ops to find. The function is traced once, not run."""

    @staticmethod
    @abstractmethod
    def replacement(*args: Any, **kwargs: Any) -> Tensor:
        """Computes the ops that replace a match. It takes the arguments of :meth:`pattern`, and is traced once too."""

    @staticmethod
    def match_filter(match: Any, gm: Graph, subgraph: Graph) -> bool:
        """Returns whether to replace a match.

        Args:
            match: the match; ``match.nodes_map`` maps nodes of the pattern to the nodes that they matched.
            gm: the graph in which the match was found.
            subgraph: graph of the pattern.
        """
        return True

    @staticmethod
    def holds(values: Mapping[str, Any]) -> bool:
        """Returns whether the replacement computes what the pattern does on operands like these.

        That both results have one shape and dtype is checked for every provider; this is for what a provider needs
        besides, such as a weight of one dimension.

        Args:
            values: example values of a match, fake tensors and constants, by the name of the pattern's argument.
        """
        return True

    def get_match_filters(self) -> list[Callable[..., bool]]:
        """Returns the filters. A match is replaced when all of them return True."""
        return [self.match_filter]

    def get_patterns(self) -> list[tuple[Callable[..., Tensor], Callable[..., Tensor]]]:
        """Returns pairs of pattern and replacement in the order in which they are tried."""
        return [(self.pattern, self.replacement)]

    def replace_pattern(self, gm: GraphModule) -> int:
        """Replaces every match of every pattern, and returns the number of matches."""
        canonicalise(gm.graph)
        total = 0
        for pattern, replacement in self.get_patterns():
            proof = functools.partial(self._is_proven, pattern, replacement)
            filters = [proof, *self.get_match_filters()]
            matches = replace_pattern_with_filters(
                gm, _traced(pattern, canonical=True), _traced(replacement, canonical=False), match_filters=filters
            )
            for match in matches:
                _copy_metadata(match)
            total += len(matches)
        return total

    def _is_proven(
        self, pattern: Callable[..., Tensor], replacement: Callable[..., Tensor], match: Any, gm: Graph, subgraph: Graph
    ) -> bool:
        """Returns whether the operands of a match are known and the replacement gives such results as the pattern."""
        values: dict[str, Any] = {}
        for node in subgraph.find_nodes(op="placeholder"):
            matched = match.nodes_map.get(node)
            value = matched.meta.get("example_value") if isinstance(matched, torch.fx.Node) else matched
            if value is None:
                logger().debug("[Fusion] Skipping %s: the operand '%s' is unknown", self.name, node.target)
                return False
            values[str(node.target)] = value
        if not self.holds(values):
            return False
        try:
            before, after = pattern(**values), replacement(**values)
        except (RuntimeError, TypeError, ValueError) as error:
            logger().debug("[Fusion] Skipping %s: its replacement cannot run: %s", self.name, error)
            return False
        return before.shape == after.shape and before.dtype == after.dtype


@functools.lru_cache(maxsize=256)
def _traced(function: Callable[..., Tensor], *, canonical: bool) -> Graph:
    """Returns the graph of a pattern or replacement, which takes longer to trace than to look for in a small graph."""
    graph = symbolic_trace(function).graph
    if canonical:
        canonicalise(graph)
    return graph


def _copy_metadata(match: ReplacedPatterns) -> None:
    """Gives the new nodes the source lines of the nodes that they replace, and the last one their example value."""
    anchor = next(
        node for node in match.nodes_map.values() if isinstance(node, torch.fx.Node) and node.op != "placeholder"
    )
    last = match.nodes_map.get(match.anchor)
    source = last if isinstance(last, torch.fx.Node) else anchor
    for node in match.replacements:
        for key in ("stack_trace", "nn_module_stack", "source_fn_stack"):
            if key in source.meta:
                node.meta.setdefault(key, source.meta[key])
    if match.replacements and "example_value" in source.meta:
        match.replacements[-1].meta.setdefault("example_value", source.meta["example_value"])


class RMSNormFusionProvider(FusionProvider):
    """Fuses root mean square norms as the transformers library writes them for Llama, GPT-OSS and Gemma."""

    UPPER_BOUND: int | None = 3968
    """Width of the widest norm that is fused; None for no bound. The default is upstream's, from the time when TT-NN's
    kernel could not split a row over cores. Set it to None for wider models."""

    @property
    def name(self) -> str:
        return "rms_norm_fusion"

    @staticmethod
    def pattern(hidden_states: Tensor, weight: Tensor, eps: float, dtype: Any) -> Tensor:
        """Llama: casts back, then multiplies by the weight."""
        return weight.mul(_normalised(hidden_states, eps).to(dtype))

    @staticmethod
    def pattern_cast_after_mul(hidden_states: Tensor, weight: Tensor, eps: float, dtype: Any) -> Tensor:
        """GPT-OSS: multiplies by the weight, then casts back."""
        return weight.mul(_normalised(hidden_states, eps)).to(dtype)

    @staticmethod
    def pattern_one_plus_weight(hidden_states: Tensor, weight: Tensor, eps: float) -> Tensor:
        """Gemma: multiplies by the stored weight plus one."""
        return _normalised(hidden_states, eps).mul(weight.to(torch.float32).add(1.0)).type_as(hidden_states)

    @staticmethod
    def pattern_power(hidden_states: Tensor, weight: Tensor, eps: float) -> Tensor:
        """Gemma 4: uses a power of -1/2 instead of rsqrt."""
        return _normalised_by_power(hidden_states, eps).mul(weight.to(torch.float32)).type_as(hidden_states)

    @staticmethod
    def pattern_power_without_weight(hidden_states: Tensor, eps: float) -> Tensor:
        """Gemma 4, for a norm without a weight."""
        return _normalised_by_power(hidden_states, eps).type_as(hidden_states)

    @staticmethod
    def replacement(hidden_states: Tensor, weight: Tensor, eps: float, dtype: Any) -> Tensor:
        return F.rms_norm(hidden_states, normalized_shape=weight.shape, weight=weight, eps=eps)

    @staticmethod
    def replacement_cast(hidden_states: Tensor, weight: Tensor, eps: float, dtype: Any) -> Tensor:
        return F.rms_norm(hidden_states, normalized_shape=weight.shape, weight=weight, eps=eps).to(dtype)

    @staticmethod
    def replacement_one_plus_weight(hidden_states: Tensor, weight: Tensor, eps: float) -> Tensor:
        scale = weight.to(torch.float32).add(1.0)
        wide = hidden_states.to(torch.float32)
        return F.rms_norm(wide, normalized_shape=weight.shape, weight=scale, eps=eps).type_as(hidden_states)

    @staticmethod
    def replacement_wide(hidden_states: Tensor, weight: Tensor, eps: float) -> Tensor:
        wide = hidden_states.to(torch.float32)
        scale = weight.to(torch.float32)
        return F.rms_norm(wide, normalized_shape=weight.shape, weight=scale, eps=eps).type_as(hidden_states)

    @staticmethod
    def replacement_without_weight(hidden_states: Tensor, eps: float) -> Tensor:
        wide = hidden_states.to(torch.float32)
        return F.rms_norm(wide, normalized_shape=wide.shape[-1:], eps=eps).type_as(hidden_states)

    def get_patterns(self) -> list[tuple[Callable[..., Tensor], Callable[..., Tensor]]]:
        return [
            (self.pattern, self.replacement),
            (self.pattern_cast_after_mul, self.replacement_cast),
            (self.pattern_one_plus_weight, self.replacement_one_plus_weight),
            (self.pattern_power, self.replacement_wide),
            (self.pattern_power_without_weight, self.replacement_without_weight),
        ]

    @staticmethod
    def holds(values: Mapping[str, Any]) -> bool:
        """Returns whether rows are normalised in float32, and the weight, if there is one, has a number for each column
        and the dtype of the rows where it is not widened."""
        rows, weight = values["hidden_states"], values.get("weight")
        if rows.dtype not in (torch.float32, torch.bfloat16, torch.float16):
            return False
        if weight is None:
            return True
        same = weight.dtype == rows.dtype == values["dtype"] if "dtype" in values else True
        return same and weight.dim() == 1 and weight.size(0) == rows.size(-1)

    @staticmethod
    def match_filter(match: Any, gm: Graph, subgraph: Graph) -> bool:
        """Returns whether the weight is no wider than :attr:`UPPER_BOUND`.

        Raises:
            ValueError: the weight's node has no example value, so its width is unknown.
        """
        bound = RMSNormFusionProvider.UPPER_BOUND
        for node, matched in match.nodes_map.items():
            if node.target != "weight" or bound is None:
                continue
            value = matched.meta.get("example_value")
            if value is None:
                raise ValueError(
                    "Weight node is missing required metadata 'example_value'. "
                    f"Available meta keys: {list(matched.meta.keys())}"
                )
            if value.size(-1) > bound:
                logger().debug(
                    "[Fusion] Skipping RMSNorm fusion for weight node with size %d because it is greater than the "
                    "upper bound of %d",
                    value.size(-1),
                    bound,
                )
                return False
        return True


def _normalised(hidden_states: Tensor, eps: float) -> Tensor:
    """Computes x / rms(x) in float32, as a part of patterns."""
    wide = hidden_states.to(torch.float32)
    return wide.mul(torch.rsqrt(wide.pow(2).mean(-1, keepdim=True).add(eps)))


def _normalised_by_power(hidden_states: Tensor, eps: float) -> Tensor:
    wide = hidden_states.to(torch.float32)
    return wide.mul(torch.pow(wide.pow(2).mean(-1, keepdim=True).add(eps), -0.5))


def run_fusion_passes(gm: GraphModule) -> GraphModule:
    """Runs every registered provider on a graph that dynamo captured, and returns the graph, changed in place."""
    for kind in FusionProvider.get_registered_providers():
        provider = kind()
        count = provider.replace_pattern(gm)
        if count:
            logger().debug("[Fusion] %s replaced %d matches", provider.name, count)
    return gm
