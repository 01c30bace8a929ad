"""Runs the module of one chip on JAX's CPU devices, all chips at once, and compares with one device.

XLA runs the module under ``sdy.manual_computation``, where it does nothing by itself: each device gets a shard, and the
collectives of the module are all that devices exchange.
"""

from __future__ import annotations

from typing import Any

import jax
import jaxlib._jax as xla
import numpy as np
from jax.sharding import Mesh as JaxMesh
from jax.sharding import NamedSharding, PartitionSpec
from jaxlib.mlir import ir

from tt_xla.compiler.sharding import Localised
from tt_xla.ir.mesh import Mesh, Shape, Sharding

Array = "np.ndarray[Any, Any]"

JUNK = 77
"""What the padding of arguments holds, so that a result that reads padding is wrong."""


def shards(array: Array, sharding: Sharding, mesh: Mesh) -> list[Array]:
    """Returns the shard of each chip of a mesh. The last term of a sum is what other, random, terms leave of it."""
    generator = np.random.default_rng(0)
    terms: dict[Shape, Array] = {(): array}
    for axis in sharding.unreduced:
        for place, left in list(terms.items()):
            del terms[place]
            for number in range(mesh.shape[axis] - 1):
                terms[(*place, number)] = generator.integers(-9, 10, array.shape).astype(array.dtype)
                left = left - terms[(*place, number)]
            terms[(*place, mesh.shape[axis] - 1)] = left
    parts: list[Array] = []
    for position in range(mesh.size):
        shard = np.full(sharding.local_shape(mesh, array.shape), JUNK).astype(array.dtype)
        part = terms[sharding.term(mesh, position)][sharding.region(mesh, array.shape, position)]
        shard[tuple(slice(size) for size in part.shape)] = part
        parts.append(shard)
    return parts


def assembled(parts: list[Array], sharding: Sharding, mesh: Mesh, shape: Shape) -> Array:
    """Returns the tensor whose shards are given, and checks that all copies of a shard are equal."""
    terms: dict[Shape, Array] = {}
    written: dict[Shape, Array] = {}
    for position, part in enumerate(parts):
        term = sharding.term(mesh, position)
        full = terms.setdefault(term, np.zeros(shape, parts[0].dtype))
        seen = written.setdefault(term, np.zeros(shape, bool))
        region = sharding.region(mesh, shape, position)
        piece = part[tuple(slice(place.stop - place.start) for place in region)]
        again = seen[region]
        np.testing.assert_array_equal(full[region][again], piece[again])
        full[region], seen[region] = piece, True
    assert all(seen.all() for seen in written.values())
    return terms[()] if () in terms else np.sum(list(terms.values()), axis=0, dtype=parts[0].dtype)


def run(localised: Localised, arguments: list[Array]) -> list[Array]:
    """Runs the module of one chip on as many devices as the mesh has; returns the assembled results."""
    mesh = localised.mesh
    devices = jax.devices()[: mesh.size]
    options = xla.CompileOptions()
    options.num_replicas, options.num_partitions = 1, mesh.size
    build = options.executable_build_options
    build.num_partitions = mesh.size
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    assignment = xla.DeviceAssignment.create(np.arange(mesh.size).reshape(1, -1))
    options.device_assignment = build.device_assignment = assignment
    executable = devices[0].client.compile_and_load(
        _wrapped(localised.module, mesh.size), xla.DeviceList(tuple(devices)), options
    )
    stacked = NamedSharding(JaxMesh(np.array(devices), "p"), PartitionSpec("p"))
    inputs = [
        jax.device_put(np.stack(shards(array, sharding, mesh)), stacked)
        for array, (sharding, shape) in zip(arguments, localised.arguments, strict=True)
    ]
    outputs = executable.execute_sharded(inputs).disassemble_into_single_device_arrays()
    return [
        assembled([np.asarray(part)[0] for part in output], sharding, mesh, shape)
        for output, (sharding, shape) in zip(outputs, localised.results, strict=True)
    ]


def _wrapped(module: Any, chips: int) -> str:
    """Returns a module whose arguments are all chips' arguments of another one's entry function, stacked."""
    (entry,) = [
        op
        for op in module.body.operations
        if "sym_visibility" not in op.attributes or op.attributes["sym_visibility"].value == "public"
    ]
    inputs, results = list(entry.type.inputs), list(entry.type.results)
    text = [
        f"module @wrapped attributes {{mhlo.num_partitions = {chips} : i32, mhlo.num_replicas = 1 : i32}} {{",
        f'sdy.mesh @p = <["p"={chips}]>',
    ]
    split = [_split(type_) for type_ in inputs]
    split_results = [_split(type_) for type_ in results]
    arguments = ", ".join(
        f"%a{i}: {_stacked(t, chips)} {{sdy.sharding = #sdy.sharding{s}}}"
        for i, (t, s) in enumerate(zip(inputs, split, strict=True))
    )
    returned = ", ".join(
        f"{_stacked(t, chips)} {{sdy.sharding = #sdy.sharding{s}}}" for t, s in zip(results, split_results, strict=True)
    )
    text.append(f"func.func public @main({arguments}) -> ({returned}) {{")
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    many = f":{len(results)}" if len(results) > 1 else ""
    inner = ", ".join(f"%b{i}: {_stacked(t, 1)}" for i, t in enumerate(inputs))
    text.append(
        f"%r{many} = sdy.manual_computation({names}) in_shardings=[{', '.join(split)}] "
        f'out_shardings=[{", ".join(split_results)}] manual_axes={{"p"}} ({inner}) {{'
    )
    for i, type_ in enumerate(inputs):
        text.append(f"%c{i} = stablehlo.reshape %b{i} : ({_stacked(type_, 1)}) -> {type_}")
    called = ", ".join(f"%c{i}" for i in range(len(inputs)))
    text.append(
        f"%d{many} = func.call @local_main({called}) : "
        f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, results))})"
    )
    for i, type_ in enumerate(results):
        number = f"#{i}" if len(results) > 1 else ""
        text.append(f"%e{i} = stablehlo.reshape %d{number} : ({type_}) -> {_stacked(type_, 1)}")
    text.append(
        f"sdy.return {', '.join(f'%e{i}' for i in range(len(results)))} : {', '.join(_stacked(t, 1) for t in results)}"
    )
    text.append(
        f"}} : ({', '.join(_stacked(t, chips) for t in inputs)}) -> ({', '.join(_stacked(t, chips) for t in results)})"
    )
    values = ", ".join(f"%r#{i}" for i in range(len(results))) if len(results) > 1 else "%r"
    text.append(f"return {values} : {', '.join(_stacked(t, chips) for t in results)}")
    text.append("}")
    name = entry.name.value
    for op in module.body.operations:
        printed = str(op)
        if op == entry:
            printed = printed.replace(f"func.func public @{name}(", "func.func private @local_main(", 1)
            printed = printed.replace(f"func.func @{name}(", "func.func private @local_main(", 1)
        text.append(printed)
    return "\n".join([*text, "}"])


def _stacked(type_: Any, count: int) -> str:
    ranked = ir.RankedTensorType(type_)
    sizes = "x".join(map(str, [count, *ranked.shape]))
    return f"tensor<{sizes}x{ranked.element_type}>"


def _split(type_: Any) -> str:
    dims = ['{"p"}', *(["{}"] * ir.RankedTensorType(type_).rank)]
    return f"<@p, [{', '.join(dims)}]>"
