"""Names, numbers and lines of generated source, in Python and in C++, as exact text."""

from __future__ import annotations

import keyword
import math
import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tt_xla.codegen import naming
from tt_xla.codegen.expressions import Call, Data, Device, Name, Value, shortest
from tt_xla.codegen.formatting import Group, call, flat, lay_out, node_of
from tt_xla.codegen.languages.base import Iteration
from tt_xla.codegen.languages.cpp import Cpp
from tt_xla.codegen.languages.numbered import WeightEntry
from tt_xla.codegen.languages.python import Python, closing, opening, plain

pytestmark = pytest.mark.quick

PY, CPP = Python(), Cpp()


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (
            naming.identifier,
            {
                "Fc.Weight": "fc_weight",
                "3d": "x_3d",
                "": "x",
                "--a--": "a",
                "class": "class_",
                "print": "print_",
                "ä": "x",
            },
        ),
        (naming.stem, {"linear_2": "linear", "linear": "linear", "a_b": "a_b", "_3": "_3", "fc_10_2": "fc_10"}),
        (
            naming.module_path,
            {
                "layers.0.fc.weight": ("layers", "0", "fc"),
                "state['layers'][0]['fc'].kernel.value": ("state", "layers", "0", "fc"),
                "a.b.get_value": ("a",),
                "weight": (),
                "": (),
            },
        ),
        (
            naming.block_of,
            {
                "layers.0.fc.weight": "layers.0.",
                "state['layers'][0]['fc'].kernel": "state['layers'][0][",
                "fc.weight": "",
                "layers.12": "",
                "a.0.b.1.c": "a.0.",
            },
        ),
        (
            naming.own_name,
            {
                "layers.0.fc.weight": "weight",
                "fc.weight.prepared": "weight",
                "fc.weight.prepared_3": "weight",
                "a.kernel.value": "kernel",
                "weight": "",
                "a.class": "class_",
            },
        ),
        (naming.module_name, {"layers.0.fc.weight": "fc", "layers.0.weight": "layers", "0.weight": "", "weight": ""}),
        (
            naming.op_name,
            {
                **{"ttnn.abs": "magnitude", "ttnn.clamp_scalar": "clamp", "ttnn.clamp_tensor": "clamp"},
                **{"ttnn.max": "largest", "ttnn.min": "smallest"},
                **{"ttnn.pow_tensor": "power", "ttnn.prepare_conv2d_bias": "bias", "ttnn.slice_static": "part"},
                **{"ttnn.prepare_conv2d_weights": "weight", "ttnn.prepare_conv_transpose2d_bias": "bias"},
                **{"ttnn.prepare_conv_transpose2d_weights": "weight"},
                **{"ttnn.round": "rounded", "ttnn.scaled_dot_product_attention": "attention", "ttnn.sum": "total"},
                **{"ttnn.scaled_dot_product_attention_decode": "attention", "ttnn.matmul": "matmul"},
                "ttnn.where": "where",
            },
        ),
        (
            naming.number_name,
            {0.5: "0_5", -1e-6: "minus_1e_06", math.inf: "inf", -math.inf: "minus_inf", 1e20: "1e20", -2: "minus_2"},
        ),
        (
            naming.filled_name,
            {
                0.0: "zero",
                1.0: "one",
                -1.0: "minus_one",
                math.inf: "infinity",
                -math.inf: "minus_infinity",
                0.5: "full_0_5",
            },
        ),
    ],
)
def test_names(function: Any, names: dict[Any, Any]) -> None:
    assert {text: function(text) for text in names} == names


CPP_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
""",
    )
)
"""The keywords of C++20, as its standard lists them."""


def test_no_name_is_a_keyword_of_either_language() -> None:
    words = {*CPP_KEYWORDS, *filter(str.islower, keyword.kwlist)}
    assert words & {naming.identifier(word) for word in words} == set()


def test_unique_names() -> None:
    used = {"a", "a_1", "b", "class_"}
    names = [naming.unique(name, used) for name in ("a", "b", "c", "class_")]
    assert names == ["a_2", "b_1", "c", "class_1"]


def cores(*corners: int) -> Call:
    first, last = Call("ttnn.CoreCoord", corners[:2]), Call("ttnn.CoreCoord", corners[2:])
    return Call("ttnn.CoreRange", (first, last))


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (
            Call(
                "ttnn.MemoryConfig",
                (
                    Name("ttnn.TensorMemoryLayout.BLOCK_SHARDED"),
                    Name("ttnn.BufferType.L1"),
                    Call(
                        "ttnn.ShardSpec",
                        (Call("ttnn.CoreRangeSet", ((cores(0, 0, 3, 1), cores(0, 2, 1, 2)),)), (64, 32), Name("x")),
                    ),
                ),
            ),
            "L1_BLOCK_SHARDED_64X32_ON_10",
        ),
        (
            Call(
                "ttnn.WormholeComputeKernelConfig",
                (),
                {"math_fidelity": Name("ttnn.MathFidelity.HiFi4"), "fp32_dest_acc_en": True},
            ),
            "HIFI4_FP32",
        ),
        (Call("ttnn.WormholeComputeKernelConfig", (), {"math_fidelity": Name("ttnn.MathFidelity.LoFi")}), "LOFI"),
        (Call("ttnn.WormholeComputeKernelConfig", (), {"fp32_dest_acc_en": True}), "COMPUTE_FP32"),
        (Call("ttnn.WormholeComputeKernelConfig", (), {"fp32_dest_acc_en": False}), "COMPUTE"),
        (Call("ttnn.UnaryWithParam", (Name("ttnn.UnaryOpType.MUL_UNARY_SFPU"), 0.5, True)), "MUL_0_5"),
        (Call("ttnn.UnaryWithParam", (Name("ttnn.UnaryOpType.RELU"),)), "RELU"),
        (
            Call("ttnn.MeshMapperConfig", ((Call("ttnn.PlacementShard", (1,)), Call("ttnn.PlacementReplicate")),)),
            "SPLIT_1_ALL",
        ),
        (Call("ttnn.MeshComposerConfig", ((0, 2),)), "JOIN_0_2"),
        (Call("ttnn.CoreGrid", (), {"x": 8, "y": 4}), "CORES_4X8"),
        (
            Call(
                "dict",
                (),
                {
                    **{"kernel_size": (3, 5), "in_channels": 32, "out_channels": 64, "input_height": 26},
                    "input_width": 27,
                },
            ),
            "CONV_3X5_32_TO_64_AT_26X27",
        ),
        (
            Call(
                "ttnn.MatmulMultiCoreReuseMultiCast1DProgramConfig",
                (),
                {
                    "compute_with_storage_grid_size": Call("ttnn.CoreCoord", (8, 4)),
                    "fused_activation": Call("ttnn.UnaryWithParam", (Name("ttnn.UnaryOpType.GELU"),)),
                },
            ),
            "MATMUL_1D_8X4_GELU",
        ),
        (Call("ttnn.MatmulMultiCoreReuseProgramConfig"), "MATMUL"),
    ],
)
def test_names_of_configs(config: Call, name: str) -> None:
    assert naming.config_name(config) == name


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (9.999999974752427e-07, 1e-06),
        (0.10000000149011612, 0.1),
        (0.1, 0.1),
        (3.4028234663852886e38, 3.4028234663852886e38),  # fewer digits are more than the largest one
        (16777217.0, 16777217.0),
        (-0.5, -0.5),
        (math.inf, math.inf),
        (0.30000001192092896, 0.3),
        (1.401298464324817e-45, 1e-45),
    ],
)
def test_the_shortest_decimals(value: float, expected: float) -> None:
    assert shortest(value) == expected


DATA = Data(b"abcd", cast("Any", None))
CALL = Call("ttnn.f", (Value(3), (Value(1), 2)), {"b": Value(3), "c": Device(), "d": Name("ttnn.x")})


def test_expressions_as_nodes() -> None:
    def text(expression: Any) -> str:
        return flat(node_of(expression, lambda number: f"v{number}", lambda data: Call("load", (data.elements[0],))))

    assert text(CALL) == "ttnn.f(v3, [v1, 2], b=v3, c=device, d=ttnn.x)"
    assert text(Call("dict", (), {"a": 1, "b": (2,)})) == '{"a": 1, "b": [2]}'
    assert text(Call("f", (1,), {"**": Name("X"), "y": 2})) == "f(1, **X, y=2)"
    assert text(DATA) == "load(97)"
    assert [text(value) for value in (1e20, 1e-06, -math.inf, {3, 1}, "a", None)] == [
        "1e20",
        "1e-06",
        'float("-inf")',
        "{1, 3}",
        '"a"',
        "None",
    ]


def test_lines_are_broken_at_brackets() -> None:
    short = call("f", ["a", "b"])
    assert lay_out("x = ", short, ";", 1) == ["    x = f(a, b);"]
    exact = call("f", ["a" * 58, "b" * 57])
    assert lay_out("", exact) == [f"f({'a' * 58}, {'b' * 57})"]
    wide = call("f", ["a" * 58, "b" * 58])
    assert lay_out("", call("f", ["a" * 57, "b" * 57]), ";;;;") == ["f(", f"    {'a' * 57}, {'b' * 57}", ");;;;"]
    assert lay_out("", wide) == ["f(", f"    {'a' * 58},", f"    {'b' * 58},", ")"]
    assert lay_out("x = ", Group("[", wide.items, "]"), ";", 1) == [
        "    x = [",
        f"        {'a' * 58},",
        f"        {'b' * 58},",
        "    ];",
    ]
    assert lay_out("", Group("{", wide.items, "}", prefixes=("k: ", "l: ")), trailing="") == [
        "{",
        f"    k: {'a' * 58},",
        f"    l: {'b' * 58}",
        "}",
    ]
    assert lay_out("", "a" * 130) == ["a" * 130]
    assert lay_out("x" * 130, Group("[", (), "]")) == ["x" * 130 + "[]"]


def test_statements_of_both_languages() -> None:
    source = call("f", ["a"])
    assert (PY.deallocate("x"), CPP.deallocate("x")) == (
        "    ttnn.deallocate(x, False)",
        "    ttnn::deallocate(x, false);",
    )
    assert (PY.weight("a"), CPP.weight("a")) == ('w["a"]', 'w.at("a")')
    assert (PY.under("a."), CPP.under("a.")) == ('utils.under(w, "a.")', 'utils::under(w, "a.")')
    assert (flat(PY.listed(["a", "b"])), flat(CPP.listed(["a", "b"]))) == ("[a, b]", "{a, b}")
    assert (PY.comment("c"), CPP.comment("c\\")) == ("    # c", "    // c")
    assert (PY.is_comment("  # c"), PY.is_comment("c # c")) == (True, False)
    assert (CPP.is_comment("  // c"), CPP.is_comment("c // c")) == (True, False)
    assert (PY.scalar("x"), CPP.scalar("x")) == ("utils.scalar(x)", "static_cast<int64_t>(utils::scalar(x))")
    assert PY.weights([]) == []
    assert [flat(node) for node in PY.weights(["a", "b"])] == ['utils.named(w, "a b")']
    assert [flat(node) for node in PY.weights(["a", "b c"])] == ['[w["a"], w["b c"]]']
    assert CPP.weights(["a", "b"]) == ['w.at("a")', 'w.at("b")']
    assert PY.bind(["x", "y"], [True, True], source, "several") == ["    x, y = f(a)"]
    assert PY.bind(["x"], [True], source, "list") == ["    (x,) = f(a)"]
    assert PY.bind(["x"], [True], source, "one") == ["    x = f(a)"]
    assert PY.bind([], [], source, "nothing") == ["    f(a)"]
    assert CPP.bind(["x"], [True], source, "one") == ["    auto x = f(a);"]
    assert CPP.bind(["x"], [False], source, "several") == ["    x = f(a)[0];"]
    assert CPP.bind(["x"], [True], source, "variant") == ["    auto x = std::get<0>(f(a));"]
    assert CPP.bind([], [], source, "nothing") == ["    f(a);"]
    for form, item in (("several", "allResults[{}]"), ("tuple", "std::get<{}>(allResults)")):
        assert CPP.bind(["x", "y"], [True, False], source, form) == [
            "    ttnn::Tensor x;",
            "    {",
            "        auto allResults = f(a);",
            f"        x = {item.format(0)};",
            f"        y = {item.format(1)};",
            "    }",
        ]
    assert [PY.return_statement(["x", "y"], form) for form in ("list", "nothing", "several")] == [
        ["    return [x, y]"],
        [],
        ["    return x, y"],
    ]
    assert [CPP.return_statement(["x"], form) for form in ("list", "nothing", "one")] == [
        ["    return {x};"],
        [],
        ["    return x;"],
    ]
    assert CPP.return_statement([], "list") == ["    return {};"]
    assert (PY.result_form(None, 2), PY.result_form(None, 1), CPP.result_form(None, 2)) == ("several", "one", "one")


def test_loops_and_choices_of_both_languages() -> None:
    states, captured = ["a", "b"], ["c"]
    for bounds, text in (
        (["0", "n", "1"], "range(n)"),
        (["2", "n", "1"], "range(2, n)"),
        (["0", "n", "2"], "range(0, n, 2)"),
    ):
        assert PY.loop(Iteration(bounds, None, "body", "s", states, captured)) == [
            "    s = [a, b]",
            f"    for _ in {text}:",
            "        s = body(device, *s, c)",
        ]
    assert PY.loop(Iteration(["0", "0", "1"], "test", "body", "s", states, captured)) == [
        "    s = [a, b]",
        "    while utils.scalar(test(device, *s, c)[0]):",
        "        s = body(device, *s, c)",
    ]
    assert CPP.loop(Iteration(["0", "n", "2"], None, "body", "s", states, captured)) == [
        "    std::vector<ttnn::Tensor> s = {a, b};",
        "    for (int64_t iRound = 0, nRounds = utils::rounds(0, n, 2); iRound < nRounds; ++iRound) {",
        "        s = body(device, utils::joined(s, {c}));",
        "    }",
    ]
    assert CPP.loop(Iteration(["0", "n", "2"], "test", "body", "s", states, captured))[1:] == [
        "    while (utils::scalar(test(device, utils::joined(s, {c}))[0])) {",
        "        s = body(device, utils::joined(s, {c}));",
        "    }",
    ]
    lines, node = PY.choose("pick", "i", ["f", "g"], ["a"])
    assert (lines, flat(node)) == (["    pick = utils.pick(i, f, g)"], "pick(device, a)")
    lines, node = CPP.choose("pick", "i", ["f", "g"], ["a"])
    assert (lines, flat(node)) == (["    const utils::Branch pick = utils::pick(i, {f, g});"], "pick(device, {a})")


def test_devices_are_opened_and_closed() -> None:
    assert opening(None, "x=1") == ["    device = ttnn.open_device(device_id=0, x=1)"]
    assert closing(None) == ["        ttnn.close_device(device)"]
    for chips, text in (((), ""), ((0, 3), ", physical_device_ids=[0, 3]")):
        mesh = cast("Any", SimpleNamespace(shape=(2, 4), fabric="FABRIC_1D", physical_chips=chips))
        assert opening(mesh, "x=1") == [
            "    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D)",
            f"    device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4), x=1{text})",
        ]
        assert closing(mesh) == [
            "        ttnn.close_mesh_device(device)",
            "        ttnn.set_fabric_config(ttnn.FabricConfig.DISABLED)",
        ]
        program = cast("Any", SimpleNamespace(memory=SimpleNamespace(trace_bytes=7)))
        text = "\n".join(CPP.entry(program, mesh, True, 2, {}, ["j"]))
        assert f"open_mesh_device(2, 4, 32768{', {0, 3}' if chips else ''})" in text
        assert "SetFabricConfig(tt::tt_fabric::FabricConfig::FABRIC_1D)" in text
    single = cast("Any", SimpleNamespace(memory=SimpleNamespace(trace_bytes=0)))
    assert "trace_region_size" not in "\n".join(PY.entry(single, None, False, 0, {}, None))
    entry = "\n".join(PY.entry(program, None, True, 0, {1: 0, "cache": 2}, ["join(results)"]))
    assert "open_device(device_id=0, l1_small_size=32768, trace_region_size=7)" in entry
    assert (
        "        const_eval(device, w)\n"
        '        updates = {1: 0, "cache": 2}\n'
        "        results = utils.steps(count, forward, device, w, load_inputs(device), updates)" in entry
    )
    assert "        utils.show([join(results)], count == 1)" in entry
    assert "const_eval" not in "\n".join(CPP.entry(single, None, False, 1, {}, None))
    entry = "\n".join(CPP.entry(single, None, False, 1, {0: 2, "cache": 1}, None))
    assert '            inputs[0] = results[2];\n            w["cache"] = results[1];\n' in entry
    assert "        auto results = forward(device, w, inputs[0]);\n" in entry
    assert "        utils::show(results, steps == 1);" in entry


def test_tables_of_weights() -> None:
    entries = [WeightEntry((f"arg{number}",), call("utils.load", [f'"arg{number}"', "device"])) for number in (3, 4, 7)]
    assert PY.loaders(entries, ["i"])[2:6] == [
        "def load_weights(device):",
        '    return {**utils.load_range(range(3, 5), device), "arg7": utils.load("arg7", device)}',
        "",
        "",
    ]
    stored = CPP.store([WeightEntry(("a", "b"), "f()"), WeightEntry(("c",), "g()")])
    assert stored == [
        "    {",
        "        const auto allResults = f();",
        '        w["a"] = allResults[0];',
        '        w["b"] = allResults[1];',
        "    }",
        '    w["c"] = g();',
    ]
    assert plain('a"b\\c*/d\n') == "a_b_c__d_"
