"""The loop, kept: a study in a database, for weeks and for several people."""

from choicebo.study.errors import (
    AlreadyAnswered,
    SchemaVersionError,
    StorageError,
    StudyError,
    StudyExists,
    StudyNotFound,
    UnknownRater,
)
from choicebo.study.records import OWNER, Answer, Past, Question, Rater, StudyInfo
from choicebo.study.schema import upgrade
from choicebo.study.status import Status, Surprise
from choicebo.study.storage import Storage
from choicebo.study.study import Study

__all__ = [
    "OWNER",
    "AlreadyAnswered",
    "Answer",
    "Past",
    "Question",
    "Rater",
    "SchemaVersionError",
    "Status",
    "Storage",
    "StorageError",
    "Study",
    "StudyError",
    "StudyExists",
    "StudyInfo",
    "StudyNotFound",
    "Surprise",
    "UnknownRater",
    "upgrade",
]
