"""How often each option was shown and kept: what is known at once, without any model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from choicebo.history.events import option_key
from choicebo.space import Option

if TYPE_CHECKING:
    from choicebo.study.study import Study


@dataclass(frozen=True)
class OptionCount:
    """One option in the answers that count."""

    option: Option
    shown: int
    kept: int

    @property
    def unbeaten(self) -> bool:
        """Whether it was kept whenever it was shown."""
        return 0 < self.shown == self.kept


def count_options(study: Study, rater: str | None = None) -> list[OptionCount]:
    """Every option that was asked or answered about, in the order of its first appearance."""
    options: dict[str, Option] = {}
    shown: dict[str, int] = {}
    kept: dict[str, int] = {}
    for question in study.questions(rater=rater):
        options.update((key, option) for option in question.options if (key := option_key(option)) not in options)
    for past in study.history(rater):
        for place, option in enumerate(past.options):
            key = option_key(option)
            options.setdefault(key, option)
            if past.counts:
                shown[key] = shown.get(key, 0) + 1
                kept[key] = kept.get(key, 0) + (place in past.kept)
    return [OptionCount(option, shown.get(key, 0), kept.get(key, 0)) for key, option in options.items()]
