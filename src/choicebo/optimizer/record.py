"""A loop as JSON-compatible data, and back: what :class:`~choicebo.ChoiceOptimizer` saves and restores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from choicebo.errors import DataError
from choicebo.formatting import as_given
from choicebo.history import Event, Question, steering
from choicebo.optimizer.settings import Settings
from choicebo.optimizer.situation import Situation
from choicebo.space import from_dict as space_from_dict

FORMAT, VERSION = "choicebo-optimizer", 2


def to_dict(situation: Situation) -> dict[str, Any]:
    """A record from which :func:`from_dict` goes on exactly."""
    from choicebo.history import event_json

    return {
        "format": FORMAT,
        "version": VERSION,
        "space": situation.space.to_dict(),
        "settings": situation.settings.to_dict(),
        **({"locked": dict(situation.steering.locked)} if situation.steering.locked else {}),
        **({"context": dict(situation.steering.context)} if situation.steering.context else {}),
        **event_json.to_record(situation.events),
    }


def from_dict(record: Mapping[str, Any]) -> Situation:
    """The situation that :func:`to_dict` described."""
    from choicebo.history import event_json

    form, version = (record.get("format"), record.get("version")) if isinstance(record, Mapping) else (None, None)
    if not isinstance(form, str) or form != FORMAT:
        raise DataError(f'This is not a record of an optimiser: its "format" must be {FORMAT!r}.')
    if not isinstance(version, int) or version not in (1, VERSION):
        raise DataError(f"The record has version {as_given(version)}; this release reads up to version {VERSION}.")
    try:
        space = space_from_dict(record["space"])
        settings = Settings.from_dict(record["settings"]).checked(space)
        wishes = steering.checked(space, settings.query_size, record.get("locked"), context=record.get("context"))
    except KeyError as error:
        raise DataError(f"The record of an optimiser lacks {as_given(error.args[0])}.") from None
    document = _from_version_1(record) if version == 1 else record
    events = event_json.from_record(document, space, has_baseline=settings.baseline is not None)
    return Situation(space, settings, event_json.checked_state(events).effective(), steering=wishes)


def _from_version_1(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as it was before questions and answers were events of one kind."""
    from choicebo.history import event_json

    asked: dict[int, Event] = {}
    events: list[Event] = []
    try:
        for at, entry in enumerate(record["log"], start=1):
            match entry["kind"]:
                case "ask":
                    query = entry["query"]
                    question = Question(
                        id=len(asked) + 1,
                        options=[dict(option) for option in query["options"]],
                        reason=query["reason"],
                        new=tuple(query["new"]),
                        found_by=tuple(query["strategy"].split("+")),
                        latent_dim=query["latent_dim"],
                        looks=tuple(record["latent_dim_history"]),
                    )
                    event = asked[query["id"]] = Event(at, "question", question=question)
                case "tell":
                    event = Event(at, "answer", target=asked[entry["query"]].position, kept=tuple(entry["kept"]))
                case "skip":
                    event = Event(at, "skip", target=asked[entry["query"]].position)
                case "add":
                    shown = tuple(entry["shown"])
                    new = (False,) * len(shown)
                    event = Event(at, "addition", kept=tuple(entry["kept"]), added=shown, added_new=new)
                case other:
                    raise DataError(f"An entry of the log has the unknown kind {as_given(other)}.")
            events.append(event)
        return event_json.to_record(events)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"The record of an optimiser is incomplete or malformed ({as_given(error)}).") from None
