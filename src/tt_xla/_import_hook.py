"""Serves the ``torch_xla`` import names where the real package is absent (see ``tt_xla.frontends.torch.xla_api``)."""
