"""Programs that the tests of every system run, each with partition specs over the mesh axes ``x`` and ``y``."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from tt_xla.testing import ShardingMode, make_partition_spec, run_jax_multichip_op_test_with_random_inputs

FORMS = {
    "negative": (lambda x: -x, [(64, 64)], [("x", "y")], ("x", "y")),
    "dot and psum": (
        lambda x, w: jax.lax.psum(x @ w, "y"),
        [(32, 64), (64, 96)],
        [(None, "y"), ("y", None)],
        (None, None),
    ),
    "psum": (lambda x: jax.lax.psum(x, "y"), [(32, 64)], [(None, "y")], (None, None)),
    "psum_scatter": (
        lambda x: jax.lax.psum_scatter(x, "y", scatter_dimension=0, tiled=True),
        [(64, 64)],
        [(None, "y")],
        ("y", None),
    ),
    "all_gather": (
        lambda x: jax.lax.all_gather(x, "y", axis=1, tiled=True),
        [(64, 64)],
        [("x", "y")],
        ("x", "y"),
    ),
    "all_to_all": (
        lambda x: jax.lax.all_to_all(x, "y", 1, 0, tiled=True),
        [(64, 64)],
        [("y", None)],
        (None, "y"),
    ),
    "ppermute": (
        lambda x: jax.lax.ppermute(x, "y", [(0, 1), (1, 0)]),
        [(64, 64)],
        [("x", "y")],
        ("x", "y"),
    ),
    "dot and psum_scatter": (
        lambda x, w: jax.lax.psum_scatter(x @ w, "y", scatter_dimension=1, tiled=True),
        [(32, 64), (64, 96)],
        [("x", "y"), ("y", None)],
        ("x", "y"),
    ),
}
"""For each program: the function, the global shapes of its inputs, their partition specs, and that of the result."""

LAYERS = {
    "batch": ([("y", None), (None, None), (None,)], ("y", None)),
    "weights": ([(None, None), (None, "y"), ("y",)], (None, "y")),
    "both": ([("x", None), (None, "y"), ("y",)], ("x", "y")),
}
"""Partition specs of the input, weight and bias of a layer, and that of its result."""


def run_form(name: str, mesh_shape: Sequence[int], mode: ShardingMode, *, use_shardy: bool) -> None:
    """Compares one of :data:`FORMS` with CPU devices."""
    function, shapes, in_specs, out_spec = FORMS[name]
    run_jax_multichip_op_test_with_random_inputs(
        function,
        shapes,
        mesh_shape,
        ("x", "y"),
        [make_partition_spec(spec) for spec in in_specs],
        make_partition_spec(out_spec),
        use_shardy,
        mode,
    )


def run_layer(split: str, mesh_shape: Sequence[int], *, use_shardy: bool) -> None:
    """Compares a layer with CPU devices. The shardings of its inputs alone split the program."""
    in_specs, out_spec = LAYERS[split]
    run_jax_multichip_op_test_with_random_inputs(
        lambda x, w, b: jax.nn.relu(x @ w + b),
        [(32, 64), (64, 96), (96,)],
        mesh_shape,
        ("x", "y"),
        [make_partition_spec(spec) for spec in in_specs],
        make_partition_spec(out_spec),
        use_shardy,
        ShardingMode.INPUTS,
    )
