"""Files of choices for named parts of a program: precision files by layer, override files by op.

A ``*`` in a name stands for any text. Of several names that fit a part, each field takes the value of the last.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from tt_xla.errors import OptionError

File = TypeVar("File", bound=BaseModel)
Choice = TypeVar("Choice", bound=BaseModel)


def by_name(choices: Mapping[str, Choice], names: Iterable[str]) -> dict[str, Choice]:
    """Returns the choices of each part that has some.

    Args:
        choices: Choices by name or pattern.
        names: Names of the parts of a program.
    """
    known = list(names)
    chosen: dict[str, Choice] = {}
    for pattern, choice in choices.items():
        for name in _fitting(pattern, known):
            before = chosen.get(name, choice)
            chosen[name] = before.model_copy(update=choice.model_dump(exclude_none=True))
    return chosen


def check_names(
    patterns: Iterable[str], names: Iterable[str], *, file: str, part: str, command: str, several_programs: bool
) -> None:
    """Checks that a program has the parts that a file names.

    Args:
        patterns: Names in the file.
        names: Names of the program's parts. A program without parts passes: it may be a small one beside a model.
        file: Kind of the file, for the message.
        part: Kind of the parts, for the message.
        command: Command that writes such files.
        several_programs: Whether the parts are spread over several programs, so that each may lack some of them.

    Raises:
        OptionError: The program lacks a part; or it lacks all of them, if they are spread over several programs.
    """
    given, known = list(patterns), sorted(names)
    unknown = [pattern for pattern in given if not _fitting(pattern, known)]
    if not known or not unknown or (several_programs and len(unknown) < len(given)):
        return
    near = difflib.get_close_matches(unknown[0], known, n=1, cutoff=0.0)
    others = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    raise OptionError(
        f"The {file} names {part} '{unknown[0]}'{others}, which the program lacks.",
        hint=f"The program has {len(known)} {part}s, such as '{near[0]}'. Correct the names, make the file again "
        f"with `{command}`, or set several_programs: true if the model compiles to several programs.",
    )


def _fitting(pattern: str, names: Sequence[str]) -> list[str]:
    """Returns the names that a pattern fits."""
    if "*" not in pattern:
        return [pattern] if pattern in names else []
    expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    return [name for name in names if expression.fullmatch(name)]


def read_file(kind: type[File], value: object, *, file: str, command: str, fields: str) -> File:
    """Reads a file of choices.

    Args:
        kind: Class of its contents.
        value: Path of the file, its contents as a mapping, or its contents as text that begins with ``{``.
        file: Kind of the file, for messages.
        command: Command that writes such files.
        fields: Sentence about the fields that it may have.

    Raises:
        OptionError: There is no such file, it is no YAML, or a field is unknown or has a wrong value.
    """
    if isinstance(value, Mapping):
        return _validated(kind, value, f"The {file}", fields)
    text = str(value)
    if text.lstrip().startswith("{"):
        return _validated(kind, _parsed(text, f"The {file}"), f"The {file}", fields)
    what = f"The {file} '{text}'"
    try:
        contents = Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or "it is no text"
        raise OptionError(
            f"{what} cannot be read: {reason}.",
            hint=f"Check the path, relative to the current folder. `{command}` writes such files.",
        ) from error
    return _validated(kind, _parsed(contents, what), what, fields)


def _parsed(text: str, what: str) -> object:
    import yaml

    try:
        _check_keys(yaml.compose(text, yaml.SafeLoader), what)
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise OptionError(f"{what} is not valid YAML: {' '.join(str(error).split())}.") from error


def _check_keys(node: Any, what: str) -> None:
    """Checks that no mapping of a YAML document has a key twice, of which YAML's reader keeps the last.

    Raises:
        OptionError: A mapping has a key twice.
    """
    children: list[Any] = node.value if node is not None and isinstance(node.value, list) else []
    seen: set[str] = set()
    for child in children:
        if not isinstance(child, tuple):
            _check_keys(child, what)
            continue
        key, value = child
        if str(key.value) in seen:
            raise OptionError(f"{what} has '{key.value}' twice, in line {key.start_mark.line + 1}.", hint="Keep one.")
        seen.add(str(key.value))
        _check_keys(value, what)


def _validated(kind: type[File], data: object, what: str, fields: str) -> File:
    """Checks the contents of a file against the fields that it may have."""
    if not isinstance(data, Mapping):
        raise OptionError(f"{what} does not map names to values.", hint=fields)
    try:
        return kind.model_validate(dict(cast("Mapping[Any, Any]", data)))
    except ValidationError as error:
        wrong = "; ".join(f"{': '.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:3])
        raise OptionError(
            f"{what} is not valid: {wrong}.",
            hint=f"{fields} Values that YAML would read as numbers or booleans need quotes.",
        ) from error


__all__ = ["by_name", "check_names", "read_file"]
