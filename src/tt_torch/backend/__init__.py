"""Passes of the dynamo backend ``tt``."""
