"""``choicebo pick``: answer questions in the terminal."""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Annotated

import typer

from choicebo.cli import arguments
from choicebo.formatting import counted, without_password
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.study import Study


def pick(
    study: arguments.Address,
    name: arguments.Name = None,
    rater: arguments.Rater = None,
    join: Annotated[bool, typer.Option("--join", help="Add the rater to the study if nobody has that name.")] = False,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="Plain lines instead of a table and single keys, for screen readers and scripts."),
    ] = False,
    questions: Annotated[
        int | None, typer.Option("--questions", "-q", min=1, metavar="N", help="Stop after this many answers.")
    ] = None,
    change: Annotated[
        int | None,
        typer.Option("--change", min=1, metavar="N", help="Answer question N again, replacing its answer."),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context", metavar="NAME=VALUE", help="The context to ask in, such as season=winter; may be repeated."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Compute on the workers of this Dask scheduler, tcp://host:port."),
    ] = None,
    ahead: Annotated[
        bool, typer.Option("--ahead/--no-ahead", hidden=True, help="From earlier versions; has no effect.")
    ] = True,
) -> None:
    """Answer questions in the terminal.

    Of a few options, keep those that no other one beats: all that you would not give up for another one shown. Or, if the
    study asks for it, mark the best, the best and then the worst, options in order, or the better of two.

    \b
    Keys:
      1 2 3 ...   mark an option, or not (a, b, c for the tenth to twelfth)
      Enter       done: the marked options are kept, the others are not
      =           of two options: you cannot decide
      s           skip the question
      u           undo the latest answer or skip; its question comes again
      0           none of these: what you have today is better (if the study names that)
      k           keep a property from the next question on, such as: typeface serif (k alone removes all locks)
      m           more like one of these in the next question
      o           compare with an option of your own in the next question
      x           ask in another context (if the study has one)
      ?           why these options
      q           stop; everything is stored already

    An answer is stored at once, so you can stop at any time and go on later, here or in a browser. With --plain, type
    the numbers to keep in one line, such as "1 3"; for the best and the worst, or in order, as you mark them.

    \b
    Examples:
      choicebo pick bread.db
      choicebo pick bread.db --rater ann --join
      choicebo pick bread.db --change 8
      choicebo pick drinks.db --context season=winter
      choicebo pick postgresql://ann@server/studies --name bread
      choicebo pick bread.db --cluster tcp://scheduler:8786
      echo "1 3" | choicebo pick bread.db --plain
    """
    from choicebo.cli.keys import Keys
    from choicebo.cli.session import PlainSession, Session
    from choicebo.model import compiling
    from choicebo.study import Storage, Study

    with Storage(study) as storage, contextlib.ExitStack() as at_the_end:
        executor = None if cluster is None else at_the_end.enter_context(_cluster(cluster))
        opened = Study.open(storage, name, executor=executor)
        compiling.start()  # the first questions need no model, so that nobody waits for it
        who = _rater(opened, rater, join)
        if change is not None:
            change_answer(opened, who, change, plain)
            return
        said = arguments.context_of(opened, context)
        if said is not None:
            opened.steer(who, context=said)
        elif opened.begin_context(who):
            output.note("--context, or the key x, asks in another context.")
        if plain:
            given = PlainSession(opened, who, sys.stdin).run(questions)
        else:
            with Keys() as keys:
                given = Session(opened, who, keys).run(questions)
        total = opened.n_answers
        known = opened.optimizer().known_posterior if given else None
    if known is not None and known.diagnostics.sentence:
        output.warn(known.diagnostics.sentence)
    address = without_password(study)
    output.say(f"{counted(given, 'answer')} given, {total} in all. What was learned: choicebo status {address}")


def _cluster(address: str) -> Executor:
    from choicebo.serving.cluster import Cluster

    return Cluster(address)


def _rater(study: Study, rater: str | None, join: bool) -> str | None:
    """The rater, added to the study if need be."""
    from choicebo.study import UnknownRaterError

    if rater is None or rater in (known := [each.name for each in study.raters()]):
        return rater
    if not join:
        raise UnknownRaterError(
            f"Nobody called {rater!r} answers this study: give one of {', '.join(known)}, or add --join."
        )
    study.add_rater(rater)
    return rater


def change_answer(study: Study, rater: str | None, number: int, plain: bool) -> None:
    """Let the person answer a question again."""
    from choicebo.cli.keys import Keys
    from choicebo.cli.session import PlainSession, Session

    if plain:
        changed = PlainSession(study, rater, sys.stdin).change(number)
    else:
        with Keys() as keys:
            changed = Session(study, rater, keys).change(number)
    output.say(f"Question {number} has a new answer." if changed else f"Question {number} keeps its answer.")
