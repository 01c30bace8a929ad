"""Serialised executables, and the description of the system that they are compiled for."""

import json
import os
from dataclasses import fields
from pathlib import Path

from tt_xla.environment import is_compile_only
from tt_xla.frontends.executables import parse_executable


def save_system_descriptor_to_disk(output_prefix: str | os.PathLike[str], as_json: bool = False) -> None:
    """Writes the facts of the selected system to ``<output_prefix>_system_desc.json``.

    Raises:
        NotImplementedError: ``as_json`` is False; only upstream's own tools read its binary descriptor.
    """
    from tt_xla.environment import selected_system
    from tt_xla.target import load_target

    if not as_json:
        raise NotImplementedError(
            "save_system_descriptor_to_disk(as_json=False) would write upstream's binary format, which is not "
            "supported. Use as_json=True."
        )
    path = Path(f"{os.fspath(output_prefix)}_system_desc.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    target = load_target(selected_system())
    facts = {field.name: getattr(target, field.name) for field in fields(target)}
    path.write_text(json.dumps(facts, indent=2, default=dict))


__all__ = ["is_compile_only", "parse_executable", "save_system_descriptor_to_disk"]
