"""The explorer from a notebook: ``tt_torch.explore`` and ``tt_jax.explore``, and exports of one file."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
import torch
from click.testing import CliRunner

import tt_jax
import tt_torch
from tt_xla.errors import EmptyRecordingError
from tt_xla.tools.cli import cli
from tt_xla.tools.explorer.namespaces import namespaces
from tt_xla.tools.explorer.notebook import explored


def test_a_torch_model_is_explored_with_its_arguments():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()).bfloat16().eval()
    exploration = tt_torch.explore(model, torch.ones(32, 64).bfloat16(), {"optimization_level": 2})
    version = exploration.session.versions[0]
    assert version.stages == ["stablehlo", "ttir", "ttnn"]
    assert version.options["optimization_level"] == 2
    subject = exploration.session.subjects[0]
    assert subject.inputs is not None
    assert any(torch.equal(each, torch.ones(32, 64).bfloat16()) for each in subject.inputs)
    with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(exploration.url) as answer:
        assert "tt-explorer" in answer.read().decode()
    assert "<iframe" in exploration._repr_html_()
    assert exploration.url.replace("127.0.0.1", "localhost") in exploration._repr_html_()
    exploration.close()


def test_named_scopes_are_groups_at_every_stage():
    def encoder(w: jax.Array, x: jax.Array) -> jax.Array:
        for index in range(2):
            with jax.named_scope(f"layer{index}"):
                x = jnp.tanh(x @ w)
        return x

    exploration = tt_jax.explore(encoder, jnp.ones((32, 32)), jnp.ones((32, 32)))
    for stage in ("stablehlo", "ttir", "ttnn"):
        spaces = namespaces(exploration.session.main_functions(0, stage)[0].nodes)
        groups = {space.partition("/")[0] for space in spaces.values() if space}
        assert {"layer0", "layer1"} <= groups
    exploration.close()


def test_a_jax_function_is_explored():
    exploration = tt_jax.explore(lambda x, w: jnp.tanh(x @ w), jnp.ones((32, 64)), jnp.ones((64, 32)))
    version = exploration.session.versions[0]
    assert [node.op for node in version.compiled.functions[0].nodes if node.op == "ttnn.tanh"] == ["ttnn.tanh"]
    exploration.close()


def test_a_function_that_compiles_nothing_is_refused():
    with pytest.raises(EmptyRecordingError, match="Nothing was compiled"):
        explored(lambda: None)


@pytest.mark.nightly
def test_an_export_is_one_file_with_all_stages(tmp_path: Path):
    (tmp_path / "model.mlir").write_text(
        "func.func @main(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {\n"
        "  %0 = stablehlo.tanh %x : tensor<32x32xf32>\n  return %0 : tensor<32x32xf32>\n}"
    )
    out = tmp_path / "model.html"
    outcome = CliRunner().invoke(cli, ["explore", str(tmp_path / "model.mlir"), "--export", str(out)])
    assert outcome.exit_code == 0, outcome.output
    text = out.read_text()
    for op in ("stablehlo.tanh", "ttir.tanh", "ttnn.tanh"):
        assert op in text
    assert "url(/static_files" not in text
    assert "fonts.gstatic.com" not in text
