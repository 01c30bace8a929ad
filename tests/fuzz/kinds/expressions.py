"""Graphs of several ops whose operands are mostly one another's results, with the constants that folds begin at."""

from __future__ import annotations

import random

from tests.fuzz.judge import Module
from tests.fuzz.stablehlo import control, elementwise, indexing, structure, windows  # noqa: F401
from tests.fuzz.stablehlo.builder import Builder
from tests.fuzz.stablehlo.drawers import draw as draw_op
from tests.fuzz.stablehlo.follow import FOLLOWERS, program

WEIGHTS: dict[str, int] = {
    name: weight
    for weight, names in {
        8: "add subtract multiply divide maximum minimum compare select clamp convert",
        4: "negate abs remainder and or not reshape transpose broadcast_in_dim slice reduce",
        3: "concatenate pad reverse dot_general exponential power sqrt floor sign gather",
        2: "log tanh logistic rsqrt ceil round_nearest_even round_nearest_afz is_finite xor shift_left "
        "shift_right_arithmetic shift_right_logical iota dynamic_slice dynamic_update_slice sort reduce_window",
        1: "atan2 cbrt cosine sine tan exponential_minus_one log_plus_one popcnt count_leading_zeros bitcast_convert "
        "reduce_precision scatter while if case convolution select_and_scatter optimization_barrier constant",
    }.items()
    for name in names.split()
}
"""How often ops of StableHLO are drawn."""


def draw(random: random.Random) -> Module:
    """Draws 3 to 12 ops on a few arguments, and returns the results that no op reads and some others."""
    b = Builder(random, special=random.random() < 0.3, joined=0.7, fresh=0.3)
    shape = b.shape((0, 1, 2, 2, 3), most=512)
    kinds = random.choice(
        (
            ("f32",),
            ("f32",),
            ("bf16", "f32"),
            ("i32",),
            ("i32", "f32"),
            ("i8", "i32"),
            ("i1", "bf16"),
            ("ui32", "i32"),
            ("ui8", "f32"),
        )
    )
    for kind in (*kinds, random.choice(kinds)):
        b.argument(shape, kind)
    for _ in range(random.randint(3, 12)):
        if b.values[-1].size > 4096:
            break
        if b.chance(0.3):
            random.choice(FOLLOWERS)(b, b.values[-1])
        else:
            (name,) = random.choices([*WEIGHTS], [*WEIGHTS.values()])
            draw_op(b, f"stablehlo.{name}")
    made = [value for value in b.values if value not in b.arguments]
    results = [value for value in made if value.name not in b.used][-6:]
    if b.chance(0.5) and made:
        results.append(random.choice(made))
    return program(b, results or [b.values[-1]])
