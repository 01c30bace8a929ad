"""Every compile option: name, type, default, meaning.

Names and values are upstream's, so that scripts run unmodified. A value may be int, bool or str, as users mix them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from tt_xla.environment import forced_options, unknown_name, variable
from tt_xla.errors import OptionError
from tt_xla.traps import EXPECTED as EXPECTED_TRAPS
from tt_xla.traps import Traps

_BOOLS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}

AUTO = "auto"
"""Value of ``auto_sharding`` for the mesh that the program or the system has."""


SOURCE_BACKENDS = {"codegen_py": "py", "codegen_cpp": "cpp"}
"""Language of the source that a value of option ``backend`` writes."""

LOAD_BACKEND = "codegen_load_py"
"""Value of option ``backend`` that runs source in place of the program."""


@dataclass(frozen=True)
class Option:
    """One compile option."""

    name: str
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    """Values that a text option takes; empty for any text."""
    low: int | None = None
    high: int | None = None
    """Least and greatest value of a number; None for any number."""
    is_mesh: bool = False
    """Whether the value is true, false or the shape of a mesh, such as ``2x4``."""
    is_trap: bool = False
    """Whether the value is a list of faults, see :class:`~tt_xla.traps.Traps`."""
    in_precision_file: bool = False
    """Whether a precision file may set the option."""
    effective: bool = True
    """Whether the option changes anything; setting one of upstream's options that do not causes a warning."""

    def parse(self, value: object) -> Any:
        """Returns a user's value in the option's type.

        Raises:
            OptionError: the option does not take the value; the message says what it takes.
        """
        if isinstance(self.default, bool):
            return self._parse_bool(value)
        if isinstance(self.default, int):
            return self._parse_int(value)
        if self.is_mesh:
            return self._parse_mesh(value)
        if self.is_trap:
            return self._parse_trap(value)
        text = str(value)
        if self.choices and text.lower() not in self.choices:
            raise self._error(value, "one of " + ", ".join(repr(choice) for choice in self.choices))
        return text.lower() if self.choices else text

    def _parse_bool(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        parsed = _BOOLS.get(str(value).lower())
        if parsed is None:
            raise self._error(value, "true, 1, yes, on, false, 0, no or off")
        return parsed

    def _parse_mesh(self, value: object) -> str:
        """Returns the shape of a mesh as text, ``auto`` for true, and an empty text for false."""
        if isinstance(value, tuple | list):
            text = "x".join(str(size) for size in cast("tuple[object, ...]", value))
            text = "1x1" if text == "1" else text  # the text 1 means true
        else:
            text = str(value).lower()
            if text in ("", AUTO) or text in _BOOLS:
                return AUTO if text == AUTO or _BOOLS.get(text) else ""
        if not re.fullmatch(r"[1-9]\d{0,5}(x[1-9]\d{0,5}){0,5}", text):
            raise self._error(value, "true, false or the shape of a mesh, such as '2x4'")
        return text

    def _parse_trap(self, value: object) -> str:
        """Returns the faults of a text or list in their one spelling; an empty text for false."""
        if isinstance(value, tuple | list):
            value = ",".join(map(str, cast("tuple[object, ...]", value)))
        text = str(value)
        if _BOOLS.get(text.strip().lower()) is False:
            return ""
        try:
            return str(Traps.parse(text))
        except ValueError:
            raise self._error(value, EXPECTED_TRAPS) from None

    def _parse_int(self, value: object) -> int:
        expected = "an integer" if self.low is None else f"an integer from {self.low} to {self.high}"
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise self._error(value, expected)
        try:
            number = int(value)
        except ValueError:
            raise self._error(value, expected) from None
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            raise self._error(value, expected)
        return number

    def _error(self, value: object, expected: str) -> OptionError:
        return OptionError(
            f"Compile option '{self.name}' was given {value!r}; it takes {expected}.",
            hint=f"Its meaning: {self.meaning}. Leave it out for the default, {self.default!r}.",
        )


def _option(default: Any, meaning: str, **rest: Any) -> Any:
    return field(default=default, metadata={"meaning": meaning, **rest})


@dataclass(frozen=True)
class CompileOptions:
    """The options of one compilation. Equal modules with equal options compile to equal Programs."""

    optimization_level: int = _option(
        0,
        "0 keeps every tensor in DRAM, 1 also prepares convolution weights once and fuses more ops, 2 also keeps "
        "activations in L1 where they fit",
        low=0,
        high=2,
    )
    enable_bfp8_conversion: bool = _option(
        False,
        "store the weights and activations of a bfloat16 model as bfloat8_b; the same as "
        "experimental_weight_dtype=bfp_bf8 and experimental_activation_dtype=bfp_bf8",
    )
    experimental_activation_dtype: str = _option(
        "",
        "store the values between ops of a bfloat16 model in this format, where TT-NN's ops read and write it; bf16 "
        "keeps them beside enable_bfp8_conversion",
        choices=("", "bf16", "bfp_bf8"),
    )
    capacity_steps: str = _option(
        "powers",
        "sizes of PyTorch tensors that change from call to call are padded to powers of two, or with halves also to "
        "1.5 times these, and one program serves all sizes up to its capacity; off compiles a program for each size",
        choices=("powers", "halves", "off"),
    )
    experimental_weight_dtype: str = _option(
        "",
        "store the weights of a bfloat16 model in this format",
        choices=("", "bfp_bf8", "bfp8", "bfp_bf4"),
        in_precision_file=True,
    )
    experimental_weight_dtype_overrides: str = _option(
        "", "store single weights in these formats, whatever experimental_weight_dtype says: NAME=FORMAT,NAME=FORMAT"
    )
    experimental_kv_cache_dtype: str = _option(
        "",
        "store caches of keys and values in this format; they are what programs write to in place",
        choices=("", "none", "bfp_bf8", "bfp8", "bf16"),
        in_precision_file=True,
    )
    enable_trace: bool = _option(False, "record the dispatch of the second run and replay it in later runs")
    enable_const_eval: bool = _option(True, "compute values that depend only on parameters and constants once")
    math_fidelity: str = _option(
        "",
        "passes of the matrix unit over the bits of its sources",
        choices=("", "lofi", "hifi2", "hifi3", "hifi4", "ttnn_default"),
        in_precision_file=True,
    )
    fp32_dest_acc_en: bool = _option(True, "accumulate in float32", in_precision_file=True)
    fast_and_approximate_mode: bool = _option(
        False,
        "compute functions in the coarse, fast form that TT-NN has of them: gelu by six lines, which errs by up to "
        "0.024 and takes a thirteenth of the time",
        in_precision_file=True,
    )
    precision: str = _option(
        "", "file with the number formats, fidelity and accumulation of each layer, as tt-xla tune --accuracy writes it"
    )
    overrides: str = _option(
        "",
        "file with the layout, format, fidelity and config of single ops, and with compile options, as tt-xla explore "
        "writes it",
    )
    numerics: str = _option(
        "silicon",
        "'silicon' computes with the chip's precision, 'bit_exact' as its instructions do and slowly, 'exact' as"
        " IEEE 754 does",
        choices=("silicon", "bit_exact", "exact"),
    )
    trap: str = _option(
        "",
        "stop the emulated card at the first op that makes a NaN (nan) or an infinity (inf), takes an index outside of "
        "its tensor (index), or loses more than BITS bits of its format (precision:BITS, by default all but one); all, "
        "or names separated by commas",
        is_trap=True,
    )
    host_fallback: bool = _option(
        True, "run parts that the chip has no ops for on the host; if false, such an op is an error"
    )
    backend: str = _option(
        "default",
        "'codegen_py' and 'codegen_cpp' also write the program as source code that calls TT-NN, into export_path; "
        "'codegen_load_py' runs the source in export_path, which may have been edited, in place of the program",
        choices=("default", "ttnn_flatbuffer", "codegen_py", "codegen_cpp", "codegen_load_py"),
    )
    export_path: str = _option(
        "",
        "folder that receives generated source code and, under irs/, the module of each stage; with codegen_load_py "
        "the folder to load from",
    )
    target_module: bool = _option(
        False, "write the source of each graph to a folder graph_<N> of its own, even of a single graph"
    )
    export_tensors: bool = _option(True, "write the arguments of the first run beside generated source code")
    auto_sharding: str = _option(
        "",
        "split arguments without a sharding over the chips of a mesh, as predicted to be fastest: true, or the shape of"
        " the mesh such as '2x4'",
        is_mesh=True,
    )
    dry_run: bool = _option(
        False, "generate source code without a run: results are zeros, and no expected results are written"
    )
    codegen_try_recover_structure: bool = _option(
        False, "group generated source into functions by module, which is always done here", effective=False
    )
    codegen_split_files: bool = _option(False, "write const-eval functions to a file of their own", effective=False)
    enable_workarounds: bool = _option(True, "rewrite ops that TT-NN should accept but does not")
    export_model_name: str = _option("", "infix of the names of exported files")
    enable_const_eval_on_cpu: bool = _option(True, "compute const-eval functions on the host", effective=False)
    enable_const_eval_inputs_to_system_memory: bool = _option(
        True, "keep arguments in host memory that only const-eval functions read"
    )
    experimental_enable_fusing_conv2d_with_multiply_pattern: bool = _option(
        False, "scale convolution weights by a following constant factor", effective=False
    )
    experimental_enable_permute_matmul_fusion: bool = _option(
        True, "turn a permutation of a matmul operand into its transpose flag"
    )
    ttnn_perf_metrics_enabled: bool = _option(False, "write op counts as JSON", effective=False)
    ttnn_perf_metrics_output_file: str = _option("", "file for the op counts", effective=False)

    @staticmethod
    def parse(user_options: Mapping[str, object] | None = None) -> CompileOptions:
        """Returns the options of a user's mapping, with defaults from the environment.

        Args:
            user_options: values by option name.

        Raises:
            OptionError: a name is unknown, a value is bad, or two options contradict each other.
        """
        values: dict[str, Any] = {
            "numerics": COMPILE_OPTIONS["numerics"].parse(variable("TTXLA_NUMERICS")),
            "trap": COMPILE_OPTIONS["trap"].parse(variable("TTXLA_TRAP")),
        }
        given = dict(user_options or {}) | forced_options()
        for name, value in (_precision_options(given) | _overrides_options(given) | given).items():
            option = COMPILE_OPTIONS.get(str(name).replace("-", "_"))
            if option is None:
                raise unknown_name("compile option", str(name), COMPILE_OPTIONS)
            values[option.name] = option.parse(value)
            if not option.effective and values[option.name] != option.default:
                warnings.warn(f"Compile option '{name}' is accepted and has no effect here.", stacklevel=3)
        if "backend" not in values:
            values |= _codegen_folders()
        return CompileOptions(**values)._check_backend()._resolve_formats()._resolve_cache_dtype()

    @property
    def auto_sharding_shape(self) -> tuple[int, ...]:
        """Shape of the mesh that ``auto_sharding`` asks for; empty if it leaves the mesh to the compiler."""
        return () if self.auto_sharding in ("", AUTO) else tuple(map(int, self.auto_sharding.split("x")))

    @property
    def traps(self) -> Traps:
        """Faults that ``trap`` names."""
        return Traps.parse(self.trap)

    @property
    def of_program(self) -> CompileOptions:
        """These options without what a program does not depend on: which traps of a kind are set.

        They are the key of a compiled program.
        """
        return replace(self, trap=str(self.traps.in_program))

    @property
    def generates_source(self) -> bool:
        """Whether the backend writes source code."""
        return self.backend in SOURCE_BACKENDS

    @property
    def loads_source(self) -> bool:
        """Whether source code in ``export_path`` runs in place of the program."""
        return self.backend == LOAD_BACKEND

    def _check_backend(self) -> CompileOptions:
        if (self.generates_source or self.loads_source) and not self.export_path:
            raise OptionError(
                "Compile option 'export_path' must be provided when backend is not 'TTNNFlatbuffer'.",
                hint="It names the folder of the generated source code.",
            )
        return self

    def _resolve_formats(self) -> CompileOptions:
        dtype = "bfp_bf8" if self.experimental_weight_dtype == "bfp8" else self.experimental_weight_dtype
        if self.enable_bfp8_conversion and dtype == "bfp_bf4":
            raise OptionError(
                "Compile options enable_bfp8_conversion=true and experimental_weight_dtype='bfp_bf4' contradict each "
                "other.",
                hint="Keep one of them.",
            )
        if not self.enable_bfp8_conversion:
            return replace(self, experimental_weight_dtype=dtype)
        activation_dtype = self.experimental_activation_dtype or "bfp_bf8"
        return replace(self, experimental_weight_dtype="bfp_bf8", experimental_activation_dtype=activation_dtype)

    def _resolve_cache_dtype(self) -> CompileOptions:
        dtype = {"none": "", "bfp8": "bfp_bf8"}.get(self.experimental_kv_cache_dtype, self.experimental_kv_cache_dtype)
        return replace(self, experimental_kv_cache_dtype=dtype)

    def as_dict(self) -> dict[str, Any]:
        """Returns the value of each option by name."""
        return {option.name: getattr(self, option.name) for option in fields(self)}


COMPILE_OPTIONS: dict[str, Option] = {
    item.name: Option(item.name, item.default, **item.metadata) for item in fields(CompileOptions)
}


def _codegen_folders() -> dict[str, Any]:
    """Returns the options that the variables of the environment for generated source stand for."""
    if folder := variable("TTXLA_CODEGEN_LOAD_DIR"):
        return {"backend": LOAD_BACKEND, "export_path": folder}
    if folder := variable("TTXLA_CODEGEN_EXPORT_DIR"):
        return {"backend": "codegen_py", "export_path": folder, "target_module": True}
    return {}


def _precision_options(given: dict[str, object]) -> dict[str, object]:
    """Returns the options of the precision file that options name, and replaces its path by its layers.

    Options then hold what the file said when they were parsed, so equal options compile to equal Programs.

    Raises:
        OptionError: The file cannot be read, is not valid, or sets an option that does not concern precision.
    """
    if given.get("precision", "") == "":
        return {}
    from tt_xla.precision import read_precision

    precision = read_precision(given["precision"])
    allowed = {name: option for name, option in COMPILE_OPTIONS.items() if option.in_precision_file}
    for name in precision.options:
        if name not in allowed:
            raise unknown_name("option of a precision file", name, allowed)
    given["precision"] = precision.text() if precision.layers else ""
    return dict(precision.options)


_NOT_IN_OVERRIDES = ("overrides", "precision", "backend", "export_path", "export_model_name")
"""Options that an override file may not set: other files, and where source is written."""


def _overrides_options(given: dict[str, object]) -> dict[str, object]:
    """Returns the options of the override file that options name, and replaces its path by its choices for ops.

    Raises:
        OptionError: The file cannot be read, is not valid, or sets an option that it may not set.
    """
    if given.get("overrides", "") == "":
        return {}
    from tt_xla.overrides import read_overrides

    overrides = read_overrides(given["overrides"])
    allowed = {name: option for name, option in COMPILE_OPTIONS.items() if name not in _NOT_IN_OVERRIDES}
    for name in overrides.options:
        if name not in allowed:
            raise unknown_name("option of an override file", name, allowed)
    given["overrides"] = overrides.text() if overrides.ops else ""
    return dict(overrides.options)


def weight_overrides(text: str) -> dict[str, str]:
    """Returns the format of each argument by name from ``experimental_weight_dtype_overrides``.

    Raises:
        OptionError: an item is not NAME=FORMAT, or the format is unknown.
    """
    formats: dict[str, str] = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, _, dtype = item.rpartition("=")
        if not name or dtype not in WEIGHT_FORMATS:
            raise OptionError(
                f"Compile option 'experimental_weight_dtype_overrides' has {item!r}; it takes NAME=FORMAT.",
                hint=f"Formats are {', '.join(WEIGHT_FORMATS)}.",
            )
        formats[name] = dtype
    return formats


WEIGHT_FORMATS = ("bf16", "bfp_bf8", "bfp_bf4")
