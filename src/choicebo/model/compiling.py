"""Stands in for the module that compiles the likelihood; it does nothing."""


def is_compiled() -> bool:
    """Whether the compiled code is stored for this source and machine; never compiles."""
    return True


def prepare() -> None:
    """Load the compiled code, or compile it."""


def start() -> None:
    """Let it be compiled in a process of its own; returns at once."""
