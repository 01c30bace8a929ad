"""Tests of JAX models: flax linen and nnx, equinox, and any callable that is a pytree of arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from tt_xla.testing import frameworks
from tt_xla.testing.frameworks import Framework
from tt_xla.testing.model_tester import ModelTester, RunMode

_STATIC = "train", "deterministic", "mutable"


class JaxModelTester(ModelTester):
    """Tests a JAX model.

    Override ``_get_model`` and ``_get_input_activations``, and of the rest what the model needs:

    - ``_get_forward_method_name``: ``"__call__"``; for linen modules ``"apply"``.
    - ``_get_forward_method_args`` and ``_get_forward_method_kwargs``: for linen ``[parameters, activations]`` and
      ``{"train": ...}`` where the model takes that; else the activations.
    - ``_get_input_parameters``: for linen what ``init`` makes of the activations with key 42.
    - ``_get_static_argnames``: ``train``, ``deterministic`` and ``mutable``, those that are passed.
    - ``has_batch_norm``: running statistics are an output in training.

    In training the gradients of all parameters are compared, for a random gradient of the outputs, and the outputs.
    """

    framework = Framework.JAX

    def _made_model(self) -> Any:
        with frameworks.on_jax_cpu():
            return self._get_model()

    @property
    def has_batch_norm(self) -> bool:
        return False

    def _get_forward_method_name(self) -> str:
        return "apply" if _is_linen(self._model) else "__call__"

    def _get_input_parameters(self) -> Any:
        return self._model.init(jax.random.PRNGKey(42), *_positional(self._get_input_activations()))

    def _get_forward_method_args(self) -> Sequence[Any]:
        activations = self._get_input_activations()
        if _is_linen(self._model):
            return [self._get_input_parameters(), *_positional(activations)]
        return [] if isinstance(activations, Mapping) else _positional(activations)

    def _get_forward_method_kwargs(self) -> Mapping[str, Any]:
        activations = self._get_input_activations()
        kwargs = dict(activations) if isinstance(activations, Mapping) and not _is_linen(self._model) else {}
        training = self._run_mode is RunMode.TRAINING
        taken = inspect.signature(type(self._model).__call__).parameters
        if "train" in taken:
            kwargs["train"] = training
        elif "deterministic" in taken:
            kwargs["deterministic"] = not training
        if training and self.has_batch_norm:
            kwargs["mutable"] = ("batch_stats",)
        return kwargs

    def _get_static_argnames(self) -> Sequence[str]:
        return [name for name in _STATIC if name in self._call()[1]]

    def _call(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        with frameworks.on_jax_cpu():
            return self._get_forward_method_args(), self._get_forward_method_kwargs()

    def _function(self) -> tuple[Callable[..., Any], list[Any], Mapping[str, Any]]:
        """A function whose first argument is the parameters; its arguments."""
        args, kwargs = self._call()
        name = self._get_forward_method_name()
        if _is_linen(self._model):
            return getattr(self._model, name), list(args), kwargs
        parameters, rebuild = _parts(self._model)
        return lambda p, *a, **k: getattr(rebuild(p), name)(*a, **k), [parameters, *args], kwargs

    def _run_inference(self) -> tuple[Any, Any]:
        function, args, kwargs = self._function()
        return self._on_both(function, args, kwargs)

    def _run_training(self) -> list[tuple[str, Any, Any]]:
        function, (parameters, *rest), kwargs = self._function()

        def step(seeds: list[Any], parameters: Any, *rest: Any, **kwargs: Any) -> Any:
            leaves, tree = jax.tree.flatten(parameters)
            trained = [index for index, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact)]

            def forward(chosen: list[Any]) -> list[Any]:
                mixed = list(leaves)
                for index, leaf in zip(trained, chosen, strict=True):
                    mixed[index] = leaf
                return _inexact(function(jax.tree.unflatten(tree, mixed), *rest, **kwargs))

            outputs, pull = jax.vjp(forward, [leaves[index] for index in trained])
            return pull(seeds)[0], outputs

        static = {name: kwargs[name] for name in self._get_static_argnames()}
        traced = {name: value for name, value in kwargs.items() if name not in static}
        outputs = _inexact(jax.eval_shape(functools.partial(function, **static), parameters, *rest, **traced))
        with frameworks.on_jax_cpu():
            keys = jax.random.split(jax.random.PRNGKey(0), len(outputs))
            seeds = [jax.random.normal(key, x.shape, x.dtype) for key, x in zip(keys, outputs, strict=True)]
        golden, ours = self._on_both(step, [seeds, parameters, *rest], kwargs)
        return [("backward", golden[0], ours[0]), ("forward", golden[1], ours[1])]

    def _on_both(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
        static = self._get_static_argnames()
        self._stage("cpu")
        with frameworks.on_jax_cpu() as cpu:
            expected = frameworks.run_jax(function, args, kwargs, device=cpu, static=static)
        self._stage("device")
        device = frameworks.jax_device()
        return expected, frameworks.run_jax(function, args, kwargs, device=device, static=static, options=self._options)


def _inexact(outputs: Any) -> list[Any]:
    return [x for x in jax.tree.leaves(outputs) if jnp.issubdtype(x.dtype, jnp.inexact)]


def _is_linen(model: Any) -> bool:
    return any(base.__module__.startswith("flax.linen") for base in type(model).__mro__)


def _positional(activations: Any) -> list[Any]:
    return list(activations) if isinstance(activations, (list, tuple)) else [activations]


def _parts(model: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The arrays of a model that is no linen module, and what makes it again from them."""
    if any(base.__module__.startswith("flax.nnx") for base in type(model).__mro__):
        from flax import nnx

        definition, state = nnx.split(model)
        return state, lambda state: nnx.merge(definition, state)
    leaves, tree = jax.tree.flatten(model)
    places = [index for index, leaf in enumerate(leaves) if hasattr(leaf, "dtype")]

    def rebuild(arrays: Sequence[Any]) -> Any:
        mixed = list(leaves)
        for index, array in zip(places, arrays, strict=True):
            mixed[index] = array
        return jax.tree.unflatten(tree, mixed)

    return [leaves[index] for index in places], rebuild
