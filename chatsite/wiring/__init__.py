"""Where the parts meet: the settings are read here, and every part is given what it needs."""

from chatsite.wiring.site import Site

__all__ = ["Site"]
