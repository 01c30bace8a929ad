"""Blocks of a model begin and end according to the names of the weights that are read."""

from __future__ import annotations

import pytest

from tests.codegen.test_python import compiled, decoder
from tt_xla.codegen.generator import generate

pytestmark = pytest.mark.quick


def test_a_weight_that_all_layers_read_ends_none_of_them() -> None:
    """All layers read the rotary frequencies; each layer receives them under their own name."""
    frequencies = '%freq: tensor<32x64xbf16> {ttcore.argument_type = "parameter", ttir.name = "rotary.inv_freq"}'
    text = decoder(3).replace("(%x:", f"({frequencies}, %x:")
    for n in range(3):
        text = text.replace(f"multiply %b{n}, %a{n}", f"multiply %b{n}, %freq")
    main = generate(compiled(text)).main
    assert "def layer(device, w, hidden, inv_freq):" in main
    assert main.count(' = layer(device, utils.under(w, "model.layers.') == 3
