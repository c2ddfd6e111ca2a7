"""The report of a study: one HTML page with its pictures inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from choicebo import __version__, insight, plots
from choicebo.errors import InvalidInputError
from choicebo.formatting import counted, percent, value_text
from choicebo.presentation import charts
from choicebo.presentation.colours import is_hue
from choicebo.presentation.fields import Measured, as_table, describe
from choicebo.presentation.images import inline_picture
from choicebo.presentation.page import figure, page, png, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from choicebo.model.engines.base import ProgressCallback
    from choicebo.model.posterior import Posterior
    from choicebo.space import Option
    from choicebo.study import Answer, Status, Study, StudyResult

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --mark: #4a3fd1; --quiet: #6b7280; }
:root { --surface: #fff; --ink: #1c1d22; --soft: #575a64; --strong-line: #8b8a86; }
:root { --accent: #4a3fd1; --accent-ink: #fff; --fill: #8f8b9e; }
@media (prefers-color-scheme: dark) {
  :root { --mark: #aba4ff; --quiet: #a9abb5; --surface: #1c1e24; --ink: #ecebe7; --soft: #a9abb5; --strong-line: #7b7f8c; }
  :root { --accent: #aba4ff; --accent-ink: #17142e; --fill: #8d8aa6; }
}
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
.effects { display: flex; flex-wrap: wrap; gap: 1rem; } .effects figure { width: 15rem; margin: 0; } .map { max-width: 44rem; }
.parallel { min-width: 40rem; } .care { border-left: 4px solid #c98a1b; padding: .4rem 1rem; }
.advice { border-left: 4px solid var(--mark); padding: .4rem 1rem; }
li.kept { font-weight: 600; }
@media print { body { max-width: none; } details { display: block; } }
"""
_MOST_ANSWERS = 1000
"""More would make the report too large for a browser."""
_MOST_CARDS = 12
_MOST_DRIVERS = 4
_MOST_PEOPLE = 20
GENERATOR = "choicebo report"
"""By which a report is known as one of ours."""


def report_page(
    study: Study,
    rater: str | None = None,
    progress: ProgressCallback | None = None,
    context: Mapping[str, Any] | None = None,
) -> str:
    """Everything that was learned from the answers; there must be at least one.

    Args:
        study: The study.
        rater: Whose answers are learned from; None: everybody's.
        progress: Called during the fit, if the model is not stored.
        context: In which the options are compared; None: that of the latest answer.
    """
    posterior = study.posterior(rater, progress=progress)
    assert posterior is not None
    found, counts = study.result(rater, context=context), study.status(rater=rater, insight=False)
    of = f" · answers of {escape(rater)}" if rater else ""
    of += "".join(f" · {escape(name)} {escape(value_text(value))}" for name, value in found.context.items())
    head = [
        f"<h1>{escape(study.name)}</h1>",
        f'<p class="lead">{escape(study.question)}{of}</p>',
        _summary(found, counts),
        f'<p class="advice">{escape(found.advice.sentence)}</p>' if found.advice is not None else "",
        f'<p class="care">{escape(found.trust)}</p>' if found.trust else "",
    ]
    parts = [
        *head,
        *_pareto(study, found),
        *_agreement(study, found.agreement),
        *_objectives(study, found),
        *_trust(study, posterior, found),
    ]
    parts += _history(study, rater)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    parts.append(f'<p class="quiet">Made with choicebo {__version__} on {made}.</p>')
    return page(f"{study.name} · choicebo report", _STYLE + charts.STYLE, parts, generator=GENERATOR)


def _summary(found: StudyResult, counts: Status) -> str:
    people = f" of {len(counts.raters)} people" if len(counts.raters) > 1 else ""
    return (
        f"<p><strong>{counted(found.answers, 'answer')}</strong>{people} about {counted(counts.options_shown, 'option')}, "
        f"explained by {escape(found.explanation)}. {escape(found.dimension)}</p>"
    )


def _pareto(study: Study, found: StudyResult) -> Iterable[str]:
    yield "<h2>The options that probably no other one beats</h2>"
    yield _cards(study, [(each.option, f"{at}: {percent(each.probability)}") for at, each in enumerate(found.best, 1)])
    yield _options(study, [(each.option, each.probability) for each in found.best], found.measured)
    if found.unseen is not None:
        yield "<h3>The best one not shown yet</h3>"
        yield _cards(study, [(found.unseen.option, percent(found.unseen.probability))])
        yield _options(study, [found.unseen], found.measured)
    beside = charts.parallel(study.space, found.points, found.measured)
    if beside is not None:
        yield "<h2>How they differ</h2>"
        note = f"One line per option; those that nothing beats stand out. {beside.note}"
        yield f'<figure class="scroll">{beside.svg}<figcaption>{escape(note)}</figcaption></figure>'


def _agreement(study: Study, found: insight.PeopleInsight | None) -> Iterable[str]:
    if found is None:
        return
    yield "<h2>Agreement</h2>"
    yield "<ul>" + "".join(f"<li>{escape(each)}</li>" for each in found.sentences) + "</ul>"
    names = found.names[:_MOST_PEOPLE]
    rows = [
        [f"<b>{escape(name)}</b>", *(percent(share) if at != row else "" for at, share in enumerate(shares))]
        for row, (name, shares) in enumerate(zip(names, found.likeness.matrix[:, : len(names)], strict=False))
    ]
    yield "<h3>How probably any two keep the same options of a set</h3>"
    yield _table(["", *names], rows)
    suiting = found.for_everybody[:_MOST_CARDS] or (found.compromise,)
    for title, options in (
        ("Probably acceptable to everybody" if found.for_everybody else "The best compromise", suiting),
        ("What divides people most", found.dividing[:_MOST_CARDS]),
    ):
        if options:
            yield f"<h3>{title}</h3>"
            headings, values = as_table(study.space, [each.option for each in options])
            cells = [
                [percent(each.everybody), *map(percent, each.by_person[: len(names)]), *map(escape, row)]
                for each, row in zip(options, values, strict=True)
            ]
            yield _table(["everybody", *(f"for {name}" for name in names), *headings], cells)


def _cards(study: Study, options: Sequence[tuple[Option, str]]) -> str:
    """The pictures of options, where the study has any."""
    drawn = [(inline_picture(study, option), option, caption) for option, caption in options[:_MOST_CARDS]]
    shown = [
        f'<figure><img alt="{escape(describe(study.space, option))}" src="{picture}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for picture, option, caption in drawn
        if picture is not None
    ]
    return f'<div class="cards">{"".join(shown)}</div>' if shown else ""


def _options(study: Study, options: Sequence[tuple[Option, float]], measured: Measured) -> str:
    headings, rows = as_table(study.space, [option for option, _ in options], measured)
    return _table(
        ["probability", *headings],
        [[_bar(share), *map(escape, row)] for (_, share), row in zip(options, rows, strict=True)],
    )


def _bar(share: float) -> str:
    return f'<span class="bar" style="width:{share * 5:.2f}rem"></span> {percent(share)}'


def _objectives(study: Study, found: StudyResult) -> Iterable[str]:
    yield "<h2>What matters</h2>"
    pictured = partial(inline_picture, study) if study.show.kind != "bars" else None
    titles = [each.title for each in found.objectives]
    for chart in charts.maps(study.space, found.points, titles, pictured, measured=found.measured):
        caption = "Further up and further right is better; the lines are 95 % intervals."
        yield f"<figure>{chart.svg}<figcaption>{caption} {chart.crowd}</figcaption></figure>"
    if found.known:
        yield "<ul>" + "".join(f"<li>{escape(each.sentence)}</li>" for each in found.known) + "</ul>"
    for objective in found.objectives:
        shown = objective.main_drivers[:_MOST_DRIVERS]
        span = charts.span_of(shown)
        yield f"<h3>{escape(objective.title[:1].upper() + objective.title[1:])}</h3><p>{escape(objective.sentence)}</p>"
        yield '<div class="effects">'
        for each in shown:
            drawn = charts.effect(each, span, is_hue(study.show, each.parameter, each.unit))
            yield f"<figure>{drawn}<figcaption>{escape(each.told)}</figcaption></figure>"
        yield "</div>"


def _trust(study: Study, posterior: Posterior, found: StudyResult) -> Iterable[str]:
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
        "Predicted probabilities against observed shares; if the model is well calibrated, they lie on the "
        "dashed line.",
    )


def _history(study: Study, rater: str | None) -> Iterable[str]:
    past = study.history(rater)
    yield f"<h2>All answers</h2>\n<details><summary>{len(past):,} answers, skips and additions</summary>"
    if len(past) > _MOST_ANSWERS:
        yield f"<p>The latest {_MOST_ANSWERS}; <code>choicebo export</code> and the downloads of the page have all of them.</p>"
    latest = list(enumerate(past, start=1))[-_MOST_ANSWERS:]
    rows = [[str(number), _when(each), _what(study, each)] for number, each in latest]
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
