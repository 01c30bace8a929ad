"""Reads and checks the YAML files with the expected outcome of each test.

A file holds ``test_config:``, a mapping from test ids to fields, or ``PLACEHOLDER_MODELS:``, models that do not exist
yet. All problems of all files are reported together, each with its line. Entries without problems remain usable.
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
    """Expected outcome of a test."""

    EXPECTED_PASSING = "expected_passing"
    KNOWN_FAILURE_XFAIL = "known_failure_xfail"
    NOT_SUPPORTED_SKIP = "not_supported_skip"
    UNSPECIFIED = "unspecified"
    EXCLUDE_MODEL = "exclude_model"


class BringupStatus(Enum):
    """The stage that a model reaches."""

    FAILED_FE_COMPILATION = "FAILED_FE_COMPILATION"
    FAILED_TTMLIR_COMPILATION = "FAILED_TTMLIR_COMPILATION"
    FAILED_RUNTIME = "FAILED_RUNTIME"
    INCORRECT_RESULT = "INCORRECT_RESULT"
    PASSED = "PASSED"
    UNKNOWN = "UNKNOWN"
    NOT_STARTED = "NOT_STARTED"


class ExecutionPass(Enum):
    """The pass of training that a test is about."""

    FORWARD = "FORWARD"
    BACKWARD = "BACKWARD"


@dataclass(frozen=True)
class Expectation:
    """The fields of a test's entry that apply for one architecture, and settings of the run.

    Attributes:
        listed: whether an entry names the test.
        golden_f32: whether torch models are compared with float32 results of the same weights. Not a field of a file.
        emitpy: whether torch models that pass are run again while their source is written, and must give the same
            results. Not a field of a file.
    """

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
    golden_f32: bool = False
    emitpy: bool = False

    def comparison(self) -> ComparisonConfig:
        """Returns the comparison that the fields describe, which reports failures instead of raising."""
        config = ComparisonConfig(assert_on_failure=False)
        config.pcc.enabled, config.pcc.required_pcc = self.assert_pcc, self.required_pcc
        config.atol.enabled, config.atol.required_atol = self.assert_atol, self.required_atol
        config.allclose.enabled = self.assert_allclose
        config.allclose.rtol, config.allclose.atol = self.allclose_rtol, self.allclose_atol
        return config


@dataclass(frozen=True)
class Entry:
    """The fields of a test in a file.

    Attributes:
        fields: values for every architecture.
        overrides: values by architecture.
        where: path and line of the entry.
    """

    fields: Mapping[str, Any]
    overrides: Mapping[str, Mapping[str, Any]]
    where: str

    def on(self, arch: str | None) -> Expectation:
        """Returns the expectation for an architecture; None applies no overrides."""
        return Expectation(**{**self.fields, **self.overrides.get(arch or "", {})}, listed=True)


@dataclass
class Expectations:
    """The content of all files.

    Attributes:
        entries: entries by test id.
        placeholders: models that do not exist yet, by name.
        problems: one line per problem in a file.
        files: the files read.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    placeholders: dict[str, Expectation] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    def of(self, test: str, arch: str | None = None) -> Expectation:
        """Returns the expectation of a test; the default one if no entry names the test."""
        entry = self.entries.get(test)
        return Expectation() if entry is None else entry.on(arch)


def _enumeration(kind: type[Enum]) -> Callable[[Any], Enum]:
    """Returns a function that reads a member of an enumeration by its name or value."""

    def read(value: Any) -> Enum:
        for member in kind:
            if str(value).lower() in (member.name.lower(), str(member.value).lower()):
                return member
        near = difflib.get_close_matches(str(value).upper(), kind.__members__, 1)
        hint = f" Did you mean {near[0]}?" if near else f" Expected one of {', '.join(kind.__members__)}."
        raise ValueError(f"Invalid {kind.__name__}: '{value}'.{hint}")

    return read


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"expected a number, got {value!r}")
    return float(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"expected an integer, got {value!r}")
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
        raise ValueError(f"expected a list of strings, got {value!r}")
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
    "batch_size": _integer,
    "execution_pass": _enumeration(ExecutionPass),
    "filechecks": _texts,
    "enable_weight_bfp8_conversion": _flag,
    "optimization_level": _level,
    "inject_custom_moe": _flag,
    "emitpy_assert_exact": _flag,
}
ALLOWED = sorted([*FIELDS, "arch_overrides"])


def config_files(folders: Iterable[Path]) -> list[Path]:
    """Returns the files ``test_config_*.yaml`` in and below folders, sorted."""
    return sorted({path for folder in folders for path in folder.rglob("test_config_*.yaml")})


def default_folders(*parents: Path) -> list[Path]:
    """Returns folder ``test_config`` of the first of these parents that has one; an empty list if none has."""
    return [parent / "test_config" for parent in parents if (parent / "test_config").is_dir()][:1]


def read(files: Sequence[Path]) -> Expectations:
    """Reads files. Their problems are listed in the result's ``problems``."""
    expectations = Expectations(files=list(files))
    for path in files:
        shown = f"{path.parent.name}/{path.name}"
        try:
            loader = _Loader(path.read_bytes())
            data = loader.get_single_data()
            expectations.problems += [f"{path}:{problem}" for problem in loader.duplicates]
        except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
            message = " ".join(str(error).replace('in "<byte string>", ', "in ").split())
            expectations.problems.append(f"{path}: cannot be read: {message}")
            continue
        except RecursionError:
            expectations.problems.append(f"{path}: cannot be read: it is nested too deeply")
            continue
        if data is None:
            continue
        if not isinstance(data, dict) or not data.keys() <= {"test_config", PLACEHOLDERS}:
            expectations.problems.append(
                f"{path}: expected 'test_config:' or '{PLACEHOLDERS}:' at the top, got {_keys(data)}"
            )
            continue
        for name, line, fields in _items(data.get("test_config"), path, expectations.problems):
            where = f"{path}:{line}"
            entry = _entry(name, fields, where, shown, expectations.problems)
            if name in expectations.entries:
                expectations.problems.append(
                    f"{where}: duplicate test '{name}'; the first entry counts, in {expectations.entries[name].where}."
                    " Remove one of them."
                )
            elif entry is not None:
                expectations.entries[name] = entry
        for name, line, fields in _items(data.get(PLACEHOLDERS), path, expectations.problems):
            known = _known_fields(fields, f"placeholder '{name}' in {shown}", f"{path}:{line}", expectations.problems)
            expectations.placeholders[name] = Expectation(**({"bringup_status": BringupStatus.NOT_STARTED} | known))
    return expectations


def _keys(data: Any) -> str:
    return ", ".join(map(repr, data)) if isinstance(data, dict) else f"a {type(data).__name__}"


class _Lined(dict[Any, Any]):
    """A mapping with the line of each key in the file."""

    lines: dict[Any, int]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """A YAML loader that records duplicate keys, of which the first one counts.

    The YAML specification forbids duplicate keys, and a duplicate that is ignored hides an entry.
    """

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []


def _mapping(loader: Any, node: yaml.MappingNode) -> _Lined:
    mapping, lines = _Lined(), {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        try:
            is_duplicate = key in mapping
        except TypeError:
            raise yaml.constructor.ConstructorError(None, None, "a key is not a string", key_node.start_mark) from None
        if is_duplicate:
            loader.duplicates.append(f"{line}: duplicate key '{key}'; the first one, in line {lines[key]}, counts.")
            continue
        mapping[key], lines[key] = loader.construct_object(value_node, deep=True), line
    mapping.lines = lines
    return mapping


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _items(data: Any, path: Path, problems: list[str]) -> Iterable[tuple[str, int, Any]]:
    if data is None:
        return []
    if not isinstance(data, _Lined):
        problems.append(f"{path}: expected a mapping of tests, got a {type(data).__name__}")
        return []
    return [(str(name), data.lines[name], fields) for name, fields in data.items()]


def _entry(name: str, value: Any, where: str, shown: str, problems: list[str]) -> Entry | None:
    """Reads the entry of a test; None if it is not a mapping. Problems are appended to ``problems``."""
    context = f"test '{name}' in {shown}"
    if not isinstance(value, dict):
        problems.append(f"{where}: expected fields of {context}, got {value!r}. Missing 'status' field or empty value.")
        return None
    base = {key: item for key, item in value.items() if key != "arch_overrides"}
    fields = _known_fields(base, context, where, problems)
    overrides: dict[str, Mapping[str, Any]] = {}
    by_arch = value.get("arch_overrides") or {}
    if not isinstance(by_arch, dict):
        problems.append(f"{where}: arch_overrides of {context} is not a mapping of archs to fields: {by_arch!r}")
        by_arch = {}
    for arch, changed in by_arch.items():
        if arch not in ARCHS:
            problems.append(f"{where}: Unknown arch '{arch}' in arch_overrides of {context}. Allowed: {sorted(ARCHS)}")
        elif not isinstance(changed, dict):
            problems.append(f"{where}: arch_overrides['{arch}'] of {context} is not a mapping of fields: {changed!r}")
        else:
            overrides[arch] = _known_fields(changed, f"arch_overrides['{arch}'] of {context}", where, problems)
    if "status" in value and not value["status"]:
        problems.append(f"{where}: Missing 'status' field or empty value in {context}.")
    return Entry(fields, overrides, where)


def _known_fields(fields: Any, context: str, where: str, problems: list[str]) -> dict[str, Any]:
    """Returns the fields that are known and have good values. Problems are appended to ``problems``."""
    known: dict[str, Any] = {}
    for key, value in (fields or {}).items() if isinstance(fields, dict) or not fields else ():
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
    """The comparison of entries with loaders.

    Attributes:
        unknown: messages about entries whose test does not exist, with similar names.
        unlisted: ids of tests without an entry.
    """

    unknown: list[str]
    unlisted: list[str]


def validate(expectations: Expectations, tests: Iterable[str], phases: Iterable[str]) -> Validation:
    """Compares entries with tests.

    Args:
        expectations: the entries.
        tests: ids of the tests that always exist.
        phases: ids of the tests of LLM phases, which exist if an entry names them.
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
