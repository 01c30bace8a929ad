"""The structs have the same sizes and offsets as in C, and the table fills every slot."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import pytest

from tt_xla.frontends.jax.pjrt import generate_abi
from tt_xla.frontends.jax.pjrt.abi import STRUCTS
from tt_xla.frontends.jax.pjrt.answers import CAPACITY, Answers, answered_by
from tt_xla.frontends.jax.pjrt.structs import SLOTS, VERSION, arguments, fields, struct

C_TYPES = {
    "size": "size_t",
    "int": "int",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "bool": "bool",
    "float": "float",
    "pointer": "void *",
}
SIZES_OF_THE_HEADER = {
    # Sizes of structs in the header of version 0.114, from gcc 12 on x86-64.
    "PJRT_Api": 1144,
    "PJRT_Device_MemoryStats_Args": 208,
    "PJRT_ExecuteOptions": 144,
    "PJRT_LoadedExecutable_Execute_Args": 80,
    "PJRT_Buffer_IsDeleted_Args": 32,
    "PJRT_NamedValue": 56,
}


KNOWN = (["PJRT_NamedValue"], ["PJRT_Error_Code"])
"""Names of structs and of enums that stand before a declaration."""

SUM_OVER_THE_HEADER = 112136
"""Sum of the sizes of all structs and the offsets of all their fields, by the same compiler."""


@pytest.mark.parametrize(
    ("declaration", "field"),
    [
        ("size_t struct_size", "struct_size:size"),
        ("const char* name; @out", "name:pointer!"),
        ("PJRT_Event* const* events", "events:pointer"),
        ("PJRT_Error_Code code; @out", "code:int!"),
        ("struct PJRT_NamedValue option", "option:PJRT_NamedValue"),
        ("int64_t value", "value:int64"),
        ("void (*deleter)(void* data)", "deleter:pointer"),
        ("PJRT_Callback callback", "callback:pointer"),
    ],
)
def test_fields_of_the_header(declaration: str, field: str):
    described = generate_abi.describe(f"{declaration};" if ";" not in declaration else declaration, *KNOWN)
    assert described == field


def test_enums_and_structs_of_the_header():
    text = """
    typedef enum { PJRT_Kind_A, PJRT_Kind_B = 4, PJRT_Kind_C, } PJRT_Kind;
    struct PJRT_Args { size_t struct_size; PJRT_Kind kind; @out };
    typedef struct PJRT_Outer { struct PJRT_Args inner; union { int64_t a; float b; }; bool last; } PJRT_Outer;
    """
    assert generate_abi.enums(text) == [("PJRT_Kind", [("A", 0), ("B", 4), ("C", 5)])]
    assert generate_abi.structs(text, ["PJRT_Kind"]) == [
        ("PJRT_Args", ["struct_size:size", "kind:int!"]),
        ("PJRT_Outer", ["inner:PJRT_Args", "value:pointer", "last:bool"]),
    ]


def test_every_slot_has_a_struct_for_its_arguments():
    assert VERSION == (0, 114)
    assert len(SLOTS) == 138 <= CAPACITY
    assert [slot for slot in SLOTS if f"{slot}_Args" not in STRUCTS] == []


def test_sizes_are_those_of_the_header():
    assert {name: ctypes.sizeof(struct(name)) for name in SIZES_OF_THE_HEADER} == SIZES_OF_THE_HEADER
    total = 0
    for name in [*STRUCTS, "PJRT_Api"]:
        total += ctypes.sizeof(struct(name)) + sum(getattr(struct(name), field).offset for field, _ in fields(name))
    assert total == SUM_OVER_THE_HEADER


def test_layout_is_what_a_c_compiler_makes_of_the_same_fields(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    names = [*STRUCTS, "PJRT_Api"]
    lines = ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>", "#include <stdio.h>"]
    for name in names:
        declared = (f"{C_TYPES.get(type_, f'struct {type_}')} {field};" for field, type_ in fields(name))
        lines.append(f"struct {name} {{ {' '.join(declared)} }};")
    lines.append("int main(void) {")
    for name in names:
        lines.append(f'printf("{name} %zu", sizeof(struct {name}));')
        lines += [f'printf(" %zu", offsetof(struct {name}, {field}));' for field, _ in fields(name)]
        lines.append('printf("\\n");')
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text("\n".join([*lines, "return 0; }"]))
    subprocess.run([compiler, "-o", program, source], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    for line in printed.splitlines():
        name, size, *offsets = line.split()
        struct_class = struct(name)
        assert int(size) == ctypes.sizeof(struct_class), name
        assert [int(offset) for offset in offsets] == [
            getattr(struct_class, field).offset for field, _ in fields(name)
        ], name


def test_an_answer_is_what_follows_the_handle():
    packed = Answers().set("PJRT_Memory_Id", id=7).set("PJRT_Memory_Kind", kind="device").pack()
    offsets = memoryview(packed[: 2 * (CAPACITY + 1)]).cast("H")
    number = SLOTS.index("PJRT_Memory_Id")
    answer = packed[offsets[number] : offsets[number + 1]]
    assert answer == bytes(arguments("PJRT_Memory_Id")(id=7))[24:]
    nothing = SLOTS.index("PJRT_Memory_ToString")
    assert offsets[nothing] == offsets[nothing + 1]
    assert offsets[CAPACITY] == len(packed)


def test_only_queries_about_a_handle_read_one():
    for slot in SLOTS:
        third = fields(f"{slot}_Args")[2:3]
        if answered_by(slot) == 1:
            assert third[0][1] == "pointer", slot
