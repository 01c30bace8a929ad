"""Every name of upstream's documents is in the table, with what becomes of it, and that holds."""

from __future__ import annotations

import ctypes

import pytest

pytest.importorskip("flax", reason="the extra jax-examples is not installed")
pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")

import pjrt_plugin_tt
from docs.checks import requirements


def test_every_row_holds() -> None:
    checker = requirements.Checker()
    assert [problem for row in requirements.rows() if (problem := checker.problem(row))] == []


@pytest.mark.quick
def test_a_row_that_does_not_hold_is_found() -> None:
    checker = requirements.Checker()
    for check in (
        "path none.py",
        "import tt_xla:none",
        "help tt-xla smi --none",
        "marker none",
        "script none",
        "runs false",
    ):
        assert checker.problem(requirements.Row("s", "name", ("D1",), "works", check=check)).startswith("name: ")


@pytest.mark.quick
def test_the_page_is_up_to_date() -> None:
    assert requirements.PAGE.read_text() == requirements.page(), "run `make requirements`"


@pytest.mark.quick
def test_the_library_gives_its_table_to_programs_that_load_it() -> None:
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    library = str(pjrt_plugin_tt.get_library_path())
    if not hasattr(ctypes.CDLL(library), "GetPjrtApi"):
        pytest.skip("the C part of the plugin was built from an older source")
    xla_client.load_pjrt_plugin_dynamically("tt_by_path", library)
    device = xla_bridge.make_pjrt_c_api_client("tt_by_path").devices()[0]
    assert "Wormhole" in str(device)
