"""From the log to the state: which questions are open, which answers count, and what the optimiser is told.

Everything here is a pure function of the entries. Each question has a stack of acts: an answer, a skip, or a correction on
top of them. Undo takes the top act off; with none left the question is open again. Retracting leaves the act where it is
and hides it from the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from choicebo.study.log import Entry
from choicebo.study.records import Past, Question


@dataclass
class Thread:
    """A question (or a choice made elsewhere), and the acts that stand on it."""

    start: Entry
    acts: list[Entry] = field(default_factory=list)

    @property
    def top(self) -> Entry | None:
        """The act that holds; None if the question is open."""
        return self.acts[-1] if self.acts else None


@dataclass
class Replay:
    """The state of a study after its entries."""

    entries: tuple[Entry, ...]
    threads: dict[int, Thread]
    """By the position of the question or addition."""
    by_number: dict[int, Thread]
    """Questions by their number."""
    retracted: frozenset[int]
    undone: frozenset[int]

    @property
    def position(self) -> int:
        """The position of the latest entry."""
        return self.entries[-1].position if self.entries else 0

    @property
    def next_number(self) -> int:
        """The number of the next question."""
        return max(self.by_number, default=0) + 1

    def open_threads(self, rater: str | None = None) -> list[Thread]:
        """Questions without an answer, earliest first."""
        return [
            thread
            for thread in self.by_number.values()
            if thread.top is None and (rater is None or thread.start.rater == rater)
        ]

    def state_of(self, act: Entry) -> Literal["standing", "retracted", "corrected", "undone"]:
        """What has become of an act."""
        if act.position in self.undone:
            return "undone"
        if act.kind != "addition" and self.threads[act.target or 0].top is not act:
            return "corrected"
        return "retracted" if act.position in self.retracted else "standing"

    def counting(self, rater: str | None = None) -> list[Entry]:
        """The acts from which the model learns, in order."""
        return [act for act in self.acts(rater) if act.kind != "skip" and self.state_of(act) == "standing"]

    def acts(self, rater: str | None = None) -> list[Entry]:
        """All answers, corrections, skips and additions, in order."""
        return [
            entry
            for entry in self.entries
            if entry.kind in ("answer", "correction", "skip", "addition") and (rater is None or entry.rater == rater)
        ]

    def question(self, thread: Thread) -> Question:
        """The question of a thread as it is handed out."""
        start, top = thread.start, thread.top
        asked = start.asked
        assert asked is not None
        state: Literal["open", "answered", "skipped", "retracted"] = "open"
        if top is not None:
            answered: Literal["answered", "retracted"] = "retracted" if top.position in self.retracted else "answered"
            state = "skipped" if top.kind == "skip" else answered
        return Question(
            number=asked.number,
            rater=start.rater,
            options=tuple(dict(option) for option in start.options),
            new=start.new,
            reason=asked.reason,
            strategy=asked.strategy,
            latent_dim=asked.latent_dim,
            asked_at=start.at,
            seed=asked.seed,
            model_version=asked.model_version,
            state=state,
            kept=top.kept if top is not None else None,
        )

    def past(self, act: Entry) -> Past:
        """An act as it looked."""
        start = act if act.kind == "addition" else self.threads[act.target or 0].start
        asked = start.asked
        return Past(
            id=act.position,
            question=asked.number if asked else None,
            kind=act.kind,  # type: ignore[arg-type]
            options=tuple(dict(option) for option in start.options),
            kept=act.kept or (),
            rater=act.rater,
            at=act.at,
            asked_at=start.at if asked else None,
            seconds=act.seconds,
            reason=asked.reason if asked else None,
            strategy=asked.strategy if asked else None,
            state=self.state_of(act),
        )

    def undoable(self, rater: str) -> list[list[Entry]]:
        """What undo can take back, latest first: each an act, or all choices of one import together."""
        groups: dict[int, list[Entry]] = {}
        for act in self.acts(rater):
            if act.position in self.undone or (act.kind != "addition" and self.threads[act.target or 0].top is not act):
                continue
            leader = act.target if act.kind == "addition" and act.target else act.position
            groups.setdefault(leader, []).append(act)
        return sorted(groups.values(), key=lambda group: group[-1].position, reverse=True)


def replay(entries: Iterable[Entry]) -> Replay:
    """The state after all entries."""
    entries = tuple(entries)
    threads: dict[int, Thread] = {}
    by_number: dict[int, Thread] = {}
    retracted: set[int] = set()
    undone: set[int] = set()
    home: dict[int, Thread] = {}
    for entry in entries:
        target = entry.target or 0
        if entry.kind in ("question", "addition"):
            thread = threads[entry.position] = home[entry.position] = Thread(entry)
            if entry.asked is not None:
                by_number[entry.asked.number] = thread
            else:
                thread.acts.append(entry)
        elif entry.kind in ("answer", "correction", "skip"):
            home[entry.position] = threads[target]
            threads[target].acts.append(entry)
        elif entry.kind == "undo":
            undone.add(target)
            home[target].acts = [act for act in home[target].acts if act.position != target]
        elif entry.kind == "retraction":
            retracted.add(target)
        else:
            retracted.discard(target)
    return Replay(entries, threads, by_number, frozenset(retracted), frozenset(undone))


def optimizer_state(
    space: dict[str, Any], settings: dict[str, Any], state: Replay, rater: str | None = None, asked_so: bool = True
) -> dict[str, Any]:
    """What ``ChoiceOptimizer.from_dict`` reads: the study in memory, or only one rater's share of it.

    Questions are numbered from 1 without gaps, so that one rater's share is a loop of its own. A retracted answer is a skip.
    ``asked_so`` says whether the questions were computed from this same share, so that the latent dimensions found on the
    way belong to it.
    """
    steps: list[tuple[int, dict[str, Any]]] = []
    numbers: dict[int, int] = {}
    history: list[dict[str, Any]] = []
    for thread in state.threads.values():
        start, top = thread.start, thread.top
        if rater is not None and start.rater != rater:
            continue
        if start.asked is None:
            if top is not None and start.position not in state.retracted:
                kept = list(start.kept or ())
                steps.append((start.position, {"kind": "add", "shown": [dict(o) for o in start.options], "kept": kept}))
            continue
        number = numbers[start.position] = len(numbers) + 1
        history = start.asked.latent_dim_history
        query = {
            "id": number,
            "options": [dict(option) for option in start.options],
            "reason": start.asked.reason,
            "new": list(start.new),
            "strategy": start.asked.strategy,
            "latent_dim": start.asked.latent_dim,
        }
        steps.append((start.position, {"kind": "ask", "query": query}))
        if top is not None:
            hidden = top.kind == "skip" or top.position in state.retracted
            told = {"kind": "skip", "query": number}
            if not hidden:
                told = {"kind": "tell", "query": number, "kept": list(top.kept or ())}
            steps.append((top.position, told))
    answers = sum(step["kind"] in ("tell", "add") for _, step in steps)
    # Looks of older records do not say from when on they count: it was at once.
    in_use = [check for check in history if asked_so and check.get("used_from", check["answers"]) <= answers]
    return {
        "format": "choicebo-optimizer",
        "version": 1,
        "space": space,
        "settings": settings,
        "next_id": len(numbers) + 1,
        "log": [step for _, step in sorted(steps, key=lambda item: item[0])],
        "latent_dim_history": in_use,
    }
