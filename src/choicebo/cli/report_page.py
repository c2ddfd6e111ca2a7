"""The page that ``choicebo report`` writes: plain HTML with its pictures inside."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from choicebo import __version__, insight, plots
from choicebo.cli.fields import describe, fields_of, title_of
from choicebo.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
td.number { text-align: right; font-variant-numeric: tabular-nums; }
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


def page(study: Study, found: Status, posterior: Posterior, rater: str | None = None) -> str:
    """The whole page."""
    of = f" · answers of {escape(rater)}" if rater else ""
    head = [
        f"<h1>{escape(study.name)}</h1>",
        f'<p class="lead">{escape(study.question)}{of}</p>',
        _summary(found),
        f'<p class="advice">{escape(_advice(study, found, posterior))}</p>',
    ]
    parts = [*head, *_pareto(study, found), *_drivers(study, posterior), *_trust(study, posterior, found)]
    parts += _history(study, rater)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    parts.append(f'<p class="quiet">Made with choicebo {__version__} on {made}.</p>')
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(study.name)} · choicebo report</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _summary(found: Status) -> str:
    objectives = "one hidden objective" if found.latent_dim == 1 else f"{found.latent_dim} hidden objectives"
    reason = f" {found.latent_dim_history[-1]['reason']}" if found.latent_dim_history else ""
    people = f" of {len(found.raters)} people" if len(found.raters) > 1 else ""
    return (
        f"<p><strong>{found.answers} answers</strong>{people} about {found.options_shown} options, "
        f"explained by {objectives}.{escape(reason)}</p>"
    )


def _advice(study: Study, found: Status, posterior: Posterior) -> str:
    advice = found.advice or insight.stop_advice(posterior, study.space.sobol(min(256, _size(study))))
    return str(advice.sentence)


def _size(study: Study) -> int:
    return int(min(study.space.size, 1e9))


def _pareto(study: Study, found: Status) -> Iterable[str]:
    yield "<h2>The options that probably no other one beats</h2>"
    if study.show.kind == "svg" and study.show.template:
        yield '<div class="cards">'
        for each in found.pareto_set[:_MOST_CARDS]:
            yield _card(study.show.template, each.option, f"{each.probability:.0%}")
        yield "</div>"
    fields = fields_of(study.space)
    titled = any(title_of(study.space, each.option) for each in found.pareto_set)
    heads = ["probability", *(["name"] if titled else []), *(field.heading for field in fields)]
    rows = []
    for each in found.pareto_set:
        share = f'<span class="bar" style="width:{each.probability * 5:.2f}rem"></span> {each.probability:.0%}'
        names = [escape(title_of(study.space, each.option))] if titled else []
        rows.append([share, *names, *(escape(field.text(each.option.get(field.name))) for field in fields)])
    yield _table(heads, rows)


def _card(template: str, option: Option, caption: str) -> str:
    """The drawing of an option as an image, in which nothing of a template can run."""
    drawing = template
    for name, value in option.items():
        drawing = drawing.replace("{" + name + "}", escape(str(value)))
    code = base64.b64encode(drawing.encode()).decode()
    return (
        f'<figure><img alt="{escape(str(option))}" src="data:image/svg+xml;base64,{code}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


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
    surprising = [each for each in insight.surprises(posterior, labels) if each.noteworthy]
    if surprising:
        yield "<h3>Answers unlike the others</h3>"
        yield "<ul>" + "".join(f"<li>{escape(each.sentence)}</li>" for each in surprising) + "</ul>"
    yield _picture(
        plots.surprise_marks(insight.surprises(posterior)), "How surprising each answer is, given all others."
    )
    try:
        judged = insight.calibration(posterior)
    except InvalidInput as error:
        yield f"<p>{escape(str(error))}</p>"
        return
    yield f"<p>{escape(judged.sentence)}</p>"
    yield _picture(
        plots.reliability(judged), "Predicted probabilities against what was kept; honest ones lie on the dashed line."
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


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _picture(figure: Figure, caption: str) -> str:
    content: Any = io.BytesIO()
    figure.savefig(content, format="png")
    code = base64.b64encode(content.getvalue()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{code}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
