"""Studies: a persistent, multi-rater `ChoiceOptimizer` in a database."""

from choicebo.extras import needs

# First of all, so that who lacks one of them is told which extra brings them.
with needs("study", "A study"):
    import pydantic  # noqa: F401
    import sqlalchemy  # noqa: F401
    import tomli_w  # noqa: F401

from choicebo.errors import (
    AlreadyAnsweredError,
    BusyError,
    ReadOnlyError,
    SchemaVersionError,
    StorageError,
    StudyArchivedError,
    StudyError,
    StudyExistsError,
    StudyNotFoundError,
    UnknownRaterError,
)
from choicebo.history import OWNER, Answer, Question
from choicebo.study.records import Rater, Standing, StudyInfo
from choicebo.study.result import Point, StudyResult
from choicebo.study.schema import upgrade
from choicebo.study.status import Status, Surprise
from choicebo.study.storage import Storage
from choicebo.study.study import Study

# As they were called in 0.1.
AlreadyAnswered, StudyExists, StudyNotFound, UnknownRater, Past = (
    AlreadyAnsweredError,
    StudyExistsError,
    StudyNotFoundError,
    UnknownRaterError,
    Answer,
)

__all__ = [
    "OWNER",
    "AlreadyAnsweredError",
    "Answer",
    "BusyError",
    "Point",
    "Question",
    "Rater",
    "ReadOnlyError",
    "SchemaVersionError",
    "Standing",
    "Status",
    "Storage",
    "StorageError",
    "Study",
    "StudyArchivedError",
    "StudyError",
    "StudyExistsError",
    "StudyInfo",
    "StudyNotFoundError",
    "StudyResult",
    "Surprise",
    "UnknownRaterError",
    "upgrade",
]
