"""``enable_trace`` leaves programs with host work untraced, and a Program is equal after writing and reading it."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.program import FunctionKind, Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target


def _kinds(function, *shapes):
    arguments = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes]
    module = parse_module(jax.jit(function).lower(*arguments).as_text())
    program = compile_module(module, CompileOptions.parse({"enable_trace": True}), load_target("n150"))
    return {each.kind for each in program.functions}


def test_device_work_is_traced():
    assert FunctionKind.TRACE in _kinds(lambda a, b: jnp.tanh(a @ b), (32, 64), (64, 32))


def test_computed_convolution_weights_leave_a_program_untraced(project_log: pytest.LogCaptureFixture):
    """TT-NN prepares convolution weights on the host, so the program runs untraced and logs a warning."""

    def convolution(x, w):
        return lax.conv_general_dilated(x, w * 2, (1, 1), "SAME", dimension_numbers=("NHWC", "OIHW", "NHWC"))

    kinds = _kinds(convolution, (1, 8, 8, 4), (8, 4, 3, 3))
    assert FunctionKind.TRACE not in kinds
    assert "runs untraced, since 'ttnn.from_device'" in project_log.text


def test_a_written_program_is_the_same_program():
    function = jax.jit(lambda a, b: jnp.sum(jnp.tanh(a @ b).reshape(4, -1), axis=1))
    arguments = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((32, 64), (64, 32))]
    module = parse_module(function.lower(*arguments).as_text())
    program = compile_module(module, CompileOptions.parse({}), load_target("n150"))
    assert Program.from_bytes(program.to_bytes()) == program
