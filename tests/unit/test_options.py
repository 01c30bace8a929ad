"""Tests of compile options: names, values, contradictions, and defaults from the environment."""

from __future__ import annotations

from typing import Any

import pytest

from tt_xla import environment
from tt_xla.errors import OptionError
from tt_xla.options import COMPILE_OPTIONS, CompileOptions, weight_overrides

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in environment.ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


def test_defaults() -> None:
    assert CompileOptions.parse() == CompileOptions.parse({}) == CompileOptions()


def test_an_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(
        OptionError, match=r"No such compile option: 'optimisation_level'\. Did you mean 'optimization_level'\?"
    ):
        CompileOptions.parse({"optimisation_level": 1})


def test_an_unknown_name_that_is_near_nothing_lists_all() -> None:
    with pytest.raises(OptionError, match=r"No such compile option: 'zzz'\. Known are: .*, optimization_level, "):
        CompileOptions.parse({"zzz": 1})


@pytest.mark.parametrize("value", [True, "true", "True", "TRUE", "1", 1, "yes", "on"])
def test_spellings_of_true(value: object) -> None:
    assert CompileOptions.parse({"enable_trace": value}).enable_trace is True


@pytest.mark.parametrize("value", [False, "false", "False", "0", 0, "no", "off"])
def test_spellings_of_false(value: object) -> None:
    assert CompileOptions.parse({"enable_const_eval": value}).enable_const_eval is False


@pytest.mark.parametrize("value", ["maybe", "", 2, -1, None, 1.5, [], "truee"])
def test_what_is_no_bool(value: object) -> None:
    with pytest.raises(
        OptionError, match=r"'enable_trace' was given .*; it takes true, 1, yes, on, false, 0, no or off\."
    ):
        CompileOptions.parse({"enable_trace": value})


@pytest.mark.parametrize("value", [0, 1, 2, "0", "2", " 1 "])
def test_levels(value: Any) -> None:
    assert CompileOptions.parse({"optimization_level": value}).optimization_level == int(value)


@pytest.mark.parametrize("value", [7, -1, "7", "high", "", True, None, 1.0, "1.0"])
def test_what_is_no_level(value: object) -> None:
    with pytest.raises(OptionError, match=r"'optimization_level' was given .*; it takes an integer from 0 to 2\."):
        CompileOptions.parse({"optimization_level": value})


def test_a_bad_value_says_what_the_option_means_and_its_default() -> None:
    with pytest.raises(OptionError, match=r"Its meaning: accumulate in float32\. Leave it out for the default, True\."):
        CompileOptions.parse({"fp32_dest_acc_en": "perhaps"})


@pytest.mark.parametrize("value", ["hifi4", "HiFi4", "HIFI4"])
def test_choices_take_any_case(value: str) -> None:
    assert CompileOptions.parse({"math_fidelity": value}).math_fidelity == "hifi4"


def test_a_bad_choice_lists_all() -> None:
    with pytest.raises(OptionError, match=r"it takes one of '', 'lofi', 'hifi2', 'hifi3', 'hifi4', 'ttnn_default'\."):
        CompileOptions.parse({"math_fidelity": "hifi5"})


@pytest.mark.parametrize(
    "options",
    [
        {"enable_bfp8_conversion": True},
        {"experimental_weight_dtype": "bfp8"},
        {"experimental_weight_dtype": "bfp_bf8"},
        {"experimental_weight_dtype": "bfp8", "enable_bfp8_conversion": "true"},
    ],
)
def test_ways_to_say_bfp8(options: dict[str, object]) -> None:
    assert CompileOptions.parse(options).experimental_weight_dtype == "bfp_bf8"


def test_a_contradiction() -> None:
    with pytest.raises(OptionError, match=r"contradict each other\. Keep one of them\."):
        CompileOptions.parse({"enable_bfp8_conversion": True, "experimental_weight_dtype": "bfp_bf4"})


def test_numerics_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_NUMERICS", "exact")
    assert CompileOptions.parse().numerics == "exact"
    assert CompileOptions.parse({"numerics": "silicon"}).numerics == "silicon"
    monkeypatch.setenv("TTXLA_NUMERICS", "")
    assert CompileOptions.parse().numerics == "silicon"
    monkeypatch.setenv("TTXLA_NUMERICS", "rough")
    with pytest.raises(
        OptionError, match=r"'numerics' was given 'rough'; it takes one of 'silicon', 'bit_exact', 'exact'"
    ):
        CompileOptions.parse()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("", ""),
        ("off", ""),
        (False, ""),
        ("inf, NaN", "nan,inf"),
        (["index", "nan"], "nan,index"),
        ("all", "nan,inf,index,precision"),
        ("precision:05,nan", "nan,precision:5"),
        ("all,precision:24", "nan,inf,index,precision:24"),
    ],
)
def test_traps_have_one_spelling(given: object, text: str) -> None:
    assert CompileOptions.parse({"trap": given}).trap == text


@pytest.mark.parametrize(
    "given", ["nans", "precision:0", "precision:25", "precision:", "nan:3", "precision:2.5", 1, True]
)
def test_a_value_that_is_no_trap(given: object) -> None:
    with pytest.raises(OptionError, match=r"'trap' was given .*; it takes a list of nan, inf, index, precision or"):
        CompileOptions.parse({"trap": given})


def test_traps_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_TRAP", "nan")
    assert CompileOptions.parse().trap == "nan"
    assert CompileOptions.parse({"trap": ""}).trap == ""


def test_programs_differ_by_the_kind_of_traps_alone() -> None:
    plain, nan, inf, index = (CompileOptions.parse({"trap": trap}).of_program for trap in ("", "nan", "inf", "index"))
    assert nan == inf
    assert len({plain, nan, index}) == 3


WITHOUT_EFFECT = [name for name, option in COMPILE_OPTIONS.items() if not option.effective]


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_an_option_without_effect_says_so_when_it_is_set(name: str) -> None:
    default = COMPILE_OPTIONS[name].default
    assert getattr(CompileOptions.parse({name: default}), name) == default
    other = (not default) if isinstance(default, bool) else "something"
    with pytest.warns(UserWarning, match=rf"Compile option '{name}' is accepted and has no effect here\."):
        CompileOptions.parse({name: other})


def test_every_option_has_a_meaning_and_takes_its_default() -> None:
    for name, option in COMPILE_OPTIONS.items():
        assert option.meaning
        assert option.parse(option.default) == option.default, name
    assert CompileOptions.parse(CompileOptions().as_dict()) == CompileOptions()


@pytest.mark.parametrize("value", ["-1", "1e6", "abc", "0x10", " "])
def test_a_bad_trace_region_size(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_RUNTIME_TRACE_REGION_SIZE", value)
    with pytest.raises(OptionError, match=r"TT_RUNTIME_TRACE_REGION_SIZE was given .*; it takes a number of bytes"):
        environment.trace_region_bytes()


def test_trace_region_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.trace_region_bytes() is None
    monkeypatch.setenv("TT_RUNTIME_TRACE_REGION_SIZE", "10000000")
    assert environment.trace_region_bytes() == 10_000_000
    monkeypatch.setenv("TT_RUNTIME_TRACE_REGION_SIZE", "0")
    assert environment.trace_region_bytes() is None


@pytest.mark.parametrize(("value", "enabled"), [(None, True), ("1", True), ("", True), ("true", True), ("0", False)])
def test_program_cache(value: str | None, enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is not None:
        monkeypatch.setenv("TT_RUNTIME_ENABLE_PROGRAM_CACHE", value)
    assert environment.program_cache_enabled() is enabled


@pytest.mark.parametrize(
    ("value", "text", "shape"),
    [
        (True, "auto", ()),
        ("true", "auto", ()),
        ("auto", "auto", ()),
        (False, "", ()),
        ("", "", ()),
        ("2x4", "2x4", (2, 4)),
        ((2, 4), "2x4", (2, 4)),
        ([8], "8", (8,)),
        ("1", "auto", ()),
        ([1], "1x1", (1, 1)),
        (["1"], "1x1", (1, 1)),
        ("2X2x2", "2x2x2", (2, 2, 2)),
    ],
)
def test_meshes(value: object, text: str, shape: tuple[int, ...]) -> None:
    options = CompileOptions.parse({"auto_sharding": value})
    assert (options.auto_sharding, options.auto_sharding_shape) == (text, shape)


@pytest.mark.parametrize("value", ["2x", "x4", "0x4", "-1x2", "2*4", "maybe", (2, "b"), 2.5, None, "2x4x" * 9 + "1"])
def test_what_is_no_mesh(value: object) -> None:
    with pytest.raises(OptionError, match=r"'auto_sharding' was given .*; it takes true, false or the shape of a mesh"):
        CompileOptions.parse({"auto_sharding": value})


@pytest.mark.parametrize(
    ("value", "stored"), [("bfp8", "bfp_bf8"), ("BFP_BF8", "bfp_bf8"), ("none", ""), ("bf16", "bf16")]
)
def test_formats_of_caches(value: str, stored: str) -> None:
    """Upstream writes this option with dashes."""
    assert CompileOptions.parse({"experimental-kv-cache-dtype": value}).experimental_kv_cache_dtype == stored
    assert CompileOptions.parse({"experimental_kv_cache_dtype": value}).experimental_kv_cache_dtype == stored


TRUE_BY_DEFAULT = {
    *("enable_const_eval", "fp32_dest_acc_en", "host_fallback", "export_tensors", "enable_workarounds"),
    *("enable_const_eval_on_cpu", "enable_const_eval_inputs_to_system_memory"),
    "experimental_enable_permute_matmul_fusion",
}


def test_the_default_of_each_option() -> None:
    others = {"optimization_level": 0, "numerics": "silicon", "backend": "default", "capacity_steps": "powers"}
    for name, option in COMPILE_OPTIONS.items():
        expected = others.get(name, name in TRUE_BY_DEFAULT if isinstance(option.default, bool) else "")
        assert option.default == expected, name


def test_options_of_precision_files_and_options_without_effect() -> None:
    assert {name for name, option in COMPILE_OPTIONS.items() if option.in_precision_file} == {
        *("experimental_weight_dtype", "experimental_kv_cache_dtype", "math_fidelity", "fp32_dest_acc_en"),
        "fast_and_approximate_mode",
    }
    assert set(WITHOUT_EFFECT) == {
        *("codegen_try_recover_structure", "codegen_split_files", "enable_const_eval_on_cpu"),
        *("experimental_enable_fusing_conv2d_with_multiply_pattern", "ttnn_perf_metrics_enabled"),
        "ttnn_perf_metrics_output_file",
    }


@pytest.mark.parametrize("backend", ["codegen_py", "codegen_cpp", "codegen_load_py", "default", "ttnn_flatbuffer"])
def test_backends_that_need_a_folder(backend: str) -> None:
    options = CompileOptions.parse({"backend": backend, "export_path": "x"})
    assert (options.generates_source, options.loads_source) == (
        backend in ("codegen_py", "codegen_cpp"),
        backend == "codegen_load_py",
    )
    if options.generates_source == options.loads_source:
        assert CompileOptions.parse({"backend": backend}).export_path == ""
    else:
        with pytest.raises(OptionError, match=r"Compile option 'export_path' must be provided when backend is not"):
            CompileOptions.parse({"backend": backend})


def test_folders_of_source_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(**options: object) -> tuple[str, str, bool]:
        found = CompileOptions.parse(options)
        return found.backend, found.export_path, found.target_module

    monkeypatch.setenv("TTXLA_CODEGEN_EXPORT_DIR", "out")
    assert parsed() == ("codegen_py", "out", True)
    assert parsed(backend="default") == ("default", "", False)
    monkeypatch.setenv("TTXLA_CODEGEN_LOAD_DIR", "in")
    assert parsed() == ("codegen_load_py", "in", False)


def test_bfp8_conversion_keeps_a_format_of_activations() -> None:
    for given, stored in (("", "bfp_bf8"), ("bf16", "bf16"), ("bfp_bf8", "bfp_bf8")):
        options = CompileOptions.parse({"enable_bfp8_conversion": True, "experimental_activation_dtype": given})
        assert options.experimental_activation_dtype == stored
    assert CompileOptions.parse({"experimental_weight_dtype": "bfp_bf4"}).experimental_activation_dtype == ""


def test_formats_of_single_weights() -> None:
    assert weight_overrides(" a.b=bf16, c=d=bfp_bf4,,a.b=bfp_bf8 ") == {"a.b": "bfp_bf8", "c=d": "bfp_bf4"}
    assert weight_overrides("") == {}
    for item in ("a", "=bf16", "a=", "a=f32"):
        with pytest.raises(OptionError) as raised:
            weight_overrides(item)
        assert str(raised.value) == (
            f"Compile option 'experimental_weight_dtype_overrides' has {item!r}; it takes NAME=FORMAT. "
            "Formats are bf16, bfp_bf8, bfp_bf4."
        )
