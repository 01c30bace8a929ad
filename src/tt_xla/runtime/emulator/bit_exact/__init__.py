"""Ops as the chip's instructions compute them, bit for bit, for ``numerics=bit_exact``.

The facts come from Tenstorrent's functional simulator (ttsim), from its description of the instructions
(tt-isa-documentation), and from the kernels that TT-NN 0.81 is delivered with. ``docs/numerics.md`` says which ops were
compared with the simulator, and ``tests/data/bit_exact.npz`` holds some of its results.

- :mod:`.registers`: how the unpacker fills the source registers, and what the packer writes.
- :mod:`.matrix_unit`: the matrix unit's instructions, in torch; :mod:`.native` has the same in C++.
- :mod:`.blocks`: in which blocks TT-NN computes a product.
- The other modules define kernels.
"""
