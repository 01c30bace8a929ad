"""Programs for several chips: models with shardings of their arguments, and functions under ``shard_map``.

To run one, ``jax.config.update("jax_num_cpu_devices", 8)`` must come before the first use of JAX's devices.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from benchmarks.programs import language, training, vision
from benchmarks.programs.layers import dense
from benchmarks.programs.parameters import fc

BF16, F32, I32 = jnp.bfloat16, jnp.float32, jnp.int32

Spec = Callable[[str, tuple[int, ...]], P]
"""Returns the sharding of a parameter, from its path such as ``blocks/0/up/kernel`` and its shape."""


@dataclass(frozen=True)
class MeshProgram:
    """A function, the shapes of its arguments, and their shardings over the axes ``x`` and ``y`` of a mesh."""

    mesh: tuple[int, int]
    function: Callable[[Mesh | AbstractMesh], Callable[..., Any]]
    """Returns the function for a mesh."""
    arguments: tuple[Any, ...]
    """Trees of shapes."""
    specs: tuple[Any, ...]
    """Sharding of each argument, or a :data:`Spec` for a tree."""
    shardy: bool = True
    """Whether shardings are written in Shardy's form; otherwise in GSPMD's."""

    @property
    def arch(self) -> str:
        """Smallest system of Wormhole chips that has the mesh."""
        return "n300" if math.prod(self.mesh) == 2 else "n300-llmbox"

    def lowered(self) -> jax.stages.Lowered:
        """Returns the lowered function, for which JAX needs no devices."""
        mesh = AbstractMesh(self.mesh, ("x", "y"), axis_types=(AxisType.Auto,) * 2)
        with _partitioner(self.shardy):
            return jax.jit(self.function(mesh)).trace(*self._shapes(mesh)).lower(lowering_platforms=("cpu",))

    def stablehlo(self) -> str:
        return self.lowered().as_text()

    def run(self, mesh: Mesh, values: Callable[[Any], Any]) -> Any:
        """Returns the results on the devices of a mesh, for values that a function makes from trees of shapes."""
        with _partitioner(self.shardy):
            return jax.jit(self.function(mesh))(*values(self._shapes(mesh)))

    def _shapes(self, mesh: Mesh | AbstractMesh) -> list[Any]:
        return [_split(mesh, tree, spec) for tree, spec in zip(self.arguments, self.specs, strict=True)]


@contextlib.contextmanager
def _partitioner(shardy: bool) -> Iterator[None]:
    before = jax.config.jax_use_shardy_partitioner
    jax.config.update("jax_use_shardy_partitioner", shardy)
    try:
        yield
    finally:
        jax.config.update("jax_use_shardy_partitioner", before)


def _split(mesh: Mesh | AbstractMesh, tree: Any, spec: P | Spec) -> Any:
    def of(path: Any, leaf: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        own = spec if isinstance(spec, P) else spec(name, leaf.shape)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, own))

    return jax.tree_util.tree_map_with_path(of, tree)


def _array(*shape: int, dtype: Any = BF16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


# ---- Shardings of parameters

_OUTPUTS = ("q", "k", "v", "up", "gate", "fc1", "head")
"""Layers whose outputs are split in tensor parallelism; the next product adds the chips' results."""
_INPUTS = ("o", "out", "down", "fc2")
"""Layers whose inputs are split in tensor parallelism."""


def _everywhere(name: str, shape: tuple[int, ...]) -> P:
    return P()


def _megatron(name: str, shape: tuple[int, ...]) -> P:
    """Megatron's split over ``y``: outputs of a layer's first product, inputs of its second."""
    *_, layer, leaf = ("", *name.split("/"))
    if leaf in (*_OUTPUTS, *_INPUTS):  # a matrix without a bias
        layer, leaf = leaf, "kernel"
    if layer in _OUTPUTS:
        return P(None, "y") if leaf == "kernel" else P("y")
    return P("y", None) if layer in _INPUTS and leaf == "kernel" else P()


def _fsdp(name: str, shape: tuple[int, ...]) -> P:
    """The first dimension that 8 chips can split is split over all of them."""
    for dim, size in enumerate(shape):
        if size % 8 == 0 and size >= 64:
            return P(*[None] * dim, ("x", "y"))
    return P()


# ---- Functions


def _constant(function: Callable[..., Any]) -> Callable[[Mesh], Callable[..., Any]]:
    return lambda mesh: function


def _on_shards(function: Callable[..., Any], inputs: Any, outputs: Any) -> Callable[[Mesh], Callable[..., Any]]:
    return lambda mesh: jax.shard_map(function, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False)


def _constrained(value: Any, mesh: Mesh, *dims: Any) -> Any:
    return lax.with_sharding_constraint(value, NamedSharding(mesh, P(*dims)))


def _sequence_parallel(mesh: Mesh) -> Callable[..., Any]:
    """Blocks whose norms and residuals are split along the sequence, and whose products are split as Megatron's."""

    def forward(params: Any, x: Any) -> Any:
        from benchmarks.programs.layers import attention, layer_norm

        for block in params["blocks"]:
            x = _constrained(x, mesh, "x", "y", None)
            x = x + attention(block["attention"], layer_norm(block["norm1"], x), 8)
            x = _constrained(x, mesh, "x", "y", None)
            x = x + dense(block["down"], jax.nn.gelu(dense(block["up"], layer_norm(block["norm2"], x))))
        return _constrained(x, mesh, "x", "y", None)

    return forward


def _experts(params: Any, x: Any) -> Any:
    """A mixture of experts in which each token is weighted over all experts, with experts split over chips."""
    weights = jax.nn.softmax((x @ params["router"]).astype(F32), axis=-1).astype(x.dtype)
    hidden = jax.nn.silu(jnp.einsum("td,edh->eth", x, params["up"]))
    return jnp.einsum("eth,ehd,te->td", hidden, params["down"], weights)


def _switch(params: Any, x: Any) -> Any:
    """A mixture of experts of fixed capacity on one chip: tokens travel to the expert's chip and back."""
    experts = lax.axis_size("y")
    scores = jax.nn.softmax(x.astype(F32) @ params["router"].astype(F32), axis=-1)  # no ties for argmax
    chosen = jax.nn.one_hot(jnp.argmax(scores, axis=-1), experts, dtype=x.dtype)
    capacity = x.shape[0] // experts * 2
    place = (jnp.cumsum(chosen.astype(F32), axis=0) - 1).astype(I32)
    dispatch = chosen[..., None] * jax.nn.one_hot(place, capacity, dtype=x.dtype)
    sent = jnp.einsum("td,tec->ecd", x, dispatch)
    received = lax.all_to_all(sent, "y", 0, 1, tiled=True)
    hidden = jax.nn.relu(received[0] @ params["up"][0]) @ params["down"][0]
    returned = lax.all_to_all(hidden[None], "y", 1, 0, tiled=True)
    return jnp.einsum("ecd,tec->td", returned, dispatch)


def _collective_matmul(x: Any, w: Any) -> Any:
    """Multiplies a part of the rows of ``x`` by ``w``, whose parts go round a ring of chips."""
    chips = lax.axis_size("y")
    index = lax.axis_index("y")
    width = w.shape[0]
    total = jnp.zeros((x.shape[0], w.shape[1]), F32)
    for step in range(chips):
        block = lax.dynamic_slice_in_dim(x, ((index + step) % chips) * width, width, 1)
        total = total + block @ w
        if step + 1 < chips:
            w = lax.ppermute(w, "y", [(chip, (chip - 1) % chips) for chip in range(chips)])
    return total


def _ring_attention(query: Any, key: Any, value: Any) -> Any:
    """Attention over a sequence whose parts are split over chips; keys and values go round."""
    chips = lax.axis_size("y")
    top = jnp.full(query.shape[:-1], -jnp.inf, F32)
    weight, mixed = jnp.zeros(query.shape[:-1], F32), jnp.zeros(query.shape, F32)
    for step in range(chips):
        scores = jnp.einsum("hqd,hkd->hqk", query, key).astype(F32) * query.shape[-1] ** -0.5
        new_top = jnp.maximum(top, scores.max(-1))
        parts = jnp.exp(scores - new_top[..., None])
        scale = jnp.exp(top - new_top)
        weight = weight * scale + parts.sum(-1)
        mixed = mixed * scale[..., None] + jnp.einsum("hqk,hkd->hqd", parts, value.astype(F32))
        top = new_top
        if step + 1 < chips:
            ring = [(chip, (chip + 1) % chips) for chip in range(chips)]
            key, value = lax.ppermute(key, "y", ring), lax.ppermute(value, "y", ring)
    return (mixed / weight[..., None]).astype(query.dtype)


def _shifted(x: Any) -> Any:
    """Sends the tensor of each chip to the next one along ``y``."""
    chips = lax.axis_size("y")
    return lax.ppermute(x, "y", [(chip, (chip + 1) % chips) for chip in range(chips)])


def _context_parallel(query: Any, key: Any, value: Any) -> Any:
    """Attention whose queries are split along the sequence; the compiler gathers keys and values."""
    scores = jnp.einsum("hqd,hkd->hqk", query, key).astype(F32) * query.shape[-1] ** -0.5
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, axis=-1).astype(value.dtype), value)


def _alexnet(params: Any, x: Any) -> Any:
    """Convolutions and three linear layers, as upstream's tensor-parallel AlexNet, with narrower layers."""
    from benchmarks.programs.layers import conv, max_pool

    for index, layer in enumerate(params["convs"]):
        x = jax.nn.relu(conv(layer, x, (2, 2) if index == 0 else (1, 1)))
        x = max_pool(x) if index in (0, 1, 4) else x
    x = x.reshape(x.shape[0], -1)
    x = jax.nn.relu(dense(params["fc1"], x))
    x = jax.nn.relu(dense(params["fc2"], x))
    return jax.nn.softmax(dense(params["logits"], x))


def _alexnet_parameters(dtype: Any) -> Any:
    from benchmarks.programs.parameters import kernel

    widths = (3, 64, 128, 192, 192, 128)
    sizes = (5, 3, 3, 3, 3)
    convs = [
        kernel((size, size, before, after), dtype, bias=True)
        for size, before, after in zip(sizes, widths, widths[1:], strict=False)
    ]
    return {
        "convs": convs,
        "fc1": fc(4 * 4 * 128, 512, dtype),
        "fc2": fc(512, 512, dtype),
        "logits": fc(512, 64, dtype),
    }


def _mnist_mlp(params: Any, x: Any) -> Any:
    for layer in ("fc1", "fc2", "head"):
        x = jax.nn.relu(dense(params[layer], x))
    return jax.nn.softmax(x)


def _mnist_mlp_parameters(dtype: Any) -> Any:
    return {"fc1": fc(784, 512, dtype), "fc2": fc(512, 512, dtype), "head": fc(512, 16, dtype)}


def _generate_noise(seed: Any, x: Any) -> Any:
    """Adds threefry's random numbers to a split tensor."""
    return x + jax.random.normal(jax.random.wrap_key_data(seed, impl="threefry2x32"), x.shape, x.dtype)


def _mlp(dtype: Any, hidden: int = 256) -> Any:
    return {"up": fc(256, 4 * hidden, dtype), "down": fc(4 * hidden, 256, dtype)}


def _two_layers(params: Any, x: Any) -> Any:
    return dense(params["down"], jax.nn.gelu(dense(params["up"], x)))


def _classifier(dtype: Any) -> Any:
    return [fc(784, 256, dtype), fc(256, 128, dtype), fc(128, 16, dtype)]


def _gpt_loss_step(params: Any, tokens: Any, labels: Any) -> Any:
    def forward(p: Any, inputs: Any) -> Any:
        return language.gpt(p, inputs, heads=8)[:, -1]

    return training.sgd_step(forward)(params, tokens, labels)


def _llama(kv_heads: int, hidden: int) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Returns prefill, decode, and parameters of a Llama whose heads can be split over the mesh."""

    def prefill(params: Any, tokens: Any) -> Any:
        return language.llama_prefill(params, tokens, 8, kv_heads)

    def decode(params: Any, caches: Any, token: Any, position: Any) -> Any:
        return language.llama_decode(params, caches, token, position, 8, kv_heads)

    return prefill, decode, language.llama_parameters(BF16, 2, kv_heads=kv_heads, hidden=hidden)


def _prefill(mesh: tuple[int, int], kv_heads: int, batch: int, tokens: P) -> MeshProgram:
    prefill, _, parameters = _llama(kv_heads, 768)
    return MeshProgram(mesh, _constant(prefill), (parameters, _array(batch, 128, dtype=I32)), (_megatron, tokens))


def _decode(mesh: tuple[int, int], kv_heads: int, batch: int, rows: Any) -> MeshProgram:
    _, decode, parameters = _llama(kv_heads, 768)
    caches = language.cache_shapes(BF16, 2, kv_heads, batch=batch)
    arguments = (parameters, caches, _array(batch, 1, dtype=I32), _array(dtype=I32))
    return MeshProgram(mesh, _constant(decode), arguments, (_megatron, P(rows, "y"), P(rows), P()))


def _classifier_step(mesh: tuple[int, int], spec: Spec, rows: Any) -> MeshProgram:
    arguments = (_classifier(F32), _array(64, 784, dtype=F32), _array(64, dtype=I32))
    return MeshProgram(mesh, _constant(training.sgd_step(training.mlp)), arguments, (spec, P(rows), P(rows)))


def _collective(
    mesh: tuple[int, int], function: Callable[..., Any], specs: tuple[P, ...], output: P, *shapes: tuple[int, ...]
) -> MeshProgram:
    arguments = tuple(_array(*shape, dtype=F32) for shape in shapes)
    return MeshProgram(mesh, _on_shards(function, specs, output), arguments, specs)


def _gspmd(program: MeshProgram) -> MeshProgram:
    return MeshProgram(program.mesh, program.function, program.arguments, program.specs, shardy=False)


def _dot_psum(mesh: tuple[int, int]) -> MeshProgram:
    return _collective(
        mesh,
        lambda a, b: lax.psum(a @ b, "y"),
        (P("x", "y"), P("y", None)),
        P("x"),
        (512, 1024),
        (1024, 256),
    )


def _dot_psum_scatter(mesh: tuple[int, int]) -> MeshProgram:
    return _collective(
        mesh,
        lambda a, b: lax.psum_scatter(a @ b, "y", scatter_dimension=1, tiled=True),
        (P("x", "y"), P("y", None)),
        P("x", "y"),
        (512, 1024),
        (1024, 512),
    )


def _over_y(mesh: tuple[int, int], function: Callable[..., Any], output: P) -> MeshProgram:
    return _collective(mesh, function, (P("x", "y"),), output, (256, 512))


def _reshard(mesh: tuple[int, int], before: P, after: tuple[Any, ...]) -> MeshProgram:
    def function(mesh: Mesh) -> Callable[..., Any]:
        return lambda x: _constrained(jnp.tanh(x), mesh, *after) * 2

    return MeshProgram(mesh, function, (_array(256, 512),), (before,))


def _cnn_step(mesh: tuple[int, int], rows: Any) -> MeshProgram:
    arguments = (vision.digits_cnn_parameters(F32), _array(16, 28, 28, 1, dtype=F32), _array(16, dtype=I32))
    return MeshProgram(
        mesh, _constant(training.sgd_step(vision.digits_cnn)), arguments, (_everywhere, P(rows), P(rows))
    )


def _experts_shapes() -> Any:
    return {"router": _array(256, 8), "up": _array(8, 256, 512), "down": _array(8, 512, 256)}


def _split_experts(name: str, shape: tuple[int, ...]) -> P:
    return P() if name == "router" else P("y")


_SWITCH_SPECS = {"router": P(), "up": P("y"), "down": P("y")}

_BATCH = ("x", "y")

MESH_PROGRAMS: dict[str, Callable[[], MeshProgram]] = {
    # Data parallel
    "dp_mlp_1x2": lambda: MeshProgram(
        (1, 2), _constant(training.mlp), (_classifier(BF16), _array(64, 784)), (_everywhere, P("y"))
    ),
    "dp_resnet_1x8": lambda: MeshProgram(
        (1, 8), _constant(vision.resnet), (vision.resnet_parameters(BF16), _array(8, 64, 64, 3)), (_everywhere, P("y"))
    ),
    "dp_digits_cnn_2x4": lambda: MeshProgram(
        (2, 4),
        _constant(vision.digits_cnn),
        (vision.digits_cnn_parameters(BF16), _array(64, 28, 28, 1)),
        (_everywhere, P(_BATCH)),
    ),
    "dp_mixer_1x2": lambda: MeshProgram(
        (1, 2), _constant(vision.mixer), (vision.mixer_parameters(BF16), _array(4, 32, 32, 3)), (_everywhere, P("y"))
    ),
    "dp_mlp_train_1x2": lambda: _classifier_step((1, 2), _everywhere, "y"),
    "dp_mlp_train_2x4": lambda: _classifier_step((2, 4), _everywhere, _BATCH),
    "dp_cnn_train_1x8": lambda: _cnn_step((1, 8), "y"),
    # Tensor parallel
    "tp_mlp_1x2": lambda: MeshProgram((1, 2), _constant(_two_layers), (_mlp(BF16), _array(128, 256)), (_megatron, P())),
    "dp_tp_mlp_2x4": lambda: MeshProgram(
        (2, 4), _constant(_two_layers), (_mlp(BF16), _array(128, 256)), (_megatron, P("x"))
    ),
    "tp_mnist_mlp_1x8": lambda: MeshProgram(
        (1, 8), _constant(_mnist_mlp), (_mnist_mlp_parameters(BF16), _array(32, 784)), (_megatron, P())
    ),
    "tp_alexnet_1x2": lambda: MeshProgram(
        (1, 2), _constant(_alexnet), (_alexnet_parameters(BF16), _array(8, 64, 64, 3)), (_megatron, P())
    ),
    "tp_alexnet_1x8": lambda: MeshProgram(
        (1, 8), _constant(_alexnet), (_alexnet_parameters(BF16), _array(8, 64, 64, 3)), (_megatron, P())
    ),
    "dp_tp_bert_2x4": lambda: MeshProgram(
        (2, 4),
        _constant(language.bert),
        (language.bert_parameters(BF16), _array(2, 128, dtype=I32), _array(2, 128, dtype=I32)),
        (_megatron, P("x"), P("x")),
    ),
    "tp_llama_prefill_1x2": lambda: _prefill((1, 2), 2, 1, P()),
    "dp_tp_llama_prefill_2x4": lambda: _prefill((2, 4), 4, 2, P("x")),
    "tp_llama_prefill_1x8": lambda: _prefill((1, 8), 8, 1, P()),
    "tp_llama_decode_1x2": lambda: _decode((1, 2), 2, 1, None),
    "dp_tp_llama_decode_2x4": lambda: _decode((2, 4), 4, 2, "x"),
    "tp_llama_decode_1x8": lambda: _decode((1, 8), 8, 32, None),
    "dp_tp_gpt_train_2x4": lambda: MeshProgram(
        (2, 4),
        _constant(_gpt_loss_step),
        (language.gpt_parameters(F32), _array(2, 128, dtype=I32), _array(2, dtype=I32)),
        (_megatron, P("x"), P("x")),
    ),
    # Parameters split over the chips of the batch
    "fsdp_mlp_train_1x2": lambda: _classifier_step((1, 2), _fsdp, "y"),
    "fsdp_mlp_train_2x4": lambda: _classifier_step((2, 4), _fsdp, _BATCH),
    "fsdp_gpt_train_1x8": lambda: MeshProgram(
        (1, 8),
        _constant(_gpt_loss_step),
        (language.gpt_parameters(F32), _array(8, 128, dtype=I32), _array(8, dtype=I32)),
        (_fsdp, P("y"), P("y")),
    ),
    # Sequences and experts
    "sequence_parallel_2x4": lambda: MeshProgram(
        (2, 4),
        _sequence_parallel,
        ({"blocks": [language.block_parameters(256, BF16) for _ in range(2)]}, _array(2, 128, 256)),
        (_megatron, P("x", "y")),
    ),
    "context_parallel_1x8": lambda: MeshProgram(
        (1, 8), _constant(_context_parallel), (_array(4, 1024, 64),) * 3, (P(None, "y"),) * 3
    ),
    "ring_attention_1x8": lambda: MeshProgram(
        (1, 8),
        _on_shards(_ring_attention, (P(None, "y"),) * 3, P(None, "y")),
        (_array(4, 1024, 64),) * 3,
        (P(None, "y"),) * 3,
    ),
    "experts_2x4": lambda: MeshProgram(
        (2, 4), _constant(_experts), (_experts_shapes(), _array(256, 256)), (_split_experts, P("x"))
    ),
    "switch_1x8": lambda: MeshProgram(
        (1, 8),
        _on_shards(_switch, (_SWITCH_SPECS, P("y")), P("y")),
        (_experts_shapes(), _array(512, 256)),
        (_split_experts, P("y")),
    ),
    # Functions under shard_map, as in upstream's tests/jax/multi_chip
    "dot_psum_1x2": lambda: _dot_psum((1, 2)),
    "dot_psum_2x4": lambda: _dot_psum((2, 4)),
    "dot_psum_scatter_1x8": lambda: _dot_psum_scatter((1, 8)),
    "dot_psum_scatter_2x4_gspmd": lambda: _gspmd(_dot_psum_scatter((2, 4))),
    "psum_1x8_gspmd": lambda: _gspmd(_over_y((1, 8), lambda x: lax.psum(x, "y"), P("x"))),
    "pmean_2x4": lambda: _over_y((2, 4), lambda x: lax.pmean(x, "y"), P("x")),
    "all_gather_1x2_gspmd": lambda: _gspmd(
        _over_y((1, 2), lambda x: lax.all_gather(x, "y", axis=1, tiled=True), P("x"))
    ),
    "all_gather_2x4": lambda: _over_y((2, 4), lambda x: lax.all_gather(x, "y", axis=1, tiled=True), P("x")),
    "psum_scatter_1x8": lambda: _over_y(
        (1, 8), lambda x: lax.psum_scatter(x, "y", scatter_dimension=0, tiled=True), P(("x", "y"))
    ),
    "negative_2x4": lambda: _over_y((2, 4), jnp.negative, P("x", "y")),
    "all_to_all_1x8": lambda: _over_y((1, 8), lambda x: lax.all_to_all(x, "y", 0, 1, tiled=True), P("y")),
    "ppermute_1x8": lambda: _over_y((1, 8), _shifted, P("x", "y")),
    "collective_matmul_1x8": lambda: _collective(
        (1, 8), _collective_matmul, (P("x", None), P("y", None)), P("x"), (256, 1024), (1024, 256)
    ),
    # Changes of shardings
    "reshard_2x4": lambda: _reshard((2, 4), P("x", "y"), ("x", None)),
    "transposed_axes_2x4": lambda: _reshard((2, 4), P("x", "y"), ("y", "x")),
    "all_gather_both_axes_2x4": lambda: _reshard((2, 4), P(("x", "y")), (None, None)),
    "noise_1x8": lambda: MeshProgram(
        (1, 8),
        _constant(_generate_noise),
        (_array(2, dtype=jnp.uint32), _array(1024, 512, dtype=F32)),
        (P(), P("y")),
    ),
}
