"""The part of ``torch_xla``'s API that scripts for Tenstorrent use, for machines without the real package.

``tt_xla._import_hook`` asks :mod:`.finder` for the modules. Each module here becomes one of ``torch_xla``: ``root`` is
the package itself, ``xla_model`` is ``torch_xla.core.xla_model``, ``runtime`` is ``torch_xla.runtime``.
"""
