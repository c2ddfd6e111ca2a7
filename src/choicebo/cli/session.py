"""A person's turn at the terminal: show a question, take the answer, store it, show the next."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from choicebo.cli.keys import END, ENTER, Keys
from choicebo.cli.marking import LINES, MARKED, Marking
from choicebo.cli.option_table import KEYS, OptionTable
from choicebo.cli.waiting import waiting
from choicebo.errors import ChoiceboError, InvalidInputError
from choicebo.formatting import counted, explained_by, known_names, value_text
from choicebo.history.steering import written_option, written_value
from choicebo.optimizer.patience import PATIENCE
from choicebo.presentation import output
from choicebo.presentation.answering import Said, said
from choicebo.space import Catalogue
from choicebo.space.context import accepted, contexts_of, read_context
from choicebo.study import OWNER, Answer, Question, Study
from choicebo.study.measured import measured_of

CHOOSING = "Choosing the next question"
KEEP_SOMETHING = "Mark at least one option to keep, or s to skip."
UNFINISHED = {
    "subset": KEEP_SOMETHING,
    "best": "Mark the best option, or s to skip.",
    "best-worst": "Mark the best option, then the worst, or s to skip.",
    "ranking": "Mark options in order, the best first, or s to skip.",
    "pair": "Mark the better option, = if you cannot decide, or s to skip.",
}
NO_PAIR = "This is for two options: mark one, or s to skip."
NO_BASELINE = "This study has nothing to fall back on: press s to skip."
STOP, SKIP, UNDO, NONE = "stop", "skip", "undo", "none"
LOCK, LIKE, OWN, CONTEXT = "lock", "like", "own", "context"
NO_CONTEXT = "This study has no context."
Act = str | Said
"""What the person decided: one of the words above, or an answer."""


class Turn(ABC):
    """Questions one after the other, until the person stops."""

    def __init__(self, study: Study, rater: str | None) -> None:
        self.study, self._rater = study, rater

    @abstractmethod
    def decide(self, question: Question) -> Act:
        """Show a question and wait for what the person does."""

    @abstractmethod
    def say(self, sentence: str) -> None:
        """Tell the person what happened."""

    def run(self, limit: int | None = None) -> int:
        """Ask until the person stops, or ``limit`` answers are given; how many were given and stand."""
        given = 0
        while limit is None or given < limit:
            with waiting(CHOOSING) as progress:
                question = self.study.ask(self._rater, patience=PATIENCE, progress=progress)
            began = time.monotonic()
            act = self.decide(question)
            if act == STOP:
                break
            if act in (LOCK, LIKE, OWN, CONTEXT):
                self._wish(str(act), question)
            elif act == UNDO:
                given -= self._undo()
            elif act == SKIP:
                self.study.skip(question, rater=self._rater)
                self.say("Skipped.")
            else:
                said = {"kept": ()} if act == NONE else act
                assert not isinstance(said, str)
                told = self.study.tell(question, **said, rater=self._rater, seconds=round(time.monotonic() - began, 1))
                given += 1
                self.say(_told(told))
        return max(given, 0)

    def change(self, number: int) -> bool:
        """Let the person answer a question again; whether they did."""
        question = self.study.get_question(number)
        if question.rater != (self._rater or OWNER):
            raise InvalidInputError(f"Question {number} was asked to {question.rater!r}: change your own answers.")
        before = _told(question)
        self.say(f"Now: {before[0].lower()}{before[1:]}" if question.kept else "Now: nothing is kept.")
        act = self.decide(question)
        said = {"kept": ()} if act == NONE else act
        if isinstance(said, str):
            return False
        told = self.study.tell(question, **said, rater=self._rater, correction=not question.is_open)
        return not told.repeated

    @abstractmethod
    def read_text(self, prompt: str) -> str:
        """What the person writes in one line."""

    def _wish(self, wish: str, question: Question) -> None:
        """Ask what the next question is to be like, and store it."""
        try:
            told = self._stored_wish(wish, question)
        except ChoiceboError as error:
            told = str(error)
        self.say(told)

    def _stored_wish(self, wish: str, question: Question) -> str:
        study, space = self.study, self.study.space
        if wish == LOCK:
            written = self.read_text(
                "Keep which property at which value? Such as: typeface serif. An empty line removes all locks."
            )
            if not written:
                study.steer(self._rater, locked={})
                return "No property is locked any more."
            name = max((each for each in space.names if written.startswith(each)), key=len, default=written.split()[0])
            value = written.removeprefix(name).strip(" =:") if name in space.names else ""
            locked = written_value(space, name, value) if name in space.names else value
            found = study.steer(self._rater, locked={**study.wishes(self._rater).locked, name: locked})
            listed = ", ".join(f"{each} {value_text(held)}" for each, held in found.locked.items())
            return f"From the next question on: {listed}."
        if wish == LIKE:
            written = self.read_text(f"More like which one, 1 to {len(question.options)}?")
            place = KEYS.find(written) if written else -1
            if not 0 <= place < len(question.options):
                return f"There is no option {written!r}: give its number."
            study.steer(self._rater, like=question.options[place])
            return f"The next question has more like option {written}."
        if wish == CONTEXT:
            said = {each.name: self.read_text(f"{each.name}, {accepted(each)}?") for each in contexts_of(space)}
            found = study.steer(
                self._rater, context=read_context(space, [f"{name}={text}" for name, text in said.items()])
            )
            return f"From now on: {_context(found.context)}."
        chosen = [] if isinstance(space, Catalogue) else [each.name for each in space.parameters if not each.context]
        names = [space.key] if isinstance(space, Catalogue) else chosen
        texts = {name: self.read_text(f"Your own option: {name}?") for name in names}
        study.steer(self._rater, include=[written_option(space, texts)])
        return "The next question will show your own option."

    def why(self, question: Question) -> str:
        """Why these options, in some sentences."""
        answers = self.study.n_answers
        told = f"{question.reason} So far there {'is' if answers == 1 else 'are'} {counted(answers, 'answer')}"
        if question.latent_dim is None:
            return f"{told}."
        known = known_names(self.study.space.objectives)
        return f"{told}, explained by {explained_by(question.latent_dim, *known)}."

    def command(self, word: str, question: Question) -> tuple[Act | None, str] | None:
        """What a key or word asks for: a decision, if it is one, and a hint; None if it is no command."""
        match word:
            case "q" | "quit" | "stop" | "exit":
                return STOP, ""
            case "s" | "skip":
                return SKIP, ""
            case "u" | "undo":
                return UNDO, ""
            case "k" | "keep" | "lock":
                return LOCK, ""
            case "m" | "more" | "like":
                return LIKE, ""
            case "o" | "own" | "mine":
                return OWN, ""
            case "x" | "context":
                return (CONTEXT, "") if contexts_of(self.study.space) else (None, NO_CONTEXT)
            case "?" | "why" | "help":
                return None, self.why(question)
            case "0" | "none":
                return (NONE, "") if self.study.baseline else (None, NO_BASELINE)
            case "=" | "both":
                return ({"kept": (0, 1)}, "") if len(question.options) == 2 else (None, NO_PAIR)
        return None

    def options(self, question: Question, blocks: bool = True) -> OptionTable:
        """The options of a question, ready to be shown."""
        study = self.study
        baseline = None if study.baseline is None else {**study.baseline, **question.context}
        shown = [*question.options, *([] if baseline is None else [baseline])]
        measured = measured_of(study, shown)
        return OptionTable(study.space, question.options, question.new, baseline, blocks, measured)

    def _undo(self) -> int:
        """Take the latest act back; 1 if it was an answer."""
        try:
            taken = self.study.undo(rater=self._rater)
        except InvalidInputError as error:
            self.say(str(error))
            return 0
        numbers = sorted({past.question for past in taken if past.question is not None})
        self.say(f"Taken back: question {numbers[0]}." if numbers else "Taken back: choices made elsewhere.")
        return int(any(past.kind in ("answer", "correction") for past in taken))


class Session(Turn):
    """A table of options, and single keys."""

    def __init__(self, study: Study, rater: str | None, keys: Keys, console: Console | None = None) -> None:
        super().__init__(study, rater)
        self._keys, self._console = keys, console or output.PlainTextConsole()
        self._blocks = output.draws_blocks(self._console)

    def say(self, sentence: str) -> None:
        """Print a sentence below the table."""
        self._console.print(Text(sentence, style="dim"))

    def read_text(self, prompt: str) -> str:
        """Ask for a line below the table."""
        self._console.print(Text(f"{prompt} ", style="bold"), end="")
        return self._keys.read_line().strip()

    def decide(self, question: Question) -> Act:
        """Show the table and read keys until one of them decides."""
        options = self.options(question, self._blocks)
        marks = Marking(self.study.answer)
        self._keys.forget()
        self._console.print()
        here = f"  {_context(question.context)}" if question.context else ""
        self._console.print(Text(f"Question {question.number}{here}", style="bold").append(f"  {self.study.question}"))
        table_moves = self._fits(options)
        if not table_moves:
            self._console.print(options.table((), self._console.width))
        with self._live(self._shown(options, marks, "", table_moves)) as live:
            while True:
                decided, hint = self._press(self._keys.read(), marks, question)
                if live is not None:
                    live.update(self._shown(options, marks, hint, table_moves), refresh=True)
                elif hint:
                    self.say(hint)
                if decided is not None:
                    return decided

    def _press(self, key: str, marks: Marking, question: Question) -> tuple[Act | None, str]:
        """What a key does: a decision, if it is one, and a hint for the person."""
        place = KEYS.find(key) if key else -1
        if 0 <= place < len(question.options):
            marks.press(place)
            return None, ""
        if key == ENTER:
            return (None, UNFINISHED[marks.way]) if marks.said is None else (marks.said, "")
        hint = f"{key!r} does nothing here." if key.isprintable() and key != " " else ""
        return (STOP, "") if key == END else self.command(key, question) or (None, hint)

    def _live(self, shown: RenderableType) -> contextlib.AbstractContextManager[Live | None]:
        """Redraws the table at each key; if nothing can be redrawn, it is shown once."""
        if not self._console.is_terminal:
            self._console.print(shown)
            return contextlib.nullcontext()
        return Live(shown, console=self._console, auto_refresh=False, vertical_overflow="visible")

    def _fits(self, options: OptionTable) -> bool:
        """Whether the table can be redrawn at each key: it must fit on the screen, with the lines below."""
        if not self._console.is_terminal:
            return False
        lines = self._console.render_lines(options.table((), self._console.width))
        return len(lines) + 6 <= self._console.height

    def _shown(self, options: OptionTable, marks: Marking, hint: str, with_table: bool) -> RenderableType:
        kept = set(marks.places)
        line = Text(f"{MARKED[marks.way]}: ")
        if marks.way == "subset":
            for place, key in enumerate(KEYS[: options.size]):
                line.append(f"[{key}]" if place in kept else f" {key} ", style="bold green" if place in kept else "")
        else:
            line.append(marks.words(KEYS), style="bold green")
        keys = "   Enter done  s skip  u undo  k lock  m more like  o own  ? why  q stop"
        keys += "  = cannot decide" if marks.way == "pair" else ""
        keys += "  x context" if contexts_of(self.study.space) else ""
        line.append(keys + ("  0 none of these" if options.has_baseline else ""), style="dim")
        parts: list[RenderableType] = [options.table(kept, self._console.width)] if with_table else []
        parts.append(line)
        if hint:
            parts.append(Text(hint, style="yellow"))
        return Group(*parts)


class PlainSession(Turn):
    """Lines in and lines out, in the order in which a screen reader reads them."""

    def __init__(self, study: Study, rater: str | None, stream: TextIO) -> None:
        super().__init__(study, rater)
        self._stream = stream

    def say(self, sentence: str) -> None:
        """Print a line."""
        output.print_line(sentence)

    def read_text(self, prompt: str) -> str:
        """Ask for a line."""
        self.say(prompt)
        return self._stream.readline().strip()

    def decide(self, question: Question) -> Act:
        """Read the options out and take lines until one of them decides."""
        self.say("")
        here = f" {_context(question.context).capitalize()}." if question.context else ""
        self.say(f"Question {question.number}.{here} {self.study.question}")
        for line in self.options(question).lines():
            self.say(line)
        none = ", 0 for none of these" if self.study.baseline else ""
        self.say(f"{LINES[self.study.answer]}; or s to skip, u to undo{none}, ? for why, q to stop.")
        self.say(
            "For the questions to come: k keeps a property, m shows more like one of these, o compares with your own"
            f"{', x asks in another context' if contexts_of(self.study.space) else ''}."
        )
        while True:
            line = self._stream.readline()
            act, reply = self._understand(line, question)
            if reply:
                self.say(reply)
            if act is not None:
                return act

    def _understand(self, line: str, question: Question) -> tuple[Act | None, str]:
        words = line.lower().replace(",", " ").split()
        if not words:
            return (STOP, "") if line == END else (None, UNFINISHED[self.study.answer])
        meant = self.command(words[0], question) if len(words) == 1 else None
        if meant is not None:
            return meant
        shown = len(question.options)
        places = [int(word) - 1 if word.isascii() and word.isdigit() else KEYS.find(word) for word in words]
        if not all(0 <= place < shown for place in places):
            return None, f"Not understood: {line.strip()!r}. Type numbers from 1 to {shown}, such as 1 3."
        found = said(self.study.answer, list(dict.fromkeys(places)))
        return (
            (None, f"Not understood: {line.strip()!r}. {LINES[self.study.answer]}.") if found is None else (found, "")
        )


def _context(context: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value_text(value)}" for name, value in context.items())


def _told(answer: Answer | Question) -> str:
    """What was answered, in a sentence."""
    if answer.marks is not None:
        words = answer.marks.words(lambda place: KEYS[place])
        return f"{words[0].upper()}{words[1:]}."
    return f"Kept {', '.join(KEYS[place] for place in answer.kept)}." if answer.kept else "None of them."
