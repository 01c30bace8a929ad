"""Programs on the two chips of an n300: ``TTXLA_SYSTEM=n300 pytest tests/jax/multi_chip/n300``."""

from __future__ import annotations

import jax
import pytest

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
}


@pytest.mark.parametrize("use_shardy", [True, False], ids=["shardy", "gspmd"])
@pytest.mark.parametrize("mode", [ShardingMode.INPUTS_AND_MODULE, ShardingMode.MODULE])
@pytest.mark.parametrize("name", list(FORMS))
def test_shards(name, mode, use_shardy):
    function, shapes, in_specs, out_spec = FORMS[name]
    run_jax_multichip_op_test_with_random_inputs(
        function,
        shapes,
        (1, 2),
        ("x", "y"),
        [make_partition_spec(spec) for spec in in_specs],
        make_partition_spec(out_spec),
        use_shardy,
        mode,
    )


@pytest.mark.parametrize("use_shardy", [True, False], ids=["shardy", "gspmd"])
@pytest.mark.parametrize("split", ["batch", "weights"])
def test_linear(split, use_shardy):
    """The shardings of the inputs alone split the program."""
    in_specs = {"batch": [("y", None), (None, None), (None,)], "weights": [(None, None), (None, "y"), ("y",)]}[split]
    run_jax_multichip_op_test_with_random_inputs(
        lambda x, w, b: jax.nn.relu(x @ w + b),
        [(32, 64), (64, 96), (96,)],
        (1, 2),
        ("x", "y"),
        [make_partition_spec(spec) for spec in in_specs],
        make_partition_spec(("y", None) if split == "batch" else (None, "y")),
        use_shardy,
        ShardingMode.INPUTS,
    )
