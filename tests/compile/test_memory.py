"""After compilation, no memory in proportion to the program's size stays allocated."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.host import new_mlir_context
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

COUNT = 1 << 16


def program(seed):
    """Returns a module with a constant of a quarter of a megabyte."""
    elements = np.random.default_rng(seed).normal(size=COUNT).astype(np.float32).tobytes().hex()
    return f"""func.func @main(%x: tensor<{COUNT}xf32>) -> tensor<{COUNT}xf32> {{
      %c = stablehlo.constant dense<"0x{elements}"> : tensor<{COUNT}xf32>
      %r = stablehlo.multiply %x, %c : tensor<{COUNT}xf32>
      return %r : tensor<{COUNT}xf32> }}"""


def compiled(module):
    compile_module(module, CompileOptions.parse({}), load_target("n150"))


def large_constants():
    gc.collect()
    attributes = (o for o in gc.get_objects() if type(o) is DenseIntOrFPElementsAttr)
    return sum(len(attribute.data.data) > COUNT for attribute in attributes)


def test_callers_context_ends_with_its_module():
    context = new_mlir_context()
    compiled(ir.Module.parse(program(0), context))
    ended = weakref.ref(context)
    del context
    gc.collect()
    assert ended() is None


def test_a_new_context_is_not_the_one_that_jax_lowers_in():
    assert new_mlir_context() is not new_mlir_context()
    lowering = jax.jit(jnp.sin).lower(1.0).compiler_ir().context
    assert new_mlir_context() is not lowering
    assert not lowering.allow_unregistered_dialects


def test_context_of_parsed_modules_is_replaced():
    contexts = []
    for seed in range(12):
        module = parse_module(program(seed))
        contexts.append(weakref.ref(module.context))
        compiled(module)
        del module
    gc.collect()
    assert contexts[-1]() is not None
    assert not any(context() for context in contexts[4:8])  # the first context also served earlier modules


@pytest.mark.usefixtures("all_objects")
def test_constants_end_with_their_program():
    before = large_constants()
    for seed in range(3):
        compiled(parse_module(program(seed)))
    assert large_constants() == before
