"""Upstream's name of the package of its native plugin; here the plugin is Python and needs no set-up."""
