"""Layouts and configs that override files ask for: which forms of an op they leave, and why TT-NN refuses the others.

The words of refusals are those of TT-NN 0.81, tried in its mock mode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tt_xla.compiler.ttnn.layouts.explain import name as place_of
from tt_xla.compiler.ttnn.layouts.forms import Form, Site, forms
from tt_xla.compiler.ttnn.layouts.matmul_forms import DESTINATION_TILES
from tt_xla.compiler.ttnn.layouts.refusals import refused
from tt_xla.cost.sharding import BLOCK, HEIGHT, WIDTH, sharded
from tt_xla.ir.layout import TILE, MemoryLayout, TensorLayout
from tt_xla.ir.ttnn.configs import MATMUL_CONFIGS, Conv2dConfigAttr
from tt_xla.target import Target

if TYPE_CHECKING:
    from tt_xla.overrides import OpOverride


def wanted_layout(
    override: OpOverride, shape: Sequence[int], layout: TensorLayout, target: Target, what: str, location: str
) -> TensorLayout | None:
    """Returns the sharded layout that an override asks for by its grid; None if it names no grid.

    Args:
        override: the choices.
        shape: shape of the result.
        layout: layout of the result as the compiler has it.
        target: the chip.
        what: name of the op, for errors.
        location: the user's source line, for errors.

    Raises:
        OptionError: the chip or TT-NN has no such shards.
    """
    if override.grid is None:
        return None
    memory = MemoryLayout(override.layout or "interleaved")
    problem = _grid_problem(memory, override, shape, layout, target)
    if problem:
        raise refused(what, location, problem)
    return sharded(shape, layout.dtype, memory, override.grid, target)


def _grid_problem(
    memory: MemoryLayout, override: OpOverride, shape: Sequence[int], layout: TensorLayout, target: Target
) -> str:
    """Returns why a tensor cannot be cut into a grid of shards; empty if it can."""
    assert override.grid is not None
    rows, columns = override.grid
    if memory is MemoryLayout.INTERLEAVED or override.memory == "dram":
        return "a grid of shards needs memory l1, and layout height_sharded, width_sharded or block_sharded"
    if not layout.tiled:
        return "its result is row-major, and only tiles are cut into a chosen grid"
    if min(rows, columns) < 1 or rows * columns > target.cores:
        return f"the grid {rows}x{columns} does not fit in the {target.cores} cores of the chip"
    if (memory is HEIGHT and columns != 1) or (memory is WIDTH and rows != 1):
        return f"{memory} shards have a grid of {'Nx1' if memory is HEIGHT else '1xN'}, not {rows}x{columns}"
    if memory is BLOCK and (rows > target.grid[0] or columns > target.grid[1]):
        return f"the grid {rows}x{columns} of block shards does not fit in the chip's {target.grid[0]}x{target.grid[1]}"
    tiles = TensorLayout.of(shape, layout.dtype).shard
    for along, count, cut in (("height", tiles[0], rows), ("width", tiles[1], columns)):
        shard = -(-count // cut)
        if -(-count // shard) != cut:
            return (
                f"{count} tiles along its {along} make {-(-count // shard)} shards of {shard} tiles, not {cut} shards"
            )
    return ""


_PLACE = ("memory", "layout", "grid")
"""Fields of an override about the place of a result."""


def _place(form: Form) -> dict[str, object]:
    """Returns the place of a form's result in the words of an override."""
    place = form.result
    if place is None:
        return {}
    grid = {"grid": place.grid} if place.is_sharded else {}
    return {"memory": place.buffer.value, "layout": str(place.memory), **grid}


def chosen_forms(site: Site, override: OpOverride, what: str, location: str) -> tuple[Form, ...]:
    """Returns the forms of an op that an override leaves.

    Raises:
        OptionError: TT-NN runs the op in no such form; the message has the reason and the forms that it runs.
    """
    known = forms(site)
    asked = {name: value for name in _PLACE if (value := getattr(override, name)) is not None}
    placed = [form for form in known if form.result is not None]
    if asked and not placed:
        raise refused(what, location, "it is a view, whose result lies where its operand lies")
    kept = [form for form in placed if asked.items() <= _place(form).items()] if asked else known
    if not kept:
        words = ", ".join(f"{name} {_plain(value)}" for name, value in asked.items())
        reason = f"TT-NN runs it with its result in no such place ({words})"
        if site.fixed:
            reason = f"the result is returned or kept between runs, so it stays in DRAM ({words} was asked for)"
        raise refused(what, location, reason, [place_of(form.result) for form in placed])
    if override.config is None:
        return tuple(kept)
    configurable = [form for form in kept if form.config is not None or site.name == "conv2d"]
    if not configurable:
        raise refused(what, location, "it has no program config in this layout; products have one with sharded results")
    return tuple(_configured(site, form, override.config, what, location) for form in configurable)


def _configured(site: Site, form: Form, fields: Mapping[str, Any], what: str, location: str) -> Form:
    """Returns a form with other fields of its config.

    Raises:
        OptionError: the config has no such field, or TT-NN refuses the values.
    """
    own = form.config or {}
    kinds = (
        Conv2dConfigAttr
        if site.name == "conv2d"
        else next(kind for kind in MATMUL_CONFIGS if own["config"] == kind.TAG)
    )
    known = {name: kind for name, kind in kinds.FIELDS.items() if kind in (int, bool)}
    for name, value in fields.items():
        if name not in known:
            raise refused(what, location, f"its config has no field '{name}'; it has {', '.join(known)}")
        if type(value) is not known[name]:
            raise refused(what, location, f"{name} is {value!r}, and {known[name].__name__} was expected")
    config = {**own, **fields}
    problem = (
        _convolution_problem(site, form, config) if site.name == "conv2d" else _product_problem(site, form, config)
    )
    if problem:
        raise refused(what, location, problem)
    return form._replace(config=config)


def _product_problem(site: Site, form: Form, config: Mapping[str, Any]) -> str:
    """Returns TT-NN's reason for refusing the config of a product; empty if it takes it."""
    inner = -(-site.inputs[0].shape[-1] // TILE)
    compute = site.instruction.attributes.get("compute_config") or {}
    most = DESTINATION_TILES[bool(compute.get("fp32_dest_acc_en", True))]
    width = int(config["in0_block_w"])
    if width < 1:
        return f"in0_block_w is {width}, which is not valid"
    if inner % width:
        return f"Kt ({inner}) must be divisible by in0_block_w ({width})"
    height, columns = int(config.get("out_subblock_h", 1)), int(config.get("out_subblock_w", 1))
    if min(height, columns) < 1 or height * columns > most:
        return f"out_subblock_w {columns} times out_subblock_h {height} needs to be at most {most} to fit in hardware"
    for whole, part in (
        ("out_block_h", "out_subblock_h"),
        ("out_block_w", "out_subblock_w"),
        ("per_core_m", "out_block_h"),
        ("per_core_n", "out_block_w"),
    ):
        if config.get(whole) and config.get(part) and int(config[whole]) % int(config[part]):
            return f"{whole} ({config[whole]}) must be divisible by {part} ({config[part]})"
    for name, index in (("per_core_m", 0), ("per_core_n", 1)):
        if form.result is not None and form.result.is_sharded and int(config[name]) != form.result.shard[index]:
            tiles = form.result.shard[index]
            return f"{name} ({config[name]}) must be equal to the tiles of a shard of the result ({tiles})"
    return ""


def _convolution_problem(site: Site, form: Form, config: Mapping[str, Any]) -> str:
    """Returns why TT-NN, or the program, cannot have the config of a convolution; empty if they can."""
    block, divisor = int(config.get("act_block_h_override") or 0), config.get("act_block_w_div")
    if block < 0 or block % TILE:
        return f"act_block_h_override ({block}) must be a multiple of 32 (tile height)"
    if divisor is not None and divisor < 1:
        return "act_block_w_div must be greater than 0"
    channels = -(-site.inputs[0].shape[-1] // TILE)
    if divisor is not None and divisor > channels:
        return f"act_block_w_div ({divisor}) is more than the {channels} tiles of channels of its input"
    if config.get("override_sharding_config"):
        return "Core grid must be provided when overriding sharding config"
    if config.get("override_output_sharding_config") and "core_grid" not in config:
        return "When override_output_sharding_config is set to true, core_grid must have a value"
    if config.get("deallocate_activation"):
        return "the program releases its input itself, so deallocate_activation would release it twice"
    return _block_problem(site, form, config, block // TILE)


def _block_problem(site: Site, form: Form, config: Mapping[str, Any], block: int) -> str:
    """Returns why a convolution's shards or L1 do not go with its config; empty if they do.

    Args:
        site: the convolution.
        form: its form.
        config: its config.
        block: rows of tiles in a block of windows; 0 for TT-NN's choice.
    """
    result = form.result
    if result is None or not result.is_sharded:
        rows = -(-math.prod(site.result.shape[:-1]) // TILE) if site.result is not None else 0
        most = -(-rows // site.target.cores)
        return _not_a_block(block, most) if block > most else ""
    for name in ("transpose_shards", "reshard_if_not_optimal"):
        if config.get(name):
            return f"{name} would give its result other shards than {place_of(result)}"
    if "core_grid" in config and not config.get("override_output_sharding_config"):
        return f"override_output_sharding_config must stay true for {place_of(result)}"
    if block and (block > result.shard[0] or result.shard[0] % block):
        return _not_a_block(block, result.shard[0])
    return ""


def _not_a_block(block: int, rows: int) -> str:
    return (
        f"act_block_h_override {block} is not a valid override for padded_output_height_ntiles_per_core {rows}, "
        "in tiles of 32 rows"
    )


def _plain(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def menu(site: Site) -> list[dict[str, Any]]:
    """Returns the places of an op's result that an override may choose, each once, with the config if it has one."""
    choices: list[dict[str, Any]] = []
    seen: set[tuple[object, ...]] = set()
    for form in forms(site):
        place = form.result
        if place is None or not place.on_device:
            continue
        entry = _place(form)
        key = tuple(entry.values())
        if key in seen:
            continue
        seen.add(key)
        config = {name: value for name, value in (form.config or {}).items() if isinstance(value, int | bool)}
        choices.append({"override": entry, "text": place_of(place), "config": config})
    return choices
