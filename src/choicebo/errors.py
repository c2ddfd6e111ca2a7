"""The exceptions that choicebo raises: each says what was given, what is accepted, and what to do."""

from __future__ import annotations


class ChoiceboError(Exception):
    """Base class of every error that choicebo raises on purpose."""


class InvalidInputError(ChoiceboError, ValueError):
    """The caller gave something that cannot be used; the message says what would be accepted."""


class DataError(InvalidInputError):
    """Choices or options that contradict their own definition, or a file that cannot be read as such."""


class SpaceError(InvalidInputError):
    """A space, parameter, constraint or catalogue that cannot be offered to anybody."""


class StudyError(InvalidInputError):
    """Something was asked of a study or a loop that it cannot do; the message says what it can."""


class StudyNotFoundError(StudyError):
    """There is no study of that name, or the name is needed to tell several apart."""


class StudyExistsError(StudyError):
    """A study of that name is there already."""


class StudyArchivedError(StudyError):
    """The study is archived: it can be read, and nothing is asked or answered until it is brought back."""


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
    """Too many use the database at this moment; the same may succeed a little later."""


class ReadOnlyError(StorageError):
    """The database can be read, and not written: by its file, its folder, its URL or the rights of its user."""


class SchemaVersionError(StorageError):
    """The database was made by an older or a newer choicebo."""


class NumericalError(ChoiceboError, ArithmeticError):
    """A computation failed although its input was valid; the message names a remedy."""


class ComputationLostError(ChoiceboError):
    """What computed died, hung or grew too large, more than once; or cannot be reached."""


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
