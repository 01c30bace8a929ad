"""The options, markers and parameters of the runner come from the pytest plugin ``tt_xla.testing.plugin``.

``--arch``, ``--validate-test-config`` and the others work in every project where tt-xla is installed.
"""
