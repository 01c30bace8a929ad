"""StableHLO modules as other compilers write them: constants in ``dialect_resources``, ops of other dialects."""

from __future__ import annotations

import pytest
import torch

from tt_xla.compiler import compile_module, read_module
from tt_xla.errors import MalformedModuleError
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target


def results(text: str, *inputs: torch.Tensor) -> list[torch.Tensor]:
    program = compile_module(read_module(text), CompileOptions.parse(), load_target("n150"))
    return get_device().load(program).run(list(inputs), [None] * len(inputs))


def of_resources(types: dict[str, str], entries: dict[str, str]) -> str:
    kinds = [f"tensor<{kind}>" for kind in types.values()]
    lines = [f"  %{name} = stablehlo.constant dense_resource<{name}> : tensor<{kind}>" for name, kind in types.items()]
    contents = ", ".join(f'{name}: "0x{data}"' for name, data in entries.items())
    names = ", ".join(f"%{name}" for name in types)
    return "\n".join(
        [
            f"func.func @main() -> ({', '.join(kinds)}) {{",
            *lines,
            f"  return {names} : {', '.join(kinds)}",
            "}",
            "{-#",
            f"  dialect_resources: {{ builtin: {{ {contents} }} }}",
            "#-}",
        ]
    )


def test_elements_of_resources() -> None:
    types = {"a": "2xf32", "b": "1x3xbf16", "c": "2xi32"}
    entries = {
        "a": "040000000000803F00000040",
        "b": "02000000803F0040C0BF",
        "c": "04000000FFFFFFFF07000000",
    }
    a, b, c = results(of_resources(types, entries))
    assert a.tolist() == [1.0, 2.0]
    assert b.dtype == torch.bfloat16
    assert b.tolist() == [[1.0, 2.0, -1.5]]
    assert c.tolist() == [-1, 7]


def test_a_resource_of_another_size_is_refused() -> None:
    text = of_resources({"a": "3xf32"}, {"a": "040000000000803F00000040"})
    with pytest.raises(MalformedModuleError, match=r"resource 'a\w*' of a constant has 8 bytes, expected 12"):
        results(text)


def test_a_tensor_whose_elements_are_not_set() -> None:
    text = """
func.func @main() -> tensor<2x3xi1> {
  %0 = tensor.empty() : tensor<2x3xi1>
  %1 = stablehlo.not %0 : tensor<2x3xi1>
  return %1 : tensor<2x3xi1>
}"""
    (value,) = results(text)
    assert value.tolist() == [[True] * 3] * 2


def test_a_scatter_with_a_dimension_that_no_index_names() -> None:
    text = """
func.func @main(%x: tensor<2x3xi32>, %i: tensor<2x1xi32>, %u: tensor<2x1xi32>) -> tensor<2x3xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers =
      #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [1],
      index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      stablehlo.return %b : tensor<i32>
    }) : (tensor<2x3xi32>, tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}"""
    x = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    indices, updates = torch.tensor([[2], [0]], dtype=torch.int32), torch.tensor([[70], [80]], dtype=torch.int32)
    (value,) = results(text, x, indices, updates)
    assert value.tolist() == [[80, 1, 70], [3, 4, 5]]


def test_constants_of_other_dialects_are_folded() -> None:
    text = """
func.func @main() -> tensor<2xi32> {
  %c = stablehlo.constant dense<1> : tensor<2xi32>
  %0 = arith.addi %c, %c : tensor<2xi32>
  return %0 : tensor<2xi32>
}"""
    (value,) = results(text)
    assert value.tolist() == [2, 2]
