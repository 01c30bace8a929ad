"""Programs that serve all sizes up to a capacity.

A jaxpr whose sizes are symbols (``jax.export.symbolic_shape``) becomes a function of arrays with fixed sizes and of the
values of the symbols (:mod:`.program`). Each array is as long as the capacity of its dimensions (:mod:`.sizes`); what
lies behind the valid elements is padding (:mod:`.values`). Each primitive has a rule (:mod:`.rules`) that says what the
padding of its operands must hold and what that of its results holds; a mask is inserted where the two differ.
"""
