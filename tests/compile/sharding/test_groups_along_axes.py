"""Collectives whose ``replica_groups`` are axes of a mesh, as JAX 0.12 writes them, instead of a table of ids."""

from __future__ import annotations

import re

import pytest
from jaxlib.mlir.dialects import stablehlo

from tt_xla.compiler import compile_module
from tt_xla.compiler.sharding import localise
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.errors import CompileError, MalformedModuleError
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

pytestmark = [
    pytest.mark.quick,
    pytest.mark.skipif(
        not hasattr(stablehlo, "ReplicaGroupMeshAxesAttr"), reason="StableHLO of JAX 0.7 has no groups along axes"
    ),
]

NAMED = "@mesh"
AXES = ", ".join(f'#stablehlo.mesh_axis<name = "{name}", size = {size}>' for name, size in (("x", 2), ("y", 4)))
IN_LINE = f"#stablehlo.mesh<axes = [{AXES}]>"
BY_COLUMNS = IN_LINE.replace("]>", "], device_ids = dense<[0, 2, 4, 6, 1, 3, 5, 7]> : tensor<8xi64>>")


def axes(*names: str) -> str:
    """Returns the axes of groups; ``y(2)2`` is a part of axis ``y``."""
    refs = []
    for name in names:
        part = f", sub_axis_info = {name[1:]}" if name[1:] else ""
        refs.append(f'#stablehlo.axis_ref<name = "{name[0]}"{part}>')
    return ", ".join(refs)


def module(mesh: str, along: str, attributes: str = "mhlo.num_partitions = 8 : i32", declared: bool = True) -> str:
    """Returns a module that gathers an argument in groups along axes of a mesh."""
    groups = f"#stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [{along}]>"
    return f"""
module attributes {{{attributes}}} {{
  {'sdy.mesh @mesh = <["x"=2, "y"=4]>' if declared else ""}
  func.func public @main(%arg0: tensor<8x8xf32>) -> tensor<?x8xf32> {{
    %0 = "stablehlo.all_gather"(%arg0) <{{all_gather_dim = 0 : i64, replica_groups = {groups},
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}>
      : (tensor<8x8xf32>) -> tensor<?x8xf32>
    return %0 : tensor<?x8xf32>
  }}
}}
"""


def sized(text: str, chips: int) -> str:
    """Returns a module with the number of rows that chips of one group gather."""
    return text.replace("?", str(8 * chips))


@pytest.mark.parametrize(
    ("mesh", "along", "expected"),
    [
        (NAMED, axes("x"), "[[0, 4], [1, 5], [2, 6], [3, 7]]"),
        (IN_LINE, axes("x"), "[[0, 4], [1, 5], [2, 6], [3, 7]]"),
        (IN_LINE, axes("y"), "[[0, 1, 2, 3], [4, 5, 6, 7]]"),
        (IN_LINE, axes("x", "y"), "[[0, 1, 2, 3, 4, 5, 6, 7]]"),
        (IN_LINE, axes("y", "x"), "[[0, 4, 1, 5, 2, 6, 3, 7]]"),
        (NAMED, axes("y(1)2"), "[[0, 2], [1, 3], [4, 6], [5, 7]]"),
        (NAMED, axes("y(2)2"), "[[0, 1], [2, 3], [4, 5], [6, 7]]"),
        (NAMED, axes("y(2)2", "x"), "[[0, 4, 1, 5], [2, 6, 3, 7]]"),
        (BY_COLUMNS, axes("y"), "[[0, 2, 4, 6], [1, 3, 5, 7]]"),
        (NAMED, axes(), "[[0], [1], [2], [3], [4], [5], [6], [7]]"),
    ],
)
def test_groups_become_tables_of_positions(mesh: str, along: str, expected: str) -> None:
    chips = expected.split("]")[0].count(",") + 1
    localised = localise(parse_module(sized(module(mesh, along), chips)), 8)
    assert localised is not None
    assert f"replica_groups = dense<{expected}>" in str(localised.module)


@pytest.mark.parametrize("along", [axes("z"), axes("x", "x"), axes("y(3)2"), axes("y(1)0"), axes("y(4)2")])
def test_axes_that_the_mesh_does_not_have_are_named(along: str) -> None:
    with pytest.raises(MalformedModuleError, match=re.escape("expected axes of a mesh with the axes {'x': 2, 'y': 4}")):
        localise(parse_module(sized(module(NAMED, along), 2)), 8)


def test_a_mesh_that_no_memory_holds_is_refused() -> None:
    mesh = IN_LINE.replace("size = 4", "size = 1099511627776")
    with pytest.raises(MalformedModuleError, match="a mesh of 2199023255552 chips, expected at most 65536"):
        localise(parse_module(sized(module(mesh, axes("x")), 2)), 8)


def test_a_module_for_one_chip_has_groups_of_one() -> None:
    options, target = CompileOptions.parse(), load_target("n150")
    one = IN_LINE.replace("size = 2", "size = 1").replace("size = 4", "size = 1")
    program = compile_module(parse_module(sized(module(one, axes("x"), "", declared=False), 1)), options, target)
    assert [step.op for function in program.functions for step in function.body if "gather" in step.op] == []
    with pytest.raises(CompileError, match="all_gather over groups of 2 devices"):
        compile_module(parse_module(sized(module(IN_LINE, axes("x"), "", declared=False), 2)), options, target)
