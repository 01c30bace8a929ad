"""What is expected of each test: YAML files, read and checked.

A file holds ``test_config:``, a mapping from ids of tests to fields, or ``PLACEHOLDER_MODELS:``, models that are not
there yet. Every problem of every file is told at once, with its line; what is sound is still of use.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import yaml

from tt_xla.testing.comparison import ComparisonConfig

ARCHS = "n150", "p150", "n300", "n300-llmbox", "galaxy-wh-6u", "galaxy-bh", "qb2-blackhole", "lb-blackhole"
DEFAULT_ARCHS = ("n150", "p150")
PLACEHOLDERS = "PLACEHOLDER_MODELS"


class ModelTestStatus(Enum):
    EXPECTED_PASSING = "expected_passing"
    KNOWN_FAILURE_XFAIL = "known_failure_xfail"
    NOT_SUPPORTED_SKIP = "not_supported_skip"
    UNSPECIFIED = "unspecified"
    EXCLUDE_MODEL = "exclude_model"


class BringupStatus(Enum):
    FAILED_FE_COMPILATION = "FAILED_FE_COMPILATION"
    FAILED_TTMLIR_COMPILATION = "FAILED_TTMLIR_COMPILATION"
    FAILED_RUNTIME = "FAILED_RUNTIME"
    INCORRECT_RESULT = "INCORRECT_RESULT"
    PASSED = "PASSED"
    UNKNOWN = "UNKNOWN"
    NOT_STARTED = "NOT_STARTED"


class ExecutionPass(Enum):
    FORWARD = "FORWARD"
    BACKWARD = "BACKWARD"


@dataclass(frozen=True)
class Expectation:
    """The fields of one test, in effect for one architecture."""

    status: ModelTestStatus = ModelTestStatus.UNSPECIFIED
    reason: str = ""
    bringup_status: BringupStatus | None = None
    required_pcc: float = 0.99
    assert_pcc: bool = True
    required_atol: float = 0.16
    assert_atol: bool = False
    assert_allclose: bool = False
    allclose_rtol: float = 1e-2
    allclose_atol: float = 1e-2
    markers: tuple[str, ...] = ()
    supported_archs: tuple[str, ...] = DEFAULT_ARCHS
    batch_size: int | None = None
    execution_pass: ExecutionPass | None = None
    filechecks: tuple[str, ...] = ()
    enable_weight_bfp8_conversion: bool = False
    optimization_level: int = 0
    inject_custom_moe: bool = False
    emitpy_assert_exact: bool = True
    listed: bool = False
    """An entry names the test."""
    golden_f32: bool = False
    """What torch models are compared with is computed in float32, from the same weights; no field of a file."""
    emitpy: bool = False
    """Torch models are run once more with their source written, and give the same; no field of a file."""

    def comparison(self) -> ComparisonConfig:
        """The comparison that the fields ask for; it does not raise."""
        config = ComparisonConfig(assert_on_failure=False)
        config.pcc.enabled, config.pcc.required_pcc = self.assert_pcc, self.required_pcc
        config.atol.enabled, config.atol.required_atol = self.assert_atol, self.required_atol
        config.allclose.enabled = self.assert_allclose
        config.allclose.rtol, config.allclose.atol = self.allclose_rtol, self.allclose_atol
        return config


@dataclass(frozen=True)
class Entry:
    """A test's fields as a file has them."""

    fields: Mapping[str, Any]
    overrides: Mapping[str, Mapping[str, Any]]
    where: str

    def on(self, arch: str | None) -> Expectation:
        """With what the architecture overrides; without one, as for all."""
        return Expectation(**{**self.fields, **self.overrides.get(arch or "", {})}, listed=True)


@dataclass
class Expectations:
    """All entries by the id of the test, placeholders by the model, and every problem found."""

    entries: dict[str, Entry] = field(default_factory=dict)
    placeholders: dict[str, Expectation] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def of(self, test: str, arch: str | None = None) -> Expectation:
        entry = self.entries.get(test)
        return Expectation() if entry is None else entry.on(arch)


def _enumeration(kind: type[Enum]) -> Callable[[Any], Enum]:
    def read(value: Any) -> Enum:
        for member in kind:
            if str(value).lower() in (member.name.lower(), str(member.value).lower()):
                return member
        near = difflib.get_close_matches(str(value).upper(), kind.__members__, 1)
        hint = f" Did you mean {near[0]}?" if near else f" Known are {', '.join(kind.__members__)}."
        raise ValueError(f"Invalid {kind.__name__}: '{value}'.{hint}")

    return read


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"expected a number, got {value!r}")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"expected a whole number, got {value!r}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {value!r}")
    return value


def _level(value: Any) -> int:
    if value not in (0, 1, 2) or isinstance(value, bool):
        raise ValueError(f"optimization_level must be 0, 1, or 2 (got {value!r})")
    return int(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"expected a list of texts, got {value!r}")
    return tuple(value)


def _archs(value: Any) -> tuple[str, ...]:
    for arch in _texts(value):
        if arch not in ARCHS:
            raise ValueError(f"unknown arch '{arch}'. Allowed: {sorted(ARCHS)}")
    return tuple(value)


FIELDS: dict[str, Callable[[Any], Any]] = {
    "status": _enumeration(ModelTestStatus),
    "reason": str,
    "bringup_status": _enumeration(BringupStatus),
    "required_pcc": _number,
    "assert_pcc": _flag,
    "required_atol": _number,
    "assert_atol": _flag,
    "assert_allclose": _flag,
    "allclose_rtol": _number,
    "allclose_atol": _number,
    "markers": _texts,
    "supported_archs": _archs,
    "batch_size": _whole,
    "execution_pass": _enumeration(ExecutionPass),
    "filechecks": _texts,
    "enable_weight_bfp8_conversion": _flag,
    "optimization_level": _level,
    "inject_custom_moe": _flag,
    "emitpy_assert_exact": _flag,
}
ALLOWED = sorted([*FIELDS, "arch_overrides"])


def config_files(folders: Iterable[Path]) -> list[Path]:
    """``test_config_*.yaml`` in and below folders."""
    return sorted({path for folder in folders for path in folder.rglob("test_config_*.yaml")})


def read(files: Sequence[Path]) -> Expectations:
    """Reads files; what is wrong with them is in ``problems``."""
    found = Expectations(files=list(files))
    for path in files:
        shown = f"{path.parent.name}/{path.name}"
        try:
            loader = _Loader(path.read_bytes())
            data = loader.get_single_data()
            found.problems += [f"{path}:{problem}" for problem in loader.doubles]
        except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
            said = " ".join(str(error).replace('in "<byte string>", ', "in ").split())
            found.problems.append(f"{path}: cannot be read: {said}")
            continue
        except RecursionError:
            found.problems.append(f"{path}: cannot be read: it is nested too deeply")
            continue
        if data is None:
            continue
        if not isinstance(data, dict) or not data.keys() <= {"test_config", PLACEHOLDERS}:
            found.problems.append(f"{path}: expected 'test_config:' or '{PLACEHOLDERS}:' at the top, got {_keys(data)}")
            continue
        for name, line, fields in _items(data.get("test_config"), path, found.problems):
            where = f"{path}:{line}"
            entry = _entry(name, fields, where, shown, found.problems)
            if name in found.entries:
                found.problems.append(
                    f"{where}: duplicate test '{name}', first in {found.entries[name].where}, which counts; keep one."
                )
            elif entry is not None:
                found.entries[name] = entry
        for name, line, fields in _items(data.get(PLACEHOLDERS), path, found.problems):
            known = _known_fields(fields, f"placeholder '{name}' in {shown}", f"{path}:{line}", found.problems)
            found.placeholders[name] = Expectation(**({"bringup_status": BringupStatus.NOT_STARTED} | known))
    return found


def _keys(data: Any) -> str:
    return ", ".join(map(repr, data)) if isinstance(data, dict) else f"a {type(data).__name__}"


class _Lined(dict[Any, Any]):
    """A mapping that knows the line of each key."""

    lines: dict[Any, int]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """A duplicate key is an error: YAML says so, and to let it pass hides an entry. The first one counts."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.doubles: list[str] = []


def _mapping(loader: Any, node: yaml.MappingNode) -> _Lined:
    found, found_lines = _Lined(), {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        try:
            double = key in found
        except TypeError:
            raise yaml.constructor.ConstructorError(None, None, "a key is no text", key_node.start_mark) from None
        if double:
            loader.doubles.append(f"{line}: duplicate key '{key}', first in line {found_lines[key]}, which counts.")
            continue
        found[key], found_lines[key] = loader.construct_object(value_node, deep=True), line
    found.lines = found_lines
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _items(data: Any, path: Path, problems: list[str]) -> Iterable[tuple[str, int, Any]]:
    if data is None:
        return []
    if not isinstance(data, _Lined):
        problems.append(f"{path}: expected a mapping of tests, got a {type(data).__name__}")
        return []
    return [(str(name), data.lines[name], fields) for name, fields in data.items()]


def _entry(name: str, given: Any, where: str, shown: str, problems: list[str]) -> Entry | None:
    context = f"test '{name}' in {shown}"
    if not isinstance(given, dict):
        problems.append(f"{where}: expected fields of {context}, got {given!r}. Missing 'status' field or empty value.")
        return None
    base = {key: value for key, value in given.items() if key != "arch_overrides"}
    fields = _known_fields(base, context, where, problems)
    overrides: dict[str, Mapping[str, Any]] = {}
    chosen = given.get("arch_overrides") or {}
    if not isinstance(chosen, dict):
        problems.append(f"{where}: arch_overrides of {context} is no mapping of archs to fields: {chosen!r}")
        chosen = {}
    for arch, changed in chosen.items():
        if arch not in ARCHS:
            problems.append(f"{where}: Unknown arch '{arch}' in arch_overrides of {context}. Allowed: {sorted(ARCHS)}")
        elif not isinstance(changed, dict):
            problems.append(f"{where}: arch_overrides['{arch}'] of {context} is no mapping of fields: {changed!r}")
        else:
            overrides[arch] = _known_fields(changed, f"arch_overrides['{arch}'] of {context}", where, problems)
    if "status" in given and not given["status"]:
        problems.append(f"{where}: Missing 'status' field or empty value in {context}.")
    return Entry(fields, overrides, where)


def _known_fields(given: Any, context: str, where: str, problems: list[str]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for key, value in (given or {}).items() if isinstance(given, dict) or not given else ():
        if key not in FIELDS:
            near = difflib.get_close_matches(str(key), ALLOWED, 1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            problems.append(f"{where}: Unknown field '{key}' in {context}.{hint} Allowed: {ALLOWED}")
        elif value is not None:
            try:
                known[key] = FIELDS[key](value)
            except ValueError as error:
                problems.append(f"{where}: '{key}' in {context}: {error}")
    return known


@dataclass(frozen=True)
class Validation:
    """Entries held against the loaders there are."""

    unknown: list[str]
    """Entries of no test, each with the near ones: errors."""
    unlisted: list[str]
    """Tests without an entry."""


def validate(expectations: Expectations, tests: Iterable[str], phases: Iterable[str]) -> Validation:
    """Compares entries with tests.

    Args:
        tests: ids of tests that are always there.
        phases: ids of tests of language models, which are there when an entry names them.
    """
    known = set(tests)
    all_known = known | set(phases)
    unknown: list[str] = []
    for name, entry in expectations.entries.items():
        if name not in all_known:
            folder = name.partition("-")[0]
            near = difflib.get_close_matches(name, [test for test in known if test.startswith(folder[:3])], 3, 0.8)
            hint = f" Did you mean: {', '.join(near)}?" if near else ""
            unknown.append(f"{entry.where}: no test is named '{name}'.{hint}")
    return Validation(unknown, sorted(known - expectations.entries.keys()))
