"""Environment variables: what each function makes of unset, empty, boundary and refused values."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tt_xla import environment
from tt_xla.errors import OptionError

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in environment.ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


DEFAULTS = {
    "TTXLA_SYSTEM": "n150",
    "TTXLA_EAGER": "0",
    "TTXLA_DYNAMO_DEFAULTS": "0",
    "TTXLA_PAUSE_COLLECTOR": "1",
    "TTXLA_NUMERICS": "silicon",
    "TTXLA_RUNTIME": "emulated",
    "TTXLA_EMULATOR_DEVICE": "cpu",
    "TTXLA_EMULATOR_CHAINS": "auto",
    "TTXLA_KEEP_FREED_MEMORY": "1",
    "TTXLA_TTNN": "auto",
    "TTXLA_TTNN_TIMEOUT": "600",
    "TTXLA_TTNN_COMPILE_TIMEOUT": "3600",
    "TTXLA_TTNN_RESET": "auto",
    "TTXLA_TTNN_PROFILE": "0",
    "TTXLA_LOGGER_LEVEL": "WARNING",
    "TTXLA_PROGRESS": "1",
    "TT_RUNTIME_ENABLE_PROGRAM_CACHE": "1",
    "PT_XLA_DEBUG_MAX_FRAME": "8",
}
"""Defaults of the variables that are not empty when they are unset."""


def test_defaults_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in environment.ENVIRONMENT:
        assert environment.variable(name) == DEFAULTS.get(name, ""), name
    monkeypatch.setenv("TTXLA_EAGER", "")
    assert environment.variable("TTXLA_EAGER") == "0"
    monkeypatch.setenv("TTXLA_EAGER", "1")
    assert environment.variable("TTXLA_EAGER") == "1"


def test_a_variable_is_set_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_EAGER", "0")
    environment.set_variable("TTXLA_EAGER", "1")
    assert os.environ["TTXLA_EAGER"] == "1"
    with pytest.raises(OptionError, match=r"No such environment variable: 'TTXLA_EAGR'\. Did you mean 'TTXLA_EAGER'"):
        environment.set_variable("TTXLA_EAGR", "1")
    assert "TTXLA_EAGR" not in os.environ


@pytest.mark.parametrize(
    ("function", "variable", "values"),
    [
        ("keeps_dynamo_defaults", "TTXLA_DYNAMO_DEFAULTS", {None: False, "0": False, "1": True, "true": False}),
        ("pauses_collector", "TTXLA_PAUSE_COLLECTOR", {None: True, "1": True, "0": False}),
        ("ttnn_profile", "TTXLA_TTNN_PROFILE", {None: False, "0": False, "1": True}),
        ("asks_for_torch_xla", "USE_TORCH_XLA", {None: False, "1": True, "ON": True, "0": False, "false": False}),
        ("asks_for_torch_xla", "XLA_USE_SPMD", {None: False, "1": True, "0": False}),
        ("is_compile_only", "TT_COMPILE_ONLY_SYSTEM_DESC", {None: False, "": False, "x.ttsys": True}),
        ("emulator_chains", "TTXLA_EMULATOR_CHAINS", {None: "auto", "NOW": "now", "off": "off", "auto": "auto"}),
        ("emulator_device", "TTXLA_EMULATOR_DEVICE", {None: "cpu", "CUDA": "cuda", "cuda:12": "cuda:12"}),
        ("ttnn_timeout_seconds", "TTXLA_TTNN_TIMEOUT", {None: 600.0, "1": 1.0, "0.5": 0.5}),
        ("ttnn_compile_timeout_seconds", "TTXLA_TTNN_COMPILE_TIMEOUT", {None: 3600.0, "1": 1.0, "0.5": 0.5}),
        ("cxx_names", "CXX", {None: ("c++", "g++", "clang++"), "icpx": ("icpx",)}),
        ("forced_options", "TTXLA_COMPILE_OPTIONS", {None: {}, '{"a": 1}': {"a": 1}}),
        ("selected_runtime", "TTXLA_RUNTIME", {None: "emulated", "ttnn": "ttnn", "ttnn-mock": "ttnn-mock"}),
        (
            "disk_cache_directory",
            "TTXLA_CACHE",
            {None: environment.cache_directory(), "OFF": None, "0": None, "/x/y": Path("/x/y")},
        ),
    ],
)
def test_values_of_variables(
    function: str, variable: str, values: dict[str | None, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, expected in values.items():
        if text is not None:
            monkeypatch.setenv(variable, text)
        assert getattr(environment, function)() == expected, text


@pytest.mark.parametrize(
    ("function", "variable", "values", "message"),
    [
        (
            "emulator_chains",
            "TTXLA_EMULATOR_CHAINS",
            ["on", "autos"],
            "TTXLA_EMULATOR_CHAINS was given {!r}; it takes auto, now, off. Unset it to compile fused kernels only for "
            "programs that run for long.",
        ),
        (
            "emulator_device",
            "TTXLA_EMULATOR_DEVICE",
            ["gpu", "cuda:", "cuda:x", "cpu:0"],
            "TTXLA_EMULATOR_DEVICE was given {!r}; it takes cpu, cuda or cuda:N. Unset it to compute on the CPU.",
        ),
        (
            "ttnn_compile_timeout_seconds",
            "TTXLA_TTNN_COMPILE_TIMEOUT",
            ["0", "-1"],
            "TTXLA_TTNN_COMPILE_TIMEOUT was given {!r}; it takes a number of seconds such as 3600. "
            "Unset it for 3600 seconds.",
        ),
        (
            "ttnn_timeout_seconds",
            "TTXLA_TTNN_TIMEOUT",
            ["0", "0.0", "-1", "1e3", "x", "1."],
            "TTXLA_TTNN_TIMEOUT was given {!r}; it takes a number of seconds such as 600. Unset it for 600 seconds.",
        ),
        (
            "forced_options",
            "TTXLA_COMPILE_OPTIONS",
            ["[1]", "1", "{", "x"],
            "TTXLA_COMPILE_OPTIONS was given {!r}; it takes a JSON object. An example: "
            '{{"optimization_level": 2, "enable_trace": true}}.',
        ),
        (
            "selected_runtime",
            "TTXLA_RUNTIME",
            ["emulate"],
            "No such runtime: {!r}. Did you mean 'emulated'?",
        ),
        ("selected_runtime", "TTXLA_RUNTIME", ["x"], "No such runtime: {!r}. Known are: emulated, ttnn, ttnn-mock."),
    ],
)
def test_values_that_are_refused(
    function: str, variable: str, values: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in values:
        monkeypatch.setenv(variable, text)
        with pytest.raises(OptionError) as raised:
            getattr(environment, function)()
        assert str(raised.value) == message.format(text)


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    assert environment.shows_progress()
    monkeypatch.setenv("TTXLA_PROGRESS", "0")
    assert not environment.shows_progress()
    monkeypatch.setenv("TTXLA_PROGRESS", "1")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not environment.shows_progress()
    monkeypatch.setattr(sys, "stderr", None)
    assert not environment.shows_progress()


def test_variables_go_to_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    monkeypatch.setenv("TTXLA_EAGER", "")
    assert environment.variables_in_force() == {"TTXLA_SYSTEM": "n300"}
    monkeypatch.setenv("CXX", "g++")
    environment.set_variables_in_force({"TTXLA_SYSTEM": "p150", "UNKNOWN_OF_THE_TABLE": "1"})
    assert environment.variables_in_force() == {"TTXLA_SYSTEM": "p150"}
    assert "UNKNOWN_OF_THE_TABLE" not in os.environ


def test_settings_of_libraries_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith(("ATEN_", "DNNL_", "MKL_", "ONEDNN_")):
            monkeypatch.delenv(name)
    for name in ("ONEDNN_A", "MKL_B", "DNNL_C", "ATEN_D", "OTHER_MKL_"):
        monkeypatch.setenv(name, name.lower())
    found = environment.settings_of_libraries()
    assert list(found.items()) == [(name, name.lower()) for name in ("ATEN_D", "DNNL_C", "MKL_B", "ONEDNN_A")]


def test_the_environment_of_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    monkeypatch.setenv("CXX", "g++")
    assert environment.child_environment() == dict(os.environ)
    changed = environment.child_environment({"CXX": "clang++"}, without=("TTXLA_",))
    assert (changed["CXX"], "TTXLA_SYSTEM" in changed) == ("clang++", False)
    assert os.environ["CXX"] == "g++"


@pytest.mark.parametrize(
    ("variables", "system"),
    [
        ({}, "n150"),
        ({"TTXLA_SYSTEM": "n300"}, "n300"),
        ({"TTXLA_SYSTEM": "n300", "TT_VISIBLE_DEVICES": "1, 0"}, "n300:1,0"),
        ({"TT_VISIBLE_DEVICES": "007"}, "n150:7"),
        ({"TT_COMPILE_ONLY_SYSTEM_DESC": "a.ttsys", "TTXLA_SYSTEM": "n300"}, "a.ttsys"),
        ({"TTXLA_RUNTIME": "ttnn-mock"}, "p150"),
        ({"TTXLA_RUNTIME": "ttnn-mock", "TTXLA_SYSTEM": "n300"}, "n300"),
        ({"TTXLA_RUNTIME": "ttnn-mock", "TT_VISIBLE_DEVICES": "1"}, "p150"),
    ],
)
def test_the_selected_system(variables: dict[str, str], system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert environment.selected_system() == system


def test_on_a_card_the_installed_system_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_RUNTIME", "ttnn")
    monkeypatch.setattr(environment, "installed_system", lambda: "p100")
    assert environment.selected_system() == "p100"
    monkeypatch.setattr(environment, "installed_system", lambda: None)
    assert environment.selected_system() == "n150"


@pytest.mark.parametrize("text", ["a", "1,", "-1", "1;2", "1234567"])
def test_visible_devices_are_numbers(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_VISIBLE_DEVICES", text)
    with pytest.raises(OptionError) as raised:
        environment.selected_system()
    assert str(raised.value) == (
        f"TT_VISIBLE_DEVICES='{text}' is no list of chips. It takes numbers separated by commas, such as 0,1."
    )
    monkeypatch.setenv("TT_VISIBLE_DEVICES", "123456")
    assert environment.selected_system() == "n150:123456"


def test_installed_cards_are_read_in_order(tmp_path: Path) -> None:
    assert environment.installed_system(tmp_path) is None
    for name, kind in (("b", "n300\n"), ("a", "unknown"), ("c", "p150a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tt_card_type").write_text(kind)
    assert environment.installed_system(tmp_path) == "n300"
    (tmp_path / "a" / "tt_card_type").write_text(" P150A ")
    assert environment.installed_system(tmp_path) == "p150"


@pytest.mark.parametrize("before", [None, "ttnn"])
def test_a_runtime_for_now(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if before:
        monkeypatch.setenv("TTXLA_RUNTIME", before)
    with environment.runtime_for_now("ttnn-mock"):
        assert environment.selected_runtime() == "ttnn-mock"
    assert os.environ.get("TTXLA_RUNTIME") == before
    with pytest.raises(KeyError), environment.runtime_for_now("ttnn-mock"):
        raise KeyError
    assert os.environ.get("TTXLA_RUNTIME") == before


def test_freed_memory_is_kept_unless_a_variable_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("MALLOC_", "GLIBC_TUNABLES"))]:
        monkeypatch.delenv(name)
    assert environment.keeps_freed_memory()
    for name, value in (("TTXLA_KEEP_FREED_MEMORY", "0"), ("MALLOC_ARENA_MAX", "1"), ("GLIBC_TUNABLES", "x")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert not environment.keeps_freed_memory(), name
    monkeypatch.setenv("TTXLA_KEEP_FREED_MEMORY", "1")
    assert environment.keeps_freed_memory()


def test_settings_of_other_packages_stay_as_the_user_set_them(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = {
        environment.quieten_xla: {"TF_CPP_MIN_LOG_LEVEL": "1"},
        environment.quieten_ray: {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"},
    }
    for quieten, values in cases.items():
        for name, value in values.items():
            monkeypatch.setenv(name, "7")  # so that the end of the test restores it
            quieten()
            assert os.environ[name] == "7"
            monkeypatch.delenv(name)
            quieten()
            assert os.environ[name] == value
    monkeypatch.setenv("TT_PJRT_PLUGIN_DIR", "mine")
    assert environment.plugin_folder("ours") == "mine"
    monkeypatch.delenv("TT_PJRT_PLUGIN_DIR")
    assert (environment.plugin_folder("ours"), os.environ["TT_PJRT_PLUGIN_DIR"]) == ("ours", "ours")


def test_folders_are_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TTXLA_CACHE", "~/mine")
    assert environment.disk_cache_directory() == Path("/home/somebody/mine")
    monkeypatch.setenv("TTXLA_CACHE", "mine")
    assert environment.disk_cache_directory() == Path.cwd() / "mine"
    assert {path.is_absolute() for path in (environment.cache_directory(), environment.log_directory())} == {True}
    assert "tt-xla" in environment.cache_directory().parts
    assert "tt-xla" in environment.log_directory().parts
    assert environment.runtime_directory().name == "tt-xla"
    assert environment.log_directory() != environment.cache_directory()


def test_levels_of_debugging_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [environment.debug_level(), environment.debug_frames()] == [0, 8]
    monkeypatch.setenv("PT_XLA_DEBUG", "1")
    assert environment.debug_level() == 2
    for text, level in (("-1", 0), ("0", 0), ("1", 1), ("100", 100)):
        monkeypatch.setenv("PT_XLA_DEBUG_LEVEL", text)
        assert environment.debug_level() == level
    monkeypatch.setenv("PT_XLA_DEBUG_MAX_FRAME", "few")
    with pytest.raises(OptionError, match="PT_XLA_DEBUG_MAX_FRAME was given 'few'; it takes a number such as 1"):
        environment.debug_frames()
    assert not any(name.startswith("PT_XLA") for name in environment.variables_with_effect())
