"""Mutation testing of src/tt_xla: ``make mutants`` measures which faults the tests see."""
