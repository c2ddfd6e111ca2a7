"""What can go wrong with a study: what was asked of it, or the database it lives in."""

from __future__ import annotations

from choicebo.errors import ChoiceboError, InvalidInput


class StudyError(InvalidInput):
    """Something was asked of a study that it cannot do; the message says what it can."""


class StudyNotFound(StudyError):
    """There is no study of that name, or the name is needed to tell several apart."""


class StudyExists(StudyError):
    """A study of that name is there already."""


class UnknownRater(StudyError):
    """Nobody of that name answers this study."""


class AlreadyAnswered(StudyError):
    """Another answer to the question is stored."""

    def __init__(self, message: str, question: int, kept: tuple[int, ...] | None) -> None:
        super().__init__(message)
        self.question = question
        """The number of the question."""
        self.kept = kept
        """The positions kept in the stored answer; None if it was skipped."""


class StorageError(ChoiceboError):
    """The database cannot be reached, read or written, or is not one of choicebo."""


class SchemaVersionError(StorageError):
    """The database was made by an older or a newer choicebo."""
