"""Reads and checks the YAML files with the expected outcome of each test.

A file holds ``test_config:``, a mapping from test ids to fields, or ``PLACEHOLDER_MODELS:``, models that do not exist
yet. ``models_root:`` names the folder of the loaders that the file is about, such as ``models``; the file is ignored
for other loaders. Names that begin with ``x-`` hold mappings for merges (``<<``). All problems of all files are
reported together, each with its line; the rest remains usable.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, fields
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tt_xla.testing.comparison import ComparisonConfig

Arch = Literal["n150", "p150", "n300", "n300-llmbox", "galaxy-wh-6u", "galaxy-bh", "qb2-blackhole", "lb-blackhole"]
ARCHS: tuple[str, ...] = get_args(Arch)


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


def near(name: object, names: Collection[str]) -> str:
    """Returns a sentence with names similar to an unknown one, or with all allowed names."""
    matches = difflib.get_close_matches(str(name), names, 3, 0.8) or difflib.get_close_matches(str(name), names, 1)
    return f"Did you mean {' or '.join(map(repr, matches))}?" if matches else f"Allowed: {', '.join(names)}."


def _member(kind: type[Enum]) -> BeforeValidator:
    """Accepts a member of an enumeration by its name or value, in either case."""

    def read(value: Any) -> Any:
        text = str(value).upper()
        if isinstance(value, kind):
            return value
        if text not in kind.__members__:
            raise ValueError(f"no such {kind.__name__}. {near(text, kind.__members__)}")
        return kind[text]

    return BeforeValidator(read)


def _arch(value: Any) -> Any:
    if value not in ARCHS:
        raise ValueError(f"no such arch. {near(value, ARCHS)}")
    return value


_Correlation = Annotated[float, Field(strict=True, ge=-1, le=1)]
_Tolerance = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
_Names = tuple[StrictStr, ...]


@dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class Fields:
    """The fields of a test's entry, for one architecture."""

    status: Annotated[ModelTestStatus, _member(ModelTestStatus)] = ModelTestStatus.UNSPECIFIED
    reason: str = ""
    bringup_status: Annotated[BringupStatus, _member(BringupStatus)] | None = None
    required_pcc: _Correlation = 0.99
    assert_pcc: StrictBool = True
    required_atol: _Tolerance = 0.16
    assert_atol: StrictBool = False
    assert_allclose: StrictBool = False
    allclose_rtol: _Tolerance = 1e-2
    allclose_atol: _Tolerance = 1e-2
    markers: _Names = ()
    supported_archs: tuple[Annotated[Arch, BeforeValidator(_arch)], ...] = ("n150", "p150")
    batch_size: Annotated[StrictInt, Field(ge=1)] | None = None
    execution_pass: Annotated[ExecutionPass, _member(ExecutionPass)] | None = None
    filechecks: _Names = ()
    enable_weight_bfp8_conversion: StrictBool = False
    optimization_level: Annotated[StrictInt, Field(ge=0, le=2)] = 0
    inject_custom_moe: StrictBool = False
    emitpy_assert_exact: StrictBool = True


@dataclass(frozen=True)
class Expectation(Fields):
    """The fields of a test's entry that apply for one architecture, and settings of the run.

    Attributes:
        listed: whether an entry names the test.
        golden_f32: whether torch models are compared with float32 results of the same weights.
        emitpy: whether torch models that pass are run again while their source is written, and must give the same
            results.
    """

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


@dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class _Test(Fields):
    """The entry of a test."""

    arch_overrides: dict[Annotated[Arch, BeforeValidator(_arch)], Fields] = field(default_factory=dict)


FIELDS = [each.name for each in fields(_Test)]
"""Names of the fields of an entry."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class _File:
    """The content of a file."""

    test_config: dict[str, _Test] | None = None
    PLACEHOLDER_MODELS: dict[str, Fields | None] | None = None
    models_root: str | None = None


_FILE = TypeAdapter(_File)


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
    """The content of files.

    Attributes:
        entries: entries by test id.
        placeholders: models that do not exist yet, by name.
        problems: one line per problem in a file.
        files: the files read.
        other_files: files about other loaders, each with the folder of those loaders.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    placeholders: dict[str, Expectation] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    other_files: dict[Path, str] = field(default_factory=dict)

    def of(self, test: str, arch: str | None = None) -> Expectation:
        """Returns the expectation of a test; the default one if no entry names the test."""
        entry = self.entries.get(test)
        return Expectation() if entry is None else entry.on(arch)


def config_files(folders: Iterable[Path]) -> list[Path]:
    """Returns the files ``test_config_*.yaml`` in and below folders, sorted."""
    return sorted({path for folder in folders for path in folder.rglob("test_config_*.yaml")})


def read_beside(root: Path, *parents: Path) -> Expectations:
    """Reads folder ``test_config`` of the first of these parents that has files about the loaders of a root."""
    other_files: dict[Path, str] = {}
    for parent in parents:
        expectations = read(config_files([parent / "test_config"]), root)
        if expectations.files:
            return expectations
        other_files |= expectations.other_files
    return Expectations(other_files=other_files)


def read(files: Sequence[Path], root: Path | None = None) -> Expectations:
    """Reads files. Their problems are listed in the result's ``problems``.

    Args:
        files: the files.
        root: folder with the loaders; files about other loaders are ignored. None reads all files.
    """
    expectations = Expectations()
    for path in files:
        data, problems = _read(path)
        about = data.get("models_root")
        if about and root is not None and not root.as_posix().endswith(f"/{about}"):
            expectations.other_files[path] = about
            continue
        expectations.files.append(path)
        expectations.problems += problems
        tests = data.get("test_config") or _Lined()
        for name, values in tests.items():
            where = f"{path}:{tests.lines[name]}"
            own = {key: value for key, value in values.items() if key != "arch_overrides"}
            entry = Entry(own, values.get("arch_overrides", {}), where)
            if (first := expectations.entries.setdefault(name, entry)) is not entry:
                expectations.problems.append(
                    f"{where}: duplicate test '{name}'; the first entry counts, in {first.where}. Remove one of them."
                )
        for name, values in (data.get("PLACEHOLDER_MODELS") or {}).items():
            given = {"bringup_status": BringupStatus.NOT_STARTED} | (values or {})
            expectations.placeholders[name] = Expectation(**given)
    return expectations


def _read(path: Path) -> tuple[Any, list[str]]:
    """Returns the valid parts of a file, and a message about each other part."""
    try:
        loader = _Loader(path.read_bytes())
        data = loader.get_single_data() or _Lined()
        for key in [key for key in data if key.startswith("x-")] if isinstance(data, _Lined) else ():
            del data[key]
    except (yaml.YAMLError, UnicodeDecodeError, OSError, RecursionError) as error:
        message = " ".join(str(error).replace('in "<byte string>", ', "in ").split())
        return _Lined(), [f"{path}: cannot be read: {message}"]
    problems = [f"{path}:{problem}" for problem in loader.duplicates]
    while True:
        try:
            _FILE.validate_python(data)
            return data, problems
        except ValidationError as error:
            problems += [f"{path}{_message(data, item)}" for item in error.errors()]
            for item in error.errors():
                data = _without(data, item["loc"])


_KINDS = {"dataclass_type": "a mapping of fields", "dict_type": "a mapping", "tuple_type": "a list"}
"""Names of YAML by the types of errors of pydantic."""


def _message(data: Any, item: Any) -> str:
    """Returns an error of validation as a message that begins with the line, as in ``:7: ...``."""
    line, names = "", list[str]()
    for name in item["loc"]:
        if isinstance(data, _Lined) and name != "[key]":
            line, names = f":{data.lines.get(name, line[1:])}", [*names, name]
            data = data.get(name)
    place = f"'{'.'.join(names[2:] or names)}'" + (f" of '{names[1]}'" if names[2:] else "") if names else "the file"
    if item["type"] == "unexpected_keyword_argument":
        allowed = FIELDS if names[1:] else [each.name for each in fields(_File)]
        return f"{line}: unknown field {place}. {near(names[-1], allowed)}"
    expected = f"expected {_KINDS[item['type']]}" if item["type"] in _KINDS else item["msg"]
    return f"{line}: {place} got {item['input']!r}: {expected.removeprefix('Value error, ')}"


def _without(data: Any, loc: Sequence[Any]) -> Any:
    """Returns data without the innermost mapping's item that an error of validation names."""
    if not loc or not isinstance(data, dict):
        return _Lined()
    if loc[0] in data:
        inner = data[loc[0]]
        if isinstance(inner, dict) and loc[1:] and loc[1] in inner:
            _without(inner, loc[1:])
        else:
            del data[loc[0]]
    return data


class _Lined(dict[Any, Any]):
    """A mapping with the line of each key in the file."""

    lines: dict[Any, int]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """A YAML loader that records duplicate keys, of which the first one counts.

    The YAML specification forbids duplicate keys, and a duplicate that is ignored hides an entry. The keys of a merge
    (``<<``) are no duplicates: those of the mapping itself replace them.
    """

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []


def _mapping(loader: Any, node: yaml.MappingNode) -> _Lined:
    own = {id(key) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"}
    loader.flatten_mapping(node)
    mapping = _Lined()
    mapping.lines = {}
    for key_node, value_node in sorted(node.value, key=lambda pair: id(pair[0]) in own):
        key, line = str(loader.construct_object(key_node, deep=True)), key_node.start_mark.line + 1
        if key in mapping.lines:
            loader.duplicates.append(
                f"{line}: duplicate key '{key}'; the first one, in line {mapping.lines[key]}, counts."
            )
            continue
        mapping[key] = loader.construct_object(value_node, deep=True)
        if id(key_node) in own:
            mapping.lines[key] = line
    return mapping


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
