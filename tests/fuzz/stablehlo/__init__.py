"""Draws StableHLO programs: a builder of modules, and for each op of the compiler's registries a drawer of its uses."""
