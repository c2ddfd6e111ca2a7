"""The fixtures of this folder; what tests import from them is in ``web_helpers``."""

from .web_helpers import browser, drawn, serve

__all__ = ["browser", "drawn", "serve"]
