"""The ``tt-xla`` command."""
