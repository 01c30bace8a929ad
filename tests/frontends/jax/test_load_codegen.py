"""Generated source of a JAX function runs in its place, by ``jax.jit`` and by ``load_codegen_py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tt_jax.codegen import codegen_py, load_codegen_py


def function(w: jax.Array, unused: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    y = jnp.tanh(x @ w) - 0.5
    return y, y.sum()


def test_an_edited_function_runs(tt: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w, unused, x = (rng.standard_normal(shape, np.float32) for shape in ((32, 64), (3,), (8, 32)))
    folder = tmp_path / "model"
    codegen_py(function, w, unused, x, export_path=folder)
    with jax.default_device(tt):
        expected = jax.jit(function)(w, unused, x)
        loaded = load_codegen_py(function, w, unused, x, load_path=folder)
        for one, other in zip(loaded, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        main = (folder / "main.py").read_text()
        assert "    return [subtract, total]" in main
        edited = main.replace("[subtract, total]", "[ttnn.neg(subtract), total]")
        (folder / "main.py").write_text(edited)
        options = {"backend": "codegen_load_py", "export_path": str(folder)}
        jitted = jax.jit(function, compiler_options=options)
        for _ in range(2):
            np.testing.assert_array_equal(jitted(w, unused, x)[0], -expected[0])
        with pytest.raises(jax.errors.JaxRuntimeError, match="no saved graph with hash"):
            jitted(w, unused, x[:4])
        (folder / "main.py").write_text(edited.replace("ttnn.neg(", "ttnn.mine("))
        with pytest.raises(
            (jax.errors.JaxRuntimeError, ValueError), match=r"has no attribute 'mine'.* At .*main\.py:\d+"
        ):
            load_codegen_py(function, w, unused, x, load_path=folder)
