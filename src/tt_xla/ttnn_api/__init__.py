"""``ttnn`` on the emulated card, for scripts that import it where the real TT-NN is not installed.

``finder.py`` serves :mod:`tt_xla.ttnn_api.root` as module ``ttnn``. Importing it imports no torch.
"""
