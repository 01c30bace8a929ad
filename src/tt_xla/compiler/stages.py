"""The stages of the compiler in their order, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler import (
    cse,
    workarounds,
)
from tt_xla.compiler.analysis.layers import layer_names
from tt_xla.compiler.analysis.op_names import op_names
from tt_xla.compiler.ttir import (
    add_bias_before_all_reduce,
    decode_attention,
    decompose,
    distribute_norms,
    fill_tiles,
    fold,
    fold_broadcasts,
    fold_rows,
    fuse,
    join_collectives,
    merge_all_reduces,
    merge_host_calls,
    move_through_collectives,
    plain_forms,
    rows_of_images,
    scatter_all_reduces,
    sink_permutes,
)
from tt_xla.compiler.ttnn import (
    approximate_functions,
    choose_argument_layouts,
    convert_activation_dtype,
    convert_cache_dtype,
    convert_to_hwc,
    convert_weight_dtype,
    deallocate,
    hoist_const_eval,
    hoist_loop_invariants,
    hoist_trace,
    keep_const_eval_inputs_on_host,
    keep_padded_weights,
    override_ops,
    pool_tiles,
    propagate_row_major,
    reshape_row_major,
    set_compute_config,
    split_wide_products,
    transpose_weights,
    write_in_place,
)
from tt_xla.compiler.ttnn import fuse as fuse_ttnn
from tt_xla.compiler.ttnn.layouts import choose_layouts
from tt_xla.compiler.ttnn.layouts.explain import Choice
from tt_xla.ir.layout import DataType
from tt_xla.options import CompileOptions, weight_overrides
from tt_xla.target import Target

if TYPE_CHECKING:
    from tt_xla.overrides import OpOverride
    from tt_xla.precision import LayerPrecision


def always(options: CompileOptions) -> bool:
    """Returns true: the stage runs under all options."""
    return True


@dataclass(frozen=True)
class Stage:
    """A named step of the pipeline."""

    name: str
    """Name in kebab case, which users give to ``tt-xla opt``."""
    run: Callable[[ModuleOp, CompileOptions, Target], object]
    """Function that changes the module in place."""
    reason: str
    """Reason for the stage and for its position in the pipeline."""
    when: Callable[[CompileOptions], bool] = always
    """Whether the stage runs under some options."""


def _alone(run: Callable[[ModuleOp], object]) -> Callable[[ModuleOp, CompileOptions, Target], object]:
    """Adapts a pass that needs neither options nor target to the signature of ``Stage.run``."""
    return lambda module, options, target: run(module)


def is_exact(options: CompileOptions) -> bool:
    """Returns whether stages skip the rewrites that may change a program's results (:attr:`Pattern.approximate`)."""
    return options.numerics == "exact"


def _fold(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    fold.run(module, exact=is_exact(options))


def _join_collectives(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    join_collectives.run(module, exact=is_exact(options))


def _merge_all_reduces(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    merge_all_reduces.run(module, target)


def _distribute_norms(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    distribute_norms.run(module, target)


def _scatter_all_reduces(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    scatter_all_reduces.run(module, target)


def _decompose(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    decompose.run(module, patches=options.optimization_level >= 1)


def _fuse_bias(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    fuse.run(module, permute_matmul=False, exact=is_exact(options))


def _fuse_ttir(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    permute_matmul = options.experimental_enable_permute_matmul_fusion
    fuse.run(module, permute_matmul=permute_matmul, exact=is_exact(options))


def _decode_attention(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    decode_attention.run(module, target, exact=is_exact(options))


def _fold_rows(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    fold_rows.run(module, target)


def _fuse_ttnn(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    optimise, apart = options.optimization_level >= 1, options.traps.at_numbers
    fuse_ttnn.run(module, optimise=optimise, exact=is_exact(options), apart=apart)


def _hoist_on_captured(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    hoist_loop_invariants.run(module, constants=False)


def _hoist_all(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    hoist_loop_invariants.run(module, constants=True)


def precision_by_layer(module: ModuleOp, options: CompileOptions) -> dict[str, LayerPrecision]:
    """Returns the precision of each layer that the option ``precision`` gives one.

    Raises:
        OptionError: The precision names a layer that the module lacks.
    """
    if not options.precision:
        return {}
    from tt_xla.precision import parse_precision

    precision, names = parse_precision(options.precision), layer_names(module)
    precision.check(names)
    return precision.by_layer(names)


def _convert_weight_dtype(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    weight_dtype = options.experimental_weight_dtype
    layers = precision_by_layer(module, options)
    formats = {name: layer.weights for name, layer in layers.items() if layer.weights is not None}
    overrides = formats | weight_overrides(options.experimental_weight_dtype_overrides)
    convert_weight_dtype.run(module, DataType(weight_dtype) if weight_dtype else None, overrides)


def _keep_padded_weights(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    keep_padded_weights.run(module, target)


def _convert_cache_dtype(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    convert_cache_dtype.run(module, DataType(options.experimental_kv_cache_dtype))


def _convert_activation_dtype(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    convert_activation_dtype.run(module, DataType(options.experimental_activation_dtype))


def _set_compute_config(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    set_compute_config.run(module, options, precision_by_layer(module, options))


def _approximate_functions(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    layers = precision_by_layer(module, options)
    approximate_functions.run(module, options.fast_and_approximate_mode, layers)


def _propagate_row_major(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    propagate_row_major.run(module, target)


def _reshape_row_major(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    reshape_row_major.run(module, target)


def _convert_to_hwc(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    convert_to_hwc.run(module, target)


def _pool_tiles(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    pool_tiles.run(module, target)


def _split_wide_products(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    split_wide_products.run(module, target)


def _write_in_place(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    write_in_place.run(module, target)


def _override_ops(module: ModuleOp, options: CompileOptions, target: Target) -> None:
    from tt_xla.overrides import parse_overrides

    override_ops.run(module, parse_overrides(options.overrides))


def choose_op_layouts(
    module: ModuleOp,
    options: CompileOptions,
    target: Target,
    choices: list[Choice] | None = None,
    menus: dict[str, list[dict[str, Any]]] | None = None,
) -> None:
    """Chooses layouts at level 2, and those of ops with overrides at every level.

    At other levels and for no overrides, which is the stage run by itself, it chooses all layouts too.

    Args:
        module: TTNN module that is changed in place.
        options: compile options.
        target: the chip.
        choices: receives the choices and their reasons at level 2.
        menus: receives, by name of an op, what an override may choose for it.
    """
    overrides: Mapping[str, OpOverride] = {}
    if options.overrides:
        from tt_xla.overrides import parse_overrides

        overrides = parse_overrides(options.overrides).by_op(op_names(module).values())
    searched = options.optimization_level == 2 or (not overrides and menus is None)
    request = choose_layouts.Request(overrides, searched, choices if searched else None, menus)
    choose_layouts.run(module, target, traced=options.enable_trace, request=request)


TTIR_STAGES = (
    Stage(
        "ttir-plain-forms",
        _alone(plain_forms.run),
        "TTIR text of other compilers has ops that are short for others, which no later stage knows.",
    ),
    Stage(
        "ttir-fold",
        _fold,
        "Frontends spell out broadcasts and constants. The later stages match the folded forms.",
    ),
    Stage(
        "ttir-merge-host-calls",
        _alone(merge_host_calls.run),
        "Runs after folding removed dead host calls, and before fusions use the results of the live ones.",
    ),
    Stage(
        "ttir-fold-broadcasts",
        _alone(fold_broadcasts.run),
        "TTIR ops broadcast their operands themselves. Without explicit broadcasts the fusion patterns stay short.",
    ),
    Stage("ttir-cse", _alone(cse.run), "Fusion patterns compare values by identity."),
    Stage(
        "ttir-join-collectives",
        _join_collectives,
        "Joins collectives that follow each other before ttir-decompose takes apart those that TT-NN lacks.",
    ),
    Stage(
        "ttir-move-through-collectives",
        _alone(move_through_collectives.run),
        "Moves elementwise ops to the smaller side of a collective before they are fused.",
    ),
    Stage(
        "ttir-distribute-norms",
        _distribute_norms,
        "Matches the sums of norms before ttir-merge-all-reduces joins them with others.",
        lambda options: not is_exact(options),
    ),
    Stage(
        "ttir-add-bias-before-all-reduce",
        _alone(add_bias_before_all_reduce.run),
        "Puts a bias beside its matrix product before ttir-fuse. Const-eval prepares the bias once.",
        lambda options: options.enable_const_eval and not is_exact(options),
    ),
    Stage(
        "ttir-merge-all-reduces",
        _merge_all_reduces,
        "Reduces several small tensors at once after the passes that remove or shrink all_reduces.",
        lambda options: not is_exact(options),
    ),
    Stage(
        "ttir-scatter-all-reduces",
        _scatter_all_reduces,
        "Sums parts of large tensors over several mesh axes, after ttir-merge-all-reduces has joined small ones.",
        lambda options: not is_exact(options),
    ),
    Stage(
        "ttir-fuse",
        _fuse_bias,
        "Fuses a bias into its convolution before ttir-decompose puts permutes between the two.",
    ),
    Stage(
        "ttir-decompose",
        _decompose,
        "TT-NN has no general dot product, only matmul, and convolves only tensors with channels last.",
    ),
    Stage(
        "ttir-work-around",
        _alone(workarounds.run_on_ttir),
        "Runs after convolutions have channels last, and before the second folding, which also folds the added ops.",
        lambda options: options.enable_workarounds,
    ),
    Stage(
        "ttir-sink-permutes",
        _alone(sink_permutes.run),
        "Moves permutes down until those after one convolution cancel those before the next.",
    ),
    Stage("ttir-fold", _fold, "The stages above leave chains of reshapes, permutes and broadcasts."),
    Stage(
        "ttir-fold-broadcasts",
        _alone(fold_broadcasts.run),
        "Decompositions add broadcasts of their operands.",
    ),
    Stage("ttir-fuse", _fuse_ttir, "Fuses a bias, and if the option is on a permute, into each matrix product."),
    Stage(
        "ttir-rows-of-images",
        _alone(rows_of_images.run),
        "Runs after the fusions, which match means and products in the shapes of images.",
        lambda options: options.optimization_level == 2 and options.enable_const_eval and not is_exact(options),
    ),
    Stage("ttir-cse", _alone(cse.run), "Decompositions compute some values twice."),
    Stage("ttir-fold", _fold, "Fusions leave chains of reshapes, permutes and broadcasts."),
    Stage(
        "ttir-decode-attention",
        _decode_attention,
        "Runs on fused attention, and before ttir-fold-rows, which folds the queries into the rows of the op.",
    ),
    Stage(
        "ttir-fill-tiles",
        _alone(fill_tiles.run),
        "Runs before ttir-fold-rows, for whose ops the rows of a tile are what is empty.",
    ),
    Stage(
        "ttir-fold-rows",
        _fold_rows,
        "Runs on fused ops, whose operands and results decide how many tiles there are.",
    ),
)
"""Stages that a TTIR module goes through, in order."""

TTNN_STAGES = (
    Stage(
        "ttnn-hoist-loop-invariants",
        _hoist_on_captured,
        "Runs first: layout changes of captured tensors leave the loop, and cancel against those of the caller.",
    ),
    Stage(
        "ttnn-fuse",
        _fuse_ttnn,
        "The lowering works op by op and leaves reshapes and layout changes that undo each other. From level 1 on this "
        "stage also fuses activations into matrix products, and lets convolutions read row-major tensors.",
    ),
    Stage(
        "ttnn-propagate-row-major",
        _propagate_row_major,
        "Runs while arguments are still row-major: it moves their conversions to tiles past reshapes and permutes.",
        lambda options: options.optimization_level >= 1,
    ),
    Stage(
        "ttnn-choose-argument-layouts",
        _alone(choose_argument_layouts.run),
        "Runs after ttnn-propagate-row-major moved reshapes before the conversions, where they cost nothing.",
    ),
    Stage(
        "ttnn-transpose-weights",
        _alone(transpose_weights.run),
        "Runs after fusion, which turns permutes into transposed operands, and before const-eval, which then "
        "transposes each weight once.",
        lambda options: options.optimization_level == 2 and options.enable_const_eval,
    ),
    Stage(
        "ttnn-convert-weight-dtype",
        _convert_weight_dtype,
        "Runs after fusion, when each matrix product has its final operands, and before const-eval, which then "
        "converts each weight once.",
    ),
    Stage(
        "ttnn-convert-activation-dtype",
        _convert_activation_dtype,
        "Runs after fusion, when each value between ops is one that the chip stores, and before workarounds and "
        "const-eval, which prepare the weights of convolutions for the type of their input.",
        lambda options: bool(options.experimental_activation_dtype),
    ),
    Stage(
        "ttnn-convert-cache-dtype",
        _convert_cache_dtype,
        "Runs after ttnn-choose-argument-layouts, which brings caches in tiles, and before const-eval, which then "
        "converts a cache that starts as a constant once.",
        lambda options: bool(options.experimental_kv_cache_dtype),
    ),
    Stage(
        "ttnn-work-around",
        _alone(workarounds.run_on_ttnn),
        "Runs once the weights have their final types, and before const-eval, which also hoists the ops added here.",
        lambda options: options.enable_workarounds,
    ),
    Stage(
        "ttnn-set-compute-config",
        _set_compute_config,
        "Runs after ttnn-convert-weight-dtype, because the compute config depends on the weights' data type.",
    ),
    Stage(
        "ttnn-approximate-functions",
        _approximate_functions,
        "Runs after the fusions, which match functions by their names, and while layers still have theirs.",
        lambda options: (options.fast_and_approximate_mode or bool(options.precision)) and not is_exact(options),
    ),
    Stage(
        "ttnn-convert-to-hwc",
        _convert_to_hwc,
        "Runs when the inputs of convolutions have their final types and layouts, and before const-eval, which then "
        "pads the weights once.",
        lambda options: options.optimization_level == 2 and options.enable_const_eval,
    ),
    Stage(
        "ttnn-split-wide-products",
        _split_wide_products,
        "Runs when products have their final weights and compute configs, and before const-eval, which then cuts each "
        "weight once.",
        lambda options: options.optimization_level == 2 and options.enable_const_eval,
    ),
    Stage(
        "ttnn-hoist-loop-invariants",
        _hoist_all,
        "Runs after the fusions, which match constants inside loops, and before const-eval, which hoists only from the "
        "entry function.",
    ),
    Stage(
        "ttnn-hoist-const-eval",
        _alone(hoist_const_eval.run),
        "Values that depend only on parameters and constants are computed in the first call and cached.",
        lambda options: options.enable_const_eval,
    ),
    Stage(
        "ttnn-keep-const-eval-inputs-on-host",
        _alone(keep_const_eval_inputs_on_host.run),
        "Otherwise the device would hold each weight twice: as the caller passed it, and as const-eval prepared it.",
        lambda options: options.enable_const_eval and options.enable_const_eval_inputs_to_system_memory,
    ),
    Stage(
        "ttnn-reshape-row-major",
        _reshape_row_major,
        "Runs after the stages that match reshapes of tiles, and before ttnn-choose-layouts places the conversions.",
        lambda options: options.optimization_level >= 1,
    ),
    Stage(
        "ttnn-pool-tiles",
        _pool_tiles,
        "Runs after workarounds and const-eval, so that the conversions to rows are final, and before "
        "ttnn-choose-layouts, which then places the tiles.",
        lambda options: options.optimization_level == 2,
    ),
    Stage(
        "ttnn-override-ops",
        _override_ops,
        "Runs when the ops have the names that override files use, and before ttnn-choose-layouts, which reads their "
        "formats and compute configs.",
        lambda options: bool(options.overrides),
    ),
    Stage(
        "ttnn-choose-layouts",
        choose_op_layouts,
        "Runs after const-eval, because cached results must stay in DRAM between runs.",
        lambda options: options.optimization_level == 2 or bool(options.overrides),
    ),
    Stage(
        "ttnn-keep-padded-weights",
        _keep_padded_weights,
        "Runs after ttnn-choose-layouts, which decides whether TT-NN chooses the cores of a convolution itself.",
        lambda options: options.enable_workarounds,
    ),
    Stage(
        "ttnn-write-in-place",
        _write_in_place,
        "Runs after every stage that reorders ops: they may rely on ops that have no side effects.",
    ),
    Stage(
        "ttnn-hoist-trace",
        _alone(hoist_trace.run),
        "Runs after every stage that moves or adds ops of the program, because it moves them into a trace function.",
        lambda options: options.enable_trace,
    ),
    Stage(
        "ttnn-deallocate",
        _alone(deallocate.run),
        "Runs last, when the order of ops, and so the last use of each value, is final.",
    ),
)
"""Stages that a TTNN module goes through, in order."""
