"""Modules for several devices are refused; annotations about the one device and about parameters are understood."""

from __future__ import annotations

import pytest

from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import CompileError, MalformedModuleError
from tt_xla.ir.program import ARGUMENT_MARK, Program, Role
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

pytestmark = [pytest.mark.usefixtures("golden_programs"), pytest.mark.quick]


def compiled(source: str) -> Program:
    return compile_module(parse_module(source), CompileOptions.parse(), load_target("n150"))


def module(body: str, attributes: str = "", argument: str = "", result: str = "", before: str = "") -> str:
    return f"""
module attributes {{{attributes}}} {{
  {before}
  func.func public @main(%x: tensor<4x4xf32> {{{argument}}}) -> (tensor<4x4xf32> {{{result}}}) {{
    %0 = stablehlo.sine %x : tensor<4x4xf32>
    {body}
    return %1 : tensor<4x4xf32>
  }}
}}"""


KEEP = "%1 = stablehlo.tanh %0 : tensor<4x4xf32>"


def mesh(size: int) -> str:
    return f'sdy.mesh @mesh = <["x"=1, "y"={size}]>'


def sharding_call(sharding: str) -> str:
    return (
        f'%1 = stablehlo.custom_call @Sharding(%0) {{backend_config = "", mhlo.sharding = "{sharding}"}} '
        ": (tensor<4x4xf32>) -> tensor<4x4xf32>"
    )


def all_reduce(groups: str) -> str:
    return f"""%1 = "stablehlo.all_reduce"(%0) <{{replica_groups = dense<{groups}}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<4x4xf32>) -> tensor<4x4xf32>"""


def permute(pairs: str) -> str:
    return (
        f'%1 = "stablehlo.collective_permute"(%0) <{{source_target_pairs = dense<{pairs}}}> '
        ": (tensor<4x4xf32>) -> tensor<4x4xf32>"
    )


def constraint(size: int) -> str:
    return f'%1 = sdy.sharding_constraint %0 <mesh<["x"={size}]>, [{{"x"}}, {{}}]> : tensor<4x4xf32>'


SPLIT = 'sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}, {}]>'
MESHES_AS_TEXT = 'mhlo.frontend_attributes = {{xla.sdy.meshes = "{{mesh = #sdy.mesh<[\\22x\\22={}]>}}"}}'

SEVERAL = {
    "custom call": (module(sharding_call("{devices=[1,2]<=[2]}")), r"the sharding of a stablehlo\.custom_call"),
    "constraint": (module(constraint(2)), r"the sharding of a sdy\.sharding_constraint"),
    "copies": (
        module(sharding_call("{devices=[1,1,2]<=[2] last_tile_dim_replicate}")),
        r"the sharding of a stablehlo\.custom_call",
    ),
    "all_reduce": (
        module(all_reduce("[[0, 1]]> : tensor<1x2xi64>")),
        r"stablehlo\.all_reduce over groups of 2 devices",
    ),
    "collective_permute": (
        module(permute("[[0, 1], [1, 0]]> : tensor<2x2xi64>")),
        r"stablehlo\.collective_permute between devices \[\[0, 1\]",
    ),
}


TOO_MANY = {
    "partitions": (module(KEEP, "mhlo.num_partitions = 2 : i32"), r"for 2 chips, but the system has 1"),
    "replicas": (
        module(KEEP, "mhlo.num_replicas = 4 : i32"),
        r"for 4 replicas \(mhlo\.num_replicas\), but the system has 1",
    ),
    "mesh": (module(KEEP, before=mesh(2)), r"for 2 chips, but the system has 1"),
    "mesh as text": (module(KEEP, MESHES_AS_TEXT.format(2)), r"for 2 chips, but the system has 1"),
    "argument, GSPMD": (module(KEEP, argument='mhlo.sharding = "{devices=[2,1]<=[2]}"'), "for 2 chips, but"),
    "argument, Shardy": (module(KEEP, argument=SPLIT), "for 2 chips, but the system has 1"),
    "result, Shardy": (module(KEEP, result=SPLIT), "for 2 chips, but the system has 1"),
}


@pytest.mark.parametrize("name", TOO_MANY)
def test_a_module_for_more_chips_than_the_system_has_is_refused(name: str) -> None:
    source, message = TOO_MANY[name]
    with pytest.raises(CompileError, match=message):
        compiled(source)


@pytest.mark.parametrize("name", SEVERAL)
def test_a_module_for_several_devices_is_refused(name: str) -> None:
    source, request = SEVERAL[name]
    with pytest.raises(
        CompileError, match=rf"for several devices \({request}.*compiles programs for one chip"
    ) as caught:
        compiled(source)
    assert "mesh of size 1" in caught.value.hint


ONE = {
    "counts": module(KEEP, "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32"),
    "mesh": module(KEEP, before=mesh(1)),
    "mesh as text": module(KEEP, MESHES_AS_TEXT.format(1)),
    "argument": module(KEEP, argument='mhlo.sharding = "{devices=[1,1]<=[1]}"'),
    "replicated": module(KEEP, argument='mhlo.sharding = "{replicated}"'),
    "group": module(f"sdy.sharding_group %0 group_id=0 : tensor<4x4xf32>\n{KEEP}"),
}
DROPPED = {
    "custom call": module(sharding_call("{maximal device=0}")),
    "constraint": module(constraint(1)),
}


def device_ops(program: Program) -> list[str]:
    names = [instruction.op for instruction in program.functions[0].body]
    return [name for name in names if name in ("ttnn.sin", "ttnn.tanh")]


@pytest.mark.parametrize("name", ONE)
def test_a_module_for_one_device_compiles(name: str) -> None:
    program = compiled(ONE[name])
    assert device_ops(program) == ["ttnn.sin", "ttnn.tanh"]
    assert not program.host_ops


@pytest.mark.parametrize("name", DROPPED)
def test_a_sharding_over_one_device_costs_nothing(name: str) -> None:
    program = compiled(DROPPED[name])
    assert device_ops(program) == ["ttnn.sin"]
    assert not program.host_ops


@pytest.mark.parametrize(
    "body", [all_reduce("[[0]]> : tensor<1x1xi64>"), permute("[[0, 0]]> : tensor<1x2xi64>")], ids=["reduce", "permute"]
)
def test_collectives_over_one_device_are_no_work(body: str) -> None:
    program = compiled(module(body))
    assert not program.host_ops
    assert device_ops(program) == ["ttnn.sin"]


MARKED = """
func.func public @main(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.custom_call @tt.mark_argument(%a) {backend_config = "layer.w"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.custom_call @tt.mark_argument(%b) {backend_config = "layer.w"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x4xf32>
  %3 = stablehlo.add %2, %c : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}"""


def test_marked_arguments_are_parameters() -> None:
    """The module is what ``tt_jax.mark_parameters`` leaves in a lowered function."""
    program = compiled(MARKED)
    assert [(argument.name, argument.role) for argument in program.arguments] == [
        ("layer.w", Role.PARAMETER),
        ("layer.w.1", Role.PARAMETER),
        ("arg2", Role.INPUT),
    ]
    assert not program.host_ops


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('mhlo.num_replicas = "two"', 'mhlo.num_replicas is "two", expected an integer'),
        ('mhlo.num_replicas = loc("here")', "mhlo.num_replicas is a location, expected an integer"),
        ("mhlo.frontend_attributes = 5 : i32", "mhlo.frontend_attributes is 5 : i32, expected a dictionary"),
        ("mhlo.frontend_attributes = {xla.sdy.meshes = 5 : i32}", "xla.sdy.meshes is 5 : i32, expected a string"),
    ],
)
def test_attributes_of_another_kind_are_malformed(attributes, message):
    with pytest.raises(MalformedModuleError, match=message):
        compiled(module(KEEP, attributes))


def test_a_mark_without_a_name_leaves_the_argument_its_own() -> None:
    mark = f"%1 = stablehlo.custom_call @{ARGUMENT_MARK}(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>"
    (argument,) = compiled(module(mark)).arguments
    assert (argument.name, argument.role) == ("arg0", Role.PARAMETER)
