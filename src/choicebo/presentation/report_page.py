"""The report of a study: one HTML page with its pictures inside."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from choicebo import __version__, insight, plots
from choicebo.errors import InvalidInputError
from choicebo.formatting import counted, percent
from choicebo.presentation.fields import as_table, describe
from choicebo.presentation.page import figure, page, png, table
from choicebo.presentation.templates import fill_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from choicebo.model.engines.base import ProgressCallback
    from choicebo.model.posterior import Posterior
    from choicebo.space import Option
    from choicebo.study import Answer, Status, Study

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --mark: #0072b2; --quiet: #6b7280; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
p.lead { font-size: 1.1rem; color: var(--quiet); margin-top: .2rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.scroll { overflow-x: auto; }
.bar { display: inline-block; height: .6rem; background: var(--mark); border-radius: 3px; vertical-align: middle; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; background: #fff; border-radius: 6px; }
figcaption, .quiet { color: var(--quiet); font-size: .9rem; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; } .cards figure { width: 13rem; margin: 0; }
.advice { border-left: 4px solid var(--mark); padding: .4rem 1rem; }
li.kept { font-weight: 600; }
@media print { body { max-width: none; } details { display: block; } }
"""
_MOST_CARDS = 12


def report_page(study: Study, rater: str | None = None, progress: ProgressCallback | None = None) -> str:
    """Everything that was learned from the answers, of which there must be some.

    Args:
        study: The study.
        rater: Whose answers are learned from; None: everybody's.
        progress: Told of the fit, if the model is not stored.
    """
    found, posterior = study.status(rater=rater, progress=progress), study.posterior(rater)
    assert posterior is not None
    of = f" · answers of {escape(rater)}" if rater else ""
    head = [
        f"<h1>{escape(study.name)}</h1>",
        f'<p class="lead">{escape(study.question)}{of}</p>',
        _summary(found),
        f'<p class="advice">{escape(found.advice.sentence)}</p>' if found.advice is not None else "",
    ]
    parts = [*head, *_pareto(study, found), *_drivers(study, posterior), *_trust(study, posterior, found)]
    parts += _history(study, rater)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    parts.append(f'<p class="quiet">Made with choicebo {__version__} on {made}.</p>')
    return page(f"{study.name} · choicebo report", _STYLE, parts)


def _summary(found: Status) -> str:
    reason = f" {found.latent_dim_history[-1]['reason']}" if found.latent_dim_history else ""
    people = f" of {len(found.raters)} people" if len(found.raters) > 1 else ""
    return (
        f"<p><strong>{counted(found.answers, 'answer')}</strong>{people} about {counted(found.options_shown, 'option')}, "
        f"explained by {counted(found.latent_dim or 0, 'hidden objective')}.{escape(reason)}</p>"
    )


def _pareto(study: Study, found: Status) -> Iterable[str]:
    yield "<h2>The options that probably no other one beats</h2>"
    if study.show.kind == "svg" and study.show.template:
        yield '<div class="cards">'
        for each in found.pareto_set[:_MOST_CARDS]:
            yield _drawing(study, each.option, percent(each.probability))
        yield "</div>"
    headings, rows = as_table(study.space, [each.option for each in found.pareto_set])
    yield _table(
        ["probability", *headings],
        [[_bar(each.probability), *map(escape, row)] for each, row in zip(found.pareto_set, rows, strict=True)],
    )


def _bar(share: float) -> str:
    return f'<span class="bar" style="width:{share * 5:.2f}rem"></span> {percent(share)}'


def _drawing(study: Study, option: Option, caption: str) -> str:
    drawing = fill_svg(study.show.template or "", option)
    return figure(drawing.encode(), "image/svg+xml", caption, describe(study.space, option))


def _drivers(study: Study, posterior: Posterior) -> Iterable[str]:
    yield "<h2>What matters</h2>"
    objectives = insight.drivers(posterior, study.space)
    yield "<ul>" + "".join(f"<li>{escape(each.sentence)}</li>" for each in objectives) + "</ul>"
    yield _picture(plots.driver_bars(objectives), "How much of each hidden objective a parameter explains on its own.")
    yield _picture(
        plots.effect_curves(objectives),
        "How each hidden objective changes with a parameter, the others as they come; bands hold 95 %.",
    )


def _trust(study: Study, posterior: Posterior, found: Status) -> Iterable[str]:
    yield "<h2>Can it be trusted?</h2>"
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in found.diagnostics)
    yield f"<ul>{problems}</ul>" if problems else "<p>The fit shows no problem.</p>"
    labels = [describe(study.space, option) for option in study.space.decode(posterior.data.X)]
    surprises = insight.surprises(posterior, labels)
    surprising = [each for each in surprises if each.noteworthy]
    if surprising:
        yield "<h3>Answers unlike the others</h3>"
        yield "<ul>" + "".join(f"<li>{escape(each.sentence)}</li>" for each in surprising) + "</ul>"
    yield _picture(plots.surprise_marks(surprises), "How surprising each answer is, given all others.")
    try:
        calibration = insight.calibration(posterior)
    except InvalidInputError as error:
        yield f"<p>{escape(str(error))}</p>"
        return
    yield f"<p>{escape(calibration.sentence)}</p>"
    yield _picture(
        plots.reliability(calibration),
        "Predicted probabilities against what was kept; honest ones lie on the dashed line.",
    )


def _history(study: Study, rater: str | None) -> Iterable[str]:
    past = study.history(rater)
    yield f"<h2>All answers</h2>\n<details><summary>{len(past)} answers, skips and additions</summary>"
    rows = [[str(number), _when(each), _what(study, each)] for number, each in enumerate(past, start=1)]
    yield _table(["", "when, who", "shown; kept in bold"], rows)
    yield "</details>"


def _when(past: Answer) -> str:
    took = f"<br>{past.seconds:.0f} s" if past.seconds is not None else ""
    return f"{past.at:%Y-%m-%d %H:%M}<br>{escape(past.rater)}{took}"


def _what(study: Study, past: Answer) -> str:
    items = "".join(
        f"<li{' class=kept' if place in past.kept else ''}>{escape(describe(study.space, option))}</li>"
        for place, option in enumerate(past.options)
    )
    state = "" if past.counts else f'<span class="quiet">{past.kind if past.kind == "skip" else past.state}</span>'
    return f"{state}<ul>{items}</ul>"


def _table(headings: list[str], rows: list[list[str]]) -> str:
    return f'<div class="scroll">{table(headings, rows)}</div>'


def _picture(drawn: Figure, caption: str) -> str:
    return figure(png(drawn), "image/png", caption)
