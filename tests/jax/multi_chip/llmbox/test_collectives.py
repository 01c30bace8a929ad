"""Programs on all chips of an LLMBox and on four of them.

``TTXLA_SYSTEM=n300-llmbox pytest tests/jax/multi_chip/llmbox``
"""

from __future__ import annotations

import pytest

from tests.jax.multi_chip.forms import FORMS, LAYERS, run_form, run_layer
from tt_xla.testing import ShardingMode

MESHES = [(1, 8), (2, 4), (1, 4), (2, 2)]


@pytest.mark.parametrize("use_shardy", [True, False], ids=["shardy", "gspmd"])
@pytest.mark.parametrize("mode", [ShardingMode.INPUTS_AND_MODULE, ShardingMode.MODULE])
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", list(FORMS))
def test_shards(name, mesh, mode, use_shardy):
    run_form(name, mesh, mode, use_shardy=use_shardy)


@pytest.mark.parametrize("use_shardy", [True, False], ids=["shardy", "gspmd"])
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("split", list(LAYERS))
def test_linear(split, mesh, use_shardy):
    run_layer(split, mesh, use_shardy=use_shardy)
