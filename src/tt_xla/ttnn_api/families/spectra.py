"""Fourier transforms and deformable attention, whose kernels have TT-NN's own parameters."""

from __future__ import annotations

from tt_xla.ttnn_api.enums import Layout
from tt_xla.ttnn_api.inferred import from_kernel

for _name in (
    "fft",
    "ifft",
    "bluestein_fft",
    "apply_twiddles",
    "apply_twiddles_xl",
    "fft_radix_pass",
    "fft_three_pass",
):
    from_kernel(f"ttnn.experimental.{_name}", layout=Layout.ROW_MAJOR, pack=tuple)
for _name in ("multi_scale_deformable_attn", "fused_msda", "fused_msda_from_offsets"):
    from_kernel(f"ttnn.experimental.{_name}", layout=Layout.ROW_MAJOR)
