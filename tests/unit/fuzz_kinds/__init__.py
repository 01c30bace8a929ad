"""Kinds of programs with faults, on which the tests of the generator look."""
