"""Bridges to other libraries, each behind an extra of its own; nothing here is imported before it is asked for."""
