"""Programs on the two chips of an n300: ``TTXLA_SYSTEM=n300 pytest tests/jax/multi_chip/n300``."""

from __future__ import annotations

import pytest

from tests.jax.multi_chip.forms import FORMS, LAYERS, run_form, run_layer
from tt_xla.testing import ShardingMode


@pytest.mark.parametrize("use_shardy", [True, False], ids=["shardy", "gspmd"])
@pytest.mark.parametrize("mode", [ShardingMode.INPUTS_AND_MODULE, ShardingMode.MODULE])
@pytest.mark.parametrize("name", list(FORMS))
def test_shards(name, mode, use_shardy):
    run_form(name, (1, 2), mode, use_shardy=use_shardy)


@pytest.mark.parametrize("use_shardy", [True, False], ids=["shardy", "gspmd"])
@pytest.mark.parametrize("split", list(LAYERS))
def test_linear(split, use_shardy):
    run_layer(split, (1, 2), use_shardy=use_shardy)
