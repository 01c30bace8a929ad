"""Ops whose bits with numerics=bit_exact are recorded, beside those that the simulator judges.

``python -m tests.device.kept_bits`` records them anew, as our own kernels compute them: the record says which bits
changed, not which are right.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import hold
from tt_xla.runtime.emulator.context import Context, Weighted

FILE = Path(__file__).parents[1] / "data" / "kept_bits.txt"
Tensor = torch.Tensor
Shape = tuple[int, ...]

_LINE = 3
"""Numbers of a result that a line of the record shows."""


@dataclass(frozen=True)
class Case:
    """One op on drawn operands, whose types are those of all operands unless ``types`` has another."""

    op: str
    dtype: str
    shapes: Mapping[str, Shape | Tensor]
    """Shape of each operand, or its contents."""
    results: Sequence[Shape]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    """Types of operands, and of the results as ``result``."""
    low: float = -2.0
    high: float = 2.0

    @property
    def name(self) -> str:
        attributes = " ".join(f"{name}={value}" for name, value in self.attributes.items())
        shapes = " ".join(f"{name}:{_shown(shape)}" for name, shape in self.shapes.items())
        types = " ".join(f"{name}={dtype}" for name, dtype in self.types.items())
        words = [self.op, self.dtype, types, shapes, attributes]
        return " ".join(word for word in words if word).replace("'", "")

    def line(self, laid_out: Callable[[Tensor], Tensor] = lambda tensor: tensor) -> str:
        """Returns a checksum of the results' bits, and their first numbers.

        Args:
            laid_out: returns an operand with its elements elsewhere in memory.
        """
        results = self._computed(laid_out)
        bits = zlib.crc32(b"".join(result.contiguous().numpy().tobytes() for result in results))
        numbers = itertools.chain.from_iterable(result.flatten()[:_LINE].tolist() for result in results)
        return f"{bits:08x} {' '.join(f'{number:.6g}' for number in numbers)}"

    def _computed(self, laid_out: Callable[[Tensor], Tensor]) -> list[Tensor]:
        specs, tensors = {}, []
        for seed, (name, shape) in enumerate(self.shapes.items()):
            values = shape if isinstance(shape, Tensor) else self._drawn(shape, seed)
            dtype = self.types.get(name, self.dtype)
            specs[name] = self._spec(tuple(values.shape), dtype)
            tensors.append(laid_out(_with_positive_nan(hold(values, DataType(dtype)))))
        dtype = self.types.get("result", self.dtype)
        results = tuple(self._spec(each, dtype) for each in self.results)
        context = Context(f"ttnn.{self.op}", "bit_exact", specs, results)
        call = bind(context, self.attributes)
        assert not isinstance(call, Weighted)
        computed = call(*tensors)
        computed = [computed] if isinstance(computed, Tensor) else list(computed)
        assert [tuple(result.shape) for result in computed] == [tuple(each) for each in self.results]
        return [torch.where(result.isnan(), torch.nan, result.to(torch.float64)) for result in computed]

    def _drawn(self, shape: Shape, seed: int) -> Tensor:
        unit = torch.rand(shape, generator=torch.Generator().manual_seed(len(self.op) + 11 * seed))
        return self.low + (self.high - self.low) * unit

    def _spec(self, shape: Shape, dtype: str) -> TensorSpec:
        return TensorSpec(shape, TensorLayout.of(shape, DataType(dtype), tiled=len(shape) > 0))


def _with_positive_nan(tensor: Tensor) -> Tensor:
    """Which sign torch's conversion to bfloat16 gives a NaN depends on the machine."""
    return torch.where(tensor.isnan(), torch.nan, tensor) if tensor.is_floating_point() else tensor


def _shown(operand: Shape | Tensor) -> str:
    if isinstance(operand, Tensor) and operand.ndim == 0:
        return f"{operand:g}"
    return "x".join(map(str, operand.shape if isinstance(operand, Tensor) else operand))


FLOATS = ("bf16", "f32", "bfp_bf8")
SPECIAL = torch.tensor(
    [0.0, -0.0, 1e-40, -1e-40, 1e-30, -1e-30, torch.inf, -torch.inf, torch.nan, 1.0, -1.0, 0.5, -0.5, 3e38, -3e38, 2.0]
)
SPREAD = torch.tensor([math.ldexp(1 + (5 * step % 48) / 61, step * 3 // 8 - 12) for step in range(48)])


def _line(start: float, end: float) -> Tensor:
    """Returns 48 numbers, which torch's own functions would round as the machine's vector units do."""
    return torch.tensor([start + (end - start) * step / 47 for step in range(48)])


POINTS = torch.cat([SPECIAL, SPREAD, -SPREAD, _line(-9.3, 9.1)]).reshape(10, 16)
"""Special numbers, numbers of many exponents, and numbers of a line."""
OTHERS = torch.cat([SPECIAL.flip(0), -SPREAD.flip(0), SPREAD.roll(7), _line(4.7, -5.3)]).reshape(10, 16)

OF_ONE = (
    "abs", "acos", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "deg2rad", "erf", "erfc", "exp", "expm1",
    "floor", "gelu", "gelu_approx", "hardsigmoid", "hardswish", "isfinite", "log", "log1p", "logical_not", "mish",
    "neg", "rad2deg", "reciprocal", "relu", "relu6", "round", "rsqrt", "sigmoid", "sign", "silu", "sin", "sqrt", "tan",
    "tanh", "trunc", "acosh", "cosh", "digamma", "erf_approx", "erfinv", "exp2", "exp_approx", "gelu_tanh", "hardmish",
    "i0", "i1", "lgamma", "log10", "log10_approx", "log2", "log2_approx", "log_approx", "log_sigmoid", "mish_approx",
    "rsqrt_approx", "sigmoid_approx", "sinh", "softsign", "sqrt_approx", "square", "tanh_approx", "tanhshrink",
    "celu", "elu", "selu", "softcap", "softplus", "xielu",
)  # fmt: skip
WITH_PARAMETERS = {
    "celu": (0.7,), "elu": (0.7,), "hardshrink": (0.4,), "hardtanh": (-0.3, 2.5), "heaviside": (0.3,),
    "polygamma": (2.0,), "rdiv": (1.7,), "relu_max": (2.5,), "relu_min": (-0.3,), "round_decimals": (1,),
    "rpow": (1.7,), "selu": (1.05, 1.67), "softcap": (2.5,), "softplus": (1.5, 3.0), "softshrink": (0.4,),
    "threshold": (0.4, -1.3), "xielu": (0.8, 0.3),
}  # fmt: skip
OF_TWO = (
    "add", "atan2", "div_no_nan", "divide", "eq", "floor_div", "ge", "gelu_bw", "gt", "hypot", "ldexp", "le",
    "logaddexp", "logaddexp2", "lt", "maximum", "minimum", "modulo", "multiply", "ne", "nextafter", "pow_tensor",
    "remainder", "sigmoid_bw", "squared_difference", "subtract", "tanh_bw", "xlogy",
)  # fmt: skip
NARROW = {"math_fidelity": "hifi2", "fp32_dest_acc_en": False, "math_approx_mode": False}
WIDE = {"math_fidelity": "hifi4", "fp32_dest_acc_en": True, "math_approx_mode": False}
FAST = {"math_fidelity": "lofi", "fp32_dest_acc_en": False, "math_approx_mode": True}


def elementwise() -> Iterator[Case]:
    for dtype in FLOATS:
        functions = [*((name, ()) for name in OF_ONE), *WITH_PARAMETERS.items()] if dtype in ("bf16", "f32") else []
        for name, params in functions:
            yield Case(name, dtype, {"input": POINTS}, [(10, 16)], {"params": params} if params else {})
        for name in OF_TWO:
            yield Case(name, dtype, {"lhs": POINTS, "rhs": OTHERS}, [(10, 16)])
        for name in ("add", "divide", "eq", "hypot", "maximum", "pow_tensor", "remainder", "squared_difference"):
            yield Case(name, dtype, {"lhs": POINTS[:1], "rhs": OTHERS}, [(10, 16)])
            yield Case(name, dtype, {"lhs": POINTS, "rhs": OTHERS[:, :1]}, [(10, 16)])
        for name in ("add", "divide", "multiply", "subtract"):
            for fast in (False, True):
                mode = {"fast_and_approximate_mode": fast}
                yield Case(name, dtype, {"lhs": POINTS, "rhs": OTHERS}, [(10, 16)], mode)
        for exponent in (0.0, 1.0, 2.0, 3.0, 0.5, -1.7, 4.0):
            yield Case("pow_scalar", dtype, {"lhs": POINTS}, [(10, 16)], {"rhs": exponent})
        for name, divisor in itertools.product(("modulo", "remainder"), (1.7, -0.3, 0.0)):
            yield Case(name, dtype, {"lhs": POINTS, "rhs": torch.tensor(divisor)}, [(10, 16)])
        yield Case("prelu", dtype, {"lhs": POINTS, "rhs": torch.tensor(0.3)}, [(10, 16)])
        yield Case("leaky_relu", dtype, {"input": POINTS}, [(10, 16)], {"parameter": 0.3})
        yield Case("clamp_scalar", dtype, {"input": POINTS}, [(10, 16)], {"min": -0.7, "max": 1.3})
        for name in ("tril", "triu"):
            yield Case(name, dtype, {"input": POINTS}, [(10, 16)], {"diagonal": 1})
        for name, names in (
            ("mac", "input first second"),
            ("lerp", "input end weight"),
            ("where", "first second third"),
        ):
            values = (POINTS, OTHERS, POINTS.flip(0))
            yield Case(name, dtype, dict(zip(names.split(), values, strict=True)), [(10, 16)])
        for name, value in itertools.product(("addcmul", "addcdiv"), (1.0, -0.7)):
            operands = {"input": POINTS, "first": OTHERS, "second": POINTS.flip(0)}
            yield Case(name, dtype, operands, [(10, 16)], {"value": value})
        for function in ("add", "multiply", "subtract"):
            yield Case("bcast", dtype, {"lhs": POINTS, "rhs": OTHERS[:1]}, [(10, 16)], {"function": function})


INTEGERS = torch.tensor([0, 1, -1, 7, -7, 100, 255, 256, -300, 65535, 70000, -(2**31), 2**31 - 1, 2**24 + 1, 3, 12])


def conversions() -> Iterator[Case]:
    fractions = torch.cat([POINTS.flatten(), INTEGERS.float(), torch.tensor([0.5, 1.5, 2.5, 254.5, 65534.5, 300.7])])
    floats = (*FLOATS, "bfp_bf4")
    for source, result in itertools.product(floats, (*floats, "si32", "u8", "u16", "u32")):
        yield Case("typecast", source, {"input": fractions.reshape(1, -1)}, [(1, 182)], types={"result": result})
        if not DataType(result).is_float:
            continue
        yield Case("assign", source, {"input": fractions.reshape(1, -1)}, [(1, 182)], types={"result": result})
    for source, result in itertools.product(("si32", "u16", "u8"), ("bf16", "f32", "bfp_bf8", "si32", "u16", "u8")):
        limits = {"si32": (-(2**31), 2**31 - 1), "u16": (0, 65535), "u8": (0, 255)}[source]
        values = INTEGERS.clamp(*limits).reshape(1, 16)
        yield Case("typecast", source, {"input": values}, [(1, 16)], types={"result": result})
    for name in (
        "add",
        "divide",
        "multiply",
        "subtract",
        "maximum",
        "eq",
        "squared_difference",
        "floor_div",
        "div_no_nan",
    ):
        operands = {"lhs": INTEGERS.reshape(1, 16), "rhs": INTEGERS.roll(4).clamp(1, 90).reshape(1, 16)}
        result = "f32" if name in ("divide", "floor_div", "div_no_nan") else "si32"
        yield Case(name, "si32", operands, [(1, 16)], types={"result": result})
    for name in ("add", "multiply", "lt", "subtract"):
        mixed = {"lhs": "f32", "rhs": "bf16"}
        for result in ("bf16", "f32"):
            types = mixed | {"result": result}
            yield Case(name, "bf16", {"lhs": POINTS, "rhs": OTHERS}, [(10, 16)], types=types)


def reductions() -> Iterator[Case]:
    configs: tuple[dict[str, Any], ...] = ({}, {"compute_config": NARROW}, {"compute_config": WIDE})
    x = {"input": (2, 40, 70)}
    for dtype in FLOATS:
        for name, dims, config in itertools.product(("sum", "mean"), ([0], [1], [2], [1, 2], [0, 2], None), configs):
            shape = tuple(1 if dims is None or at in dims else size for at, size in enumerate((2, 40, 70)))
            attributes = {"dim_arg": dims, "keep_dim": True, "scalar": 0.7, **config}
            yield Case(name, dtype, x, [shape], attributes)
        for name, dims, scalar in itertools.product(("max", "min"), ([1], [2], [0, 2]), (1.0, -0.7)):
            shape = tuple(1 if at in dims else size for at, size in enumerate((2, 40, 70)))
            yield Case(name, dtype, x, [shape], {"dim_arg": dims, "keep_dim": True, "scalar": scalar}, low=0.5)
        for dims, config in itertools.product(([1], [2], [1, 2], [0, 1, 2]), configs[1:] if dtype != "bfp_bf8" else ()):
            shape = tuple(1 if at in dims else size for at, size in enumerate((2, 5, 70)))
            for name, correction in (("var", True), ("std", False)):
                attributes = {"dim_arg": dims, "keep_dim": True, "correction": correction, "scalar": -0.7, **config}
                yield Case(name, dtype, {"input": (2, 5, 70)}, [shape], attributes)
        for name, dim, backwards in itertools.product(("cumsum", "cumprod"), (0, 1), (False, True)):
            yield Case(name, dtype, {"input": (9, 37)}, [(9, 37)], {"dim": dim, "reverse_order": backwards})
        for dim in (0, 1, 2):
            yield Case("softmax", dtype, x, [(2, 40, 70)], {"dimension": dim, "numericStable": dim < 2})
            for config in (NARROW, FAST, WIDE):
                attributes = {"dimension": dim, "numericStable": True, "compute_config": config}
                yield Case("softmax", dtype, x, [(2, 40, 70)], attributes, low=-6.0)
        yield Case("ema", dtype, {"input_tensor": (9, 37)}, [(9, 37)], {"alpha": 0.3})
        yield Case("prod", dtype, {"input": (9, 37)}, [(9,)], {"dim_arg": 1, "keep_dim": False})


def norms() -> Iterator[Case]:
    whole: dict[str, Shape] = {"input": (40, 70), "residual": (40, 70), "weight": (1, 70), "bias": (1, 70)}
    configs: tuple[dict[str, Any], ...] = (
        {},
        {"compute_config": NARROW},
        {"compute_config": WIDE},
        {"compute_config": FAST},
    )
    parts = (("input",), ("input", "weight"), ("input", "residual", "bias"), tuple(whole))
    for name, dtype, names, config in itertools.product(("layer_norm", "rms_norm"), FLOATS[:2], parts, configs):
        operands = {each: whole[each] for each in names}
        yield Case(name, dtype, operands, [(40, 70)], {"epsilon": 0.01, **config})
    for name, names in itertools.product(("layer_norm", "rms_norm"), (("input",), ("input", "residual"))):
        operands = dict.fromkeys(names, (3, 8192))  # a core has no room for such rows
        yield Case(name, "f32", operands, [(3, 8192)], {"epsilon": 0.01})
    names = ("input", "running_mean", "running_var", "weight", "bias")
    for dtype, count, config in itertools.product(FLOATS[:2], (3, 4, 5), configs):
        operands = {each: (2, 6, 5, 7) if each == "input" else (1, 6, 1, 1) for each in names[:count]}
        attributes = {"epsilon": 0.01, **config}
        yield Case("batch_norm_inference", dtype, operands, [(2, 6, 5, 7)], attributes, low=0.1)
        old = dict.fromkeys(("mean", "variance", *names[1 : count - 1]), (1, 6, 1, 1))
        results = [(1, 6, 1, 1)] * (count - 2 if count < 5 else 2)
        if count < 5:
            yield Case("running_statistics", dtype, old, results, {"momentum": 0.3, **config}, low=0.1)
    for dtype, (left, right), config in itertools.product(FLOATS[:2], ((False, False), (True, True)), configs):
        operands = {"a": (70, 40) if left else (40, 70), "b": (33, 70) if right else (70, 33), "bias": (1, 33)}
        attributes = {"transpose_a": left, "transpose_b": right, "activation": "relu", **config}
        yield Case("linear", dtype, operands, [(40, 33)], attributes)


def moreh() -> Iterator[Case]:
    configs: tuple[dict[str, Any], ...] = ({}, *({"compute_kernel_config": config} for config in (WIDE, FAST)))
    full = (2, 3, 40, 70)
    for config in configs:
        for name, dim in itertools.product(("moreh_sum", "moreh_mean"), (0, 1, 2, 3)):
            shape = tuple(1 if at == dim else size for at, size in enumerate(full))
            yield Case(name, "bf16", {"input": full}, [shape], {"dim": dim, "keepdim": True, **config})
            like = {"output_grad": shape, "input" if name == "moreh_sum" else "input_grad": full}
            yield Case(f"{name}_backward", "bf16", like, [full], {"dim": dim, "keepdim": True, **config})
        for p in (2.0, 2.5, -1.5, 1.0):
            yield Case("moreh_abs_pow", "bf16", {"input": (9, 37)}, [(9, 37)], {"p": p, **config})
            yield Case(
                "moreh_norm", "bf16", {"input": (9, 37)}, [(9, 1)], {"p": p, "dim": 1, "keepdim": True, **config}
            )
        for left, right in ((False, False), (True, False), (False, True)):
            operands = {"input": (70, 40) if left else (40, 70), "other": (33, 70) if right else (70, 33)}
            attributes = {"transpose_input": left, "transpose_other": right, **config}
            yield Case("moreh_matmul", "bf16", operands, [(40, 33)], attributes)
        operands = {"input": (40, 70), "weight": (33, 70), "bias": (1, 33)}
        yield Case("moreh_linear", "bf16", operands, [(40, 33)], config)
        yield Case("moreh_bmm", "bf16", {"input": (2, 32, 64), "mat2": (2, 64, 32)}, [(2, 32, 32)], config)
        rows = {"input_tensor_a": (1, 1, 1, 70), "input_tensor_b": (1, 1, 1, 70)}
        yield Case("moreh_dot", "bf16", rows, [(1, 1, 1, 1)], config)
        for count in (1, 2):
            sizes, outer = (40, 70)[2 - count :], (2, 3, 40)[: 4 - count]
            operands = {"input": full, "gamma": sizes, "beta": sizes}
            attributes = {"normalized_dims": count, "eps": 0.01, **config}
            yield Case("moreh_layer_norm", "bf16", operands, [full, outer, outer], attributes)
        operands = {"input": (2, 6, 9, 37), "gamma": (1, 1, 1, 6), "beta": (1, 1, 1, 6)}
        statistics = [(1, 1, 2, 3)] * 2
        attributes = {"num_groups": 3, "eps": 0.01, **config}
        yield Case("moreh_group_norm", "bf16", operands, [(2, 6, 9, 37), *statistics], attributes)
        for op, dim, dtype in itertools.product(("softmax", "softmin", "logsoftmax"), (1, 2, 3), FLOATS[:2]):
            attributes = {"dim": dim, "op": op.upper(), **config}
            operands = {"output_tensor": (1, 3, 9, 37), "output_grad_tensor": (1, 3, 9, 37)}
            yield Case(f"moreh_{op}_backward", dtype, operands, [(1, 3, 9, 37)], attributes)
            if not config:
                yield Case(f"moreh_{op}", dtype, {"input_tensor": (1, 3, 9, 37)}, [(1, 3, 9, 37)], attributes)
        yield from _optimizers(config)


def _optimizers(config: Mapping[str, Any]) -> Iterator[Case]:
    shape = (9, 37)
    operands = dict.fromkeys(("param_in", "grad", "exp_avg_in", "exp_avg_sq_in"), shape)
    numbers = {"lr": 0.3, "beta1": 0.7, "beta2": 0.9, "eps": 0.01, "weight_decay": 0.25, "step": 3}
    for amsgrad, decoupled in itertools.product((False, True), (False, True)):
        more = {"max_exp_avg_sq_in": shape} if amsgrad else {}
        attributes = {**numbers, "amsgrad": amsgrad, "decoupled": decoupled, **config}
        op = "moreh_adamw" if decoupled else "moreh_adam"
        yield Case(op, "bf16", {**operands, **more}, [shape] * (3 + amsgrad), attributes, low=0.1)
    operands = dict.fromkeys(("param_in", "grad", "momentum_buffer_in"), shape)
    for momentum, nesterov, initialized in itertools.product((0.0, 0.6), (False, True), (False, True)):
        attributes = {"lr": 0.3, "momentum": momentum, "dampening": 0.25, "weight_decay": 0.3, "nesterov": nesterov}
        attributes |= {"momentum_initialized": initialized, **config}
        yield Case("moreh_sgd", "bf16", operands, [shape] * (2 if momentum else 1), attributes)


def windows() -> Iterator[Case]:
    image = {"batch_size": 2, "input_height": 7, "input_width": 6, "channels": 5}
    usual = {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0, 1, 0), "ceil_mode": False, "dilation": (1, 1)}
    for dtype, change, sides in (
        *((dtype, {}, (3, 6)) for dtype in FLOATS),
        ("bf16", {"ceil_mode": True, "padding": (0, 1, 0, 1), "stride": (2, 2)}, (4, 3)),
        ("bf16", {"count_include_pad": False}, (3, 6)),
        ("bf16", {"divisor_override": 5}, (3, 6)),
        ("bf16", {"kernel_size": (7, 6), "padding": (0, 0, 0, 0)}, (1, 1)),
        ("bf16", {"kernel_size": (7, 6), "padding": (0, 0, 0, 0), "divisor_override": 5}, (1, 1)),
    ):
        result = (1, 1, 2 * math.prod(sides), 5)
        yield Case("avg_pool2d", dtype, {"input": (1, 1, 84, 5)}, [result], {**image, **usual, **change})
    for dtype in FLOATS:
        yield Case("global_avg_pool2d", dtype, {"input": (2, 7, 6, 5)}, [(2, 1, 1, 5)])
    configs: tuple[dict[str, Any], ...] = ({}, {"compute_config": NARROW}, {"compute_config": WIDE})
    for dtype, config, rows in itertools.product(FLOATS[:2], configs, (64, 70)):
        operands: dict[str, Shape | Tensor] = {
            "input": (2, 1, rows, 64),
            "weight": (1, 1, 2, 32),
            "bias": (1, 1, 2, 32),
        }
        for more in ({}, {"use_welford": True}, {"core_grid": (2, 1), "num_out_blocks": 2}, {"core_grid": (1, 1)}):
            if rows == 64 or not config:
                attributes = {"num_groups": 4, "epsilon": 0.01, **more, **config}
                yield Case("group_norm", dtype, operands, [(2, 1, rows, 64)], attributes)


def attentions() -> Iterator[Case]:
    sizes: dict[str, Shape | Tensor] = {"query": (1, 2, 40, 32), "key": (1, 1, 40, 32), "value": (1, 1, 40, 32)}
    mask, sink = {"attention_mask": (1, 1, 40, 40)}, {"attention_sink": (1, 2, 1, 1)}
    for config in (NARROW, WIDE, FAST):
        for operands, more in (
            ({}, {"is_causal": True}),
            ({}, {"is_causal": True, "sliding_window_size": 9}),
            (mask, {"is_causal": False, "scale": 0.3}),
            (sink, {"is_causal": False}),
        ):
            attributes = {**more, "compute_config": config}
            yield Case("scaled_dot_product_attention", "bf16", {**sizes, **operands}, [(1, 2, 40, 32)], attributes)
    decoded: dict[str, Shape | Tensor] = {"query": (1, 2, 4, 32), "key": (2, 2, 96, 32), "value": (2, 2, 96, 32)}
    positions = {"cur_pos_tensor": torch.tensor([70, 33])}
    op = "scaled_dot_product_attention_decode"
    for config in (NARROW, WIDE, FAST):
        for operands, more in (
            (positions, {}),
            (positions, {"sliding_window_size": 9, "scale": 0.3}),
            ({"attention_mask": (2, 1, 4, 96)}, {"is_causal": False}),
            ({"attention_sink": (4, 32)} | positions, {}),
        ):
            types = {"cur_pos_tensor": "si32"} if "cur_pos_tensor" in operands else {}
            attributes = {**more, "compute_config": config}
            yield Case(op, "bf16", {**decoded, **operands}, [(1, 2, 4, 32)], attributes, types)
    for dtype, token in itertools.product(FLOATS[:2], (None, 3)):
        operands = {"input": (1, 2, 32, 64), "cos_cache": (1, 1, 64, 64), "sin_cache": (1, 1, 64, 64)}
        yield Case("rotary_embedding", dtype, operands, [(1, 2, 32, 64)], {"token_index": token})
    for dtype, decode in itertools.product(FLOATS[:2], (False, True)):
        operands = {"input_tensor": (1, 2, 32, 64), "cos_cache": (1, 1, 64, 64), "sin_cache": (1, 1, 64, 64)}
        attributes = {"is_decode_mode": decode}
        yield Case("experimental.rotary_embedding_hf", dtype, operands, [(1, 2, 32, 64)], attributes)


FAMILIES = {
    "elementwise": elementwise,
    "conversions": conversions,
    "reductions": reductions,
    "norms": norms,
    "moreh": moreh,
    "windows": windows,
    "attentions": attentions,
}


def recorded() -> dict[str, str]:
    """Returns the line of each case."""
    return dict(line.split(" = ") for line in FILE.read_text().splitlines())


def main() -> None:
    cases = [case for family in FAMILIES.values() for case in family()]
    FILE.write_text("".join(f"{case.name} = {case.line()}\n" for case in cases))


if __name__ == "__main__":
    main()
