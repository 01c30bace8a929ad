"""``to_json`` and ``from_json`` of TT-NN's values for cores, shards and memory."""

from __future__ import annotations

import json
from typing import Any, Self


class JsonForm:
    """A value that TT-NN writes as JSON: names in alphabetical order, no spaces, members of enumerations as numbers."""

    __slots__ = ()

    def as_plain(self) -> Any:
        """Returns the value in the lists, dictionaries and numbers that JSON has."""
        raise NotImplementedError

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        """Returns the value of what :meth:`as_plain` gives."""
        raise NotImplementedError

    def to_json(self) -> str:
        return json.dumps(self.as_plain(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, json_string: str) -> Self:
        """Returns the value that :meth:`to_json` wrote.

        Raises:
            RuntimeError: the text is no JSON, or is not of this value.
        """
        try:
            return cls.of_plain(json.loads(json_string))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise RuntimeError(
                f"{cls.__name__}.from_json: {json_string[:200]!r} is no text of to_json ({problem})."
            ) from error
