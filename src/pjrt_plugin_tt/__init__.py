"""Upstream's package for its native plugin; the plugin here is written in Python and needs no set-up."""
