"""TT-NN's program and compute configs: records whose fields and defaults the table of signatures has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from tt_xla.ttnn_api import kinds, signatures
from tt_xla.ttnn_api.enums import MathFidelity, Named, UnaryOpType
from tt_xla.ttnn_api.errors import IncompatibleArguments, TTFatal


class Config:
    """A record of named fields. Each subclass is one of TT-NN's config classes."""

    _name = ""
    _key: tuple[Any, ...] | None = None

    def __init__(self, *arguments: Any, **fields: Any) -> None:
        overload, values = signatures.bound(self._name, arguments, fields)
        for name, value in values.items():
            if isinstance(value, (Named, tuple)) and "UnaryWithParam" in overload.kinds.get(name, ""):
                values[name] = UnaryWithParam(value)
        self.__dict__.update(values, _key=None)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        self.__dict__["_key"] = None

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no field {name!r}.")

    def fields(self) -> list[tuple[str, Any]]:
        """Returns the fields by name."""
        return [(name, value) for name, value in self.__dict__.items() if name != "_key"]

    def key(self) -> tuple[Any, ...]:
        """Returns a hashable value that is equal for configs with equal fields."""
        known = self._key
        if known is None:
            known = (self._name, *((name, _hashable(value)) for name, value in self.fields()))
            self.__dict__["_key"] = known
        return known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in self.fields())
        return f"{type(self).__name__}({fields})"


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


_CLASSES: dict[str, type[Config]] = {}


class SliceTypeEnum(Named):
    """How a convolution or pooling whose tensors do not fit into L1 is cut."""

    L1Full = 0
    DRAMSliceHeight = 1
    DRAMSliceWidth = 2


def config_class(name: str) -> type[Config]:
    """Returns the config class of a full name, ``ttnn.Conv2dConfig``."""
    known = _CLASSES.get(name)
    if known is None:
        fields = {"SliceTypeEnum": SliceTypeEnum} if name.endswith("DSliceConfig") else {}
        known = type(name.rpartition(".")[2], (Config,), {"_name": name, "__module__": "ttnn", **fields})
        _CLASSES[name] = known
    return known


WormholeComputeKernelConfig = config_class("ttnn.WormholeComputeKernelConfig")


class UnaryWithParam:
    """A function of one number with its parameters, which an op applies to a tensor on its way."""

    def __init__(self, op_type: Named | tuple[Named, float], *params: float) -> None:
        given = (op_type, *params)
        kind, *numbers = op_type if isinstance(op_type, (list, tuple)) and len(op_type) == 2 and not params else given
        is_number = kinds.test_of("float", converts=True)
        if not isinstance(kind, Named) or not all(map(is_number, numbers)):
            raise IncompatibleArguments(
                "__init__(): incompatible function arguments: UnaryWithParam takes a ttnn.UnaryOpType and numbers, got "
                f"{given!r}"
            )
        self.op_type, self.params = kind, [*map(float, numbers)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnaryWithParam) and (self.op_type, self.params) == (other.op_type, other.params)

    def __hash__(self) -> int:
        return hash((self.op_type, *self.params))

    def __repr__(self) -> str:
        params = f", params=[{', '.join(f'{each:g}' for each in self.params)}]" if self.params else ""
        return f"UnaryWithParam(op_type=UnaryOpType::{self.op_type.name}{params})"


def step(name: str, *params: float) -> UnaryWithParam:
    """Returns a function by its name in TT-NN's ``UnaryOpType``, in any case.

    Raises:
        TTFatal: there is no such function.
    """
    kind: Named | None = getattr(UnaryOpType, name.upper(), None)
    if kind is None:
        raise TTFatal(f"Unknown unary op: {name}", hint="Pass a name of ttnn.UnaryOpType, such as relu.")
    return UnaryWithParam(kind, *params)


@dataclass(frozen=True)
class YUVCoefficients:
    """Weights of red, green and blue, and an offset, for luma and the two chroma."""

    y: Sequence[float]
    cb: Sequence[float]
    cr: Sequence[float]


def gelu_op(variant: float) -> str:
    """Returns the name of a variant of gelu by its number in TT-NN's ``GeluVariant``."""
    return ("gelu", "gelu_approx", "gelu_tanh")[int(variant)]


MODE_AT = {
    **dict.fromkeys(("erf", "erfc", "exp", "log", "log10", "log1p", "log2", "mish", "rsqrt", "sqrt", "tanh"), 0),
    "sigmoid": 1,
}
"""Place of the parameter that asks for the fast form of a function."""
_ONE_FORM = ("erfc", "log1p")
"""Functions whose fast form is the accurate one."""


_WITH_PARAMETERS = (
    *("relu_max", "relu_min", "power", "power_iterative", "leaky_relu", "elu", "heaviside", "rsub", "rdiv", "softplus"),
    *("add_unary_sfpu", "sub_unary_sfpu", "mul_unary_sfpu", "div_unary_sfpu"),
    *("unary_ne", "unary_eq", "unary_gt", "unary_lt", "unary_ge", "unary_le", "typecast", "round", "remainder", "fmod"),
    *("bitwise_xor", "bitwise_and", "bitwise_or", "right_shift", "left_shift", "dropout", "fill", "prelu_sfpu"),
    *("zero_point", "mish", "maximum", "minimum", "threshold", "softshrink", "hardshrink", "hardtanh", "where_tss"),
    *("mac_tss", "celu", "clamp_tss", "selu", "rpow", "logit", "xielu", "polygamma", "softcap"),
)
"""Functions that TT-NN applies with parameters alone."""
_IN_FORMS = ({*MODE_AT} - {"erfc"}) | {"bitcast", "gelu", "gelu_tanh"}
"""Functions that it applies with and without them."""


def _check_parameters(name: str, params: Sequence[float]) -> None:
    """Refuses parameters of a function that takes none, and a function without those that it needs."""
    words = None
    if params and name not in _IN_FORMS and name not in _WITH_PARAMETERS:
        words = f"operator should support at least one parameter but op_type UnaryOpType::{name.upper()} does not"
    elif not params and name in _WITH_PARAMETERS:
        words = f"Undefined non-parametrized op type UnaryOpType::{name.upper()}"
    if words is not None:
        raise TTFatal(words, hint="Write ttnn.UnaryWithParam(op_type, *params) with the parameters of the function.")


def function_of(value: UnaryWithParam | Named | str | Sequence[Any]) -> list[tuple[str, Any]]:
    """Returns a function as the fields of a ``#ttnn.unary_with_param``.

    The parameter of gelu chooses its variant, and that of some functions their fast form.
    """
    if value == "gelu_approx":
        return [("op_type", "gelu_approx")]
    if isinstance(value, str):
        value = step(value)
    else:
        if not isinstance(value, UnaryWithParam):
            value = UnaryWithParam(cast(Any, value))
        _check_parameters(value.op_type.name.lower(), value.params)
    name, params = value.op_type.name.lower(), list(value.params)
    if name == "gelu":
        return [("op_type", gelu_op(bool(value.params and value.params[0])))]
    if name in MODE_AT:
        is_fast = any(params[MODE_AT[name] :]) and name not in _ONE_FORM
        return [("op_type", f"{name}_approx" if is_fast else name)]
    return [("op_type", name), *([("params", params)] if params else [])]


def compute_config(config: Config | None) -> dict[str, Any] | None:
    """Returns the fields of a ``#ttnn.device_compute_kernel_config``; None where TT-NN chooses."""
    if config is None:
        return None
    fields = {
        name: getattr(config, name)
        for name in ("math_approx_mode", "fp32_dest_acc_en", "packer_l1_acc", "dst_full_sync_en")
    }
    fidelity: MathFidelity = config.math_fidelity
    return {"math_fidelity": fidelity.name.lower(), **fields}
