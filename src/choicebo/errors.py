"""The exceptions that choicebo raises: each says what was given, what is accepted, and what to do."""

from __future__ import annotations


class ChoiceboError(Exception):
    """Base class of every error that choicebo raises on purpose."""


class InvalidInput(ChoiceboError, ValueError):
    """The caller gave something that cannot be used; the message says what would be accepted."""


class DataError(InvalidInput):
    """Choices or options that contradict their own definition, or a file that cannot be read as such."""


class SpaceError(InvalidInput):
    """A space, parameter, constraint or catalogue that cannot be offered to anybody."""


class NumericalError(ChoiceboError, ArithmeticError):
    """A computation failed although its input was valid; the message names a remedy."""


class FitInterrupted(ChoiceboError):
    """A fit was stopped by its progress callback before it was complete."""


class ConvergenceWarning(UserWarning):
    """The draws may not represent the posterior; the message names the remedy."""
