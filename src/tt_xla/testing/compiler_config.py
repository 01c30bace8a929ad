"""The compile options of a test, as one object for both frameworks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass
class CompilerConfig:
    """Compile options with the names and defaults of upstream's test infrastructure.

    :mod:`tt_xla.options` documents each option.
    """

    optimization_level: int = 0
    experimental_weight_dtype: str = ""
    experimental_kv_cache_dtype: str | None = None
    enable_activation_dtype_lowering: bool = False
    math_fidelity: str | None = None
    fp32_dest_acc_en: bool | None = None
    experimental_enable_fusing_conv2d_with_multiply_pattern: bool = False
    experimental_enable_permute_matmul_fusion: bool = True
    experimental_enable_dram_space_saving_optimization: bool = False
    enable_trace: bool = False
    export_path: str = ""
    export_model_name: str = ""
    codegen_try_recover_structure: bool = False
    enable_create_d2m_subgraphs: bool = False

    def to_options(self) -> dict[str, str]:
        """Returns the options that differ from their defaults, with values as text."""
        values: dict[str, Any] = {item.name: getattr(self, item.name) for item in fields(self)}
        defaults = {item.name: item.default for item in fields(self)}
        changed = {name: value for name, value in values.items() if value != defaults[name]}
        return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in changed.items()}

    to_jax_compiler_options = to_options
    to_torch_compile_options = to_options
