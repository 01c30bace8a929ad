"""Mixtures of experts of a model, computed by TT-NN's sparse products.

model = enable_sparse_mlp(model)

The code stands here because dynamo traces calls into this package and not into :mod:`tt_xla.frontends`. Programs
compute with whole tensors: on a mesh, the compiler splits the experts as their weights are marked.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tt_torch import custom_ops as custom_ops  # defines torch.ops.tt

ACTIVATION_GPT_OSS = "gpt_oss"
"""Clamped values, a sigmoid with a factor, and one added to the second half."""
ACTIVATION_DEEPSEEK = "deepseek"
"""SiLU of the first half times the second half."""

_TILE = 32
"""Tokens of a block: the rows of a tile."""

_PROJECTIONS = ("gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class ExpertWeights:
    """Weights of E experts that take H features and have I inside.

    Attributes:
        inner: one weight [E, H, 2 * I] of gate and up, or one of each, [E, H, I], with their biases [E, columns].
        down: the weight of the last product, [E, I, H], with its bias.
        activate: computes the operand of the last product from the results of the first ones.
    """

    inner: tuple[tuple[Tensor, Tensor | None], ...]
    down: tuple[Tensor, Tensor | None]
    activate: Callable[..., Tensor]


def expert_weights(experts: nn.Module, hidden: int, activate: Callable[..., Tensor] | None = None) -> ExpertWeights:
    """Returns the weights of a module that has them of all experts in one parameter each.

    The parameters are ``gate_up_proj`` or ``gate_proj`` and ``up_proj``, and ``down_proj``, with ``_bias`` behind the
    names of biases.

    Args:
        experts: the module.
        hidden: number of features H. A weight has them as its rows or columns; ``is_transposed`` says which where all
            sizes are equal.
        activate: the function between the products; by default the module's ``_apply_gate``, or SiLU times the second
            half.

    Raises:
        ValueError: the module has no such parameters.
    """
    names = ("gate_up_proj",) if hasattr(experts, "gate_up_proj") else _PROJECTIONS[:2]
    missing = [name for name in (*names, "down_proj") if not isinstance(getattr(experts, name, None), Tensor)]
    if missing:
        raise ValueError(
            f"{type(experts).__name__} has no parameter {' and no '.join(missing)}; expected weights of all experts, "
            "[experts, rows, columns], named gate_up_proj or gate_proj and up_proj, and down_proj"
        )

    def weight(name: str, axis: int) -> tuple[Tensor, Tensor | None]:
        value = getattr(experts, name)
        sides = value.shape[1:]
        is_turned = sides[axis] != hidden if sides[0] != sides[1] else not getattr(experts, "is_transposed", True)
        return value.transpose(1, 2) if is_turned else value, getattr(experts, f"{name}_bias", None)

    activate = activate or getattr(experts, "_apply_gate", None) or _silu_gate
    return ExpertWeights(tuple([weight(name, 0) for name in names]), weight("down_proj", 1), _joined(activate))


def _joined(activate: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """Returns a function of the results of the first products, from one of gate and up beside each other."""
    return lambda *results: activate(results[0] if len(results) == 1 else torch.cat(results, -1))


def _silu_gate(gate_up: Tensor) -> Tensor:
    return _moe_activation(gate_up, ACTIVATION_DEEPSEEK, interleaved=False)


def _moe_activation(
    gate_up_out: Tensor,
    activation_type: str,
    alpha: float = 1.702,
    limit: float = 7.0,
    interleaved: bool = True,
    swiglu_limit: float = 0.0,
) -> Tensor:
    """Returns the operand of the last product from gate and up, [..., 2 * I]; every other column is of the gate.

    Args:
        gate_up_out: results of gate and up.
        activation_type: :data:`ACTIVATION_DEEPSEEK` or :data:`ACTIVATION_GPT_OSS`.
        alpha: factor in the sigmoid of GPT-OSS.
        limit: bound of GPT-OSS's values.
        interleaved: whether gate and up alternate; otherwise the gate's columns come first.
        swiglu_limit: bound of DeepSeek's values; 0 for none.
    """
    gate, up = (gate_up_out[..., ::2], gate_up_out[..., 1::2]) if interleaved else gate_up_out.chunk(2, -1)
    bound = limit if activation_type == ACTIVATION_GPT_OSS else swiglu_limit
    if bound > 0:
        gate, up = gate.clamp(max=bound), up.clamp(-bound, bound)
    if activation_type == ACTIVATION_GPT_OSS:
        return (up + 1) * gate * torch.sigmoid(gate * alpha)
    return F.silu(gate) * up


def routed(
    hidden_states: Tensor, indices: Tensor, weights: Tensor, experts: ExpertWeights, *, is_dense: bool = False
) -> Tensor:
    """Returns the weighted sums of what the chosen experts make of tokens.

    Args:
        hidden_states: tokens, [T, H].
        indices: the experts of each token, [T, K].
        weights: their weights, [T, K].
        experts: the experts.
        is_dense: whether each expert computes all tokens, without sparse products.

    Returns:
        [T, H], of the tokens' type.
    """
    count, chosen = indices.shape
    rest = -count % _TILE
    tokens, indices_, weights_ = (F.pad(each, (0, 0, 0, rest)) for each in (hidden_states, indices, weights))
    number = experts.down[0].shape[0]
    mapping = torch.ones(1, 1, number, 1, dtype=torch.int64, device=tokens.device)
    dispatched, metadata = torch.ops.tt.all_to_all_dispatch(tokens.unsqueeze(0), indices_, mapping)
    metadata = metadata.reshape(1, 1, count + rest, chosen)
    if is_dense:
        inner = [_with_bias(torch.matmul(dispatched[0], weight), bias) for weight, bias in experts.inner]
        made = _with_bias(torch.matmul(experts.activate(*inner), experts.down[0]), experts.down[1])
    else:
        scores = (indices_.unsqueeze(-1) == torch.arange(number, device=tokens.device)).any(1).to(tokens.dtype)
        _, used = torch.ops.tt.moe_expert_token_remap(scores, mapping, metadata)
        inner = [_with_bias(_product(dispatched, weight, used), bias) for weight, bias in experts.inner]
        rows = experts.activate(*inner).flatten(0, 1)
        made = _with_bias(_product(rows, experts.down[0], used, is_input_a_sparse=True), experts.down[1]).transpose(
            0, 1
        )
    made = made.reshape(number, 1, count + rest, -1)
    combined = torch.ops.tt.all_to_all_combine(made, metadata, mapping, num_experts_per_tok=chosen, output_shard_dim=2)
    total = (combined[:, 0] * weights_.t().unsqueeze(-1)).sum(0)
    return total[:count].to(hidden_states.dtype)


def _product(rows: Tensor, weight: Tensor, used: Tensor, *, is_input_a_sparse: bool = False) -> Tensor:
    return torch.ops.tt.sparse_matmul(rows, weight.unsqueeze(0), used, None, is_input_a_sparse, not is_input_a_sparse)


def _with_bias(product: Tensor, bias: Tensor | None) -> Tensor:
    """Adds biases [E, N] to products [..., E, M, N]."""
    return product if bias is None else product + bias.unsqueeze(1)


def routing(outputs: Any, router: str) -> tuple[Tensor, Tensor]:
    """Returns the weights and the indices of each token's experts, both [T, K], from the results of a router.

    The one tensor of integers has the indices. Weights have their shape, or a column for each expert.

    Raises:
        ValueError: the results have no such tensors.
    """
    tensors = [each for each in outputs if isinstance(each, Tensor)] if isinstance(outputs, tuple | list) else []
    indices = [each for each in tensors if not each.is_floating_point()]
    weights = [each for each in tensors if each.is_floating_point() and each.dim() >= 2]
    if len(indices) != 1 or not weights:
        kinds = ", ".join(f"{each.dtype} {list(each.shape)}" for each in tensors) or type(outputs).__name__
        raise ValueError(
            f"{router} returned {kinds}; expected weights and, as integers, the experts of each token. "
            "Leave its module out by target_classes"
        )
    chosen = indices[0].flatten(0, -2)
    same = [each.flatten(0, -2) for each in weights if each.shape[-1] == chosen.shape[-1]]
    return (same[-1] if same else weights[-1].flatten(0, -2).gather(1, chosen.long())), chosen


class FusedExpertsWrapper(nn.Module):
    """Experts whose ``gate_up_proj`` has gate and up; attributes are those of the module that it holds."""

    def __init__(self, experts: nn.Module) -> None:
        super().__init__()
        self._experts = experts

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._experts(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_experts":
                raise
            return getattr(self._experts, name)


class StackedExperts(nn.Module):
    """Weights ``gate_proj``, ``up_proj`` [E, H, I] and ``down_proj`` [E, I, H] with their biases, or None.

    Args:
        experts: a module with the weights of all experts, or a list of modules with linear layers ``gate_proj``,
            ``up_proj`` and ``down_proj``, or ``w1``, ``w3`` and ``w2``.
        hidden: number of features H.

    Raises:
        ValueError: the module or one of the list has no such weights.
    """

    def __init__(self, experts: Any, hidden: int) -> None:
        super().__init__()
        bare = _without(experts, "gate_up_proj", *_PROJECTIONS)
        self.activate: Callable[..., Tensor] | None = getattr(bare, "_apply_gate", None)
        if isinstance(experts, Sequence | nn.ModuleList):
            layers = [_linear_layers(each) for each in experts if each is not None]
            pairs = [
                (torch.stack([each.weight.detach().t() for each in layer]), _stacked_bias(layer))
                for layer in zip(*layers, strict=True)
            ]
        else:
            weights = expert_weights(experts, hidden)
            pairs = [*weights.inner, weights.down]
            if len(pairs) < len(_PROJECTIONS):
                (gate_up, bias), down = pairs
                biases = (None, None) if bias is None else bias.chunk(2, -1)
                pairs = [*zip(gate_up.chunk(2, -1), biases, strict=True), down]
        for name, (weight, bias) in zip(_PROJECTIONS, pairs, strict=True):
            setattr(self, name, nn.Parameter(weight.detach().contiguous()))
            self.register_parameter(f"{name}_bias", None if bias is None else nn.Parameter(bias.detach().contiguous()))


def _linear_layers(expert: nn.Module) -> list[nn.Linear]:
    """Returns the layers gate, up and down of one expert."""
    names = next((each for each in (_PROJECTIONS, ("w1", "w3", "w2")) if hasattr(expert, each[0])), None)
    if names is None:
        raise ValueError(
            f"{type(expert).__name__} has neither gate_proj, up_proj and down_proj nor w1, w3 and w2; "
            "leave its module out by target_classes"
        )
    return [getattr(expert, name) for name in names]


def _stacked_bias(layers: Sequence[nn.Linear]) -> Tensor | None:
    return None if layers[0].bias is None else torch.stack([each.bias.detach() for each in layers])


def _without(module: nn.Module, *names: str) -> nn.Module:
    """Returns a copy for the methods of a module that does not keep the weights alive which are stacked elsewhere."""
    rest = copy.copy(module)
    for part in ("_modules", "_parameters"):
        vars(rest)[part] = {name: value for name, value in vars(module)[part].items() if name not in names}
    return rest


class RouterAdapter(nn.Module):
    """The router of a module whose ``gate`` returns weights and indices, or logits for its own function."""

    def __init__(self, moe_module: nn.Module) -> None:
        super().__init__()
        self.gate = moe_module.gate
        route: Any = None
        if hasattr(moe_module, "route_tokens_to_experts"):
            route = _without(moe_module, "experts").route_tokens_to_experts
        object.__setattr__(self, "_route", route)

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Returns the weights and the indices of each token's experts; tokens are [B, S, H]."""
        if not hasattr(self.gate, "n_routed_experts"):  # DeepSeek's own gate flattens the tokens
            hidden_states = hidden_states.flatten(0, -2)
            args = tuple([each.flatten() if isinstance(each, Tensor) and each.dim() >= 2 else each for each in args])
        outputs = self.gate(hidden_states, *args, **kwargs)
        outputs = self._route(outputs) if self._route is not None and isinstance(outputs, Tensor) else outputs
        return routing(outputs, type(self.gate).__name__)


class DeepseekV3MoEToA2AAdapter(nn.Module):
    """``router`` and ``experts`` of a module that has ``gate`` and ``experts``, as :class:`A2aSparseMLP` takes them.

    Args:
        moe_module: the module.
        hidden: number of features; by default those of the gate's weight.

    Raises:
        ValueError: the experts have no weights that can be stacked.
    """

    def __init__(self, moe_module: nn.Module, hidden: int | None = None) -> None:
        super().__init__()
        self.router = RouterAdapter(moe_module)
        weight = getattr(moe_module.gate, "weight", None)
        self.experts = StackedExperts(moe_module.experts, hidden or (0 if weight is None else weight.shape[-1]))


class A2aSparseMLP(nn.Module):
    """A mixture of experts.

    Args:
        original_mlp: the module, with ``router`` and ``experts``, whose parts are used.
        num_experts: number of experts.
        num_experts_per_tok: experts of a token. The router says which.
        num_devices: chips of the mesh, which divide the experts.
        cluster_axis: axis of the mesh along which tokens are sent.
        config: configuration of the model.
        activation_type: :data:`ACTIVATION_GPT_OSS` or :data:`ACTIVATION_DEEPSEEK`, where the experts have no function
            ``_apply_gate``.
        dispatch_devices: chips along the axis.
        cpu_forward_module: module that computes tensors on the CPU in place of this one.
        use_dense_matmul: whether each expert computes all tokens.
        swiglu_limit: bound of DeepSeek's values; 0 for none.

    Raises:
        ValueError: the experts are not divided by the chips.
    """

    def __init__(
        self,
        original_mlp: nn.Module,
        num_experts: int,
        num_experts_per_tok: int,
        num_devices: int = 1,
        cluster_axis: int = 0,
        config: Any = None,
        activation_type: str = ACTIVATION_GPT_OSS,
        dispatch_devices: int | None = None,
        cpu_forward_module: nn.Module | None = None,
        use_dense_matmul: bool = False,
        swiglu_limit: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_experts, self.num_experts_per_tok = num_experts, num_experts_per_tok
        self.num_devices, self.cluster_axis = num_devices, cluster_axis
        self.dispatch_devices = num_devices if dispatch_devices is None else dispatch_devices
        self.use_dense_matmul = use_dense_matmul
        self.router, self.experts = original_mlp.router, original_mlp.experts
        self.activation_type, self.swiglu_limit = activation_type, swiglu_limit
        self.alpha, self.limit = getattr(self.experts, "alpha", 1.702), getattr(self.experts, "limit", 7.0)
        object.__setattr__(self, "_cpu_module", cpu_forward_module)  # no part of this module
        self.register_buffer("expert_mapping", build_expert_mapping(num_experts, num_devices))

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
        """Returns the result [B, S, H] and the weights that the router gave."""
        if self._cpu_module is not None and hidden_states.device.type == "cpu":
            result = self._cpu_module(hidden_states, *args, **kwargs)
            return result if isinstance(result, tuple) else (result, None)
        hidden = hidden_states.shape[-1]
        tokens = hidden_states if isinstance(self.router, RouterAdapter) else hidden_states.reshape(-1, hidden)
        outputs = self.router(tokens, *args, **kwargs)
        weights, indices = routing(outputs, type(self.router).__name__)
        experts = expert_weights(self.experts, hidden, self._activation())
        total = routed(hidden_states.reshape(-1, hidden), indices, weights, experts, is_dense=self.use_dense_matmul)
        return total.reshape(hidden_states.shape), weights

    def _activation(self) -> Callable[[Tensor], Tensor]:
        own = getattr(self.experts, "activate", None) or getattr(self.experts, "_apply_gate", None)
        if own is not None:
            return own
        interleaved = hasattr(self.experts, "gate_up_proj")
        return lambda gate_up: _moe_activation(
            gate_up, self.activation_type, self.alpha, self.limit, interleaved, self.swiglu_limit
        )


class SparseMLP(A2aSparseMLP):
    """A mixture of experts on one chip; the arguments are those of :class:`A2aSparseMLP`."""

    def __init__(self, original_mlp: nn.Module, num_experts: int, num_experts_per_tok: int, config: Any = None) -> None:
        super().__init__(original_mlp, num_experts, num_experts_per_tok, config=config)


class A2aSparseMLPWithSharedExperts(nn.Module):
    """The sum of a mixture of experts and of experts that compute every token; returns one tensor."""

    def __init__(self, a2a_mlp: A2aSparseMLP, shared_experts: nn.Module | None = None) -> None:
        super().__init__()
        self.mlp, self.shared_experts = a2a_mlp, shared_experts

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        total, _ = self.mlp(hidden_states, *args, **kwargs)
        return total if self.shared_experts is None else total + self.shared_experts(hidden_states)


class _GatedExpert(nn.Module):
    """A shared expert whose results a linear layer weighs."""

    def __init__(self, expert: nn.Module, gate: nn.Module) -> None:
        super().__init__()
        self.expert, self.gate = expert, gate

    def forward(self, hidden_states: Tensor) -> Tensor:
        return torch.sigmoid(self.gate(hidden_states)) * self.expert(hidden_states)


def build_expert_mapping(num_experts: int, num_devices: int, mesh_shape: Sequence[int] | None = None) -> Tensor:
    """Returns 1 where an expert lies on a chip, [1, 1, experts, chips].

    Args:
        num_experts: number of experts.
        num_devices: number of chips.
        mesh_shape: rows and columns of a mesh whose axes both split the experts, the first of them inside.

    Raises:
        ValueError: the experts are not divided by the chips.
    """
    if num_experts % num_devices:
        raise ValueError(f"{num_experts} experts are not divided by {num_devices} chips; expected a multiple of them")
    places = torch.arange(num_experts) // (num_experts // num_devices)
    rows, columns = (1, num_devices) if mesh_shape is None else mesh_shape
    chips = places % rows * columns + places // rows
    return F.one_hot(chips, num_devices)[None, None]


def create_a2a_from_deepseek_v3_moe(
    moe_module: nn.Module,
    config: Any,
    num_devices: int = 8,
    cluster_axis: int = 0,
    dispatch_devices: int | None = None,
    use_dense_matmul: bool = False,
) -> A2aSparseMLPWithSharedExperts:
    """Returns a module that computes what one with ``gate`` and ``experts``, and perhaps shared experts, computes.

    Args:
        moe_module: the module.
        config: configuration of the model.
        num_devices: chips of the mesh.
        cluster_axis: axis of the mesh along which tokens are sent.
        dispatch_devices: chips along the axis.
        use_dense_matmul: whether each expert computes all tokens.

    Raises:
        ValueError: the experts have no weights that can be stacked, or the chips do not divide them.
    """
    adapter = DeepseekV3MoEToA2AAdapter(moe_module, getattr(config, "hidden_size", None))
    mlp = A2aSparseMLP(
        adapter,
        num_experts=adapter.experts.down_proj.shape[0],
        num_experts_per_tok=_first(
            config, moe_module.gate, names=("num_experts_per_tok", "n_activated_experts", "top_k")
        ),
        num_devices=num_devices,
        cluster_axis=cluster_axis,
        config=config,
        activation_type=ACTIVATION_DEEPSEEK,
        dispatch_devices=dispatch_devices,
        use_dense_matmul=use_dense_matmul,
        swiglu_limit=float(getattr(config, "swiglu_limit", None) or 0.0),
    )
    shared = getattr(moe_module, "shared_experts", None)
    if shared is None and hasattr(moe_module, "shared_expert"):
        gate = getattr(moe_module, "shared_expert_gate", None)
        shared = moe_module.shared_expert if gate is None else _GatedExpert(moe_module.shared_expert, gate)
    return A2aSparseMLPWithSharedExperts(mlp, shared)


def _first(*sources: Any, names: Sequence[str]) -> int:
    """Returns the first attribute that one of the sources has, or 0."""
    values = (getattr(source, name, None) for source in sources for name in names)
    return next((int(value) for value in values if value is not None), 0)


def enable_sparse_mlp(
    model: nn.Module,
    mesh: Sequence[int] = (1, 1),
    cluster_axis: int = 0,
    target_classes: Sequence[type[nn.Module]] | None = None,
    verbose: bool = False,
    config: Any = None,
    use_dense_matmul: bool = False,
) -> nn.Module:
    """Replaces mixtures of experts in a model by such that compute with sparse products.

    Args:
        model: the model.
        mesh: chips along each axis of the mesh.
        cluster_axis: axis of the mesh along which tokens are sent.
        target_classes: classes of the modules to replace; by default those with ``experts`` and a ``router`` or
            ``gate``.
        verbose: whether each replacement is printed.
        config: configuration of the model; by default its own.
        use_dense_matmul: whether each expert computes all tokens.

    Returns:
        The model; what replaces it, if it is a mixture of experts itself.

    Raises:
        ValueError: the weights of experts have names that are not known, or the chips do not divide them.
    """
    config = config or getattr(model, "config", None)
    devices = mesh[0] * mesh[1]

    def replaced(name: str, module: nn.Module) -> nn.Module:
        if hasattr(module, "gate"):
            new: nn.Module = create_a2a_from_deepseek_v3_moe(
                module, config, devices, cluster_axis, mesh[cluster_axis], use_dense_matmul
            )
        else:
            if hasattr(module.experts, "gate_up_proj") and not isinstance(module.experts, FusedExpertsWrapper):
                module.experts = FusedExpertsWrapper(module.experts)
            new = A2aSparseMLP(
                module,
                num_experts=module.experts.down_proj.shape[0],
                num_experts_per_tok=_first(module.router, config, names=("top_k", "num_experts_per_tok")),
                num_devices=devices,
                cluster_axis=cluster_axis,
                config=config,
                dispatch_devices=mesh[cluster_axis],
                use_dense_matmul=use_dense_matmul,
            )
        if verbose:
            print(f"[SparseMLP] Replaced {name or 'the model'}: {type(module).__name__} -> {type(new).__name__}")
        return new

    def is_target(module: nn.Module) -> bool:
        has_router = hasattr(module, "router") or hasattr(module, "gate")
        is_mixture = has_router and hasattr(module, "experts") and not isinstance(module, _OURS)
        return is_mixture and (target_classes is None or isinstance(module, tuple(target_classes)))

    if is_target(model):
        return replaced("", model)
    found = _replace_children(model, "", is_target, replaced)
    if not found:
        warnings.warn(
            f"enable_sparse_mlp found no mixture of experts in {type(model).__name__}: no module has experts and a "
            "router or gate",
            stacklevel=2,
        )
    return model


_OURS = (A2aSparseMLP, DeepseekV3MoEToA2AAdapter)


def _replace_children(
    parent: nn.Module,
    prefix: str,
    is_target: Callable[[nn.Module], bool],
    replaced: Callable[[str, nn.Module], nn.Module],
) -> int:
    """Replaces the targets below a module and returns how many there were."""
    count = 0
    for name, child in list(parent.named_children()):
        if isinstance(child, _OURS):
            count += 1
        elif is_target(child):
            setattr(parent, name, replaced(prefix + name, child))
            count += 1
        else:
            count += _replace_children(child, f"{prefix}{name}.", is_target, replaced)
    return count


def get_moe_shard_specs(
    model: nn.Module, original_spec_fn: Callable[[nn.Module], Mapping[Any, Any]], mesh_names: Sequence[str]
) -> dict[Any, Any]:
    """Returns how the weights of a model are split, with the experts over both axes of a mesh.

    Args:
        model: the model, after :func:`enable_sparse_mlp`.
        original_spec_fn: returns how its other weights are split: a partition spec for each.
        mesh_names: names of the axes.
    """
    specs = dict(original_spec_fn(model))
    for module in model.modules():
        if isinstance(module, A2aSparseMLP):
            specs.update(expert_specs(module.experts, tuple(mesh_names[:2])))
    return specs


def expert_specs(experts: nn.Module, axes: Any) -> dict[Any, Any]:
    """Returns partition specs that split the weights and biases of experts over axes of a mesh."""
    names = [name + end for name in ("gate_up_proj", *_PROJECTIONS, "w1", "w2", "w3") for end in ("", "_bias")]
    weights = [getattr(experts, name, None) for name in names]
    return {each: (axes, *[None] * (each.dim() - 1)) for each in weights if isinstance(each, Tensor)}
