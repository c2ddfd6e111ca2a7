"""``choicebo predict``: how likely an option is to be kept, whether it was shown or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from choicebo.cli import arguments
from choicebo.cli.waiting import waiting
from choicebo.errors import InvalidInputError, SpaceError
from choicebo.formatting import percent
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.space import Catalogue, Option, Space


def predict(
    study: arguments.Address,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help="A value for each parameter, or the key of a row; without it, the best option not shown yet.",
        ),
    ] = None,
    name: arguments.Name = None,
    rater: arguments.OnlyRater = None,
    context: arguments.Context = None,
    json: arguments.Json = False,
) -> None:
    """The probability that no option shown so far beats yours.

    Without an option, finds the best one not shown yet.

    \b
    Examples:
      choicebo predict bread.db
      choicebo predict bread.db hydration=70 rye=40 salt=2 proof=8 temperature=230 minutes=40 seeds=none
      choicebo predict products.db BP-007
    """
    from choicebo.presentation.fields import describe
    from choicebo.study import Study
    from choicebo.study.measured import measured_of, told

    with Study.open(study, name) as opened:
        given, here = read_option(opened.space, values) if values else None, arguments.context_of(opened, context)
        if not opened.count_answers(rater):
            raise InvalidInputError(
                "There are no answers yet, so there is nothing to predict from: answer some with choicebo pick."
            )
        with waiting("Fitting the model") as progress:
            found = (
                opened.best_unseen(rater, context=here, progress=progress)
                if given is None
                else opened.predict([given], rater, progress=progress)[0]
            )
        if found is None:
            raise InvalidInputError("Every option was already shown: name one to predict it.")
        measured = measured_of(opened, [found.option], opened.posterior(rater))
        described = describe(opened.space, found.option, measured)
    if json:
        output.print_json({"option": found.option, "probability": found.probability, **told(measured, found.option)})
        return
    said = f"{percent(found.probability)} likely that none of the options shown so far beats it"
    output.results().print(
        f"{'The best one not shown yet: ' if given is None else ''}{described}\n{said}", markup=False
    )


def read_option(space: Space | Catalogue, values: list[str], others: Sequence[str] = ()) -> Option:
    """The option that the words of a command describe.

    Args:
        space: What it belongs to.
        values: The words.
        others: Names that may have been meant by one that no parameter has.
    """
    from choicebo.space import Catalogue
    from choicebo.space.values import suggestion

    if isinstance(space, Catalogue):
        called = values[-1].partition("=")[0]
        if others and len(values) > 1 and called != values[-1]:
            raise SpaceError(f"There is no measured objective {called!r}. {suggestion(called, others)}")
        return space.parse(" ".join(values))
    texts = {name: text for name, _, text in (word.partition("=") for word in values)}
    parameters = {parameter.name: parameter for parameter in space.parameters}
    for word in texts:
        if word not in parameters:
            raise SpaceError(f"There is no parameter {word!r}. {suggestion(word, (*parameters, *others))}".rstrip())
    missing = [each for each in parameters if each not in texts]
    if missing:
        raise SpaceError(f"The option has no {missing[0]!r}: give a value for each of {', '.join(parameters)}.")
    option = space.validate({each: parameters[each].parse(text) for each, text in texts.items()})
    broken = space.violated(option)
    if broken:
        raise SpaceError(f"The option cannot be offered: it breaks the rule {broken[0]}.")
    return option
