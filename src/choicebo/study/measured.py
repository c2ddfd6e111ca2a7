"""What is known of measured objectives: numbers that were entered, and what the model believes the others to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from choicebo.formatting import Estimate
from choicebo.history.events import Measured, option_key
from choicebo.history.measuring import Values, entered_values, known_with, measured_objectives
from choicebo.space import KnownObjectives, Option, known_of

if TYPE_CHECKING:
    from choicebo.model.posterior import Posterior
    from choicebo.study.study import Study


def known_now(study: Study) -> KnownObjectives | None:
    """The known objectives of a study with all that was measured."""
    known = known_of(study.space)
    if known is None or not measured_objectives(study.space):
        return known
    found = [Measured(each.option, {each.name: each.value}) for each in study.measurements()]
    return known_with(known, study.space, found)


def measured_of(study: Study, options: Sequence[Option], posterior: Posterior | None = None) -> Values:
    """The measured objectives of some options; with a model, also its estimates of what was not measured."""
    known = known_now(study)
    if known is None or posterior is None or not any(known.measured) or not options:
        return entered_values(known, study.space, options)
    from choicebo.insight import measured_values  # which takes half a second to load

    found = measured_values(known, study.space.encode(list(options)) + 0.0, posterior)
    return {option_key(option): each for option, each in zip(options, found, strict=True) if each}


def told(values: Mapping[str, Mapping[str, float]], option: Option) -> dict[str, dict[str, float]]:
    """Those of one option as JSON-compatible data: what was ``measured``, and what is ``estimated``; nothing if empty."""
    mine = values.get(option_key(option), {})
    parts = {
        "measured": {name: value for name, value in mine.items() if not isinstance(value, Estimate)},
        "estimated": {name: float(value) for name, value in mine.items() if isinstance(value, Estimate)},
    }
    return {part: found for part, found in parts.items() if found}
