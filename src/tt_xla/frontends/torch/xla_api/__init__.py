"""The part of ``torch_xla``'s API that scripts for Tenstorrent use, served where the real package is absent.

``tt_xla._import_hook`` asks :mod:`.finder` for the modules. Each module here becomes one of ``torch_xla``: ``root`` the
package itself, ``xla_model`` is ``torch_xla.core.xla_model``, ``runtime`` is ``torch_xla.runtime``.
"""
