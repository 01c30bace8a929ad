"""Mixtures of experts by upstream's names: ops, modules and transformers' back ends."""

import gc
import weakref

import pytest
import torch
from torch import nn

import tt_torch
from tt_torch.sparse_mlp import (
    A2aSparseMLP,
    A2aSparseMLPWithSharedExperts,
    SparseMLP,
    build_expert_mapping,
    enable_sparse_mlp,
    expert_specs,
    get_moe_shard_specs,
    routing,
)

transformers = pytest.importorskip("transformers")
OPS = torch.ops.tt


def sparse_products(rows, weights, used):
    """Returns products of rows [A, B, M, K] with weights [1, E, K, N], one by one."""
    out = torch.zeros(*rows.shape[:2], 1, weights.shape[1], rows.shape[2], weights.shape[3])
    for a in range(rows.shape[0]):
        for b in range(rows.shape[1]):
            for expert in range(weights.shape[1]):
                if used[a, b, 0, expert]:
                    out[a, b, 0, expert] = rows[a, b] @ weights[0, expert]
    return out


@pytest.mark.parametrize("device", ["cpu", "tt"])
def test_blocks_are_multiplied_by_the_experts_that_they_use(device):
    torch.manual_seed(0)
    rows, weights = torch.randn(2, 3, 32, 16), torch.randn(1, 4, 16, 8)
    used = (torch.rand(2, 3, 1, 4) > 0.5).float()
    wanted = sparse_products(rows, weights, used)
    result = OPS.sparse_matmul(rows.to(device), weights.to(device), used.to(device)).cpu()
    torch.testing.assert_close(result, wanted, rtol=0.02, atol=0.05)
    assert ((result == 0) == (wanted == 0)).all()


def test_rows_of_experts_have_their_own_form():
    torch.manual_seed(0)
    rows, weights = torch.randn(6, 4, 32, 16), torch.randn(1, 4, 16, 8)
    used = (torch.rand(1, 1, 6, 4) > 0.5).float()
    wanted = torch.stack([rows[:, e] @ weights[0, e] * used[0, 0, :, e, None, None] for e in range(4)], 1)
    torch.testing.assert_close(OPS.sparse_matmul(rows, weights, used, None, True, False), wanted)
    tokens = rows.transpose(1, 2).reshape(2, 96, 4, 16)  # [D, S, E, K]
    untiled = wanted.transpose(1, 2).reshape(2, 96, 4, 8)
    torch.testing.assert_close(OPS.sparse_matmul(tokens, weights, used, None, True, False), untiled)


@pytest.mark.parametrize(
    ("batch", "length", "blocks"),
    [(2, 64, (2, 2)), (64, 1, (2, 1)), (4, 24, (1, 3))],
    ids=["along the sequence", "along the batch", "flat"],
)
def test_tokens_are_cut_into_blocks(batch, length, blocks):
    torch.manual_seed(0)
    tokens, weights = torch.randn(1, batch, length, 16), torch.randn(1, 4, 16, 8)
    count = batch * length // 32
    used = (torch.rand(1, 1, count, 4) > 0.5).float()
    result = OPS.sparse_matmul(tokens, weights, used)
    assert result.shape == (*blocks, 4, 32, 8)
    wanted = sparse_products(tokens.reshape(1, count, 32, 16), weights, used.reshape(1, count, 1, 4))
    torch.testing.assert_close(result.reshape(count, 4, 32, 8), wanted.reshape(count, 4, 32, 8))


def test_tokens_go_to_experts_and_come_back():
    tokens = torch.randn(2, 32, 8)
    chosen = torch.stack([torch.randperm(4)[:2] for _ in range(64)])
    mapping = build_expert_mapping(4, 2)
    sent, metadata = OPS.all_to_all_dispatch(tokens, chosen, mapping, num_devices=2)
    assert sent.shape == (1, 4, 32, 8)
    assert torch.equal(sent[0, 2:], tokens)
    assert torch.equal(metadata.reshape(2, 64, 2)[1], chosen)
    metadata = metadata.reshape(1, 1, 128, 2)
    made = torch.randn(4, 1, 128, 8)
    back = OPS.all_to_all_combine(made, metadata, mapping, num_devices=2, output_shard_dim=2)
    wanted = torch.stack([made[chosen[:, k], 0, torch.arange(64)] for k in range(2)]).unsqueeze(1)
    assert torch.equal(back, wanted)
    assert torch.equal(OPS.all_to_all_combine(made, metadata, mapping, num_devices=2), wanted.transpose(1, 2))


def test_blocks_name_the_experts_of_their_tokens():
    chosen = torch.zeros(1, 1, 40, 2, dtype=torch.int64)
    chosen[0, 0, :, 1] = 2
    chosen[0, 0, 33:, 1] = 3
    scores = torch.rand(40, 4)
    own, used = OPS.moe_expert_token_remap(scores, build_expert_mapping(4, 1), chosen)
    assert used[0, 0].tolist() == [[1, 0, 1, 0], [1, 0, 1, 1]]
    assert own[0, 0, 39].tolist() == [scores[39, 0], 0, 0, scores[39, 3]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: OPS.sparse_matmul(torch.ones(1, 2, 3), torch.ones(1, 2, 3, 4), torch.ones(1, 1, 1, 2)),
            "4 dimensions",
        ),
        (lambda: OPS.sparse_matmul(torch.ones(2, 2, 3, 5), torch.ones(1, 2, 3, 4), torch.ones(2, 2, 1, 2)), "K, N"),
        (lambda: OPS.sparse_matmul(torch.ones(2, 2, 3, 3), torch.ones(1, 2, 3, 4), torch.ones(2, 2, 1, 3)), "a column"),
        (lambda: OPS.sparse_matmul(torch.ones(2, 2, 3, 3), torch.ones(1, 2, 3, 4), torch.ones(2, 1, 1, 2)), "A, B, 1"),
        (
            lambda: OPS.sparse_matmul(torch.ones(1, 5, 3, 3), torch.ones(1, 2, 3, 4), torch.ones(1, 1, 2, 2)),
            "15 tokens",
        ),
        (
            lambda: OPS.sparse_matmul(
                torch.ones(2, 2, 3, 3), torch.ones(1, 2, 3, 4), torch.ones(2, 2, 1, 2), None, False, False
            ),
            "both False",
        ),
        (lambda: OPS.all_to_all_dispatch(torch.ones(2, 3), torch.ones(2, 1), torch.ones(1)), r"\[B, S, H\]"),
        (lambda: OPS.all_to_all_dispatch(torch.ones(1, 2, 3), torch.ones(3, 1), torch.ones(1)), "row for each token"),
        (
            lambda: OPS.all_to_all_combine(torch.ones(2, 1, 3, 4), torch.ones(1, 1, 4, 2), torch.ones(1)),
            r"\[experts, 1, tokens, H\]",
        ),
        (
            lambda: OPS.all_to_all_combine(torch.ones(2, 1, 3, 4), torch.ones(1, 1, 3, 2), torch.ones(1), 1, 0, 2, 3),
            "expected 1 or 2",
        ),
        (lambda: OPS.moe_expert_token_remap(torch.ones(3, 2), torch.ones(1), torch.ones(1, 1, 4, 2)), "tokens, K"),
    ],
)
def test_shapes_that_do_not_fit_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def block(kind):
    """Returns a small mixture of experts of transformers with drawn weights."""
    torch.manual_seed(0)
    if kind == "gpt_oss":
        from transformers.models.gpt_oss.modeling_gpt_oss import GptOssConfig as Config
        from transformers.models.gpt_oss.modeling_gpt_oss import GptOssMLP as Block
    elif kind == "mixtral":
        from transformers.models.mixtral.modeling_mixtral import MixtralConfig as Config
        from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock as Block
    elif kind == "qwen2_moe":
        from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeConfig as Config
        from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeSparseMoeBlock as Block
    else:
        from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Config as Config
        from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE as Block
    sizes = {"hidden_size": 64, "intermediate_size": 32, "moe_intermediate_size": 32, "n_group": 2, "topk_group": 2}
    experts = {"num_local_experts": 4, "num_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2}
    config = Config(**sizes, **experts, shared_expert_intermediate_size=32)
    module = Block(config).eval()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.2)
    return module, config


@pytest.mark.parametrize("is_dense", [False, True], ids=["sparse", "dense"])
@pytest.mark.parametrize("kind", ["gpt_oss", "mixtral", "qwen2_moe", "deepseek_v3"])
def test_a_block_of_transformers_computes_the_same(kind, is_dense):
    module, config = block(kind)
    x = torch.randn(2, 20, 64)  # 40 tokens, which are padded to two tiles
    with torch.no_grad():
        wanted = module(x)
        replaced = enable_sparse_mlp(module, config=config, use_dense_matmul=is_dense)
        for result in (replaced(x), replaced.to("tt")(x.to("tt"))):
            if kind == "gpt_oss":
                torch.testing.assert_close(result[1].cpu(), wanted[1], rtol=0.02, atol=0.02)
            first, expected = (result[0], wanted[0]) if kind == "gpt_oss" else (result, wanted)
            torch.testing.assert_close(first.cpu(), expected, rtol=0.05, atol=0.05)


def test_the_program_has_sparse_products(tmp_path):
    module, config = block("gpt_oss")
    replaced = enable_sparse_mlp(module, config=config)
    with torch.no_grad():
        torch.compile(replaced, backend="tt", options={"export_path": str(tmp_path)})(torch.randn(2, 32, 64))
    (text,) = [file.read_text() for file in tmp_path.rglob("*ttnn*.mlir")]
    assert text.count('"ttnn.sparse_matmul"') == 2


def test_gradients_pass_through_sparse_products():
    module, config = block("gpt_oss")
    x = torch.randn(1, 32, 64)
    results = []
    for device in ("cpu", "tt"):
        replaced = enable_sparse_mlp(block("gpt_oss")[0], config=config).to(device)
        leaf = x.to(device, copy=True).requires_grad_()
        replaced(leaf)[0].sum().backward()
        results.append((leaf.grad.cpu(), replaced.experts.down_proj.grad.cpu()))
    leaf = x.clone().requires_grad_()
    module(leaf)[0].sum().backward()
    for result in results:
        for value, expected in zip(result, (leaf.grad, module.experts.down_proj.grad), strict=True):
            torch.testing.assert_close(value, expected, rtol=0.05, atol=0.05)


@pytest.mark.usefixtures("chips_as_one_device")
def test_chips_divide_the_experts():
    import torch_xla.distributed.spmd as xs

    module, config = block("gpt_oss")
    mesh = xs.Mesh(range(8), (2, 4), ("batch", "model"))
    x = torch.randn(2, 32, 64)
    with torch.no_grad():
        wanted, _ = module(x)
        replaced = enable_sparse_mlp(module, mesh=(1, 4), config=config, cluster_axis=1).to("tt")
        for weight, spec in expert_specs(replaced.experts, "model").items():
            xs.mark_sharding(weight, mesh, spec)
        result, _ = replaced(x.to("tt"))
    torch.testing.assert_close(result.cpu(), wanted, rtol=0.05, atol=0.05)


class Expert(nn.Module):
    def __init__(self, hidden, inner, bias):
        super().__init__()
        self.w1, self.w3 = (nn.Linear(hidden, inner, bias=bias) for _ in range(2))
        self.w2 = nn.Linear(inner, hidden, bias=bias)

    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))


class Gate(nn.Module):
    """DeepSeek's own gate: indices first, from tokens [B, S, H]."""

    n_routed_experts = 4

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 16))

    def forward(self, x):
        assert x.dim() == 3
        weights, indices = (x.flatten(0, 1) @ self.weight.t()).softmax(-1).topk(2)
        return indices, weights


class ListOfExperts(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.gate, self.experts = Gate(), nn.ModuleList([Expert(16, 32, bias) for _ in range(4)])

    def forward(self, x):
        indices, weights = self.gate(x)
        rows = x.flatten(0, 1)
        total = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            weight = (weights * (indices == number)).sum(1, keepdim=True)
            total = total + weight * expert(rows)
        return total.reshape(x.shape)


@pytest.mark.parametrize("kind", ["mixtral", "deepseek_v3"])
def test_weights_that_were_stacked_are_freed(kind):
    module, config = block(kind)
    model = nn.Sequential(module)
    weights = [weakref.ref(parameter) for parameter in module.experts.parameters()]
    enable_sparse_mlp(model, config=config)
    del module
    gc.collect()
    assert [weight() for weight in weights] == [None, None]


@pytest.mark.parametrize(("dtype", "count"), [(torch.bfloat16, 1), (torch.int32, 0)])
def test_integers_which_ttnn_does_not_multiply_become_plain_products(dtype, count, tmp_path):
    operands = torch.randn(1, 2, 32, 16), torch.randn(1, 4, 16, 8), torch.ones(1, 2, 1, 4)
    operands = [(3 * each).to(dtype) for each in operands]
    compiled = torch.compile(OPS.sparse_matmul, backend="tt", options={"export_path": str(tmp_path)})
    torch.testing.assert_close(compiled(*operands), OPS.sparse_matmul(*operands), rtol=0.05, atol=0.05)
    (text,) = [file.read_text() for file in tmp_path.rglob("*ttnn*.mlir")]
    assert text.count('"ttnn.sparse_matmul"') == count


@pytest.mark.parametrize("bias", [False, True])
def test_lists_of_experts_are_stacked(bias):
    torch.manual_seed(0)
    model = nn.Sequential(nn.LayerNorm(16), ListOfExperts(bias)).eval()
    x = torch.randn(3, 7, 16)
    with torch.no_grad():
        wanted = model(x)
        assert enable_sparse_mlp(model) is model
        assert isinstance(model[1], A2aSparseMLPWithSharedExperts)
        torch.testing.assert_close(model(x), wanted)
        torch.testing.assert_close(model.to("tt")(x.to("tt")).cpu(), wanted, rtol=0.05, atol=0.05)
    specs = get_moe_shard_specs(model, lambda model: {}, ("batch", "model"))
    assert set(specs.values()) == {(("batch", "model"), None, None), *([(("batch", "model"), None)] if bias else [])}
    before = model[1]
    enable_sparse_mlp(model)
    assert model[1] is before


def test_only_target_classes_are_replaced(capsys):
    model = nn.ModuleDict({"a": ListOfExperts(False), "b": nn.Linear(2, 2)})
    with pytest.warns(UserWarning, match="no mixture of experts"):
        enable_sparse_mlp(model, target_classes=[nn.Linear])
    assert isinstance(model["a"], ListOfExperts)
    enable_sparse_mlp(model, target_classes=[ListOfExperts], verbose=True)
    assert capsys.readouterr().out == "[SparseMLP] Replaced a: ListOfExperts -> A2aSparseMLPWithSharedExperts\n"


def test_a_router_without_indices_is_refused():
    with pytest.raises(ValueError, match=r"Router returned torch\.float32"):
        routing((torch.ones(2, 4), torch.ones(2, 4)), "Router")
    scores = torch.tensor([[0.1, 0.2, 0.7]])
    weights, indices = routing((scores, torch.tensor([[2, 0]])), "Router")
    assert weights.tolist() == [pytest.approx([0.7, 0.1])]
    assert indices.tolist() == [[2, 0]]


def test_experts_are_divided_by_chips():
    with pytest.raises(ValueError, match="4 experts are not divided by 3 chips"):
        build_expert_mapping(4, 3)
    assert build_expert_mapping(4, 2)[0, 0].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    # axis 0 of the mesh is inside: pairs of experts go down its columns
    assert build_expert_mapping(8, 4, (2, 2))[0, 0].argmax(-1).tolist() == [0, 0, 2, 2, 1, 1, 3, 3]


def test_a_module_of_the_users_computes_on_the_cpu():
    module, config = block("gpt_oss")
    mlp = A2aSparseMLP(module, 4, 2, cpu_forward_module=nn.Identity(), config=config)
    x = torch.randn(1, 4, 64)
    assert mlp(x) == (x, None)
    one_chip = SparseMLP(module, 4, 2)
    torch.testing.assert_close(one_chip(x)[0], module(x)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["gpt_oss", "mixtral"])
@pytest.mark.parametrize("implementation", ["tt_moe", "tt_dense"])
def test_transformers_takes_the_back_ends(implementation, kind):
    tt_torch.register_tt_moe_backend()
    assert implementation in (tt_torch.TT_MOE_BACKEND_NAME, tt_torch.TT_DENSE_EXPERTS_BACKEND_NAME)
    module, config = block(kind)
    x = torch.randn(2, 20, 64)
    with torch.no_grad():
        wanted = module(x)
        config._experts_implementation = implementation
        for result in (module(x), torch.compile(module.to("tt"), backend="tt")(x.to("tt"))):
            first, expected = (result[0], wanted[0]) if kind == "gpt_oss" else (result, wanted)
            torch.testing.assert_close(first.cpu(), expected, rtol=0.05, atol=0.05)


def test_shard_specs_of_transformers_models():
    config = transformers.MixtralConfig(
        hidden_size=64, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, vocab_size=32
    )
    model = transformers.MixtralForCausalLM(config)
    specs = tt_torch.get_tt_moe_shard_specs(model, lambda model: {model.lm_head.weight: (None, "x")}, ("x", "y"))
    assert len(specs) == 5
    assert specs[model.model.layers[1].mlp.experts.down_proj] == (("x", "y"), None, None)


def test_kernels_of_tt_lang_are_refused_in_words():
    with pytest.raises(RuntimeError, match=r"kernels of tt-lang do not run here.*torch\.library\.custom_op"):

        @tt_torch.tt_lang_operation(operation_id="scale")
        def scale(x):
            return x

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tt_torch.nothing
