"""The module from which JAX reads the shardings of a program for several chips.

XLA's optimized programs have the shapes of one chip, and name the shardings of parameters and results in attributes of
the module. JAX derives ``compiled.output_shardings`` and the shapes of results from them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from tt_xla.ir.mesh import Mesh, Sharding, replicated
from tt_xla.ir.program import Argument, Program, Result

REPLICATED = "{replicated}"
CALL = "tt_program"
"""Target of the custom call that stands for the program."""


def hlo_sharding(sharding: Sharding, mesh: Mesh) -> str:
    """Returns a sharding in the notation of XLA's HLO, such as ``{devices=[2,1,4]<=[2,4] last_tile_dim_replicate}``.

    The list of devices is the mesh with its axes in the order in which they split the tensor, and then the axes along
    which it is replicated. Source of the notation: ``HloSharding::ToString`` of openxla/xla.
    """
    counts = sharding.counts(mesh)
    if math.prod(counts) == 1:
        return REPLICATED
    splitting = [axis for axes in sharding.dims for axis in axes]
    order = [*splitting, *(axis for axis in range(len(mesh.shape)) if axis not in splitting)]
    copies = mesh.size // math.prod(counts)
    tiles = [*counts, copies] if copies > 1 else counts
    devices = f"[{mesh.size}]" if order == sorted(order) else f"[{_listed(mesh.shape)}]T({_listed(order)})"
    return f"{{devices=[{_listed(tiles)}]<={devices}{' last_tile_dim_replicate' if copies > 1 else ''}}}"


def partitioned_module(program: Program, name: str) -> bytes:
    """Returns the StableHLO module that describes a program with a mesh to jaxlib.

    It has the program's signature on one chip and the shardings, and calls the program.
    """
    mesh = program.mesh
    assert mesh is not None
    arguments, results = (
        [hlo_sharding(value.sharding or replicated(len(value.shape)), mesh) for value in values]
        for values in (program.arguments, program.results)
    )
    # The sharding of an empty tuple has one element, as its shape counts as one leaf.
    output = results[0] if len(results) == 1 else f"{{{', '.join(results or [REPLICATED])}}}"
    types, result_types = ([_type(value) for value in values] for values in (program.arguments, program.results))
    count = len(result_types)
    parameters = [f"%arg{index}" for index in range(len(types))]
    values = [f"%0#{index}" for index in range(count)] if count != 1 else ["%0"]
    declared = [f"{parameter}: {type_}" for parameter, type_ in zip(parameters, types, strict=True)]
    return f"""\
module @{json.dumps(name, ensure_ascii=False)} attributes {{
  mhlo.num_partitions = {mesh.size} : i32, mhlo.num_replicas = 1 : i32, mhlo.spmd_output_sharding = "{output}",
  mhlo.spmd_parameters_shardings = [{", ".join(f'"{sharding}"' for sharding in arguments)}]
}} {{
  func.func public @main({", ".join(declared)}) -> ({", ".join(result_types)}) {{
    {"%0 = " if count == 1 else f"%0:{count} = " if count else ""}stablehlo.custom_call @{CALL}({
        ", ".join(parameters)
    }) {{has_side_effect = true}} : ({", ".join(types)}) -> ({", ".join(result_types)})
    return {f"{', '.join(values)} : {', '.join(result_types)}" if count else ""}
  }}
}}
""".encode()


def _type(value: Argument | Result) -> str:
    return f"tensor<{'x'.join(map(str, (*value.shape, value.dtype)))}>"


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
