"""Writes abi.py from a copy of the PJRT C header.

    python -m tt_xla.frontends.jax.pjrt.generate_abi path/to/pjrt_c_api.h

The header is openxla/xla's ``xla/pjrt/c/pjrt_c_api.h``; tenstorrent/tt-xla keeps the copy used here, version 0.114, in
``third_party/pjrt_c_api``. Only facts are kept: names, order and types of fields, and the order of the slots.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

USED_ENUMS = ("PJRT_Error_Code", "PJRT_NamedValue_Type", "PJRT_Buffer_Type")
OUTPUT = Path(__file__).with_name("abi.py")
SCALARS = {"size_t": "size", "int": "int", "int32_t": "int", "int64_t": "int64", "uint64_t": "uint64", "bool": "bool"}
SCALARS |= {"float": "float", "intptr_t": "int64"}

HEADER = '''"""The structs of the PJRT C API, version {major}.{minor}. Made by generate_abi.py; do not edit.

Each struct lists its fields in order as ``name:type``, separated by spaces. A type is a key of ``structs.TYPES`` or the
name of a struct held by value; every pointer is ``pointer``; ``head`` stands for ``struct_size:size
extension_start:pointer``. The callee sets the fields marked ``!``.

Source: openxla/xla, xla/pjrt/c/pjrt_c_api.h (Apache-2.0).
"""

from __future__ import annotations

VERSION = ({major}, {minor})
'''


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    text = Path(sys.argv[1]).read_text()
    version = {part: re.search(rf"#define PJRT_API_{part.upper()} (\d+)", text)[1] for part in ("major", "minor")}
    outs = re.sub(r"//\s*(?:in/)?out\b[^\n]*", "@out", text)
    plain = re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", "", outs, flags=re.S))
    lines = [HEADER.format(**version)]
    lines += ["ENUMS: dict[str, dict[str, int]] = {"]
    for name, members in enums(plain):
        if name in USED_ENUMS:
            lines.append(f'    "{name}": {{')
            lines += [f'        "{member}": {value},' for member, value in members]
            lines.append("    },")
    lines += ["}", "", "STRUCTS: dict[str, str] = {"]
    for name, fields in structs(plain, [name for name, _ in enums(plain)]):
        text = " ".join(fields).replace("struct_size:size extension_start:pointer", "head")
        rows = textwrap.wrap(text, 104 if len(name) + len(text) > 109 and len(text) > 104 else 109)
        rows = [row + " " for row in rows[:-1]] + rows[-1:]
        if len(name) + len(text) <= 109:
            lines.append(f'    "{name}": "{text}",')
        else:
            lines += [f'    "{name}": (', *(f'        "{row}"' for row in rows), "    ),"]
    slots = re.findall(r"_PJRT_API_STRUCT_FIELD\(\s*(\w+)\s*\);", plain)
    lines += ["}", "", "SLOTS: tuple[str, ...] = ("]
    lines += [f'    "{slot}",' for slot in slots]
    lines += [")", '"""The functions of ``PJRT_Api``, in order."""', ""]
    OUTPUT.write_text("\n".join(lines))


def enums(text: str) -> list[tuple[str, list[tuple[str, int]]]]:
    parsed = []
    for body, name in re.findall(r"typedef enum \{(.*?)\}\s*(\w+);", text, flags=re.S):
        members, value = [], -1
        for member in filter(None, (part.strip() for part in body.replace("@out", "").split(","))):
            key, _, number = (part.strip() for part in member.partition("="))
            value = int(number) if number else value + 1
            members.append((key.removeprefix(name + "_"), value))
        parsed.append((name, members))
    return parsed


def structs(text: str, enum_names: list[str]) -> list[tuple[str, list[str]]]:
    parsed: list[tuple[str, list[str]]] = []
    for match in re.finditer(r"(?:typedef )?struct (\w+) \{", text):
        if match[1] == "PJRT_Api":
            continue
        body = text[match.end() : closing(text, match.end())]
        union = re.search(r"union \{(.*?)\};", body, flags=re.S)
        if union:
            # Only the size of a union matters, because it decides the offsets of the fields after it.
            first = union[1].strip().split()[0]
            body = body.replace(union[0], f"{first} value;" if first.startswith("PJRT") else "void *value;")
        known = [name for name, _ in parsed]
        parsed.append(
            (match[1], [field for field in (describe(part, known, enum_names) for part in split(body)) if field])
        )
    return parsed


def closing(text: str, start: int) -> int:
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if not depth:
            return position
    raise ValueError("the header ends inside a struct: no closing brace")


def split(body: str) -> list[str]:
    """Splits a struct body into declarations, each with the mark that follows it on the same line."""
    return [" ".join(part.split()) for part in re.findall(r"[^;]+;(?:[ \t]*@out)?", body)]


def describe(declaration: str, known: list[str], enum_names: list[str]) -> str:
    mark = "!" if "@out" in declaration.split(";")[1] else ""
    text = declaration.split(";")[0].replace("@out", "").replace("const ", "").replace("struct ", "").strip()
    pointer_to_function = re.search(r"\(\*(\w+)\)", text)
    if pointer_to_function:
        return f"{pointer_to_function[1]}:pointer{mark}"
    name = re.search(r"(\w+)$", text)
    assert name, declaration
    kind = text[: name.start()].strip()
    if "*" in text:
        return f"{name[1]}:pointer{mark}"
    if kind in SCALARS:
        return f"{name[1]}:{SCALARS[kind]}{mark}"
    if kind in enum_names:
        return f"{name[1]}:int{mark}"
    if kind in known:
        return f"{name[1]}:{kind}{mark}"
    return f"{name[1]}:pointer{mark}"  # a typedef of a function pointer


if __name__ == "__main__":
    main()
