"""Programs with partial sums, as text, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from tt_xla.compiler.mlir_context import context

HEAD = 'sdy.mesh @mesh = <["x"=2, "y"=4]>\n'
F, INTEGERS = "tensor<8x4xf32>", "tensor<8x4xi32>"
UX, UY, UXY = ('unreduced={"x"}', 'unreduced={"y"}', 'unreduced={"x", "y"}')


@dataclass(frozen=True)
class Case:
    body: str
    """Body of a function of one tensor 8x4 and one tensor 4x8."""
    expected: Callable[[Any, Any], Any]
    result: str
    """Sharding of the result."""
    collectives: tuple[str, ...] = ()
    """Kinds of collectives in the module of one chip, sorted."""
    a: str = "[{}, {}]"
    """Sharding of the first argument."""
    b: str = "[{}, {}]"
    type: str = F
    """Type of the result."""


def constraint(value: str, sharding: str, type_: str = F) -> str:
    return f"sdy.sharding_constraint {value} <@mesh, {sharding}> : {type_}"


DOT = """%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>)
  -> tensor<8x8xf32>
"""
SUM = """%zero = stablehlo.constant dense<0.0> : tensor<f32>
%0 = stablehlo.reduce(%a init: {init}) applies stablehlo.add across dimensions = [1]
  : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
"""
SCATTER = """%zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
%i = stablehlo.constant dense<[[1], [1], [0], [1], [7], [7], [2], [3]]> : tensor<8x1xi32>
%0 = "stablehlo.scatter"(%zeros, %i, %a) <{indices_are_sorted = false, unique_indices = false,
  scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
  scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
^bb0(%p: tensor<f32>, %q: tensor<f32>):
  %s = stablehlo.add %p, %q : tensor<f32>
  stablehlo.return %s : tensor<f32>
}) : (tensor<8x4xf32>, tensor<8x1xi32>, tensor<8x4xf32>) -> tensor<8x4xf32>
"""
LOOP = f"""%n = stablehlo.constant dense<0> : tensor<i32>
%three = stablehlo.constant dense<3> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%w:2 = stablehlo.while(%k = %n, %c = %a) : tensor<i32>, {F}
  cond {{
    %p = stablehlo.compare LT, %k, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %next = stablehlo.add %k, %one : tensor<i32>
    %d = stablehlo.add %c, %a : {F}
    %e = {constraint("%d", '[{"x"}, {}], ' + UY)}
    stablehlo.return %next, %e : tensor<i32>, {F}
  }}
%r = stablehlo.negate %w#1 : {F}
return %r : {F}"""
BRANCHES = f"""%p = stablehlo.constant dense<1> : tensor<i32>
%0 = "stablehlo.case"(%p) ({{
  stablehlo.return %a : {F}
}}, {{
  %d = stablehlo.add %a, %a : {F}
  %e = {constraint("%d", "[{}, {}], " + UY)}
  stablehlo.return %e : {F}
}}) : (tensor<i32>) -> {F}
return %0 : {F}"""


def _scattered(a: Any) -> Any:
    result = np.zeros((8, 4), np.float32)
    np.add.at(result, [1, 1, 0, 1, 7, 7, 2, 3], a)
    return result


def elementwise(op: str, result: str, other: str = "%a") -> str:
    return f"%0 = stablehlo.{op} %a, {other} : {F}\n%1 = {constraint('%0', result)}\nreturn %1 : {F}"


CASES = {
    "argument to whole": Case(f"return %a : {F}", lambda a, b: a, "[{}, {}]", ("all_reduce",), a=f"[{{}}, {{}}], {UY}"),
    "argument to split": Case(
        f"return %a : {F}", lambda a, b: a, '[{"x"}, {"y"}]', ("reduce_scatter",), a=f'[{{"x"}}, {{}}], {UY}'
    ),
    "two axes to one": Case(
        f"return %a : {F}", lambda a, b: a, f"[{{}}, {{}}], {UX}", ("all_reduce",), a=f"[{{}}, {{}}], {UXY}"
    ),
    "another axis": Case(
        f"return %a : {F}", lambda a, b: a, f"[{{}}, {{}}], {UX}", ("all_reduce",), a=f"[{{}}, {{}}], {UY}"
    ),
    "whole to sums": Case(f"return %a : {F}", lambda a, b: a, f"[{{}}, {{}}], {UXY}"),
    "split to sums": Case(f"return %a : {F}", lambda a, b: a, f'[{{"x"}}, {{}}], {UY}', a='[{"x"}, {"y"}]'),
    "minor part to sums": Case(f"return %a : {F}", lambda a, b: a, f'[{{"x"}}, {{}}], {UY}', a='[{"x", "y"}, {}]'),
    "major part to sums": Case(
        f"return %a : {F}", lambda a, b: a, f'[{{"y"}}, {{}}], {UX}', ("all_gather",), a='[{"x", "y"}, {}]'
    ),
    "uneven part to sums": Case(
        "%0 = stablehlo.slice %a [0:7, 0:4] : (tensor<8x4xf32>) -> tensor<7x4xf32>\n"
        + "%1 = "
        + constraint("%0", '[{"y"}, {}]', "tensor<7x4xf32>")
        + "\nreturn %1 : tensor<7x4xf32>",
        lambda a, b: a[:7],
        f"[{{}}, {{}}], {UY}",
        type="tensor<7x4xf32>",
    ),
    "sum of both": Case(
        elementwise("add", f"[{{}}, {{}}], {UY}"), lambda a, b: a + a, f"[{{}}, {{}}], {UY}", a=f"[{{}}, {{}}], {UY}"
    ),
    "sum with a constant": Case(
        f"%c = stablehlo.constant dense<3.0> : {F}\n" + elementwise("add", f"[{{}}, {{}}], {UY}", "%c"),
        lambda a, b: a + 3,
        f"[{{}}, {{}}], {UY}",
        a=f"[{{}}, {{}}], {UY}",
    ),
    "product with a constant": Case(
        f"%c = stablehlo.constant dense<3.0> : {F}\n" + elementwise("multiply", f"[{{}}, {{}}], {UY}", "%c"),
        lambda a, b: a * 3,
        f"[{{}}, {{}}], {UY}",
        a=f"[{{}}, {{}}], {UY}",
    ),
    "product of both": Case(
        elementwise("multiply", f"[{{}}, {{}}], {UY}"),
        lambda a, b: a * a,
        f"[{{}}, {{}}], {UY}",
        ("all_reduce",),
        a=f"[{{}}, {{}}], {UY}",
    ),
    "maximum, which is not linear": Case(
        f"%c = stablehlo.constant dense<3.0> : {F}\n" + elementwise("maximum", f"[{{}}, {{}}], {UY}", "%c"),
        lambda a, b: np.maximum(a, 3),
        f"[{{}}, {{}}], {UY}",
        ("all_reduce",),
        a=f"[{{}}, {{}}], {UY}",
    ),
    "quotient of floats": Case(
        f"%c = stablehlo.constant dense<2.0> : {F}\n" + elementwise("divide", f"[{{}}, {{}}], {UY}", "%c"),
        lambda a, b: a / 2,
        f"[{{}}, {{}}], {UY}",
        a=f"[{{}}, {{}}], {UY}",
    ),
    "quotient of integers, which is rounded": Case(
        f"%n = stablehlo.convert %a : ({F}) -> {INTEGERS}\n%i = {constraint('%n', '[{}, {}], ' + UY, INTEGERS)}\n"
        f"%c = stablehlo.constant dense<2> : {INTEGERS}\n"
        f"%q = stablehlo.divide %i, %c : {INTEGERS}\n%0 = {constraint('%q', '[{}, {}], ' + UY, INTEGERS)}\n"
        f"%1 = stablehlo.convert %0 : ({INTEGERS}) -> {F}\nreturn %1 : {F}",
        lambda a, b: np.trunc(a / 2),
        f"[{{}}, {{}}], {UY}",
        ("all_reduce",),
        a=f"[{{}}, {{}}], {UY}",
    ),
    "selection": Case(
        f"%c = stablehlo.constant dense<3.0> : {F}\n%p = stablehlo.compare GT, %c, %c : ({F}, {F}) -> tensor<8x4xi1>\n"
        f"%0 = stablehlo.select %p, %a, %c : tensor<8x4xi1>, {F}\n%1 = {constraint('%0', '[{}, {}], ' + UY)}\n"
        f"return %1 : {F}",
        lambda a, b: np.full_like(a, 3),
        f"[{{}}, {{}}], {UY}",
        a=f"[{{}}, {{}}], {UY}",
    ),
    "contraction": Case(
        DOT + f"%1 = {constraint('%0', '[{}, {}], ' + UY, 'tensor<8x8xf32>')}\nreturn %1 : tensor<8x8xf32>",
        lambda a, b: a @ b,
        f"[{{}}, {{}}], {UY}",
        a='[{}, {"y"}]',
        b='[{"y"}, {}]',
        type="tensor<8x8xf32>",
    ),
    "contraction of partial sums": Case(
        DOT + f"%1 = {constraint('%0', '[{}, {}], ' + UXY, 'tensor<8x8xf32>')}\nreturn %1 : tensor<8x8xf32>",
        lambda a, b: a @ b,
        f"[{{}}, {{}}], {UXY}",
        a='[{}, {"y"}], ' + UX,
        b='[{"y"}, {}]',
        type="tensor<8x8xf32>",
    ),
    "reduction": Case(
        SUM.format(init="%zero")
        + f"%1 = {constraint('%0', '[{}], ' + UXY, 'tensor<8xf32>')}\nreturn %1 : tensor<8xf32>",
        lambda a, b: a.sum(1),
        f"[{{}}], {UXY}",
        a='[{}, {"y"}], ' + UX,
        type="tensor<8xf32>",
    ),
    "reduction with an initial value": Case(
        "%five = stablehlo.constant dense<5.0> : tensor<f32>\n"
        + SUM.format(init="%five")
        + f"%1 = {constraint('%0', '[{}], ' + UXY, 'tensor<8xf32>')}\nreturn %1 : tensor<8xf32>",
        lambda a, b: a.sum(1) + 5,
        f"[{{}}], {UXY}",
        a='[{}, {"y"}], ' + UX,
        type="tensor<8xf32>",
    ),
    "scatter": Case(
        SCATTER + f"%1 = {constraint('%0', '[{}, {}], ' + UY)}\nreturn %1 : {F}",
        lambda a, b: _scattered(a),
        f"[{{}}, {{}}], {UY}",
        a='[{"y"}, {}]',
    ),
    "loop": Case(LOOP, lambda a, b: -4 * a, '[{"x"}, {}]', ("all_reduce",), a='[{"x"}, {}], ' + UY),
    "branches": Case(BRANCHES, lambda a, b: 2 * a, f"[{{}}, {{}}], {UY}", a=f"[{{}}, {{}}], {UY}"),
    "broadcast": Case(
        "%0 = stablehlo.slice %a [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>\n"
        f"%1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x4xf32>) -> {F}\n"
        f"%2 = {constraint('%1', '[{}, {}], ' + UY)}\nreturn %2 : {F}",
        lambda a, b: np.broadcast_to(a[:1], (8, 4)),
        '[{"x"}, {}]',
        ("all_reduce",),
    ),
    "broadcast of partial sums": Case(
        "%0 = stablehlo.slice %a [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>\n"
        f"%1 = {constraint('%0', '[{}, {}], ' + UY, 'tensor<1x4xf32>')}\n"
        f"%2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x4xf32>) -> {F}\n"
        f"%3 = {constraint('%2', '[{}, {}], ' + UY)}\nreturn %3 : {F}",
        lambda a, b: np.broadcast_to(a[:1], (8, 4)),
        '[{"x"}, {}]',
        ("all_reduce",),
        a=f"[{{}}, {{}}], {UY}",
    ),
    "manual computation": Case(
        f"""%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}, {{}}], {UY}>]
          out_shardings=[<@mesh, [{{"x"}}, {{}}], {UY}>] manual_axes={{"x", "y"}} (%p: tensor<4x4xf32>) {{
          %q = stablehlo.add %p, %p : tensor<4x4xf32>
          sdy.return %q : tensor<4x4xf32>
        }} : ({F}) -> {F}
        return %0 : {F}""",
        lambda a, b: 2 * a,
        '[{"x"}, {}]',
        ("all_reduce",),
        a=f"[{{}}, {{}}], {UY}",
    ),
}


def module_of(case: Case) -> Any:
    """Returns the module of a case for a mesh of eight chips."""
    text = (
        f"module attributes {{mhlo.num_partitions = 8 : i32}} {{\n{HEAD}"
        f"func.func @main(%a: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, {case.a}>}}, "
        f"%b: tensor<4x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {case.b}>}}) -> "
        f"({case.type} {{sdy.sharding = #sdy.sharding<@mesh, {case.result}>}}) {{\n{case.body}\n}}\n}}"
    )
    return ir.Module.parse(text, context(len(text)))
