"""How far a study has come, judged by what its model knows and not by the number of answers."""

from __future__ import annotations

from dataclasses import dataclass

from choicebo.study import Study
from choicebo.study.status import advise

_WORDS = ((0.6, "wide open"), (0.8, "taking shape"), (0.95, "fairly clear"))
"""How the picture is described below each share."""
_NOTICEABLE = 0.02


@dataclass(frozen=True)
class Progress:
    """What the model knows at one state of the answers."""

    learned: int
    """Answers that it has learned from."""
    reached: float
    """How much of the best that seems possible the options that look best reach, between 0 and 1."""
    stop: str = ""
    """The advice to stop, if that is what the model says; that there is more to learn is already clear from the share."""
    before: float | None = None
    """What was reached when this was last computed."""

    @property
    def words(self) -> str:
        """How clear the picture is."""
        return next((told for limit, told in _WORDS if self.reached < limit), "clear")

    @property
    def fell(self) -> bool:
        """Whether less is reached than before: answers opened something new, or one was taken back."""
        return self.before is not None and self.reached < self.before - _NOTICEABLE


def build_progress(study: Study, rater: str | None, last: Progress | None) -> Progress | None:
    """What the model of everybody's answers, or of one rater's, knows; None if there is none. Nothing is fitted for it."""
    fitted = study.optimizer(rater)
    posterior = fitted.known_posterior
    if posterior is None:
        return None
    found = advise(study, posterior, study.questions(rater=rater), rater, study.latest_context(rater))
    if found is None:
        return None
    return Progress(
        learned=fitted.n_answers,
        reached=1.0 - found.remaining,
        stop=found.sentence if found.stop else "",
        before=None if last is None else last.reached,
    )
