"""Modules for several chips that are refused, each with a sentence that says what to do; and those for one chip."""

from __future__ import annotations

import re

import pytest

from tt_xla.compiler.sharding import localise
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.errors import CompileError

pytestmark = pytest.mark.quick

MESH = 'sdy.mesh @mesh = <["x"=4, "y"=2]>'
BODY = "%0 = stablehlo.negate %arg0 : tensor<8x8xf32>\n    return %0 : tensor<8x8xf32>"


def module(
    *,
    attributes: str = "mhlo.num_partitions = 8 : i32",
    meshes: str = MESH,
    argument: str = 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>',
    result: str = "",
    body: str = BODY,
) -> str:
    return f"""
module attributes {{{attributes}}} {{
  {meshes}
  func.func public @main(%arg0: tensor<8x8xf32> {{{argument}}}) -> (tensor<8x8xf32> {{{result}}}) {{
    {body}
  }}
}}
"""


def tiled(sharding: str) -> str:
    """Returns a module whose argument has a sharding of GSPMD's."""
    return module(meshes="", argument=f'mhlo.sharding = "{sharding}"')


def calling(target: str, attributes: str = "") -> str:
    """Returns a module with a custom call that has some attributes."""
    call = f"stablehlo.custom_call @{target}(%arg0) {{{attributes}}} : (tensor<8x8xf32>) -> tensor<8x8xf32>"
    return module(body=f"%0 = {call}\n    return %0 : tensor<8x8xf32>")


ENTER, LEAVE = "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"

REFUSED = {
    "more chips than there are": (module(), 4, "is for 8 chips, but the system has 4"),
    "an axis that is not there": (
        module(argument='sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>'),
        8,
        "(?i)z",
    ),
    "a mesh that is not there": (
        module(argument='sdy.sharding = #sdy.sharding<@other, [{"x"}, {}]>'),
        8,
        "(?i)other",
    ),
    "a sharding of another rank": (
        module(argument='sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>'),
        8,
        "(?i)rank",
    ),
    "an axis used twice": (
        module(argument='sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>'),
        8,
        "(?i)duplicate|twice",
    ),
    "meshes of different sizes": (
        module(attributes="", meshes='sdy.mesh @mesh = <["x"=4, "y"=2]>\n  sdy.mesh @other = <["x"=4]>'),
        8,
        "different numbers of devices: @mesh of 8, @other of 4",
    ),
    "a mesh of another size than the partitions": (
        module(attributes="mhlo.num_partitions = 4 : i32"),
        8,
        "different numbers of devices: @mesh of 8, and mhlo.num_partitions is 4",
    ),
    "meshes of which no axes are common": (
        module(
            attributes="mhlo.num_partitions = 6 : i32",
            meshes='sdy.mesh @mesh = <["x"=2, "y"=3]>\n  sdy.mesh @other = <["x"=3, "y"=2]>',
        ),
        8,
        "no mesh has axes for both",
    ),
    "a result on devices in an order of their own": (
        module(
            attributes="mhlo.num_partitions = 4 : i32",
            meshes='sdy.mesh @mesh = <["x"=4], device_ids=[0, 3, 1, 2]>',
            result='sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>',
        ),
        8,
        r"A result .* order \[0, 3, 1, 2\]. Only arguments may",
    ),
    "too many replicas": (module(attributes="mhlo.num_replicas = 16 : i32"), 8, "for 16 replicas"),
    "replicas of partitions": (
        module(attributes="mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 4 : i32"),
        8,
        "2 replicas .* of 4 partitions",
    ),
    "partitions that are no integer": (module(attributes='mhlo.num_partitions = "8"'), 8, "expected an integer"),
    "a string that is no sharding": (tiled("{devices=8}"), 8, "is not a sharding"),
    "a sharding that is no string": (module(meshes="", argument="mhlo.sharding = 8"), 8, "expected a string"),
    "tiles for other devices": (tiled("{devices=[4,4]<=[16]}"), 8, "is for 16 devices, but the module is for 8"),
    "tiles of another rank": (
        tiled("{devices=[8]<=[8]}"),
        8,
        "A sharding of 1 dimensions is on a tensor of type tensor<8x8xf32>",
    ),
    "devices named twice": (tiled("{devices=[8,1]0,1,2,3,4,5,6,6}"), 8, "is not a sharding"),
    "a device of more than 64 bits": (tiled("{devices=[8,1]0,1,2,3,4,5,6," + "9" * 30 + "}"), 8, "is not a sharding"),
    "a number of 5000 digits": (tiled("{devices=[8,1]<=[" + "9" * 5000 + "]}"), 8, "is not a sharding"),
    "a missing number of tiles": (tiled("{devices=[2,,4]<=[8]}"), 8, "is not a sharding"),
    "a missing number of devices": (tiled("{devices=[8,1]<=[,]}"), 8, "is not a sharding"),
    "a way into shard_map without a sharding": (calling("SPMDFullToShardShape"), 8, "has 0 shardings"),
    "a way out of shard_map without a sharding": (calling("SPMDShardToFullShape"), 8, "has 0 shardings"),
    "a way out of shard_map of another rank": (
        calling("SPMDShardToFullShape", 'mhlo.sharding = "{devices=[8]<=[8]}"'),
        8,
        "which is not one of its parts",
    ),
    "a way into a manual computation without shardings": (calling(ENTER), 8, r"in in_shardings, expected \[2\]"),
    "a way out of a manual computation without shardings": (calling(LEAVE), 8, r"in out_shardings, expected \[2\]"),
    "a way into a manual computation without manual axes": (
        calling(ENTER, "in_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>"),
        8,
        "does not list its manual axes",
    ),
    "manual axes that are a number": (
        calling(ENTER, "in_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, manual_axes = 3 : i32"),
        8,
        "does not list its manual axes",
    ),
    "a part of another shape": (
        calling(
            ENTER,
            'in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x"}>',
        ),
        8,
        r"split \[4, 1\] times along its dimensions, and for a part of shape \[8, 8\]",
    ),
    "a full tensor of another shape": (
        calling(
            LEAVE,
            'out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x"}>',
        ),
        8,
        r"split \[4, 1\] times along its dimensions, and for a part of shape \[8, 8\]",
    ),
    "a call of a missing function": (
        module(body="%0 = call @gone(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>\n return %0 : tensor<8x8xf32>"),
        8,
        "gone",
    ),
    "an unknown op": (
        module(body='%0 = "other.op"(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>\n return %0 : tensor<8x8xf32>'),
        8,
        r"cannot split other.op over chips: operand 0 of shape \[8, 8\] is split as \[x, -\]",
    ),
    "partial sums along an axis that is not there": (
        module(argument='sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"z"}>'),
        8,
        "z",
    ),
    "partial sums along an axis that splits the tensor": (
        module(argument='sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"x"}>'),
        8,
        "x",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    text, chips, message = REFUSED[case]
    with pytest.raises(CompileError) as caught:
        localise(parse_module(text), chips)
    assert re.search(message, str(caught.value))


def test_cyclic_calls_are_refused() -> None:
    text = module(body="%0 = call @f(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>\n return %0 : tensor<8x8xf32>")
    text = text.rstrip()[:-1] + (
        "func.func private @f(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {\n"
        "  %0 = call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>\n  return %0 : tensor<8x8xf32>\n}\n}"
    )
    with pytest.raises(CompileError, match="call each other in a cycle"):
        localise(parse_module(text), 8)


def test_a_composite_within_itself_is_refused() -> None:
    composite = """stablehlo.composite "tests.norm" %arg0 {decomposition = @norm}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>"""
    text = module(body=f"%0 = {composite}").rstrip()[:-1] + (
        f"func.func private @norm(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {{\n  %0 = {composite}\n}}\n}}"
    )
    with pytest.raises(CompileError, match="@norm contain each other in a cycle"):
        localise(parse_module(text), 8)


ONE_CHIP = {
    "plain": module(attributes="", meshes="", argument=""),
    "one partition": module(attributes="mhlo.num_partitions = 1 : i32", meshes="", argument=""),
    "a mesh of one chip": module(attributes="", meshes='sdy.mesh @mesh = <["x"=1]>'),
    "a mesh of no axes": module(attributes="", meshes="sdy.mesh @mesh = <[]>", argument=""),
}


@pytest.mark.parametrize("case", ONE_CHIP)
def test_for_one_chip(case: str) -> None:
    assert localise(parse_module(ONE_CHIP[case]), 8) is None


def test_the_module_is_left_unchanged() -> None:
    source = parse_module(module())
    before = str(source)
    localised = localise(source, 8)
    assert localised is not None
    assert str(source) == before
    assert localised.mesh.shape == (4, 2)
    assert "tensor<2x8xf32>" in str(localised.module)


def test_meshes_without_a_number_of_partitions() -> None:
    localised = localise(parse_module(module(attributes="")), 8)
    assert localised is not None
    assert localised.mesh.axes == ("x", "y")
    assert [sharding.dims for sharding, _ in localised.arguments] == [((0,), ())]


def test_transposed_devices_become_digits() -> None:
    meshes = 'sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>'
    localised = localise(parse_module(module(meshes=meshes)), 8)
    assert localised is not None
    assert localised.mesh.shape == (4, 2)
    assert [sharding.dims for sharding, _ in localised.arguments] == [((1,), ())]


def test_a_part_of_an_axis_becomes_an_axis() -> None:
    argument = 'sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"x":(2)2, "y"}]>'
    localised = localise(parse_module(module(argument=argument)), 8)
    assert localised is not None
    assert localised.mesh.shape == (2, 2, 2)
    assert localised.arguments[0][0].dims == ((0,), (1, 2))


ALONE = {
    "tiles": module(attributes="", meshes="", argument='mhlo.sharding = "{devices=[4,2]<=[8]}"'),
    "a mesh within": module(
        attributes="", meshes="", argument='sdy.sharding = #sdy.sharding<mesh<["x"=4, "y"=2]>, [{"x"}, {"y"}]>'
    ),
}


@pytest.mark.parametrize("case", ALONE)
def test_a_sharding_alone_says_the_number_of_chips(case: str) -> None:
    localised = localise(parse_module(ALONE[case]), 8)
    assert localised is not None
    assert localised.mesh.shape == (4, 2)
    assert localised.arguments[0][0].dims == ((0,), (1,))


@pytest.mark.parametrize("groups", ["dense<0> : tensor<1x1xi64>", "dense<> : tensor<0x0xi64>"])
@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        ("", f"{[[chip] for chip in range(8)]}"),
        ("channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>,", f"{[[chip] for chip in range(8)]}"),
        ("channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,", f"{[[*range(8)]]}"),
    ],
)
def test_the_one_replica_is_all_partitions_with_a_channel_and_else_every_chip_by_itself(
    groups: str, channel: str, expected: str
) -> None:
    body = f"""%0 = "stablehlo.all_reduce"(%arg0) <{{{channel} replica_groups = {groups}}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>"""
    localised = localise(parse_module(module(body=body)), 8)
    assert localised is not None
    assert f"dense<{expected}>" in str(localised.module)


@pytest.mark.parametrize(
    ("channel", "groups", "expected"),
    [
        (0, "dense<0> : tensor<1x1xi64>", "[[0], [1], [2], [3], [4], [5], [6], [7]]"),
        (1, "dense<0> : tensor<1x1xi64>", "0"),
        (1, "dense<> : tensor<0x0xi64>", "[[0, 1, 2, 3, 4, 5, 6, 7]]"),
    ],
)
def test_a_broadcast_with_a_channel_is_between_partitions(channel: int, groups: str, expected: str) -> None:
    handle = f"channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 0>"
    body = f"""%0 = "stablehlo.collective_broadcast"(%arg0) <{{{handle}, replica_groups = {groups}}}>
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>"""
    localised = localise(parse_module(module(body=body)), 8)
    assert localised is not None
    assert f"dense<{expected}>" in str(localised.module)
