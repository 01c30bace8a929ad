"""Every environment variable: name, default, meaning. No other file reads the environment."""

from __future__ import annotations

import contextlib
import difflib
import functools
import os
import re
import sys
import warnings
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from tt_xla.errors import OptionError

RAY_TOKEN_HINT = (
    "If the cluster asks for a token, as Ray's newer versions do, set RAY_AUTH_MODE=token here, too, and have the "
    "head's token in ~/.ray/auth_token or RAY_AUTH_TOKEN."
)
"""Hint about the settings of a Ray cluster that asks for a token; errors that find no cluster end with it."""


@dataclass(frozen=True)
class EnvironmentVariable:
    """One environment variable."""

    name: str
    default: str
    meaning: str


ENVIRONMENT: dict[str, EnvironmentVariable] = {
    entry.name: entry
    for entry in (
        EnvironmentVariable(
            "TTXLA_SYSTEM", "n150", "emulated system, such as n150, n300, p150 or p150x4; tt-xla info lists them"
        ),
        EnvironmentVariable("TT_VISIBLE_DEVICES", "", "numbers of the chips in use, such as 0,1; all when unset"),
        EnvironmentVariable(
            "TT_COMPILE_ONLY_SYSTEM_DESC", "", ".ttsys file of the system to compile for; programs compute nothing then"
        ),
        EnvironmentVariable("TTXLA_EAGER", "0", "1 runs each torch op immediately instead of recording it"),
        EnvironmentVariable(
            "TTXLA_DYNAMO_DEFAULTS",
            "0",
            "1 traces as PyTorch does for other backends: its recompile limit, its bytecode, and every layer",
        ),
        EnvironmentVariable(
            "TTXLA_PAUSE_COLLECTOR",
            "1",
            "0 leaves Python's garbage collector on during compilations",
        ),
        EnvironmentVariable("TTXLA_NUMERICS", "silicon", "default of the compile option numerics"),
        EnvironmentVariable("TTXLA_TRAP", "", "default of the compile option trap, such as nan,inf or all"),
        EnvironmentVariable(
            "TT_XLA_DISABLE_MODEL_REQS", "", "1 runs models without installing the packages that they require"
        ),
        EnvironmentVariable("TT_XLA_REQS_DEBUG", "", "1 shows pip's output for the packages that models require"),
        EnvironmentVariable(
            "TTXLA_RUNTIME",
            "emulated",
            "runtime: emulated, ttnn (TT-NN runs programs on a card) or ttnn-mock (TT-NN checks each call, results are "
            "zeros)",
        ),
        EnvironmentVariable(
            "TTXLA_EMULATOR_DEVICE",
            "cpu",
            "device of the emulated card's kernels: cpu, cuda or cuda:N (not tried on a GPU)",
        ),
        EnvironmentVariable(
            "TTXLA_EMULATOR_CHAINS",
            "auto",
            "when the emulated card compiles fused kernels by the machine's C++ compiler, which changes speed and no "
            "result: auto (once a program ran for a second or 20 times), now (in the third run, which waits) or off",
        ),
        EnvironmentVariable(
            "TTXLA_KEEP_FREED_MEMORY",
            "1",
            "0 leaves glibc's allocator as it is; otherwise the emulated card makes it keep up to 1 GiB of freed "
            "memory, in the entire process (mallopt)",
        ),
        EnvironmentVariable(
            "TTXLA_MESH_WORKERS",
            "",
            "Ray workers that the chips of a mesh are spread over: a number or auto (one for each CPU), the address of "
            "a Ray cluster such as ray://host:10001 or host:6379, or both, such as 4@host:6379; none when unset",
        ),
        EnvironmentVariable("CXX", "", "C++ compiler of fused kernels; c++, g++ or clang++ when unset"),
        EnvironmentVariable(
            "TTXLA_COMPILE_OPTIONS", "", "compile options as a JSON object; they override those of programs"
        ),
        EnvironmentVariable(
            "TTXLA_TTNN", "auto", "off leaves import ttnn to the real package; auto serves it where that is absent"
        ),
        EnvironmentVariable("TTXLA_TTNN_PYTHON", "", "Python interpreter whose environment has ttnn; found when unset"),
        EnvironmentVariable("TTXLA_TTNN_TIMEOUT", "600", "seconds that TT-NN may take for one run of a program"),
        EnvironmentVariable("TTXLA_TTNN_COMPILE_TIMEOUT", "3600", "seconds that a run may compile kernels beside that"),
        EnvironmentVariable(
            "TTXLA_TTNN_RESET", "auto", "command that resets the board when TT-NN did not answer; auto: tt-smi; or off"
        ),
        EnvironmentVariable("TTXLA_TTNN_PROFILE", "0", "1 has TT-NN measure the device time of each run"),
        EnvironmentVariable(
            "TTXLA_CODEGEN_EXPORT_DIR",
            "",
            "folder for generated Python code; same as backend=codegen_py, export_path and target_module",
        ),
        EnvironmentVariable(
            "TTXLA_CODEGEN_LOAD_DIR",
            "",
            "folder with generated Python code, which runs in place of compiled programs; same as "
            "backend=codegen_load_py and export_path",
        ),
        EnvironmentVariable("TTXLA_LOGGER_LEVEL", "WARNING", "VERBOSE, DEBUG, INFO, WARNING or ERROR"),
        EnvironmentVariable(
            "TTXLA_PROGRESS",
            "1",
            "0 hides the lines of a terminal: of compilations over 2 s, and of emulated time at exit",
        ),
        EnvironmentVariable("TTXLA_LOGGER_FILE", "", "file that receives the log instead of standard error"),
        EnvironmentVariable(
            "TT_RUNTIME_TRACE_REGION_SIZE", "", "bytes of DRAM reserved for traces; as many as needed when 0 or unset"
        ),
        EnvironmentVariable("TT_RUNTIME_ENABLE_PROGRAM_CACHE", "1", "0 turns the program cache off"),
        EnvironmentVariable(
            "TTXLA_CACHE", "", "folder of the cache on disk, or off; the user's cache folder by default"
        ),
        EnvironmentVariable("TTNN_CONFIG_PATH", "", "JSON file of settings that ttnn.CONFIG begins with"),
        EnvironmentVariable("TTNN_CONFIG_OVERRIDES", "", "settings of ttnn.CONFIG as JSON, after those of the file"),
        EnvironmentVariable("TT_METAL_HOME", "", "checkout of TT-Metal; its Python environment may have ttnn"),
        EnvironmentVariable("TT_METAL_SIMULATOR", "", "simulator that TT-NN runs programs on in place of a card"),
        EnvironmentVariable(
            "ACCELERATE_TORCH_DEVICE", "", "device of accelerate and of Trainer; tt where they find no other"
        ),
        EnvironmentVariable("KERAS_TORCH_DEVICE", "", "device of keras on torch; tt where keras finds no other"),
        EnvironmentVariable("TT_PJRT_PLUGIN_DIR", "", "folder of package pjrt_plugin_tt, which sets it; must exist"),
        EnvironmentVariable("TT_METAL_RUNTIME_ROOT", "", "folder of tt-metal's runtime; must exist if it is set"),
        EnvironmentVariable("PJRT_DEVICE", "", "TT selects the device as xr.set_device_type('TT') does"),
        EnvironmentVariable(
            "USE_TORCH_XLA",
            "",
            "1 makes libraries take their paths for torch_xla in scripts that do not import it, 0 in no script",
        ),
        EnvironmentVariable("XLA_USE_SPMD", "", "1 makes all chips one device of torch_xla, as xr.use_spmd() does"),
        EnvironmentVariable("XLA_HLO_DEBUG", "", "1 writes source lines into the text of xm.get_stablehlo"),
        EnvironmentVariable("PT_XLA_DEBUG", "", "1 reports compilations and runs of torch_xla's programs, and why"),
        EnvironmentVariable(
            "PT_XLA_DEBUG_LEVEL", "", "what PT_XLA_DEBUG reports: 0 nothing, 1 compilations, 2 runs as well"
        ),
        EnvironmentVariable("PT_XLA_DEBUG_FILE", "", "file that receives these reports instead of standard error"),
        EnvironmentVariable("PT_XLA_DEBUG_MAX_FRAME", "8", "number of calls of the script that a report shows"),
    )
}


def variable(name: str) -> str:
    """Returns the value of a variable of the table; its default if the variable is unset or empty."""
    return os.environ.get(name, "") or ENVIRONMENT[name].default


def set_variable(name: str, value: str) -> None:
    """Sets a variable of the table for this process and the processes that it starts.

    Raises:
        OptionError: the table has no such variable.
    """
    if name not in ENVIRONMENT:
        raise unknown_name("environment variable", name, ENVIRONMENT)
    os.environ[name] = value


def asks_for_spmd() -> bool:
    """Returns whether ``XLA_USE_SPMD`` makes all chips act as one device."""
    return is_flag(variable("XLA_USE_SPMD"))


def asks_for_torch_xla() -> bool:
    """Returns whether ``USE_TORCH_XLA`` or ``XLA_USE_SPMD`` tells libraries to take their paths for torch_xla."""
    text = variable("USE_TORCH_XLA")
    return text.lower() in _TRUE_WORDS if text else asks_for_spmd()


_TRUE_WORDS = frozenset({"1", "on", "yes", "true", "y", "t"})
"""Values that transformers and accelerate take for true."""


def asks_for_source_lines() -> bool:
    """Returns whether ``XLA_HLO_DEBUG`` asks for source lines in programs as text."""
    return is_flag(variable("XLA_HLO_DEBUG"))


def debug_level() -> int:
    """Returns what ``PT_XLA_DEBUG_LEVEL``, or ``PT_XLA_DEBUG``, reports: 0 nothing, 1 compilations, more also runs.

    Raises:
        OptionError: the level is no number.
    """
    if os.environ.get("PT_XLA_DEBUG_LEVEL"):
        return _number("PT_XLA_DEBUG_LEVEL", "Unset it for what PT_XLA_DEBUG asks for.")
    return 2 if variable("PT_XLA_DEBUG").lower() in _TRUE_WORDS else 0


def debug_frames() -> int:
    """Returns the number of calls of the script that a report of ``PT_XLA_DEBUG`` shows.

    Raises:
        OptionError: ``PT_XLA_DEBUG_MAX_FRAME`` is no number.
    """
    return _number("PT_XLA_DEBUG_MAX_FRAME", "Unset it for 8.")


def _number(name: str, hint: str) -> int:
    """Returns the value of a variable that is a number; 0 for torch_xla's -1.

    Raises:
        OptionError: it is no number.
    """
    text = variable(name)
    if not re.fullmatch(r"-1|[0-9]{1,6}", text):
        raise OptionError(f"{name} was given {text!r}; it takes a number such as 1.", hint=hint)
    return max(int(text), 0)


def is_flag(text: str) -> bool:
    """Returns whether the text of a variable of torch_xla switches something on: a positive number, or true."""
    return text.lower() == "true" or (text.isdigit() and int(text) > 0)


class LaunchedProcess(NamedTuple):
    """Place of a process among those that torchrun started: its number and theirs, on all hosts and on this one."""

    rank: int
    size: int
    local_rank: int
    local_size: int


def launched_process() -> LaunchedProcess | None:
    """Returns the place of this process among those that torchrun started; None if it did not start this one."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return None
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    return LaunchedProcess(*(int(os.environ[name]) for name in names))


def variable_of_script(name: str) -> str | None:
    """Returns the value of any variable, for scripts that read their own by ``torch_xla.utils``, or None."""
    return os.environ.get(name)


def shows_progress() -> bool:
    """Returns whether a line shows the progress of a long compilation: on a terminal, unless TTXLA_PROGRESS is 0."""
    return variable("TTXLA_PROGRESS") != "0" and sys.stderr is not None and sys.stderr.isatty()


def keeps_dynamo_defaults() -> bool:
    """Returns whether ``TTXLA_DYNAMO_DEFAULTS`` asks for PyTorch's own settings of dynamo."""
    return variable("TTXLA_DYNAMO_DEFAULTS") == "1"


def variables_in_force() -> dict[str, str]:
    """Returns the values of the table's variables that are set and not empty, by name."""
    return {name: os.environ[name] for name in ENVIRONMENT if os.environ.get(name)}


def variables_with_effect() -> dict[str, str]:
    """Returns those of :func:`variables_in_force` on which results may depend: not those of cache, log and progress."""
    without = ("TTXLA_CACHE", "TTXLA_LOGGER_", "TTXLA_PROGRESS", "PT_XLA_DEBUG")
    return {name: value for name, value in variables_in_force().items() if not name.startswith(without)}


def set_variables_in_force(values: Mapping[str, str]) -> None:
    """Sets the variables of the table as :func:`variables_in_force` returned them in another process."""
    for name in ENVIRONMENT:
        if name in values:
            os.environ[name] = values[name]
        else:
            os.environ.pop(name, None)


def settings_of_libraries() -> dict[str, str]:
    """Returns the variables by which the libraries that torch computes with choose instructions, in order."""
    prefixes = ("ATEN_", "DNNL_", "MKL_", "ONEDNN_")
    return {name: os.environ[name] for name in sorted(os.environ) if name.startswith(prefixes)}


def child_environment(changes: Mapping[str, str] | None = None, *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Returns the environment for a child process.

    Args:
        changes: variables to add or replace.
        without: prefixes; variables of this process whose names begin with one of them are left out.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(without)}
    return inherited | dict(changes or {})


def quieten_xla() -> None:
    """Raises the level of XLA's log to warnings, as JAX does, unless the user set one.

    jaxlib reads the variable when it is loaded, which may happen before JAX is imported.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")


def pauses_collector() -> bool:
    """Returns whether compilations pause Python's garbage collector (``TTXLA_PAUSE_COLLECTOR``)."""
    return variable("TTXLA_PAUSE_COLLECTOR") != "0"


def selected_system() -> str:
    """Returns the name of the system for :func:`tt_xla.target.load_target`.

    It is ``TT_COMPILE_ONLY_SYSTEM_DESC``, else ``TTXLA_SYSTEM``. If neither is set and TT-NN runs programs, it is the
    system of the installed card. On the emulated card, the chips that ``TT_VISIBLE_DEVICES`` selects follow a colon:
    ``n300:0``. TT-NN reads that variable itself.

    Raises:
        OptionError: ``TT_VISIBLE_DEVICES`` is no list of numbers.
    """
    return f"{_entire_system()}{_visible_chips()}"


def _visible_chips() -> str:
    """Returns the end of a system's name that ``TT_VISIBLE_DEVICES`` asks for; empty when it is unset."""
    text = variable("TT_VISIBLE_DEVICES")
    if not text or variable("TTXLA_RUNTIME") != RUNTIMES[0]:
        return ""
    numbers = [number.strip() for number in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,6}", number) for number in numbers):
        raise OptionError(
            f"TT_VISIBLE_DEVICES='{text}' is no list of chips.",
            hint="It takes numbers separated by commas, such as 0,1.",
        )
    return f":{','.join(str(int(number)) for number in numbers)}"


def _entire_system() -> str:
    """Returns the name of the selected system with all its chips."""
    described = variable("TT_COMPILE_ONLY_SYSTEM_DESC")
    if described or os.environ.get("TTXLA_SYSTEM") or variable("TTXLA_RUNTIME") == RUNTIMES[0]:
        return described or variable("TTXLA_SYSTEM")
    if selected_runtime() == "ttnn-mock":
        return "p150"
    return installed_system() or variable("TTXLA_SYSTEM")


def installed_system(cards: Path = Path("/sys/class/tenstorrent")) -> str | None:
    """Returns the system of the first installed card; None without a card.

    Args:
        cards: folder in which Tenstorrent's kernel driver describes cards (``tt_card_type`` holds ``p150a``).
    """
    for path in sorted(cards.glob("*/tt_card_type")):
        kind = path.read_text().strip().lower()
        system = re.match(r"[np]\d+", kind)
        if system:
            return system[0]
    return None


RUNTIMES = ("emulated", "ttnn", "ttnn-mock")


def runtime_for_now(runtime: str) -> contextlib.AbstractContextManager[None]:
    """Selects a runtime as ``TTXLA_RUNTIME`` does, until the end of the block."""
    return variables_for_now(TTXLA_RUNTIME=runtime)


def system_for_now(name: str) -> contextlib.AbstractContextManager[None]:
    """Selects a system as ``TTXLA_SYSTEM`` does, until the end of the block; no description of one takes precedence."""
    return variables_for_now(TTXLA_SYSTEM=name, TT_COMPILE_ONLY_SYSTEM_DESC="")


@contextlib.contextmanager
def variables_for_now(**values: str) -> Generator[None]:
    """Sets variables until the end of the block, also for the processes that it starts."""
    previous = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def selected_runtime() -> str:
    """Returns the runtime that ``TTXLA_RUNTIME`` selects, one of ``RUNTIMES``.

    Raises:
        OptionError: there is no such runtime.
    """
    name = variable("TTXLA_RUNTIME")
    if name not in RUNTIMES:
        raise unknown_name("runtime", name, RUNTIMES)
    return name


EMULATOR_CHAINS = ("auto", "now", "off")


def emulator_chains() -> str:
    """Returns when fused kernels are compiled (``TTXLA_EMULATOR_CHAINS``), one of ``EMULATOR_CHAINS``.

    Raises:
        OptionError: the variable has another value.
    """
    name = variable("TTXLA_EMULATOR_CHAINS").lower()
    if name not in EMULATOR_CHAINS:
        raise OptionError(
            f"TTXLA_EMULATOR_CHAINS was given {name!r}; it takes {', '.join(EMULATOR_CHAINS)}.",
            hint="Unset it to compile fused kernels only for programs that run for long.",
        )
    return name


def cxx_names() -> tuple[str, ...]:
    """Returns the names of C++ compilers to try: that of ``CXX``, else the usual ones."""
    compiler = variable("CXX")
    return (compiler,) if compiler else ("c++", "g++", "clang++")


def emulator_device() -> str:
    """Returns the torch device of the emulated card's kernels (``TTXLA_EMULATOR_DEVICE``).

    Raises:
        OptionError: the variable names no CPU or CUDA device.
    """
    name = variable("TTXLA_EMULATOR_DEVICE").lower()
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise OptionError(
            f"TTXLA_EMULATOR_DEVICE was given {name!r}; it takes cpu, cuda or cuda:N.",
            hint="Unset it to compute on the CPU.",
        )
    return name


def ttnn_timeout_seconds() -> float:
    """Returns the seconds that TT-NN may take for one run (``TTXLA_TTNN_TIMEOUT``).

    Raises:
        OptionError: the variable is no positive number.
    """
    return _seconds("TTXLA_TTNN_TIMEOUT", 600)


def ttnn_compile_timeout_seconds() -> float:
    """Returns the seconds that TT-NN may compile kernels in one run (``TTXLA_TTNN_COMPILE_TIMEOUT``).

    Raises:
        OptionError: the variable is no positive number.
    """
    return _seconds("TTXLA_TTNN_COMPILE_TIMEOUT", 3600)


def _seconds(name: str, default: int) -> float:
    text = variable(name)
    if not re.fullmatch(r"\d+(\.\d+)?", text) or not float(text):
        raise OptionError(
            f"{name} was given {text!r}; it takes a number of seconds such as {default}.",
            hint=f"Unset it for {default} seconds.",
        )
    return float(text)


def ttnn_profile() -> bool:
    """Returns whether TT-NN measures device time (``TTXLA_TTNN_PROFILE``)."""
    return variable("TTXLA_TTNN_PROFILE") == "1"


def is_compile_only() -> bool:
    """Returns whether programs are only compiled, for a described system; their results are zeros then."""
    return bool(variable("TT_COMPILE_ONLY_SYSTEM_DESC"))


def trace_region_bytes() -> int | None:
    """Returns the size of the trace region in bytes (``TT_RUNTIME_TRACE_REGION_SIZE``).

    Returns:
        None if the variable is 0 or unset; the region grows as needed then.

    Raises:
        OptionError: the variable is no unsigned decimal number.
    """
    text = variable("TT_RUNTIME_TRACE_REGION_SIZE")
    if not text:
        return None
    if not text.isdecimal():
        raise OptionError(
            f"TT_RUNTIME_TRACE_REGION_SIZE was given {text!r}; it takes a number of bytes such as 10000000.",
            hint="Unset it to let the region grow as needed.",
        )
    return int(text) or None


def program_cache_enabled() -> bool:
    """Returns whether the program cache is on (``TT_RUNTIME_ENABLE_PROGRAM_CACHE``); traces need it."""
    return variable("TT_RUNTIME_ENABLE_PROGRAM_CACHE") != "0"


def quieten_ray() -> None:
    """Turns off Ray's usage reports and its warning about GPUs, unless the user set them."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


def keeps_freed_memory() -> bool:
    """Returns whether the emulated card may have glibc keep freed memory.

    It may not if ``TTXLA_KEEP_FREED_MEMORY`` is 0, or if a variable of glibc, such as ``MALLOC_TRIM_THRESHOLD_``, says
    how memory is kept.
    """
    if variable("TTXLA_KEEP_FREED_MEMORY") == "0":
        return False
    return not any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ)


def plugin_folder(default: str) -> str:
    """Returns ``TT_PJRT_PLUGIN_DIR``, which is set to ``default`` first unless it is set."""
    return os.environ.setdefault("TT_PJRT_PLUGIN_DIR", default)


def forced_options() -> dict[str, Any]:
    """Returns the options of ``TTXLA_COMPILE_OPTIONS``, with which tuning overrides those of a script.

    Raises:
        OptionError: the variable is no JSON object.
    """
    text = variable("TTXLA_COMPILE_OPTIONS")
    if not text:
        return {}
    import json

    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise OptionError(
            f"TTXLA_COMPILE_OPTIONS was given {text!r}; it takes a JSON object.",
            hint='An example: {"optimization_level": 2, "enable_trace": true}.',
        )
    return cast("dict[str, Any]", options)


def disk_cache_directory() -> Path | None:
    """Returns the folder of the cache on disk (``TTXLA_CACHE``), by default the user's cache folder; None if off."""
    text = variable("TTXLA_CACHE")
    if text.lower() in ("off", "0"):
        return None
    return Path(text).expanduser().absolute() if text else cache_directory()


def cache_directory() -> Path:
    """Returns the user's folder for caches."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("tt-xla"))


@functools.cache
def runtime_directory() -> Path:
    """Returns the user's folder for files by which running processes find each other; a reboot empties it."""
    import platformdirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Without such a folder of the system, one below /tmp serves as well.
        return Path(platformdirs.user_runtime_dir("tt-xla"))


def log_directory() -> Path:
    """Returns the user's folder for logs."""
    import platformdirs

    return Path(platformdirs.user_log_dir("tt-xla"))


def unknown_name(kind: str, name: str, known: Iterable[str]) -> OptionError:
    """Returns the error about an unknown name, with similar known names as a hint."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else f"Known are: {', '.join(names)}."
    return OptionError(f"No such {kind}: '{name}'.", hint=hint)
