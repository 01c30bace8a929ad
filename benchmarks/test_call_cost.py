"""Measures the overhead of a call: a tiny network compared with inductor, and a long chain of small ops.

Minimum times count, because they are what the code takes when nothing else runs.
"""

import pytest

OPS = 201
DTYPES = ("bfloat16", "float32")
CALLS = {
    "inductor": ("cpu", {"backend": "inductor"}),
    "card, tensors on the CPU": ("cpu", {"backend": "tt"}),
    "card": ("tt", {"backend": "tt"}),
    "card, trace": ("tt", {"backend": "tt", "options": {"enable_trace": True}}),
}


@pytest.mark.filterwarnings("ignore")  # inductor's own
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.benchmark(group="call of Linear-ReLU-Linear, 4 x 16", min_rounds=4000)
def test_tiny_network(benchmark, dtype, call):
    import torch
    import torch_xla  # noqa: F401, the device

    place, options = CALLS[call]
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16))
    network = network.eval().to(getattr(torch, dtype))
    x = torch.randn(4, 16, dtype=getattr(torch, dtype))
    with torch.no_grad():
        expected = network(x)
        network, x = network.to(place), x.to(place)
        compiled = torch.compile(network, **options)
        for _ in range(30):  # until the fused kernel is compiled
            compiled(x)
        output = benchmark(compiled, x)
    torch.testing.assert_close(output.cpu(), expected, rtol=0.05, atol=0.02)


@pytest.fixture(scope="module")
def chain():
    """Returns a function of bare kernels, the same program as StableHLO text, and the operands."""
    import torch

    functions = [(torch.add, "add"), (torch.mul, "multiply"), (torch.sub, "subtract")] * (OPS // 3)
    tile = "tensor<32x32xbf16>"
    lines = [f"module {{ func.func @main(%v0: {tile}, %b: {tile}) -> {tile} {{"]
    lines += [f"%v{i + 1} = stablehlo.{name} %v{i}, %b : {tile}" for i, (_, name) in enumerate(functions)]
    lines.append(f"return %v{len(functions)} : {tile} }} }}")
    generator = torch.Generator().manual_seed(0)
    operands = [torch.rand(32, 32, generator=generator).bfloat16() for _ in range(2)]

    def bare(a, b):
        for function, _ in functions:
            a = function(a, b)
        return a

    return bare, "\n".join(lines), operands


@pytest.mark.parametrize("way", ["bare kernels", "card", "card, trace"])
@pytest.mark.benchmark(group=f"chain of {OPS} elementwise ops, 32 x 32", min_rounds=500)
def test_chain(benchmark, chain, way, monkeypatch):
    """Runs the kernels one by one; fused, all of them would be one call."""
    import torch

    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "off")
    bare, text, operands = chain
    expected = bare(*operands)
    if way == "bare kernels":
        benchmark(bare, *operands)
        return
    from tt_xla.compiler import compile_module
    from tt_xla.compiler.stablehlo import parse_module
    from tt_xla.options import CompileOptions
    from tt_xla.runtime import get_device
    from tt_xla.target import load_target

    options = CompileOptions.parse({"enable_trace": way == "card, trace"})
    program = compile_module(parse_module(text, "the chain"), options, load_target("p150"))
    executable = get_device("p150").load(program)
    for _ in range(3):
        executable.run(operands, [None, None])
    (result,) = benchmark(executable.run, operands, [None, None])
    assert torch.equal(result, expected)
