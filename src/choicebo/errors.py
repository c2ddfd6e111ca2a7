"""The exceptions that choicebo raises: each says what was given, what is accepted, and what to do."""

from __future__ import annotations


class ChoiceboError(Exception):
    """Base class of every error that choicebo raises on purpose."""


class InvalidInputError(ChoiceboError, ValueError):
    """The caller gave something that cannot be used; the message says what would be accepted."""


class DataError(InvalidInputError):
    """Choices or options that are inconsistent, or a file of them that cannot be read."""


class SpaceError(InvalidInputError):
    """A space, parameter, constraint or catalogue that cannot be offered to anybody."""


class StudyError(InvalidInputError):
    """A study or optimiser cannot do what was asked; the message says what it can do."""


class StudyNotFoundError(StudyError):
    """There is no study of that name, or the name is needed to tell several apart."""


class StudyExistsError(StudyError):
    """There is already a study of that name."""


class StudyArchivedError(StudyError):
    """The study is archived: it can be read, but nothing is asked or answered until it is restored."""


class UnknownRaterError(StudyError):
    """Nobody of that name answers this study."""


class AlreadyAnsweredError(StudyError):
    """Another answer to the question is stored."""

    def __init__(self, message: str, question: int, kept: tuple[int, ...] | None) -> None:
        super().__init__(message)
        self.question = question
        """The id of the question."""
        self.kept = kept
        """The positions kept in the stored answer; None if it was skipped."""


class StorageError(ChoiceboError):
    """The database cannot be reached, read or written, or is not one of choicebo."""


class BusyError(StorageError):
    """Too many people use the database at the moment; try again a little later."""


class ReadOnlyError(StorageError):
    """The database can be read but not written, because of its file, its folder, its URL or the rights of its user."""


class SchemaVersionError(StorageError):
    """The database was made by an older or a newer choicebo."""


class NumericalError(ChoiceboError, ArithmeticError):
    """A computation failed although its input was valid; the message names a remedy."""


class ComputationLostError(ChoiceboError):
    """The process that computed died, hung or grew too large, more than once, or cannot be reached."""


class FitInterruptedError(ChoiceboError):
    """A fit was stopped by its progress callback before it was complete."""


class MissingExtraError(ChoiceboError, ImportError):
    """A package that only some parts of choicebo need is not installed; the message has the command that installs it."""

    def __init__(self, message: str, package: str) -> None:
        super().__init__(message, name=package)


class ConvergenceWarning(UserWarning):
    """The draws may not represent the posterior; the message names the remedy."""


# As they were called in 0.1.
InvalidInput = InvalidInputError
FitInterrupted = FitInterruptedError
