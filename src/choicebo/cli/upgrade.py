"""``choicebo upgrade``: bring the tables of a database up to date."""

from __future__ import annotations

from choicebo.cli import arguments
from choicebo.cli.waiting import waiting
from choicebo.presentation import output


def upgrade(study: arguments.Address, json: arguments.Json = False) -> None:
    """Bring the tables of a database up to date.

    For a database that an older choicebo made; make a copy first.
    Nothing else changes a database by itself: a study that needs this says so when it is opened.

    \b
    Examples:
      cp bread.db bread-before.db && choicebo upgrade bread.db
      choicebo upgrade postgresql://ann@server/studies
    """
    from choicebo.study import upgrade as apply

    with waiting("Upgrading", model=False):
        applied = apply(study)
    if json:
        output.print_json({"applied": list(applied)})
    else:
        words = "\n".join(f"Applied {step}" for step in applied) or "Up to date already: nothing was changed."
        output.say(words)
