"""StableHLO modules for several chips: what data, tensor and sequence parallelism and sharded weights make of a model.

Each function returns a module for a mesh with axes ``data`` and ``model``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Shape = Sequence[int]


def _tensor(name: str, shape: str, dims: str, role: str = "") -> str:
    """Returns an argument; ``dims`` names the axes that split each dimension, separated by spaces, ``-`` for none."""
    axes = ", ".join(
        "{}" if axis == "-" else f'{{"{axis.replace("+", chr(34) + ", " + chr(34))}"}}' for axis in dims.split()
    )
    attributes = [f"sdy.sharding = #sdy.sharding<@mesh, [{axes}]>"]
    if role:
        attributes += ['ttcore.argument_type = "parameter"', f'ttir.name = "{role}"']
    return f"{name}: tensor<{shape}> {{{', '.join(attributes)}}}"


def _module(mesh: Shape, arguments: Sequence[str], result: tuple[str, str], body: str) -> str:
    axes = ", ".join(f'"{name}"={size}' for name, size in zip(("data", "model"), mesh, strict=True))
    returned = _tensor("", *result).removeprefix(": ")
    return f"""module @parallel attributes {{mhlo.num_partitions = {mesh[0] * mesh[1]} : i32}} {{
  sdy.mesh @mesh = <[{axes}]>
  func.func public @main({", ".join(arguments)}) -> ({returned}) {{
    {body}
  }}
}}"""


_MLP = """
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<64x128xbf16>, tensor<128x256xbf16>) -> tensor<64x256xbf16>
    %1 = stablehlo.tanh %0 : tensor<64x256xbf16>
    %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0]
        : (tensor<64x256xbf16>, tensor<256x128xbf16>) -> tensor<64x128xbf16>
    return %2 : tensor<64x128xbf16>"""


def _mlp(mesh: Shape, x: str, up: str, down: str, result: str) -> str:
    arguments = [
        _tensor("%x", "64x128xbf16", x),
        _tensor("%w", "128x256xbf16", up, "up.weight"),
        _tensor("%v", "256x128xbf16", down, "down.weight"),
    ]
    return _module(mesh, arguments, ("64x128xbf16", result), _MLP)


def data_parallel(mesh: Shape) -> str:
    return _mlp(mesh, "data+model -", "- -", "- -", "data+model -")


def tensor_parallel(mesh: Shape) -> str:
    return _mlp(mesh, "data -", "- model", "model -", "data -")


def sequence_parallel(mesh: Shape) -> str:
    """Returns a module whose result is split along the axis that is summed over: reduce_scatter."""
    return _mlp(mesh, "data -", "- model", "model -", "data model")


def sharded_weights(mesh: Shape) -> str:
    """Returns a module whose weights are split although the batch is: each weight is gathered before its use."""
    return _mlp(mesh, "data+model -", "data+model -", "- data+model", "data+model -")


def gathered(mesh: Shape) -> str:
    return _module(
        mesh,
        [_tensor("%x", "64x128xf32", "data model")],
        ("64x128xf32", "- -"),
        """%0 = stablehlo.exponential %x : tensor<64x128xf32>
    return %0 : tensor<64x128xf32>""",
    )


def transposed(mesh: Shape) -> str:
    """Returns a module whose result is split along another dimension than its argument: all_to_all."""
    return _module(
        mesh,
        [_tensor("%x", "128x256xbf16", "model -")],
        ("128x256xbf16", "- model"),
        """%0 = stablehlo.exponential %x : tensor<128x256xbf16>
    return %0 : tensor<128x256xbf16>""",
    )


def shifted(mesh: Shape) -> str:
    """Returns a module for the shards themselves: each chip gets the tensor of the chip before, the first zeros."""
    chips = mesh[0] * mesh[1]
    pairs = ", ".join(f"[{chip}, {chip + 1}]" for chip in range(chips - 1))
    return f"""module @shifted attributes {{mhlo.num_partitions = {chips} : i32}} {{
  func.func public @main(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {{
    %0 = "stablehlo.collective_permute"(%x) {{
        source_target_pairs = dense<[{pairs}]> : tensor<{chips - 1}x2xi64>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}} : (tensor<32x64xf32>) -> tensor<32x64xf32>
    return %0 : tensor<32x64xf32>
  }}
}}"""


def host_op(mesh: Shape) -> str:
    """Returns a module that the host runs parts of: spectra of rows that are split, and of a weight that is not."""
    return _module(
        mesh,
        [_tensor("%x", "8x32xf32", "data -"), _tensor("%w", "1x32xf32", "- -", "filter.weight")],
        ("8x32xf32", "data -"),
        """%0 = stablehlo.exponential %x : tensor<8x32xf32>
    %1 = stablehlo.fft %0, type = RFFT, length = [32] : (tensor<8x32xf32>) -> tensor<8x17xcomplex<f32>>
    %2 = stablehlo.fft %w, type = RFFT, length = [32] : (tensor<1x32xf32>) -> tensor<1x17xcomplex<f32>>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x17xcomplex<f32>>) -> tensor<8x17xcomplex<f32>>
    %4 = stablehlo.multiply %1, %3 : tensor<8x17xcomplex<f32>>
    %5 = stablehlo.fft %4, type = IRFFT, length = [32] : (tensor<8x17xcomplex<f32>>) -> tensor<8x32xf32>
    %6 = stablehlo.tanh %5 : tensor<8x32xf32>
    return %6 : tensor<8x32xf32>""",
    )


def complex_result(mesh: Shape) -> str:
    """Returns a module whose argument and result TT-NN has no data type for, split unevenly."""
    return _module(
        mesh,
        [_tensor("%x", "6x8xcomplex<f32>", "data+model -")],
        ("6x8xcomplex<f32>", "data+model -"),
        """%0 = stablehlo.fft %x, type = FFT, length = [8] : (tensor<6x8xcomplex<f32>>) -> tensor<6x8xcomplex<f32>>
    return %0 : tensor<6x8xcomplex<f32>>""",
    )


def loop_of_each_chip(mesh: Shape) -> str:
    """Returns a module for the shards themselves: each chip multiplies its tensor until the first element is large."""
    return f"""module @loop attributes {{mhlo.num_partitions = {mesh[0] * mesh[1]} : i32}} {{
  sdy.mesh @mesh = <["data"={mesh[0]}, "model"={mesh[1]}]>
  func.func public @main({_tensor("%x", "8x32xf32", "data -")}) -> ({_tensor("", "8x32xf32", "data -")[2:]}) {{
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{"data"}}, {{}}]>]
        out_shardings=[<@mesh, [{{"data"}}, {{}}]>] manual_axes={{"data", "model"}}
        (%part: tensor<{8 // mesh[0]}x32xf32>) {{
      %out = stablehlo.while(%s = %part) : tensor<{8 // mesh[0]}x32xf32>
      cond {{
        %first = stablehlo.slice %s [0:1, 0:1] : (tensor<{8 // mesh[0]}x32xf32>) -> tensor<1x1xf32>
        %number = stablehlo.reshape %first : (tensor<1x1xf32>) -> tensor<f32>
        %hundred = stablehlo.constant dense<1.0e+02> : tensor<f32>
        %more = stablehlo.compare LT, %number, %hundred : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      }} do {{
        %twice = stablehlo.add %s, %s : tensor<{8 // mesh[0]}x32xf32>
        stablehlo.return %twice : tensor<{8 // mesh[0]}x32xf32>
      }}
      sdy.return %out : tensor<{8 // mesh[0]}x32xf32>
    }} : (tensor<8x32xf32>) -> tensor<8x32xf32>
    return %0 : tensor<8x32xf32>
  }}
}}"""


def normalised(mesh: Shape) -> str:
    """Returns a module with an RMS norm of a dimension that is split: chips exchange the sums of squares."""
    return _module(
        mesh,
        [_tensor("%x", "64x256xbf16", "data model"), _tensor("%w", "256xbf16", "model", "norm.weight")],
        ("64x256xbf16", "data model"),
        """%zero = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<256.0> : tensor<64xf32>
    %eps = stablehlo.constant dense<1.0e-5> : tensor<64xf32>
    %0 = stablehlo.convert %x : (tensor<64x256xbf16>) -> tensor<64x256xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<64x256xf32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
    %3 = stablehlo.divide %2, %n : tensor<64xf32>
    %4 = stablehlo.add %3, %eps : tensor<64xf32>
    %5 = stablehlo.rsqrt %4 : tensor<64xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<64xf32>) -> tensor<64x256xf32>
    %7 = stablehlo.multiply %0, %6 : tensor<64x256xf32>
    %8 = stablehlo.convert %7 : (tensor<64x256xf32>) -> tensor<64x256xbf16>
    %9 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<256xbf16>) -> tensor<64x256xbf16>
    %10 = stablehlo.multiply %8, %9 : tensor<64x256xbf16>
    return %10 : tensor<64x256xbf16>""",
    )


PROGRAMS: dict[str, Callable[[Shape], str]] = {
    function.__name__: function
    for function in (
        data_parallel,
        tensor_parallel,
        sequence_parallel,
        sharded_weights,
        gathered,
        transposed,
        shifted,
        normalised,
    )
}

HOST_PROGRAMS: dict[str, Callable[[Shape], str]] = {
    function.__name__: function for function in (host_op, complex_result)
}
"""Programs with parts that the host runs."""

MESHES = {"p300": ((1, 2),), "p150x4": ((2, 2), (1, 4))}
"""Meshes that each system's mock mode opens."""
