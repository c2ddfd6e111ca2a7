"""What goes in and out of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from choicebo.choices.marks import Marks
from choicebo.study.definition import QUESTION
from choicebo.study.objective_names import LONGEST as LONGEST_NAME
from choicebo.web.study_form import LONGEST_TEMPLATE

Option = dict[str, Any]
Position = Annotated[int, Field(ge=0, le=11)]
Positions = Annotated[list[Position], Field(max_length=12)]
Said = Annotated[
    dict[str, Any] | None,
    BeforeValidator(lambda marks: marks.to_dict() if isinstance(marks, Marks) else marks),
    Field(default=None, description="`best`, `worst` or `ranking` as answered; null if `kept` says everything."),
]


_STUDY: dict[str, Any] = {
    "name": "bread",
    "question": "Which of these would you bake again?",
    "space": {
        "version": 1,
        "kind": "space",
        "parameters": [{"kind": "integer", "name": "minutes", "low": 5, "high": 40, "log": False, "unit": "min"}],
        "constraints": ["minutes <= 35"],
        "fixed": {},
        "objectives": ["minimise cost = measured"],
    },
    "settings": {"query_size": 3},
}


class _Out(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, record: object) -> Self:
        """A record of the study, which has attributes of the same names."""
        return cls.model_validate(record)


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorOut(_Out):
    """What went wrong, in a sentence."""

    error: str


class StudyOut(_Out):
    """A study in the list."""

    name: str
    question: str
    created_at: datetime
    answers: int
    raters: int
    archived_at: datetime | None = Field(description="Since when nothing is asked or answered; null: it is in use.")


class StudyDetail(_Out):
    """What a study asks, and about what."""

    name: str
    question: str
    created_at: datetime
    answers: int
    raters_mode: str
    answer: str = Field(description="How questions are answered: subset, best, best-worst, ranking or pair.")
    space: dict[str, Any] = Field(description="As `Space.to_dict()` or `Catalogue.to_dict()` writes it.")
    settings: dict[str, Any]
    baseline: Option | None
    shown_as: str = Field(description="bars, svg or image")
    archived_at: datetime | None = Field(description="Since when nothing is asked or answered; null: it is in use.")
    objective_names: list[str] = Field(description="What people call the hidden objectives.")


class ShowIn(_In):
    """How options are shown."""

    kind: Literal["bars", "svg"] = "bars"
    template: Annotated[str, Field(max_length=LONGEST_TEMPLATE)] | None = None


class StudyIn(_In):
    """A new study."""

    model_config = ConfigDict(json_schema_extra={"examples": [_STUDY]})

    name: str = Field(min_length=1, max_length=100)
    space: dict[str, Any] = Field(description="As `Space.to_dict()` or `Catalogue.to_dict()` writes it.")
    question: str = Field(default=QUESTION, min_length=1, max_length=300)
    show: ShowIn = ShowIn()
    baseline: Option | None = None
    raters: Literal["together", "related", "separate"] = "related"
    settings: dict[str, Any] = Field(
        default_factory=dict, description='Keyword arguments of `ChoiceOptimizer`, such as `"answer": "ranking"`.'
    )


class EditIn(_In):
    """What to change in a study; fields that are left out stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"question": "Which loaves would you bake again?"}]})

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    question: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    show: ShowIn | None = None


class DuplicateIn(_In):
    """A copy of a study."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "bread, again", "answers": False}]})

    name: str = Field(min_length=1, max_length=200)
    answers: bool = Field(default=False, description="Whether to copy the raters and all answers too.")


class DeletedOut(_Out):
    """What is gone."""

    deleted: str


class QuestionOut(_Out):
    """Some options in the order in which they are to be shown."""

    number: int
    rater: str
    options: list[Option]
    new: list[bool]
    reason: str
    strategy: str
    latent_dim: int | None
    asked_at: datetime
    state: Literal["open", "answered", "skipped", "retracted"]
    kept: list[int] | None
    marks: Said
    context: Option = Field(description="The context that all options have; empty where the space has none.")


class Thinking(_Out):
    """It is being computed: ask again in a moment."""

    thinking: Literal[True] = True


class SaidIn(_In):
    """An answer about some options, in one of these ways."""

    kept: Positions | None = Field(
        default=None, description="Positions in `options`; none means that the baseline beats them all."
    )
    best: Position | None = Field(default=None, description="Instead, the position of the best one.")
    worst: Position | None = Field(default=None, description="Beside `best`, the position of the worst one.")
    ranking: Annotated[list[Position | Positions], Field(min_length=1, max_length=12)] | None = Field(
        default=None, description="Instead, positions with the best first, all or the first few; a list is a tie."
    )

    def said(self) -> dict[str, Any]:
        """The same as arguments of ``Study.tell``."""
        return {name: getattr(self, name) for name in SaidIn.model_fields}


class AnswerIn(SaidIn):
    """An answer: which options were kept, which is the best, which the best and the worst, or an order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kept": [0, 2], "seconds": 6.5}]})

    seconds: Annotated[float, Field(ge=0, le=86400)] | None = None
    correction: bool = False


class AnswerOut(_Out):
    """The receipt of something that is stored."""

    id: int
    question: int | None
    kind: str
    kept: list[int]
    marks: Said
    rater: str
    at: datetime
    seconds: float | None
    repeated: bool


class AdditionIn(SaidIn):
    """An answer given elsewhere."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"shown": [{"minutes": 12}, {"minutes": 30}], "kept": [1]}]}
    )

    shown: Annotated[list[Option | str | int], Field(min_length=2, max_length=12)]


class PastOut(_Out):
    """An answer, a skip or a choice made elsewhere, as it looked."""

    id: int
    question: int | None
    kind: str
    options: list[Option]
    kept: list[int]
    marks: Said
    rater: str
    at: datetime
    seconds: float | None
    state: str


class ClashOut(_Out):
    """An answer that is unlike the others, and the one that it clashes with most."""

    past: PastOut = Field(description="The answer; send another one for its question as a correction to change it.")
    probability: float = Field(description="Probability of the answer, judging by all others.")
    expected: list[int] = Field(description="Positions that were expected to be kept.")
    against: PastOut | None
    disputed: list[Option] = Field(description="Options that one of the two kept and the other did not.")


class WishesIn(_In):
    """What the next question should be like. Fields that are left out stay as they were."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"like": {"minutes": 12}}]})

    locked: Option | None = Field(default=None, description="Values that all new options must have; `{}` removes them.")
    like: Option | str | int | None = Field(default=None, description="An option to show more of.")
    include: Annotated[list[Option | str | int], Field(max_length=11)] | None = Field(
        default=None, description="Options that the next question must show."
    )
    context: Option | None = Field(
        default=None, description="A value for each context of the space, until another is given."
    )
    clear: bool = Field(default=False, description="Whether to forget what was wished for before; the context stays.")


class WishesOut(_Out):
    """What the next question is to be like."""

    locked: Option
    like: Option | None
    include: list[Option]
    context: Option = Field(description="The context of the next question; empty where the space has none.")


class ParetoOut(_Out):
    """An option that probably no other one beats."""

    option: Option
    probability: float
    measured: dict[str, float] = Field(default_factory=dict, description="Measured objectives by name, as entered.")
    estimated: dict[str, float] = Field(
        default_factory=dict,
        description="Measured objectives that were not measured of it, as the model estimates them.",
    )


class KnownOut(_Out):
    """An objective that is known already, and how much it counts."""

    name: str
    minimise: bool
    scale: float = Field(description="How much a standard deviation of it counts, in units of the noise of an answer.")
    noticed: float = Field(description="The difference, in its own units, that counts as much as that noise.")
    measured: bool = Field(description="Whether it is measured, and not computed.")
    sentence: str


class ResultOut(_Out):
    """What is known."""

    answers: int
    latent_dim: int | None
    pareto_set: list[ParetoOut]
    objectives: list[str] = Field(description="What drives each hidden objective, in a sentence.")
    known: list[KnownOut] = Field(description="Known objectives, and how much each counts.")
    advice: str | None
    stop: bool | None
    diagnostics: list[str]
    stage: str = Field(description="What it is based on: the model of so many answers, or counts.")
    names: list[str] = Field(description="The name of each hidden objective; empty for one without a name.")
    unseen: ParetoOut | None = Field(description="The most promising option that was not shown yet.")
    trust: str = Field(description="Problems of the fit and their remedies; empty if there are none.")
    context: Option = Field(description="The context in which options are compared; empty where the space has none.")


class PersonOut(_Out):
    """Somebody who answered."""

    name: str
    answers: int
    at_random: bool = Field(description="Whether they seem to answer at random; such answers count for little.")
    lapse: float = Field(description="How probable a slip is.")


class OptionForPeopleOut(_Out):
    """An option, and how probable it is that nothing beats it."""

    option: Option
    consensus: float = Field(description="Probability for the taste that all share.")
    everybody: float = Field(description="Probability for everybody at once, except those who answer at random.")
    by_person: dict[str, float]


class ShareOut(_Out):
    """The share of personal taste, with its 95 % interval."""

    estimate: float
    lower: float
    upper: float


class LikenessOut(_Out):
    """Probability that two people keep the same options of a random set, in the order of the people."""

    mean: list[list[float]]
    lower: list[list[float]] = Field(description="The central 95 % interval.")
    upper: list[list[float]]


class AgreementOut(_Out):
    """What suits several people, and where they differ."""

    people: list[PersonOut]
    share: ShareOut
    sentences: list[str]
    matrix: LikenessOut
    consensus: list[OptionForPeopleOut] = Field(description="What nothing beats by the taste that all share.")
    for_everybody: list[OptionForPeopleOut] = Field(description="What is probably acceptable to everybody; often none.")
    compromise: OptionForPeopleOut
    dividing: list[OptionForPeopleOut] = Field(description="What divides people most, first.")
    own: dict[str, list[OptionForPeopleOut]] = Field(description="The best of each person.")


class LearningOut(Thinking):
    """The model is being computed: ask again in a moment. Until then there is a preliminary result."""

    preliminary: ResultOut


class PredictIn(_In):
    """Options to try."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"options": [{"minutes": 12}]}]})

    options: Annotated[list[Option | str | int], Field(min_length=1, max_length=100)]


class MeasuredIn(_In):
    """What was measured of an option; null withdraws a value."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"option": {"minutes": 12}, "values": {"cost": 12.5}}]})

    option: Option | str | int
    values: dict[str, Annotated[float, Field(strict=True)] | None] = Field(min_length=1, max_length=100)


class WithdrawnIn(_In):
    """What is to be forgotten of an option."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"option": {"minutes": 12}, "names": ["cost"]}]})

    option: Option | str | int
    names: list[str] = Field(default_factory=list, max_length=100, description="Empty: everything measured of it.")


class MeasurementOut(_Out):
    """A value of a measured objective."""

    option: Option
    name: str
    value: float
    rater: str
    at: datetime


class ObjectiveNameIn(_In):
    """A name for a hidden objective; an empty name removes it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "contrast"}]})

    name: str = Field(max_length=LONGEST_NAME)


class ObjectiveNameOut(_Out):
    """What a hidden objective is called now."""

    number: int
    name: str


class RaterIn(_In):
    """Somebody to invite."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Ann"}]})

    name: str = Field(min_length=1, max_length=200)


class RaterOut(_Out):
    """Somebody who answers."""

    name: str
    answers: int
    open_questions: int
    last_seen: datetime | None
    removed_at: datetime | None = Field(description="Since when they can no longer answer; null: they can.")


class TokenOut(_Out):
    """A rater's token; it is shown only here."""

    rater: str
    token: str
    path: str = Field(description="Path on this server that the rater's browser opens.")
