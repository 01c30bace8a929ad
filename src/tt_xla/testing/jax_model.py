"""The tester of JAX models: Flax linen and nnx, Equinox, and every callable that is a pytree of arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from tt_xla.testing import frameworks
from tt_xla.testing.frameworks import Framework
from tt_xla.testing.jax_meshes import is_spec
from tt_xla.testing.model_tester import ModelTester, RunMode

_STATIC = "train", "deterministic", "mutable"


class JaxModelTester(ModelTester):
    """Tests a JAX model.

    Subclasses override ``_get_model`` and ``_get_input_activations``. They override the following where the default
    does not suit the model:

    - ``_get_forward_method_name``: by default ``"apply"`` for linen modules, otherwise ``"__call__"``.
    - ``_get_forward_method_args`` and ``_get_forward_method_kwargs``: by default ``[parameters, activations]`` and
      ``{"train": ...}``, if the model takes that, for linen modules; otherwise the activations.
    - ``_get_input_parameters``: by default the result of linen's ``init`` for the activations, with key 42.
    - ``_get_static_argnames``: by default ``train``, ``deterministic`` and ``mutable``, if they are passed.
    - ``has_batch_norm``: whether running statistics are an output in training; False by default.
    - ``_get_mesh``: the mesh that the model runs on; by default None, for one chip.
    - ``_get_parameter_specs``: by default ``PartitionSpec()``, so every chip has all parameters.
    - ``_get_input_axis``: name of the mesh axis that splits the first dimension of the inputs; None by default.

    In training, the gradients of all parameters are compared for a random gradient of the outputs, and the outputs.
    """

    framework = Framework.JAX

    def _create_model(self) -> Any:
        with frameworks.on_jax_cpu():
            return self._get_model()

    @property
    def has_batch_norm(self) -> bool:
        return False

    def _get_forward_method_name(self) -> str:
        return "apply" if is_linen(self._model) else "__call__"

    def _get_input_parameters(self) -> Any:
        return self._model.init(jax.random.PRNGKey(42), *_positional(self._get_input_activations()))

    def _get_forward_method_args(self) -> Sequence[Any]:
        activations = self._get_input_activations()
        if is_linen(self._model):
            return [self._get_input_parameters(), *_positional(activations)]
        return [] if isinstance(activations, Mapping) else _positional(activations)

    def _get_forward_method_kwargs(self) -> Mapping[str, Any]:
        activations = self._get_input_activations()
        kwargs = dict(activations) if isinstance(activations, Mapping) and not is_linen(self._model) else {}
        training = self._run_mode is RunMode.TRAINING
        accepted = inspect.signature(type(self._model).__call__).parameters
        if "train" in accepted:
            kwargs["train"] = training
        elif "deterministic" in accepted:
            kwargs["deterministic"] = not training
        if training and self.has_batch_norm:
            kwargs["mutable"] = ("batch_stats",)
        return kwargs

    def _get_static_argnames(self) -> Sequence[str]:
        return [name for name in _STATIC if name in self._call()[1]]

    def _get_mesh(self) -> Any:
        return None

    def _get_parameter_specs(self, parameters: Any) -> Any:
        """Returns a partition spec for all parameters, or a tree of specs for parts of their tree."""
        return PartitionSpec()

    def _get_input_axis(self) -> str | None:
        return None

    def _call(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        with frameworks.on_jax_cpu():
            return self._get_forward_method_args(), self._get_forward_method_kwargs()

    def _function(self) -> tuple[Callable[..., Any], list[Any], Mapping[str, Any]]:
        """Returns a function whose first argument is the parameters, its positional and its keyword arguments."""
        args, kwargs = self._call()
        name = self._get_forward_method_name()
        if is_linen(self._model):
            return getattr(self._model, name), list(args), kwargs
        parameters, rebuild = _split(self._model)
        return lambda p, *a, **k: getattr(rebuild(p), name)(*a, **k), [parameters, *args], kwargs

    def _run_inference(self) -> tuple[Any, Any]:
        function, args, kwargs = self._function()
        return self._on_both(function, args, kwargs, parameters_at=0)

    def _run_training(self) -> list[tuple[str, Any, Any]]:
        function, (parameters, *rest), kwargs = self._function()

        def step(gradients: list[Any], parameters: Any, *rest: Any, **kwargs: Any) -> Any:
            """Returns the gradients of the parameters, and the outputs, for gradients of the outputs."""
            leaves, tree = jax.tree.flatten(parameters)
            trained_positions = [index for index, leaf in enumerate(leaves) if jnp.issubdtype(leaf.dtype, jnp.inexact)]

            def forward(trained_leaves: list[Any]) -> list[Any]:
                all_leaves = list(leaves)
                for index, leaf in zip(trained_positions, trained_leaves, strict=True):
                    all_leaves[index] = leaf
                return _inexact(function(jax.tree.unflatten(tree, all_leaves), *rest, **kwargs))

            outputs, pull_back = jax.vjp(forward, [leaves[index] for index in trained_positions])
            return pull_back(gradients)[0], outputs

        static = {name: kwargs[name] for name in self._get_static_argnames()}
        traced = {name: value for name, value in kwargs.items() if name not in static}
        outputs = _inexact(jax.eval_shape(functools.partial(function, **static), parameters, *rest, **traced))
        with frameworks.on_jax_cpu():
            keys = jax.random.split(jax.random.PRNGKey(0), len(outputs))
            gradients = [jax.random.normal(key, x.shape, x.dtype) for key, x in zip(keys, outputs, strict=True)]
        expected, actual = self._on_both(step, [gradients, parameters, *rest], kwargs, parameters_at=1)
        return [("backward", expected[0], actual[0]), ("forward", expected[1], actual[1])]

    def _on_both(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], *, parameters_at: int
    ) -> tuple[Any, Any]:
        """Returns the results of a function on the CPU and on the device.

        Args:
            function: the function.
            args: positional arguments; the inputs follow the parameters.
            kwargs: keyword arguments.
            parameters_at: position of the parameters.
        """
        static = self._get_static_argnames()
        self.on_stage("cpu")
        with frameworks.on_jax_cpu() as cpu:
            expected = frameworks.run_jax(function, args, kwargs, device=cpu, static=static)
        self.on_stage("device")
        device, mesh = frameworks.jax_device(), self._get_mesh()
        split = None if mesh is None else functools.partial(self.split_arguments, mesh, parameters_at)
        actual = frameworks.run_jax(
            function,
            args,
            kwargs,
            device=device,
            static=static,
            options=self._options,
            split=split,
            name=type(self._model).__name__,
        )
        return expected, actual

    def split_arguments(
        self, mesh: Any, parameters_at: int, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Returns positional and keyword arguments that are split over a mesh."""
        parameters = args[parameters_at]
        specs = self._get_parameter_specs(parameters)
        shardings = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=is_spec)
        replicated = jax.device_put(args[:parameters_at], NamedSharding(mesh, PartitionSpec()))
        inputs, kwargs = jax.tree.map(functools.partial(self._split_input, mesh), (args[parameters_at + 1 :], kwargs))
        return (*replicated, jax.device_put(parameters, shardings), *inputs), kwargs

    def _split_input(self, mesh: Any, value: Any) -> Any:
        """Returns an input whose first dimension is split over the mesh; values that are not arrays unchanged."""
        if not (hasattr(value, "dtype") and hasattr(value, "shape")):
            return value
        axis = self._get_input_axis()
        spec = PartitionSpec() if axis is None or value.ndim == 0 else PartitionSpec(axis)
        return jax.device_put(value, NamedSharding(mesh, spec))


def _inexact(outputs: Any) -> list[Any]:
    """Returns the floating-point and complex arrays in a tree."""
    return [x for x in jax.tree.leaves(outputs) if jnp.issubdtype(x.dtype, jnp.inexact)]


def is_linen(model: Any) -> bool:
    """Returns whether a model is a Flax linen module, whose parameters are an argument of its calls."""
    return any(base.__module__.startswith("flax.linen") for base in type(model).__mro__)


def _positional(activations: Any) -> list[Any]:
    """Returns activations as a list of positional arguments."""
    return list(activations) if isinstance(activations, (list, tuple)) else [activations]


def _split(model: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Returns the arrays of a model that is not a linen module, and a function that rebuilds the model from arrays."""
    if any(base.__module__.startswith("flax.nnx") for base in type(model).__mro__):
        from flax import nnx

        definition, state = nnx.split(model)
        return state, lambda state: nnx.merge(definition, state)
    leaves, tree = jax.tree.flatten(model)
    array_positions = [index for index, leaf in enumerate(leaves) if hasattr(leaf, "dtype")]

    def rebuild(arrays: Sequence[Any]) -> Any:
        all_leaves = list(leaves)
        for index, array in zip(array_positions, arrays, strict=True):
            all_leaves[index] = array
        return jax.tree.unflatten(tree, all_leaves)

    return [leaves[index] for index in array_positions], rebuild
